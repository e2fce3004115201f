/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Numbers that an endpoint is created and modified with, up to the limits and beyond. */
#include "conn_util.h"

static int min_int(int a, int b)
{
	return a < b ? a : b;
}

/* ---- Limits ------------------------------------------------------------ */

#define COUNT(field, bit, limit)                                                  \
	{                                                                         \
#field, offsetof(DAT_EP_ATTR, field), DAT_EP_FIELD_EP_ATTR_##bit, \
			offsetof(DAT_IA_ATTR, limit), false                       \
	}
#define LENGTH(field, bit)                                                        \
	{                                                                         \
#field, offsetof(DAT_EP_ATTR, field), DAT_EP_FIELD_EP_ATTR_##bit, \
			offsetof(DAT_IA_ATTR, field), true                        \
	}

static const struct limit {
	const char *name;
	size_t field;
	DAT_EP_PARAM_MASK mask;
	size_t limit;
	bool is_length; /* unsigned */
} limits[] = {
	LENGTH(max_message_size, MAX_MESSAGE_SIZE),
	LENGTH(max_rdma_size, MAX_RDMA_SIZE),
	COUNT(max_recv_dtos, MAX_RECV_DTOS, max_dto_per_ep),
	COUNT(max_request_dtos, MAX_REQUEST_DTOS, max_dto_per_ep),
	COUNT(max_recv_iov, MAX_RECV_IOV, max_iov_segments_per_dto),
	COUNT(max_request_iov, MAX_REQUEST_IOV, max_iov_segments_per_dto),
	COUNT(max_rdma_read_in, MAX_RDMA_READ_IN, max_rdma_read_per_ep_in),
	COUNT(max_rdma_read_out, MAX_RDMA_READ_OUT, max_rdma_read_per_ep_out),
	COUNT(max_rdma_read_iov, MAX_RDMA_READ_IOV, max_iov_segments_per_rdma_read),
	COUNT(max_rdma_write_iov, MAX_RDMA_WRITE_IOV, max_iov_segments_per_rdma_write),
};

#define FOR_EACH_LIMIT(l) \
	for (const struct limit *l = limits; l < limits + sizeof(limits) / sizeof(*l); l++)

static uint32_t limit_of(const struct cu_rig *rig, const struct limit *l)
{
	uint32_t value;

	memcpy(&value, (const char *)&rig->attr + l->limit, sizeof(value));
	return value;
}

static void set_field(DAT_EP_ATTR *attr, const struct limit *l, uint32_t value)
{
	memcpy((char *)attr + l->field, &value, sizeof(value));
}

/* The least value that is beyond the limit, or false if the type holds none. */
static bool beyond(const struct cu_rig *rig, const struct limit *l, uint32_t *value)
{
	uint32_t limit = limit_of(rig, l);

	*value = limit + 1;
	return limit != (l->is_length ? UINT32_MAX : INT32_MAX);
}

static DAT_RETURN create(struct cu_rig *rig, const DAT_EP_ATTR *attr, DAT_EP_HANDLE *ep)
{
	return dat_ep_create(rig->ia, rig->a.pz, rig->a.recv, rig->a.request, rig->a.connect, attr,
			     ep);
}

static void ep_t2_create_with_each_limit(void **state)
{
	struct cu_rig *rig = *state;
	DAT_EP_ATTR defaults, attr;
	DAT_EP_HANDLE ep;
	DAT_EP_PARAM param;

	ct_default_attr(rig->ia, &defaults);
	FOR_EACH_LIMIT(l) {
		print_message("# %s = %u\n", l->name, limit_of(rig, l));
		attr = defaults;
		set_field(&attr, l, limit_of(rig, l));
		expect_ok(create(rig, &attr, &ep));
		cu_query(ep, &param);
		assert_memory_equal((char *)&param.ep_attr + l->field, (char *)&attr + l->field, 4);
		expect_ok(dat_ep_free(ep));
	}
}

