#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Debian's unmodified programs of release 2.1.10 on our libraries, on the kernel's soft-RoCE and soft-iWARP:
# dapl2-utils.sh [small|dapltest|default], small and dapltest or a part; default is dtest without options, which moves
# 16 GB: half an hour for each device.
#
# UDAPL_BRIEF  1: fewer of them
# KINDS        on which (RXE SIW)
# VM_LIMIT     seconds for all of them
# STACK        theirs+theirs runs them on their own libraries instead, to compare
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=test/vm/lib.sh
. "$here/lib.sh"
stack=${STACK:-ours+ours}
limit=${LIMIT:-600} # seconds of one program

# Both sides of a program: KIND PROGRAM ARGUMENT... Client's and server's exit codes must be 0 and neither may say
# that something failed.
try_pair() {
	local kind=$1 program=$2 server log=$stage/log.$1 address=UDAPL_VM_$1_B_ADDR try code status begun=$SECONDS
	local name="$*"
	shift 2
	for try in 1 2 3 4 5; do
		(on "$stack" "$kind" B timeout "$limit" "$stage/bin/$program" -P "$(adapter "$kind")" "$@") >"$log.server" 2>&1 &
		server=$!
		case $program in
		dtestsrq) await $server listens_cm "$kind" ;;
		*) await $server listens_tcp "$kind" 15828 ;; # where it hands the client its parameters
		esac
		timeout "$limit" "$0" --on "$stack" "$kind" A "$stage/bin/$program" -P "$(adapter "$kind")" -h "${!address}" \
			"$@" >"$log.client" 2>&1
		code=$?
		# A server of theirs may begin to listen after it told its client that it does.
		grep -q NON_PEER_REJECTED "$log.client" || break
		kill $server
		wait $server
	done
	wait $server
	status=$?
	[ $code -eq 0 ] && [ $status -eq 0 ] && ! grep -qE 'FAILED|ERR|[Ee]rror' "$log.client" "$log.server"
	result $? "$name (client $code, server $status)" "$log.client" "$log.server" &&
		echo "# $name took $((SECONDS - begun)) s"
}

# One run of dapltest's client: KIND NAME ARGUMENT...
client() {
	local kind=$1 name=$2 log=$stage/log.$1 address=UDAPL_VM_$1_B_ADDR status begun=$SECONDS
	shift 2
	timeout 120 "$0" --on "$stack" "$kind" A "$stage/bin/dapltest" "${@:1:2}" -s "${!address}" \
		-D "$(adapter "$kind")" "${@:3}" \
		>"$log.client" 2>&1
	status=$?
	# Its exit status tells nothing of the test's outcome; its words do.
	grep -qiE 'fail|error|mismatch|wrong' "$log.client" && status=1
	result $status "$kind dapltest $name" "$log.client" "$log.dapltest" &&
		echo "# $kind dapltest $name took $((SECONDS - begun)) s"
}

limits() { # KIND TEST
	local kind=$1 log=$stage/log.$1 status
	timeout 120 "$0" --on "$stack" "$kind" A "$stage/bin/dapltest" -T L -D "$(adapter "$kind")" -w 8 -m "${3:-100}" \
		"$2" >"$log.client" 2>&1
	status=$?
	grep -qiE 'fail|mismatch|wrong' "$log.client" && status=1
	result $status "$kind dapltest -T L $2" "$log.client"
}

# The forms that users run, as long as a form takes a second or two in an emulated machine.
forms_brief() { # KIND
	local mixed="client RW 4096 1 server RW 2048 4 server RR 1024 1 client RR 2048 1 client SR 1024 3 -f server SR 256 3 -f"
	client "$1" "conn" -T T -i 1 -t 1 -w 1 client SR 4096 server SR 4096
	client "$1" "trans, -V" -T T -V -i 200 -t 1 -w 1 client SR 4096 server SR 4096
	# shellcheck disable=SC2086
	client "$1" "transmet, -V" -T T -V -P -t 2 -w 2 -i 20 $mixed
	client "$1" "perf" -T P -i 512 -m b RW 4096 2
	client "$1" "latp" -T P -i 1000 -p 1 -m p RW 4 1
	limits "$1" limit_ep
}

