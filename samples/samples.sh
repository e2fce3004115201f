#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Every sample does what its first comment says, on the adapter UDAPL_IA (soft-lo) at UDAPL_HOST (127.0.0.1).
#
# UDAPL_SAMPLES  folder of the programs (those of this build)
# SAMPLE_LIMIT   seconds for each (60)
# UDAPL_BRIEF    1: fewer connections
: "${top_srcdir:?}" "${top_builddir:?}"
. "$top_srcdir/test/interop/debian.sh"
# The samples listen on fixed ports: a network of our own keeps them apart.
if [ -z "${UDAPL_IA:-}" ] && [ -z "${IN_PRIVATE_NETWORK:-}" ] && unshare --net true 2>/dev/null; then
	rm -rf "$scratch"
	IN_PRIVATE_NETWORK=1 exec unshare --net sh -c 'ip link set lo up && exec /bin/sh "$@"' sh "$0" "$@"
fi
samples=${UDAPL_SAMPLES:-$top_builddir/samples}
limit=${SAMPLE_LIMIT:-60}
[ "${UDAPL_BRIEF:-}" = 1 ] && many=20 || many=200
if [ -z "${UDAPL_IA:-}" ]; then
	UDAPL_IA=soft-lo
	use_soft
fi
export UDAPL_IA
host=${UDAPL_HOST:-127.0.0.1}

# Both sides of a sample: NAME SERVER-COMMAND -- CLIENT-COMMAND. The clients' output stays in $scratch/client.
both() {
	name=$1
	shift
	server_args=
	while [ "$1" != -- ]; do
		server_args="$server_args $1"
		shift
	done
	shift
	: >"$scratch/server"
	# shellcheck disable=SC2086
	timeout "$limit" $server_args >>"$scratch/server" 2>&1 &
	server=$!
	children="$children $server"
	wait_line 'listening on port' "$scratch/server" $server
	timeout "$limit" "$@" >"$scratch/client" 2>&1
	client=$?
	wait $server
	served=$?
	[ $client -eq 0 ] && [ $served -eq 0 ]
	result $? "$name: both sides succeed (client $client, server $served)" "$scratch/client" "$scratch/server"
}

says() { # NAME FILE PATTERN
	grep -q -- "$3" "$scratch/$2"
	result $? "$1" "$scratch/$2"
}

fails() { # NAME PATTERN COMMAND...
	name=$1 pattern=$2
	shift 2
	timeout "$limit" "$@" >"$scratch/client" 2>&1
	status=$?
	[ $status -ne 0 ] && [ $status -ne 124 ] && grep -q -- "$pattern" "$scratch/client"
	result $? "$name" "$scratch/client"
}

both hello "$samples/hello" -- "$samples/hello" "$host"
says "hello: the greeting arrives" server '^hello, world$'

# A name whose first address is of the other family.
printf '::1 sample-host\n%s sample-host\n' "$host" >"$scratch/hosts"
in_hosts='mount --bind "$0" /etc/hosts && exec "$@"'
if [ "$UDAPL_IA" = soft-lo ] && unshare --mount sh -c "$in_hosts" "$scratch/hosts" true 2>/dev/null; then
	both hello "$samples/hello" -- unshare --mount sh -c "$in_hosts" "$scratch/hosts" "$samples/hello" sample-host
	both legacy/pingpong "$samples/legacy/pingpong" -- unshare --mount sh -c "$in_hosts" \
		"$scratch/hosts" "$samples/legacy/pingpong" sample-host 20
	both dtestcm "$samples/dtestcm" -P "$UDAPL_IA" -s -c 1 -- unshare --mount sh -c "$in_hosts" \
		"$scratch/hosts" "$samples/dtestcm" -P "$UDAPL_IA" -h sample-host -c 1
fi

both sum "$samples/sum" -P "$UDAPL_IA" -- "$samples/sum" -P "$UDAPL_IA" "$host" 4294967000 295
says "sum: the answer is right" client '^4294967295$'

if [ "${UDAPL_IA#soft}" != "$UDAPL_IA" ]; then
	both upgrade "$samples/upgrade" -P "$UDAPL_IA" -- "$samples/upgrade" -P "$UDAPL_IA" "$host" "over RDMA now"
	says "upgrade: what comes after the sockets' words is a message" server '^over RDMA now$'
else
	fails "upgrade: an adapter that cannot do so says it" "no connections over sockets" \
		"$samples/upgrade" -P "$UDAPL_IA" "$host" "over RDMA now"
fi

both legacy/pingpong "$samples/legacy/pingpong" -- "$samples/legacy/pingpong" "$host" 200
says "legacy/pingpong: a program of DAT 1.2 gets every ball" server '^ball 200$'
says "legacy/pingpong: it says how long they take" client '^200 rounds, [0-9.]* us one way$'

both cno-epoll "$samples/cno-epoll" -P "$UDAPL_IA" -n 3 -- sh -c '
	"$@" one two three && { "$@" left & "$@" right; right=$?; wait $! && exit $right; }' sh \
	"$samples/cno-epoll" -P "$UDAPL_IA" "$host"
says "cno-epoll: each text comes back" client '^two$'
says "cno-epoll: one thread serves clients and a timer" server '^served 3 clients, the timer came too$'

for options in "" "-c" "-p" "-b 100000 -B 25" "-v -b 1 -B 1"; do
	# shellcheck disable=SC2086
	both "dtest $options" "$samples/dtest" -P "$UDAPL_IA" -s $options -- \
		"$samples/dtest" -P "$UDAPL_IA" -h "$host" $options
	says "dtest $options: reads and writes are reported" client '^RDMA read '
