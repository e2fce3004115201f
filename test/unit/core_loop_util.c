/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "test/unit/core_loop_util.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

int loop_setup(void **state)
{
	struct dapl_loop *loop;

	if (dapl_loop_create(&loop))
		return -1;
	*state = loop;
	return 0;
}

int loop_teardown(void **state)
{
	dapl_loop_destroy(*state);
	return 0;
}

static void stand(struct tp_task *task)
{
	struct gate *gate = (struct gate *)((char *)task - offsetof(struct gate, task));

	pthread_barrier_wait(&gate->in);
	pthread_barrier_wait(&gate->out);
}

void gate_stop(struct dapl_loop *loop, struct gate *gate)
{
	*gate = (struct gate){ .task.run = stand };
	pthread_barrier_init(&gate->in, NULL, 2);
	pthread_barrier_init(&gate->out, NULL, 2);
	dapl_loop_post(loop, &gate->task);
	pthread_barrier_wait(&gate->in);
}

void gate_go_on(struct dapl_loop *loop, struct gate *gate)
{
	pthread_barrier_wait(&gate->out);
	dapl_loop_cancel(loop, &gate->task);
	pthread_barrier_destroy(&gate->in);
	pthread_barrier_destroy(&gate->out);
}

void readable(struct tp_watch *watch, uint32_t events)
{
	struct watched *w = (struct watched *)((char *)watch - offsetof(struct watched, watch));
	uint64_t value;

	if (!(events & EPOLLIN) || !dapl_loop_is_self(w->loop))
		abort();
	if (!w->keep && read(w->watch.fd, &value, sizeof(value)) < 0 && errno != EAGAIN)
		abort();
	if (w->victim)
		dapl_loop_del(w->loop, &w->victim->watch);
	atomic_fetch_add(&w->calls, 1);
}

void watched_add(struct dapl_loop *loop, struct watched *w, uint32_t events)
{
	*w = (struct watched){ .loop = loop };
	w->watch.ready = readable;
	w->watch.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	assert_true(w->watch.fd >= 0);
	assert_int_equal(dapl_loop_add(loop, &w->watch, events), 0);
}

void watched_remove(struct watched *w)
{
	dapl_loop_del(w->loop, &w->watch);
	close(w->watch.fd);
}

void watched_poke(struct watched *w)
{
	uint64_t one = 1;

	assert_int_equal(write(w->watch.fd, &one, sizeof(one)), sizeof(one));
}

static void work(struct tp_task *task)
{
	struct job *job = (struct job *)((char *)task - offsetof(struct job, task));

	if (job->order)
		job->place = (*job->order)++;
	if (job->again) {
		job->again--;
		dapl_loop_post(job->loop, task);
	}
	atomic_fetch_add(&job->runs, 1);
}

struct job job_on(struct dapl_loop *loop)
{
	return (struct job){ .task.run = work, .loop = loop };
}

void alarm_expires(struct tp_timer *timer)
{
	struct alarm_clock *clock =
		(struct alarm_clock *)((char *)timer - offsetof(struct alarm_clock, timer));

	atomic_store(&clock->at, dapl_now());
	if (clock->repeat)
		dapl_loop_timer(clock->loop, timer, dapl_now() + clock->repeat);
	atomic_fetch_add(&clock->calls, 1);
}
