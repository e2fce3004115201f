/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "limits_util.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static int held[4096];

static int num_held;

void limits_hold(int spare)
{
	struct rlimit limit;
	int fd;

	MUST(getrlimit(RLIMIT_NOFILE, &limit) == 0);
	limit.rlim_cur = 256;
	MUST(setrlimit(RLIMIT_NOFILE, &limit) == 0);
	while (num_held < 4096 && (fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)) >= 0)
		held[num_held++] = fd;
	MUST(num_held > spare);
	while (spare-- > 0)
		close(held[--num_held]);
}

void limits_release(void)
{
	while (num_held > 0)
		close(held[--num_held]);
}

void limits_mark(const char *what)
{
	fflush(stdout);
	dprintf(STDERR_FILENO, "=== %s\n", what);
}

void limits_open_ia(struct limits_rig *r)
{
	r->async = DAT_HANDLE_NULL;
	MUST_OK(dat_ia_open(harness_ia_name(), 8, &r->async, &r->ia));
	MUST_OK(dat_ia_query(r->ia, NULL, DAT_IA_FIELD_ALL, &r->attr, 0, NULL));
}

void limits_open(struct limits_rig *r)
{
	limits_open_ia(r);
	MUST_OK(dat_pz_create(r->ia, &r->pz));
	MUST_OK(dat_evd_create(r->ia, 8, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &r->requests));
	MUST_OK(dat_evd_create(r->ia, 64, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &r->dto));
	MUST_OK(dat_evd_create(r->ia, 8, DAT_HANDLE_NULL, DAT_EVD_CONNECTION_FLAG, &r->connect));
	MUST_OK(dat_ep_create(r->ia, r->pz, r->dto, r->dto, r->connect, NULL, &r->a));
	MUST_OK(dat_ep_create(r->ia, r->pz, r->dto, r->dto, r->connect, NULL, &r->p));
	MUST_OK(dat_psp_create_any(r->ia, &r->qual, r->requests, DAT_PSP_CONSUMER_FLAG, &r->psp));
}

DAT_RETURN limits_connect(struct limits_rig *r)
{
	return dat_ep_connect(r->a, r->attr.ia_address_ptr, r->qual, DAT_TIMEOUT_INFINITE, 0, NULL,
			      DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG);
}

void limits_next(DAT_EVD_HANDLE evd, DAT_EVENT_NUMBER number, DAT_EVENT *event)
{
	DAT_COUNT more;

	MUST_OK(dat_evd_wait(evd, CT_US, 1, event, &more));
	MUST(event->event_number == number);
}

void limits_connected(struct limits_rig *r)
{
	DAT_EVENT event;

	limits_next(r->requests, DAT_CONNECTION_REQUEST_EVENT, &event);
	MUST_OK(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, r->p, 0, NULL));
	limits_next(r->connect, DAT_CONNECTION_EVENT_ESTABLISHED, &event);
	limits_next(r->connect, DAT_CONNECTION_EVENT_ESTABLISHED, &event);
}

void limits_work_again(struct limits_rig *r)
{
	limits_mark("again");
	limits_release();
	MUST_OK(limits_connect(r));
	limits_connected(r);
	MUST_OK(dat_ia_close(r->ia, DAT_CLOSE_ABRUPT_FLAG));
}

bool limits_lacked(DAT_RETURN rc)
{
	if (rc == DAT_SUCCESS) {
		dprintf(STDERR_FILENO, "(limit: none was needed; knob: none)\n");
		return false;
	}
	MUST_LACK(rc);
	return true;
}

static void section_ends(const char *name, int lines)
{
	int wanted = strcmp(name, "here") == 0 ? 1 : 0;

	if (strcmp(name, "perhaps") == 0 && lines <= 2)
		return;
	if (lines != wanted)
		fail_msg("%d messages after \"%s\" instead of %d", lines, name, wanted);
}

/* After each mark "here" comes one line, which names limit and knob, and after "perhaps" at
 * most one for each of two descriptors; otherwise none. */
static void told_once(const char *err)
{
	char section[32] = "the start", copy[8192];
	char *rest = copy, *line;
	int lines = 0, marks = 0;

	snprintf(copy, sizeof(copy), "%s", err);
	while ((line = strsep(&rest, "\n")) != NULL) {
		if (strncmp(line, "=== ", 4) == 0) {
			section_ends(section, lines);
			snprintf(section, sizeof(section), "%s", line + 4);
			lines = 0;
			marks++;
		} else if (line[0] != '\0') {
			lines++;
			if (strstr(line, "limit: ") == NULL || strstr(line, "knob: ") == NULL)
				fail_msg("no limit or knob in: %s", line);
		}
	}
	section_ends(section, lines);
	assert_true(marks > 0);
}

void limits_run(const char *child)
{
	static struct harness_result result;

	harness_spawn(child, NULL, &result);
	if (!WIFEXITED(result.status) || WEXITSTATUS(result.status) != 0)
		fail_msg("status 0x%x\n%s%s", (unsigned int)result.status, result.out, result.err);
	print_message("%s", result.err);
	print_message("\n"); /* which cuts off what is long */
	told_once(result.err);
	/* Libraries never write there. */
	assert_string_equal(result.out, "");
}
