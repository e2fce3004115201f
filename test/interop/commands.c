/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "test/interop/commands.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define MAX_ARGS 16
#define PAGE	 4096
#define CANARY	 0xc5
#define MARGIN	 64
#define SILENCE	 120000

struct command {
	const char *verb;
	unsigned count;
	struct {
		const char *key, *value;
	} args[MAX_ARGS];
};

/* ---- Arguments and answers ---- */

const char *text(const struct command *cmd, const char *key, const char *otherwise)
{
	for (unsigned i = 0; i < cmd->count; i++)
		if (!strcmp(cmd->args[i].key, key))
			return cmd->args[i].value;
	return otherwise;
}

uint64_t number(const struct command *cmd, const char *key, uint64_t otherwise)
{
	const char *value = text(cmd, key, NULL);

	return value ? strtoull(value, NULL, 0) : otherwise;
}

static int nibble(char c)
{
	return c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10;
}

size_t bytes(const struct command *cmd, const char *key, uint8_t *out, size_t room)
{
	const char *value = text(cmd, key, "");
	size_t n = strlen(value) / 2;

	if (n > room)
		n = room;
	for (size_t i = 0; i < n; i++)
		out[i] = (uint8_t)(nibble(value[2 * i]) << 4 | nibble(value[2 * i + 1]));
	return n;
}

void print_bytes(const char *key, const void *data, size_t len)
{
	static const char digits[] = "0123456789abcdef";
	const uint8_t *p = data;

	printf(" %s=", key);
	for (size_t i = 0; i < len; i++) {
		putchar(digits[p[i] >> 4]);
		putchar(digits[p[i] & 15]);
	}
}

int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* ---- Memory ---- */

int memory_map(struct memory *memory, size_t length)
{
	size_t inner = (length + 2 * MARGIN + PAGE - 1) / PAGE * PAGE;

	memory->map_length = inner + 2 * PAGE;
	memory->map = mmap(NULL, memory->map_length, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory->map == MAP_FAILED) {
		memory->map = NULL;
		return -1;
	}
	mprotect(memory->map + PAGE, inner, PROT_READ | PROT_WRITE);
	memset(memory->map + PAGE, CANARY, inner);
	memory->length = length;
	memory->start = memory->map + PAGE + inner - length - MARGIN;
	return 0;
}

void memory_unmap(struct memory *memory)
{
	if (memory->map)
		munmap(memory->map, memory->map_length);
	memset(memory, 0, sizeof(*memory));
}

static bool intact(const struct memory *memory)
{
	const uint8_t *first = memory->map + PAGE, *end = memory->map + memory->map_length - PAGE;

	for (const uint8_t *p = first; p < end; p++)
		if (*p != CANARY && (p < memory->start || p >= memory->start + memory->length))
			return false;
	return true;
}

void memory_fill(struct memory *memory, const struct command *cmd)
{
	size_t seed = number(cmd, "seed", 0);

	for (size_t i = 0; i < memory->length; i++) {
		uint8_t value = (uint8_t)(i * 31 + (i >> 8) * 17 + seed);

		store(&memory->start[i], &value, 1);
	}
}

void memory_set(struct memory *memory, const struct command *cmd)
{
	size_t offset = number(cmd, "offset", 0);
	uint8_t data[8192];
	size_t length = bytes(cmd, "bytes", data, sizeof(data));

	if (memory->map && offset + length <= memory->length)
		store(memory->start + offset, data, length);
}

void memory_show(const struct memory *memory, const struct command *cmd)
{
	size_t offset = number(cmd, "offset", 0), length = number(cmd, "length", memory->length);

	if (!memory->map || offset + length > memory->length)
		return;
	printf("intact=%d", intact(memory));
	print_bytes("bytes", memory->start + offset, length);
	printf("\n");
}

/*
 * Remote reads of the memory are ordered with this by messages that travel through another process,
 * which ThreadSanitizer cannot see: the stores are hidden from it, also from its copying functions.
 */
#ifdef __clang__
__attribute__((no_sanitize("thread")))
#else
__attribute__((no_sanitize_thread))
#endif
void store(void *to, const void *from, size_t length)
{
	volatile uint8_t *target = to;
	const volatile uint8_t *source = from;

	while (length--)
		*target++ = *source++;
}

/* ---- Commands ---- */

/* False after the last. */
static bool obey_line(const struct verb *verbs, char *line)
{
	struct command cmd = { .verb = strtok(line, " \n") };
	char *word, *value;

	if (!cmd.verb)
		return true;
	while (cmd.count < MAX_ARGS && (word = strtok(NULL, " \n"))) {
		value = strchr(word, '=');
		if (value)
			*value++ = '\0';
		cmd.args[cmd.count].key = word;
		cmd.args[cmd.count++].value = value ? value : "";
	}
	for (; verbs->name; verbs++)
		if (!strcmp(verbs->name, cmd.verb))
			verbs->run(&cmd);
	printf("done=%s\n", cmd.verb);
	fflush(stdout);
	return strcmp(cmd.verb, "quit") != 0;
}

/* The next line of standard input, or NULL at its end or when it was silent for too long. */
static char *next_line(void)
{
	static char *buffer;
	static size_t have, used, room;
	struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };
	char *end;

	have -= used;
	if (have)
		memmove(buffer, buffer + used, have);
	used = 0;
	while (!have || !(end = memchr(buffer, '\n', have))) {
		char *larger = buffer;
		ssize_t n;

		if (room - have < PAGE)
			larger = realloc(buffer, room += 16 * PAGE);
		if (!larger)
			return NULL;
		buffer = larger;
		if (poll(&input, 1, SILENCE) != 1)
			return NULL;
		n = read(STDIN_FILENO, buffer + have, room - have);
		if (n <= 0) {
			free(buffer);
			return NULL;
		}
		have += (size_t)n;
	}
	*end = '\0';
	used = (size_t)(end - buffer) + 1;
	return buffer;
}

void obey(const struct verb *verbs)
{
	char *line;

	while ((line = next_line()) && obey_line(verbs, line))
		;
}
