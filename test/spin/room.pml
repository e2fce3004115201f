/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Room in a ring of shared memory (providers/soft/link/shm.c, soft_shm_consume) on a processor whose stores become
 * visible later than the loads behind them are made. The receiver says what it has taken, and makes sure that this is
 * seen, and looks who sleeps, only where a sender who saw nothing but what was made sure before may sleep. A lost
 * wake-up is a sender that sleeps for ever.
 *
 * PLANT=1: the receiver goes by what it had taken before, seen or not; 2: it never makes sure.
 */
#ifndef PLANT
#define PLANT 0
#endif
#define BYTES 9
#define RING  8
#define HALF  4

/* The sender's: those that it has sent, and what it sleeps for. */
byte sent, room_at;
bit asleep;
/* The receiver's, and its store that is not there yet. */
byte taken, value;
bit pending;
byte woken;

/* A store may become visible at any time. */
active proctype visible()
{
end:
	do
	:: atomic { pending -> taken = value; pending = 0 }
	od
}

active proctype receiver()
{
	byte mine, shown, seen, before;

	do
	:: mine == BYTES -> break
	:: else ->
		/* soft_shm_peek */
		sent != mine;
		seen = sent;
		before = mine;
		/* Some of it, or all. */
		if
		:: mine++
		:: mine = seen
		fi;
		/* soft_shm_consume */
		seen = sent;
		!pending;
		atomic { value = mine; pending = 1 };
		if
#if PLANT == 1
		:: seen - before <= (RING - 1) / 2 -> skip
#else
		:: seen - shown <= (RING - 1) / 2 -> skip
#endif
		:: else ->
			shown = mine;
#if PLANT != 2
			!pending;
#endif
			if
			:: asleep && mine >= room_at -> d_step { asleep = 0; woken++ }
			:: else
			fi
		fi
	od
}

active proctype sender()
{
	do
	:: sent == BYTES -> break
	:: else ->
		if
		:: sent - taken < RING -> sent++
		/* Who found the ring full sleeps until half of it is free. */
		:: sent - taken > HALF ->
			/* soft_shm_arm */
			room_at = sent - HALF;
			asleep = 1;
			if
			:: taken >= room_at
			:: else ->
				woken > 0;
				woken--
			fi
		fi
	od
}
