/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What is right. */
#include <inttypes.h>
#include <string.h>

#include <dat2/dat_ib_extensions.h>

#include "test/sim/libc.h"
#include "test/sim/life.h"
#include "test/sim/net.h"

static const char *const op_names[] = { "receive",
					"send",
					"write",
					"read",
					"add",
					"bind",
					"write with immediate",
					"send that invalidates",
					"forbidden read",
					"forbidden write" };

#define WRONG(end, format, ...)                                                           \
	sim_fail("life %" PRIu64 ", end %u: " format, (end)->pair->life.id, (end)->which, \
		 __VA_ARGS__)

/* ---- Bytes ---- */

uint64_t judge_pattern(const struct end *end, enum op op, uint64_t number)
{
	return end->pair->life.id * 0x9e3779b97f4a7c15u + end->which * 77777u + op * 1009u +
	       number * 31u;
}

/* Two numbers that are mixed for every eight bytes. */
static uint64_t word(uint64_t pattern, uint32_t at)
{
	return (pattern + at) * 0x2545f4914f6cdd1du;
}

void judge_fill(uint8_t *at, uint64_t pattern, uint32_t length)
{
	uint64_t value;

	for (uint32_t i = 0; i < length; i += 8) {
		value = word(pattern, i);
		memcpy(at + i, &value, length - i < 8 ? length - i : 8);
	}
}

static bool filled(const uint8_t *at, uint64_t pattern, uint32_t length)
{
	uint64_t value;

	for (uint32_t i = 0; i < length; i += 8) {
		value = word(pattern, i);
		if (memcmp(at + i, &value, length - i < 8 ? length - i : 8))
			return false;
	}
	return true;
}

static struct end *peer_of(const struct end *end)
{
	return &end->pair->end[!end->which];
}

/*
 * To the connections that its ends have made: there are several where an attempt is repeated, and a
 * peer hears of one before the call that makes it returns.
 */
static uint32_t faults_of(const struct pair *pair)
{
	return net_faults_since(pair->life.conns, (uint16_t)pair->qual);
}

/* Without a sum nobody can tell what a connection has changed, also where it wants to write. */
static bool bytes_count(void)
{
	return world.crc || !net_have_lied;
}

static void check_target(const struct end *end, uint32_t slot)
{
	const struct end *peer = peer_of(end);

	if (!filled(end->memory->target[slot], judge_pattern(peer, OP_WRITE, slot),
		    end->pair->life.write_length[peer->which][slot]))
		WRONG(end, "write %u has other bytes, though a later send was received", slot);
}

/* ---- Cookies ---- */

uint64_t life_cookie(const struct end *end, bool recv, uint64_t number)
{
	return end->pair->life.id << 24 | (uint64_t)end->pair->index << 20 |
	       (uint64_t)end->which << 19 | (uint64_t)recv << 18 | (number & 0xffff);
}

static struct end *end_of_cookie(uint64_t cookie)
{
	return &world.pair[cookie >> 20 & 0xf].end[cookie >> 19 & 1];
}

/* Of a life that nobody waits for any more: each request is told once at most. */
static void judge_ghost(uint64_t cookie)
{
	uint64_t life = cookie >> 24;
	uint32_t *left;

	if (world.ghost[life % GHOSTS].life != life)
		sim_fail("life %" PRIu64 ": completion 0x%" PRIx64 " of nothing that was posted",
			 life, cookie);
	left = &world.ghost[life % GHOSTS].left[cookie >> 19 & 1][cookie >> 18 & 1];
	if (!*left)
		sim_fail("life %" PRIu64 ": more completions than requests, cookie 0x%" PRIx64,
			 life, cookie);
	--*left;
}

void judge_forget(struct end *end)
{
	uint64_t life = end->pair->life.id;

	if (world.ghost[life % GHOSTS].life != life)
		memset(&world.ghost[life % GHOSTS], 0, sizeof(world.ghost[0]));
	world.ghost[life % GHOSTS].life = life;
	world.ghost[life % GHOSTS].left[end->which][1] = end->recv.count;
	world.ghost[life % GHOSTS].left[end->which][0] = end->request.count;
	end->recv.count = end->request.count = 0;
}

/* ---- Excuses ---- */

bool judge_excused(struct pair *pair)
{
	struct life *life = &pair->life;

	if (faults_of(pair) || world.dead || world.leaves ||
	    sim_report->refusals != life->refusals || sim_plan.fail_one_in)
		life->excused = true;
	return life->excused;
}

