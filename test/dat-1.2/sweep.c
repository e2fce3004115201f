/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * No value of DAT 2.0 reaches a program of DAT 1.2 untranslated: libdat2's place is taken by fake.c,
 * which answers with every return word and event, and the expected values come from the table that
 * compares both versions.
 */
#include "test/dat-1.2/native.h"
#include "test/dat-1.2/fake.h"
#include "test/dat-1.2/sweep.h"

#define ANY ((DAT_HANDLE)(uintptr_t)0x10000)

/* ---- Return words ---- */

/* What 1.2 has for a type (D12-29, D12-30). */
static uint32_t old_type(const struct pair *type)
{
	if (strcmp(type->name, "DAT_NOT_IMPLEMENTED") == 0)
		return 0xffff0000;
	if (type->old != ABSENT)
		return (uint32_t)type->old;
	if (strcmp(type->name, "DAT_PORT_IN_USE") == 0)
		return DAT_CONN_QUAL_IN_USE;
	if (strcmp(type->name, "DAT_COMM_NOT_SUPPORTED") == 0)
		return DAT_MODEL_NOT_SUPPORTED;
	return DAT_INTERNAL_ERROR;
}

/* D12-31 */
static uint32_t old_subtype(uint32_t new)
{
	for (const struct pair *p = sweep_subtypes; p->name != NULL; p++)
		if (p->new == new)
			return p->old != ABSENT ? (uint32_t)p->old
			       : strcmp(p->name, "DAT_INVALID_STATE_SRQ_SHUTDOWN") == 0
				       ? DAT_INVALID_STATE_SRQ_ERROR
				       : 0;
	return 0;
}

static void word_is(uint32_t new, uint32_t old)
{
	uint32_t got;

	fake_answer(new);
	got = dat_pz_free(ANY);
	fake_off();
	if (got != old)
		fail_msg("libdat2's 0x%08x came as 0x%08x instead of 0x%08x", new, got, old);
}

static void d12_28_to_34_every_return_word(void **state)
{
	unsigned int types = 0, subtypes = 0;

	(void)state;
	for (const struct pair *type = sweep_types; type->name != NULL; type++, types++) {
		uint32_t old = old_type(type);

		if (type->new == ABSENT || type->new == DAT_SUCCESS)
			continue;
		for (uint32_t sub = 0; sub < 300; sub++, subtypes++) {
			bool whole = old == 0xffff0000;

			for (uint32_t class = 0; class < 4; class ++)
				word_is(class << 30 | (uint32_t)type->new | sub,
					whole ? old : class << 30 | old | old_subtype(sub));
		}
	}
	assert_true(types > 20 && subtypes > 6000);
	word_is(DAT_CLASS_ERROR | DAT_INVALID_STATE | 0xffff, DAT_CLASS_ERROR | DAT_INVALID_STATE);
	word_is(DAT_CLASS_ERROR | 0x00180000, DAT_CLASS_ERROR | DAT_INTERNAL_ERROR);
	word_is(DAT_SUCCESS, DAT_SUCCESS);
}

/* The word of each call, by name (GEN-3). Null handles are libdat2's to refuse (D12-70). */
static void d12_70_each_call_translates_its_word(void **state)
{
	static const char *const own[] = { "dat_ia_openv", "dat_registry_list_providers",
					   "dat_strerror", "dat_registry_add_provider",
					   "dat_registry_remove_provider" };
	const uint32_t new = DAT_CLASS_ERROR | DAT_INVALID_STATE | 0x50; /* IA_IN_USE */
	const uint32_t old = DAT_CLASS_ERROR | DAT_INVALID_STATE | DAT_INVALID_STATE_IA_IN_USE;
	unsigned int calls = 0;

	(void)state;
	for (const char *const *name = sweep_calls; *name != NULL; name++, calls++) {
		uint32_t got;
		bool mine = false;

		for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
			mine |= strcmp(*name, own[i]) == 0;
		if (mine)
			continue;
		fake_answer(new);
		got = sweep_call(*name);
		fake_off();
		if (got != old || fake_calls == 0)
			fail_msg("%s answered 0x%08x after %u calls", *name, got, fake_calls);
	}
	assert_int_equal(calls, 72);
}

/* D12-32 */
static void d12_32_parameters_that_moved(void **state)
{
	static const int lmr[] = { 0, 1, 2, 3, 4, 5, 6, -1, 7, 8, 9 };
	static const int bind[] = { 0, 1, -1, 2, 3, -1, 4, 5, 6, 7 };

	(void)state;
	for (uint32_t arg = 1; arg <= 10; arg++) {
		uint32_t new = DAT_CLASS_ERROR | DAT_INVALID_PARAMETER | (0x24 + arg);
		const uint32_t bad =
			DAT_CLASS_ERROR | DAT_INVALID_PARAMETER | (DAT_INVALID_ARG1 - 1);

		fake_answer(new);
		if (lmr[arg] > 0)
			assert_int_equal(sweep_call("dat_lmr_create"), bad + (uint32_t)lmr[arg]);
		if (arg < 10 && bind[arg] > 0)
			assert_int_equal(sweep_call("dat_rmr_bind"), bad + (uint32_t)bind[arg]);
		assert_int_equal(sweep_call("dat_ep_create"), bad + arg);
		fake_off();
	}
}

