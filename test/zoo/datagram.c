/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* UD: address handles, and datagrams that the wire loses, delays and delivers twice like the messages of
 * rdma_cm (options.def). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "test/zoo/verbs.h"

#define GRH sizeof(struct ibv_grh)

/* ---- Address handles ---- */

struct my_ah {
	struct ibv_ah ib;
	struct zoo_pd *pd;
	struct ibv_ah_attr attr;
};

/* RoCE has no path without a global routing header. */
struct ibv_ah *ibv_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
	struct zoo_card *card = zoo_card_of(pd->context);
	struct my_ah *my;
	int err = zoo_refuses("create_ah");

	if (!err && card->removed)
		err = EIO;
	if (!err && zoo_kind_of(card)->link_layer == IBV_LINK_LAYER_ETHERNET && !attr->is_global)
		err = EINVAL;
	my = err ? NULL : calloc(1, sizeof(*my));
	if (!my) {
		errno = err ? err : ENOMEM;
		return NULL;
	}
	my->ib.context = pd->context;
	my->ib.pd = pd;
	my->attr = *attr;
	zoo_lock();
	my->pd = my(pd, pd)->pd;
	my->pd->uses++;
	zoo->num_ahs++;
	zoo_unlock();
	return &my->ib;
}

int ibv_destroy_ah(struct ibv_ah *ah)
{
	struct my_ah *my = zoo_entry(ah, struct my_ah, ib);

	zoo_lock();
	my->pd->uses--;
	zoo->num_ahs--;
	zoo_unlock();
	free(my);
	return 0;
}

uint16_t zoo_lid(const struct zoo_card *card)
{
	bool ib = zoo_kind_of(card)->link_layer == IBV_LINK_LAYER_INFINIBAND;

	return ib ? (uint16_t)(7 + (card - zoo->cards)) : 0;
}

/* RoCE version 2 over IPv4 has that one's header in the second half. */
static void put_grh(uint8_t grh[GRH], const struct zoo_card *card, const struct ibv_ah_attr *attr)
{
	union ibv_gid sgid = { .raw = { 0 } };

	zoo_gid_at(card, attr->port_num, attr->grh.sgid_index, &sgid);
	memset(grh, 0, GRH);
	if (!zoo_lid(card) && attr->grh.sgid_index == ZOO_GID_V2) {
		grh[20] = 0x45;
		memcpy(grh + 32, sgid.raw + 12, 4);
		memcpy(grh + 36, attr->grh.dgid.raw + 12, 4);
		return;
	}
	grh[0] = 0x60;
	memcpy(grh + 8, sgid.raw, sizeof(sgid));
	memcpy(grh + 24, attr->grh.dgid.raw, sizeof(sgid));
}

void zoo_put_ah(struct zoo_wr *own, const struct ibv_send_wr *wr)
{
	const struct my_ah *my = zoo_entry(wr->wr.ud.ah, struct my_ah, ib);
	const struct ibv_ah_attr *attr = &my->attr;

	put_grh((uint8_t *)&own->grh, my->pd->card, attr);
	own->to_qpn = wr->wr.ud.remote_qpn;
	own->qkey = wr->wr.ud.remote_qkey;
	own->dlid = attr->dlid;
	own->global = attr->is_global;
	own->dgid = attr->grh.dgid;
}

/* ---- Arriving ---- */

static bool has_gid(const struct zoo_card *card, uint8_t port, const union ibv_gid *gid)
{
	union ibv_gid own;
	uint32_t i;

	for (i = 0; !zoo_gid_at(card, port, i, &own); i++)
		if (!memcmp(&own, gid, sizeof(own)))
			return true;
	return false;
}

static bool is_there(const struct zoo_qp *qp, const struct zoo_datagram *datagram)
{
	const struct zoo_card *card = qp->card;

	return qp->type == IBV_QPT_UD && !card->removed && !card->port_down &&
	       (qp->state == IBV_QPS_RTR || qp->state == IBV_QPS_RTS || qp->state == IBV_QPS_SQE) &&
	       qp->attr.qkey == datagram->qkey &&
	       (zoo_lid(card) ? zoo_lid(card) == datagram->dlid
			      : has_gid(card, qp->attr.port_num, &datagram->dgid));
}

/* Behind the place of the routing header, if there is none; -1 if the receive is too short. */
static int place(const struct zoo_qp *qp, const struct zoo_wr *recv,
		 const struct zoo_datagram *datagram)
{
	uint64_t left = GRH + datagram->length, part, skip = datagram->global ? 0 : GRH;
	uint64_t from = (uintptr_t)datagram->grh + skip;
	uint32_t i;

	for (i = 0; i < recv->num_sge && left; i++) {
		const struct ibv_sge *sge = &recv->sge[i];
		uint64_t before = skip < sge->length ? skip : sge->length;

		part = sge->length < left ? sge->length : left;
		left -= part;
		skip -= before;
		if (zoo_copy(qp->proc, sge->addr + before, zoo_me, from, part - before))
			return -1;
		from += part - before;
	}
	return left ? -1 : 0;
}

