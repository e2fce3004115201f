# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# What the tests with Debian's binaries of release 2.1.10 share. Sourced; needs top_srcdir and top_builddir.

count=0
failures=0
scratch=$(mktemp -d "${TMPDIR:-/tmp}/interop.XXXXXX") || exit 99
children=
trap 'clean_up' EXIT
trap 'exit 99' HUP INT TERM

clean_up() {
	for child in $children; do
		kill -9 "$child" 2>/dev/null
	done
	rm -rf "$scratch"
}

skip_all() {
	echo "1..0 # SKIP $*"
	exit 0
}

# result STATUS NAME [FILE...]
result() {
	count=$((count + 1))
	if [ "$1" -eq 0 ]; then
		echo "ok $count - $2"
		return 0
	fi
	failures=$((failures + 1))
	echo "not ok $count - $2"
	shift 2
	for file in "$@"; do
		head -n 15 "$file" | sed 's/^/# /'
		tail -n +16 "$file" | tail -n 25 | sed 's/^/# /'
	done
	return 1
}

# Unpacks a Debian package beside the build, once: sets $debian to its root.
fetch() {
	debian=$top_builddir/test/interop/debian
	mkdir -p "$debian"
	(
		# Another test may run what this one would unpack over it.
		flock 9
		[ -e "$debian/.have-$1" ] || {
			(
				cd "$scratch" || exit 1
				apt-get download "$1" || { apt-get update && apt-get download "$1"; }
			) && dpkg-deb -x "$scratch/$1"_*.deb "$debian" && : >"$debian/.have-$1"
		}
	) >"$scratch/fetch.log" 2>&1 9>"$debian/.lock"
}

# The module of this build under soft-lo, and nothing else.
use_soft() {
	DAT_OVERRIDE=$scratch/dat.conf
	export DAT_OVERRIDE
	echo "soft-lo u2.0 nonthreadsafe default $top_builddir/providers/soft/.libs/libdaplsoft.so.2 udapl.1.0 \"lo\" \"\"" \
		>"$DAT_OVERRIDE"
}

# Whether somebody listens on a port of this network.
listening() {
	hex=$(printf '%04X' "$1")
	grep -qiE "^ *[0-9]+: [0-9A-F]+:$hex [0-9A-F:]+ 0A " /proc/net/tcp
}

# wait_listen PORT PID: until PID listens on PORT, at most 20 s.
wait_listen() {
	tries=0
	while ! listening "$1"; do
		kill -0 "$2" 2>/dev/null || return 1
		tries=$((tries + 1))
		[ $tries -lt 400 ] || return 1
		sleep 0.05
	done
}

# wait_line WORD FILE PID: until PID has written WORD to FILE, which may not be there yet, at most 20 s.
wait_line() {
	tries=0
	while ! grep -qs "$1" "$2"; do
		kill -0 "$3" 2>/dev/null || return 1
		tries=$((tries + 1))
		[ $tries -lt 400 ] || return 1
		sleep 0.05
	done
}
