/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The software engine: data over shared memory, and wake-ups. */
#include "dapl/base/fd.h"
#include "dapl/base/loop_call.h"
#include "test/unit/soft_loop.h"
#include "test/unit/soft_shm_util.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct soft_link_class *const shm = &soft_link_shm;

static uint8_t from[SHM_RING + 64], to[SHM_RING + 64];

/* ---- Data ---- */

/* Moves len bytes in pieces of up to three places; one that is there already comes before. */
static void move(struct soft_link *a, struct soft_link *b, uint32_t len, unsigned seed)
{
	struct iovec out[3] = { { from, len / 3 },
				{ from + len / 3, len / 2 },
				{ from + len / 3 + len / 2, len - len / 3 - len / 2 } };
	struct iovec in[3] = { { to + len, 1 },
			       { to, len / 4 },
			       { to + len / 4, sizeof(to) - len / 4 } };

	fill(from, len, seed);
	memset(to, 0xee, len + 1);
	assert_int_equal(a->class->send(a, out, 3), len);
	assert_int_equal(b->class->recv(b, in, 3), len + 1);
	assert_true(filled(to, len, seed));
	assert_int_equal(get(b, to, 1), -EAGAIN);
}

/* At every place around where the ring's first bytes end, and where it does, in both directions. */
static void all_sizes(void **state)
{
	static const uint32_t sizes[] = { 1, 2, 3, 63, 64, 65, 4095, 4096, 4097, SHM_SMALL - 1 };
	static const uint32_t places[] = { SHM_FIRST, SHM_SMALL };

	(void)state;
	pair();
	for (unsigned way = 0; way < 4; way++) {
		struct soft_link *a = way & 1 ? pas : act, *b = way & 1 ? act : pas;
		uint32_t place = places[way / 2];

		for (unsigned i = 0; i < 10; i++)
			for (uint32_t before = 0; before < 7; before++) {
				uint32_t start = place - (sizes[i] & ~3u) / 2 % place - before;

				/* An empty ring begins anew. */
				acknowledge(a, b);
				assert_int_equal(put(a, from, start), start);
				assert_int_equal(get(b, to, start - 1), start - 1);
				acknowledge(a, b);
				move(a, b, sizes[i], i + before);
			}
	}
}

static void back_pressure(void **state)
{
	(void)state;
	pair();
	fill(from, SHM_SMALL, 4);
	assert_int_equal(put(act, from, 1000), 1000);
	assert_int_equal(put(act, from + 1000, SHM_SMALL), SHM_SMALL - 1000);
	assert_int_equal(put(act, from, 1), -EAGAIN);
	assert_int_equal(get(pas, to, 10), 10);
	assert_int_equal(put(act, from, 100), 10);
	assert_int_equal(put(act, from, 1), -EAGAIN);
	assert_int_equal(get(pas, to + 10, sizeof(to) - 10), SHM_SMALL);
	assert_true(filled(to, SHM_SMALL, 4));
	assert_memory_equal(to + SHM_SMALL, from, 10);
}

enum {
	LINE = SHM_LINE - offsetof(struct shm_side, first) % SHM_LINE,
};

/* What is short lies in the cache line that is looked at for it. */
static void short_messages_share_a_line(void **state)
{
	struct shm_side *side;

	(void)state;
	pair();
	side = soft_shm(act)->own;
	assert_ptr_equal((char *)side->first - offsetof(struct shm_side, first) % SHM_LINE,
			 (char *)&side->sent);
	for (int i = 0; i < 1000; i++) {
		fill(from, LINE, (unsigned)i);
		assert_int_equal(put(act, from, LINE), LINE);
		assert_memory_equal(side->first, from, LINE);
		assert_int_equal(get(pas, to, 99), LINE);
		assert_true(filled(to, LINE, (unsigned)i));
		acknowledge(act, pas);
	}
}

/* Memory of both sides, in bytes. */
static off_t touched(void)
{
	struct stat st;

	assert_int_equal(fstat(soft_shm(pas)->memfd, &st), 0);
	return st.st_blocks * 512;
}

