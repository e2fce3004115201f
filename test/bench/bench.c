/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * udapl-bench: latency and bandwidth of the provider beside plain TCP, in one run on the same two
 * processors, as ratios. Absolute times drift on shared machines; the ratio of neighbouring rounds
 * does not.
 *
 *   udapl-bench [-m] [-s | -c CASE... | -r] [-e ENDPOINTS] [-t] [-n NAMESPACE -a ADDRESS]
 *               [IA [ROUNDS]]
 *
 * -s goes through all sizes. -c is one case, OPERATION:MODE:BYTES:COUNT, of send, write, read,
 * memory or reap and of polling, waiting, stream, waiting-stream, both or, of send, turns. -r
 * connects, and does nothing else. -e connects so many endpoints, which streams of writes go over in
 * turn, and turns with a silence of 20 us before each, and others leave idle. -t does without TCP,
 * and its columns mean nothing. -n puts the passive end into the network namespace of that file,
 * where the adapter has the address of -a (test/bench/apart).
 * -m writes one line of tab-separated fields per case for a machine: operation, mode, bytes, figure
 * over DAT, over TCP, unit, ratio, and of a ping-pong over DAT the median, the 99th and the 99.9th
 * percentile of half a round trip; of a read alone, whose target is busy elsewhere, of all of it.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"

#define MAX_ROUNDS 101

static const struct bench_case cases[] = {
	{ .op = BENCH_SEND, .size = 8, .count = 20000 },
	{ .op = BENCH_WRITE, .size = 8, .count = 20000 },
	{ .op = BENCH_SEND, .size = 8, .count = 10000, .waiting = true },
	{ .op = BENCH_WRITE, .size = 8, .count = 10000, .waiting = true },
	{ .op = BENCH_SEND, .size = 4096, .count = 10000 },
	{ .op = BENCH_MEMORY, .size = 8, .count = 2000 },
	{ .op = BENCH_REAP, .size = 8, .count = 2000 },
	{ .op = BENCH_READ, .size = 8, .count = 2000 },
	{ .op = BENCH_SEND, .size = 65536, .count = 4000, .stream = true },
	{ .op = BENCH_WRITE, .size = 65536, .count = 4000, .stream = true },
	{ .op = BENCH_SEND, .size = 1 << 20, .count = 400, .stream = true },
	{ .op = BENCH_WRITE, .size = 1 << 20, .count = 400, .stream = true },
	{ .op = BENCH_READ, .size = 1 << 20, .count = 400, .stream = true },
	{ .op = BENCH_SEND, .size = 1 << 20, .count = 400, .stream = true, .waiting = true },
	{ .op = BENCH_WRITE, .size = 1 << 20, .count = 400, .stream = true, .waiting = true },
	{ .op = BENCH_WRITE, .size = 1 << 20, .count = 400, .stream = true, .both = true },
};
#define NUM_CASES (sizeof(cases) / sizeof(cases[0]))

#define RATE_COUNT 500

#define MAX_CASES 64

/* For all sizes: as many messages as take about the same time. */
static struct bench_case swept[MAX_CASES];
/* By -c. */
static struct bench_case chosen[MAX_CASES];

static size_t sweep(void)
{
	size_t size, n = 0;
	int op;

	for (op = BENCH_SEND; op <= BENCH_WRITE; op++) {
		for (size = 8; size <= 65536; size *= 8)
			swept[n++] = (struct bench_case){ .op = (enum bench_op)op,
							  .size = size,
							  .count = size < 8192 ? 4000 : 1500 };
		swept[n++] = (struct bench_case){
			.op = (enum bench_op)op, .size = 8, .count = 4000, .waiting = true
		};
		for (size = 64; size <= BENCH_MAX_SIZE; size *= 4)
			swept[n++] = (struct bench_case){ .op = (enum bench_op)op,
							  .size = size,
							  .count = size < 65536 ? 4000 : 400,
							  .stream = true };
		for (size = 65536; size <= 1 << 20; size *= 16)
			swept[n++] = (struct bench_case){ .op = (enum bench_op)op,
							  .size = size,
							  .count = 400,
							  .stream = true,
							  .waiting = true };
	}
	for (size = 65536; size <= 1 << 20; size *= 16)
		swept[n++] = (struct bench_case){
			.op = BENCH_READ, .size = size, .count = 400, .stream = true
		};
	for (size = 65536; size <= 1 << 20; size *= 16)
		swept[n++] = (struct bench_case){
			.op = BENCH_WRITE, .size = size, .count = 400, .stream = true, .both = true
		};
	for (op = BENCH_READ; op <= BENCH_REAP; op++)
		swept[n++] =
			(struct bench_case){ .op = (enum bench_op)op, .size = 8, .count = 2000 };
	return n;
}

static bool for_machine, no_tcp;
struct sockaddr_in bench_server = { .sin_family = AF_INET };
static int endpoints = 1;

double bench_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

void bench_die(const char *fmt, ...)
{
	va_list ap;

	fputs("udapl-bench: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(1);
}

static void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu % (int)sysconf(_SC_NPROCESSORS_ONLN), &set);
	sched_setaffinity(0, sizeof(set), &set);
}

