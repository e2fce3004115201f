/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Questions and orders from outside the process, for the same user only: one line in, text out.
 *
 * The name is an abstract Unix address made of the process id, so nothing is left behind when the
 * process ends. A thread waits for clients, from the first open of an IA to the last close.
 */
#include "trace/control.h"
#include "util/clock.h"
#include "util/fd.h"
#include "util/thread.h"
#include "trace/dat_log.h"

#include <ctype.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/auxv.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define STACK_SIZE    (256 << 10)
#define ANSWER_WAIT   2000000000u /* nanoseconds that a client may let this thread wait */
#define NO_ROOM_PAUSE 1000	  /* milliseconds between attempts to accept without a descriptor */
#define LOOK_AGAIN    10000 /* milliseconds, should the program just have replaced the socket */
#define NAME_PAUSE    10    /* milliseconds between attempts to take the name */
#define NAME_ATTEMPTS 100
#define BACKLOG	      8

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of the list of commands */
static struct dats_command *commands;

/* The thread, from open to close. */
static struct {
	pthread_mutex_t lock;
	unsigned int users; /* open IAs */
	pthread_t thread;
	int running;
	struct dats_own_fd listener, client; /* client: who is being answered */
	int ending;
	int had_name;
} control = { .lock = PTHREAD_MUTEX_INITIALIZER, .listener.fd = -1, .client.fd = -1 };

/* Of both descriptors, inside the other: a fork finds each of them known, or not open. */
pthread_mutex_t dat_control_lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- Commands ---- */

int dats_control_add(struct dats_command *command)
{
	struct dats_command **link;

	if (!command->name || !*command->name || !command->run)
		return -EINVAL;
	pthread_mutex_lock(&lock);
	/* A child of a process that was about to add it does so again. */
	for (link = &commands; *link && *link != command; link = &(*link)->next)
		;
	if (!*link) {
		command->next = NULL;
		__atomic_store_n(link, command, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&lock);
	return 0;
}

/* Commands are only added, at the end: readers need no lock, and may add some themselves. */
static struct dats_command *next_command(struct dats_command **link)
{
	return __atomic_load_n(link, __ATOMIC_ACQUIRE);
}

static void help(FILE *out)
{
	struct dats_command *command, *other;

	for (command = next_command(&commands); command; command = next_command(&command->next)) {
		for (other = commands; strcmp(other->name, command->name); other = other->next)
			;
		if (other == command) /* the first of that name */
			fprintf(out, "%s\n", command->usage ? command->usage : command->name);
	}
}

int dats_control_run(const char *line, FILE *out)
{
	size_t length = strcspn(line, " \t\r\n");
	const char *args = line + length + strspn(line + length, " \t\r\n");
	struct dats_command *command;
	char name[DATS_CONTROL_LINE];
	int rc = 0, known = 0;

	if (length >= sizeof(name))
		return -EINVAL;
	memcpy(name, line, length);
	name[length] = '\0';
	if (!strcmp(name, "help")) {
		help(out);
		return 0;
	}
	for (command = next_command(&commands); command && !rc;
	     command = next_command(&command->next))
		if (!strcmp(command->name, name)) {
			known = 1;
			rc = command->run(command->arg, args, out);
		}
	return known ? rc : -ENOENT;
}

/* ---- The thread ---- */

/*
 * Whether something can be done with the client's descriptor before the deadline. Nothing else may
 * wait: the program may have replaced it.
 */
static bool await(int fd, short events, uint64_t deadline)
{
	struct pollfd client = { .fd = fd, .events = events };
	uint64_t now;
	int n;

	do {
		now = dats_clock(CLOCK_MONOTONIC);
		n = poll(&client, 1, now < deadline ? (int)((deadline - now) / 1000000) + 1 : 0);
	} while (n < 0 && errno == EINTR);
	return n > 0;
}

/* As long as it takes some of it in time. */
static void send_all(int fd, const char *text, size_t length)
{
	ssize_t n;

	while (length && await(fd, POLLOUT, dats_clock(CLOCK_MONOTONIC) + ANSWER_WAIT)) {
		n = send(fd, text, length, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0 && errno != EAGAIN)
			return;
		if (n > 0) {
			text += n;
			length -= (size_t)n;
		}
	}
}

static void refuse(int fd, const char *reason)
{
	char text[128];
	int n = snprintf(text, sizeof(text), "error: %s\n", reason);

	send_all(fd, text, (size_t)n);
}

/* One line without its end; 0, or -1 if there is none in time or it is too long. */
static int read_line(int fd, char *line, size_t size)
{
	uint64_t deadline = dats_clock(CLOCK_MONOTONIC) + ANSWER_WAIT;
	size_t length = 0;
	ssize_t n;

	while (length < size - 1 && await(fd, POLLIN, deadline)) {
		n = recv(fd, line + length, size - 1 - length, MSG_DONTWAIT);
		if (n < 0 && errno == EAGAIN)
			continue;
		if (n <= 0)
			return -1;
		length += (size_t)n;
		line[length] = '\0';
		if (strchr(line, '\n')) {
			*strchr(line, '\n') = '\0';
			return 0;
		}
	}
	return -1;
}

static void answer(int fd, const char *line)
{
	char *text = NULL, first[DATS_CONTROL_LINE + 64];
	size_t length = 0;
	FILE *out = open_memstream(&text, &length);
	int rc;

	if (!out) {
		refuse(fd, "no memory");
		return;
	}
	rc = dats_control_run(line, out);
	if (fclose(out))
		rc = -ENOMEM;
	if (rc == -ENOENT)
		snprintf(first, sizeof(first),
			 "error: unknown command \"%s\"; \"help\" lists them\n", line);
	else if (rc)
		snprintf(first, sizeof(first), "error: %s\n", dat_errno_text(-rc));
	else
		snprintf(first, sizeof(first), "ok\n");
	send_all(fd, first, strlen(first));
	send_all(fd, text, length);
	free(text);
}

static void serve(int fd)
{
	struct ucred peer = { .uid = (uid_t)-1 };
	socklen_t size = sizeof(peer);
	char line[DATS_CONTROL_LINE];

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) || peer.uid != geteuid())
		refuse(fd, "the process belongs to another user");
	else if (read_line(fd, line, sizeof(line)))
		refuse(fd, "no line, or too long a one");
	else
		answer(fd, line);
}

