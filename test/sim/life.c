/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the two ends of a connection do. */
#include <string.h>
#include <unistd.h>

#include <dat2/dat_ib_extensions.h>

#include "test/sim/libc.h"
#include "test/sim/life.h"
#include "test/sim/net.h"

#define S 1000000000ull

static bool chance(uint32_t percent)
{
	return sim_random(100) < percent;
}

/* ---- Waiting ---- */

static void take_all(DAT_EVD_HANDLE evd)
{
	DAT_EVENT event;

	while (dat_evd_dequeue(evd, &event) == DAT_SUCCESS)
		judge_event(&event);
}

static void take(struct end *end)
{
	if (end->host->shared) {
		pthread_mutex_lock(&end->host->taking);
		take_all(end->host->shared);
		pthread_mutex_unlock(&end->host->taking);
		return;
	}
	take_all(end->recv_evd);
	if (end->request_evd != end->recv_evd)
		take_all(end->request_evd);
	take_all(end->conn_evd);
}

enum {
	LONG_US = 50000000, /* longer than any time limit that makes an event */
	ANSWER_S = 150,	    /* in which a question is answered, whatever the peer's program does */
	BUSY_S = 400,	    /* that a program makes no call */
	RETRY_S = 20,	    /* in which the library asks for memory again */
};

/*
 * A thread that waits is woken by what comes, and does not find it when its time is over. In a
 * short time the one to wake it may not have had a turn.
 */
static bool wait_for_event(const struct end *end, DAT_EVD_HANDLE evd, uint32_t us, DAT_EVENT *event)
{
	DAT_COUNT more;

	if (!end->cno)
		return dat_evd_wait(evd, us, 1, event, &more) == DAT_SUCCESS;
	dat_cno_wait(end->cno, us, &evd);
	return dat_evd_dequeue(end->recv_evd, event) == DAT_SUCCESS ||
	       dat_evd_dequeue(end->request_evd, event) == DAT_SUCCESS ||
	       dat_evd_dequeue(end->conn_evd, event) == DAT_SUCCESS;
}

/*
 * What was sent last may have had room that the kernel does not tell of, less than a third of a
 * buffer, and who looks again finds it.
 */
static bool was_sent(const DAT_EVENT *event)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *data = &event->event_data.dto_completion_event_data;

	if (event->event_number == DAT_RMR_BIND_COMPLETION_EVENT)
		return true;
	if ((uint32_t)event->event_number == (uint32_t)DAT_IB_DTO_EVENT)
		return (uint32_t)data->operation == (uint32_t)DAT_IB_DTO_RDMA_WRITE_IMMED;
	return event->event_number == DAT_DTO_COMPLETION_EVENT &&
	       (data->operation == DAT_DTO_SEND || data->operation == DAT_DTO_RDMA_WRITE);
}

static bool had_no_memory(void)
{
	return sim_no_memory && sim_now - sim_no_memory < RETRY_S * 1000000000ull;
}

static void wait_on(struct end *end, DAT_EVD_HANDLE evd, uint32_t us)
{
	uint32_t stops = world.stops;
	DAT_EVENT event;

	if (end->cno) /* which tells of arrivals alone (CNO-5) */
		take(end);
	fiber_wakes();
	if (!wait_for_event(end, evd, us, &event))
		return;
	if (us >= LONG_US && fiber_expired() && stops == world.stops && !was_sent(&event) &&
	    !had_no_memory())
		sim_fail("life %llu, end %u: a wait of %u us was not woken for event 0x%x",
			 (unsigned long long)end->pair->life.id, end->which, us,
			 event.event_number);
	judge_event(&event);
}

/* Waits where no other end does, or for a time that gets longer. */
static void rest(struct end *end, uint32_t *us)
{
	DAT_EVD_HANDLE evd = end->phase == PHASE_CONNECTING ? end->conn_evd
			     : sim_random(2)		    ? end->recv_evd
			     : sim_random(2)		    ? end->request_evd
							    : end->conn_evd;

	*us = *us < 1000000 ? *us * 2 : *us;
	if (world.leaves == (uint32_t)end->host->index + 1)
		fiber_exit(NULL);
	if (evd == end->host->shared || sim_random(2))
		usleep(sim_random(*us) + 1);
	else
		wait_on(end, evd,
			sim_random(4) ? sim_random(*us) + 1 : LONG_US + sim_random(LONG_US));
}

static bool drained(const struct end *end)
{
	return !end->recv.count && !end->request.count;
}

static bool requests_done(const struct end *end)
{
	return !end->request.count || end->phase == PHASE_OVER;
}

static bool decided(const struct end *end)
{
	return end->phase != PHASE_CONNECTING;
}

static bool over(const struct end *end)
{
	return end->phase == PHASE_OVER;
}