/* Two who have a sleeper among them get a larger ring, which is given back when it rests. */
static void grows_and_rests(void **state)
{
	ssize_t sent = 0, taken = 0, n;

	(void)state;
	pair();
	fill(from, SHM_RING, 6);
	for (int i = 0; i < 100; i++) {
		assert_int_equal(put(act, from, 36), 36);
		assert_int_equal(get(pas, to, 36), 36);
	}
	assert_true(touched() <= 2 * SHM_PAGE);
	while ((n = put(act, from + sent, SHM_RING - (size_t)sent)) > 0)
		sent += n;
	assert_int_equal(sent, SHM_SMALL);
	/* Nobody slept, */
	taken = get(pas, to, SHM_SMALL / 4);
	n = put(act, from + sent, SHM_RING - (size_t)sent);
	assert_int_equal(n, taken);
	sent += n;
	/* now one does: what is in the ring is not lost by its growth. */
	assert_int_equal(shm->arm(act, SOFT_WATCHER_CQ, EPOLLOUT, true), EPOLLIN);
	while (sent < SHM_RING) {
		n = get(pas, to + taken, SHM_SMALL / 2 + 100);
		assert_true(n > 0);
		taken += n;
		n = put(act, from + sent, SHM_RING - (size_t)sent);
		assert_true(n >= 0);
		sent += n;
	}
	assert_true(sent - taken > SHM_SMALL);
	while ((n = get(pas, to + taken, SHM_RING)) > 0)
		taken += n;
	assert_int_equal(taken, SHM_RING);
	assert_true(filled(to, SHM_RING, 6));
	assert_int_equal(put(act, from, SHM_RING), SHM_RING);
	assert_true(touched() > SHM_RING);
	act->class->rest(act);
	act->class->rest(act);
	assert_true(touched() > SHM_RING);
	assert_int_equal(get(pas, to, SHM_RING), SHM_RING);
	act->class->rest(act);
	assert_true(touched() <= 2 * SHM_PAGE);
	assert_int_equal(put(act, from, SHM_RING), SHM_SMALL);
	assert_int_equal(get(pas, to, SHM_RING), SHM_SMALL);
	assert_true(filled(to, SHM_SMALL, 6));
}

/* ---- Wake-ups ---- */

static void who_polls_rings_nobody(void **state)
{
	uint8_t byte = 0;

	(void)state;
	pair();
	for (int i = 0; i < 100; i++) {
		assert_int_equal(put(act, &byte, 1), 1);
		assert_int_equal(get(pas, &byte, 1), 1);
		assert_int_equal(get(pas, &byte, 1), -EAGAIN);
		assert_int_equal(put(pas, &byte, 1), 1);
		assert_int_equal(get(act, &byte, 1), 1);
	}
	while (put(act, from, SHM_RING) > 0)
		;
	while (get(pas, to, SHM_RING) > 0)
		;
	assert_int_equal(woken(act), 0);
	assert_int_equal(woken(pas), 0);
	/* A sleeper is woken once, and the byte waits until he sleeps again. */
	assert_int_equal(shm->arm(pas, SOFT_WATCHER_CQ, EPOLLIN, true), EPOLLIN);
	assert_int_equal(put(act, &byte, 1), 1);
	assert_int_equal(woken(pas), 1);
	assert_int_equal(put(act, &byte, 1), 1);
	assert_int_equal(woken(pas), 1);
	assert_int_equal(shm->arm(pas, SOFT_WATCHER_CQ, EPOLLIN, true), EPOLLIN | EPOLLOUT);
	assert_int_equal(get(pas, to, 10), 2);
	assert_int_equal(shm->arm(pas, SOFT_WATCHER_CQ, EPOLLIN, true), EPOLLIN);
	assert_int_equal(woken(pas), 0);
	/* Room is what half of the ring is. */
	while (put(act, from, SHM_RING) > 0)
		;
	assert_int_equal(shm->arm(act, SOFT_WATCHER_CQ, EPOLLIN | EPOLLOUT, true), EPOLLIN);
	assert_int_equal(get(pas, to, SHM_SMALL / 2 - 1), SHM_SMALL / 2 - 1);
	assert_int_equal(woken(act), 0);
	assert_int_equal(get(pas, to, 1), 1);
	assert_int_equal(woken(act), 1);
}

