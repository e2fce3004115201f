/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Which connections of a CQ a poll looks at.
 *
 * Always those where something came lately. Where nothing came for long it looks in turn, if that
 * costs next to nothing: the peer still need not wake anybody. What costs more, and what is too many,
 * is left to the epoll set, and so is all where nothing came when who polls goes to sleep; it is polled
 * again once the set has told of it. Few connections are never left to the set.
 *
 * Who does nothing but poll looks at one in turn each time, and at the set now and then: he is there
 * again at once. Who works in between, or has slept, looks at all of them and at the set.
 *
 * Under tp_cq.lock, which who polls has.
 */
#include <errno.h>
#include <sys/epoll.h>

#include "dapl/base/fd.h"
#include "providers/soft/base/device.h"
#include "providers/soft/engine/conn.h"
#include "providers/soft/engine/cq.h"
#include "providers/soft/engine/drive.h"
#include "providers/soft/engine/qp.h"
#include "providers/soft/link/link.h"
#include "trace/log.h"

enum {
	READY_PER_POLL = 16,
	POLLS_PER_ROOM = 16,
	/* What the epoll set tells waits for so many completions of the others, or so much cost of
	 * polling them. */
	COST_PER_LOOK = 256,
	BUSY_PER_POLL = 64,    /* cost of one poll */
	CALM_MAX = 64,	       /* more of them have no place in the cache */
	POLLS_PER_CLOCK = 256, /* a multiple of these */
	SPIN_NS = 2000,	       /* a poll of who does nothing else, what came included */
	VAIN_TO_TELL = 64,     /* polls */
};

/* ---- Membership and readiness ---- */

static void set_polled(struct soft_member *member, enum soft_polled how)
{
	struct soft_cq *cq = member->cq;
	unsigned int was = atomic_load_explicit(&member->polled, memory_order_relaxed);

	dapl_assert_held(cq->base.lock);
	list_del(&member->polled_node);
	if (how != SOFT_NOT_POLLED)
		list_add(how == SOFT_POLLED_ALWAYS ? &cq->busy : &cq->calm, &member->polled_node);
	cq->num_calm += (how == SOFT_POLLED_IN_TURN) - (was == SOFT_POLLED_IN_TURN);
	cq->num_left += (how == SOFT_NOT_POLLED) - (was == SOFT_NOT_POLLED);
	atomic_store(&member->polled, how);
}

static void poll_all(struct soft_cq *cq)
{
	struct soft_member *member;

	list_for_each(member, &cq->members, node)
		if (atomic_load_explicit(&member->polled, memory_order_relaxed) == SOFT_NOT_POLLED)
			set_polled(member, SOFT_POLLED_ALWAYS);
}

/* The loop has to drive what a waiter would not be told of, one that sleeps already as well. */
static void go_blind(struct soft_cq *cq, const char *what)
{
	if (!atomic_exchange(&cq->blind, true))
		dapl_err("%s: completion queue's wait descriptor %s: %s", cq->dev->name, what,
			 dapl_strerror(errno));
	poll_all(cq);
	if (!atomic_exchange(&cq->waiter, false))
		return;
	atomic_store(&cq->armed, TP_ARM_NOTIFY + 1);
	soft_drive_look(cq->dev, true);
}

/* Puts a member into the epoll set. */
static void enrol(struct soft_cq *cq, struct soft_member *member)
{
	int rc;

	pthread_mutex_lock(&member->conn->lock);
	rc = soft_watch_add(member);
	pthread_mutex_unlock(&member->conn->lock);
	if (rc) {
		errno = -rc;
		go_blind(cq, "cannot watch a connection");
	}
}

/* The epoll set, made at the first need. */
static void need_epfd(struct soft_cq *cq)
{
	struct soft_member *member;
	int epfd;

	if (atomic_load(&cq->epfd) >= 0 || atomic_load(&cq->blind))
		return;
	epfd = dapl_fd_own(epoll_create1(EPOLL_CLOEXEC));
	if (epfd < 0) {
		go_blind(cq, "not created");
		return;
	}
	atomic_store(&cq->epfd, epfd);
	list_for_each(member, &cq->members, node)
		enrol(cq, member);
}

/* Has the set told of all that happens. */
static void watch_all(struct soft_cq *cq)
{
	struct soft_member *member;

	list_for_each(member, &cq->members, node)
		soft_watch_update_cqs(member->conn);
}

