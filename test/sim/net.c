/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "test/sim/net.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>

#include "test/sim/libc.h"

#define US 1000ull
#define MS 1000000ull
#define S  1000000000ull

enum {
	MAX_CONNS = 1 << 16,
	CONNECT_S = 127, /* what Linux takes to give up */
	RETRANSMIT_S = 924,
};

static struct conn *conns[MAX_CONNS]; /* by number */
static uint8_t faults_of[MAX_CONNS];
static uint16_t port_of[MAX_CONNS]; /* that it was made to; 0: inside a host */
static uint64_t num_conns;
bool net_have_lied;

/* ---- Connections ---- */

static struct sock *peer_of(const struct sock *sock)
{
	return sock->conn ? sock->conn->end[!sock->which] : NULL;
}

static void note_fault(struct conn *conn, enum sim_fault fault)
{
	sim_faults++;
	sim_report->faults++;
	faults_of[conn->id] |= (uint8_t)(1u << fault);
	net_have_lied |= fault == FAULT_LIE;
}

static void plan_fault(struct conn *conn)
{
	static const uint32_t reach[] = { 100, 400, 2000, 20000, 200000 };

	if (conn->inside || sim_random(100) >= sim_plan.fault_percent)
		return;
	conn->fault = 1 + (enum sim_fault)sim_random(FAULT_KINDS - 1);
	conn->fault_end = sim_random(2);
	conn->fault_at = sim_random(reach[sim_random(sizeof(reach) / sizeof(*reach))]);
}

static struct conn *new_conn(bool inside)
{
	struct conn *conn = __libc_calloc(1, sizeof(*conn));

	conn->id = ++num_conns;
	if (conn->id == MAX_CONNS)
		sim_fail("more than %u connections", MAX_CONNS);
	conns[conn->id] = conn;
	conn->inside = inside;
	/* Most are near. */
	conn->delay = inside ? 0 : sim_random(2) ? 20 * US : sim_random(sim_plan.delay_us) * US;
	conn->segment = 1 + sim_random(sim_plan.segment);
	plan_fault(conn);
	return conn;
}

static void drop_conn(struct conn *conn)
{
	if (conn->end[0] || conn->end[1])
		return;
	conns[conn->id] = NULL;
	/* What is under way finds it by its number. */
	__libc_free(conn);
}

uint64_t net_conns(void)
{
	return num_conns;
}

uint32_t net_faults_since(uint64_t conn, uint16_t port)
{
	uint32_t faults = 0;

	while (++conn <= num_conns)
		if (port_of[conn] == port)
			faults |= faults_of[conn];
	return faults;
}

/* A little more than the delay, each time. */
static uint64_t soon(const struct conn *conn)
{
	return sim_now + conn->delay + sim_random(1 + (uint32_t)(conn->delay / 4));
}

static struct sock *end_of(uint64_t number)
{
	struct conn *conn = conns[number / 2];

	return conn ? conn->end[number & 1] : NULL;
}

static uint64_t number_of(const struct sock *sock)
{
	return sock->conn->id * 2 + sock->which;
}

/* ---- Ends ---- */

/* An end that has no descriptor goes once there is nothing to do for it. */
static void maybe_free(struct sock *sock)
{
	struct conn *conn = sock->conn;

	if (!sock->gone ||
	    (sock->state == SOCK_UP && !(sock->end_arrived && sock->in_ended) && peer_of(sock)))
		return;
	conn->end[sock->which] = NULL;
	sock->conn = NULL;
	sock_free(sock);
	drop_conn(conn);
}

/* It is over for this end. */
static void die(struct sock *sock, int error)
{
	if (sock->state == SOCK_DEAD)
		return;
	sim_trace(SIM_RESET, sock->conn->id, sock->which, (uint64_t)error, 0);
	sock->state = SOCK_DEAD;
	sock->error = sock->in_ended && error == ECONNRESET ? EPIPE : error;
	sock->out.length = 0;
	sim_file_changed(&sock->file);
	maybe_free(sock);
}

static void reset_arrives(void *arg, uint64_t number)
{
	struct sock *sock = end_of(number);

	(void)arg;
	if (sock)
		die(sock, ECONNRESET);
}

/* The other end hears nothing of it, until its kernel asks. */
static void keep_from(const struct sock *peer)
{
	uint64_t wait = peer->keepalive_s ? peer->keepalive_s : RETRANSMIT_S;

	sim_later(sim_now + wait * S, reset_arrives, NULL, number_of(peer));
}

