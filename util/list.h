/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Intrusive doubly linked lists. A node that is on no list points to itself. */
#ifndef UTIL_LIST_H
#define UTIL_LIST_H

#include <stdbool.h>

#include "util/compiler.h"

/* The head of a list, or a node of one. */
struct list {
	struct list *next, *prev;
};

/* What an empty list of that name begins as. */
#define LIST_EMPTY(name)     \
	{                    \
		&name, &name \
	}

static inline void list_init(struct list *list)
{
	list->next = list->prev = list;
}

static inline bool list_empty(const struct list *list)
{
	return list->next == list;
}

/* At the end. */
static inline void list_add(struct list *list, struct list *node)
{
	node->prev = list->prev;
	node->next = list;
	list->prev->next = node;
	list->prev = node;
}

static inline void list_del(struct list *node)
{
	node->prev->next = node->next;
	node->next->prev = node->prev;
	list_init(node);
}

/* Turns a list, so that it begins with that node of it; with the list itself: as it is. */
static inline void list_turn(struct list *list, struct list *node)
{
	if (node == list)
		return;
	list_del(list);
	list_add(node, list);
}

/* Each structure of a list, whose nodes are its members of that name. None may go meanwhile. */
#define list_for_each(each, list, member)                                  \
	for (each = container_of((list)->next, __typeof__(*each), member); \
	     &each->member != (list);                                      \
	     each = container_of(each->member.next, __typeof__(*each), member))

#endif
