#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# The packages, made of the tarball: twice, in two folders and at two times, and what apt does with them in a minimal
# Debian. The build folder keeps them, and the root, in test/package; without its root.tar the root is made anew.
#
# PACKAGE_TWICE  0: build them once
: "${top_srcdir:?}" "${top_builddir:?}"

count=0
failures=0
place=$top_builddir/test/package
mkdir -p "$place"
scratch=$(mktemp -d "$place/run.XXXXXX") || exit 99
trap 'rm -rf "$scratch"' EXIT
trap 'exit 99' HUP INT TERM

skip_all() {
	echo "1..0 # SKIP $*"
	exit 0
}

result() { # STATUS NAME [FILE]
	count=$((count + 1))
	if [ "$1" -eq 0 ]; then
		echo "ok $count - $2"
		return 0
	fi
	failures=$((failures + 1))
	echo "not ok $count - $2"
	[ -z "${3:-}" ] || tail -n 40 "$3" | sed 's/^/# /'
	return 1
}

[ "$(id -u)" -eq 0 ] || skip_all "roots of their own are root's to make"
for tool in dpkg-buildpackage dh lintian mmdebstrap dpkg-scanpackages unshare; do
	command -v $tool >/dev/null || skip_all "$tool is not here: tools/setup package installs it"
done

# make dist in a build folder: BUILD TARBALL
tarball() {
	make -C "$1" dist >"$scratch/log" 2>&1 && mv "$1"/udapl-*.tar.xz "$2"
}

# Packages of a tarball, in a new folder: FOLDER TARBALL
packages() {
	mkdir -p "$1" && tar -C "$1" -xf "$2" &&
		(cd "$1"/udapl-*/ && DEB_BUILD_OPTIONS="parallel=$(nproc) nocheck" dpkg-buildpackage -us -uc -b) \
			>"$scratch/log" 2>&1
}

sums() { # FOLDER PATTERN
	# shellcheck disable=SC2086
	(cd "$1" && sha256sum $2)
}

# ---- Two builds ----

mkdir "$scratch/first" 
tarball "$top_builddir" "$scratch/first/udapl.tar.xz"
result $? "make dist" "$scratch/log" || { echo "1..$count"; exit 1; }
began=$(date +%s)
packages "$scratch/first/packages" "$scratch/first/udapl.tar.xz"
result $? "dpkg-buildpackage" "$scratch/log" || { echo "1..$count"; exit 1; }
echo "# in $(($(date +%s) - began)) s"
rm -rf "$place/packages" && mkdir "$place/packages" && mv "$scratch"/first/packages/*.* "$place/packages"
rm -rf "$scratch/first/packages"

lintian --allow-root --display-info --fail-on error,warning,info "$place"/packages/*.changes >"$scratch/log" 2>&1 &&
	! [ -s "$scratch/log" ]
result $? "lintian has nothing to say" "$scratch/log"

# Another folder, at another time, by somebody with other habits; and what the tarball makes, not the checkout.
if [ "${PACKAGE_TWICE:-1}" = 1 ]; then
	export TZ=Pacific/Kiritimati LC_ALL=C.UTF-8
	umask 077
	second="$scratch/second-place-with-a-longer-name"
	mkdir -p "$second" && tar -C "$second" -xf "$scratch/first/udapl.tar.xz" &&
		(cd "$second"/udapl-*/ && ./configure -q) >"$scratch/log" 2>&1 &&
		tarball "$(echo "$second"/udapl-*/)" "$second/udapl.tar.xz"
	result $? "make dist, from the tarball" "$scratch/log"
	cmp "$scratch/first/udapl.tar.xz" "$second/udapl.tar.xz" >"$scratch/log" 2>&1
	result $? "both tarballs are the same, bit by bit" "$scratch/log"
	packages "$second/packages" "$second/udapl.tar.xz"
	result $? "dpkg-buildpackage, a second time" "$scratch/log"
	sums "$place/packages" '*.deb' >"$scratch/sums"
	sums "$second/packages" '*.deb' | diff "$scratch/sums" - >"$scratch/log"
	result $? "both builds' packages are the same, bit by bit" "$scratch/log"
	umask 022
	unset TZ LC_ALL
fi

# ---- In a Debian of its own ----

[ -e "$place/root.tar" ] || "$top_srcdir/test/package/root" "$place" "$place/root.tar" >"$scratch/log" 2>&1 ||
	{
		echo "ok $((count + 1)) - a minimal Debian # SKIP packages cannot be had: $(tail -n 1 "$scratch/log")"
		echo "1..$((count + 1))"
		exit $((failures > 0))
	}
for part in fresh edited unedited libraries; do
	root=$scratch/root
	mkdir "$root" && tar -C "$root" -xf "$place/root.tar" && mkdir "$root/packages" "$root/tests" &&
		cp "$place"/packages/*.deb "$root/packages" && rm -f "$root"/packages/*-dbgsym_* &&
		cp "$top_srcdir"/debian/tests/* "$top_srcdir"/test/package/client.c "$top_srcdir"/test/package/in-root "$root/tests" ||
		exit 99
	timeout --kill-after=10 1800 unshare --net --mount --pid --fork --mount-proc sh -c 'ip link set lo up && mount --make-rprivate / &&
		mount -t proc proc "$1/proc" && mount --rbind /dev "$1/dev" && mount -t tmpfs tmpfs "$1/dev/shm" &&
		mount -t tmpfs tmpfs "$1/tmp" && exec chroot "$1" /tests/in-root "$2"' sh "$root" $part >"$scratch/points" 2>&1
	while read -r line; do
		case $line in
		"ok - "* | "not ok - "*)
			count=$((count + 1))
			[ "${line#not}" = "$line" ] || failures=$((failures + 1))
			echo "${line%% - *} $count - ${line#* - }"
			;;
		*) echo "$line" ;;
		esac
	done <"$scratch/points"
	rm -rf "$root"
	grep -qx "# part $part is done" "$scratch/points"
	result $? "part $part goes on to its end"
done

echo "1..$count"
[ $failures -eq 0 ]
