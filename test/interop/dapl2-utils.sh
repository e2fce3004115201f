#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Programs of release 2.1.10 as Debian built them, unmodified, on our libdat2 and software provider.
: "${top_srcdir:?}" "${top_builddir:?}"
. "$top_srcdir/test/interop/debian.sh"
[ -z "${SAN_FLAGS:-}" ] || skip_all "a program without the sanitizer's run-time cannot load a library with it"
fetch dapl2-utils || skip_all "Debian's dapl2-utils cannot be had here: $(tail -n 1 "$scratch/fetch.log")"
# Other people's servers listen on fixed ports: a network of our own keeps them apart.
if [ -z "${IN_PRIVATE_NETWORK:-}" ] && unshare --net true 2>/dev/null; then
	rm -rf "$scratch"
	IN_PRIVATE_NETWORK=1 exec unshare --net sh -c 'ip link set lo up && exec /bin/sh "$@"' sh "$0" "$@"
fi
use_soft
LD_LIBRARY_PATH=$top_builddir/dat/.libs
export LD_LIBRARY_PATH

dtest=$debian/usr/bin/dtest
client=1
served=1
dapltest=$debian/usr/bin/dapltest

# One run of both sides of dtest: OPTION...; sets $listens, $client and $served.
run_dtest() {
	timeout 120 "$dtest" -P soft-lo -s "$@" >"$scratch/server" 2>&1 &
	server=$!
	children="$children $server"
	wait_listen 15828 $server # where it hands the client its parameters
	listens=$?
	[ $listens -eq 0 ] || return
	timeout 120 "$dtest" -P soft-lo -h 127.0.0.1 "$@" >"$scratch/client" 2>&1
	client=$?
	# Its server begins to listen only after it has told the client where: on a busy machine the client
	# comes too early, and the server would wait for ever.
	if grep -q NON_PEER_REJECTED "$scratch/client"; then
		kill "$server" 2>/dev/null
		wait "$server" 2>/dev/null
		return 1
	fi
	wait $server
	served=$?
	return 0
}

# Both sides of dtest: NAME OPTION...
try_dtest() {
	name=$1
	shift
	for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
		run_dtest "$@" && break
	done
	result $listens "dtest $name: server listens" "$scratch/server" || return
	result "$client" "dtest $name: client passes" "$scratch/client" "$scratch/server"
	result "$served" "dtest $name: server passes" "$scratch/server"
	grep -q 'PASSED' "$scratch/client" && grep -q 'PASSED' "$scratch/server"
	result $? "dtest $name: both say so" "$scratch/client" "$scratch/server"
}

# One run of dapltest's client: NAME -T KIND ARGUMENT...
client() {
	name=$1
	kind=$3
	shift 3
	timeout 60 "$dapltest" -T "$kind" -s 127.0.0.1 -D soft-lo "$@" >"$scratch/client" 2>&1
	status=$?
	# Its exit status tells nothing of the test's outcome; its words do.
	grep -qiE 'fail|error|mismatch|wrong' "$scratch/client" && status=1
	result $status "dapltest $name" "$scratch/client" "$scratch/server"
}

# With its own 4 MiB in bursts of 1000 a run moves 17 GB: once.
try_dtest "default"
try_dtest "polling" -p -b 262144
try_dtest "with CNO" -c -b 262144
try_dtest "64 KiB, burst of 20" -b 65536 -B 20

# Both sides of dtestsrq, which waits for an asynchronous event when a connection has ended: OPTION...
try_dtestsrq() {
	timeout 60 "$debian/usr/bin/dtestsrq" -P soft-lo "$@" >"$scratch/server" 2>&1 &
	server=$!
	children="$children $server"
	wait_listen 45248 $server
	timeout 60 "$debian/usr/bin/dtestsrq" -P soft-lo -h 127.0.0.1 "$@" >"$scratch/client" 2>&1
	client=$?
	wait $server
	served=$?
	[ $client -eq 0 ] && [ $served -eq 0 ] && ! grep -qE 'ERR|[Ee]rror' "$scratch/client" "$scratch/server"
	result $? "dtestsrq $*: both pass (client $client, server $served)" "$scratch/client" "$scratch/server"
}
try_dtestsrq
try_dtestsrq -b 1024
try_dtestsrq -b 1024 -c 4 -B 10 -t 5

