/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <errno.h>
#include <netdb.h>

#include "interpose.h"

/*
 * Every call of the libraries that the system can refuse, with the reasons that change what becomes
 * of it. What is missing here is in the file `never`, with why it cannot fail; complete.py compares
 * both with what the libraries import.
 */
const struct fault faults[] = {
	{ "accept4", EMFILE },
	{ "accept4", ECONNABORTED },
	{ "aligned_alloc", ENOMEM },
	{ "bind", EADDRINUSE },
	{ "calloc", ENOMEM },
	{ "connect", ENETUNREACH },
	{ "connect", ECONNREFUSED },
	{ "dlopen", ENOMEM },
	{ "epoll_create1", EMFILE },
	{ "epoll_ctl", ENOSPC },
	{ "epoll_wait", EINTR },
	{ "eventfd", EMFILE },
	{ "fcntl", EMFILE },
	{ "flock", EWOULDBLOCK },
	{ "fstat", EIO },
	{ "fstatfs", EIO },
	{ "ftruncate", ENOSPC },
	{ "getaddrinfo", EAI_MEMORY },
	{ "gethostname", EPERM },
	{ "getifaddrs", ENOMEM },
	{ "getpeername", ENOTCONN },
	{ "getrandom", EINTR },
	{ "getsockname", ENOBUFS },
	{ "getsockopt", ENOBUFS },

	{ "listen", EADDRINUSE },
	{ "madvise", EAGAIN },
	{ "malloc", ENOMEM },
	{ "memfd_create", EMFILE },
	{ "mmap", ENOMEM },
	{ "mprotect", ENOMEM },
	{ "open", EMFILE },
	{ "open_memstream", ENOMEM },

	{ "ppoll", EINTR },
	{ "process_vm_readv", EPERM },
	{ "process_vm_writev", ESRCH },
	{ "pthread_create", EAGAIN },
	{ "pthread_key_create", EAGAIN },
	{ "pthread_setspecific", ENOMEM },
	{ "read", EINTR },
	{ "read", EIO },
	{ "realloc", ENOMEM },
	{ "recv", ECONNRESET },
	{ "recv", 0 },
	{ "recvmsg", ECONNRESET },

	{ "recvmsg", 0 },
	{ "rename", EACCES },
	{ "send", ECONNRESET },
	{ "send", 0 },
	{ "sendmsg", ECONNRESET },

	{ "sendmsg", ENOBUFS },
	{ "sendmsg", 0 },
	{ "setsockopt", ENOBUFS },
	{ "socket", EMFILE },
	{ "lstat", EACCES },
	{ "strdup", ENOMEM },
	{ "syscall", EINTR },
	{ "unlink", EACCES },
	{ "write", EINTR },
	{ "write", ENOSPC },
#ifdef FAULTS_VERBS
#include "test/faults/verbs.def"
#endif
};
const size_t num_faults = sizeof(faults) / sizeof(*faults);
