/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Devices and asynchronous events. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "test/zoo/verbs.h"

/* ---- Faults ---- */

/* ZOO_FAIL=NAME:N[:ERRNO] has the Nth call of that name fail. */
int zoo_refuses(const char *call)
{
	static _Atomic int calls;
	const char *what = getenv("ZOO_FAIL");
	size_t len = strlen(call);
	int number, err = ENOMEM;

	if (!what || strncmp(what, call, len) || what[len] != ':')
		return 0;
	if (sscanf(what + len, ":%d:%d", &number, &err) < 1)
		return 0;
	return ++calls == number ? err : 0;
}

/*
 * The locks that rdma-core has for the whole process, which it leaves as they are in a child. What
 * it does with one takes ZOO_GLOBAL_US.
 */
void zoo_global(void)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	const char *us = getenv("ZOO_GLOBAL_US");

	pthread_mutex_lock(&lock);
	if (us)
		usleep((useconds_t)atoi(us));
	pthread_mutex_unlock(&lock);
}

void zoo_command(const struct zoo_card *card)
{
	uint32_t us = zoo_kind_of(card)->command_us;

	if (us < zoo->command_us)
		us = zoo->command_us;
	if (us)
		usleep(us);
}

void *zoo_make(struct zoo_card *card, size_t size, int err, uint32_t num, int most)
{
	void *my = NULL;

	if (!err && num >= (uint32_t)most)
		err = ENOMEM;
	if (!err) {
		my = calloc(1, size);
		err = ENOMEM;
	}
	if (my)
		zoo_command(card);
	else
		errno = err;
	return my;
}

struct zoo_chan *zoo_make_channel(const char *call, int *fd)
{
	int err = zoo_attach();
	struct zoo_chan *chan;

	if (!err)
		err = zoo_refuses(call);
	if (err) {
		errno = err;
		return NULL;
	}
	zoo_lock();
	chan = zoo_chan_open(fd);
	zoo_unlock();
	return chan;
}

/* ---- The list ---- */

static struct my_device {
	struct ibv_device ib;
	struct zoo_card *card;
} devices[ZOO_MAX_CARDS];

static struct ibv_device *device_of(struct zoo_card *card)
{
	struct my_device *device = &devices[card - zoo->cards];
	const struct zoo_kind *kind = zoo_kind_of(card);
	int number = (int)(card - zoo->cards);

	if (device->card)
		return &device->ib;
	device->ib.transport_type = kind->transport;
	device->ib.node_type = zoo_iwarp(kind) ? IBV_NODE_RNIC : IBV_NODE_CA;
	snprintf(device->ib.name, sizeof(device->ib.name), "%s_%d", kind->device, number);
	snprintf(device->ib.dev_name, sizeof(device->ib.dev_name), "uverbs%d", number);
	snprintf(device->ib.ibdev_path, sizeof(device->ib.ibdev_path), "/nowhere/%s_%d",
		 kind->device, number);
	device->card = card;
	return &device->ib;
}

static __be64 guid_of(const struct zoo_kind *kind)
{
	return htobe64(0x0200000000000000 + kind->vendor);
}

/* libibverbs reads the version of ib_uverbs first, and takes it for none if it cannot (init.c). */
static int check_version(void)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return ENOSYS;
	close(fd);
	return 0;
}

struct ibv_device **ibv_get_device_list(int *num)
{
	struct ibv_device **list;
	int err = zoo_attach(), n = 0;
	uint32_t i;

	if (!err)
		err = check_version();
	zoo_global();
	if (num)
		*num = 0;
	list = err ? NULL : calloc(ZOO_MAX_CARDS + 1, sizeof(struct ibv_device *));
	if (!list) {
		errno = err ? err : ENOMEM;
		return NULL;
	}
	for (i = 0; i < zoo->num_cards; i++)
		if (!zoo->cards[i].removed)
			list[n++] = device_of(&zoo->cards[i]);
	if (num)
		*num = n;
	return list;
}

void ibv_free_device_list(struct ibv_device **list)
{
	free(list);
}

__be64 ibv_get_device_guid(struct ibv_device *device)
{
	return guid_of(zoo_kind_of(zoo_entry(device, struct my_device, ib)->card));
}

const char *ibv_get_device_name(struct ibv_device *device)
{
	return device->name;
}

/* ---- Ports ---- */

