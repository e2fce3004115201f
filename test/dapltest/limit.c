/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "limit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "results.h"

/* Kept well above what any adapter needs: receives of one EP are posted by the thousand. */
#define SET_QLEN 64

static const char stars[] =
	"**********************************************************************";

/* ---- the sets ---- */

static int create_lmr(struct dt_limit_run *run, struct dt_limit_set *set)
{
	DAT_REGION_DESCRIPTION region;
	DAT_RETURN ret;

	set->memory = aligned_alloc(DT_LIMIT_BUFFER, DT_LIMIT_BUFFER);
	if (!set->memory)
		return dt_fail(&run->actor, "no memory for LMR buffers");
	region.for_va = set->memory;
	ret = dat_lmr_create(set->ia.handle, DAT_MEM_TYPE_VIRTUAL, region, DT_LIMIT_BUFFER, set->pz,
			     DAT_MEM_PRIV_LOCAL_WRITE_FLAG, DAT_VA_TYPE_VA, &set->lmr,
			     &set->lmr_context, NULL, NULL, NULL);
	return ret == DAT_SUCCESS ? 0 : dt_fail_dat(&run->actor, ret, "dat_lmr_create");
}

static int create_evd(struct dt_limit_run *run, const struct dt_limit_set *set, uint32_t qlen,
		      DAT_EVD_FLAGS flags, DAT_EVD_HANDLE *evd)
{
	DAT_RETURN ret =
		dat_evd_create(set->ia.handle, (DAT_COUNT)qlen, DAT_HANDLE_NULL, flags, evd);

	return ret == DAT_SUCCESS ? 0 : dt_fail_dat(&run->actor, ret, "dat_evd_create");
}

/* How many receives the set's endpoint takes: what the test may post, and what it must find out. */
static uint32_t recvs_of(const struct dt_limit_run *run, const struct dt_ia *ia)
{
	uint32_t recvs = (uint32_t)ia->attr.max_dto_per_ep;

	if (recvs > (uint32_t)ia->attr.max_evd_qlen)
		recvs = (uint32_t)ia->attr.max_evd_qlen;
	if (run->params->maximum && recvs > run->params->maximum)
		recvs = run->params->maximum;
	return recvs;
}

static int create_ep(struct dt_limit_run *run, struct dt_limit_set *set)
{
	const DAT_EP_ATTR attr = {
		.service_type = DAT_SERVICE_TYPE_RC,
		.max_recv_dtos = (DAT_COUNT)recvs_of(run, &set->ia),
		.max_request_dtos = 1,
		.max_recv_iov = 1,
		.max_request_iov = 1,
	};
	DAT_RETURN ret;

	ret = dat_ep_create(set->ia.handle, set->pz, set->recv_evd, set->request_evd, set->conn_evd,
			    &attr, &set->ep);
	return ret == DAT_SUCCESS ? 0 : dt_fail_dat(&run->actor, ret, "dat_ep_create");
}

static int create_set(struct dt_limit_run *run, struct dt_limit_set *set)
{
	DAT_RETURN ret;

	if (dt_ia_open(&run->actor, &set->ia, run->params->ia_name))
		return -1;
	ret = dat_pz_create(set->ia.handle, &set->pz);
	if (ret != DAT_SUCCESS)
		return dt_fail_dat(&run->actor, ret, "dat_pz_create");
	if (create_evd(run, set, recvs_of(run, &set->ia), DAT_EVD_DTO_FLAG, &set->recv_evd) ||
	    create_evd(run, set, SET_QLEN, DAT_EVD_DTO_FLAG, &set->request_evd) ||
	    create_evd(run, set, SET_QLEN, DAT_EVD_CONNECTION_FLAG, &set->conn_evd) ||
	    create_evd(run, set, SET_QLEN, DAT_EVD_CR_FLAG, &set->creq_evd) ||
	    create_ep(run, set) || create_lmr(run, set))
		return -1;
	return 0;
}

static void check_free(struct dt_limit_run *run, DAT_RETURN ret, const char *call)
{
	if (ret != DAT_SUCCESS)
		dt_fail_dat(&run->actor, ret, "%s", call);
}

static void destroy_set(struct dt_limit_run *run, struct dt_limit_set *set)
{
	DAT_EVD_HANDLE evds[] = { set->recv_evd, set->request_evd, set->conn_evd, set->creq_evd };

	if (set->ep)
		check_free(run, dat_ep_free(set->ep), "dat_ep_free");
	if (set->lmr)
		check_free(run, dat_lmr_free(set->lmr), "dat_lmr_free");
	free(set->memory);
	for (size_t i = 0; i < sizeof(evds) / sizeof(evds[0]); i++)
		if (evds[i])
			check_free(run, dat_evd_free(evds[i]), "dat_evd_free");
	if (set->pz)
		check_free(run, dat_pz_free(set->pz), "dat_pz_free");
	dt_ia_close(&run->actor, &set->ia);
}

static void destroy_sets(struct dt_limit_run *run)
{
	while (run->num_sets)
		destroy_set(run, &run->sets[--run->num_sets]);
	free(run->sets);
	run->sets = NULL;
}

static int create_sets(struct dt_limit_run *run)
{
	run->sets = calloc(run->params->width, sizeof(*run->sets));
	if (!run->sets)
		return dt_fail(&run->actor, "no memory for handle array!");
	dt_debug(1, "%s: dat_ia_open X %u", run->actor.who, run->params->width);
	while (run->num_sets < run->params->width)
		if (create_set(run, &run->sets[run->num_sets++]))
			return -1;
	return 0;
}

