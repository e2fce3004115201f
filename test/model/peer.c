/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "test/model/peer.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct peer {
	int fd;
	pid_t pid;
	bool stopped;
	uint64_t until;
};

uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void serve(int fd, const char *ia_name, uint8_t *arena)
{
	static struct result result;
	struct exec_facts facts = { 0 };
	struct exec *exec = exec_open(ia_name, arena, false, &facts);
	struct call call;
	uint32_t rc;

	if (!exec || write(fd, &facts, sizeof(facts)) != sizeof(facts))
		_exit(1);
	while (read(fd, &call, sizeof(call)) == sizeof(call)) {
		exec_call(exec, &call, &result);
		if (write(fd, &result,
			  offsetof(struct result, seen) + result.seen_count * sizeof(struct seen)) <
		    0)
			_exit(1);
	}
	/* One byte is the order to close. */
	rc = exec_close(exec);
	_exit(write(fd, &rc, sizeof(rc)) != sizeof(rc));
}

static bool answer(struct peer *peer, void *out, size_t size)
{
	struct pollfd fd = { .fd = peer->fd, .events = POLLIN };

	return poll(&fd, 1, 30000) == 1 && read(peer->fd, out, size) > 0;
}

struct peer *peer_start(const char *ia_name, uint8_t *arena, struct exec_facts *facts)
{
	struct peer *peer = calloc(1, sizeof(*peer));
	int fd[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fd))
		return NULL;
	peer->pid = fork();
	if (!peer->pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(fd[0]);
		serve(fd[1], ia_name, arena);
	}
	close(fd[1]);
	peer->fd = fd[0];
	return answer(peer, facts, sizeof(*facts)) ? peer : NULL;
}

void peer_stop(struct peer *peer, unsigned int ms)
{
	kill(peer->pid, SIGSTOP);
	peer->stopped = true;
	peer->until = now_ms() + ms;
}

bool peer_stopped(struct peer *peer)
{
	if (peer->stopped && now_ms() >= peer->until) {
		kill(peer->pid, SIGCONT);
		peer->stopped = false;
	}
	return peer->stopped;
}

static void show(pid_t pid, const char *file)
{
	char path[64], line[200];
	FILE *in;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, file);
	in = fopen(path, "r");
	while (in && fgets(line, sizeof(line), in))
		fprintf(stderr, "other process, %s: %s", file, line);
	if (in)
		fclose(in);
}

/* Why there is no answer. */
static void explain(const struct peer *peer)
{
	siginfo_t info = { 0 };

	if (waitid(P_PID, (id_t)peer->pid, &info, WEXITED | WNOHANG | WNOWAIT) || !info.si_pid) {
		show(peer->pid, "syscall");
		show(peer->pid, "stack");
		return;
	}
	fprintf(stderr, "other process: %s %d\n",
		info.si_code == CLD_EXITED ? "ended with" : "killed by signal", info.si_status);
}

bool peer_call(struct peer *peer, const struct call *call, struct result *result)
{
	while (peer_stopped(peer))
		usleep(1000);
	if (send(peer->fd, call, sizeof(*call), MSG_NOSIGNAL) == sizeof(*call) &&
	    answer(peer, result, sizeof(*result)))
		return true;
	explain(peer);
	return false;
}

uint32_t peer_close(struct peer *peer)
{
	uint32_t rc = ~0U;

	while (peer_stopped(peer))
		usleep(1000);
	if (send(peer->fd, "", 1, MSG_NOSIGNAL) != 1 || !answer(peer, &rc, sizeof(rc))) {
		explain(peer);
		kill(peer->pid, SIGKILL);
	}
	waitpid(peer->pid, NULL, 0);
	close(peer->fd);
	free(peer);
	return rc;
}
