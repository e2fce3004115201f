/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The parts of dapltest that need no adapter: numbers, ranges, messages, patterns. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "histogram.h"
#include "params.h"
#include "pool.h"
#include "wire.h"

/* Every value falls into a bucket whose top is at most 1/32 above it. */
static void histograms(void **state)
{
	static const uint64_t values[] = {
		0,    1,     31,      32,	33,	    63,
		64,   65,    1000,    123456,	999999999,  1ull << 40,
		5000, 70000, 3333333, 1u << 31, 0x7fffffff, 12345678901
	};
	struct dt_histogram *h;
	uint64_t top;

	(void)state;
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		h = calloc(1, sizeof(*h));
		assert_non_null(h);
		assert_int_equal(dt_histogram_percentile(h, 50), 0);
		dt_histogram_add(h, values[i]);
		top = dt_histogram_percentile(h, 100);
		assert_true(top >= values[i] && top - values[i] <= values[i] / 32);
		free(h);
	}
	h = calloc(1, sizeof(*h));
	assert_non_null(h);
	for (uint64_t ns = 1; ns <= 1000; ns++)
		dt_histogram_add(h, ns);
	assert_in_range(dt_histogram_percentile(h, 50), 500, 515);
	assert_in_range(dt_histogram_percentile(h, 99), 990, 1023);
	assert_in_range(dt_histogram_percentile(h, 99.9), 999, 1023);
	free(h);
}

static void numbers(void **state)
{
	uint64_t value = 0;

	(void)state;
	assert_int_equal(dt_number_parse("4096", 1, 4096, &value), 0);
	assert_int_equal(value, 4096);
	assert_int_equal(dt_number_parse("4k", 1, 4096, &value), 0);
	assert_int_equal(value, 4096);
	assert_int_equal(dt_number_parse("3M", 1, UINT32_MAX, &value), 0);
	assert_int_equal(value, 3 << 20);
	assert_int_equal(dt_number_parse("4097", 1, 4096, &value), -1);
	assert_int_equal(dt_number_parse("5k", 1, 4096, &value), -1);
	assert_int_equal(dt_number_parse("0", 1, 4096, &value), -1);
	assert_int_equal(dt_number_parse("", 0, 4096, &value), -1);
	assert_int_equal(dt_number_parse("-1", 0, 4096, &value), -1);
	assert_int_equal(dt_number_parse("+1", 0, 4096, &value), -1);
	assert_int_equal(dt_number_parse(" 1", 0, 4096, &value), -1);
	assert_int_equal(dt_number_parse("1kk", 0, 4096, &value), -1);
	assert_int_equal(dt_number_parse("1x", 0, 4096, &value), -1);
	assert_int_equal(dt_number_parse("k", 0, 4096, &value), -1);
	assert_int_equal(dt_number_parse("18446744073709551616", 0, UINT64_MAX / 16, &value), -1);
	assert_int_equal(dt_number_parse("99999999999999999999999", 0, UINT32_MAX, &value), -1);
	assert_int_equal(value, 3 << 20);
}

static void check_range(const char *text, uint32_t first, uint32_t last, uint32_t step)
{
	struct dt_range range;

	assert_int_equal(dt_range_parse(text, 100, &range), 0);
	assert_int_equal(range.first, first);
	assert_int_equal(range.last, last);
	assert_int_equal(range.step, step);
}

static void ranges(void **state)
{
	static const char *const bad[] = { "",	   "..",     "1..",	"..5",	      "5..1",
					   "0..5", "1..101", "1..5..0", "1..5..1..1", "1.5" };
	struct dt_range range;

	(void)state;
	check_range("7", 7, 7, 1);
	check_range("10..50", 10, 50, 10);
	check_range("1..3", 1, 3, 1);
	check_range("4..4", 4, 4, 1);
	check_range("1..100..33", 1, 100, 33);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(dt_range_parse(bad[i], 100, &range), -1);
}

static void params_fill(struct dt_params *params)
{
	memset(params, 0, sizeof(*params));
	params->test = DT_TEST_TRANS;
	params->qos = DAT_QOS_ECONOMY;
	params->timeout_s = 9;
	params->iterations = 123456;
	params->threads = 3;
	params->eps = (struct dt_range){ 5, 5, 0 };
	params->validate = true;
	params->rsp = true;
	params->num_ops = DT_ALL_OPS;
	for (uint32_t i = 0; i < DT_ALL_OPS; i++)
		params->ops[i] = (struct dt_op){ .by_server = i % 2,
						 .xfer = (enum dt_xfer)(i % 3),
						 .seg_size = 1000 + i,
						 .num_segs = 1 + i,
						 .reap_on_recv = i % 5 == 0 };
}

