#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# What a program reads from our libraries beside what it reads from those of release 2.1.10, on soft-RoCE and
# soft-iWARP: attributes of adapter, provider and endpoints, named attributes, answers to all queries, and what comes
# with connections. The differences are those of doc/differences.md, no more and no fewer.
#
# VM_KEEP  folder to keep the output of the programs in
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=test/vm/lib.sh
. "$here/lib.sh"

device() { # KIND
	case $1 in
	RXE) echo soft-RoCE ;;
	SIW) echo soft-iWARP ;;
	esac
}

# What both sides of connections read: KIND STACK
connections() {
	local kind=$1 stack=$2 log=$stage/$1.$2 server address=UDAPL_VM_$1_B_ADDR code
	(on "$stack" "$kind" B timeout 60 "$stage/bin/attributes" server "$(adapter "$kind")") >"$log.server" 2>"$log.err" &
	server=$!
	await $server grep -q ready "$log.server"
	timeout 60 "$0" --on "$stack" "$kind" A "$stage/bin/attributes" client "$(adapter "$kind")" "${!address}" \
		>"$log.client" 2>>"$log.err"
	code=$?
	[ $code -eq 0 ] || kill $server 2>/dev/null
	wait $server && [ $code -eq 0 ]
}

# Between two modules of release 2.1.10 a program crashes or fails now and then: they have three tries.
read_all() { # KIND STACK
	local kind=$1 stack=$2 log=$stage/$1.$2 try tries=1
	[ "$stack" = ours+ours ] || tries=3
	timeout 60 "$0" --on "$stack" "$kind" A "$stage/bin/attributes" objects "$(adapter "$kind")" \
		>"$log.objects" 2>"$log.err"
	result $? "$kind: everything is read on $stack" "$log.objects" "$log.err"
	for ((try = 1; try <= tries; try++)); do
		connections "$kind" "$stack" && break
	done
	[ $try -le $tries ]
	result $? "$kind: both sides of connections are read on $stack" "$log.client" "$log.server" "$log.err"
	{
		# Release 2.1.10 logs on standard output.
		grep -hE '^[a-z][-a-zA-Z0-9._+]* ' "$log.objects" "$log.server" "$log.client"
		[ "$(cat "$log.objects" "$log.server" "$log.client" | grep -cx 'done')" -ne 3 ] || echo 'done'
	} >"$log"
}

run_kind() {
	local kind=$1
	read_all "$kind" ours+ours
	read_all "$kind" theirs+theirs
	{
		flock 5
		python3 "$here/differences.py" "$top_srcdir/doc/differences.md" "$(device "$kind")" \
			"$stage/$kind.ours+ours" "$stage/$kind.theirs+theirs" 2>&1 ||
			echo "not ok $kind: the comparison ended early"
	} 5>>"$stage/lock"
	[ -z "${VM_KEEP:-}" ] || cp "$stage/$kind".* "$VM_KEEP"
}

inside() {
	stage_build test/vm/attributes
	stage_debian
	each_kind
}

[ -z "${VM_KEEP:-}" ] || share=$(realpath "$VM_KEEP")
both_stacks "${VM_LIMIT:-400}" "$@"
