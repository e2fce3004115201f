#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# A client and a server in two network namespaces: the way between them is bad, or is cut at a step of one of them.
#
# NET_MOST   at how many steps of each it is cut in each way (1; 0: not at all); "make life" has more
# LIFE_SEED  which ones (1)
set -u
top_builddir=${top_builddir:-.}
build=$(cd "$top_builddir" && pwd) || exit 99
most=${NET_MOST:-1}
RANDOM=${LIFE_SEED:-1}
address_a=10.99.78.1 address_b=10.99.78.2
number=0 port=31000

# shellcheck source=test/interop/hosts.sh
. "$(dirname "$0")/../interop/hosts.sh"

lives=$build/test/life/lives
[ -x "$lives" ] || skip "a sanitizer has wrappers of its own for the calls at which the way is cut"
scratch=$(mktemp -d) || exit 99
make_hosts rm -rf "$scratch"

export FAULTS_MODULE=${FAULTS_MODULE:-$build/providers/soft/.libs/libdaplsoft.so.2}
export DAT_OVERRIDE=$scratch/dat.conf LD_LIBRARY_PATH=$build/dat/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
# A host that is silent is given up after two seconds, a peer's frame after three.
export DAPL_SOFT_PEER_TIMEOUT=2000 DAPL_SOFT_HANDSHAKE=3000 DAPL_SOFT_LINGER=1000 DAPL_SOFT_UNRECEIVED=1000
for side in "soft-a $device_a" "soft-b $device_b"; do
	printf '%s u2.0 nonthreadsafe default %s udapl.1.0 "%s" ""\n' "${side% *}" "$FAULTS_MODULE" "${side#* }"
done >"$DAT_OVERRIDE"

way_up() {
	hosts_up "$address_a/24" "$address_b/24"
	ip -n "$a" route del blackhole "$address_b" 2>/dev/null
	ip -n "$b" route del blackhole "$address_a" 2>/dev/null
	# What was learned of the neighbour while it was away is forgotten: nobody listens there, and the host says so.
	for _ in $(seq 1 100); do
		ip -n "$a" neighbour flush dev "$device_a"
		ip -n "$b" neighbour flush dev "$device_b"
		case $(ip netns exec "$a" timeout 1 bash -c "exec 3<>/dev/tcp/$address_b/9" 2>&1) in
		*refused*) return ;;
		esac
		sleep 0.05
	done
	echo "# the way does not come up again"
}

way_cut() { # HOW
	case $1 in
	'link down at the client') ip -n "$a" link set "$device_a" down ;;
	'link down at the server') ip -n "$b" link set "$device_b" down ;;
	'no answers') ip -n "$b" route add blackhole "$address_a" ;;
	esac
}

result() { # STATUS TEXT
	number=$((number + 1))
	if [ "$1" -eq 0 ]; then
		echo "ok $number - $2"
	else
		echo "not ok $number - $2"
		sed 's/^/# /' "$scratch/server" "$scratch/client" "$scratch/why" | cut -c 1-300
	fi
}

serve() { # OPTION...
	port=$((port + 2))
	ip netns exec "$b" "$lives" server -a soft-b -p $port "$@" >"$scratch/server" 2>"$scratch/why" &
	server=$!
	for _ in $(seq 1 200); do
		ip netns exec "$b" grep -q ":$(printf %04X $((port + 1))) 00000000:0000 0A" /proc/net/tcp && return
		sleep 0.02
	done
}

begin() { # OPTION...
	ip netns exec "$a" "$lives" client -a soft-a -c "$address_b" -p $port "$@" >"$scratch/client" 2>>"$scratch/why" &
	client=$!
}

both() {
	local status=0
	wait "$client" || status=1
	wait "$server" || status=1
	return $status
}

# Both come to the end of their lives as if nothing were: LIMIT-MS ROUNDS
undisturbed() {
	serve -l "$1" -r "$2"
	begin -l "$1" -r "$2"
	both
}

