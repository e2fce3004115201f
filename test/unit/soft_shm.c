/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The software engine: connections over shared memory, their start, their data, their bell, and
 * peers that cheat. */
#include "test/unit/soft_util.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "providers/soft/shm.h"
#include "test/unit/soft_loop.h"

static const struct dapl_transport *const t = &dapl_module_transport;
static const struct soft_link_class *const shm = &soft_link_shm;

enum {
	SEALS = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL,
	NOBODY = 65534,
};

static struct node left, right;
static struct soft_dev *dev;
static unsigned fds_before;

/* A pair of links without connections above. */
static int ear = -1;
static uint64_t qual;
static struct soft_link *act, *pas;
static atomic_uint readies;

static int set_up(void **state)
{
	(void)state;
	fds_before = count_fds();
	soft_config.link = SOFT_LINK_AUTO;
	node_open(&left, "lo");
	node_open(&right, "127.0.0.1");
	soft_config.link = SOFT_LINK_AUTO;
	dev = soft_dev(left.dev);
	qual = (uint64_t)getpid() + 100000; /* nobody else's */
	return 0;
}

static void counts(struct soft_link *link, uint32_t events)
{
	(void)link;
	(void)events;
	atomic_fetch_add(&readies, 1);
}

struct ending {
	struct soft_link *link;
	bool abort;
};

static int end_on_loop(void *arg)
{
	struct ending *ending = arg;

	soft_link_destroy(ending->link, ending->abort);
	return 0;
}

static void end_link(struct soft_link **link, bool abort)
{
	struct ending ending = { *link, abort };

	if (*link)
		soft_dev_call(dev, end_on_loop, &ending);
	*link = NULL;
}

static int tear_down(void **state)
{
	(void)state;
	end_link(&act, false);
	end_link(&pas, false);
	if (ear >= 0)
		close(ear);
	ear = -1;
	node_close(&left);
	node_close(&right);
	soft_config.link = SOFT_LINK_TCP;
	assert_int_equal(count_fds(), fds_before);
	return 0;
}

static ssize_t put(struct soft_link *link, const void *data, size_t len)
{
	struct iovec iov = { (void *)(uintptr_t)data, len };

	return link->class->send(link, &iov, 1);
}

static ssize_t get(struct soft_link *link, void *data, size_t len)
{
	struct iovec iov = { data, len };

	return link->class->recv(link, &iov, 1);
}

static void listen_here(void)
{
	ear = shm->listen(&dev->addr, &qual);
	assert_true(ear >= 0);
}

static void connect_here(void)
{
	assert_int_equal(shm->connect(dev, &dev->addr, (struct sockaddr *)&dev->addr, qual, &act),
			 0);
	act->ready = counts;
}

static void accept_here(void)
{
	assert_int_equal(shm->accept(dev, ear, &pas), 0);
	pas->ready = counts;
}

/* Both links, with nothing watched by the loop. */
static void pair(void)
{
	uint8_t byte;

	listen_here();
	connect_here();
	assert_int_equal(act->start_err, 0);
	accept_here();
	assert_int_equal(get(pas, &byte, 1), -EAGAIN);
	assert_int_equal(shm->started(act), 0);
	assert_int_equal(soft_link_watch(pas, EPOLLONESHOT), 0);
	assert_int_equal(soft_link_watch(act, EPOLLONESHOT), 0);
	/* The loop slept at it before. */
	atomic_store(&soft_shm(pas)->own->bell, 0);
}

/* Bytes of the bell that wait at the link. */
static int rung(struct soft_link *link)
{
	uint8_t bytes[16];
	ssize_t n = recv(link->fd, bytes, sizeof(bytes), MSG_DONTWAIT | MSG_PEEK);

	return n < 0 ? 0 : (int)n;
}

/* ---- The start ---- */