/* Until it is so; false: not within so many seconds. */
static bool await(struct end *end, bool (*is_so)(const struct end *end), uint32_t seconds)
{
	uint64_t deadline = sim_now + seconds * S;
	uint32_t us = 8;

	for (;;) {
		take(end);
		if (is_so(end))
			return true;
		if (sim_now >= deadline)
			return false;
		rest(end, &us);
	}
}

static void insist(struct end *end, bool (*is_so)(const struct end *end), const char *what)
{
	if (!await(end, is_so, PATIENCE_S))
		sim_fail("life %llu, end %u: %s within %d s (phase %d, %u receives, %u requests)",
			 (unsigned long long)end->pair->life.id, end->which, what, PATIENCE_S,
			 end->phase, end->recv.count, end->request.count);
}

/* ---- An endpoint ---- */

static void make_ep(struct end *end)
{
	DAT_EP_ATTR attr = {
		.service_type = DAT_SERVICE_TYPE_RC,
		.recv_completion_flags = DAT_COMPLETION_DEFAULT_FLAG,
		.request_completion_flags = DAT_COMPLETION_DEFAULT_FLAG,
		.max_recv_dtos = QUEUE,
		.max_request_dtos = QUEUE,
		.max_recv_iov = 2,
		.max_request_iov = 2,
		.max_rdma_read_in = 4,
		.max_rdma_read_out = 4,
		.srq_soft_hw = DAT_HW_DEFAULT,
	};
	DAT_EP_HANDLE ep = DAT_HANDLE_NULL;
	DAT_RETURN rc;

	while (!end->ep) {
		if (end->host->srq)
			rc = dat_ep_create_with_srq(end->host->ia, end->host->pz, end->recv_evd,
						    end->request_evd, end->conn_evd, end->host->srq,
						    &attr, &ep);
		else
			rc = dat_ep_create(end->host->ia, end->host->pz, end->recv_evd,
					   end->request_evd, end->conn_evd, &attr, &ep);
		if (judge_call(end, "dat_ep_create", rc))
			end->ep = ep;
		else
			usleep(1000);
	}
}

static void make_window(struct end *end)
{
	DAT_RMR_HANDLE rmr = DAT_HANDLE_NULL;
	bool of_ep = chance(50);
	DAT_RETURN rc = of_ep ? dat_rmr_create_for_ep(end->host->pz, &rmr)
			      : dat_rmr_create(end->host->pz, &rmr);

	end->window = (struct window){ .of_ep = of_ep };
	if (judge_call(end, "dat_rmr_create", rc))
		end->window.rmr = rmr;
}

static void free_window(struct end *end)
{
	DAT_RMR_HANDLE rmr = end->window.rmr;

	end->window = (struct window){ .rmr = DAT_HANDLE_NULL };
	if (rmr)
		judge_call(end, "dat_rmr_free", dat_rmr_free(rmr));
}

/* Ready for another life. */
static void begin_end(struct end *end)
{
	struct posts none = { .count = 0 };

	make_ep(end);
	make_window(end);
	end->recv = end->request = none;
	end->outcome = 0;
	end->sent = end->sent_ok = end->received = end->writes = end->requests_ok = 0;
	end->receives_then = 0;
	end->added = 0;
	end->left = STAYS;
	end->phase = PHASE_IDLE;
	memset(end->memory->target, 0, sizeof(end->memory->target));
	judge_fill(end->memory->source, judge_pattern(end, OP_READ, 0), TARGET);
	end->memory->counter = 0;
	end->pair->life.scribbles[end->which] = chance(15);
	end->busy = true;
	for (uint32_t i = sim_random(5); i; i--)
		life_post_recv(end);
}

static void leave(struct end *end, bool graceful)
{
	struct pair *pair = end->pair;

	if (!pair->life.ending) {
		pair->life.ended = sim_now;
		for (int i = 0; i < 2; i++)
			pair->end[i].receives_then = (uint32_t)pair->end[i].recv.posted;
	}
	pair->life.ending = true;
	end->left = graceful ? GRACEFUL : ABRUPT;
	judge_call(end, "dat_ep_disconnect",
		   dat_ep_disconnect(end->ep,
				     graceful ? DAT_CLOSE_GRACEFUL_FLAG : DAT_CLOSE_ABRUPT_FLAG));
}

