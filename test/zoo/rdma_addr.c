/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Addresses of librdmacm: of adapters by IP, and of InfiniBand by GID (AF_IB), as
 * drivers/infiniband/core/cma.c takes them: cma_translate_ib, cma_select_ib_ps, cma_bind_port,
 * cma_save_ib_info. An adapter's GID is link-local, with its IP address in the last four bytes.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <infiniband/ib.h>
#include <string.h>

#include "test/zoo/rdma.h"

#define SERVICE_IDS UINT64_C(0x0000000001060000) /* RDMA_IB_IP_PS_TCP */

/* ---- Adapters ---- */

static struct zoo_card *card_of_addr(struct in_addr addr, bool gid)
{
	const struct zoo_kind *kind;
	uint32_t i;

	for (i = 0; i < zoo->num_cards; i++) {
		kind = zoo_kind_of(&zoo->cards[i]);
		if (zoo_port_at(&zoo->cards[i], addr) && !zoo->cards[i].removed &&
		    (gid ? kind->link_layer == IBV_LINK_LAYER_INFINIBAND : !kind->no_ip))
			return &zoo->cards[zoo->cards[i].moved ? (i + 1) % zoo->num_cards : i];
	}
	return NULL;
}

static struct ibv_context *contexts[ZOO_MAX_CARDS];
static pthread_mutex_t contexts_lock = PTHREAD_MUTEX_INITIALIZER;

void zoo_forget_contexts(void)
{
	pthread_mutex_init(&contexts_lock, NULL);
	memset(contexts, 0, sizeof(contexts));
}

struct ibv_context *zoo_context_of(struct zoo_card *card)
{
	uint32_t number = (uint32_t)(card - zoo->cards);

	pthread_mutex_lock(&contexts_lock);
	if (!contexts[number])
		contexts[number] = zoo_open(card);
	pthread_mutex_unlock(&contexts_lock);
	return contexts[number];
}

/* ---- Their forms ---- */

struct where {
	struct in_addr addr;
	uint16_t port, pkey;
	uint8_t tos;
	bool gid;
};

/* 0, or what librdmacm or the kernel says of it. */
static int parse(const struct sockaddr *from, struct where *to)
{
	const struct sockaddr_in *sin = (const struct sockaddr_in *)from;
	const struct sockaddr_ib *sib = (const struct sockaddr_ib *)from;
	uint64_t sid;

	if (from->sa_family == AF_INET) {
		*to = (struct where){ .addr = sin->sin_addr,
				      .port = ntohs(sin->sin_port),
				      .pkey = zoo->child ? (uint16_t)zoo->pkey : 0xffff };
		return 0;
	}
	if (from->sa_family != AF_IB)
		return zoo->tentative ? EADDRNOTAVAIL : ENODEV;
	if (zoo->no_af_ib)
		return EINVAL; /* ucma_addrlen */
	sid = be64toh(sib->sib_sid) & be64toh(sib->sib_sid_mask);
	if (sid >> 16 != SERVICE_IDS >> 16)
		return EPROTONOSUPPORT;
	*to = (struct where){ .port = (uint16_t)sid,
			      .pkey = be16toh(sib->sib_pkey),
			      .tos = (uint8_t)(be32toh(sib->sib_flowinfo) >> 20),
			      .gid = true };
	if (sib->sib_addr.sib_raw[0] == 0xfe && sib->sib_addr.sib_raw[1] == 0x80)
		memcpy(&to->addr, &sib->sib_addr.sib_raw[12], sizeof(to->addr));
	return 0;
}

static void set_gid(struct sockaddr_storage *to, struct in_addr addr, uint64_t sid, uint16_t pkey)
{
	struct sockaddr_ib *sib = (struct sockaddr_ib *)to;

	memset(to, 0, sizeof(*to));
	sib->sib_family = AF_IB;
	sib->sib_pkey = htobe16(pkey);
	sib->sib_addr.sib_raw[0] = 0xfe;
	sib->sib_addr.sib_raw[1] = 0x80;
	memcpy(&sib->sib_addr.sib_raw[12], &addr, sizeof(addr));
	sib->sib_sid = htobe64(sid);
	sib->sib_sid_mask = UINT64_MAX;
}

static void set_addr(struct sockaddr_storage *to, struct in_addr addr, uint16_t port)
{
	struct sockaddr_in *sin = (struct sockaddr_in *)to;

	memset(to, 0, sizeof(*to));
	sin->sin_family = AF_INET;
	sin->sin_addr = addr;
	sin->sin_port = htons(port);
}