/* EP-46: refused in strict mode, else the adapter's limit instead. */
static void create_beyond(struct cu_rig *rig, const struct limit *l, uint32_t value)
{
	uint32_t limit = limit_of(rig, l);
	DAT_EP_PARAM param;
	DAT_EP_ATTR attr;
	DAT_EP_HANDLE ep;

	ct_default_attr(rig->ia, &attr);
	set_field(&attr, l, value);
	if (harness_strict()) {
		expect_arg(create(rig, &attr, &ep), 6);
		return;
	}
	expect_ok(create(rig, &attr, &ep));
	cu_query(ep, &param);
	assert_memory_equal((char *)&param.ep_attr + l->field, &limit, sizeof(limit));
	expect_ok(dat_ep_free(ep));
}

static void modify_beyond(struct cu_rig *rig, const struct limit *l, uint32_t value)
{
	uint32_t limit = limit_of(rig, l);
	DAT_EP_PARAM before, param;

	cu_query(rig->a.ep, &before);
	param = before;
	set_field(&param.ep_attr, l, value);
	if (harness_strict()) {
		expect_arg(dat_ep_modify(rig->a.ep, l->mask, &param), 3);
		cu_check_params(rig->a.ep, &before);
		return;
	}
	expect_ok(dat_ep_modify(rig->a.ep, l->mask, &param));
	cu_query(rig->a.ep, &param);
	assert_memory_equal((char *)&param.ep_attr + l->field, &limit, sizeof(limit));
	expect_ok(dat_ep_modify(rig->a.ep, l->mask, &before));
}

/* The next number, and what programs write down. */
static int beyond_each_limit(void)
{
	struct cu_rig *rig;
	uint32_t value;
	void *state;

	cu_setup_ends(&state);
	rig = state;
	FOR_EACH_LIMIT(l) {
		if (beyond(rig, l, &value)) {
			create_beyond(rig, l, value);
			modify_beyond(rig, l, value);
		}
		value = l->is_length ? 0x80000000 : 1000000;
		if (value > limit_of(rig, l)) {
			create_beyond(rig, l, value);
			modify_beyond(rig, l, value);
		}
	}
	return cu_teardown(&state);
}

/* GEN-31 */
static void ep_46_61_beyond_each_limit(void **state)
{
	(void)state;
	harness_both_strict("beyond-each-limit");
}

static void ep_46_61_negative_counts(void **state)
{
	struct cu_rig *rig = *state;
	DAT_EP_PARAM before, param;
	DAT_EP_HANDLE ep;

	cu_query(rig->a.ep, &before);
	FOR_EACH_LIMIT(l) {
		if (l->is_length)
			continue;
		print_message("# %s = -1\n", l->name);
		param = before;
		set_field(&param.ep_attr, l, UINT32_MAX);
		expect_arg(create(rig, &param.ep_attr, &ep), 6);
		expect_arg(dat_ep_modify(rig->a.ep, l->mask, &param), 3);
		cu_check_params(rig->a.ep, &before);
	}
}

/* NetPIPE asks for so many: they can be posted where the adapter can do them, or the EP says how
 * many can. */
static void ep_28_as_many_receives_as_were_asked_for(void **state)
{
	struct cu_rig *rig = *state;
	struct ct_end end = { 0 };
	DAT_EP_PARAM param;
	DAT_EP_ATTR attr;
	DAT_COUNT i;

	ct_default_attr(rig->ia, &attr);
	attr.max_recv_dtos = attr.max_request_dtos = 20000;
	ct_end_open(&end, rig->ia, &attr);
	cu_query(end.ep, &param);
	assert_int_equal(param.ep_attr.max_recv_dtos, min_int(20000, rig->attr.max_dto_per_ep));
	for (i = 0; i < param.ep_attr.max_recv_dtos; i++)
		expect_ok(cu_recv(&end, 0, 64, (uint64_t)i));
	expect_type(cu_recv(&end, 0, 64, (uint64_t)i), DAT_INSUFFICIENT_RESOURCES);
	ct_end_close(&end);
}