/* The other end hears that there is nobody. */
static void reset_peer(struct sock *sock)
{
	struct conn *conn = sock->conn;
	struct sock *peer = peer_of(sock);

	if (!peer || conn->silent[sock->which])
		return;
	if (conn->inside)
		die(peer, ECONNRESET);
	else
		sim_later(soon(conn), reset_arrives, NULL, number_of(peer));
}

/* The kernel has given up. */
static void gives_up(void *arg, uint64_t number)
{
	struct sock *sock = end_of(number);

	(void)arg;
	if (sock && sock->conn->silent_since)
		die(sock, ETIMEDOUT);
}

/* ---- What happens to connections ---- */

static void hears_nothing(struct conn *conn)
{
	struct sock *sock;
	uint64_t wait;

	conn->silent_since = sim_now;
	for (int i = 0; i < 2; i++) {
		sock = conn->end[i];
		if (!sock)
			continue;
		wait = sock->keepalive_s && !sock->out.length ? sock->keepalive_s : RETRANSMIT_S;
		sim_later(sim_now + wait * S, gives_up, NULL, number_of(sock));
	}
}

static void stall_ends(void *arg, uint64_t id)
{
	struct conn *conn = conns[id];

	(void)arg;
	if (!conn || conn->cut)
		return;
	conn->silent[0] = conn->silent[1] = false;
	conn->silent_since = 0;
	for (uint32_t i = 0; i < 2; i++) {
		if (!conn->end[i])
			continue;
		if (conn->end[!i] && conn->end[!i]->state == SOCK_UP)
			net_move(conn->end[i]);
		else
			keep_from(conn->end[i]);
	}
}

static void end_arrives(struct sock *sock, struct sock *peer);

static void lie(struct sock *peer)
{
	struct bytes *in = &peer->in;

	if (in->length)
		in->at[in->start + in->length - 1] ^= (uint8_t)(1u << sim_random(8));
}

/* Its process is dead: the kernel closes what it had. */
static void kill_one(struct sock *sock, struct sock *peer)
{
	if (sim_random(2)) {
		reset_peer(sock);
	} else {
		sock->out.length = 0;
		end_arrives(sock, peer);
	}
	die(sock, ECONNRESET);
}

static void happen(struct conn *conn)
{
	struct sock *sock = conn->end[conn->fault_end], *peer = conn->end[!conn->fault_end];
	enum sim_fault fault = conn->fault;

	conn->fault = FAULT_NONE;
	if (!sock || !peer)
		return;
	sim_trace(SIM_FAULT, conn->id, fault, sock->arrived, 0);
	note_fault(conn, fault);
	switch (fault) {
	case FAULT_RESET:
		reset_peer(sock);
		die(sock, ECONNRESET);
		break;
	case FAULT_RESET_ONE:
		keep_from(peer);
		die(sock, ECONNRESET);
		break;
	case FAULT_END:
		kill_one(sock, peer);
		break;
	case FAULT_LIE:
		lie(peer);
		break;
	default:
		conn->silent[conn->fault_end] = true;
		if (fault != FAULT_SILENCE_ONE)
			conn->silent[!conn->fault_end] = true;
		hears_nothing(conn);
		if (fault == FAULT_STALL)
			sim_later(sim_now + sim_random(20000) * MS, stall_ends, NULL, conn->id);
		break;
	}
}

static void silence(struct conn *conn)
{
	note_fault(conn, FAULT_SILENCE);
	conn->fault = FAULT_NONE;
	conn->cut = true;
	conn->silent[0] = conn->silent[1] = true;
	if (!conn->silent_since)
		hears_nothing(conn);
}

static int dead_host = -1;

void net_cut(int host)
{
	struct conn *conn;

	dead_host = host;
	for (uint64_t id = 1; id <= num_conns; id++) {
		conn = conns[id];
		if (!conn || conn->inside)
			continue;
		if ((conn->end[0] && conn->end[0]->file.host == host) ||
		    (conn->end[1] && conn->end[1]->file.host == host))
			silence(conn);
	}
}

uint32_t net_silence_ms(const struct sock *sock)
{
	uint64_t since = sock->conn ? sock->conn->silent_since : 0;

	return since ? (uint32_t)((sim_now - since) / MS) : 0;
}

