#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Programs of DAT 1.2 and of 2.0 speak with each other, on UDAPL_IA (soft-lo).
#
# UDAPL_PROGRAMS  folder of the programs, which run as they are (those of this build, by test/conformance/run)
top_builddir=${top_builddir:-.}
top_srcdir=${top_srcdir:-$(cd "$(dirname "$0")/../.." && pwd)}
dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT
number=0
run="sh $top_srcdir/test/conformance/run"
[ -z "${UDAPL_PROGRAMS:-}" ] || run=
programs=${UDAPL_PROGRAMS:-$top_builddir/test/dat-1.2}

speak() { # WHO-WAITS WHO-COMES: files of the programs
	# shellcheck disable=SC2086
	$run "$programs/$1" >"$dir/out" 2>&1 &
	waits=$!
	for _ in $(seq 100); do
		qual=$(sed -n 's/^qualifier \([0-9]*\)$/\1/p' "$dir/out")
		[ -n "$qual" ] && break
		sleep 0.1
	done
	# shellcheck disable=SC2086
	$run "$programs/$2" "${qual:-1}" >"$dir/other" 2>&1
	came=$?
	wait "$waits" && [ "$came" -eq 0 ] && return
	sed 's/^/# /' "$dir/out" "$dir/other"
	return 1
}

point() { # TITLE WHO-WAITS WHO-COMES
	number=$((number + 1))
	if speak "$2" "$3"; then
		echo "ok $number - $1"
	else
		echo "not ok $number - $1"
	fi
}

echo 1..3
point "D12-84, D12-T8: a program of 1.2 comes to one of 2.0" talk-2.0 talk-1.2
point "D12-84, D12-T8: a program of 2.0 comes to one of 1.2" talk-1.2 talk-2.0
point "D12-T8: a program of 1.2 comes to its like" talk-1.2 talk-1.2
