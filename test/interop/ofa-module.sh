#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# A provider module built for release 2.1.10 loads under our libdat2, and an open without a device fails cleanly.
top_srcdir=${top_srcdir:-.}
top_builddir=${top_builddir:-.}
. "$top_srcdir/test/interop/debian.sh"

# The module's own needs; they are small and come from the same distribution.
runtime() {
	ldconfig -p | grep -q 'librdmacm\.so\.1' && ldconfig -p | grep -q 'libibverbs\.so\.1' && return 0
	[ "$(id -u)" -eq 0 ] || return 1
	apt-get install -y --no-install-recommends libibverbs1 librdmacm1 >"$scratch/install.log" 2>&1
}

command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null || skip_all "no Debian package tools"
fetch libdapl2 || skip_all "libdapl2 cannot be downloaded: $(tail -n 1 "$scratch/fetch.log")"
module=$(find "$debian" -name libdaplofa.so.2 | head -n 1)
[ -n "$module" ] || skip_all "libdapl2 has no libdaplofa.so.2"
runtime || skip_all "libibverbs1 and librdmacm1 are not installed"

cat >"$scratch/dat.conf" <<EOT
ofa-none u2.0 nonthreadsafe default $module dapl.2.0 "no-such-netdev 0" ""
EOT
out=$scratch/out
err=$scratch/err

echo 1..6
DAT_OVERRIDE=$scratch/dat.conf "$top_builddir/test/interop/ofa-probe" ofa-none >"$out" 2>"$err"
result $? "the probe runs to its end" "$out" "$err"
grep -q '^list: 1 ofa-none$' "$out"
result $? "REG-29: the entry is listed" "$out"
grep -q '^open: DAT_' "$out"
result $? "the open fails with a DAT code" "$out" "$err"
! grep -Eq '^open: (DAT_SUCCESS|DAT_PROVIDER_NOT_FOUND)' "$out"
result $? "REG-44: the code is the module's own, so it was loaded and initialised" "$out" "$err"
grep -q '^again: same$' "$out"
result $? "REG-52: a second open loads it again and fails alike" "$out" "$err"
! grep -q '^dat: ' "$err"
result $? "libdat2 has nothing to complain of" "$err"
[ $failures -eq 0 ]
