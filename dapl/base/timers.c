/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dapl/base/timers.h"

#include <stddef.h>

/*
 * A timer's children are due no earlier than it is, and a list: child is the first, next a
 * sibling. prev is what points to the timer, of whatever kind; NULL if it is not set.
 */

/* One of the two, with the other among its children. Neither has siblings. */
static struct tp_timer *meld(struct tp_timer *a, struct tp_timer *b)
{
	struct tp_timer *first = b->deadline < a->deadline ? b : a;
	struct tp_timer *other = first == a ? b : a;

	other->next = first->child;
	if (other->next)
		other->next->prev = &other->next;
	other->prev = &first->child;
	first->child = other;
	return first;
}

/* All siblings of a list under one of them: in pairs, and then the pairs from the last on. */
static struct tp_timer *meld_all(struct tp_timer *list)
{
	struct tp_timer *pairs = NULL, *first = NULL, *a, *b;

	while ((a = list)) {
		b = a->next;
		list = b ? b->next : NULL;
		a->next = NULL;
		if (b) {
			b->next = NULL;
			a = meld(a, b);
		}
		a->next = pairs;
		pairs = a;
	}
	while ((a = pairs)) {
		pairs = a->next;
		a->next = NULL;
		first = first ? meld(first, a) : a;
	}
	return first;
}

static void join(struct tp_timer **first, struct tp_timer *timer)
{
	if (*first)
		timer = meld(*first, timer);
	*first = timer;
	timer->prev = first;
}

void dapl_timers_add(struct tp_timer **first, struct tp_timer *timer)
{
	timer->next = NULL;
	timer->child = NULL;
	join(first, timer);
}

void dapl_timers_del(struct tp_timer **first, struct tp_timer *timer)
{
	struct tp_timer *children;

	if (!timer->prev)
		return;
	*timer->prev = timer->next;
	if (timer->next)
		timer->next->prev = timer->prev;
	children = meld_all(timer->child);
	timer->prev = NULL;
	timer->next = NULL;
	timer->child = NULL;
	if (children)
		join(first, children);
}