static void commands(void **state)
{
	unsigned char message[DT_MESSAGE_SIZE];
	struct dt_params sent, got;
	struct dt_actor actor;
	size_t length;

	(void)state;
	dt_actor_init(&actor, "test");
	params_fill(&sent);
	length = dt_command_encode(&sent, 5, message);
	assert_in_range(length, DT_HEADER_SIZE, DT_MESSAGE_SIZE);
	assert_int_equal(dt_message_check(&actor, message, length), DT_MSG_COMMAND);
	assert_int_equal(dt_command_decode(&got, message), 0);
	assert_memory_equal(&got, &sent, sizeof(got));
	assert_int_equal(dt_message_check(&actor, message, length - 1), -1);
	message[5]++;
	assert_int_equal(dt_message_check(&actor, message, length), -1);
}

/* One command that asks for too much or for nonsense, and is refused. */
static void refuse(void (*spoil)(struct dt_params *params))
{
	unsigned char message[DT_MESSAGE_SIZE];
	struct dt_params params, got;

	params_fill(&params);
	spoil(&params);
	dt_command_encode(&params, params.eps.first, message);
	assert_int_equal(dt_command_decode(&got, message), -1);
}

static void no_such_test(struct dt_params *params)
{
	params->test = DT_TEST_LIMIT;
}

static void no_ops(struct dt_params *params)
{
	params->num_ops = 0;
}

static void too_many_threads(struct dt_params *params)
{
	params->threads = DT_MAX_THREADS + 1;
}

static void too_many_eps(struct dt_params *params)
{
	params->threads = DT_MAX_THREADS;
	params->eps.first = DT_MAX_EPS;
}

static void no_such_transfer(struct dt_params *params)
{
	params->ops[7].xfer = (enum dt_xfer)3;
}

static void empty_segment(struct dt_params *params)
{
	params->ops[102].seg_size = 0;
}

static void too_long(struct dt_params *params)
{
	params->ops[0].seg_size = DT_MAX_SEG_SIZE;
	params->ops[0].num_segs = DT_MAX_SEGS;
}

static void no_timeout(struct dt_params *params)
{
	params->timeout_s = 0;
}

static void refused_commands(void **state)
{
	(void)state;
	refuse(no_such_test);
	refuse(no_ops);
	refuse(too_many_threads);
	refuse(too_many_eps);
	refuse(no_such_transfer);
	refuse(empty_segment);
	refuse(too_long);
	refuse(no_timeout);
}

static void replies(void **state)
{
	struct dt_reply got, sent = { .ok = true,
				      .session = 0xfedcba98,
				      .port = 0x123456789abcdef0,
				      .port_per_ep = true,
				      .target = { 0xffffffffffff0000, 0x80000000, 0x90000001 } };
	unsigned char message[DT_MESSAGE_SIZE];

	(void)state;
	memset(&got, 0, sizeof(got));
	strcpy(sent.text, "why \033[31m not");
	dt_reply_encode(&sent, message);
	assert_int_equal(dt_reply_decode(&got, message), 0);
	assert_true(got.ok && got.port_per_ep);
	assert_int_equal(got.session, sent.session);
	assert_int_equal(got.port, sent.port);
	assert_int_equal(got.target.virtual_address, sent.target.virtual_address);
	assert_int_equal(got.target.segment_length, sent.target.segment_length);
	assert_int_equal(got.target.rmr_context, sent.target.rmr_context);
	assert_string_equal(got.text, "why ?[31m not");
}

static void outcomes(void **state)
{
	unsigned char message[DT_MESSAGE_SIZE];
	struct dt_outcome outcome;
	struct dt_actor actor;

	(void)state;
	dt_actor_init(&actor, "test");
	dt_outcome_encode(DT_MSG_DONE, &actor, message);
	assert_int_equal(dt_outcome_decode(&outcome, message), 0);
	assert_true(outcome.ok);
	actor.failed = true;
	memset(actor.text, 'x', sizeof(actor.text) - 1);
	dt_outcome_encode(DT_MSG_RESULT, &actor, message);
	assert_int_equal(dt_outcome_decode(&outcome, message), 0);
	assert_false(outcome.ok);
	assert_string_equal(outcome.text, actor.text);
}

static void memories(void **state)
{
	DAT_RMR_TRIPLET got[2], sent[2] = { { 1, 2, 3 }, { 4, 5, 6 } };
	unsigned char message[DT_MESSAGE_SIZE];
	size_t length;

	(void)state;
	length = dt_memory_encode(sent, 2, message);
	assert_int_equal(dt_memory_decode(got, 2, message), 0);
	assert_memory_equal(got, sent, sizeof(got));
	assert_int_equal(dt_memory_decode(got, 1, message), -1);
	/* A header that promises less than the body needs. */
	message[11] = (unsigned char)(length - 1);
	assert_int_equal(dt_memory_decode(got, 2, message), -1);
}

