/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "report.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"

static int debug_level;
static bool silent;

void dt_actor_init(struct dt_actor *actor, const char *fmt, ...)
{
	va_list ap;

	memset(actor, 0, sizeof(*actor));
	va_start(ap, fmt);
	vsnprintf(actor->who, sizeof(actor->who), fmt, ap);
	va_end(ap);
}

static int record(struct dt_actor *actor, const char *text)
{
	dt_progress_end();
	fprintf(stderr, "%s: %s\n", actor->who, text);
	if (!actor->failed) {
		actor->failed = true;
		snprintf(actor->text, sizeof(actor->text), "%s", text);
	}
	return -1;
}

int dt_fail(struct dt_actor *actor, const char *fmt, ...)
{
	char text[DT_ERROR_TEXT];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return record(actor, text);
}

int dt_fail_dat(struct dt_actor *actor, DAT_RETURN ret, const char *fmt, ...)
{
	char name[96], text[DT_ERROR_TEXT];
	size_t used;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	used = strlen(text);
	snprintf(text + used, sizeof(text) - used, " error: %s",
		 dt_strerror(ret, name, sizeof(name)));
	return record(actor, text);
}

void dt_adopt_failure(struct dt_actor *actor, const struct dt_actor *other)
{
	if (!other->failed || actor->failed)
		return;
	actor->failed = true;
	memcpy(actor->text, other->text, sizeof(actor->text));
}

void dt_warn(const struct dt_actor *actor, const char *fmt, ...)
{
	char text[DT_ERROR_TEXT];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	fprintf(stderr, "%s: Warning: %s\n", actor->who, text);
}

void dt_warn_dat(const struct dt_actor *actor, DAT_RETURN ret, const char *call)
{
	char name[96];

	dt_warn(actor, "%s error: %s", call, dt_strerror(ret, name, sizeof(name)));
}

void dt_say(const char *fmt, ...)
{
	va_list ap;

	if (silent)
		return;
	flockfile(stdout);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
	fflush(stdout);
	funlockfile(stdout);
}

void dt_set_silent(bool be_silent)
{
	silent = be_silent;
}

#define PROGRESS_NS 500000000u

static _Atomic uint64_t progress_due;
static _Atomic bool progress_shown;

void dt_progress(const char *what, uint64_t done, uint64_t total)
{
	static _Atomic int terminal = -1;
	uint64_t due = atomic_load_explicit(&progress_due, memory_order_relaxed), now;
	int is_terminal = atomic_load_explicit(&terminal, memory_order_relaxed);

	if (is_terminal < 0) {
		is_terminal = isatty(STDERR_FILENO);
		atomic_store_explicit(&terminal, is_terminal, memory_order_relaxed);
	}
	if (!is_terminal)
		return;
	now = dt_now_ns();
	if (now < due || !atomic_compare_exchange_strong(&progress_due, &due, now + PROGRESS_NS))
		return;
	fprintf(stderr, "\r%s: %llu of %llu (%.0f %%)\033[K", what, (unsigned long long)done,
		(unsigned long long)total, 100.0 * (double)done / (double)total);
	atomic_store(&progress_shown, true);
}

void dt_progress_end(void)
{
	if (atomic_exchange(&progress_shown, false))
		fprintf(stderr, "\r\033[K");
}

void dt_set_debug(int level)
{
	debug_level = level;
}

int dt_debug_level(void)
{
	return debug_level;
}

void dt_debug(int level, const char *fmt, ...)
{
	va_list ap;

	if (debug_level < level || silent)
		return;
	flockfile(stdout);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
	fflush(stdout);
	funlockfile(stdout);
}

const char *dt_strerror(DAT_RETURN ret, char *text, size_t size)
{
	const char *major = NULL, *minor = NULL;

	if (dat_strerror(ret, &major, &minor) != DAT_SUCCESS || !major)
		snprintf(text, size, "DAT_RETURN 0x%08x", (unsigned int)ret);
	else if (minor && DAT_GET_SUBTYPE(ret))
		snprintf(text, size, "%s %s", major, minor);
	else
		snprintf(text, size, "%s", major);
	return text;
}

