/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Memory of a world: at the same addresses whenever it is run, filled when it is freed and used
 * again as late as possible, so that who uses what was freed is seen.
 */
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include "test/sim/libc.h"
#include "test/sim/sim.h"

/* ---- Whose call it is ---- */

static struct {
	uintptr_t start, end;
} ranges[8];
static uint32_t num_ranges;

bool libc_may_fail;

bool libc_is_library(const char *name)
{
	return strstr(name, "libdat2.so") || strstr(name, "libdapl");
}

static int add_library(struct dl_phdr_info *object, size_t size, void *arg)
{
	(void)size;
	(void)arg;
	for (int i = 0; libc_is_library(object->dlpi_name) && i < object->dlpi_phnum; i++) {
		const ElfW(Phdr) *phdr = &object->dlpi_phdr[i];

		if (phdr->p_type != PT_LOAD || !(phdr->p_flags & PF_X))
			continue;
		ranges[num_ranges].start = object->dlpi_addr + phdr->p_vaddr;
		ranges[num_ranges].end = ranges[num_ranges].start + phdr->p_memsz;
		num_ranges++;
	}
	return 0;
}

void libc_find_libraries(void)
{
	dl_iterate_phdr(add_library, NULL);
}

bool libc_is_ours(const void *caller)
{
	uintptr_t at = (uintptr_t)caller;

	for (uint32_t i = 0; i < num_ranges; i++)
		if (at >= ranges[i].start && at < ranges[i].end)
			return true;
	return false;
}

bool libc_fails(const char *call, const void *caller, int error)
{
	if (!sim_on || !libc_may_fail || !libc_is_ours(caller) ||
	    !sim_once_in(sim_plan.fail_one_in))
		return false;
	sim_report->refusals++;
	sim_trace(SIM_FAIL, (uint64_t)(unsigned char)call[0] << 8 | (unsigned char)call[1],
		  (uint64_t)error, 0, 0);
	if (sim_verbose)
		fprintf(stderr, "%s fails\n", call);
	errno = error;
	return true;
}

/* ---- Blocks ---- */

enum {
	MIN_SHIFT = 6,
	CLASSES = 26,
	KEPT = 32, /* of a class, before one is used again */
	FILLED = 512,
	FILL = 0xdd,
};

#define ARENA	   ((uint8_t *)0x3f0000000000)
#define ARENA_SIZE (1ull << 30)
#define MAGIC	   0x626c6f636bull

struct block {
	uint64_t magic, serial;
	size_t size, room;
	const void *caller; /* of the libraries, else NULL */
	struct block *next, *prev;
	uint64_t pad; /* what follows is aligned to 64 */
};

static uint8_t *arena_end;
static struct {
	struct block *first, *last;
	uint32_t count;
} freed[CLASSES];
static struct block in_use = { .next = &in_use, .prev = &in_use }; /* of the libraries */
static uint64_t serial;

static bool in_arena(const void *at)
{
	return (const uint8_t *)at >= ARENA && (const uint8_t *)at < ARENA + ARENA_SIZE;
}

static uint32_t class_of(size_t size)
{
	uint32_t class = 0;

	while ((1ull << (MIN_SHIFT + class)) < size)
		class ++;
	return class;
}

static struct block *new_block(size_t room)
{
	struct block *block;

	if (!arena_end) {
		if (mmap(ARENA, ARENA_SIZE, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1,
			 0) != ARENA)
			sim_fail("no room for the world's memory");
		arena_end = ARENA;
	}
	block = (struct block *)arena_end;
	arena_end += sizeof(*block) + room;
	if (arena_end > ARENA + ARENA_SIZE)
		sim_fail("the world's memory is full");
	return block;
}

static void check_filled(const struct block *block)
{
	const uint8_t *at = (const uint8_t *)(block + 1);
	size_t size = block->size < FILLED ? block->size : FILLED;

	for (size_t i = 0; i < size; i++)
		if (at[i] != FILL)
			sim_fail("a block of %zu bytes was written to at %zu after it was freed",
				 block->size, i);
}