/* Of who asks by GID the port is not told. */
void zoo_tell_addrs(struct rdma_cm_id *ib, const struct zoo_id *id)
{
	bool asked = id->state == ZOO_REQ_RCVD;

	if (id->gid) {
		set_gid(&ib->route.addr.src_storage, id->src, SERVICE_IDS | id->src_port, id->pkey);
		if (id->dst.s_addr)
			set_gid(&ib->route.addr.dst_storage, id->dst,
				asked ? 0 : SERVICE_IDS | id->dst_port, id->pkey);
		return;
	}
	set_addr(&ib->route.addr.src_storage, id->src, id->src_port);
	if (id->dst.s_addr)
		set_addr(&ib->route.addr.dst_storage, id->dst, id->dst_port);
}

static __be16 port_of(const struct sockaddr_storage *addr)
{
	if (addr->ss_family == AF_IB)
		return htons((uint16_t)be64toh(((const struct sockaddr_ib *)addr)->sib_sid));
	return ((const struct sockaddr_in *)addr)->sin_port;
}

__be16 rdma_get_src_port(struct rdma_cm_id *ib)
{
	return port_of(&ib->route.addr.src_storage);
}

__be16 rdma_get_dst_port(struct rdma_cm_id *ib)
{
	return port_of(&ib->route.addr.dst_storage);
}

/* ---- Ports ---- */

static bool port_taken(uint16_t port)
{
	struct zoo_link *link;
	const struct zoo_id *id;

	for (link = zoo->ids; link; link = link->next) {
		id = zoo_entry(link, struct zoo_id, link);
		if (id->owns_port && id->src_port == port)
			return true;
	}
	return false;
}

static int take_port(struct zoo_id *id, uint16_t port)
{
	int tries = 28000;

	if (port && port_taken(port))
		return EADDRINUSE;
	while (!port && tries--) {
		zoo->next_port = (zoo->next_port + 1) % 28000;
		if (!port_taken((uint16_t)(32768 + zoo->next_port)))
			port = (uint16_t)(32768 + zoo->next_port);
	}
	if (!port)
		return EADDRNOTAVAIL;
	id->src_port = port;
	id->owns_port = true;
	id->state = ZOO_BOUND;
	return 0;
}

/* ---- The calls ---- */

int rdma_bind_addr(struct rdma_cm_id *ib, struct sockaddr *addr)
{
	struct zoo_id *id = my(id, ib)->id;
	struct where where;
	int err = parse(addr, &where);

	if (err)
		return zoo_failed(err);
	zoo_lock();
	id->src = where.addr;
	id->gid = where.gid;
	id->pkey = where.pkey;
	id->tos = where.tos;
	id->card = card_of_addr(id->src, id->gid);
	err = id->state != ZOO_IDLE ? EINVAL : !id->card && id->src.s_addr ? ENODEV : 0;
	if (!err)
		err = take_port(id, where.port);
	if (!err)
		zoo_tell_addrs(ib, id);
	zoo_unlock();
	if (err)
		return zoo_failed(err);
	ib->verbs = id->card ? zoo_context_of(id->card) : NULL;
	ib->port_num = id->card ? zoo_port_of(id) : 0;
	if (id->card)
		zoo_gid(id->card, ib->port_num, &ib->route.addr.addr.ibaddr.sgid);
	return 0;
}

/* What is an adapter's or of the loopback network is there, or has an adapter that does not answer. */
int rdma_resolve_addr(struct rdma_cm_id *ib, struct sockaddr *src, struct sockaddr *dst,
		      int timeout)
{
	struct zoo_id *id = my(id, ib)->id;
	struct where where;
	int err;

	(void)timeout;
	if (src && rdma_bind_addr(ib, src))
		return -1;
	err = parse(dst, &where);
	if (!err && ntohl(where.addr.s_addr) >> 24 != 127 && !card_of_addr(where.addr, where.gid))
		err = ENETUNREACH;
	if (!err && id->card && where.gid != id->gid)
		err = EINVAL;
	if (err)
		return zoo_failed(err == ENODEV ? ENETUNREACH : err);
	zoo_lock();
	id->dst = where.addr;
	id->dst_port = where.port;
	if (id->card && card_of_addr(id->src, id->gid))
		id->card = card_of_addr(id->src, id->gid);
	if (!id->card) {
		id->gid = where.gid;
		id->pkey = where.pkey;
		id->tos = where.tos;
		id->card = card_of_addr(id->dst, id->gid);
		if (!id->card)
			id->card = &zoo->cards[0];
		id->src = id->card->addr[0];
		take_port(id, 0);
	}
	zoo_tell_addrs(ib, id);
	zoo_id_event(id, RDMA_CM_EVENT_ADDR_RESOLVED, 0, NULL);
	zoo_unlock();
	ib->verbs = zoo_context_of(id->card);
	ib->port_num = zoo_port_of(id);
	return 0;
}
