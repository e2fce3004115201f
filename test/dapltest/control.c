/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "control.h"

#include <string.h>

#include "clock.h"

static int post_recv(struct dt_control *control, uint32_t slot)
{
	DAT_DTO_COOKIE cookie = { .as_64 = slot };
	DAT_RETURN ret;

	ret = dat_ep_post_recv(control->link.ep, 1, &control->in.iov[slot], cookie,
			       DAT_COMPLETION_DEFAULT_FLAG);
	if (ret != DAT_SUCCESS)
		return dt_fail_dat(control->actor, ret, "Test Error: dat_ep_post_recv");
	return 0;
}

static int create_evds(struct dt_control *control, const struct dt_ia *ia, uint32_t cm_qlen,
		       DAT_EVD_FLAGS cm_flags)
{
	struct dt_evds *evds = &control->evds;
	struct dt_actor *actor = control->actor;

	if (dt_evd_create(actor, ia, "recv", DT_CONTROL_RECVS, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG,
			  &evds->recv) ||
	    dt_evd_create(actor, ia, "send", 2, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG,
			  &evds->request) ||
	    dt_evd_create(actor, ia, "conn", cm_qlen, DAT_HANDLE_NULL,
			  (DAT_EVD_FLAGS)(DAT_EVD_CONNECTION_FLAG | cm_flags), &evds->cm))
		return -1;
	return 0;
}

static int create(struct dt_control *control, const struct dt_ia *ia, DAT_PZ_HANDLE pz,
		  uint32_t cm_qlen, DAT_EVD_FLAGS cm_flags)
{
	const struct dt_link_needs needs = {
		.recvs = DT_CONTROL_RECVS,
		.requests = 1,
		.recv_segs = 1,
		.send_segs = 1,
		.qos = DAT_QOS_BEST_EFFORT,
	};

	if (create_evds(control, ia, cm_qlen, cm_flags) ||
	    dt_pool_create(control->actor, &control->out, ia, pz, 1, DT_MESSAGE_SIZE, false,
			   DAT_MEM_PRIV_LOCAL_READ_FLAG) ||
	    dt_pool_create(control->actor, &control->in, ia, pz, DT_CONTROL_RECVS, DT_MESSAGE_SIZE,
			   true, DAT_MEM_PRIV_LOCAL_WRITE_FLAG) ||
	    dt_link_create(control->actor, &control->link, ia, pz, &control->evds, &needs))
		return -1;
	for (uint32_t i = 0; i < DT_CONTROL_RECVS; i++)
		if (post_recv(control, i))
			return -1;
	return 0;
}

int dt_control_create(struct dt_control *control, struct dt_actor *actor, const struct dt_ia *ia,
		      DAT_PZ_HANDLE pz, uint32_t cm_qlen, DAT_EVD_FLAGS cm_flags,
		      uint32_t timeout_s)
{
	memset(control, 0, sizeof(*control));
	control->actor = actor;
	control->timeout_s = timeout_s;
	if (!create(control, ia, pz, cm_qlen, cm_flags))
		return 0;
	dt_control_destroy(control);
	return -1;
}

void dt_control_destroy(struct dt_control *control)
{
	dt_link_free(control->actor, &control->link);
	dt_pool_destroy(control->actor, &control->in);
	dt_pool_destroy(control->actor, &control->out);
	dt_evd_free(control->actor, "conn", &control->evds.cm);
	dt_evd_free(control->actor, "send", &control->evds.request);
	dt_evd_free(control->actor, "recv", &control->evds.recv);
}

void *dt_control_buffer(struct dt_control *control)
{
	return control->out.memory;
}

static int post_send(struct dt_control *control, size_t length)
{
	DAT_LMR_TRIPLET iov = control->out.iov[0];
	DAT_DTO_COOKIE cookie = { .as_64 = 0 };
	DAT_RETURN ret;

	iov.segment_length = (DAT_SEG_LENGTH)length;
	ret = dat_ep_post_send(control->link.ep, 1, &iov, cookie, DAT_COMPLETION_DEFAULT_FLAG);
	if (ret != DAT_SUCCESS)
		return dt_fail_dat(control->actor, ret, "Test Error: dat_ep_post_send");
	return 0;
}

static int reap_send(struct dt_control *control, bool last)
{
	const struct dt_reaper reaper = { .mode = DT_REAP_WAIT, .evd = control->evds.request };
	DAT_DTO_COMPLETION_EVENT_DATA dto;

	if (dt_reap(control->actor, &reaper, "control send", dt_deadline_s(control->timeout_s),
		    &dto))
		return -1;
	if (dto.status == DAT_DTO_SUCCESS || (last && dto.status == DAT_DTO_ERR_FLUSHED))
		return 0;
	return dt_bad_status(control->actor, "control send", &dto);
}

int dt_control_send(struct dt_control *control, size_t length)
{
	return post_send(control, length) || reap_send(control, false) ? -1 : 0;
}

int dt_control_send_last(struct dt_control *control, size_t length)
{
	return post_send(control, length) || reap_send(control, true) ? -1 : 0;
}

int dt_control_recv(struct dt_control *control, void **message)
{
	const struct dt_reaper reaper = { .mode = DT_REAP_WAIT, .evd = control->evds.recv };
	DAT_DTO_COMPLETION_EVENT_DATA dto;

	if (dt_reap_success(control->actor, &reaper, "control recv",
			    dt_deadline_s(control->timeout_s), &dto))
		return -1;
	if (dto.user_cookie.as_64 >= DT_CONTROL_RECVS || dto.transfered_length > DT_MESSAGE_SIZE)
		return dt_fail(control->actor, "bad completion: cookie %llx, length %u",
			       (unsigned long long)dto.user_cookie.as_64,
			       (unsigned int)dto.transfered_length);
	*message = control->in.memory + dto.user_cookie.as_64 * control->in.stride;
	return dt_message_check(control->actor, *message, dto.transfered_length);
}

int dt_control_consumed(struct dt_control *control, void *message)
{
	size_t offset = (size_t)((unsigned char *)message - control->in.memory);

	return post_recv(control, (uint32_t)(offset / control->in.stride));
}