/*
 * Messages of a peer that has disconnected find no Receive: they are lost after a time (option
 * unreceived), and meanwhile the peer's host may have reset the connection. It may as well where it
 * leaves without waiting for its requests: what they still have to send is cut (option linger).
 */
static bool starved(const struct end *end)
{
	const struct end *peer = peer_of(end);

	if (!end->pair->life.ending)
		return false;
	return peer->left == ABRUPT ||
	       peer->sent > (end->host->srq ? end->received : end->receives_then);
}

/* A host has stood still: what has a time limit may have failed. */
static bool stopped(const struct end *end)
{
	return end->pair->life.stops != world.stops;
}

/*
 * Its peer has waited too long, and it is reset: for the end of this one, once it had disconnected
 * (option linger), or for the last frame, which this one took long to send.
 */
static bool given_up(const struct end *end)
{
	const struct end *peer = peer_of(end);

	if (!stopped(end))
		return false;
	return peer->left != STAYS ||
	       (!end->which && (peer->phase == PHASE_CONNECTING ||
				peer->outcome == DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR));
}

/* What a call may answer where the system refuses something. */
static bool is_refusal(DAT_RETURN rc)
{
	switch (DAT_GET_TYPE(rc)) {
	case DAT_INSUFFICIENT_RESOURCES:
	case DAT_INTERRUPTED_CALL:
	case DAT_CONN_QUAL_IN_USE:
	case DAT_CONN_QUAL_UNAVAILABLE:
	case DAT_INVALID_ADDRESS:
	case DAT_INTERNAL_ERROR:
		return true;
	default:
		return false;
	}
}

bool judge_call(const struct end *end, const char *name, DAT_RETURN rc)
{
	sim_trace(SIM_CALL_DONE, end->pair->life.id, end->which, (uint64_t)(unsigned char)name[7],
		  rc);
	if (world.dead == (uint32_t)end->host->index + 1)
		fiber_exit(NULL); /* it went on for the sake of others (thaw) */
	if (rc == DAT_SUCCESS)
		return true;
	if (is_refusal(rc) && sim_plan.fail_one_in)
		return false;
	WRONG(end, "%s: 0x%x", name, rc);
}

/* ---- Completions ---- */

static void check_status(struct end *end, const struct post *post, uint32_t status)
{
	struct life *life = &end->pair->life;

	if (status == DAT_DTO_SUCCESS || status == DAT_DTO_ERR_FLUSHED) {
		if (status && !life->ending && !life->rejected && life->patient && !stopped(end) &&
		    !judge_excused(end->pair) && end->phase != PHASE_OVER)
			WRONG(end, "%s %" PRIu64 " is flushed though nobody has disconnected",
			      op_names[post->op], post->number);
		return;
	}
	/* RMR-24: it had begun when the connection ended. */
	if (post->op == OP_BIND && status == DAT_RMR_OPERATION_FAILED && life->ending)
		return;
	if (!judge_excused(end->pair) && !starved(end) && !given_up(end))
		WRONG(end, "%s %" PRIu64 " completes with %u though nothing has happened",
		      op_names[post->op], post->number, status);
	if (status > DAT_RMR_OPERATION_FAILED)
		WRONG(end, "status %u, which there is not", status);
}

static bool told_as(const DAT_EVENT *event, const struct message *message)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *data = &event->event_data.dto_completion_event_data;
	const DAT_IB_EXTENSION_EVENT_DATA *ext = (const void *)event->event_extension_data;

	if (message->op == OP_IMMEDIATE)
		return (uint32_t)event->event_number == (uint32_t)DAT_IB_DTO_EVENT &&
		       ext->val.immed.data == message->immediate;
	return event->event_number == DAT_DTO_COMPLETION_EVENT &&
	       (message->op != OP_INVALIDATE ||
		(data->operation == DAT_DTO_RECEIVE_WITH_INVALIDATE &&
		 data->rmr_context == message->window));
}

/* The peer cannot use it any more, and this end can bind it again. */
static void invalidated(struct window *window)
{
	window->dead = window->key;
	window->key = 0;
	window->dying = false;
}