static struct block *take(uint32_t class)
{
	struct block *block = freed[class].first;

	if (freed[class].count <= KEPT)
		return new_block(1ull << (MIN_SHIFT + class));
	check_filled(block);
	freed[class].first = block->next;
	freed[class].count--;
	return block;
}

static void *allocate(size_t size, const void *caller)
{
	uint32_t class = class_of(size ? size : 1);
	struct block *block = take(class);

	*block = (struct block){ .magic = MAGIC,
				 .serial = ++serial,
				 .size = size,
				 .room = 1ull << (MIN_SHIFT + class),
				 .caller = libc_is_ours(caller) ? caller : NULL };
	if (block->caller) {
		block->next = &in_use;
		block->prev = in_use.prev;
		block->prev->next = block;
		in_use.prev = block;
	}
	memset(block + 1, 0xa5, size < FILLED ? size : FILLED);
	return block + 1;
}

static struct block *block_of(void *at)
{
	struct block *block = (struct block *)at - 1;

	if (block->magic != MAGIC)
		sim_fail("what is freed is no block, or was freed before");
	return block;
}

static void release(void *at)
{
	struct block *block = block_of(at);
	uint32_t class = class_of(block->room);

	if (block->caller) {
		block->next->prev = block->prev;
		block->prev->next = block->next;
	}
	block->magic = 0;
	memset(at, FILL, block->size < FILLED ? block->size : FILLED);
	block->next = NULL;
	if (freed[class].count++)
		freed[class].last->next = block;
	else
		freed[class].first = block;
	freed[class].last = block;
}

uint64_t libc_blocks_serial(void)
{
	return serial;
}

/* What each thread has one of, and keeps for the next: there is one from before. */
static bool of_threads(const struct block *block, uint64_t since)
{
	const struct block *old = in_use.next;

	for (; old != &in_use && old->serial <= since; old = old->next)
		if (old->caller == block->caller && old->size == block->size)
			return true;
	return false;
}

uint32_t libc_blocks_since(uint64_t since, uint32_t threads, char *out, size_t size)
{
	const struct block *block;
	uint32_t count = 0;
	size_t len = 0;
	Dl_info info;

	out[0] = '\0';
	for (block = in_use.next; block != &in_use; block = block->next) {
		if (block->serial <= since)
			continue;
		if (threads && of_threads(block, since)) {
			threads--;
			continue;
		}
		count++;
		if (len < size && dladdr(block->caller, &info))
			len += (size_t)snprintf(out + len, size - len, " %zu@%s+0x%zx", block->size,
						strrchr(info.dli_fname, '/') + 1,
						(size_t)((const char *)block->caller -
							 (const char *)info.dli_fbase));
	}
	return count;
}

/* ---- The calls ---- */

uint64_t sim_no_memory;

#define CALLER __builtin_return_address(0)

SIM_CALL void *malloc(size_t size)
{
	if (!sim_on)
		return __libc_malloc(size);
	if (!FAILS("malloc", ENOMEM))
		return allocate(size, CALLER);
	sim_no_memory = sim_now;
	return NULL;
}

SIM_CALL void *calloc(size_t num, size_t size)
{
	void *at;

	if (!sim_on)
		return __libc_calloc(num, size);
	if (FAILS("calloc", ENOMEM))
		return NULL;
	at = allocate(num * size, CALLER);
	memset(at, 0, num * size);
	return at;
}

SIM_CALL void free(void *at)
{
	if (!at)
		return;
	if (in_arena(at))
		release(at);
	else
		__libc_free(at);
}

SIM_CALL void *realloc(void *at, size_t size)
{
	void *moved;
	size_t old;

	if (!sim_on && !in_arena(at))
		return __libc_realloc(at, size);
	if (FAILS("realloc", ENOMEM))
		return NULL;
	if (at && !in_arena(at))
		return __libc_realloc(at, size);
	moved = allocate(size, CALLER);
	if (at) {
		old = block_of(at)->size;
		memcpy(moved, at, old < size ? old : size);
		block_of(moved)->serial = block_of(at)->serial; /* as old as it was */
		release(at);
	}
	return moved;
}

