/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The steps that programs are made of. A step names its objects by number, so that any part of a
 * program is a program too: a step whose objects do not exist, or are not in a state for it, is
 * left out when it is run.
 */
#ifndef STEP_H
#define STEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum {
	STEP_ARGS = 6,
};

/* Name in C, name in text, names of the arguments. The first is the object of the step. */
#define STEPS(X)                                                                   \
	X(EVD_CREATE, "evd_create", "evd qlen cno")                                \
	X(EVD_FREE, "evd_free", "evd")                                             \
	X(EVD_RESIZE, "evd_resize", "evd qlen")                                    \
	X(EVD_QUERY, "evd_query", "evd")                                           \
	X(POST_SE, "post_se", "evd")                                               \
	X(POLL, "poll", "evd count")                                               \
	X(WAIT, "wait", "evd threshold timeout_us")                                \
	X(CNO_WAIT, "cno_wait", "side timeout_us")                                 \
	X(SP_CREATE, "sp_create", "sp evd")                                        \
	X(SP_FREE, "sp_free", "sp")                                                \
	X(SRQ_CREATE, "srq_create", "srq depth")                                   \
	X(SRQ_FREE, "srq_free", "srq")                                             \
	X(SRQ_RESIZE, "srq_resize", "srq depth")                                   \
	X(SRQ_QUERY, "srq_query", "srq")                                           \
	X(SRQ_RECV, "srq_recv", "srq times")                                       \
	X(EP_CREATE, "ep_create", "ep recv_evd request_evd connect_evd depth srq") \
	X(EP_FREE, "ep_free", "ep")                                                \
	X(EP_RESET, "ep_reset", "ep")                                              \
	X(EP_QUERY, "ep_query", "ep")                                              \
	X(CONNECT, "connect", "ep sp timeout_ms")                                  \
	X(ACCEPT, "accept", "request ep")                                          \
	X(REJECT, "reject", "request")                                             \
	X(HANDOFF, "handoff", "request sp")                                        \
	X(DISCONNECT, "disconnect", "ep graceful")                                 \
	X(RECV, "recv", "ep length segments times")                                \
	X(SEND, "send", "ep length segments flags times")                          \
	X(SEND_INVALIDATE, "send_invalidate", "ep rmr length")                     \
	X(WRITE, "write", "ep cell length flags rmr times")                        \
	X(READ, "read", "ep cell length flags rmr times")                          \
	X(FETCH_ADD, "fetch_add", "ep counter add flags times")                    \
	X(WRITE_IMMED, "write_immed", "ep cell length flags value")                \
	X(TRESPASS, "trespass", "ep cell kind length")                             \
	X(RMR_CREATE, "rmr_create", "rmr ep_scope")                                \
	X(RMR_BIND, "rmr_bind", "rmr cell ep flags rights")                        \
	X(RMR_FREE, "rmr_free", "rmr")                                             \
	X(SCRIBBLE, "scribble", "cell on")                                         \
	X(FILL, "fill", "cell")                                                    \
	X(PAUSE, "pause", "ms")                                                    \
	X(STOP_PEER, "stop_peer", "ms")                                            \
	X(SETTLE, "settle", "")

enum step_op {
#define STEP_ENUM(id, name, args) STEP_##id,
	STEPS(STEP_ENUM)
#undef STEP_ENUM
	STEP_COUNT
};

struct step {
	enum step_op op;
	int arg[STEP_ARGS];
};

const char *step_name(enum step_op op);
/* How often the step is made, one call each; atomics are posted at once. */
int step_times(const struct step *step);
/* "send ep=3 length=100": one line without its end. */
void step_text(const struct step *step, char *out, size_t size);
/* The opposite; false: not a step. */
bool step_parse(const char *line, struct step *step);
/* An initialiser of a C table. */
void step_print_c(FILE *out, const struct step *step);

#endif
