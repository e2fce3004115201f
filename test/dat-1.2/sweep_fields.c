/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Every bit of every mask, every member of every structure and every flag that libdat gives to libdat2
 * or takes from it, by the table that compares both versions. See sweep.c.
 */
#include "test/dat-1.2/native.h"
#include "test/dat-1.2/fake.h"
#include "test/dat-1.2/sweep.h"

#define ANY  ((DAT_HANDLE)(uintptr_t)0x10000)
#define ROOM 1024

/* ---- Queries ---- */

struct query {
	const char *name;      /* of the structure */
	const char *nested;    /* of one that is its last member, or null */
	const char *prefix;    /* of the bits of its mask */
	int size, mask, param; /* of 1.2; which arguments they are */
	DAT_RETURN (*ask)(uint64_t mask, void *to);
};

static DAT_RETURN ask_ia(uint64_t mask, void *to)
{
	return dat_ia_query(ANY, NULL, mask, to, 0, NULL);
}

static DAT_RETURN ask_provider(uint64_t mask, void *to)
{
	return dat_ia_query(ANY, NULL, 0, NULL, mask, to);
}

static DAT_RETURN ask_ep(uint64_t mask, void *to)
{
	return dat_ep_query(ANY, mask, to);
}

static DAT_RETURN ask_lmr(uint64_t mask, void *to)
{
	return dat_lmr_query(ANY, (DAT_LMR_PARAM_MASK)mask, to);
}

static DAT_RETURN ask_rmr(uint64_t mask, void *to)
{
	return dat_rmr_query(ANY, (DAT_RMR_PARAM_MASK)mask, to);
}

static const struct query queries[] = {
	{ "dat_ia_attr", NULL, "DAT_IA_FIELD_", sizeof(DAT_IA_ATTR), 2, 3, ask_ia },
	{ "dat_provider_attr", NULL, "DAT_PROVIDER_FIELD_", sizeof(DAT_PROVIDER_ATTR), 4, 5,
	  ask_provider },
	{ "dat_ep_param", "dat_ep_attr", "DAT_EP_FIELD_", sizeof(DAT_EP_PARAM), 1, 2, ask_ep },
	{ "dat_lmr_param", NULL, "DAT_LMR_FIELD_", sizeof(DAT_LMR_PARAM), 1, 2, ask_lmr },
	{ "dat_rmr_param", "dat_lmr_triplet", "DAT_RMR_FIELD_", sizeof(DAT_RMR_PARAM), 1, 2,
	  ask_rmr },
};

#define QUERIES (sizeof(queries) / sizeof(queries[0]))

/* The members in the order of their bits; those of a nested structure of attributes have bits of their own. */
static unsigned int fields_of(const struct query *q, struct member out[64])
{
	struct member inner[64];
	unsigned int n = sweep_structure(q->name, out), m;

	if (q->nested == NULL || strcmp(q->nested, "dat_ep_attr") != 0)
		return n;
	assert_string_equal(out[n - 1].name, "dat_ep_param.ep_attr");
	m = sweep_structure(q->nested, inner);
	for (unsigned int i = 0; i < m; i++) {
		inner[i].old += out[n - 1].old;
		inner[i].new += out[n - 1].new;
	}
	memcpy(&out[n - 1], inner, m * sizeof(*inner));
	return n - 1 + m;
}

static bool ends(const char *name, const char *end)
{
	size_t len = strlen(name), tail = strlen(end);

	return len >= tail && strcmp(name + len - tail, end) == 0;
}

/* A structure of 2.0: every byte another, but where only some values mean something. */
static void make_new(unsigned char *new, const struct member *fields, unsigned int n)
{
	for (size_t i = 0; i < ROOM; i++)
		new[i] = (unsigned char)(0x11 + i * 7);
	for (unsigned int i = 0; i < n; i++) {
		uint32_t value = 0;

		if (ends(fields[i].name, ".ep_state"))
			value = DAT_EP_STATE_RESERVED;
		else if (strstr(fields[i].name, "completion_flags") != NULL)
			value = DAT_COMPLETION_UNSIGNALLED_FLAG | DAT_COMPLETION_EVD_THRESHOLD_FLAG;
		else if (ends(fields[i].name, ".mem_priv"))
			value = DAT_MEM_PRIV_READ_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG;
		else
			continue;
		memcpy(new + fields[i].new, &value, sizeof(value));
	}
}

