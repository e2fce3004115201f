/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What an adapter says of itself: dat_ia_query, IA-13 to IA-81, and the vendor attributes. */
#include "harness.h"

#include <ctype.h>
#include <stdlib.h>

#define POISON 0xa5

/* A field by its mask bit; the size tells what is to be compared. */
struct field {
	uint64_t bit;
	size_t offset, size;
	const char *name;
};

#define IA(mask, member)                                               \
	{                                                              \
		DAT_IA_FIELD_IA_##mask, offsetof(DAT_IA_ATTR, member), \
			sizeof(((DAT_IA_ATTR *)NULL)->member), #member \
	}

static const struct field ia_fields[] = {
	IA(ADAPTER_NAME, adapter_name),
	IA(VENDOR_NAME, vendor_name),
	IA(HARDWARE_MAJOR_VERSION, hardware_version_major),
	IA(HARDWARE_MINOR_VERSION, hardware_version_minor),
	IA(FIRMWARE_MAJOR_VERSION, firmware_version_major),
	IA(FIRMWARE_MINOR_VERSION, firmware_version_minor),
	IA(ADDRESS_PTR, ia_address_ptr),
	IA(MAX_EPS, max_eps),
	IA(MAX_DTO_PER_EP, max_dto_per_ep),
	IA(MAX_RDMA_READ_PER_EP_IN, max_rdma_read_per_ep_in),
	IA(MAX_RDMA_READ_PER_EP_OUT, max_rdma_read_per_ep_out),
	IA(MAX_EVDS, max_evds),
	IA(MAX_EVD_QLEN, max_evd_qlen),
	IA(MAX_IOV_SEGMENTS_PER_DTO, max_iov_segments_per_dto),
	IA(MAX_LMRS, max_lmrs),
	IA(MAX_LMR_BLOCK_SIZE, max_lmr_block_size),
	IA(MAX_LMR_VIRTUAL_ADDRESS, max_lmr_virtual_address),
	IA(MAX_PZS, max_pzs),
	IA(MAX_MESSAGE_SIZE, max_message_size),
	IA(MAX_RDMA_SIZE, max_rdma_size),
	IA(MAX_RMRS, max_rmrs),
	IA(MAX_RMR_TARGET_ADDRESS, max_rmr_target_address),
	IA(MAX_SRQS, max_srqs),
	IA(MAX_EP_PER_SRQ, max_ep_per_srq),
	IA(MAX_RECV_PER_SRQ, max_recv_per_srq),
	IA(MAX_IOV_SEGMENTS_PER_RDMA_READ, max_iov_segments_per_rdma_read),
	IA(MAX_IOV_SEGMENTS_PER_RDMA_WRITE, max_iov_segments_per_rdma_write),
	IA(MAX_RDMA_READ_IN, max_rdma_read_in),
	IA(MAX_RDMA_READ_OUT, max_rdma_read_out),
	IA(MAX_RDMA_READ_PER_EP_IN_GUARANTEED, max_rdma_read_per_ep_in_guaranteed),
	IA(MAX_RDMA_READ_PER_EP_OUT_GUARANTEED, max_rdma_read_per_ep_out_guaranteed),
	IA(ZB_SUPPORTED, zb_supported),
	IA(EXTENSION, extension_supported),
	IA(EXTENSION_VERSION, extension_version),
	IA(NUM_TRANSPORT_ATTR, num_transport_attr),
	IA(TRANSPORT_ATTR, transport_attr),
	IA(NUM_VENDOR_ATTR, num_vendor_attr),
	IA(VENDOR_ATTR, vendor_attr),
};

#define PROV(mask, member)                                                      \
	{                                                                       \
		DAT_PROVIDER_FIELD_##mask, offsetof(DAT_PROVIDER_ATTR, member), \
			sizeof(((DAT_PROVIDER_ATTR *)NULL)->member), #member    \
	}

