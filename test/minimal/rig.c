/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "test/minimal/rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char conf[64];

static void remove_conf(void)
{
	unlink(conf);
}

void rig_main(void)
{
	const char *build = getenv("top_builddir");
	char *top = realpath(build ? build : ".", NULL);
	FILE *file;
	int fd;

	snprintf(conf, sizeof(conf), "/tmp/udapl-minimal-XXXXXX");
	fd = mkstemp(conf);
	file = fd >= 0 ? fdopen(fd, "w") : NULL;
	if (!top || !file)
		abort();
	atexit(remove_conf);
	fprintf(file,
		"minimal u2.0 nonthreadsafe default %s/test/minimal/.libs/libdaplminimal.so "
		"udapl.1.0 \"\" \"\"\n",
		top);
	fclose(file);
	free(top);
	setenv("DAT_OVERRIDE", conf, 1);
	setenv("UDAPL_IA", "minimal", 1);
}

int rig_setup(void **state)
{
	struct rig *rig = calloc(1, sizeof(*rig));

	assert_non_null(rig);
	ct_open(&rig->ia);
	ct_open(&rig->ib);
	ct_end_open(&rig->a, rig->ia.ia, NULL);
	ct_end_open(&rig->b, rig->ib.ia, NULL);
	rig->cr = ct_evd(rig->ib.ia, 8, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG);
	expect_ok(dat_psp_create_any(rig->ib.ia, &rig->qual, rig->cr, DAT_PSP_CONSUMER_FLAG,
				     &rig->psp));
	*state = rig;
	return 0;
}

int rig_setup_connected(void **state)
{
	rig_setup(state);
	rig_establish(*state);
	return 0;
}

int rig_teardown(void **state)
{
	struct rig *rig = *state;
	uint8_t *mem_a = rig->a.mem.base, *mem_b = rig->b.mem.base;

	if (rig->ia.ia)
		ct_close(&rig->ia);
	if (rig->ib.ia)
		ct_close(&rig->ib);
	ct_waiters_free();
	rig->a.mem = (struct ct_mem){ .base = mem_a, .len = rig->a.mem.len };
	rig->b.mem = (struct ct_mem){ .base = mem_b, .len = rig->b.mem.len };
	ct_mem_close(&rig->a.mem);
	ct_mem_close(&rig->b.mem);
	free(rig);
	return 0;
}

void rig_merged_end(struct ct_end *end, DAT_IA_HANDLE ia, const DAT_EP_ATTR *attr)
{
	end->recv = end->request = end->connect =
		ct_evd(ia, 64, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG);
	ct_end_open(end, ia, attr);
}

void rig_connect(struct rig *rig, DAT_TIMEOUT timeout)
{
	expect_ok(dat_ep_connect(rig->a.ep, rig->ib.attr.ia_address_ptr, rig->qual, timeout, 0,
				 NULL, DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
}

DAT_CR_HANDLE rig_take_cr(struct rig *rig)
{
	DAT_EVENT event;

	ct_next(rig->cr, DAT_CONNECTION_REQUEST_EVENT, &event);
	assert_int_equal(event.event_data.cr_arrival_event_data.conn_qual, rig->qual);
	assert_ptr_equal(event.event_data.cr_arrival_event_data.sp_handle.psp_handle, rig->psp);
	return event.event_data.cr_arrival_event_data.cr_handle;
}

void rig_conn_event(struct ct_end *end, DAT_EVENT_NUMBER number)
{
	DAT_EVENT event;

	ct_next(end->connect, number, &event);
	assert_ptr_equal(event.event_data.connect_event_data.ep_handle, end->ep);
}

void rig_establish(struct rig *rig)
{
	rig_connect(rig, CT_US);
	expect_ok(dat_cr_accept(rig_take_cr(rig), rig->b.ep, 0, NULL));
	rig_conn_event(&rig->a, DAT_CONNECTION_EVENT_ESTABLISHED);
	rig_conn_event(&rig->b, DAT_CONNECTION_EVENT_ESTABLISHED);
}
