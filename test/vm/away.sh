#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# A device is taken away under traffic: removed, or its network device switched off. Every waiter of the host that
# loses it wakes with the right event, and so do those of its peer; closing works; nothing hangs.
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=test/vm/lib.sh
. "$here/lib.sh"

take_away() { # KIND removed|down
	local device=UDAPL_VM_$1_A_DEV netdev=UDAPL_VM_$1_A_NETDEV
	if [ "$2" = removed ]; then
		vm-on "$1" A timeout 90 rdma link del "${!device}"
	else
		vm-on "$1" A ip link set "${!netdev}" down
	fi
}

# NAME PATTERN FILE
told() {
	grep -qE "$2" "$3"
	result $? "$1" "$3"
}

run_case() { # KIND removed|down
	local kind=$1 how=$2 server client code log=$stage/log.$1.$2 address=UDAPL_VM_$1_B_ADDR remover
	local name="$1 $2"
	(on ours+ours "$kind" B timeout 240 "$stage/bin/away" server "$(adapter "$kind")") >"$log.server" 2>&1 &
	server=$!
	await $server grep -q ready "$log.server"
	(on ours+ours "$kind" A timeout 240 "$stage/bin/away" client "$(adapter "$kind")" "${!address}" "$how") >"$log.client" 2>&1 &
	client=$!
	await $client grep -q running "$log.client" && await $server grep -q running "$log.server"
	result $? "$name: there is traffic both ways" "$log.client" "$log.server" || return
	take_away "$kind" "$how" >"$log.remover" 2>&1 &
	remover=$!
	wait $client
	code=$?
	told "$name: the connection's waiter hears of its end" '^connection: (BROKEN|DISCONNECTED)' "$log.client"
	told "$name: the receives are given back" '^receive: completion' "$log.client"
	[ "$how" = down ] || told "$name: the notification object wakes" '^cno: notified' "$log.client"
	told "$name: the adapter's failure is reported" '^async: IA_CATASTROPHIC' "$log.client"
	told "$name: the program closes" '^close: 0x0$' "$log.client"
	told "$name: closing ends the wait for what cannot come" '^request: returned' "$log.client"
	result $code "$name: nothing hangs" "$log.client"
	wait $remover
	result $? "$name: the device is gone when the program is" "$log.remover"
	wait $server
	code=$?
	told "$name: the peer hears of the end" '^connection: (BROKEN|DISCONNECTED)' "$log.server"
	result $code "$name: the peer closes, nothing hangs" "$log.server"
}

run_kind() {
	local device=UDAPL_VM_$1_A_DEV netdev=UDAPL_VM_$1_A_NETDEV
	run_case "$1" removed
	vm-on "$1" A rdma link add "${!device}" type "${1,,}" netdev "${!netdev}"
	result $? "$1: the device comes back" && await $$ is_active "$1"
	# With the network device go the routes: last. TCP would try to reach the lost host for a quarter of an hour.
	vm-on "$1" B sysctl -qw net.ipv4.tcp_retries2=3
	run_case "$1" down
}

is_active() {
	local device=UDAPL_VM_$1_A_DEV
	[[ $(<"/sys/class/infiniband/${!device}/ports/1/state") == *ACTIVE ]]
}

inside() {
	stage_build test/vm/away
	each_kind
}

case ${1:-} in
--inside) inside | collect ;;
*) enter_guest "${VM_LIMIT:-400}" ;;
esac
