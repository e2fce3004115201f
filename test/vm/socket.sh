#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Connections over sockets on the kernel's soft-RoCE: Debian's programs of release 2.1.10 on our libdaploscm.so.2 and on
# that release's, each talking to the other, and each module under the other one's libdat2.
#
# PAIRS  SERVER:CLIENT, the stacks (all of interest)
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=test/vm/lib.sh
. "$here/lib.sh"
pairs=${PAIRS:-theirs+theirs:theirs+theirs ours+ours:ours+ours theirs+theirs:ours+ours ours+ours:theirs+theirs
	ours+theirs:ours+ours theirs+ours:theirs+theirs}

# The adapter ofa-rxe of each host, by its device: NAME LIBRARY.
write_scm_conf() {
	local host dev
	for host in A B; do
		dev=UDAPL_VM_RXE_${host}_DEV
		printf 'ofa-rxe u2.0 nonthreadsafe default %s dapl.2.0 "%s 1" ""\n' "$2" "${!dev}" >"$stage/$1.$host.conf"
	done
}

# The environment of a host: HOST COMMAND...
at() {
	local netdev=UDAPL_VM_RXE_$1_NETDEV
	DAPL_SCM_NETDEV=${!netdev} "${@:2}"
}

# Both sides of a program: PAIR PROGRAM ARGUMENT... Neither may fail, nor say that something has.
try_pair() {
	local pair=$1 program=$2 name="$*" log=$stage/log try server code status
	shift 2
	for try in 1 2 3 4 5; do
		(at B on "${pair%:*}" RXE B timeout 100 "$stage/bin/$program" -P ofa-rxe "$@") >"$log.server" 2>&1 &
		server=$!
		await $server listens_tcp RXE 15828
		(at A on "${pair#*:}" RXE A timeout 100 "$stage/bin/$program" -P ofa-rxe -h "$UDAPL_VM_RXE_B_ADDR" "$@") \
			>"$log.client" 2>&1
		code=$?
		grep -q NON_PEER_REJECTED "$log.client" || break # they may listen after they have said so
		kill $server
		wait $server
	done
	wait $server
	status=$?
	[ $code -eq 0 ] && [ $status -eq 0 ] && ! grep -qE 'FAILED|ERR|[Ee]rror' "$log.client" "$log.server"
	result $? "$name (client $code, server $status)" "$log.client" "$log.server"
}

client() { # PAIR NAME ARGUMENT...
	local pair=$1 name=$2 log=$stage/log status
	shift 2
	(at A on "${pair#*:}" RXE A timeout 100 "$stage/bin/dapltest" "${@:1:2}" -s "$UDAPL_VM_RXE_B_ADDR" -D ofa-rxe "${@:3}") \
		>"$log.client" 2>&1
	status=$?
	grep -qiE 'fail|error|mismatch|wrong' "$log.client" && status=1
	result $status "$pair dapltest $name" "$log.client" "$log.dapltest"
}

dapltest() { # PAIR
	local server log=$stage/log.dapltest
	(at B on "${1%:*}" RXE B timeout 300 "$stage/bin/dapltest" -T S -D ofa-rxe) >"$log" 2>&1 &
	server=$!
	await $server grep -q Ready "$log"
	result $? "$1 dapltest -T S: the server is ready" "$log" || return
	client "$1" "trans, -V" -T T -V -i 100 -t 1 -w 1 client SR 4096 server SR 4096
	client "$1" "transmet, -V" -T T -V -P -t 2 -w 2 -i 20 client RW 4096 1 server RW 2048 4 server RR 1024 1 \
		client RR 2048 1 client SR 1024 3 -f server SR 256 3 -f
	client "$1" "-T Q" -T Q
	wait $server
}

inside() {
	local pair
	stage_build
	stage_debian
	cp -L "$debian/usr/lib/x86_64-linux-gnu/libdaploscm.so.2" "$stage/theirs/" || exit 99
	write_scm_conf ours "$stage/lib/libdaploscm.so.2"
	write_scm_conf theirs "$stage/theirs/libdaploscm.so.2"
	for pair in $pairs; do
		try_pair "$pair" dtest -b 16384
		try_pair "$pair" dtestcm -c 50
		try_pair "$pair" dtestx
		dapltest "$pair"
	done
}

case ${1:-} in
--inside) inside | collect ;;
*)
	fetch_debian
	enter_guest "${VM_LIMIT:-900}"
	;;
esac
