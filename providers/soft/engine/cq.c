/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Completion queues. Many connections add, one consumer takes (under the core's EVD lock). A
 * consumer that finds nothing drives the connections that feed the queue.
 */
#include "providers/soft/engine/cq.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>

#include "dapl/base/fd.h"
#include "providers/soft/base/device.h"
#include "providers/soft/engine/conn.h"
#include "providers/soft/engine/drive.h"
#include "providers/soft/engine/qp.h"
#include "providers/soft/link/link.h"
#include "trace/log.h"

enum {
	READY_PER_POLL = 16,
	SPINS_PER_LOOK = 16,
	/* An idle connection's message waits for so many completions of the hot ones, or their
	 * cost, and, where looks found nothing, for so many at most. */
	COST_PER_LOOK = 256,
	COST_MAX = 4096,
	HOT_PER_POLL = 64, /* cost of one poll */
	VAIN_TO_TELL = 64, /* polls */
	TOLD_AT_ONCE = 4,  /* members, after so many, where they are more than a few */
};

static void overflow_run(struct tp_task *task)
{
	struct soft_cq *cq = container_of(task, struct soft_cq, overflow);

	cq->dev->base.up->async(cq->dev->base.owner, TP_ASYNC_CQ_OVERFLOW, cq->base.owner);
}

/* ---- Membership and readiness ---- */

/* The loop has to drive what a waiter would not be told of, one that sleeps already as well. */
static void go_blind(struct soft_cq *cq, const char *what)
{
	if (!atomic_exchange(&cq->blind, true))
		dapl_err("%s: completion queue's wait descriptor %s: %s", cq->dev->name, what,
			 dapl_strerror(errno));
	if (!atomic_exchange(&cq->waiter, false))
		return;
	atomic_store(&cq->armed, TP_ARM_NOTIFY + 1);
	soft_drive_look(cq->dev, true);
}

/* Puts a member into the epoll set; drive held. */
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

/* The epoll set, made at the first need; drive held. */
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

/* Has the set told of all that happens; drive held. */
static void watch_all(struct soft_cq *cq)
{
	struct soft_member *member;

	list_for_each(member, &cq->members, node)
		soft_watch_update_cqs(member->conn);
}

/* ---- Of many connections, those that are hot ---- */

/* drive held, as for the next. Leaves it to the epoll set. */
static void cool(struct soft_member *member)
{
	if (!atomic_load_explicit(&member->hot, memory_order_relaxed))
		return;
	atomic_store(&member->hot, false);
	list_del(&member->hot_node);
}

/* Ditto, and has the set told of what happens there; what has happened is told at once. */
static void cool_down(struct soft_member *member)
{
	cool(member);
	soft_watch_update_cqs(member->conn);
}

/* Who polls them goes to sleep. Those where nothing came since are not armed again at each sleep. */
static void watch_hot(struct soft_cq *cq)
{
	struct soft_member *member;
	struct list *node, *next;

	for (node = cq->hot.next; node != &cq->hot; node = next) {
		next = node->next;
		member = container_of(node, struct soft_member, hot_node);
		if (member->vain)
			cool_down(member);
		else
			soft_watch_update_cqs(member->conn);
	}
}

/* Something came there. */
static void warm_up(struct soft_cq *cq, struct soft_member *member)
{
	member->vain = 0;
	if (!atomic_load_explicit(&member->hot, memory_order_relaxed)) {
		list_add(&cq->hot, &member->hot_node);
		atomic_store(&member->hot, true);
	}
	soft_watch_update_cqs(member->conn);
}

void soft_cq_attach(struct soft_member *member)
{
	const struct soft_link_class *class = member->conn->link->class;
	struct soft_cq *cq = member->cq;
	bool were_few;

	dapl_lock(&cq->drive);
	were_few = soft_cq_few(cq);
	member->link = member->conn->link;
	member->vain_told = cq->vain_told;
	list_add(&cq->members, &member->node);
	atomic_fetch_add(&cq->cost, class->cost);
	if (atomic_load(&cq->epfd) >= 0)
		enrol(cq, member);
	else if (!soft_cq_few(cq))
		need_epfd(cq);
	if (were_few && !soft_cq_few(cq))
		watch_all(cq);
	dapl_unlock(&cq->drive);
	soft_cq_wake(&cq->base);
}

void soft_cq_detach(struct soft_member *member)
{
	struct soft_cq *cq = member->cq;

	dapl_lock(&cq->drive);
	list_del(&member->node);
	atomic_fetch_sub(&cq->cost, member->conn->link->class->cost);
	cool(member);
	pthread_mutex_lock(&member->conn->lock);
	soft_watch_remove(member);
	pthread_mutex_unlock(&member->conn->lock);
	dapl_unlock(&cq->drive);
	soft_cq_wake_for_good(cq, member->conn->link);
}

/* ---- Taking ---- */

static inline void note_poll(struct soft_cq *cq, uint32_t weight)
{
	atomic_store_explicit(&cq->polls,
			      atomic_load_explicit(&cq->polls, memory_order_relaxed) + weight,
			      memory_order_relaxed);
}

/* Who takes what came from peers polls for it, also where the service thread was faster. */
static inline void note_taken(struct soft_cq *cq, uint32_t flags)
{
	if (flags & SOFT_WC_CAME)
		note_poll(cq, SOFT_CQ_POLLED);
}

static inline bool pop(struct soft_cq *cq, struct tp_wc *wc)
{
	uint32_t tail = atomic_load_explicit(&cq->tail, memory_order_relaxed);

	if (tail == atomic_load_explicit(&cq->head, memory_order_acquire))
		return false;
	*wc = cq->ring[tail & (cq->size - 1)];
	note_taken(cq, wc->flags);
	wc->flags &= ~SOFT_WC_OURS;
	atomic_store_explicit(&cq->tail, tail + 1, memory_order_release);
	return true;
}

/* As poll_plain, of what is in the queue. */
static inline struct tp_wr *pop_plain(struct soft_cq *cq)
{
	uint32_t tail = atomic_load_explicit(&cq->tail, memory_order_relaxed);
	const struct tp_wc *wc = &cq->ring[tail & (cq->size - 1)];
	struct tp_wr *wr;

	if (tail == atomic_load_explicit(&cq->head, memory_order_acquire))
		return NULL;
	if (!(wc->flags & SOFT_WC_PLAIN))
		return TP_WR_UNTOLD;
	wr = (struct tp_wr *)(uintptr_t)wc->wr_id;
	if (wc->flags & TP_WC_RECV)
		wr->length = wc->byte_len;
	note_taken(cq, wc->flags);
	atomic_store_explicit(&cq->tail, tail + 1, memory_order_release);
	return wr;
}

/*
 * A spinner must not press every few bytes of room into a call of their own: it looks for room now
 * and then. One who slept was woken for it.
 */
static bool look_for_room(struct soft_cq *cq)
{
	if (cq->woken || ++cq->spins >= SPINS_PER_LOOK) {
		cq->woken = false;
		cq->spins = 0;
		return true;
	}
	return false;
}

static bool drive_all(struct soft_cq *cq)
{
	struct soft_member *member;
	bool room = look_for_room(cq), moved = false;

	list_for_each(member, &cq->members, node)
		moved |= soft_drive_poll(member->conn, room);
	return moved;
}

/* Touches no more of a connection where nothing came than it must: of many the cache has not all. */
static inline bool drive_member(struct soft_member *member, bool room)
{
	const struct soft_link_class *class = member->link->class;

	if (!room && class->quiet && class->quiet(member->link))
		return false;
	return soft_drive_poll(member->conn, room);
}

/* Those that were polled longest ago, as many as a poll may cost. */
static bool drive_hot(struct soft_cq *cq)
{
	struct list *node = cq->hot.next, *next;
	bool room = look_for_room(cq), moved = false;
	uint32_t cost, spent = 0;
	struct soft_member *member;

	for (; node != &cq->hot && spent < HOT_PER_POLL; node = next) {
		next = node->next;
		member = container_of(node, struct soft_member, hot_node);
		cost = member->link->class->cost;
		spent += cost;
		if (drive_member(member, room)) {
			member->vain = 0;
			moved = true;
		} else if ((member->vain += cost) > member->link->class->wake_cost) {
			cool_down(member);
		}
	}
	list_turn(&cq->hot, node); /* the next poll goes on from there */
	cq->cost_since_look += spent;
	return moved;
}

static bool drive_ready(struct soft_cq *cq)
{
	struct epoll_event events[READY_PER_POLL];
	struct soft_member *member;
	bool moved = false;
	int n;

	cq->cost_since_look = 0;
	n = epoll_wait(atomic_load(&cq->epfd), events, READY_PER_POLL, 0);
	if (n > 0)
		cq->cost_per_look = COST_PER_LOOK;
	else if (cq->cost_per_look < COST_MAX && !list_empty(&cq->hot))
		cq->cost_per_look *= 2;
	if (n == READY_PER_POLL) /* there may be more */
		cq->cost_since_look = cq->cost_per_look;
	for (int i = 0; i < n; i++) {
		member = events[i].data.ptr;
		if (soft_drive_poll(member->conn, true)) {
			warm_up(cq, member);
			moved = true;
		} else if (member->conn->link->class->arm) {
			soft_watch_update_cqs(member->conn);
		}
	}
	return moved;
}

/*
 * The others are looked at now and then, sooner where much moved meanwhile, and by one who slept at
 * once.
 */
static bool drive_many(struct soft_cq *cq)
{
	bool look = cq->woken || list_empty(&cq->hot);
	uint32_t head = atomic_load_explicit(&cq->head, memory_order_relaxed);
	bool moved = drive_hot(cq);

	cq->cost_since_look += atomic_load_explicit(&cq->head, memory_order_relaxed) - head;
	if (cq->cost_since_look >= cq->cost_per_look)
		look = true;
	return (look && drive_ready(cq)) || moved;
}

/*
 * Peers that see nobody poll reach this side's memory themselves and send nothing, so that nothing
 * tells the service thread that there is somebody; and by the link they would be faster. Of many
 * members a few are told each time, in turn.
 */
static void tell_of_polls(struct soft_cq *cq)
{
	const struct soft_direct_ops *direct;
	struct list *node = cq->members.next;
	struct soft_member *member;
	int left = soft_cq_few(cq) ? SOFT_CQ_FEW : TOLD_AT_ONCE;

	cq->vain_told += cq->vain;
	cq->vain = 0;
	for (; node != &cq->members && left; node = node->next, left--) {
		member = container_of(node, struct soft_member, node);
		direct = member->link->class->direct;
		if (direct)
			direct->polled(member->link, cq->vain_told - member->vain_told);
		member->vain_told = cq->vain_told;
	}
	list_turn(&cq->members, node);
}

/* Whether anything moved. */
static bool drive(struct soft_cq *cq)
{
	bool moved;

	/* Taken: a connection comes or goes; the next poll is soon enough. */
	if (!atomic_load_explicit(&cq->cost, memory_order_relaxed) || !dapl_trylock(&cq->drive))
		return false;
	if (soft_cq_few(cq) || atomic_load(&cq->blind))
		moved = drive_all(cq);
	else
		moved = drive_many(cq);
	if (!moved && ++cq->vain >= VAIN_TO_TELL && !list_empty(&cq->members))
		tell_of_polls(cq);
	dapl_unlock(&cq->drive);
	return moved;
}

static int cq_poll(struct tp_cq *base, struct tp_wc *wc)
{
	struct soft_cq *cq = soft_cq(base);

	if (pop(cq, wc))
		return 1;
	note_poll(cq, drive(cq) ? SOFT_CQ_POLLED : 1);
	return pop(cq, wc);
}

static struct tp_wr *cq_poll_plain(struct tp_cq *base)
{
	struct soft_cq *cq = soft_cq(base);
	struct tp_wr *done = pop_plain(cq);

	if (done)
		return done;
	note_poll(cq, drive(cq) ? SOFT_CQ_POLLED : 1);
	return pop_plain(cq);
}

/* In tp_wc.flags while completions are removed: this one is. */
#define REMOVED 0x40000000u

static struct tp_wc *entry(struct soft_cq *cq, uint32_t at)
{
	return &cq->ring[at & (cq->size - 1)];
}

/* Whoever adds writes behind head alone: the rest closes up towards it. */
static void cq_extract(struct tp_cq *base, bool (*remove)(void *arg, const struct tp_wc *wc),
		       void *arg)
{
	struct soft_cq *cq = soft_cq(base);
	uint32_t tail = atomic_load_explicit(&cq->tail, memory_order_relaxed);
	uint32_t head = atomic_load_explicit(&cq->head, memory_order_acquire), at, to;
	struct tp_wc wc;

	for (at = tail; at != head; at++) {
		wc = *entry(cq, at);
		wc.flags &= ~SOFT_WC_OURS;
		if (remove(arg, &wc))
			entry(cq, at)->flags |= REMOVED;
	}
	for (to = head; at != tail;)
		if (!(entry(cq, --at)->flags & REMOVED))
			*entry(cq, --to) = *entry(cq, at);
	atomic_store_explicit(&cq->tail, to, memory_order_release);
}

/* ---- Waiting ---- */

static void cq_arm(struct tp_cq *base, enum tp_arm how)
{
	struct soft_cq *cq = soft_cq(base);

	if (how == TP_ARM_WAITER) {
		atomic_store(&cq->waiter, true);
		dapl_lock(&cq->drive);
		need_epfd(cq);
		/* The set of few connections is not kept told of all that a waiter needs. */
		if (soft_cq_few(cq))
			watch_all(cq);
		else
			watch_hot(cq);
		dapl_unlock(&cq->drive);
		if (atomic_load(&cq->blind)) {
			atomic_store(&cq->waiter, false);
			how = TP_ARM_NOTIFY;
		}
	}
	if (how == TP_ARM_SLEEPER)
		atomic_store(&cq->waiter, true);
	/* Whoever adds before this is found by the next poll; whoever does after it tells. */
	dapl_lock(&cq->lock);
	atomic_store(&cq->armed, (int)how + 1);
	dapl_unlock(&cq->lock);
	if (how == TP_ARM_NOTIFY)
		soft_drive_look(cq->dev, true);
}

static void cq_disarm(struct tp_cq *base)
{
	struct soft_cq *cq = soft_cq(base);

	atomic_store(&cq->armed, 0);
	atomic_store(&cq->waiter, false);
	cq->woken = true;
	soft_drive_look(cq->dev, false);
}

static int cq_fd(struct tp_cq *base)
{
	return atomic_load(&soft_cq(base)->epfd);
}

/* ---- Life ---- */

static int cq_create(struct tp_device *base, uint32_t cqe, void *owner, struct tp_cq **out)
{
	struct soft_cq *cq = calloc(1, sizeof(*cq));

	if (!cq)
		goto no_memory;
	cq->size = soft_ring_size(cqe);
	cq->limit = cqe;
	cq->ring = calloc(cq->size, sizeof(*cq->ring));
	if (!cq->ring)
		goto free_cq;
	cq->base = (struct tp_cq){
		.dev = base, .ops = &soft_cq_ops, .owner = owner, .poll_plain = cq_poll_plain
	};
	cq->dev = soft_dev(base);
	cq->cost_per_look = COST_PER_LOOK;
	cq->overflow.run = overflow_run;
	list_init(&cq->members);
	list_init(&cq->hot);
	dapl_lock_init(&cq->lock);
	dapl_lock_init(&cq->drive);
	pthread_mutex_init(&cq->doze, NULL);
	pthread_cond_init(&cq->is_up, NULL);
	atomic_init(&cq->epfd, -1);
	*out = &cq->base;
	return 0;

free_cq:
	free(cq);
no_memory:
	dapl_err("%s: completion queue of %u not created: %s", soft_dev(base)->name, cqe,
		 dapl_strerror(ENOMEM));
	return -ENOMEM;
}

static void cq_destroy(struct tp_cq *base)
{
	struct soft_cq *cq = soft_cq(base);

	dapl_loop_cancel(base->dev->loop, &cq->overflow);
	if (atomic_load(&cq->epfd) >= 0)
		dapl_fd_close(atomic_load(&cq->epfd));
	pthread_cond_destroy(&cq->is_up);
	pthread_mutex_destroy(&cq->doze);
	dapl_lock_fini(&cq->drive);
	dapl_lock_fini(&cq->lock);
	free(cq->ring);
	free(cq);
}

static int cq_resize(struct tp_cq *base, uint32_t cqe)
{
	struct soft_cq *cq = soft_cq(base);
	uint32_t size = soft_ring_size(cqe), head, at;
	struct tp_wc *ring = calloc(size, sizeof(*ring)), *old;

	if (!ring) {
		dapl_err("%s: completion queue not resized to %u: %s", soft_dev(base->dev)->name,
			 cqe, dapl_strerror(ENOMEM));
		return -ENOMEM;
	}
	dapl_lock(&cq->lock);
	at = atomic_load_explicit(&cq->tail, memory_order_relaxed);
	head = atomic_load_explicit(&cq->head, memory_order_relaxed);
	if (head - at > cqe) { /* more than fits: keep the larger ring (EVD-76) */
		dapl_unlock(&cq->lock);
		free(ring);
		return 0;
	}
	for (; at != head; at++)
		ring[at & (size - 1)] = cq->ring[at & (cq->size - 1)];
	old = cq->ring;
	cq->ring = ring;
	cq->size = size;
	cq->limit = cqe;
	dapl_unlock(&cq->lock);
	free(old);
	return 0;
}

const struct dapl_cq_ops soft_cq_ops = {
	.create = cq_create,
	.destroy = cq_destroy,
	.resize = cq_resize,
	.poll = cq_poll,
	.extract = cq_extract,
	.arm = cq_arm,
	.disarm = cq_disarm,
	.fd = cq_fd,
	.sleeps = soft_cq_sleeps,
	.sleep = soft_cq_sleep,
	.wake = soft_cq_wake,
};
