/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Programs that use memory while it is transferred. Those that look at the last byte of a buffer
 * instead of asking for completions see it once, and after all others (DTO-47); those that change
 * a source get whatever mixture, and nothing breaks (DTO-8).
 */
#include "conn_util.h"
#include "ext_util.h"

#include <dirent.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
	ALL_SIZES = 200, /* from 1 on */
	FLAG = 65528,	 /* of the memory: a word that is written behind a message */
	FLAG_US = 5000,	 /* so long it is waited for */
	POLLS = 1000,
	THREADS = 8,
};

static const size_t more_sizes[] = { 256, 1000, 1461, 4096, 4097, 9001, 20000, 60000 };

/* Moves one message of len bytes from the start of the one memory to that of the other. */
typedef void move_fn(struct cu_rig *rig, size_t len);

static void
every_size(struct cu_rig *rig, move_fn *move, const struct ct_mem *from, struct ct_mem *to,
	   void (*one)(struct cu_rig *, move_fn *, const struct ct_mem *, struct ct_mem *, size_t))
{
	for (size_t len = 1; len <= ALL_SIZES; len++)
		one(rig, move, from, to, len);
	for (size_t i = 0; i < sizeof(more_sizes) / sizeof(more_sizes[0]); i++)
		one(rig, move, from, to, more_sizes[i]);
}

/* ---- A program that polls ----------------------------------------------- */

/* A thread that takes each message as soon as its last byte is there, and resets it. */
struct reader {
	pthread_t thread;
	volatile uint8_t *buffer;
	size_t len;
	atomic_bool stop;
	atomic_uint taken, wrong;
};

/* Whether all before the last one have the value; they are reset. */
static CU_PEER_MEMORY bool take_others(struct reader *reader, uint8_t value)
{
	bool same = true;

	for (size_t i = 0; i + 1 < reader->len; i++) {
		same &= reader->buffer[i] == value;
		reader->buffer[i] = 0;
	}
	return same;
}

static CU_PEER_MEMORY void *read_messages(void *arg)
{
	struct reader *reader = arg;
	volatile uint8_t *last = reader->buffer + reader->len - 1;
	unsigned int polls = 0;
	uint8_t value;

	do {
		value = *last;
		if (!value) {
			if (++polls % POLLS == 0)
				sched_yield();
			continue;
		}
		*last = 0;
		atomic_thread_fence(memory_order_acquire);
		if (!take_others(reader, value))
			atomic_fetch_add(&reader->wrong, 1);
		atomic_fetch_add(&reader->taken, 1);
	} while (value || !atomic_load(&reader->stop));
	return NULL;
}

static void reader_start(struct reader *reader, uint8_t *buffer, size_t len)
{
	cu_set(buffer, 0, len);
	*reader = (struct reader){ .buffer = buffer, .len = len };
	assert_int_equal(pthread_create(&reader->thread, NULL, read_messages, reader), 0);
}

static void reader_finish(struct reader *reader, unsigned int sent)
{
	atomic_store(&reader->stop, true);
	pthread_join(reader->thread, NULL);
	if (atomic_load(&reader->taken) != sent || atomic_load(&reader->wrong))
		fail_msg("%zu bytes: %u messages were sent, %u seen, %u of these not all there",
			 reader->len, sent, atomic_load(&reader->taken),
			 atomic_load(&reader->wrong));
}

/* Thousands of messages are moved: a pause after each would be long. */
static void await_taken(struct reader *reader, unsigned int number)
{
	uint64_t deadline = ct_now_us() + CT_US;

	while (atomic_load(&reader->taken) < number) {
		if (ct_now_us() > deadline)
			fail_msg("%zu bytes: message %u is not seen", reader->len, number);
		sched_yield();
	}
}

