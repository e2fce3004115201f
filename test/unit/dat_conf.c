/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The grammar of dat.conf. */
#include "test/unit/dat_util.h"

#include "dat/conf.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GOOD " u2.0 nonthreadsafe default lib.so p.1.0 \"\" \"\"\n"

static struct dat_conf parse(const char *text, size_t length)
{
	struct dat_conf conf;
	char *copy = calloc(1, length ? length : 1); /* an exact size shows a read beyond the end */

	memcpy(copy, text, length);
	assert_int_equal(dat_conf_parse(copy, length, &conf), 0);
	free(copy);
	return conf;
}

static struct dat_conf parse_text(const char *text)
{
	return parse(text, strlen(text));
}

/* The text has one bad line, the second, between two good ones, and the diagnostic says so. */
static void one_bad_line(const char *line, size_t length, int field, const char *reason)
{
	struct dat_conf conf;
	char text[2048];
	size_t at = 0;

	at += (size_t)sprintf(text, "first%s", GOOD);
	memcpy(text + at, line, length);
	at += length;
	at += (size_t)sprintf(text + at, "\nlast%s", GOOD);
	conf = parse(text, at);
	assert_int_equal(conf.num_entries, 2);
	assert_string_equal(conf.entries[0].info.ia_name, "first");
	assert_string_equal(conf.entries[1].info.ia_name, "last");
	assert_int_equal(conf.entries[1].line, 3);
	assert_int_equal(conf.num_diags, 1);
	assert_int_equal(conf.diags[0].line, 2);
	assert_int_equal(conf.diags[0].field, field);
	assert_string_equal(conf.diags[0].reason, reason);
	dat_conf_free(&conf);
}

static void bad(const char *line, int field, const char *reason)
{
	one_bad_line(line, strlen(line), field, reason);
}

static void reg_t1(void **state)
{
	struct dat_conf conf =
		parse_text("# a comment\n"
			   "\n"
			   "a" GOOD "b u2.0 nonthreadsafe default lib.so p.1.0 \"\"\n"
			   "c u2.0 nonthreadsafe default lib.so p.1.0 \"\" \"\" nine\n"
			   "d u2 nonthreadsafe default lib.so p.1.0 \"\" \"\"\n"
			   "e u2.0 nonthreadsafe default \"/a b/\\\"#c\" p.1.0 \"\" \"\"\n"
			   "f u2.0 nonthreadsafe nondefault lib.so p.1.0 \"\" \"\"\n"
			   "g k2.0 nonthreadsafe default lib.so p.1.0 \"\" \"\"\n"
			   "h u2.0 nonthreadsafe default \"lib.so p.1.0 \n"
			   "i u2.0 nonthreadsafe default lib.so p.1.0 \"\" \"\"");

	(void)state;
	assert_int_equal(conf.num_entries, 3);
	assert_string_equal(conf.entries[0].info.ia_name, "a");
	assert_string_equal(conf.entries[1].info.ia_name, "e");
	assert_string_equal(conf.entries[1].lib_path, "/a b/\"#c");
	assert_string_equal(conf.entries[2].info.ia_name, "i");
	assert_int_equal(conf.num_diags, 4);
	assert_int_equal(conf.diags[0].line, 4);
	assert_int_equal(conf.diags[1].line, 5);
	assert_int_equal(conf.diags[2].line, 6);
	assert_int_equal(conf.diags[3].line, 10);
	dat_conf_free(&conf);
}

static void reg_12_lines(void **state)
{
	struct dat_conf conf = parse_text("");

	(void)state;
	assert_int_equal(conf.num_entries + conf.num_diags, 0);
	dat_conf_free(&conf);
	conf = parse_text("\n\n   \t\n\r\n # x\n\t#y \"\n");
	assert_int_equal(conf.num_entries + conf.num_diags, 0);
	dat_conf_free(&conf);
}

static void reg_13_fields(void **state)
{
	struct dat_conf conf = parse_text(
		"\"my ia\" u12.34 threadsafe default \"l\" id.5.6 \"eth2 0\" anything\n");
	const struct dat_conf_entry *entry = conf.entries;

	(void)state;
	assert_int_equal(conf.num_entries, 1);
	assert_string_equal(entry->info.ia_name, "my ia");
	assert_int_equal(entry->info.dapl_version_major, 12);
	assert_int_equal(entry->info.dapl_version_minor, 34);
	assert_int_equal(entry->info.is_thread_safe, DAT_TRUE);
	assert_string_equal(entry->lib_path, "l");
	assert_string_equal(entry->ia_params, "eth2 0");
	dat_conf_free(&conf);
}

