/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Proxy agents of two adapters that are in each other's way: CNO-19, CNO-34. */
#include "harness.h"
#include "slow_agent.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static DAT_EVD_HANDLE soft_evd(DAT_IA_HANDLE ia, DAT_CNO_HANDLE cno)
{
	return ct_evd(ia, 8, cno, DAT_EVD_SOFTWARE_FLAG);
}

/* Agents of two adapters, either of which frees a dispatcher of the other's object. */
static int free_crosswise(void)
{
	static struct slow slow[2];
	struct ct_ia ia[2];
	DAT_CNO_HANDLE cno[2];
	DAT_EVD_HANDLE evd[2];

	for (int i = 0; i < 2; i++) {
		if (i && getenv("OTHER_IA") != NULL)
			setenv("UDAPL_IA", getenv("OTHER_IA"), 1);
		ct_open(&ia[i]);
		expect_ok(dat_cno_create(ia[i].ia, slow_proxy(&slow[i]), &cno[i]));
		evd[i] = soft_evd(ia[i].ia, cno[i]);
		slow[!i].spare = soft_evd(ia[i].ia, cno[i]);
	}
	for (int i = 0; i < 2; i++) {
		expect_ok(ct_post_se(evd[i], 1));
		ct_await(atomic_load(&slow[i].started));
	}
	for (int i = 0; i < 2; i++)
		atomic_store(&slow[i].go_on, true);
	for (int i = 0; i < 2; i++) {
		ct_await(atomic_load(&slow[i].over));
		expect_ok(slow[i].rc);
	}
	for (int i = 0; i < 2; i++)
		ct_close(&ia[i]);
	return 0;
}

static void cno_19_agents_of_two_adapters_free(void **state)
{
	(void)state;
	harness_spawn_ok("free-crosswise", NULL);
}

/* The adapter's line, and one more with a module of its own: false if its path is not known. */
static bool write_two(FILE *out, const char *module)
{
	const char *from = getenv("DAT_OVERRIDE");
	FILE *in = fopen(from ? from : "/etc/dat.conf", "re");
	size_t len = strlen(harness_ia_name());
	char line[1024], fields[6][256], copy[1024];
	bool done = false;

	assert_non_null(in);
	while (!done && fgets(line, sizeof(line), in) != NULL) {
		if (strncmp(line, harness_ia_name(), len) != 0 || line[len] != ' ')
			continue;
		done = sscanf(line, "%255s %255s %255s %255s %255s %255s", fields[0], fields[1],
			      fields[2], fields[3], fields[4], fields[5]) == 6 &&
		       fields[4][0] == '/';
		if (!done)
			break;
		fputs(line, out);
		fprintf(out, "other %s %s %s %s %s", fields[1], fields[2], fields[3], module,
			strstr(line, fields[5]));
		snprintf(copy, sizeof(copy), "cp %s %s", fields[4], module);
		assert_int_equal(system(copy), 0);
	}
	fclose(in);
	return done;
}

/* Nor does it matter whose modules serve them. */
static void cno_19_agents_of_two_modules_free(void **state)
{
	char conf[] = "/tmp/udapl-cno-XXXXXX", module[64], env[64];
	const char *const envs[] = { env, "OTHER_IA=other", NULL };
	FILE *out = fdopen(mkstemp(conf), "w");
	struct harness_result result;
	bool two;

	(void)state;
	assert_non_null(out);
	snprintf(module, sizeof(module), "%s.so.2", conf);
	two = write_two(out, module);
	fclose(out);
	snprintf(env, sizeof(env), "DAT_OVERRIDE=%s", conf);
	if (two)
		harness_spawn("free-crosswise", envs, &result);
	unlink(conf);
	unlink(module);
	if (!two)
		harness_skip("the module's path is not known");
	if (result.status != 0)
		fail_msg("status 0x%x: %s%s", (unsigned int)result.status, result.out, result.err);
}

/* What an agent frees of another adapter, whose agent may be at it, and which may be at any point. */
struct spare {
	DAT_CNO_HANDLE cno;
	DAT_EVD_HANDLE evd;
	atomic_int calls, wrong;
	atomic_bool freed;
};

