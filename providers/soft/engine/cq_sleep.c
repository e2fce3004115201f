/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Threads that sleep in a CQ: on a word that its one connection shares with the peer, who wakes them
 * by one call of the kernel, or on one of the CQ's own as long as it has none. The kernel can wait
 * for several words, too, but not so that every signal ends that (EVD-60): CQs of several connections
 * have descriptors.
 */
#include <errno.h>
#include <time.h>

#include "providers/soft/engine/conn.h"
#include "providers/soft/engine/cq.h"
#include "providers/soft/engine/drive.h"
#include "providers/soft/link/link.h"

enum {
	MOMENT_NS = 20000,
};

/* doze held. */
static void wake(struct soft_cq *cq)
{
	if (cq->dozes) {
		cq->dozes->class->rouse(cq->dozes);
	} else {
		atomic_fetch_add(&cq->roused, 1);
		dapl_futex_wake((uint32_t *)&cq->roused, 1);
	}
}

void soft_cq_wake(struct tp_cq *base)
{
	struct soft_cq *cq = soft_cq(base);

	dapl_lock(&cq->doze);
	if (cq->dozing)
		wake(cq);
	dapl_unlock(&cq->doze);
}

void soft_cq_wake_for_good(struct soft_cq *cq, const struct soft_link *link)
{
	const struct timespec moment = { .tv_nsec = MOMENT_NS };
	bool sleeps;

	for (;;) {
		dapl_lock(&cq->doze);
		sleeps = cq->dozing && cq->dozes == link;
		if (sleeps)
			wake(cq);
		dapl_unlock(&cq->doze);
		if (!sleeps)
			return;
		nanosleep(&moment, NULL);
	}
}

/* Whether there is none but this one with a word to sleep on, or NULL: none at all; drive held. */
static bool only_one(struct soft_cq *cq, struct soft_conn **conn)
{
	struct list *first = cq->members.next;

	*conn = NULL;
	if (list_empty(&cq->members))
		return true;
	*conn = container_of(first, struct soft_member, node)->conn;
	return first->next == &cq->members && (*conn)->link->class->doze;
}

bool soft_cq_sleeps(struct tp_cq *base)
{
	struct soft_cq *cq = soft_cq(base);
	struct soft_conn *conn;
	bool sleeps;

	dapl_lock(&cq->drive);
	sleeps = only_one(cq, &conn);
	dapl_unlock(&cq->drive);
	return sleeps;
}

static void begin(struct soft_cq *cq, struct soft_link *link)
{
	dapl_lock(&cq->doze);
	cq->dozing = true;
	cq->dozes = link;
	dapl_unlock(&cq->doze);
}

static void end(struct soft_cq *cq)
{
	dapl_lock(&cq->doze);
	cq->dozing = false;
	dapl_unlock(&cq->doze);
}

struct bed {
	uint32_t *word; /* NULL: something has come, or there are others */
	uint32_t seen;
	int (*wait)(uint32_t *word, uint32_t seen, uint64_t deadline);
};

/* drive held, as for the next. */
static struct bed bed_of_none(struct soft_cq *cq)
{
	begin(cq, NULL);
	return (struct bed){ (uint32_t *)&cq->roused, atomic_load(&cq->roused), dapl_futex_wait };
}

static struct bed bed_of_one(struct soft_cq *cq, struct soft_conn *conn)
{
	struct bed bed = { .wait = dapl_futex_wait_shared };

	struct soft_link *link = conn->link;

	bool idle = soft_conn_dead(conn) || atomic_load(&conn->unreceived);

	begin(cq, link);
	/* Who changes what is wanted does so before he has this lock, and wakes in it. One that has
	 * come to its end is the loop's, which wakes. */
	pthread_mutex_lock(&conn->lock);
	bed.word = link->class->doze(link, idle ? 0 : soft_watch_wanted(conn), &bed.seen);
	pthread_mutex_unlock(&conn->lock);
	/* What the last poll has left is with somebody who drives: waits for him. */
	if (!bed.word) {
		dapl_lock(&conn->qp->lock);
		dapl_unlock(&conn->qp->lock);
	}
	return bed;
}

int soft_cq_sleep(struct tp_cq *base, const uint32_t *word, uint32_t seen, uint64_t deadline)
{
	struct soft_cq *cq = soft_cq(base);
	struct bed bed = { .word = NULL };
	struct soft_conn *conn;
	int rc = 0;

	dapl_lock(&cq->drive);
	if (only_one(cq, &conn))
		bed = conn ? bed_of_one(cq, conn) : bed_of_none(cq);
	dapl_unlock(&cq->drive);
	/* Who changed it before this wakes nobody; who does after it finds where. */
	if (__atomic_load_n(word, __ATOMIC_SEQ_CST) != seen)
		rc = -EAGAIN;
	else if (bed.word)
		rc = bed.wait(bed.word, bed.seen, deadline);
	else if (dapl_now() >= deadline)
		rc = -ETIMEDOUT;
	end(cq);
	return rc;
}
