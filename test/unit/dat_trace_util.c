/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "test/unit/dat_trace_util.h"

#define DATS_WEAK
#include <dat/dat_trace.h>
#include "dat/dats.h"
#include "test/anew.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <regex.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static struct dats_point normal = { .level = 3, .name = "something", .format = "text=%s" };

static struct dats_point error = { .level = 1, .name = "wrong", .format = "text=%s" };

static struct dats_point detail = { .level = 7, .name = "detail", .format = "text=%s" };

/* As the C library's, which has a lock that no fork takes. */
static pthread_mutex_t syslog_lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_int syslog_slow, in_syslog;

__attribute__((format(printf, 2, 0))) static void told_syslog(int priority, const char *fmt,
							      va_list ap)
{
	pthread_mutex_lock(&syslog_lock);
	printf("syslog %d: ", priority);
	vprintf(fmt, ap);
	fflush(stdout);
	atomic_store(&in_syslog, 1);
	if (atomic_load(&syslog_slow))
		usleep(300000);
	pthread_mutex_unlock(&syslog_lock);
}

/* What libdat2 hands to syslog arrives here. */
__attribute__((visibility("default"))) void syslog(int priority, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	told_syslog(priority, fmt, ap);
	va_end(ap);
}

/* And here where it is built with _FORTIFY_SOURCE. */
__attribute__((format(printf, 3, 4))) void __syslog_chk(int priority, int flag, const char *fmt,
							...);
__attribute__((visibility("default"))) void __syslog_chk(int priority, int flag, const char *fmt,
							 ...)
{
	va_list ap;

	(void)flag;
	va_start(ap, fmt);
	told_syslog(priority, fmt, ap);
	va_end(ap);
}

/* ---- Actions ---- */

static void event(const char *text)
{
	dats_trace_record(DATS_HOOK_DAPL_EVENT, &normal, &normal, text);
}

static int do_levels(void)
{
	DAT_COUNT dat, dapl;

	EXPECT_RC(dat_trclvl_query(&dat, &dapl), DAT_SUCCESS);
	printf("%d %d", dat, dapl);
	return 0;
}

static int do_diag(void)
{
	dats_diag(DATS_HOOK_DAPL_ERROR, "something failed");
	return 0;
}

/* One record of each hook, at level 1 or 3, and one of detail. */
static int do_write(void)
{
	dats_trace_record(DATS_HOOK_DAPL_EVENT, &normal, &normal, "dapl event");
	dats_trace_record(DATS_HOOK_DAPL_ERROR, &error, NULL, "dapl error");
	dats_trace_record(DATS_HOOK_DAT_EVENT, &normal, NULL, "dat event");
	dats_trace_record(DATS_HOOK_DAT_ERROR, &error, NULL, "dat error");
	dats_trace_record(DATS_HOOK_DAPL_EVENT, &detail, NULL, "dapl detail");
	return errno == EXDEV ? 0 : 1;
}

static int do_long(void)
{
	char text[5000];

	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	dats_diag(DATS_HOOK_DAT_ERROR, text);
	event(text);
	return 0;
}

static int do_open(void)
{
	DAT_IA_HANDLE ia;

	util_open("nobody", 2, 0, DAT_FALSE, &ia);
	return 0;
}

static int do_many(void)
{
	char text[64];
	int i;

	for (i = 0; i < 100; i++) {
		snprintf(text, sizeof(text), "record %d", i);
		event(text);
	}
	return 0;
}

static void *many_there(void *arg)
{
	return do_many() ? arg : NULL;
}

/* By a thread with the smallest stack; what sanitizers add to a frame is no measure. */
static int do_small(void)
{
#ifdef SANITIZED
	size_t size = 1 << 20;
#else
	size_t size = PTHREAD_STACK_MIN;
#endif
	pthread_attr_t attr;
	pthread_t thread;

	EXPECT(!pthread_attr_init(&attr) && !pthread_attr_setstacksize(&attr, size));
	EXPECT(!pthread_create(&thread, &attr, many_there, NULL));
	EXPECT(!pthread_join(thread, NULL));
	pthread_attr_destroy(&attr);
	return 0;
}

