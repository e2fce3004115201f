/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "tools/info/probe.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "dat/dats.h"
#include "dat/legacy.h"
#include "tools/info/attrs.h"
#include "tools/info/out.h"
#include "tools/info/tunables.h"

/* More than this of either stream is not kept. */
#define STREAM_MAX (1 << 20)

/* Under this name the child finds its dat.conf, which has this one entry, on its own line. */
static char conf_path[sizeof("/proc/self/fd/") + 11];

/* Dispatchers of that length suit every device. */
#define ASYNC_QLEN 8

/* ---- The child ---- */

/* The result is a series of strings, as of info_attrs_ia; these tell how far it has come. */
static void tell(FILE *out, const char *name, const char *value)
{
	fprintf(out, "probe%c%s%c%s%c%c", 0, name, 0, value, 0, 0);
	fflush(out);
}

static void tell_code(FILE *out, DAT_RETURN rc)
{
	char text[16];

	snprintf(text, sizeof(text), "%x", rc);
	tell(out, "code", text);
}

/* Which file the code of the provider is in, as told by an object's function table. */
static void tell_library(FILE *out, DAT_EVD_HANDLE evd)
{
	const DAT_PROVIDER *provider = DAT_HANDLE_TO_PROVIDER(evd);
	void *code;
	Dl_info info;

	memcpy(&code, &provider->ia_open_func, sizeof(code));
	if (dladdr(code, &info) && info.dli_fname)
		tell(out, "library", info.dli_fname);
}

static void query(FILE *out, DAT_IA_HANDLE ia)
{
	DAT_IA_ATTR *ia_attr = info_alloc(1, sizeof(*ia_attr));
	DAT_PROVIDER_ATTR *provider_attr = info_alloc(1, sizeof(*provider_attr));
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
	DAT_RETURN rc;

	tell(out, "stage", "querying it");
	rc = dat_ia_query(ia, &evd, DAT_IA_FIELD_ALL, ia_attr, DAT_PROVIDER_FIELD_ALL,
			  provider_attr);
	if (rc != DAT_SUCCESS) {
		tell_code(out, rc);
		return;
	}
	if (evd && evd != DAT_EVD_OUT_OF_SCOPE)
		tell_library(out, evd);
	info_attrs_ia(out, ia_attr);
	fflush(out);
	info_attrs_provider(out, provider_attr);
	fflush(out);
}

/* What the module takes from dapl.conf and the environment; none of others than ours. */
static void tell_settings(FILE *out)
{
	char *text = NULL, *line, *rest;
	size_t size;
	FILE *settings = info_text_file(&text, &size);

	tell(out, "stage", "asking for its settings");
	dats_control_run("settings", settings);
	fclose(settings);
	for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		fprintf(out, "setting%c%c%s%c%c", 0, 0, line, 0, 0);
	free(text);
}

/* As a program of the entry's version does. */
static DAT_RETURN open_entry(const struct dat_conf_entry *conf, DAT_IA_HANDLE *ia)
{
	const DAT_NAME_PTR name = (DAT_NAME_PTR)conf->info.ia_name;
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;

	if (conf->info.dapl_version_major < 2)
		return dats_legacy_open(name, ASYNC_QLEN, &evd, ia, conf->info.is_thread_safe);
	return dat_ia_openv(name, ASYNC_QLEN, &evd, ia, conf->info.dapl_version_major,
			    conf->info.dapl_version_minor, conf->info.is_thread_safe);
}

static void open_and_query(FILE *out, const struct dat_conf_entry *conf)
{
	DAT_IA_HANDLE ia;
	DAT_RETURN rc;

	/* By libdat2 alone: what this program's own run path finds says nothing of others. */
	tell(out, "stage", "opening it");
	rc = open_entry(conf, &ia);
	if (rc != DAT_SUCCESS) {
		tell_code(out, rc);
		tell_settings(out);
		return;
	}
	tell(out, "opened", "");
	query(out, ia);
	tell_settings(out);
	tell(out, "stage", "closing it");
	rc = dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG);
	if (rc != DAT_SUCCESS)
		tell_code(out, rc);
}

