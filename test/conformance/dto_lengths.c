/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Requests that are longer than the attributes of their endpoint, or than what they move to. */
#include "conn_util.h"
#include "peer.h"

static DAT_RMR_TRIPLET target; /* what RDMA aims at */

static int setup(void **state)
{
	struct cu_rig *rig;

	cu_setup_connected(state);
	rig = *state;
	target = ct_target(&rig->p.mem, 0, 64);
	return 0;
}

/* ---- Sizes ------------------------------------------------------------- */

/* The rest of the sizes differs in strict mode. */
static struct cu_rig *limited(struct ct_end *a, struct ct_end *p)
{
	struct cu_rig *rig = cu_rig_open();
	DAT_EP_ATTR attr;

	ct_default_attr(rig->ia, &attr);
	attr.max_message_size = 1000;
	attr.max_rdma_size = 2000;
	ct_end_open(a, rig->ia, &attr);
	ct_end_open(p, rig->ia, NULL);
	cu_establish(rig, a, p);
	return rig;
}

static int attribute_sizes(void)
{
	struct ct_end a = { 0 }, p = { 0 };
	struct cu_rig *rig = limited(&a, &p);

	for (unsigned int i = 0; i < 2; i++)
		expect_ok(cu_recv(&p, 0, 4096, i));
	/* DTO-94 */
	expect_ok(ct_post_send(&a, 0, 1000, 1, DAT_COMPLETION_DEFAULT_FLAG));
	DONE(a.request, a.ep, 1, DAT_DTO_SEND, 1000);
	expect_ok(cu_write(&a, 0, 2000, 2, &p.mem, 0, DAT_COMPLETION_DEFAULT_FLAG));
	DONE(a.request, a.ep, 2, DAT_DTO_RDMA_WRITE, 2000);
	expect_ok(cu_read(&a, 0, 2000, 3, &p.mem, 0, DAT_COMPLETION_DEFAULT_FLAG));
	DONE(a.request, a.ep, 3, DAT_DTO_RDMA_READ, 2000);
	if (harness_strict()) {
		expect_arg(ct_post_send(&a, 0, 1001, 4, DAT_COMPLETION_DEFAULT_FLAG), 3);
		expect_arg(cu_write(&a, 0, 2001, 5, &p.mem, 0, DAT_COMPLETION_DEFAULT_FLAG), 3);
		expect_arg(cu_read(&a, 0, 2001, 6, &p.mem, 0, DAT_COMPLETION_DEFAULT_FLAG), 3);
		cu_quiet(a.request, 0);
		STATE(a.ep, CONNECTED);
	} else {
		expect_ok(ct_post_send(&a, 0, 1001, 4, DAT_COMPLETION_DEFAULT_FLAG));
		expect_ok(cu_write(&a, 0, 2001, 5, &p.mem, 0, DAT_COMPLETION_DEFAULT_FLAG));
		expect_ok(cu_read(&a, 0, 2001, 6, &p.mem, 0, DAT_COMPLETION_DEFAULT_FLAG));
		DONE(a.request, a.ep, 4, DAT_DTO_SEND, 1001);
		DONE(a.request, a.ep, 5, DAT_DTO_RDMA_WRITE, 2001);
		DONE(a.request, a.ep, 6, DAT_DTO_RDMA_READ, 2001);
	}
	ct_end_close(&a);
	ct_end_close(&p);
	cu_rig_close(rig);
	return 0;
}

static void dto_35_55_attribute_sizes(void **state)
{
	(void)state;
	harness_both_strict("attribute-sizes");
}

