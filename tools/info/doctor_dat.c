/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The adapters of this host, and a connection with the one that leads to the peer. */
#include "config.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <dat/dat_names.h>

#include "tools/info/doctor.h"
#include "tools/info/out.h"
#include "tools/info/probe.h"
#include "util/clock.h"

#define CONNECT_US  5000000
#define ANSWER_MS   15000 /* of the process that connects, opening and closing included */
#define RESULT_MARK "doctor: "

/* ---- Adapters ---- */

static const char *address_of(const struct info_probe *probe)
{
	size_t i;

	for (i = 0; i < probe->num_attrs; i++)
		if (!strcmp(probe->attrs[i].group, "ia") &&
		    !strcmp(probe->attrs[i].name, "ia_address"))
			return probe->attrs[i].text;
	return "none";
}

static void look_at_adapter(struct doctor *doctor, const struct info_entry *entry)
{
	const char *name = entry->conf->info.ia_name, *address;
	struct info_probe probe;

	info_probe(&doctor->registry, entry, doctor->options->timeout, &probe);
	address = address_of(&probe);
	if (probe.outcome != INFO_OPENED)
		doctor_say(doctor, DOCTOR_NOTE, "adapter", "%s cannot be opened: %s", name,
			   probe.cause ? probe.cause : probe.reason);
	else
		doctor_say(doctor, DOCTOR_OK, "adapter", "%s opens, at %s", name, address);
	if (probe.outcome == INFO_OPENED && !doctor->adapter && *doctor->local_text &&
	    !strcmp(address, doctor->local_text)) {
		doctor->entry = entry;
		doctor->adapter = name;
		doctor->over_tcp = strstr(entry->conf->lib_path, "daplsoft") != NULL;
	}
	info_probe_free(&probe);
}

void doctor_adapters(struct doctor *doctor)
{
	size_t i;

	for (i = 0; i < doctor->registry.num_entries; i++)
		if (doctor->registry.entries[i].used)
			look_at_adapter(doctor, &doctor->registry.entries[i]);
	if (!*doctor->local_text)
		return;
	if (doctor->adapter) {
		doctor_say(doctor, DOCTOR_OK, "adapter", "%s leads to %s", doctor->adapter,
			   doctor->peer_text);
		return;
	}
	doctor_say(doctor, DOCTOR_BAD, "adapter", "none of %s is at %s, from where %s is reached",
		   doctor->registry.path, doctor->local_text, doctor->peer_text);
	/* A line with the interface takes its address of version 4, where it has one. */
	if (*doctor->netdev && doctor->local.ss_family == AF_INET)
		doctor_mend(doctor, "add a line for %s to %s; dat-info --generate writes one",
			    doctor->netdev, doctor->registry.path);
	else
		doctor_mend(doctor, "add a line to %s whose seventh field is \"%s\"",
			    doctor->registry.path, doctor->local_text);
}

/* ---- A connection, made by a process of its own ---- */

/* As it was opened before, which dat_ia_open may not find. */
static DAT_RETURN open_adapter(const struct dat_conf_entry *conf, DAT_IA_HANDLE *ia)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;

	return dat_ia_openv((DAT_NAME_PTR)conf->info.ia_name, 8, &async, ia,
			    conf->info.dapl_version_major, conf->info.dapl_version_minor,
			    conf->info.is_thread_safe);
}

static DAT_RETURN connect_and_wait(const struct doctor *doctor, DAT_IA_HANDLE ia, DAT_EVENT *event)
{
	struct sockaddr_storage peer = doctor->peer;
	DAT_EVD_HANDLE evd;
	DAT_PZ_HANDLE pz;
	DAT_EP_HANDLE ep;
	DAT_COUNT more;
	DAT_RETURN rc = dat_pz_create(ia, &pz);

	if (!rc)
		rc = dat_evd_create(ia, 8, DAT_HANDLE_NULL,
				    DAT_EVD_CONNECTION_FLAG | DAT_EVD_DTO_FLAG, &evd);
	if (!rc)
		rc = dat_ep_create(ia, pz, evd, evd, evd, NULL, &ep);
	if (!rc)
		rc = dat_ep_connect(ep, (DAT_IA_ADDRESS_PTR)&peer, doctor->options->port,
				    CONNECT_US, 0, NULL, DAT_QOS_BEST_EFFORT,
				    DAT_CONNECT_DEFAULT_FLAG);
	return rc ? rc : dat_evd_wait(evd, 2 * CONNECT_US, 1, event, &more);
}

/* What the peer says of itself when it accepts, as dapltest's server does. */
static void print_private_data(const DAT_CONNECTION_EVENT_DATA *data)
{
	const char *text = data->private_data;
	int i;

	for (i = 0; text && i < data->private_data_size && text[i] >= ' ' && text[i] <= '~'; i++)
		putchar(text[i]);
}