/* Written as the table says; the versions are those of the program (D12-55). */
static void field_arrived(const struct query *q, const struct member *f, const unsigned char *old,
			  const unsigned char *new)
{
	uint32_t value;

	memcpy(&value, old + f->old, sizeof(value));
	if (ends(f->name, ".dapl_version_major"))
		assert_int_equal(value, 1);
	else if (ends(f->name, ".dapl_version_minor"))
		assert_int_equal(value, 2);
	else if (ends(f->name, ".lmr_triplet")) {
		struct member inner[64];
		unsigned int m = sweep_structure(q->nested, inner);

		for (unsigned int i = 0; i < m; i++)
			sweep_member(&inner[i], old + f->old, new + f->new);
	} else
		sweep_member(f, old, new);
}

static bool untouched(const unsigned char *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (bytes[i] != 0xee)
			return false;
	return true;
}

static void ask_for(const struct query *q, uint64_t mask, unsigned char *old,
		    const unsigned char *new)
{
	DAT_RETURN rc;

	memset(old, 0xee, ROOM);
	fake_answer(DAT_SUCCESS);
	fake_put((unsigned int)q->param, new,
		 strcmp(q->name, "dat_ia_attr") == 0	     ? 688
		 : strcmp(q->name, "dat_provider_attr") == 0 ? 520
		 : strcmp(q->name, "dat_ep_param") == 0	     ? 184
		 : strcmp(q->name, "dat_lmr_param") == 0     ? 80
							     : 48);
	rc = q->ask(mask, old);
	fake_off();
	assert_int_equal(rc, DAT_SUCCESS);
}

/* Each bit: the mask of libdat2 has the bit of that name, the field arrives, all else stays. */
static void each_bit(const struct query *q)
{
	unsigned char old[ROOM], new[ROOM];
	struct member fields[64];
	struct pair bits[64];
	unsigned int n = fields_of(q, fields), m = sweep_mask(q->prefix, bits);

	if (n != m)
		fail_msg("%s: %u members, %u bits", q->name, n, m);
	make_new(new, fields, n);
	for (unsigned int i = 0; i < n; i++) {
		const struct member *f = &fields[i];

		ask_for(q, (uint64_t)bits[i].old, old, new);
		if (fake_last.words[q->mask] != (uint64_t)bits[i].new)
			fail_msg("%s became 0x%llx", bits[i].name,
				 (unsigned long long)fake_last.words[q->mask]);
		field_arrived(q, f, old, new);
		if (!untouched(old, (size_t)f->old) ||
		    !untouched(old + f->old + f->old_size, ROOM - (size_t)(f->old + f->old_size)))
			fail_msg("%s wrote more than %s", bits[i].name, f->name);
	}
}

static void d12_53_to_60_each_bit_of_each_mask(void **state)
{
	(void)state;
	for (size_t i = 0; i < QUERIES; i++)
		each_bit(&queries[i]);
}

/* D12-T3, D12-T4 */
static void d12_59_60_all_bits_of_each_mask(void **state)
{
	(void)state;
	for (size_t i = 0; i < QUERIES; i++) {
		const struct query *q = &queries[i];
		unsigned char old[ROOM], new[ROOM];
		struct member fields[64];
		struct pair bits[64];
		unsigned int n = fields_of(q, fields);
		uint64_t all = 0;

		make_new(new, fields, n);
		assert_int_equal(sweep_mask(q->prefix, bits), n);
		for (unsigned int b = 0; b < n; b++)
			all |= (uint64_t)bits[b].old;
		ask_for(q, all, old, new);
		for (unsigned int f = 0; f < n; f++)
			field_arrived(q, &fields[f], old, new);
		assert_true(untouched(old + q->size, ROOM - (size_t)q->size));
	}
}

/* Nor is libdat2 asked. */
static void d12_60_bits_that_are_none(void **state)
{
	(void)state;
	for (size_t i = 0; i < QUERIES; i++) {
		const struct query *q = &queries[i];
		bool wide = q->mask == 4 || i == 0 || i == 2;
		struct pair bits[64];
		uint64_t all = 0;
		unsigned int n = sweep_mask(q->prefix, bits);

		for (unsigned int b = 0; b < n; b++)
			all |= (uint64_t)bits[b].old;
		for (int b = 0; b < (wide ? 64 : 32); b++) {
			unsigned char old[ROOM];
			uint32_t rc;

			if ((all >> b & 1) != 0)
				continue;
			memset(old, 0xee, sizeof(old));
			fake_answer(DAT_SUCCESS);
			rc = q->ask(UINT64_C(1) << b, old);
			fake_off();
			if (DAT_GET_TYPE(rc) != DAT_INVALID_PARAMETER ||
			    DAT_GET_SUBTYPE(rc) != (uint32_t)(DAT_INVALID_ARG1 + q->mask) ||
			    fake_calls)
				fail_msg("%s: bit %d gave 0x%08x", q->name, b, rc);
			assert_true(untouched(old, sizeof(old)));
		}
	}
}