/* ---- On the way ---- */

static uint32_t room_of(const struct sock *sock)
{
	return sock->in.length < sim_plan.buffer ? sim_plan.buffer - sock->in.length : 0;
}

static void pass_descriptors(struct sock *sock, struct sock *peer)
{
	while (sock->num_passed && peer->num_passed < SOCK_PASSED &&
	       sock->passed[0].at < sock->arrived) {
		peer->passed[peer->num_passed++] = sock->passed[0];
		memmove(sock->passed, sock->passed + 1, --sock->num_passed * sizeof(*sock->passed));
	}
}

/* Up to where something happens. */
static uint32_t portion(const struct sock *sock, const struct sock *peer)
{
	const struct conn *conn = sock->conn;
	uint32_t length = sock->out.length, room = room_of(peer);

	if (length > room)
		length = room;
	if (!conn->inside && length > conn->segment * 16)
		length = conn->segment * 16;
	if (conn->fault && conn->fault_end == sock->which &&
	    sock->arrived + length > conn->fault_at)
		length = conn->fault_at > sock->arrived ? (uint32_t)(conn->fault_at - sock->arrived)
							: 0;
	return length;
}

static void bytes_arrive(struct sock *sock, struct sock *peer, uint32_t length)
{
	if (!length)
		return;
	sim_trace(SIM_DELIVER, sock->conn->id, sock->which, length, 0);
	bytes_put(&peer->in, sock->out.at + sock->out.start, length);
	bytes_take(&sock->out, NULL, length);
	sock->arrived += length;
	pass_descriptors(sock, peer);
	sim_file_changed(&peer->file);
	sim_file_changed(&sock->file);
}

static void end_arrives(struct sock *sock, struct sock *peer)
{
	sim_trace(SIM_FIN, sock->conn->id, sock->which, 0, 0);
	sock->end_arrived = true;
	peer->in_ended = true;
	sim_file_changed(&peer->file);
}

static void move_at(struct sock *sock, uint64_t at);

static void deliver(struct sock *sock)
{
	struct conn *conn = sock->conn;
	struct sock *peer = peer_of(sock);
	bool due = conn->fault && conn->fault_end == sock->which;
	uint64_t id = conn->id;
	uint32_t which = sock->which;

	if (sock->state != SOCK_UP || conn->silent[sock->which])
		return;
	if (!peer || peer->state == SOCK_DEAD || (peer->gone && sock->out.length)) {
		die(sock, ECONNRESET);
		if (peer && peer->gone)
			die(peer, ECONNRESET);
		return;
	}
	bytes_arrive(sock, peer, portion(sock, peer));
	if (due && sock->arrived >= conn->fault_at) {
		happen(conn);
		if (conns[id] != conn || conn->end[which] != sock || sock->state != SOCK_UP ||
		    conn->silent[which])
			return;
	}
	if (sock->out_ended && !sock->out.length && !sock->end_arrived)
		end_arrives(sock, peer);
	if (sock->state == SOCK_UP)
		move_at(sock, sim_now + sim_random(50 * US));
	peer = end_of(id * 2 + !which);
	if (peer)
		maybe_free(peer);
	sock = end_of(id * 2 + which);
	if (sock)
		maybe_free(sock);
}

static void arrives(void *arg, uint64_t number)
{
	struct sock *sock = end_of(number);

	(void)arg;
	if (!sock)
		return;
	sock->under_way = false;
	deliver(sock);
}

/* What follows at once, and what comes after a time. */
static void move_at(struct sock *sock, uint64_t at)
{
	struct sock *peer = peer_of(sock);
	bool end = sock->out_ended && !sock->end_arrived && !sock->out.length;

	if (sock->state != SOCK_UP || sock->under_way || (!sock->out.length && !end) ||
	    sock->conn->silent[sock->which])
		return;
	if (sock->out.length && peer && !peer->gone && peer->state == SOCK_UP && !room_of(peer))
		return;
	if (sock->conn->inside) {
		deliver(sock);
		return;
	}
	sock->under_way = true;
	sim_later(at, arrives, NULL, number_of(sock));
}

void net_move(struct sock *sock)
{
	if (sock->state == SOCK_UP)
		move_at(sock, soon(sock->conn));
}

void net_room(struct sock *sock)
{
	struct sock *peer = peer_of(sock);

	if (peer && peer->out.length)
		net_move(peer);
}

