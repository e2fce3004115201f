/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Threads that sleep in a CQ: on a word that one connection shares with its peer, who wakes them by
 * one call of the kernel and is looked for by none. Of two words at a time the kernel can wait as
 * well, but not so that a signal ends it; CQs of several connections have descriptors for that.
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

void soft_cq_wake(struct tp_cq *base)
{
	struct soft_cq *cq = soft_cq(base);

	dapl_lock(&cq->doze);
	if (cq->dozes)
		cq->dozes->class->rouse(cq->dozes);
	dapl_unlock(&cq->doze);
}

void soft_cq_wake_for_good(struct soft_cq *cq, const struct soft_link *link)
{
	const struct timespec moment = { .tv_nsec = MOMENT_NS };
	bool sleeps;

	for (;;) {
		dapl_lock(&cq->doze);
		sleeps = cq->dozes == link;
		if (sleeps)
			link->class->rouse(cq->dozes);
		dapl_unlock(&cq->doze);
		if (!sleeps)
			return;
		nanosleep(&moment, NULL);
	}
}

/* The one connection, if it has a word to sleep on; drive held. */
static struct soft_conn *the_only_one(struct soft_cq *cq)
{
	struct list *first = cq->members.next;
	struct soft_conn *conn;

	if (list_empty(&cq->members) || first->next != &cq->members)
		return NULL;
	conn = container_of(first, struct soft_member, node)->conn;
	return conn->link->class->doze ? conn : NULL;
}

bool soft_cq_sleeps(struct tp_cq *base)
{
	struct soft_cq *cq = soft_cq(base);
	bool sleeps;

	dapl_lock(&cq->drive);
	sleeps = the_only_one(cq);
	dapl_unlock(&cq->drive);
	return sleeps;
}

/* Where to sleep, NULL: something has come, or the connection is not the only one any more. */
static uint32_t *lie_down(struct soft_cq *cq, uint32_t *seen)
{
	struct soft_conn *conn;
	uint32_t *word = NULL;

	dapl_lock(&cq->drive);
	conn = the_only_one(cq);
	if (conn) {
		dapl_lock(&cq->doze);
		cq->dozes = conn->link;
		dapl_unlock(&cq->doze);
		word = soft_watch_doze(conn, seen);
		/* What the last poll has left is with somebody who drives. */
		if (!word)
			soft_drive_await(conn);
	}
	dapl_unlock(&cq->drive);
	return word;
}

int soft_cq_sleep(struct tp_cq *base, const uint32_t *word, uint32_t seen, uint64_t deadline)
{
	struct soft_cq *cq = soft_cq(base);
	uint32_t value, *own = lie_down(cq, &value);
	int rc = 0;

	/* Who changed it before this wakes nobody; who does after it finds the link. */
	if (__atomic_load_n(word, __ATOMIC_SEQ_CST) != seen)
		rc = -EAGAIN;
	else if (own)
		rc = dapl_futex_wait_shared(own, value, deadline);
	dapl_lock(&cq->doze);
	cq->dozes = NULL;
	dapl_unlock(&cq->doze);
	return rc;
}