/* With a limit that the file reaches on the way. */
static int do_limited(void)
{
	struct rlimit limit = { .rlim_cur = 2000, .rlim_max = 2000 };
	sigset_t pending;

	EXPECT(!setrlimit(RLIMIT_FSIZE, &limit));
	do_many();
	sigpending(&pending);
	EXPECT(!sigismember(&pending, SIGXFSZ));
	return 0;
}

static int do_dump(void)
{
	do_many();
	dats_trace_record(DATS_HOOK_DAPL_EVENT, &detail, NULL, "too detailed");
	return dats_control_run("dump", stdout);
}

static void *in_thread(void *text)
{
	event(text);
	return NULL;
}

static int do_threads(void)
{
	static char first[] = "by the first", second[] = "by the second";
	pthread_t thread;

	event("by main");
	pthread_create(&thread, NULL, in_thread, first);
	pthread_join(thread, NULL);
	pthread_create(&thread, NULL, in_thread, second);
	pthread_join(thread, NULL);
	return dats_control_run("dump", stdout);
}

static int do_fork(void)
{
	pid_t child;

	event("before");
	child = fork();
	if (!child) {
		event("in the child");
		_exit(dats_control_run("dump", stdout) || fflush(stdout));
	}
	EXPECT(waitpid(child, NULL, 0) == child);
	return 0;
}

/* GEN-33: while another thread is in syslog. */
static int do_fork_syslog(void)
{
	static char text[] = "by another";
	pthread_t thread;
	int status;
	pid_t child;

	atomic_store(&syslog_slow, 1);
	EXPECT(!pthread_create(&thread, NULL, in_thread, text));
	while (!atomic_load(&in_syslog))
		usleep(1000);
	child = fork();
	if (!child) {
		alarm(10);
		event("in the child");
		_exit(0);
	}
	EXPECT(waitpid(child, &status, 0) == child && !status);
	EXPECT(!pthread_join(thread, NULL));
	return 0;
}

static int do_internal(void)
{
	event("what led to it");
	dats_trace_internal_error("this cannot be");
	event("between");
	dats_trace_internal_error("nor can this");
	return 0;
}

static int heard;

static void hear(void *arg, int hook, int level, const char *record)
{
	heard++;
	printf("%s 0x%X %d %s", (const char *)arg, (unsigned int)hook, level,
	       strstr(record, "dap"));
	event("a callback's own record");
}

static int do_callback(void)
{
	static char arg[] = "arg";

	EXPECT_RC(dat_trace_callback(hear, arg), DAT_SUCCESS);
	event("first");
	EXPECT_RC(dat_trclvl_modify(-1, 3), DAT_SUCCESS);
	event("dapl second");
	EXPECT_RC(dat_trace_callback(NULL, NULL), DAT_SUCCESS);
	event("third");
	EXPECT(heard == 1);
	return 0;
}

static atomic_int hearing, go_on, heard_all;

static void hear_slowly(void *arg, int hook, int level, const char *record)
{
	(void)arg, (void)hook, (void)level, (void)record;
	atomic_store(&hearing, 1);
	for (int i = 0; i < 2000 && !atomic_load(&go_on); i++)
		usleep(10000);
	atomic_store(&heard_all, 1);
}

static void *let_go_on(void *arg)
{
	usleep(200000);
	atomic_store(&go_on, 1);
	return arg;
}

/* What a function uses may go when it has been taken back, whichever thread is in it. */
static int do_callback_end(void)
{
	static char text[] = "in a thread";
	pthread_t hearer, other;

	EXPECT_RC(dat_trclvl_modify(-1, 3), DAT_SUCCESS);
	EXPECT_RC(dat_trace_callback(hear_slowly, NULL), DAT_SUCCESS);
	EXPECT(!pthread_create(&hearer, NULL, in_thread, text));
	for (int i = 0; i < 20000 && !atomic_load(&hearing); i++)
		usleep(1000);
	EXPECT(!pthread_create(&other, NULL, let_go_on, NULL));
	EXPECT_RC(dat_trace_callback(NULL, NULL), DAT_SUCCESS);
	EXPECT(atomic_load(&heard_all));
	EXPECT(!pthread_join(hearer, NULL));
	EXPECT(!pthread_join(other, NULL));
	return 0;
}

