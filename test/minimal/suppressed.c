/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Requests whose completions are suppressed, over a transport that cannot tell which are over. */
#include "test/minimal/rig.h"

#include <stdio.h>

#include "dapl/transfer/qp.h"

static DAT_RETURN write_suppressed(struct rig *rig)
{
	DAT_LMR_TRIPLET from = ct_segment(&rig->a.mem, 0, 8);
	DAT_RMR_TRIPLET to = ct_target(&rig->b.mem, 0, 8);
	DAT_DTO_COOKIE cookie = { .as_64 = 1 };

	return dat_ep_post_rdma_write(rig->a.ep, 1, &from, cookie, &to,
				      DAT_COMPLETION_SUPPRESS_FLAG);
}

/* Posts as many as there is room for; returns how many. */
static int fill(struct rig *rig)
{
	DAT_EP_PARAM param;
	int i;

	expect_ok(dat_ep_query(rig->a.ep, DAT_EP_FIELD_ALL, &param));
	for (i = 0; i < param.ep_attr.max_request_dtos; i++)
		expect_ok(write_suppressed(rig));
	return i;
}

/* How many there were in a row before: 19 minutes' worth over shared memory. */
static void post_2_to_the_32(struct rig *rig)
{
	struct dapl_qp *qp = rig->a.ep;

	qp->cold->num_suppressed = UINT32_MAX;
}

/* DTO-17: they keep their places, and whoever posts another one is told why. */
static int suppressed_child(void (*before)(struct rig *rig))
{
	void *state = NULL;
	int posted;

	rig_setup_connected(&state);
	if (before)
		before(state);
	posted = fill(state);
	for (int i = 0; i < 3; i++)
		expect(write_suppressed(state), DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	printf("the completions of all %d are suppressed", posted);
	rig_teardown(&state);
	return 0;
}

static int only_suppressed_child(void)
{
	return suppressed_child(NULL);
}

static int suppressed_for_long_child(void)
{
	return suppressed_child(post_2_to_the_32);
}

static const struct harness_child children[] = {
	{ "only_suppressed", only_suppressed_child },
	{ "suppressed_for_long", suppressed_for_long_child },
	{ 0 },
};

static void expect_told(const char *child)
{
	struct harness_result result;

	harness_spawn(child, NULL, &result);
	assert_int_equal(result.status, 0);
	assert_non_null(strstr(result.err, result.out));
	assert_non_null(strstr(result.err, "DAT_COMPLETION_SUPPRESS_FLAG"));
	assert_non_null(strstr(result.err, "limit: the endpoint's max_request_dtos"));
}

static void only_suppressed(void **state)
{
	(void)state;
	expect_told("only_suppressed");
}

static void suppressed_for_long(void **state)
{
	(void)state;
	expect_told("suppressed_for_long");
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_suppressed),
		cmocka_unit_test(suppressed_for_long),
	};

	rig_main();
	harness_child_main(argc, argv, children);
	return harness_run(tests, RIG_NUM_OF(tests));
}