static void free_all(DAT_PVOID data, DAT_EVD_HANDLE evd)
{
	struct spare *spare = data;

	(void)evd;
	if (dat_evd_free(spare->evd) || dat_cno_free(spare->cno))
		atomic_fetch_add(&spare->wrong, 1);
	atomic_store(&spare->freed, true);
}

static void count_call(DAT_PVOID data, DAT_EVD_HANDLE evd)
{
	struct spare *spare = data;

	(void)evd;
	sched_yield();
	atomic_fetch_add(&spare->calls, 1);
}

static void cno_34_an_agent_frees_what_another_adapter_calls(void **state)
{
	static struct spare spare;
	DAT_OS_WAIT_PROXY_AGENT counting = { .instance_data = &spare,
					     .proxy_agent_func = count_call },
				freeing = { .instance_data = &spare, .proxy_agent_func = free_all };
	struct ct_ia *ia = *state, other;
	DAT_CNO_HANDLE cno = ct_cno(ia->ia);
	DAT_EVD_HANDLE evd = soft_evd(ia->ia, cno);
	DAT_EVENT event;

	ct_open(&other);
	for (unsigned int i = 1; i <= harness_rounds(1000); i++) {
		expect_ok(dat_cno_create(other.ia, counting, &spare.cno));
		spare.evd = soft_evd(other.ia, spare.cno);
		atomic_store(&spare.freed, false);
		expect_ok(dat_cno_modify_agent(cno, freeing));
		expect_ok(ct_post_se(spare.evd, 1));
		expect_ok(ct_post_se(evd, 1));
		ct_await(atomic_load(&spare.freed) && atomic_load(&spare.calls) == (int)i);
		expect_ok(dat_evd_dequeue(evd, &event));
	}
	assert_int_equal(atomic_load(&spare.wrong), 0);
	ct_close(&other);
}

/* Agents of two adapters, either of which closes the other's. */
struct crossing {
	DAT_IA_HANDLE other;
	struct crossing *peer;
	DAT_RETURN rc;
	atomic_bool started, over;
};

static void close_other(DAT_PVOID data, DAT_EVD_HANDLE evd)
{
	uint64_t deadline = ct_now_us() + CT_US;
	struct crossing *c = data;

	(void)evd;
	atomic_store(&c->started, true);
	while (!atomic_load(&c->peer->started) && ct_now_us() < deadline)
		ct_pause();
	c->rc = dat_ia_close(c->other, DAT_CLOSE_ABRUPT_FLAG);
	atomic_store(&c->over, true);
}

static int close_crosswise(void)
{
	static struct crossing c[2];
	struct ct_ia ia[2];

	for (int i = 0; i < 2; i++) {
		ct_open(&ia[i]);
		c[!i].other = ia[i].ia;
		c[i].peer = &c[!i];
	}
	for (int i = 0; i < 2; i++) {
		DAT_OS_WAIT_PROXY_AGENT agent = { .instance_data = &c[i],
						  .proxy_agent_func = close_other };
		DAT_CNO_HANDLE cno;

		expect_ok(dat_cno_create(ia[i].ia, agent, &cno));
		expect_ok(ct_post_se(soft_evd(ia[i].ia, cno), 1));
	}
	for (int i = 0; i < 2; i++) {
		ct_await(atomic_load(&c[i].over));
		expect_state(c[i].rc, IA_IN_USE);
	}
	for (int i = 0; i < 2; i++)
		ct_close(&ia[i]);
	return 0;
}

static void cno_19_agents_of_two_adapters_close(void **state)
{
	(void)state;
	harness_spawn_ok("close-crosswise", NULL);
}

#define T(f) cmocka_unit_test_setup_teardown(f, ct_setup, ct_teardown)

int main(int argc, char **argv)
{
	static const struct harness_child children[] = { { "free-crosswise", free_crosswise },
							 { "close-crosswise", close_crosswise },
							 { NULL, NULL } };
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(cno_19_agents_of_two_adapters_free),
		cmocka_unit_test(cno_19_agents_of_two_adapters_close),
		cmocka_unit_test(cno_19_agents_of_two_modules_free),
		T(cno_34_an_agent_frees_what_another_adapter_calls),
	};

	harness_child_main(argc, argv, children);
	return harness_run(tests, sizeof(tests) / sizeof(tests[0]));
}