static void polled(struct cu_rig *rig, move_fn *move, const struct ct_mem *from, struct ct_mem *to,
		   size_t len)
{
	unsigned int times = harness_rounds(10);
	struct reader reader;

	reader_start(&reader, to->base, len);
	for (unsigned int i = 0; i < times; i++) {
		cu_set(from->base, (uint8_t)(1 + i % 255), len);
		move(rig, len);
		await_taken(&reader, i + 1);
	}
	reader_finish(&reader, times);
}

/* ---- The stores to the byte --------------------------------------------- */

/* The processor counts them; in the kernel it does not. */
struct watch {
	int fd[THREADS];
	unsigned int num;
};

static int watch_thread(int tid, const uint8_t *byte)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_BREAKPOINT,
		.size = sizeof(attr),
		.bp_type = HW_BREAKPOINT_W,
		.bp_addr = (uintptr_t)byte,
		.bp_len = HW_BREAKPOINT_LEN_1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};

	return (int)syscall(SYS_perf_event_open, &attr, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

static void watch_close(struct watch *watch)
{
	while (watch->num)
		close(watch->fd[--watch->num]);
}

/* Of all threads; false: this system cannot. */
static bool watch_open(struct watch *watch, const uint8_t *byte)
{
	DIR *dir = opendir("/proc/self/task");
	struct dirent *entry;
	int fd = 0;

	watch->num = 0;
	assert_non_null(dir);
	while (fd >= 0 && watch->num < THREADS && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		fd = watch_thread(atoi(entry->d_name), byte);
		if (fd >= 0)
			watch->fd[watch->num++] = fd;
	}
	closedir(dir);
	if (fd < 0)
		watch_close(watch);
	return fd >= 0;
}

static uint64_t watch_count(const struct watch *watch)
{
	uint64_t sum = 0, count;

	for (unsigned int i = 0; i < watch->num; i++) {
		assert_int_equal(read(watch->fd[i], &count, sizeof(count)), sizeof(count));
		sum += count;
	}
	return sum;
}

static void counted(struct cu_rig *rig, move_fn *move, const struct ct_mem *from, struct ct_mem *to,
		    size_t len)
{
	struct watch watch;
	uint64_t before;

	cu_set(from->base, 1, len);
	if (!watch_open(&watch, to->base + len - 1))
		harness_skip("this system lets nobody count stores");
	before = watch_count(&watch);
	move(rig, len);
	if (watch_count(&watch) - before > 1)
		fail_msg("%zu bytes: the last one was stored %u times", len,
			 (unsigned int)(watch_count(&watch) - before));
	watch_close(&watch);
}

/* ---- Ways to move one --------------------------------------------------- */

static void send_to_a_receive(struct cu_rig *rig, size_t len)
{
	expect_ok(cu_recv(&rig->p, 0, len, 1));
	expect_ok(ct_post_send(&rig->a, 0, len, 2, DAT_COMPLETION_DEFAULT_FLAG));
	DONE(rig->p.recv, rig->p.ep, 1, DAT_DTO_RECEIVE, len);
	DONE(rig->a.request, rig->a.ep, 2, DAT_DTO_SEND, len);
}

static CU_PEER_MEMORY uint8_t flag_of(const struct ct_mem *mem)
{
	return *(const volatile uint8_t *)(mem->base + FLAG);
}

/*
 * Once the flag is written, behind the message, that is there before its Receive. Where Sends wait
 * at their initiator (DTO-90) both come after it.
 */
static void send_before_its_receive(struct cu_rig *rig, size_t len)
{
	uint64_t deadline = ct_now_us() + FLAG_US;
	static uint8_t value;

	value++;
	cu_set(rig->a.mem.base + FLAG, value, 1);
	expect_ok(ct_post_send(&rig->a, 0, len, 2, DAT_COMPLETION_DEFAULT_FLAG));
	expect_ok(cu_write(&rig->a, FLAG, 1, 3, &rig->p.mem, FLAG, DAT_COMPLETION_DEFAULT_FLAG));
	while (flag_of(&rig->p.mem) != value && ct_now_us() < deadline)
		ct_pause();
	expect_ok(cu_recv(&rig->p, 0, len, 1));
	DONE(rig->p.recv, rig->p.ep, 1, DAT_DTO_RECEIVE, len);
	DONE(rig->a.request, rig->a.ep, 2, DAT_DTO_SEND, len);
	DONE(rig->a.request, rig->a.ep, 3, DAT_DTO_RDMA_WRITE, 1);
	ct_await(flag_of(&rig->p.mem) == value);
}

static void write_it(struct cu_rig *rig, size_t len)
{
	expect_ok(cu_write(&rig->a, 0, len, 2, &rig->p.mem, 0, DAT_COMPLETION_DEFAULT_FLAG));
	DONE(rig->a.request, rig->a.ep, 2, DAT_DTO_RDMA_WRITE, len);
}

static void read_it(struct cu_rig *rig, size_t len)
{
	expect_ok(cu_read(&rig->a, 0, len, 2, &rig->p.mem, 0, DAT_COMPLETION_DEFAULT_FLAG));
	DONE(rig->a.request, rig->a.ep, 2, DAT_DTO_RDMA_READ, len);
}

/* ---- Sources that change ------------------------------------------------ */

enum {
	LONG = 1 << 20,
	ONE = 0x5a,
	OTHER = 0xa5,
};

/* A thread that fills memory with the one value and the other in turn. */
struct changer {
	pthread_t thread;
	bool started;
	const struct ct_mem *mem;
	atomic_size_t len; /* of the part that is transferred */
	atomic_bool stop;
};

static struct changer changer;

static void *change(void *arg)
{
	(void)arg;
	while (!atomic_load(&changer.stop)) {
		cu_set(changer.mem->base, OTHER, atomic_load(&changer.len));
		cu_set(changer.mem->base, ONE, atomic_load(&changer.len));
	}
	return NULL;
}

static int teardown(void **state)
{
	atomic_store(&changer.stop, true);
	if (changer.started)
		pthread_join(changer.thread, NULL);
	changer.started = false;
	return cu_teardown(state);
}

static CU_PEER_MEMORY void check_either(const struct ct_mem *mem, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (mem->base[i] != ONE && mem->base[i] != OTHER)
			fail_msg("byte %zu of %zu is 0x%02x", i, len, mem->base[i]);
}

/* One of length len, of the kind whose number is kind; a's memory is out, p's is in. */
static void move_changing(struct cu_rig *rig, DAT_DTOS kind, struct ct_mem *out, struct ct_mem *in,
			  size_t len)
{
	DAT_LMR_TRIPLET from = ct_segment(out, 0, len), to = ct_segment(in, 0, len);
	DAT_RMR_TRIPLET remote = ct_target(kind == DAT_DTO_RDMA_READ ? out : in, 0, len);

	cu_set(in->base, 0, len);
	atomic_store(&changer.len, len);
	if (kind == DAT_DTO_SEND) {
		expect_ok(dat_ep_post_recv(rig->p.ep, 1, &to, cu_cookie(1),
					   DAT_COMPLETION_DEFAULT_FLAG));
		expect_ok(dat_ep_post_send(rig->a.ep, 1, &from, cu_cookie(2),
					   DAT_COMPLETION_DEFAULT_FLAG));
		DONE(rig->p.recv, rig->p.ep, 1, DAT_DTO_RECEIVE, len);
		DONE(rig->a.request, rig->a.ep, 2, kind, len);
	} else if (kind == DAT_DTO_RDMA_WRITE) {
		expect_ok(dat_ep_post_rdma_write(rig->a.ep, 1, &from, cu_cookie(2), &remote,
						 DAT_COMPLETION_DEFAULT_FLAG));
		DONE(rig->a.request, rig->a.ep, 2, kind, len);
		/* What a read comes back after is in place (DTO-68). */
		expect_ok(cu_read(&rig->a, 0, 1, 3, &rig->p.mem, 0, DAT_COMPLETION_DEFAULT_FLAG));
		DONE(rig->a.request, rig->a.ep, 3, DAT_DTO_RDMA_READ, 1);
	} else {
		expect_ok(dat_ep_post_rdma_read(rig->p.ep, 1, &to, cu_cookie(2), &remote,
						DAT_COMPLETION_DEFAULT_FLAG));
		DONE(rig->p.request, rig->p.ep, 2, kind, len);
	}
	check_either(in, len);
}

static void every_length_changing(struct cu_rig *rig, DAT_DTOS kind)
{
	static const size_t lengths[] = { 8, 250, 1000, 1461, 20000, 65536, LONG };
	struct ct_mem *out = cu_extra_mem(rig, rig->a.pz, LONG, DAT_MEM_PRIV_ALL_FLAG);
	struct ct_mem *in = cu_extra_mem(rig, rig->p.pz, LONG, DAT_MEM_PRIV_ALL_FLAG);

	cu_set(out->base, ONE, LONG);
	changer.mem = out;
	atomic_store(&changer.stop, false);
	assert_int_equal(pthread_create(&changer.thread, NULL, change, NULL), 0);
	changer.started = true;
	/* It changes often while many bytes are moved. */
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++)
		for (unsigned int round = harness_rounds(lengths[i] < LONG ? 200 : 20); round;
		     round--)
			move_changing(rig, kind, out, in, lengths[i]);
	STATE(rig->a.ep, CONNECTED);
	STATE(rig->p.ep, CONNECTED);
}