static int by_value(const void *a, const void *b)
{
	double d = *(const double *)a - *(const double *)b;

	return (d > 0) - (d < 0);
}

static double median(double *values, int num)
{
	qsort(values, (size_t)num, sizeof(*values), by_value);
	return num % 2 ? values[num / 2] : (values[num / 2 - 1] + values[num / 2]) / 2;
}

/* Both ends are here before a round starts. */
static void meet(int control)
{
	char c = 0;

	if (write(control, &c, 1) != 1 || read(control, &c, 1) != 1)
		bench_die("the other end is gone");
}

static const char *const names[] = {
	[BENCH_SEND] = "send",	      [BENCH_WRITE] = "RDMA write", [BENCH_READ] = "RDMA read",
	[BENCH_MEMORY] = "in memory", [BENCH_REAP] = "own reaped",
};

static int by_trip(const void *a, const void *b)
{
	float d = *(const float *)a - *(const float *)b;

	return (d > 0) - (d < 0);
}

/* One way; of a read, there and back. */
static int legs(const struct bench_case *bc)
{
	return bc->op == BENCH_READ ? 1 : 2;
}

/* The time for that which so large a part of them took at most, in microseconds. */
static double percentile(const struct bench_case *bc, double part)
{
	return bc->trips[(size_t)(part * (bc->count - 1))] / (float)legs(bc) * 1e6;
}

static void print_percentiles(const struct bench_case *bc)
{
	qsort(bc->trips, bc->count, sizeof(*bc->trips), by_trip);
	printf(for_machine ? "\t%.3f\t%.3f\t%.3f" : "  %.2f, 99 %% %.2f, 99.9 %% %.2f",
	       percentile(bc, 0.5), percentile(bc, 0.99), percentile(bc, 0.999));
}

static const char *mode_of(const struct bench_case *bc)
{
	if (bc->both)
		return "both ways";
	if (bc->turns)
		return "turns";
	if (bc->stream)
		return bc->waiting ? "waiting stream" : "stream";
	return bc->waiting ? "waiting" : "polling";
}

static void print_case(const struct bench_case *bc, double *dat, double *tcp, double *ratio,
		       int rounds)
{
	double d = median(dat, rounds), t = median(tcp, rounds), low, high,
	       r = median(ratio, rounds);
	const char *unit = bc->stream ? "MB/s" : "us";
	const char *mode = mode_of(bc);
	int ways = bc->both ? 2 : 1;

	low = ratio[0];
	high = ratio[rounds - 1];
	if (bc->stream) {
		d = (double)bc->size * bc->count * ways / d / 1e6;
		t = (double)bc->size * bc->count * ways / t / 1e6;
		r = 1 / r;
		low = 1 / ratio[rounds - 1];
		high = 1 / ratio[0];
	} else {
		d = d / bc->count / legs(bc) * 1e6;
		t = t / bc->count / legs(bc) * 1e6;
	}
	if (for_machine)
		printf("%s\t%s\t%zu\t%.3f\t%.3f\t%s\t%.3f",
		       bc->op == BENCH_WRITE ? "write" : names[bc->op], mode, bc->size, d, t, unit,
		       r);
	else if (no_tcp)
		printf("%-10s %8zu  %-14s %10.2f %10s %-5s", names[bc->op], bc->size, mode, d, "",
		       unit);
	else
		printf("%-10s %8zu  %-14s %10.2f %10.2f %-5s %6.2f  [%.2f..%.2f]", names[bc->op],
		       bc->size, mode, d, t, unit, r, low, high);
	if (bc->trips)
		print_percentiles(bc);
	putchar('\n');
	fflush(stdout);
}

/* Higher is better: the ratio is the share of TCP's rate. */
static void run_rate(const char *ia, int rounds, bool active, int control)
{
	double dat[MAX_ROUNDS], tcp[MAX_ROUNDS], ratio[MAX_ROUNDS], d, t;
	int r;

	for (r = -1; r < rounds; r++) {
		meet(control);
		t = bench_tcp_rate(active, control, RATE_COUNT);
		meet(control);
		d = bench_dat_rate(ia, active, control, RATE_COUNT);
		if (r < 0)
			continue;
		tcp[r] = t;
		dat[r] = d;
		ratio[r] = d / t;
	}
	if (!active)
		return;
	d = median(dat, rounds);
	t = median(tcp, rounds);
	median(ratio, rounds);
	if (for_machine)
		printf("connect\trate\t0\t%.3f\t%.3f\t/s\t%.3f\n", d, t, ratio[rounds / 2]);
	else
		printf("%-10s %8s  %-14s %10.0f %10.0f %-5s %6.2f  [%.2f..%.2f]\n", "connect", "",
		       "rate", d, t, "/s", ratio[rounds / 2], ratio[0], ratio[rounds - 1]);
	fflush(stdout);
}

static double run_dat(struct bench_dat *bd, const struct bench_case *bc, bool active, int control)
{
	bench_dat_clear(bd, bc);
	meet(control);
	return bench_dat_run(bd, bc, active);
}

