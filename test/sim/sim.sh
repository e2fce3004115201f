#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Simulated worlds: the seeds that ever failed (test/sim/kept), and new ones. With arguments: the program, with those.
#
# SIM_SECONDS   of new seeds (120); the first is told, and of each that fails how to repeat it
# SIM_FAILURES  after so many it ends (5)
set -u
top_builddir=${top_builddir:-.}
top_srcdir=${top_srcdir:-$(cd "$(dirname "$0")/../.." && pwd)}
build=$(cd "$top_builddir" && pwd) || exit 99
here=$top_srcdir/test/sim
sim=$build/test/sim/sim
if [ ! -x "$sim" ]; then
	echo "1..0 # SKIP a sanitizer has wrappers of its own for these calls"
	exit 0
fi
soft=$build/providers/soft/.libs
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export DAT_OVERRIDE=$scratch/dat.conf
export LD_LIBRARY_PATH=$build/dat/.libs:$soft${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
echo "soft-lo u2.0 nonthreadsafe default $soft/libdaplsoft.so.2 udapl.1.0 \"lo\" \"\"" >"$DAT_OVERRIDE"
# Nothing but the seed decides.
for name in ${!DAPL_*} ${!DAT_*}; do
	[ "$name" = DAT_OVERRIDE ] || unset "$name"
done

if [ $# -gt 0 ]; then
	"$sim" "$@"
	exit
fi

number=0 failed=0
point() { # STATUS WHAT
	number=$((number + 1))
	if [ "$1" -eq 0 ]; then
		echo "ok $number - $2"
	else
		failed=1
		echo "not ok $number - $2"
	fi
}

# What the libraries call is simulated, or stands in test/sim/real with a reason.
printf '#!/bin/sh\nnm -D --defined-only "%s" | sed -n "s/.* [TW] //p" | grep -vxf "%s"\n' "$sim" "$here/own" \
	>"$scratch/calls"
chmod +x "$scratch/calls"
"$top_srcdir/test/faults/complete.py" "$scratch/calls" "$here/real" "$build/dat/.libs/libdat2.so.2" \
	"$soft/libdaplsoft.so.2" | sed -n 's/^not ok [0-9]* - /# /p' >"$scratch/missing"
cat "$scratch/missing"
[ ! -s "$scratch/missing" ]
point $? "every call of the libraries is simulated or has its reason"

while read -r seed lives reason; do
	case $seed in '#'* | '') continue ;; esac
	"$sim" -s "$seed" -n 1 -l "$lives" >"$scratch/out"
	point $? "seed $seed: $reason"
	grep -E '^# (\||seed|again)' "$scratch/out"
done <"$here/kept"

seconds=${SIM_SECONDS:-120}
"$sim" -t "$seconds" -f "${SIM_FAILURES:-5}" | sed '/^1\.\./d; s/^\(not \)\?ok 1 - /# /'
point "${PIPESTATUS[0]}" "new seeds, $seconds s"
echo "1..$number"
exit $failed
