/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Processes that send each other datagrams, all to all, with loss: every one that is delivered is
 * whole, from whom it says, not delivered twice, and counted (IBX-58, IBX-59, IBX-85, IBX-105).
 *
 *   datagrams PROCESSES MESSAGES PERCENT
 *
 * PERCENT of what the software provider gives to UDP never leaves, messages of the resolutions
 * included: sendto below comes before the C library's.
 */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <dat/udat.h>
#include <dat/dat_ib_extensions.h>

#define HEADER	   40
#define SLOT	   1200
#define MOST	   256 /* processes */
#define PATIENCE   60  /* seconds that a process waits for the next address */
#define QUIET_US   1000000
#define CONNECT_US 60000000

struct message {
	uint32_t from, to, seq, len; /* len: of what follows, made of the first three */
};

/* What the processes know of each other. */
struct shared {
	_Atomic uint64_t qual[MOST]; /* where each listens; 0: not yet */
	atomic_uint resolved;	     /* processes that have all addresses */
	atomic_ullong sent, dropped, delivered;
};

static struct shared *shared;
static unsigned int num, messages, percent, rank;
static uint32_t lot = 1;
static unsigned long long dropped;

static void die(const char *what, DAT_RETURN rc)
{
	fprintf(stderr, "# process %u: %s: 0x%x\n", rank, what, (unsigned)rc);
	_exit(1);
}

static void must(DAT_RETURN rc, const char *what)
{
	if (rc != DAT_SUCCESS)
		die(what, rc);
}

/* ---- Loss ---- */

static bool lose(void)
{
	lot = lot * 1664525u + 1013904223u;
	return (lot >> 8) % 100 < percent;
}

__attribute__((visibility("default"))) ssize_t
sendto(int fd, const void *buf, size_t len, int flags, const struct sockaddr *to, socklen_t to_len)
{
	static ssize_t (*real)(int, const void *, size_t, int, const struct sockaddr *, socklen_t);

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "sendto");
	if (shared && lose()) {
		dropped++;
		return (ssize_t)len;
	}
	return real(fd, buf, len, flags, to, to_len);
}

/* ---- One process ---- */

static DAT_IA_HANDLE ia;
static DAT_IA_ATTR attr;
static DAT_PZ_HANDLE pz;
static DAT_EVD_HANDLE cr_evd, conn_evd, recv_evd, send_evd;
static DAT_EP_HANDLE ep;
static DAT_LMR_CONTEXT key;
static uint8_t *memory;
static DAT_IB_ADDR_HANDLE peer[MOST];
static bool seen[MOST][64];
static unsigned int known, accepted, received;

static uint8_t pattern(const struct message *m, uint32_t at)
{
	return (uint8_t)(m->from * 31 + m->to * 17 + m->seq * 7 + at);
}

static void post_receive(uint64_t slot)
{
	DAT_LMR_TRIPLET seg = { .lmr_context = key,
				.virtual_address = (uintptr_t)(memory + slot * SLOT),
				.segment_length = SLOT };

	must(dat_ep_post_recv(ep, 1, &seg, (DAT_DTO_COOKIE){ .as_64 = slot },
			      DAT_COMPLETION_DEFAULT_FLAG),
	     "dat_ep_post_recv");
}

static void open_endpoint(unsigned int receives)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_EP_ATTR ep_attr = { .service_type = (DAT_SERVICE_TYPE)DAT_IB_SERVICE_TYPE_UD,
				.qos = DAT_QOS_BEST_EFFORT,
				.max_recv_dtos = (DAT_COUNT)receives,
				.max_request_dtos = 16,
				.max_recv_iov = 1,
				.max_request_iov = 1 };
	size_t size = (size_t)(receives + 1) * SLOT;
	DAT_REGION_DESCRIPTION region;
	DAT_RMR_CONTEXT rmr;
	DAT_LMR_HANDLE lmr;
	DAT_CONN_QUAL qual;
	DAT_PSP_HANDLE psp;

	must(dat_ia_open("soft-lo", 8, &async, &ia), "dat_ia_open");
	must(dat_ia_query(ia, NULL, DAT_IA_FIELD_ALL, &attr, 0, NULL), "dat_ia_query");
	must(dat_pz_create(ia, &pz), "dat_pz_create");
	must(dat_evd_create(ia, 2 * MOST, NULL, DAT_EVD_CR_FLAG, &cr_evd), "dat_evd_create");
	must(dat_evd_create(ia, 4 * MOST, NULL, DAT_EVD_CONNECTION_FLAG, &conn_evd),
	     "dat_evd_create");
	must(dat_evd_create(ia, (DAT_COUNT)receives, NULL, DAT_EVD_DTO_FLAG, &recv_evd),
	     "dat_evd_create");
	must(dat_evd_create(ia, 64, NULL, DAT_EVD_DTO_FLAG, &send_evd), "dat_evd_create");
	memory = aligned_alloc(4096, (size + 4095) / 4096 * 4096);
	memset(memory, 0, size);
	region.for_va = memory;
	must(dat_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, region, size, pz, DAT_MEM_PRIV_ALL_FLAG,
			    DAT_VA_TYPE_VA, &lmr, &key, &rmr, NULL, NULL),
	     "dat_lmr_create");
	must(dat_ep_create(ia, pz, recv_evd, send_evd, conn_evd, &ep_attr, &ep), "dat_ep_create");
	for (unsigned int i = 0; i < receives; i++)
		post_receive(i);
	must(dat_psp_create_any(ia, &qual, cr_evd, DAT_PSP_CONSUMER_FLAG, &psp),
	     "dat_psp_create_any");
	atomic_store(&shared->qual[rank], qual);
}

