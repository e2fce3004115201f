/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Which providers serve programs of DAT 1.2. */
#include "dat/legacy.h"
#include "dat/ia.h"
#include "dat/list.h"
#include "dat/missing.h"
#include "dat/static.h"
#include "trace/dat_log.h"

#include <string.h>

#define MAJOR 1
#define MINOR 2

/* What a line is for a request, in the order in which they are tried (D12-101). */
enum candidate {
	CANDIDATE_NONE,
	CANDIDATE_OLD,	       /* u1.2, and a module of ours serves it */
	CANDIDATE_NEW,	       /* u2.0 */
	CANDIDATE_NEW_IF_NEED, /* u2.0 with the other thread safety */
	NUM_CANDIDATES,
};

/* D12-106 */
static void pass_over(struct dat_source *source)
{
	if (!__atomic_exchange_n(&source->said, 1, __ATOMIC_RELAXED))
		dat_trace(line_passed_over, DATS_TRC_NORMAL, NULL,
			  "line=%u name=%s library=%s: no module serves DAT 1.2 for it",
			  source->conf.line, source->conf.info.ia_name, source->conf.lib_path);
}

static enum candidate kind_of(struct dat_source *source, const char *name,
			      DAT_BOOLEAN thread_safety)
{
	const DAT_PROVIDER_INFO *info = &source->conf.info;

	if (strcmp(info->ia_name, name))
		return CANDIDATE_NONE;
	if (info->dapl_version_major == 2)
		return info->is_thread_safe == thread_safety ? CANDIDATE_NEW
							     : CANDIDATE_NEW_IF_NEED;
	if (info->dapl_version_major != MAJOR || info->dapl_version_minor != MINOR ||
	    info->is_thread_safe != thread_safety)
		return CANDIDATE_NONE;
	if (dat_conf_legacy_library(&source->conf))
		return CANDIDATE_OLD;
	pass_over(source);
	return CANDIDATE_NONE;
}

/* An open under way. */
struct request {
	const DAT_NAME_PTR name;
	DAT_COUNT qlen;
	DAT_EVD_HANDLE *async_evd;
	DAT_IA_HANDLE *ia;
	DAT_BOOLEAN thread_safety;
};

static DAT_RETURN open_entry(const struct request *request, struct dat_entry *entry)
{
	return dat_ia_open_entry(entry, request->name, request->qlen, request->async_evd,
				 request->ia);
}

/* What programs and libraries have registered themselves, of which no line tells. */
static DAT_RETURN open_registered(const struct request *request, DAT_BOOLEAN thread_safety)
{
	DAT_PROVIDER_INFO wanted;
	struct dat_entry *entry;
	DAT_RETURN rc;

	dat_ia_fill_key(&wanted, request->name, 2, 0, thread_safety);
	rc = dat_registry_acquire(&wanted, &entry);
	return rc == DAT_SUCCESS ? open_entry(request, entry) : rc;
}

/* The answer of the last line that was tried; *tried says whether there was one. */
static DAT_RETURN open_lines(const struct request *request, int *tried)
{
	const struct dat_static *sr = dat_static_get();
	DAT_RETURN rc = DAT_PROVIDER_NOT_FOUND;
	struct dat_entry *entry;
	enum candidate kind;
	size_t i;

	*tried = 0;
	for (kind = CANDIDATE_OLD; kind < NUM_CANDIDATES; kind++) {
		for (i = 0; i < sr->num_sources; i++) {
			if (kind_of(&sr->sources[i], request->name, request->thread_safety) != kind)
				continue;
			*tried = 1;
			rc = dat_registry_acquire_source(&sr->sources[i], &entry);
			if (rc == DAT_SUCCESS)
				rc = open_entry(request, entry);
			if (rc == DAT_SUCCESS)
				return rc;
		}
	}
	return rc;
}

static DAT_RETURN open_name(const struct request *request, const DAT_PROVIDER_INFO *wanted)
{
	int tried;
	DAT_RETURN rc = open_lines(request, &tried);

	if (tried)
		return rc;
	rc = open_registered(request, request->thread_safety);
	if (DAT_GET_TYPE(rc) == DAT_PROVIDER_NOT_FOUND)
		rc = open_registered(request, !request->thread_safety);
	if (DAT_GET_TYPE(rc) != DAT_PROVIDER_NOT_FOUND)
		return rc;
	rc = dat_registry_not_found(wanted);
	dat_missing_say(wanted, rc);
	return rc;
}

DAT_RETURN dats_legacy_open(const DAT_NAME_PTR name, DAT_COUNT async_evd_min_qlen,
			    DAT_EVD_HANDLE *async_evd, DAT_IA_HANDLE *ia, DAT_BOOLEAN thread_safety)
{
	const struct request request = { name, async_evd_min_qlen, async_evd, ia, thread_safety };
	DAT_RETURN rc = dat_ia_check_open(name, async_evd_min_qlen, async_evd, ia, thread_safety);
	DAT_PROVIDER_INFO wanted;

	if (rc != DAT_SUCCESS)
		return rc;
	dat_ia_fill_key(&wanted, name, MAJOR, MINOR, thread_safety);
	rc = open_name(&request, &wanted);
	dat_ia_trace_open(&wanted, *ia, rc);
	return rc;
}

/* ---- The list ---- */

static int serves(struct dat_source *source)
{
	return kind_of(source, source->conf.info.ia_name, DAT_FALSE) != CANDIDATE_NONE;
}

/* Whether an earlier line serves the name. */
static int is_repeated(const struct dat_static *sr, size_t index)
{
	const char *name = sr->sources[index].conf.info.ia_name;
	size_t i = 0;

	while (i < index && kind_of(&sr->sources[i], name, DAT_FALSE) == CANDIDATE_NONE)
		i++;
	return i < index;
}

static DAT_COUNT list_names(const struct dat_static *sr, DAT_COUNT max, DAT_PROVIDER_INFO **list)
{
	DAT_COUNT num = 0;
	size_t i;

	for (i = 0; i < sr->num_sources && num < max; i++) {
		if (!serves(&sr->sources[i]) || is_repeated(sr, i))
			continue;
		if (list)
			dat_ia_fill_key(list[num], sr->sources[i].conf.info.ia_name, MAJOR, MINOR,
					DAT_FALSE);
		num++;
	}
	return num;
}

DAT_RETURN dats_legacy_list(DAT_COUNT max_to_return, DAT_COUNT *entries_returned,
			    DAT_PROVIDER_INFO *list[])
{
	return dat_list(list_names, max_to_return, entries_returned, list);
}
