#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Fuzzes what a peer may send the software provider.
set -u
. "${top_srcdir:-.}/test/fuzz/lib.sh"
prepare stream-fuzz
python3 "$top_srcdir/test/fuzz/stream-seeds.py" "$work/corpus" || skip "the seeds want python3"
fuzz 1500 "$top_srcdir/test/fuzz/stream_fuzz.c" "$top_srcdir"/providers/soft/*.c "$top_srcdir/test/unit/soft_loop.c" \
	"$top_srcdir/test/unit/soft_util.c" "$top_srcdir/dapl/fd.c" "$top_srcdir/dapl/lacking.c" "$top_srcdir/dapl/limit.c" -lcmocka -lpthread
