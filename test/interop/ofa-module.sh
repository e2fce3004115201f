#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# A provider module built for release 2.1.10 loads under our libdat2, and an open without a device fails cleanly.
# Takes Debian's libdapl2 as it is: unpacked beside the build, not installed.
set -u

top_builddir=${top_builddir:-.}
work=$top_builddir/test/interop/ofa-module.d
probe=$top_builddir/test/interop/ofa-probe

skip() {
	echo "1..0 # SKIP $*"
	exit 0
}

number=0
failed=0
ok() { # condition's status, description
	number=$((number + 1))
	if [ "$1" -eq 0 ]; then
		echo "ok $number - $2"
	else
		echo "not ok $number - $2"
		failed=1
	fi
}

fetch() {
	mkdir -p "$work/root" || return 1
	(cd "$work" && apt-get download libdapl2 && dpkg-deb -x libdapl2_*.deb root) >"$work/fetch.log" 2>&1
}

# The module's own needs; they are small and come from the same distribution.
runtime() {
	ldconfig -p | grep -q 'librdmacm\.so\.1' && ldconfig -p | grep -q 'libibverbs\.so\.1' && return 0
	[ "$(id -u)" -eq 0 ] || return 1
	apt-get install -y --no-install-recommends libibverbs1 librdmacm1 >"$work/install.log" 2>&1
}

find_module() {
	find "$work/root" -name 'libdaplofa.so.2' 2>/dev/null | head -n 1
}

command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null || skip "no Debian package tools"
module=$(find_module)
if [ -z "$module" ]; then
	fetch || skip "libdapl2 cannot be downloaded: $(tail -n 1 "$work/fetch.log" 2>/dev/null)"
	module=$(find_module)
fi
[ -n "$module" ] || skip "libdapl2 has no libdaplofa.so.2"
runtime || skip "libibverbs1 and librdmacm1 are not installed"

cat >"$work/dat.conf" <<EOT
ofa-none u2.0 nonthreadsafe default $module dapl.2.0 "no-such-netdev 0" ""
EOT

echo 1..6
DAT_OVERRIDE=$work/dat.conf "$probe" ofa-none >"$work/out" 2>"$work/err"
ok $? "the probe ran to its end"
sed 's/^/# /' "$work/out" "$work/err"
grep -q '^list: 1 ofa-none$' "$work/out"
ok $? "the entry is listed"
grep -q '^open: DAT_' "$work/out"
ok $? "the open fails with a DAT code"
! grep -Eq '^open: (DAT_SUCCESS|DAT_PROVIDER_NOT_FOUND)' "$work/out"
ok $? "it is the module's own code, so the module was loaded and initialised"
grep -q '^again: same$' "$work/out"
ok $? "a second open fails alike"
! grep -q '^dat: ' "$work/err"
ok $? "libdat2 has nothing to complain of"
exit $failed
