/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Wake-ups over shared memory (providers/soft/link/shm_wake.c). Two sides send each other messages through rings of two;
 * on each side one thread receives and one sends, and who finds nothing to do sleeps on the socket that both watch.
 * All accesses that the code makes sequentially consistent are steps of their own here, in the order of the code. A
 * lost wake-up is a state in which nobody can go on.
 *
 * PLANT says which mistake is in it; 0: none.
 */
#ifndef PLANT
#define PLANT 0
#endif
#ifndef MESSAGES
#define MESSAGES 3
#endif
#define RING	 2
#define HALF	 1
#define TRIES	 2

#define DATA 1
#define ROOM 2
#define END  4

/* Of side s: what it wrote, and the bytes in the socket for it to read. */
byte sent[2], taken[2], wake_on[2], room_at[2], bytes[2];
/* Its own: who waits for what, and the lock of that. */
byte wanted_in[2], wanted_out[2];
bit locked[2];

#define PEER		(1 - s)
#define READY_IN	(sent[PEER] != taken[s])
#define READY_OUT	(taken[PEER] + HALF >= sent[s])
#define READY(all)	(((all & DATA) && READY_IN) || ((all & ROOM) && READY_OUT))
#define READY_FOR(what) ((what == DATA && READY_IN) || (what == ROOM && READY_OUT))

/* wake(): why is there, or the byte is not sent. */
inline wake(why)
{
	if
	:: (wake_on[PEER] & why) ->
		d_step { old = wake_on[PEER]; wake_on[PEER] = 0 };
		if
		:: old -> bytes[PEER]++
		:: else
		fi
	:: else
	fi
}

/* arm_wakeup(): ready says whether what this thread waits for is there. */
inline arm(what)
{
	atomic { !locked[s]; locked[s] = 1 };
	if
	:: what == DATA -> wanted_in[s] = DATA
	:: else -> wanted_out[s] = ROOM
	fi;
	tries = 0;
	ready = 0;
	do
	:: tries == TRIES -> ready = 1; break
	:: else ->
		tries++;
		all = wanted_in[s] | wanted_out[s];
		if
		:: (all & ROOM) -> room_at[s] = sent[s] - (sent[s] >= HALF -> HALF : sent[s])
		:: else
		fi;
#if PLANT != 1
		d_step { wake_on[s] = wake_on[s] | all | END };
#endif
		if
		:: READY(all) -> ready = READY_FOR(what); break
		:: else
		fi;
		num = bytes[s];
		if
		:: READY(all) -> again = 1
		:: else -> again = 0
		fi;
#if PLANT == 1
		/* Says what it waits for when it has looked. */
		d_step { wake_on[s] = wake_on[s] | all | END };
#endif
		if
		:: again
		:: else ->
			d_step { bytes[s] = bytes[s] - num };
			if
#if PLANT == 2
			/* Does not look whether that was answered by a byte it has just taken. */
			:: true -> break
#else
			:: (wake_on[s] & (all | END)) == (all | END) -> break
			:: else
#endif
			fi
		fi
	od;
	locked[s] = 0
}

/* Sleeps until the socket has a byte, or at once finds what was there. */
inline sleep(what)
{
	arm(what);
	if
	:: ready
	:: else -> bytes[s] > 0
	fi
}

proctype receiver(byte s)
{
	byte done, old, tries, ready, all, num, at;
	bit again;

	do
	:: done == MESSAGES -> break
	:: else ->
		if
		:: READY_IN ->
			done++;
			taken[s]++;
			if
			:: (wake_on[PEER] & ROOM) ->
				at = room_at[PEER];
				if
				:: taken[s] >= at -> wake(ROOM)
				:: else
				fi
			:: else
			fi;
			/* It polls, or stays on the list of those who wait. */
			if
			:: wanted_in[s] = 0
			:: skip
			fi
		:: else -> sleep(DATA)
		fi
	od;
	wanted_in[s] = 0
}

proctype sender(byte s)
{
	byte done, old, tries, ready, all, num, early;
	bit again;

	do
	:: done == MESSAGES -> break
	:: else ->
		if
		:: sent[s] - taken[PEER] < RING ->
			done++;
#if PLANT == 3
			/* Looks who sleeps before it has written. */
			early = wake_on[PEER];
			sent[s]++;
			if
			:: early & DATA -> wake(DATA)
			:: else
			fi;
#else
			sent[s]++;
			wake(DATA);
#endif
			if
			:: wanted_out[s] = 0
			:: skip
			fi
		:: else -> sleep(ROOM)
		fi
	od;
	wanted_out[s] = 0
}

init
{
	atomic {
		run receiver(1);
		run sender(0);
#ifdef BOTH_WAYS
		run receiver(0);
		run sender(1);
#endif
	}
}