/* Whatever a peer sends, decoding stays inside the message; the sanitizers watch. */
static void random_messages(void **state)
{
	unsigned char *message;
	struct dt_params params;
	struct dt_reply reply;
	struct dt_outcome outcome;
	DAT_RMR_TRIPLET targets[DT_ALL_OPS];
	struct dt_actor actor;
	int accepted = 0;

	(void)state;
	dt_actor_init(&actor, "test");
	srandom(1);
	for (int round = 0; round < 20000; round++) {
		uint32_t size = DT_HEADER_SIZE + (uint32_t)random() % 600;

		message = malloc(size);
		assert_non_null(message);
		for (uint32_t i = 0; i < size; i++)
			message[i] = (unsigned char)(random() % 4 ? 0 : random());
		memcpy(message, "dapt\0\0\0\1\0\0", 10);
		message[5] = DT_WIRE_VERSION;
		message[10] = (unsigned char)(size >> 8);
		message[11] = (unsigned char)size;
		assert_int_equal(dt_message_check(&actor, message, size), DT_MSG_COMMAND);
		accepted += !dt_command_decode(&params, message);
		dt_reply_decode(&reply, message);
		dt_outcome_decode(&outcome, message);
		dt_memory_decode(targets, (uint32_t)random() % DT_ALL_OPS, message);
		free(message);
	}
	assert_in_range(accepted, 0, 19999);
}

/* A pool as dt_pool_create() makes it, without an adapter. */
static void pool_make(struct dt_pool *pool, uint32_t segs, uint32_t size, uint32_t guard)
{
	memset(pool, 0, sizeof(*pool));
	pool->num_segs = segs;
	pool->seg_size = size;
	pool->stride = size + guard;
	pool->size = (uint64_t)segs * pool->stride;
	pool->memory = malloc(pool->size);
	assert_non_null(pool->memory);
	memset(pool->memory, 0xa5, pool->size);
}

/* More than there is, is refused before it is touched. */
static void buffers_fit_the_host(void **state)
{
	(void)state;
	assert_true(dt_pool_fits(4096));
	assert_true(dt_pool_fits((uint64_t)65 << 20));
	assert_false(dt_pool_fits((uint64_t)1 << 50));
}

/* The same bytes, whatever the segments: what one side sends in 3 the other receives in 7. */
static void patterns_ignore_segments(void **state)
{
	unsigned char flat[2][105];
	struct dt_pool pool;

	(void)state;
	for (int i = 0; i < 2; i++) {
		pool_make(&pool, i ? 3 : 7, i ? 35 : 15, 64);
		dt_pool_fill(&pool, 42);
		for (uint32_t s = 0; s < pool.num_segs; s++)
			memcpy(flat[i] + s * pool.seg_size, pool.memory + s * pool.stride,
			       pool.seg_size);
		free(pool.memory);
	}
	assert_memory_equal(flat[0], flat[1], sizeof(flat[0]));
}

static void patterns_show_every_byte(void **state)
{
	struct dt_mismatch bad;
	struct dt_pool pool;

	(void)state;
	pool_make(&pool, 3, 21, 64);
	dt_pool_fill(&pool, 7);
	assert_true(dt_pool_check(&pool, 7, &bad));
	assert_false(dt_pool_check(&pool, 8, &bad));
	for (uint32_t i = 0; i < pool.size; i++) {
		pool.memory[i] ^= 1;
		assert_false(dt_pool_check(&pool, 7, &bad));
		assert_int_equal(bad.segment, i / pool.stride);
		assert_int_equal(bad.byte, i % pool.stride);
		assert_ptr_equal(bad.where, pool.memory + i);
		assert_int_equal(bad.got ^ bad.expected, 1);
		pool.memory[i] ^= 1;
	}
	dt_pool_clear(&pool);
	assert_false(dt_pool_check(&pool, 7, &bad));
	free(pool.memory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(histograms),
		cmocka_unit_test(numbers),
		cmocka_unit_test(ranges),
		cmocka_unit_test(commands),
		cmocka_unit_test(refused_commands),
		cmocka_unit_test(replies),
		cmocka_unit_test(outcomes),
		cmocka_unit_test(memories),
		cmocka_unit_test(random_messages),
		cmocka_unit_test(patterns_ignore_segments),
		cmocka_unit_test(buffers_fit_the_host),
		cmocka_unit_test(patterns_show_every_byte),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
