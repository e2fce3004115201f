/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "peer.h"
#include "test/anew.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	MAX_PEERS = 8,
	PEER_MS = 60000, /* a child may itself wait for several things that take CT_MS each */
};

static struct peer peers[MAX_PEERS];

static void no_signals_left_over(void)
{
	/* A child must not outlive the test that started it. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() == 1)
		_exit(1);
}

void peer_main(int argc, char **argv, const struct peer_role *roles)
{
	if (argc != 4 || strcmp(argv[1], "--peer") != 0)
		return;
	no_signals_left_over();
	for (; roles->name != NULL; roles++) {
		if (strcmp(roles->name, argv[2]) != 0)
			continue;
		roles->run(atoi(argv[3]));
		exit(0);
	}
	exit(2);
}

static void exec_role(const char *role, int fd)
{
	const char *conf = getenv("UDAPL_PEER_CONF");
	char number[16];

	if (conf)
		setenv("DAT_OVERRIDE", conf, 1);
	snprintf(number, sizeof(number), "%d", fd);
	fcntl(fd, F_SETFD, 0);
	/* Standard output is the parent's TAP stream. */
	dup2(STDERR_FILENO, STDOUT_FILENO);
	EXEC_ANEW("--peer", role, number);
	_exit(3);
}

struct peer *peer_start(const char *role)
{
	struct peer *peer = peers;
	int fds[2];

	while (peer->pid != 0)
		peer++;
	assert_true(peer < peers + MAX_PEERS);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
	fflush(NULL);
	peer->pid = fork();
	assert_true(peer->pid >= 0);
	if (peer->pid == 0)
		exec_role(role, fds[1]);
	close(fds[1]);
	peer->fd = fds[0];
	return peer;
}

static void wait_ready(int fd, short events)
{
	struct pollfd pfd = { .fd = fd, .events = events };
	uint64_t deadline = (ct_now_us() / 1000) + PEER_MS;
	int n;

	do {
		n = poll(&pfd, 1, PEER_MS);
	} while (n < 0 && errno == EINTR && (ct_now_us() / 1000) < deadline);
	if (n != 1)
		fail_msg("the other process is silent");
}

void peer_put(int fd, const void *buf, size_t len)
{
	const char *p = buf;

	while (len > 0) {
		ssize_t n = send(fd, p, len, MSG_NOSIGNAL);

		if (n < 0)
			fail_msg("cannot write to the other process: %s", strerror(errno));
		p += n;
		len -= (size_t)n;
	}
}

void peer_get(int fd, void *buf, size_t len)
{
	char *p = buf;

	while (len > 0) {
		ssize_t n;

		wait_ready(fd, POLLIN);
		n = recv(fd, p, len, 0);
		if (n <= 0)
			fail_msg("the other process is gone");
		p += n;
		len -= (size_t)n;
	}
}

void peer_put_word(int fd, uint64_t word)
{
	peer_put(fd, &word, sizeof(word));
}

uint64_t peer_get_word(int fd)
{
	uint64_t word;

	peer_get(fd, &word, sizeof(word));
	return word;
}

struct peer_service peer_service(const DAT_SOCK_ADDR *addr, DAT_CONN_QUAL qual)
{
	struct peer_service service = { .qual = qual };

	memcpy(&service.addr, addr,
	       addr->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6)
					   : sizeof(struct sockaddr_in));
	return service;
}

void peer_put_service(int fd, const struct cu_rig *rig)
{
	struct peer_service service = peer_service(rig->attr.ia_address_ptr, rig->qual);

	peer_put(fd, &service, sizeof(service));
}

struct peer_service peer_get_service(int fd)
{
	struct peer_service service;

	peer_get(fd, &service, sizeof(service));
	return service;
}

DAT_RETURN peer_connect(struct ct_end *end, const struct peer_service *to, DAT_TIMEOUT timeout)
{
	return dat_ep_connect(end->ep, (DAT_IA_ADDRESS_PTR)&to->addr, to->qual, timeout, 0, NULL,
			      DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG);
}

void peer_stop(struct peer *peer)
{
	int status;

	assert_int_equal(kill(peer->pid, SIGSTOP), 0);
	assert_int_equal(waitpid(peer->pid, &status, WUNTRACED), peer->pid);
	assert_true(WIFSTOPPED(status));
}

void peer_continue(struct peer *peer)
{
	assert_int_equal(kill(peer->pid, SIGCONT), 0);
}

static void forget(struct peer *peer)
{
	close(peer->fd);
	memset(peer, 0, sizeof(*peer));
}

void peer_kill(struct peer *peer)
{
	int status;

	kill(peer->pid, SIGKILL);
	while (waitpid(peer->pid, &status, 0) < 0 && errno == EINTR)
		;
	forget(peer);
}

void peer_finish(struct peer *peer)
{
	uint64_t deadline = (ct_now_us() / 1000) + PEER_MS;
	int status;
	pid_t pid;

	shutdown(peer->fd, SHUT_WR);
	while ((pid = waitpid(peer->pid, &status, WNOHANG)) == 0) {
		if ((ct_now_us() / 1000) > deadline) {
			peer_kill(peer);
			fail_msg("the other process does not end");
		}
		ct_pause();
	}
	forget(peer);
	assert_true(pid > 0);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		fail_msg("the other process failed, status 0x%x", status);
}

void peer_end_all(void)
{
	for (struct peer *peer = peers; peer < peers + MAX_PEERS; peer++) {
		if (peer->pid != 0)
			peer_kill(peer);
	}
}
