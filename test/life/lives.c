/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A client and a server, two processes, one of which is killed, or stopped for longer than the
 * limits there are, before one of its steps: a call that the libraries make, or one of the
 * program's. The other hears of it in time, completes everything once, serves the next one, closes
 * and leaves nothing behind.
 *
 *   lives kill|stop [-a ADAPTER] [-m MOST] [-n] [-s SEED] [-v] [client|server]
 *   lives server|client -p PORT [-a ADAPTER] [-c HOST] [-i IDLE_MS] [-k STEP] [-l LIMIT_MS]
 *         [-r ROUNDS] [-e]
 *
 * -m bounds at how many steps (60), spread over all from one by SEED; -n: what is stopped must not
 * notice. The second form is one side alone: -e, its life may end; it stops itself before STEP; it
 * prints how it did and how many steps there were.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "side.h"
#include "test/faults/interpose.h"

enum {
	LIMIT_MS = 8000, /* of anything that must happen */
	HEARD_MS = 3000, /* of a killed peer */
	STOP_MS = 1200,	 /* longer than the limits that are set */
	TIMED = 1u << 31,
};

/* What is shared by a pair and its parent. */
struct shared {
	struct side_report report[2];
	unsigned int steps[2];
};

static struct shared *shared;
static struct side_plan plans[2];
static const char *const names[2] = { "client", "server" };
static uint64_t worst_heard;
static unsigned int disturbed;
static bool verbose;

/* ---- Processes ---- */

static pid_t start(int side, uint32_t lives, unsigned int at, int number)
{
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (!verbose && !freopen("/dev/null", "w", stderr))
		abort();
	alarm(60);
	interpose_signal(at, number);
	side_run(&plans[side], &shared->report[side], lives);
	shared->steps[side] = interpose_steps();
	_exit(shared->report[side].complaint[0] != 0);
}

static void until(const atomic_bool *flag, pid_t pid)
{
	uint64_t deadline = side_now() + LIMIT_MS;
	siginfo_t info = { 0 };

	while (!atomic_load(flag) && side_now() < deadline) {
		if (!waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) && info.si_pid)
			return;
		usleep(500);
	}
}

/* Within a limit; what is wrong goes to the side's complaint. */
static void reap(int side, pid_t pid, bool killed)
{
	struct side_report *report = &shared->report[side];
	uint64_t deadline = side_now() + 4 * LIMIT_MS;
	int status = 0;

	while (!waitpid(pid, &status, WNOHANG)) {
		if (side_now() > deadline) {
			kill(pid, SIGKILL);
			waitpid(pid, &status, 0);
			snprintf(report->complaint, sizeof(report->complaint), "hangs in %s",
				 report->step);
			return;
		}
		usleep(500);
	}
	if (killed && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) {
		disturbed++;
		report->complaint[0] = 0;
		return;
	}
	if (WIFSIGNALED(status) && !report->complaint[0])
		snprintf(report->complaint, sizeof(report->complaint), "%s in %s",
			 strsignal(WTERMSIG(status)), report->step);
}

static bool well(void)
{
	return !shared->report[0].complaint[0] && !shared->report[1].complaint[0];
}

static void say(const char *what, unsigned int at)
{
	for (int side = 0; side < 2; side++)
		if (shared->report[side].complaint[0])
			printf("# %s at step %u: the %s: %s\n", what, at & ~TIMED, names[side],
			       shared->report[side].complaint);
}

/* ---- Runs ---- */

static void prepare(bool may_end)
{
	memset(shared, 0, sizeof(*shared));
	for (int side = 0; side < 2; side++)
		atomic_store(&shared->report[side].may_end, may_end);
}

