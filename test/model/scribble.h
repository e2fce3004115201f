/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Memory that a thread changes all the time. */
#ifndef SCRIBBLE_H
#define SCRIBBLE_H

#include <stdbool.h>
#include <stdint.h>

struct scribbler;

/* cells: CELLS of CELL_BYTES each. */
struct scribbler *scribble_start(uint8_t *cells);
/* Off means that no write follows. */
void scribble_set(struct scribbler *s, unsigned int cell, bool on);
void scribble_stop(struct scribbler *s);

#endif
