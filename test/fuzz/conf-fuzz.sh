#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Fuzzes the grammar of dat.conf.
set -u
. "${top_srcdir:-.}/test/fuzz/lib.sh"
prepare conf-fuzz
cp "$top_srcdir"/test/fuzz/conf/* "$work/corpus"
fuzz 1024 "$top_srcdir/test/fuzz/conf_fuzz.c" "$top_srcdir/dat/conf.c"
