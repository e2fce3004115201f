#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# The adapters of the zoo: what they differ in, and a part of the conformance suite on each: zoo.sh [KIND...].
#
# ZOO_PROGRAMS  of the suite, "all" for the whole (those that take a second or two)
# ZOO_CONNECTIONS  that are opened and closed while one message of 20 is lost (100)
# ZOO_LOGS      folder that gets KIND/PROGRAM.log, for test/conformance/matrix.py, and what test/zoo/page.py wants
# ZOO_MODEL     seconds of new programs of the model on each, after seed 1
# ZOO_AT_ONCE   kinds at once (3)
export top_builddir=${top_builddir:-.}
top_srcdir=${top_srcdir:-$(cd "$(dirname "$0")/../.." && pwd)}
here=$top_srcdir/test/zoo
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export UDAPL_BRIEF=${UDAPL_BRIEF-1}

kinds=(mlx5-roce mlx5-ib mlx5-noip mlx4 irdma-roce irdma-iwarp i40iw bnxt_re cxgb4-iwarp qedr hns erdma-iwarp mana hfi1 rxe siw)
[ $# -eq 0 ] || kinds=("$@")
programs=(conn_more cr dto_args dto_err dto_xfer ep_limits evt ibx_atomic ibx_dto lmr_access rmr rmr_remote rsp send_inv
	srq srq_data unsupported)
[ "${ZOO_PROGRAMS:-}" != all ] ||
	mapfile -t programs < <(sed -n 's|^\ttest/conformance/\([a-z_]*\)\.t.*|\1|p' "$top_srcdir/test/conformance/Makemodule.am")

# Logs of the suite are in one folder, those of other programs beside it: KIND NAME.
logs=${ZOO_LOGS:-$work}
[ -z "${ZOO_LOGS:-}" ] || mkdir -p "$logs.more"
more=${ZOO_LOGS:+$logs.more}
more=${more:-$logs}

# One program as one point, with what failed: KIND NAME PROGRAM [ARGUMENT...].
point() {
	local kind=$1 name=$2 log=$more/$1/$2.log
	[ "${3%/*}" != test/conformance ] || log=$logs/$1/$2.log
	mkdir -p "${log%/*}"
	shift 2
	if sh "$here/run" "$kind" "$top_builddir/$1" "${@:2}" >"$log" 2>&1; then
		echo "ok - $kind $name"
	else
		echo "not ok - $kind $name"
		grep -B 8 -A 3 '^not ok\|^Bail\|^observe:' "$log" | sed 's/^/# /'
	fi
}

# A command as one point: NAME COMMAND...
holds() {
	local name=$1 said
	shift
	if said=$("$@" 2>&1); then
		echo "ok - $name"
	else
		echo "not ok - $name"
		printf '%s\n' "$said" | head -n 40 | sed 's/^/# /'
	fi
}

# What a program sees of the card, what dat-info makes of it, and how connections end.
looks() {
	local ZOO_OPTIONS='-o cm_timeout_ms=20'
	export ZOO_OPTIONS
	point "$1" observe test/zoo/observe 127.0.0.1 127.0.0.77
	point "$1" dat-info dat-info -v
	holds "$1 dat-info says what the table does" python3 "$here/page.py" check "$more" "$1"
	point "$1" ends test/zoo/ends.t
	[ ! -e "$here/seen/$1" ] || holds "$1 is seen as the kernel's" diff "$here/seen/$1" <(grep -v '^#' "$more/$1/observe.log")
}

# A device whose address is the last of eighty: KIND.
many_addresses() {
	unshare --net true 2>/dev/null || { echo "ok - $1 many # SKIP no network of its own to be had" && return; }
	export -f point
	ZOO_AT=10.9.0.80 ZOO_PARAMS="${1%%-*}_0 1" here=$here logs=$logs more=$more unshare --net bash -c '
		ip link set lo up && for i in {1..80}; do ip addr add 10.9.0.$i/32 dev lo; done
		point "$1" many test/zoo/mends.t' many "$1"
}

# What the mends are about, with the faults that show it.
mends() {
	local UDAPL_TESTS ZOO_OPTIONS=''
	export UDAPL_TESTS ZOO_OPTIONS
	UDAPL_TESTS=what_is_announced_can_be_made
	point "$1" announced test/zoo/mends.t
	case $1 in
	*iw*)
		UDAPL_TESTS=an_end_without_an_answer_is_bounded ZOO_OPTIONS='-o cm_timeout_ms=100'
		point "$1" unanswered test/zoo/mends.t
		;;
	*)
		UDAPL_TESTS='an_end_is_heard_*' ZOO_OPTIONS='-o loss=50 -o cm_timeout_ms=20'
		ZOO_CM_TIMEOUT_MS=20 ZOO_CONNECTIONS=${ZOO_CONNECTIONS:-100} point "$1" losses test/zoo/mends.t
		ZOO_OPTIONS='-o loss=50 -o cm_timeout_ms=20 -o duplicate=300 -o delay_us=1000'
		ZOO_CM_TIMEOUT_MS=20 ZOO_CONNECTIONS=50 point "$1" late test/zoo/mends.t
		ZOO_OPTIONS='' UDAPL_TESTS=what_is_sent_establishes_a_connection
		point "$1" unconfirmed test/zoo/mends.t
		;;
	esac
	ZOO_OPTIONS='' UDAPL_TESTS='*'
	point "$1" faults test/zoo/faults.t
	UDAPL_TESTS=ep_93_disconnect_at_any_moment ZOO_OPTIONS='-o destroy_us=300'
	point "$1" resolving test/conformance/conn.t
	ZOO_OPTIONS=''
	UDAPL_TESTS=gen_33_other_threads_are_at_work
	ZOO_GLOBAL_US=1000 point "$1" forks test/conformance/fork.t
	UDAPL_TESTS=ev_8_peer_rejected
	point "$1" rejected test/conformance/conn.t
	UDAPL_TESTS=a_small_message_has_all_its_segments
	point "$1" segments test/zoo/mends.t
	UDAPL_TESTS=a_queue_grows_with_each_endpoint
	point "$1" grows test/zoo/mends.t
	UDAPL_TESTS=interrupts_are_spread
	point "$1" interrupts test/zoo/mends.t
	UDAPL_TESTS=an_address_that_moved_is_not_connected
	ZOO_MORE=mlx4 point "$1" moved test/zoo/mends.t
	case $1 in
	mlx5-ib)
		UDAPL_TESTS=what_is_announced_can_be_made
		many_addresses mlx5-ib
		;;
	mlx5-noip)
		UDAPL_TESTS=without_an_address_its_gid_is_the_address
		point mlx5-noip by-gid test/zoo/mends.t
		UDAPL_TESTS=without_an_address_a_message_says_what_is_missing ZOO_OPTIONS='-o no_af_ib=1'
		point mlx5-noip no-address test/zoo/mends.t
		ZOO_OPTIONS=''
		;;
	esac
	case $1 in
	mlx* | bnxt_re | hns | hfi1)
		UDAPL_TESTS=a_shared_queue_keeps_its_receives ZOO_OPTIONS='-o hold=1'
		point "$1" shared test/zoo/mends.t
		;;
	esac
}