static void reg_14_blanks(void **state)
{
	struct dat_conf conf =
		parse_text("\t a \t u2.0\tthreadsafe  default l p.1.0 \"\" \"\" \t\r\r\n"
			   "b u2.0 threadsafe default l p.1.0 \"\" x\r");

	(void)state;
	assert_int_equal(conf.num_diags, 0);
	assert_int_equal(conf.num_entries, 2);
	dat_conf_free(&conf);
	/* Nor is a byte order mark part of the first name. */
	conf = parse_text("\xef\xbb\xbf"
			  "a" GOOD);
	assert_int_equal(conf.num_entries, 1);
	assert_string_equal(conf.entries[0].info.ia_name, "a");
	dat_conf_free(&conf);
	/* Anywhere else a carriage return is a character. */
	bad("a u2.0\r threadsafe default l p.1.0 \"\" \"\"", 2,
	    "\"u2.0?\" is not a version such as u2.0 (u or k, major, dot, minor)");
}

static void reg_15_comments(void **state)
{
	struct dat_conf conf =
		parse_text("a#b u2.0 threadsafe default l#l p.1.0 \"#\" # # nine ten\n"
			   "c u2.0 threadsafe default l p.1.0 x y # comment \" \n"
			   "d u2.0 threadsafe default l p.1.0 x y# comment\n");

	(void)state;
	assert_int_equal(conf.num_entries, 1);
	assert_string_equal(conf.entries[0].info.ia_name, "c");
	assert_int_equal(conf.num_diags, 2);
	assert_int_equal(conf.diags[0].line, 1);
	assert_int_equal(conf.diags[0].field, 8);
	assert_string_equal(conf.diags[0].reason, "missing; an entry has 8 fields");
	assert_int_equal(conf.diags[1].field, 9);
	dat_conf_free(&conf);
}

static void reg_16_quotes(void **state)
{
	struct dat_conf conf =
		parse_text("\"\\a\\\"b\\\\\" u2.0 threadsafe default l p.1.0 \" x\t\" \"\"\n");

	(void)state;
	assert_int_equal(conf.num_entries, 1);
	assert_string_equal(conf.entries[0].info.ia_name, "a\"b\\");
	assert_string_equal(conf.entries[0].ia_params, " x\t");
	dat_conf_free(&conf);
	bad("h u2.0 threadsafe default \"lib.so", 5, "the quoted string does not end on its line");
	bad("h u2.0 threadsafe default \"lib.so\\", 5,
	    "the quoted string does not end on its line");
	bad("h u2.0 threadsafe default \"lib.so\\\" p.1.0", 5,
	    "the quoted string does not end on its line");
	bad("h u2.0 threadsafe default \"l\"x p.1.0 a b", 5, "no blank after the closing quote");
	/* Inside a token a quote is a character. */
	conf = parse_text("a\"b u2.0 threadsafe default l p.1.0 x\" \"\"\n");
	assert_int_equal(conf.num_entries, 1);
	assert_string_equal(conf.entries[0].info.ia_name, "a\"b");
	assert_string_equal(conf.entries[0].ia_params, "x\"");
	dat_conf_free(&conf);
}

static void reg_17_keywords(void **state)
{
	(void)state;
	bad("a u2.0 Threadsafe default l p.1.0 x y", 3,
	    "\"Threadsafe\" is neither threadsafe nor nonthreadsafe");
	bad("a u2.0 threadsafely default l p.1.0 x y", 3,
	    "\"threadsafely\" is neither threadsafe nor nonthreadsafe");
	bad("a u2.0 threadsafe defaults l p.1.0 x y", 4,
	    "\"defaults\" is neither default nor nondefault");
	bad("a U2.0 threadsafe default l p.1.0 x y", 2,
	    "\"U2.0\" is not a version such as u2.0 (u or k, major, dot, minor)");
}

static void reg_18_versions(void **state)
{
	static const char *const versions[] = { "u2",	 "2.0",	  "u2.",	   "u.0",
						"u",	 "u2.0x", "u2.0.1",	   "u-2.0",
						"u+2.0", "u2.-1", "u4294967296.0", "u2.4294967296",
						"uu2.0", "x2.0" };
	char line[256], reason[256];
	struct dat_conf conf;
	size_t i;

	(void)state;
	for (i = 0; i < NUM_OF(versions); i++) {
		sprintf(line, "a %s threadsafe default l p.1.0 x y", versions[i]);
		sprintf(reason, "\"%s\" is not a version such as u2.0 (u or k, major, dot, minor)",
			versions[i]);
		bad(line, 2, reason);
	}
	conf = parse_text("a u4294967295.00 threadsafe default l p.1.0 x y\n");
	assert_int_equal(conf.num_entries, 1);
	assert_int_equal(conf.entries[0].info.dapl_version_major, 4294967295U);
	dat_conf_free(&conf);
}

