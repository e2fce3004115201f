#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Programs of DAT 1.2 and of 2.0 speak with each other on the kernel's soft-RoCE and soft-iWARP, by our module and by
# release 2.1.10's (D12-T6, D12-T8).
#
# KINDS     on which (RXE SIW)
# VM_LIMIT  seconds for all of them (300)
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=test/vm/lib.sh
. "$here/lib.sh"

run_kind() { # KIND
	local module code
	for module in ours theirs; do
		UDAPL_IA=$(adapter "$1") DAT_OVERRIDE=$stage/$module.A.conf UDAPL_PROGRAMS=$stage/bin \
			vm-on "$1" A timeout --kill-after=5 120 /bin/sh "$top_srcdir/test/dat-1.2/talk.sh" >"$stage/out.$1" 2>&1
		code=$?
		report "$stage/out.$1" "$1 $module" $code
	done
}

inside() {
	stage_build test/dat-1.2/talk-1.2 test/dat-1.2/talk-2.0
	stage_debian
	each_kind
}

case ${1:-} in
--inside)
	inside | collect
	;;
*)
	fetch_debian
	enter_guest "${VM_LIMIT:-300}"
	;;
esac
