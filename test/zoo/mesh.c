/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Processes whose endpoints are connected all to all: every connection is made, carries a message
 * each way from whom it says, and ends. Tells the time and the messages of the connection manager
 * for each of them (UCM-16).
 *
 *   mesh [PROCESSES [ENDPOINTS]]   (8, 512 of each process)
 *
 * Over sockets it counts TCP's segments, of which a network of its own has no others.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <dat/udat.h>

#define MOST	     64
#define PATIENCE_US  60000000
#define LIFE_SECONDS 300

/* What the processes know of each other. */
struct shared {
	pthread_barrier_t step;
	struct sockaddr_storage addr[MOST];
	DAT_CONN_QUAL qual[MOST];
	double seconds;	  /* that process 0 took until all were connected */
	uint64_t sent[2]; /* before and after that */
};

static struct shared *shared;
static unsigned int num, each, rank; /* each: connections of two processes */

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

/* ---- What a connection costs ---- */

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

static uint64_t tcp_segments(void)
{
	unsigned long long sent = 0;
	char line[512];
	FILE *file = fopen("/proc/net/snmp", "r");

	while (file && fgets(line, sizeof(line), file))
		sscanf(line, "Tcp: %*d %*d %*d %*d %*d %*d %*d %*d %*d %*d %llu", &sent);
	if (file)
		fclose(file);
	return sent;
}

static uint64_t messages(void)
{
	const char *manager = getenv("ZOO_CM");
	void *zoo = dlopen("libibverbs.so.1", RTLD_NOW | RTLD_NOLOAD);
	uint32_t (*count)(const char *) = NULL;

	if (manager && !strcmp(manager, "socket"))
		return tcp_segments();
	if (zoo)
		*(void **)&count = dlsym(zoo, "zoo_count");
	return count ? count("cm_sent") : 0;
}

/* ---- One process ---- */

static DAT_IA_HANDLE ia;
static DAT_EVD_HANDLE evd; /* of everything */
static DAT_EP_HANDLE *eps; /* those of process p from p * each on, its own unused */
static DAT_LMR_CONTEXT key;
static uint32_t *memory; /* what is received, by endpoint; then what is sent */

static DAT_LMR_TRIPLET word_at(size_t at)
{
	return (DAT_LMR_TRIPLET){ .lmr_context = key,
				  .virtual_address = (uintptr_t)(memory + at),
				  .segment_length = sizeof(*memory) };
}

static void open_adapter(void)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_CONN_QUAL qual = 1000 + rank;
	DAT_IA_ATTR attr;
	DAT_PSP_HANDLE psp;

	must(dat_ia_open(getenv("UDAPL_IA"), 8, &async, &ia), "dat_ia_open");
	must(dat_ia_query(ia, NULL, DAT_IA_FIELD_ALL, &attr, 0, NULL), "dat_ia_query");
	memcpy(&shared->addr[rank], attr.ia_address_ptr,
	       attr.ia_address_ptr->sa_family == AF_INET ? sizeof(struct sockaddr_in)
							 : sizeof(struct sockaddr_in6));
	must(dat_evd_create(ia, (DAT_COUNT)(8 * num * each), NULL,
			    DAT_EVD_CR_FLAG | DAT_EVD_CONNECTION_FLAG | DAT_EVD_DTO_FLAG, &evd),
	     "dat_evd_create");
	must(dat_psp_create(ia, qual, evd, DAT_PSP_CONSUMER_FLAG, &psp), "dat_psp_create");
	shared->qual[rank] = qual;
}

static void create_endpoints(void)
{
	size_t at, all = (size_t)num * each, size = 2 * all * sizeof(*memory);
	DAT_REGION_DESCRIPTION region;
	DAT_RMR_CONTEXT rmr;
	DAT_LMR_TRIPLET seg;
	DAT_LMR_HANDLE lmr;
	DAT_PZ_HANDLE pz;

	eps = calloc(all, sizeof(DAT_EP_HANDLE));
	memory = calloc(2 * all, sizeof(*memory));
	region.for_va = memory;
	must(dat_pz_create(ia, &pz), "dat_pz_create");
	must(dat_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, region, size, pz, DAT_MEM_PRIV_ALL_FLAG,
			    DAT_VA_TYPE_VA, &lmr, &key, &rmr, NULL, NULL),
	     "dat_lmr_create");
	for (at = 0; at < all; at++) {
		if (at / each == rank)
			continue;
		must(dat_ep_create(ia, pz, evd, evd, evd, NULL, &eps[at]), "dat_ep_create");
		seg = word_at(at);
		must(dat_ep_post_recv(eps[at], 1, &seg, (DAT_DTO_COOKIE){ .as_64 = at },
				      DAT_COMPLETION_DEFAULT_FLAG),
		     "dat_ep_post_recv");
	}
}

static void next_event(DAT_EVENT *event)
{
	DAT_COUNT more;

	must(dat_evd_wait(evd, PATIENCE_US, 1, event, &more), "dat_evd_wait");
}

