/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The control channel of a process: who may ask, what is answered, and what it survives. */
#include "test/unit/dat_util.h"

#define DATS_WEAK
#include "dat/dats.h"
#include "tools/control.h"
#include "util/compiler.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOBODY 65534

static struct fake provider;

/* Thread-local variables of the program: a stack of 256 KiB that has them on it is too small. */
static __thread volatile char large[249 * 1024];

static int say(void *arg, const char *args, FILE *out)
{
	fprintf(out, "%s[%s]\n", (const char *)arg, args);
	return strcmp(args, "fail") ? 0 : -EXDEV;
}

static struct dats_command first = { .name = "say", .usage = "say WORDS", .run = say, .arg = "a" };
static struct dats_command second = { .name = "say", .run = say, .arg = "b" };

/* A uDAPL program that waits for its end: the child's part. */
static void be_program(int ready, int open)
{
	DAT_IA_HANDLE ia;

	prctl(PR_SET_PDEATHSIG, SIGKILL); /* if the test fails */
	fake_init(&provider, "fake", 2, 0, DAT_TRUE);
	dat_registry_add_provider(&provider.table, &provider.info);
	dats_control_add(&first);
	dats_control_add(&second);
	if (open && util_open("fake", 2, 0, DAT_TRUE, &ia) != DAT_SUCCESS)
		_exit(1);
	if (write(ready, "x", 1) != 1)
		_exit(1);
	pause();
	_exit(0);
}

static pid_t start(int open, const char *variable)
{
	int fds[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe(fds), 0);
	pid = fork();
	if (!pid) {
		if (variable)
			setenv("DAT_CONTROL", variable, 1);
		be_program(fds[1], open);
	}
	close(fds[1]);
	assert_int_equal(read(fds[0], &byte, 1), 1);
	close(fds[0]);
	return pid;
}

static void stop(pid_t pid)
{
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static char *answer, why[256];

static int ask(pid_t pid, const char *line)
{
	free(answer);
	answer = NULL;
	return control_ask(pid, line, &answer, why, sizeof(why));
}

static void commands_answer(void **state)
{
	pid_t pid = start(1, NULL);

	(void)state;
	large[0] = 1;
	assert_int_equal(ask(pid, "say  two words"), 0);
	assert_string_equal(answer, "a[two words]\nb[two words]\n");
	assert_int_equal(ask(pid, "say"), 0);
	assert_string_equal(answer, "a[]\nb[]\n");
	assert_int_equal(ask(pid, "help"), 0);
	assert_int_equal(util_count(answer, "say WORDS\n"), 1);
	stop(pid);
}

static void failures_are_told(void **state)
{
	char line[600];
	pid_t pid = start(1, NULL);

	(void)state;
	assert_int_equal(ask(pid, "sing"), -EINVAL);
	assert_non_null(strstr(why, "unknown command \"sing\""));
	assert_int_equal(ask(pid, ""), -EINVAL);
	assert_int_equal(ask(pid, "say fail"), -EINVAL);
	assert_non_null(strstr(why, strerror(EXDEV)));
	memset(line, 'x', sizeof(line));
	line[sizeof(line) - 1] = '\0';
	assert_int_equal(ask(pid, line), -EINVAL);
	assert_int_equal(ask(pid, "say on"), 0);
	stop(pid);
	assert_int_equal(ask(pid, "say"), -ESRCH);
	assert_non_null(strstr(why, "does not exist"));
}

static void nothing_before_the_first_open(void **state)
{
	pid_t pid = start(0, NULL);

	(void)state;
	assert_int_equal(ask(pid, "help"), -ECONNREFUSED);
	assert_non_null(strstr(why, "opened no uDAPL interface adapter"));
	stop(pid);
}

static int dial(pid_t pid)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int n = snprintf(addr.sun_path + 1, sizeof(addr.sun_path) - 1, DATS_CONTROL_NAME,
			 (long)pid);
	socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);

	if (connect(fd, (struct sockaddr *)&addr, size)) {
		close(fd);
		return -1;
	}
	return fd;
}

