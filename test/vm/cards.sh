#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Whether the zoo's soft-RoCE and soft-iWARP are the kernel's: what a program sees of the devices is what is recorded in
# test/zoo/seen, which test/zoo/zoo.sh holds the zoo to.
#
# KINDS      which (RXE SIW)
# CARDS_SEEN folder that gets what was seen, to be recorded
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=test/vm/lib.sh
. "$here/lib.sh"

# An address that nobody has, though its hardware address is known. With one SYN soft-iWARP gives up after 3 s.
silent() { # KIND
	local address=UDAPL_VM_$1_A_ADDR netdev=UDAPL_VM_$1_A_NETDEV
	vm-on "$1" A ip neighbour add "${!address%.*}.77" lladdr 02:00:00:00:00:77 nud permanent dev "${!netdev}"
	vm-on "$1" A sysctl -q -w net.ipv4.tcp_syn_retries=1
	printf '%s\n' "${!address%.*}.77"
}

run_kind() { # KIND
	local address=UDAPL_VM_$1_A_ADDR seen=$stage/${1,,}
	vm-on "$1" A timeout 200 "$stage/bin/observe" "${!address}" "$(silent "$1")" >"$seen" 2>"$seen.err"
	result $? "$1: a program looks at it" "$seen" "$seen.err"
	[ -z "${CARDS_SEEN:-}" ] || cp "$seen" "$CARDS_SEEN/"
	diff "$top_srcdir/test/zoo/seen/${1,,}" "$seen" >"$seen.diff"
	result $? "$1: it sees what is recorded" "$seen.diff"
}

inside() {
	stage_build test/zoo/observe
	each_kind
}

case ${1:-} in
--inside) inside | collect ;;
*)
	[ -z "${CARDS_SEEN:-}" ] || share=$(realpath "$CARDS_SEEN")
	enter_guest "${VM_LIMIT:-240}"
	;;
esac
