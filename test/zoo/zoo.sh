#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# The adapters of the zoo: what they differ in, and a part of the conformance suite on each: zoo.sh [KIND...].
#
# A part: a minute and a half on two slow processors. The whole takes 22 s of processor on each, most of it in programs
# that show the core and not the adapter, and minutes of waiting. It is for doc/conformance-cards.md: "make zoo".
#
# ZOO_PROGRAMS  of the suite, "all" for the whole, "none" (those that take a second or two)
# ZOO_CONNECTIONS  that are opened and closed while one message of 20 is lost (100; with the whole suite 10,000 on one)
# ZOO_LOGS      folder that gets KIND/PROGRAM.log, for test/conformance/matrix.py, and what test/zoo/page.py wants
# ZOO_MODEL     seconds of new programs of the model on each, after seed 1
# ZOO_AT_ONCE   parts of kinds at once (6)
export top_builddir=${top_builddir:-.}
export top_srcdir=${top_srcdir:-$(cd "$(dirname "$0")/../.." && pwd)}
here=$top_srcdir/test/zoo
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export UDAPL_BRIEF=${UDAPL_BRIEF-1}

kinds=(mlx5-roce mlx5-ib mlx5-noip mlx4 irdma-roce irdma-iwarp i40iw bnxt_re cxgb4-iwarp qedr hns erdma-iwarp mana hfi1 rxe siw)
[ $# -eq 0 ] || kinds=("$@")
programs=(conn_more cr dto_args dto_err dto_xfer ep_limits evt ibx_atomic ibx_dto lmr_access rmr rmr_remote rsp send_inv
	srq srq_data unsupported)
case ${ZOO_PROGRAMS:-} in
all) mapfile -t programs < <(sed -n 's|^\ttest/conformance/\([a-z_]*\)\.t.*|\1|p' "$top_srcdir/test/conformance/Makemodule.am") ;;
none) programs=() ;;
esac

# Logs of the suite are in one folder, those of other programs beside it: KIND NAME.
logs=${ZOO_LOGS:-$work}
[ -z "${ZOO_LOGS:-}" ] || mkdir -p "$logs.more"
more=${ZOO_LOGS:+$logs.more}
more=${more:-$logs}

