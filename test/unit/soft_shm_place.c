/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The software engine: data that is written and read where it lies in shared memory. */
#include "test/unit/soft_shm_util.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const struct soft_link_class *const shm = &soft_link_shm;

static uint8_t from[SHM_SMALL], to[SHM_SMALL];

/* Writes len bytes where they are sent from; false: there is no such place. */
static bool put_in_place(struct soft_link *link, uint32_t len, unsigned seed)
{
	uint8_t *place = shm->reserve(link, len);

	if (!place)
		return false;
	fill(place, len, seed);
	shm->commit(link, len);
	return true;
}

static void got_in_place(struct soft_link *link, uint32_t len, unsigned seed)
{
	const uint8_t *place;
	uint32_t there;

	place = shm->peek(link, &there);
	assert_non_null(place);
	assert_int_equal(there, len);
	memcpy(to, place, len);
	assert_true(filled(to, len, seed));
	/* It stays until it is done with. */
	assert_ptr_equal(shm->peek(link, &there), place);
	shm->consume(link, len);
	assert_null(shm->peek(link, &there));
	assert_true(shm->quiet(link));
}

/* Of an empty ring any message has room in one piece, also one that is copied there. */
static void pieces_in_place(void **state)
{
	static const uint32_t sizes[] = { 1,
					  SHM_BESIDE - 1,
					  SHM_BESIDE,
					  SHM_BESIDE + 1,
					  100,
					  SHM_FIRST - SHM_BESIDE,
					  SHM_FIRST - SHM_BESIDE + 1,
					  SHM_FIRST,
					  SHM_FIRST + 1,
					  4096,
					  SHM_SMALL - SHM_FIRST };

	(void)state;
	pair();
	for (unsigned i = 0; i < 2 * sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct soft_link *a = i & 1 ? pas : act, *b = i & 1 ? act : pas;
		uint32_t len = sizes[i / 2];

		acknowledge(a, b);
		assert_true(put_in_place(a, len, i));
		got_in_place(b, len, i);
		acknowledge(a, b);
		assert_true(put_in_place(a, len, i + 1));
		assert_int_equal(get(b, to, sizeof(to)), len);
		assert_true(filled(to, len, i + 1));
		acknowledge(a, b);
		fill(from, len, i + 2);
		assert_int_equal(put(a, from, len), len);
		got_in_place(b, len, i + 2);
	}
}

/* Sends so many bytes through an empty ring: where they lay. */
static const uint8_t *place_of_one(uint32_t len)
{
	uint8_t *place = shm->reserve(act, len);
	const uint8_t *lies;
	uint32_t there;

	assert_non_null(place);
	fill(place, len, len % 251);
	shm->commit(act, len);
	lies = shm->peek(pas, &there);
	assert_int_equal(there, len);
	got_in_place(pas, len, len % 251);
	acknowledge(act, pas);
	return lies;
}

/* One after the other in an empty ring lies where the one before did not, unless it is too long or
 * lies with what announces it: there is no need to wait until the peer has read that one. */
static void by_turns(void **state)
{
	static const struct {
		uint32_t len;
		bool turns;
	} cases[] = {
		{ SHM_BESIDE, false }, { SHM_BESIDE + 1, true }, { 500, true },	  { 1000, true },
		{ SHM_FIRST, true },   { 4096, true },		 { 60000, true }, { 65000, false },
	};

	(void)state;
	pair();
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint32_t len = cases[i].len;
		const uint8_t *first = place_of_one(len), *next = place_of_one(len);

		assert_ptr_equal(place_of_one(len), first);
		assert_ptr_equal(place_of_one(len), next);
		if (cases[i].turns)
			assert_true(next >= first + len || first >= next + len);
		else
			assert_ptr_equal(next, first);
	}
}

