/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * How many descriptors connections may have that no endpoint has: whose request is awaited, and
 * which are over. What peers do or do not do is never to take the program its own. A budget is the
 * process's; what has to go when it is exceeded is the device's own, of the peer's address that has
 * most of them the oldest. All of a device's budgets on its loop.
 */
#ifndef SOFT_BUDGET_H
#define SOFT_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#include "util/list.h"

struct sockaddr_storage;
struct soft_dev;
struct soft_link;

enum soft_budget_kind {
	SOFT_BUDGET_HALF_OPEN, /* the request is awaited */
	SOFT_BUDGET_ORPHAN,    /* the connection is over */
	SOFT_BUDGETS,
};

/* A device's part of one. */
struct soft_budget {
	enum soft_budget_kind kind;
	struct list peers;
};

void soft_budget_init(struct soft_budget *budget, enum soft_budget_kind kind);
/* Counts a link until it is destroyed or leaves; remote: of family 0 if it is not known. 0 or
 * -ENOMEM. */
int soft_budget_enter(struct soft_link *link, struct soft_budget *budget,
		      const struct sockaddr_storage *remote);
/* Unless it has left. */
void soft_budget_leave(struct soft_link *link);
/* When it entered, in the time of dapl_now(). */
uint64_t soft_budget_since(const struct soft_link *link);
/* One may always be. */
bool soft_budget_exceeded(const struct soft_dev *dev, enum soft_budget_kind kind);
/* What is to go first of those that may go (NULL: all may), or NULL. */
struct soft_link *soft_budget_victim(const struct soft_budget *budget,
				     bool (*may_go)(struct soft_link *));

#endif
