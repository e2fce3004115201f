/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "config.h"

#include "link.h"

#include <string.h>

#include "clock.h"
#include "wire.h"

#define HELLO_MAGIC 0x44544550u

int dt_evd_create(struct dt_actor *actor, const struct dt_ia *ia, const char *what, uint32_t qlen,
		  DAT_CNO_HANDLE cno, DAT_EVD_FLAGS flags, DAT_EVD_HANDLE *evd)
{
	DAT_RETURN ret;

	if ((uint64_t)qlen > (uint64_t)ia->attr.max_evd_qlen)
		return dt_fail(actor,
			       "an EVD (%s) of %u entries is needed, the adapter has at most %d",
			       what, qlen, ia->attr.max_evd_qlen);
	ret = dat_evd_create(ia->handle, (DAT_COUNT)qlen, cno, flags, evd);
	if (ret == DAT_SUCCESS)
		return 0;
	*evd = DAT_HANDLE_NULL;
	return dt_fail_dat(actor, ret, "dat_evd_create (%s)", what);
}

int dt_evd_free(struct dt_actor *actor, const char *what, DAT_EVD_HANDLE *evd)
{
	DAT_RETURN ret;

	if (!*evd)
		return 0;
	ret = dat_evd_free(*evd);
	*evd = DAT_HANDLE_NULL;
	return ret == DAT_SUCCESS ? 0 : dt_fail_dat(actor, ret, "dat_evd_free (%s)", what);
}

static int check_limit(struct dt_actor *actor, const char *what, uint32_t need, DAT_COUNT limit)
{
	if ((int64_t)need <= (int64_t)limit)
		return 0;
	return dt_fail(actor, "%s: %u needed, the adapter has at most %d", what, need, limit);
}

static int check_needs(struct dt_actor *actor, const struct dt_link_needs *needs,
		       const DAT_IA_ATTR *attr)
{
	if (check_limit(actor, "receives per EP", needs->recvs, attr->max_dto_per_ep) ||
	    check_limit(actor, "requests per EP", needs->requests, attr->max_dto_per_ep) ||
	    check_limit(actor, "segments per receive", needs->recv_segs,
			attr->max_iov_segments_per_dto) ||
	    check_limit(actor, "segments per send", needs->send_segs,
			attr->max_iov_segments_per_dto) ||
	    check_limit(actor, "segments per RDMA read", needs->read_segs,
			attr->max_iov_segments_per_rdma_read) ||
	    check_limit(actor, "segments per RDMA write", needs->write_segs,
			attr->max_iov_segments_per_rdma_write))
		return -1;
	return 0;
}

static DAT_COUNT at_least_one(uint32_t value)
{
	return value ? (DAT_COUNT)value : 1;
}

static DAT_COUNT at_most(uint32_t value, DAT_COUNT limit)
{
	return (int64_t)value < (int64_t)limit ? (DAT_COUNT)value : limit;
}

int dt_link_create(struct dt_actor *actor, struct dt_link *link, const struct dt_ia *ia,
		   DAT_PZ_HANDLE pz, const struct dt_evds *evds, const struct dt_link_needs *needs)
{
	DAT_EP_ATTR attr = {
		.service_type = DAT_SERVICE_TYPE_RC,
		.qos = needs->qos,
		.recv_completion_flags = DAT_COMPLETION_DEFAULT_FLAG,
		.request_completion_flags = DAT_COMPLETION_DEFAULT_FLAG,
		.max_recv_dtos = at_least_one(needs->recvs),
		.max_request_dtos = at_least_one(needs->requests),
		.max_recv_iov = at_least_one(needs->recv_segs),
		.max_request_iov = at_least_one(needs->send_segs),
		.max_rdma_read_in = at_most(needs->reads_in, ia->attr.max_rdma_read_per_ep_in),
		.max_rdma_read_out = at_most(needs->reads_out, ia->attr.max_rdma_read_per_ep_out),
		.max_rdma_read_iov = at_least_one(needs->read_segs),
		.max_rdma_write_iov = at_least_one(needs->write_segs),
	};
	DAT_CONTEXT context = { .as_ptr = link };
	DAT_RETURN ret;

	memset(link, 0, sizeof(*link));
	if (check_needs(actor, needs, &ia->attr))
		return -1;
	ret = dat_ep_create(ia->handle, pz, evds->recv, evds->request, evds->cm, &attr, &link->ep);
	if (ret != DAT_SUCCESS) {
		link->ep = DAT_HANDLE_NULL;
		return dt_fail_dat(actor, ret, "dat_ep_create");
	}
	ret = dat_set_consumer_context(link->ep, context);
	if (ret != DAT_SUCCESS)
		return dt_fail_dat(actor, ret, "dat_set_consumer_context");
	return 0;
}

