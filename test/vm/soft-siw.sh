#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# The software provider over TCP on one host and the kernel's soft-iWARP on the other, each as server and as client:
# dapltest with data checked, and the program wire for private data.
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=test/vm/lib.sh
. "$here/lib.sh"

adapter_of() { # HOST: the software provider is on A
	[ "$1" = A ] && echo soft || echo ofa-siw
}

# SERVER-HOST CLIENT-HOST
try_wire() {
	local server log=$stage/log address=UDAPL_VM_SIW_$1_ADDR code status
	(on ours+ours SIW "$1" timeout 60 "$stage/bin/wire" server "$(adapter_of "$1")" 1) >"$log.server" 2>&1 &
	server=$!
	await $server grep -q ready "$log.server"
	timeout 60 "$0" --on ours+ours SIW "$2" "$stage/bin/wire" client "$(adapter_of "$2")" "${!address}" >"$log.client" 2>&1
	code=$?
	wait $server
	status=$?
	[ $code -eq 0 ] && [ $status -eq 0 ] && grep -q passed "$log.server" && grep -q passed "$log.client"
	result $? "wire: server on $(adapter_of "$1"), client on $(adapter_of "$2")" "$log.client" "$log.server"
}

client() { # SERVER-HOST CLIENT-HOST NAME -T KIND ARGUMENT...
	local address=UDAPL_VM_SIW_$1_ADDR host=$2 name=$3 log=$stage/log status
	shift 3
	timeout 120 "$0" --on ours+ours SIW "$host" "$stage/bin/dapltest" "${@:1:2}" -s "${!address}" \
		-D "$(adapter_of "$host")" "${@:3}" >"$log.client" 2>&1
	status=$?
	grep -qiE 'fail|error|mismatch|wrong' "$log.client" && status=1
	result $status "dapltest $name" "$log.client" "$log.server"
}

try_dapltest() { # SERVER-HOST CLIENT-HOST
	local server log=$stage/log text
	local mixed="client RW 4096 1 server RW 2048 4 server RR 1024 1 client RR 2048 1 client SR 1024 3 -f server SR 256 3 -f"
	text="server on $(adapter_of "$1"), client on $(adapter_of "$2")"
	(on ours+ours SIW "$1" "$stage/bin/dapltest" -T S -D "$(adapter_of "$1")") >"$log.server" 2>&1 &
	server=$!
	await $server grep -q Ready "$log.server"
	result $? "dapltest, $text: the server is ready" "$log.server" || return
	client "$1" "$2" "-T T SR -V, $text" -T T -V -i 200 -t 1 -w 1 client SR 4096 server SR 4096
	# shellcheck disable=SC2086
	client "$1" "$2" "-T T mixed -V, $text" -T T -V -P -t 2 -w 2 -i 50 $mixed
	client "$1" "$2" "-T T large -V, $text" -T T -V -P -t 1 -w 1 -i 20 client RW 32768 4 server RW 32768 4 \
		server RR 32768 1 client RR 32768 1 client SR 16384 4 -f server SR 16384 4 -f
	client "$1" "$2" "-T P RW, $text" -T P -i 512 -m b RW 4096 2
	client "$1" "$2" "-T P RR, $text" -T P -i 256 -m b RR 32768 1
	client "$1" "$2" "-T Q, $text" -T Q
	wait $server
}

inside() {
	local host
	stage_build dapltest test/vm/wire
	# soft-iWARP of Linux 6.1 gives some frames a CRC that counts their data twice; none was seen with this.
	vm-on SIW B sysctl -qw net.ipv4.tcp_wmem='4096 4194304 8388608'
	for host in A B; do
		local netdev=UDAPL_VM_SIW_${host}_NETDEV
		printf 'soft u2.0 nonthreadsafe default %s udapl.1.0 "%s" ""\n' "$stage/lib/libdaplsoft.so.2" "${!netdev}" \
			>>"$stage/ours.$host.conf"
	done
	try_wire A B
	try_wire B A
	try_dapltest A B
	try_dapltest B A
}

case ${1:-} in
--on)
	shift
	on "$@"
	;;
--inside) inside | collect ;;
*) enter_guest "${VM_LIMIT:-400}" ;;
esac