# One program as one point, with what failed: KIND NAME PROGRAM [ARGUMENT...].
point() {
	local kind=$1 name=$2 log=$more/$1/$2.log
	[ "${3%/*}" != test/conformance ] || log=$logs/$1${manager:-}/${2#*/}.log
	mkdir -p "${log%/*}"
	shift 2
	sh "$here/run" "$kind" "$top_builddir/$1" "${@:2}" >"$log" 2>&1
	verdict "$kind $name" "$log" $?
}

# What a log and an exit status say; a program that has no word for its end has one here: NAME LOG STATUS.
verdict() {
	local plan points
	plan=$(sed -n 's/^1\.\.\([0-9]*\)\r\{0,1\}$/\1/p' "$2" | head -n 1)
	points=$(grep -c '^ok \|^not ok ' "$2")
	if [ "$3" -eq 0 ] && [ "${plan:-$points}" -eq "$points" ]; then
		echo "ok - $1$(sed -n 's/^1\.\.0\( # SKIP.*\)/\1/p' "$2")"
		return
	fi
	echo "not ok - $1"
	echo "# ended with $3$([ "$3" -le 128 ] || kill -l $(($3 - 128)) 2>/dev/null | sed 's/^/, by signal /'), $points of ${plan:-no} points"
	grep -B 8 -A 3 '^not ok\|^Bail\|^observe:' "$2" | sed 's/^/# /'
	echo "# The last it said:"
	# Whose status is good has lost a line, or broken one.
	tail -n "$([ "$3" -eq 0 ] && echo 40 || echo 8)" "$2" | sed 's/^/# /'
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
	local ZOO_OPTIONS='-o cm_timeout_ms=50'
	local -a addresses=(127.0.0.1 127.0.0.77)
	export ZOO_OPTIONS
	[ "$1" != mlx5-noip ] || addresses=(fe80::7f00:1 fe80::7f00:4d)
	point "$1" observe test/zoo/observe "${addresses[@]}"
	point "$1" dat-info dat-info -v
	holds "$1 dat-info says what the table does" python3 "$here/page.py" check "$more" "$1"
	point "$1" ends test/zoo/ends.t
	[ ! -e "$here/seen/$1" ] ||
		holds "$1 is seen as the kernel's" diff "$here/seen/$1" <(grep -v '^#' "$more/$1/observe.log")
}

# A device whose address is the last of eighty: KIND.
many_addresses() {
	unshare --net true 2>/dev/null || { echo "ok - $1 many # SKIP no network of its own to be had" && return; }
	export -f point verdict
	ZOO_AT=10.9.0.80 ZOO_PARAMS="${1%%-*}_0 1" here=$here logs=$logs more=$more unshare --net bash -c '
		ip link set lo up && for i in {1..80}; do ip addr add 10.9.0.$i/32 dev lo; done
		point "$1" many test/zoo/mends.t' many "$1"
}

# A bond, or what has its name and addresses, whose active port becomes that of another adapter: KIND.
bond() {
	unshare --net true 2>/dev/null || { echo "ok - $1 bond # SKIP no network of its own to be had" && return; }
	export -f point verdict
	UDAPL_TESTS=a_bond_is_opened_on_its_active_port ZOO_AT=10.9.1.1 ZOO_MORE="$1@10.9.1.2" ZOO_PARAMS="bond0 0" \
		here=$here logs=$logs more=$more unshare --net bash -c '
		ip link set lo up
		for type in bond dummy bridge; do
			ip link add bond0 type $type 2>/dev/null && break
		done
		ip addr add 10.9.1.1/24 dev bond0 2>/dev/null || { echo "ok - $1 bond # SKIP no interface to be had" && exit; }
		ip link set bond0 up
		point "$1" bond test/zoo/routes.t' bond "$1"
}

# An adapter of two ports: KIND.
ports() {
	unshare --net true 2>/dev/null || { echo "ok - $1 ports # SKIP no network of its own to be had" && return; }
	export -f point verdict
	ZOO_AT=10.9.2.1,10.9.2.2 here=$here logs=$logs more=$more unshare --net bash -c '
		ip link set lo up && ip addr add 10.9.2.1/24 dev lo && ip addr add 10.9.2.2/24 dev lo
		UDAPL_TESTS=the_port_is_the_one_meant ZOO_PARAMS="$1_0 2" point "$1" port test/zoo/routes.t
		UDAPL_TESTS=a_port_without_an_address_is_told ZOO_PARAMS="$1_0 3" point "$1" no-port test/zoo/routes.t' ports "$1"
}

# The version of RoCE that rdma_cm's configfs says: KIND.
versions() {
	unshare --mount true 2>/dev/null || { echo "ok - $1 versions # SKIP no mounts of its own to be had" && return; }
	export -f point verdict
	UDAPL_TESTS=the_version_of_roce_is_the_hosts here=$here logs=$logs more=$more unshare --mount bash -c '
		ports=/sys/kernel/config/rdma_cm/$2/ports/1 # config itself need not be there
		{ mount -t tmpfs none /sys/kernel && mkdir -p $ports; } 2>/dev/null ||
			{ echo "ok - $1 versions # SKIP no place for rdma_cm'\''s configfs" && exit; }
		echo "RoCE v2" >$ports/default_roce_mode
		ZOO_ROCE=2 point "$1" roce-v2 test/zoo/routes.t
		echo "IB/RoCE v1" >$ports/default_roce_mode
		ZOO_ROCE=1 ZOO_OPTIONS="-o roce_v1=1" point "$1" roce-v1 test/zoo/routes.t' versions "$1" "${1%%-*}_0"
}

# Partition and service level: KIND.
routes() {
	local UDAPL_TESTS=the_partition_is_the_one_meant ZOO_OPTIONS='-o pkey=0x8001'
	export UDAPL_TESTS ZOO_OPTIONS
	case $1 in
	mlx5-ib)
		ZOO_OPTIONS='-o pkey=0x8001 -o child=1' ZOO_PKEY=0x8001 point "$1" partition test/zoo/routes.t
		DAPL_IB_PKEY=0x8001 ZOO_PARAMS='mlx5_0 1' ZOO_PKEY=0x8001 point "$1" partition-by-gid test/zoo/routes.t
		UDAPL_TESTS=a_partition_that_is_not_there_is_told
		ZOO_PARAMS='mlx5_0 1' point "$1" no-partition test/zoo/routes.t
		UDAPL_TESTS=a_gid_that_is_not_there_is_told
		ZOO_CM=socket point "$1" no-gid test/zoo/routes.t
		;;
	mlx5-noip)
		DAPL_IB_PKEY=0x8001 ZOO_PKEY=0x8001 point "$1" partition test/zoo/routes.t
		DAPL_IB_PKEY=1 ZOO_PKEY=0x8001 point "$1" member test/zoo/routes.t
		UDAPL_TESTS=a_partition_that_is_not_there_is_told
		point "$1" no-partition test/zoo/routes.t
		;;
	*)
		DAPL_IB_PKEY=0x8001 point "$1" partition test/zoo/routes.t
		bond "$1"
		versions "$1"
		;;
	esac
	UDAPL_TESTS=service_level_and_class_are_the_ones_meant
	export DAPL_CM_TOS=96 ZOO_TCLASS=96
	ZOO_SL=$([ "$1" = mlx5-roce ] && echo 0 || echo 3) point "$1" class test/zoo/routes.t
	DAPL_IB_SL=5 ZOO_SL=5 point "$1" service-level test/zoo/routes.t
	unset DAPL_CM_TOS ZOO_TCLASS
}