static void reg_18_provider_versions(void **state)
{
	static const char *const versions[] = { "p",	   "p.1", "p.1.", ".1.0", "p.a.0",
						"p.1.0.0", "1.0", "p..0", "\"\"" };
	char line[256], reason[256];
	size_t i;

	(void)state;
	for (i = 0; i < NUM_OF(versions); i++) {
		sprintf(line, "a u2.0 threadsafe default l %s x y", versions[i]);
		sprintf(reason,
			"\"%s\" is not a provider version such as dapl.2.0 (id, dot, major, dot, "
			"minor)",
			strcmp(versions[i], "\"\"") ? versions[i] : "");
		bad(line, 6, reason);
	}
}

static void reg_18_counts(void **state)
{
	static const char *const fields[] = { "a", "u2.0",  "threadsafe", "default",
					      "l", "p.1.0", "x",	  "y" };
	char line[256] = "";
	size_t i;

	(void)state;
	for (i = 0; i < NUM_OF(fields); i++) {
		if (i)
			bad(line, (int)i + 1, "missing; an entry has 8 fields");
		strcat(strcat(line, " "), fields[i]);
	}
	strcat(line, " z");
	bad(line, 9, "an entry has 8 fields");
	strcat(line, " zz");
	bad(line, 9, "an entry has 8 fields");
}

static void reg_3_names(void **state)
{
	char line[1024], name[300];
	struct dat_conf conf;

	(void)state;
	memset(name, 'n', sizeof(name));
	sprintf(line, "%.255s%s", name, GOOD);
	conf = parse_text(line);
	assert_int_equal(conf.num_entries, 1);
	assert_int_equal(strlen(conf.entries[0].info.ia_name), 255);
	dat_conf_free(&conf);
	sprintf(line, "%.256s u2.0 threadsafe default l p.1.0 x y", name);
	bad(line, 1, "256 characters long; 255 are allowed");
	bad("\"\" u2.0 threadsafe default l p.1.0 x y", 1, "empty");
	bad("a u2.0 threadsafe default \"\" p.1.0 x y", 5, "empty");
}

static void nul_bytes(void **state)
{
	static const char name[] = "a\0b u2.0 threadsafe default l p.1.0 x y";
	static const char quoted[] = "a u2.0 threadsafe default \"l\0l\" p.1.0 x y";
	static const char alone[] = "\0";
	static const char comment[] = "# a \0 comment\n";
	struct dat_conf conf = parse(comment, sizeof(comment) - 1);

	(void)state;
	assert_int_equal(conf.num_entries + conf.num_diags, 0);
	dat_conf_free(&conf);
	one_bad_line(name, sizeof(name) - 1, 1, "holds a NUL byte");
	one_bad_line(quoted, sizeof(quoted) - 1, 5, "holds a NUL byte");
	one_bad_line(alone, 1, 1, "holds a NUL byte");
}

static void unprintable(void **state)
{
	(void)state;
	bad("a \033[31m threadsafe default l p.1.0 x y", 2,
	    "\"?[31m\" is not a version such as u2.0 (u or k, major, dot, minor)");
	bad("a aaaaaaaaaabbbbbbbbbbccccccccccdddddddddde threadsafe default l p.1.0 x y", 2,
	    "\"aaaaaaaaaabbbbbbbbbbccccccccccdddddddddd\" is not a version such as u2.0 (u or k, "
	    "major, dot, minor)");
}

static void reg_19_wanted(void **state)
{
	struct dat_conf conf = parse_text("a k2.0 threadsafe default l p.1.0 x y\n"
					  "b u2.0 threadsafe nondefault l p.1.0 x y\n"
					  "c k2.0 threadsafe nondefault l p.1.0 x y\n"
					  "d k2 threadsafe nondefault l p.1.0 x y\n"
					  "b u2.0 threadsafe default l p.1.0 x y\n");

	(void)state;
	assert_int_equal(conf.num_entries, 1);
	assert_int_equal(conf.entries[0].line, 5);
	assert_int_equal(conf.num_diags, 1);
	assert_int_equal(conf.diags[0].line, 4);
	dat_conf_free(&conf);
}

static void reg_20_duplicates(void **state)
{
	struct dat_conf conf = parse_text("a u2.0 threadsafe default first p.1.0 x y\n"
					  "a u2.0 nonthreadsafe default l p.1.0 x y\n"
					  "a u2.1 threadsafe default l p.1.0 x y\n"
					  "a u2.0 threadsafe default second p.1.0 x y\n");

	(void)state;
	assert_int_equal(conf.num_entries, 4);
	assert_string_equal(conf.entries[0].lib_path, "first");
	assert_string_equal(conf.entries[3].lib_path, "second");
	assert_int_equal(conf.num_diags, 1);
	assert_int_equal(conf.diags[0].line, 4);
	assert_int_equal(conf.diags[0].field, 1);
	assert_string_equal(conf.diags[0].reason,
			    "duplicate of line 1, used only if that one cannot be loaded");
	dat_conf_free(&conf);
}

