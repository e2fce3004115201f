/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * libFuzzer harness for a hostile peer of the same user over shared memory; test/fuzz/shm_seeds.py
 * writes the seeds.
 *
 * An input's first byte says who the peer is: 0, one who connects, and whose request the program
 * refuses; 1, one who has been connected as it should be; 2, one whom the program connects to, and
 * who has the memory by then. What follows is what the peer, and the program, do then: a byte of
 * enum deed and its arguments. At last the peer dies.
 */
#include "test/fuzz/soft_attacked.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "providers/soft/link/shm.h"

enum deed {
	HELLO,	  /* DESCRIPTOR WHAT BITS: the hello, with one byte of it changed */
	BYTES,	  /* COUNT: through the socket */
	WRITE,	  /* OFFSET(3) LENGTH DATA: anywhere in the memory */
	FIELD,	  /* WHICH VALUE(4): of what both sides say about the rings, absolutely */
	MOVE,	  /* WHICH VALUE(4): ditto, relatively */
	STREAM,	  /* LENGTH(2) DATA: into the ring, as it should be */
	FPDU,	  /* LENGTH(2) PAYLOAD: ditto, framed */
	TAKE,	  /* out of the ring, as it should be */
	SHUT,	  /* HOW: of the socket's directions */
	POLL,	  /* the program asks for completions */
	SLEEP,	  /* the program is about to sleep */
	SEND,	  /* the program posts a Send */
	WAIT,	  /* the peer waits until something is said, for a moment */
	CUT,	  /* what was handed over instead of the memory shrinks, if it can */
	SEND_ALL, /* the program posts a long one: some of them make its ring larger */
	DEEDS,
};

enum {
	FIRST_QUAL = 40000,
	QUALS = 20000,
};

enum descriptor {
	MEMORY,
	NONE,
	SHORT,
	LONG,
	UNSEALED,
	READ_ONLY,
	SEALED_WRITES,
	TWO,
	PIPE,
	ITSELF,
	PLAIN_FILE,
	HUGE,
	DESCRIPTORS,
};

static const int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
static const struct dapl_transport *const t = &dapl_module_transport;

static struct sockaddr_storage addr;
static int listen_fd; /* where the peer takes connections */
static uint64_t listen_qual;

static struct peer {
	int fd, memfd;
	uint64_t qual;	 /* by which its requests are known */
	int other_memfd; /* the last that was handed over instead, -1: none */
	struct shm_memory *memory;
	struct shm_side *own, *other;
	uint8_t *rest;
	uint32_t sent;
} peer;

/* What is left of the input. */
static const uint8_t *next, *end;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	struct tp_device_attr attr;

	(void)argc;
	(void)argv;
	attacked_init(SOFT_LINK_SHM);
	t->device->query(attacked_node.dev, &attr);
	memcpy(&addr, &attr.addr, sizeof(addr));
	listen_qual = 1 + (uint64_t)getpid() % 60000;
	do
		listen_fd = soft_link_shm.listen(soft_dev(attacked_node.dev), &listen_qual);
	while (listen_fd == -EADDRINUSE && ++listen_qual <= UINT16_MAX);
	insist(listen_fd >= 0);
	return 0;
}

static uint32_t number(int bytes)
{
	uint32_t value = 0;

	for (; bytes; bytes--)
		value = value << 8 | (next < end ? *next++ : 0);
	return value;
}

static size_t piece(size_t wanted, const uint8_t **data)
{
	size_t len = (size_t)(end - next);

	if (wanted < len)
		len = wanted;
	*data = next;
	next += len;
	return len;
}

/* ---- The peer ---- */

