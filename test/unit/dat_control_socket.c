/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The control channel of a program that closes all descriptors that it does not know. */
#include "test/unit/dat_util.h"
#include "tools/control.h"
#include "util/compiler.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
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

static int lose_the_socket(void *arg)
{
	int before = num_threads(), low = dup(STDOUT_FILENO), listener, i;
	struct fake provider;
	DAT_IA_HANDLE ia;

	fake_init(&provider, "fake", 2, 0, DAT_TRUE);
	dat_registry_add_provider(&provider.table, &provider.info);
	EXPECT_RC(util_open("fake", 2, 0, DAT_TRUE, &ia), DAT_SUCCESS);
	EXPECT(ask() == 0);
	EXPECT(num_threads() == before + 1);
	listener = close_the_listener(*(int *)arg);
	EXPECT(listener < 1024);
	close(low); /* or the next socket would have the listener's number */
	ask();	    /* the thread may be asleep in what was closed */
	for (i = 0; i < 1000 && num_threads() > before; i++)
		poll(NULL, 0, 10);
	EXPECT(num_threads() == before);
	EXPECT_RC(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
	EXPECT(*(int *)arg < 0 || fcntl(listener, F_GETFD) >= 0); /* it is not ours */
	EXPECT_RC(util_open("fake", 2, 0, DAT_TRUE, &ia), DAT_SUCCESS);
	EXPECT(ask() == 0);
	EXPECT_RC(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
	return 0;
}

/* It would spin until the last close. */
static void the_thread_ends_without_its_socket(void **state)
{
	struct outcome o;
	int none = -1;

	(void)state;
#ifdef WITH_TSAN
	print_message("ThreadSanitizer ends a forked child that starts a thread\n");
	skip();
#endif
	util_child(lose_the_socket, &none, &o);
}

static void the_thread_ends_with_a_file_in_its_place(void **state)
{
	struct outcome o;
	FILE *file = tmpfile();
	int fd = fileno(file);

	(void)state;
#ifdef WITH_TSAN
	print_message("ThreadSanitizer ends a forked child that starts a thread\n");
	skip();
#endif
	util_child(lose_the_socket, &fd, &o);
	fclose(file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_thread_ends_without_its_socket),
		cmocka_unit_test(the_thread_ends_with_a_file_in_its_place),
	};

	util_conf("");
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, util_cleanup);
}
