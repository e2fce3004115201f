#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# The guest's part of ./check: some programs of the conformance suite on both devices, within minutes. What the time
# is not enough for, on a loaded machine, is skipped and says so.
#
# UDAPL_VM_BRIEF  seconds in the guest (200)
here=$(cd "$(dirname "$0")" && pwd)
programs=(args handles pd pz lmr evd evd_queue)

export UDAPL_BRIEF=1 CONFORMANCE_LIMIT=${CONFORMANCE_LIMIT:-120} CONFORMANCE_BUDGET=${UDAPL_VM_BRIEF:-200}
export VM_LIMIT=$((CONFORMANCE_BUDGET + 40)) UDAPL_VM_BOOT_LIMIT=${UDAPL_VM_BOOT_LIMIT:-150}
export UDAPL_VM_WAIT=${UDAPL_VM_WAIT:-120}

results=$(mktemp) && why=$(mktemp) || exit 99
trap 'rm -f "$results" "$why"' EXIT
"$here/conformance.sh" "${@:-${programs[@]}}" 2> >(tee "$why" >&2) | tee "$results"
code=${PIPESTATUS[0]}
if [ ! -s "$results" ] && { [ "$code" -eq 124 ] || [ "$code" -eq 125 ]; }; then
	printf '1..0 # SKIP no virtual machine: %s\n' "$(grep '^test/vm/run: ' "$why" | tail -n 1)"
	exit 0
fi
exit "$code"