/* The name by which this process is asked; its length. */
static socklen_t own_name(struct sockaddr_un *addr)
{
	int n;

	*addr = (struct sockaddr_un){ .sun_family = AF_UNIX };
	n = snprintf(addr->sun_path + 1, sizeof(addr->sun_path) - 1, DATS_CONTROL_NAME,
		     (long)getpid());
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
}

/* The next client, whom the end of the thread cuts off; -1: none yet, or EBADF: and none to come. */
static int take_client(int listener)
{
	int err = EBADF;

	pthread_mutex_lock(&dat_control_lock);
	if (!dats_own_fd_is_ours(&control.listener))
		control.listener.fd = -1;
	else if (!control.ending)
		err = dats_own_fd_take(&control.client,
				       accept4(listener, NULL, NULL, SOCK_CLOEXEC));
	pthread_mutex_unlock(&dat_control_lock);
	errno = err;
	return control.client.fd;
}

static void close_own(struct dats_own_fd *own)
{
	pthread_mutex_lock(&dat_control_lock);
	dats_own_fd_close(own);
	pthread_mutex_unlock(&dat_control_lock);
}

static void *control_thread(void *arg)
{
	struct pollfd from = { .fd = (int)(intptr_t)arg, .events = POLLIN };
	int fd;

	for (;;) {
		fd = take_client(from.fd);
		if (fd >= 0) {
			serve(fd);
			close_own(&control.client);
		} else if (errno == EBADF || errno == EINVAL) { /* lost, or shut down */
			return NULL;
		} else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS ||
			   errno == ENOMEM) {
			poll(NULL, 0, NO_ROOM_PAUSE);
		} else {
			poll(&from, 1, LOOK_AGAIN);
		}
	}
}

/* ---- Its life ---- */

