/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Relationships between adapters (HA-1 to HA-10). The tests run in children that find the adapter
 * under test under three names, of which the configuration relates two.
 */
#include "harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <dat2/dat_registry.h>

static char name_of[3][DAT_NAME_MAX_LENGTH];

static void make_names(void)
{
	for (int i = 0; i < 3; i++)
		snprintf(name_of[i], sizeof(name_of[i]), "%s-%c", harness_ia_name(), 'a' + i);
}

/* ---- In the children --------------------------------------------------- */

static DAT_IA_HANDLE open_name(int i)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;

	expect_ok(dat_ia_open(name_of[i], 8, &async, &ia));
	return ia;
}

static void close_ia(DAT_IA_HANDLE ia)
{
	expect_ok(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG));
}

/* HA-7: either way round. */
static void relation(int one, int other, DAT_HA_RELATIONSHIP wanted)
{
	DAT_HA_RELATIONSHIP found = (DAT_HA_RELATIONSHIP)-1;

	expect_ok(dat_registry_providers_related(name_of[one], name_of[other], &found));
	assert_int_equal(found, wanted);
	found = (DAT_HA_RELATIONSHIP)-1;
	expect_ok(dat_registry_providers_related(name_of[other], name_of[one], &found));
	assert_int_equal(found, wanted);
}

static int related(void)
{
	DAT_IA_HANDLE ia[3];

	make_names();
	for (int i = 0; i < 3; i++)
		ia[i] = open_name(i);
	relation(0, 1, DAT_HA_TRUE);
	relation(0, 2, DAT_HA_FALSE);
	relation(1, 2, DAT_HA_FALSE);
	for (int i = 0; i < 3; i++)
		close_ia(ia[i]);
	return 0;
}

static int unknown(void)
{
	DAT_IA_HANDLE ia;

	make_names();
	/* HA-5: the call opens nothing. */
	relation(0, 1, DAT_HA_UNKNOWN);
	ia = open_name(0);
	relation(0, 1, DAT_HA_UNKNOWN);
	relation(0, 0, DAT_HA_TRUE);
	close_ia(ia);
	relation(0, 1, DAT_HA_UNKNOWN);
	return 0;
}

static int unconfigured(void)
{
	DAT_IA_HANDLE one, other;

	make_names();
	one = open_name(0);
	other = open_name(1);
	relation(0, 1, DAT_HA_FALSE);
	close_ia(one);
	close_ia(other);
	return 0;
}

static int slot(void)
{
	DAT_BOOLEAN answer = (DAT_BOOLEAN)7;
	DAT_IA_HANDLE number, ia = NULL;
	DAT_IA_HA_RELATED_FUNC ask;

	make_names();
	number = open_name(0);
	expect_ok(dats_get_ia_handle(number, &ia));
	ask = DAT_HANDLE_TO_PROVIDER(ia)->ia_ha_related_func;
	expect_ok(ask(ia, name_of[1], &answer));
	assert_int_equal(answer, DAT_TRUE);
	expect_ok(ask(ia, name_of[2], &answer));
	assert_int_equal(answer, DAT_FALSE);
	/* HA-4 */
	expect_ok(ask(ia, name_of[0], &answer));
	assert_int_equal(answer, DAT_TRUE);
	expect_arg(ask(ia, NULL, &answer), 2);
	expect_arg(ask(ia, name_of[1], NULL), 3);
	close_ia(number);
	return 0;
}

/* ---- The tests --------------------------------------------------------- */

static char conf_path[64], conf_env[96], related_env[3 * DAT_NAME_MAX_LENGTH];

/* A dat.conf with the line of the adapter under test under each of the three names. */
static int write_conf(void **state)
{
	const char *from = getenv("DAT_OVERRIDE");
	size_t len = strlen(harness_ia_name());
	FILE *in, *out;
	char line[1024];
	int fd;

	(void)state;
	make_names();
	snprintf(conf_path, sizeof(conf_path), "/tmp/udapl-ha-XXXXXX");
	fd = mkstemp(conf_path);
	in = fopen(from ? from : "/etc/dat.conf", "re");
	out = fd < 0 ? NULL : fdopen(fd, "w");
	if (in == NULL || out == NULL)
		return -1;
	while (fgets(line, sizeof(line), in) != NULL)
		for (int i = 0; i < 3; i++)
			if (strncmp(line, harness_ia_name(), len) == 0 && line[len] == ' ')
				fprintf(out, "%s%s", name_of[i], line + len);
	fclose(in);
	fclose(out);
	snprintf(conf_env, sizeof(conf_env), "DAT_OVERRIDE=%s", conf_path);
	snprintf(related_env, sizeof(related_env), "DAPL_RELATED=nobody; %s, %s", name_of[0],
		 name_of[1]);
	return 0;
}

static int remove_conf(void **state)
{
	(void)state;
	return unlink(conf_path);
}

static void in_child(const char *child)
{
	const char *const env[] = { conf_env, related_env, NULL };

	harness_spawn_ok(child, env);
}

static void ha_1_3_related_by_configuration(void **state)
{
	(void)state;
	in_child("related");
}

static void ha_2_5_no_answer_without_an_open_adapter(void **state)
{
	(void)state;
	in_child("unknown");
}

static void ha_3_not_related_unless_configured(void **state)
{
	const char *const env[] = { conf_env, NULL };

	(void)state;
	harness_spawn_ok("unconfigured", env);
}

static void ha_2_the_slot(void **state)
{
	(void)state;
	in_child("slot");
}

static void ha_8_arguments(void **state)
{
	DAT_HA_RELATIONSHIP found;
	char *name = harness_ia_name();

	(void)state;
	expect_arg(dat_registry_providers_related(NULL, name, &found), 1);
	expect_arg(dat_registry_providers_related((char *)"", name, &found), 1);
	expect_arg(dat_registry_providers_related(name, NULL, &found), 2);
	expect_arg(dat_registry_providers_related(name, name, NULL), 3);
	expect(dat_registry_providers_related(name, (char *)"no such adapter", &found),
	       DAT_PROVIDER_NOT_FOUND, DAT_NAME_NOT_REGISTERED);
}

/* HA-10; HA-15: without it the states and events of paths do not occur. */
static void ha_9_attributes(void **state)
{
	struct ct_ia ia;

	(void)state;
	ct_open(&ia);
	if (ia.prov.ha_supported)
		assert_int_not_equal(ia.prov.ha_loadbalancing, DAT_HA_LB_NONE);
	else
		assert_int_equal(ia.prov.supports_multipath, DAT_FALSE);
	ct_close(&ia);
}

int main(int argc, char **argv)
{
	static const struct harness_child children[] = {
		{ "related", related }, { "unknown", unknown }, { "unconfigured", unconfigured },
		{ "slot", slot },	{ NULL, NULL },
	};
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(ha_1_3_related_by_configuration, write_conf,
						remove_conf),
		cmocka_unit_test_setup_teardown(ha_2_5_no_answer_without_an_open_adapter,
						write_conf, remove_conf),
		cmocka_unit_test_setup_teardown(ha_3_not_related_unless_configured, write_conf,
						remove_conf),
		cmocka_unit_test_setup_teardown(ha_2_the_slot, write_conf, remove_conf),
		cmocka_unit_test(ha_8_arguments),
		cmocka_unit_test(ha_9_attributes),
	};

	harness_child_main(argc, argv, children);
	return harness_run(tests, sizeof(tests) / sizeof(tests[0]));
}
