#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# soft-iWARP with TCP's ports taken: rdma_cm chooses from its own table of ports, and the TCP socket below may find
# the choice taken. Half of them, and all of them.
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=test/vm/lib.sh
. "$here/lib.sh"

first=40000
# The kernel's second choice is the next free port of its own, which TCP has: among few ports the connections that
# there are make that likely.
range=512

# Takes every Nth of a new range of ports on host A until its standard input ends: N
take_ports() {
	vm-on SIW A python3 -c '
import socket, sys
taken = []
for port in range(int(sys.argv[1]), int(sys.argv[2]) + 1, int(sys.argv[3])):
    taken.append(socket.socket())
    taken[-1].bind(("", port))
print("ready", flush=True)
sys.stdin.read()' $first $((first + range - 1)) "$1"
}

# With every Nth port taken: N COMMAND...
with_taken() {
	local n=$1 status input
	shift
	first=$((first + range))
	vm-on SIW A sysctl -qw net.ipv4.ip_local_port_range="$first $((first + range - 1))"
	coproc take_ports "$n"
	input=${COPROC[1]}
	read -r <&"${COPROC[0]}" && "$@"
	status=$?
	exec {input}>&-
	wait
	return $status
}

# Each of the twelve finds its first port taken as often as not.
connect_many() {
	local server
	(on ours+ours SIW B timeout 60 "$stage/bin/dtestcm" -P ofa-siw -c 12 -b 12) >"$stage/server" 2>&1 &
	server=$!
	await $server listens_cm SIW &&
		timeout 60 "$0" --on ours+ours SIW A "$stage/bin/dtestcm" -P ofa-siw -c 12 -b 12 -h "$UDAPL_VM_SIW_B_ADDR" \
			>"$stage/client" 2>&1 && wait $server && return
	kill $server 2>/dev/null
	wait $server
	return 1
}

connect_none() {
	UDAPL_IA=ofa-siw timeout 30 "$0" --on ours+ours SIW A "$stage/bin/hello" "$UDAPL_VM_SIW_B_ADDR" >"$stage/client" 2>&1
	[ $? -eq 1 ]
}

inside() {
	local round
	stage_build samples/dtestcm samples/hello test/conformance/conn.t
	for round in 1 2 3; do
		with_taken 2 connect_many
		result $? "every other port is taken: twelve connections, round $round" "$stage/client" "$stage/server"
	done
	with_taken 2 env DAPL_TRACE_LEVEL=3 UDAPL_IA=ofa-siw UDAPL_EXCLUSIONS="$top_srcdir/test/conformance/exclusions" \
		timeout 300 "$0" --on ours+ours SIW A "$stage/bin/conn.t" >"$stage/conn" 2>"$stage/conn.err"
	report "$stage/conn" "every other port is taken, conn" $?
	# What an endpoint says of its port is that of the try that reaches the peer: half of these are tried again.
	for round in 1 2 3 4 5 6; do
		with_taken 2 env UDAPL_TESTS='ep_13_*' DAPL_TRACE_LEVEL=3 UDAPL_IA=ofa-siw \
			timeout 60 "$0" --on ours+ours SIW A "$stage/bin/conn.t" >"$stage/conn" 2>>"$stage/conn.err"
		report "$stage/conn" "every other port is taken, again $round" $?
	done
	grep -q rdma_port_taken "$stage/conn.err"
	result $? "some of these were tried again" "$stage/conn.err"
	with_taken 1 connect_none
	grep -q "event 0x4008 instead of 0x4001" "$stage/client"
	result $? "every port is taken: UNREACHABLE" "$stage/client"
	grep -q "16 ports were tried, .*net.ipv4.ip_local_port_range" "$stage/client"
	result $? "the message names the port range" "$stage/client"
}

case ${1:-} in
--on)
	shift
	on "$@"
	;;
--inside) inside | collect ;;
*) enter_guest "${VM_LIMIT:-600}" ;;
esac
