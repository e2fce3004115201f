# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# For the fuzz tests, shell: fuzz NAME MAX-LENGTH SOURCE... builds a harness and runs it from the seeds in
# $work/corpus, where the caller has put them. FUZZ_SECONDS makes it longer than the check's few seconds.
top_srcdir=$(cd "${top_srcdir:-.}" && pwd)
top_builddir=$(cd "${top_builddir:-.}" && pwd)
seconds=${FUZZ_SECONDS:-5}

skip() {
	echo "1..0 # SKIP $*"
	exit 0
}

# NAME: an empty folder for it, and a compiler that has libFuzzer
prepare() {
	work=$top_builddir/test/fuzz/$1.d
	rm -rf "$work"
	mkdir -p "$work/corpus"
	cc=
	for candidate in clang clang-19 clang-18 clang-17 clang-16 clang-15 clang-14; do
		command -v "$candidate" >/dev/null 2>&1 && cc=$candidate && break
	done
	[ -n "$cc" ] || skip "libFuzzer needs clang"
	echo 'int LLVMFuzzerTestOneInput(const char *d, unsigned long n) { return d == 0 && n; }' >"$work/probe.c"
	"$cc" -fsanitize=fuzzer,address,undefined "$work/probe.c" -o "$work/probe" >"$work/log" 2>&1 ||
		skip "$cc has no libFuzzer"
}

fuzz() {
	longest=$1
	shift
	timeout 80 "$cc" -std=gnu11 -D_GNU_SOURCE -g -O1 -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined \
		-I"$top_builddir" -I"$top_srcdir" -I"$top_srcdir/include" "$@" -o "$work/harness" >"$work/log" 2>&1
	built=$?
	[ $built -ne 124 ] || skip "this machine is too busy to build the harness within 80 s"
	echo 1..2
	if [ $built -ne 0 ]; then
		sed 's/^/# /' "$work/log"
		echo "not ok 1 - the harness builds"
		echo "not ok 2 - nothing is found"
		exit 1
	fi
	echo "ok 1 - the harness builds"
	cd "$work" || exit 1
	if ./harness -max_total_time="$seconds" -max_len="$longest" -timeout=30 -print_final_stats=1 corpus >fuzz.log 2>&1; then
		sed -n 's/^stat::number_of_executed_units: */# runs: /p' fuzz.log
		echo "ok 2 - nothing is found in $seconds s"
	else
		tail -n 40 fuzz.log | sed 's/^/# /'
		echo "not ok 2 - nothing is found in $seconds s"
		exit 1
	fi
}
