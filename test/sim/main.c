/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Simulated worlds, each of a seed and in a process of its own.
 *
 *   sim [-s SEED] [-n SEEDS | -t SECONDS] [-l LIVES] [-f FAILURES] [-v]
 *
 * Runs the worlds of seeds from SEED on, or of new ones, of so many lives of connections each,
 * until SEEDS were run, SECONDS are over or FAILURES have failed. One in sixteen is run twice, and
 * must make the same events both times. A world that fails is told with its seed, and how to run it
 * again; with -v all that happens is told. The exit status is 0 if none has failed, else 1.
 */
#include <dlfcn.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "test/sim/libc.h"
#include "test/sim/life.h"
#include "test/sim/sim.h"

enum {
	PROCESSOR_S = 60, /* of a world: it has stopped making calls */
};

struct options {
	uint64_t seed;
	uint32_t seeds, seconds, lives, failures;
};

static void spins(int signo)
{
	(void)signo;
	snprintf(sim_report->error, sizeof(sim_report->error),
		 "no end in %d s of processor time, after %llu calls", PROCESSOR_S,
		 (unsigned long long)sim_report->steps);
	_exit(1);
}

static void run_world(uint64_t seed, uint32_t lives, struct sim_report *report)
{
	const struct itimerval limit = { .it_value.tv_sec = PROCESSOR_S };

	signal(SIGPROF, spins);
	setitimer(ITIMER_PROF, &limit, NULL);
	sim_begin(seed, report);
	fiber_main(world_lives, &lives);
	report->simulated_ns = sim_now;
	report->ended = true;
	_exit(0);
}

/* Whether all was right in it. */
static bool run_seed(uint64_t seed, uint32_t lives, struct sim_report *report)
{
	int status = 0;
	pid_t pid;

	memset(report, 0, sizeof(*report));
	fflush(stdout);
	pid = fork();
	if (!pid)
		run_world(seed, lives, report);
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		snprintf(report->error, sizeof(report->error), "cannot be run");
	else if (report->error[0])
		;
	else if (WIFSIGNALED(status))
		snprintf(report->error, sizeof(report->error), "killed by signal %d (%s)",
			 WTERMSIG(status), strsignal(WTERMSIG(status)));
	else if (!report->ended)
		snprintf(report->error, sizeof(report->error), "exit status %d before the end",
			 WEXITSTATUS(status));
	return !report->error[0];
}

static bool run_twice(uint64_t seed, uint32_t lives, struct sim_report *report)
{
	uint64_t hash = report->hash, steps = report->steps;

	if (!run_seed(seed, lives, report))
		return false;
	if (report->hash == hash && report->steps == steps)
		return true;
	snprintf(report->error, sizeof(report->error),
		 "the same seed made other events: hash %016llx, %llu calls; hash %016llx, %llu "
		 "calls",
		 (unsigned long long)hash, (unsigned long long)steps,
		 (unsigned long long)report->hash, (unsigned long long)report->steps);
	return false;
}

static double now_s(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

struct totals {
	uint64_t worlds, twice, lives, established, completions, faults, refusals, steps, ns;
	uint32_t failed;
};

static void add(struct totals *totals, const struct sim_report *report)
{
	totals->worlds++;
	totals->lives += report->lives;
	totals->established += report->established;
	totals->completions += report->completions;
	totals->faults += report->faults;
	totals->refusals += report->refusals;
	totals->steps += report->steps;
	totals->ns += report->simulated_ns;
}

static void print(const struct totals *totals, double seconds)
{
	printf("# %llu worlds, %llu run twice: %llu lives, %llu ends connected, %llu completions, "
	       "%llu faults, %llu refusals, %llu calls, %.0f simulated s\n",
	       (unsigned long long)totals->worlds, (unsigned long long)totals->twice,
	       (unsigned long long)totals->lives, (unsigned long long)totals->established,
	       (unsigned long long)totals->completions, (unsigned long long)totals->faults,
	       (unsigned long long)totals->refusals, (unsigned long long)totals->steps,
	       (double)totals->ns / 1e9);
	printf("# %.1f s: %.0f lives a second, %.0f an hour\n", seconds,
	       (double)totals->lives / seconds, (double)totals->lives / seconds * 3600);
}

/* What was wrong, what came before it, and how to see it again. */
static void tell(uint64_t seed, uint32_t lives, const struct sim_report *report)
{
	uint64_t i = report->happened < SIM_LAST ? 0 : report->happened - SIM_LAST;
	char text[200];

	for (; i < report->happened; i++) {
		sim_happened_text(&report->last[i % SIM_LAST], text, sizeof(text));
		printf("# | %s\n", text);
	}
	printf("# seed %llu, step %llu: %s\n# again: test/sim/sim.sh -s %llu -l %u -n 1 -v\n",
	       (unsigned long long)seed, (unsigned long long)report->steps, report->error,
	       (unsigned long long)seed, lives);
}

static int run_seeds(const struct options *options, struct sim_report *report)
{
	double start = now_s();
	struct totals totals = { 0 };
	uint64_t seed = options->seed;
	bool right;

	for (; options->seconds ? now_s() - start < options->seconds
				: seed - options->seed < options->seeds;
	     seed++) {
		right = run_seed(seed, options->lives, report);
		add(&totals, report);
		if (right && (seed % 16 == 0 || seed == options->seed)) {
			totals.twice++;
			right = run_twice(seed, options->lives, report);
		}
		if (right)
			continue;
		tell(seed, options->lives, report);
		if (++totals.failed == options->failures)
			break;
	}
	print(&totals, now_s() - start);
	printf("%s 1 - %llu worlds from seed %llu on, %u failed\n1..1\n",
	       totals.failed ? "not ok" : "ok", (unsigned long long)totals.worlds,
	       (unsigned long long)options->seed, totals.failed);
	return totals.failed != 0;
}

/* Addresses that the loader and the kernel choose are the same each time. */
static void fix_addresses(char **argv)
{
	const struct rlimit files = { 1024, 1024 };
	int now = personality(0xffffffff);

	setrlimit(RLIMIT_NOFILE, &files);
	if (now & ADDR_NO_RANDOMIZE || personality((unsigned long)now | ADDR_NO_RANDOMIZE) < 0)
		return;
	execv("/proc/self/exe", argv);
}

static bool parse(int argc, char **argv, struct options *options)
{
	int c;

	while ((c = getopt(argc, argv, "s:n:t:l:f:v")) != -1)
		if (c == 's')
			options->seed = strtoull(optarg, NULL, 0);
		else if (c == 'n')
			options->seeds = (uint32_t)atoi(optarg);
		else if (c == 't')
			options->seconds = (uint32_t)atoi(optarg);
		else if (c == 'l')
			options->lives = (uint32_t)atoi(optarg);
		else if (c == 'f')
			options->failures = (uint32_t)atoi(optarg);
		else if (c == 'v')
			sim_verbose = true;
		else
			return false;
	return true;
}

int main(int argc, char **argv)
{
	struct options options = { .seeds = 100, .lives = 200, .failures = 5 };
	struct sim_report *report;

	fix_addresses(argv);
	options.seed = (uint64_t)time(NULL) * 1000;
	if (!parse(argc, argv, &options))
		return 2;
	report = mmap(NULL, sizeof(*report), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (report == MAP_FAILED || !dlopen("libdaplsoft.so.2", RTLD_NOW)) {
		fprintf(stderr, "sim: %s\n", dlerror());
		return 2;
	}
	sim_report = report;
	libc_find_libraries();
	return run_seeds(&options, report);
}
