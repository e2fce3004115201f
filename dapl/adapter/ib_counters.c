/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The counter calls of the InfiniBand extension. */
#include "dapl/adapter/ib_counters.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "dapl/base/status.h"
#include "dapl/object/counters.h"
#include "dapl/object/ia.h"

/* ---- Reading ---- */

void dapl_ia_read_counters(struct dapl_object *obj, struct dapl_counters_view *view)
{
	struct dapl_ia *ia = obj->ia;

	pthread_mutex_lock(&ia->lock);
	dapl_counters_of_ia(ia, view->value);
	dapl_counters_since(view, ia->counters->base);
	pthread_mutex_unlock(&ia->lock);
}

/* Which counters of which object are meant (IBX-97, IBX-98, IBX-100), and their values. */
static DAT_RETURN view_of(DAT_HANDLE handle, int counter, bool reset,
			  const struct dapl_class **class, struct dapl_counters_view *view)
{
	struct dapl_object *obj = dapl_object_any(handle, class);

	if (!obj || !(*class)->read_counters)
		return dapl_fail(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1); /* IBX-101 */
	if (!obj->ia->attr->ib_extension)
		return DAPL_NOT_IMPLEMENTED; /* IBX-9 */
	if (counter < 0 || counter > (*class)->num_counters)
		return DAPL_BAD_ARG(3);
	view->first = counter == (*class)->num_counters ? 0 : counter;
	view->end = counter == (*class)->num_counters ? counter : counter + 1;
	view->reset = reset;
	(*class)->read_counters(obj, view);
	return DAT_SUCCESS;
}

DAT_RETURN dapl_ext_query_counters(DAT_HANDLE handle, int counter, DAT_UINT64 *out, int reset)
{
	const struct dapl_class *class;
	struct dapl_counters_view view;
	DAT_RETURN rc;
	int i;

	rc = view_of(handle, counter, out && reset, &class, &view);
	if (rc)
		return rc;
	if (!out)
		return DAPL_BAD_ARG(4);
	for (i = view.first; i < view.end; i++)
		out[i] = view.value[i];
	return DAT_SUCCESS;
}

/* IBX-102: the one call that writes to standard output. */
DAT_RETURN dapl_ext_print_counters(DAT_HANDLE handle, int counter, int reset)
{
	const struct dapl_class *class;
	struct dapl_counters_view view;
	char host[65] = "";
	DAT_RETURN rc;
	int i;

	rc = view_of(handle, counter, reset, &class, &view);
	if (rc)
		return rc;
	gethostname(host, sizeof(host) - 1);
	for (i = view.first; i < view.end; i++)
		printf("%s %d %s %llu\n", host, (int)getpid(), class->counter_names[i],
		       (unsigned long long)view.value[i]);
	fflush(stdout);
	return DAT_SUCCESS;
}

/* ---- Groups ---- */

/* The groups of counters that the device keeps. */
static const struct group {
	enum tp_counters counters;
	DAT_IA_COUNTERS first, last;
} groups[] = {
	[DCNT_IA_LNK] = { TP_COUNTERS_LINK, DCNT_IA_LNK_ERR_RCV, DCNT_IA_LNK_WARN_XMT_WAIT },
	[DCNT_IA_DIAG] = { TP_COUNTERS_DIAG, DCNT_IA_DIAG_ERR_RQ_RAE, DCNT_IA_DIAG_ERR_SQ_TREE },
};

/* IBX-103, IBX-104; *ia and *group, NULL where there is nothing to be sampled. */
static DAT_RETURN find_group(DAT_HANDLE handle, int type, struct dapl_ia **ia,
			     const struct group **group)
{
	*ia = dapl_ia_get(handle);
	*group = NULL;
	if (!*ia)
		return DAPL_BAD_HANDLE(IA);
	if (!(*ia)->attr->ib_extension)
		return DAPL_NOT_IMPLEMENTED;
	if (type < DCNT_IA_CM || type > DCNT_IA_DIAG)
		return DAPL_BAD_ARG(3);
	if (type != DCNT_IA_CM)
		*group = &groups[type];
	return DAT_SUCCESS;
}

/* What the device does not count stays 0. */
static void sample(struct dapl_ia *ia, const struct group *group, uint64_t *now)
{
	uint32_t num = (uint32_t)group->last - (uint32_t)group->first + 1;

	memset(now, 0, DCNT_IA_ALL_COUNTERS * sizeof(*now));
	ia->dev->transport->device->read_counters(ia->dev, group->counters, &now[group->first],
						  num);
}

DAT_RETURN dapl_ext_start_counter(DAT_HANDLE handle, int type)
{
	uint64_t now[DCNT_IA_ALL_COUNTERS];
	const struct group *group;
	struct dapl_ia *ia;
	DAT_RETURN rc;
	int i;

	rc = find_group(handle, type, &ia, &group);
	if (rc || !group)
		return rc;
	sample(ia, group, now);
	pthread_mutex_lock(&ia->lock);
	for (i = group->first; i <= (int)group->last; i++)
		ia->counters->start[i] = now[i];
	ia->counters->started[type] = true;
	pthread_mutex_unlock(&ia->lock);
	return DAT_SUCCESS;
}

DAT_RETURN dapl_ext_stop_counter(DAT_HANDLE handle, int type)
{
	uint64_t now[DCNT_IA_ALL_COUNTERS];
	struct dapl_ia_counters *counters;
	const struct group *group;
	struct dapl_ia *ia;
	DAT_RETURN rc;
	int i;

	rc = find_group(handle, type, &ia, &group);
	if (rc || !group)
		return rc;
	sample(ia, group, now);
	counters = ia->counters;
	pthread_mutex_lock(&ia->lock);
	for (i = group->first; counters->started[type] && i <= (int)group->last; i++) {
		atomic_store_explicit(&counters->count[i], now[i] - counters->start[i],
				      memory_order_relaxed);
		counters->base[i] = 0;
	}
	counters->started[type] = false;
	pthread_mutex_unlock(&ia->lock);
	return DAT_SUCCESS;
}
