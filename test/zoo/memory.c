/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Protection domains, regions and windows. */
#include <errno.h>
#include <stdlib.h>

#include "test/zoo/verbs.h"

#define REMOTE (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC)
#define TYPE_2 (IBV_DEVICE_MEM_WINDOW_TYPE_2A | IBV_DEVICE_MEM_WINDOW_TYPE_2B)

/* ---- Keys ---- */

struct zoo_key *zoo_key_find(uint32_t key)
{
	uint32_t index = key >> 8;
	struct zoo_key *found = index < ZOO_MAX_KEYS ? zoo->keys[index] : NULL;

	return found && found->key == key ? found : NULL;
}

static struct zoo_key *key_new(struct zoo_pd *pd)
{
	struct zoo_key *key;
	uint32_t tries = ZOO_MAX_KEYS;

	do {
		zoo->next_key = zoo->next_key % (ZOO_MAX_KEYS - 1) + 1;
	} while (zoo->keys[zoo->next_key] && --tries);
	if (!tries)
		return NULL;
	key = zoo_alloc(sizeof(*key));
	key->proc = zoo_me;
	key->pd = pd;
	key->index = zoo->next_key;
	key->key = key->index << 8 | (zoo->next_id & 0x7f);
	zoo->keys[key->index] = key;
	pd->uses++;
	zoo_link_add(&zoo->mrs, &key->link);
	return key;
}

static void unbind(struct zoo_key *window)
{
	if (window->mr)
		window->mr->bound--;
	window->mr = NULL;
	window->qp = NULL;
	window->valid = false;
}

void zoo_key_end(struct zoo_key *key)
{
	struct zoo_link *link;

	if (key->window)
		unbind(key);
	else
		for (link = key->bound ? zoo->mrs : NULL; link; link = link->next)
			if (zoo_entry(link, struct zoo_key, link)->mr == key)
				unbind(zoo_entry(link, struct zoo_key, link));
	if (key->window)
		key->pd->card->num_mw--;
	else
		key->pd->card->num_mr--;
	zoo->keys[key->index] = NULL;
	key->pd->uses--;
	zoo_link_del(&key->link);
	zoo_free(key);
}

/* ---- What may be done to bytes ---- */

static bool inside(const struct zoo_key *key, uint64_t addr, uint64_t length)
{
	return addr >= key->addr && length <= key->length &&
	       addr - key->addr <= key->length - length;
}

bool zoo_allows_local(const struct zoo_pd *pd, const struct ibv_sge *sge, uint32_t num, bool write)
{
	const struct zoo_key *key;
	uint32_t i;

	for (i = 0; i < num; i++) {
		if (!sge[i].length)
			continue;
		key = zoo_key_find(sge[i].lkey);
		if (!key || key->window || key->pd != pd ||
		    !inside(key, sge[i].addr, sge[i].length) ||
		    (write && !(key->access & IBV_ACCESS_LOCAL_WRITE)))
			return false;
	}
	return true;
}

bool zoo_allows_remote(const struct zoo_qp *target, uint32_t rkey, uint64_t addr, uint64_t length,
		       unsigned int access)
{
	const struct zoo_kind *kind = zoo_kind_of(target->card);
	const struct zoo_key *key, *bounds;

	if (!length)
		return true;
	key = zoo_key_find(rkey);
	if (!key || key->pd != target->pd)
		return false;
	if (!(key->access & access) && !(kind->reads_any && access == IBV_ACCESS_REMOTE_READ))
		return false;
	bounds = key->mr && kind->no_window_bounds && !zoo->strict ? key->mr : key;
	if (!inside(bounds, addr, length))
		return false;
	if (!key->window)
		return true;
	return key->valid && (key->type == IBV_MW_TYPE_1 || key->qp == target);
}

/* ---- Windows by requests ---- */

enum ibv_wc_status zoo_bind(struct zoo_qp *qp, const struct zoo_wr *wr)
{
	struct zoo_key *window = wr->mw, *mr = wr->mr;