# Huge pages, pages on demand, forks: KIND.
pages() {
	local UDAPL_TESTS ZOO_OPTIONS=''
	export UDAPL_TESTS ZOO_OPTIONS
	UDAPL_TESTS=huge_pages_are_memory_like_other
	point "$1" huge-pages test/zoo/pages.t
	UDAPL_TESTS=a_fork_that_copies_is_not_told
	point "$1" fork test/zoo/pages.t
	UDAPL_TESTS=memory_is_paged_in_where_the_device_can
	DAPL_VERBS_ON_DEMAND=1 ZOO_ON_DEMAND=$([[ $1 == mlx5* ]] && echo 1) point "$1" on-demand test/zoo/pages.t
	UDAPL_TESTS=that_the_device_cannot_is_told_once
	[[ $1 == mlx5* ]] || point "$1" no-on-demand test/zoo/pages.t
	UDAPL_TESTS=a_fork_that_may_lose_data_is_told_once ZOO_OPTIONS='-o no_copy_on_fork=1'
	point "$1" old-fork test/zoo/pages.t
	UDAPL_TESTS=huge_pages_that_a_fork_parts_are_told ZOO_OPTIONS='-o no_copy_on_fork=1 -o huge=1'
	point "$1" parted test/zoo/pages.t
}

# What the mends are about, with the faults that show it.
mends() {
	local UDAPL_TESTS ZOO_OPTIONS='' many
	export UDAPL_TESTS ZOO_OPTIONS
	UDAPL_TESTS=what_is_announced_can_be_made
	point "$1" announced test/zoo/mends.t
	UDAPL_TESTS='*binds_*'
	point "$1" binds test/zoo/mends.t
	case $1 in
	*iw*)
		UDAPL_TESTS=an_end_without_an_answer_is_bounded ZOO_OPTIONS='-o cm_timeout_ms=300'
		point "$1" unanswered test/zoo/mends.t
		;;
	*)
		UDAPL_TESTS='an_end_is_heard_*' ZOO_OPTIONS='-o loss=50 -o cm_timeout_ms=20'
		many=${ZOO_CONNECTIONS:-100}
		[ "${ZOO_PROGRAMS:-} $1" != 'all mlx5-roce' ] || many=${ZOO_CONNECTIONS:-10000}
		ZOO_CM_TIMEOUT_MS=20 ZOO_CONNECTIONS=$many point "$1" losses test/zoo/mends.t
		ZOO_OPTIONS='-o loss=50 -o cm_timeout_ms=20 -o duplicate=300 -o delay_us=1000'
		ZOO_CM_TIMEOUT_MS=20 ZOO_CONNECTIONS=50 point "$1" late test/zoo/mends.t
		ZOO_OPTIONS='' UDAPL_TESTS=what_is_sent_establishes_a_connection
		point "$1" unconfirmed test/zoo/mends.t
		;;
	esac
	ZOO_OPTIONS='' UDAPL_TESTS='*'
	point "$1" faults test/zoo/faults.t
	point "$1" hostile test/zoo/hostile.t
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
	mlx5-roce)
		UDAPL_TESTS=what_is_announced_can_be_made
		many_addresses mlx5-roce
		;;
	mlx5-noip)
		UDAPL_TESTS=without_an_address_its_gid_is_the_address
		point mlx5-noip by-gid test/zoo/mends.t
		ZOO_OPTIONS='-o tentative=1'
		point mlx5-noip tentative test/zoo/mends.t
		UDAPL_TESTS=without_an_address_a_message_says_what_is_missing ZOO_OPTIONS='-o no_af_ib=1'
		point mlx5-noip no-address test/zoo/mends.t
		ZOO_OPTIONS='-o no_af_ib=1 -o tentative=1'
		point mlx5-noip none-but-tentative test/zoo/mends.t
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

