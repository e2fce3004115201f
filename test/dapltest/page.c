/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "config.h"

#include "page.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "client.h"
#include "results.h"

#define MB 1048576.0

/* One curve: an operation in one manner. */
struct curve {
	enum dt_xfer xfer;
	const char *label;
	bool latency;	       /* one in flight, polling; else many, waiting */
	uint32_t first, count; /* its results */
};

static struct curve curves[] = {
	{ DT_XFER_SR, "send, there and back", true, 0, 0 },
	{ DT_XFER_RW, "RDMA write", true, 0, 0 },
	{ DT_XFER_RR, "RDMA read", true, 0, 0 },
	{ DT_XFER_SR, "send, there and back", false, 0, 0 },
	{ DT_XFER_RW, "RDMA write", false, 0, 0 },
	{ DT_XFER_RR, "RDMA read", false, 0, 0 },
};

#define NUM_CURVES (sizeof(curves) / sizeof(curves[0]))
#define LATENCY_SIZES       \
	(struct dt_range)   \
	{                   \
		4, 65536, 0 \
	}
#define PIPELINE_SIZES         \
	(struct dt_range)      \
	{                      \
		64, 4194304, 0 \
	}

/* ---- measuring ---- */

static int measure(struct curve *curve, const struct dt_params *all)
{
	struct dt_params *one = malloc(sizeof(*one));
	int ret;

	if (!one) {
		fprintf(stderr, "dapltest: no memory\n");
		return -1;
	}
	*one = *all;
	one->test = DT_TEST_PERF;
	one->poll = curve->latency;
	one->pipeline = curve->latency ? 1 : 16;
	one->iterations = all->quick ? 20 : curve->latency ? 2000 : 200;
	one->sweep = curve->latency ? LATENCY_SIZES : PIPELINE_SIZES;
	one->num_ops = 1;
	one->ops[0] = (struct dt_op){ .xfer = curve->xfer, .num_segs = 1 };
	curve->first = dt_results_count();
	ret = dt_client_run(one);
	curve->count = dt_results_count() - curve->first;
	free(one);
	return ret;
}

static double bandwidth(const struct dt_result *r)
{
	return r->seconds > 0 ? (double)(r->sent + r->read + r->written) / MB / r->seconds : 0;
}

/* ---- plots ---- */

static void plot_curve(FILE *gnuplot, const struct curve *curve)
{
	for (uint32_t i = 0; i < curve->count; i++) {
		const struct dt_result *r = dt_results_at(curve->first + i);

		fprintf(gnuplot, "%u %.4f\n", r->seg_size,
			curve->latency ? r->percentile_us[0] : bandwidth(r));
	}
	fprintf(gnuplot, "e\n");
}

static int plot(const char *path, bool latency)
{
	FILE *gnuplot = popen("gnuplot 2>/dev/null", "w");
	const char *separator = "plot";

	if (!gnuplot)
		return -1;
	fprintf(gnuplot,
		"set terminal pngcairo size 900,540 font 'sans,11'\nset output '%s'\n"
		"set logscale x 2\nset format x '%%.0b%%B'\nset grid\nset key left top\n"
		"set xlabel 'bytes'\nset ylabel '%s'\n%s\n",
		path, latency ? "microseconds, median" : "MB per second",
		latency ? "set logscale y" : "set yrange [0:*]");
	for (size_t i = 0; i < NUM_CURVES; i++)
		if (curves[i].latency == latency) {
			fprintf(gnuplot, "%s '-' with linespoints pt 7 ps 0.6 lw 2 title '%s'",
				separator, curves[i].label);
			separator = ",";
		}
	fprintf(gnuplot, "\n");
	for (size_t i = 0; i < NUM_CURVES; i++)
		if (curves[i].latency == latency)
			plot_curve(gnuplot, &curves[i]);
	return pclose(gnuplot) ? -1 : 0;
}

/* ---- the page ---- */

static void put_escaped(FILE *page, const char *text)
{
	for (; *text; text++)
		switch (*text) {
		case '<':
			fputs("&lt;", page);
			break;
		case '&':
			fputs("&amp;", page);
			break;
		case '"':
			fputs("&quot;", page);
			break;
		default:
			fputc(*text, page);
		}
}

static void put_base64(FILE *page, FILE *picture)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	unsigned char b[3];
	size_t n;

	while ((n = fread(b, 1, 3, picture)) > 0) {
		if (n < 3)
			memset(b + n, 0, 3 - n);
		fputc(digits[b[0] >> 2], page);
		fputc(digits[(b[0] & 3) << 4 | b[1] >> 4], page);
		fputc(n > 1 ? digits[(b[1] & 15) << 2 | b[2] >> 6] : '=', page);
		fputc(n > 2 ? digits[b[2] & 63] : '=', page);
	}
}

/* The picture becomes part of the page. */
static void put_picture(FILE *page, const char *path, const char *text)
{
	FILE *picture = fopen(path, "rbe");

	if (!picture) {
		fprintf(page, "<p>No plot: gnuplot made none.</p>\n");
		return;
	}
	fprintf(page, "<img alt=\"%s\" src=\"data:image/png;base64,", text);
	put_base64(page, picture);
	fprintf(page, "\">\n");
	fclose(picture);
}

