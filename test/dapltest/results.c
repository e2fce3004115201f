/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "config.h"

#include "results.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MB 1048576.0

static struct dt_result *results;
static uint32_t num_results;

void dt_results_add(const struct dt_result *result)
{
	struct dt_result *more = realloc(results, (num_results + 1) * sizeof(*more));

	if (!more) {
		fprintf(stderr, "dapltest: no memory for a result: %s\n", result->name);
		return;
	}
	results = more;
	results[num_results++] = *result;
}

const struct dt_result *dt_results_last(void)
{
	return num_results ? &results[num_results - 1] : NULL;
}

uint32_t dt_results_count(void)
{
	return num_results;
}

const struct dt_result *dt_results_at(uint32_t index)
{
	return &results[index];
}

static uint64_t bytes_of(const struct dt_result *result)
{
	return result->sent + result->received + result->read + result->written;
}

uint64_t dt_results_bytes(void)
{
	uint64_t sum = 0;
	uint32_t i;

	for (i = 0; i < num_results; i++)
		sum += bytes_of(&results[i]);
	return sum;
}

static double rate(double amount, double seconds)
{
	return seconds > 0 ? amount / seconds : 0;
}

/* ---- JSON ---- */

static void put_string(const char *text)
{
	putchar('"');
	for (; *text; text++)
		if (*text == '"' || *text == '\\')
			printf("\\%c", *text);
		else if ((unsigned char)*text < ' ')
			printf("\\u%04x", *text);
		else
			putchar(*text);
	putchar('"');
}

static void put_named(const char *name, const char *text)
{
	printf("\"%s\": ", name);
	put_string(text);
}

static void put_perf(const struct dt_result *r)
{
	int i;

	printf(", \"operation\": \"%s\", \"mode\": \"%s\", \"segment_size\": %u, \"segments\": %u, "
	       "\"pipeline\": %u, \"operations\": %llu, \"seconds\": %.6f, \"cpu_percent\": %.2f, "
	       "\"operations_per_second\": %.2f, \"mbytes_per_second\": %.3f",
	       dt_xfer_name(r->xfer), r->polling ? "polling" : "blocking", r->seg_size, r->num_segs,
	       r->pipeline, (unsigned long long)r->count, r->seconds, r->cpu_percent,
	       rate((double)r->count, r->seconds), rate((double)bytes_of(r) / MB, r->seconds));
	printf(", \"latency_us\": { \"mean\": %.3f, \"min\": %.3f, \"max\": %.3f", r->mean_us,
	       r->min_us, r->max_us);
	for (i = 0; i < DT_NUM_PERCENTILES; i++)
		printf(", \"p%g\": %.3f", dt_percentiles[i], r->percentile_us[i]);
	printf(" }, \"post_us\": %.3f, \"reap_us\": %.3f", r->post_us, r->reap_us);
}

static void put_trans(const struct dt_result *r)
{
	printf(", \"threads\": %u, \"endpoints\": %u, \"operations\": %llu, \"seconds\": %.6f, "
	       "\"operations_per_second\": %.2f, \"bytes_sent\": %llu, \"bytes_received\": %llu, "
	       "\"bytes_read\": %llu, \"bytes_written\": %llu",
	       r->threads, r->eps, (unsigned long long)r->count, r->seconds,
	       rate((double)r->count, r->seconds), (unsigned long long)r->sent,
	       (unsigned long long)r->received, (unsigned long long)r->read,
	       (unsigned long long)r->written);
}

static void put_result(const struct dt_result *r)
{
	static const char *const tests[] = {
		[DT_TEST_QUIT] = "quit",
		[DT_TEST_TRANS] = "transaction",
		[DT_TEST_PERF] = "performance",
		[DT_TEST_LIMIT] = "limit",
	};

	printf("    { ");
	put_named("name", r->name);
	printf(", \"test\": \"%s\", \"ok\": %s", tests[r->test], r->ok ? "true" : "false");
	if (!r->ok) {
		printf(", ");
		put_named("error", r->error);
	} else if (r->test == DT_TEST_PERF) {
		put_perf(r);
	} else if (r->test == DT_TEST_TRANS) {
		put_trans(r);
	} else if (r->test == DT_TEST_LIMIT) {
		printf(", \"objects\": %llu", (unsigned long long)r->count);
	}
	printf(" }");
}

static void print_json(const struct dt_params *params)
{
	uint32_t i;

	printf("{\n  \"program\": \"dapltest\", \"version\": \"%s\",\n  ", PACKAGE_VERSION);
	put_named("adapter", params->ia_name);
	printf(", ");
	put_named("server", params->server);
	printf(",\n  \"results\": [\n");
	for (i = 0; i < num_results; i++) {
		put_result(&results[i]);
		printf(i + 1 < num_results ? ",\n" : "\n");
	}
	printf("  ]\n}\n");
}

/* ---- TAP ---- */

static void print_tap(void)
{
	const struct dt_result *r;
	uint32_t i;

	printf("1..%u\n", num_results);
	for (i = 0; i < num_results; i++) {
		r = &results[i];
		printf("%s %u - %s\n", r->ok ? "ok" : "not ok", i + 1, r->name);
		if (!r->ok)
			printf("# %s\n", r->error);
		else if (r->test == DT_TEST_PERF)
			printf("# %.2f us mean, %.2f us at %g %%, %.2f MB/sec\n", r->mean_us,
			       r->percentile_us[DT_NUM_PERCENTILES - 1],
			       dt_percentiles[DT_NUM_PERCENTILES - 1],
			       rate((double)bytes_of(r) / MB, r->seconds));
		else if (r->test == DT_TEST_TRANS)
			printf("# %.2f operations/sec, %llu bytes\n",
			       rate((double)r->count, r->seconds), (unsigned long long)bytes_of(r));
		else if (r->test == DT_TEST_LIMIT)
			printf("# %llu objects\n", (unsigned long long)r->count);
	}
}

void dt_results_print(const struct dt_params *params)
{
	switch (params->format) {
	case DT_FORMAT_JSON:
		print_json(params);
		break;
	case DT_FORMAT_TAP:
		print_tap();
		break;
	default:
		break;
	}
	fflush(stdout);
}
