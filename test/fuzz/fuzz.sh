#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Fuzzes what comes from outside: fuzz.sh [run | corpus | coverage] [TARGET]...
#
# run		as a test: what was found once (test/fuzz/found/TARGET) and then, for FUZZ_SECONDS, new inputs
# corpus	minimises what earlier runs left in test/fuzz/TARGET.d/corpus of the build folder
# coverage	tells how many lines of the files under fuzz that and the seeds reach
#
# Two targets at a time; fuzz.mk says what a target is. An input that breaks something is left in
# test/fuzz/TARGET.d; it belongs into test/fuzz/found/TARGET once what it shows is mended.
set -u
top_srcdir=$(cd "${top_srcdir:-.}" && pwd)
top_builddir=$(cd "${top_builddir:-.}" && pwd)
here=$top_srcdir/test/fuzz
work=$top_builddir/test/fuzz
seconds=${FUZZ_SECONDS:-5}
cc=${FUZZ_CC:-}
unset MAKEFLAGS MFLAGS # of a make that calls this

find_compiler() {
	mkdir -p "$work"
	echo 'int LLVMFuzzerTestOneInput(const char *d, unsigned long n) { return d == 0 && n; }' >"$work/probe.c"
	for cc in clang clang-19 clang-18 clang-17 clang-16 clang-15 clang-14; do
		"$cc" -fsanitize=fuzzer,address,undefined "$work/probe.c" -o "$work/probe" >/dev/null 2>&1 && return 0
	done
	return 1
}

build() { # FILE in $work/objects or $work/coverage
	make -f "$here/fuzz.mk" -C "$work" CC="$cc" TOP="$top_srcdir" BUILD="$top_builddir" "$@"
}

# NAME: folders of its inputs, with the seeds in one of them
folders() {
	mkdir -p "$work/$1.d/corpus" "$work/$1.d/seeds"
	[ ! -d "$here/seeds/$1" ] || cp -f "$here/seeds/$1"/* "$work/$1.d/seeds"
	[ ! -e "$here/$1_seeds.py" ] || python3 "$here/$1_seeds.py" "$work/$1.d/seeds"
}

# TEXT LOG: the result of the command before
result() {
	status=$?
	if [ $status -eq 0 ]; then
		echo "ok - $1"
	else
		tail -n 60 "$2" | sed 's/^/# /'
		echo "not ok - $1"
		failed=1
	fi
}

run_one() {
	failed=0
	folders "$1"
	cd "$work/$1.d" || exit 1
	[ ! -d "$here/found/$1" ] || ../objects/"$1" -timeout=30 "$here/found/$1"/* >found.log 2>&1
	result "$1: what was found once is mended" found.log
	../objects/"$1" -max_total_time="$seconds" -max_len="$(build -s "$1-max_len")" -timeout=30 \
		-print_final_stats=1 corpus seeds >fuzz.log 2>&1
	result "$1: nothing is found in $seconds s" fuzz.log
	sed -n 's/^stat::number_of_executed_units: */# runs: /p' fuzz.log
	sed -n 's/.*cov: \([0-9]*\) .*/# edges: \1/p' fuzz.log | tail -n 1
	return $failed
}

corpus_one() {
	folders "$1"
	cd "$work/$1.d" || exit 1
	rm -rf merged
	mkdir merged
	if ../objects/"$1" -merge=1 -max_len="$(build -s "$1-max_len")" merged corpus seeds >merge.log 2>&1; then
		echo "$1: $(ls corpus | wc -l) inputs, $(ls merged | wc -l) kept"
		rm -rf corpus
		mv merged corpus
	else
		tail -n 20 merge.log
		return 1
	fi
}

coverage_one() {
	folders "$1"
	cd "$work/$1.d" || exit 1
	found=$here/found/$1
	[ -d "$found" ] || found=
	# An input after which the harness ends the process has no profile.
	LLVM_PROFILE_FILE=$1.profraw ../coverage/"$1" -runs=0 corpus seeds $found >coverage.log 2>&1 &&
		"$profdata" merge -o "$1.profdata" "$1.profraw" &&
		"$cov" report ../coverage/"$1" -instr-profile="$1.profdata" $(build -s "$1-under") >coverage.txt &&
		awk -v name="$1" '/^TOTAL/ { printf "%s: %d of %d lines (%s)\n", name, $8 - $9, $8, $10 }' coverage.txt ||
		{ tail -n 20 coverage.log; return 1; }
}

tool() { # the one of the compiler's version
	version=$("$cc" -dumpversion | cut -d . -f 1)
	command -v "$1-$version" || command -v "$1"
}

command=${1:-run}
[ $# -eq 0 ] || shift
case $command in
run_one | corpus_one | coverage_one)
	said=$("$command" "$1" 2>&1)
	status=$?
	printf '%s\n' "$said" # in one piece
	exit $status
	;;
esac

find_compiler || {
	echo "1..0 # SKIP libFuzzer needs clang"
	exit 0
}
export top_srcdir top_builddir FUZZ_CC="$cc"
[ $# -gt 0 ] || set -- $(build -s names)

objects=objects
options=
if [ "$command" = coverage ]; then
	profdata=$(tool llvm-profdata) && cov=$(tool llvm-cov) || {
		echo "the coverage needs llvm-profdata and llvm-cov (Debian: llvm)"
		exit 1
	}
	export profdata cov
	objects=coverage
	options=COVERAGE=1
fi

# Not longer than a test may take in all; what is built by then stays.
timeout "${FUZZ_BUILD_LIMIT:-200}" make -f "$here/fuzz.mk" -C "$work" -j2 CC="$cc" TOP="$top_srcdir" \
	BUILD="$top_builddir" $options $(printf "$objects/%s " "$@") >"$work/build.log" 2>&1
built=$?
if [ "$command" = run ]; then
	[ $built -ne 124 ] || {
		echo "1..0 # SKIP this machine is too busy to build the harnesses in time"
		exit 0
	}
	echo "1..$((1 + 2 * $#))"
	(exit $built)
	result "the harnesses build" "$work/build.log"
elif [ $built -ne 0 ]; then
	tail -n 40 "$work/build.log"
fi
[ $built -eq 0 ] || exit 1
printf '%s\n' "$@" | xargs -n 1 -P 2 "$here/fuzz.sh" "${command}_one"