# Endpoints of eight processes are connected all to all: KIND NAME. TCP's segments are counted by network.
mesh() {
	[ "$1" = mlx5-ib ] || return 0
	unshare --net true 2>/dev/null || { echo "ok - $1 $2 # SKIP no network of its own to be had" && return; }
	export -f point verdict
	here=$here logs=$logs more=$more unshare --net bash -c 'ip link set lo up && point "$@" test/zoo/mesh 8 512' mesh "$@"
}

# A peer over release 2.1.10's module dies: KIND.
killed() {
	[ "$1" = mlx5-ib ] || return 0 # on RoCE that release sends no datagrams (UCM-8)
	local log=$more/$1/killed$manager.log
	sh "$here/run" "$1" sh "$here/killed.sh" >"$log" 2>&1
	verdict "$1$manager a peer of release 2.1.10 is killed" "$log" $?
}

# Connected over sockets: KIND.
sockets() {
	local ZOO_CM=socket manager=-scm program
	export ZOO_CM
	for program in $([ "${ZOO_PROGRAMS:-}" = all ] && echo "${programs[@]}" || echo conn_more cr silent twoproc); do
		point "$1" "sockets/$program" "test/conformance/$program.t"
	done
	# The GID that the release has as well, and not another one of the same value (CM-7).
	[ "$1" != mlx5-roce ] || holds "$1 sockets/dat-info" sh -c 'sh "$1/run" mlx5-roce "$2/dat-info" -v |
		grep "^ *DAT_IB_GID_\(INDEX  *0\|TYPE  *RoCE v1\)$" | wc -l | grep 2' sh "$here" "$top_builddir"
	mesh "$1" sockets/mesh
	killed "$1"
	UDAPL_TESTS='a_*' point "$1" sockets/fails test/zoo/faults.t
}

# Connected by datagrams, whole and with what the wire does to them: KIND.
datagrams() {
	local ZOO_CM=ud manager=-ucm program
	export ZOO_CM
	point "$1" datagrams/faults test/zoo/datagrams.t
	UDAPL_TESTS='a_*' point "$1" datagrams/fails test/zoo/faults.t
	# A peer that died before it confirmed, or is sent to, is given up within seconds: no test waits
	# for longer. A request keeps its time, for it also waits for the program that is asked.
	export DAPL_UCM_RTU_TIME=10 DAPL_ACK_TIMER=12
	for program in $([ "${ZOO_PROGRAMS:-}" = all ] && echo "${programs[@]}" || echo conn_more cr ibx_ud ibx_ud_dto silent twoproc); do
		point "$1" "datagrams/$program" "test/conformance/$program.t"
	done
	# The same of one that died while it was asked, within a second.
	export DAPL_UCM_REP_TIME=20 DAPL_UCM_RTU_TIME=20 DAPL_UCM_DREP_TIME=20 DAPL_UCM_RETRY=6
	killed "$1"
	unset DAPL_UCM_RETRY DAPL_ACK_TIMER
	local ZOO_OPTIONS='-o loss=50 -o duplicate=100 -o delay_us=1000' UDAPL_TESTS='an_end_is_heard_*'
	export ZOO_OPTIONS UDAPL_TESTS
	ZOO_CONNECTIONS=50 point "$1" datagrams/losses test/zoo/mends.t
	UDAPL_TESTS='ibx_62_*'
	point "$1" datagrams/addresses test/conformance/ibx_ud.t
	unset DAPL_UCM_REP_TIME DAPL_UCM_RTU_TIME DAPL_UCM_DREP_TIME ZOO_OPTIONS
	mesh "$1" datagrams/mesh
}