static void deliver(const struct zoo_datagram *datagram)
{
	struct zoo_qp *qp = zoo_qp_find(datagram->to);
	struct ibv_wc wc = { .opcode = IBV_WC_RECV,
			     .byte_len = GRH + datagram->length,
			     .src_qp = datagram->from,
			     .slid = datagram->slid,
			     .wc_flags = datagram->global ? IBV_WC_GRH : 0 };
	struct zoo_wr *recv;

	if (!qp || !is_there(qp, datagram) || qp->srq || qp->rq.next == qp->rq.posted)
		return;
	recv = zoo_queue_at(&qp->rq, qp->rq.next);
	if (!zoo_allows_local(qp->pd, recv->sge, recv->num_sge, true) || place(qp, recv, datagram))
		return;
	wc.wr_id = recv->id;
	wc.qp_num = qp->number;
	zoo_cq_push(qp->recv_cq, &qp->rq, ++qp->rq.next, &wc, datagram->solicited);
}

/* ---- On the way ---- */

static void later(const struct zoo_datagram *datagram, uint64_t ns)
{
	struct zoo_datagram *copy = zoo_alloc(sizeof(*copy) + datagram->length);

	memcpy(copy, datagram, sizeof(*copy) + datagram->length);
	copy->due = zoo_now() + ns;
	zoo_link_add(&zoo->datagrams, &copy->link);
	zoo_at(copy->due);
}

/* As the kinds of enum zoo_msg_kind, those of the datagram connection manager. */
static uint32_t kind_of(const struct zoo_datagram *datagram)
{
	static const uint32_t kinds[] = { 0, 1, 2, 4, 4, 3, 5, 6 };
	uint8_t op =
		datagram->length >= 148 && datagram->qkey == 0x78654321 ? datagram->bytes[3] : 0;

	return op < 8 ? kinds[op] : 0;
}

static void transmit(const struct zoo_datagram *datagram)
{
	uint64_t ns = (uint64_t)zoo->delay_us * 1000;

	zoo->num_cm_sent += kind_of(datagram) != 0;
	if (zoo->lose && zoo->lose == kind_of(datagram)) {
		zoo->lose = 0;
		return;
	}
	if (zoo->duplicate && zoo_random() < zoo->duplicate)
		later(datagram, ns + 2000000);
	if (zoo->loss && zoo_random() < zoo->loss)
		return;
	if (ns)
		later(datagram, ns);
	else
		deliver(datagram);
}

enum ibv_wc_status zoo_send_datagram(const struct zoo_qp *qp, const struct zoo_wr *wr,
				     struct zoo_proc *proc, const struct ibv_sge *sge, uint32_t num,
				     uint64_t length)
{
	struct zoo_datagram *datagram;
	uint64_t at = 0;
	uint32_t i;
	int err = 0;

	if (length > ZOO_UD_MTU)
		return IBV_WC_LOC_LEN_ERR;
	datagram = zoo_alloc(sizeof(*datagram) + length);
	datagram->from = qp->number;
	datagram->to = wr->to_qpn;
	datagram->qkey = wr->qkey;
	datagram->slid = zoo_lid(qp->card);
	datagram->dlid = wr->dlid;
	datagram->global = wr->global;
	datagram->solicited = wr->flags & IBV_SEND_SOLICITED;
	datagram->dgid = wr->dgid;
	memcpy(datagram->grh, &wr->grh, sizeof(datagram->grh));
	datagram->length = (uint32_t)length;
	for (i = 0; i < num && !err && at < length; at += sge[i++].length)
		err = zoo_copy(zoo_me, (uintptr_t)datagram->bytes + at, proc, sge[i].addr,
			       sge[i].length);
	if (!err)
		transmit(datagram);
	zoo_free(datagram);
	return err ? IBV_WC_LOC_PROT_ERR : IBV_WC_SUCCESS;
}

uint64_t zoo_datagrams_expired(uint64_t now)
{
	struct zoo_datagram *datagram;
	struct zoo_link *link;
	uint64_t next = 0;

	for (link = zoo->datagrams; link;) {
		datagram = zoo_entry(link, struct zoo_datagram, link);
		link = link->next;
		if (datagram->due <= now) {
			zoo_link_del(&datagram->link);
			deliver(datagram);
			zoo_free(datagram);
		} else if (!next || datagram->due < next) {
			next = datagram->due;
		}
	}
	return next;
}
