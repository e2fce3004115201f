/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ud_util.h"

int uu_setup(void **state)
{
	struct cu_rig *rig;
	const char *value;

	cu_setup_ia(state);
	rig = *state;
	value = xu_named(rig, DAT_IB_ATTR_UD);
	if (value == NULL || strcmp(value, "TRUE") != 0)
		return 0; /* each test asks */
	uu_end_open(rig, &rig->a);
	uu_end_open(rig, &rig->p);
	return 0;
}

void uu_default_attr(const struct cu_rig *rig, DAT_EP_ATTR *attr)
{
	ct_default_attr(rig->ia, attr);
	attr->service_type = (DAT_SERVICE_TYPE)DAT_IB_SERVICE_TYPE_UD;
	attr->max_message_size = 0;
}

void uu_end_open(struct cu_rig *rig, struct ct_end *end)
{
	DAT_EP_ATTR attr;

	uu_default_attr(rig, &attr);
	ct_end_open(end, rig->ia, &attr);
}

DAT_RETURN uu_connect(struct ct_end *end, DAT_CONN_QUAL qual, DAT_TIMEOUT timeout, const char *data)
{
	DAT_IA_ATTR attr;

	expect_ok(dat_ia_query(end->ia, NULL, DAT_IA_FIELD_ALL, &attr, 0, NULL));
	return dat_ep_connect(end->ep, attr.ia_address_ptr, qual, timeout,
			      data != NULL ? (DAT_COUNT)strlen(data) : 0,
			      (DAT_PVOID)(uintptr_t)data, DAT_QOS_BEST_EFFORT,
			      DAT_CONNECT_DEFAULT_FLAG);
}

DAT_CR_HANDLE uu_take_cr(struct cu_rig *rig)
{
	const DAT_IB_EXTENSION_EVENT_DATA *ext;
	DAT_CR_ARRIVAL_EVENT_DATA *data;
	DAT_EVENT event;

	assert_true(cu_next(rig->cr, CT_MS, &event));
	assert_int_equal(event.event_number, DAT_IB_UD_CONNECTION_REQUEST_EVENT);
	ext = (const DAT_IB_EXTENSION_EVENT_DATA *)&event.event_extension_data[0];
	assert_int_equal(ext->type, DAT_IB_UD_CONNECT_REQUEST);
	assert_int_equal(ext->status, DAT_OP_SUCCESS);
	assert_null(ext->context.as_ptr); /* IBX-72 */
	data = &event.event_data.cr_arrival_event_data;
	assert_ptr_equal(data->sp_handle.psp_handle, rig->psp);
	assert_int_equal(data->conn_qual, rig->qual);
	return data->cr_handle;
}

DAT_RETURN uu_accept(DAT_CR_HANDLE cr, DAT_EP_HANDLE ep, const char *data)
{
	return dat_cr_accept(cr, ep, data != NULL ? (DAT_COUNT)strlen(data) : 0,
			     (DAT_PVOID)(uintptr_t)data);
}

DAT_IB_EXTENSION_EVENT_DATA uu_event(struct ct_end *end, int number, DAT_IB_EXT_TYPE type,
				     const char *data, DAT_EVENT *event)
{
	bool established = number == DAT_IB_UD_CONNECTION_EVENT_ESTABLISHED;
	DAT_CONNECTION_EVENT_DATA *conn = &event->event_data.connect_event_data;
	DAT_IB_EXTENSION_EVENT_DATA ext;

	assert_true(cu_next(end->connect, 2 * CT_MS, event));
	assert_int_equal(event->event_number, number);
	assert_ptr_equal(event->evd_handle, end->connect);
	assert_ptr_equal(conn->ep_handle, end->ep);
	assert_int_equal(conn->private_data_size, data != NULL ? (int)strlen(data) : 0);
	if (data != NULL)
		assert_memory_equal(conn->private_data, data, strlen(data));
	memcpy(&ext, &event->event_extension_data[0], sizeof(ext));
	assert_int_equal(ext.type, type);
	assert_int_equal(ext.status, established ? DAT_OP_SUCCESS : DAT_IB_OP_ERR);
	assert_true(established == (ext.remote_ah.ah != NULL));
	assert_true(established == (ext.context.as_ptr != NULL));
	return ext;
}

void uu_resolve(struct cu_rig *rig, struct ct_end *a, struct ct_end *p,
		DAT_IB_EXTENSION_EVENT_DATA *active, DAT_IB_EXTENSION_EVENT_DATA *passive)
{
	DAT_EVENT event;

	expect_ok(uu_connect(a, rig->qual, CT_US, "question"));
	expect_ok(uu_accept(uu_take_cr(rig), p->ep, "answer"));
	*active = uu_event(a, DAT_IB_UD_CONNECTION_EVENT_ESTABLISHED, DAT_IB_UD_REMOTE_AH, "answer",
			   &event);
	*passive = uu_event(p, DAT_IB_UD_CONNECTION_EVENT_ESTABLISHED, DAT_IB_UD_PASSIVE_REMOTE_AH,
			    "question", &event);
}

DAT_RETURN uu_send(struct ct_end *end, size_t len, uint64_t cookie, const DAT_IB_ADDR_HANDLE *to)
{
	DAT_LMR_TRIPLET seg = ct_segment(&end->mem, 0, len);

	return dat_ib_post_send_ud(end->ep, 1, &seg, (DAT_IB_ADDR_HANDLE *)(uintptr_t)to,
				   cu_cookie(cookie), DAT_COMPLETION_DEFAULT_FLAG);
}

void uu_sent(struct ct_end *end, uint64_t cookie, size_t len)
{
	XDONE(end->request, end->ep, cookie, DAT_DTO_SUCCESS, DAT_IB_DTO_SEND_UD, DAT_IB_UD_SEND,
	      len, 0);
}

void uu_received(struct ct_end *end, uint64_t cookie, size_t len)
{
	XDONE(end->recv, end->ep, cookie, DAT_DTO_SUCCESS, DAT_IB_DTO_RECV_UD, DAT_IB_UD_RECV,
	      UU_HEADER + len, 0);
}