static void reg_21_shipped_file(void **state)
{
	const char *top = getenv("top_srcdir");
	char path[4096], text[8192];
	struct dat_conf conf;
	size_t length;
	FILE *file;

	(void)state;
	snprintf(path, sizeof(path), "%s/etc/dat.conf", top ? top : ".");
	file = fopen(path, "r");
	assert_non_null(file);
	length = fread(text, 1, sizeof(text), file);
	fclose(file);
	assert_in_range(length, 1, sizeof(text) - 1);
	conf = parse(text, length);
	assert_int_equal(conf.num_diags, 0);
	assert_int_equal(conf.num_entries, 1);
	assert_string_equal(conf.entries[0].info.ia_name, "soft-lo");
	assert_string_equal(conf.entries[0].lib_path, "libdaplsoft.so.2");
	assert_string_equal(conf.entries[0].ia_params, "lo");
	dat_conf_free(&conf);
}

static void many_lines(void **state)
{
	struct dat_conf conf;
	char *text = NULL;
	size_t length, i;
	FILE *file = open_memstream(&text, &length);

	(void)state;
	for (i = 0; i < 1000; i++)
		fprintf(file, "ia%zu%sbad\n", i, GOOD);
	fclose(file);
	conf = parse(text, length);
	assert_int_equal(conf.num_entries, 1000);
	assert_int_equal(conf.num_diags, 1000);
	assert_string_equal(conf.entries[999].info.ia_name, "ia999");
	assert_int_equal(conf.diags[999].line, 2000);
	dat_conf_free(&conf);
	free(text);
}

/* Whatever the text is, what comes out is within bounds. */
static void check_any(const char *text, size_t length)
{
	struct dat_conf conf = parse(text, length);
	size_t i, lines = 1;

	for (i = 0; i < length; i++)
		lines += text[i] == '\n';
	assert_true(conf.num_entries + conf.num_diags <= 2 * lines);
	for (i = 0; i < conf.num_entries; i++) {
		assert_in_range(strlen(conf.entries[i].info.ia_name), 1, 255);
		assert_in_range(conf.entries[i].line, 1, lines);
		assert_non_null(conf.entries[i].lib_path);
		assert_non_null(conf.entries[i].ia_params);
	}
	for (i = 0; i < conf.num_diags; i++) {
		assert_in_range(conf.diags[i].field, 1, 9);
		assert_in_range(strlen(conf.diags[i].reason), 1, sizeof(conf.diags[i].reason) - 1);
		assert_true(!i || conf.diags[i].line > conf.diags[i - 1].line);
	}
	dat_conf_free(&conf);
}

/* Each seed of the fuzzer, each of its beginnings, and each with one byte changed. */
static void fuzz_seed(const char *path)
{
	static const char changes[] = { '\0', '"', '\\', '\n', '#', ' ', '.', '\r', '9' };
	char text[4096];
	size_t length, i, j;
	FILE *file = fopen(path, "r");

	assert_non_null(file);
	length = fread(text, 1, sizeof(text), file);
	fclose(file);
	for (i = 0; i <= length; i++)
		check_any(text, i);
	for (i = 0; i < length; i++) {
		char kept = text[i];

		for (j = 0; j < sizeof(changes); j++) {
			text[i] = changes[j];
			check_any(text, length);
		}
		text[i] = kept;
	}
}

static void fuzz_corpus(void **state)
{
	const char *top = getenv("top_srcdir");
	char path[4096], folder[4096];
	struct dirent *entry;
	int seeds = 0;
	DIR *dir;

	(void)state;
	snprintf(folder, sizeof(folder), "%s/test/fuzz/seeds/conf", top ? top : ".");
	dir = opendir(folder);
	assert_non_null(dir);
	while ((entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		assert_true(snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name) <
			    (int)sizeof(path));
		fuzz_seed(path);
		seeds++;
	}
	closedir(dir);
	assert_true(seeds >= 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reg_t1),
		cmocka_unit_test(reg_12_lines),
		cmocka_unit_test(reg_13_fields),
		cmocka_unit_test(reg_14_blanks),
		cmocka_unit_test(reg_15_comments),
		cmocka_unit_test(reg_16_quotes),
		cmocka_unit_test(reg_17_keywords),
		cmocka_unit_test(reg_18_versions),
		cmocka_unit_test(reg_18_provider_versions),
		cmocka_unit_test(reg_18_counts),
		cmocka_unit_test(reg_3_names),
		cmocka_unit_test(nul_bytes),
		cmocka_unit_test(unprintable),
		cmocka_unit_test(reg_19_wanted),
		cmocka_unit_test(reg_20_duplicates),
		cmocka_unit_test(reg_21_shipped_file),
		cmocka_unit_test(many_lines),
		cmocka_unit_test(fuzz_corpus),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