/* ---- Tests -------------------------------------------------------------- */

static void dto_47_a_send_is_seen_once_and_whole(void **state)
{
	struct cu_rig *rig = *state;

	every_size(rig, send_to_a_receive, &rig->a.mem, &rig->p.mem, polled);
	every_size(rig, send_to_a_receive, &rig->a.mem, &rig->p.mem, counted);
}

static void dto_47_90_a_send_that_waited_is_seen_once_and_whole(void **state)
{
	struct cu_rig *rig = *state;

	if (ct_receives_first(&rig->attr, &rig->prov))
		harness_skip("needs its Receives posted first (DTO-90)");
	every_size(rig, send_before_its_receive, &rig->a.mem, &rig->p.mem, polled);
	every_size(rig, send_before_its_receive, &rig->a.mem, &rig->p.mem, counted);
}

static void dto_47_a_write_is_seen_once_and_whole(void **state)
{
	struct cu_rig *rig = *state;

	every_size(rig, write_it, &rig->a.mem, &rig->p.mem, polled);
	every_size(rig, write_it, &rig->a.mem, &rig->p.mem, counted);
}

static void dto_47_a_read_is_seen_once_and_whole(void **state)
{
	struct cu_rig *rig = *state;

	every_size(rig, read_it, &rig->p.mem, &rig->a.mem, polled);
	every_size(rig, read_it, &rig->p.mem, &rig->a.mem, counted);
}

static void dto_8_48_a_read_of_memory_that_changes(void **state)
{
	every_length_changing(*state, DAT_DTO_RDMA_READ);
}

static void dto_8_34_a_send_of_memory_that_changes(void **state)
{
	every_length_changing(*state, DAT_DTO_SEND);
}

static void dto_8_45_a_write_of_memory_that_changes(void **state)
{
	every_length_changing(*state, DAT_DTO_RDMA_WRITE);
}

#define C(f) cmocka_unit_test_setup_teardown(f, cu_setup_connected, teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		C(dto_47_a_send_is_seen_once_and_whole),
		C(dto_47_90_a_send_that_waited_is_seen_once_and_whole),
		C(dto_47_a_write_is_seen_once_and_whole),
		C(dto_47_a_read_is_seen_once_and_whole),
		C(dto_8_48_a_read_of_memory_that_changes),
		C(dto_8_34_a_send_of_memory_that_changes),
		C(dto_8_45_a_write_of_memory_that_changes),
	};

	return harness_run(tests, sizeof(tests) / sizeof(tests[0]));
}
