/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Runs a program in a zoo:
 *
 *   zoo [-o NAME=VALUE]... KIND[@ADDRESS[,ADDRESS]]... -- PROGRAM [ARGUMENT...]
 *
 * It makes a world with the adapters of these kinds, at 127.0.0.1 and above unless told, with a
 * second port where there is a second address, and keeps it until the program has ended, whose status is its own. Options are those of options.def, and
 * seed.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test/zoo/engine.h"

enum {
	WAKE,
	LISTEN,
	SIGNALS,
	FIRST
};

static struct pollfd fds[FIRST + ZOO_MAX_PROCS];
static struct zoo_proc *procs[FIRST + ZOO_MAX_PROCS];
static nfds_t num_fds = FIRST;

static __attribute__((noreturn)) void die(const char *what, int err)
{
	fprintf(stderr, "zoo: %s: %s\n", what, strerror(err));
	exit(99);
}

/* ---- The world ---- */

static void add_card(char *arg)
{
	struct zoo_card *card = &zoo->cards[zoo->num_cards];
	char *at = strchr(arg, '@'), *second = strchr(arg, ','), addr[32];
	const struct zoo_kind *kind;

	if (at)
		*at++ = 0;
	if (second)
		*second++ = 0;
	kind = zoo_kind_by_name(arg);
	if (!kind || zoo->num_cards == ZOO_MAX_CARDS)
		die(arg, EINVAL);
	snprintf(addr, sizeof(addr), "127.0.0.%u", zoo->num_cards + 1);
	if (inet_pton(AF_INET, at ? at : addr, &card->addr[0]) != 1 ||
	    (second && inet_pton(AF_INET, second, &card->addr[1]) != 1))
		die(at, EINVAL);
	card->number = zoo_kind_number(kind);
	zoo->num_cards++;
}

static void set_option(const char *arg)
{
	const struct {
		const char *name;
		uint32_t *value;
	} options[] = {
#define OPTION(name) { #name, &zoo->name },
#include "test/zoo/options.def"
#undef OPTION
	};
	const char *value = strchr(arg, '=');
	size_t i, len = value ? (size_t)(value - arg) : 0;

	for (i = 0; i < sizeof(options) / sizeof(options[0]); i++)
		if (strlen(options[i].name) == len && !strncmp(arg, options[i].name, len)) {
			*options[i].value = (uint32_t)strtoul(value + 1, NULL, 0);
			return;
		}
	if (len != 4 || strncmp(arg, "seed", 4))
		die(arg, EINVAL);
	zoo->random = strtoull(value + 1, NULL, 0);
}

/* ---- Time ---- */

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return !a || (b && b < a) ? b : a;
}

/* What is due; milliseconds until the next is, or -1. */
static int expire(void)
{
	uint64_t now = zoo_now(), next;
	struct zoo_link *link;
	struct zoo_qp *qp;

	zoo_lock();
	next = zoo->next_deadline;
	if (next && next <= now) {
		zoo->next_deadline = 0;
		next = earlier(zoo_wire_expired(now), zoo_datagrams_expired(now));
		for (link = zoo->qps; link; link = link->next) {
			qp = zoo_entry(link, struct zoo_qp, link);
			if (qp->deadline && qp->deadline <= now)
				zoo_qp_expired(qp);
			next = earlier(next, qp->deadline);
		}
		next = zoo->next_deadline = earlier(next, zoo->next_deadline);
	}
	zoo_unlock();
	if (!next)
		return -1;
	now = zoo_now();
	return next <= now ? 0 : (int)((next - now) / 1000000 + 1);
}

/* ---- Processes ---- */

static int open_socket(int type, uint32_t number)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0), len;

	len = snprintf(un.sun_path + 1, sizeof(un.sun_path) - 1, "zoo-%d-%u", getpid(), number);
	if (fd < 0 || bind(fd, (struct sockaddr *)&un,
			   (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)len)))
		die("socket", errno);
	return fd;
}