/* ---- Structures that go in ---- */

static void d12_49_50_endpoint_attributes_go_in(void **state)
{
	DAT_EP_ATTR *attr = sweep_edge(sizeof(*attr));
	struct member fields[64];
	unsigned int n = sweep_structure("dat_ep_attr", fields);

	(void)state;
	for (unsigned int i = 0; i < n; i++) {
		unsigned char *bytes = (unsigned char *)attr;

		memset(bytes, 0, sizeof(*attr));
		for (int b = 0; b < fields[i].new_size; b++)
			bytes[fields[i].old + b] =
				(unsigned char)(strstr(fields[i].name, "flags") ? b == 0
										: 0x21 + b);
		for (int srq = 0; srq < 2; srq++) {
			DAT_EP_HANDLE ep;

			fake_answer(DAT_SUCCESS);
			fake_look(5 + (unsigned int)srq, 88);
			assert_int_equal(srq ? dat_ep_create_with_srq(ANY, ANY, ANY, ANY, ANY, ANY,
								      attr, &ep)
					     : dat_ep_create(ANY, ANY, ANY, ANY, ANY, attr, &ep),
					 DAT_SUCCESS);
			fake_off();
			for (unsigned int k = 0; k < n; k++)
				if (memcmp(bytes + fields[k].old, fake_last.seen + fields[k].new,
					   (size_t)fields[k].new_size) != 0)
					fail_msg("%s went in as something else", fields[k].name);
		}
	}
}

static void d12_50_sizes_that_are_too_long(void **state)
{
	DAT_EP_PARAM param;
	DAT_EP_HANDLE ep;

	(void)state;
	memset(&param, 0, sizeof(param));
	for (int i = 0; i < 2; i++) {
		param.ep_attr.max_message_size = i == 0 ? UINT64_C(1) << 32 : 0;
		param.ep_attr.max_rdma_size = i == 1 ? UINT64_MAX : 0;
		fake_answer(DAT_SUCCESS);
		expect_arg(dat_ep_create(ANY, ANY, ANY, ANY, ANY, &param.ep_attr, &ep), 6);
		expect_arg(
			dat_ep_create_with_srq(ANY, ANY, ANY, ANY, ANY, ANY, &param.ep_attr, &ep),
			7);
		expect_arg(dat_ep_modify(ANY,
					 i == 0 ? DAT_EP_FIELD_EP_ATTR_MAX_MESSAGE_SIZE
						: DAT_EP_FIELD_EP_ATTR_MAX_RDMA_SIZE,
					 &param),
			   3);
		/* D12-72: what the mask does not name is not looked at. */
		expect_ok(dat_ep_modify(ANY, DAT_EP_FIELD_EP_ATTR_QOS, &param));
		fake_off();
	}
}

static void d12_52_72_modify_converts_what_the_mask_names(void **state)
{
	struct query q = queries[2];
	struct member fields[64];
	struct pair bits[64];
	unsigned int n = fields_of(&q, fields);

	(void)state;
	assert_int_equal(sweep_mask(q.prefix, bits), n);
	for (unsigned int i = 0; i < n; i++) {
		union {
			DAT_EP_PARAM param;
			unsigned char bytes[sizeof(DAT_EP_PARAM)];
		} u;
		const struct member *f = &fields[i];

		memset(&u, strstr(f->name, "flags") != NULL ? 0 : 0x15, sizeof(u));
		memset(u.bytes + f->old + f->new_size, 0, (size_t)(f->old_size - f->new_size));
		fake_answer(DAT_SUCCESS);
		fake_look(2, 184);
		expect_ok(dat_ep_modify(ANY, (DAT_EP_PARAM_MASK)bits[i].old, &u.param));
		fake_off();
		assert_true(fake_last.words[1] == (uint64_t)bits[i].new);
		for (int b = 0; b < 184; b++) {
			bool inside = b >= f->new &&b < f->new + f->new_size;

			if (inside)
				assert_int_equal(fake_last.seen[b], u.bytes[f->old + b - f->new]);
		}
	}
}

/* ---- Flags ---- */

