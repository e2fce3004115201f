#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Every call that can fail does, in turn: over TCP, over shared memory, and with a trace file and a host's name.
#
# FAULTS_MOST  how often one call fails at most (100)
set -u
top_builddir=${top_builddir:-.}
top_srcdir=${top_srcdir:-$(cd "$(dirname "$0")/../.." && pwd)}
build=$(cd "$top_builddir" && pwd) || exit 99
matrix=$build/test/faults/matrix
if [ ! -x "$matrix" ]; then
	echo "1..0 # SKIP a sanitizer has wrappers of its own for these calls"
	exit 0
fi
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

export FAULTS_MODULE=$build/providers/soft/.libs/libdaplsoft.so.2
export DAT_OVERRIDE=$scratch/dat.conf
export LD_LIBRARY_PATH=$build/dat/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
for entry in 'soft-lo lo' 'soft-name localhost' 'soft-d0 d0'; do
	printf '%s u2.0 nonthreadsafe default %s udapl.1.0 "%s" ""\n' "${entry%% *}" "$FAULTS_MODULE" "${entry##* }"
done >"$DAT_OVERRIDE"

# shellcheck source=test/faults/points.sh
. "$top_srcdir/test/faults/points.sh"

most=${FAULTS_MOST:-100}
DAPL_SOFT_LINK=tcp points tcp "$matrix" -m "$most"
DAPL_SOFT_LINK=shm points shm "$matrix" -m "$most"
# Few of each: what is new are the calls of the trace file and of the name service.
export DAPL_TRACE_LEVEL=10 DAT_TRACE_DEST=file DAT_TRACE_FILE=$scratch/trace DAT_TRACE_SIZE=4096 DAT_TRACE_KEEP=2
points traced "$matrix" -a soft-name -m 20
DAT_TRACE_KEEP=0 points 'no older traces' "$matrix" -a soft-name unlink
unset DAPL_TRACE_LEVEL DAT_TRACE_DEST DAT_TRACE_FILE DAT_TRACE_SIZE DAT_TRACE_KEEP
# A network device with an address, in a network of its own.
netdev='ip link set lo up && ip link add d0 type veth peer name d1 && ip address add 192.0.2.1/24 dev d0 && ip link set d0 up'
if unshare -n sh -c "$netdev" 2>/dev/null; then
	points 'network device' unshare -n sh -c "$netdev && exec \"\$@\"" sh "$matrix" -a soft-d0 getifaddrs
else
	number=$((number + 1))
	echo "ok $number # SKIP getifaddrs: no network namespace, or no veth device in it, can be had"
	failures['getifaddrs ENOMEM']=1
fi
points complete python3 "$top_srcdir/test/faults/complete.py" "$matrix" "$top_srcdir/test/faults/never" \
	"$build/dat/.libs/libdat2.so.2" "$build/providers/soft/.libs/libdaplsoft.so.2"

finish '*'
