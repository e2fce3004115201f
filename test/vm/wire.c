/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Both sides of a series of connections, with everything checked that crosses the wire: private
 * data of each length with request, acceptance and rejection, messages, RDMA writes and reads
 * both ways. Uses what release 2.1.10 exports only, so that it runs on either one's libraries.
 *
 *   wire server IA COUNT             prints "ready ADDRESS" when it listens, serves COUNT clients
 *   wire client IA HOST|ADDRESS      ADDRESS: where it names a process and no host (UCM-2)
 *
 * With WIRE_REJECTS=any in the environment the client takes a rejection of any kind, without its
 * data: release 2.1.10 does not recognise a rejection by the peer's program over iWARP.
 */
#include <netdb.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dat2/udat.h>

#define QUAL 45301
#define LEN  65536
#define US   30000000

/* Private data: where the sender's memory is, then a pattern up to a length that is in it. */
struct hello {
	DAT_UINT64 address;
	DAT_UINT32 context;
	unsigned char length;
	unsigned char pattern[56 - 13];
};

/* A round for each length of private data from 13 to 56, and one that is rejected. */
#define ROUNDS 45

static DAT_COUNT length_of(int round)
{
	return round == ROUNDS - 1 ? 40 : 13 + round;
}

static DAT_IA_HANDLE ia;
static DAT_PZ_HANDLE pz;
static DAT_EVD_HANDLE async_evd, cr_evd, conn_evd, recv_evd, req_evd;
static DAT_EP_HANDLE ep;
/* Our side's source, what the peer writes to, what we read into, messages in and out. */
static struct {
	unsigned char source[LEN], target[LEN], sink[LEN], in[64], out[64];
} * mem;
static DAT_LMR_HANDLE lmr;
static DAT_LMR_CONTEXT lmr_context;
static DAT_RMR_CONTEXT rmr_context;

static void fail(const char *what, long long got, long long wanted)
{
	printf("failed: %s is %lld (0x%llx), not %lld\n", what, got, got, wanted);
	exit(1);
}

static void same(const char *what, long long got, long long wanted)
{
	if (got != wanted)
		fail(what, got, wanted);
}

static void ok(const char *what, DAT_RETURN rc)
{
	same(what, rc, DAT_SUCCESS);
}

static void next(DAT_EVD_HANDLE evd, DAT_EVENT_NUMBER number, DAT_EVENT *event)
{
	DAT_COUNT more;

	ok("dat_evd_wait", dat_evd_wait(evd, US, 1, event, &more));
	same("event", event->event_number, number);
}

static void done(DAT_EVD_HANDLE evd, DAT_UINT64 cookie, DAT_VLEN length)
{
	DAT_EVENT event;

	next(evd, DAT_DTO_COMPLETION_EVENT, &event);
	same("status", event.event_data.dto_completion_event_data.status, DAT_DTO_SUCCESS);
	same("cookie", (long long)event.event_data.dto_completion_event_data.user_cookie.as_64,
	     (long long)cookie);
	same("length", (long long)event.event_data.dto_completion_event_data.transfered_length,
	     (long long)length);
}

/* ---- Patterns ---- */

static unsigned char pattern(int seed, int i)
{
	return (unsigned char)(i * 7 + i / 251 + seed * 31);
}

static void fill(unsigned char *at, int len, int seed)
{
	for (int i = 0; i < len; i++)
		at[i] = pattern(seed, i);
}

static void check(const char *what, const unsigned char *at, int len, int seed)
{
	for (int i = 0; i < len; i++) {
		if (at[i] != pattern(seed, i)) {
			printf("at byte %d: ", i);
			fail(what, at[i], pattern(seed, i));
		}
	}
}

static void say_hello(struct hello *hello, DAT_COUNT length, int seed)
{
	hello->address = (DAT_UINT64)(DAT_UVERYLONG)mem->target;
	hello->context = rmr_context;
	hello->length = (unsigned char)length;
	fill(hello->pattern, (int)sizeof(hello->pattern), seed);
}

/* A transport may add bytes behind what the peer gave. */
static struct hello heard(const char *what, DAT_COUNT size, const void *data, DAT_COUNT length,
			  int seed)
{
	struct hello hello;

	if (size < length)
		fail(what, size, length);
	memset(&hello, 0, sizeof(hello));
	memcpy(&hello, data, (size_t)length);
	same(what, hello.length, length);
	check(what, hello.pattern, (int)length - 13, seed);
	return hello;
}

/* ---- Transfers ---- */

static DAT_LMR_TRIPLET local(void *at, DAT_SEG_LENGTH len)
{
	DAT_LMR_TRIPLET segment;

	memset(&segment, 0, sizeof(segment));
	segment.virtual_address = (DAT_VADDR)(DAT_UVERYLONG)at;
	segment.segment_length = len;
	segment.lmr_context = lmr_context;
	return segment;
}

