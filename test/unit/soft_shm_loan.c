/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Links over shared memory: long data that the receiver's kernel copies from the sender's memory. */
#include "test/unit/soft_shm_util.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dapl/base/fd.h"
#include "providers/soft/memory/copy.h"

static const struct soft_link_class *const shm = &soft_link_shm;

enum {
	LONG = 200 << 10,
	HEAD = 18,
	PAGE = 4096,
};

static uint8_t from[LONG], to[LONG + 64];
static const struct iovec out[3] = { { from, HEAD },
				     { from + HEAD, 100 << 10 },
				     { from + HEAD + (100 << 10), LONG - HEAD - (100 << 10) } };

static void lend(struct soft_link *link)
{
	fill(from, LONG, 3);
	memset(to, 0xee, sizeof(to));
	assert_int_equal(link->class->send(link, out, 3), -EAGAIN);
	assert_true(soft_shm(link)->lent);
}

/* In whole pieces: the buffer behind is for what ends in it. */
static void whole(void **state)
{
	struct iovec in[2] = { { to + HEAD, 100 << 10 }, { to + HEAD + (100 << 10), PAGE } };

	(void)state;
	pair();
	lend(act);
	assert_int_equal(get(pas, to, PAGE), HEAD);
	assert_int_equal(act->class->send(act, out, 3), HEAD);
	assert_int_equal(pas->class->recv(pas, in, 2), 100 << 10);
	assert_int_equal(get(pas, to + HEAD + (100 << 10), LONG), LONG - HEAD - (100 << 10));
	assert_int_equal(act->class->send(act, out + 1, 2), LONG - HEAD);
	assert_true(filled(to, LONG, 3));
	assert_int_equal(to[LONG], 0xee);
	assert_int_equal(get(pas, to, 1), -EAGAIN);
	/* What comes before and behind is in order, also the other way. */
	assert_int_equal(put(pas, "before", 6), 6);
	lend(pas);
	assert_int_equal(get(act, to, 6), 6);
	assert_memory_equal(to, "before", 6);
	assert_int_equal(act->class->recv(act, &(struct iovec){ to, LONG }, 1), LONG);
	assert_int_equal(pas->class->send(pas, out, 3), LONG);
	assert_int_equal(put(pas, "behind", 6), 6);
	assert_int_equal(get(act, to + LONG, 9), 6);
	assert_true(filled(to, LONG, 3));
}

/* Each is woken once: the receiver when there is something, the sender when all of it is taken. */
static void who_sleeps_is_woken_once(void **state)
{
	(void)state;
	pair();
	assert_int_equal(shm->arm(pas, SOFT_WATCHER_CQ, EPOLLIN, true), EPOLLIN);
	lend(act);
	assert_int_equal(woken(pas), 1);
	assert_int_equal(shm->arm(act, SOFT_WATCHER_CQ, EPOLLOUT, true), EPOLLIN);
	for (int i = 0; i < 10; i++) {
		assert_int_equal(woken(act), 0);
		assert_int_equal(get(pas, to + i * (LONG / 10), LONG / 10) > 0, 1);
	}
	while (get(pas, to, LONG) > 0)
		;
	assert_int_equal(woken(act), 1);
	assert_int_equal(woken(pas), 1);
	assert_int_equal(act->class->send(act, out, 3), LONG);
}

/* The rest of what was reclaimed goes another way. */
static void reclaimed(void **state)
{
	(void)state;
	pair();
	assert_int_equal(act->class->taken(act, true), 0);
	lend(act);
	assert_int_equal(get(pas, to, 1000), HEAD);
	assert_int_equal(get(pas, to + HEAD, 1000), 1000);
	assert_int_equal(act->class->taken(act, true), HEAD + 1000);
	assert_int_equal(get(pas, to, 1000), -EAGAIN);
	assert_true(pas->class->quiet(pas));
	assert_int_equal(put(act, from + HEAD + 1000, 500), 500);
	assert_int_equal(get(pas, to + HEAD + 1000, 1000), 500);
	assert_true(filled(to, HEAD + 1500, 3));
	lend(act);
	assert_int_equal(get(pas, to, LONG), LONG);
	assert_int_equal(act->class->taken(act, true), LONG);
	assert_true(filled(to, LONG, 3));
}

/* Where the kernel does not allow it, or it is another process that has the number. */
static void refused(void **state)
{
	ssize_t sent, taken = 0, n;

	(void)state;
	pair();
	lend(act);
	soft_shm(act)->lends->proof[1] ^= 2;
	assert_int_equal(get(pas, to, LONG), -EAGAIN);
	for (sent = 0; sent < LONG; taken += n) {
		struct iovec rest[2] = { { from + sent, 1 }, { from + sent + 1, LONG - sent - 1 } };

		n = act->class->send(act, rest, 2);
		assert_in_range(n, 1, SHM_RING);
		sent += n;
		n = get(pas, to + taken, LONG);
		assert_in_range(n, 1, SHM_RING);
	}
	assert_int_equal(taken, LONG);
	assert_true(filled(to, LONG, 3));
	assert_false(soft_shm(act)->lent);
}

