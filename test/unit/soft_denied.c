/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The software engine where the kernel does not have a call, or a filter of calls (seccomp) refuses
 * it for good: what can do without does, and the rest is refused with the reason.
 */
#include "test/unit/soft_two.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "providers/soft/link/shm.h"
#include "test/unit/soft_loop.h"
#include "util/compiler.h"

enum {
	PAGE = 4096,
	POPULATE_READ = 22, /* not in musl's headers */
	POPULATE_WRITE = 23,
};

static const struct dapl_transport *const t = &dapl_module_transport;
static const struct end_options options = { .depth = 16, .sge = 4, .read_in = 4, .read_out = 4 };
static struct end a, b;

/* What each is refused with; 0: it is not. */
static int no_advice, no_mincore, no_unix_sockets;
static atomic_int no_look; /* at whether the peer is gone */

static int refuse(int err)
{
	errno = err;
	return -1;
}

int __real_madvise(void *addr, size_t len, int advice);
int __wrap_madvise(void *addr, size_t len, int advice);
int __wrap_madvise(void *addr, size_t len, int advice)
{
	if (no_advice && (advice == POPULATE_READ || advice == POPULATE_WRITE))
		return refuse(no_advice);
	return __real_madvise(addr, len, advice);
}

int __real_mincore(void *addr, size_t len, unsigned char *resident);
int __wrap_mincore(void *addr, size_t len, unsigned char *resident);
int __wrap_mincore(void *addr, size_t len, unsigned char *resident)
{
	return no_mincore ? refuse(no_mincore) : __real_mincore(addr, len, resident);
}

int __real_socket(int domain, int type, int protocol);
int __wrap_socket(int domain, int type, int protocol);
int __wrap_socket(int domain, int type, int protocol)
{
	return no_unix_sockets && domain == AF_UNIX ? refuse(no_unix_sockets)
						    : __real_socket(domain, type, protocol);
}

int __real_poll(struct pollfd *fds, nfds_t num, int timeout);
int __wrap_poll(struct pollfd *fds, nfds_t num, int timeout);
int __wrap_poll(struct pollfd *fds, nfds_t num, int timeout)
{
	return no_look && fds && fds->events == POLLRDHUP ? refuse(no_look)
							  : __real_poll(fds, num, timeout);
}

static unsigned copies; /* into the peer's memory */

ssize_t __real_process_vm_writev(pid_t pid, const struct iovec *local, unsigned long num,
				 const struct iovec *remote, unsigned long num_remote,
				 unsigned long flags);
ssize_t __wrap_process_vm_writev(pid_t pid, const struct iovec *local, unsigned long num,
				 const struct iovec *remote, unsigned long num_remote,
				 unsigned long flags);
ssize_t __wrap_process_vm_writev(pid_t pid, const struct iovec *local, unsigned long num,
				 const struct iovec *remote, unsigned long num_remote,
				 unsigned long flags)
{
	copies++;
	return __real_process_vm_writev(pid, local, num, remote, num_remote, flags);
}

static int allow_all(void **state)
{
	(void)state;
	no_advice = no_mincore = no_unix_sockets = 0;
	no_look = 0;
	return 0;
}

static const int refusals[] = { EPERM, EACCES, ENOSYS };

/* ---- Memory ---- */

/* LMR-6: what is mapped is registered, and nothing else, as with a kernel before 5.14. */
static void registration_without_advice(void **state)
{
	uint8_t *map =
		mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct tp_mr_attr attr = { .addr = map, .length = 2 * PAGE, .access = FULL };
	struct tp_mr *mr;

	(void)state;
	munmap(map + PAGE, PAGE);
	for (unsigned i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
		no_advice = refusals[i];
		attr.length = PAGE;
		assert_int_equal(t->mr->reg(left.pd, &attr, &mr), 0);
		dereg(mr);
		attr.length = 2 * PAGE;
		assert_int_equal(t->mr->reg(left.pd, &attr, &mr), -EFAULT);
		/* Nobody can be asked. */
		no_mincore = refusals[i];
		assert_int_equal(t->mr->reg(left.pd, &attr, &mr), 0);
		dereg(mr);
		no_mincore = 0;
	}
	no_advice = 0;
	munmap(map, PAGE);
}

/* ---- Unix sockets ---- */

/* As systemd's RestrictAddressFamilies= has it, and others. */
static const int families[] = { EAFNOSUPPORT, EPERM, EACCES, ENOSYS };

static void over_tcp_without_unix_sockets(void **state)
{
	const int64_t usual = soft_config.link;

	(void)state;
	soft_config.link = SOFT_LINK_AUTO;
	for (unsigned i = 0; i < sizeof(families) / sizeof(families[0]); i++) {
		no_unix_sockets = families[i];
		two_open(TWO_BIG, FULL, FULL);
		pair(&a, &b, &options);
		assert_string_equal(soft_conn(a.conn)->link->class->name, soft_link_tcp.name);
		post_recv(&b, 7, in, 64, in_mr);
		post_send(&a, 8, out, 64, out_mr, TP_WR_SIGNALED);
		assert_wc(take_wc(a.send_cq), 8, SUCCESS);
		assert_wc(take_wc(b.recv_cq), 7, SUCCESS);
		unpair(&a, &b);
		two_close();
	}
	no_unix_sockets = 0;
	soft_config.link = usual;
}

/* ---- Direct access ---- */

static void write_once(uint8_t *to)
{
	post_rdma(&a, TP_RDMA_WRITE, 1, out, 64, out_mr, to, in_mr->rkey, TP_WR_SIGNALED);
	assert_wc(take_wc(a.send_cq), 1, SUCCESS);
}

/* Waits until b's end has nothing to do and waits for its peer. */
static void settle(void)
{
	struct soft_shm *shm = soft_shm(soft_conn(b.conn)->link);
	uint32_t *sent = (uint32_t *)&soft_shm(soft_conn(a.conn)->link)->own->sent;
	uint64_t deadline = now_ms() + DEADLINE_MS;

	while (atomic_load(&shm->own->settled) != *(volatile uint32_t *)sent ||
	       !(atomic_load(&shm->own->wake_on) & SHM_WAKE_DATA)) {
		assert_true(now_ms() < deadline);
		pause_ms(1);
	}
}

/* Who cannot see whether the peer's process is still the same one leaves its memory alone. */
static void no_access_without_a_look(void **state)
{
	static const int why[] = { EINTR, ENOMEM, EPERM, ENOSYS };
	uint8_t *to = in;
	unsigned before;

	(void)state;
	pair(&a, &b, &options);
	write_once(to);
	settle();
	write_once(to += 64);
	assert_int_equal(copies, 1);
	settle();
	for (unsigned i = 0; i < sizeof(why) / sizeof(why[0]); i++) {
		before = copies;
		no_look = why[i];
		write_once(to += 64);
		no_look = 0;
		assert_int_equal(copies, before);
		settle();
		assert_true(filled(to, 64, 1));
	}
	unpair(&a, &b);
}

static int set_up_direct(void **state)
{
	soft_config.direct = 1;
	soft_config.direct_large = 32768;
	allow_all(state);
	return two_set_up_shm(state);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(registration_without_advice, two_set_up,
						two_tear_down),
		cmocka_unit_test(over_tcp_without_unix_sockets),
		cmocka_unit_test_setup_teardown(no_access_without_a_look, set_up_direct,
						two_tear_down),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("soft_denied", tests, NULL, NULL);
}