# Programs of DAT 1.2, alone and with those of 2.0.
legacy() {
	local program
	for program in pscom openmpi netpipe; do
		point "$1" "$program" "test/dat-1.2/$program.t"
	done
	holds "$1 1.2 and 2.0 talk" sh "$here/run" "$1" sh "$top_srcdir/test/dat-1.2/talk.sh"
}

run_kind() {
	local program
	for program in "${programs[@]}"; do
		point "$1" "$program" "test/conformance/$program.t"
	done
	mends "$1"
	[ "$1" = mlx5-noip ] || looks "$1"
	case $1 in mlx5-roce | mlx5-ib | irdma-iwarp | rxe | siw) legacy "$1" ;; esac
	point "$1" model test/model/model -s 1 -r 1 -n 400 ${ZOO_MODEL:+-t "$ZOO_MODEL"}
}

running=0
for kind in "${kinds[@]}"; do
	[ $running -lt "${ZOO_AT_ONCE:-3}" ] || { wait -n && running=$((running - 1)); }
	run_kind "$kind" >"$work/$kind.out" &
	running=$((running + 1))
done
wait
for kind in "${kinds[@]}"; do
	cat "$work/$kind.out"
done | awk '/^(not )?ok - / { n++; sub(/ok -/, "ok " n " -") } { print } END { print "1.." n }'
