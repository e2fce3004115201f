/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "srq_util.h"

void su_need(const struct cu_rig *rig)
{
	if (!rig->prov.srq_supported)
		harness_skip("the adapter has no shared receive queues");
}

void su_open(struct cu_rig *rig, struct su_queue *queue, DAT_COUNT num)
{
	DAT_SRQ_ATTR attr = { .max_recv_dtos = num,
			      .max_recv_iov = 2,
			      .low_watermark = DAT_SRQ_LW_DEFAULT };

	su_need(rig);
	memset(queue, 0, sizeof(*queue));
	queue->ia = rig->ia;
	queue->pz = ct_pz(rig->ia);
	ct_mem_open(&queue->mem, rig->ia, queue->pz, 65536, DAT_MEM_PRIV_ALL_FLAG);
	expect_ok(dat_srq_create(rig->ia, queue->pz, &attr, &queue->srq));
	assert_non_null(queue->srq);
}

void su_close(struct su_queue *queue)
{
	if (queue->srq != DAT_HANDLE_NULL)
		expect_ok(dat_srq_free(queue->srq));
	ct_mem_close(&queue->mem);
	expect_ok(dat_pz_free(queue->pz));
}

DAT_SRQ_PARAM su_query(DAT_SRQ_HANDLE srq)
{
	DAT_SRQ_PARAM param;

	memset(&param, 0x5a, sizeof(param));
	expect_ok(dat_srq_query(srq, DAT_SRQ_FIELD_ALL, &param));
	return param;
}

DAT_RETURN su_post(struct su_queue *queue, uint64_t i)
{
	DAT_LMR_TRIPLET segment = ct_segment(&queue->mem, i * 64, 64);

	return dat_srq_post_recv(queue->srq, 1, &segment, cu_cookie(i));
}

void su_fill(struct su_queue *queue, uint64_t first, uint64_t last)
{
	for (uint64_t i = first; i <= last; i++)
		expect_ok(su_post(queue, i));
}

static DAT_EVD_HANDLE or_new(DAT_EVD_HANDLE evd, DAT_IA_HANDLE ia, DAT_EVD_FLAGS flags)
{
	return evd != DAT_HANDLE_NULL ? evd : ct_evd(ia, 64, DAT_HANDLE_NULL, flags);
}

void su_end_open(struct cu_rig *rig, struct ct_end *end, struct su_queue *queue)
{
	DAT_EP_ATTR attr;

	end->ia = rig->ia;
	end->pz = queue->pz;
	end->recv = or_new(end->recv, rig->ia, DAT_EVD_DTO_FLAG);
	end->request = or_new(end->request, rig->ia, DAT_EVD_DTO_FLAG);
	end->connect = or_new(end->connect, rig->ia, DAT_EVD_CONNECTION_FLAG);
	ct_mem_open(&end->mem, rig->ia, queue->pz, 65536, DAT_MEM_PRIV_ALL_FLAG);
	ct_default_attr(rig->ia, &attr);
	expect_ok(dat_ep_create_with_srq(rig->ia, end->pz, end->recv, end->request, end->connect,
					 queue->srq, &attr, &end->ep));
}

void su_pair(struct cu_rig *rig, struct ct_end *a, struct ct_end *p, struct su_queue *queue)
{
	ct_end_open(a, rig->ia, NULL);
	su_end_open(rig, p, queue);
	cu_establish(rig, a, p);
}

void su_send(struct ct_end *a, size_t len, unsigned seed)
{
	cu_fill(a->mem.base, len, seed);
	expect_ok(ct_post_send(a, 0, len, seed, DAT_COMPLETION_DEFAULT_FLAG));
	DONE(a->request, a->ep, seed, DAT_DTO_SEND, len);
}

uint64_t su_taken(struct ct_end *p, struct su_queue *queue, size_t len, unsigned seed)
{
	DAT_DTO_COMPLETION_EVENT_DATA dto = cu_completion(p->recv);

	assert_int_equal(dto.status, DAT_DTO_SUCCESS);
	assert_int_equal(ct_operation(&dto, DAT_DTO_RECEIVE), DAT_DTO_RECEIVE);
	assert_ptr_equal(dto.ep_handle, p->ep);
	assert_int_equal(dto.transfered_length, len);
	FILLED(queue->mem.base + dto.user_cookie.as_64 * 64, len, seed);
	return dto.user_cookie.as_64;
}

void su_check_counts(struct cu_rig *rig, DAT_SRQ_HANDLE srq, DAT_COUNT available,
		     DAT_COUNT outstanding)
{
	DAT_SRQ_PARAM param = su_query(srq);

	assert_int_equal(param.available_dto_count,
			 rig->prov.srq_info_supported & 1 ? available : DAT_VALUE_UNKNOWN);
	assert_int_equal(param.outstanding_dto_count,
			 rig->prov.srq_info_supported & 2 ? outstanding : DAT_VALUE_UNKNOWN);
}
