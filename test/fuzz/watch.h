/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* For harnesses with threads, whose calls libFuzzer's clock would interrupt: a time limit without
 * it. */
#ifndef TEST_FUZZ_WATCH_H
#define TEST_FUZZ_WATCH_H

/* Before the first thread. */
void watch_start(void);
/* An input that takes WATCH_SECONDS from begin to end, twice at most, ends the harness. */
void watch_begin(void);
void watch_end(void);

#endif
