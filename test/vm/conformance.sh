#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# The conformance suite on the kernel's soft-RoCE and soft-iWARP: conformance.sh [PROGRAM...].
# A program of another folder of test/ is named with it: conformance.sh dat-1.2/pscom.
#
# KINDS              on which (RXE SIW)
# UDAPL_BRIEF        1: races are repeated a tenth as often
# CONFORMANCE_LIMIT  seconds for each program (300)
# CONFORMANCE_BUDGET seconds after which no other program starts, and the one that runs is ended: both are skipped
# VM_LIMIT           seconds for all of them (2400)
# CONFORMANCE_LOGS   folder that gets rxe/PROGRAM.log and siw/PROGRAM.log (with VM_CM rxe-scm/ or rxe-ucm/), for
#                    test/conformance/matrix.py
# RUNNER             command that runs each program, such as valgrind
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=test/vm/lib.sh
. "$here/lib.sh"

programs() {
	sed -n 's|^\ttest/conformance/\([a-z_]*\)\.t.*|\1|p' "$top_srcdir/test/conformance/Makemodule.am"
}

logs=${CONFORMANCE_LOGS:-}

# A log for the matrix: a program that did not end by itself has failed as a whole. FILE CODE
keep_log() {
	sed 's/^not ok \([0-9]*\) # SKIP/ok \1 # SKIP/' "$1"
	[ "$2" -eq 0 ] || { [ "$2" -lt 124 ] && grep -q '^not ok [0-9]* - ' "$1"; } || printf 'Bail out! it ended with %s\n' "$2"
}

# An address of a host's network that is nobody's: its hardware address is known, but nobody has it. KIND
silent_host() {
	local address=UDAPL_VM_$1_A_ADDR host netdev
	for host in A B; do
		netdev=UDAPL_VM_$1_${host}_NETDEV
		vm-on "$1" $host ip neighbour add "${!address%.*}.77" lladdr 02:00:00:00:00:77 nud permanent dev "${!netdev}"
	done
	printf '%s\n' "${!address%.*}.77"
}

run_kind() { # KIND PROGRAM...
	local kind=$1 program code start limit left netdev=UDAPL_VM_$1_A_NETDEV
	shift
	export DAPL_SCM_NETDEV=${!netdev}
	UDAPL_IA=$(adapter "$kind")
	export UDAPL_IA DAT_OVERRIDE=$stage/ours.A.conf
	[ -n "${VM_CM:-}" ] || { UDAPL_SILENT_HOST=$(silent_host "$kind") && export UDAPL_SILENT_HOST; }
	# soft-RoCE of Linux 6.1 sends nothing more, with nothing on the wire, when a request with a fence stands behind
	# a message that it had to send again for want of a Receive. Without fences, or without such messages, it does.
	[ "$kind" != RXE ] || export UDAPL_LOAD_RECEIVES=first
	for program in "$@"; do
		start=$SECONDS limit=${CONFORMANCE_LIMIT:-300}
		left=$((${CONFORMANCE_BUDGET:-100000} - SECONDS))
		if [ $left -le 0 ]; then
			skipped "$kind $program" "the $CONFORMANCE_BUDGET s for all programs are over"
			continue
		fi
		# shellcheck disable=SC2086
		vm-on "$kind" A timeout --kill-after=5 $((left < limit ? left : limit)) ${RUNNER:-} "$stage/bin/$program.t" \
			>"$stage/out.$kind" 2>&1
		code=$?
		if [ $left -lt "$limit" ] && { [ $code -eq 124 ] || [ $code -eq 137 ]; }; then
			skipped "$kind $program" "ended after the $CONFORMANCE_BUDGET s for all programs"
			code=0
		fi
		report "$stage/out.$kind" "$kind $program" $code
		[ -z "$logs" ] || keep_log "$stage/out.$kind" $code >"$logs/${kind,,}$suffix/$program.log"
		printf '# %s %s took %d s\n' "$kind" "$program" $((SECONDS - start))
	done
}

inside() {
	local kind
	stage_build "${@/%/.t}"
	export UDAPL_EXCLUSIONS=$top_srcdir/test/conformance/exclusions
	export UDAPL_BRIEF=${UDAPL_BRIEF:-}
	for kind in ${KINDS:-RXE SIW}; do
		run_kind "$kind" "${@##*/}" &
	done
	wait
}

case ${1:-} in
--inside)
	shift
	mapfile -t named < <(for program in "$@"; do
		case $program in
		*/*) printf 'test/%s\n' "$program" ;;
		*) printf 'test/conformance/%s\n' "$program" ;;
		esac
	done)
	inside "${named[@]}" | collect
	;;
*)
	[ $# -gt 0 ] || mapfile -t all < <(programs)
	[ -z "$logs" ] || { mkdir -p "$logs"/{rxe,siw}"$suffix" && share=$logs; }
	enter_guest "${VM_LIMIT:-2400}" "${@:-${all[@]}}"
	;;
esac