static void peer_map(bool active)
{
	peer.memory = mmap(NULL, SHM_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, peer.memfd, 0);
	insist(peer.memory != MAP_FAILED);
	peer.other_memfd = -1;
	peer.own = &peer.memory->page.side[active ? 0 : 1];
	peer.other = &peer.memory->page.side[active ? 1 : 0];
	peer.rest = peer.memory->rest[active ? 0 : 1];
	peer.sent = 0;
	atomic_store(&peer.own->geometry, SHM_GEOMETRY(0, SHM_SMALL - 1));
	if (!active)
		return;
	peer.memory->page.addr = addr;
	peer.qual = FIRST_QUAL + (peer.qual + 1) % QUALS;
	peer.memory->page.qual = peer.qual;
}

static int memfd(off_t size, int sealed)
{
	int fd = memfd_create("peer", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	insist(fd >= 0 && !ftruncate(fd, size) && !fcntl(fd, F_ADD_SEALS, sealed));
	return fd;
}

static void bytes(unsigned count)
{
	static const uint8_t zeros[256];

	(void)send(peer.fd, zeros, count, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void ring(void)
{
	if (atomic_exchange(&peer.other->wake_on, 0))
		bytes(1);
}

static void stream(const uint8_t *data, size_t len)
{
	uint64_t geometry = atomic_load(&peer.own->geometry);
	uint32_t at;

	for (size_t i = 0; i < len; i++) {
		at = (peer.sent + (uint32_t)i - SHM_ORIGIN(geometry)) & SHM_MASK(geometry);
		(at < SHM_FIRST ? peer.own->first : peer.rest)[at] = data[i];
	}
	peer.sent += (uint32_t)len;
	atomic_store(&peer.own->sent, peer.sent);
	ring();
}

static void take(void)
{
	atomic_store(&peer.own->taken, atomic_load(&peer.other->sent));
	ring();
}

static _Atomic uint32_t *field(unsigned which)
{
	struct shm_side *side = which & 1 ? peer.other : peer.own;

	switch (which >> 1 & 7) {
	case 0:
		return &side->sent;
	case 1:
		return &side->ended;
	case 2:
		return &side->taken;
	case 3:
		return &side->wake_on;
	case 4:
		return &side->room_at;
	case 5:
		return &side->acked;
	case 6: /* the origin */
		return (_Atomic uint32_t *)(void *)&side->geometry;
	default: /* the mask */
		return (_Atomic uint32_t *)(void *)&side->geometry + 1;
	}
}

/* With what the peer has said so far. */
static int other_memory(off_t size, int sealed)
{
	int fd = memfd(size, 0);

	insist(pwrite(fd, peer.memory, SHM_PAGE, 0) == SHM_PAGE);
	insist(!fcntl(fd, F_ADD_SEALS, sealed));
	if (peer.other_memfd >= 0)
		close(peer.other_memfd);
	peer.other_memfd = dup(fd);
	return fd;
}

/* Returns their number; all but the memory are to be closed. */
static int descriptors(enum descriptor what, int fds[2])
{
	char path[64];
	int ends[2];

	fds[1] = peer.memfd;
	switch (what) {
	case NONE:
		return 0;
	case SHORT:
		fds[0] = other_memory(SHM_SIZE - 4096, seals);
		return 1;
	case LONG:
		fds[0] = other_memory(SHM_SIZE + 4096, seals);
		return 1;
	case UNSEALED:
		fds[0] = other_memory(SHM_SIZE, F_SEAL_GROW | F_SEAL_SEAL);
		return 1;
	case READ_ONLY:
		snprintf(path, sizeof(path), "/proc/self/fd/%d", peer.memfd);
		fds[0] = open(path, O_RDONLY | O_CLOEXEC);
		return 1;
	case SEALED_WRITES:
		fds[0] = other_memory(SHM_SIZE, seals | F_SEAL_WRITE);
		return 1;
	case TWO:
		fds[0] = other_memory(SHM_SIZE, seals);
		return 2;
	case PIPE:
		insist(!pipe2(ends, O_CLOEXEC));
		close(ends[0]);
		fds[0] = ends[1];
		return 1;
	case ITSELF:
		fds[0] = dup(peer.fd);
		return 1;
	case PLAIN_FILE:
		fds[0] = open("/dev/zero", O_RDWR | O_CLOEXEC);
		return 1;
	case HUGE:
		fds[0] = memfd_create("peer", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_HUGETLB);
		return 1;
	default:
		fds[0] = dup(peer.memfd);
		return 1;
	}
}

static void hello(enum descriptor what, unsigned which, uint8_t bits)
{
	struct shm_hello text = { SHM_MAGIC, SHM_VERSION, SHM_SIZE };
	union {
		struct cmsghdr align;
		char room[CMSG_SPACE(2 * sizeof(int))];
	} control = { .room = { 0 } };
	struct iovec iov = { &text, sizeof(text) };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	int fds[2], num = descriptors(what, fds);

	if (which < sizeof(text))
		((uint8_t *)&text)[which] ^= bits;
	else if (which < 2 * sizeof(text) && bits)
		iov.iov_len = which - sizeof(text);
	if (num && fds[0] >= 0) {
		msg.msg_control = control.room;
		msg.msg_controllen = CMSG_SPACE((size_t)num * sizeof(int));
		control.align.cmsg_level = SOL_SOCKET;
		control.align.cmsg_type = SCM_RIGHTS;
		control.align.cmsg_len = CMSG_LEN((size_t)num * sizeof(int));
		memcpy(CMSG_DATA(&control.align), fds, (size_t)num * sizeof(int));
	}
	(void)sendmsg(peer.fd, &msg, MSG_NOSIGNAL | MSG_DONTWAIT);
	if (num)
		close(fds[0]);
}

/* The memory of one that was called comes with the hello. */
static void peer_receive(void)
{
	struct shm_hello text;
	union {
		struct cmsghdr align;
		char room[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec iov = { &text, sizeof(text) };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = control.room,
			      .msg_controllen = sizeof(control.room) };
	struct pollfd called = { .fd = listen_fd, .events = POLLIN };

	insist(poll(&called, 1, PATIENCE_MS) == 1);
	peer.fd = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC);
	insist(peer.fd >= 0);
	called.fd = peer.fd;
	insist(poll(&called, 1, PATIENCE_MS) == 1);
	insist(recvmsg(peer.fd, &msg, MSG_CMSG_CLOEXEC) == sizeof(text));
	insist(CMSG_FIRSTHDR(&msg) && text.magic == SHM_MAGIC);
	memcpy(&peer.memfd, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(peer.memfd));
	peer_map(false);
}

static void peer_dial(void)
{
	struct sockaddr_un name;
	socklen_t len = soft_link_name(SHM_NAME, &addr, attacked_node.listener->conn_qual, &name);

	peer.fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	insist(peer.fd >= 0 && !connect(peer.fd, (struct sockaddr *)&name, len));
	peer.memfd = memfd(SHM_SIZE, seals);
	peer_map(true);
}

static void peer_wait(int ms)
{
	struct pollfd fd = { .fd = peer.fd, .events = POLLIN };
	uint8_t heard[64];

	if (poll(&fd, 1, ms) > 0)
		(void)recv(peer.fd, heard, sizeof(heard), MSG_DONTWAIT);
}

static void peer_die(void)
{
	attacked_hang_up(peer.fd);
	munmap(peer.memory, SHM_SIZE);
	close(peer.memfd);
	if (peer.other_memfd >= 0)
		close(peer.other_memfd);
}

/* ---- Deeds ---- */

static void deed_of_program(enum deed deed, struct attacked *at)
{
	if (!at)
		return;
	if (deed == SEND || deed == SEND_ALL) {
		attacked_send(at, deed == SEND_ALL);
	} else if (deed == SLEEP) {
		arm_cq(at->end.send_cq, TP_ARM_WAITER);
		attacked_poll(at);
		disarm_cq(at->end.send_cq);
	} else {
		attacked_poll(at);
	}
}

static void deed_in_memory(enum deed deed)
{
	static uint8_t fpdu[MAX_FPDU];
	_Atomic uint32_t *word;
	const uint8_t *data;
	uint32_t offset;
	size_t len;

	switch (deed) {
	case WRITE:
		offset = number(3) % SHM_SIZE;
		len = piece(number(1), &data);
		memcpy((uint8_t *)peer.memory + offset, data,
		       len < SHM_SIZE - offset ? len : SHM_SIZE - offset);
		break;
	case FIELD:
		word = field(number(1));
		atomic_store(word, number(4));
		break;
	case MOVE:
		word = field(number(1));
		atomic_fetch_add(word, number(4));
		break;
	case STREAM:
		len = piece(number(2), &data);
		stream(data, len);
		break;
	case FPDU:
		len = piece(number(2), &data);
		stream(fpdu, attacked_fpdu(fpdu, data, len));
		break;
	default:
		take();
	}
}

static void deeds(struct attacked *at)
{
	enum descriptor what;
	enum deed deed;
	uint32_t which;

	while (next < end) {
		deed = number(1) % DEEDS;
		switch (deed) {
		case HELLO:
			what = number(1) % DESCRIPTORS;
			which = number(1);
			hello(what, which, (uint8_t)number(1));
			break;
		case BYTES:
			bytes(number(1));
			break;
		case SHUT:
			shutdown(peer.fd, (int)(number(1) % 3));
			break;
		case WAIT:
			peer_wait(1);
			break;
		case CUT:
			(void)ftruncate(peer.other_memfd, 0);
			break;
		case POLL:
		case SLEEP:
		case SEND:
		case SEND_ALL:
			deed_of_program(deed, at);
			break;
		default:
			deed_in_memory(deed);
		}
	}
}

/* ---- Who the peer is ---- */

static void refused(void)
{
	peer_dial();
	deeds(NULL);
	peer_die();
}

static void over(struct attacked *at)
{
	end_event2(&at->end, TP_CONN_DISCONNECTED, TP_CONN_BROKEN);
	attacked_collect(at);
	end_destroy(&at->end);
}

static void connected(void)
{
	struct attacked at;

	attacked_open(&at);
	peer_dial();
	hello(MEMORY, UINT8_MAX, 0);
	stream(mpa_request, sizeof(mpa_request));
	attacked_accept(&at, peer.qual);
	end_event(&at.end, TP_CONN_ESTABLISHED);
	take();
	attacked_post(&at);
	deeds(&at);
	peer_die();
	over(&at);
}

/* To a peer that ends without a word the program comes again, in the older revision. */
static struct event *called_outcome(struct attacked *at)
{
	struct pollfd again = { .fd = listen_fd, .events = POLLIN };
	int fd, tries;

	for (tries = 0; !end_events(&at->end) && tries < PATIENCE_MS; tries++)
		if (poll(&again, 1, 1) > 0) {
			fd = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC);
			if (fd >= 0)
				close(fd);
		}
	return end_any_event(&at->end);
}

static void called(void)
{
	struct tp_connect param = { .remote = (struct sockaddr *)&addr, .conn_qual = listen_qual };
	struct attacked at;
	struct event *event;

	attacked_open(&at);
	insist(!t->cm->connect(at.end.qp, &param, &at.end, &at.end.conn));
	peer_receive();
	deeds(&at);
	peer_die();
	event = called_outcome(&at);
	if (event->event == TP_CONN_ESTABLISHED) {
		over(&at);
		return;
	}
	end_reset(&at.end);
	end_destroy(&at.end);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	unsigned mode = size ? data[0] % 3 : 3;

	next = data + 1;
	end = data + size;
	attacked_begin();
	node_refuse(&attacked_node, mode ? 0 : -ECONNREFUSED);
	if (mode == 0)
		refused();
	else if (mode == 1)
		connected();
	else if (mode == 2)
		called();
	attacked_end();
	return 0;
}