/* ---- Addresses ---- */

static void ask(unsigned int whom)
{
	uint64_t qual;

	while (!(qual = atomic_load(&shared->qual[whom])))
		usleep(1000);
	must(dat_ep_connect(ep, attr.ia_address_ptr, qual, CONNECT_US, sizeof(rank), &rank,
			    DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG),
	     "dat_ep_connect");
}

static void serve_requests(void)
{
	DAT_EVENT event;

	while (dat_evd_dequeue(cr_evd, &event) == DAT_SUCCESS)
		must(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, ep,
				   sizeof(rank), &rank),
		     "dat_cr_accept");
}

static void take_address(const DAT_EVENT *event)
{
	const DAT_CONNECTION_EVENT_DATA *conn = &event->event_data.connect_event_data;
	DAT_IB_EXTENSION_EVENT_DATA ext;
	uint32_t who;

	if (event->event_number != (DAT_EVENT_NUMBER)DAT_IB_UD_CONNECTION_EVENT_ESTABLISHED)
		die("event in place of an address", (DAT_RETURN)event->event_number);
	memcpy(&ext, &event->event_extension_data[0], sizeof(ext));
	memcpy(&who, conn->private_data, sizeof(who));
	if (conn->private_data_size != sizeof(who) || who >= num)
		die("private data", (DAT_RETURN)who);
	if (ext.type == DAT_IB_UD_PASSIVE_REMOTE_AH) {
		accepted++;
		return;
	}
	if (peer[who].ah)
		die("the same peer twice", (DAT_RETURN)who);
	peer[who] = ext.remote_ah;
	known++;
}

/* Asks everybody, and answers everybody; begins behind itself. */
static void resolve(void)
{
	time_t last = time(NULL);
	DAT_EVENT event;
	unsigned int asked = 0;

	while (known < num - 1 || accepted < num - 1) {
		while (asked < num - 1 && asked < known + 8) {
			ask((rank + 1 + asked) % num);
			asked++;
		}
		serve_requests();
		if (dat_evd_dequeue(conn_evd, &event) != DAT_SUCCESS) {
			if (time(NULL) - last > PATIENCE)
				die("no more addresses", (DAT_RETURN)known);
			usleep(500);
			continue;
		}
		last = time(NULL);
		take_address(&event);
	}
	atomic_fetch_add(&shared->resolved, 1);
	for (last = time(NULL); atomic_load(&shared->resolved) < num;) {
		serve_requests();
		usleep(1000);
		if (time(NULL) - last > 2 * PATIENCE)
			die("others have no addresses", (DAT_RETURN)atomic_load(&shared->resolved));
	}
}

/* ---- Datagrams ---- */

static void check_message(const DAT_DTO_COMPLETION_EVENT_DATA *done)
{
	const uint8_t *at = memory + done->user_cookie.as_64 * SLOT + HEADER;
	struct message m;

	memcpy(&m, at, sizeof(m));
	if (m.from >= num || m.from == rank || m.to != rank || m.seq >= messages)
		die("a datagram for somebody else", (DAT_RETURN)m.from);
	if (done->transfered_length != HEADER + sizeof(m) + m.len)
		die("length", (DAT_RETURN)done->transfered_length);
	for (uint32_t i = 0; i < m.len; i++)
		if (at[sizeof(m) + i] != pattern(&m, i))
			die("content", (DAT_RETURN)i);
	if (seen[m.from][m.seq])
		die("twice", (DAT_RETURN)m.seq);
	seen[m.from][m.seq] = true;
	received++;
}

