/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Trace points, of libdat2 and of the provider core alike. Each is also a USDT probe of the
 * component's name, whose arguments are the object and those of the format.
 *
 * A point is a descriptor in a section of its component, and a word that is not 0 when somebody
 * wants it: the trace level reaches it, or a tracer of the system has counted up the semaphore. So
 * a point nobody wants costs one comparison with memory and one branch, and its arguments are not
 * looked at.
 */
#ifndef TRACE_POINT_H
#define TRACE_POINT_H

#include <stdint.h>

#include "config.h"
#include "util/compiler.h"

#if defined(HAVE_SYS_SDT_H) && HAVE_SYS_SDT_H
#define DATS_HAVE_PROBES    1
#define _SDT_HAS_SEMAPHORES 1
#include <sys/sdt.h>
#else
#define DATS_HAVE_PROBES 0
#endif

/* Named trace levels (VND-11). Records up to normal are kept in memory at every level. */
enum {
	DATS_TRC_ERROR = 1,  /* error paths */
	DATS_TRC_NORMAL = 3, /* calls and state changes */
	DATS_TRC_DETAIL = 7, /* everything of diagnostic value */
	DATS_TRC_POST = 10,  /* every request and every completion */
	DATS_TRC_MAX = 10,
};

/* Whether somebody wants a point. Lies where tracers of the system look for semaphores. */
union dats_wanted {
	struct {
		uint16_t semaphore; /* the tracers' */
		uint16_t reached;   /* the level reaches it */
	};
	int32_t any;
};

/* All of a component lie one behind the other, as an array. */
struct dats_point {
	union dats_wanted *wanted;
	const char *name;
	const char *format; /* every conversion has its name before it: "from=%s to=%s" */
	int level;
} __attribute__((aligned(32)));

/* The points of a component: [DATS_POINTS(c), DATS_POINTS_END(c)). */
#define DATS_DECLARE_POINTS(component)                          \
	extern struct dats_point __start_##component##_points[] \
		__attribute__((weak, visibility("hidden")));    \
	extern struct dats_point __stop_##component##_points[]  \
		__attribute__((weak, visibility("hidden")))
#define DATS_POINTS(component)	   __start_##component##_points
#define DATS_POINTS_END(component) __stop_##component##_points

/* An argument by way of a variable, so that of an array the address is given. */
#define DATS_VALUE(argument)                          \
	({                                            \
		__auto_type probe_value = (argument); \
		probe_value;                          \
	})
#define DATS_PROBE_0(c, p, o)	    STAP_PROBE1(c, p, o)
#define DATS_PROBE_1(c, p, o, A)    STAP_PROBE2(c, p, o, DATS_VALUE(A))
#define DATS_PROBE_2(c, p, o, A, B) STAP_PROBE3(c, p, o, DATS_VALUE(A), DATS_VALUE(B))
#define DATS_PROBE_3(c, p, o, A, B, C) \
	STAP_PROBE4(c, p, o, DATS_VALUE(A), DATS_VALUE(B), DATS_VALUE(C))
#define DATS_PROBE_4(c, p, o, A, B, C, D) \
	STAP_PROBE5(c, p, o, DATS_VALUE(A), DATS_VALUE(B), DATS_VALUE(C), DATS_VALUE(D))
#define DATS_PROBE_5(c, p, o, A, B, C, D, E)                                             \
	STAP_PROBE6(c, p, o, DATS_VALUE(A), DATS_VALUE(B), DATS_VALUE(C), DATS_VALUE(D), \
		    DATS_VALUE(E))
#define DATS_PROBE_6(c, p, o, A, B, C, D, E, F)                                          \
	STAP_PROBE7(c, p, o, DATS_VALUE(A), DATS_VALUE(B), DATS_VALUE(C), DATS_VALUE(D), \
		    DATS_VALUE(E), DATS_VALUE(F))
#define DATS_PROBE_7(c, p, o, A, B, C, D, E, F, G)                                       \
	STAP_PROBE8(c, p, o, DATS_VALUE(A), DATS_VALUE(B), DATS_VALUE(C), DATS_VALUE(D), \
		    DATS_VALUE(E), DATS_VALUE(F), DATS_VALUE(G))
#define DATS_COUNT_(_, A, B, C, D, E, F, G, n, ...) n
#define DATS_COUNT(...)				    DATS_COUNT_(_, ##__VA_ARGS__, 7, 6, 5, 4, 3, 2, 1, 0)
#define DATS_JOIN_(a, b)			    a##b
#define DATS_JOIN(a, b)				    DATS_JOIN_(a, b)
#if DATS_HAVE_PROBES
#define DATS_PROBE(c, p, o, ...) \
	DATS_JOIN(DATS_PROBE_, DATS_COUNT(__VA_ARGS__))(c, p, o, ##__VA_ARGS__)
#else
#define DATS_PROBE(c, p, o, ...) ((void)0)
#endif

/* The semaphore is known to the tracers by the name of its symbol. */
#define DATS_POINT(component, point, lvl, fmt)                                                 \
	static union dats_wanted component##_##point##_semaphore __asm__(                      \
		#component "_" #point "_semaphore") __attribute__((used, section(".probes"))); \
	static struct dats_point component##_##point##_point                                   \
		__attribute__((used, section(#component "_points"))) = {                       \
			.wanted = &component##_##point##_semaphore,                            \
			.name = #point,                                                        \
			.format = fmt,                                                         \
			.level = (lvl)                                                         \
		}

/*
 * A plain load, which the compilers fold into a test as they do no atomic one, nor one that tells
 * them the value.
 */
#define DATS_WANTED(component, point) \
	unlikely(DATS_POINT_READ(component##_##point##_semaphore.any) & 0x7fffffff)
#ifdef WITH_TSAN
#define DATS_POINT_READ(word) __atomic_load_n(&(word), __ATOMIC_RELAXED)
#else
#define DATS_POINT_READ(word) (*(const __typeof__(+(word)) *)&(word))
#endif

/* The record of a point that is wanted. */
#define DATS_RECORD(component, point, out, object, fmt, ...)                         \
	do {                                                                         \
		const void *point_object = (object);                                 \
		DATS_PROBE(component, point, point_object, ##__VA_ARGS__);           \
		out(&component##_##point##_point, point_object, fmt, ##__VA_ARGS__); \
	} while (0)

/* A point with all that belongs to it. */
#define DATS_TRACE(component, point, lvl, out, object, fmt, ...)                         \
	do {                                                                             \
		DATS_POINT(component, point, lvl, fmt);                                  \
		if ((int)(lvl) <= (int)DATS_TRC_NORMAL || DATS_WANTED(component, point)) \
			DATS_RECORD(component, point, out, object, fmt, ##__VA_ARGS__);  \
	} while (0)

/* Makes the points of an array follow a level. */
static inline void dats_points_reach(struct dats_point *from, struct dats_point *to, int level)
{
	for (; from < to; from++)
		__atomic_store_n(&from->wanted->reached, level >= from->level, __ATOMIC_RELAXED);
}

#endif