static void __attribute__((noreturn))
child(const struct info_entry *entry, int result_fd, int messages_fd)
{
	const struct rlimit no_core = { 0, 0 };
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	FILE *out = fdopen(result_fd, "w");

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setpgid(0, 0);
	setrlimit(RLIMIT_CORE, &no_core);
	if (!out || null < 0 || dup2(null, 0) < 0 || dup2(messages_fd, 1) < 0 ||
	    dup2(messages_fd, 2) < 0)
		_exit(127);
	setvbuf(stdout, NULL, _IOLBF, 0);
	setenv("DAT_OVERRIDE", conf_path, 1);
	open_and_query(out, entry->conf);
	tell(out, "stage", "");
	_exit(0);
}

/* ---- The parent ---- */

struct stream {
	int fd;
	char *text;
	size_t length;
};

static int64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * INT64_C(1000) + ts.tv_nsec / 1000000;
}

/* Reads what is there; at the end of the stream its descriptor becomes -1. */
static void stream_read(struct stream *stream)
{
	char buf[4096];
	ssize_t n = read(stream->fd, buf, sizeof(buf));
	size_t keep;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		close(stream->fd);
		stream->fd = -1;
		return;
	}
	keep = stream->length + (size_t)n <= STREAM_MAX ? (size_t)n : STREAM_MAX - stream->length;
	stream->text = info_realloc(stream->text, stream->length + keep + 1);
	memcpy(stream->text + stream->length, buf, keep);
	stream->length += keep;
	stream->text[stream->length] = '\0';
}

/* Whether the child has ended; waits until it has or the deadline is over. */
static bool reap(pid_t pid, int *status, int64_t deadline)
{
	const struct timespec tick = { 0, 2000000 };
	pid_t got;

	while (!(got = waitpid(pid, status, WNOHANG)) || (got < 0 && errno == EINTR)) {
		if (now_ms() >= deadline)
			return false;
		nanosleep(&tick, NULL);
	}
	return true;
}

/* Collects both streams until the child has closed them, or the time is over. */
static void collect(struct stream streams[2], int64_t deadline)
{
	int64_t left;
	int i;

	while (streams[0].fd >= 0 || streams[1].fd >= 0) {
		struct pollfd fds[2] = { { .fd = streams[0].fd, .events = POLLIN },
					 { .fd = streams[1].fd, .events = POLLIN } };

		left = deadline - now_ms();
		if (left <= 0)
			return;
		if (poll(fds, 2, (int)left) < 0)
			continue;
		for (i = 0; i < 2; i++)
			if (fds[i].revents)
				stream_read(&streams[i]);
	}
}

static bool make_pipe(int fds[2])
{
	if (pipe2(fds, O_CLOEXEC))
		return false;
	return !fcntl(fds[0], F_SETFL, O_NONBLOCK);
}

static int make_conf(const struct info_entry *entry)
{
	int fd = memfd_create("dat.conf", MFD_CLOEXEC);
	FILE *file = fd >= 0 ? fdopen(dup(fd), "w") : NULL;
	unsigned int line;

	if (!file)
		return -1;
	for (line = 1; line < entry->conf->line; line++)
		fputc('\n', file);
	fwrite(entry->text, 1, entry->length, file);
	fputc('\n', file);
	fclose(file);
	snprintf(conf_path, sizeof(conf_path), "/proc/self/fd/%d", fd);
	return fd;
}

bool info_probe_use(const struct info_entry *entry)
{
	return make_conf(entry) >= 0 && !setenv("DAT_OVERRIDE", conf_path, 1);
}

/* A message without the prefix, and with the file it is about. */
static char *message(const struct info_registry *registry, char *line)
{
	char *conf;

	info_mask(line);
	if (!strncmp(line, "dat: ", 5))
		line += 5;
	conf = strstr(line, conf_path);
	if (!conf)
		return info_printf("%s", line);
	*conf = '\0';
	return info_printf("%s%s%s", line, registry->path, conf + strlen(conf_path));
}

