/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the programs that obey a driver have in common, whatever they obey with. Commands come from
 * standard input, one per line as "verb key=value ..."; the answer is lines of key=value, the last
 * of them "done=verb". Bytes are written in hexadecimal, times are milliseconds.
 */
#ifndef INTEROP_COMMANDS_H
#define INTEROP_COMMANDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct command;

struct verb {
	const char *name;
	void (*run)(const struct command *cmd);
};

/* Obeys until "quit", the end of the input, or two minutes without a command. The list ends with a
 * verb without a name. */
void obey(const struct verb *verbs);

/* Arguments of a command. bytes() returns how many there are, at most room. */
const char *text(const struct command *cmd, const char *key, const char *otherwise);
uint64_t number(const struct command *cmd, const char *key, uint64_t otherwise);
size_t bytes(const struct command *cmd, const char *key, uint8_t *out, size_t room);

void print_bytes(const char *key, const void *data, size_t len);

/* Milliseconds of CLOCK_MONOTONIC. */
int64_t now_ms(void);

/* Memory with canaries around it and pages without access around those. */
struct memory {
	uint8_t *map, *start;
	size_t map_length, length;
};

int memory_map(struct memory *memory, size_t length);
void memory_unmap(struct memory *memory);

/* The verbs "fill", "set" and "show". A driver can compute what the first writes. */
void memory_fill(struct memory *memory, const struct command *cmd);
void memory_set(struct memory *memory, const struct command *cmd);
void memory_show(const struct memory *memory, const struct command *cmd);

/* Writes to memory that peers may read or write. */
void store(void *to, const void *from, size_t length);

#endif
