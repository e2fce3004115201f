#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Programs of DAT 1.2 and of 2.0 speak with each other on the kernel's soft-RoCE and soft-iWARP.
#
# KINDS     on which (RXE SIW)
# VM_LIMIT  seconds for all of them (300)
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=test/vm/lib.sh
. "$here/lib.sh"

run_kind() { # KIND
	local code
	UDAPL_IA=$(adapter "$1") DAT_OVERRIDE=$stage/ours.A.conf UDAPL_PROGRAMS=$stage/bin \
		vm-on "$1" A timeout --kill-after=5 120 /bin/sh "$top_srcdir/test/dat-1.2/talk.sh" >"$stage/out.$1" 2>&1
	code=$?
	report "$stage/out.$1" "$1 talk" $code
}

inside() {
	stage_build test/dat-1.2/talk-1.2 test/dat-1.2/talk-2.0
	each_kind
}

case ${1:-} in
--inside)
	inside | collect
	;;
*)
	enter_guest "${VM_LIMIT:-300}"
	;;
esac