static int do_modify(void)
{
	DAT_COUNT dat = 99, dapl = 99;

	EXPECT_RC(dat_trclvl_query(NULL, &dapl), RC(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1));
	EXPECT_RC(dat_trclvl_query(&dat, NULL), RC(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2));
	EXPECT_RC(dat_trclvl_modify(7, 3), DAT_SUCCESS);
	EXPECT_RC(dat_trclvl_query(&dat, &dapl), DAT_SUCCESS);
	EXPECT(dat == 7 && dapl == 3);
	EXPECT_RC(dat_trclvl_modify(-1, 10), DAT_SUCCESS);
	EXPECT_RC(dat_trclvl_query(&dat, &dapl), DAT_SUCCESS);
	EXPECT(dat == 7 && dapl == 10);
	EXPECT_RC(dat_trclvl_modify(11, 1), RC(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1));
	EXPECT_RC(dat_trclvl_modify(-2, 1), RC(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1));
	EXPECT_RC(dat_trclvl_modify(1, 11), RC(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2));
	EXPECT_RC(dat_trclvl_modify(1, -2), RC(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2));
	EXPECT_RC(dat_trclvl_query(&dat, &dapl), DAT_SUCCESS);
	EXPECT(dat == 7 && dapl == 10);
	EXPECT_RC(dat_trclvl_modify(0, 0), DAT_SUCCESS);
	event("nobody hears");
	EXPECT_RC(dat_trclvl_modify(-1, 3), DAT_SUCCESS);
	event("heard at once");
	return 0;
}

static int followed[4], num_followed;

static void follow(int level)
{
	followed[num_followed++] = level;
}

static int do_follow(void)
{
	struct dats_follower follower = { .level = follow };

	dats_trace_follow(&follower);
	dat_trclvl_modify(5, -1);
	dat_trclvl_modify(-1, 4);
	dats_trace_unfollow(&follower);
	dat_trclvl_modify(-1, 9);
	EXPECT(num_followed == 2 && followed[0] == 0 && followed[1] == 4);
	return 0;
}

/* What a file says counts less than the environment and than a call. */
static int do_defaults(void)
{
	EXPECT(!dats_trace_default("trace_level", "5"));
	EXPECT(!dats_trace_default("dat_trace_level", "5"));
	EXPECT(!dat_trclvl_modify(2, -1));
	EXPECT(!dats_trace_default("dat_trace_level", "6"));
	EXPECT(dats_trace_default("trace_level", "high") ==
	       (getenv("DAPL_TRACE_LEVEL") ? 0 : -EINVAL));
	EXPECT(dats_trace_default("colour", "red") == -ENOENT);
	EXPECT(dats_trace_default("trace_dest", "stderr,printer") == -EINVAL);
	EXPECT(dats_trace_default("trace_keep", "100") == -EINVAL);
	EXPECT(dats_trace_default("trace_size", "-1") == -EINVAL);
	return do_levels();
}

static int do_command(void)
{
	EXPECT(!dats_control_run("trace", stdout));
	EXPECT(!dats_control_run("trace 3", stdout));
	EXPECT(!dats_control_run("trace -1 7", stdout));
	EXPECT(dats_control_run("trace 11", stdout) == -EINVAL);
	EXPECT(dats_control_run("trace 4294967297", stdout) == -EINVAL);
	EXPECT(dats_control_run("trace 1 4294967297", stdout) == -EINVAL);
	EXPECT(dats_control_run("trace 3 -2", stdout) == -EINVAL);
	EXPECT(dats_control_run("trace high", stdout) == -EINVAL);
	EXPECT(dats_control_run("trace 3x", stdout) == -EINVAL);
	EXPECT(dats_control_run("trace 3 x", stdout) == -EINVAL);
	EXPECT(dats_control_run("trace 1 2 3", stdout) == -EINVAL);
	EXPECT(!dats_control_run("trace", stdout));
	return 0;
}

