/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "test/model/step.h"

#include <stdlib.h>
#include <string.h>

static const struct {
	const char *id, *name, *args;
} steps[] = {
#define STEP_ROW(id, name, args) { #id, name, args },
	STEPS(STEP_ROW)
#undef STEP_ROW
};

const char *step_name(enum step_op op)
{
	return steps[op].name;
}

int step_times(const struct step *step)
{
	int times = step->op == STEP_SRQ_RECV			      ? step->arg[1]
		    : step->op == STEP_RECV			      ? step->arg[3]
		    : step->op == STEP_SEND			      ? step->arg[4]
		    : step->op == STEP_WRITE || step->op == STEP_READ ? step->arg[5]
								      : 1;

	return times > 1 ? times : 1;
}

/* The nth word of a list; its length, or 0. */
static size_t word(const char *list, unsigned int n, const char **at)
{
	while (n--) {
		list += strcspn(list, " ");
		list += strspn(list, " ");
	}
	*at = list;
	return strcspn(list, " ");
}

void step_text(const struct step *step, char *out, size_t size)
{
	const char *name;
	size_t len, at = (size_t)snprintf(out, size, "%s", steps[step->op].name);

	for (unsigned int i = 0; i < STEP_ARGS && at < size; i++) {
		len = word(steps[step->op].args, i, &name);
		if (!len)
			return;
		at += (size_t)snprintf(out + at, size - at, " %.*s=%d", (int)len, name,
				       step->arg[i]);
	}
}

bool step_parse(const char *line, struct step *step)
{
	size_t len = strcspn(line, " \n");
	const char *value;

	memset(step, 0, sizeof(*step));
	for (unsigned int op = 0; op < STEP_COUNT; op++) {
		if (strlen(steps[op].name) != len || strncmp(steps[op].name, line, len) != 0)
			continue;
		step->op = op;
		for (unsigned int i = 0; i < STEP_ARGS && (value = strchr(line, '=')); i++) {
			step->arg[i] = atoi(value + 1);
			line = value + 1;
		}
		return true;
	}
	return false;
}

void step_print_c(FILE *out, const struct step *step)
{
	const char *name;

	fprintf(out, "\t{ STEP_%s, {", steps[step->op].id);
	for (unsigned int i = 0; i < STEP_ARGS && word(steps[step->op].args, i, &name); i++)
		fprintf(out, "%s %d", i ? "," : "", step->arg[i]);
	fprintf(out, " } }, /* %s */\n", steps[step->op].args);
}