/* A sleeper who saw nothing of what was taken little by little before is woken all the same. */
static void room_is_told(void **state)
{
	(void)state;
	pair();
	for (uint32_t before = 0; before <= SHM_SMALL; before += SHM_SMALL / 8) {
		for (uint32_t n = 0; n < before; n += SHM_SMALL / 8) {
			assert_int_equal(put(act, from, SHM_SMALL / 8), SHM_SMALL / 8);
			assert_int_equal(get(pas, to, SHM_SMALL / 8), SHM_SMALL / 8);
		}
		while (put(act, from, SHM_RING) > 0)
			;
		assert_int_equal(shm->arm(act, SOFT_WATCHER_CQ, EPOLLOUT, true), EPOLLIN);
		for (uint32_t n = 0; n < SHM_SMALL / 2; n += SHM_SMALL / 16) {
			assert_int_equal(woken(act), 0);
			shm->consume(pas, SHM_SMALL / 16);
		}
		assert_int_equal(woken(act), 1);
		while (get(pas, to, SHM_RING) > 0)
			;
		assert_int_equal(shm->arm(act, SOFT_WATCHER_CQ, EPOLLOUT, true),
				 EPOLLIN | EPOLLOUT);
		assert_int_equal(shm->arm(act, SOFT_WATCHER_CQ, EPOLLIN, true), EPOLLIN);
	}
}

/* Two sleepers at one end: who takes the byte leaves nobody behind. */
static void sleepers_together(void **state)
{
	uint8_t byte = 0;

	(void)state;
	pair();
	shm->arm(pas, SOFT_WATCHER_CQ, EPOLLIN, true);
	shm->arm(pas, SOFT_WATCHER_OTHER, EPOLLIN, true);
	assert_int_equal(put(act, &byte, 1), 1);
	/* There is something: the other one's byte stays. */
	assert_int_equal(shm->arm(pas, SOFT_WATCHER_CQ, EPOLLIN, true), EPOLLIN | EPOLLOUT);
	assert_int_equal(woken(pas), 1);
	assert_int_equal(get(pas, &byte, 1), 1);
	assert_int_equal(shm->arm(pas, SOFT_WATCHER_CQ, EPOLLIN, true), EPOLLIN);
	assert_int_equal(woken(pas), 0);
	assert_int_equal(put(act, &byte, 1), 1);
	assert_int_equal(woken(pas), 1);
}

/* What happens just before the next recv. */
static _Atomic(void (*)(void)) meanwhile;

ssize_t recv(int fd, void *data, size_t size, int flags)
{
	void (*what)(void) = atomic_exchange(&meanwhile, NULL);

	if (what)
		what();
	return syscall(SYS_recvfrom, fd, data, size, flags, NULL, NULL);
}

static void send_one(void)
{
	uint8_t byte = 0;

	assert_int_equal(put(act, &byte, 1), 1);
}

/* The byte that comes while one goes to sleep is for the other as well, who sleeps. */
static void one_sleeps_already(void **state)
{
	(void)state;
	pair();
	assert_int_equal(shm->arm(pas, SOFT_WATCHER_OTHER, EPOLLIN, true), EPOLLIN);
	meanwhile = send_one;
	assert_int_equal(shm->arm(pas, SOFT_WATCHER_CQ, EPOLLIN, true), EPOLLIN | EPOLLOUT);
	assert_null(atomic_load(&meanwhile));
	assert_int_equal(woken(pas), 1);
}

static void the_loop_is_woken(void **state)
{
	uint64_t limit = now_ms() + DEADLINE_MS;
	uint8_t byte = 0;
	unsigned n;

	(void)state;
	pair();
	atomic_store(&readies, 0);
	assert_int_equal(soft_link_watch(pas, EPOLLIN | EPOLLONESHOT), 0);
	pause_ms(20);
	assert_int_equal(atomic_load(&readies), 0);
	assert_int_equal(put(act, &byte, 1), 1);
	while (!atomic_load(&readies) && now_ms() < limit)
		pause_ms(1);
	assert_int_equal(put(act, &byte, 1), 1);
	pause_ms(20);
	assert_int_equal(atomic_load(&readies), 1);
	/* What is there already; and as long as it is there. */
	assert_int_equal(soft_link_watch(pas, EPOLLIN), 0);
	while (atomic_load(&readies) < 10 && now_ms() < limit)
		pause_ms(1);
	assert_true(atomic_load(&readies) >= 10);
	assert_int_equal(get(pas, to, 10), 2);
	/* The loop may be about to tell of it once more, whenever its thread runs. */
	do {
		n = atomic_load(&readies);
		pause_ms(50);
	} while (atomic_load(&readies) != n && now_ms() < limit);
	assert_int_equal(atomic_load(&readies), n);
}

