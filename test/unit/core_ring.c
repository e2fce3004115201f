/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The queue of events that are kept. */
#include "dapl/event/ring.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

static struct dapl_event numbered(uint64_t number)
{
	struct dapl_event event = { .number = DAT_SOFTWARE_EVENT, .silent = number & 1 };

	event.data.dto_completion_event_data.user_cookie.as_64 = number;
	return event;
}

static void push(struct dapl_ring *ring, uint64_t number)
{
	struct dapl_event event = numbered(number);

	assert_true(dapl_ring_push(ring, &event));
}

static void pop(struct dapl_ring *ring, uint64_t number)
{
	struct dapl_event event;

	assert_true(dapl_ring_pop(ring, &event));
	assert_int_equal(event.number, DAT_SOFTWARE_EVENT);
	assert_int_equal(event.silent, number & 1);
	assert_int_equal(event.data.dto_completion_event_data.user_cookie.as_64, number);
}

static void empty(struct dapl_ring *ring)
{
	struct dapl_event event;

	assert_int_equal(ring->count, 0);
	assert_false(dapl_ring_pop(ring, &event));
}

static void it_holds_as_many_as_it_was_made_for(void **state)
{
	struct dapl_event event = numbered(99);
	struct dapl_ring ring;
	uint64_t i;
	uint32_t size;

	(void)state;
	for (size = 1; size < 40; size++) {
		assert_true(dapl_ring_init(&ring, size));
		empty(&ring);
		for (i = 0; i < size; i++)
			push(&ring, i);
		assert_int_equal(ring.count, size);
		assert_false(dapl_ring_push(&ring, &event));
		for (i = 0; i < size; i++)
			pop(&ring, i);
		empty(&ring);
		dapl_ring_fini(&ring);
	}
}

static void order_survives_every_turn(void **state)
{
	uint64_t in = 0, out = 0, i;
	struct dapl_ring ring;
	uint32_t burst;

	(void)state;
	assert_true(dapl_ring_init(&ring, 7));
	for (burst = 1; burst <= 7; burst++)
		for (i = 0; i < 50; i++) {
			while (in - out < burst)
				push(&ring, in++);
			pop(&ring, out++);
			if (i % 3 == 0 && out < in)
				pop(&ring, out++);
		}
	while (out < in)
		pop(&ring, out++);
	empty(&ring);
	dapl_ring_fini(&ring);
}

/* From every place in the ring, to every size that fits. */
static void resizing_keeps_everything(void **state)
{
	uint32_t size, at, count, to, i;
	struct dapl_ring ring, moved;

	(void)state;
	for (size = 1; size <= 6; size++)
		for (at = 0; at < size; at++)
			for (count = 0; count <= size; count++)
				for (to = count ? count : 1; to < 10; to++) {
					assert_true(dapl_ring_init(&ring, size));
					for (i = 0; i < at; i++) {
						push(&ring, i);
						pop(&ring, i);
					}
					for (i = 0; i < count; i++)
						push(&ring, i);
					assert_true(dapl_ring_init(&moved, to));
					dapl_ring_move(&ring, &moved);
					assert_int_equal(ring.count, count);
					for (i = count; i < to; i++)
						push(&ring, i);
					for (i = 0; i < to; i++)
						pop(&ring, i);
					empty(&ring);
					dapl_ring_fini(&ring);
				}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_holds_as_many_as_it_was_made_for),
		cmocka_unit_test(order_survives_every_turn),
		cmocka_unit_test(resizing_keeps_everything),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