/* The ring goes round behind the second place as behind the first, and rests there as well. */
static void behind_the_second_place(void **state)
{
	const uint32_t len = 60000, rest = SHM_SMALL - len;

	(void)state;
	pair();
	for (unsigned round = 0; round < 4; round++) {
		if (round % 2)
			place_of_one(len);
		assert_true(put_in_place(act, len, 1));
		fill(from, rest, 2);
		assert_int_equal(put(act, from, rest), rest);
		assert_int_equal(put(act, from, 1), -EAGAIN);
		assert_int_equal(get(pas, to, len), len);
		assert_true(filled(to, len, 1));
		assert_int_equal(get(pas, to, sizeof(to)), rest);
		assert_true(filled(to, rest, 2));
		act->class->rest(act);
		act->class->rest(act);
	}
}

/* Behind something else a long one has no place: the peer would begin with it once it is whole. */
static void long_ones_alone(void **state)
{
	(void)state;
	pair();
	assert_non_null(shm->reserve(act, SHM_CHUNK + 1));
	assert_true(put_in_place(act, SHM_FIRST, 1));
	assert_null(shm->reserve(act, SHM_CHUNK + 1));
	assert_true(put_in_place(act, SHM_CHUNK, 2));
	assert_int_equal(get(pas, to, sizeof(to)), SHM_FIRST + SHM_CHUNK);
	acknowledge(act, pas);
	assert_true(put_in_place(act, SHM_CHUNK + 1, 3));
	got_in_place(pas, SHM_CHUNK + 1, 3);
}

/* What was reserved and not sent has not been sent. */
static void reserved_for_nothing(void **state)
{
	(void)state;
	pair();
	for (uint32_t len = SHM_BESIDE; len < 10000; len *= 10) {
		fill(shm->reserve(act, len), len, 1);
		assert_true(shm->quiet(pas));
		assert_true(put_in_place(act, 7, 2));
		got_in_place(pas, 7, 2);
		acknowledge(act, pas);
	}
}

/* Many short ones one behind the other, of which each is seen once, where it lies. */
static void one_behind_the_other(void **state)
{
	unsigned sent = 0, taken = 0;
	const uint8_t *place;
	uint32_t there;

	(void)state;
	pair();
	while (taken < 20000) {
		while (sent - taken < 5000 && put_in_place(act, 28, sent % 251))
			sent++;
		/* There is no place across an edge: it goes in pieces. */
		if (sent - taken < 4600) {
			fill(from, 28, sent++ % 251);
			assert_int_equal(put(act, from, 28), 28);
		}
		place = shm->peek(pas, &there);
		assert_non_null(place);
		for (uint32_t at = 0; at + 28 <= there; at += 28, taken++) {
			assert_true(filled(place + at, 28, taken % 251));
			shm->consume(pas, 28);
		}
		if (there % 28) {
			assert_int_equal(get(pas, to, 28), 28);
			assert_true(filled(to, 28, taken++ % 251));
		}
	}
}

static void no_room_in_place(void **state)
{
	uint32_t there;

	(void)state;
	pair();
	assert_null(shm->reserve(act, SHM_SMALL + 1));
	assert_null(shm->reserve(act, SHM_SMALL));
	assert_int_equal(put(act, from, SHM_SMALL), SHM_SMALL);
	assert_null(shm->reserve(act, 1));
	assert_int_equal(get(pas, to, 100), 100);
	assert_null(shm->reserve(act, 101));
	assert_true(put_in_place(act, 100, 1));
	/* The peer lies. */
	atomic_store(&soft_shm(pas)->own->taken, 3 * SHM_RING);
	assert_null(shm->reserve(act, 1));
	assert_int_equal(put(act, from, 1), -EPROTO);
	atomic_store(&soft_shm(act)->own->sent, 3 * SHM_RING);
	assert_null(shm->peek(pas, &there));
	assert_int_equal(get(pas, to, 1), -EPROTO);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		T(pieces_in_place),	 T(by_turns),
		T(long_ones_alone),	 T(behind_the_second_place),
		T(reserved_for_nothing), T(one_behind_the_other),
		T(no_room_in_place),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	/* They choose themselves. */
	unsetenv("DAPL_SOFT_LINK");
	return cmocka_run_group_tests_name("tests", tests, NULL, NULL);
}