static DAT_RETURN with_flags(int call, uint32_t flags)
{
	DAT_REGION_DESCRIPTION region = { .for_va = ANY };
	const DAT_DTO_COOKIE cookie = { .as_64 = 1 };
	DAT_LMR_TRIPLET none = { 0 };
	DAT_RMR_TRIPLET to = { 0 };
	DAT_HANDLE made = NULL;
	DAT_RMR_CONTEXT context;

	switch (call) {
	case 0:
		return dat_ep_post_send(ANY, 1, &none, cookie, (DAT_COMPLETION_FLAGS)flags);
	case 1:
		return dat_ep_post_recv(ANY, 1, &none, cookie, (DAT_COMPLETION_FLAGS)flags);
	case 2:
		return dat_ep_post_rdma_read(ANY, 1, &none, cookie, &to,
					     (DAT_COMPLETION_FLAGS)flags);
	case 3:
		return dat_ep_post_rdma_write(ANY, 1, &none, cookie, &to,
					      (DAT_COMPLETION_FLAGS)flags);
	case 4:
		return dat_rmr_bind(ANY, &none, DAT_MEM_PRIV_NONE_FLAG, ANY, cookie,
				    (DAT_COMPLETION_FLAGS)flags, &context);
	case 5:
		return dat_rmr_bind(ANY, &none, (DAT_MEM_PRIV_FLAGS)flags, ANY, cookie,
				    DAT_COMPLETION_DEFAULT_FLAG, &context);
	case 6:
		return dat_lmr_create(ANY, DAT_MEM_TYPE_VIRTUAL, region, 64, ANY,
				      (DAT_MEM_PRIV_FLAGS)flags, &made, NULL, NULL, NULL, NULL);
	case 7:
		return dat_evd_create(ANY, 4, NULL, (DAT_EVD_FLAGS)flags, &made);
	case 8:
		return dat_ep_connect(ANY, ANY, 1, 1, 0, NULL, DAT_QOS_BEST_EFFORT,
				      (DAT_CONNECT_FLAGS)flags);
	case 9:
		return dat_ep_disconnect(ANY, (DAT_CLOSE_FLAGS)flags);
	default:
		return dat_ia_close(ANY, (DAT_CLOSE_FLAGS)flags);
	}
}

/* Of each call: the bits that 1.2 has, those that only 2.0 has, the argument, and its place among libdat2's. */
static const struct {
	uint32_t old, new;
	int argument, word;
} flags[] = {
	{ 0x1f, 0x20, 5, 4 },	    { 0x1f, 0x20, 5, 4 },	 { 0x1f, 0x20, 6, 5 },
	{ 0x1f, 0x20, 6, 5 },	    { 0x1f, 0x20, 6, 7 },	 { 0x33, 0xffffffc0, 3, 3 },
	{ 0x33, 0xffffffc0, 6, 6 }, { 0x1f1, 0xfffffe00, 4, 3 }, { 0x1, 0x2, 8, 7 },
	{ 0x1, 0x2000, 2, 1 },	    { 0x1, 0x2000, 2, 1 },
};

static void d12_63_64_every_flag(void **state)
{
	(void)state;
	for (int call = 0; call < (int)(sizeof(flags) / sizeof(flags[0])); call++) {
		for (int b = 0; b < 32; b++) {
			uint32_t bit = UINT32_C(1) << b, rc;

			fake_answer(DAT_SUCCESS);
			rc = with_flags(call, bit);
			fake_off();
			if ((flags[call].new &bit) != 0) {
				if (DAT_GET_TYPE(rc) != DAT_INVALID_PARAMETER ||
				    (int)DAT_GET_SUBTYPE(rc) !=
					    DAT_INVALID_ARG1 - 1 + flags[call].argument ||
				    fake_calls)
					fail_msg("call %d: flag 0x%x gave 0x%08x", call, bit, rc);
			} else if ((flags[call].old & bit) != 0) {
				if (rc != DAT_SUCCESS ||
				    (uint32_t)fake_last.words[flags[call].word] != bit)
					fail_msg("call %d: flag 0x%x became 0x%x", call, bit,
						 (uint32_t)fake_last.words[flags[call].word]);
			}
		}
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(d12_53_to_60_each_bit_of_each_mask),
		cmocka_unit_test(d12_59_60_all_bits_of_each_mask),
		cmocka_unit_test(d12_60_bits_that_are_none),
		cmocka_unit_test(d12_49_50_endpoint_attributes_go_in),
		cmocka_unit_test(d12_50_sizes_that_are_too_long),
		cmocka_unit_test(d12_52_72_modify_converts_what_the_mask_names),
		cmocka_unit_test(d12_63_64_every_flag),
	};

	return harness_run(tests, sizeof(tests) / sizeof(tests[0]));
}
