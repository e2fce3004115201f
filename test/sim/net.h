/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The network: sockets, what is under way between them, and what happens to connections. Bytes of a
 * direction stay in order; directions and connections have times of their own.
 */
#ifndef SIM_NET_H
#define SIM_NET_H

#include <sys/socket.h>

#include "test/sim/file.h"
#include "test/sim/sim.h"

enum sock_state {
	SOCK_NEW,
	SOCK_LISTENING,
	SOCK_CONNECTING,
	SOCK_UP,
	SOCK_DEAD,
};

struct bytes {
	uint8_t *at;
	uint32_t start, length, size;
};

enum {
	SOCK_BACKLOG = 32,
	SOCK_PASSED = 4,
};

/* What happens to a connection. */
enum sim_fault {
	FAULT_NONE,
	FAULT_RESET,	   /* both ends see a reset */
	FAULT_RESET_ONE,   /* one does, the other hears nothing but of what it sends */
	FAULT_END,	   /* the kernel of one ends it, its process was killed */
	FAULT_SILENCE,	   /* nothing arrives any more, either way */
	FAULT_SILENCE_ONE, /* ditto, one way */
	FAULT_LIE,	   /* other bytes arrive */
	FAULT_STALL,	   /* nothing arrives for a time */
	FAULT_KINDS,
};

struct sock;

/* A connection: of its ends one has connected. */
struct conn {
	uint64_t id;
	struct sock *end[2]; /* NULL: closed, and all it sent arrived */
	uint64_t delay;
	uint32_t segment;
	bool inside;	/* a host: it is made at once, and nothing happens to it */
	bool silent[2]; /* what the end sends does not arrive */
	bool cut;	/* for good */
	enum sim_fault fault;
	uint32_t fault_end;
	uint64_t fault_at;     /* bytes of that end */
	uint64_t silent_since; /* 0: it is not */
};

struct sock {
	struct sim_file file; /* first */
	int fd;		      /* that it was made with, for the trace */
	int family;
	bool datagram; /* carries nothing: there is no UDP */
	enum sock_state state;
	struct sockaddr_storage local, remote;
	socklen_t local_size, remote_size;
	struct conn *conn;
	uint32_t which; /* end of conn */
	struct bytes in, out;
	uint64_t arrived; /* bytes of out that are gone */
	bool in_ended, out_ended, end_arrived, under_way;
	bool gone; /* no descriptor any more */
	bool resets;
	uint32_t keepalive_s; /* 0: none */
	int error;
	struct sock *next; /* of who listens */
	struct sock *waiting[SOCK_BACKLOG];
	uint32_t num_waiting;
	/* Descriptors on their way, each with a byte of out or in. */
	struct {
		uint64_t at;
		int fd;
	} passed[SOCK_PASSED];
	uint32_t num_passed;
	uint64_t taken; /* bytes of in that were received */
};

/* The socket of a descriptor; NULL: it is none. */
struct sock *sock_of(int fd);
struct sock *sock_make(int family, int flags);
void sock_free(struct sock *sock);
struct sock *sock_listener(const struct sockaddr_storage *addr, socklen_t size);

uint32_t bytes_put(struct bytes *bytes, const void *from, uint32_t length);
uint32_t bytes_take(struct bytes *bytes, void *to, uint32_t length);

/* Starts to connect; the outcome shows in the socket. */
void net_connect(struct sock *sock);
/* A connection inside the host. */
void net_pair(struct sock *active, struct sock *listener);
/* Something was sent, received or ended: what follows from it is on its way. */
void net_move(struct sock *sock);
/* Room was made at this end. */
void net_room(struct sock *sock);
/* The last descriptor of an end was closed. */
void net_close(struct sock *sock);
void net_refuse_waiting(struct sock *listener);
/* Milliseconds in which nothing was heard. */
uint32_t net_silence_ms(const struct sock *sock);
/* The number of the latest connection. */
uint64_t net_conns(void);
/* Whether any has brought other bytes. */
extern bool net_have_lied;
/* What has happened to those made to a port after that one, so far: a bit for each enum sim_fault. */
uint32_t net_faults_since(uint64_t conn, uint16_t port);
/* The host has crashed: nobody hears of it any more. */
void net_cut(int host);

#endif
