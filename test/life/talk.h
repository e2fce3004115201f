/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the parts of a side share: how data are moved is apart from how one lives. */
#ifndef LIFE_TALK_H
#define LIFE_TALK_H

#include <dat2/udat.h>

#include "side.h"
#include "test/faults/interpose.h"

enum {
	MESSAGE = 4096,
	MESSAGES = 3, /* plain ones of a round */
	BLOCK = 32768,
	RECEIVES = 16,
};

enum kind {
	KIND_NONE,
	KIND_HELLO,
	KIND_WINDOW,
	KIND_LAST, /* invalidates */
	KIND_PLAIN,
};

/* The head of each message; the rest is filled with its serial number. */
struct head {
	uint32_t kind, serial;
	uint64_t target, counter;
	uint32_t key, window;
};

struct side_memory {
	uint64_t counter;
	uint8_t target[BLOCK], source[BLOCK], back[BLOCK];
	uint64_t fetched[2];
	uint8_t out[MESSAGES + 3][MESSAGE];
	uint8_t in[RECEIVES][MESSAGE];
};

struct side {
	const struct side_plan *plan;
	struct side_report *report;
	DAT_EVD_HANDLE events;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT lkey;
	DAT_RMR_CONTEXT rkey;
	DAT_RMR_HANDLE rmr;
	DAT_EP_HANDLE ep;
	/* Of this life. */
	bool connected, rejected, failed;
	DAT_EVENT_NUMBER ended;
	struct head peer;
	uint32_t heard[KIND_PLAIN + 1], immediates, plain, serial;
	uint32_t requests_out;
};

extern struct side self;
extern struct side_memory side_memory;

enum {
	FREE,
	REQUEST,
	RECEIVE,
};

__attribute__((format(printf, 1, 2))) bool side_complain(const char *format, ...);
bool side_well(void);
bool side_check(const char *step, DAT_RETURN rc);
DAT_LMR_TRIPLET side_local(const void *at, size_t size);
/* One that nothing outstanding has, for a REQUEST or a RECEIVE. */
DAT_DTO_COOKIE side_cookie(int what);
/* A request was posted, or refused because the connection is over. */
bool side_posted(const char *step, DAT_DTO_COOKIE cookie, DAT_RETURN rc);
/* One event of evd, if there is one within so many ms. */
bool side_take(DAT_EVD_HANDLE evd, uint32_t ms, DAT_EVENT *event);
void side_dispatch(const DAT_EVENT *event);
/* All rounds of data, unless the connection ends. */
void side_talk(void);

/* Each call is a step of its own, at which the process may be killed. */
#define CALL(call) (self.report->step = #call, interpose_step(), side_check(#call, call))

#define POST(cookie, call)                        \
	do {                                      \
		self.report->step = #call;        \
		interpose_step();                 \
		side_posted(#call, cookie, call); \
	} while (0)

/* Until the condition holds, or (where ends is) the connection is over. */
#define UNTIL(what, condition, ends)                                                              \
	do {                                                                                      \
		uint64_t deadline_ = side_now() + self.plan->limit_ms;                            \
		DAT_EVENT event_;                                                                 \
                                                                                                  \
		self.report->step = what;                                                         \
		while (side_well() && !(condition) && !((ends) && (self.ended || self.failed))) { \
			if (side_take(self.events, 50, &event_))                                  \
				side_dispatch(&event_);                                           \
			else if (side_now() > deadline_)                                          \
				side_complain("%s: not within %u ms", what, self.plan->limit_ms); \
		}                                                                                 \
	} while (0)

#endif