/* Both live once, or twice; what they leave behind and how many steps they make. */
static bool healthy(struct shared *out, int survivor)
{
	pid_t pid[2];

	prepare(false);
	pid[1] = start(1, 1 + (survivor == 1), 0, 0);
	until(&shared->report[1].ready, pid[1]);
	pid[0] = start(0, 1 + (survivor == 0), 0, 0);
	reap(!survivor, pid[!survivor], false);
	*out = *shared;
	if (well()) {
		memset(&shared->report[!survivor], 0, sizeof(shared->report[0]));
		pid[!survivor] = start(!survivor, 1, 0, 0);
		until(&shared->report[!survivor].ready, pid[!survivor]);
		atomic_store(&shared->report[survivor].go, true);
		reap(!survivor, pid[!survivor], false);
	}
	reap(survivor, pid[survivor], false);
	out->report[survivor] = shared->report[survivor];
	say("nobody is disturbed", 0);
	return well();
}

/* Steps of a side whose peer may be gone but is not: the fewest of some, some of them poll. */
static unsigned int count_steps(int side)
{
	unsigned int least = ~0u;
	pid_t pid[2];

	for (int i = 0; i < 3 && well(); i++) {
		prepare(true);
		pid[1] = start(1, 1, 0, 0);
		until(&shared->report[1].ready, pid[1]);
		pid[0] = start(0, 1, 0, 0);
		reap(0, pid[0], false);
		reap(1, pid[1], false);
		if (shared->steps[side] < least)
			least = shared->steps[side];
	}
	return least;
}

/* Waits until the victim is killed or stopped, or through; then how long it may take to hear. */
static uint64_t disturb(pid_t pid, unsigned int at, int number)
{
	uint64_t deadline = side_now() + LIMIT_MS;
	siginfo_t info;

	if (at & TIMED) {
		usleep(at & ~TIMED);
		kill(pid, number);
	}
	while (side_now() < deadline) {
		info.si_pid = 0;
		waitid(P_PID, (id_t)pid, &info, WEXITED | WSTOPPED | WNOHANG | WNOWAIT);
		disturbed += info.si_pid && info.si_code == CLD_STOPPED;
		if (info.si_pid)
			break;
		usleep(200);
	}
	return side_now();
}

static void judge_survivor(const struct shared *before, int survivor, uint64_t gone_at)
{
	struct side_report *report = &shared->report[survivor];
	uint64_t heard_at = atomic_load(&report->heard_at);

	(void)before;
	if (!heard_at || heard_at < gone_at || report->complaint[0])
		return;
	if (heard_at - gone_at > worst_heard)
		worst_heard = heard_at - gone_at;
	if (heard_at - gone_at > HEARD_MS)
		snprintf(report->complaint, sizeof(report->complaint),
			 "heard of the end after %llu ms",
			 (unsigned long long)(heard_at - gone_at));
}

static void judge_leaks(const struct shared *before, int survivor)
{
	struct side_report *report = &shared->report[survivor];
	const struct side_report *usual = &before->report[survivor];

	if (!report->complaint[0] &&
	    (report->blocks > usual->blocks || report->files > usual->files))
		snprintf(report->complaint, sizeof(report->complaint),
			 "leaves %d blocks and %d descriptors more than usual",
			 report->blocks - usual->blocks, report->files - usual->files);
}

/* The survivor's second life, with a healthy peer. */
static void live_again(int survivor, pid_t pid)
{
	pid_t next;

	until(&shared->report[survivor].lived, pid);
	memset(&shared->report[!survivor], 0, sizeof(shared->report[0]));
	atomic_store(&shared->report[survivor].gone, false);
	atomic_store(&shared->report[survivor].may_end, false);
	next = start(!survivor, 1, 0, 0);
	until(&shared->report[!survivor].ready, next);
	atomic_store(&shared->report[survivor].go, true);
	reap(!survivor, next, false);
	reap(survivor, pid, false);
}

