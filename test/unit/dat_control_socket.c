/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The control channel of a program that closes all descriptors that it does not know. */
#include "test/unit/dat_util.h"
#include "dat/dats.h"
#include "tools/control.h"
#include "util/compiler.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static int ask(void)
{
	char *answer = NULL, why[256];
	int rc = control_ask(getpid(), "help", &answer, why, sizeof(why));

	free(answer);
	return rc;
}

static int listens(int fd)
{
	socklen_t size = sizeof(int);
	int listening = 0;

	return !getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listening, &size) && listening;
}

/* The number that it had. */
static int close_the_listener(int in_its_place)
{
	int fd = 0;

	while (fd < 1024 && !listens(fd))
		fd++;
	if (in_its_place < 0)
		close(fd);
	else
		dup2(in_its_place, fd);
	return fd;
}

static int num_threads(void)
{
	DIR *dir = opendir("/proc/self/task");
	struct dirent *entry;
	int num = 0;

	while ((entry = readdir(dir)))
		num += *entry->d_name != '.';
	closedir(dir);
	return num;
}

/* The kernel may list a thread a little longer than it can be joined. */
static int threads_become(int num)
{
	for (int i = 0; i < 1000 && num_threads() != num; i++)
		poll(NULL, 0, 10);
	return num_threads() == num;
}

struct loss {
	int in_its_place; /* -1: nothing */
	int asked;	  /* by somebody, before the close */
};

static int lose_the_socket(void *arg)
{
	int before = num_threads(), low = dup(STDOUT_FILENO), listener;
	const struct loss *loss = arg;
	struct fake provider;
	DAT_IA_HANDLE ia;

	fake_init(&provider, "fake", 2, 0, DAT_TRUE);
	dat_registry_add_provider(&provider.table, &provider.info);
	EXPECT_RC(util_open("fake", 2, 0, DAT_TRUE, &ia), DAT_SUCCESS);
	EXPECT(ask() == 0);
	EXPECT(threads_become(before + 1));
	listener = close_the_listener(loss->in_its_place);
	EXPECT(listener < 1024);
	close(low); /* or the next socket would have the listener's number */
	if (loss->asked) {
		ask(); /* the thread is asleep in what was closed */
		EXPECT(threads_become(before));
	}
	EXPECT_RC(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
	EXPECT(threads_become(before));
	/* It is not ours. */
	EXPECT(loss->in_its_place < 0 || write(listener, "", 1) == 1);
	EXPECT_RC(util_open("fake", 2, 0, DAT_TRUE, &ia), DAT_SUCCESS);
	EXPECT(ask() == 0);
	EXPECT_RC(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
	return 0;
}

static void lose(int in_its_place)
{
	struct outcome o;

#ifdef WITH_TSAN
	print_message("ThreadSanitizer ends a forked child that starts a thread\n");
	skip();
#endif
	for (int asked = 0; asked < 2; asked++)
		util_child(lose_the_socket, &(struct loss){ in_its_place, asked }, &o);
}

/* It would spin until the last close, or that wait for it for ever. */
static void the_thread_ends_without_its_socket(void **state)
{
	(void)state;
	lose(-1);
}

static void the_thread_ends_with_a_file_in_its_place(void **state)
{
	FILE *file = tmpfile();

	(void)state;
	lose(fileno(file));
	fclose(file);
}

static void the_thread_ends_with_a_socket_in_its_place(void **state)
{
	int pair[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	lose(pair[0]);
	close(pair[0]);
	close(pair[1]);
}

/* ---- A fork behind it ---- */

static int connect_by_name(void)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int n = snprintf(addr.sun_path + 1, sizeof(addr.sun_path) - 1, DATS_CONTROL_NAME,
			 (long)getpid());

	EXPECT(!connect(fd, (struct sockaddr *)&addr,
			(socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n)));
	return fd;
}

/* The number that the thread has for its client, once it has one. */
static int accepted(int listener)
{
	struct sockaddr_un name, other;
	socklen_t size = sizeof(name), length;
	int fd, i;

	EXPECT(!getsockname(listener, (struct sockaddr *)&name, &size));
	for (i = 0; i < 1000; i++) {
		for (fd = 0; fd < 1024; fd++) {
			length = sizeof(other);
			if (fd != listener &&
			    !getsockname(fd, (struct sockaddr *)&other, &length) &&
			    length == size && !memcmp(&name, &other, size))
				return fd;
		}
		poll(NULL, 0, 10);
	}
	return -1;
}

static int fork_without_them(void *arg)
{
	int pair[2], client, listener, status = 0;
	struct fake provider;
	DAT_IA_HANDLE ia;
	pid_t child;

	(void)arg;
	EXPECT(!socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	fake_init(&provider, "fake", 2, 0, DAT_TRUE);
	dat_registry_add_provider(&provider.table, &provider.info);
	EXPECT_RC(util_open("fake", 2, 0, DAT_TRUE, &ia), DAT_SUCCESS);
	for (listener = 0; !listens(listener); listener++)
		;
	EXPECT(connect_by_name() >= 0);
	client = accepted(listener);
	EXPECT(client >= 0);
	EXPECT(dup2(pair[0], client) == client && dup2(pair[1], listener) == listener);
	child = fork();
	if (!child)
		_exit(write(client, "", 1) != 1 || write(listener, "", 1) != 1);
	EXPECT(waitpid(child, &status, 0) == child);
	EXPECT(status == 0);
	EXPECT_RC(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
	EXPECT(write(client, "", 1) == 1 && write(listener, "", 1) == 1);
	return 0;
}

/* GEN-33: a child leaves open what the program has in the place of what it closed; so does the end. */
static void a_child_has_what_the_program_opened(void **state)
{
	struct outcome o;

	(void)state;
#ifdef WITH_TSAN
	print_message("ThreadSanitizer has a descriptor's numbers for one thread's at a time\n");
	skip();
#endif
	util_child(fork_without_them, NULL, &o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_thread_ends_without_its_socket),
		cmocka_unit_test(the_thread_ends_with_a_file_in_its_place),
		cmocka_unit_test(the_thread_ends_with_a_socket_in_its_place),
		cmocka_unit_test(a_child_has_what_the_program_opened),
	};

	util_conf("");
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, util_cleanup);
}
