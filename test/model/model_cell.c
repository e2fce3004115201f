/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The model: memory that the peer reaches, and its counters (doc/spec, files 04 to 06). */
#include "test/model/model.h"

#include <string.h>

/* Nobody knows what is in a cell whose writer's connection is over. */
void cell_look(struct model *m, struct cell *cell)
{
	const struct conn *c;
	const struct half *y;

	if (cell->conn < 0)
		return;
	c = &m->conn[cell->conn];
	y = &c->half[!cell->half];
	if (c->used && c->id == cell->conn_id && y->phase != PHASE_ENDED && !y->gone)
		return;
	cell->conn = -1;
	cell->pattern = 0;
	cell->length = 0;
	if (cell->rmr >= 0 && m->rmr[cell->rmr].users)
		m->rmr[cell->rmr].users--;
	cell->rmr = -1;
}

void cell_fill(struct model *m, int index)
{
	struct cell *cell = &m->cell[index];

	cell->pattern = ++m->serial << 8;
	cell->length = CELL_BYTES;
	model_fill(model_cell(m, index), cell->pattern, CELL_BYTES);
}

/* What the last write left is in place, for certain. */
static void cell_settled(struct model *m, int index, const char *clause)
{
	struct cell *cell = &m->cell[index];

	cell->conn = -1;
	if (cell->rmr >= 0 && m->rmr[cell->rmr].users)
		m->rmr[cell->rmr].users--;
	cell->rmr = -1;
	if (cell->pattern && !cell->scribbled &&
	    !model_filled(model_cell(m, index), cell->pattern, cell->length))
		model_wrong(m, "%s: cell %d does not hold the %u bytes written to it", clause,
			    index, cell->length);
}

void cells_settle(struct model *m, int conn, int half, uint32_t received)
{
	for (int i = 0; i < CELLS * (int)m->sides; i++)
		if (m->cell[i].conn == conn && m->cell[i].half == half &&
		    m->cell[i].conn_id == m->conn[conn].id && m->cell[i].after < received)
			cell_settled(m, i, "DTO-66");
}

const uint8_t *model_watched(const struct model *m, const struct call *call)
{
	int index = call->step.arg[1];

	if (call->step.op != STEP_WRITE || call->length < 2 || m->cell[index].conn >= 0 ||
	    !m->cell[index].pattern)
		return NULL;
	return model_cell(m, index);
}

/* A read by the writer has found what was written. */
void cell_read(struct model *m, int conn, int half, const struct entry *entry)
{
	const struct cell *cell = &m->cell[entry->cell];

	if (cell->conn == conn && cell->half == half && cell->pattern == entry->expect)
		cell_settled(m, entry->cell, "DTO-68");
}

/* Outstanding reads and atomics may find anything from now on, but for those of keep. */
void cells_read_any(struct model *m, int cell, const struct queue *keep)
{
	for (int i = 0; i < MAX_EPS; i++) {
		struct queue *queue = &m->ep[i].request;

		for (uint32_t j = 0; queue != keep && j < queue->count; j++)
			if (queue_at(queue, j)->cell == cell)
				queue_at(queue, j)->expect = queue_at(queue, j)->expect_length = 0;
	}
}

/* ---- Counters ---- */

void counter_added(struct cell *cell, uint64_t value)
{
	cell->sum += value;
	cell->adds++;
}

void counter_over(struct cell *cell, bool ok)
{
	cell->adds--;
	cell->sum_lost |= !ok;
}

/* It begins anew, unless an addition may still come. */
bool counter_fill(struct model *m, int index)
{
	struct cell *cell = &m->cell[index];

	if (cell->adds || cell->sum_lost)
		return false;
	cell->pattern = cell->sum = 0;
	cell->length = 8;
	memset(model_cell(m, index), 0, 8);
	return true;
}

/* Whether what a former endpoint asked for may still be done. */
static bool is_dying(const struct conn *c)
{
	return c->used && (c->half[0].gone || c->half[1].gone || c->fault ||
			   c->half[0].phase == PHASE_ENDED || c->half[1].phase == PHASE_ENDED);
}

/* Nothing is lost of additions, whoever made them and in which order (IBX-43). */
void counters_quiet(struct model *m)
{
	bool dying = false;

	for (int i = 0; i < MAX_CONNS; i++)
		dying |= is_dying(&m->conn[i]);
	for (int i = 0; i < CELLS * (int)m->sides; i++) {
		struct cell *cell = &m->cell[i];
		uint64_t value;

		if (!model_is_counter(m, i) || cell->adds)
			continue;
		/* What a former endpoint asked for may be done at this moment. */
		value = __atomic_load_n((uint64_t *)(void *)model_cell(m, i), __ATOMIC_ACQUIRE);
		if (!cell->sum_lost && value != cell->sum)
			model_wrong(m, "IBX-43: counter %d is %llu, and %llu were added", i,
				    (unsigned long long)value, (unsigned long long)cell->sum);
		if (cell->sum_lost && !dying) {
			cell->sum = value;
			cell->sum_lost = false;
		}
	}
}