static bool set_tells(const struct soft_cq *cq)
{
	return !soft_cq_few(cq) && !atomic_load(&cq->blind);
}

static struct soft_member *of_node(struct list *node)
{
	return container_of(node, struct soft_member, polled_node);
}

/* What has happened there is told at once. */
static void leave_to_set(struct soft_member *member)
{
	set_polled(member, SOFT_NOT_POLLED);
	soft_watch_update_cqs(member->conn);
}

/* Nothing came there for long. */
static void calm_down(struct soft_cq *cq, struct soft_member *member)
{
	if (member->link->class->quiet)
		set_polled(member, SOFT_POLLED_IN_TURN);
	else if (set_tells(cq))
		leave_to_set(member);
	if (cq->num_calm > CALM_MAX && set_tells(cq))
		leave_to_set(of_node(cq->calm.next));
}

/* Something came there. */
static void note_moved(struct soft_member *member)
{
	member->came = member->cq->drives;
	if (atomic_load_explicit(&member->polled, memory_order_relaxed) != SOFT_POLLED_ALWAYS)
		set_polled(member, SOFT_POLLED_ALWAYS);
}

/*
 * Who polls goes to sleep. Those where the last poll found nothing are not armed again at each
 * sleep.
 */
static void watch_polled(struct soft_cq *cq)
{
	struct soft_member *member;
	struct list *node, *next;

	while (!list_empty(&cq->calm))
		leave_to_set(of_node(cq->calm.next));
	for (node = cq->busy.next; node != &cq->busy; node = next) {
		next = node->next;
		member = of_node(node);
		if (member->came != cq->drives)
			leave_to_set(member);
		else
			soft_watch_update_cqs(member->conn);
	}
}

void soft_cq_watch(struct soft_cq *cq)
{
	dapl_assert_held(cq->base.lock);
	need_epfd(cq);
	if (set_tells(cq))
		watch_polled(cq);
	else
		watch_all(cq);
}

void soft_cq_attach(struct soft_member *member)
{
	const struct soft_link_class *class = member->conn->link->class;
	struct soft_cq *cq = member->cq;
	bool were_few;

	dapl_lock(cq->base.lock);
	were_few = soft_cq_few(cq);
	member->link = member->conn->link;
	member->vain_told = cq->vain_told;
	member->came = cq->drives - 1;
	list_add(&cq->members, &member->node);
	list_add(&cq->busy, &member->polled_node);
	atomic_store(&member->polled, SOFT_POLLED_ALWAYS);
	atomic_fetch_add(&cq->cost, class->cost);
	if (atomic_load(&cq->epfd) >= 0)
		enrol(cq, member);
	else if (!soft_cq_few(cq))
		need_epfd(cq);
	if (were_few && !soft_cq_few(cq))
		watch_all(cq);
	if (!soft_cq_few(cq))
		calm_down(cq, member);
	dapl_unlock(cq->base.lock);
	soft_cq_wake(&cq->base);
}

void soft_cq_detach(struct soft_member *member)
{
	struct soft_cq *cq = member->cq;

	dapl_lock(cq->base.lock);
	list_del(&member->node);
	atomic_fetch_sub(&cq->cost, member->conn->link->class->cost);
	set_polled(member, SOFT_NOT_POLLED);
	cq->num_left--;
	if (soft_cq_few(cq))
		poll_all(cq);
	pthread_mutex_lock(&member->conn->lock);
	soft_watch_remove(member);
	pthread_mutex_unlock(&member->conn->lock);
	dapl_unlock(cq->base.lock);
	soft_cq_wake_for_good(cq, member->conn->link);
}

/* ---- A poll ---- */

/*
 * Now and then. A spinner must not press every few bytes of room into a call of their own: it looks
 * for room at times, until it has been at all of them; one who slept was woken for it. The clock
 * tells whether who polls does nothing else.
 */
static void take_stock(struct soft_cq *cq)
{
	uint64_t now;

	cq->room_cost = atomic_load_explicit(&cq->cost, memory_order_relaxed);
	if (cq->polls_since_clock < POLLS_PER_CLOCK)
		return;
	now = dapl_now();
	cq->spinning = now - cq->clock < POLLS_PER_CLOCK * SPIN_NS;
	cq->clock = now;
	cq->polls_since_clock = 0;
}

