/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "test/model/kept.h"

#include <stdlib.h>
#include <string.h>

#include "test/model/shrink.h"

enum {
	TIMES = 5, /* what failed may fail only sometimes */
};

int kept_main(int argc, char **argv, const struct step *steps, size_t count, unsigned int sides,
	      unsigned int two_processes, unsigned int threads)
{
	struct run *run;
	int fd, failed;

	if (argc == 3 && !strcmp(argv[1], "--child"))
		return run_child_main(atoi(argv[2]));
	run = run_map(&fd);
	if (!run)
		return 2;
	run_init(run);
	run->sides = sides;
	run->two_processes = two_processes;
	run->threads = threads;
	run->count = (uint32_t)count;
	memcpy(run->step, steps, count * sizeof(*steps));
	for (int i = 0; i < TIMES; i++) {
		failed = !run_child(run, fd, DEADLINE_S * 3, false);
		if (failed)
			printf("# %s\n", run->error);
		printf("%s %d - the program runs as the model says\n", failed ? "not ok" : "ok",
		       i + 1);
	}
	printf("1..%d\n", TIMES);
	return 0;
}
