/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Access to a peer's registered memory (providers/soft/link/shm_direct.c) on a processor whose stores become visible
 * later than the loads behind them are made, and with a peer who may be stopped anywhere outside of the kernel, for
 * ever or not. No copy may be under way once its owner has the memory for himself.
 *
 * PLANT=1: the peer does not wait until what he says is seen; 2: the owner looks who copies before he takes the region
 * out; 3: he has no patience, and leaves the bytes.
 */
#ifndef PLANT
#define PLANT 0
#endif
#define COPIES 3

/* The owner's: the region is exposed; it is his alone. */
bit key = 1, alone;
/* The peer's: odd while he is at it; the bytes he wants, which the owner may take away. */
byte access;
bit bytes;
/* His store to access that is not there yet. */
byte value;
bit pending;
/* The kernel copies, which nothing stops. */
bit copying;

active proctype visible()
{
end:
	do
	:: atomic { pending -> access = value; pending = 0 }
	od
}

active proctype owner()
{
	byte seen;

#if PLANT == 2
	seen = access;
	key = 0;
#else
	/* shm_revoke */
	key = 0;
	seen = access;
#endif
	/* await_access */
	if
	:: seen % 2 == 0
	:: else ->
#if PLANT != 3
		bytes = 0;
#endif
		if
		:: access != seen
		/* Out of patience, which lasts longer than a copy. */
		:: !copying -> skip
		fi
	fi;
	atomic { alone = 1; assert(!copying) }
}

active proctype peer()
{
	byte n;

	do
	:: break
	:: n < COPIES ->
		/* copy */
		bytes = 1;
		!pending;
		atomic { value = 2 * n + 1; pending = 1 };
#if PLANT != 1
		!pending;
#endif
		if
		:: key ->
			/* He may stand still here, for longer than anyone's patience. */
			if
			:: atomic { bytes -> copying = 1; assert(!alone) }
			:: !bytes
			fi;
			copying = 0
		:: !key
		fi;
		!pending;
		atomic { value = 2 * n + 2; pending = 1 };
		n++
	od
}
