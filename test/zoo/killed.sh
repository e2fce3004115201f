#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# A peer over release 2.1.10's module that is killed in every phase of a connection with ours:
# ZOO_CM=... test/zoo/run KIND sh test/zoo/killed.sh
: "${top_srcdir:?}" "${top_builddir:?}" "${DAT_OVERRIDE:?}"
top_builddir=$(cd "$top_builddir" && pwd)
. "$top_srcdir/test/interop/debian.sh"
fetch libdapl2 || skip_all "Debian's libdapl2 cannot be had here: $(tail -n 1 "$scratch/fetch.log")"
UDAPL_PEER_CONF=$scratch/theirs.conf
export UDAPL_PEER_CONF
UDAPL_TESTS='*killed*'
export UDAPL_TESTS
sed "s|[^ ]*/\(libdapl[a-z]*\.so\.2\)|$debian/usr/lib/x86_64-linux-gnu/\1|" "$DAT_OVERRIDE" >"$UDAPL_PEER_CONF"
"$top_builddir/test/conformance/twoproc.t"