static void put_table(FILE *page, bool latency)
{
	fprintf(page, "<table><tr><th>operation</th><th>bytes</th><th>median &micro;s</th>"
		      "<th>99 %%</th><th>99.9 %%</th><th>mean</th><th>MB/s</th>"
		      "<th>operations/s</th><th>CPU %%</th></tr>\n");
	for (size_t i = 0; i < NUM_CURVES; i++)
		for (uint32_t n = 0; curves[i].latency == latency && n < curves[i].count; n++) {
			const struct dt_result *r = dt_results_at(curves[i].first + n);

			fprintf(page,
				"<tr><td>%s</td><td>%u</td><td>%.2f</td><td>%.2f</td><td>%.2f</td>"
				"<td>%.2f</td><td>%.1f</td><td>%.0f</td><td>%.0f</td></tr>\n",
				curves[i].label, r->seg_size, r->percentile_us[0],
				r->percentile_us[1], r->percentile_us[2], r->mean_us, bandwidth(r),
				r->seconds > 0 ? (double)r->count / r->seconds : 0, r->cpu_percent);
		}
	fprintf(page, "</table>\n");
}

static void put_head(FILE *page, const struct dt_params *params)
{
	char when[64] = "";
	struct utsname host;
	time_t now = time(NULL);
	struct tm tm;

	fprintf(page,
		"<!DOCTYPE html>\n<html lang=\"en\"><head><meta "
		"charset=\"utf-8\"><title>dapltest</title>"
		"<style>body{font:15px/1.45 sans-serif;max-width:960px;margin:2em auto;padding:0 "
		"1em}"
		"table{border-collapse:collapse;margin:1em 0}td,th{padding:.15em .8em;"
		"border-bottom:1px solid #ddd;text-align:right}td:first-child,th:first-child"
		"{text-align:left}img{max-width:100%%}code{background:#f4f4f4;padding:.1em .3em}"
		"</style></head><body>\n<h1>dapltest: ");
	put_escaped(page, params->ia_name);
	fprintf(page, "</h1>\n<p>");
	if (gmtime_r(&now, &tm) && strftime(when, sizeof(when), "%Y-%m-%d %H:%M UTC", &tm))
		fprintf(page, "%s, ", when);
	if (!uname(&host))
		fprintf(page, "%s %s on %s, %ld processors, ", host.sysname, host.release,
			host.machine, sysconf(_SC_NPROCESSORS_ONLN));
	fprintf(page, "%s. Made by <code>dapltest --report FILE -s ", PACKAGE_STRING);
	put_escaped(page, params->server);
	fprintf(page, " -D ");
	put_escaped(page, params->ia_name);
	fprintf(page, " -n %llu%s</code></p>\n", (unsigned long long)params->port,
		params->quick ? " --quick" : "");
}

/* FILE.html and FILE.latency.png, FILE.bandwidth.png. */
static void picture_path(const struct dt_params *params, bool latency, char *path, size_t size)
{
	size_t stem = strlen(params->report);

	if (stem > 5 && !strcmp(params->report + stem - 5, ".html"))
		stem -= 5;
	snprintf(path, size, "%.*s.%s.png", (int)stem, params->report,
		 latency ? "latency" : "bandwidth");
}

static int write_page(const struct dt_params *params)
{
	char path[sizeof(params->report) + 32];
	FILE *page = fopen(params->report, "we");
	int i, failed;

	if (!page) {
		fprintf(stderr, "dapltest: %s: %s\n", params->report, strerror(errno));
		return -1;
	}
	put_head(page, params);
	for (i = 1; i >= 0; i--) {
		fprintf(page, i ? "<h2>Latency: one in flight, polling</h2>\n"
				: "<h2>Bandwidth: sixteen in flight, waiting</h2>\n");
		picture_path(params, i, path, sizeof(path));
		unlink(path);
		plot(path, i);
		put_picture(page, path, i ? "latency against size" : "bandwidth against size");
		put_table(page, i);
	}
	fprintf(page, "</body></html>\n");
	failed = ferror(page);
	if (fclose(page) || failed) {
		fprintf(stderr, "dapltest: %s: %s\n", params->report, strerror(errno));
		return -1;
	}
	return 0;
}

int dt_page_run(struct dt_params *params)
{
	bool text = params->format == DT_FORMAT_TEXT;
	FILE *page = fopen(params->report, "ae"); /* the reason comes before the work */

	if (!page) {
		fprintf(stderr, "dapltest: %s: %s\n", params->report, strerror(errno));
		return -1;
	}
	fclose(page);
	for (size_t i = 0; i < NUM_CURVES; i++) {
		dt_say("REPORT: %s, %s", curves[i].label,
		       curves[i].latency ? "latency" : "bandwidth");
		dt_set_silent(true);
		if (measure(&curves[i], params))
			return -1;
		dt_set_silent(!text);
	}
	if (write_page(params))
		return -1;
	dt_say("REPORT: written to %s", params->report);
	return 0;
}