SIM_CALL void *aligned_alloc(size_t alignment, size_t size)
{
	if (!sim_on || alignment > 64)
		return FAILS("aligned_alloc", ENOMEM) ? NULL : __libc_memalign(alignment, size);
	return FAILS("aligned_alloc", ENOMEM) ? NULL : allocate(size, CALLER);
}

SIM_CALL char *strdup(const char *text)
{
	size_t size = strlen(text) + 1;

	if (!sim_on)
		return memcpy(__libc_malloc(size), text, size);
	return FAILS("strdup", ENOMEM) ? NULL : memcpy(allocate(size, CALLER), text, size);
}

/* ---- Memory that two processes of the world map, each at its own place ---- */

enum {
	MAPPINGS = 4096,
	OFFSET_BITS = 28,
};

static struct mapping {
	const uint8_t *start;
	size_t size;
	uint64_t file;
} mappings[MAPPINGS];

LIBC(void *, mmap, (void *at, size_t size, int prot, int flags, int fd, off_t offset),
     (at, size, prot, flags, fd, offset))
LIBC(int, munmap, (void *at, size_t size), (at, size))

static struct mapping *mapping_of(const void *at)
{
	const uint8_t *byte = at;

	for (uint32_t i = 0; i < MAPPINGS; i++)
		if (mappings[i].size && byte >= mappings[i].start &&
		    byte < mappings[i].start + mappings[i].size)
			return &mappings[i];
	return NULL;
}

SIM_CALL void *mmap(void *at, size_t size, int prot, int flags, int fd, off_t offset)
{
	void *start = libc_mmap(at, size, prot, flags, fd, offset);
	struct stat file;
	uint32_t i = 0;

	if (!sim_on || start == MAP_FAILED || !(flags & MAP_SHARED) || fd < 0 || fstat(fd, &file))
		return start;
	while (i < MAPPINGS && mappings[i].size)
		i++;
	if (i == MAPPINGS)
		sim_fail("more than %d mappings of files", MAPPINGS);
	mappings[i] = (struct mapping){ start, size, file.st_ino };
	return start;
}

SIM_CALL int munmap(void *at, size_t size)
{
	struct mapping *mapping = mapping_of(at);

	if (mapping && mapping->start == at)
		mapping->size = 0;
	return libc_munmap(at, size);
}

const void *memory_shared(const void *word)
{
	const struct mapping *mapping = mapping_of(word);

	if (!mapping)
		return word;
	return (const void *)(uintptr_t)(1ull << 63 | mapping->file << OFFSET_BITS |
					 (uint64_t)((const uint8_t *)word - mapping->start));
}

/* ---- Memory of another process, which is this one ---- */

LIBC(ssize_t, process_vm_readv,
     (pid_t pid, const struct iovec *local, unsigned long locals, const struct iovec *remote,
      unsigned long remotes, unsigned long flags),
     (pid, local, locals, remote, remotes, flags))
LIBC(ssize_t, process_vm_writev,
     (pid_t pid, const struct iovec *local, unsigned long locals, const struct iovec *remote,
      unsigned long remotes, unsigned long flags),
     (pid, local, locals, remote, remotes, flags))

SIM_CALL ssize_t process_vm_readv(pid_t pid, const struct iovec *local, unsigned long locals,
				  const struct iovec *remote, unsigned long remotes,
				  unsigned long flags)
{
	ssize_t n;

	fiber_point();
	if (FAILS("process_vm_readv", EPERM))
		return -1;
	n = libc_process_vm_readv(pid, local, locals, remote, remotes, flags);
	fiber_point();
	return n;
}

SIM_CALL ssize_t process_vm_writev(pid_t pid, const struct iovec *local, unsigned long locals,
				   const struct iovec *remote, unsigned long remotes,
				   unsigned long flags)
{
	ssize_t n;

	fiber_point();
	if (FAILS("process_vm_writev", ESRCH))
		return -1;
	n = libc_process_vm_writev(pid, local, locals, remote, remotes, flags);
	fiber_point();
	return n;
}