static void hand_shake(void **state)
{
	struct sockaddr_storage local, remote;
	unsigned before = count_fds();
	uint64_t at = 0, from = 0, own = 0, to = 0;
	uint8_t byte = 7;
	int fds[SOFT_LINK_FDS];

	(void)state;
	pair();
	shm->names(act, &local, &own, &remote, &to);
	assert_int_equal(to, qual);
	shm->names(pas, &local, &at, &remote, &from);
	assert_true(own >= 49152 && own <= UINT16_MAX);
	assert_int_equal(from, own);
	assert_int_equal(remote.ss_family, AF_INET);
	/* What the peer has is of a size that nobody changes. */
	assert_int_equal(pas->class->give(pas, fds), 2);
	assert_int_equal(fcntl(fds[1], F_GET_SEALS) & SEALS, SEALS);
	assert_int_equal(ftruncate(fds[1], 0), -1);
	assert_int_equal(ftruncate(fds[1], 2 * SHM_SIZE), -1);
	/* The answer makes it two descriptors, and the one that listens. */
	assert_int_equal(put(pas, &byte, 1), 1);
	assert_int_equal(count_fds(), before + 3);
	assert_ptr_equal(pas->class, shm);
	assert_int_equal(get(act, &byte, 1), 1);
	assert_int_equal(byte, 7);
}

static void nobody_there(void **state)
{
	(void)state;
	connect_here();
	assert_int_equal(shm->started(act), -ECONNREFUSED);
	assert_non_null(act->why);
}

/* Who is gone before he answered has not taken it. */
static void no_answer(void **state)
{
	(void)state;
	listen_here();
	connect_here();
	accept_here();
	end_link(&pas, true);
	assert_int_equal(shm->started(act), -ECONNREFUSED);
}

/* A peer made by hand. */
static int raw_connect(void)
{
	struct sockaddr_un name;
	socklen_t len = soft_shm_name(&dev->addr, qual, &name);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	return fd < 0 || connect(fd, (struct sockaddr *)&name, len) ? -1 : fd;
}

static int raw_hello(int fd, const struct shm_hello *hello, size_t len, const int *fds, int num)
{
	union {
		struct cmsghdr align;
		char room[CMSG_SPACE(2 * sizeof(int))];
	} control = { .room = { 0 } };
	struct iovec iov = { (void *)(uintptr_t)hello, len };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (num) {
		msg.msg_control = control.room;
		msg.msg_controllen = CMSG_SPACE((size_t)num * sizeof(int));
		control.align.cmsg_level = SOL_SOCKET;
		control.align.cmsg_type = SCM_RIGHTS;
		control.align.cmsg_len = CMSG_LEN((size_t)num * sizeof(int));
		memcpy(CMSG_DATA(&control.align), fds, (size_t)num * sizeof(int));
	}
	return sendmsg(fd, &msg, MSG_NOSIGNAL) == (ssize_t)len ? 0 : -1;
}

static int memory(off_t size, int seals)
{
	int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, size), 0);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, seals), 0);
	return fd;
}

static const struct shm_hello right_hello = { SHM_MAGIC, SHM_VERSION, SHM_SIZE };

/* What such a hello gets. */
static int outcome(const struct shm_hello *hello, size_t len, const int *fds, int num)
{
	int fd = raw_connect(), rc;
	uint8_t byte;

	assert_true(fd >= 0);
	assert_int_equal(raw_hello(fd, hello, len, fds, num), 0);
	accept_here();
	rc = (int)get(pas, &byte, 1);
	end_link(&pas, true);
	close(fd);
	return rc;
}

