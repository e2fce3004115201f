#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# What cannot be done is refused: a message that says where and what, an exit code that is not 0, and a server that
# goes on. What is wrong on the command line alone is the business of options.sh.
. "$top_srcdir/test/dapltest/lib.sh"

use_soft
start_server

# refused CODE PATTERN ARGUMENTS...
refused() {
	expected=$1
	pattern=$2
	shift 2
	"$dapltest" "$@" >"$scratch/out" 2>"$scratch/err"
	[ $? -eq "$expected" ] && grep -Eq -- "$pattern" "$scratch/err"
	result $? "exit code $expected: $*" "$scratch/out" "$scratch/err"
}

# Refused before anything is opened.
syntax() {
	refused 1 "$@"
}

# An attempt was made and failed.
fails() {
	refused 100 "$@"
}

plan 16

here="-D $adapter"
there="-s $host $here -n $port --timeout $wait_limit"
pair="client SR 4096 server SR 4096"

syntax 'Invalid Test Type' -T Z $there
syntax 'Must specify server_name' -T T $here $pair
syntax 'seg_size must be a number' -T T $there client SR 0 server SR
syntax 'seg_size must be a number' -T T $there client SR -4096 server SR
syntax 'num_segs must be a number' -T T $there client SR 4096 -1 server SR
syntax 'seg_size must be a number' -T P $there RW 0
syntax 'seg_size must be a number' -T P $there RW 99999999999
syntax 'Cannot find this limit test: limit_none' -T L $here limit_none

fails 'no-such-adapter' -T T -s "$host" -D no-such-adapter -n "$port" $pair
fails 'no-such-host.invalid' -T T -s no-such-host.invalid $here -n "$port" $pair
fails "no connection to $host, port 9" -T T -s "$host" $here -n 9 --timeout "$wait_limit" $pair
fails 'segments per .* needed, the adapter has at most [0-9]+' -T T $there -i 1 client SR 16 999 server SR
fails 'segments per .* needed, the adapter has at most [0-9]+' -T P $there -i 1 RW 16 999

client T -V -i 5 -t 2 -w 2 client SR 512 2 server SR 512 2 client RW 4096 server RR 4096
result $? "the server has suffered nothing" "$scratch/out" "$scratch/err" "$scratch/server.err"
quit_server
result $? "and ends when asked" "$scratch/out" "$scratch/err" "$scratch/server.err"
fails "no connection to $host, port $port" -T Q $there
