#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# The matrix on the verbs provider: calls of the C library, of libibverbs and of librdmacm, over an adapter of RoCE and
# one of iWARP that test/zoo plays. "make faults-verbs" has each call fail each time that it is made.
#
# FAULTS_MOST  how often one call fails at most (2 of the C library's, 8 of the others)
set -u
top_builddir=${top_builddir:-.}
top_srcdir=${top_srcdir:-$(cd "$(dirname "$0")/../.." && pwd)}
build=$(cd "$top_builddir" && pwd) || exit 99
matrix=$build/test/faults/matrix-verbs
if [ ! -x "$matrix" ]; then
	echo "1..0 # SKIP without verbs, or a sanitizer has wrappers of its own for these calls"
	exit 0
fi
export top_builddir top_srcdir FAULTS_MODULE=$build/providers/verbs/.libs/libdaplofa.so.2
export LD_LIBRARY_PATH=$build/dat/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
# shellcheck source=test/faults/points.sh
. "$top_srcdir/test/faults/points.sh"

mapfile -t calls < <("$matrix" -l | sort -u)
verbs=() libc=()
for call in "${calls[@]}"; do
	case $call in
	ibv_* | rdma_*) verbs+=("$call") ;;
	*) libc+=("$call") ;;
	esac
done

# NAME KIND MOST CALL...
on() {
	local name=$1 kind=$2 most=$3
	shift 3
	points "$name" "$top_srcdir/test/zoo/run" "$kind" "$matrix" -a "ofa-zoo-$kind" -m "${FAULTS_MOST:-$most}" "$@"
}
for kind in mlx5-roce irdma-iwarp; do
	on "$kind" "$kind" 8 "${verbs[@]}"
	on "$kind" "$kind" 2 "${libc[@]}"
done
# A port without an IP address is looked for in its own way.
on gid mlx5-noip 8 ibv_get_device_list ibv_open_device ibv_query_device ibv_query_gid ibv_query_port
# What an option alone asks for.
DAPL_VERBS_FORK_SAFE=1 DAPL_CM_TOS=8 on options mlx5-roce 8 ibv_fork_init rdma_set_option
points complete python3 "$top_srcdir/test/faults/complete.py" "$matrix" "$top_srcdir/test/faults/never" \
	"$build/dat/.libs/libdat2.so.2" "$FAULTS_MODULE" "$build/providers/soft/.libs/libdaplsoft.so.2" \
	"$top_srcdir/providers/verbs"
# Those of the C library that core and verbs do not make, and soft does, fail in faults.sh.
finish '@(ibv|rdma)_*'