int dt_link_connect(struct dt_actor *actor, struct dt_link *link,
		    const struct sockaddr_storage *address, DAT_CONN_QUAL port, uint64_t deadline,
		    DAT_QOS qos, const struct dt_hello *hello)
{
	struct sockaddr_storage copy = *address;
	unsigned char bytes[DT_HELLO_SIZE];
	DAT_TIMEOUT timeout = dt_left_us(deadline);
	DAT_RETURN ret;

	if (hello)
		dt_hello_encode(hello, bytes);
	ret = dat_ep_connect(link->ep, (DAT_IA_ADDRESS_PTR)&copy, port, timeout ? timeout : 1,
			     hello ? DT_HELLO_SIZE : 0, hello ? bytes : NULL, qos,
			     DAT_CONNECT_DEFAULT_FLAG);
	if (ret != DAT_SUCCESS)
		return dt_fail_dat(actor, ret, "dat_ep_connect to port %llu",
				   (unsigned long long)port);
	link->state = DT_LINK_PENDING;
	return 0;
}

int dt_link_accept(struct dt_actor *actor, struct dt_link *link, DAT_CR_HANDLE cr, bool own_ep,
		   const struct dt_hello *hello)
{
	/* Who asks without a test, such as dat-info --doctor, learns who is here. */
	char version[] = "dapltest (" PACKAGE_NAME ") " PACKAGE_VERSION;
	unsigned char bytes[DT_HELLO_SIZE];
	DAT_RETURN ret;

	if (hello)
		dt_hello_encode(hello, bytes);
	ret = dat_cr_accept(cr, own_ep ? DAT_HANDLE_NULL : link->ep,
			    hello ? DT_HELLO_SIZE : sizeof(version),
			    hello ? (DAT_PVOID)bytes : (DAT_PVOID)version);
	if (ret != DAT_SUCCESS) {
		dt_fail_dat(actor, ret, "dat_cr_accept");
		dat_cr_reject(cr, 0, NULL);
		return -1;
	}
	link->state = DT_LINK_PENDING;
	return 0;
}

void dt_link_disconnect(struct dt_actor *actor, struct dt_link *link, bool graceful)
{
	DAT_RETURN ret;

	if (link->state != DT_LINK_UP && link->state != DT_LINK_PENDING)
		return;
	ret = dat_ep_disconnect(link->ep,
				graceful ? DAT_CLOSE_GRACEFUL_FLAG : DAT_CLOSE_ABRUPT_FLAG);
	if (ret != DAT_SUCCESS)
		dt_warn_dat(actor, ret,
			    graceful ? "dat_ep_disconnect (graceful)"
				     : "dat_ep_disconnect (abrupt)");
}

int dt_link_free(struct dt_actor *actor, struct dt_link *link)
{
	DAT_RETURN ret;

	if (!link->ep)
		return 0;
	ret = dat_ep_free(link->ep);
	link->ep = DAT_HANDLE_NULL;
	link->state = DT_LINK_IDLE;
	return ret == DAT_SUCCESS ? 0 : dt_fail_dat(actor, ret, "dat_ep_free");
}

static struct dt_link *link_of(DAT_EP_HANDLE ep)
{
	DAT_CONTEXT context = { .as_ptr = NULL };

	if (dat_get_consumer_context(ep, &context) != DAT_SUCCESS)
		return NULL;
	return context.as_ptr;
}