static int send_and_take(void *arg)
{
	uint8_t byte = 0;

	(void)arg;
	assert_int_equal(put(act, &byte, 1), 1);
	assert_int_equal(get(pas, to, 10), 1);
	return 0;
}

/* Who takes what comes before the loop has seen it will do so again: the owner hears of it. */
static void the_loop_tells_of_what_others_took(void **state)
{
	uint64_t limit = now_ms() + DEADLINE_MS;

	(void)state;
	pair();
	atomic_store(&readies, 0);
	assert_int_equal(soft_link_watch(pas, EPOLLIN | EPOLLONESHOT), 0);
	assert_int_equal(dapl_loop_call(left.loop, send_and_take, NULL), 0);
	while (!atomic_load(&readies) && now_ms() < limit)
		pause_ms(1);
	pause_ms(20);
	assert_int_equal(atomic_load(&readies), 1);
}

/* It waits for the end alone, and is told of that alone. */
static void leaves_wakeups(bool gone)
{
	const enum soft_watcher cq = SOFT_WATCHER_CQ;
	uint64_t limit = now_ms() + DEADLINE_MS, wakeups;
	uint8_t byte = 0;

	pair();
	atomic_store(&readies, 0);
	assert_int_equal(pas->class->arm(pas, cq, EPOLLIN, true), EPOLLIN);
	assert_int_equal(soft_link_watch(pas, EPOLLRDHUP | EPOLLONESHOT), 0);
	wakeups = soft_loop_wakeups(left.loop);
	assert_int_equal(put(act, &byte, 1), 1);
	pause_ms(50);
	assert_int_equal(woken(pas), 1);
	assert_true(soft_loop_wakeups(left.loop) - wakeups < 10);
	assert_int_equal(atomic_load(&readies), 0);
	/* As soon as the other sleeps again, or is gone. */
	if (gone) {
		assert_int_equal(pas->class->arm(pas, cq, 0, false), 0);
	} else {
		assert_int_equal(get(pas, to, 10), 1);
		assert_int_equal(pas->class->arm(pas, cq, EPOLLIN, true), EPOLLIN);
	}
	act->class->finish(act);
	while (!atomic_load(&readies) && now_ms() < limit)
		pause_ms(1);
	assert_int_equal(atomic_load(&readies), 1);
}

static void the_loop_leaves_wakeups_to_others(void **state)
{
	(void)state;
	leaves_wakeups(false);
}

static void the_loop_leaves_none_to_who_is_gone(void **state)
{
	(void)state;
	leaves_wakeups(true);
}

/* ---- Lost wake-ups ---- */

enum {
	STREAM = 24 << 20,
	ROUNDS = 20000,
};

struct traffic {
	struct soft_link *link;
	enum soft_watcher who;
	uint64_t moved;
	const char *wrong;
};

/* Sleeps until ready; false if nobody wakes us. */
static bool sleep_for(struct traffic *tr, int epfd, uint32_t events)
{
	struct epoll_event event = { 0 };
	int n;

	event.events = shm->arm(tr->link, tr->who, events, true);
	if (epoll_ctl(epfd, EPOLL_CTL_MOD, tr->link->fd, &event))
		return false;
	/* A process that was stopped goes on with an interrupted wait. */
	do
		n = epoll_wait(epfd, &event, 1, DEADLINE_MS);
	while (n < 0 && errno == EINTR);
	return n == 1;
}

static int epoll_of(struct traffic *tr)
{
	struct epoll_event event = { 0 };
	int epfd = epoll_create1(EPOLL_CLOEXEC);

	epoll_ctl(epfd, EPOLL_CTL_ADD, tr->link->fd, &event);
	return epfd;
}

