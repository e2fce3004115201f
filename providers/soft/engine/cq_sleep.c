/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Threads that sleep in a CQ: on a word that its one connection shares with the peer, who wakes them
 * by one call of the kernel. The kernel can wait for several words, too, but not so that every signal
 * ends that (EVD-60): CQs of several connections have descriptors.
 */
#include <errno.h>

#include "providers/soft/engine/conn.h"
#include "providers/soft/engine/cq.h"
#include "providers/soft/engine/drive.h"
#include "providers/soft/link/link.h"
#include "util/thread.h"

/* Longer than tests wait for a wake-up: they still find one that is lost. */
#define LONGEST_NS 12000000000ull

void soft_cq_wake(struct tp_cq *base)
{
	struct soft_cq *cq = soft_cq(base);

	pthread_mutex_lock(&cq->doze);
	if (cq->dozes)
		cq->dozes->class->rouse(cq->dozes);
	pthread_mutex_unlock(&cq->doze);
}

void soft_cq_wake_for_good(struct soft_cq *cq, const struct soft_link *link)
{
	pthread_mutex_lock(&cq->doze);
	while (cq->dozes == link) {
		link->class->rouse(cq->dozes);
		dats_cond_wait(&cq->is_up, &cq->doze);
	}
	pthread_mutex_unlock(&cq->doze);
}

/* The one connection, if it has a word to sleep on; tp_cq.lock held. */
static struct soft_conn *only_one(struct soft_cq *cq)
{
	struct list *first = cq->members.next;
	struct soft_conn *conn;

	dapl_assert_held(cq->base.lock);
	if (list_empty(&cq->members) || first->next != &cq->members)
		return NULL;
	conn = container_of(first, struct soft_member, node)->conn;
	return conn->link->class->doze ? conn : NULL;
}

bool soft_cq_sleeps(struct tp_cq *base)
{
	struct soft_cq *cq = soft_cq(base);

	return only_one(cq);
}

static void begin(struct soft_cq *cq, struct soft_link *link)
{
	pthread_mutex_lock(&cq->doze);
	cq->dozes = link;
	pthread_mutex_unlock(&cq->doze);
}

static void end(struct soft_cq *cq)
{
	pthread_mutex_lock(&cq->doze);
	cq->dozes = NULL;
	pthread_cond_broadcast(&cq->is_up);
	pthread_mutex_unlock(&cq->doze);
}

struct bed {
	uint32_t *word; /* NULL: something has come, or there are others */
	uint32_t seen;
};

/* tp_cq.lock held. */
static struct bed bed_of_one(struct soft_cq *cq, struct soft_conn *conn)
{
	bool idle = soft_conn_dead(conn) || atomic_load(&conn->unreceived);
	struct soft_link *link = conn->link;
	struct bed bed;

	begin(cq, link);
	/* Who changes what is wanted does so before he has this lock, and wakes in it. One that has
	 * come to its end is the loop's, which wakes. */
	pthread_mutex_lock(&conn->lock);
	bed.word = link->class->doze(link, idle ? 0 : soft_watch_wanted(conn), &bed.seen);
	pthread_mutex_unlock(&conn->lock);
	return bed;
}

/*
 * The word is the peer's to write as well: one who puts back what a waker changes, before this
 * thread sleeps on it, keeps neither it nor who waits for its end for longer than LONGEST_NS.
 */
static int sleep_on(const struct bed *bed, uint64_t deadline)
{
	uint64_t until = dapl_now() + LONGEST_NS;
	int rc;

	if (deadline <= until)
		return dapl_futex_wait_shared(bed->word, bed->seen, deadline);
	rc = dapl_futex_wait_shared(bed->word, bed->seen, until);
	return rc == -ETIMEDOUT ? 0 : rc;
}

int soft_cq_sleep(struct tp_cq *base, const uint32_t *word, uint32_t seen, uint64_t deadline)
{
	struct soft_cq *cq = soft_cq(base);
	struct bed bed = { .word = NULL };
	struct soft_conn *conn;
	int rc = 0;

	dapl_lock(base->lock);
	conn = only_one(cq);
	if (conn)
		bed = bed_of_one(cq, conn);
	dapl_unlock(base->lock);
	/* What the last poll has left may be with somebody who drives: waits for him. Until end() the
	 * connection stays. */
	if (conn && !bed.word) {
		dapl_lock(&conn->qp->lock);
		dapl_unlock(&conn->qp->lock);
	}
	/* Who changed it before this wakes nobody; who does after it finds where. */
	if (__atomic_load_n(word, __ATOMIC_SEQ_CST) != seen)
		rc = -EAGAIN;
	else if (bed.word)
		rc = sleep_on(&bed, deadline);
	else if (dapl_now() >= deadline)
		rc = -ETIMEDOUT;
	end(cq);
	return rc;
}
