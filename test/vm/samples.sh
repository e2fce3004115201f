#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# The samples on the kernel's soft-RoCE and soft-iWARP.
#
# KINDS        on which (RXE SIW)
# UDAPL_BRIEF  1: fewer connections
# VM_LIMIT     seconds for all of them (900)
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=test/vm/lib.sh
. "$here/lib.sh"

names=(cno-epoll dtest dtestcm dtestsrq dtestx hello sum trace-level upgrade)

run_kind() { # KIND
	local address=UDAPL_VM_$1_A_ADDR code
	UDAPL_IA=$(adapter "$1") UDAPL_HOST=${!address} DAT_OVERRIDE=$stage/ours.A.conf \
		vm-on "$1" A /bin/sh "$top_srcdir/samples/samples.sh" >"$stage/out.$1" 2>&1
	code=$?
	report "$stage/out.$1" "$1 samples" $code
}

inside() {
	stage_build "${names[@]/#/samples/}"
	export UDAPL_SAMPLES=$stage/bin SAMPLE_LIMIT=300
	each_kind
}

case ${1:-} in
--inside)
	inside | collect
	;;
*)
	enter_guest "${VM_LIMIT:-900}"
	;;
esac
