#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Datagrams between 64 processes, all to all, with loss.
#
# LIFE_PROCESSES  how many (64)
# LIFE_LOSS       how much is lost, in per cent (5)
top_builddir=${top_builddir:-.}
build=$(cd "$top_builddir" && pwd) || exit 99
program=$build/test/life/datagrams
if [ ! -x "$program" ]; then
	echo "1..0 # SKIP a sanitizer has wrappers of its own for the call at which datagrams are lost"
	exit 0
fi
conf=$(mktemp) || exit 99
trap 'rm -f "$conf"' EXIT
export DAT_OVERRIDE="$conf"
export LD_LIBRARY_PATH="$build/dat/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
echo "soft-lo u2.0 nonthreadsafe default $build/providers/soft/.libs/libdaplsoft.so.2 udapl.1.0 \"lo\" \"\"" >"$conf"
"$program" "${LIFE_PROCESSES:-64}" 4 "${LIFE_LOSS:-5}"