static void __attribute__((noreturn)) connect_child(const struct doctor *doctor, int fd)
{
	DAT_RETURN rc = DAT_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	DAT_EVENT event = { 0 };
	DAT_IA_HANDLE ia;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	dup2(fd, 1);
	dup2(fd, 2);
	if (info_probe_use(doctor->entry))
		rc = open_adapter(doctor->entry->conf, &ia);
	if (!rc)
		rc = connect_and_wait(doctor, ia, &event);
	printf("\n" RESULT_MARK "%x %x ", (unsigned int)rc, (unsigned int)event.event_number);
	if (!rc && event.event_number == DAT_CONNECTION_EVENT_ESTABLISHED)
		print_private_data(&event.event_data.connect_event_data);
	printf("\n");
	fflush(stdout);
	_exit(0);
}

/* What the child says first, and last, or as much as came in time. */
static void read_child(int fd, char *text, size_t size)
{
	uint64_t until = dats_clock(CLOCK_MONOTONIC) / 1000000 + ANSWER_MS, now;
	struct pollfd wait = { .fd = fd, .events = POLLIN };
	size_t used = 0;
	ssize_t n;

	while ((now = dats_clock(CLOCK_MONOTONIC) / 1000000) < until &&
	       poll(&wait, 1, (int)(until - now)) > 0) {
		n = read(fd, text + used, size - 1 - used);
		if (n <= 0)
			break;
		used += (size_t)n;
		if (used + 1 < size)
			continue;
		memmove(text + size / 2, text + size * 3 / 4, used - size * 3 / 4);
		used -= size / 4;
	}
	text[used] = '\0';
}

static bool run_child(const struct doctor *doctor, char *text, size_t size)
{
	int fds[2];
	pid_t pid;

	if (pipe(fds))
		return false;
	fflush(stdout);
	pid = fork();
	if (!pid) {
		close(fds[0]);
		connect_child(doctor, fds[1]);
	}
	close(fds[1]);
	if (pid > 0) {
		read_child(fds[0], text, size);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	close(fds[0]);
	return pid > 0;
}

/* ---- What came of it ---- */

static void tell_peer(struct doctor *doctor, const char *who)
{
	static const char ours[] = "dapltest (" PACKAGE_NAME ") " PACKAGE_VERSION;

	doctor_say(doctor, DOCTOR_OK, "uDAPL", "%s connects to port %u there", doctor->adapter,
		   doctor->options->port);
	if (!strncmp(who, "dapltest", 8))
		doctor_say(doctor, strcmp(who, ours) ? DOCTOR_NOTE : DOCTOR_OK, "peer",
			   strcmp(who, ours) ? "%s, and here is udapl " PACKAGE_VERSION : "%s",
			   who);
	else
		doctor_say(doctor, DOCTOR_NOTE, "peer", "some program, which tells no version");
}

static void tell_failure(struct doctor *doctor, unsigned int rc, unsigned int number,
			 const char *said)
{
	const char *major = "no answer in time", *minor = "";

	if (rc)
		dat_strerror((DAT_RETURN)rc, &major, &minor);
	else if (number)
		major = dat_event_name((DAT_EVENT_NUMBER)number);
	doctor_say(doctor, DOCTOR_BAD, "uDAPL",
		   "%s does not connect to port %u there: %s %s%s%.300s", doctor->adapter,
		   doctor->options->port, major, minor, *said ? ": " : "", said);
	doctor_mend(doctor,
		    doctor->tcp_open
			    ? "is it a uDAPL program that listens there, on an adapter of the "
			      "same kind? To try: dapltest -T S there"
			    : "first mend what is above; then start the program there");
}

void doctor_connect(struct doctor *doctor)
{
	unsigned int rc = 0, number = 0;
	char text[4096] = "", *result;
	int at = 0;

	if (!doctor->adapter || (doctor->over_tcp && !doctor->tcp_open))
		return;
	if (!run_child(doctor, text, sizeof(text))) {
		doctor_say(doctor, DOCTOR_NOTE, "uDAPL", "cannot be tried: %s", strerror(errno));
		return;
	}
	result = strstr(text, "\n" RESULT_MARK);
	if (result) {
		*result = '\0';
		result += 1 + strlen(RESULT_MARK);
		sscanf(result, "%x %x %n", &rc, &number, &at);
		result[strcspn(result, "\n")] = '\0';
	}
	text[strcspn(text, "\n")] = '\0';
	if (result && !rc && number == DAT_CONNECTION_EVENT_ESTABLISHED)
		tell_peer(doctor, result + at);
	else
		tell_failure(doctor, rc, number, text);
}
