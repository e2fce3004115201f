/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Every call of the libraries that can fail does, in turn, in a process of its own: nothing
 * crashes, hangs, leaks or fails without a word, and what was refused once works when it is tried
 * again.
 *
 *   matrix [-a ADAPTER] [-l] [-m MOST] [-v] [CALL...]
 *
 * -l lists the calls; -m bounds how often one call fails in a row of runs, spread over all (60).
 */
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <netdb.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "interpose.h"
#include "life.h"

#define LIMIT 30 /* seconds of one life */

static struct report *report;
static const char *adapter = "soft-lo";
static int words; /* what the process says: a file */
static bool verbose;

static bool is_verbs(const char *call)
{
	return !strncmp(call, "ibv_", 4) || !strncmp(call, "rdma_", 5);
}

/* A life with a fault, and one after it that must be like any other. */
static void child(size_t fault, unsigned int at)
{
	dup2(words, STDERR_FILENO);
	if (!freopen("/dev/null", "w", stdout))
		abort();
	alarm(LIMIT);
	if (at)
		interpose_arm(fault, at);
	report->all_told = is_verbs(faults[fault].call);
	life(adapter, report, at);
	interpose_arm(fault, 0);
	report->calls = interpose_calls(fault);
	snprintf(report->site, sizeof(report->site), "%s", interpose_site());
	if (!report->complaint[0] && report->refused && lseek(words, 0, SEEK_CUR) == 0)
		snprintf(report->complaint, sizeof(report->complaint), "failed without a word");
	if (!report->complaint[0])
		life(adapter, report, false);
	exit(report->complaint[0] != 0);
}

static bool leaves_more(const struct report *result, const struct report *healthy)
{
	return result->blocks > healthy->blocks || result->files > healthy->files ||
	       result->objects > healthy->objects;
}

/* What a life without faults leaves behind, to compare with; calls of fault. */
static struct report run(size_t fault, unsigned int at, const struct report *healthy)
{
	struct report result;
	int status;
	pid_t pid;

	memset(report, 0, sizeof(*report));
	if (healthy) {
		report->blocks = healthy->blocks;
		report->files = healthy->files;
		report->objects = healthy->objects;
	}
	if (ftruncate(words, 0))
		abort();
	lseek(words, 0, SEEK_SET);
	fflush(NULL);
	pid = fork();
	if (!pid)
		child(fault, at);
	if (pid < 0 || waitpid(pid, &status, 0) != pid) {
		perror("fork");
		exit(99);
	}
	result = *report;
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
		snprintf(result.complaint, sizeof(result.complaint), "hangs in %s", result.step);
	else if (WIFSIGNALED(status))
		snprintf(result.complaint, sizeof(result.complaint), "%s in %s",
			 strsignal(WTERMSIG(status)), result.step);
	else if (healthy && !result.complaint[0] && leaves_more(&result, healthy))
		snprintf(result.complaint, sizeof(result.complaint),
			 "leaves %d blocks, %d descriptors and %d objects more than others",
			 result.blocks - healthy->blocks, result.files - healthy->files,
			 result.objects - healthy->objects);
	return result;
}

static void print_words(void)
{
	char text[2000];
	ssize_t size;

	size = pread(words, text, sizeof(text) - 1, 0);
	text[size > 0 ? size : 0] = '\0';
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
		printf("#     | %s\n", line);
}

static const char *kind_of(size_t fault)
{
	int error = faults[fault].error;

	if (!error)
		return "short";
	return error > 0 ? strerrorname_np(error) : gai_strerror(error);
}

/* What ibv_dealloc_, ibv_dereg_ and ibv_destroy_ do not end stays, with what that holds. */
static bool stays(size_t fault)
{
	return !strncmp(faults[fault].call, "ibv_de", 6);
}

/* All failures of one kind: how many of them were not borne. */
static unsigned int try_fault(size_t fault, unsigned int most, const struct report *healthy,
			      unsigned int calls, unsigned int *tried)
{
	unsigned int step = calls > most ? (calls + most - 1) / most : 1;
	unsigned int bad = 0, at;
	const struct report anything = { .blocks = healthy->blocks,
					 .files = INT_MAX,
					 .objects = INT_MAX };
	struct report result;

	*tried = 0;
	for (at = 1; at <= calls; at += step) {
		result = run(fault, at, stays(fault) ? &anything : healthy);
		*tried += result.site[0] != 0;
		if (verbose || result.complaint[0])
			printf("# %s (%s) %u of %u at %s: %s\n", faults[fault].call, kind_of(fault),
			       at, calls, result.site, result.complaint);
		if (!result.complaint[0])
			continue;
		print_words();
		bad++;
	}
	return bad;
}

static bool is_chosen(const char *call, char **chosen)
{
	if (!*chosen)
		return true;
	while (*chosen && strcmp(*chosen, call))
		chosen++;
	return *chosen;
}

/* The provider is there before the first life, so that its calls are known from their first on. */
static void load_provider(void)
{
	const char *path = getenv("FAULTS_MODULE");

	if (path && dlopen(path, RTLD_NOW))
		return;
	printf("Bail out! FAULTS_MODULE: %s\n", path ? dlerror() : "not set");
	exit(99);
}

int main(int argc, char **argv)
{
	unsigned int most = 60, bad, tried, all_bad = 0, number = 0;
	struct report healthy;
	size_t i;
	int c;

	while ((c = getopt(argc, argv, "a:lm:v")) >= 0) {
		if (c == 'a')
			adapter = optarg;
		else if (c == 'm')
			most = (unsigned int)atoi(optarg);
		else if (c == 'v')
			verbose = true;
		else if (c == 'l')
			for (i = 0; i < num_faults; i++)
				printf("%s\n", faults[i].call);
		else
			return 2;
		if (c == 'l')
			return 0;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	report = mmap(NULL, sizeof(*report), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	words = memfd_create("words", 0);
	if (report == MAP_FAILED || words < 0)
		abort();
	/* What waits for an answer gives up before this program does. */
	setenv("DAPL_SOFT_HANDSHAKE", "1000", 0);
	load_provider();
	interpose_start();
	for (i = 0; i < num_faults; i++) {
		if (!is_chosen(faults[i].call, argv + optind))
			continue;
		healthy = run(i, 0, NULL);
		if (healthy.complaint[0]) {
			printf("Bail out! without a fault: %s\n", healthy.complaint);
			print_words();
			return 99;
		}
		bad = try_fault(i, most, &healthy, healthy.calls, &tried);
		printf("%s %u - %s %s: %u of %u calls failed, %u not borne\n",
		       bad ? "not ok" : "ok", ++number, faults[i].call, kind_of(i), tried,
		       healthy.calls, bad);
		all_bad += bad;
	}
	printf("1..%u\n", number);
	return all_bad ? 1 : 0;
}
