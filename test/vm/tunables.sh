#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# The tunables of the verbs provider that show outside: packet size, traffic class, hop limit, service level.
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=test/vm/lib.sh
. "$here/lib.sh"

# Runs RDMA writes from A to B, both with settings, and leaves what A sends in $stage/packets: KIND udp|tcp SETTING...
traffic() (
	kind=$1 protocol=$2 netdev=UDAPL_VM_$1_A_NETDEV address=UDAPL_VM_$1_B_ADDR
	shift 2
	export "$@"
	(on ours+ours "$kind" B timeout 60 "$stage/bin/dapltest" -T S -D "$(adapter "$kind")") >"$stage/server" 2>&1 &
	server=$!
	(exec vm-on "$kind" A python3 "$here/packets.py" "${!netdev}" "$protocol") >"$stage/packets" 2>"$stage/packets.err" &
	capture=$!
	await $server grep -q Ready "$stage/server" && await $capture grep -q ready "$stage/packets" &&
		timeout 60 "$0" --on ours+ours "$kind" A "$stage/bin/dapltest" -T P -s "${!address}" -D "$(adapter "$kind")" \
			-i 20 -p 4 -m p RW 16384 1 >"$stage/client" 2>&1
	status=$?
	sleep 0.2 # the last packets' lines
	kill $capture $server
	wait $capture $server 2>/dev/null
	sed -i 1d "$stage/packets"
	return $status
)

# Whether lines of the data packets, which are larger than those that connect, are so: AWK-CONDITION
all_data() {
	awk '$3 > 500 { n++; if (!('"$1"')) wrong++ } END { exit !n || wrong > 0 }' "$stage/packets"
}

# KIND udp|tcp NAME AWK-CONDITION SETTING...
shows() {
	local name="$1 $3" condition=$4
	traffic "$1" "$2" "${@:5}" && all_data "$condition"
	result $? "$name" "$stage/client" "$stage/server" <(sort "$stage/packets" | uniq -c | sort -rn | head -n 5) \
		"$stage/packets.err"
}

try_rxe() {
	shows RXE udp "without settings packets have 1024 bytes of data, no class" '$3 < 1100 && $1 == 0' LC_ALL=C
	shows RXE udp "DAPL_IB_MTU=512" '$3 < 600' DAPL_IB_MTU=512
	shows RXE udp "DAPL_IB_MTU=700 is rounded down" '$3 < 600' DAPL_IB_MTU=700
	shows RXE udp "DAPL_TCLASS=72" '$1 == 72' DAPL_TCLASS=72
	shows RXE udp "DAPL_CM_TOS=40" '$1 == 40' DAPL_CM_TOS=40
	# Soft-RoCE sends no service level, and the kernel sets RoCE's hop limit: what the device is told has to do.
	traffic RXE udp LD_PRELOAD="$stage/address.so" DAPL_IB_SL=5 DAPL_HOP_LIMIT=9 &&
		grep -q "sl=5 .* hop_limit=9 " "$stage/client"
	result $? "RXE DAPL_IB_SL=5 DAPL_HOP_LIMIT=9" "$stage/client"
}

inside() {
	stage_build dapltest
	cc -shared -fPIC -o "$stage/address.so" "$here/address.c" -ldl 2>"$stage/cc.err"
	result $? "what looks at addresses compiles" "$stage/cc.err"
	try_rxe
	# Soft-iWARP of this kernel sends it nowhere; the connection works all the same.
	shows SIW tcp "DAPL_CM_TOS=40 does no harm" 1 DAPL_CM_TOS=40
}

case ${1:-} in
--on)
	shift
	on "$@"
	;;
--inside) inside | collect ;;
*) enter_guest "${VM_LIMIT:-300}" ;;
esac
