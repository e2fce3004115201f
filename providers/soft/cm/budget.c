/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * How many descriptors connections may have that no endpoint has: whose request is awaited, and
 * which are over. What peers do or do not do is never to take the program its own. A budget is the
 * process's; what has to go when it is spent is the device's own, of the peer's address that has
 * most of them the oldest.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "providers/soft/addr.h"
#include "providers/soft/cm/budget.h"
#include "providers/soft/config.h"
#include "providers/soft/device.h"

enum {
	MOST = 1024, /* unless an option says more */
	SHARE = 4,   /* of the descriptors that the process may have */
};

/* The links of one peer's address. */
struct soft_holder {
	struct soft_list node, links; /* oldest first */
	struct sockaddr_storage addr;
	uint32_t num;
};

static atomic_uint used[SOFT_BUDGETS];

/* A child has none of its parent's connections. */
static void in_child(void)
{
	for (size_t i = 0; i < SOFT_BUDGETS; i++)
		atomic_store(&used[i], 0);
}

__attribute__((constructor)) static void watch_forks(void)
{
	pthread_atfork(NULL, NULL, in_child);
}

void soft_budget_init(struct soft_budget *budget, enum soft_budget_kind kind)
{
	budget->kind = kind;
	soft_list_init(&budget->holders);
}

static uint32_t limit_of(const struct soft_dev *dev, enum soft_budget_kind kind)
{
	int64_t limit =
		kind == SOFT_BUDGET_HALF_OPEN ? dev->config->half_open : dev->config->lingering;
	struct rlimit files;

	if (limit)
		return (uint32_t)limit;
	if (getrlimit(RLIMIT_NOFILE, &files) || files.rlim_cur / SHARE > MOST)
		return MOST;
	return files.rlim_cur < SHARE ? 1 : (uint32_t)(files.rlim_cur / SHARE);
}

static struct soft_holder *find(struct soft_budget *budget, const struct sockaddr_storage *addr)
{
	struct soft_holder *holder;
	struct soft_list *node;

	for (node = budget->holders.next; node != &budget->holders; node = node->next) {
		holder = soft_container(node, struct soft_holder, node);
		if (!memcmp(&holder->addr, addr, sizeof(*addr)))
			return holder;
	}
	holder = calloc(1, sizeof(*holder));
	if (!holder)
		return NULL;
	holder->addr = *addr;
	soft_list_init(&holder->links);
	soft_list_add(&budget->holders, &holder->node);
	return holder;
}

int soft_budget_enter(struct soft_link *link, struct soft_budget *budget)
{
	struct sockaddr_storage local = { 0 }, remote = { 0 }, addr = { 0 };
	uint64_t local_qual, remote_qual;
	struct soft_holder *holder;

	link->class->names(link, &local, &local_qual, &remote, &remote_qual);
	if (remote.ss_family == AF_INET || remote.ss_family == AF_INET6)
		soft_addr_copy(&addr, (struct sockaddr *)&remote);
	holder = find(budget, &addr);
	if (!holder)
		return -ENOMEM;
	link->holder = holder;
	link->budget = budget->kind;
	link->since = dapl_now();
	soft_list_add(&holder->links, &link->budget_node);
	holder->num++;
	atomic_fetch_add(&used[budget->kind], 1);
	return 0;
}

void soft_budget_leave(struct soft_link *link)
{
	struct soft_holder *holder = link->holder;

	if (!holder)
		return;
	link->holder = NULL;
	soft_list_del(&link->budget_node);
	atomic_fetch_sub(&used[link->budget], 1);
	if (--holder->num)
		return;
	soft_list_del(&holder->node);
	free(holder);
}

bool soft_budget_spent(const struct soft_dev *dev, enum soft_budget_kind kind)
{
	return atomic_load(&used[kind]) > limit_of(dev, kind);
}

/* The holder's oldest that may go. */
static struct soft_link *oldest(const struct soft_holder *holder,
				bool (*may_go)(struct soft_link *))
{
	struct soft_link *link;
	struct soft_list *node;

	for (node = holder->links.next; node != &holder->links; node = node->next) {
		link = soft_container(node, struct soft_link, budget_node);
		if (!may_go || may_go(link))
			return link;
	}
	return NULL;
}

struct soft_link *soft_budget_victim(const struct soft_budget *budget,
				     bool (*may_go)(struct soft_link *))
{
	struct soft_link *link, *victim = NULL;
	const struct soft_holder *holder;
	struct soft_list *node;
	uint32_t most = 0;

	for (node = budget->holders.next; node != &budget->holders; node = node->next) {
		holder = soft_container(node, struct soft_holder, node);
		if (holder->num <= most)
			continue;
		link = oldest(holder, may_go);
		if (!link)
			continue;
		victim = link;
		most = holder->num;
	}
	return victim;
}
