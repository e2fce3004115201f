/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * How connections go over the network: partition, service level, port, version of RoCE. zoo.sh says
 * for which adapter and with which options each test is.
 */
#include "test/conformance/conn_util.h"

#include <infiniband/verbs.h>
#include <stdio.h>

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

/* An open by itself, which is refused with a message. */
static void expect_told(const char *const *env, const char *text)
{
	struct harness_result result;

	harness_spawn_ok("open", env);
	harness_spawn("open", env, &result);
	assert_non_null(strstr(result.err, text));
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

	(void)state;
	expect_told(env, "in partition 0x1234");
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

/* ---- Ports ---- */

static const char *named(const struct cu_rig *rig, const char *name)
{
	for (DAT_COUNT i = 0; i < rig->prov.num_provider_specific_attr; i++)
		if (!strcmp(rig->prov.provider_specific_attr[i].name, name))
			return rig->prov.provider_specific_attr[i].value;
	return "";
}

/* By this address or port, and, of RoCE, for this reason this GID. */
static void is_chosen(const struct cu_rig *rig, const char *what, const char *gid)
{
	char both[256];

	snprintf(both, sizeof(both), "%s%s", what, *named(rig, "DAT_IB_GID_TYPE") ? gid : "");
	assert_string_equal(named(rig, "ADDRESS_CHOSEN_BY"), both);
}

#define V2 "; RoCE v2 by rdma_cm's default"

/* Its address is that of the adapter whose port is active. */
static void a_bond_is_opened_on_its_active_port(void **state)
{
	struct cu_rig *rig = *state;

	is_chosen(rig, "first address of interface bond0: mlx5_0 port 1", V2);
	cu_establish(rig, &rig->a, &rig->p);
	transfer(rig);
	set("moved", 0);
	cu_teardown(state);
	cu_setup_ends(state);
	rig = *state;
	is_chosen(rig, "first address of interface bond0: mlx5_1 port 1", V2);
	cu_establish(rig, &rig->a, &rig->p);
	transfer(rig);
}

static void is_told(struct cu_rig *rig, DAT_EVENT_NUMBER number)
{
	DAT_EVENT event;

	assert_true(cu_next(rig->async, 2000, &event));
	assert_int_equal(event.event_number, number);
}

/* The second of two: its address, its connections, its events. */
static void the_port_is_the_one_meant(void **state)
{
	static const uint32_t second_port = 2 << 8;
	struct cu_rig *rig = *state;

	assert_string_equal(named(rig, "DAT_IB_PORT_NUMBER"), "2");
	is_chosen(rig, "first address on mlx4_0 port 2: interface lo", V2);
	cu_establish(rig, &rig->a, &rig->p);
	transfer(rig);
	assert_int_equal(count("port"), 2);
	set("event", IBV_EVENT_PORT_ERR);
	cu_quiet(rig->async, 100);
	set("event", IBV_EVENT_PORT_ERR + second_port);
	is_told(rig, DAT_ASYNC_ERROR_IA_CATASTROPHIC);
}

static void a_port_without_an_address_is_told(void **state)
{
	(void)state;
	expect_told(NULL, "port 3 of RDMA device mlx4_0 has an IP address");
}

/* Its place is empty, which libibverbs tells as a GID of zeros. */
static void a_gid_that_is_not_there_is_told(void **state)
{
	const char *const env[] = { "DAPL_SCM_GID_INDEX=1", NULL };

	(void)state;
	expect_told(env, "has no GID of index 1 (option gid_index)");
}

/* ---- RoCE ---- */

/* rdma_cm's connections have the version that default_roce_mode says (ZOO_ROCE), which is told. */
static void the_version_of_roce_is_the_hosts(void **state)
{
	unsigned int version = number("ZOO_ROCE", 2);
	struct cu_rig *rig = *state;
	char type[16], why[64];

	snprintf(type, sizeof(type), "RoCE v%u", version);
	snprintf(why, sizeof(why), "; %s by default_roce_mode", type);
	assert_string_equal(named(rig, "DAT_IB_GID_TYPE"), type);
	assert_non_null(strstr(named(rig, "ADDRESS_CHOSEN_BY"), why));
	cu_establish(rig, &rig->a, &rig->p);
	transfer(rig);
	assert_int_equal(count("gid_index"), atoi(named(rig, "DAT_IB_GID_INDEX")));
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
		T(the_port_is_the_one_meant),
		cmocka_unit_test(a_port_without_an_address_is_told),
		cmocka_unit_test(a_gid_that_is_not_there_is_told),
		T(the_version_of_roce_is_the_hosts),
	};

	harness_child_main(argc, argv, children);

	return harness_run(tests, sizeof(tests) / sizeof(tests[0]));
}