/* One at a time: mlx5 has fewer requests of many segments. */
static void ep_t2_modify_to_each_limit(void **state)
{
	struct cu_rig *rig = *state;
	DAT_EP_PARAM before, param, now;

	cu_query(rig->a.ep, &before);
	FOR_EACH_LIMIT(l) {
		param = before;
		set_field(&param.ep_attr, l, limit_of(rig, l));
		print_message("# %s = %u\n", l->name, limit_of(rig, l));
		expect_ok(dat_ep_modify(rig->a.ep, l->mask, &param));
		cu_query(rig->a.ep, &now);
		assert_memory_equal((char *)&now.ep_attr + l->field,
				    (char *)&param.ep_attr + l->field, 4);
		expect_ok(dat_ep_modify(rig->a.ep, l->mask, &before));
	}
}

/* ---- Other attribute errors -------------------------------------------- */

static void ep_46_dto_counts_agree_with_the_evds(void **state)
{
	struct cu_rig *rig = *state;
	DAT_EP_ATTR defaults, attr;
	DAT_EP_HANDLE ep;

	ct_default_attr(rig->ia, &defaults);
	attr = defaults;
	attr.max_recv_dtos = 0;
	expect_arg(create(rig, &attr, &ep), 6);
	attr = defaults;
	attr.max_request_dtos = 0;
	expect_arg(create(rig, &attr, &ep), 6);
	attr = defaults;
	attr.max_recv_iov = 0;
	expect_arg(create(rig, &attr, &ep), 6);
	attr = defaults;
	expect_arg(
		dat_ep_create(rig->ia, rig->a.pz, NULL, rig->a.request, rig->a.connect, &attr, &ep),
		6);
	expect_arg(dat_ep_create(rig->ia, rig->a.pz, rig->a.recv, NULL, rig->a.connect, &attr, &ep),
		   6);
	attr.max_recv_dtos = 0;
	expect_ok(dat_ep_create(rig->ia, rig->a.pz, NULL, rig->a.request, rig->a.connect, &attr,
				&ep));
	expect_ok(dat_ep_free(ep));
	attr = defaults;
	attr.max_request_dtos = 0;
	attr.max_request_iov = 0;
	expect_ok(dat_ep_create(rig->ia, rig->a.pz, rig->a.recv, NULL, rig->a.connect, &attr, &ep));
	expect_ok(dat_ep_free(ep));
	attr.max_request_iov = 1;
	expect_arg(dat_ep_create(rig->ia, rig->a.pz, rig->a.recv, NULL, rig->a.connect, &attr, &ep),
		   6);
}

static void ep_31_request_iov_zero(void **state)
{
	struct cu_rig *rig = *state;
	DAT_EP_ATTR attr;
	struct ct_end end = { 0 };

	ct_default_attr(rig->ia, &attr);
	attr.max_request_iov = 0;
	ct_end_open(&end, rig->ia, &attr);
	ct_end_close(&end);
}

/* ---- dat_ep_query ------------------------------------------------------ */

#define T(f) cmocka_unit_test_setup_teardown(f, cu_setup_ends, cu_teardown)

int main(int argc, char **argv)
{
	static const struct harness_child children[] = {
		{ "beyond-each-limit", beyond_each_limit },
		{ NULL, NULL },
	};
	static const struct CMUnitTest tests[] = {
		T(ep_t2_create_with_each_limit), cmocka_unit_test(ep_46_61_beyond_each_limit),
		T(ep_46_61_negative_counts),	 T(ep_28_as_many_receives_as_were_asked_for),
		T(ep_t2_modify_to_each_limit),	 T(ep_46_dto_counts_agree_with_the_evds),
		T(ep_31_request_iov_zero),
	};

	harness_child_main(argc, argv, children);
	return harness_run(tests, sizeof(tests) / sizeof(tests[0]));
}