	if (window->pd != qp->pd || (window->type == IBV_MW_TYPE_2 && window->valid))
		return IBV_WC_MW_BIND_ERR;
	if (wr->mw_length &&
	    (!mr || mr->pd != qp->pd || !(mr->access & IBV_ACCESS_MW_BIND) ||
	     !inside(mr, wr->mw_addr, wr->mw_length) ||
	     ((wr->mw_access & (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC)) &&
	      !(mr->access & IBV_ACCESS_LOCAL_WRITE))))
		return IBV_WC_MW_BIND_ERR;
	unbind(window);
	window->key = window->index << 8 | (wr->mw_key & 0xff);
	if (!wr->mw_length)
		return IBV_WC_SUCCESS;
	window->mr = mr;
	mr->bound++;
	window->addr = wr->mw_addr;
	window->length = wr->mw_length;
	window->access = wr->mw_access & REMOTE;
	window->valid = true;
	window->qp = window->type == IBV_MW_TYPE_2 ? qp : NULL;
	return IBV_WC_SUCCESS;
}

enum ibv_wc_status zoo_invalidate(struct zoo_qp *qp, uint32_t rkey, bool by_peer)
{
	struct zoo_key *key = zoo_key_find(rkey);

	if (!key || !key->window || key->type != IBV_MW_TYPE_2 || !key->valid ||
	    (key->qp != qp && !(by_peer && zoo_kind_of(qp->card)->invalidates_any)))
		return by_peer ? IBV_WC_REM_INV_REQ_ERR : IBV_WC_MW_BIND_ERR;
	unbind(key);
	return IBV_WC_SUCCESS;
}

void zoo_unbind_all(struct zoo_qp *qp)
{
	struct zoo_link *link;

	if (!qp->card->num_mw)
		return;
	for (link = zoo->mrs; link; link = link->next)
		if (zoo_entry(link, struct zoo_key, link)->qp == qp)
			unbind(zoo_entry(link, struct zoo_key, link));
}

/* ---- Protection domains ---- */

struct ibv_pd *ibv_alloc_pd(struct ibv_context *ctx)
{
	struct zoo_card *card = zoo_card_of(ctx);
	struct my_pd *my = calloc(1, sizeof(*my));
	int err = zoo_refuses("alloc_pd");

	if (!my || err || card->num_pd >= (uint32_t)zoo_kind_of(card)->limits.max_pd) {
		free(my);
		errno = err ? err : ENOMEM;
		return NULL;
	}
	my->ib.context = ctx;
	zoo_lock();
	my->pd = zoo_alloc(sizeof(*my->pd));
	my->pd->proc = zoo_me;
	my->pd->card = card;
	card->num_pd++;
	zoo_link_add(&zoo->pds, &my->pd->link);
	zoo_unlock();
	return &my->ib;
}

void zoo_pd_end(struct zoo_pd *pd)
{
	pd->card->num_pd--;
	zoo_link_del(&pd->link);
	zoo_free(pd);
}

int ibv_dealloc_pd(struct ibv_pd *ib)
{
	struct my_pd *my = my(pd, ib);
	int err = 0;

	zoo_lock();
	if (my->pd->uses) {
		err = EBUSY;
	} else {
		err = zoo_destroyed(my->pd->card);
		zoo_pd_end(my->pd);
	}
	zoo_unlock();
	if (!err)
		free(my);
	return err;
}

/* ---- Forks, as libibverbs sees to them (memory.c) ---- */

static bool fork_safe, huge_pages, too_late;

int ibv_fork_init(void)
{
	int err = zoo_refuses("fork_init");

	if (!err)
		err = zoo_attach();
	if (err)
		return err;
	huge_pages = huge_pages || getenv("RDMAV_HUGEPAGES_SAFE");
	if (fork_safe || !zoo->no_copy_on_fork)
		return 0;
	if (too_late)
		return EINVAL;
	fork_safe = true;
	return 0;
}

enum ibv_fork_status ibv_is_fork_initialized(void)
{
	if (zoo_attach() || !zoo->no_copy_on_fork)
		return IBV_FORK_UNNEEDED;
	return fork_safe ? IBV_FORK_ENABLED : IBV_FORK_DISABLED;
}

#define HUGE_PAGE (2U << 20)

/* madvise in small pages, where the large ones cannot be parted. */
static int keep_from_children(const void *addr, size_t length)
{
	if (!fork_safe)
		too_late = true;
	return fork_safe && zoo->huge && !huge_pages && ((uintptr_t)addr | length) % HUGE_PAGE
		       ? EINVAL
		       : 0;
}

/* ---- Regions ---- */

/* What the kernel has against it. */
static int check_pages(const struct zoo_kind *kind, const void *addr, size_t length,
		       unsigned int access)
{
	if (access & IBV_ACCESS_ON_DEMAND)
		return kind->on_demand ? 0 : EOPNOTSUPP;
	return zoo_mapped(addr, length, access);
}

struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
				unsigned int access)
{
	struct zoo_card *card = zoo_card_of(pd->context);
	struct my_mr *my_mr = calloc(1, sizeof(*my_mr));
	int err = zoo_refuses("reg_mr");

	zoo_command(card);
	zoo_lock();
	if (!err && card->num_mr >= (uint32_t)zoo_kind_of(card)->limits.max_mr)
		err = ENOMEM;
	if (!err && (access & (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC)) &&
	    !(access & IBV_ACCESS_LOCAL_WRITE))
		err = EINVAL;
	if (!err && !(access & IBV_ACCESS_ON_DEMAND))
		err = keep_from_children(addr, length);
	if (!err)
		err = check_pages(zoo_kind_of(card), addr, length, access);
	if (!err)
		my_mr->key = key_new(my(pd, pd)->pd);
	if (my_mr->key) {
		card->num_mr++;
		my_mr->key->addr = iova;
		my_mr->key->length = length;
		my_mr->key->access = access;
		my_mr->key->valid = true;
	}
	zoo_unlock();
	if (!my_mr->key) {
		free(my_mr);
		errno = err ? err : ENOMEM;
		return NULL;
	}
	my_mr->ib = (struct ibv_mr){ .context = pd->context,
				     .pd = pd,
				     .addr = addr,
				     .length = length,
				     .lkey = my_mr->key->key,
				     .rkey = my_mr->key->key };
	return &my_mr->ib;
}

#undef ibv_reg_mr
struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access)
{
	return ibv_reg_mr_iova2(pd, addr, length, (uintptr_t)addr, (unsigned int)access);
}

int ibv_dereg_mr(struct ibv_mr *ib)
{
	struct my_mr *my_mr = my(mr, ib);
	int err = 0;

	zoo_command(zoo_card_of(ib->context));
	zoo_lock();
	if (my_mr->key->bound) {
		err = EBUSY;
	} else {
		err = zoo_destroyed(my_mr->key->pd->card);
		zoo_key_end(my_mr->key);
	}
	zoo_unlock();
	if (!err)
		free(my_mr);
	return err;
}

/* ---- Windows ---- */

struct ibv_mw *zoo_alloc_mw(struct ibv_pd *ib, enum ibv_mw_type type)
{
	struct zoo_card *card = zoo_card_of(ib->context);
	const struct ibv_device_attr *limits = &zoo_kind_of(card)->limits;
	unsigned int flag = type == IBV_MW_TYPE_1 ? IBV_DEVICE_MEM_WINDOW : TYPE_2;
	struct my_mw *my_mw = calloc(1, sizeof(*my_mw));
	int err = zoo_refuses("alloc_mw");

	zoo_lock();
	if (!err && !(limits->device_cap_flags & flag))
		err = EINVAL;
	/* Those of mlx4 are as many as regions. */
	if (!err && card->num_mw < (uint32_t)(limits->max_mw ? limits->max_mw : limits->max_mr))
		my_mw->key = key_new(my(pd, ib)->pd);
	if (my_mw->key) {
		card->num_mw++;
		my_mw->key->window = true;
		my_mw->key->type = type;
	}
	zoo_unlock();
	if (!my_mw->key) {
		free(my_mw);
		errno = err ? err : ENOMEM;
		return NULL;
	}
	my_mw->ib = (struct ibv_mw){
		.context = ib->context, .pd = ib, .rkey = my_mw->key->key, .type = type
	};
	return &my_mw->ib;
}

int zoo_dealloc_mw(struct ibv_mw *ib)
{
	struct my_mw *my_mw = my(mw, ib);
	int err;

	zoo_lock();
	err = zoo_destroyed(my_mw->key->pd->card);
	zoo_key_end(my_mw->key);
	zoo_unlock();
	if (!err)
		free(my_mw);
	return err;
}

int zoo_bind_mw(struct ibv_qp *qp, struct ibv_mw *ib, struct ibv_mw_bind *bind)
{
	struct ibv_send_wr wr = { .wr_id = bind->wr_id,
				  .opcode = IBV_WR_BIND_MW,
				  .send_flags = bind->send_flags,
				  .bind_mw = { .mw = ib,
					       .rkey = ibv_inc_rkey(ib->rkey),
					       .bind_info = bind->bind_info } },
			   *bad;
	int err = zoo_post_send(qp, &wr, &bad);

	if (!err)
		ib->rkey = wr.bind_mw.rkey;
	return err;
}