done

skip() { # NAME REASON
	count=$((count + 1))
	echo "ok $count - $1 # SKIP $2"
}

both dtestx "$samples/dtestx" -P "$UDAPL_IA" -s -- "$samples/dtestx" -P "$UDAPL_IA" -h "$host"
says "dtestx: the server passed too" server PASSED
both "dtestx -b 1" "$samples/dtestx" -P "$UDAPL_IA" -s -b 1 -- "$samples/dtestx" -P "$UDAPL_IA" -h "$host" -b 1
if timeout "$limit" "$samples/dtestx" -P "$UDAPL_IA" -q >"$scratch/client" 2>&1 &&
	grep -q DAT_EXTENSION_INTERFACE "$scratch/client"; then
	result 0 "dtestx -q: the adapter is asked without being opened"
	both "dtestx -p" "$samples/dtestx" -P "$UDAPL_IA" -s -- \
		"$samples/dtestx" -P "$UDAPL_IA" -h "$host" -p
	says "dtestx -p: prints counters" client RECV
else
	grep -qE 'NOT_IMPLEMENTED|^adapter ' "$scratch/client"
	result $? "dtestx -q: an adapter without the extension says so" "$scratch/client"
	skip "dtestx -p" "the adapter is without the extension"
fi
fails "dtestx -u: says that it has no datagrams" "does not try unreliable datagrams" "$samples/dtestx" -u

both dtestcm "$samples/dtestcm" -P "$UDAPL_IA" -s -c $many -- \
	"$samples/dtestcm" -P "$UDAPL_IA" -h "$host" -c $many
says "dtestcm: a rate is reported" client 'CPS [1-9]'
both "dtestcm -m -w" "$samples/dtestcm" -P "$UDAPL_IA" -s -m -w -c $((many / 2)) -b 10 -- \
	"$samples/dtestcm" -P "$UDAPL_IA" -h "$host" -m -w -c $((many / 2)) -b 10

timeout "$limit" "$samples/dtestsrq" -P "$UDAPL_IA" -h "$host" -p 1 >"$scratch/client" 2>&1
grep -q 'no shared receive queues' "$scratch/client" && has_srq=0 || has_srq=1
for options in "" "-c 10 -B 8" "-c 3 -B 100 -t 5 -b 4096" "-S 0 -c 4 -B 10"; do
	if [ $has_srq -eq 0 ] && [ "${options#-S 0}" = "$options" ]; then
		skip "dtestsrq $options" "the adapter has no shared receive queues"
		continue
	fi
	# shellcheck disable=SC2086
	both "dtestsrq $options" "$samples/dtestsrq" -P "$UDAPL_IA" -s $options -- \
		"$samples/dtestsrq" -P "$UDAPL_IA" -h "$host" $options
done

# Which connection is served first is chance: one that lags must not be run over.
[ "${UDAPL_BRIEF:-}" = 1 ] && times=2 || times=20
for turn in $(seq $times); do
	both "dtestsrq without a shared queue, turn $turn of $times" \
		"$samples/dtestsrq" -P "$UDAPL_IA" -s -S 0 -c 4 -B 10 -- \
		"$samples/dtestsrq" -P "$UDAPL_IA" -h "$host" -S 0 -c 4 -B 10
done

levels() { # NAME PATTERN LEVELS...
	name=$1 pattern=$2
	shift 2
	DAT_TRACE_LEVEL=1 timeout "$limit" "$samples/trace-level" "$UDAPL_IA" "$@" >"$scratch/client" 2>"$scratch/server"
	grep -q -- "$pattern" "$scratch/client"
	result $? "$name" "$scratch/client" "$scratch/server"
}
levels "trace-level: the interface has its version" '^interface 1\.0$'
levels "trace-level: levels come from the environment" '^before: dat 1, dapl 0$'
levels "trace-level: both are changed" '^after: dat 3, dapl 7$' 3 7
levels "trace-level: -1 keeps one" '^after: dat 1, dapl 3$' -1 3
grep -q ' 0x5C3 3 ' "$scratch/server"
result $? "trace-level: the change takes effect at once" "$scratch/server"
fails "trace-level: 11 is refused" "DAT_INVALID_PARAMETER DAT_INVALID_ARG2" \
	"$samples/trace-level" "$UDAPL_IA" 3 11
fails "trace-level: -2 is refused" "DAT_INVALID_PARAMETER DAT_INVALID_ARG1" \
	"$samples/trace-level" "$UDAPL_IA" -2 3

fails "an unknown adapter is named" nowhere "$samples/dtest" -P nowhere -h "$host"
fails "an unknown host is named" no.such.host.invalid "$samples/dtest" -P "$UDAPL_IA" -h no.such.host.invalid
for sample in cno-epoll sum upgrade dtest dtestx dtestcm dtestsrq; do
	fails "$sample: a wrong option gives the usage" "usage: $sample" "$samples/$sample" -Z
done
fails "dtest: a size of 0 gives the usage" "usage:" "$samples/dtest" -b 0
for bad in "dtest -B x" "dtest -d -1" "dtest -b 64k" "dtestx -b 1x" "dtestcm -b -1" "dtestcm -c 5000000000" "dtestcm -p x" \
	"dtestcm -d 5000000000" "dtestsrq -S 2" "dtestsrq -p -1" "dtestsrq -t 1x"; do
	# shellcheck disable=SC2086
	fails "$bad: no number gives the usage" "^usage:" "$samples/"$bad
done
fails "dtestsrq: too many connections give the usage" "usage:" "$samples/dtestsrq" -c 101

echo "1..$count"
exit $((failures != 0))
