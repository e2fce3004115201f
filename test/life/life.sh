#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# A client and a server, one of which is killed or stands still at a step, over TCP and over shared memory.
#
# LIFE_MOST  at how many steps of each (12); "make life" takes every one
# LIFE_SEED  which ones (1)
set -u
top_builddir=${top_builddir:-.}
build=$(cd "$top_builddir" && pwd) || exit 99
lives=$build/test/life/lives
if [ ! -x "$lives" ]; then
	echo "1..0 # SKIP a sanitizer has wrappers of its own for the calls at which a process is killed"
	exit 0
fi
most=${LIFE_MOST:-12}
# No third process meets these two in a network of their own.
if [ -z "${IN_PRIVATE_NETWORK:-}" ] && unshare --net ip link set lo up 2>/dev/null; then
	IN_PRIVATE_NETWORK=1 exec unshare --net sh -c 'ip link set lo up && exec /bin/sh "$@"' sh "$0" "$@"
fi
scratch=$(mktemp -d) || exit 99
trap 'rm -rf "$scratch"' EXIT
export FAULTS_MODULE="$build/providers/soft/.libs/libdaplsoft.so.2" DAT_OVERRIDE="$scratch/dat.conf"
export LD_LIBRARY_PATH="$build/dat/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
echo "soft-lo u2.0 nonthreadsafe default $FAULTS_MODULE udapl.1.0 \"lo\" \"\"" >"$DAT_OVERRIDE"
seed=${LIFE_SEED:-1}
echo "# seed $seed"
number=0

# Its points, numbered on: NAME LIMIT-IN-MS COMMAND...
points() {
	name=$1
	# What waits for a peer gives up after so long.
	export DAPL_SOFT_HANDSHAKE="$2" DAPL_SOFT_LINGER="$2" DAPL_SOFT_UNRECEIVED="$2"
	shift 2
	"$@" >"$scratch/out" 2>&1
	while IFS= read -r line; do
		case $line in
		'ok '* | 'not ok '*)
			number=$((number + 1))
			echo "${line%% [0-9]*} $number - $name: ${line#* - }"
			;;
		1..*) ;;
		*) echo "# ${line#\# }" ;;
		esac
	done <"$scratch/out"
}

named() {
	grep -o '@udapl[^ ]*' /proc/net/unix | sort -u
	ls -A /dev/shm
}

before=$(named)
for link in tcp shm; do
	export DAPL_SOFT_LINK=$link
	points "$link" 1000 "$lives" kill -m "$most" -s "$seed"
	points "$link, longer than its limits" 300 "$lives" stop -m $((most / 4 + 1)) -s "$seed"
	points "$link, not longer than its limits" 10000 "$lives" stop -n -m $((most / 3 + 1)) -s "$seed"
done
number=$((number + 1))
after=$(named)
if [ "$before" = "$after" ]; then
	echo "ok $number - nothing that has a name is left"
else
	echo "# before: $before"
	echo "# after: $after"
	echo "not ok $number - nothing that has a name is left"
fi
echo "1..$number"
