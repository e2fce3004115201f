/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "interpose.h"
#include "wrap.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <link.h>
#include <linux/futex.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <unistd.h>

/* ---- Which calls count ---- */

struct range {
	uintptr_t start, end;
};

static struct range ranges[8];
static size_t num_ranges;

static int add_library(struct dl_phdr_info *object, size_t size, void *arg)
{
	int i;

	(void)size;
	(void)arg;
	if (!strstr(object->dlpi_name, "libdat2.so") && !strstr(object->dlpi_name, "libdapl"))
		return 0;
	for (i = 0; i < object->dlpi_phnum; i++) {
		const ElfW(Phdr) *phdr = &object->dlpi_phdr[i];

		if (phdr->p_type != PT_LOAD || !(phdr->p_flags & PF_X) ||
		    num_ranges == sizeof(ranges) / sizeof(*ranges))
			continue;
		ranges[num_ranges].start = object->dlpi_addr + phdr->p_vaddr;
		ranges[num_ranges].end = ranges[num_ranges].start + phdr->p_memsz;
		num_ranges++;
	}
	return 0;
}

bool interpose_is_ours(const void *caller)
{
	uintptr_t addr = (uintptr_t)caller;
	size_t i;

	for (i = 0; i < num_ranges; i++)
		if (addr >= ranges[i].start && addr < ranges[i].end)
			return true;
	return false;
}

/* ---- The one call that fails ---- */

struct call *interpose_calls_known;

static const struct call *armed;
static unsigned int armed_at;
int interpose_error;
static _Atomic(const void *) failed_at;

/* ---- The one step at which a signal comes ---- */

static atomic_uint steps;
static unsigned int signal_at;
static int signal_number;

void interpose_step(void)
{
	if (atomic_fetch_add(&steps, 1) + 1 == signal_at)
		kill(getpid(), signal_number);
}

unsigned int interpose_steps(void)
{
	return atomic_load(&steps);
}

void interpose_signal(unsigned int at, int number)
{
	signal_number = number;
	signal_at = at;
}

bool interpose_fails(struct call *call, const void *caller)
{
	unsigned int number;

	if (!num_ranges || !interpose_is_ours(caller))
		return false;
	interpose_step();
	number = atomic_fetch_add(&call->count, 1) + 1;
	if (call != armed || number != armed_at)
		return false;
	atomic_store(&failed_at, caller);
	errno = interpose_error;
	return true;
}

static struct call *find(const char *name)
{
	struct call *call;

	for (call = interpose_calls_known; call && strcmp(call->name, name); call = call->next)
		;
	if (!call) {
		fprintf(stderr, "%s has no wrapper\n", name);
		abort();
	}
	return call;
}

void interpose_start(void)
{
	dl_iterate_phdr(add_library, NULL);
}

unsigned int interpose_calls(size_t fault)
{
	return atomic_load(&find(faults[fault].call)->count);
}

void interpose_arm(size_t fault, unsigned int at)
{
	armed = find(faults[fault].call);
	armed_at = at;
	interpose_error = faults[fault].error;
}

bool interpose_failed(void)
{
	return atomic_load(&failed_at);
}

const char *interpose_site(void)
{
	static char site[256];
	const void *caller = atomic_load(&failed_at);
	Dl_info info;

	if (!caller || !dladdr(caller, &info))
		return "";
	snprintf(site, sizeof(site), "%s+0x%zx", strrchr(info.dli_fname, '/') + 1,
		 (size_t)((const char *)caller - (const char *)info.dli_fbase));
	return site;
}

atomic_int interpose_made;

int interpose_objects(void)
{
	return atomic_load(&interpose_made);
}

/* Of the C library, or of what a provider has brought with it. */
void *interpose_next(const char *name)
{
	static const char *const libraries[] = { "libibverbs.so.1", "librdmacm.so.1" };
	void *found = dlsym(RTLD_NEXT, name), *library;

	for (size_t i = 0; !found && i < sizeof(libraries) / sizeof(libraries[0]); i++) {
		library = dlopen(libraries[i], RTLD_NOW | RTLD_NOLOAD);
		found = library ? dlsym(library, name) : NULL;
	}
	return found;
}

/* ---- Memory ---- */

/* What the libraries hold: a set of addresses with open addressing. */
#define BLOCKS (1u << 16)
static uintptr_t blocks[BLOCKS];
static int num_blocks;
static atomic_flag blocks_lock = ATOMIC_FLAG_INIT;

static size_t place_of(const void *block)
{
	return ((uintptr_t)block >> 4) * 0x9e3779b1u % BLOCKS;
}