static DAT_RETURN wait_event(DAT_EVD_HANDLE evd, uint64_t deadline, DAT_EVENT *event)
{
	DAT_COUNT more;
	DAT_RETURN ret;

	do
		ret = dat_evd_wait(evd, dt_left_us(deadline), 1, event, &more);
	while (DAT_GET_TYPE(ret) == DAT_INTERRUPTED_CALL);
	return ret;
}

/* Printable text only: other private data say something else. */
static void keep_version(struct dt_link *link, const DAT_CONNECTION_EVENT_DATA *data)
{
	const char *text = data->private_data;
	DAT_COUNT i;

	for (i = 0; text && i < data->private_data_size && i < DT_VERSION_TEXT - 1 &&
		    text[i] >= ' ' && text[i] <= '~';
	     i++)
		link->version[i] = text[i];
	link->version[i] = '\0';
}

int dt_cm_wait(struct dt_actor *actor, DAT_EVD_HANDLE evd, uint64_t deadline, DAT_EVENT *event,
	       struct dt_link **link)
{
	DAT_RETURN ret;

	*link = NULL;
	do {
		ret = wait_event(evd, deadline, event);
		if (DAT_GET_TYPE(ret) == DAT_TIMEOUT_EXPIRED)
			return 1;
		if (ret != DAT_SUCCESS)
			return dt_fail_dat(actor, ret, "dat_evd_wait (CONN)");
		dt_debug(2, "%s: %s", actor->who, dt_event_name(event->event_number));
		if (event->event_number == DAT_CONNECTION_REQUEST_EVENT)
			return 0;
		/* What an endpoint that is freed by now has left behind is passed over. */
		*link = link_of(event->event_data.connect_event_data.ep_handle);
	} while (!*link);
	if (event->event_number == DAT_CONNECTION_EVENT_ESTABLISHED) {
		(*link)->state = DT_LINK_UP;
		keep_version(*link, &event->event_data.connect_event_data);
	} else {
		(*link)->state = DT_LINK_DOWN;
		(*link)->ended_by = event->event_number;
	}
	return 0;
}

static int await(struct dt_actor *actor, struct dt_link *link, DAT_EVD_HANDLE evd,
		 uint64_t deadline, enum dt_link_state state)
{
	struct dt_link *other;
	DAT_EVENT event;
	int ret = 0;

	while (!ret && link->state != state && link->state != DT_LINK_DOWN) {
		ret = dt_cm_wait(actor, evd, deadline, &event, &other);
		if (!ret && !other)
			dat_cr_reject(event.event_data.cr_arrival_event_data.cr_handle, 0, NULL);
	}
	return ret;
}

int dt_link_await_up(struct dt_actor *actor, struct dt_link *link, DAT_EVD_HANDLE evd,
		     uint64_t deadline)
{
	int ret = await(actor, link, evd, deadline, DT_LINK_UP);

	if (ret < 0)
		return ret;
	if (ret)
		return dt_fail(actor, "dat_evd_wait (CONN): no outcome within the time limit");
	if (link->state != DT_LINK_UP)
		return dt_fail(actor, "bad connection event: %s", dt_event_name(link->ended_by));
	return 0;
}

int dt_link_await_down(struct dt_actor *actor, struct dt_link *link, DAT_EVD_HANDLE evd,
		       uint64_t deadline)
{
	if (link->state == DT_LINK_IDLE)
		return 0;
	return await(actor, link, evd, deadline, DT_LINK_DOWN);
}

void dt_hello_encode(const struct dt_hello *hello, unsigned char *bytes)
{
	struct dt_cursor cursor = dt_cursor(bytes, DT_HELLO_SIZE);

	dt_put32(&cursor, HELLO_MAGIC);
	dt_put32(&cursor, hello->session);
	dt_put32(&cursor, hello->index);
}

/* A transport may pad private data (PD-5): more bytes than were sent are no error. */
int dt_hello_decode(struct dt_hello *hello, const void *bytes, DAT_COUNT size)
{
	struct dt_cursor cursor;

	if (!bytes || size < DT_HELLO_SIZE)
		return -1;
	cursor = dt_cursor((void *)bytes, DT_HELLO_SIZE);
	if (dt_get32(&cursor) != HELLO_MAGIC)
		return -1;
	hello->session = dt_get32(&cursor);
	hello->index = dt_get32(&cursor);
	return 0;
}
