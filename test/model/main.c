/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Random programs against a model of the interface.
 *
 *   model [-s SEED] [-n STEPS] [-t SECONDS | -r RUNS] [-f FAILURES] [-m MODES] [OPTION...]
 *   model -p FILE [-v]
 *
 * Runs programs of STEPS steps, each in a process of its own: of the seeds from SEED on, or of new
 * ones, until SECONDS are over, RUNS were made or FAILURES have failed; or the program in FILE.
 * MODES says how, a letter each in turn: 1, one adapter; 2, two openings of it in one process; p,
 * two processes; t, u, one or two openings and threads. A program that fails is made as short as it
 * can be in some time (-x SECONDS, 0: it is not), printed as C, and put into a folder (-o FOLDER). What must
 * happen must happen within a deadline (-d SECONDS). UDAPL_IA names the adapter (soft-lo).
 */
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "test/model/peer.h"
#include "test/model/shrink.h"

enum {
	LAST_STEPS = 3, /* that are told of a run that failed */
};

struct options {
	uint64_t seed;
	bool seeded, verbose;
	uint32_t steps, seconds, runs, shrink, failures, deadline;
	const char *modes, *file, *folder;
};

static void save(const struct options *options, const struct run *run)
{
	char name[512];
	FILE *out;

	if (!options->folder)
		return;
	snprintf(name, sizeof(name), "%s/model-%llu.program", options->folder,
		 (unsigned long long)run->seed);
	out = fopen(name, "w");
	if (!out)
		return;
	run_print_text(out, run);
	fprintf(out, "# %s\n", run->error);
	fclose(out);
}

static void report(const struct options *options, struct run *run, int fd)
{
	char text[200];

	printf("# seed %llu, mode %u/%u/%u, %u steps: %s\n", (unsigned long long)run->seed,
	       run->sides, run->two_processes, run->threads, run->count, run->error);
	for (uint32_t i = run->count < LAST_STEPS ? 0 : run->count - LAST_STEPS; i < run->count;
	     i++) {
		step_text(&run->step[i], text, sizeof(text));
		printf("# step %u: %s\n", i, text);
	}
	run_print_messages(stdout);
	fflush(stdout);
	save(options, run);
	if (!options->shrink)
		return;
	if (!shrink(run, fd, 3, options->shrink)) {
		printf("# passed when it was run again\n");
		return;
	}
	printf("# shrunk to %u steps: %s\n", run->count, run->error);
	run_print_c(stdout, run);
	fflush(stdout);
	save(options, run);
}

static void set_mode(struct run *run, char mode)
{
	run->sides = mode == '1' || mode == 't' ? 1 : 2;
	run->two_processes = mode == 'p';
	run->threads = mode == 't' || mode == 'u' ? 3 : 0;
}

static int run_seeds(const struct options *options, struct run *run, int fd)
{
	uint64_t start = now_ms(), end = start + options->seconds * 1000UL;
	uint64_t steps = 0, completions = 0;
	unsigned int failed = 0, number = 0;

	for (; failed < options->failures &&
	       (options->seconds ? now_ms() < end : number < options->runs);
	     number++) {
		run->seed = options->seed + number;
		run->random = options->steps;
		run->count = 0;
		run->tunables = run->seed * 0x9e3779b97f4a7c15ULL >> 32 & (TUNABLES_CHOICES - 1);
		set_mode(run, options->modes[number % strlen(options->modes)]);
		if (run_child(run, fd, options->deadline * 3 + options->steps / 50,
			      !options->verbose)) {
			steps += run->count;
			completions += run->completions;
			continue;
		}
		failed++;
		printf("not ok - seed %llu, after %.1f s\n", (unsigned long long)run->seed,
		       (double)(now_ms() - start) / 1000);
		report(options, run, fd);
		steps += run->count;
	}
	printf("# %u programs from seed %llu, %llu steps, %llu completions, %u failed\n", number,
	       (unsigned long long)options->seed, (unsigned long long)steps,
	       (unsigned long long)completions, failed);
	printf("%s 1 - random programs behave as the model says\n1..1\n", failed ? "not ok" : "ok");
	return failed != 0;
}

static int run_file(const struct options *options, struct run *run, int fd)
{
	FILE *in = fopen(options->file, "r");

	if (!in || !run_read(in, run)) {
		fprintf(stderr, "%s: not a program\n", options->file);
		return 2;
	}
	fclose(in);
	if (run_child(run, fd, options->deadline * 6, false)) {
		printf("ok 1 - %s\n1..1\n", options->file);
		return 0;
	}
	printf("# %s\nnot ok 1 - %s\n1..1\n", run->error, options->file);
	return 1;
}

int main(int argc, char **argv)
{
	struct options options = { .steps = 2000,
				   .runs = 10,
				   .shrink = SHRINK_S,
				   .failures = 5,
				   .deadline = DEADLINE_S,
				   .modes = "1p2ptpu" };
	struct run *run;
	int c, fd;

	if (argc == 3 && !strcmp(argv[1], "--child"))
		return run_child_main(atoi(argv[2]));
	while ((c = getopt(argc, argv, "s:n:t:r:m:p:o:x:f:d:v")) != -1)
		if (c == 's')
			options.seed = strtoull(optarg, NULL, 0), options.seeded = true;
		else if (c == 'n')
			options.steps = (uint32_t)atoi(optarg);
		else if (c == 't')
			options.seconds = (uint32_t)atoi(optarg);
		else if (c == 'r')
			options.runs = (uint32_t)atoi(optarg);
		else if (c == 'm')
			options.modes = optarg;
		else if (c == 'p')
			options.file = optarg;
		else if (c == 'o')
			options.folder = optarg;
		else if (c == 'x')
			options.shrink = (uint32_t)atoi(optarg);
		else if (c == 'f')
			options.failures = (uint32_t)atoi(optarg);
		else if (c == 'd')
			options.deadline = (uint32_t)atoi(optarg);
		else if (c == 'v')
			options.verbose = true;
		else
			return 2;
	if (!options.seeded)
		options.seed = (uint64_t)time(NULL) * 1000 % 1000000000;
	if (options.steps > MAX_STEPS)
		options.steps = MAX_STEPS;
	run = run_map(&fd);
	if (!run)
		return 2;
	run_init(run);
	run->verbose = options.verbose;
	run->deadline_s = options.deadline;
	return options.file ? run_file(&options, run, fd) : run_seeds(&options, run, fd);
}