/* The victim is killed before step number at, or at that many us; the other one lives on. */
static bool kill_one(const struct shared *before, int victim, unsigned int at)
{
	unsigned int step = at & TIMED ? 0 : at;
	int survivor = !victim;
	uint64_t gone_at;
	pid_t pid[2];

	prepare(true);
	pid[1] = start(1, 1 + (survivor == 1), victim == 1 ? step : 0, SIGKILL);
	until(&shared->report[1].ready, pid[1]);
	pid[0] = start(0, 1 + (survivor == 0), victim == 0 ? step : 0, SIGKILL);
	gone_at = disturb(pid[victim], at, SIGKILL);
	atomic_store(&shared->report[survivor].gone, true);
	reap(victim, pid[victim], true);
	until(&shared->report[survivor].lived, pid[survivor]);
	judge_survivor(before, survivor, gone_at);
	live_again(survivor, pid[survivor]);
	judge_leaks(before, survivor);
	say(victim ? "the server is killed" : "the client is killed", at);
	return well();
}

/* The victim is stopped before that step, goes on later, and both come to their end. */
static bool stop_one(const struct shared *before, int victim, unsigned int at, bool unnoticed)
{
	pid_t pid[2];

	(void)before;
	prepare(!unnoticed);
	pid[1] = start(1, 1, victim == 1 ? at : 0, SIGSTOP);
	/* One that stops before it listens is not there for the client. */
	until(&shared->report[1].ready, pid[1]);
	if (!atomic_load(&shared->report[1].ready)) {
		kill(pid[1], SIGCONT);
		until(&shared->report[1].ready, pid[1]);
	}
	pid[0] = start(0, 1, victim == 0 ? at : 0, SIGSTOP);
	disturb(pid[victim], at, SIGSTOP);
	usleep((useconds_t)(unnoticed ? STOP_MS / 2 : STOP_MS) * 1000);
	kill(pid[victim], SIGCONT);
	reap(0, pid[0], false);
	atomic_store(&shared->report[1].gone, true);
	reap(1, pid[1], false);
	say(victim ? "the server stands still" : "the client stands still", at);
	return well();
}

/* ---- Many of them ---- */

static unsigned int try_all(bool stop, bool unnoticed, int victim, unsigned int most,
			    unsigned int seed, unsigned int *tried)
{
	unsigned int steps, stride, bad = 0, at, sooner, was;
	struct shared before;

	if (!healthy(&before, !victim))
		return 1;
	steps = count_steps(victim);
	if (!well())
		return 1;
	stride = steps > most ? (steps + most - 1) / most : 1;
	for (at = 1 + seed % stride; at <= steps; at += stride) {
		++*tried;
		/* Where it made fewer steps this time, sooner. */
		was = disturbed;
		for (sooner = at; sooner && disturbed == was; sooner /= 2)
			bad += stop ? !stop_one(&before, victim, sooner, unnoticed)
				    : !kill_one(&before, victim, sooner);
	}
	/* Between two steps as well: over shared memory data move without a call. */
	for (at = 0; !stop && at < most / 4; at++) {
		++*tried;
		bad += !kill_one(&before, victim, TIMED | (5000 + (seed + at * 7919) % 40000));
	}
	printf("# %u steps of the %s\n", steps, names[victim]);
	return bad;
}

/* Two ports that nobody has. */
static uint16_t free_port(void)
{
	struct sockaddr_in addr = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_ANY) } };
	uint16_t port = (uint16_t)(20000 + (unsigned int)getpid() * 2 % 10000);
	int fd, tries;

	for (tries = 0; tries < 5000; port = (uint16_t)(port + 2), tries++) {
		int ok = 0;

		for (int i = 0; i < 2; i++) {
			addr.sin_port = htons((uint16_t)(port + i));
			fd = socket(AF_INET, SOCK_STREAM, 0);
			ok += !bind(fd, (struct sockaddr *)&addr, sizeof(addr));
			close(fd);
		}
		if (ok == 2)
			return port;
	}
	abort();
}