static void lock_blocks(void)
{
	while (atomic_flag_test_and_set_explicit(&blocks_lock, memory_order_acquire))
		sched_yield();
}

static void unlock_blocks(void)
{
	atomic_flag_clear_explicit(&blocks_lock, memory_order_release);
}

static void *keep(void *block, const void *caller)
{
	size_t i;

	if (!block || !num_ranges || !interpose_is_ours(caller))
		return block;
	lock_blocks();
	for (i = place_of(block); blocks[i] > 1; i = (i + 1) % BLOCKS)
		;
	blocks[i] = (uintptr_t)block;
	num_blocks++;
	unlock_blocks();
	return block;
}

static void forget(const void *block)
{
	size_t i;

	if (!block || !num_ranges)
		return;
	lock_blocks();
	for (i = place_of(block); blocks[i] && blocks[i] != (uintptr_t)block; i = (i + 1) % BLOCKS)
		;
	if (blocks[i]) {
		blocks[i] = 1; /* was in use: whoever searches goes on */
		num_blocks--;
	}
	unlock_blocks();
}

int interpose_blocks(void)
{
	int num;

	lock_blocks();
	num = num_blocks;
	unlock_blocks();
	return num;
}

/* dlsym allocates, so that these go to the C library by its own names for them. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t num, size_t size);
void *__libc_realloc(void *block, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void __libc_free(void *block);

REGISTER(malloc)
WRAPPER void *malloc(size_t size)
{
	const void *caller = __builtin_return_address(0);

	return interpose_fails(&call_malloc, caller) ? NULL : keep(__libc_malloc(size), caller);
}

REGISTER(calloc)
WRAPPER void *calloc(size_t num, size_t size)
{
	const void *caller = __builtin_return_address(0);

	return interpose_fails(&call_calloc, caller) ? NULL
						     : keep(__libc_calloc(num, size), caller);
}

REGISTER(realloc)
WRAPPER void *realloc(void *block, size_t size)
{
	const void *caller = __builtin_return_address(0);
	void *moved;

	if (interpose_fails(&call_realloc, caller))
		return NULL;
	forget(block);
	moved = __libc_realloc(block, size);
	keep(moved ? moved : block, caller);
	return moved;
}

REGISTER(aligned_alloc)
WRAPPER void *aligned_alloc(size_t alignment, size_t size)
{
	const void *caller = __builtin_return_address(0);

	return interpose_fails(&call_aligned_alloc, caller)
		       ? NULL
		       : keep(__libc_memalign(alignment, size), caller);
}

REGISTER(strdup)
WRAPPER char *strdup(const char *text)
{
	const void *caller = __builtin_return_address(0);
	size_t size = strlen(text) + 1;
	char *copy;

	if (interpose_fails(&call_strdup, caller))
		return NULL;
	copy = keep(__libc_malloc(size), caller);
	return copy ? memcpy(copy, text, size) : NULL;
}

WRAPPER void free(void *block)
{
	forget(block);
	__libc_free(block);
}

WRAP(void *, MAP_FAILED, mmap,
     (void *addr, size_t length, int prot, int flags, int fd, off_t offset),
     (addr, length, prot, flags, fd, offset))
WRAP(int, -1, mprotect, (void *addr, size_t length, int prot), (addr, length, prot))
WRAP(int, -1, madvise, (void *addr, size_t length, int advice), (addr, length, advice))

/* ---- Descriptors ---- */

WRAP(int, -1, close, (int fd), (fd))
WRAP(int, -1, shutdown, (int fd, int how), (fd, how))
WRAP(int, -1, munmap, (void *addr, size_t length), (addr, length))
WRAP(int, -1, accept4, (int fd, struct sockaddr *addr, socklen_t *len, int flags),
     (fd, addr, len, flags))
WRAP(int, -1, socket, (int domain, int type, int protocol), (domain, type, protocol))
WRAP(int, -1, epoll_create1, (int flags), (flags))

/* Only what is new can be refused. */
REGISTER(epoll_ctl)
WRAPPER int epoll_ctl(int epfd, int op, int fd, struct epoll_event *event)
{
	static int (*real)(int, int, int, struct epoll_event *);

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "epoll_ctl");
	if (op == EPOLL_CTL_ADD && interpose_fails(&call_epoll_ctl, __builtin_return_address(0)))
		return -1;
	return real(epfd, op, fd, event);
}