static void memory_that_is_none(void **state)
{
	struct shm_hello hello = right_hello;
	FILE *file = tmpfile();
	unsigned before;
	int fds[2];

	(void)state;
	listen_here();
	fds[0] = memory(SHM_SIZE, SEALS);
	fds[1] = memory(SHM_SIZE, SEALS);
	before = count_fds();
	/* Good, but for the name of who sent it. */
	assert_int_equal(outcome(&hello, sizeof(hello), fds, 1), -EPROTO);
	assert_int_equal(outcome(&hello, sizeof(hello), NULL, 0), -EPROTO);
	assert_int_equal(outcome(&hello, sizeof(hello) - 1, fds, 1), -EPROTO);
	assert_true(outcome(&hello, sizeof(hello), fds, 2) < 0);
	hello.magic++;
	assert_int_equal(outcome(&hello, sizeof(hello), fds, 1), -EPROTO);
	hello = right_hello;
	hello.version++;
	assert_int_equal(outcome(&hello, sizeof(hello), fds, 1), -EPROTO);
	hello = right_hello;
	hello.size *= 2;
	assert_int_equal(outcome(&hello, sizeof(hello), fds, 1), -EPROTO);
	/* Of another size; that could be shrunk; that cannot be written; a file; a socket. */
	static const struct {
		off_t size;
		int seals;
	} bad[] = {
		{ SHM_SIZE - 4096, SEALS },
		{ SHM_SIZE + 4096, SEALS },
		{ 0, SEALS },
		{ SHM_SIZE, F_SEAL_GROW | F_SEAL_SEAL },
		{ SHM_SIZE, F_SEAL_SHRINK | F_SEAL_GROW },
		{ SHM_SIZE, SEALS | F_SEAL_WRITE },
	};

	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		int fd = memory(bad[i].size, bad[i].seals);

		assert_int_equal(outcome(&right_hello, sizeof(hello), &fd, 1), -EPROTO);
		close(fd);
	}
	assert_int_equal(ftruncate(fileno(file), SHM_SIZE), 0);
	assert_int_equal(outcome(&right_hello, sizeof(hello), &(int){ fileno(file) }, 1), -EPROTO);
	assert_int_equal(outcome(&right_hello, sizeof(hello), &ear, 1), -EPROTO);
	assert_int_equal(count_fds(), before);
	fclose(file);
	close(fds[0]);
	close(fds[1]);
}

/* ---- Other users ---- */

/* Runs act in a child of another user; its exit status. */
static pid_t as_nobody(int (*act_there)(int fd), int *fd)
{
	int pair_[2];
	pid_t pid;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair_), 0);
	pid = fork();
	if (!pid) {
		if (setgid(NOBODY) || setuid(NOBODY))
			_exit(9);
		_exit(act_there(pair_[1]));
	}
	close(pair_[1]);
	*fd = pair_[0];
	return pid;
}

static int status_of(pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 100;
}

/* Connects, and is hung up on. */
static int calls(int fd)
{
	int sock = raw_connect();
	uint8_t byte;

	if (sock < 0 || write(fd, "", 1) != 1)
		return 1;
	return recv(sock, &byte, 1, 0) == 1 ? 2 : 0;
}

/* Listens at the name, and is not told anything. */
static int listens(int fd)
{
	int sock = shm->listen(&dev->addr, &qual), conn;
	uint8_t byte;

	if (sock < 0 || write(fd, "", 1) != 1 || read(fd, &byte, 1) != 1)
		return 1;
	fcntl(sock, F_SETFL, 0);
	conn = accept(sock, NULL, NULL);
	return conn < 0 || recv(conn, &byte, 1, 0) > 0 ? 2 : 0;
}

static void other_user(void **state)
{
	uint8_t byte;
	pid_t pid;
	int fd;

	(void)state;
	if (geteuid()) {
		print_message("# only root can be two users\n");
		skip();
	}
	listen_here();
	pid = as_nobody(calls, &fd);
	assert_int_equal(read(fd, &byte, 1), 1);
	assert_int_equal(shm->accept(dev, ear, &pas), -ECONNABORTED);
	pas = NULL;
	assert_int_equal(status_of(pid), 0);
	close(fd);
	close(ear);
	ear = -1;
	pid = as_nobody(listens, &fd);
	assert_int_equal(read(fd, &byte, 1), 1);
	connect_here();
	assert_int_equal(shm->started(act), -ECONNREFUSED);
	assert_non_null(strstr(act->why, "user"));
	end_link(&act, true);
	assert_int_equal(write(fd, "", 1), 1);
	assert_int_equal(status_of(pid), 0);
	close(fd);
}

/* ---- Data ---- */