static void run(const char *ia, int rounds, bool active, int control, const struct bench_case *todo,
		size_t num)
{
	double dat[MAX_ROUNDS], tcp[MAX_ROUNDS], ratio[MAX_ROUNDS];
	struct bench_dat *bd;
	size_t i;
	int r, fd;

	pin(active ? 0 : 1);
	fd = bench_tcp_open(active, control);
	bd = bench_dat_open(ia, active, control, endpoints);
	for (i = 0; i < num; i++) {
		struct bench_case timed = todo[i];

		for (r = -1; r < rounds; r++) { /* the first one warms up */
			double t, d;

			meet(control);
			t = no_tcp ? 1 : bench_tcp_run(fd, &todo[i], active);
			d = run_dat(bd, &todo[i], active, control);
			if (r < 0)
				continue;
			tcp[r] = t;
			dat[r] = d;
			ratio[r] = d / t;
		}
		/* To take the time of each costs time. */
		if (!todo[i].stream) {
			if (active)
				timed.trips = calloc(todo[i].count, sizeof(*timed.trips));
			run_dat(bd, &timed, active, control);
		}
		if (active)
			print_case(&timed, dat, tcp, ratio, rounds);
		free(timed.trips);
	}
	meet(control);
	bench_dat_close(bd);
	close(fd);
	if (todo != chosen)
		run_rate(ia, rounds, active, control);
}

static void join(const char *namespace)
{
	int fd = open(namespace, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || setns(fd, CLONE_NEWNET))
		bench_die("%s: %s", namespace, strerror(errno));
	close(fd);
}

/* OPERATION:MODE:BYTES:COUNT */
static struct bench_case parse_case(const char *text)
{
	static const char *const ops[] = { "send", "write", "read", "memory", "reap" };
	static const char *const modes[] = { "polling",	       "waiting", "stream",
					     "waiting-stream", "both",	  "turns" };
	struct bench_case bc = { 0 };
	char op[16], mode[16];
	size_t o = 0, m = 0;

	if (sscanf(text, "%15[^:]:%15[^:]:%zu:%u", op, mode, &bc.size, &bc.count) != 4)
		bench_die("%s: OPERATION:MODE:BYTES:COUNT", text);
	while (o < 5 && strcmp(ops[o], op))
		o++;
	while (m < 6 && strcmp(modes[m], mode))
		m++;
	bc.op = (enum bench_op)o;
	bc.stream = m >= 2 && m <= 4;
	bc.waiting = m == 1 || m == 3;
	bc.both = m == 4;
	bc.turns = m == 5;
	if (o == 5 || m == 6 || !bc.size || bc.size > BENCH_MAX_SIZE || !bc.count ||
	    (bc.both && bc.op != BENCH_WRITE) || (bc.turns && bc.op != BENCH_SEND) ||
	    (bc.stream && bc.op > BENCH_READ) || (bc.waiting && !bc.stream && bc.op >= BENCH_READ))
		bench_die("%s: there is no such case", text);
	return bc;
}

int main(int argc, char **argv)
{
	const struct bench_case *todo = cases;
	int rounds, fds[2], status = 1, c;
	size_t num = NUM_CASES, num_chosen = 0;
	const char *ia, *namespace = NULL;
	pid_t child;

	bench_server.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	while ((c = getopt(argc, argv, "msc:re:tn:a:")) != -1)
		if (c == 'm') {
			for_machine = true;
		} else if (c == 's') {
			num = sweep();
			todo = swept;
		} else if (c == 'c' && num_chosen < MAX_CASES) {
			chosen[num_chosen++] = parse_case(optarg);
			num = num_chosen;
			todo = chosen;
		} else if (c == 'r') {
			num = 0;
		} else if (c == 'e') {
			endpoints = atoi(optarg);
		} else if (c == 't') {
			no_tcp = true;
		} else if (c == 'n') {
			namespace = optarg;
		} else if (c != 'a' || !inet_aton(optarg, &bench_server.sin_addr)) {
			return 2;
		}
	if (endpoints < 1 || endpoints > BENCH_MAX_ENDPOINTS)
		bench_die("1 to %d endpoints", BENCH_MAX_ENDPOINTS);
	ia = argc > optind ? argv[optind] : "soft-lo";
	rounds = argc > optind + 1 ? atoi(argv[optind + 1]) : 5;
	if (rounds < 1 || rounds > MAX_ROUNDS)
		bench_die("1 to %d rounds", MAX_ROUNDS);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds))
		bench_die("socketpair: %s", strerror(errno));
	if (!for_machine)
		printf("%-10s %8s  %-14s %10s %10s %-5s %6s  %s\n", "operation", "bytes", "mode",
		       ia, "TCP", "unit", "ratio", "range");
	fflush(stdout);
	child = fork();
	if (child < 0)
		bench_die("fork: %s", strerror(errno));
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(fds[0]);
		if (namespace)
			join(namespace);
		run(ia, rounds, false, fds[1], todo, num);
		return 0;
	}
	close(fds[1]);
	run(ia, rounds, true, fds[0], todo, num);
	waitpid(child, &status, 0);
	return status ? 1 : 0;
}