WRAP(int, -1, eventfd, (unsigned int value, int flags), (value, flags))
WRAP(int, -1, memfd_create, (const char *name, unsigned int flags), (name, flags))
WRAP(int, -1, ftruncate, (int fd, off_t length), (fd, length))
WRAP(int, -1, fstat, (int fd, struct stat *st), (fd, st))
WRAP(int, -1, fstatfs, (int fd, struct statfs *st), (fd, st))
WRAP(int, -1, lstat, (const char *path, struct stat *st), (path, st))
WRAP(int, -1, flock, (int fd, int operation), (fd, operation))
WRAP(int, -1, rename, (const char *from, const char *to), (from, to))
WRAP(int, -1, unlink, (const char *path), (path))

REGISTER(open)
WRAPPER int open(const char *path, int flags, ...)
{
	mode_t mode;
	va_list args;

	if (interpose_fails(&call_open, __builtin_return_address(0)))
		return -1;
	va_start(args, flags);
	mode = flags & O_CREAT ? va_arg(args, mode_t) : 0;
	va_end(args);
	return openat(AT_FDCWD, path, flags, mode);
}

/* Wrappers of calls with a number of arguments that varies pass one on, as wide as they come. */
#define WRAP_ONE_MORE(name, type)                                               \
	REGISTER(name)                                                          \
	WRAPPER int name(int fd, type request, ...)                             \
	{                                                                       \
		static int (*real)(int, type, ...);                             \
		va_list args;                                                   \
		void *more;                                                     \
                                                                                \
		if (!real)                                                      \
			*(void **)&real = dlsym(RTLD_NEXT, #name);              \
		if (interpose_fails(&call_##name, __builtin_return_address(0))) \
			return -1;                                              \
		va_start(args, request);                                        \
		more = va_arg(args, void *);                                    \
		va_end(args);                                                   \
		return real(fd, request, more);                                 \
	}

WRAP_ONE_MORE(fcntl, int)

/* ---- Network ---- */

WRAP(int, -1, bind, (int fd, const struct sockaddr *addr, socklen_t len), (fd, addr, len))
WRAP(int, -1, listen, (int fd, int backlog), (fd, backlog))
WRAP(int, -1, connect, (int fd, const struct sockaddr *addr, socklen_t len), (fd, addr, len))
WRAP(int, -1, getsockname, (int fd, struct sockaddr *addr, socklen_t *len), (fd, addr, len))
WRAP(int, -1, getpeername, (int fd, struct sockaddr *addr, socklen_t *len), (fd, addr, len))
WRAP(int, -1, getsockopt, (int fd, int level, int name, void *value, socklen_t *len),
     (fd, level, name, value, len))
WRAP(int, -1, setsockopt, (int fd, int level, int name, const void *value, socklen_t len),
     (fd, level, name, value, len))
WRAP(int, interpose_error, getaddrinfo,
     (const char *node, const char *service, const struct addrinfo *hints, struct addrinfo **info),
     (node, service, hints, info))
WRAP(int, -1, getifaddrs, (struct ifaddrs * *list), (list))
WRAP(int, -1, gethostname, (char *name, size_t len), (name, len))

/* What a call would see of a connection that was reset, both ends see from then on. */
static ssize_t fail_io(int fd)
{
	const struct sockaddr none = { .sa_family = AF_UNSPEC };
	static int (*real)(int, const struct sockaddr *, socklen_t);

	if (interpose_error == ECONNRESET) {
		*(void **)&real = dlsym(RTLD_NEXT, "connect");
		if (real(fd, &none, sizeof(none)))
			shutdown(fd, SHUT_RDWR);
	}
	errno = interpose_error;
	return -1;
}

/* What does not wait is not interrupted. */
static bool never_waits(int flags)
{
	return interpose_error == EINTR && (flags & MSG_DONTWAIT);
}

/* How much a call moves that moves less than it was asked to. */
static size_t half(size_t size)
{
	return size > 1 ? size / 2 : size;
}

REGISTER(read)
WRAPPER ssize_t read(int fd, void *data, size_t size)
{
	static ssize_t (*real)(int, void *, size_t);

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "read");
	if (!interpose_fails(&call_read, __builtin_return_address(0)))
		return real(fd, data, size);
	return interpose_error ? fail_io(fd) : real(fd, data, half(size));
}

/* What is no file is a descriptor that wakes somebody, and always has room. */
static bool has_room(int fd)
{
	struct stat st;

	return interpose_error == ENOSPC && (fstat(fd, &st) || !S_ISREG(st.st_mode));
}

REGISTER(write)
WRAPPER ssize_t write(int fd, const void *data, size_t size)
{
	static ssize_t (*real)(int, const void *, size_t);

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "write");
	if (has_room(fd) || !interpose_fails(&call_write, __builtin_return_address(0)))
		return real(fd, data, size);
	return interpose_error ? fail_io(fd) : real(fd, data, half(size));
}

REGISTER(send)
WRAPPER ssize_t send(int fd, const void *data, size_t size, int flags)
{
	static ssize_t (*real)(int, const void *, size_t, int);

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "send");
	if (never_waits(flags) || !interpose_fails(&call_send, __builtin_return_address(0)))
		return real(fd, data, size, flags);
	return interpose_error ? fail_io(fd) : real(fd, data, half(size), flags);
}

