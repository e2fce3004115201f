/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Asking the peer of an iWARP connection. soft-iWARP's rdma_connect copies_sge its caller in the
 * kernel until TCP has an answer, minutes where packets are lost: a thread of its own waits there.
 * The kernel waits interruptibly, in a write to the event channel; librdmacm holds no lock and no
 * memory around it, so that the thread may be cancelled there.
 */
#include <errno.h>
#include <time.h>

#include "trace/log.h"
#include "providers/verbs/cm/cm.h"

static void *ask_peer(void *arg)
{
	struct vrb_ask *ask = arg;
	int err;

	pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
	err = rdma_connect(ask->id, &ask->param) ? errno : 0;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
	if (err) {
		atomic_store(&ask->err, err);
		ask->failed(ask);
	}
	return NULL;
}

int vrb_ask_begin(struct vrb_ask *ask)
{
	int err = dapl_thread_start(&ask->thread, "dapl-connect", DAPL_SMALL_STACK, ask_peer, ask);

	if (err) {
		dapl_err("connection not asked for: no thread for it (process limit RLIMIT_NPROC, "
			 "kernel's threads-max): %s",
			 dapl_strerror(err));
		return -err;
	}
	ask->begun = true;
	return 0;
}

void vrb_ask_end(struct vrb_ask *ask)
{
	if (ask->begun)
		pthread_join(ask->thread, NULL);
	ask->begun = false;
}

/* A peer that is there answers soon, and had better not see half an attempt. */
void vrb_ask_cut(struct vrb_ask *ask, uint64_t deadline)
{
	struct timespec ts = { .tv_sec = (time_t)(deadline / 1000000000),
			       .tv_nsec = (long)(deadline % 1000000000) };

	if (!ask->begun)
		return;
	ask->begun = false;
	if (!pthread_clockjoin_np(ask->thread, NULL, CLOCK_MONOTONIC, &ts))
		return;
	pthread_cancel(ask->thread);
	pthread_join(ask->thread, NULL);
}