static const struct field provider_fields[] = {
	PROV(PROVIDER_NAME, provider_name),
	PROV(PROVIDER_VERSION_MAJOR, provider_version_major),
	PROV(PROVIDER_VERSION_MINOR, provider_version_minor),
	PROV(DAPL_VERSION_MAJOR, dapl_version_major),
	PROV(DAPL_VERSION_MINOR, dapl_version_minor),
	PROV(LMR_MEM_TYPE_SUPPORTED, lmr_mem_types_supported),
	PROV(IOV_OWNERSHIP, iov_ownership_on_return),
	PROV(DAT_QOS_SUPPORTED, dat_qos_supported),
	PROV(COMPLETION_FLAGS_SUPPORTED, completion_flags_supported),
	PROV(IS_THREAD_SAFE, is_thread_safe),
	PROV(MAX_PRIVATE_DATA_SIZE, max_private_data_size),
	PROV(SUPPORTS_MULTIPATH, supports_multipath),
	PROV(EP_CREATOR, ep_creator),
	PROV(PZ_SUPPORT, pz_support),
	PROV(OPTIMAL_BUFFER_ALIGNMENT, optimal_buffer_alignment),
	PROV(EVD_STREAM_MERGING_SUPPORTED, evd_stream_merging_supported),
	PROV(SRQ_SUPPORTED, srq_supported),
	PROV(SRQ_WATERMARKS_SUPPORTED, srq_watermarks_supported),
	PROV(SRQ_EP_PZ_DIFFERENCE_SUPPORTED, srq_ep_pz_difference_supported),
	PROV(SRQ_INFO_SUPPORTED, srq_info_supported),
	PROV(EP_RECV_INFO_SUPPORTED, ep_recv_info_supported),
	PROV(LMR_SYNC_REQ, lmr_sync_req),
	PROV(DTO_ASYNC_RETURN_GUARANTEED, dto_async_return_guaranteed),
	PROV(RDMA_WRITE_FOR_RDMA_READ_REQ, rdma_write_for_rdma_read_req),
	PROV(RDMA_READ_LMR_RMR_CONTEXT_EXPOSURE, rdma_read_lmr_rmr_context_exposure),
	PROV(RMR_SCOPE_SUPPORTED, rmr_scope_supported),
	PROV(IS_SIGNAL_SAFE, is_signal_safe),
	PROV(HA_SUPPORTED, ha_supported),
	PROV(HA_LB, ha_loadbalancing),
	PROV(NUM_PROVIDER_SPECIFIC_ATTR, num_provider_specific_attr),
	PROV(PROVIDER_SPECIFIC_ATTR, provider_specific_attr),
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Strings are equal up to their end, anything else as a whole. */
static void same_field(const struct field *f, const void *alone, const void *all)
{
	const char *a = (const char *)alone + f->offset, *b = (const char *)all + f->offset;

	if (f->size == DAT_NAME_MAX_LENGTH ? strcmp(a, b) == 0 : memcmp(a, b, f->size) == 0)
		return;
	fail_msg("%s differs when it is asked for alone (bit 0x%llx)", f->name,
		 (unsigned long long)f->bit);
}

/* GEN-11 */
static void ia_t3_each_adapter_bit_alone_agrees_with_all(void **state)
{
	struct ct_ia *ia = *state;
	DAT_IA_ATTR attr;
	uint64_t bits = 0;

	for (size_t i = 0; i < COUNT(ia_fields); i++) {
		memset(&attr, POISON, sizeof(attr));
		expect_ok(dat_ia_query(ia->ia, NULL, ia_fields[i].bit, &attr, 0, NULL));
		same_field(&ia_fields[i], &attr, &ia->attr);
		bits |= ia_fields[i].bit;
	}
	/* IA-51 */
	assert_true(bits == DAT_IA_FIELD_ALL);
	assert_true(DAT_IA_FIELD_ALL == UINT64_C(0x3fffffffff));
	assert_true(DAT_IA_ALL == DAT_IA_FIELD_ALL);
	assert_true(DAT_IA_FIELD_NONE == 0);
}

/* GEN-11 */
static void ia_t3_each_provider_bit_alone_agrees_with_all(void **state)
{
	struct ct_ia *ia = *state;
	DAT_PROVIDER_ATTR attr;
	uint64_t bits = 0;

	for (size_t i = 0; i < COUNT(provider_fields); i++) {
		memset((void *)&attr, POISON, sizeof(attr));
		expect_ok(dat_ia_query(ia->ia, NULL, 0, NULL, provider_fields[i].bit, &attr));
		same_field(&provider_fields[i], &attr, &ia->prov);
		bits |= provider_fields[i].bit;
	}
	/* IA-80 */
	assert_true(bits == DAT_PROVIDER_FIELD_ALL);
	assert_true(DAT_PROVIDER_FIELD_ALL == UINT64_C(0x7fffffff));
}

/* IA-15 */
static void ia_t3_undefined_bits_are_refused(void **state)
{
	struct ct_ia *ia = *state;
	DAT_PROVIDER_ATTR prov;
	DAT_IA_ATTR attr;

	for (int bit = 38; bit < 64; bit++) {
		expect_arg(dat_ia_query(ia->ia, NULL, UINT64_C(1) << bit, &attr, 0, NULL), 3);
		expect_arg(dat_ia_query(ia->ia, NULL, DAT_IA_FIELD_ALL | UINT64_C(1) << bit, &attr,
					0, NULL),
			   3);
	}
	for (int bit = 31; bit < 64; bit++)
		expect_arg(dat_ia_query(ia->ia, NULL, 0, NULL, UINT64_C(1) << bit, &prov), 5);
}

/* IA-13 */
static void gen_13_a_structure_may_be_null_only_without_a_mask(void **state)
{
	struct ct_ia *ia = *state;
	DAT_PROVIDER_ATTR prov;
	DAT_IA_ATTR attr;

	expect_ok(dat_ia_query(ia->ia, NULL, 0, NULL, 0, NULL));
	expect_ok(dat_ia_query(ia->ia, NULL, DAT_IA_FIELD_ALL, &attr, 0, NULL));
	expect_ok(dat_ia_query(ia->ia, NULL, 0, NULL, DAT_PROVIDER_FIELD_ALL, &prov));
	expect_arg(dat_ia_query(ia->ia, NULL, DAT_IA_FIELD_IA_MAX_EPS, NULL, 0, NULL), 4);
	expect_arg(dat_ia_query(ia->ia, NULL, 0, NULL, DAT_PROVIDER_FIELD_PROVIDER_NAME, NULL), 6);
}

static void ia_14_query_reports_the_dispatcher(void **state)
{
	struct ct_ia *ia = *state;
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;

	expect_ok(dat_ia_query(ia->ia, &async, 0, NULL, 0, NULL));
	assert_ptr_equal(async, ia->async);
}

static void ia_16_attributes_are_the_same_for_all_instances(void **state)
{
	struct ct_ia *ia = *state;
	struct ct_ia other;

	ct_open(&other);
	for (size_t i = 0; i < COUNT(ia_fields); i++) {
		uint64_t pointers = DAT_IA_FIELD_IA_ADDRESS_PTR | DAT_IA_FIELD_IA_VENDOR_ATTR |
				    DAT_IA_FIELD_IA_TRANSPORT_ATTR;

		if ((ia_fields[i].bit & pointers) == 0)
			same_field(&ia_fields[i], &other.attr, &ia->attr);
	}
	ct_close(&other);
}

static void is_text(const char *text)
{
	size_t len = strnlen(text, DAT_NAME_MAX_LENGTH);

	assert_in_range(len, 1, DAT_NAME_MAX_LENGTH - 1);
	for (size_t i = 0; i < len; i++)
		assert_true(isprint((unsigned char)text[i]));
}

static void ia_17_and_18_names(void **state)
{
	struct ct_ia *ia = *state;

	is_text(ia->attr.adapter_name);
	assert_string_equal(ia->attr.adapter_name, harness_ia_name());
	is_text(ia->attr.vendor_name);
	/* IA-52 */
	assert_string_equal(ia->prov.provider_name, harness_ia_name());
}

static void ia_19_20_53_versions(void **state)
{
	struct ct_ia *ia = *state;
	DAT_IA_ATTR attr;

	/* Written, if only as 0. */
	memset(&attr, 0xff, sizeof(attr));
	expect_ok(dat_ia_query(ia->ia, NULL,
			       DAT_IA_FIELD_IA_HARDWARE_MAJOR_VERSION |
				       DAT_IA_FIELD_IA_HARDWARE_MINOR_VERSION |
				       DAT_IA_FIELD_IA_FIRMWARE_MAJOR_VERSION |
				       DAT_IA_FIELD_IA_FIRMWARE_MINOR_VERSION,
			       &attr, 0, NULL));
	assert_true(attr.hardware_version_major != UINT32_MAX);
	assert_true(attr.hardware_version_minor != UINT32_MAX);
	assert_true(attr.firmware_version_major != UINT32_MAX);
	assert_true(attr.firmware_version_minor != UINT32_MAX);
	assert_true(ia->prov.provider_version_major >= 2);
}

static void ia_21_the_address_is_whole(void **state)
{
	struct ct_ia *ia = *state;
	const struct sockaddr_in *in = (const struct sockaddr_in *)ia->attr.ia_address_ptr;
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)ia->attr.ia_address_ptr;

	assert_non_null(ia->attr.ia_address_ptr);
	if (ia->attr.ia_address_ptr->sa_family == AF_INET6) {
		assert_false(IN6_IS_ADDR_UNSPECIFIED(&in6->sin6_addr));
		return;
	}
	assert_int_equal(ia->attr.ia_address_ptr->sa_family, AF_INET);
	assert_int_not_equal(in->sin_addr.s_addr, INADDR_ANY);
}

