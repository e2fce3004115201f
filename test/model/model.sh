#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Random programs against the model, over TCP and shared memory: seeds that are always run and, where a time for them
# is given, new ones. These are for finding, not for a check: what one finds today is not the change of today.
#
# MODEL_SECONDS  of new seeds on each of the two (0)
# MODEL_FAILURES after so many it ends (1)
# MODEL_LOGS     folder for programs that failed
set -u
seconds=${MODEL_SECONDS:-0}
program=$top_builddir/test/model/model
failures=${MODEL_FAILURES:-1}
logs=${MODEL_LOGS:-$top_builddir/test/model/failed}
number=0 failed=0
mkdir -p "$logs"
export TEST_LIMIT=$((seconds * 2 + 280))

one() { # NAME ARGUMENT...
	number=$((number + 1))
	name=$1
	shift
	if "$top_srcdir/test/conformance/run" "$program" -o "$logs" -f "$failures" -x 40 "$@" >"$logs/output" 2>&1; then
		grep '^# [0-9]* programs' "$logs/output"
		echo "ok $number - $name"
	else
		grep -v -e '^ok' -e '^not ok' -e '^1\.\.' "$logs/output" | sed 's/^[^#]/# &/'
		echo "not ok $number - $name"
		failed=$((failed + 1))
	fi
}

for link in tcp shm; do
	export DAPL_SOFT_LINK=$link
	one "$link, seeds 1 to 12" -s 1 -r 12 -n 1500
	[ "$seconds" -eq 0 ] || one "$link, new seeds" -t "$seconds" -n 3000
	[ -z "${UDAPL_IA:-}" ] || break # another adapter has no links
done
echo "1..$number"
exit "$failed"
