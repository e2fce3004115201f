# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# What the shell tests of dapltest share: TAP, a scratch folder, a server.
# Sourced; needs top_srcdir and top_builddir, which the test driver sets.

# In a network of our own nobody else takes a port that a server has just given up.
if [ -z "${UDAPL_IA:-}" ] && [ -z "${IN_PRIVATE_NETWORK:-}" ] &&
	unshare --net ip link set lo up 2>/dev/null; then
	IN_PRIVATE_NETWORK=1 exec unshare --net sh -c 'ip link set lo up && exec /bin/sh "$@"' sh "$0" "$@"
fi

dapltest=$top_builddir/dapltest
# The adapter may be another one, with its address and a registry that has it.
adapter=${UDAPL_IA:-soft-lo}
host=${UDAPL_HOST:-127.0.0.1}
# Every wait inside dapltest; far below the limit of the test as a whole.
wait_limit=${DAPLTEST_WAIT:-20}
scratch=$(mktemp -d "${TMPDIR:-/tmp}/dapltest.XXXXXX") || exit 99
count=0
server=
trap 'clean_up' EXIT
trap 'exit 99' HUP INT TERM

clean_up() {
	if [ -n "$server" ]; then
		kill -9 "$server" 2>/dev/null
		wait "$server" 2>/dev/null
	fi
	rm -rf "$scratch"
}

plan() {
	echo "1..$1"
}

diag() {
	sed 's/^/# /' "$@"
}

# result STATUS NAME [FILE...]: one line of TAP; the files explain a failure.
result() {
	count=$((count + 1))
	result_status=$1
	if [ "$result_status" -eq 0 ]; then
		echo "ok $count - $2"
	else
		echo "not ok $count - $2"
		shift 2
		[ $# -eq 0 ] || diag "$@"
	fi
	return "$result_status"
}

bail() {
	echo "Bail out! $*"
	exit 1
}

# A registry of our own, so that the tests use the module of this build and nothing else; no other adapter's.
use_soft() {
	[ -z "${UDAPL_IA:-}" ] || return 0
	soft_module=$top_builddir/providers/soft/.libs/libdaplsoft.so.2
	[ -e "$soft_module" ] || bail "no libdaplsoft.so.2 in $top_builddir"
	DAT_OVERRIDE=$scratch/dat.conf
	export DAT_OVERRIDE
	echo "soft-lo u2.0 nonthreadsafe default $soft_module udapl.1.0 \"lo\" \"\"" \
		>"$DAT_OVERRIDE"
}

# Starts a server on a free port and returns when it is ready: sets $server and $port.
start_server() {
	rm -f "$scratch/server.out"
	mkfifo "$scratch/server.out" || bail "mkfifo"
	"$dapltest" -T S -D "$adapter" -n 0 --timeout "$wait_limit" "$@" \
		>"$scratch/server.out" 2>>"$scratch/server.err" &
	server=$!
	exec 3<"$scratch/server.out"
	port=
	ready=
	while [ -z "$ready" ] && read -r line <&3; do
		case $line in
		"Dapltest: Server Port - "*) port=${line##* } ;;
		"Dapltest: Service Point Ready - $adapter") ready=yes ;;
		esac
	done
	if [ -z "$ready" ] || [ -z "$port" ]; then
		diag "$scratch/server.err"
		bail "the server did not become ready"
	fi
	cat <&3 >"$scratch/server.log" &
	exec 3<&-
}

# client TEST ARGUMENTS...: output and errors go to $scratch/out and $scratch/err.
client() {
	client_test=$1
	shift
	"$dapltest" -T "$client_test" -s "$host" -D "$adapter" -n "$port" \
		--timeout "$wait_limit" "$@" >"$scratch/out" 2>"$scratch/err"
}

# has PATTERN...: the client's output has a line for each extended regular expression.
has() {
	for pattern in "$@"; do
		if ! grep -Eq -- "$pattern" "$scratch/out"; then
			echo "# no line like: $pattern"
			return 1
		fi
	done
}

# Asks the server to quit; its exit status is the result.
quit_server() {
	client Q || return 1
	wait "$server"
	quit_status=$?
	server=
	return $quit_status
}