static void gen_14_the_address_stays_where_it_is(void **state)
{
	struct ct_ia *ia = *state;
	DAT_IA_ATTR again;

	expect_ok(dat_ia_query(ia->ia, NULL, DAT_IA_FIELD_ALL, &again, 0, NULL));
	assert_memory_equal(again.ia_address_ptr, ia->attr.ia_address_ptr,
			    ia->attr.ia_address_ptr->sa_family == AF_INET
				    ? sizeof(struct sockaddr_in)
				    : sizeof(struct sockaddr_in6));
}

static void ia_22_to_43_limits_are_usable(void **state)
{
	struct ct_ia *ia = *state;
	const DAT_IA_ATTR *a = &ia->attr;

	assert_true(a->max_eps > 0);
	assert_true(a->max_dto_per_ep > 0);
	assert_true(a->max_rdma_read_per_ep_in >= 0);
	assert_true(a->max_rdma_read_per_ep_out >= 0);
	assert_true(a->max_evds > 0);
	assert_true(a->max_evd_qlen > 0);
	assert_true(a->max_iov_segments_per_dto > 0);
	assert_true(a->max_lmrs > 0);
	assert_true(a->max_lmr_block_size > 0);
	assert_true(a->max_lmr_virtual_address == UINT64_MAX);
	assert_true(a->max_rmr_target_address == UINT64_MAX);
	assert_true(a->max_pzs > 0);
	assert_true(a->max_message_size > 0);
	assert_true(a->max_rdma_size > 0);
	assert_true(a->max_rmrs >= 0);
	assert_true(a->max_iov_segments_per_rdma_read > 0);
	assert_true(a->max_iov_segments_per_rdma_write > 0);
	assert_true(a->max_rdma_read_in >= a->max_rdma_read_per_ep_in);
	assert_true(a->max_rdma_read_out >= a->max_rdma_read_per_ep_out);
}

