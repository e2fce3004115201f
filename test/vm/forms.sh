#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# dapltest on the kernel's soft-RoCE and soft-iWARP: every form that users run, with Debian's binary and with ours
# (test/interop/forms.sh), the regression in one command, what goes wrong on one side (test/dapltest/faults.sh), and
# what ours has beyond theirs.
#
# KINDS          on which (RXE SIW)
# PARTS          which of these (forms regress faults options transfer)
# DAPLTEST_PART  of the iterations of each form are made (400)
# VM_LIMIT       seconds for all (3400)
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=test/vm/lib.sh
. "$here/lib.sh"

# The scripts look for programs where a build has them.
stage_tree() {
	local tree=$stage/build debian=$top_builddir/test/interop/debian
	stage_build dapltest
	mkdir -p "$tree/dat/.libs" "$tree/test/dapltest/.libs" "$tree/test/interop/debian/usr/bin"
	{
		cp "$stage/lib/libdat2.so.2" "$tree/dat/.libs/" && mv "$stage/bin/dapltest" "$tree/" &&
			cp -L "$top_builddir/test/dapltest/.libs/libflip.so" "$tree/test/dapltest/.libs/" &&
			cp "$debian/usr/bin/dapltest" "$tree/test/interop/debian/usr/bin/" &&
			cp "$debian/.have-dapl2-utils" "$tree/test/interop/debian/"
	} || exit 99
	top_builddir=$tree
}

regress() { # KIND
	local kind=$1 log=$stage/regress.$1 server
	(on ours+ours "$kind" B "$top_builddir/dapltest" -T S -D "$UDAPL_IA") >"$log.server" 2>&1 &
	server=$!
	await $server grep -q Ready "$log.server"
	(on ours+ours "$kind" A stdbuf -oL "$top_builddir/dapltest" --regress "$far" -D "$UDAPL_IA" --quick --timeout 60) 2>&1 |
		tee "$log" | sed -u -n "s/^REGRESS: /# $kind &/p"
	grep -qx 'REGRESS: 22 of 22 forms passed' "$log"
	result $? "$kind --regress: every form passes" "$log" "$log.server"
	(on ours+ours "$kind" A timeout 60 "$top_builddir/dapltest" -T Q -s "$far" -D "$UDAPL_IA") >"$log" 2>&1
	wait $server
	result $? "$kind --regress: the server ends when asked" "$log" "$log.server"
}

# SCRIPT as it is, on host A, which also is its peer; its results come as it tells them.
script() { # KIND NAME SCRIPT
	local kind=$1 code
	(on ours+ours "$kind" A /bin/sh "$top_srcdir/$3") 2>&1 | sed -u "s/^\(ok\|not ok\) [0-9]* - /\1 $kind $2: /"
	code=${PIPESTATUS[0]}
	[ "$code" -le 1 ] || echo "not ok $kind $2 ended with $code"
}

run_kind() {
	local kind=$1 near=UDAPL_VM_$1_A_ADDR other=UDAPL_VM_$1_B_ADDR part
	UDAPL_IA=$(adapter "$kind") UDAPL_HOST=${!near} far=${!other}
	export UDAPL_IA UDAPL_HOST DAPLTEST_PART=${DAPLTEST_PART:-400} DAPLTEST_WAIT=60 DAPLTEST_SERVER_LIMIT=3000 DAPLTEST_LIMIT=400
	for part in ${PARTS:-faults regress options transfer forms}; do
		case $part in
		forms) script "$kind" forms test/interop/forms.sh ;;
		faults) script "$kind" faults test/dapltest/faults.sh ;;
		options)
			script "$kind" refusals test/dapltest/refusals.sh
			script "$kind" limits test/dapltest/limits.sh
			script "$kind" options test/dapltest/machine.sh
			;;
		transfer) script "$kind" transfer test/dapltest/transfer.sh ;;
		regress) regress "$kind" ;;
		esac
		echo "# $kind $part done after $SECONDS s"
	done
}

inside() {
	stage_tree
	each_kind
}

case ${1:-} in
--inside) inside | collect ;;
*)
	fetch_debian
	enter_guest "${VM_LIMIT:-3400}"
	;;
esac