/* Touches no more of a connection where nothing came than it must. */
static inline bool drive_member(const struct soft_member *member, bool room)
{
	const struct soft_link_class *class = member->link->class;
	uint32_t what = 0;

	if (!class->quiet || !class->quiet(member->link))
		what = SOFT_DRIVE_RX;
	if (room && atomic_load_explicit(&member->link->stalled, memory_order_relaxed))
		what |= SOFT_DRIVE_TX;
	return what && soft_drive_poll(member->conn->qp, member->cq, what);
}

/* Those that were polled longest ago, as many as a poll may cost. */
static bool drive_busy(struct soft_cq *cq)
{
	struct list *node = cq->busy.next, *next;
	bool room = cq->room_cost, moved = false;
	uint32_t spent = 0;
	struct soft_member *member;

	for (; node != &cq->busy && spent < BUSY_PER_POLL; node = next) {
		next = node->next;
		member = of_node(node);
		spent += member->link->class->cost;
		if (drive_member(member, room)) {
			member->came = cq->drives;
			moved = true;
		} else if (cq->drives - member->came > member->link->class->vain_polls) {
			calm_down(cq, member);
		}
	}
	list_turn(&cq->busy, node); /* the next poll goes on from there */
	if (room)
		cq->room_cost -= spent < cq->room_cost ? spent : cq->room_cost;
	cq->cost_since_look += spent;
	return moved;
}

static bool drive_calm(struct soft_cq *cq, uint32_t num)
{
	struct soft_member *member;
	bool moved = false;

	while (num-- && !list_empty(&cq->calm)) {
		member = of_node(cq->calm.next);
		list_turn(&cq->calm, member->polled_node.next);
		cq->cost_since_look++;
		if (drive_member(member, true)) {
			note_moved(member);
			moved = true;
		}
	}
	return moved;
}

static bool drive_ready(struct soft_cq *cq)
{
	struct epoll_event events[READY_PER_POLL];
	struct soft_member *member;
	bool moved = false;
	int n;

	n = epoll_wait(atomic_load(&cq->epfd), events, READY_PER_POLL, 0);
	/* If it is full there may be more. */
	cq->cost_since_look = n == READY_PER_POLL ? COST_PER_LOOK : 0;
	for (int i = 0; i < n; i++) {
		member = events[i].data.ptr;
		if (drive_member(member, true)) {
			note_moved(member);
			moved = true;
		} else if (!member->link->class->arm) {
			continue;
		}
		soft_watch_update_cqs(member->conn);
	}
	return moved;
}

static bool drive_members(struct soft_cq *cq)
{
	uint32_t head = atomic_load_explicit(&cq->head, memory_order_relaxed);
	bool takes = cq->takes, spinning, moved;

	cq->drives++;
	if (++cq->polls_since_clock % POLLS_PER_ROOM == 0 || cq->woken)
		take_stock(cq);
	spinning = cq->spinning && !cq->woken;
	cq->woken = false;
	moved = drive_busy(cq);
	if (cq->num_calm)
		moved |= drive_calm(cq, spinning ? 1 : cq->num_calm);
	cq->cost_since_look += 1 + atomic_load_explicit(&cq->head, memory_order_relaxed) - head;
	cq->cost_since_look += takes && !cq->takes;
	if (!cq->num_left || (spinning && cq->cost_since_look < COST_PER_LOOK))
		return moved;
	return drive_ready(cq) || moved;
}

/*
 * Peers that see nobody poll reach this side's memory themselves and send nothing, so that nothing
 * tells the service thread that there is somebody; and by the link they would be faster. One member
 * is told each time, in turn: its lines are not in the cache, and what came on the others waits.
 */
static void tell_of_polls(struct soft_cq *cq)
{
	struct soft_member *member = container_of(cq->members.next, struct soft_member, node);
	const struct soft_direct_ops *direct = member->link->class->direct;

	cq->vain_told += cq->vain;
	cq->vain = 0;
	if (direct)
		direct->polled(member->link, cq->vain_told - member->vain_told);
	member->vain_told = cq->vain_told;
	list_turn(&cq->members, member->node.next);
}

bool soft_cq_drive(struct soft_cq *cq)
{
	bool moved;

	dapl_assert_held(cq->base.lock);
	if (list_empty(&cq->members))
		return false;
	moved = drive_members(cq);
	if (!moved && ++cq->vain >= VAIN_TO_TELL)
		tell_of_polls(cq);
	return moved;
}