static void is_boolean(int value)
{
	assert_in_range(value, DAT_FALSE, DAT_TRUE);
}

static void ia_44_to_48_flags_are_booleans(void **state)
{
	struct ct_ia *ia = *state;

	is_boolean(ia->attr.max_rdma_read_per_ep_in_guaranteed);
	is_boolean(ia->attr.max_rdma_read_per_ep_out_guaranteed);
	is_boolean(ia->attr.zb_supported);
	assert_in_range(ia->attr.extension_supported, DAT_EXTENSION_NONE, DAT_EXTENSION_IW);
	assert_true(ia->attr.extension_version > 0);
}

static void are_named(DAT_COUNT count, const DAT_NAMED_ATTR *attr, bool text_values)
{
	assert_true(count >= 0);
	if (count == 0)
		assert_null(attr);
	for (DAT_COUNT i = 0; i < count; i++) {
		is_text(attr[i].name);
		assert_non_null(attr[i].value);
		if (text_values)
			assert_in_range(strnlen(attr[i].value, 4096), 0, 4095);
	}
}

/* VND-1 */
static void ia_49_50_79_named_attributes(void **state)
{
	struct ct_ia *ia = *state;

	are_named(ia->attr.num_transport_attr, ia->attr.transport_attr, true);
	are_named(ia->attr.num_vendor_attr, ia->attr.vendor_attr, false);
	are_named(ia->prov.num_provider_specific_attr, ia->prov.provider_specific_attr, true);
}

