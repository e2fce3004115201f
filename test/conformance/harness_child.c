/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Parts of a program that run in a process of their own, with their output caught. */
#include "harness.h"
#include "test/anew.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	CHILD_US = 60 * 1000 * 1000, /* no child needs more */
};

void harness_child_main(int argc, char **argv, const struct harness_child *children)
{
	if (argc != 3 || strcmp(argv[1], "--child") != 0)
		return;
	/* A child must not outlive the test that started it. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (; children->name != NULL; children++) {
		if (strcmp(children->name, argv[2]) == 0)
			exit(children->run());
	}
	fprintf(stderr, "no child is called %s\n", argv[2]);
	exit(125);
}

bool harness_strict(void)
{
	const char *env = getenv("DAPL_STRICT");

	return env != NULL && strcmp(env, "1") == 0;
}

static void become(const char *name, const char *const *env, int out, int err)
{
	dup2(out, STDOUT_FILENO);
	dup2(err, STDERR_FILENO);
	for (; env != NULL && *env != NULL; env++)
		putenv(strdup(*env));
	EXEC_ANEW("--child", name);
	_exit(126);
}

/* One end of a pipe, and the buffer for what comes out of it. */
struct caught {
	int fd;
	char *text;
	size_t used, size;
};

/* Whether the pipe is still open. What does not fit is read and forgotten. */
static bool catch_some(struct caught *caught)
{
	char spare[512];
	size_t room = caught->size - caught->used - 1;
	ssize_t n = room > 0 ? read(caught->fd, caught->text + caught->used, room)
			     : read(caught->fd, spare, sizeof(spare));

	if (n < 0)
		return errno == EINTR || errno == EAGAIN;
	if (room > 0)
		caught->used += (size_t)n;
	caught->text[caught->used] = '\0';
	return n > 0;
}

static bool catch_all(struct caught *out, struct caught *err, uint64_t deadline)
{
	struct pollfd fds[2] = { { .fd = out->fd, .events = POLLIN },
				 { .fd = err->fd, .events = POLLIN } };

	while (fds[0].fd >= 0 || fds[1].fd >= 0) {
		uint64_t now = ct_now_us();

		if (now >= deadline)
			return false;
		if (poll(fds, 2, (int)((deadline - now) / 1000 + 1)) <= 0)
			continue;
		if (fds[0].revents != 0 && !catch_some(out))
			fds[0].fd = -1;
		if (fds[1].revents != 0 && !catch_some(err))
			fds[1].fd = -1;
	}
	return true;
}

void harness_spawn(const char *name, const char *const *env, struct harness_result *result)
{
	struct caught out = { .text = result->out, .size = sizeof(result->out) };
	struct caught err = { .text = result->err, .size = sizeof(result->err) };
	int outs[2], errs[2];
	bool ended;
	pid_t pid;

	memset(result, 0, sizeof(*result));
	assert_int_equal(pipe2(outs, O_CLOEXEC), 0);
	assert_int_equal(pipe2(errs, O_CLOEXEC), 0);
	fflush(NULL);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		become(name, env, outs[1], errs[1]);
	close(outs[1]);
	close(errs[1]);
	out.fd = outs[0];
	err.fd = errs[0];
	ended = catch_all(&out, &err, ct_now_us() + CHILD_US);
	if (!ended)
		kill(pid, SIGKILL);
	while (waitpid(pid, &result->status, 0) < 0 && errno == EINTR)
		;
	close(outs[0]);
	close(errs[0]);
	if (!ended)
		fail_msg("child %s does not end; it wrote:\n%s%s", name, result->out, result->err);
}

void harness_spawn_ok(const char *name, const char *const *env)
{
	static struct harness_result result;

	harness_spawn(name, env, &result);
	if (WIFEXITED(result.status) && WEXITSTATUS(result.status) == 0)
		return;
	fail_msg("child %s ended with status 0x%x; it wrote:\n%s%s", name,
		 (unsigned int)result.status, result.out, result.err);
}

void harness_both_strict(const char *name)
{
	static const char *const strict[] = { "DAPL_STRICT=1", NULL };
	static const char *const relaxed[] = { "DAPL_STRICT=0", NULL };

	harness_spawn_ok(name, relaxed);
	harness_spawn_ok(name, strict);
}