/* It is over: what was posted comes back, and the endpoint is used again or not. */
static void end_end(struct end *end)
{
	bool drain = chance(90), keep = chance(50);

	if (end->phase == PHASE_CONNECTING || end->phase == PHASE_CONNECTED) {
		leave(end, false);
		insist(end, over, "no end of a connection after an abrupt disconnect");
	}
	if (end->phase == PHASE_IDLE) /* receives stay until it is freed */
		drain = keep = false;
	if (end->phase == PHASE_OVER)
		judge_state(end);
	if (drain)
		insist(end, drained, "not all requests complete");
	if (keep && !judge_call(end, "dat_ep_reset", dat_ep_reset(end->ep)))
		keep = false;
	take(end);
	if (!keep) {
		DAT_EP_HANDLE ep = end->ep;

		end->ep = DAT_HANDLE_NULL;
		judge_call(end, "dat_ep_free", dat_ep_free(ep));
	}
	free_window(end);
	if (!drained(end))
		judge_forget(end);
}

/* ---- Traffic ---- */

/* Its memory changes while others read it: they see what they see (DTO-8). */
static void scribble(struct end *end)
{
	if (end->pair->life.scribbles[end->which])
		judge_fill(end->memory->source, sim_random64(), TARGET);
}

static void resize(struct end *end)
{
	DAT_COUNT more = (DAT_COUNT)sim_random(300);
	DAT_RETURN rc;

	if (end->host->srq && sim_random(2))
		rc = dat_srq_resize(end->host->srq, SHARED + more);
	else if (end->host->shared)
		rc = dat_evd_resize(end->host->shared, SHARED_EVENTS + more);
	else
		rc = dat_evd_resize(sim_random(2) ? end->recv_evd : end->request_evd,
				    END_EVENTS + more);
	judge_call(end, "dat_resize", rc);
}

/* A connection on which nothing is wrong, and no message waits for a Receive. */
static bool answers(struct end *end)
{
	const struct end *peer = &end->pair->end[!end->which];

	return end->phase == PHASE_CONNECTED && !end->pair->life.ending &&
	       end->pair->life.stops == world.stops && !judge_excused(end->pair) &&
	       peer->received == end->sent && end->received == peer->sent;
}

/* The answer to what is asked needs nobody but the peer's library. */
static void ask(struct end *end)
{
	bool must = answers(end) && !end->request.count;

	life_post_question(end);
	if (!await(end, requests_done, ANSWER_S) && must && answers(end))
		sim_fail("life %llu, end %u: no answer within %d s",
			 (unsigned long long)end->pair->life.id, end->which, ANSWER_S);
}

static void rare_step(struct end *end)
{
	switch (sim_random(8)) {
	case 0:
		for (uint32_t i = sim_random(QUEUE); i; i--)
			life_post_request(end);
		break;
	case 1:
		resize(end);
		break;
	case 2:
		ask(end);
		break;
	case 3:
		if (chance(20))
			usleep(sim_random(BUSY_S * 1000000));
		break;
	case 4:
		life_trespass(end);
		break;
	default:
		scribble(end);
		break;
	}
}

static void one_step(struct end *end)
{
	uint32_t us = 16;

	switch (sim_random(10)) {
	case 0:
	case 1:
		life_post_recv(end);
		break;
	case 2:
	case 3:
	case 4:
		life_post_request(end);
		break;
	case 5:
		take(end);
		break;
	case 6:
		rest(end, &us);
		break;
	case 7:
		rare_step(end);
		break;
	default:
		usleep(sim_random(1u << sim_random(17)));
		break;
	}
}

static void traffic(struct end *end)
{
	uint32_t steps = sim_random(sim_random(4) ? 12 : 60);

	while (steps-- && end->phase == PHASE_CONNECTED)
		one_step(end);
	take(end);
	if (end->phase == PHASE_CONNECTED && chance(40))
		await(end, requests_done, 1 + sim_random(40));
	/* One of them waits for the other, not for ever. */
	if (end->phase == PHASE_CONNECTED && chance(end->which ? 70 : 30))
		await(end, over, sim_random(30));
	if (end->phase == PHASE_CONNECTED)
		leave(end, chance(60));
	insist(end, over, "no end of a connection");
}

/* ---- The two ends ---- */

static bool connect_end(struct end *end)
{
	struct pair *pair = end->pair;
	DAT_TIMEOUT timeout = pair->life.patient ? DAT_TIMEOUT_INFINITE : 1 + sim_random(3000000);
	uint8_t data[sizeof(pair->life.id) + DATA];
	DAT_COUNT size = sizeof(pair->life.id) + sim_random(DATA);
	DAT_RETURN rc;

	judge_fill(data, judge_pattern(end, OP_SEND, MESSAGES), (uint32_t)size);
	memcpy(data, &pair->life.id, sizeof(pair->life.id));
	end->phase = PHASE_CONNECTING;
	pair->life.call = (uint32_t)size;
	rc = dat_ep_connect(end->ep, (DAT_IA_ADDRESS_PTR)&pair->end[1].host->address, pair->qual,
			    timeout, size, data, DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG);
	if (judge_call(end, "dat_ep_connect", rc))
		return true;
	end->phase = PHASE_IDLE;
	return false;
}

