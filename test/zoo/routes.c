/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * How connections go over the network: partition, service level, the port of a bond. zoo.sh says for
 * which adapter and with which options each test is.
 */
#include "test/conformance/conn_util.h"

#include "test/zoo/asks.h"

static void transfer(struct cu_rig *rig)
{
	expect_ok(cu_recv(&rig->p, 0, 64, 1));
	expect_ok(ct_post_send(&rig->a, 0, 64, 2, DAT_COMPLETION_DEFAULT_FLAG));
	DONE(rig->p.recv, rig->p.ep, 1, DAT_DTO_RECEIVE, 64);
	DONE(rig->a.request, rig->a.ep, 2, DAT_DTO_SEND, 64);
}

static int open_it(void)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;

	return dat_ia_open(harness_ia_name(), 8, &async, &ia) == DAT_SUCCESS;
}

/* Of an interface its own; else the one that is asked for (ZOO_PKEY). */
static void the_partition_is_the_one_meant(void **state)
{
	struct cu_rig *rig = *state;

	cu_establish(rig, &rig->a, &rig->p);
	transfer(rig);
	assert_int_equal(count("pkey"), number("ZOO_PKEY", 0xffff));
}

static void a_partition_that_is_not_there_is_told(void **state)
{
	const char *const env[] = { "DAPL_IB_PKEY=0x1234", NULL };
	struct harness_result result;

	(void)state;
	harness_spawn_ok("open", env);
	harness_spawn("open", env, &result);
	assert_non_null(strstr(result.err, "in partition 0x1234"));
}

/* ZOO_SL and ZOO_TCLASS. */
static void service_level_and_class_are_the_ones_meant(void **state)
{
	struct cu_rig *rig = *state;

	cu_establish(rig, &rig->a, &rig->p);
	transfer(rig);
	assert_int_equal(count("sl"), number("ZOO_SL", 0));
	assert_int_equal(count("tclass"), number("ZOO_TCLASS", 0));
}

static void is_chosen(const struct cu_rig *rig, const char *what)
{
	const char *chosen = "";

	for (DAT_COUNT i = 0; i < rig->prov.num_provider_specific_attr; i++)
		if (!strcmp(rig->prov.provider_specific_attr[i].name, "ADDRESS_CHOSEN_BY"))
			chosen = rig->prov.provider_specific_attr[i].value;
	assert_string_equal(chosen, what);
}

/* Its address is that of the adapter whose port is active. */
static void a_bond_is_opened_on_its_active_port(void **state)
{
	struct cu_rig *rig = *state;

	is_chosen(rig, "first address of interface bond0: mlx5_0 port 1");
	cu_establish(rig, &rig->a, &rig->p);
	transfer(rig);
	set("moved", 0);
	cu_teardown(state);
	cu_setup_ends(state);
	rig = *state;
	is_chosen(rig, "first address of interface bond0: mlx5_1 port 1");
	cu_establish(rig, &rig->a, &rig->p);
	transfer(rig);
}

#define T(f) cmocka_unit_test_setup_teardown(f, cu_setup_ends, cu_teardown)

int main(int argc, char **argv)
{
	static const struct harness_child children[] = { { "open", open_it }, { NULL, NULL } };
	static const struct CMUnitTest tests[] = {
		T(the_partition_is_the_one_meant),
		cmocka_unit_test(a_partition_that_is_not_there_is_told),
		T(service_level_and_class_are_the_ones_meant),
		T(a_bond_is_opened_on_its_active_port),
	};

	harness_child_main(argc, argv, children);

	return harness_run(tests, sizeof(tests) / sizeof(tests[0]));
}