static void d12_33_empty_and_expired_stay_bare(void **state)
{
	DAT_COUNT more;
	DAT_EVENT event;

	(void)state;
	fake_answer(DAT_QUEUE_EMPTY);
	assert_int_equal(dat_evd_dequeue(ANY, &event), DAT_QUEUE_EMPTY);
	fake_answer(DAT_TIMEOUT_EXPIRED);
	assert_int_equal(dat_evd_wait(ANY, 0, 1, &event, &more), DAT_TIMEOUT_EXPIRED);
	fake_off();
}

/* ---- Events ---- */

static void fill(unsigned char *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++)
		bytes[i] = (unsigned char)(0x11 + i * 7);
}

/* An event of 2.0 with this number, every byte of its data another. */
static void make_event(unsigned char new[120], uint32_t number)
{
	uint64_t evd = (uintptr_t)ANY;

	fill(new, 120);
	memset(new, 0, 16);
	memcpy(new, &number, sizeof(number));
	memcpy(new + 8, &evd, sizeof(evd));
}

struct guarded {
	DAT_EVENT event;
	unsigned char guard[128];
};

static DAT_RETURN take(bool wait, struct guarded *g, DAT_COUNT *more)
{
	memset(g, 0xee, sizeof(*g));
	return wait ? dat_evd_wait(ANY, 1000, 1, &g->event, more) : dat_evd_dequeue(ANY, &g->event);
}

static void guard_holds(const unsigned char *guard, size_t len)
{
	for (size_t i = 0; i < len; i++)
		assert_int_equal(guard[i], 0xee);
}

/* D12-T3; of a connection request also that nothing follows its handle (D12-48) */
static void one_event(bool wait, const struct pair *number)
{
	unsigned char new[120];
	struct guarded g;
	DAT_COUNT more;
	DAT_RETURN rc;

	make_event(new, (uint32_t)number->new);
	if (number->new == DAT_DTO_COMPLETION_EVENT || number->new == DAT_RMR_BIND_COMPLETION_EVENT)
		memset(new + 32, 0, 4); /* its status */
	fake_answer(DAT_SUCCESS);
	fake_put(wait ? 3 : 1, new, sizeof(new));
	fake_then(1, DAT_QUEUE_EMPTY);
	rc = take(wait, &g, &more);
	fake_off();
	guard_holds(g.guard, sizeof(g.guard));
	if (number->old == ABSENT) { /* dropped, and the next one asked for (D12-65) */
		assert_int_equal(rc, DAT_QUEUE_EMPTY);
		assert_int_equal(fake_calls, 2);
		guard_holds((unsigned char *)&g.event, sizeof(g.event));
		return;
	}
	assert_int_equal(rc, DAT_SUCCESS);
	assert_int_equal(g.event.event_number, number->old);
	assert_ptr_equal(g.event.evd_handle, ANY);
	if (number->new == DAT_DTO_COMPLETION_EVENT)
		sweep_members("dat_dto_completion_event_data", (unsigned char *)&g.event.event_data,
			      new + 16);
	else if (number->new == DAT_RMR_BIND_COMPLETION_EVENT)
		sweep_members("dat_rmr_bind_completion_event_data",
			      (unsigned char *)&g.event.event_data, new + 16);
	else
		assert_memory_equal(&g.event.event_data, new + 16, sizeof(g.event.event_data));
}

static void d12_44_65_75_every_event(void **state)
{
	unsigned int events = 0, dropped = 0;

	(void)state;
	for (const struct pair *p = sweep_events; p->name != NULL; p++) {
		one_event(false, p);
		one_event(true, p);
		events++;
		dropped += p->old == ABSENT;
	}
	print_message("%u events, %u of them dropped\n", events, dropped);
	assert_true(events >= 20 && dropped >= 4);
}

/* D12-45: nor is any written for a call that fails, and no pointer stays none. */
static void d12_45_77_nothing_is_written_on_failure(void **state)
{
	unsigned char new[120];
	struct guarded g;
	DAT_COUNT more = 7;

	(void)state;
	make_event(new, DAT_SOFTWARE_EVENT);
	fake_answer(DAT_CLASS_ERROR | DAT_INVALID_STATE);
	fake_put(1, new, sizeof(new));
	assert_int_equal(take(false, &g, &more), DAT_CLASS_ERROR | DAT_INVALID_STATE);
	guard_holds((unsigned char *)&g, sizeof(g));
	fake_answer(DAT_CLASS_ERROR | DAT_INVALID_PARAMETER);
	assert_int_equal(dat_evd_dequeue(ANY, NULL), DAT_CLASS_ERROR | DAT_INVALID_PARAMETER);
	assert_int_equal(fake_last.words[1], 0);
	assert_int_equal(dat_evd_wait(ANY, 0, 1, NULL, NULL),
			 DAT_CLASS_ERROR | DAT_INVALID_PARAMETER);
	assert_int_equal(fake_last.words[3], 0);
	assert_int_equal(fake_last.words[4], 0);
	fake_off();
}