/* A child that was forked may not have closed the socket yet that had the name before. */
static int listen_by_name(int fd)
{
	int rc, attempts = control.had_name ? NAME_ATTEMPTS : 1;
	struct sockaddr_un addr;
	socklen_t size = own_name(&addr);

	while ((rc = bind(fd, (struct sockaddr *)&addr, size)) && errno == EADDRINUSE && --attempts)
		poll(NULL, 0, NAME_PAUSE);
	return rc || listen(fd, BACKLOG) ? errno : 0;
}

static void start(void)
{
	int fd, err;

	pthread_mutex_lock(&dat_control_lock);
	err = dats_own_fd_take(&control.listener,
			       socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
	fd = control.listener.fd;
	pthread_mutex_unlock(&dat_control_lock);
	if (!err)
		err = listen_by_name(fd);
	if (!err)
		err = dats_thread_start(&control.thread, "udapl-control", STACK_SIZE,
					control_thread, (void *)(intptr_t)fd);
	control.running = !err;
	if (!err)
		return;
	close_own(&control.listener);
	dat_diag("dat-info and dat-trace cannot look into process %ld: %s", (long)getpid(),
		 dat_errno_text(err));
}

/* Wakes a thread that sleeps in a socket that has no number any more; dat_control_lock held. */
static void call_thread(void)
{
	int fd = dats_fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
	struct sockaddr_un addr;
	socklen_t size = own_name(&addr);

	if (fd < 0)
		return;
	(void)!connect(fd, (struct sockaddr *)&addr, size);
	close(fd);
}

/* A client that keeps the thread waiting is cut off. */
static void stop(void)
{
	pthread_mutex_lock(&dat_control_lock);
	control.ending = 1;
	if (dats_own_fd_is_ours(&control.client))
		shutdown(control.client.fd, SHUT_RDWR);
	if (dats_own_fd_is_ours(&control.listener)) {
		shutdown(control.listener.fd, SHUT_RDWR);
	} else {
		control.listener.fd = -1;
		call_thread();
	}
	pthread_mutex_unlock(&dat_control_lock);
	pthread_join(control.thread, NULL);
	close_own(&control.listener);
	control.running = control.ending = 0;
	control.had_name = 1;
}

void dat_control_abandon(void)
{
	pthread_mutex_init(&lock, NULL);
	pthread_mutex_init(&control.lock, NULL);
	close_own(&control.listener);
	close_own(&control.client);
	control.users = 0;
	control.running = control.ending = control.had_name = 0;
}

static int forbidden;

static void read_environment(void)
{
	const char *setting = secure_getenv("DAT_CONTROL");

	forbidden = getauxval(AT_SECURE) ||
		    (setting && (!strcmp(setting, "0") || !strcasecmp(setting, "no") ||
				 !strcasecmp(setting, "off") || !strcasecmp(setting, "false")));
}

static struct dats_command own_commands[] = {
	{ .name = "trace",
	  .usage = "trace [LEVEL | DAT_LEVEL DAPL_LEVEL]: the trace levels, 0 to 10; -1 keeps one",
	  .run = dat_trace_command },
	{ .name = "dump",
	  .usage = "dump: the last records up to level 3 of every thread",
	  .run = dat_trace_dump_command },
	{ .name = "points",
	  .usage = "points: all trace points with component, name, level and arguments",
	  .run = dat_trace_points_command },
};

__attribute__((constructor)) static void add_own_commands(void)
{
	size_t i;

	for (i = 0; i < sizeof(own_commands) / sizeof(own_commands[0]); i++)
		dats_control_add(&own_commands[i]);
}

void dat_control_open(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	int saved = errno;

	pthread_once(&once, read_environment);
	pthread_mutex_lock(&control.lock);
	control.users++;
	if (!control.running && !forbidden)
		start();
	pthread_mutex_unlock(&control.lock);
	errno = saved;
}

void dat_control_close(void)
{
	pthread_mutex_lock(&control.lock);
	if (control.users && !--control.users && control.running)
		stop();
	pthread_mutex_unlock(&control.lock);
}
