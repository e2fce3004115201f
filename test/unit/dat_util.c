/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "test/unit/dat_util.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct fake_control fake;

static char *directory;
static char *note;

static const char *util_directory(void)
{
	if (!directory) {
		assert_true(asprintf(&directory, "/tmp/udapl-test-%d-%lld", (int)getpid(),
				     (long long)time(NULL)) > 0);
		assert_int_equal(mkdir(directory, 0700), 0);
	}
	return directory;
}

const char *util_file(const char *name, const void *content, size_t length)
{
	static char *paths[256]; /* keeps them for ever, in the eyes of a leak checker too */
	static size_t num_paths;
	char *path;
	FILE *file;

	assert_true(num_paths < NUM_OF(paths));
	assert_true(asprintf(&path, "%s/%s", util_directory(), name) > 0);
	paths[num_paths++] = path;
	file = fopen(path, "w");
	assert_non_null(file);
	assert_int_equal(fwrite(content, 1, length, file), length);
	assert_int_equal(fclose(file), 0);
	return path;
}

const char *util_conf(const char *text)
{
	const char *path = util_file("dat.conf", text, strlen(text));

	setenv("DAT_OVERRIDE", path, 1);
	return path;
}

static int remove_one(const char *path, const struct stat *info, int flag, struct FTW *ftw)
{
	(void)info;
	(void)flag;
	(void)ftw;
	return remove(path);
}

int util_cleanup(void **state)
{
	(void)state;
	return directory ? nftw(directory, remove_one, 8, FTW_DEPTH | FTW_PHYS) : 0;
}

int util_note(const char *file, int line, const char *what, DAT_RETURN got, DAT_RETURN expected)
{
	if (got == expected)
		snprintf(note, sizeof(((struct outcome *)0)->note), "%s:%d: %s", file, line, what);
	else
		snprintf(note, sizeof(((struct outcome *)0)->note), "%s:%d: %s: 0x%x, not 0x%x",
			 file, line, what, got, expected);
	return 1;
}

static void read_back(int fd, char *buf, size_t size)
{
	ssize_t n = pread(fd, buf, size - 1, 0);

	assert_true(n >= 0);
	buf[n] = '\0';
	close(fd);
}

void util_child(int (*body)(void *arg), void *arg, struct outcome *outcome)
{
	int out = memfd_create("out", MFD_CLOEXEC), err = memfd_create("err", MFD_CLOEXEC), status;
	pid_t pid;

	note = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(note != MAP_FAILED && out >= 0 && err >= 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		dup2(out, STDOUT_FILENO);
		dup2(err, STDERR_FILENO);
		status = body(arg);
		fflush(NULL);
		_exit(status);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	outcome->code = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
	read_back(out, outcome->out, sizeof(outcome->out));
	read_back(err, outcome->err, sizeof(outcome->err));
	snprintf(outcome->note, sizeof(outcome->note), "%s", note);
	munmap(note, 4096);
	if (outcome->code || *outcome->note)
		print_error("%s", outcome->err);
	assert_string_equal(outcome->note, "");
	assert_int_equal(outcome->code, 0);
}

int util_count(const char *text, const char *what)
{
	int count = 0;

	while ((text = strstr(text, what))) {
		text += strlen(what);
		count++;
	}
	return count;
}

DAT_RETURN util_open(const char *name, DAT_UINT32 major, DAT_UINT32 minor,
		     DAT_BOOLEAN thread_safety, DAT_IA_HANDLE *ia)
{
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;

	return dat_ia_openv((DAT_NAME_PTR)(uintptr_t)name, 8, &evd, ia, major, minor,
			    thread_safety);
}

DAT_PROVIDER_INFO util_info(const char *name, DAT_UINT32 major, DAT_UINT32 minor,
			    DAT_BOOLEAN thread_safety)
{
	DAT_PROVIDER_INFO info = { .dapl_version_major = major,
				   .dapl_version_minor = minor,
				   .is_thread_safe = thread_safety };

	snprintf(info.ia_name, sizeof(info.ia_name), "%s", name);
	return info;
}

struct fake_ia {
	const DAT_PROVIDER *provider;
};

static DAT_RETURN fake_query(DAT_IA_HANDLE ia, DAT_EVD_HANDLE *evd, DAT_IA_ATTR_MASK ia_mask,
			     DAT_IA_ATTR *ia_attr, DAT_PROVIDER_ATTR_MASK provider_mask,
			     DAT_PROVIDER_ATTR *provider_attr)
{
	(void)ia;
	(void)evd;
	(void)provider_mask;
	(void)provider_attr;
	__atomic_fetch_add(&fake.queries, 1, __ATOMIC_RELAXED);
	if (fake.query_rc == DAT_SUCCESS && ia_mask & DAT_IA_FIELD_IA_EXTENSION)
		ia_attr->extension_supported = fake.extension;
	return fake.query_rc;
}

static DAT_RETURN fake_close(DAT_IA_HANDLE ia, DAT_CLOSE_FLAGS flags)
{
	(void)flags;
	__atomic_fetch_add(&fake.closes, 1, __ATOMIC_RELAXED);
	if (fake.close_rc == DAT_SUCCESS)
		free(ia);
	return fake.close_rc;
}

/* The objects' own table: which entry an open came through cannot be told from its arguments. */
static DAT_PROVIDER fake_objects_table = {
	.ia_query_func = fake_query,
	.ia_close_func = fake_close,
};

static DAT_RETURN fake_open(const DAT_NAME_PTR name, DAT_COUNT qlen, DAT_EVD_HANDLE *evd,
			    DAT_IA_HANDLE *ia)
{
	struct fake_ia *object;

	(void)name;
	(void)qlen;
	__atomic_fetch_add(&fake.opens, 1, __ATOMIC_RELAXED);
	*evd = (DAT_EVD_HANDLE)&fake; /* of which libdat2 must keep the program in the dark on
					 failure */
	if (fake.open_rc != DAT_SUCCESS)
		return fake.open_rc;
	object = calloc(1, sizeof(*object));
	object->provider = &fake_objects_table;
	__atomic_store_n(&fake.last_ia, (DAT_IA_HANDLE)object, __ATOMIC_RELAXED);
	*ia = (DAT_IA_HANDLE)object;
	return DAT_SUCCESS;
}

void fake_init(struct fake *provider, const char *name, DAT_UINT32 major, DAT_UINT32 minor,
	       DAT_BOOLEAN thread_safety)
{
	memset(provider, 0, sizeof(*provider));
	provider->info = util_info(name, major, minor, thread_safety);
	provider->table.ia_open_func = fake_open;
	provider->table.ia_query_func = fake_query;
	provider->table.ia_close_func = fake_close;
}
