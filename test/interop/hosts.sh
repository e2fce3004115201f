# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Two hosts for a test: network namespaces $a and $b, with the ends $device_a and $device_b of a wire between them,
# which are not up yet. Sourced; when the script ends they are gone, and all that runs there. Needs root and ip netns.
a=udapl-$$-a b=udapl-$$-b
device_a=ud$$a device_b=ud$$b

skip() {
	echo "1..0 # SKIP $1"
	exit 0
}

remove_hosts() {
	for name in "$a" "$b"; do
		# Whatever still runs in there is of this test.
		ip netns pids "$name" 2>/dev/null | xargs -r kill -9 2>/dev/null
		ip netns del "$name" 2>/dev/null
	done
	ip link del "$device_a" 2>/dev/null
}

# The script may say what more is to be done at its end: COMMAND...
make_hosts() {
	at_end=$*
	trap 'remove_hosts; $at_end' EXIT
	trap 'exit 1' HUP INT TERM
	[ "$(id -u)" = 0 ] || skip "network namespaces need root"
	command -v ip >/dev/null || skip "no ip command"
	ip netns add "$a" 2>/dev/null || skip "ip netns does not work here"
	ip netns add "$b"
	ip link add "$device_a" netns "$a" type veth peer name "$device_b" netns "$b" 2>/dev/null ||
		skip "no veth devices here"
}

# The wire is up: ADDRESS of a, ADDRESS of b, each with the length of its prefix.
hosts_up() {
	ip -n "$a" link set "$device_a" up && ip -n "$b" link set "$device_b" up
	ip -n "$a" address replace "$1" dev "$device_a"
	ip -n "$b" address replace "$2" dev "$device_b"
	ip -n "$a" link set lo up && ip -n "$b" link set lo up
}