const char *dt_event_name(DAT_EVENT_NUMBER number)
{
	static const struct {
		DAT_EVENT_NUMBER number;
		const char *name;
	} names[] = {
		{ DAT_DTO_COMPLETION_EVENT, "DAT_DTO_COMPLETION_EVENT" },
		{ DAT_RMR_BIND_COMPLETION_EVENT, "DAT_RMR_BIND_COMPLETION_EVENT" },
		{ DAT_CONNECTION_REQUEST_EVENT, "DAT_CONNECTION_REQUEST_EVENT" },
		{ DAT_CONNECTION_EVENT_ESTABLISHED, "DAT_CONNECTION_EVENT_ESTABLISHED" },
		{ DAT_CONNECTION_EVENT_PEER_REJECTED, "DAT_CONNECTION_EVENT_PEER_REJECTED" },
		{ DAT_CONNECTION_EVENT_NON_PEER_REJECTED,
		  "DAT_CONNECTION_EVENT_NON_PEER_REJECTED" },
		{ DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR,
		  "DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR" },
		{ DAT_CONNECTION_EVENT_DISCONNECTED, "DAT_CONNECTION_EVENT_DISCONNECTED" },
		{ DAT_CONNECTION_EVENT_BROKEN, "DAT_CONNECTION_EVENT_BROKEN" },
		{ DAT_CONNECTION_EVENT_TIMED_OUT, "DAT_CONNECTION_EVENT_TIMED_OUT" },
		{ DAT_CONNECTION_EVENT_UNREACHABLE, "DAT_CONNECTION_EVENT_UNREACHABLE" },
		{ DAT_ASYNC_ERROR_EVD_OVERFLOW, "DAT_ASYNC_ERROR_EVD_OVERFLOW" },
		{ DAT_ASYNC_ERROR_IA_CATASTROPHIC, "DAT_ASYNC_ERROR_IA_CATASTROPHIC" },
		{ DAT_ASYNC_ERROR_EP_BROKEN, "DAT_ASYNC_ERROR_EP_BROKEN" },
		{ DAT_ASYNC_ERROR_TIMED_OUT, "DAT_ASYNC_ERROR_TIMED_OUT" },
		{ DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR,
		  "DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR" },
		{ DAT_SOFTWARE_EVENT, "DAT_SOFTWARE_EVENT" },
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (names[i].number == number)
			return names[i].name;
	return "unknown event";
}

const char *dt_status_name(DAT_DTO_COMPLETION_STATUS status)
{
	static const struct {
		DAT_DTO_COMPLETION_STATUS status;
		const char *name;
	} names[] = {
		{ DAT_DTO_SUCCESS, "DAT_DTO_SUCCESS" },
		{ DAT_DTO_ERR_FLUSHED, "DAT_DTO_ERR_FLUSHED" },
		{ DAT_DTO_ERR_LOCAL_LENGTH, "DAT_DTO_ERR_LOCAL_LENGTH" },
		{ DAT_DTO_ERR_LOCAL_EP, "DAT_DTO_ERR_LOCAL_EP" },
		{ DAT_DTO_ERR_LOCAL_PROTECTION, "DAT_DTO_ERR_LOCAL_PROTECTION" },
		{ DAT_DTO_ERR_BAD_RESPONSE, "DAT_DTO_ERR_BAD_RESPONSE" },
		{ DAT_DTO_ERR_REMOTE_ACCESS, "DAT_DTO_ERR_REMOTE_ACCESS" },
		{ DAT_DTO_ERR_REMOTE_RESPONDER, "DAT_DTO_ERR_REMOTE_RESPONDER" },
		{ DAT_DTO_ERR_TRANSPORT, "DAT_DTO_ERR_TRANSPORT" },
		{ DAT_DTO_ERR_RECEIVER_NOT_READY, "DAT_DTO_ERR_RECEIVER_NOT_READY" },
		{ DAT_DTO_ERR_PARTIAL_PACKET, "DAT_DTO_ERR_PARTIAL_PACKET" },
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (names[i].status == status)
			return names[i].name;
	return "unknown DTO status";
}