# One run of both sides with datagrams: OPTION...; fails when a side asked before the other listened.
run_dtestx() {
	timeout 60 "$debian/usr/bin/dtestx" -P soft-lo -s "$@" >"$scratch/server" 2>&1 &
	server=$!
	children="$children $server"
	wait_listen 15828 $server # where it hands the client its address
	timeout 60 "$debian/usr/bin/dtestx" -P soft-lo -c -h 127.0.0.1 "$@" >"$scratch/client" 2>&1
	client=$?
	if grep -qs 'Connection refused' "$scratch/client" "$scratch/server"; then
		kill "$server" 2>/dev/null # it would wait for ever for a consent
		wait "$server" 2>/dev/null
		return 1
	fi
	wait $server
	served=$?
	return 0
}

try_dtestx() {
	for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
		run_dtestx "$@" && break
	done
	[ $client -eq 0 ] && [ $served -eq 0 ] && grep -q 'UD test PASSED' "$scratch/client" &&
		grep -q 'UD test PASSED' "$scratch/server"
	result $? "dtestx $*: both pass (client $client, server $served)" "$scratch/client" "$scratch/server"
}
try_dtestx -u
try_dtestx -U 4
try_dtestx -u -m

timeout 300 "$dapltest" -T S -D soft-lo >"$scratch/server" 2>&1 &
server=$!
children="$children $server"
wait_line Ready "$scratch/server" $server
result $? "dapltest -T S: server is ready" "$scratch/server"

client "-T T, 1 thread, 1 endpoint, SR, -V" -T T -V -i 500 -t 1 -w 1 client SR 4096 server SR 4096
client "-T T, 1 thread, 4 endpoints, SR, -V" -T T -V -i 200 -t 1 -w 4 client SR 4096 server SR 4096
client "-T T, 4 threads, 1 endpoint, SR, -V" -T T -V -i 200 -t 4 -w 1 client SR 8192 3 server SR 8192 3
client "-T T, 4 threads, 4 endpoints, SR, -V" -T T -V -i 50 -t 4 -w 4 client SR 8192 3 server SR 8192 3
client "-T T, RW, RR and SR mixed, -V" -T T -V -P -t 1 -w 1 -i 200 client RW 4096 1 server RW 2048 4 \
	server RR 1024 1 client RR 2048 1 client SR 1024 3 -f server SR 256 3 -f
client "-T T, mixed, 4 endpoints, -V" -T T -V -P -t 1 -w 4 -i 100 client RW 4096 1 server RW 2048 4 \
	server RR 1024 1 client RR 2048 1 client SR 1024 3 -f server SR 256 3 -f
client "-T T, mixed, 4 threads, 4 endpoints, -V" -T T -V -P -t 4 -w 4 -i 50 client RW 4096 1 \
	server RW 2048 4 server RR 1024 1 client RR 2048 1 client SR 1024 3 -f server SR 256 3 -f
client "-T T, large, RW and RR" -T T -P -t 1 -w 1 -i 200 client RW 32768 4 server RW 32768 4 \
	server RR 32768 1 client RR 32768 1 client SR 16384 4 -f server SR 16384 4 -f
client "-T P, RW, blocking" -T P -i 2048 -m b RW 4096 2
client "-T P, RW, polling" -T P -i 10000 -p 1 -m p RW 4 1
client "-T P, RW, pipelined" -T P -i 2048 -p 16 -m b RW 65536 2
client "-T P, RR, blocking" -T P -i 2048 -m b RR 32768 1
client "-T P, RR, polling" -T P -i 2048 -m p RR 32768 1
client "-T Q" -T Q
wait $server
result $? "dapltest -T Q ends the server" "$scratch/server"

echo "1..$count"
[ $failures -eq 0 ]
