#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# One server serves clients of all kinds for a long time: every byte is checked, some clients are killed, and what the
# server holds stays what it was.
#
# SOAK_SECONDS  how long, over each link (25)
# SOAK_SEED     what decides the sequence (the time)
. "$top_srcdir/test/dapltest/lib.sh"

use_soft
seconds=${SOAK_SECONDS:-25}
# What waits for a peer that is dead does not wait longer than this test.
export DAPL_SOFT_LINGER=1000 DAPL_SOFT_UNRECEIVED=1000
seed=${SOAK_SEED:-$(date +%s)}
echo "# seed $seed"

# A number from 0 to $1 - 1, in $number.
draw() {
	seed=$(((seed * 1103515245 + 12345) % 2147483648))
	number=$((seed / 65536 % $1))
}

# What the server holds: kilobytes, descriptors, threads.
holds() {
	memory=$(sed -n 's/^VmRSS:[^0-9]*\([0-9]*\) kB/\1/p' "/proc/$server/status")
	threads=$(sed -n 's/^Threads:[^0-9]*//p' "/proc/$server/status")
	descriptors=$(find "/proc/$server/fd" -mindepth 1 2>/dev/null | wc -l)
}

# Transactions of a random mix, checked byte by byte.
transactions() {
	draw 3
	clients=$((number + 1))
	draw 4
	eps=$((number + 1))
	draw 60000
	size=$((number + 1))
	draw 4
	case $number in
	0) set -- client SR "$size" server SR "$size" ;;
	1) set -- client RW "$size" 2 server RW 777 client SR 1 -f server SR 1 -f ;;
	2) set -- client RR "$size" server RR 4096 2 client SR 64 server SR "$size" 3 ;;
	*) set -- client SR 8 3 server SR "$size" 3 client RW 33 server RR "$size" ;;
	esac
	client T -V -t "$clients" -w "$eps" -i 20 "$@" || fail_round "-t $clients -w $eps $*"
}

streams() {
	draw 30000
	size=$((number + 1))
	draw 2
	set -- p b
	shift "$number"
	client P -i 200 -p 4 -m "$1" RW "$size" 1 || fail_round "-m $1 RW $size"
}

# A client that dies in the midst of what it does.
deaths() {
	timeout -s KILL 0.2 "$dapltest" -T T -s "$host" -D "$adapter" -n "$port" -t 2 -w 2 -i 1000000 \
		client SR 4096 server SR 4096 client RW 8192 server RR 8192 >/dev/null 2>&1
}

fail_round() {
	[ -n "$failure" ] || failure="round $rounds: $*"
}

round() {
	rounds=$((rounds + 1))
	draw 8
	case $number in
	0) deaths ;;
	1 | 2) streams ;;
	*) transactions ;;
	esac
	kill -0 "$server" 2>/dev/null || fail_round "the server has ended"
}

# Rounds until a time, or a failure.
rounds_until() {
	while [ -z "$failure" ] && [ "$(date +%s)" -lt "$1" ]; do
		round
	done
}

# What is released in the background has been when nothing changes for two seconds, or when it is no more than
# $1 descriptors and $2 threads.
settle() {
	still=0 looks=0
	holds
	while [ $still -lt 10 ] && [ $looks -lt 150 ]; do
		[ -z "${1:-}" ] || [ "$descriptors" -gt "$1" ] || [ "$threads" -gt "$2" ] || return 0
		before="$descriptors $threads"
		sleep 0.2
		holds
		looks=$((looks + 1))
		still=$((still + 1))
		[ "$before" = "$descriptors $threads" ] && [ -z "${1:-}" ] || still=0
	done
}

soak() {
	rounds=0 failure=
	start_server
	start=$(date +%s)
	# The first third fills pools and caches.
	rounds_until $((start + seconds / 3))
	settle
	first_memory=$memory first_descriptors=$descriptors first_threads=$threads
	rounds_until $((start + seconds))
	result "$([ -z "$failure" ]; echo $?)" "$1: $rounds rounds, every byte as it was sent" "$scratch/out" "$scratch/err" \
		"$scratch/server.err" || diag <<EOT
$failure
EOT
	settle "$first_descriptors" "$first_threads"
	echo "# $1: memory $first_memory, then $memory kB; descriptors $first_descriptors, then $descriptors; threads $first_threads, then $threads"
	[ "$descriptors" -le "$first_descriptors" ] && [ "$threads" -le "$first_threads" ]
	result $? "$1: no descriptor or thread is left behind"
	# A sanitizer keeps what is freed.
	[ -n "${SAN_FLAGS:-}" ] || [ "$memory" -le $((first_memory + first_memory / 4 + 4096)) ]
	result $? "$1: memory is flat${SAN_FLAGS:+ # SKIP with a sanitizer}"
	quit_server
	result $? "$1: the server quits when it is asked to"
}

plan 8
DAPL_SOFT_LINK=tcp
export DAPL_SOFT_LINK
soak tcp
DAPL_SOFT_LINK=shm
export DAPL_SOFT_LINK
soak shm