static void append(char ***list, size_t *num, char *text)
{
	*list = info_realloc(*list, (*num + 1) * sizeof(**list));
	(*list)[(*num)++] = text;
}

static void take_messages(const struct info_registry *registry, struct info_probe *probe,
			  char *text)
{
	char *line, *rest = NULL, *said;

	for (line = text ? strtok_r(text, "\n", &rest) : NULL; line;
	     line = strtok_r(NULL, "\n", &rest)) {
		said = message(registry, line);
		if (info_tunables_message(said))
			append(&probe->remarks, &probe->num_remarks, said);
		else
			append(&probe->messages, &probe->num_messages, said);
	}
}

/* The message beyond a prefix and ": ", if it has that. */
static const char *beyond(const char *message, const char *prefix)
{
	size_t length = strlen(prefix);

	return strncmp(message, prefix, length) || strncmp(message + length, ": ", 2)
		       ? message
		       : message + length + 2;
}

/* The last message that is no trace; num_messages: there is none. */
static size_t last_complaint(const struct info_probe *probe)
{
	size_t i = probe->num_messages;

	while (i && !strncmp(probe->messages[i - 1], "trace ", 6))
		i--;
	return i ? i - 1 : probe->num_messages;
}

/* That message, without what stands beside it anyway: the place, the name, the library. */
static void find_cause(const struct info_registry *registry, const struct dat_conf_entry *conf,
		       struct info_probe *probe)
{
	char *place = info_printf("%s:%u", registry->path, conf->line);
	char *field = info_printf("field %d (%s)", DAT_CONF_LIB_PATH,
				  dat_conf_field_name(DAT_CONF_LIB_PATH));
	const char *cause, *once;

	probe->cause_index = last_complaint(probe);
	if (probe->cause_index < probe->num_messages && !probe->opened) {
		cause = beyond(probe->messages[probe->cause_index], place);
		cause = beyond(beyond(cause, field), conf->info.ia_name);
		once = beyond(cause, conf->lib_path);
		if (beyond(once, conf->lib_path) != once)
			cause = once;
		probe->cause = cause;
	}
	free(place);
	free(field);
}

/* What the records told of the run itself. */
struct told {
	const char *stage; /* "": it came to the end */
	const char *code;  /* of the call that failed, hexadecimal */
};

static void take_told(struct info_probe *probe, struct told *told, const char *name,
		      const char *value)
{
	if (!strcmp(name, "stage"))
		told->stage = value;
	else if (!strcmp(name, "code"))
		told->code = value;
	else if (!strcmp(name, "opened"))
		probe->opened = true;
	else if (!strcmp(name, "library"))
		probe->loaded = value;
}

static void take_records(struct info_probe *probe, struct stream *stream, struct told *told)
{
	const char *at = stream->text, *end = at + stream->length, *field[4];
	int i;

	probe->records = stream->text;
	while (at && at < end) {
		for (i = 0; i < 4 && at < end; i++) {
			field[i] = at;
			at += strlen(at) + 1;
		}
		if (i < 4)
			break; /* it died while writing */
		if (!strcmp(field[0], "probe")) {
			take_told(probe, told, field[1], field[2]);
			continue;
		}
		probe->attrs =
			info_realloc(probe->attrs, (probe->num_attrs + 1) * sizeof(*probe->attrs));
		probe->attrs[probe->num_attrs++] =
			(struct info_attr){ field[0], field[1], field[2], field[3] };
	}
}

/* A return code by its names. */
static char *code_text(const char *code)
{
	DAT_RETURN rc = (DAT_RETURN)strtoul(code, NULL, 16);
	const char *major = "?", *minor = "";

	if (dat_strerror(rc, &major, &minor) != DAT_SUCCESS)
		return info_printf("0x%x, which is no code of DAT", rc);
	if (DAT_GET_SUBTYPE(rc))
		return info_printf("%s, %s", major, minor);
	return info_printf("%s", major);
}