/* A trace that goes to a pipe whose reader has gone. */
static int do_broken_pipe(void)
{
	int fds[2];

	EXPECT(!pipe(fds));
	close(fds[0]);
	dup2(fds[1], STDERR_FILENO);
	event("into nowhere");
	return errno == EXDEV ? 0 : 1;
}

/* The program closes all descriptors, and has a file of its own of the trace's number. */
static int do_closed(void)
{
	FILE *own;

	event("before");
	for (int fd = STDERR_FILENO + 1; fd < 64; fd++)
		close(fd);
	own = tmpfile();
	EXPECT(own);
	for (int fd = STDERR_FILENO + 1; fd < 64; fd++)
		EXPECT(fd == fileno(own) || dup2(fileno(own), fd) == fd);
	event("after");
	EXPECT(!fseek(own, 0, SEEK_END) && !ftell(own));
	return 0;
}

static const struct {
	const char *name;
	int (*run)(void);
} actions[] = {
	{ "levels", do_levels },
	{ "diag", do_diag },
	{ "write", do_write },
	{ "long", do_long },
	{ "open", do_open },
	{ "many", do_many },
	{ "small", do_small },
	{ "limited", do_limited },
	{ "dump", do_dump },
	{ "threads", do_threads },
	{ "fork", do_fork },
	{ "internal", do_internal },
	{ "callback", do_callback },
	{ "callback-end", do_callback_end },
	{ "modify", do_modify },
	{ "follow", do_follow },
	{ "fork-syslog", do_fork_syslog },
	{ "defaults", do_defaults },
	{ "command", do_command },
	{ "broken-pipe", do_broken_pipe },
	{ "closed", do_closed },
};

int trace_act(const char *action)
{
	size_t i;

	for (i = 0; i < NUM_OF(actions); i++)
		if (!strcmp(actions[i].name, action)) {
			errno = EXDEV;
			return actions[i].run();
		}
	return 1;
}

static int run_self(void *arg)
{
	static const char *const ours[] = { "DAT_TRACE_LEVEL", "DAPL_TRACE_LEVEL", "DAT_DBG_TYPE",
					    "DAT_DBG_DEST",    "DAPL_DBG_TYPE",	   "DAPL_DBG_DEST",
					    "DAT_TRACE_DEST",  "DAT_TRACE_FILE",   "DAT_TRACE_SIZE",
					    "DAT_TRACE_KEEP" };
	const struct setting *setting = arg;
	size_t i;

	for (i = 0; i < NUM_OF(ours); i++)
		unsetenv(ours[i]);
	for (i = 0; setting->variables[i]; i++)
		putenv((char *)(uintptr_t)setting->variables[i]);
	EXEC_ANEW(setting->action);
	return errno;
}

struct outcome trace_out;

void trace_run_setting(struct setting *setting)
{
	util_child(run_self, setting, &trace_out);
	if (trace_out.code)
		print_message("%s: %s\n%s", setting->action, trace_out.note, trace_out.err);
	assert_int_equal(trace_out.code, 0);
}

void levels_are(const char *dat, const char *dapl, const char *expected)
{
	trace_run({ dat ? dat : dapl, dat ? dapl : NULL }, "levels");
	assert_string_equal(trace_out.out, expected);
}

int matches(const char *text, const char *pattern)
{
	char *copy = strdup(text), *line, *rest = copy, whole[512];
	regex_t compiled;
	int num = 0;

	snprintf(whole, sizeof(whole), "^%s$", pattern);
	assert_int_equal(regcomp(&compiled, whole, REG_EXTENDED | REG_NOSUB), 0);
	while ((line = strsep(&rest, "\n")))
		num += !regexec(&compiled, line, 0, NULL, 0);
	regfree(&compiled);
	free(copy);
	return num;
}
