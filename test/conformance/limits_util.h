/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the tests of limits share: a child that runs out of something, and what its parent
 * looks at.
 */
#ifndef LIMITS_UTIL_H
#define LIMITS_UTIL_H

#include "harness.h"

#include <stdio.h>
#include <stdlib.h>

/* Anything that must not happen ends the child; the parent shows what it wrote to standard output.
 */
#define MUST(condition)                                                        \
	do {                                                                   \
		if (!(condition)) {                                            \
			printf("%s:%d: %s\n", __FILE__, __LINE__, #condition); \
			exit(1);                                               \
		}                                                              \
	} while (0)

#define MUST_OK(call)                                                                   \
	do {                                                                            \
		DAT_RETURN must_ = (call);                                              \
		if (must_ != DAT_SUCCESS) {                                             \
			printf("%s:%d: %s\n  returned %s\n", __FILE__, __LINE__, #call, \
			       ct_rc_name(must_));                                      \
			exit(1);                                                        \
		}                                                                       \
	} while (0)

#define MUST_LACK(call)                                                                 \
	do {                                                                            \
		DAT_RETURN must_ = (call);                                              \
		if (DAT_GET_TYPE(must_) != DAT_INSUFFICIENT_RESOURCES ||                \
		    (must_ & DAT_CLASS_ERROR) == 0) {                                   \
			printf("%s:%d: %s\n  returned %s\n", __FILE__, __LINE__, #call, \
			       ct_rc_name(must_));                                      \
			exit(1);                                                        \
		}                                                                       \
	} while (0)

/* Takes all descriptors up to the limit, but some. */
void limits_hold(int spare);
void limits_release(void);
/* Marks the part of standard error that the parent looks at. */
void limits_mark(const char *what);

struct limits_rig {
	DAT_IA_HANDLE ia;
	DAT_EVD_HANDLE async, requests, dto, connect;
	DAT_PZ_HANDLE pz;
	DAT_EP_HANDLE a, p;
	DAT_CONN_QUAL qual;
	DAT_PSP_HANDLE psp;
	DAT_IA_ATTR attr;
};

void limits_open_ia(struct limits_rig *r);
void limits_open(struct limits_rig *r);
DAT_RETURN limits_connect(struct limits_rig *r);
void limits_next(DAT_EVD_HANDLE evd, DAT_EVENT_NUMBER number, DAT_EVENT *event);
/* From the request on. */
void limits_connected(struct limits_rig *r);
/* With room again the same process works. */
void limits_work_again(struct limits_rig *r);
/* Whether a call failed for want of a descriptor; not every transport needs one there. */
bool limits_lacked(DAT_RETURN rc);
void limits_run(const char *child);

#endif