# Those of release 2.1.10, as its own module's peers: KIND.
peers() {
	unshare --net true 2>/dev/null || { echo "ok - $1 peers # SKIP no network of its own to be had" && return; }
	local log=$more/$1/peers
	mkdir -p "$more/$1"
	ZOO_CM=ud unshare --net sh -c 'ip link set lo up && exec sh "$@"' sh "$here/run" "$1" sh "$here/peers.sh" \
		$([ "${ZOO_PROGRAMS:-}" = all ] || echo theirs+theirs ours+ours) >"$log.log" 2>&1
	verdict "$1 peers of release 2.1.10 by datagrams" "$log.log" $?
}

# Programs of DAT 1.2, alone and with those of 2.0.
legacy() {
	local program
	for program in pscom openmpi netpipe; do
		point "$1" "$program" "test/dat-1.2/$program.t"
	done
	holds "$1 1.2 and 2.0 talk" sh "$here/run" "$1" sh "$top_srcdir/test/dat-1.2/talk.sh"
}

# Debian's programs of release 2.1.10 by our module, and by that release's: KIND.
debian() {
	unshare --net true 2>/dev/null || { echo "ok - $1 Debian's programs # SKIP no network of its own to be had" && return; }
	[ "$1" != mlx5-noip ] || { echo "ok - $1 Debian's programs # SKIP they know hosts by IPv4 alone" && return; }
	local log=$more/$1/debian side
	mkdir -p "$more/$1"
	for side in ours theirs; do
		unshare --net sh -c 'ip link set lo up && exec sh "$@"' sh "$here/run" "$1" sh "$here/debian.sh" $side >"$log-$side.log" 2>&1
		verdict "$1 Debian's programs, module: $side" "$log-$side.log" $?
	done
}

suite() {
	local program
	for program in "${programs[@]}"; do
		point "$1" "$program" "test/conformance/$program.t"
	done
	mends "$1"
	mesh "$1" mesh
	case $1 in mlx5-roce | mlx5-ib | mlx5-noip) routes "$1" ;; esac
	[ "$1" != mlx4 ] || ports "$1"
	case $1 in mlx5-roce | irdma-iwarp) pages "$1" ;; esac
	case $1 in mlx5-roce | mlx5-ib | irdma-iwarp | rxe | siw) legacy "$1" ;; esac
	debian "$1"
	# The model goes beyond windows' bounds, which soft-RoCE does not look at.
	ZOO_OPTIONS='-o strict=1' point "$1" model test/model/model -s 1 -r 1 -n 400 ${ZOO_MODEL:+-t "$ZOO_MODEL"}
	[ ! -e "$here/seen/$1" ] ||
		holds "$1 is played as the kernel's, but for what has a reason" python3 "$here/page.py" played "$logs" "$1"
}

# The other connection managers: KIND. Release 2.1.10's datagrams know no RoCE there (UCM-8).
managers() {
	case $1 in
	mlx5-roce) sockets "$1" && datagrams "$1" ;;
	mlx5-ib) sockets "$1" && datagrams "$1" && peers "$1" ;;
	mlx5-noip | mlx4 | hfi1) [ "${ZOO_PROGRAMS:-}" != all ] || { sockets "$1" && datagrams "$1"; } ;;
	esac
}

# Before anybody is in a network of his own.
(. "$top_srcdir/test/interop/debian.sh" && fetch dapl2-utils && fetch libdapl2) >/dev/null 2>&1

# Most of the time is waited for.
parts=(suite managers looks)
running=0
for kind in "${kinds[@]}"; do
	for part in "${parts[@]}"; do
		[ $running -lt "${ZOO_AT_ONCE:-6}" ] || { wait -n && running=$((running - 1)); }
		$part "$kind" >"$work/$kind.$part.out" &
		running=$((running + 1))
	done
done
wait
for kind in "${kinds[@]}"; do
	for part in "${parts[@]}"; do
		cat "$work/$kind.$part.out"
	done
done | awk '/^(not )?ok - / { n++; sub(/ok -/, "ok " n " -") } { print } END { print "1.." n }'