static void check_received(struct end *end, const uint8_t *at, const DAT_EVENT *event)
{
	uint32_t length = (uint32_t)event->event_data.dto_completion_event_data.transfered_length;
	const struct end *peer = peer_of(end);
	const struct message *message;
	uint32_t number = end->received++;

	if (end->pair->lies)
		return;
	if (number >= peer->sent)
		WRONG(end, "message %u is received, and %u were sent", number, peer->sent);
	if (!bytes_count())
		return;
	message = &peer->message[number];
	if (message->length != length)
		WRONG(end, "message %u has %u bytes in place of %u", number, length,
		      message->length);
	if (!told_as(event, message))
		WRONG(end, "message %u, a %s, is told as another one", number,
		      op_names[message->op]);
	if (message->op != OP_IMMEDIATE &&
	    !filled(at, judge_pattern(peer, OP_SEND, number), length))
		WRONG(end, "message %u has other bytes", number);
	for (uint32_t i = 0; i < message->writes; i++)
		check_target(end, i);
	if (message->writes > end->window.arrived)
		end->window.arrived = message->writes;
	if (message->op == OP_INVALIDATE)
		invalidated(&end->window);
}

static void check_read(struct end *end, const struct post *post)
{
	uint64_t value;

	if (end->pair->lies || !bytes_count())
		return;
	if (post->op == OP_READ && post->target &&
	    !filled(end->memory->out[post->slot], judge_pattern(end, OP_WRITE, post->target - 1),
		    post->length))
		WRONG(end, "read %" PRIu64 " brings other bytes than were written", post->number);
	if (post->op == OP_READ && !post->target && !end->pair->life.scribbles[!end->which] &&
	    !filled(end->memory->out[post->slot], judge_pattern(peer_of(end), OP_READ, 0),
		    post->length))
		WRONG(end, "read %" PRIu64 " brings other bytes", post->number);
	if (post->op != OP_ADD)
		return;
	memcpy(&value, end->memory->out[post->slot], sizeof(value));
	if (value != end->added)
		WRONG(end, "add %" PRIu64 " brings %" PRIu64 " in place of %" PRIu64, post->number,
		      value, end->added);
	end->added += post->length;
}

static void succeeded(struct end *end, const struct post *post, const DAT_EVENT *event)
{
	sim_report->completions++;
	if (post->op == OP_RECV) {
		check_received(end, end->memory->in[post->slot], event);
		return;
	}
	if (post->op == OP_TRESPASS_READ && bytes_count())
		WRONG(end, "a read of %u bytes succeeds that is forbidden", post->length);
	end->requests_ok++;
	if (post->op == OP_SEND || post->op == OP_IMMEDIATE || post->op == OP_INVALIDATE)
		end->sent_ok++;
	check_read(end, post);
}

static void judge_post(struct end *end, struct posts *posts, uint64_t cookie, uint32_t status,
		       const DAT_EVENT *event)
{
	struct post post = posts->post[posts->first % QUEUE];

	if (!posts->count)
		WRONG(end, "completion 0x%" PRIx64 " of nothing that is outstanding", cookie);
	if ((post.number & 0xffff) != (cookie & 0xffff))
		WRONG(end, "completion of %" PRIu64 ", and %s %" PRIu64 " is first",
		      cookie & 0xffff, op_names[post.op], post.number);
	posts->first++;
	posts->count--;
	peer_of(end)->window.readers -= post.window;
	if (post.op == OP_BIND)
		life_bound(end, !status);
	check_status(end, &post, status);
	if (status) {
		posts->failed = true;
		return;
	}
	if (posts->failed)
		WRONG(end, "%s %" PRIu64 " succeeds behind one that has not", op_names[post.op],
		      post.number);
	succeeded(end, &post, event);
}

static struct end *end_of_ep(DAT_EP_HANDLE ep)
{
	for (uint32_t i = 0; i < world.num_pairs * 2; i++)
		if (world.pair[i / 2].end[i % 2].ep == ep)
			return &world.pair[i / 2].end[i % 2];
	return NULL;
}