/* ---- The beginning ---- */

static void join(struct conn *conn, struct sock *active, struct sock *listener)
{
	struct sock *passive = sock_make(active->family, 0);

	passive->file.host = listener->file.host;
	passive->fd = -1;
	passive->state = SOCK_UP;
	passive->local = active->remote;
	passive->local_size = active->remote_size;
	passive->remote = active->local;
	passive->remote_size = active->local_size;
	passive->conn = conn;
	passive->which = 1;
	conn->end[1] = passive;
	active->state = SOCK_UP;
	listener->waiting[listener->num_waiting++] = passive;
	sim_trace(SIM_CONNECTED, conn->id, 0, 0, 0);
	sim_file_changed(&active->file);
	sim_file_changed(&listener->file);
}

static void refused(struct sock *sock, int error)
{
	sim_trace(SIM_REFUSED, sock->conn->id, (uint64_t)error, 0, 0);
	sock->state = SOCK_DEAD;
	sock->error = error;
	sim_file_changed(&sock->file);
	maybe_free(sock);
}

static void no_answer(void *arg, uint64_t number)
{
	struct sock *sock = end_of(number);

	(void)arg;
	if (sock && sock->state == SOCK_CONNECTING)
		refused(sock, ETIMEDOUT);
}

static void answered(void *arg, uint64_t number)
{
	struct sock *sock = end_of(number), *listener;
	struct conn *conn;

	(void)arg;
	if (!sock || sock->state != SOCK_CONNECTING)
		return;
	conn = sock->conn;
	listener = sock_listener(&sock->remote, sock->remote_size);
	if (!listener) {
		refused(sock, ECONNREFUSED);
	} else if (listener->num_waiting == SOCK_BACKLOG) {
		sim_later(sim_now + S, answered, NULL, number);
	} else if (listener->file.host == dead_host || sock->file.host == dead_host) {
		sim_later(sim_now + CONNECT_S * S, no_answer, NULL, number);
	} else if (conn->fault && !conn->fault_at) {
		/* Before there is a connection all of them are one: nobody answers. */
		sim_trace(SIM_FAULT, conn->id, conn->fault, 0, 0);
		note_fault(conn, conn->fault);
		conn->fault = FAULT_NONE;
		sim_later(sim_now + CONNECT_S * S, no_answer, NULL, number);
	} else {
		join(conn, sock, listener);
	}
}

void net_connect(struct sock *sock)
{
	struct conn *conn = new_conn(false);

	conn->end[0] = sock;
	sock->conn = conn;
	sock->state = SOCK_CONNECTING;
	port_of[conn->id] = ntohs(((struct sockaddr_in *)&sock->remote)->sin_port);
	sim_trace(SIM_CONNECT, (uint64_t)sock->fd, 0, conn->id, 0);
	sim_later(sim_now + 2 * conn->delay, answered, NULL, number_of(sock));
}

void net_pair(struct sock *active, struct sock *listener)
{
	struct conn *conn = new_conn(true);

	conn->end[0] = active;
	active->conn = conn;
	sim_trace(SIM_CONNECT, (uint64_t)active->fd, 0, conn->id, 0);
	join(conn, active, listener);
}

/* ---- The end ---- */

void net_refuse_waiting(struct sock *listener)
{
	for (uint32_t i = 0; i < listener->num_waiting; i++) {
		listener->waiting[i]->resets = true;
		net_close(listener->waiting[i]);
	}
	listener->num_waiting = 0;
}

void net_close(struct sock *sock)
{
	const struct conn *conn = sock->conn;
	uint64_t number = number_of(sock);

	sock->gone = true;
	if (sock->state == SOCK_CONNECTING)
		sock->state = SOCK_DEAD;
	/* What nobody has received is answered with a reset. */
	if (sock->state == SOCK_UP && (sock->resets || sock->in.length)) {
		/* Some of what was sent may be there before it. */
		if (!conn->silent[sock->which] && peer_of(sock) && peer_of(sock)->state == SOCK_UP)
			bytes_arrive(sock, peer_of(sock),
				     sim_random(portion(sock, peer_of(sock)) + 1));
		reset_peer(sock);
		sock->state = SOCK_DEAD;
	}
	if (sock->state == SOCK_UP) {
		sock->out_ended = true;
		net_move(sock);
		sock = end_of(number);
	}
	if (sock)
		maybe_free(sock);
}
