#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# test/life/net.sh on a kernel that has netem: delay, loss, reordering, duplicates, damage and a slow way.
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=test/vm/lib.sh
. "$here/lib.sh"

inside() {
	stage_build test/life/lives
	mkdir -p "$stage/life/test/life"
	cp "$stage/bin/lives" "$stage/life/test/life/"
	top_builddir=$stage/life FAULTS_MODULE=$stage/lib/libdaplsoft.so.2 NET_MOST=${NET_MOST:-0} timeout 500 \
		"$top_srcdir/test/life/net.sh" >"$stage/out" 2>&1
	report "$stage/out" net $?
}

case ${1:-} in
--inside) inside | collect ;;
*) enter_guest 600 ;;
esac