static void *writes(void *arg)
{
	struct traffic *tr = arg;
	static uint8_t bytes[40000];
	int epfd = epoll_of(tr);
	unsigned seed = 1;

	while (tr->moved < STREAM && !tr->wrong) {
		size_t len = (size_t)rand_r(&seed) % sizeof(bytes) + 1;
		ssize_t n;

		for (size_t i = 0; i < len; i++)
			bytes[i] = (uint8_t)((tr->moved + i) % 251);
		n = put(tr->link, bytes, len);
		if (n > 0)
			tr->moved += (uint64_t)n;
		else if (n != -EAGAIN)
			tr->wrong = "send failed";
		else if (!sleep_for(tr, epfd, EPOLLOUT))
			tr->wrong = "a writer slept for ever";
	}
	tr->link->class->finish(tr->link);
	close(epfd);
	return NULL;
}

static void *reads(void *arg)
{
	struct traffic *tr = arg;
	static uint8_t bytes[50000];
	int epfd = epoll_of(tr);
	unsigned seed = 2;
	ssize_t n = 1;

	while (n && !tr->wrong) {
		n = get(tr->link, bytes, (size_t)rand_r(&seed) % sizeof(bytes) + 1);
		for (ssize_t i = 0; i < n; i++, tr->moved++)
			if (bytes[i] != (uint8_t)(tr->moved % 251))
				tr->wrong = "other bytes";
		if (n < 0 && n != -EAGAIN)
			tr->wrong = "recv failed";
		else if (n < 0 && !sleep_for(tr, epfd, EPOLLIN))
			tr->wrong = "a reader slept for ever";
	}
	close(epfd);
	return NULL;
}

static void stream_with_sleep(void **state)
{
	struct traffic w, r;
	pthread_t thread;

	(void)state;
	pair();
	w = (struct traffic){ .link = act, .who = SOFT_WATCHER_CQ };
	r = (struct traffic){ .link = pas, .who = SOFT_WATCHER_OTHER };
	assert_int_equal(pthread_create(&thread, NULL, writes, &w), 0);
	reads(&r);
	pthread_join(thread, NULL);
	assert_null(w.wrong);
	assert_null(r.wrong);
	assert_int_equal(r.moved, w.moved);
}

static void *answers(void *arg)
{
	struct traffic *tr = arg;
	int epfd = epoll_of(tr);
	unsigned seed = 3;
	uint8_t byte = 0;
	ssize_t n;

	while (tr->moved < ROUNDS && !tr->wrong) {
		n = get(tr->link, &byte, 1);
		if (n == 1 && put(tr->link, &byte, 1) == 1)
			tr->moved++;
		else if (n != -EAGAIN)
			tr->wrong = "failed";
		else if (rand_r(&seed) % 4 && !sleep_for(tr, epfd, EPOLLIN))
			tr->wrong = "slept for ever";
	}
	close(epfd);
	return NULL;
}

static void ping_pong_with_sleep(void **state)
{
	struct traffic x, y;
	pthread_t thread;
	uint8_t byte = 0;

	(void)state;
	pair();
	x = (struct traffic){ .link = act, .who = SOFT_WATCHER_CQ };
	y = (struct traffic){ .link = pas, .who = SOFT_WATCHER_CQ };
	assert_int_equal(put(act, &byte, 1), 1);
	assert_int_equal(pthread_create(&thread, NULL, answers, &y), 0);
	answers(&x);
	pthread_join(thread, NULL);
	assert_null(x.wrong);
	assert_null(y.wrong);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		T(all_sizes),
		T(back_pressure),
		T(short_messages_share_a_line),
		T(grows_and_rests),
		T(who_polls_rings_nobody),
		T(room_is_told),
		T(sleepers_together),
		T(one_sleeps_already),
		T(the_loop_is_woken),
		T(the_loop_tells_of_what_others_took),
		T(the_loop_leaves_wakeups_to_others),
		T(the_loop_leaves_none_to_who_is_gone),
		T(stream_with_sleep),
		T(ping_pong_with_sleep),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	/* They choose themselves. */
	unsetenv("DAPL_SOFT_LINK");
	return cmocka_run_group_tests_name("tests", tests, NULL, NULL);
}
