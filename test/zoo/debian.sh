#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Debian's unmodified programs of release 2.1.10 on the adapter of UDAPL_IA, by our module, and by release 2.1.10's
# where it can have it: test/zoo/run KIND sh test/zoo/debian.sh [ours|theirs]. Their fixed ports want a network of
# their own. With release 2.1.10's module dapltest's server does not end by itself.
: "${top_srcdir:?}" "${top_builddir:?}" "${UDAPL_IA:?}"
top_builddir=$(cd "$top_builddir" && pwd)
. "$top_srcdir/test/interop/debian.sh"
fetch dapl2-utils || skip_all "Debian's dapl2-utils cannot be had here: $(tail -n 1 "$scratch/fetch.log")"
ia=$UDAPL_IA

if [ "${1:-ours}" = theirs ]; then
	fetch libdapl2 || skip_all "Debian's libdapl2 cannot be had here: $(tail -n 1 "$scratch/fetch.log")"
	module=$(find "$debian" -name libdaplofa.so.2 | head -n 1)
	DAT_OVERRIDE=$scratch/dat.conf
	export DAT_OVERRIDE
	echo "$ia u2.0 nonthreadsafe default $module dapl.2.0 \"127.0.0.1 0\" \"\"" >"$DAT_OVERRIDE"
fi

# Both sides of a program: PROGRAM PORT OPTION... Their servers may listen after they told their client that they do.
pair() {
	program=$1 port=$2
	shift 2
	for _ in 1 2 3 4 5 6 7 8; do
		timeout 60 "$debian/usr/bin/$program" -P "$ia" "$@" >"$scratch/server" 2>&1 &
		server=$!
		children="$children $server"
		if [ "$port" = 0 ]; then sleep 0.5; else wait_listen "$port" $server; fi
		timeout 60 "$debian/usr/bin/$program" -P "$ia" -h 127.0.0.1 "$@" >"$scratch/client" 2>&1
		client=$?
		grep -qE 'NON_PEER_REJECTED|0x4003' "$scratch/client" || break
		kill $server 2>/dev/null
		wait $server 2>/dev/null
	done
	wait $server
	served=$?
	[ $client -eq 0 ] && [ $served -eq 0 ] && ! grep -qE 'FAILED|ERR|[Ee]rror' "$scratch/client" "$scratch/server"
	result $? "$program $* (client $client, server $served)" "$scratch/client" "$scratch/server"
}

# One run of dapltest's client: NAME -T KIND ARGUMENT...
dapltest() {
	name=$1 form=$3
	shift 3
	timeout 60 "$debian/usr/bin/dapltest" -T "$form" -s 127.0.0.1 -D "$ia" "$@" >"$scratch/client" 2>&1
	status=$?
	# Its exit status tells nothing of the test's outcome; its words do.
	grep -qiE 'fail|error|mismatch|wrong' "$scratch/client" && status=1
	result $status "dapltest $name" "$scratch/client" "$scratch/dapltest"
}

case ${1:-ours}:$ia in
# Its port names no longest message (0), which that release takes at its word.
theirs:*-mana) result 0 "dtest # SKIP release 2.1.10 makes no endpoint there" ;;
*) pair dtest 15828 -b 16384 ;;
esac
if [ "${1:-ours}" = ours ]; then
	pair dtestcm 15828 -c 50
	# These wait half a minute for events that they do not expect.
	if [ "${ZOO_PROGRAMS:-}" = all ]; then
		case $ia in *iw* | *-mana | *-irdma-*) ;; *) pair dtestsrq 45248 -b 1024 ;; esac
		case $ia in *iw*) ;; *) pair dtestx 15828 ;; esac
	fi
fi
timeout 120 "$debian/usr/bin/dapltest" -T S -D "$ia" >"$scratch/dapltest" 2>&1 &
server=$!
children="$children $server"
wait_line Ready "$scratch/dapltest" $server
result $? "dapltest -T S: the server is ready" "$scratch/dapltest"
dapltest "trans, -V" -T T -V -i 200 -t 1 -w 1 client SR 4096 server SR 4096
segments=3 # of a message
case $ia in *-erdma-*) segments=1 ;; esac
dapltest "transmet, -V" -T T -V -P -t 2 -w 2 -i 20 client RW 4096 1 server RW 2048 $segments server RR 1024 1 \
	client RR 2048 1 client SR 1024 $segments -f server SR 256 $segments -f
dapltest "perf" -T P -i 512 -m b RW 4096 2
if [ "${1:-ours}" = ours ]; then
	dapltest "-T Q" -T Q
	wait $server
	result $? "dapltest -T Q ends the server" "$scratch/dapltest"
else
	kill $server && wait $server # which ends the server with it, as SIGKILL would not
fi
echo "1..$count"
[ $failures -eq 0 ]