uint8_t zoo_num_ports(const struct zoo_card *card)
{
	return card->addr[1].s_addr ? 2 : 1;
}

uint8_t zoo_port_at(const struct zoo_card *card, struct in_addr addr)
{
	uint8_t i;

	for (i = 0; i < zoo_num_ports(card); i++)
		if (card->addr[i].s_addr == addr.s_addr)
			return i + 1;
	return 0;
}

/* ---- Contexts ---- */

struct zoo_card *zoo_card_of(const struct ibv_context *ctx)
{
	return zoo_entry(ctx->device, struct my_device, ib)->card;
}

#define NUM_GIDS 4U

static int query_port(struct ibv_context *ctx, uint8_t number, struct ibv_port_attr *attr,
		      size_t len)
{
	const struct zoo_kind *kind = zoo_kind_of(zoo_card_of(ctx));
	bool down = zoo_card_of(ctx)->port_down;
	struct ibv_port_attr port = { .state = down ? IBV_PORT_DOWN : IBV_PORT_ACTIVE,
				      .max_mtu = IBV_MTU_4096,
				      .active_mtu = IBV_MTU_1024,
				      .gid_tbl_len = NUM_GIDS,
				      .max_msg_sz = kind->max_msg,
				      .pkey_tbl_len = zoo_pkey(zoo_card_of(ctx), 1) ? 2 : 1,
				      .lid = zoo_lid(zoo_card_of(ctx)),
				      .active_width = 2,
				      .active_speed = 32,
				      .phys_state = down ? 3 : 5,
				      .link_layer = kind->link_layer };

	if (number < 1 || number > zoo_num_ports(zoo_card_of(ctx)))
		return EINVAL;
	memcpy(attr, &port, len < sizeof(port) ? len : sizeof(port));
	return 0;
}

static int query_device_ex(struct ibv_context *ctx, const struct ibv_query_device_ex_input *input,
			   struct ibv_device_attr_ex *attr, size_t len);

struct ibv_context *zoo_open(struct zoo_card *card)
{
	const struct zoo_kind *kind = zoo_kind_of(card);
	struct my_context *my = calloc(1, sizeof(*my));
	struct ibv_context *ctx = &my->verbs.context;
	int err = zoo_refuses("open_device");

	if (!my || err)
		goto fail;
	ctx->cmd_fd = open("/dev/null", O_RDWR | O_CLOEXEC); /* nobody looks into it */
	err = errno;
	if (ctx->cmd_fd < 0)
		goto fail;
	zoo_lock();
	my->async = zoo_chan_open(&ctx->async_fd);
	err = errno;
	zoo_unlock();
	if (!my->async) {
		close(ctx->cmd_fd);
		goto fail;
	}
	ctx->device = device_of(card);
	ctx->num_comp_vectors = 4;
	ctx->abi_compat = __VERBS_ABI_IS_EXTENDED;
	pthread_mutex_init(&ctx->mutex, NULL);
	my->verbs.sz = sizeof(my->verbs);
	my->verbs.query_port = query_port;
	my->verbs.query_device_ex = query_device_ex;
	zoo_set_ops(&ctx->ops, kind);
	return ctx;

fail:
	free(my);
	errno = err ? err : ENOMEM;
	return NULL;
}

struct ibv_context *ibv_open_device(struct ibv_device *device)
{
	return zoo_open(zoo_entry(device, struct my_device, ib)->card);
}

int ibv_close_device(struct ibv_context *ctx)
{
	struct my_context *my = my_context(ctx);

	zoo_lock();
	zoo_chan_close(my->async);
	zoo_unlock();
	close(ctx->async_fd);
	close(ctx->cmd_fd);
	free(my);
	return 0;
}

/* ---- Queries ---- */

int ibv_query_device(struct ibv_context *ctx, struct ibv_device_attr *attr)
{
	const struct zoo_kind *kind = zoo_kind_of(zoo_card_of(ctx));

	*attr = kind->limits;
	attr->phys_port_cnt = zoo_num_ports(zoo_card_of(ctx));
	snprintf(attr->fw_ver, sizeof(attr->fw_ver), "%s", kind->firmware);
	attr->vendor_id = kind->vendor;
	attr->vendor_part_id = kind->part;
	attr->node_guid = attr->sys_image_guid = guid_of(kind);
	return zoo_refuses("query_device");
}

