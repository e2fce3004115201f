#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# rpmbuild makes the RPMs of the tarball, and rpmlint has nothing to say of them that test/package/rpmlint.toml does not
# answer.
: "${top_srcdir:?}" "${top_builddir:?}"

skip_all() {
	echo "1..0 # SKIP $*"
	exit 0
}

command -v rpmbuild >/dev/null || skip_all "rpmbuild is not here: tools/setup package installs it"
mkdir -p "$top_builddir/test/package"
scratch=$(mktemp -d "$top_builddir/test/package/rpm.XXXXXX") || exit 99
trap 'rm -rf "$scratch"' EXIT
trap 'exit 99' HUP INT TERM
count=0
failures=0

result() { # STATUS NAME
	count=$((count + 1))
	[ "$1" -eq 0 ] && echo "ok $count - $2" && return
	failures=$((failures + 1))
	echo "not ok $count - $2"
	tail -n 40 "$scratch/log" | sed 's/^/# /'
}

make -C "$top_builddir" dist >"$scratch/log" 2>&1 && mv "$top_builddir"/udapl-*.tar.xz "$scratch"
result $? "make dist"
# What it needs is here as packages of Debian's, which rpm does not know of.
rpmbuild -ta --nodeps --define "_topdir $scratch/top" "$scratch"/udapl-*.tar.xz >"$scratch/log" 2>&1
result $? "rpmbuild -ta"

rpms=$(find "$scratch/top" -name '*.rpm' ! -name '*debuginfo*' ! -name '*debugsource*' ! -name '*.src.rpm')
for replaced in dapl dapl-devel dapl-devel-static dapl-utils compat-dapl compat-dapl-devel; do
	# shellcheck disable=SC2086
	rpm -q --obsoletes -p $rpms 2>"$scratch/log" | grep -q "^$replaced < "
	result $? "they take the place of $replaced"
done
if command -v rpmlint >/dev/null; then
	# shellcheck disable=SC2086
	rpmlint -c "$top_srcdir/test/package/rpmlint.toml" $rpms >"$scratch/log" 2>&1 &&
		grep -q ' 0 errors, 0 warnings' "$scratch/log"
	result $? "rpmlint has nothing to say"
else
	count=$((count + 1))
	echo "ok $count - rpmlint # SKIP it is not here"
fi

echo "1..$count"
[ $failures -eq 0 ]
