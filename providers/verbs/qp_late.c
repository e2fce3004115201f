/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * QPs that the device has not flushed in time. Destroying one may take as long as its peer: cxgb4
 * refuses to move a QP that closes to error, and its c4iw_destroy_qp waits for the end of the
 * connection. The reaper does it. What the device completes meanwhile names an entry of the old
 * rings, which stay until the device is closed, whoever destroys the QP.
 */
#include <errno.h>
#include <stdlib.h>

#include "trace/log.h"
#include "providers/verbs/qp.h"

static void destroy(struct vrb_reap *item)
{
	struct vrb_late *late = container_of(item, struct vrb_late, reap);
	int err = VRB_GLOBAL(ibv_destroy_qp(late->ibqp));

	if (vrb_dev_kept(late->dev, err))
		dapl_err("%s: QP 0x%x not destroyed: %s", late->dev->name, late->number,
			 dapl_strerror(err));
}

/* Rings as the QP has them, empty. */
static int init_rings(struct vrb_late *late, const struct vrb_qp *qp)
{
	const struct vrb_queue *sq = &qp->sq, *rq = &qp->rq;
	int rc = vrb_queue_init(&late->sq, qp->dev, false, sq->max_wr, sq->extra, sq->max_sge);

	if (rc)
		return rc;
	rc = vrb_queue_init(&late->rq, qp->dev, true, rq->max_wr, 0, rq->max_sge);
	if (rc)
		vrb_queue_fini(&late->sq);
	return rc;
}

struct vrb_late *vrb_late_new(struct vrb_qp *qp)
{
	struct vrb_late *late = calloc(1, sizeof(*late));

	if (!late || init_rings(late, qp)) {
		free(late);
		return NULL;
	}
	late->dev = qp->dev;
	late->reap.run = destroy;
	return late;
}

void vrb_late_keep(struct vrb_late *late)
{
	struct vrb_dev *dev = late->dev;

	pthread_mutex_lock(&dev->number_lock);
	late->next = dev->late;
	dev->late = late;
	pthread_mutex_unlock(&dev->number_lock);
}

void vrb_late_destroy(struct vrb_late *late, struct ibv_qp *ibqp)
{
	late->ibqp = ibqp;
	late->number = ibqp->qp_num;
	vrb_reap(late->dev, &late->reap);
}

void vrb_late_free_all(struct vrb_dev *dev)
{
	struct vrb_late *late;

	while ((late = dev->late)) {
		dev->late = late->next;
		vrb_queue_fini(&late->sq);
		vrb_queue_fini(&late->rq);
		free(late);
	}
}