static bool is_not_found(const char *code)
{
	return DAT_GET_TYPE((DAT_RETURN)strtoul(code, NULL, 16)) == DAT_PROVIDER_NOT_FOUND;
}

/* What came of it; ended: the child did so by itself. */
static void judge(struct info_probe *probe, const struct told *told, bool ended, int status,
		  unsigned int timeout)
{
	const char *stage = told->stage ? told->stage : "starting";

	if (!ended) {
		probe->outcome = INFO_SILENT;
		probe->reason = info_printf("no answer within %u s while %s", timeout, stage);
	} else if (WIFSIGNALED(status)) {
		probe->outcome = INFO_DIED;
		probe->reason =
			info_printf("crashed while %s: %s", stage, strsignal(WTERMSIG(status)));
	} else if (*stage) {
		probe->outcome = INFO_DIED;
		probe->reason = info_printf("ended the process with status %d while %s",
					    WEXITSTATUS(status), stage);
	} else if (told->code) {
		probe->outcome = is_not_found(told->code) ? INFO_NO_LIBRARY : INFO_REFUSED;
		probe->reason = code_text(told->code);
	} else {
		probe->outcome = INFO_OPENED;
	}
	if (probe->opened && probe->outcome == INFO_REFUSED)
		probe->outcome = INFO_OPENED; /* and the reason tells what failed later */
}

static void untried(struct info_probe *probe, const char *what)
{
	probe->outcome = INFO_UNTRIED;
	probe->reason = info_printf("%s: %s", what, strerror(errno));
}

static void watch(const struct info_registry *registry, const struct dat_conf_entry *conf,
		  pid_t pid, struct stream streams[2], unsigned int timeout,
		  struct info_probe *probe)
{
	int64_t deadline = now_ms() + timeout * INT64_C(1000);
	struct told told = { NULL, NULL };
	bool ended;
	int status = 0;

	collect(streams, deadline);
	ended = reap(pid, &status, deadline);
	kill(-pid, SIGKILL); /* and whatever it has started */
	if (!ended) {
		kill(pid, SIGKILL);
		waitpid(pid, &status, 0);
	}
	take_records(probe, &streams[0], &told);
	take_messages(registry, probe, streams[1].text);
	judge(probe, &told, ended, status, timeout);
	find_cause(registry, conf, probe);
	free(streams[1].text);
}

void info_probe(const struct info_registry *registry, const struct info_entry *entry,
		unsigned int timeout, struct info_probe *probe)
{
	int result[2] = { -1, -1 }, messages[2] = { -1, -1 }, conf = make_conf(entry), i;
	struct stream streams[2] = { { .fd = -1 }, { .fd = -1 } };
	pid_t pid;

	memset(probe, 0, sizeof(*probe));
	if (conf < 0 || !make_pipe(result) || !make_pipe(messages)) {
		untried(probe, "no pipe to a process that could open it");
		goto close_all;
	}
	fflush(NULL);
	pid = fork();
	if (!pid)
		child(entry, result[1], messages[1]);
	if (pid < 0) {
		untried(probe, "no process that could open it");
		goto close_all;
	}
	close(result[1]);
	close(messages[1]);
	result[1] = messages[1] = -1;
	streams[0].fd = result[0];
	streams[1].fd = messages[0];
	watch(registry, entry->conf, pid, streams, timeout, probe);
	result[0] = streams[0].fd;
	messages[0] = streams[1].fd;

close_all:
	for (i = 0; i < 2; i++) {
		if (result[i] >= 0)
			close(result[i]);
		if (messages[i] >= 0)
			close(messages[i]);
	}
	if (conf >= 0)
		close(conf);
}

void info_probe_free(struct info_probe *probe)
{
	size_t i;

	for (i = 0; i < probe->num_messages; i++)
		free(probe->messages[i]);
	for (i = 0; i < probe->num_remarks; i++)
		free(probe->remarks[i]);
	free(probe->remarks);
	free(probe->messages);
	free(probe->reason);
	free(probe->attrs);
	free(probe->records);
}
