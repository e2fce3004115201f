/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Loads and unloads provider libraries; the dynamic loader itself shares and counts them. */
#include "dat/loader.h"
#include "dat/fork.h"
#include "util/fd.h"
#include "util/thread.h"
#include "trace/dat_log.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
	PATIENCE_S = 1,
};

/*
 * Held while the dynamic loader loads or unloads, so that no child is made of half a module: fork
 * gives it the loader's lock free, but what that covered as it stood. A library's constructors may
 * fork themselves.
 */
static pthread_mutex_t loading;
static __thread int held;

__attribute__((constructor)) static void make_lock(void)
{
	dats_mutex_init_recursive(&loading);
}

/* A constructor may wait for the thread that forks, which then goes on without the lock. */
void dat_loader_hold(void)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += PATIENCE_S;
	held = !pthread_mutex_timedlock(&loading, &until);
}

void dat_loader_release(void)
{
	if (held)
		pthread_mutex_unlock(&loading);
}

/* The thread that has it is the parent's, whose number the child's does not have. */
void dat_loader_abandon(void)
{
	make_lock();
}

/*
 * Provider libraries take libdat2's functions from the global scope without naming libdat2. Where a
 * program itself loaded libdat2 with local scope they would find nothing, so libdat2 enters the
 * global scope first.
 */
static void become_global(void)
{
	Dl_info self;

	if (dladdr((void *)dat_module_load, &self) && self.dli_fname)
		dlopen(self.dli_fname, RTLD_NOW | RTLD_GLOBAL | RTLD_NOLOAD);
}

/* dlerror says in words what was lacking; whether a limit was hit is asked anew. */
static void add_limit(char *reason, size_t size)
{
	size_t len = strlen(reason);
	int fd = dats_fd(open("/dev/null", O_RDONLY | O_CLOEXEC));

	if (fd >= 0)
		close(fd);
	else if (errno == EMFILE || errno == ENFILE)
		snprintf(reason + len, size - len, "; %s", dat_errno_text(errno));
}

/*
 * What threads did in a library that is gone came before what they do in the one that takes its
 * addresses. The dynamic loader's lock sees to that, but ThreadSanitizer does not see the lock.
 */
static void order_unload_and_load(void)
{
	static int unloads;

	__atomic_fetch_add(&unloads, 1, __ATOMIC_ACQ_REL);
}

static void *module_symbol(struct dat_module *module, const char *name, char *reason, size_t size)
{
	void *symbol = dlsym(module->dl, name);
	const char *error = symbol ? NULL : dlerror();

	if (!symbol)
		snprintf(reason, size, "%s", error ? error : name);
	return symbol;
}

/*
 * A name without a folder that the dynamic loader does not know is one beside libdat2: so a prefix
 * of which ld.so.conf has nothing serves its own programs, and what the loader finds comes first
 * (REG-44).
 */
static void *open_beside(const char *name, char *reason, size_t size)
{
	const char *slash, *error;
	char path[PATH_MAX];
	void *dl;
	Dl_info self;

	if (!dladdr((void *)dat_module_load, &self) || !(slash = strrchr(self.dli_fname, '/')))
		return NULL;
	if (snprintf(path, sizeof(path), "%.*s/%s", (int)(slash - self.dli_fname), self.dli_fname,
		     name) >= (int)sizeof(path))
		return NULL;
	dl = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	error = dl ? NULL : dlerror();
	if (error)
		snprintf(reason + strlen(reason), size - strlen(reason), "; %s", error);
	return dl;
}

static void *open_module(const char *path, char *reason, size_t size)
{
	void *dl = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	const char *error = dl ? NULL : dlerror();

	if (dl)
		return dl;
	snprintf(reason, size, "%s", error ? error : path);
	return strchr(path, '/') ? NULL : open_beside(path, reason, size);
}

int dat_module_load(struct dat_module *module, const char *path, char *reason, size_t size)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	void *init, *fini = NULL;

	pthread_mutex_lock(&loading);
	pthread_once(&once, become_global);
	module->dl = open_module(path, reason, size);
	pthread_mutex_unlock(&loading);
	order_unload_and_load();
	if (!module->dl) {
		add_limit(reason, size);
		return -1;
	}
	init = module_symbol(module, DAT_PROVIDER_INIT_FUNC_STR, reason, size);
	if (init)
		fini = module_symbol(module, DAT_PROVIDER_FINI_FUNC_STR, reason, size);
	if (!init || !fini) {
		dat_module_unload(module);
		return -1;
	}
	memcpy(&module->init, &init, sizeof(init));
	memcpy(&module->fini, &fini, sizeof(fini));
	if (!dlsym(module->dl, "dapl_extensions"))
		dat_trace(no_extensions, DATS_TRC_DETAIL, NULL, "library=%s", path);
	return 0;
}

void dat_module_unload(struct dat_module *module)
{
	order_unload_and_load();
	pthread_mutex_lock(&loading);
	if (module->dl)
		dlclose(module->dl);
	pthread_mutex_unlock(&loading);
	memset(module, 0, sizeof(*module));
}
