#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Unit tests of the provider core for which it matters how old the kernel is.
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=test/vm/lib.sh
. "$here/lib.sh"

programs=(core_loop core_loop_turns core_thread core_thread_code)

inside() {
	local program
	stage_build "${programs[@]/#/test/unit/}"
	for program in "${programs[@]}"; do
		timeout 100 "$stage/bin/$program" >"$stage/out" 2>"$stage/err"
		report "$stage/out" "$program" $?
	done
}

case ${1:-} in
--inside) inside | collect ;;
*) enter_guest 200 ;;
esac