static uint8_t from[SHM_RING + 64], to[SHM_RING + 64];

/* Moves len bytes in pieces of up to three places. */
static void move(struct soft_link *a, struct soft_link *b, uint32_t len, unsigned seed)
{
	struct iovec out[3] = { { from, len / 3 },
				{ from + len / 3, len / 2 },
				{ from + len / 3 + len / 2, len - len / 3 - len / 2 } };
	struct iovec in[2] = { { to, len / 4 }, { to + len / 4, sizeof(to) - len / 4 } };

	fill(from, len, seed);
	memset(to, 0xee, len + 1);
	assert_int_equal(a->class->send(a, out, 3), len);
	assert_int_equal(b->class->recv(b, in, 2), len);
	assert_true(filled(to, len, seed));
	assert_int_equal(to[len], 0xee);
	assert_int_equal(get(b, to, 1), -EAGAIN);
}

/* At every place around the end of the ring, in both directions. */
static void all_sizes(void **state)
{
	static const uint32_t sizes[] = { 1, 2, 3, 63, 64, 65, 4095, 4096, 4097, SHM_RING };

	(void)state;
	pair();
	for (unsigned way = 0; way < 2; way++) {
		struct soft_link *a = way ? pas : act, *b = way ? act : pas;
		uint32_t pos = way ? 0 : SHM_RING - SHM_FIRST;

		for (unsigned i = 0; i < 10; i++)
			for (uint32_t before = 0; before < 7; before++) {
				uint32_t start = SHM_RING - (sizes[i] & ~3u) / 2 - before;

				start = (start - pos) & (SHM_RING - 1);
				if (start)
					move(a, b, start, i);
				move(a, b, sizes[i], i + before);
				pos += start + sizes[i];
			}
	}
}

static void back_pressure(void **state)
{
	(void)state;
	pair();
	fill(from, SHM_RING, 4);
	assert_int_equal(put(act, from, 1000), 1000);
	assert_int_equal(put(act, from + 1000, SHM_RING), SHM_RING - 1000);
	assert_int_equal(put(act, from, 1), -EAGAIN);
	assert_int_equal(get(pas, to, 10), 10);
	assert_int_equal(put(act, from, 100), 10);
	assert_int_equal(put(act, from, 1), -EAGAIN);
	assert_int_equal(get(pas, to + 10, sizeof(to) - 10), SHM_RING);
	assert_true(filled(to, SHM_RING, 4));
	assert_memory_equal(to + SHM_RING, from, 10);
}

/* ---- The bell ---- */

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
	assert_int_equal(rung(act), 0);
	assert_int_equal(rung(pas), 0);
	/* A sleeper is rung for once, and the byte waits until he sleeps again. */
	assert_int_equal(shm->doze(pas, SOFT_SLEEPER_CQ, EPOLLIN, true), EPOLLIN);
	assert_int_equal(put(act, &byte, 1), 1);
	assert_int_equal(rung(pas), 1);
	assert_int_equal(put(act, &byte, 1), 1);
	assert_int_equal(rung(pas), 1);
	assert_int_equal(shm->doze(pas, SOFT_SLEEPER_CQ, EPOLLIN, true), EPOLLIN | EPOLLOUT);
	assert_int_equal(get(pas, to, 10), 2);
	assert_int_equal(shm->doze(pas, SOFT_SLEEPER_CQ, EPOLLIN, true), EPOLLIN);
	assert_int_equal(rung(pas), 0);
	/* Room is what half of the ring is. */
	while (put(act, from, SHM_RING) > 0)
		;
	assert_int_equal(shm->doze(act, SOFT_SLEEPER_CQ, EPOLLIN | EPOLLOUT, true), EPOLLIN);
	assert_int_equal(get(pas, to, SHM_RING / 2 - 1), SHM_RING / 2 - 1);
	assert_int_equal(rung(act), 0);
	assert_int_equal(get(pas, to, 1), 1);
	assert_int_equal(rung(act), 1);
}

