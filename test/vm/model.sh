#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Random programs against the model, on the kernel's soft-RoCE and soft-iWARP.
#
# KINDS          on which (RXE SIW)
# MODEL_SECONDS  of new seeds on each (120)
# MODEL_AT_ONCE  processes on each, of seeds of their own (1): they wait most of the time
# MODEL_FAILURES after so many of a process it ends (1)
# VM_LIMIT       seconds for all of them (MODEL_SECONDS and ten minutes)
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=test/vm/lib.sh
. "$here/lib.sh"

run_one() { # KIND NUMBER
	local code out=$stage/out.$1.$2
	# Of soft-RoCE see conformance.sh.
	UDAPL_IA=$(adapter "$1") DAT_OVERRIDE=$stage/ours.A.conf UDAPL_LOAD_RECEIVES=first \
		vm-on "$1" A "$stage/bin/model" -m 1p2 -n 400 -d 90 -x 200 -f "${MODEL_FAILURES:-1}" -t "${MODEL_SECONDS:-120}" \
		-s "$((EPOCHSECONDS % 100000 * 1000 + $2 * 100000000))" >"$out" 2>&1
	code=$?
	sed 's/^[^#]/# &/' "$out" | grep -v '^# \(not \)\?ok' >&2
	report "$out" "$1 model $2" $code
}

run_kind() { # KIND
	local number
	for ((number = 1; number <= ${MODEL_AT_ONCE:-1}; number++)); do
		run_one "$1" $number &
	done
	wait
}

inside() {
	stage_build test/model/model
	each_kind
}

case ${1:-} in
--inside)
	inside | collect
	;;
*)
	enter_guest "${VM_LIMIT:-$((${MODEL_SECONDS:-120} + 600))}"
	;;
esac
