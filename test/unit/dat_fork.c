/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A process that forks while a module is half loaded or half unloaded (GEN-33). */
#include "test/unit/dat_util.h"
#include "dat2/dat_trace.h"

#define DATS_WEAK
#include "dat/dats.h"
#include "util/compiler.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	CHILD_SECONDS = 10,
};

static int found;
static int pipe_fds[2];

/* The module registers nothing, so that it is loaded, asked and unloaded at once. */
static void *load_and_unload(void *arg)
{
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;

	(void)arg;
	dat_ia_open((DAT_NAME_PTR) "lingering", 8, &evd, &ia);
	return NULL;
}

static int child_finds(int wanted)
{
	int status;
	pid_t child = fork();

	if (!child) {
		alarm(CHILD_SECONDS);
		unsetenv("LINGERING_FD");
		found = 0;
		load_and_unload(NULL);
		_exit(found == wanted ? 0 : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	return status;
}

static void read_until(char what, char byte)
{
	while (byte != what)
		assert_int_equal(read(pipe_fds[0], &byte, 1), 1);
}

/* What the child finds: a module of its own, or its parent's, which has been told of the fork. */
static void fork_while(char what, int wanted)
{
	pthread_t thread;

#ifdef WITH_TSAN
	print_message("ThreadSanitizer misses the parent's thread in a child that ends\n");
	skip();
#endif
	assert_int_equal(pthread_create(&thread, NULL, load_and_unload, NULL), 0);
	read_until(what, 0);
	assert_int_equal(child_finds(wanted), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	/* What the module says next is not the next test's. */
	read_until('-', what);
	assert_int_equal(found, 1);
}

static void gen_33_a_module_is_being_loaded(void **state)
{
	(void)state;
	fork_while('+', 2);
}

static void gen_33_a_module_is_being_unloaded(void **state)
{
	(void)state;
	fork_while('-', 1);
}

/* A library may start a process from its constructor: that does not wait for itself. */
static void gen_33_a_module_forks_while_it_is_loaded(void **state)
{
	struct timespec before, after;

	(void)state;
	unsetenv("LINGERING_FD");
	clock_gettime(CLOCK_MONOTONIC, &before);
	load_and_unload(NULL);
	clock_gettime(CLOCK_MONOTONIC, &after);
	assert_int_equal(found, 1);
	assert_true(after.tv_sec - before.tv_sec <= 1);
}

static void fork_once(DAT_PVOID arg, int hook, int level, const char *record)
{
	static int forked;

	(void)arg, (void)hook, (void)level, (void)record;
	if (forked)
		return;
	forked = 1;
	if (!fork())
		_exit(0);
}

/* In a child, which has not read dat.conf so far: that is told to a trace function. */
static void gen_33_a_trace_function_forks(void **state)
{
	DAT_COUNT entries;
	int status;
	pid_t child = fork();

	(void)state;
	if (!child) {
		alarm(CHILD_SECONDS);
		dat_trclvl_modify(10, -1);
		dat_trace_callback(fork_once, NULL);
		dat_registry_list_providers(0, &entries, NULL);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

static const struct dats_point point = { .name = "forked", .format = "", .level = DATS_TRC_NORMAL };

static void make_a_record(void)
{
	dats_trace_record(DATS_HOOK_DAT_EVENT, &point, NULL, "");
}

static int has_its_own_record(void)
{
	char *text = NULL, wanted[64];
	size_t length;
	FILE *out = open_memstream(&text, &length);

	dats_control_run("dump", out);
	fclose(out);
	snprintf(wanted, sizeof(wanted), " %d.%d 0x5C7 3 forked ", (int)getpid(), (int)getpid());
	return util_count(text, wanted) == 1;
}

/* The records are the child's own before anybody is told of it: no thread reads them any more. */
static void gen_33_a_module_makes_a_record_in_the_child(void **state)
{
	struct dats_fork_watcher watcher = { .in_child = make_a_record };
	int status;
	pid_t child;

	(void)state;
	make_a_record();
	dats_fork_watch(&watcher);
	child = fork();
	if (!child) {
		alarm(CHILD_SECONDS);
		_exit(has_its_own_record() ? 0 : 1);
	}
	dats_fork_unwatch(&watcher);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

static int set_up(void **state)
{
	char text[512];

	(void)state;
	snprintf(text, sizeof(text),
		 "lingering u2.0 nonthreadsafe default " MODULE_DIR
		 "/lingering.so p.1.0 \"%p\" \"\"\n",
		 (void *)&found);
	util_conf(text);
	if (pipe(pipe_fds))
		return -1;
	snprintf(text, sizeof(text), "%d", pipe_fds[1]);
	return setenv("LINGERING_FD", text, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gen_33_a_trace_function_forks),
		cmocka_unit_test(gen_33_a_module_is_being_loaded),
		cmocka_unit_test(gen_33_a_module_is_being_unloaded),
		cmocka_unit_test(gen_33_a_module_forks_while_it_is_loaded),
		cmocka_unit_test(gen_33_a_module_makes_a_record_in_the_child),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, set_up, util_cleanup);
}
