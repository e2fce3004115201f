/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dapl/base/fd.h"
#include "test/unit/soft_shm_util.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

static const struct soft_link_class *const shm = &soft_link_shm;

struct node left, right;
struct soft_dev *dev;
static unsigned fds_before;

/* A pair of links without connections above. */
int listen_fd = -1;
uint64_t qual;
struct soft_link *act, *pas;
atomic_uint readies;

int shm_set_up(void **state)
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

void end_link(struct soft_link **link, bool abort)
{
	struct ending ending = { *link, abort };

	if (*link)
		soft_dev_call(dev, end_on_loop, &ending);
	*link = NULL;
}

int shm_tear_down(void **state)
{
	(void)state;
	end_link(&act, false);
	end_link(&pas, false);
	if (listen_fd >= 0)
		dapl_fd_close(listen_fd);
	listen_fd = -1;
	node_close(&left);
	node_close(&right);
	soft_config.link = SOFT_LINK_TCP;
	assert_int_equal(count_fds(), fds_before);
	return 0;
}

ssize_t put(struct soft_link *link, const void *data, size_t len)
{
	struct iovec iov = { (void *)(uintptr_t)data, len };

	return link->class->send(link, &iov, 1);
}

ssize_t get(struct soft_link *link, void *data, size_t len)
{
	struct iovec iov = { data, len };

	return link->class->recv(link, &iov, 1);
}

void acknowledge(struct soft_link *a, struct soft_link *b)
{
	uint8_t byte = 0;

	assert_int_equal(put(b, &byte, 1), 1);
	assert_int_equal(get(a, &byte, 1), 1);
}

void listen_here(void)
{
	listen_fd = shm->listen(dev, &qual);
	assert_true(listen_fd >= 0);
}

void connect_here(void)
{
	assert_int_equal(shm->connect(dev, &dev->addr, (struct sockaddr *)&dev->addr, qual, &act),
			 0);
	act->ready = counts;
}

void accept_here(void)
{
	assert_int_equal(shm->accept(dev, listen_fd, &pas), 0);
	pas->ready = counts;
}

/* Both links, with nothing watched by the loop. */
void pair(void)
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
	atomic_store(&soft_shm(pas)->own->wake_on, 0);
}

/* Wake-up bytes that wait at the link. */
int woken(struct soft_link *link)
{
	uint8_t bytes[16];
	ssize_t n = recv(link->fd, bytes, sizeof(bytes), MSG_DONTWAIT | MSG_PEEK);

	return n < 0 ? 0 : (int)n;
}

/* A peer made by hand. */
int raw_connect(void)
{
	struct sockaddr_un name;
	socklen_t len = soft_link_name(SHM_NAME, &dev->addr, qual, &name);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	return fd < 0 || connect(fd, (struct sockaddr *)&name, len) ? -1 : fd;
}

int raw_hello(int fd, const struct shm_hello *hello, size_t len, const int *fds, int num)
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

int memory(off_t size, int seals)
{
	int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, size), 0);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, seals), 0);
	return fd;
}

const struct shm_hello right_hello = { SHM_MAGIC, SHM_VERSION, SHM_SIZE };
