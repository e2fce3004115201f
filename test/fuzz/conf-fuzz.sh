#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Fuzzes the grammar of dat.conf from the seeds. FUZZ_SECONDS makes it longer than the check's few seconds.
set -u

top_srcdir=${top_srcdir:-.}
top_builddir=${top_builddir:-.}
work=$top_builddir/test/fuzz/conf-fuzz.d
seconds=${FUZZ_SECONDS:-5}

skip() {
	echo "1..0 # SKIP $*"
	exit 0
}

cc=
for candidate in clang clang-19 clang-18 clang-17 clang-16 clang-15 clang-14; do
	command -v "$candidate" >/dev/null 2>&1 && cc=$candidate && break
done
[ -n "$cc" ] || skip "libFuzzer needs clang"

rm -rf "$work"
mkdir -p "$work/corpus"
cp "$top_srcdir"/test/fuzz/conf/* "$work/corpus"
echo 'int LLVMFuzzerTestOneInput(const char *d, unsigned long n) { return d == 0 && n; }' >"$work/probe.c"
"$cc" -fsanitize=fuzzer,address,undefined "$work/probe.c" -o "$work/probe" >"$work/log" 2>&1 ||
	skip "$cc has no libFuzzer"

echo 1..2
"$cc" -std=gnu11 -g -O1 -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined \
	-I"$top_builddir" -I"$top_srcdir" -I"$top_srcdir/include" \
	"$top_srcdir/test/fuzz/conf_fuzz.c" "$top_srcdir/dat/conf.c" -o "$work/conf-fuzz" >"$work/log" 2>&1
if [ $? -ne 0 ]; then
	sed 's/^/# /' "$work/log"
	echo "not ok 1 - the harness builds"
	echo "not ok 2 - nothing is found"
	exit 1
fi
echo "ok 1 - the harness builds"
cd "$work" || exit 1
if ./conf-fuzz -max_total_time="$seconds" -max_len=1024 -timeout=10 -print_final_stats=1 corpus >fuzz.log 2>&1; then
	sed -n 's/^stat::number_of_executed_units: */# runs: /p' fuzz.log
	echo "ok 2 - nothing is found in $seconds s"
else
	tail -n 40 fuzz.log | sed 's/^/# /'
	echo "not ok 2 - nothing is found in $seconds s"
	exit 1
fi