/* LMR-10 */
static void ia_54_to_64_what_the_provider_says(void **state)
{
	struct ct_ia *ia = *state;
	const DAT_PROVIDER_ATTR *p = &ia->prov;

	assert_int_equal(p->dapl_version_major, 2);
	assert_int_equal(p->dapl_version_minor, 0);
	assert_int_equal(p->lmr_mem_types_supported & ~3, 0);
	assert_int_equal(p->lmr_mem_types_supported & DAT_MEM_TYPE_LMR, DAT_MEM_TYPE_LMR);
	assert_int_equal(p->iov_ownership_on_return, DAT_IOV_CONSUMER);
	assert_int_equal(p->dat_qos_supported & ~0xf, 0);
	/* DTO-32 */
	assert_int_equal(p->completion_flags_supported, 0xf);
	is_boolean(p->is_thread_safe);
	/* IA-60: or the true value of a transport whose messages are shorter. */
	assert_true(p->max_private_data_size >= 56);
	is_boolean(p->supports_multipath);
	assert_in_range(p->ep_creator, DAT_PSP_CREATES_EP_NEVER, DAT_PSP_CREATES_EP_ALWAYS);
	assert_in_range(p->pz_support, DAT_PZ_UNIQUE, DAT_PZ_SHAREABLE);
	assert_int_equal(p->optimal_buffer_alignment, DAT_OPTIMAL_ALIGNMENT);
}

static void ia_65_every_stream_may_share_with_every_other(void **state)
{
	struct ct_ia *ia = *state;

	for (int row = 0; row < 6; row++) {
		for (int col = 0; col < 6; col++)
			assert_int_equal(ia->prov.evd_stream_merging_supported[row][col], DAT_TRUE);
	}
}

static void ia_66_to_78_optional_features(void **state)
{
	struct ct_ia *ia = *state;
	const DAT_PROVIDER_ATTR *p = &ia->prov;

	is_boolean(p->srq_supported);
	assert_int_equal(p->srq_supported, ia->attr.max_srqs > 0);
	assert_in_range(p->srq_watermarks_supported, 0, 7);
	assert_in_range(p->srq_info_supported, 0, 3);
	assert_in_range(p->ep_recv_info_supported, 0, 3);
	is_boolean(p->srq_ep_pz_difference_supported);
	is_boolean(p->lmr_sync_req);
	assert_int_equal(p->dto_async_return_guaranteed, DAT_TRUE);
	is_boolean(p->rdma_write_for_rdma_read_req);
	is_boolean(p->rdma_read_lmr_rmr_context_exposure);
	assert_in_range(p->rmr_scope_supported, DAT_RMR_SCOPE_EP, DAT_RMR_SCOPE_ANY);
	assert_int_equal(p->is_signal_safe, DAT_FALSE);
	is_boolean(p->ha_supported);
	assert_in_range(p->ha_loadbalancing, DAT_HA_LB_NONE, DAT_HA_LB_INTRACOMM);
}

static void ia_80_what_the_provider_lacks_is_zero(void **state)
{
	struct ct_ia *ia = *state;
	const DAT_PROVIDER_ATTR *p = &ia->prov;

	if (!p->srq_supported) {
		assert_int_equal(ia->attr.max_ep_per_srq, 0);
		assert_int_equal(ia->attr.max_recv_per_srq, 0);
		assert_int_equal(p->srq_watermarks_supported & 1, 0);
		assert_int_equal(p->srq_info_supported, 0);
		assert_int_equal(p->srq_ep_pz_difference_supported, DAT_FALSE);
	}
	if (!p->ha_supported)
		assert_int_equal(p->ha_loadbalancing, DAT_HA_LB_NONE);
}

/* They are optional, also where the extension is there; what is there has its form. */
static void ia_81_names_of_infiniband_providers(void **state)
{
	static const char *const yes_or_no[] = { "DAT_IB_FETCH_AND_ADD", "DAT_IB_CMP_AND_SWAP",
						 "DAT_IB_IMMED_DATA", "DAT_IB_RDMA_READ" };
	struct ct_ia *ia = *state;

	for (DAT_COUNT i = 0; i < ia->prov.num_provider_specific_attr; i++) {
		const DAT_NAMED_ATTR *attr = &ia->prov.provider_specific_attr[i];

		for (size_t k = 0; k < COUNT(yes_or_no); k++) {
			if (strcmp(attr->name, yes_or_no[k]) == 0)
				assert_true(strcmp(attr->value, "TRUE") == 0 ||
					    strcmp(attr->value, "FALSE") == 0);
		}
		if (strcmp(attr->name, "DAT_IB_TRANSPORT_MTU") == 0)
			assert_true(atoi(attr->value) > 0);
	}
}

