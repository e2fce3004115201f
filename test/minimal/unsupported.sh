#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# What an adapter lacks, with a transport that lacks nearly everything: test/conformance/unsupported.c.
top_builddir=${top_builddir:-.}
top_srcdir=${top_srcdir:-$(cd "$(dirname "$0")/../.." && pwd)}
export top_builddir top_srcdir
conf=$(mktemp) || exit 99
trap 'rm -f "$conf"' EXIT
module=$(cd "$top_builddir" && pwd)/test/minimal/.libs/libdaplminimal.so
echo "minimal u2.0 nonthreadsafe default $module udapl.1.0 \"\" \"\"" >"$conf"
program=$top_builddir/test/conformance/unsupported.t
if [ ! -x "$program" ]; then
	echo "1..0 # SKIP the conformance programs are not built"
	exit 0
fi
DAT_OVERRIDE=$conf UDAPL_IA=minimal sh "$top_srcdir/test/conformance/run" "$program"