# Whether the process stands still before its step; it may be through already.
stands() { # PID
	for _ in $(seq 1 300); do
		case $(sed 's/.*) //' "/proc/$1/stat" 2>/dev/null) in
		T*) return 0 ;;
		'' | Z*) return 1 ;;
		esac
		sleep 0.02
	done
	return 1
}

# The way is cut before a step of one side: HOW SIDE STEP
cut_at() {
	local victim status
	cut=
	way_up
	serve -e -l 6000 $([ "$2" != server ] || echo "-k $3")
	begin -e -l 6000 $([ "$2" != client ] || echo "-k $3")
	victim=${!2}
	if stands "$victim"; then
		way_cut "$1"
		cut=$(sed 's/\([0-9]*\)\.\([0-9]*\) .*/\1\20/' /proc/uptime)
		kill -CONT "$victim"
		both
		status=$?
	else
		both # it was through before
		status=$?
	fi
	return $status
}

cut_everywhere() { # HOW SIDE
	local step steps bad=0 tried=0 worst=0 heard cut
	steps=$(sed -n 's/.* \([0-9]*\) steps.*/\1/p' "$scratch/steps.$2")
	for ((step = 1 + RANDOM % (steps / most + 1); step <= steps; step += steps / most + 1)); do
		cut_at "$1" "$2" "$step" || {
			bad=$((bad + 1))
			echo "# $1, step $step of the $2"
			cat "$scratch/server" "$scratch/client" | sed 's/^/# /'
		}
		tried=$((tried + (cut > 0)))
		for heard in ${cut:+$(sed -n 's/.* at \([0-9]*\), .*/\1/p' "$scratch/server" "$scratch/client")}; do
			[ $((heard - cut)) -le "$worst" ] || worst=$((heard - cut))
		done
	done
	way_up
	undisturbed 8000 2 || bad=$((bad + 1))
	[ $worst -le 6000 ] || bad=$((bad + 1))
	result $bad "$1, cut at $tried steps of the $2: the end is heard within $worst ms, the next ones live"
}

# Everything arrives over a way that is bad: TEXT NETEM...
bad_way() {
	local text=$1
	shift
	ip netns exec "$a" tc qdisc replace dev "$device_a" root netem "$@" 2>"$scratch/why" &&
		ip netns exec "$b" tc qdisc replace dev "$device_b" root netem "$@" 2>>"$scratch/why" &&
		undisturbed "${limit:-60000}" 3
	result $? "$text: every byte arrives ($(sed -n 's/.* \([0-9]* ms\),.*/\1/p' "$scratch/client"))"
	ip netns exec "$a" tc qdisc del dev "$device_a" root 2>/dev/null
	ip netns exec "$b" tc qdisc del dev "$device_b" root 2>/dev/null
}

way_up
undisturbed 8000 2
result $? "nothing is disturbed"
serve -e -l 6000
begin -e -l 6000
both
result $? "a life that may end and does not"
cp "$scratch/server" "$scratch/steps.server"
cp "$scratch/client" "$scratch/steps.client"
for how in 'link down at the client' 'link down at the server' 'no answers'; do
	for side in client server; do
		[ "$most" -eq 0 ] || cut_everywhere "$how" $side
	done
done

why=$(ip netns exec "$a" tc qdisc add dev "$device_a" root netem delay 1ms 2>&1) || why=${why:-tc}
if [ -n "$why" ]; then
	number=$((number + 1))
	echo "ok $number # SKIP delay, loss, reordering, duplicates, damage, rate: $(tr '\n' ' ' <<<"$why")"
else
	# Retransmissions under loss take their time, a silent host is none of these.
	export DAPL_SOFT_PEER_TIMEOUT=30000 DAPL_SOFT_HANDSHAKE=20000
	bad_way 'delay of 20 +- 10 ms' delay 20ms 10ms
	bad_way 'loss of 5 %' delay 1ms loss 5%
	bad_way 'reordering of 25 %' delay 5ms reorder 25% 50%
	bad_way 'duplicates of 20 %' delay 1ms duplicate 20%
	bad_way 'a rate of 2 Mbit/s' rate 2mbit
	bad_way 'damage to 2 %' delay 1ms corrupt 2%
fi
echo "1..$number"
