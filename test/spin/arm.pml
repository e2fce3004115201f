/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Arming a completion queue (providers/soft/engine/cq.c, complete.c) on a processor whose stores become visible
 * later than the loads behind them are made. The consumer arms, polls and sleeps; a producer adds a completion and
 * wakes who has armed. Both do so under the queue's lock, whose release waits for the stores before it. A lost wake-up
 * is a consumer that sleeps for ever.
 *
 * PLANT=1: the consumer arms without the lock; 2: the producer adds without it.
 */
#ifndef PLANT
#define PLANT 0
#endif
#define COMPLETIONS 2

/* Memory, and the one store of each thread that is not there yet. */
byte head, armed;
bit pending_armed, pending_head;
byte value_armed, value_head;
bit event, locked;

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
#if PLANT != 1
		atomic { !locked; locked = 1 };
#endif
		!pending_armed;
		atomic { value_armed = 1; pending_armed = 1 };
#if PLANT != 1
		atomic { !pending_armed; locked = 0 };
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
	bit seen;

	do
	:: num == COMPLETIONS -> break
	:: else ->
		num++;
#if PLANT != 2
		atomic { !locked; locked = 1 };
#endif
		!pending_head;
		atomic { value_head = num; pending_head = 1 };
		seen = armed;
#if PLANT != 2
		atomic { !pending_head; locked = 0 };
#endif
		if
		:: seen ->
			/* The exchange waits for nobody's buffer but its own. */
			d_step { armed = 0 };
			event = 1
		:: else
		fi
	od
}