/* The provider is there before the first life, so that its calls are known from their first on. */
static void load_provider(void)
{
	const char *path = getenv("FAULTS_MODULE");

	if (path && !dlopen(path, RTLD_NOW)) {
		printf("Bail out! FAULTS_MODULE: %s\n", dlerror());
		exit(99);
	}
	interpose_start();
}

static int run_one(int side, bool may_end, unsigned int stop_at)
{
	struct side_report *report = &shared->report[side];
	uint64_t began = side_now();

	prepare(may_end);
	load_provider();
	interpose_signal(stop_at, SIGSTOP);
	side_run(&plans[side], report, 1);
	printf("%s %s, event 0x%x at %llu, %u rounds, %llu ms, %u steps%s%s\n", names[side],
	       report->complaint[0] ? "failed" : "well", atomic_load(&report->event),
	       (unsigned long long)atomic_load(&report->heard_at), atomic_load(&report->rounds),
	       (unsigned long long)(side_now() - began), interpose_steps(),
	       report->complaint[0] ? ": " : "", report->complaint);
	return report->complaint[0] != 0;
}

static int run_pairs(bool stop, bool unnoticed, const char *only, unsigned int most,
		     unsigned int seed)
{
	unsigned int number = 0, bad, tried, all_bad = 0;

	load_provider();
	for (int victim = 0; victim < 2; victim++) {
		if (only && strcmp(only, names[victim]) != 0)
			continue;
		tried = 0;
		worst_heard = 0;
		disturbed = 0;
		bad = try_all(stop, unnoticed, victim, most, seed, &tried);
		bad += !disturbed;
		printf("%s %u - the %s is %s: %u of %u times, %u not borne", bad ? "not ok" : "ok",
		       ++number, names[victim], stop ? "stopped" : "killed", disturbed, tried, bad);
		if (!stop)
			printf(", heard of within %llu ms", (unsigned long long)worst_heard);
		printf("\n");
		all_bad += bad;
	}
	printf("1..%u\n", number);
	return all_bad != 0;
}

int main(int argc, char **argv)
{
	struct side_plan plan = { .adapter = "soft-lo", .limit_ms = LIMIT_MS, .rounds = 2 };
	unsigned int most = 60, seed = (unsigned int)time(NULL), stop_at = 0;
	bool unnoticed = false, may_end = false;
	const char *what = argc > 1 ? argv[1] : "";
	int c;

	optind = 2;
	while ((c = getopt(argc, argv, "a:c:ei:k:l:m:np:r:s:v")) >= 0)
		if (c == 'a')
			plan.adapter = optarg;
		else if (c == 'c')
			plan.host = optarg;
		else if (c == 'e')
			may_end = true;
		else if (c == 'i')
			plan.idle_ms = (uint32_t)atoi(optarg);
		else if (c == 'k')
			stop_at = (unsigned int)atoi(optarg);
		else if (c == 'l')
			plan.limit_ms = (uint32_t)atoi(optarg);
		else if (c == 'm')
			most = (unsigned int)atoi(optarg);
		else if (c == 'n')
			unnoticed = true;
		else if (c == 'p')
			plan.port = (uint16_t)atoi(optarg);
		else if (c == 'r')
			plan.rounds = (uint32_t)atoi(optarg);
		else if (c == 's')
			seed = (unsigned int)atoi(optarg);
		else if (c == 'v')
			verbose = true;
		else
			return 2;
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (!plan.port)
		plan.port = free_port();
	plans[0] = plans[1] = plan;
	plans[1].server = true;
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (shared == MAP_FAILED)
		abort();
	if (!strcmp(what, "client") || !strcmp(what, "server"))
		return run_one(!strcmp(what, "server"), may_end, stop_at);
	if (strcmp(what, "kill") != 0 && strcmp(what, "stop") != 0)
		return 2;
	return run_pairs(!strcmp(what, "stop"), unnoticed, argv[optind], most, seed);
}