static void post_recv(void)
{
	DAT_LMR_TRIPLET segment = local(mem->in, sizeof(mem->in));
	DAT_DTO_COOKIE cookie;

	cookie.as_64 = 1;
	ok("dat_ep_post_recv",
	   dat_ep_post_recv(ep, 1, &segment, cookie, DAT_COMPLETION_DEFAULT_FLAG));
}

static void message(int seed)
{
	DAT_LMR_TRIPLET segment = local(mem->out, sizeof(mem->out));
	DAT_DTO_COOKIE cookie;

	fill(mem->out, sizeof(mem->out), seed);
	cookie.as_64 = 2;
	ok("dat_ep_post_send",
	   dat_ep_post_send(ep, 1, &segment, cookie, DAT_COMPLETION_DEFAULT_FLAG));
	done(req_evd, 2, sizeof(mem->out));
}

/* Writes into the peer's memory and reads it back. */
static void there_and_back(const struct hello *peer, int seed)
{
	DAT_LMR_TRIPLET segment = local(mem->source, LEN);
	DAT_RMR_TRIPLET remote;
	DAT_DTO_COOKIE cookie;

	memset(&remote, 0, sizeof(remote));
	remote.virtual_address = peer->address;
	remote.segment_length = LEN;
	remote.rmr_context = peer->context;
	fill(mem->source, LEN, seed);
	memset(mem->sink, 0, LEN);
	cookie.as_64 = 3;
	ok("dat_ep_post_rdma_write",
	   dat_ep_post_rdma_write(ep, 1, &segment, cookie, &remote, DAT_COMPLETION_DEFAULT_FLAG));
	done(req_evd, 3, LEN);
	segment = local(mem->sink, LEN);
	cookie.as_64 = 4;
	ok("dat_ep_post_rdma_read",
	   dat_ep_post_rdma_read(ep, 1, &segment, cookie, &remote, DAT_COMPLETION_DEFAULT_FLAG));
	done(req_evd, 4, LEN);
	check("what was read", mem->sink, LEN, seed);
}

/* ---- Both sides ---- */

static void start(char *name)
{
	DAT_REGION_DESCRIPTION region;
	DAT_VLEN size;
	DAT_VADDR address;

	ok("dat_ia_open", dat_ia_open(name, 8, &async_evd, &ia));
	ok("dat_pz_create", dat_pz_create(ia, &pz));
	ok("dat_evd_create", dat_evd_create(ia, 8, NULL, DAT_EVD_CR_FLAG, &cr_evd));
	ok("dat_evd_create", dat_evd_create(ia, 8, NULL, DAT_EVD_CONNECTION_FLAG, &conn_evd));
	ok("dat_evd_create", dat_evd_create(ia, 16, NULL, DAT_EVD_DTO_FLAG, &recv_evd));
	ok("dat_evd_create", dat_evd_create(ia, 16, NULL, DAT_EVD_DTO_FLAG, &req_evd));
	if (posix_memalign((void **)&mem, 4096, sizeof(*mem)))
		fail("memory", 0, 1);
	memset(mem, 0, sizeof(*mem));
	region.for_va = mem;
	ok("dat_lmr_create",
	   dat_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, region, sizeof(*mem), pz, DAT_MEM_PRIV_ALL_FLAG,
			  DAT_VA_TYPE_VA, &lmr, &lmr_context, &rmr_context, &size, &address));
}

static void make_ep(void)
{
	ok("dat_ep_create", dat_ep_create(ia, pz, recv_evd, req_evd, conn_evd, NULL, &ep));
	memset(mem->target, 0, LEN);
	post_recv();
}

static void drop_ep(void)
{
	DAT_EVENT event;

	ok("dat_ep_free", dat_ep_free(ep));
	while (dat_evd_dequeue(recv_evd, &event) == DAT_SUCCESS)
		;
}

