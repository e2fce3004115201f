/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The adapter of an entry of dat.conf. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "trace/log.h"
#include "providers/verbs/cm/ud.h"

static void init(struct vrb_ucm *ucm, struct vrb_dev *dev)
{
	uint32_t i;

	ucm->dev = dev;
	list_init(&ucm->listeners);
	list_init(&ucm->lingering);
	for (i = 0; i < VRB_UCM_CHAINS; i++) {
		list_init(&ucm->by_id[i]);
		list_init(&ucm->by_peer[i]);
	}
	/* Not where another process has begun whose QP had this one's number. */
	ucm->last_id = (uint32_t)(dapl_now() / 1000 % UCM_ID_MAX);
}

static int find(struct vrb_dev *dev, const char *params)
{
	int rc = vrb_xchg_open(dev, params);

	if (rc)
		return rc;
	if (!vrb_xchg(dev)->active) {
		dapl_err("%s: port %u of %s is not active", dev->name, dev->port, dev->ibdev);
		vrb_xchg_close(dev);
		return -EADDRNOTAVAIL;
	}
	snprintf(dev->chosen_by, sizeof(dev->chosen_by),
		 "LID, GID and QP for connection messages of %.64s port %u", dev->ibdev, dev->port);
	return 0;
}

int vrb_ucm_open(struct vrb_dev *dev, const char *params)
{
	struct vrb_ucm *ucm = calloc(1, sizeof(*ucm));
	int rc;

	if (!ucm) {
		dapl_err("%s: not opened: %s", dev->name, dapl_strerror(ENOMEM));
		return -ENOMEM;
	}
	init(ucm, dev);
	dev->cm = ucm;
	rc = find(dev, params);
	if (rc)
		free(ucm);
	return rc;
}

void vrb_ucm_close(struct vrb_dev *dev)
{
	free(dev->cm);
}