/* D12-63 */
static void d12_47_63_every_completion_status(void **state)
{
	(void)state;
	for (uint32_t status = 0; status < 20; status++) {
		static const uint32_t numbers[] = { DAT_DTO_COMPLETION_EVENT,
						    DAT_RMR_BIND_COMPLETION_EVENT };

		for (int i = 0; i < 2; i++) {
			unsigned char new[120];
			struct guarded g;
			DAT_COUNT more;

			make_event(new, numbers[i]);
			memcpy(new + 32, &status, sizeof(status));
			fake_answer(DAT_SUCCESS);
			fake_put(1, new, sizeof(new));
			assert_int_equal(take(false, &g, &more), DAT_SUCCESS);
			fake_off();
			assert_int_equal(g.event.event_data.dto_completion_event_data.status,
					 status <= 11 ? status : DAT_DTO_ERR_LOCAL_PROTECTION);
		}
	}
}

/* D12-76: 48 bytes are all there is. */
static void d12_76_a_software_event_goes_in(void **state)
{
	DAT_EVENT event = { .event_number = DAT_SOFTWARE_EVENT, .evd_handle = ANY };
	DAT_EVENT *edge = sweep_edge(sizeof(event));
	uint64_t seen[8];

	(void)state;
	event.event_data.software_event_data.pointer = (void *)0x1234;
	memcpy(edge, &event, sizeof(event));
	fake_answer(DAT_SUCCESS);
	fake_look(1, 120);
	assert_int_equal(dat_evd_post_se(ANY, edge), DAT_SUCCESS);
	fake_off();
	memcpy(seen, fake_last.seen, sizeof(seen));
	assert_int_equal((uint32_t)seen[0], DAT_SOFTWARE_EVENT);
	assert_int_equal(seen[1], (uintptr_t)ANY);
	assert_int_equal(seen[2], 0x1234);
	for (size_t i = 24; i < 120; i++)
		assert_int_equal(fake_last.seen[i], 0);
}

/* ---- States ---- */

static void d12_62_every_endpoint_state(void **state)
{
	(void)state;
	for (uint32_t s = 0; s <= 14; s++) {
		DAT_EP_STATE got = DAT_EP_STATE_UNCONNECTED;
		unsigned char new[184] = { 0 };
		DAT_EP_PARAM param;

		memcpy(new + 8, &s, sizeof(s));
		fake_answer(DAT_SUCCESS);
		fake_put(1, &s, sizeof(s));
		assert_int_equal(dat_ep_get_status(ANY, &got, NULL, NULL), DAT_SUCCESS);
		assert_int_equal(got, s <= 12 ? s : DAT_EP_STATE_CONNECTED);
		fake_answer(DAT_SUCCESS);
		fake_put(2, new, sizeof(new));
		assert_int_equal(dat_ep_query(ANY, DAT_EP_FIELD_EP_STATE, &param), DAT_SUCCESS);
		assert_int_equal(param.ep_state, s <= 12 ? s : DAT_EP_STATE_CONNECTED);
		fake_off();
	}
}

static void d12_61_every_srq_state(void **state)
{
	static const uint32_t old[] = { DAT_SRQ_STATE_ERROR, DAT_SRQ_STATE_OPERATIONAL,
					DAT_SRQ_STATE_ERROR };

	(void)state;
	for (uint32_t s = 0; s < 3; s++) {
		unsigned char new[sizeof(DAT_SRQ_PARAM)] = { 0 };
		DAT_SRQ_PARAM param;

		memcpy(new + offsetof(DAT_SRQ_PARAM, srq_state), &s, sizeof(s));
		fake_answer(DAT_SUCCESS);
		fake_put(2, new, sizeof(new));
		assert_int_equal(dat_srq_query(ANY, DAT_SRQ_FIELD_SRQ_STATE, &param), DAT_SUCCESS);
		fake_off();
		assert_int_equal(param.srq_state, old[s]);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(d12_28_to_34_every_return_word),
		cmocka_unit_test(d12_70_each_call_translates_its_word),
		cmocka_unit_test(d12_32_parameters_that_moved),
		cmocka_unit_test(d12_33_empty_and_expired_stay_bare),
		cmocka_unit_test(d12_44_65_75_every_event),
		cmocka_unit_test(d12_45_77_nothing_is_written_on_failure),
		cmocka_unit_test(d12_47_63_every_completion_status),
		cmocka_unit_test(d12_76_a_software_event_goes_in),
		cmocka_unit_test(d12_62_every_endpoint_state),
		cmocka_unit_test(d12_61_every_srq_state),
	};

	return harness_run(tests, sizeof(tests) / sizeof(tests[0]));
}