forms_full() { # KIND
	local mixed="client RW 4096 1 server RW 2048 4 server RR 1024 1 client RR 2048 1 client SR 1024 3 -f server SR 256 3 -f"
	client "$1" "conn" -T T -i 1 -t 1 -w 1 client SR 4096 server SR 4096
	client "$1" "trans" -T T -i 2048 -t 1 -w 1 client SR 4096 server SR 4096
	client "$1" "trans, -V" -T T -V -i 500 -t 1 -w 1 client SR 4096 server SR 4096
	# shellcheck disable=SC2086
	{
		client "$1" "transm, -V" -T T -V -P -t 1 -w 1 -i 200 $mixed
		client "$1" "transme" -T T -P -t 1 -w 4 -i 200 $mixed
		client "$1" "transmet" -T T -P -t 2 -w 4 -i 100 $mixed
		client "$1" "transmete, -V" -T T -V -P -t 4 -w 4 -i 50 $mixed
	}
	client "$1" "transmx" -T T -P -t 1 -w 1 -i 50 client RW 32768 4 server RW 32768 4 server RR 32768 1 \
		client RR 32768 1 client SR 16384 4 -f server SR 16384 4 -f
	client "$1" "transt" -T T -i 256 -t 4 -w 1 client SR 8192 3 server SR 8192 3
	client "$1" "threads" -T T -i 256 -t 6 -w 1 client SR 8192 3 server SR 8192 3
	client "$1" "threadsm" -T T -i 64 -t 4 -w 4 client SR 8192 3 server SR 8192 3
	client "$1" "epa" -T T -i 16 -t 10 -w 10 client SR 8192 3 server SR 8192 3
	client "$1" "perf" -T P -i 2048 -m b RW 4096 2
	client "$1" "rdma-read" -T P -i 512 RR 32768 1
	client "$1" "rdma-write" -T P -i 512 RW 32768 4
	client "$1" "bw" -T P -i 512 -p 16 -m b RW 65536 2
	client "$1" "latb" -T P -i 2048 -p 1 -m b RW 4 1
	client "$1" "latp" -T P -i 10000 -p 1 -m p RW 4 1
	for limit in ia pz evd ep psp lmr; do
		limits "$1" limit_$limit
	done
	limits "$1" limit_rpost 15
}

dapltest() { # KIND brief|full
	local server log=$stage/log.$1.dapltest
	(on "$stack" "$1" B "$stage/bin/dapltest" -T S -D "$(adapter "$1")") >"$log" 2>&1 &
	server=$!
	await $server grep -q Ready "$log"
	result $? "$1 dapltest -T S: the server is ready" "$log" || return
	"forms_$2" "$1"
	client "$1" "-T Q" -T Q
	for _ in {1..100}; do
		kill -0 $server 2>/dev/null || break
		sleep 0.1
	done
	! kill $server 2>/dev/null
	result $? "$1 dapltest -T Q ends the server" "$log"
}

small() { # KIND brief|full
	try_pair "$1" dtest -b 16384
	try_pair "$1" dtestcm -c 50
	try_pair "$1" dtestsrq -b 1024
	try_pair "$1" dtestsrq # messages as long as the adapter's MTU
	if [ "$1" = SIW ]; then
		skipped "$1 dtestx" "soft-iWARP has neither atomics nor immediate data"
	else
		try_pair "$1" dtestx
	fi
	if [ "$2" = full ]; then
		try_pair "$1" dtest -b 65536 -p
		try_pair "$1" dtest -b 65536 -c
		try_pair "$1" dtest -b 65536 -B 20
		try_pair "$1" dtest -b 4194304 -B 1
		try_pair "$1" dtestcm -w -c 100
		try_pair "$1" dtestcm -c 500
		try_pair "$1" dtestsrq -b 1024 -c 4 -B 10 -t 5
	fi
}

run_kind() { # KIND brief|full [small|dapltest|default]
	case ${3:-} in
	default) try_pair "$1" dtest ;;
	small) small "$1" "$2" ;;
	dapltest) dapltest "$1" "$2" ;;
	*)
		small "$1" "$2"
		dapltest "$1" "$2"
		;;
	esac
}

inside() { # brief|full [small|dapltest|default]
	local kind
	stage_build
	stage_debian
	for kind in ${KINDS:-RXE SIW}; do
		run_kind "$kind" "$@" &
		[ "${2:-}" != default ] || wait # one has the machine to itself
	done
	wait
}

case ${1:-} in
--on)
	shift
	on "$@"
	;;
--inside)
	shift
	inside "$@" | collect
	;;
*)
	fetch_debian
	if [ "${UDAPL_BRIEF:-}" = 1 ]; then
		enter_guest "${VM_LIMIT:-500}" brief "$@"
	else
		enter_guest "${VM_LIMIT:-1800}" full "$@"
	fi
	;;
esac