static void stop(void)
{
	ok("dat_lmr_free", dat_lmr_free(lmr));
	ok("dat_evd_free", dat_evd_free(req_evd));
	ok("dat_evd_free", dat_evd_free(recv_evd));
	ok("dat_evd_free", dat_evd_free(conn_evd));
	ok("dat_evd_free", dat_evd_free(cr_evd));
	ok("dat_pz_free", dat_pz_free(pz));
	ok("dat_ia_close", dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
}

static void serve(int round)
{
	DAT_COUNT length = length_of(round);
	DAT_CR_HANDLE cr;
	DAT_CR_PARAM param;
	struct hello peer, own;
	DAT_EVENT event;

	make_ep();
	next(cr_evd, DAT_CONNECTION_REQUEST_EVENT, &event);
	cr = event.event_data.cr_arrival_event_data.cr_handle;
	ok("dat_cr_query", dat_cr_query(cr, DAT_CR_FIELD_ALL, &param));
	peer = heard("the request's data", param.private_data_size, param.private_data, length,
		     round);
	say_hello(&own, length, 100 + round);
	if (round == ROUNDS - 1) {
		ok("dat_cr_reject", dat_cr_reject(cr, length, &own));
		drop_ep();
		return;
	}
	ok("dat_cr_accept", dat_cr_accept(cr, ep, length, &own));
	next(conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED, &event);
	/* The client comes first, as a responder of iWARP may not. */
	done(recv_evd, 1, sizeof(mem->in));
	check("the client's message", mem->in, sizeof(mem->in), round);
	check("what the client wrote", mem->target, LEN, round);
	there_and_back(&peer, 50 + round);
	message(50 + round);
	if (round % 2)
		ok("dat_ep_disconnect", dat_ep_disconnect(ep, DAT_CLOSE_DEFAULT));
	next(conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED, &event);
	drop_ep();
}

static void rejected(int round)
{
	const char *any = getenv("WIRE_REJECTS");
	const DAT_CONNECTION_EVENT_DATA *data;
	DAT_EVENT event;
	DAT_COUNT more;

	ok("dat_evd_wait", dat_evd_wait(conn_evd, US, 1, &event, &more));
	if (any && !strcmp(any, "any") &&
	    event.event_number == DAT_CONNECTION_EVENT_NON_PEER_REJECTED)
		return;
	same("event", event.event_number, DAT_CONNECTION_EVENT_PEER_REJECTED);
	data = &event.event_data.connect_event_data;
	heard("the rejection's data", data->private_data_size, data->private_data, length_of(round),
	      100 + round);
}

static void ask(struct sockaddr *address, int round)
{
	DAT_COUNT length = length_of(round);
	const DAT_CONNECTION_EVENT_DATA *data;
	struct hello peer, own;
	DAT_EVENT event;

	make_ep();
	say_hello(&own, length, round);
	ok("dat_ep_connect", dat_ep_connect(ep, address, QUAL, US, length, &own,
					    DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
	if (round == ROUNDS - 1) {
		rejected(round);
		drop_ep();
		return;
	}
	next(conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED, &event);
	data = &event.event_data.connect_event_data;
	peer = heard("the answer's data", data->private_data_size, data->private_data, length,
		     100 + round);
	there_and_back(&peer, round);
	message(round);
	done(recv_evd, 1, sizeof(mem->in));
	check("the server's message", mem->in, sizeof(mem->in), 50 + round);
	check("what the server wrote", mem->target, LEN, 50 + round);
	if (round % 2 == 0)
		ok("dat_ep_disconnect", dat_ep_disconnect(ep, DAT_CLOSE_DEFAULT));
	next(conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED, &event);
	drop_ep();
}

static void say_ready(void)
{
	const unsigned char *byte;
	DAT_IA_ATTR attr;

	ok("dat_ia_query", dat_ia_query(ia, NULL, DAT_IA_FIELD_IA_ADDRESS_PTR, &attr, 0, NULL));
	byte = (const unsigned char *)attr.ia_address_ptr;
	printf("ready ");
	for (size_t i = 0; i < sizeof(struct sockaddr_in6); i++)
		printf("%02x", byte[i]);
	printf("\n");
}

static bool read_address(const char *text, struct sockaddr_in6 *address)
{
	unsigned int byte;

	for (size_t i = 0; i < sizeof(*address); i++, text += 2) {
		if (sscanf(text, "%2x", &byte) != 1)
			return false;
		((unsigned char *)address)[i] = (unsigned char)byte;
	}
	return !*text;
}

static void be_client(const char *server)
{
	struct addrinfo *found = NULL;
	struct sockaddr_in6 address;
	struct sockaddr *to = (struct sockaddr *)&address;

	if (!read_address(server, &address)) {
		if (getaddrinfo(server, NULL, NULL, &found))
			exit(2);
		to = found->ai_addr;
	}
	for (int round = 0; round < ROUNDS; round++)
		ask(to, round);
	if (found)
		freeaddrinfo(found);
}

int main(int argc, char **argv)
{
	DAT_CONN_QUAL qual = QUAL;
	DAT_PSP_HANDLE psp;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc != 4)
		return 2;
	start(argv[2]);
	if (!strcmp(argv[1], "server")) {
		ok("dat_psp_create", dat_psp_create(ia, qual, cr_evd, DAT_PSP_CONSUMER_FLAG, &psp));
		say_ready();
		for (int clients = 0; clients < atoi(argv[3]); clients++)
			for (int round = 0; round < ROUNDS; round++)
				serve(round);
		ok("dat_psp_free", dat_psp_free(psp));
	} else {
		be_client(argv[3]);
	}
	stop();
	printf("passed\n");
	return 0;
}