/* Opens twice, closes once, then again; a silent client is at hand. */
static int open_and_close(void *arg)
{
	DAT_IA_HANDLE one, two;
	int silent;

	(void)arg;
	fake_init(&provider, "fake", 2, 0, DAT_TRUE);
	dat_registry_add_provider(&provider.table, &provider.info);
	EXPECT_RC(util_open("fake", 2, 0, DAT_TRUE, &one), DAT_SUCCESS);
	EXPECT_RC(util_open("fake", 2, 0, DAT_TRUE, &two), DAT_SUCCESS);
	EXPECT_RC(dat_ia_close(one, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
	EXPECT(ask(getpid(), "help") == 0);
	silent = dial(getpid());
	EXPECT(silent >= 0);
	EXPECT_RC(dat_ia_close(two, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
	close(silent);
	EXPECT(ask(getpid(), "help") == -ECONNREFUSED);
	EXPECT_RC(util_open("fake", 2, 0, DAT_TRUE, &one), DAT_SUCCESS);
	EXPECT(ask(getpid(), "help") == 0);
	EXPECT_RC(dat_ia_close(one, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
	EXPECT(ask(getpid(), "help") == -ECONNREFUSED);
	return 0;
}

static void it_ends_with_the_last_close(void **state)
{
	struct outcome o;

	(void)state;
	util_child(open_and_close, NULL, &o);
	assert_int_equal(o.code, 0);
}

static void the_variable_forbids_it(void **state)
{
	pid_t pid = start(1, "no");

	(void)state;
	assert_int_equal(ask(pid, "help"), -ECONNREFUSED);
	stop(pid);
	pid = start(1, "yes");
	assert_int_equal(ask(pid, "help"), 0);
	stop(pid);
}

static void silent_and_hasty_clients_do_no_harm(void **state)
{
	pid_t pid = start(1, NULL);
	int silent = dial(pid), hasty = dial(pid), endless = dial(pid);
	char text[1024];

	(void)state;
	assert_true(silent >= 0 && hasty >= 0 && endless >= 0);
	assert_int_equal(send(hasty, "say x\n", 6, 0), 6);
	close(hasty);
	memset(text, 'x', sizeof(text));
	assert_true(send(endless, text, sizeof(text), MSG_NOSIGNAL) > 0);
	assert_int_equal(ask(pid, "say still"), 0);
	assert_string_equal(answer, "a[still]\nb[still]\n");
	close(silent);
	close(endless);
	stop(pid);
}

/* Says a little, again and again. */
static void drip(pid_t pid)
{
	const struct timespec moment = { .tv_nsec = 100000000 };
	int fd = dial(pid);

	while (fd >= 0 && send(fd, "x", 1, MSG_NOSIGNAL) == 1)
		nanosleep(&moment, NULL);
	_exit(0);
}

static void a_client_that_goes_on_for_long_does_no_harm(void **state)
{
	pid_t pid = start(1, NULL), client;

	(void)state;
	client = fork();
	if (!client)
		drip(pid);
	usleep(200000);
	assert_int_equal(ask(pid, "say still"), 0);
	assert_string_equal(answer, "a[still]\nb[still]\n");
	stop(client);
	stop(pid);
}

/* In the skin of another user: what it got as an answer, by the raw protocol and by the tool's. */
static int as_nobody(void *arg)
{
	pid_t pid = *(pid_t *)arg;
	char text[256] = "";
	int fd;

	if (setresuid(NOBODY, NOBODY, NOBODY))
		return 1;
	fd = dial(pid);
	if (fd < 0)
		return 2;
	send(fd, "help\n", 5, MSG_NOSIGNAL); /* it may have been refused and closed already */
	if (recv(fd, text, sizeof(text) - 1, MSG_WAITALL) < 0)
		return 3;
	printf("%s", text);
	printf("%d %s\n", ask(pid, "help"), why);
	return 0;
}

static void another_user_is_refused(void **state)
{
	struct outcome o;
	char expected[256];
	pid_t pid;

	(void)state;
	if (geteuid()) {
		print_message("taking another user's skin takes root\n");
		skip();
	}
	pid = start(1, NULL);
	util_child(as_nobody, &pid, &o);
	snprintf(expected, sizeof(expected),
		 "error: the process belongs to another user\n"
		 "-1 process %d belongs to another user (0)\n",
		 pid);
	assert_int_equal(o.code, 0);
	assert_string_equal(o.out, expected);
	assert_int_equal(ask(pid, "help"), 0);
	stop(pid);
}

/* The child's part: opens with rights that it then gives up. */
static int open_and_become_nobody(void *arg)
{
	DAT_IA_HANDLE ia;
	pid_t child;
	int status;

	(void)arg;
	fake_init(&provider, "fake", 2, 0, DAT_TRUE);
	dat_registry_add_provider(&provider.table, &provider.info);
	EXPECT_RC(util_open("fake", 2, 0, DAT_TRUE, &ia), DAT_SUCCESS);
	EXPECT(setresuid(NOBODY, NOBODY, NOBODY) == 0);
	child = fork();
	if (!child)
		_exit(ask(getppid(), "help"));
	EXPECT(waitpid(child, &status, 0) == child);
	EXPECT(status == 0);
	return 0;
}

static void who_gave_up_being_root_answers_whom_it_became(void **state)
{
	struct outcome o;

	(void)state;
	if (geteuid()) {
		print_message("giving up being root takes root\n");
		skip();
	}
	util_child(open_and_become_nobody, NULL, &o);
	assert_int_equal(o.code, 0);
}

/* Opens, forks, and lets the child open too. */
static int fork_and_open(void *arg)
{
	DAT_IA_HANDLE ia;
	int status;
	pid_t child;

	(void)arg;
	fake_init(&provider, "fake", 2, 0, DAT_TRUE);
	dat_registry_add_provider(&provider.table, &provider.info);
	EXPECT_RC(util_open("fake", 2, 0, DAT_TRUE, &ia), DAT_SUCCESS);
	/* The thread is at work: a sanitizer's locks that a new one holds would stay so in the
	 * child. */
	EXPECT(ask(getpid(), "help") == 0);
	child = fork();
	if (!child) {
		if (ask(getpid(), "help") != -ECONNREFUSED || ask(getppid(), "help"))
			_exit(1);
		if (util_open("fake", 2, 0, DAT_TRUE, &ia) != DAT_SUCCESS)
			_exit(2);
		_exit(ask(getpid(), "help") ? 3 : 0);
	}
	EXPECT(waitpid(child, &status, 0) == child);
	EXPECT(status == 0);
	EXPECT(ask(getpid(), "help") == 0);
	return 0;
}

static void a_forked_child_has_its_own(void **state)
{
	struct outcome o;

	(void)state;
#ifdef WITH_TSAN
	print_message("ThreadSanitizer ends a forked child that starts a thread\n");
	skip();
#endif
	util_child(fork_and_open, NULL, &o);
	assert_int_equal(o.code, 0);
}

/* Which of the standard descriptors are open. */
static int look(void *arg, const char *args, FILE *out)
{
	(void)arg;
	(void)args;
	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			fprintf(out, "%d is open\n", fd);
	return 0;
}

/* What is asked of a process without them is answered on another descriptor. */
static int answer_without_standard(void *arg)
{
	static struct dats_command command = { .name = "look", .run = look };
	int client, high = fcntl(STDERR_FILENO, F_DUPFD, 100);
	char text[64] = "";
	DAT_IA_HANDLE ia;

	(void)arg;
	dats_control_add(&command);
	fake_init(&provider, "fake", 2, 0, DAT_TRUE);
	dat_registry_add_provider(&provider.table, &provider.info);
	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		close(fd);
	EXPECT_RC(util_open("fake", 2, 0, DAT_TRUE, &ia), DAT_SUCCESS);
	client = dial(getpid());
	EXPECT(client == 0);
	client = fcntl(client, F_DUPFD, 100);
	close(0);
	EXPECT(send(client, "look\n", 5, MSG_NOSIGNAL) == 5);
	EXPECT(recv(client, text, sizeof(text) - 1, MSG_WAITALL) >= 0);
	close(client);
	dup2(high, STDERR_FILENO);
	EXPECT(!strcmp(text, "ok\n"));
	return 0;
}

static void the_standard_descriptors_stay_free(void **state)
{
	struct outcome o;

	(void)state;
	util_child(answer_without_standard, NULL, &o);
	assert_int_equal(o.code, 0);
}

static void process_ids(void **state)
{
	(void)state;
	assert_int_equal(control_pid("12"), 12);
	assert_int_equal(control_pid("0"), -1);
	assert_int_equal(control_pid("-1"), -1);
	assert_int_equal(control_pid("12x"), -1);
	assert_int_equal(control_pid(""), -1);
	assert_int_equal(control_pid("99999999999999999999"), -1);
}

static int clean_up(void **state)
{
	free(answer);
	return util_cleanup(state);
}

/* ---- A child still has the socket ---- */

static atomic_int binds_to_fail;

__attribute__((visibility("default"))) int bind(int fd, const struct sockaddr *addr, socklen_t size)
{
	if (atomic_load(&binds_to_fail) && atomic_fetch_sub(&binds_to_fail, 1)) {
		errno = EADDRINUSE;
		return -1;
	}
	return (int)syscall(SYS_bind, fd, addr, size);
}

static void a_child_that_is_about_to_close_the_socket_is_waited_for(void **state)
{
	struct fake own;
	DAT_IA_HANDLE ia;

	(void)state;
	fake_init(&own, "waiting", 2, 0, DAT_TRUE);
	assert_int_equal(dat_registry_add_provider(&own.table, &own.info), DAT_SUCCESS);
	/* A child that it might have forked meanwhile may have the socket still. */
	assert_int_equal(util_open("waiting", 2, 0, DAT_TRUE, &ia), DAT_SUCCESS);
	assert_int_equal(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	atomic_store(&binds_to_fail, 3);
	assert_int_equal(util_open("waiting", 2, 0, DAT_TRUE, &ia), DAT_SUCCESS);
	assert_int_equal(atomic_load(&binds_to_fail), 0);
	assert_int_equal(ask(getpid(), "help"), 0);
	assert_int_equal(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	assert_int_equal(dat_registry_remove_provider(&own.table, &own.info), DAT_SUCCESS);
}

#ifndef WITH_TSAN
/* As where two containers have a network in common, but no process ids. */
static void a_name_that_was_never_its_own_is_not_waited_for(void **state)
{
	DAT_IA_HANDLE ia;
	struct fake own;
	int status, rc;
	pid_t child;

	(void)state;
	fake_init(&own, "second", 2, 0, DAT_TRUE);
	assert_int_equal(dat_registry_add_provider(&own.table, &own.info), DAT_SUCCESS);
	child = fork();
	if (!child) {
		alarm(60);
		atomic_store(&binds_to_fail, 3);
		rc = util_open("second", 2, 0, DAT_TRUE, &ia) != DAT_SUCCESS;
		_exit(rc ? 100 : atomic_load(&binds_to_fail));
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 2 << 8);
	assert_int_equal(dat_registry_remove_provider(&own.table, &own.info), DAT_SUCCESS);
}

/* ---- A fork while the thread ends ---- */

static atomic_int watched, forked;
static int child_says[2];
static pid_t forked_child;

static void *fork_now(void *arg)
{
	pid_t pid = fork();

	(void)arg;
	if (!pid) {
		alarm(60);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (write(child_says[1], "x", 1) == 1)
			pause();
		_exit(1);
	}
	forked_child = pid;
	atomic_store(&forked, 1);
	return NULL;
}

static pthread_t forker;

/* Another thread forks when the channel's socket is about to be closed, unless it has to wait. */
__attribute__((visibility("default"))) int close(int fd)
{
	struct sockaddr_un name = { .sun_family = AF_UNSPEC };
	socklen_t size = sizeof(name);
	int i;

	if (atomic_load(&watched) && !getsockname(fd, (struct sockaddr *)&name, &size) &&
	    name.sun_family == AF_UNIX && atomic_exchange(&watched, 0)) {
		if (pthread_create(&forker, NULL, fork_now, NULL))
			abort();
		for (i = 0; i < 100 && !atomic_load(&forked); i++)
			poll(NULL, 0, 10);
	}
	return (int)syscall(SYS_close, fd);
}

static int bind_own_name(void)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int n = snprintf(addr.sun_path + 1, sizeof(addr.sun_path) - 1, DATS_CONTROL_NAME,
			 (long)getpid());
	int rc = bind(fd, (struct sockaddr *)&addr,
		      (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n));

	close(fd);
	return rc;
}

static void a_child_forked_at_the_end_does_not_keep_the_name(void **state)
{
	struct fake own;
	DAT_IA_HANDLE ia;
	char byte;

	(void)state;
	fake_init(&own, "own", 2, 0, DAT_TRUE);
	assert_int_equal(dat_registry_add_provider(&own.table, &own.info), DAT_SUCCESS);
	assert_int_equal(pipe(child_says), 0);
	assert_int_equal(util_open("own", 2, 0, DAT_TRUE, &ia), DAT_SUCCESS);
	assert_int_equal(bind_own_name(), -1);
	atomic_store(&watched, 1);
	assert_int_equal(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	assert_int_equal(atomic_load(&watched), 0);
	pthread_join(forker, NULL);
	assert_int_equal(read(child_says[0], &byte, 1), 1);
	assert_int_equal(bind_own_name(), 0);
	kill(forked_child, SIGKILL);
	assert_int_equal(waitpid(forked_child, NULL, 0), forked_child);
	close(child_says[0]);
	close(child_says[1]);
	assert_int_equal(dat_registry_remove_provider(&own.table, &own.info), DAT_SUCCESS);
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(commands_answer),
		cmocka_unit_test(failures_are_told),
		cmocka_unit_test(nothing_before_the_first_open),
		cmocka_unit_test(it_ends_with_the_last_close),
		cmocka_unit_test(the_variable_forbids_it),
		cmocka_unit_test(silent_and_hasty_clients_do_no_harm),
		cmocka_unit_test(a_client_that_goes_on_for_long_does_no_harm),
		cmocka_unit_test(another_user_is_refused),
		cmocka_unit_test(who_gave_up_being_root_answers_whom_it_became),
		cmocka_unit_test(a_forked_child_has_its_own),
		cmocka_unit_test(the_standard_descriptors_stay_free),
		cmocka_unit_test(process_ids),
		cmocka_unit_test(a_child_that_is_about_to_close_the_socket_is_waited_for),
#ifndef WITH_TSAN
		cmocka_unit_test(a_name_that_was_never_its_own_is_not_waited_for),
		cmocka_unit_test(a_child_forked_at_the_end_does_not_keep_the_name),
#endif
	};

	util_conf("");
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, clean_up);
}