static int query_device_ex(struct ibv_context *ctx, const struct ibv_query_device_ex_input *input,
			   struct ibv_device_attr_ex *attr, size_t len)
{
	const struct zoo_kind *kind = zoo_kind_of(zoo_card_of(ctx));
	struct ibv_device_attr_ex all = {
		.odp_caps = { .general_caps = kind->on_demand ? IBV_ODP_SUPPORT : 0,
			      .per_transport_caps.rc_odp_caps = kind->on_demand }
	};
	int err = ibv_query_device(ctx, &all.orig_attr);

	(void)input;
	memcpy(attr, &all, len < sizeof(all) ? len : sizeof(all));
	return err;
}

#undef ibv_query_port
int ibv_query_port(struct ibv_context *ctx, uint8_t number, struct _compat_ibv_port_attr *attr)
{
	return query_port(ctx, number, (struct ibv_port_attr *)attr,
			  __builtin_offsetof(struct ibv_port_attr, port_cap_flags2));
}

static bool is_roce(const struct zoo_card *card)
{
	const struct zoo_kind *kind = zoo_kind_of(card);

	return kind->link_layer == IBV_LINK_LAYER_ETHERNET && !zoo_iwarp(kind);
}

/* RoCE: link-local and then that of the address, of version 1 and 2 each. iWARP: the hardware address. */
static int fill_gid(const struct zoo_card *card, uint32_t port, uint32_t index, union ibv_gid *gid,
		    uint32_t *type)
{
	bool roce = is_roce(card), iwarp = zoo_iwarp(zoo_kind_of(card));

	if (port < 1 || port > zoo_num_ports(card) || index >= NUM_GIDS)
		return EINVAL;
	if (index >= (roce ? NUM_GIDS : 1U))
		return ENODATA;
	memset(gid, 0, sizeof(*gid));
	gid->raw[0] = iwarp ? 0x02 : 0xfe;
	gid->raw[1] = iwarp ? 0 : 0x80;
	if (!card->moved)
		memcpy(&gid->raw[iwarp ? 2 : 12], &card->addr[port - 1], 4);
	if (roce && index >= ZOO_GID_V1) {
		gid->raw[0] = gid->raw[1] = 0;
		gid->raw[10] = gid->raw[11] = 0xff;
	}
	*type = !roce ? IBV_GID_TYPE_IB : index % 2 ? IBV_GID_TYPE_ROCE_V2 : IBV_GID_TYPE_ROCE_V1;
	return 0;
}

int zoo_gid_at(const struct zoo_card *card, uint8_t port, uint32_t index, union ibv_gid *gid)
{
	uint32_t type;

	return fill_gid(card, port, index, gid, &type);
}

void zoo_gid(const struct zoo_card *card, uint8_t port, union ibv_gid *gid)
{
	uint32_t type;

	fill_gid(card, port, is_roce(card) ? ZOO_GID_V1 : 0, gid, &type);
}

int ibv_query_gid(struct ibv_context *ctx, uint8_t port, int index, union ibv_gid *gid)
{
	uint32_t type;

	int err = fill_gid(zoo_card_of(ctx), port, (uint32_t)index, gid, &type);

	if (err == ENODATA) /* an empty place */
		memset(gid, 0, sizeof(*gid));
	return err && err != ENODATA ? -1 : 0;
}

int _ibv_query_gid_ex(struct ibv_context *ctx, uint32_t port, uint32_t index,
		      struct ibv_gid_entry *entry, uint32_t flags, size_t size)
{
	struct ibv_gid_entry found = { .gid_index = index, .port_num = port, .ndev_ifindex = 1 };
	int err = fill_gid(zoo_card_of(ctx), port, index, &found.gid, &found.gid_type);

	if (!err && !flags)
		memcpy(entry, &found, size < sizeof(found) ? size : sizeof(found));
	return err;
}

/* ---- Partitions ---- */

uint16_t zoo_pkey(const struct zoo_card *card, uint32_t index)
{
	bool infiniband = zoo_kind_of(card)->link_layer == IBV_LINK_LAYER_INFINIBAND;

	if (!index)
		return 0xffff;
	return index == 1 && infiniband ? (uint16_t)zoo->pkey : 0;
}

int zoo_pkey_index(const struct zoo_card *card, uint16_t pkey)
{
	int i;

	for (i = 0; zoo_pkey(card, (uint32_t)i); i++)
		if (!((zoo_pkey(card, (uint32_t)i) ^ pkey) & 0x7fff))
			return i;
	return -1;
}

