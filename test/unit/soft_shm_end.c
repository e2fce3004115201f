/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The software engine over shared memory: the end, and peers that cheat. */
#include "dapl/base/fd.h"
#include "test/unit/soft_shm_util.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct soft_link_class *const shm = &soft_link_shm;

static uint8_t from[SHM_RING + 64], to[SHM_RING + 64];

/* ---- The end ---- */

static void the_end_in_order(void **state)
{
	(void)state;
	pair();
	assert_int_equal(put(act, "last", 4), 4);
	shm->finish(act);
	assert_int_equal(woken(pas), 1);
	assert_int_equal(get(pas, to, 3), 3);
	/* The other way goes on. */
	assert_int_equal(put(pas, "more", 4), 4);
	assert_int_equal(get(act, to, 9), 4);
	end_link(&act, false);
	/* What came before is read first. */
	assert_int_equal(get(pas, to, 9), 1);
	assert_int_equal(get(pas, to, 9), 0);
	assert_int_equal(get(pas, to, 9), 0);
}

static void the_end_by_force(void **state)
{
	uint64_t limit = now_ms() + DEADLINE_MS;

	(void)state;
	pair();
	assert_int_equal(put(act, "last", 4), 4);
	atomic_store(&readies, 0);
	end_link(&act, true);
	/* The loop hears of it though nobody watches. */
	while (!atomic_load(&readies) && now_ms() < limit)
		pause_ms(1);
	assert_int_equal(atomic_load(&readies), 1);
	assert_int_equal(put(pas, "x", 1), -ECONNRESET);
	assert_int_equal(get(pas, to, 9), 4);
	assert_int_equal(get(pas, to, 9), -ECONNRESET);
}

/* A peer of another process: waits to be killed. */
static int dies(int fd)
{
	struct shm_memory *at;
	int mem = memory(SHM_SIZE, SEALS), sock = raw_connect();

	at = mmap(NULL, SHM_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, mem, 0);
	at->page.addr = dev->addr;
	memcpy(at->page.side[0].first, "farewell", 8);
	atomic_store(&at->page.side[0].geometry, SHM_GEOMETRY(0, SHM_SMALL - 1));
	atomic_store(&at->page.side[0].sent, 8);
	if (raw_hello(sock, &right_hello, sizeof(right_hello), &mem, 1) || write(fd, "", 1) != 1)
		return 1;
	pause();
	return 2;
}

/* In order unless something of ours is unread, which its end cannot tell from one by exit. */
static void killed(bool unread)
{
	struct epoll_event event = { .events = EPOLLIN };
	int pair_[2], epfd, status;
	uint8_t byte;
	pid_t pid;

	listen_here();
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair_), 0);
	pid = fork();
	if (!pid)
		_exit(dies(pair_[1]));
	close(pair_[1]);
	assert_int_equal(read(pair_[0], &byte, 1), 1);
	accept_here();
	assert_int_equal(get(pas, to, 4), 4);
	assert_int_equal(soft_link_watch(pas, EPOLLONESHOT), 0);
	if (unread)
		assert_int_equal(put(pas, "x", 1), 1);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	/* A sleeper is woken. */
	epfd = epoll_create1(EPOLL_CLOEXEC);
	epoll_ctl(epfd, EPOLL_CTL_ADD, pas->fd, &event);
	assert_int_equal(epoll_wait(epfd, &event, 1, DEADLINE_MS), 1);
	shm->arm(pas, SOFT_WATCHER_CQ, EPOLLIN, true);
	assert_int_equal(get(pas, to + 4, 9), 4);
	assert_memory_equal(to, "farewell", 8);
	shm->arm(pas, SOFT_WATCHER_CQ, EPOLLIN, true);
	assert_int_equal(get(pas, to, 9), unread ? -ECONNRESET : 0);
	assert_int_equal(put(pas, "x", 1), unread ? -ECONNRESET : -EPIPE);
	end_link(&pas, false);
	close(epfd);
	close(pair_[0]);
	dapl_fd_close(listen_fd);
	listen_fd = -1;
}

static void peer_killed(void **state)
{
	(void)state;
	killed(false);
	killed(true);
}

/* ---- Peers that cheat ---- */

static void positions_that_cannot_be(void **state)
{
	static const uint32_t sent[] = { SHM_RING + 1, 0x80000000u, -1u };
	static const uint32_t taken[] = { -1u, 0x80000000u, SHM_RING };
	struct shm_side *side;
	ssize_t n;

	(void)state;
	for (unsigned i = 0; i < 6; i++) {
		pair();
		side = soft_shm(act)->own;
		if (i < 3) {
			atomic_store(&side->sent, sent[i]);
			assert_int_equal(get(pas, to, 9), -EPROTO);
		} else {
			atomic_store(&side->taken, taken[i - 3]);
			while ((n = put(pas, from, SHM_RING)) > 0)
				;
			assert_int_equal(n, -EPROTO);
		}
		/* And for good, in both directions if nothing else is there. */
		atomic_store(&side->sent, 0);
		atomic_store(&side->taken, 0);
		assert_int_equal(get(pas, to, 9), -EPROTO);
		assert_non_null(pas->why);
		end_link(&act, true);
		end_link(&pas, true);
		dapl_fd_close(listen_fd);
		listen_fd = -1;
	}
	/* A ring of any shape: what is read there is the peer's, wherever it is. */
	pair();
	side = soft_shm(act)->own;
	for (unsigned i = 0; i < 64; i++) {
		atomic_store(&side->geometry, SHM_GEOMETRY(i * 0x9e3779b9u, 0xffffffffu >> i % 32) ^
						      (uint64_t)i << 40);
		atomic_fetch_add(&side->sent, SHM_RING);
		assert_int_equal(get(pas, to, sizeof(to)), SHM_RING);
	}
	/* And what he has taken, told where that is not looked up. */
	atomic_store(&side->acked, SHM_RING);
	while ((n = put(pas, from, SHM_RING)) > 0)
		;
	assert_int_equal(n, -EAGAIN);
	end_link(&act, true);
	end_link(&pas, true);
	dapl_fd_close(listen_fd);
	listen_fd = -1;
	/* A peer that says it sleeps, in all tongues, and rings without end. */
	pair();
	atomic_store(&soft_shm(act)->own->wake_on, UINT32_MAX);
	for (int i = 0; i < 5000; i++)
		(void)send(act->fd, "", 1, MSG_DONTWAIT);
	atomic_store(&soft_shm(pas)->own->wake_on, 0);
	for (int i = 0; i < 200; i++)
		shm->arm(pas, SOFT_WATCHER_CQ, EPOLLIN, true);
	assert_int_equal(woken(pas), 0);
	assert_int_equal(put(pas, "y", 1), 1);
	assert_int_equal(get(act, to, 1), 1);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		T(the_end_in_order),
		T(the_end_by_force),
		T(peer_killed),
		T(positions_that_cannot_be),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	/* They choose themselves. */
	unsetenv("DAPL_SOFT_LINK");
	return cmocka_run_group_tests_name("tests", tests, NULL, NULL);
}
