/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "test/model/shrink.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "test/model/peer.h"

struct run *run_map(int *fd)
{
	struct run *run;

	*fd = memfd_create("run", 0);
	if (*fd < 0 || ftruncate(*fd, sizeof(*run)))
		return NULL;
	run = mmap(NULL, sizeof(*run), PROT_READ | PROT_WRITE, MAP_SHARED, *fd, 0);
	return run == MAP_FAILED ? NULL : run;
}

void run_init(struct run *run)
{
	const char *ia_name = getenv("UDAPL_IA");

	snprintf(run->ia_name, sizeof(run->ia_name), "%s", ia_name ? ia_name : "soft-lo");
	run->deadline_s = DEADLINE_S;
}

int run_child_main(int fd)
{
	struct run *run = mmap(NULL, sizeof(*run), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (run == MAP_FAILED)
		return 1;
	driver_run(run);
	return run->error[0] != 0;
}

#define SOCKETS_LARGE "4096 131072 6291456"
#define SOCKETS_SMALL "4096 4608 8192"

/* Values of the provider's tunables, by two bits each of a run's number. */
static const struct {
	const char *name, *value[4];
} tunables[] = {
	{ "DAPL_SOFT_LINK", { NULL, "shm", "tcp", "tcp" } },
	{ "DAPL_SOFT_FPDU", { NULL, "0", "700", "9000" } },
	{ "DAPL_SOFT_CRC", { NULL, "1", "1", "0" } },
	{ "DAPL_SOFT_LINGER", { NULL, "30", "30", "150" } },
	/* What must happen within it must happen within the deadline as well. */
	{ "DAPL_SOFT_UNRECEIVED", { "2000", "100", "100", "300" } },
	/* A kernel that takes little for who stands still; in a network of our own. */
	{ "memory of sockets", { SOCKETS_LARGE, SOCKETS_SMALL, SOCKETS_LARGE, SOCKETS_SMALL } },
};

static const char *tunable(const struct run *run, unsigned int i)
{
	return tunables[i].value[run->tunables >> 2 * i & 3];
}

static bool own_network(void)
{
	char ours[64] = "", first[64] = "";

	return readlink("/proc/self/ns/net", ours, sizeof(ours) - 1) > 0 &&
	       readlink("/proc/1/ns/net", first, sizeof(first) - 1) > 0 && strcmp(ours, first);
}

static void set_socket_memory(const char *value)
{
	static const char *const file[] = { "/proc/sys/net/ipv4/tcp_rmem",
					    "/proc/sys/net/ipv4/tcp_wmem" };
	FILE *out;

	for (unsigned int i = 0; i < 2 && own_network(); i++) {
		out = fopen(file[i], "w");
		if (!out)
			return;
		fputs(value, out);
		fclose(out);
	}
}

static void set_tunable(const char *name, const char *value)
{
	if (!strncmp(name, "DAPL_", 5))
		setenv(name, value, 0);
	else
		set_socket_memory(value);
}

/* What the libraries said in the last quiet run. */
static int messages = -1;

static void keep_messages(void)
{
	if (messages < 0)
		messages = memfd_create("messages", MFD_CLOEXEC);
	if (messages >= 0 && (ftruncate(messages, 0) || lseek(messages, 0, SEEK_SET)))
		messages = -1;
}

void run_print_messages(FILE *out)
{
	char text[2048], *line, *rest = NULL;
	off_t end = messages < 0 ? 0 : lseek(messages, 0, SEEK_END);
	off_t from = end < (off_t)sizeof(text) ? 0 : end - (off_t)sizeof(text) + 1;
	ssize_t n = end > 0 ? pread(messages, text, sizeof(text) - 1, from) : 0;

	text[n > 0 ? n : 0] = 0;
	for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		fprintf(out, "# said: %s\n", line);
}

static void start(const struct run *run, int fd, bool quiet)
{
	char number[16];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (unsigned int i = 0; i < sizeof(tunables) / sizeof(tunables[0]); i++)
		if (tunable(run, i))
			set_tunable(tunables[i].name, tunable(run, i));
	if (quiet)
		dup2(messages, STDERR_FILENO);
	snprintf(number, sizeof(number), "%d", fd);
	execl("/proc/self/exe", "model", "--child", number, (char *)NULL);
	_exit(127);
}

bool run_child(struct run *run, int fd, unsigned int limit_s, bool quiet)
{
	uint64_t deadline = now_ms() + limit_s * 1000UL;
	int status = 0;
	pid_t pid;

	run->ended = 0;
	run->error[0] = 0;
	if (quiet)
		keep_messages();
	pid = fork();
	if (!pid)
		start(run, fd, quiet);
	while (!waitpid(pid, &status, WNOHANG)) {
		if (now_ms() > deadline) {
			kill(pid, SIGKILL);
			waitpid(pid, &status, 0);
			snprintf(run->error, sizeof(run->error), "hangs: not done within %u s",
				 limit_s);
			return false;
		}
		usleep(1000);
	}
	if (WIFSIGNALED(status))
		snprintf(run->error, sizeof(run->error), "killed by signal %d (%s)",
			 WTERMSIG(status), strsignal(WTERMSIG(status)));
	else if ((!run->ended || status) && !run->error[0])
		snprintf(run->error, sizeof(run->error), "exit status %d %s the end",
			 WEXITSTATUS(status), run->ended ? "after" : "before");
	return !run->error[0];
}

/* The first word of an error: the same clause means the same failure. */
static bool same(const char *a, const char *b)
{
	size_t len = strcspn(a, " ");

	return !strncmp(a, b, len + 1);
}

static bool still_fails(struct run *run, int fd, unsigned int tries, const char *error)
{
	while (tries--)
		if (!run_child(run, fd, SHRINK_DEADLINE_S + 5, true) && same(run->error, error))
			return true;
	return false;
}

/* Runs the program without steps [from, from + count); true: it fails all the same. */
static bool without(struct run *run, int fd, uint32_t from, uint32_t count, unsigned int tries,
		    const char *error)
{
	static struct step kept[MAX_STEPS];
	uint32_t before = run->count;

	memcpy(kept, run->step, before * sizeof(kept[0]));
	memmove(&run->step[from], &run->step[from + count],
		(before - from - count) * sizeof(kept[0]));
	run->count = before - count;
	if (still_fails(run, fd, tries, error))
		return true;
	memcpy(run->step, kept, before * sizeof(kept[0]));
	run->count = before;
	return false;
}

/* Removes pieces of one size, from the end: what came last is most often needed. */
static bool without_pieces(struct run *run, int fd, uint32_t size, unsigned int tries,
			   const char *error, uint64_t deadline)
{
	bool removed = false;
	uint32_t from, count;

	for (from = run->count; from && now_ms() < deadline;) {
		count = size < from ? size : from;
		from -= count;
		removed |= without(run, fd, from, count, tries, error);
	}
	return removed;
}

bool shrink(struct run *run, int fd, unsigned int tries, unsigned int seconds)
{
	uint64_t deadline = now_ms() + seconds * 1000UL;
	uint32_t full_deadline = run->deadline_s, size;
	char error[sizeof(run->error)];
	bool fails;

	snprintf(error, sizeof(error), "%s", run->error);
	run->random = 0;
	run->deadline_s = SHRINK_DEADLINE_S;
	fails = still_fails(run, fd, tries * 3, error);
	for (size = run->count / 2 + 1; fails && size && now_ms() < deadline;)
		if (!without_pieces(run, fd, size, tries, error, deadline) || size > 1)
			size /= 2;
	if (!fails || !still_fails(run, fd, tries * 3, error))
		snprintf(run->error, sizeof(run->error), "%s", error);
	run->deadline_s = full_deadline;
	return fails;
}

/* ---- Printing ---- */

void run_print_c(FILE *out, const struct run *run)
{
	fprintf(out,
		"/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */\n"
		"/* %s */\n",
		run->error);
	for (unsigned int i = 0; i < sizeof(tunables) / sizeof(tunables[0]); i++)
		if (tunable(run, i))
			fprintf(out, "/* %s=%s */\n", tunables[i].name, tunable(run, i));
	fprintf(out, "#include \"test/model/kept.h\"\n\nstatic const struct step program[] = "
		     "{\n");
	for (uint32_t i = 0; i < run->count; i++)
		step_print_c(out, &run->step[i]);
	fprintf(out, "};\n\nKEPT(program, %u, %u, %u)\n", run->sides, run->two_processes,
		run->threads);
}

void run_print_text(FILE *out, const struct run *run)
{
	char text[200];

	fprintf(out, "sides=%u processes=%u threads=%u tunables=%u seed=%llu\n", run->sides,
		1 + run->two_processes, run->threads, run->tunables, (unsigned long long)run->seed);
	for (uint32_t i = 0; i < run->count; i++) {
		step_text(&run->step[i], text, sizeof(text));
		fprintf(out, "%s\n", text);
	}
}

bool run_read(FILE *in, struct run *run)
{
	unsigned long long seed;
	char line[256];
	unsigned int processes;

	if (fscanf(in, "sides=%u processes=%u threads=%u tunables=%u seed=%llu\n", &run->sides,
		   &processes, &run->threads, &run->tunables, &seed) != 5)
		return false;
	run->two_processes = processes - 1;
	run->seed = seed;
	run->random = run->count = 0;
	while (fgets(line, sizeof(line), in) && run->count < MAX_STEPS)
		if (line[0] != '#' && step_parse(line, &run->step[run->count]))
			run->count++;
	return true;
}
