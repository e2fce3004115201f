#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# The soft provider between two network namespaces with addresses of their own. Needs root and ip netns.
here=$(dirname "$0")
one=udapl-$$-a
two=udapl-$$-b
device_one=ud$$a
device_two=ud$$b

skip() {
	echo "1..0 # SKIP $1"
	exit 0
}

cleanup() {
	for name in "$one" "$two"; do
		# Whatever still runs in there is of this test.
		ip netns pids "$name" 2>/dev/null | xargs -r kill -9 2>/dev/null
		ip netns del "$name" 2>/dev/null
	done
	ip link del "$device_one" 2>/dev/null
}

[ "$(id -u)" = 0 ] || skip "network namespaces need root"
command -v ip >/dev/null || skip "no ip command"
trap cleanup EXIT
trap 'exit 1' HUP INT TERM
ip netns add "$one" 2>/dev/null || skip "ip netns does not work here"
ip netns add "$two"
ip link add "$device_one" type veth peer name "$device_two" 2>/dev/null || skip "no veth devices here"
ip link set "$device_one" netns "$one" && ip link set "$device_two" netns "$two" || skip "veth does not move"
for side in "$one $device_one 1" "$two $device_two 2"; do
	set -- $side
	ip -n "$1" address add "10.99.77.$3/24" dev "$2"
	ip -n "$1" link set "$2" up
	ip -n "$1" link set lo up
done
"$here/pair.py" netns "$one" "$two" "$device_one" "$device_two"
