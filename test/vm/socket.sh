#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Connections over sockets on the kernel's soft-RoCE, by libdaploscm.so.2 of ours and of release 2.1.10, each talking to the
# other, and each under the other one's libdat2: what wire.sh does, Debian's dtestcm and dtestx, and a peer that is killed.
here=$(cd "$(dirname "$0")" && pwd)
export VM_CM=socket
# shellcheck source=test/vm/lib.sh
. "$here/lib.sh"
pairs=(
	"ours+ours ours+ours"
	"theirs+theirs ours+ours"
	"ours+ours theirs+theirs"
	"ours+theirs ours+ours"
	"theirs+ours theirs+theirs"
)

# Both sides of a program: SERVER-STACK CLIENT-STACK PROGRAM ARGUMENT... Neither may fail, nor say that something has.
try_pair() {
	local server_stack=$1 client_stack=$2 program=$3 log=$stage/log try server code status
	shift 3
	for try in 1 2 3 4 5; do
		(on "$server_stack" RXE B timeout 100 "$stage/bin/$program" -P "$(adapter RXE)" "$@") >"$log.server" 2>&1 &
		server=$!
		await $server listens_tcp RXE 15828 # where it hands the client its parameters
		(on "$client_stack" RXE A timeout 100 "$stage/bin/$program" -P "$(adapter RXE)" -h "$UDAPL_VM_RXE_B_ADDR" "$@") \
			>"$log.client" 2>&1
		code=$?
		# A server of theirs may begin to listen after it told its client that it does.
		grep -q NON_PEER_REJECTED "$log.client" || break
		kill $server
		wait $server
	done
	wait $server
	status=$?
	[ $code -eq 0 ] && [ $status -eq 0 ] && ! grep -qE 'FAILED|ERR|[Ee]rror' "$log.client" "$log.server"
	result $? "RXE $program $*: server on $server_stack, client on $client_stack (client $code, server $status)" \
		"$log.client" "$log.server"
}

# A peer over that release's module dies in every phase of a connection with ours.
try_killed() {
	local log=$stage/log
	UDAPL_TESTS='*killed*' UDAPL_IA=$(adapter RXE) UDAPL_PEER_CONF=$stage/theirs.A.conf \
		UDAPL_EXCLUSIONS=$top_srcdir/test/conformance/exclusions \
		timeout 100 "$0" --on ours+ours RXE A "$stage/bin/twoproc.t" >"$log" 2>&1
	report "$log" "RXE a peer of release 2.1.10" $?
}

inside() {
	local pair
	stage_build test/conformance/twoproc.t
	stage_debian
	try_killed
	for pair in "${pairs[@]}"; do
		# shellcheck disable=SC2086
		try_pair $pair dtestcm -c 50
		# shellcheck disable=SC2086
		try_pair $pair dtestx
	done
	"$here/wire.sh" --inside | sed -n 's/^\(ok\|not ok\) [0-9]* - /\1 /p; /^#/p'
}

both_stacks "${VM_LIMIT:-650}" "$@"
