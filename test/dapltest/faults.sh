#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# What goes wrong on one side is noticed on the other, in time, and ends nothing else.
. "$top_srcdir/test/dapltest/lib.sh"

use_soft
start_server

usable() {
	client T -V -i 10 -t 2 -w 2 client SR 512 2 server SR 512 2 client RW 4096 server RR 4096
	result $? "the server is usable $1" "$scratch/out" "$scratch/err" "$scratch/server.err"
}

# Starts a client whose test does not end by itself, and returns when it is under way: $runner.
start_runner() {
	rm -f "$scratch/runner.out"
	mkfifo "$scratch/runner.out" || bail "mkfifo"
	"$dapltest" -T "$1" -s "$host" -D "$adapter" -n "$port" --timeout 5 -d -i 2000000000 $2 \
		>"$scratch/runner.out" 2>"$scratch/runner.err" &
	runner=$!
	exec 4<"$scratch/runner.out"
	began=
	while [ -z "$began" ] && read -r line <&4; do
		case $line in
		*": Begin...") began=yes ;;
		esac
	done
	cat <&4 >/dev/null &
	exec 4<&-
	[ -n "$began" ] || diag "$scratch/runner.err"
}

# Ends it as `kill -9` does.
kill_runner() {
	kill -9 "$runner"
	wait "$runner" 2>/dev/null
}

# spoiled KIND OPERATIONS...: a client that sends, writes or reads a wrong byte.
spoiled() {
	kind=$1
	shift
	DT_SPOIL=$kind LD_PRELOAD=$top_builddir/test/dapltest/.libs/libflip.so \
		ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}verify_asan_link_order=0" \
		client T -V -i 10 "$@"
	status=$?
	cat "$scratch/err" "$scratch/server.err" >"$scratch/both"
	if few=$(grep -o 'segments per .* needed, the adapter has at most .*' "$scratch/both"); then
		count=$((count + 1))
		echo "ok $count - -V sees a spoiled $kind # SKIP $few"
		return
	fi
	[ $status -eq 100 ] && grep -Eq 'Validation Error :: iteration 2 .* seg=[0-9]+ byte=[0-9]+' \
		"$scratch/both"
	result $? "-V sees a spoiled $kind" "$scratch/out" "$scratch/both"
	: >"$scratch/server.err"
}

plan 16

start_runner T "-t 2 -w 2 client SR 4096 server SR 4096"
kill_runner
usable "after a transaction client was killed"

start_runner P "RW 4096"
kill_runner
usable "after a performance client was killed"

start_runner T "client SR 4096 server SR 4096"
kill -STOP "$runner"
usable "beside a client that stands still"
kill -CONT "$runner"
usable "beside a client that runs"
kill_runner

"$dapltest" -T S -D "$adapter" -n "$port" >"$scratch/out" 2>"$scratch/err"
[ $? -eq 100 ] && has '^NOTICE: server already started for this NIC: '"$adapter"'$'
result $? "a second server on the same port says so" "$scratch/out" "$scratch/err"

client T -i 1 client SR 4096 2000 server SR
result $((! $?)) "more segments than there can be are refused" "$scratch/out" "$scratch/err"

client T -i 1 -t 256 -w 64 client SR 512m server SR 512m
[ $? -eq 100 ] && grep -q 'buffers needed\|buffer too large\|refuses: dat_[a-z_]* ' "$scratch/err"
result $? "more memory than there is is refused, and by whom" "$scratch/out" "$scratch/err"
usable "after that"

: >"$scratch/server.err"
spoiled send client SR 100 3 server SR 100
spoiled write client RW 100 3
spoiled read client RR 100 2

start_runner T "client SR 4096 server SR 4096"
kill -STOP "$server"
wait "$runner"
[ $? -eq 100 ]
result $? "a server that stands still is given up" "$scratch/runner.err"
kill -CONT "$server"
usable "when it goes on"

start_runner T "client SR 4096 server SR 4096"
kill -TERM "$server"
wait "$server"
result $? "SIGTERM ends the server well" "$scratch/server.err"
server=
wait "$runner"
[ $? -eq 100 ]
result $? "and its client with an error" "$scratch/runner.err"

start_server
start_runner T "client SR 4096 server SR 4096"
kill -9 "$server"
wait "$server" 2>/dev/null
server=
wait "$runner"
[ $? -eq 100 ]
result $? "a killed server ends its client with an error" "$scratch/runner.err"
