/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* How many descriptors connections may have that no endpoint has. */
#ifndef SOFT_BUDGET_H
#define SOFT_BUDGET_H

#include <stdbool.h>

#include "providers/soft/link/link.h"

/* All of a device's budgets on its loop. */
void soft_budget_init(struct soft_budget *budget, enum soft_budget_kind kind);
/* 0 or -ENOMEM. */
int soft_budget_enter(struct soft_link *link, struct soft_budget *budget);
/* Unless it has left. */
void soft_budget_leave(struct soft_link *link);
/* Whether there are too many. */
bool soft_budget_spent(const struct soft_dev *dev, enum soft_budget_kind kind);
/* What is to go first of those that may go (NULL: all may), or NULL. */
struct soft_link *soft_budget_victim(const struct soft_budget *budget,
				     bool (*may_go)(struct soft_link *));

#endif