bool life_lost(const struct host *host)
{
	uint32_t number = (uint32_t)host->index + 1;

	return world.dead == number || world.leaves == number;
}

static bool peer_done(const struct end *end)
{
	return !end->pair->end[1].busy || life_lost(end->pair->end[1].host);
}

void life_begin(struct pair *pair)
{
	pair->life = (struct life){ .id = ++world.lives_begun,
				    .conns = net_conns(),
				    .refusals = (uint32_t)sim_report->refusals,
				    .stops = world.stops,
				    .patient = chance(85) };
	for (int host = 0; host < HOSTS; host++)
		if (fiber_is_frozen(host))
			pair->life.stops = world.stops - 1;
}

/* Its request may still be on its way: that is rejected. */
void life_await_passive(struct pair *pair)
{
	uint64_t deadline = sim_now + PATIENCE_S * S;

	while (!peer_done(&pair->end[0])) {
		if (!pair->lies)
			take(&pair->end[0]);
		if (sim_now >= deadline)
			sim_fail("life %llu: the passive end never comes to an end",
				 (unsigned long long)pair->life.id);
		usleep(1000 + sim_random(100000));
		if (life_lost(pair->end[0].host))
			fiber_exit(NULL);
	}
}

void *life_active(void *arg)
{
	struct pair *pair = arg;
	struct end *end = &pair->end[0];

	while (world.lives_begun < world.lives && !world.dead && !world.leaves) {
		life_begin(pair);
		pair->life.excused = pair->lies;
		begin_end(end);
		if (connect_end(end)) {
			if (chance(5))
				usleep(sim_random(100000));
			else
				insist(end, decided, "no outcome of a connect");
			if (end->phase == PHASE_CONNECTED)
				traffic(end);
		}
		end_end(end);
		life_await_passive(pair);
		judge_life(pair);
		end->busy = false;
	}
	pair->quit = true;
	return NULL;
}

/* Somebody waits for it. */
static void reject(struct end *end, DAT_CR_HANDLE cr)
{
	while (!judge_call(end, "dat_cr_reject", dat_cr_reject(cr, 0, NULL)))
		usleep(1000);
}

static void answer(struct end *end, DAT_CR_HANDLE cr)
{
	struct pair *pair = end->pair;
	uint8_t data[DATA];
	DAT_RETURN rc;

	if (chance(8)) {
		pair->life.rejected = true;
		reject(end, cr);
		return;
	}
	pair->life.reply = sim_random(DATA);
	judge_fill(data, judge_pattern(end, OP_SEND, MESSAGES), pair->life.reply);
	if (chance(10))
		usleep(sim_random(1u << sim_random(21)));
	pair->life.accepted = true;
	end->phase = PHASE_CONNECTING;
	rc = dat_cr_accept(cr, end->ep, (DAT_COUNT)pair->life.reply, data);
	if (!judge_call(end, "dat_cr_accept", rc)) {
		end->phase = PHASE_IDLE;
		reject(end, cr);
		return;
	}
	insist(end, decided, "no outcome of an accept");
	if (end->phase == PHASE_CONNECTED)
		traffic(end);
}

/* Whether it is of the life that goes on, which then waits for this end too. */
static bool is_wanted(struct pair *pair, DAT_CR_HANDLE cr)
{
	DAT_CR_PARAM param;
	uint64_t id = 0;

	if (dat_cr_query(cr, DAT_CR_FIELD_ALL, &param) != DAT_SUCCESS)
		return false;
	if (param.private_data_size >= (DAT_COUNT)sizeof(id))
		memcpy(&id, param.private_data, sizeof(id));
	pair->end[1].busy = id == pair->life.id && pair->end[0].busy;
	if (pair->end[1].busy && !pair->lies)
		judge_private(&pair->end[0], param.private_data, param.private_data_size,
			      pair->life.call);
	return pair->end[1].busy;
}

void *life_passive(void *arg)
{
	struct pair *pair = arg;
	struct end *end = &pair->end[1];
	DAT_CR_HANDLE cr;
	DAT_EVENT event;
	DAT_COUNT more;

	while (!pair->quit && !life_lost(pair->end[0].host) && !life_lost(end->host)) {
		if (dat_evd_wait(pair->cr_evd, 200000, 1, &event, &more) != DAT_SUCCESS)
			continue;
		cr = event.event_data.cr_arrival_event_data.cr_handle;
		if (!is_wanted(pair, cr)) {
			reject(end, cr);
			continue;
		}
		begin_end(end);
		answer(end, cr);
		end_end(end);
		end->busy = false;
	}
	return NULL;
}