/* A request says who makes it. */
static void accept_request(const DAT_CR_ARRIVAL_EVENT_DATA *arrival, unsigned int *taken)
{
	DAT_CR_PARAM param;
	uint32_t from;

	must(dat_cr_query(arrival->cr_handle, DAT_CR_FIELD_ALL, &param), "dat_cr_query");
	memcpy(&from, param.private_data, sizeof(from));
	if (param.private_data_size < (DAT_COUNT)sizeof(from) || from >= rank ||
	    taken[from] == each)
		die("a request of nobody", (DAT_RETURN)from);
	must(dat_cr_accept(arrival->cr_handle, eps[from * each + taken[from]++], 0, NULL),
	     "dat_cr_accept");
}

/* Those with a lower number connect, to all at once. */
static void connect_all(void)
{
	unsigned int taken[MOST] = { 0 }, left = (num - 1) * each;
	DAT_EVENT event;

	for (size_t at = (rank + 1) * (size_t)each; at < (size_t)num * each; at++)
		must(dat_ep_connect(eps[at], (DAT_IA_ADDRESS_PTR)&shared->addr[at / each],
				    shared->qual[at / each], PATIENCE_US, sizeof(rank), &rank,
				    DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG),
		     "dat_ep_connect");
	while (left) {
		next_event(&event);
		if (event.event_number == DAT_CONNECTION_REQUEST_EVENT)
			accept_request(&event.event_data.cr_arrival_event_data, taken);
		else if (event.event_number == DAT_CONNECTION_EVENT_ESTABLISHED)
			left--;
		else
			die("not connected", (DAT_RETURN)event.event_number);
	}
}

static void exchange_words(void)
{
	size_t at, all = (size_t)num * each;
	unsigned int left = 2 * (num - 1) * each;
	DAT_DTO_COMPLETION_EVENT_DATA *done;
	DAT_LMR_TRIPLET seg;
	DAT_EVENT event;

	for (at = 0; at < all; at++) {
		if (at / each == rank)
			continue;
		memory[all + at] = rank + 1;
		seg = word_at(all + at);
		must(dat_ep_post_send(eps[at], 1, &seg, (DAT_DTO_COOKIE){ .as_64 = all + at },
				      DAT_COMPLETION_DEFAULT_FLAG),
		     "dat_ep_post_send");
	}
	for (; left; left--) {
		next_event(&event);
		done = &event.event_data.dto_completion_event_data;
		if (event.event_number != DAT_DTO_COMPLETION_EVENT ||
		    done->status != DAT_DTO_SUCCESS)
			die("not transferred", (DAT_RETURN)event.event_number);
		at = done->user_cookie.as_64;
		if (at < all && memory[at] != at / each + 1)
			die("a message from somebody else", (DAT_RETURN)memory[at]);
	}
}

static void end_all(void)
{
	unsigned int left = (num - 1) * each;
	DAT_EVENT event;

	for (size_t at = (rank + 1) * (size_t)each; at < (size_t)num * each; at++)
		must(dat_ep_disconnect(eps[at], DAT_CLOSE_GRACEFUL_FLAG), "dat_ep_disconnect");
	for (; left; left--) {
		next_event(&event);
		if (event.event_number != DAT_CONNECTION_EVENT_DISCONNECTED)
			die("not ended", (DAT_RETURN)event.event_number);
	}
}

static void process(void)
{
	double began;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	alarm(LIFE_SECONDS);
	open_adapter();
	create_endpoints();
	if (!rank)
		shared->sent[0] = messages();
	pthread_barrier_wait(&shared->step);
	began = now();
	connect_all();
	pthread_barrier_wait(&shared->step);
	if (!rank) {
		shared->seconds = now() - began;
		shared->sent[1] = messages();
	}
	pthread_barrier_wait(&shared->step);
	exchange_words();
	pthread_barrier_wait(&shared->step);
	end_all();
	pthread_barrier_wait(&shared->step);
	must(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG), "dat_ia_close");
}

/* ---- All of them ---- */

static void prepare(void)
{
	pthread_barrierattr_t attr;

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (shared == MAP_FAILED)
		exit(99);
	pthread_barrierattr_init(&attr);
	pthread_barrierattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_barrier_init(&shared->step, &attr, num);
}

int main(int argc, char **argv)
{
	unsigned int connections, endpoints = argc > 2 ? (unsigned)atoi(argv[2]) : 512;
	pid_t pids[MOST];
	int status, bad = 0;

	num = argc > 1 ? (unsigned)atoi(argv[1]) : 8;
	if (num < 2 || num > MOST || endpoints < num)
		return 2;
	each = endpoints / (num - 1);
	connections = num * (num - 1) / 2 * each;
	prepare();
	for (rank = 0; rank < num; rank++) {
		pids[rank] = fork();
		if (!pids[rank]) {
			process();
			_exit(0);
		}
	}
	/* The others wait for one that failed. */
	for (unsigned int i = 0; i < num; i++)
		if (wait(&status) > 0 && status && !bad++)
			for (rank = 0; rank < num; rank++)
				kill(pids[rank], SIGKILL);
	printf("# %u connections in %.2f s, %.0f us and %.2f messages each\n", connections,
	       shared->seconds, shared->seconds * 1e6 / connections,
	       (double)(shared->sent[1] - shared->sent[0]) / connections);
	printf("%sok 1 - %u processes with %u endpoints each, all to all\n1..1\n",
	       bad ? "not " : "", num, each * (num - 1));
	return bad != 0;
}
