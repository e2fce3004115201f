/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The limit test: how many objects of each kind an adapter lets a program make. */
#ifndef DAPLTEST_LIMIT_H
#define DAPLTEST_LIMIT_H

#include "ia.h"
#include "params.h"

/* The objects a constructor under test is given; -w says how many such sets there are. */
struct dt_limit_set {
	struct dt_ia ia;
	DAT_PZ_HANDLE pz;
	DAT_EVD_HANDLE recv_evd;
	DAT_EVD_HANDLE request_evd;
	DAT_EVD_HANDLE conn_evd;
	DAT_EVD_HANDLE creq_evd;
	DAT_EP_HANDLE ep;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT lmr_context;
	unsigned char *memory;
};

struct dt_limit_run {
	struct dt_actor actor;
	const struct dt_params *params;
	struct dt_limit_set *sets;
	uint32_t num_sets;
	DAT_HANDLE *objects; /* of the kind under test */
	DAT_HANDLE *helpers; /* one beside each where the kind needs it, as an RSP its EP */
	uint32_t num_objects;
	uint32_t room;
	uint64_t most; /* what the test came to: objects, receives or bytes */
	DAT_CONN_QUAL next_port;
};

typedef DAT_RETURN dt_limit_create(struct dt_limit_run *run, const struct dt_limit_set *set,
				   DAT_HANDLE *object, DAT_HANDLE *helper);
typedef DAT_RETURN dt_limit_free(DAT_HANDLE object);

/* One kind: how to make the next object of it, and how to free one. */
struct dt_limit_kind {
	const char *call;
	const char *plural;
	const char *description;
	bool without_sets;
	dt_limit_create *create;
	dt_limit_free *free;
	dt_limit_free *free_helper;
	/* Instead of the above, for what is not a number of objects. */
	int (*probe)(struct dt_limit_run *run);
};

const struct dt_limit_kind *dt_limit_kind(enum dt_limit limit);

int dt_limit_run(struct dt_params *params);

#define DT_LIMIT_BUFFER 4096

#endif
