/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Adapters opened for a query only (IBX-106 to IBX-115, IBX-7). */
#include "conn_util.h"

#include <stdlib.h>

#include <dat2/dat_ib_extensions.h>

static DAT_RETURN open_query(DAT_HANDLE *handle, DAT_IA_ATTR *attr, DAT_PROVIDER_ATTR *prov)
{
	return dat_ib_open_query(harness_ia_name(), handle, DAT_IA_FIELD_ALL, attr,
				 DAT_PROVIDER_FIELD_ALL, prov);
}

/* UCM-2: only an open adapter has a queue pair that its address could name. */
static void same_address(const DAT_SOCK_ADDR *closed, const DAT_SOCK_ADDR *open)
{
	struct sockaddr_in6 expected = { .sin6_family = open->sa_family };

	memcpy(&expected, open,
	       open->sa_family == AF_INET6 ? sizeof(expected) : sizeof(struct sockaddr_in));
	if (!ct_has_ports(open))
		expected.sin6_flowinfo = 0;
	assert_memory_equal(closed, &expected,
			    open->sa_family == AF_INET6 ? sizeof(expected)
							: sizeof(struct sockaddr_in));
}

/* What is told is what dat_ia_query tells of an open adapter. */
static void same_attributes(const DAT_IA_ATTR *ia, const DAT_PROVIDER_ATTR *prov)
{
	struct ct_ia open;

	ct_open(&open);
	assert_string_equal(ia->adapter_name, open.attr.adapter_name);
	assert_string_equal(ia->vendor_name, open.attr.vendor_name);
	assert_int_equal(ia->max_eps, open.attr.max_eps);
	assert_int_equal(ia->max_evd_qlen, open.attr.max_evd_qlen);
	assert_int_equal(ia->max_message_size, open.attr.max_message_size);
	assert_int_equal(ia->extension_supported, open.attr.extension_supported);
	assert_int_equal(ia->extension_version, open.attr.extension_version);
	assert_int_equal(ia->num_vendor_attr, open.attr.num_vendor_attr);
	same_address(ia->ia_address_ptr, open.attr.ia_address_ptr);
	assert_string_equal(prov->provider_name, open.prov.provider_name);
	assert_int_equal(prov->max_private_data_size, open.prov.max_private_data_size);
	assert_int_equal(prov->num_provider_specific_attr, open.prov.num_provider_specific_attr);
	for (DAT_COUNT i = 0; i < prov->num_provider_specific_attr; i++) {
		assert_string_equal(prov->provider_specific_attr[i].name,
				    open.prov.provider_specific_attr[i].name);
		assert_string_equal(prov->provider_specific_attr[i].value,
				    open.prov.provider_specific_attr[i].value);
	}
	ct_close(&open);
}

/* IBX-111: also the strings and arrays, until the close. */
static void ibx_106_111_attributes_of_a_closed_adapter(void **state)
{
	DAT_HANDLE handle = NULL;
	DAT_PROVIDER_ATTR prov;
	DAT_IA_ATTR attr;

	(void)state;
	memset(&attr, 0xa5, sizeof(attr));
	memset(&prov, 0xa5, sizeof(prov));
	expect_ok(open_query(&handle, &attr, &prov));
	assert_non_null(handle);
	same_attributes(&attr, &prov);
	expect_ok(dat_ib_close_query(handle));
}

static void ibx_107_one_structure_is_enough(void **state)
{
	DAT_PROVIDER_ATTR prov;
	DAT_IA_ATTR attr;
	DAT_HANDLE handle;

	(void)state;
	expect_ok(open_query(&handle, &attr, NULL));
	expect_ok(dat_ib_close_query(handle));
	expect_ok(open_query(&handle, NULL, &prov));
	expect_ok(dat_ib_close_query(handle));
	expect(open_query(&handle, NULL, NULL), DAT_INVALID_PARAMETER, DAT_INVALID_ARG5);
	assert_null(handle);
	/* The mask of what is not wanted is ignored; an undefined one of what is wanted is not. */
	expect_ok(dat_ib_open_query(harness_ia_name(), &handle, UINT64_MAX, NULL,
				    DAT_PROVIDER_FIELD_ALL, &prov));
	expect_ok(dat_ib_close_query(handle));
	expect_type(dat_ib_open_query(harness_ia_name(), &handle, UINT64_MAX, &attr,
				      DAT_PROVIDER_FIELD_ALL, &prov),
		    DAT_INVALID_PARAMETER);
	assert_null(handle);
}

static void ibx_108_109_arguments(void **state)
{
	DAT_HANDLE handle = &handle;
	char name[300];
	DAT_IA_ATTR attr;

	(void)state;
	expect(dat_ib_open_query(NULL, &handle, DAT_IA_FIELD_ALL, &attr, 0, NULL),
	       DAT_INVALID_HANDLE, DAT_INVALID_ARG3);
	assert_null(handle);
	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	expect_type(dat_ib_open_query(name, &handle, DAT_IA_FIELD_ALL, &attr, 0, NULL),
		    DAT_INVALID_PARAMETER);
	expect_type(dat_ib_open_query("no such adapter", &handle, DAT_IA_FIELD_ALL, &attr, 0, NULL),
		    DAT_PROVIDER_NOT_FOUND);
	assert_null(handle);
	expect(dat_ib_open_query(harness_ia_name(), NULL, DAT_IA_FIELD_ALL, &attr, 0, NULL),
	       DAT_INVALID_PARAMETER, DAT_INVALID_ARG4);
}