/* Of an SRQ: any buffer, in the order of the connection. */
static void judge_shared(const DAT_EVENT *event)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *data = &event->event_data.dto_completion_event_data;
	uint32_t slot = (uint32_t)data->user_cookie.as_64 & 0xffff;
	struct end *end = end_of_ep(data->ep_handle);
	struct host *host = &world.host[data->user_cookie.as_64 >> 16 & 0xf];
	struct post post = { .op = OP_RECV, .slot = slot, .number = slot };

	if (slot >= SHARED || !host->posted[slot])
		sim_fail("an SRQ completes what was not posted");
	host->posted[slot] = false;
	if (!end)
		return;
	check_status(end, &post, data->status);
	if (data->status)
		end->recv.failed = true;
	else if (end->recv.failed)
		WRONG(end, "a receive %u of the SRQ succeeds behind one that has not", slot);
	else if (end->phase != PHASE_IDLE)
		check_received(end, host->pool[slot], event);
}

static void judge_dto(const DAT_EVENT *event)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *data = &event->event_data.dto_completion_event_data;
	uint64_t cookie = data->user_cookie.as_64;
	struct end *end = end_of_cookie(cookie);

	if (cookie >> 32 == 0xffff) {
		judge_shared(event);
		return;
	}
	if (end->pair->life.id != cookie >> 24 || !end->busy ||
	    !(end->recv.count + end->request.count)) {
		judge_ghost(cookie);
		return;
	}
	if (data->ep_handle != end->ep)
		WRONG(end, "completion 0x%" PRIx64 " names another endpoint", cookie);
	sim_trace(SIM_SEEN, end->pair->life.id, end->which, cookie & 0xfffff, data->status);
	judge_post(end, cookie >> 18 & 1 ? &end->recv : &end->request, cookie, data->status, event);
}

static void judge_bind(const DAT_EVENT *event)
{
	const DAT_RMR_BIND_COMPLETION_EVENT_DATA *data =
		&event->event_data.rmr_completion_event_data;
	uint64_t cookie = data->user_cookie.as_64;
	struct end *end = end_of_cookie(cookie);

	if (end->pair->life.id != cookie >> 24 || !end->busy || !end->request.count)
		judge_ghost(cookie);
	else
		judge_post(end, &end->request, cookie, data->status, event);
}

/* ---- Connections ---- */

static bool may_be(struct end *end, uint32_t number)
{
	struct life *life = &end->pair->life;
	bool excused = judge_excused(end->pair);

	switch (number) {
	case DAT_CONNECTION_EVENT_ESTABLISHED:
		return end->phase == PHASE_CONNECTING;
	case DAT_CONNECTION_EVENT_PEER_REJECTED:
		return !end->which && end->phase == PHASE_CONNECTING && (life->rejected || excused);
	case DAT_CONNECTION_EVENT_NON_PEER_REJECTED:
		return !end->which && end->phase == PHASE_CONNECTING &&
		       (excused || life->ending || !life->patient || stopped(end));
	case DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR:
		return end->which && end->phase == PHASE_CONNECTING &&
		       (excused || life->ending || !life->patient || stopped(end));
	case DAT_CONNECTION_EVENT_TIMED_OUT:
		return !end->which && end->phase == PHASE_CONNECTING && !life->patient;
	case DAT_CONNECTION_EVENT_UNREACHABLE:
		return end->phase == PHASE_CONNECTING && excused;
	case DAT_CONNECTION_EVENT_DISCONNECTED:
		return end->phase == PHASE_CONNECTED ? life->ending || excused : end->left != STAYS;
	case DAT_CONNECTION_EVENT_BROKEN:
		return end->phase == PHASE_CONNECTED && (excused || starved(end) || given_up(end));
	default:
		return false;
	}
}

void judge_private(const struct end *end, const void *data, DAT_COUNT size, uint32_t sent)
{
	const uint64_t *id = data;
	uint8_t expected[sizeof(*id) + DATA];

	if (judge_excused(end->pair))
		return;
	if ((uint32_t)size != sent)
		WRONG(end, "%d bytes of private data arrive in place of %u", size, sent);
	judge_fill(expected, judge_pattern(end, OP_SEND, MESSAGES), sent);
	if (!end->which)
		memcpy(expected, &end->pair->life.id, sizeof(*id));
	if (sent && memcmp(data, expected, sent))
		WRONG(end, "%u other bytes of private data arrive", sent);
}

void judge_state(const struct end *end)
{
	DAT_BOOLEAN recv_idle, request_idle;
	DAT_EP_STATE state;

	if (judge_call(end, "dat_ep_get_status",
		       dat_ep_get_status(end->ep, &state, &recv_idle, &request_idle)) &&
	    state != DAT_EP_STATE_DISCONNECTED)
		WRONG(end, "state %d after event 0x%x", state, end->outcome);
}

