/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the sweeps take from test/abi/dat-1.2/compare.csv. */
#ifndef SWEEP_H
#define SWEEP_H

#include <stdint.h>

#define ABSENT (-1)

/* A number by its name in both versions. The arrays end with a null name. */
struct pair {
	const char *name;
	int64_t old, new;
};
extern struct pair sweep_types[], sweep_subtypes[], sweep_events[];

/* The bits of a mask in ascending order, without those that stand for several; how many. */
unsigned int sweep_mask(const char *prefix, struct pair bits[64]);

/* A member of a structure by offset and size in both versions. */
struct member {
	const char *name;
	int old, old_size, new, new_size;
};
/* Those of a structure in their order in 1.2; how many. */
unsigned int sweep_structure(const char *name, struct member members[64]);

/* Each member of the structure of 1.2 has the value of that of 2.0, or fails the test. */
void sweep_members(const char *structure, const unsigned char *old, const unsigned char *new);
void sweep_member(const struct member *member, const unsigned char *old, const unsigned char *new);

/* The declared calls of 1.2, with a null at the end; and one of them, with nothing but zeroes. */
extern const char *const sweep_calls[];
uint32_t sweep_call(const char *name);

/* So many bytes behind which nothing is mapped. */
void *sweep_edge(size_t len);

#endif
