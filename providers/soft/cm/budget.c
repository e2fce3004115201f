/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dapl/base/fd.h"
#include "dapl/base/fork.h"
#include "providers/soft/base/addr.h"
#include "providers/soft/cm/budget.h"
#include "providers/soft/base/config.h"
#include "providers/soft/base/device.h"
#include "providers/soft/link/link.h"

/* The links of one peer's address. */
struct peer {
	struct list node, entries; /* oldest first */
	struct sockaddr_storage addr;
	uint32_t num;
};

struct soft_budget_entry {
	struct list node;
	struct soft_link *link;
	struct peer *peer;
	enum soft_budget_kind kind;
	uint64_t since;
};

static atomic_uint used[SOFT_BUDGETS];

/* A child has none of its parent's connections. */
static void in_child(void)
{
	for (size_t i = 0; i < SOFT_BUDGETS; i++)
		atomic_store(&used[i], 0);
}

__attribute__((constructor)) static void at_fork(void)
{
	static struct dats_fork_watcher watcher = { .in_child = in_child };

	dapl_fork_watch(&watcher);
}

void soft_budget_init(struct soft_budget *budget, enum soft_budget_kind kind)
{
	budget->kind = kind;
	list_init(&budget->peers);
}

static struct peer *find(struct soft_budget *budget, const struct sockaddr_storage *addr)
{
	struct peer *peer;

	list_for_each(peer, &budget->peers, node)
		if (!memcmp(&peer->addr, addr, sizeof(*addr)))
			return peer;
	peer = calloc(1, sizeof(*peer));
	if (!peer)
		return NULL;
	peer->addr = *addr;
	list_init(&peer->entries);
	list_add(&budget->peers, &peer->node);
	return peer;
}

int soft_budget_enter(struct soft_link *link, struct soft_budget *budget,
		      const struct sockaddr_storage *remote)
{
	struct soft_budget_entry *entry = calloc(1, sizeof(*entry));
	struct sockaddr_storage addr = { 0 };

	if (!entry)
		return -ENOMEM;
	if (remote->ss_family == AF_INET || remote->ss_family == AF_INET6)
		soft_addr_copy(&addr, (const struct sockaddr *)remote);
	entry->peer = find(budget, &addr);
	if (!entry->peer) {
		free(entry);
		return -ENOMEM;
	}
	entry->link = link;
	entry->kind = budget->kind;
	entry->since = dapl_now();
	list_add(&entry->peer->entries, &entry->node);
	entry->peer->num++;
	atomic_fetch_add(&used[budget->kind], 1);
	link->budget_entry = entry;
	link->destroyed = soft_budget_leave;
	return 0;
}

void soft_budget_leave(struct soft_link *link)
{
	struct soft_budget_entry *entry = link->budget_entry;
	struct peer *peer;

	if (!entry)
		return;
	link->budget_entry = NULL;
	peer = entry->peer;
	list_del(&entry->node);
	atomic_fetch_sub(&used[entry->kind], 1);
	free(entry);
	if (--peer->num)
		return;
	list_del(&peer->node);
	free(peer);
}

uint64_t soft_budget_since(const struct soft_link *link)
{
	return link->budget_entry->since;
}

bool soft_budget_exceeded(const struct soft_dev *dev, enum soft_budget_kind kind)
{
	const struct soft_config *config = dev->config;
	int64_t option = kind == SOFT_BUDGET_HALF_OPEN ? config->half_open : config->lingering;
	uint32_t now = atomic_load(&used[kind]);

	return now > 1 && now > dapl_fd_share(option);
}

/* The peer's oldest that may go. */
static struct soft_link *oldest(const struct peer *peer, bool (*may_go)(struct soft_link *))
{
	const struct soft_budget_entry *entry;

	list_for_each(entry, &peer->entries, node)
		if (!may_go || may_go(entry->link))
			return entry->link;
	return NULL;
}

struct soft_link *soft_budget_victim(const struct soft_budget *budget,
				     bool (*may_go)(struct soft_link *))
{
	struct soft_link *link, *victim = NULL;
	const struct peer *peer;
	uint32_t most = 0;

	list_for_each(peer, &budget->peers, node) {
		if (peer->num <= most)
			continue;
		link = oldest(peer, may_go);
		if (!link)
			continue;
		victim = link;
		most = peer->num;
	}
	return victim;
}