static void judge_connection(uint32_t number, const DAT_CONNECTION_EVENT_DATA *data)
{
	struct end *end = end_of_ep(data->ep_handle);

	if (!end)
		return; /* of an endpoint that was freed */
	sim_trace(SIM_SEEN, end->pair->life.id, end->which, number, 0);
	if (end->phase == PHASE_OVER || end->phase == PHASE_IDLE)
		WRONG(end, "event 0x%x, and 0x%x was the last", number, end->outcome);
	if (!may_be(end, number))
		WRONG(end, "event 0x%x in phase %d, and nothing has happened", number, end->phase);
	if (number == DAT_CONNECTION_EVENT_ESTABLISHED) {
		end->phase = PHASE_CONNECTED;
		if (!end->which && !end->pair->lies)
			judge_private(peer_of(end), data->private_data, data->private_data_size,
				      end->pair->life.reply);
		sim_report->established++;
		return;
	}
	end->phase = PHASE_OVER;
	end->outcome = number;
}

/* ---- All events ---- */

void judge_event(const DAT_EVENT *event)
{
	uint32_t number = event->event_number;

	if (number == DAT_DTO_COMPLETION_EVENT || number == (uint32_t)DAT_IB_DTO_EVENT)
		judge_dto(event);
	else if (number == DAT_RMR_BIND_COMPLETION_EVENT)
		judge_bind(event);
	else if (number >= DAT_CONNECTION_EVENT_ESTABLISHED &&
		 number <= DAT_CONNECTION_EVENT_UNREACHABLE)
		judge_connection(number, &event->event_data.connect_event_data);
	else if (number == DAT_ASYNC_ERROR_EVD_OVERFLOW ||
		 number == DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR)
		sim_fail("asynchronous event 0x%x", number);
}

/* ---- The end of a life ---- */

static void judge_end(struct end *end)
{
	const struct end *peer = peer_of(end);
	uint32_t due = end->sent_ok;
	bool waits = peer->left == STAYS && !peer->host->srq;

	if (end->recv.count || end->request.count)
		WRONG(end, "%u receives and %u requests never complete", end->recv.count,
		      end->request.count);
	if (judge_excused(end->pair) || end->outcome != DAT_CONNECTION_EVENT_DISCONNECTED ||
	    peer->outcome != DAT_CONNECTION_EVENT_DISCONNECTED)
		return;
	if (due > peer->receives_then)
		due = peer->receives_then;
	if (waits && peer->phase == PHASE_OVER && peer->received < due)
		WRONG(end, "%u sends completed with success, and of them %u arrived", due,
		      peer->received);
	if (waits && !stopped(end) && end->left == GRACEFUL && peer->receives_then >= end->sent &&
	    end->requests_ok < end->request.posted)
		WRONG(end, "a graceful disconnect has left %u of %" PRIu64 " requests undone",
		      (uint32_t)end->request.posted - end->requests_ok, end->request.posted);
}

/* What it may not write is as it was. */
static void judge_forbidden(const struct end *end)
{
	const uint8_t *at = end->memory->target[TARGETS];

	if (!bytes_count())
		return;
	for (uint32_t i = 0; i < TARGET; i++)
		if (at[i])
			WRONG(end, "byte %u of what nobody may write was written", i);
}

void judge_life(struct pair *pair)
{
	sim_report->lives++;
	for (int i = 0; i < 2; i++) {
		if (pair->end[i].phase == PHASE_OVER)
			judge_end(&pair->end[i]);
		if (pair->life.trespassed[!i] && !life_lost(pair->end[i].host))
			judge_forbidden(&pair->end[i]);
	}
}

void judge_srq(const struct host *host)
{
	DAT_SRQ_PARAM param;
	DAT_COUNT posted = 0;
	DAT_RETURN rc = dat_srq_query(host->srq, DAT_SRQ_FIELD_ALL, &param);

	for (uint32_t i = 0; i < SHARED; i++)
		posted += host->posted[i];
	if (rc != DAT_SUCCESS || param.outstanding_dto_count < 0 ||
	    param.outstanding_dto_count > posted || param.available_dto_count > posted)
		sim_fail("SRQ with %d receives: 0x%x, %d outstanding, %d available", posted, rc,
			 param.outstanding_dto_count, param.available_dto_count);
}
