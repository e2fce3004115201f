/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "tools/control.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "dat/dats.h"

#define WAIT_SECONDS 10

pid_t control_pid(const char *text)
{
	char *end;
	long pid;

	errno = 0;
	pid = strtol(text, &end, 10);
	return errno || end == text || *end || pid <= 0 || pid != (pid_t)pid ? -1 : (pid_t)pid;
}

/* Whether there is no such process, or one whose parent has not been told yet. */
static bool has_ended(pid_t pid)
{
	char path[32], text[256], *name_end;
	size_t length;
	FILE *file;

	if (kill(pid, 0) && errno == ESRCH)
		return true;
	snprintf(path, sizeof(path), "/proc/%ld/stat", (long)pid);
	file = fopen(path, "r");
	if (!file)
		return false;
	length = fread(text, 1, sizeof(text) - 1, file);
	fclose(file);
	text[length] = '\0';
	name_end = strrchr(text, ')'); /* no other one behind the name */
	return name_end && (!strncmp(name_end, ") Z", 3) || !strncmp(name_end, ") X", 3));
}

/* Why nobody answers at the name of a process. */
static int explain(pid_t pid, int err, char *why, size_t size)
{
	if (has_ended(pid)) {
		snprintf(why, size, "process %ld does not exist", (long)pid);
		return -ESRCH;
	}
	if (err == ECONNREFUSED) {
		snprintf(
			why, size,
			"process %ld does not answer: it has opened no uDAPL interface adapter, or "
			"DAT_CONTROL forbids it, or it is in another network namespace",
			(long)pid);
		return -err;
	}
	snprintf(why, size, "process %ld: %s", (long)pid, strerror(err));
	return -err;
}

/* What was root when it began to listen may have become another user. */
static uid_t user_now(pid_t pid)
{
	unsigned int user = 0;
	char path[32], line[256];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%ld/status", (long)pid);
	file = fopen(path, "r");
	if (!file)
		return 0;
	while (fgets(line, sizeof(line), file) && sscanf(line, "Uid: %*u %u", &user) != 1)
		;
	fclose(file);
	return user;
}

/* Whether the one behind the name is the process it names, and ours. */
static int check_peer(int fd, pid_t pid, char *why, size_t size)
{
	struct ucred peer = { 0 };
	socklen_t length = sizeof(peer);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length))
		return explain(pid, errno, why, size);
	if (peer.pid != pid) {
		snprintf(why, size, "process %ld does not answer: process %ld holds its address",
			 (long)pid, (long)peer.pid);
		return -EPERM;
	}
	if (!peer.uid)
		peer.uid = user_now(pid);
	if (peer.uid != geteuid()) {
		snprintf(why, size, "process %ld belongs to another user (%ld)", (long)pid,
			 (long)peer.uid);
		return -EPERM;
	}
	return 0;
}

static int dial(pid_t pid, char *why, size_t size)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	struct timeval wait = { .tv_sec = WAIT_SECONDS };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), err;
	socklen_t length;

	if (fd < 0)
		return explain(pid, errno, why, size);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait));
	length = (socklen_t)snprintf(addr.sun_path + 1, sizeof(addr.sun_path) - 1,
				     DATS_CONTROL_NAME, (long)pid);
	length += (socklen_t)offsetof(struct sockaddr_un, sun_path) + 1;
	do
		err = connect(fd, (struct sockaddr *)&addr, length);
	while (err && errno == EINTR);
	if (err)
		err = explain(pid, errno, why, size);
	else
		err = check_peer(fd, pid, why, size);
	if (!err)
		return fd;
	close(fd);
	return err;
}

/* Everything until the end; NULL with errno. */
static char *read_answer(int fd)
{
	char *text = NULL, *more;
	size_t length = 0, room = 0;
	ssize_t n = 1;

	while (n > 0 || (n < 0 && errno == EINTR)) {
		if (room - length < 2) {
			room = room ? 2 * room : 4096;
			more = realloc(text, room);
			if (!more) {
				free(text);
				return NULL;
			}
			text = more;
		}
		n = recv(fd, text + length, room - length - 1, 0);
		length += n > 0 ? (size_t)n : 0;
	}
	if (n) {
		free(text);
		return NULL;
	}
	text[length] = '\0';
	return text;
}

static int ended(pid_t pid, char *why, size_t size)
{
	snprintf(why, size, "process %ld ended the connection", (long)pid);
	return -ECONNRESET;
}

/* Takes the first line off. */
static int judge(pid_t pid, char *text, char **answer, char *why, size_t size)
{
	char *end = strchr(text, '\n');

	if (!end)
		return ended(pid, why, size);
	*end = '\0';
	if (strcmp(text, "ok")) {
		snprintf(why, size, "process %ld: %s", (long)pid, text);
		return -EINVAL;
	}
	*answer = strdup(end + 1);
	return *answer ? 0 : -ENOMEM;
}

int control_ask(pid_t pid, const char *line, char **answer, char *why, size_t size)
{
	char text[DATS_CONTROL_LINE], *reply;
	int fd, err, n;

	*why = '\0';
	n = snprintf(text, sizeof(text), "%s\n", line);
	if (n < 0 || (size_t)n >= sizeof(text)) {
		snprintf(why, size, "too long an order");
		return -EINVAL;
	}
	fd = dial(pid, why, size);
	if (fd < 0)
		return fd;
	/* Why it fails, if it does, stands in the answer. */
	while (send(fd, text, (size_t)n, MSG_NOSIGNAL) < 0 && errno == EINTR)
		;
	reply = read_answer(fd);
	if (!reply && errno == ECONNRESET) {
		close(fd);
		return ended(pid, why, size);
	}
	if (!reply) {
		err = errno == EAGAIN ? ETIMEDOUT : errno;
		snprintf(why, size, "process %ld: %s", (long)pid, strerror(err));
		close(fd);
		return -err;
	}
	close(fd);
	err = judge(pid, reply, answer, why, size);
	free(reply);
	return err;
}