static void write_lengths(struct ct_end *a, struct ct_end *p)
{
	DAT_LMR_TRIPLET seg = ct_segment(&a->mem, 0, 100);
	DAT_RMR_TRIPLET remote = ct_target(&p->mem, 0, 99);

	cu_fill(a->mem.base, 100, 1);
	cu_set(p->mem.base, 0, 300);
	if (harness_strict()) {
		expect_type(dat_ep_post_rdma_write(a->ep, 1, &seg, cu_cookie(1), &remote,
						   DAT_COMPLETION_DEFAULT_FLAG),
			    DAT_LENGTH_ERROR);
		cu_quiet(a->request, 0);
	} else {
		expect_ok(dat_ep_post_rdma_write(a->ep, 1, &seg, cu_cookie(1), &remote,
						 DAT_COMPLETION_DEFAULT_FLAG));
		DONE(a->request, a->ep, 1, DAT_DTO_RDMA_WRITE, 100);
	}
	/* A longer remote range is fine, the excess is untouched. */
	remote.segment_length = 300;
	expect_ok(dat_ep_post_rdma_write(a->ep, 1, &seg, cu_cookie(2), &remote,
					 DAT_COMPLETION_DEFAULT_FLAG));
	DONE(a->request, a->ep, 2, DAT_DTO_RDMA_WRITE, 100);
	expect_ok(cu_read(a, 1000, 300, 3, &p->mem, 0, DAT_COMPLETION_DEFAULT_FLAG));
	DONE(a->request, a->ep, 3, DAT_DTO_RDMA_READ, 300);
	FILLED(a->mem.base + 1000, 100, 1);
	ALL(a->mem.base + 1100, 0, 200);
}

static void read_lengths(struct ct_end *a, struct ct_end *p)
{
	DAT_LMR_TRIPLET seg = ct_segment(&a->mem, 0, 100);
	DAT_RMR_TRIPLET remote = ct_target(&p->mem, 0, 101);
	size_t len = harness_strict() ? 60 : 100;

	cu_fill(p->mem.base, 200, 2);
	cu_set(a->mem.base, 0xee, 200);
	if (harness_strict()) {
		expect_type(dat_ep_post_rdma_read(a->ep, 1, &seg, cu_cookie(1), &remote,
						  DAT_COMPLETION_DEFAULT_FLAG),
			    DAT_LENGTH_ERROR);
		cu_quiet(a->request, 0);
	} else {
		expect_ok(dat_ep_post_rdma_read(a->ep, 1, &seg, cu_cookie(1), &remote,
						DAT_COMPLETION_DEFAULT_FLAG));
		DONE(a->request, a->ep, 1, DAT_DTO_RDMA_READ, 100);
	}
	cu_set(a->mem.base, 0xee, 200);
	remote.segment_length = 60;
	expect_ok(dat_ep_post_rdma_read(a->ep, 1, &seg, cu_cookie(2), &remote,
					DAT_COMPLETION_DEFAULT_FLAG));
	DONE(a->request, a->ep, 2, DAT_DTO_RDMA_READ, len);
	FILLED(a->mem.base, len, 2);
	ALL(a->mem.base + len, 0xee, 200 - len);
}

static int rdma_lengths(void)
{
	struct cu_rig *rig = cu_rig_open();

	ct_end_open(&rig->a, rig->ia, NULL);
	ct_end_open(&rig->p, rig->ia, NULL);
	cu_establish(rig, &rig->a, &rig->p);
	write_lengths(&rig->a, &rig->p);
	read_lengths(&rig->a, &rig->p);
	STATE(rig->a.ep, CONNECTED);
	cu_rig_close(rig);
	return 0;
}

static void dto_46_48_49_remote_lengths(void **state)
{
	(void)state;
	harness_both_strict("rdma-lengths");
}

/* ---- Posts that a provider may lack ------------------------------------ */

#define T(f) cmocka_unit_test_setup_teardown(f, setup, cu_teardown)

int main(int argc, char **argv)
{
	static const struct harness_child children[] = {
		{ "attribute-sizes", attribute_sizes },
		{ "rdma-lengths", rdma_lengths },
		{ NULL, NULL },
	};
	static const struct CMUnitTest tests[] = {
		T(dto_35_55_attribute_sizes),
		T(dto_46_48_49_remote_lengths),
	};

	harness_child_main(argc, argv, children);
	return harness_run(tests, sizeof(tests) / sizeof(tests[0]));
}
