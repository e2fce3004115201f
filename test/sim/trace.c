/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What happened, its hash, and chance. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "test/sim/sim.h"

struct sim_report *sim_report;
struct sim_plan sim_plan;
bool sim_on, sim_verbose;
uint32_t sim_faults;

static uint64_t random_state;

/* splitmix64 */
uint64_t sim_random64(void)
{
	uint64_t z = (random_state += 0x9e3779b97f4a7c15u);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

uint32_t sim_random(uint32_t below)
{
	return (uint32_t)(((sim_random64() >> 32) * below) >> 32);
}

static const char *const formats[] = {
#define SIM_TEXT(name, text) [SIM_##name] = text,
	SIM_EVENTS(SIM_TEXT)
#undef SIM_TEXT
};

static void mix(uint64_t value)
{
	uint64_t hash = (sim_report->hash ^ value) * 0xff51afd7ed558ccdu;

	sim_report->hash = hash ^ (hash >> 29);
}

/* Of formats that take up to four numbers. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
void sim_happened_text(const struct sim_happened *what, char *out, size_t size)
{
	const uint64_t *v = what->value;
	int len = snprintf(out, size, "%10llu %12.6f %3u: ", (unsigned long long)what->step,
			   (double)what->now / 1e9, what->fiber);

	snprintf(out + len, size - (size_t)len, formats[what->event], (unsigned long long)v[0],
		 (unsigned long long)v[1], (unsigned long long)v[2], (unsigned long long)v[3]);
}
#pragma GCC diagnostic pop

void sim_trace(enum sim_event event, uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
	struct sim_happened *last;
	char text[200];

	if (!sim_on)
		return;
	mix(event ^ sim_now << 8);
	mix(a);
	mix(b);
	mix(c ^ d << 32);
	last = &sim_report->last[sim_report->happened++ % SIM_LAST];
	*last = (struct sim_happened){
		sim_report->steps, sim_now, { a, b, c, d }, event, fiber_id(fiber_self)
	};
	if (!sim_verbose)
		return;
	sim_happened_text(last, text, sizeof(text));
	fprintf(stderr, "%s\n", text);
}

void sim_fail(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(sim_report->error, sizeof(sim_report->error), format, args);
	va_end(args);
	if (sim_verbose)
		fprintf(stderr, "wrong: %s\n", sim_report->error);
	_exit(1);
}

void sim_begin(uint64_t seed, struct sim_report *report)
{
	sim_report = report;
	random_state = seed * 0x2545f4914f6cdd1du + 1;
	sim_on = true;
}