int ibv_query_pkey(struct ibv_context *ctx, uint8_t port, int index, __be16 *pkey)
{
	*pkey = htobe16(zoo_pkey(zoo_card_of(ctx), (uint32_t)index));
	return port <= zoo_num_ports(zoo_card_of(ctx)) && *pkey ? 0 : -1;
}

/* ---- Asynchronous events ---- */

void zoo_async(struct zoo_chan *chan, void *object, void **user, uint32_t *delivered,
	       enum ibv_event_type type)
{
	struct zoo_event *event = zoo_alloc(sizeof(*event));

	event->object = object;
	event->user_of = user;
	event->delivered = delivered;
	event->type = (int)type;
	zoo_chan_push(chan, event);
}

int ibv_get_async_event(struct ibv_context *ctx, struct ibv_async_event *to)
{
	struct zoo_event *event = zoo_chan_pop(my_context(ctx)->async, ctx->async_fd);

	if (!event)
		return -1;
	to->event_type = event->type & 0xff;
	switch (to->event_type) {
	case IBV_EVENT_CQ_ERR:
		to->element.cq = event->user;
		break;
	case IBV_EVENT_SRQ_ERR:
	case IBV_EVENT_SRQ_LIMIT_REACHED:
		to->element.srq = event->user;
		break;
	case IBV_EVENT_QP_FATAL:
	case IBV_EVENT_QP_REQ_ERR:
	case IBV_EVENT_QP_ACCESS_ERR:
	case IBV_EVENT_COMM_EST:
	case IBV_EVENT_SQ_DRAINED:
	case IBV_EVENT_PATH_MIG:
	case IBV_EVENT_PATH_MIG_ERR:
	case IBV_EVENT_QP_LAST_WQE_REACHED:
		to->element.qp = event->user;
		break;
	default:
		to->element.port_num = event->type > 0xff ? event->type >> 8 : 1;
		break;
	}
	zoo_lock();
	event->id = NULL;
	zoo_free(event);
	zoo_unlock();
	return 0;
}

static void acknowledge(pthread_mutex_t *lock, pthread_cond_t *cond, uint32_t *count, uint32_t num)
{
	pthread_mutex_lock(lock);
	*count += num;
	pthread_cond_broadcast(cond);
	pthread_mutex_unlock(lock);
}

void zoo_await_acks(pthread_mutex_t *lock, pthread_cond_t *cond, const uint32_t *count,
		    uint32_t num)
{
	pthread_mutex_lock(lock);
	while (*count != num)
		pthread_cond_wait(cond, lock);
	pthread_mutex_unlock(lock);
}

void ibv_ack_async_event(struct ibv_async_event *event)
{
	struct ibv_cq *cq = event->element.cq;
	struct ibv_qp *qp = event->element.qp;
	struct ibv_srq *srq = event->element.srq;

	switch (event->event_type) {
	case IBV_EVENT_CQ_ERR:
		acknowledge(&cq->mutex, &cq->cond, &cq->async_events_completed, 1);
		break;
	case IBV_EVENT_SRQ_ERR:
	case IBV_EVENT_SRQ_LIMIT_REACHED:
		acknowledge(&srq->mutex, &srq->cond, &srq->events_completed, 1);
		break;
	case IBV_EVENT_QP_FATAL:
	case IBV_EVENT_QP_REQ_ERR:
	case IBV_EVENT_QP_ACCESS_ERR:
	case IBV_EVENT_COMM_EST:
	case IBV_EVENT_SQ_DRAINED:
	case IBV_EVENT_PATH_MIG:
	case IBV_EVENT_PATH_MIG_ERR:
	case IBV_EVENT_QP_LAST_WQE_REACHED:
		acknowledge(&qp->mutex, &qp->cond, &qp->events_completed, 1);
		break;
	default:
		break;
	}
}

void ibv_ack_cq_events(struct ibv_cq *cq, unsigned int num)
{
	acknowledge(&cq->mutex, &cq->cond, &cq->comp_events_completed, num);
}

/* ---- Words ---- */

const char *ibv_event_type_str(enum ibv_event_type event)
{
	static char text[32];

	snprintf(text, sizeof(text), "event %d", (int)event);
	return text;
}

const char *ibv_wc_status_str(enum ibv_wc_status status)
{
	static char text[32];

	snprintf(text, sizeof(text), "status %d", (int)status);
	return text;
}
