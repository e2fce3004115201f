/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Intrusive doubly linked lists. A node that is on no list points to itself. */
#ifndef UTIL_LIST_H
#define UTIL_LIST_H

#include <stdbool.h>

#include "util/compiler.h"

struct soft_list {
	struct soft_list *next, *prev;
};

static inline void soft_list_init(struct soft_list *list)
{
	list->next = list->prev = list;
}

static inline bool soft_list_empty(const struct soft_list *list)
{
	return list->next == list;
}

static inline void soft_list_add(struct soft_list *list, struct soft_list *node)
{
	node->prev = list->prev;
	node->next = list;
	list->prev->next = node;
	list->prev = node;
}

static inline void soft_list_del(struct soft_list *node)
{
	node->prev->next = node->next;
	node->next->prev = node->prev;
	soft_list_init(node);
}

/* Each member of a list in turn; the list must not change meanwhile. */
#define soft_list_each(entry, list, member)                                  \
	for (entry = container_of((list)->next, __typeof__(*entry), member); \
	     &entry->member != (list);                                       \
	     entry = container_of(entry->member.next, __typeof__(*entry), member))

#define soft_container container_of

#endif
