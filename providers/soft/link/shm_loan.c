/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Loans: long data between two processes in one copy.
 *
 * Who sends writes the pieces of his memory into his struct shm_loan and sets SHM_LOAN_OUT. From
 * then on the bytes of the stream come from there, until all of them are taken or the loan is
 * reclaimed; the ring gets nothing meanwhile, and what it has comes before. Who receives has the
 * kernel copy (process_vm_readv) and then adds what he took to the word that has the loan's number
 * and state. Reclaiming replaces that word: a copy that was on its way is then not counted, and
 * what it brought is thrown away. So the lender waits for nobody, and no request completes, and no
 * memory is given back to the program, while a read of it could still be used.
 *
 * Processes are told by number, and another one may have it by now, or in this PID namespace. So
 * each copy also fetches a random number from the lender's memory: the kernel takes all of one call
 * from the same memory.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* process_vm_readv */
#endif
#include <errno.h>
#include <string.h>
#include <sys/random.h>
#include <sys/uio.h>
#include <unistd.h>

#include "providers/soft/base/config.h"
#include "providers/soft/base/device.h"
#include "providers/soft/link/shm.h"
#include "trace/log.h"

enum {
	LEND_MIN = 16 << 10, /* less is faster through the ring */
	LOCAL = 40,	     /* pieces of ours in one call; the proof is one more */
	TRIES = 4,
};

#define BYTES(word) ((uint32_t)(word))

/* ---- Lending ---- */

/* What is to be found in this process alone. */
static const uint64_t *proof(void)
{
	static _Atomic uint64_t word[2];
	uint64_t drawn, none = 0;

	for (int i = 0; i < 2; i++) {
		if (atomic_load(&word[i]))
			continue;
		if (getrandom(&drawn, sizeof(drawn), GRND_NONBLOCK) != sizeof(drawn))
			return NULL;
		atomic_compare_exchange_strong(&word[i], &none, drawn | 1);
		none = 0;
	}
	return (const uint64_t *)(const void *)word;
}

bool soft_shm_lend(struct soft_shm *shm, const struct iovec *iov, int num)
{
	struct shm_loan *loan = shm->lends;
	const uint64_t *mine;
	size_t total = 0;

	for (int i = 0; i < num; i++)
		total += iov[i].iov_len;
	if (total < LEND_MIN || total > INT32_MAX || num > SHM_PIECES || shm->ring_only ||
	    !shm->link.dev->config->single_copy)
		return false;
	mine = proof();
	if (!mine)
		return false;
	loan->pid = (uint64_t)getpid();
	loan->proof[0] = (uintptr_t)mine;
	memcpy(&loan->proof[1], mine, 2 * sizeof(*mine));
	for (int i = 0; i < num; i++) {
		loan->piece[i].base = (uintptr_t)iov[i].iov_base;
		loan->piece[i].len = iov[i].iov_len;
	}
	loan->num = (uint32_t)num;
	loan->total = (uint32_t)total;
	shm->repaid = 0;
	atomic_store(&shm->lent, (uint32_t)total);
	shm->loans += SHM_LOAN_NEXT;
	atomic_store(&shm->own->loan, shm->loans | SHM_LOAN_OUT);
	soft_shm_wake(shm, SHM_WAKE_DATA);
	return true;
}

ssize_t soft_shm_repaid(struct soft_link *link, bool reclaim)
{
	struct soft_shm *shm = soft_shm(link);
	uint32_t total = atomic_load_explicit(&shm->lent, memory_order_relaxed), news;
	uint64_t word;

	if (!total)
		return 0;
	if (reclaim) {
		shm->loans += SHM_LOAN_NEXT;
		word = atomic_exchange(&shm->own->loan, shm->loans) & ~SHM_LOAN_OUT;
	} else {
		word = atomic_load(&shm->own->loan);
	}
	news = BYTES(word) - shm->repaid;
	if (news > total - shm->repaid)
		return soft_shm_nonsense(shm);
	shm->repaid += news;
	if (!(word & SHM_LOAN_OUT)) {
		atomic_store(&shm->lent, 0);
		shm->ring_only |= !!(word & SHM_LOAN_REFUSED);
	}
	return news;
}

/* ---- Borrowing ---- */

/* One copy by the kernel; the proof is the last piece of each. */
struct copy {
	uint64_t word; /* the loan as it was when the copy was begun */
	uint64_t proof[2];
	struct iovec local[LOCAL + 1], remote[SHM_PIECES + 1];
	uint32_t num_local, num_remote, len;
};

/* The first len bytes of the pieces, then the proof; returns their number. */
static uint32_t cut(struct iovec *iov, uint32_t num, uint32_t len, void *proof, size_t size)
{
	uint32_t i = 0;

	for (; i < num && len; i++) {
		if (iov[i].iov_len > len)
			iov[i].iov_len = len;
		len -= (uint32_t)iov[i].iov_len;
	}
	iov[i] = (struct iovec){ .iov_base = proof, .iov_len = size };
	return i + 1;
}

/*
 * Which bytes are taken at once: all that there is room for, except that a long piece is not begun
 * for the sake of the last buffer, the stage: the next call has a better place for it.
 */