static void ibx_110_good_for_nothing_else(void **state)
{
	DAT_HANDLE handle, evd = NULL;
	DAT_PZ_HANDLE pz;
	DAT_EP_STATE ep_state;
	DAT_HANDLE_TYPE type;
	DAT_CONTEXT context;
	DAT_IA_ATTR attr;

	(void)state;
	expect_ok(open_query(&handle, &attr, NULL));
	expect_handle(dat_ia_query(handle, &evd, DAT_IA_FIELD_ALL, &attr, 0, NULL), IA);
	expect_handle(dat_ia_close(handle, DAT_CLOSE_ABRUPT_FLAG), IA);
	expect_handle(dat_pz_create(handle, &pz), IA);
	expect_type(dat_ep_get_status(handle, &ep_state, NULL, NULL), DAT_INVALID_HANDLE);
	expect_type(dat_pz_free(handle), DAT_INVALID_HANDLE);
	expect_type(dat_get_handle_type(handle, &type), DAT_INVALID_HANDLE);
	expect_type(dat_get_consumer_context(handle, &context), DAT_INVALID_HANDLE);
	expect_ok(dat_ib_close_query(handle));
}

/* IBX-112 */
static void ibx_112_beside_other_opens(void **state)
{
	struct cu_rig *rig = cu_rig_open();
	DAT_HANDLE one, two;
	DAT_IA_ATTR attr;

	(void)state;
	ct_end_open(&rig->a, rig->ia, NULL);
	ct_end_open(&rig->p, rig->ia, NULL);
	cu_establish(rig, &rig->a, &rig->p);
	expect_ok(open_query(&one, &attr, NULL));
	expect_ok(open_query(&two, &attr, NULL));
	assert_ptr_not_equal(one, two);
	expect_ok(dat_ib_close_query(one));
	expect_ok(cu_recv(&rig->p, 0, 64, 1));
	expect_ok(ct_post_send(&rig->a, 0, 64, 2, DAT_COMPLETION_DEFAULT_FLAG));
	DONE(rig->p.recv, rig->p.ep, 1, DAT_DTO_RECEIVE, 64);
	cu_rig_close(rig);
	/* The query outlives the ordinary open. */
	assert_string_equal(attr.adapter_name, harness_ia_name());
	expect_ok(dat_ib_close_query(two));
}

static int first_of_all(void)
{
	DAT_PROVIDER_ATTR prov;
	DAT_UINT64 out[1];
	DAT_HANDLE handle;
	DAT_IA_ATTR attr;

	/* IBX-6, IBX-9: nothing was opened yet. */
	expect_type(dat_ib_query_counters((DAT_HANDLE)1, 0, out, 0), DAT_NOT_IMPLEMENTED);
	expect_ok(open_query(&handle, &attr, &prov));
	/* From here on handles are looked at. */
	expect_type(dat_ib_query_counters((DAT_HANDLE)1, 0, out, 0), DAT_INVALID_HANDLE);
	expect_ok(dat_ib_close_query(handle));
	return 0;
}

static void ibx_113_makes_extensions_available(void **state)
{
	(void)state;
	harness_spawn_ok("first-of-all", NULL);
}

static void ibx_115_close(void **state)
{
	unsigned int fds;
	struct ct_ia ia;
	DAT_HANDLE handle;
	DAT_IA_ATTR attr;

	(void)state;
	expect_ok(open_query(&handle, &attr, NULL));
	expect_ok(dat_ib_close_query(handle));
	fds = cu_count_fds();
	for (int i = 0; i < 20; i++) {
		expect_ok(open_query(&handle, &attr, NULL));
		expect_ok(dat_ib_close_query(handle));
		expect_handle(dat_ib_close_query(handle), IA);
	}
	assert_int_equal(cu_count_fds(), fds);
	expect_handle(dat_ib_close_query(NULL), IA);
	ct_open(&ia);
	expect_handle(dat_ib_close_query(ia.ia), IA);
	expect_handle(dat_ib_close_query(ia.async), IA);
	ct_close(&ia);
}

int main(int argc, char **argv)
{
	static const struct harness_child children[] = { { "first-of-all", first_of_all },
							 { NULL, NULL } };
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(ibx_106_111_attributes_of_a_closed_adapter),
		cmocka_unit_test(ibx_107_one_structure_is_enough),
		cmocka_unit_test(ibx_108_109_arguments),
		cmocka_unit_test(ibx_110_good_for_nothing_else),
		cmocka_unit_test(ibx_112_beside_other_opens),
		cmocka_unit_test(ibx_113_makes_extensions_available),
		cmocka_unit_test(ibx_115_close),
	};

	harness_child_main(argc, argv, children);
	return harness_run(tests, sizeof(tests) / sizeof(tests[0]));
}