/* Takes what has come; waits for so long for the first. */
static bool receive(DAT_TIMEOUT us)
{
	DAT_EVENT event;
	DAT_COUNT more;

	if (dat_evd_wait(recv_evd, us, 1, &event, &more) != DAT_SUCCESS)
		return false;
	do {
		if (event.event_number != (DAT_EVENT_NUMBER)DAT_IB_DTO_EVENT ||
		    event.event_data.dto_completion_event_data.status != DAT_DTO_SUCCESS)
			die("a Receive failed",
			    (DAT_RETURN)event.event_data.dto_completion_event_data.status);
		check_message(&event.event_data.dto_completion_event_data);
	} while (dat_evd_dequeue(recv_evd, &event) == DAT_SUCCESS);
	return true;
}

static void send_one(unsigned int to, unsigned int seq, unsigned int slot)
{
	struct message m = { rank, to, seq, (rank * 131 + to * 37 + seq * 211) % 1024 };
	uint8_t *at = memory + (size_t)slot * SLOT;
	DAT_LMR_TRIPLET seg = { .lmr_context = key,
				.virtual_address = (uintptr_t)at,
				.segment_length = sizeof(m) + m.len };
	DAT_EVENT event;
	DAT_COUNT more;

	memcpy(at, &m, sizeof(m));
	for (uint32_t i = 0; i < m.len; i++)
		at[sizeof(m) + i] = pattern(&m, i);
	must(dat_ib_post_send_ud(ep, 1, &seg, &peer[to], (DAT_DTO_COOKIE){ .as_64 = seq },
				 DAT_COMPLETION_DEFAULT_FLAG),
	     "dat_ib_post_send_ud");
	must(dat_evd_wait(send_evd, CONNECT_US, 1, &event, &more), "dat_evd_wait");
	if (event.event_data.dto_completion_event_data.status != DAT_DTO_SUCCESS)
		die("a send failed", (DAT_RETURN)event.event_data.dto_completion_event_data.status);
}

static int process(void)
{
	unsigned int receives = messages * (num - 1);
	DAT_UINT64 count[DCNT_EP_ALL_COUNTERS];
	unsigned long long lost_before;

	lot = rank * 7919 + 1;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	open_endpoint(receives);
	resolve();
	lost_before = dropped;
	for (unsigned int seq = 0; seq < messages; seq++)
		for (unsigned int i = 1; i < num; i++) {
			send_one((rank + i) % num, seq, receives);
			if (i % 8 == 0)
				receive(1000);
		}
	atomic_fetch_add(&shared->sent, (unsigned long long)receives);
	atomic_fetch_add(&shared->dropped, dropped - lost_before);
	while (receive(5 * QUIET_US))
		;
	must(dat_ib_query_counters(ep, DCNT_EP_ALL_COUNTERS, count, 0), "dat_ib_query_counters");
	if (count[DCNT_EP_RECV_UD] != received || count[DCNT_EP_POST_SEND_UD] != receives)
		die("counters", (DAT_RETURN)count[DCNT_EP_RECV_UD]);
	atomic_fetch_add(&shared->delivered, received);
	must(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG), "dat_ia_close");
	return 0;
}

/* ---- All of them ---- */

int main(int argc, char **argv)
{
	unsigned long long sent, lost, delivered;
	int status, bad = 0;

	num = argc > 1 ? (unsigned)atoi(argv[1]) : 64;
	messages = argc > 2 ? (unsigned)atoi(argv[2]) : 4;
	percent = argc > 3 ? (unsigned)atoi(argv[3]) : 5;
	if (num < 2 || num > MOST || !messages || messages > 64 || percent > 90)
		return 2;
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (shared == MAP_FAILED)
		return 2;
	printf("1..2\n");
	fflush(stdout);
	for (rank = 0; rank < num; rank++)
		if (!fork())
			_exit(process());
	for (unsigned int i = 0; i < num; i++)
		bad += wait(&status) < 0 || !WIFEXITED(status) || WEXITSTATUS(status);
	sent = atomic_load(&shared->sent);
	lost = atomic_load(&shared->dropped);
	delivered = atomic_load(&shared->delivered);
	printf("# %u processes: %llu datagrams sent, %llu lost on purpose, %llu delivered\n", num,
	       sent, lost, delivered);
	printf("%sok 1 - each delivered one is whole, from the right sender, once, and counted\n",
	       bad ? "not " : "");
	/* The kernel may lose some as well, where buffers are full. */
	printf("%sok 2 - most of those that were not lost on purpose arrive\n",
	       delivered <= sent - lost && delivered * 2 >= sent - lost ? "" : "not ");
	return 0;
}