/* ---- Vendor attributes ---- */

static const char *vendor(const struct ct_ia *ia, const char *name)
{
	for (DAT_COUNT i = 0; i < ia->attr.num_vendor_attr; i++) {
		if (strcmp(ia->attr.vendor_attr[i].name, name) == 0)
			return ia->attr.vendor_attr[i].value;
	}
	return NULL;
}

static void vnd_2_delayed_ack_is_true_or_false(void **state)
{
	struct ct_ia *ia = *state;
	const char *value = vendor(ia, "delayed_ack_supported");

	if (value == NULL)
		harness_skip("the adapter does not say");
	assert_true(strcmp(value, "true") == 0 || strcmp(value, "false") == 0);
}

/* VND-3, VND-4 */
static void vnd_7_the_interface_to_trace_levels_is_whole_or_absent(void **state)
{
	struct ct_ia *ia = *state;
	bool present = vendor(ia, "vendor_extension") != NULL;
	const char *version = vendor(ia, "vendor_ext_version");

	assert_int_equal(version != NULL, present);
	assert_int_equal(vendor(ia, "debug_query") != NULL, present);
	assert_int_equal(vendor(ia, "debug_modify") != NULL, present);
	if (present)
		assert_string_equal(version, "1.0");
}

typedef DAT_RETURN (*query_function)(DAT_COUNT *dat_level, DAT_COUNT *dapl_level);
typedef DAT_RETURN (*modify_function)(DAT_COUNT dat_level, DAT_COUNT dapl_level);

/* VND-5, VND-6, VND-8 */
static void vnd_9_trace_levels_change_at_once(void **state)
{
	struct ct_ia *ia = *state;
	query_function query = (query_function)(uintptr_t)vendor(ia, "debug_query");
	modify_function modify = (modify_function)(uintptr_t)vendor(ia, "debug_modify");
	DAT_COUNT dat = -1, dapl = -1, dat_was, dapl_was;

	if (query == NULL)
		harness_skip("the adapter has no interface to its trace levels");
	expect_ok(query(&dat_was, &dapl_was));
	expect_ok(modify(0, 0));
	expect_ok(query(&dat, &dapl));
	assert_int_equal(dat, 0);
	assert_int_equal(dapl, 0);
	expect_ok(modify(-1, 1));
	expect_ok(query(&dat, &dapl));
	assert_int_equal(dat, 0);
	assert_int_equal(dapl, 1);
	expect_arg(modify(11, 0), 1);
	expect_arg(modify(0, 11), 2);
	expect_arg(modify(-2, 0), 1);
	expect_arg(modify(0, -2), 2);
	expect_arg(query(NULL, &dapl), 1);
	expect_arg(query(&dat, NULL), 2);
	expect_ok(modify(dat_was, dapl_was));
}

#define T(f) cmocka_unit_test_setup_teardown(f, ct_setup, ct_teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		T(ia_t3_each_adapter_bit_alone_agrees_with_all),
		T(ia_t3_each_provider_bit_alone_agrees_with_all),
		T(ia_t3_undefined_bits_are_refused),
		T(gen_13_a_structure_may_be_null_only_without_a_mask),
		T(ia_14_query_reports_the_dispatcher),
		T(ia_16_attributes_are_the_same_for_all_instances),
		T(ia_17_and_18_names),
		T(ia_19_20_53_versions),
		T(ia_21_the_address_is_whole),
		T(gen_14_the_address_stays_where_it_is),
		T(ia_22_to_43_limits_are_usable),
		T(ia_44_to_48_flags_are_booleans),
		T(ia_49_50_79_named_attributes),
		T(ia_54_to_64_what_the_provider_says),
		T(ia_65_every_stream_may_share_with_every_other),
		T(ia_66_to_78_optional_features),
		T(ia_80_what_the_provider_lacks_is_zero),
		T(ia_81_names_of_infiniband_providers),
		T(vnd_2_delayed_ack_is_true_or_false),
		T(vnd_7_the_interface_to_trace_levels_is_whole_or_absent),
		T(vnd_9_trace_levels_change_at_once),
	};

	return harness_run(tests, sizeof(tests) / sizeof(tests[0]));
}