static void plan(struct copy *copy, const struct shm_loan *loan, uint32_t num, uint32_t skip,
		 uint32_t direct, uint32_t max)
{
	uint32_t len;

	for (uint32_t i = 0; i < num && copy->len < max; i++) {
		const volatile uint64_t *piece = &loan->piece[i].base;
		uint64_t base = piece[0], whole = piece[1];

		if (whole <= skip) {
			skip -= (uint32_t)whole;
			continue;
		}
		base += skip;
		whole -= skip;
		skip = 0;
		len = whole < max - copy->len ? (uint32_t)whole : max - copy->len;
		if (len < whole && copy->len && copy->len >= direct)
			break;
		copy->remote[copy->num_remote++] =
			(struct iovec){ .iov_base = (void *)(uintptr_t)base, .iov_len = len };
		copy->len += len;
	}
}

/* The rest goes through the ring, as all that follows. */
static ssize_t refuse(struct soft_shm *shm, struct copy *copy, const char *why)
{
	static atomic_flag said = ATOMIC_FLAG_INIT;
	uint64_t word = copy->word;

	if (why && !atomic_flag_test_and_set(&said))
		dapl_err("%s: memory of the process at the other end of shared memory cannot be "
			 "read: %s; what is long is copied twice (see kernel.yama.ptrace_scope, or "
			 "what a container allows; option single_copy=0 does not try)",
			 shm->link.dev->name, why);
	atomic_compare_exchange_strong(&shm->peer->loan, &word,
				       (word & ~SHM_LOAN_OUT) | SHM_LOAN_REFUSED);
	soft_shm_wake(shm, SHM_WAKE_ROOM);
	return -EAGAIN;
}

static ssize_t call(struct copy *copy, pid_t pid)
{
	return process_vm_readv(pid, copy->local, copy->num_local, copy->remote, copy->num_remote,
				0);
}

/* Whether it is the lender's memory that is not there, rather than ours. */
static bool lender_at_fault(const struct copy *copy, pid_t pid)
{
	uint8_t byte;
	struct copy one = *copy;

	one.num_remote = cut(one.remote, one.num_remote, 1, one.remote, 0) - 1;
	one.local[0] = (struct iovec){ .iov_base = &byte, .iov_len = 1 };
	one.num_local = 1;
	return call(&one, pid) != 1;
}

/* Makes the copy, or as much of it as there is memory for; as recv. */
static ssize_t fetch(struct soft_shm *shm, struct copy *copy, const struct shm_loan *loan)
{
	uint64_t found[2] = { 0, 0 };
	pid_t pid = (pid_t)loan->pid;
	ssize_t n = 0;

	for (int i = 0; i < TRIES; i++) {
		copy->num_local =
			cut(copy->local, copy->num_local, copy->len, found, sizeof(found));
		copy->num_remote = cut(copy->remote, copy->num_remote, copy->len,
				       (void *)(uintptr_t)loan->proof[0], sizeof(found));
		n = call(copy, pid);
		if (n == (ssize_t)(copy->len + sizeof(found)))
			break;
		if (n <= 0 || n > copy->len)
			break;
		copy->len = (uint32_t)n;
		copy->num_local--;
		copy->num_remote--;
	}
	if (n < 0 && errno == EFAULT && !lender_at_fault(copy, pid))
		return -EFAULT;
	if (n < 0)
		return refuse(shm, copy,
			      errno == EFAULT || errno == ESRCH ? NULL : dapl_strerror(errno));
	if (n != (ssize_t)(copy->len + sizeof(found)) ||
	    memcmp(found, copy->proof, sizeof(found)) != 0)
		return refuse(shm, copy, "its number is another one's here");
	return copy->len;
}

/* What was taken counts, unless the loan was reclaimed meanwhile. */
static ssize_t settle(struct soft_shm *shm, const struct copy *copy, uint32_t total)
{
	uint64_t word = copy->word, next = word + copy->len;

	if (BYTES(next) == total)
		next &= ~SHM_LOAN_OUT;
	if (!atomic_compare_exchange_strong(&shm->peer->loan, &word, next))
		return -EAGAIN;
	if (!(next & SHM_LOAN_OUT))
		soft_shm_wake(shm, SHM_WAKE_ROOM);
	return copy->len;
}

ssize_t soft_shm_borrow(struct soft_shm *shm, const struct iovec *iov, int num)
{
	const struct shm_loan *loan = shm->borrows;
	uint32_t pieces = *(const volatile uint32_t *)&loan->num;
	uint32_t total = *(const volatile uint32_t *)&loan->total;
	struct copy copy;
	size_t max = 0;
	ssize_t n;

	copy.word = atomic_load(&shm->peer->loan);
	copy.num_remote = copy.len = 0;
	copy.num_local = num < LOCAL ? (uint32_t)num : LOCAL;
	memcpy(copy.local, iov, copy.num_local * sizeof(*iov));
	memcpy(copy.proof, &loan->proof[1], sizeof(copy.proof));
	for (uint32_t i = 0; i < copy.num_local; i++)
		max += iov[i].iov_len;
	if (!(copy.word & SHM_LOAN_OUT))
		return 0;
	if (BYTES(copy.word) < total && pieces <= SHM_PIECES) {
		if (max > total - BYTES(copy.word))
			max = total - BYTES(copy.word);
		plan(&copy, loan, pieces, BYTES(copy.word),
		     (uint32_t)(max < iov[num - 1].iov_len ? 0 : max - iov[num - 1].iov_len),
		     (uint32_t)max);
	}
	if (!copy.len) /* another one by now, or one that cannot be */
		return atomic_load(&shm->peer->loan) == copy.word ? soft_shm_nonsense(shm)
								  : -EAGAIN;
	n = fetch(shm, &copy, loan);
	return n > 0 ? settle(shm, &copy, total) : n;
}