static void *unmapped(void)
{
	uint8_t *mem = mmap(NULL, LONG, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(mem, MAP_FAILED);
	munmap(mem + LONG / 2, LONG / 2);
	return mem;
}

/* As with the ring: who has it is told, and nobody else. */
static void memory_is_gone(void **state)
{
	uint8_t *mem = unmapped();
	struct iovec gone[2] = { { from, HEAD }, { mem, LONG } };
	struct iovec in[2] = { { mem, LONG }, { to, 1 } };
	ssize_t n = 0;

	(void)state;
	soft_guard_install();
	pair();
	assert_int_equal(act->class->send(act, gone, 2), -EAGAIN);
	while (n >= 0)
		n = get(pas, to, LONG);
	assert_int_equal(n, -EAGAIN);
	n = act->class->send(act, gone, 2);
	assert_int_equal(n, HEAD + LONG / 2);
	gone[1] = (struct iovec){ mem + LONG / 2, LONG / 2 };
	gone[0].iov_len = 0;
	assert_int_equal(act->class->send(act, gone, 2), -EFAULT);
	lend(pas);
	assert_int_equal(act->class->recv(act, in, 2), LONG / 2);
	in[0] = (struct iovec){ mem + LONG / 2, LONG / 2 };
	assert_int_equal(act->class->recv(act, in, 2), -EFAULT);
	munmap(mem, LONG / 2);
}

/* A lender that is killed. */
static int dies(int ready)
{
	struct shm_memory *at;
	int mem = memory(SHM_SIZE, SEALS), sock = raw_connect();

	(void)ready;
	at = mmap(NULL, SHM_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, mem, 0);
	at->page.addr = dev->addr;
	at->loan[0] = (struct shm_loan){ .pid = (uint64_t)getpid(), .num = 1, .total = LONG };
	at->loan[0].proof[0] = (uintptr_t)from;
	memcpy(&at->loan[0].proof[1], from, 16);
	at->loan[0].piece[0].base = (uintptr_t)from;
	at->loan[0].piece[0].len = LONG;
	atomic_store(&at->page.side[0].loan, SHM_LOAN_OUT);
	if (raw_hello(sock, &right_hello, sizeof(right_hello), &mem, 1) || write(ready, "", 1) != 1)
		return 1;
	pause();
	return 2;
}

static void lender_killed(void **state)
{
	int ready[2], status;
	uint8_t byte;
	pid_t pid;

	(void)state;
	fill(from, LONG, 4);
	listen_here();
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ready), 0);
	pid = fork();
	if (!pid)
		_exit(dies(ready[1]));
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	accept_here();
	assert_int_equal(get(pas, to, 1000), 1000);
	assert_true(filled(to, 1000, 4));
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(get(pas, to, 1000), -EAGAIN);
	shm->arm(pas, SOFT_WATCHER_CQ, EPOLLIN, true);
	assert_int_equal(get(pas, to, 1000), 0);
	close(ready[0]);
}

/* ---- Peers that cheat ---- */

static void loans_that_cannot_be(void **state)
{
	struct shm_loan *loan;

	(void)state;
	for (int i = 0; i < 5; i++) {
		pair();
		lend(act);
		loan = soft_shm(act)->lends;
		if (i == 0)
			loan->num = SHM_PIECES + 1;
		else if (i == 1)
			loan->total = 0;
		else if (i == 2)
			loan->num = 0;
		else if (i == 3)
			memset(loan->piece, 0, sizeof(loan->piece));
		else
			atomic_store(&soft_shm(act)->own->loan, SHM_LOAN_OUT | (LONG + 1));
		assert_int_equal(get(pas, to, 9), -EPROTO);
		assert_int_equal(act->class->send(act, out, 3), i == 4 ? -EPROTO : -EAGAIN);
		end_link(&act, true);
		end_link(&pas, true);
		dapl_fd_close(listen_fd);
		listen_fd = -1;
	}
	/* One that says what is not true of where it is: an error of his own, as nothing is there. */
	pair();
	lend(act);
	soft_shm(act)->lends->piece[0].base = 16;
	assert_int_equal(get(pas, to, 9), -EAGAIN);
	soft_shm(act)->lends->pid = UINT64_MAX;
	assert_int_equal(get(pas, to, 9), -EAGAIN);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		T(whole),
		T(who_sleeps_is_woken_once),
		T(reclaimed),
		T(refused),
		T(memory_is_gone),
		T(lender_killed),
		T(loans_that_cannot_be),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	/* They choose themselves. */
	unsetenv("DAPL_SOFT_LINK");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
