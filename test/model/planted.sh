#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# How much the model sees: each of test/model/planted/*.patch, a small mistake in the core or the software engine, is
# made in a copy of the tree, and new random programs run until one fails. Takes long ("make planted").
#
#   planted.sh [--check] [NUMBER...]
#
# --check          only whether the patches still fit
# PLANTED_SECONDS  how long it may take to find one (600)
# PLANTED_DEADLINE seconds within which what must happen happens (60): more where the processors are others' too
# PLANTED_RUN      what is run in place of the model, in the built copy, and fails when it finds something; such as
#                  "top_builddir=. top_srcdir=../src ../src/test/sim/sim.sh -t 600"
# PLANTED_PROGRAM  which program that needs (test/model/model), such as test/sim/sim
# PLANTED_DIR      where the copy is, for the next time (test/model/planted-tree)
set -u
top_builddir=${top_builddir:-.}
top_srcdir=${top_srcdir:-$(cd "$(dirname "$0")/../.." && pwd)}
patches=$(cd "$top_srcdir" && pwd)/test/model/planted
seconds=${PLANTED_SECONDS:-600}
number=0 missed=0

result() { # STATUS TEXT
	number=$((number + 1))
	if [ "$1" -eq 0 ]; then
		echo "ok $number - $2"
	else
		missed=$((missed + 1))
		echo "not ok $number - $2"
	fi
}

check() {
	local patch text
	for patch in "$patches"/*.patch; do
		text=$(patch -p1 -f --dry-run -d "$top_srcdir" <"$patch" 2>&1)
		result $? "$(basename "$patch" .patch) fits" || true
		[ "${text#*FAILED}" = "$text" ] || sed 's/^/# /' <<<"$text"
	done
	echo "1..$number"
	exit $((missed > 0))
}

# A copy of the tree as it is, built once.
copy() {
	mkdir -p "$tree/src" "$tree/build" || exit 99
	(cd "$top_srcdir" && git ls-files -co --exclude-standard -z | while IFS= read -r -d '' file; do
		[ -L "$file" ] && [ -L "$tree/src/$file" ] && continue
		cmp -s "$file" "$tree/src/$file" || cp -P --parents "$file" "$tree/src" || exit 99
	done) || exit 99
	(cd "$tree/src" && ./bootstrap) >"$tree/log" 2>&1 || exit 99
	(cd "$tree/build" && { [ -e Makefile ] || ../src/configure; }) >>"$tree/log" 2>&1 || exit 99
	build || exit 99
}

build() {
	nice -n 10 make -C "$tree/build" -j"$(nproc)" dat/libdat2.la providers/soft/libdaplsoft.la \
		"${PLANTED_PROGRAM:-test/model/model}" \
		>>"$tree/log" 2>&1
}

run() { # in $tree/build; its output in $tree/out
	if [ -n "${PLANTED_RUN:-}" ]; then
		(cd "$tree/build" && timeout "$seconds" nice -n 10 bash -c "$PLANTED_RUN")
		return
	fi
	printf 'soft-lo u2.0 nonthreadsafe default %s/providers/soft/.libs/libdaplsoft.so.2 udapl.1.0 "lo" ""\n' \
		"$tree/build" >"$tree/dat.conf"
	# In a network of its own, whose sockets may have little memory.
	DAT_OVERRIDE=$tree/dat.conf LD_LIBRARY_PATH=$tree/build/dat/.libs \
		unshare --net sh -c 'ip link set lo up && exec "$@"' - \
		nice -n 10 "$tree/build/test/model/model" -t "$seconds" -n 3000 -f 1 -x 0 \
		-d "${PLANTED_DEADLINE:-60}"
}

plant() { # PATCH
	local name began code what
	name=$(basename "$1" .patch)
	patch -p1 -s -f -d "$tree/src" <"$1" >"$tree/out" 2>&1 && build
	code=$?
	if [ $code -ne 0 ]; then
		result 1 "$name: does not fit or build"
	else
		began=$(date +%s)
		run >"$tree/out" 2>&1
		code=$?
		what=$(sed -n 's/^not ok - \(seed.*\)/\1/p; s/^# seed [^:]*: \(.*\)/\1/p' "$tree/out" | head -n 2 | paste -sd' ')
		if [ $code -eq 0 ] || { [ $code -eq 124 ] && [ -n "${PLANTED_RUN:-}" ]; }; then
			result 1 "$name: not found in $seconds s"
		else
			result 0 "$name: found in $(($(date +%s) - began)) s${what:+, $what}"
		fi
	fi
	patch -p1 -R -s -f -d "$tree/src" <"$1" >/dev/null 2>&1
}

[ "${1:-}" != --check ] || check
tree=$(mkdir -p "${PLANTED_DIR:-$top_builddir/test/model/planted-tree}" &&
	cd "${PLANTED_DIR:-$top_builddir/test/model/planted-tree}" && pwd) || exit 99
copy
for patch in "$patches"/*.patch; do
	[ $# -eq 0 ] || [[ " $* " == *" $(basename "$patch" | cut -d- -f1) "* ]] || continue
	plant "$patch"
done
echo "1..$number"
echo "# $((number - missed)) of $number found"
exit $((missed > 0))
