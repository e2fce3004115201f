/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Arming a completion queue (providers/soft/engine/cq.c, complete.c) on a processor whose stores become visible
 * later than the loads behind them are made. The consumer arms, polls and sleeps; a producer adds a completion and
 * wakes who has armed. A lost wake-up is a consumer that sleeps for ever.
 *
 * PLANT=1: the consumer has no fence between its store to armed and its load of head; 2: nor has the producer between
 * its store to head and its load of armed.
 */
#ifndef PLANT
#define PLANT 0
#endif
#define COMPLETIONS 2

/* Memory, and the one store of each thread that is not there yet. */
byte head, armed;
bit pending_armed, pending_head;
byte value_armed, value_head;
bit event;

/* A store may become visible at any time. */
active proctype visible()
{
end:
	do
	:: atomic { pending_armed -> armed = value_armed; pending_armed = 0 }
	:: atomic { pending_head -> head = value_head; pending_head = 0 }
	od
}

/* A thread's own store is what it loads. */
#define ARMED_OF_CONSUMER (pending_armed -> value_armed : armed)
#define HEAD_OF_PRODUCER  (pending_head -> value_head : head)

active proctype consumer()
{
	byte tail;

	do
	:: tail == COMPLETIONS -> break
	:: else ->
		/* cq_arm */
		!pending_armed;
		atomic { value_armed = 1; pending_armed = 1 };
#if PLANT != 1
		!pending_armed; /* the fence */
#endif
		/* cq_poll */
		if
		:: head != tail -> tail++
		:: else ->
			event;
			event = 0
		fi
	od
}

active proctype producer()
{
	byte num;

	do
	:: num == COMPLETIONS -> break
	:: else ->
		num++;
		!pending_head;
		atomic { value_head = num; pending_head = 1 };
#if PLANT != 2
		!pending_head; /* sequentially consistent, both */
#endif
		if
		:: armed ->
			/* The exchange waits for nobody's buffer but its own. */
			d_step { armed = 0 };
			event = 1
		:: else
		fi
	od
}
