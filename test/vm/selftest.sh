#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# What test/vm/run promises: devices that work, output and exit code of the command, an end to everything.
here=$(cd "$(dirname "$0")" && pwd)
count=0
failures=0

# result STATUS NAME
result() {
	count=$((count + 1))
	if [ "$1" -eq 0 ]; then
		echo "ok $count - $2"
	else
		echo "not ok $count - $2"
		failures=$((failures + 1))
		return 1
	fi
}

show() {
	sed 's/^/# /' "$@"
}

# ---- In the guest -------------------------------------------------------------------------------

# Waits until a process of the guest listens for connections of rdma_cm.
wait_listen() { # PID
	for _ in {1..200}; do
		rdma resource show cm_id | grep -q "state LISTEN .*pid $1 " && return
		kill -0 "$1" 2>/dev/null || return
		sleep 0.1
	done
	return 1
}

# Packets that a host has put on the wire.
packets() { # KIND HOST
	local netdev=UDAPL_VM_$1_$2_NETDEV
	vm-on "$1" "$2" cat "/sys/class/net/${!netdev}/statistics/tx_packets"
}

# rping from one host to the other, data compared.
ping_pair() { # KIND FROM TO ADDRESS-SUFFIX
	local address=UDAPL_VM_$1_$3_$4 server before
	before=$(packets "$1" "$2")
	vm-on "$1" "$3" rping -s -a "${!address}" -C 5 -v >/tmp/server 2>&1 &
	server=$!
	wait_listen $server && vm-on "$1" "$2" timeout 30 rping -c -a "${!address}" -C 5 -v -V >/tmp/client 2>&1
	result $? "rping on $1 from host $2 to host $3, ${!address}"
	kill $server 2>/dev/null
	wait $server
	[ "$(grep -c 'ping data: rdma-ping' /tmp/client)" = 5 ] && [ "$(packets "$1" "$2")" -gt $((before + 20)) ]
	result $? "its data was sent over the wire" || show /tmp/server /tmp/client
}

inside() {
	local kind host name text from
	for kind in $UDAPL_VM_KINDS; do
		for host in A B; do
			name=UDAPL_VM_${kind}_${host}_DEV
			text=$(vm-on "$kind" "$host" ibv_devinfo -d "${!name}" 2>&1)
			[[ $text == *PORT_ACTIVE* ]]
			result $? "$kind on host $host: ${!name} is active"
		done
		for from in "A B ADDR" "B A ADDR" "A B ADDR6"; do
			# shellcheck disable=SC2086
			ping_pair "$kind" $from
		done
	done
	echo "1..$count"
	echo "this is standard error" >&2
	exit 37
}

# ---- On this machine ----------------------------------------------------------------------------

run() {
	"$here/run" "$@"
}

seconds_of() { # COMMAND...
	local start=$EPOCHREALTIME end
	"$@"
	code=$?
	end=$EPOCHREALTIME
	seconds=$(((${end/[.,]/} - ${start/[.,]/}) / 100000))
	seconds=${seconds%?}.${seconds: -1}
}

outside() {
	local scratch code seconds lines
	scratch=$(mktemp -d "${TMPDIR:-/tmp}/vm-selftest.XXXXXX") || exit 99
	# shellcheck disable=SC2064
	trap "rm -rf '$scratch'" EXIT
	export scratch odd=$'two\nlines and a \'quote\''
	cd "$scratch" || exit 99

	if ! run --prepare 2>"$scratch/err"; then
		echo "1..0 # SKIP no virtual machine: $(tail -n 1 "$scratch/err")"
		exit 0
	fi

	# A run with nothing to prepare.
	seconds_of run --limit 60 -- true >out 2>err
	[ $code -eq 0 ] && [ ! -s out ] && [ ! -s err ]
	result $? "boot, an empty command and the end: $seconds s"
	[ "${seconds%.*}" -lt 60 ]
	result $? "a second start takes seconds"

	# Devices, and results in their places.
	run --limit 240 --console console -- "$here/selftest.sh" --inside >out 2>err
	result $((37 - $?)) "exit code of the command"
	[ "$(cat err)" = "this is standard error" ]
	result $? "standard error of the command, nothing else in it" || show err
	lines=$(grep -cE '^(ok|not ok) ' out)
	[ "$lines" -gt 0 ] && grep -qx "1..$lines" out && [ "$(grep -cvE '^(ok|not ok|#) ' out)" -eq 1 ]
	result $? "standard output is TAP and nothing else"
	[ -s console ]
	result $? "the kernel's messages are kept apart"
	# Each result inside is one here.
	sed -n 's/^ok [0-9]* - /0 /p; s/^not ok [0-9]* - /1 /p; s/^# /# /p' out >points
	while read -r code lines; do
		if [ "$code" = '#' ]; then echo "# $lines"; else result "$code" "inside: $lines"; fi
	done <points

	# The guest has our environment, folder and files, and cannot change them.
	echo here >file
	mkdir shared
	# shellcheck disable=SC2016
	run --limit 60 --share "$scratch/shared" --setup 'echo prepared >/tmp/prepared' -- bash -c '
		[ "$PWD" = "$scratch" ] && [ "$odd" = "$1" ] && [ "$(cat /tmp/prepared)" = prepared ] || exit 1
		echo there >file && [ "$(cat file)" = there ] && echo there >shared/file || exit 2
		{ seq 300000 && seq 300000 >/dev/stderr; } || exit 3
		sleep 1000 >/dev/null & exit 0' - "$odd" >out 2>err
	result $? "environment, folder, arguments and set-up reach the guest" || tail err
	[ "$(cat file)" = here ]
	result $? "what the guest writes is gone afterwards"
	[ "$(cat shared/file)" = there ]
	result $? "what it writes into a shared folder is here"
	seq 300000 >expected
	cmp -s out expected && cmp -s err expected
	result $? "two streams of two megabytes come through whole"

	# Everything ends.
	seconds_of run --limit 3 -- sh -c 'echo before; trap "" TERM; while :; do sleep 1; done' >out 2>err
	[ $code -eq 124 ] && grep -qx before out && grep -q 'time limit of 3 s' err && [ "${seconds%.*}" -lt 60 ]
	result $? "a command that hangs and ignores signals is ended by the limit of 3 s: after $seconds s, code $code"
	# The watchers of the guest are stopped, so that only this side is left to act.
	seconds_of env UDAPL_VM_BOOT_LIMIT=25 "$here/run" --limit 1 -- sh -c '
		for process in /proc/[0-9]*; do
			[ ! -e $process/exe ] || [ $process = /proc/$$ ] || kill -STOP ${process#/proc/}
		done
		kill -STOP $$' >out 2>err
	[ $code -eq 124 ] && [ "${seconds%.*}" -lt 60 ]
	result $? "a guest that hangs is ended: after $seconds s, code $code"
	run --limit 60 -- sh -c 'echo c >/proc/sysrq-trigger' >out 2>err
	[ $? -eq 125 ] && grep -q 'Kernel panic' err
	result $? "a guest whose kernel dies is reported with its last words"
	echo "1..$count"
	[ $failures -eq 0 ]
}

case ${1:-} in
--inside) inside ;;
--outside) outside ;;
*) exec "$here/run" --hold -- "$here/selftest.sh" --outside ;;
esac
