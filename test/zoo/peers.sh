#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Debian's unmodified programs of release 2.1.10 between processes of our module and of that release's, and under either
# libdat2: ZOO_CM=... test/zoo/run KIND sh test/zoo/peers.sh [SERVER CLIENT [PROGRAM ARGUMENT...]]; a side is
# LIBDAT2+MODULE. Their fixed ports want a network of their own.
: "${top_srcdir:?}" "${top_builddir:?}" "${UDAPL_IA:?}"
top_builddir=$(cd "$top_builddir" && pwd)
. "$top_srcdir/test/interop/debian.sh"
for package in dapl2-utils libdapl2; do
	fetch $package || skip_all "Debian's $package cannot be had here: $(tail -n 1 "$scratch/fetch.log")"
done
ia=$UDAPL_IA
theirs=$debian/usr/lib/x86_64-linux-gnu
cp "$DAT_OVERRIDE" "$scratch/ours.conf"
sed "s|[^ ]*/\(libdapl[a-z]*\.so\.2\)|$theirs/\1|" "$DAT_OVERRIDE" >"$scratch/theirs.conf"

# One side: LIBDAT2+MODULE COMMAND...
side() {
	path=$top_builddir/dat/.libs
	[ "${1%+*}" = ours ] || path=$theirs
	DAT_OVERRIDE=$scratch/${1#*+}.conf
	LD_LIBRARY_PATH=$top_builddir/test/zoo/lib:$path
	export DAT_OVERRIDE LD_LIBRARY_PATH
	shift
	exec timeout "${PEERS_LIMIT:-60}" stdbuf -oL "$@" # or what they said is lost with them
}

# A run that says nothing: their servers may listen after they told their client that they do; and that release's module
# falls over datagrams' endpoints, in dat_ia_close: of 40 servers of "dtestx -U 4" 26 with our client and 6 with its own.
says_nothing() {
	grep -qE 'NON_PEER_REJECTED|0x4003|Connection refused|CR REJECT' "$scratch/client" && return
	[ "$client:${on_client#*+}" = 139:theirs ] || [ "$served:${on_server#*+}" = 139:theirs ]
}

# SERVER CLIENT PROGRAM ARGUMENT...
pair() {
	on_server=$1 on_client=$2 program=$3 client_is=
	shift 3
	[ "$program" != dtestx ] || client_is=-c
	for _ in $(seq 24); do
		(side "$on_server" "$debian/usr/bin/$program" -P "$ia" "$@") >"$scratch/server" 2>&1 &
		server=$!
		children="$children $server"
		wait_listen 15828 $server
		(side "$on_client" "$debian/usr/bin/$program" -P "$ia" $client_is -h 127.0.0.1 "$@") >"$scratch/client" 2>&1
		client=$?
		[ $client -eq 0 ] || kill $server 2>/dev/null
		wait $server 2>/dev/null
		served=$?
		says_nothing || break
	done
	[ "$client" -eq 0 ] && [ "$served" -eq 0 ] && ! grep -qE 'FAILED|ERR|[Ee]rror' "$scratch/client" "$scratch/server"
	result $? "$program $*: server on $on_server, client on $on_client (client $client, server $served)" \
		"$scratch/client" "$scratch/server"
}

# Private data, messages, writes and reads, all checked: SERVER CLIENT.
wire() {
	(side "$1" "$top_builddir/test/vm/wire" server "$ia" 1) >"$scratch/server" 2>&1 &
	server=$!
	children="$children $server"
	wait_line ready "$scratch/server" $server
	(side "$2" "$top_builddir/test/vm/wire" client "$ia" "$(sed -n 's/^ready //p' "$scratch/server")") \
		>"$scratch/client" 2>&1
	client=$?
	[ $client -eq 0 ] || kill $server 2>/dev/null
	wait $server 2>/dev/null
	served=$?
	[ $client -eq 0 ] && [ $served -eq 0 ] && grep -q passed "$scratch/client" && grep -q passed "$scratch/server"
	result $? "wire: server on $1, client on $2 (client $client, server $served)" "$scratch/client" "$scratch/server"
}

if [ $# -gt 2 ]; then
	pair "$@"
	exit
fi
pairs="${1:-ours+ours} ${2:-ours+ours}"
[ $# -gt 0 ] || pairs="$pairs ours+theirs ours+ours ours+ours ours+theirs theirs+theirs ours+ours ours+ours theirs+theirs \
	theirs+ours theirs+theirs"
# shellcheck disable=SC2086
set -- $pairs
while [ $# -gt 0 ]; do
	wire "$1" "$2"
	pair "$1" "$2" dtest -b 16384
	pair "$1" "$2" dtestcm -c 50
	pair "$1" "$2" dtestx
	case $1$2 in
	*+ours*)
		for datagrams in -u "-U 4" "-u -m"; do
			# shellcheck disable=SC2086
			PEERS_LIMIT=10 pair "$1" "$2" dtestx $datagrams
		done
		;;
	esac
	shift 2
done
echo "1..$count"
[ $failures -eq 0 ]
