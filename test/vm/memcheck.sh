#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# The conformance suite's programs of many threads under valgrind, on both kernel devices: no error, no leak.
here=$(cd "$(dirname "$0")" && pwd)
command -v valgrind >/dev/null || {
	echo "1..0 # SKIP no valgrind"
	exit 0
}
export RUNNER="valgrind -q --error-exitcode=9 --leak-check=full --show-leak-kinds=definite,indirect
	--errors-for-leak-kinds=definite,indirect --suppressions=$here/rdma-core.supp --fair-sched=yes"
export CONFORMANCE_LIMIT=${CONFORMANCE_LIMIT:-500} UDAPL_BRIEF=${UDAPL_BRIEF:-1} VM_LIMIT=${VM_LIMIT:-1100}
exec "$here/conformance.sh" "${@:-threads}"