/* ---- exhausting ---- */

static int make_room(struct dt_limit_run *run)
{
	uint32_t room = run->room ? 2 * run->room : 64;
	DAT_HANDLE *objects, *helpers;

	if (run->num_objects < run->room)
		return 0;
	objects = realloc(run->objects, room * sizeof(*objects));
	if (objects)
		run->objects = objects;
	helpers = realloc(run->helpers, room * sizeof(*helpers));
	if (helpers)
		run->helpers = helpers;
	if (!objects || !helpers)
		return dt_fail(&run->actor, "Out of memory for more DAT_HANDLEs");
	run->room = room;
	return 0;
}

/* A limit that was met is a result; anything else that a constructor says is an error. */
static int judge(struct dt_limit_run *run, const struct dt_limit_kind *kind, DAT_RETURN ret)
{
	char error[96];

	switch (DAT_GET_TYPE(ret)) {
	case DAT_INSUFFICIENT_RESOURCES:
	case DAT_CONN_QUAL_UNAVAILABLE:
		dt_say("%s: %s #%u fails: %s", run->actor.who, kind->call, run->num_objects + 1,
		       dt_strerror(ret, error, sizeof(error)));
		return 0;
	case DAT_NOT_IMPLEMENTED:
	case DAT_MODEL_NOT_SUPPORTED:
		dt_say("%s: %s unimplemented", run->actor.who, kind->call);
		return 0;
	default:
		return dt_fail_dat(&run->actor, ret, "%s #%u", kind->call, run->num_objects + 1);
	}
}

static int exhaust(struct dt_limit_run *run, const struct dt_limit_kind *kind)
{
	uint32_t maximum = run->params->maximum;
	DAT_RETURN ret;

	dt_debug(1, "%s: Exhausting %s", run->actor.who, kind->call);
	while (!maximum || run->num_objects < maximum) {
		const struct dt_limit_set *set =
			run->num_sets ? &run->sets[run->num_objects % run->num_sets] : NULL;
		DAT_HANDLE *object, *helper;

		if (make_room(run))
			return -1;
		object = &run->objects[run->num_objects];
		helper = &run->helpers[run->num_objects];
		*helper = DAT_HANDLE_NULL;
		ret = kind->create(run, set, object, helper);
		if (ret != DAT_SUCCESS)
			return judge(run, kind, ret);
		run->num_objects++;
	}
	return 0;
}

static void free_objects(struct dt_limit_run *run, const struct dt_limit_kind *kind)
{
	char error[96];
	DAT_RETURN ret;

	while (run->num_objects) {
		uint32_t last = --run->num_objects;

		ret = kind->free(run->objects[last]);
		if (ret != DAT_SUCCESS)
			dt_fail(&run->actor, "freeing what %s made, #%u, fails: %s", kind->call,
				last + 1, dt_strerror(ret, error, sizeof(error)));
		if (run->helpers[last])
			check_free(run, kind->free_helper(run->helpers[last]), "freeing a helper");
	}
	free(run->objects);
	free(run->helpers);
}

static int run_kind(struct dt_limit_run *run, const struct dt_limit_kind *kind)
{
	int ret;

	if (!kind->without_sets && create_sets(run)) {
		destroy_sets(run);
		return -1;
	}
	if (kind->probe) {
		ret = kind->probe(run);
	} else {
		ret = exhaust(run, kind);
		run->most = run->num_objects;
		dt_say("%s: %s: %u", run->actor.who, kind->plural, run->num_objects);
	}
	dt_debug(1, "%s: Limit Testing Completed - %s", run->actor.who,
		 ret ? "with errors" : "Successfully");
	dt_debug(1, "%s: Cleaning up ...", run->actor.who);
	if (!kind->probe)
		free_objects(run, kind);
	destroy_sets(run);
	dt_debug(1, "%s: testing and cleanup complete.", run->actor.who);
	return ret;
}

static void keep_result(const struct dt_limit_run *run, enum dt_limit limit)
{
	struct dt_result result = { .test = DT_TEST_LIMIT,
				    .ok = !run->actor.failed,
				    .count = run->most };

	snprintf(result.name, sizeof(result.name), "%s", dt_limit_name(limit));
	memcpy(result.error, run->actor.text, sizeof(result.error));
	dt_results_add(&result);
}

static int run_limit(const struct dt_params *params, enum dt_limit limit)
{
	const struct dt_limit_kind *kind = dt_limit_kind(limit);
	struct dt_limit_run run = { .params = params, .next_port = params->port };

	dt_actor_init(&run.actor, "LimitTest");
	dt_say("%s", stars);
	dt_say("Limitation Test                      %s", dt_limit_name(limit));
	dt_say("Description:  %s", kind->description);
	if (run_kind(&run, kind))
		dt_say("error occurs, can not continue with limit test");
	dt_say("%s", stars);
	keep_result(&run, limit);
	return run.actor.failed ? -1 : 0;
}

int dt_limit_run(struct dt_params *params)
{
	struct dt_actor actor;

	dt_actor_init(&actor, "LimitTest");
	if (!params->ia_name[0] && dt_ia_first(&actor, params->ia_name))
		return -1;
	for (int i = 0; i < DT_LIMIT_COUNT; i++)
		if (params->limits[i] && run_limit(params, (enum dt_limit)i))
			return -1;
	return 0;
}