/* Two sleepers at one end: who takes the byte leaves nobody behind. */
static void sleepers_together(void **state)
{
	uint8_t byte = 0;

	(void)state;
	pair();
	shm->doze(pas, SOFT_SLEEPER_CQ, EPOLLIN, true);
	shm->doze(pas, SOFT_SLEEPER_OTHER, EPOLLIN, true);
	assert_int_equal(put(act, &byte, 1), 1);
	/* There is something: the other one's byte stays. */
	assert_int_equal(shm->doze(pas, SOFT_SLEEPER_CQ, EPOLLIN, true), EPOLLIN | EPOLLOUT);
	assert_int_equal(rung(pas), 1);
	assert_int_equal(get(pas, &byte, 1), 1);
	assert_int_equal(shm->doze(pas, SOFT_SLEEPER_CQ, EPOLLIN, true), EPOLLIN);
	assert_int_equal(rung(pas), 0);
	assert_int_equal(put(act, &byte, 1), 1);
	assert_int_equal(rung(pas), 1);
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

/* ---- Lost wake-ups ---- */

enum {
	STREAM = 24 << 20,
	ROUNDS = 20000,
};

struct traffic {
	struct soft_link *link;
	enum soft_sleeper who;
	uint64_t moved;
	const char *wrong;
};

/* Sleeps until ready; false if nobody wakes us. */
static bool sleep_for(struct traffic *tr, int epfd, uint32_t events)
{
	struct epoll_event event = { 0 };

	event.events = shm->doze(tr->link, tr->who, events, true);
	if (epoll_ctl(epfd, EPOLL_CTL_MOD, tr->link->fd, &event))
		return false;
	return epoll_wait(epfd, &event, 1, DEADLINE_MS) == 1;
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
	w = (struct traffic){ .link = act, .who = SOFT_SLEEPER_CQ };
	r = (struct traffic){ .link = pas, .who = SOFT_SLEEPER_OTHER };
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
	x = (struct traffic){ .link = act, .who = SOFT_SLEEPER_CQ };
	y = (struct traffic){ .link = pas, .who = SOFT_SLEEPER_CQ };
	assert_int_equal(put(act, &byte, 1), 1);
	assert_int_equal(pthread_create(&thread, NULL, answers, &y), 0);
	answers(&x);
	pthread_join(thread, NULL);
	assert_null(x.wrong);
	assert_null(y.wrong);
}

/* ---- The end ---- */

static void the_end_in_order(void **state)
{
	(void)state;
	pair();
	assert_int_equal(put(act, "last", 4), 4);
	shm->finish(act);
	assert_int_equal(rung(pas), 1);
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
	memcpy(at->ring0 + SHM_RING - SHM_FIRST, "farewell", 8);
	atomic_store(&at->page.side[0].sent, (uint32_t)(8 - SHM_FIRST));
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
	shm->doze(pas, SOFT_SLEEPER_CQ, EPOLLIN, true);
	assert_int_equal(get(pas, to + 4, 9), 4);
	assert_memory_equal(to, "farewell", 8);
	shm->doze(pas, SOFT_SLEEPER_CQ, EPOLLIN, true);
	assert_int_equal(get(pas, to, 9), unread ? -ECONNRESET : 0);
	assert_int_equal(put(pas, "x", 1), unread ? -ECONNRESET : -EPIPE);
	end_link(&pas, false);
	close(epfd);
	close(pair_[0]);
	close(ear);
	ear = -1;
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
	static const uint32_t sent[] = { SHM_RING + 1, 0x80000000u, -SHM_FIRST - 1u };
	static const uint32_t taken[] = { 1, 0x80000000u, SHM_RING };
	struct shm_side *side;

	(void)state;
	for (unsigned i = 0; i < 6; i++) {
		pair();
		side = soft_shm(act)->own;
		if (i < 3) {
			atomic_store(&side->sent, sent[i]);
			assert_int_equal(get(pas, to, 9), -EPROTO);
		} else {
			atomic_store(&side->taken, taken[i - 3]);
			assert_int_equal(put(pas, from, 9), -EPROTO);
		}
		/* And for good, in both directions if nothing else is there. */
		atomic_store(&side->sent, (uint32_t)-SHM_FIRST);
		atomic_store(&side->taken, 0);
		assert_int_equal(get(pas, to, 9), -EPROTO);
		assert_non_null(pas->why);
		end_link(&act, true);
		end_link(&pas, true);
		close(ear);
		ear = -1;
	}
	/* A peer that says it sleeps, in all tongues, and rings without end. */
	pair();
	atomic_store(&soft_shm(act)->own->bell, UINT32_MAX);
	for (int i = 0; i < 5000; i++)
		(void)send(act->fd, "", 1, MSG_DONTWAIT);
	atomic_store(&soft_shm(pas)->own->bell, 0);
	for (int i = 0; i < 200; i++)
		shm->doze(pas, SOFT_SLEEPER_CQ, EPOLLIN, true);
	assert_int_equal(rung(pas), 0);
	assert_int_equal(put(pas, "y", 1), 1);
	assert_int_equal(get(act, to, 1), 1);
}

/* ---- Connections ---- */

static const char *link_of(struct end *end)
{
	return soft_conn(end->conn)->link->class->name;
}

static void close_both(struct end *a, struct end *b)
{
	t->cm->disconnect(a->conn, false);
	end_event(b, TP_CONN_DISCONNECTED);
	end_destroy(a);
	end_destroy(b);
}

static void chosen_where_it_is(void **state)
{
	struct end a, b;

	(void)state;
	end_create(&a, &left, NULL);
	end_create(&b, &right, NULL);
	ends_connect(&a, &b);
	assert_string_equal(link_of(&a), "shm");
	assert_string_equal(link_of(&b), "shm");
	assert_false(soft_conn(a.conn)->crc);
	assert_false(soft_conn(b.conn)->crc);
	close_both(&a, &b);
}

/* A service point without it. */
static void falls_back(void **state)
{
	struct tp_listener *plain;
	struct end a, b;

	(void)state;
	soft_config.link = SOFT_LINK_TCP;
	t->cm->unlisten(right.listener);
	assert_int_equal(t->cm->listen(right.dev, 0, &right, &plain), 0);
	right.listener = plain;
	soft_config.link = SOFT_LINK_AUTO;
	end_create(&a, &left, NULL);
	end_create(&b, &right, NULL);
	ends_connect(&a, &b);
	assert_string_equal(link_of(&a), "tcp");
	assert_true(soft_conn(a.conn)->crc);
	close_both(&a, &b);
	soft_config.link = SOFT_LINK_SHM;
	end_create(&a, &left, NULL);
	end_connect(&a, &right, NULL, 0);
	end_event(&a, TP_CONN_REFUSED);
	end_destroy(&a);
}

/* One that takes the call, and then does not take the memory. */
static void falls_back_late(void **state)
{
	struct soft_listener *listener;
	struct end a, b;
	int fd;

	(void)state;
	listener = soft_container(right.listener, struct soft_listener, base);
	assert_int_equal(listener->ears, 2);
	/* In place of its ear stands one that hangs up. */
	soft_config.link = SOFT_LINK_TCP;
	qual = right.listener->conn_qual;
	t->cm->unlisten(right.listener);
	assert_int_equal(t->cm->listen(right.dev, qual, &right, &right.listener), 0);
	listen_here();
	soft_config.link = SOFT_LINK_AUTO;
	end_create(&a, &left, NULL);
	end_create(&b, &right, NULL);
	end_connect(&a, &right, "again", 5);
	fd = accept(ear, NULL, NULL);
	assert_true(fd >= 0);
	close(fd);
	b.conn = node_request(&right);
	assert_int_equal(right.data_len, 5);
	assert_memory_equal(right.data, "again", 5);
	assert_int_equal(t->cm->accept(b.conn, b.qp, NULL, 0, &b), 0);
	end_event(&a, TP_CONN_ESTABLISHED);
	end_event(&b, TP_CONN_ESTABLISHED);
	assert_string_equal(link_of(&a), "tcp");
	close_both(&a, &b);
}

/* Nonsense ends its own connection, and says why. */
static void nonsense_ends_one(void **state)
{
	struct tp_mr *in_mr, *out_mr;
	struct end a, b, c, d;
	struct shm_side *side;

	(void)state;
	in_mr = reg(&right, to, sizeof(to), FULL);
	out_mr = reg(&left, from, sizeof(from), FULL);
	end_create(&a, &left, NULL);
	end_create(&b, &right, NULL);
	end_create(&c, &left, NULL);
	end_create(&d, &right, NULL);
	ends_connect(&a, &b);
	ends_connect(&c, &d);
	side = soft_shm(soft_conn(a.conn)->link)->own;
	atomic_fetch_add(&side->sent, 3 * SHM_RING);
	post_recv(&b, 1, to, 100, in_mr);
	assert_wc(take_wc(b.recv_cq), 1, FLUSHED);
	end_event(&b, TP_CONN_BROKEN);
	end_event(&a, TP_CONN_BROKEN);
	post_recv(&d, 2, to, 100, in_mr);
	post_send(&c, 3, from, 100, out_mr, TP_WR_SIGNALED);
	assert_wc(take_wc(d.recv_cq), 2, SUCCESS);
	assert_wc(wait_wc(&c, c.send_cq), 3, SUCCESS);
	end_destroy(&a);
	end_destroy(&b);
	close_both(&c, &d);
	dereg(in_mr);
	dereg(out_mr);
}

/* So many that their CQ watches them by the bell. */
static void many_on_one_queue(void **state)
{
	enum {
		MANY = 40
	};
	struct end_options o = { .depth = 256, .sge = 1, .one_cq = true };
	struct tp_mr *in_mr, *out_mr;
	static struct end a[MANY], b[MANY];
	struct end shared;
	struct tp_cq *own;

	(void)state;
	in_mr = reg(&right, to, sizeof(to), FULL);
	out_mr = reg(&left, from, sizeof(from), FULL);
	end_create(&shared, &right, &o);
	for (int i = 0; i < MANY; i++) {
		struct tp_qp_attr attr = { .send_cq = shared.send_cq, .recv_cq = shared.recv_cq };

		end_create(&a[i], &left, NULL);
		end_create(&b[i], &right, NULL);
		assert_int_equal(
			b[i].qp->ops->modify(b[i].qp, &attr, TP_QP_SEND_CQ | TP_QP_RECV_CQ), 0);
		ends_connect(&a[i], &b[i]);
	}
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < MANY; i++) {
			post_recv(&b[i], (uint64_t)i, to, 100, in_mr);
			post_send(&a[i], 1, from, 100, out_mr, TP_WR_SIGNALED);
			/* Polling and sleeping. */
			own = shared.recv_cq;
			assert_wc(round ? wait_wc(&shared, own) : take_wc(own), (uint64_t)i,
				  SUCCESS);
			assert_wc(take_wc(a[i].send_cq), 1, SUCCESS);
		}
	}
	for (int i = 0; i < MANY; i++) {
		end_destroy(&a[i]);
		end_destroy(&b[i]);
	}
	end_destroy(&shared);
	dereg(in_mr);
	dereg(out_mr);
}

#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		T(hand_shake),	       T(nobody_there),
		T(no_answer),	       T(memory_that_is_none),
		T(other_user),	       T(all_sizes),
		T(back_pressure),      T(who_polls_rings_nobody),
		T(sleepers_together),  T(the_loop_is_woken),
		T(stream_with_sleep),  T(ping_pong_with_sleep),
		T(the_end_in_order),   T(the_end_by_force),
		T(peer_killed),	       T(positions_that_cannot_be),
		T(chosen_where_it_is), T(falls_back),
		T(falls_back_late),    T(nonsense_ends_one),
		T(many_on_one_queue),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	/* They choose themselves. */
	unsetenv("DAPL_SOFT_LINK");
	return cmocka_run_group_tests_name("tests", tests, NULL, NULL);
}