REGISTER(recv)
WRAPPER ssize_t recv(int fd, void *data, size_t size, int flags)
{
	static ssize_t (*real)(int, void *, size_t, int);

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "recv");
	if (never_waits(flags) || !interpose_fails(&call_recv, __builtin_return_address(0)))
		return real(fd, data, size, flags);
	return interpose_error ? fail_io(fd) : real(fd, data, half(size), flags);
}

/* The first segment only, and half of it. */
static struct msghdr half_of(const struct msghdr *msg, struct iovec *first)
{
	struct msghdr out = *msg;

	*first = msg->msg_iov[0];
	first->iov_len = half(first->iov_len);
	out.msg_iov = first;
	out.msg_iovlen = 1;
	return out;
}

REGISTER(sendmsg)
WRAPPER ssize_t sendmsg(int fd, const struct msghdr *msg, int flags)
{
	static ssize_t (*real)(int, const struct msghdr *, int);
	struct msghdr shorter;
	struct iovec first;

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "sendmsg");
	if (!interpose_fails(&call_sendmsg, __builtin_return_address(0)))
		return real(fd, msg, flags);
	if (interpose_error)
		return fail_io(fd);
	shorter = half_of(msg, &first);
	return real(fd, &shorter, flags);
}

REGISTER(recvmsg)
WRAPPER ssize_t recvmsg(int fd, struct msghdr *msg, int flags)
{
	static ssize_t (*real)(int, struct msghdr *, int);
	struct msghdr shorter;
	struct iovec first;
	ssize_t got;

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "recvmsg");
	if (!interpose_fails(&call_recvmsg, __builtin_return_address(0)))
		return real(fd, msg, flags);
	if (interpose_error)
		return fail_io(fd);
	shorter = half_of(msg, &first);
	got = real(fd, &shorter, flags);
	msg->msg_flags = shorter.msg_flags;
	msg->msg_controllen = shorter.msg_controllen;
	return got;
}

/* ---- Waiting, threads, the rest ---- */

WRAP(int, -1, ppoll,
     (struct pollfd * fds, nfds_t num, const struct timespec *timeout, const sigset_t *mask),
     (fds, num, timeout, mask))
WRAP(int, -1, epoll_wait, (int epfd, struct epoll_event *events, int num, int timeout),
     (epfd, events, num, timeout))
WRAP(ssize_t, -1, process_vm_readv,
     (pid_t pid, const struct iovec *local, unsigned long locals, const struct iovec *remote,
      unsigned long remotes, unsigned long flags),
     (pid, local, locals, remote, remotes, flags))
WRAP(ssize_t, -1, process_vm_writev,
     (pid_t pid, const struct iovec *local, unsigned long locals, const struct iovec *remote,
      unsigned long remotes, unsigned long flags),
     (pid, local, locals, remote, remotes, flags))
WRAP(int, interpose_error, pthread_create,
     (pthread_t * thread, const pthread_attr_t *attr, void *(*run)(void *), void *arg),
     (thread, attr, run, arg))
WRAP(int, interpose_error, pthread_key_create, (pthread_key_t * key, void (*destroy)(void *)),
     (key, destroy))
WRAP(int, interpose_error, pthread_setspecific, (pthread_key_t key, const void *value),
     (key, value))
WRAP(ssize_t, -1, getrandom, (void *data, size_t size, unsigned int flags), (data, size, flags))
WRAP(FILE *, NULL, open_memstream, (char **data, size_t *size), (data, size))
WRAP(void *, NULL, dlopen, (const char *path, int flags), (path, flags))

REGISTER(syscall)
WRAPPER long syscall(long number, ...)
{
	static long (*real)(long, ...);
	long a[6];
	va_list args;
	int i;

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "syscall");
	va_start(args, number);
	for (i = 0; i < 6; i++)
		a[i] = va_arg(args, long);
	va_end(args);
	/* Waking nobody is interrupted by nothing. */
	if ((number != SYS_futex || (a[1] & FUTEX_CMD_MASK) != FUTEX_WAKE) &&
	    interpose_fails(&call_syscall, __builtin_return_address(0)))
		return -1;
	return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
