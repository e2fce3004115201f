/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * How a connection or an attempt at one ends on each kind of adapter: which event, when, and with
 * what private data. They are the same on all: what an adapter says of it stays below the provider.
 * Each is a line for doc/adapters.md: "# end", what happened, where, event, milliseconds, bytes.
 */
#include "test/conformance/conn_util.h"

#include <arpa/inet.h>
#include <stdlib.h>

#define WORD	"why not"
#define SHORT	300000 /* us */
#define MANY	60000  /* ms: what an adapter's connection manager takes to give up */
#define BRIEFLY 1500   /* ms, but for what waits for something */

static uint64_t begun;

static void begin(void)
{
	begun = ct_now_us();
}

/* The end of this name is, where it is said to be, this event within so many ms; its data. */
static void ends(const char *name, const char *where, struct ct_end *end, unsigned int ms,
		 DAT_EVENT_NUMBER number, const char *data)
{
	const DAT_CONNECTION_EVENT_DATA *got;
	DAT_EVENT event;
	int size;

	if (!cu_next(end->connect, ms, &event))
		fail_msg("%s: no event within %u ms", name, ms);
	got = &event.event_data.connect_event_data;
	size = got->private_data ? (int)got->private_data_size : 0;
	print_message("# end\t%s\t%s\t%s\t%llu\t%d\n", name, where,
		      cu_event_name(event.event_number),
		      (unsigned long long)((ct_now_us() - begun) / 1000), size);
	if (event.event_number != number)
		fail_msg("%s: %s instead of %s", name, cu_event_name(event.event_number),
			 cu_event_name(number));
	assert_ptr_equal(got->ep_handle, end->ep);
	assert_int_equal(size, data ? (int)strlen(data) : 0);
	if (data)
		assert_memory_equal(got->private_data, data, strlen(data));
}

/* Nothing more comes. */
static int leave(void **state)
{
	struct cu_rig *rig = *state;

	cu_quiet(rig->a.connect, 50);
	cu_quiet(rig->p.connect, 50);
	return cu_teardown(state);
}

/* ---- Attempts ---- */

static void rejected(void **state)
{
	struct cu_rig *rig = *state;
	DAT_CR_HANDLE cr = cu_request(rig, &rig->a);

	begin();
	expect_ok(dat_cr_reject(cr, (DAT_COUNT)strlen(WORD), WORD));
	ends("the peer's program rejects", "active", &rig->a, BRIEFLY,
	     DAT_CONNECTION_EVENT_PEER_REJECTED, WORD);
}

static void rejected_without_a_word(void **state)
{
	struct cu_rig *rig = *state;
	DAT_CR_HANDLE cr = cu_request(rig, &rig->a);

	begin();
	expect_ok(dat_cr_reject(cr, 0, NULL));
	ends("the peer's program rejects without data", "active", &rig->a, BRIEFLY,
	     DAT_CONNECTION_EVENT_PEER_REJECTED, NULL);
}

static void nobody_listens(void **state)
{
	struct cu_rig *rig = *state;

	begin();
	expect_ok(cu_connect(&rig->a, cu_free_qual(rig), CT_US));
	ends("nobody listens", "active", &rig->a, BRIEFLY, DAT_CONNECTION_EVENT_NON_PEER_REJECTED,
	     NULL);
}

static void nobody_decides(void **state)
{
	struct cu_rig *rig = *state;

	begin();
	expect_ok(cu_connect(&rig->a, rig->qual, SHORT));
	ends("the peer's program does not answer within 300 ms", "active", &rig->a,
	     BRIEFLY + SHORT / 1000, DAT_CONNECTION_EVENT_TIMED_OUT, NULL);
}

static void to_silence(struct cu_rig *rig, DAT_TIMEOUT timeout)
{
	struct sockaddr_storage to = { 0 };
	const char *silent = getenv("UDAPL_SILENT_HOST");

	to.ss_family = AF_INET;
	if (silent && inet_pton(AF_INET6, silent, &((struct sockaddr_in6 *)&to)->sin6_addr) == 1)
		to.ss_family = AF_INET6;
	else if (!silent || inet_pton(AF_INET, silent, &((struct sockaddr_in *)&to)->sin_addr) != 1)
		harness_skip("no address is known that nobody answers at");
	begin();
	expect_ok(dat_ep_connect(rig->a.ep, (DAT_IA_ADDRESS_PTR)&to, rig->qual, timeout, 0, NULL,
				 DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
}

static void no_host_answers_in_time(void **state)
{
	struct cu_rig *rig = *state;

	to_silence(rig, SHORT);
	ends("no host answers within 300 ms", "active", &rig->a, BRIEFLY + SHORT / 1000,
	     DAT_CONNECTION_EVENT_TIMED_OUT, NULL);
}

static void no_host_answers(void **state)
{
	struct cu_rig *rig = *state;

	to_silence(rig, DAT_TIMEOUT_INFINITE);
	ends("no host answers, however long", "active", &rig->a, MANY,
	     DAT_CONNECTION_EVENT_UNREACHABLE, NULL);
}

/* ---- Connections ---- */

static void disconnected(struct cu_rig *rig, const char *name, DAT_CLOSE_FLAGS how)
{
	begin();
	expect_ok(dat_ep_disconnect(rig->a.ep, how));
	ends(name, "own", &rig->a, BRIEFLY, DAT_CONNECTION_EVENT_DISCONNECTED, NULL);
	ends(name, "peer", &rig->p, BRIEFLY, DAT_CONNECTION_EVENT_DISCONNECTED, NULL);
}

static void disconnected_abruptly(void **state)
{
	disconnected(*state, "abrupt disconnect", DAT_CLOSE_ABRUPT_FLAG);
}

static void disconnected_gracefully(void **state)
{
	disconnected(*state, "graceful disconnect", DAT_CLOSE_GRACEFUL_FLAG);
}

static void freed(void **state)
{
	struct cu_rig *rig = *state;

	begin();
	expect_ok(dat_ep_free(rig->a.ep));
	rig->a.ep = DAT_HANDLE_NULL;
	ends("the peer's endpoint is freed", "peer", &rig->p, BRIEFLY,
	     DAT_CONNECTION_EVENT_DISCONNECTED, NULL);
}

#define ATTEMPT(f)    cmocka_unit_test_setup_teardown(f, cu_setup_ends, leave)
#define CONNECTION(f) cmocka_unit_test_setup_teardown(f, cu_setup_connected, leave)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		ATTEMPT(rejected),
		ATTEMPT(rejected_without_a_word),
		ATTEMPT(nobody_listens),
		ATTEMPT(nobody_decides),
		ATTEMPT(no_host_answers_in_time),
		ATTEMPT(no_host_answers),
		CONNECTION(disconnected_abruptly),
		CONNECTION(disconnected_gracefully),
		CONNECTION(freed),
	};

	return harness_run(tests, sizeof(tests) / sizeof(tests[0]));
}