static void accept_process(void)
{
	uint32_t slot;
	int fd = accept4(fds[LISTEN].fd, NULL, NULL, SOCK_CLOEXEC);

	if (fd < 0 || num_fds == FIRST + ZOO_MAX_PROCS)
		return;
	if (recv(fd, &slot, sizeof(slot), MSG_WAITALL) != sizeof(slot)) {
		close(fd);
		return;
	}
	fds[num_fds] = (struct pollfd){ .fd = fd, .events = POLLIN };
	procs[num_fds++] = &zoo->procs[slot];
}

static void end_processes(void)
{
	nfds_t i;
	char byte;

	for (i = FIRST; i < num_fds; i++) {
		if (!fds[i].revents || recv(fds[i].fd, &byte, 1, MSG_DONTWAIT) > 0)
			continue;
		close(fds[i].fd);
		zoo_lock();
		zoo_proc_ended(procs[i]);
		zoo_unlock();
		fds[i] = fds[--num_fds];
		procs[i] = procs[num_fds];
		i--;
	}
}

/* The program's status, or -1 while it runs. */
static int ended(pid_t child)
{
	struct signalfd_siginfo info;
	int status;

	while (read(fds[SIGNALS].fd, &info, sizeof(info)) == sizeof(info))
		if (info.ssi_signo != SIGCHLD)
			kill(child, (int)info.ssi_signo);
	if (waitpid(child, &status, WNOHANG) != child)
		return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int keep(pid_t child)
{
	int status = -1;
	char byte;

	while (status < 0) {
		poll(fds, num_fds, expire());
		if (fds[WAKE].revents)
			while (recv(fds[WAKE].fd, &byte, 1, MSG_DONTWAIT) > 0)
				;
		end_processes();
		if (fds[LISTEN].revents)
			accept_process();
		if (fds[SIGNALS].revents)
			status = ended(child);
	}
	return status;
}

static pid_t start(char **argv, const sigset_t *before, int world)
{
	char name[64];
	pid_t child;

	snprintf(name, sizeof(name), "/proc/%d/fd/%d", getpid(), world);
	setenv("ZOO_WORLD", name, 1);
	child = fork();
	if (child < 0)
		die("fork", errno);
	if (child)
		return child;
	sigprocmask(SIG_SETMASK, before, NULL);
	execvp(argv[0], argv);
	die(argv[0], errno);
}

int main(int argc, char **argv)
{
	int world = memfd_create("zoo", MFD_CLOEXEC), err, i = 1;
	sigset_t signals, before;

	err = world < 0 ? errno : zoo_create(world);
	if (err)
		die("world", err);
	zoo->cm_timeout_ms = 4295; /* CMA_CM_RESPONSE_TIMEOUT: 4.096 us * 2^20 */
	zoo->cm_retries = 15;	   /* CMA_MAX_CM_RETRIES */
	for (; i < argc && strcmp(argv[i], "--"); i++)
		if (!strcmp(argv[i], "-o") && i + 1 < argc)
			set_option(argv[++i]);
		else
			add_card(argv[i]);
	if (i + 1 >= argc || !zoo->num_cards)
		die("zoo [-o NAME=VALUE]... KIND[@ADDRESS[,ADDRESS]]... -- PROGRAM [ARGUMENT...]",
		    EINVAL);
	sigemptyset(&signals);
	sigaddset(&signals, SIGCHLD);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	sigprocmask(SIG_BLOCK, &signals, &before);
	fds[WAKE] = (struct pollfd){ .fd = open_socket(SOCK_DGRAM, 0), .events = POLLIN };
	fds[LISTEN] =
		(struct pollfd){ .fd = open_socket(SOCK_STREAM, UINT32_MAX), .events = POLLIN };
	fds[SIGNALS] = (struct pollfd){ .fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK),
					.events = POLLIN };
	listen(fds[LISTEN].fd, ZOO_MAX_PROCS);
	return keep(start(argv + i + 1, &before, world));
}
