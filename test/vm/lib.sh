# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash
# What the tests in the guest share. Sourced by a script test/vm/NAME.sh that is called without arguments on this
# machine (outside) and with --inside in the guest; needs its $here.
#
# VM_CM  socket: the adapters connect over sockets, by libdaploscm.so.2; ud: by datagrams, by libdaploucm.so.2; neither
#        can soft-iWARP (by rdma_cm)
top_builddir=${top_builddir:-$(pwd)}
module=libdaplofa.so.2 suffix=
case ${VM_CM:-} in
socket)
	module=libdaploscm.so.2 suffix=-scm
	export KINDS=${KINDS:-RXE} UDAPL_PORT_OF_0=1000
	;;
ud)
	module=libdaploucm.so.2 suffix=-ucm
	export KINDS=${KINDS:-RXE} UDAPL_SILENT_QP=0xfffff0
	;;
esac
top_srcdir=${top_srcdir:-$(cd "$here/../.." && pwd)}
export top_builddir top_srcdir

# ---- On this machine ----------------------------------------------------------------------------

skip_all() {
	echo "1..0 # SKIP $*"
	exit 0
}

# Without a sanitizer, with the verbs provider, and with a virtual machine: SECONDS, then runs the script inside.
enter_guest() {
	local limit=$1 why
	shift
	[ -z "${SAN_FLAGS:-}" ] || skip_all "the guest's programs are tested without sanitizers"
	[ -e "$top_builddir/providers/verbs/.libs/libdaplofa.so.2" ] ||
		skip_all "this build has no verbs provider: no libibverbs-dev and librdmacm-dev"
	why=$("$here/run" --prepare 2>&1 >/dev/null) || skip_all "no virtual machine: ${why##*$'\n'}"
	exec "$here/run" --limit "$limit" ${share:+--share "$share"} ${VM_CONSOLE:+--console "$VM_CONSOLE"} -- "$0" --inside "$@"
}

# ---- In the guest -------------------------------------------------------------------------------

stage=/dev/shm/stage

# Programs and libraries of the build, where no file server is between: PROGRAM... as in the build tree.
stage_build() {
	local program
	mkdir -p "$stage/bin" "$stage/lib"
	cp -L "$top_builddir"/{dat,providers/verbs,providers/soft}/.libs/lib*.so.2 "$stage/lib/" || exit 99
	cp -L "$top_builddir/dat-1.2/.libs/libdat.so.1" "$stage/lib/" || exit 99
	for program in "$@"; do
		case $program in
		test/*) ;;
		*) # Of what may be installed it is a script of libtool's.
			[ "$(head -c 2 "$top_builddir/$program")" != '#!' ] || program=.libs/$program
			;;
		esac
		cp "$top_builddir/$program" "$stage/bin/" || exit 99
	done
	write_dat_conf ours "$stage/lib/$module"
	export LD_LIBRARY_PATH=$stage/lib
}

# The adapters ofa-rxe and ofa-siw, which each host has: NAME LIBRARY.
write_dat_conf() {
	local kind host netdev dev
	for host in A B; do
		for kind in RXE SIW; do
			netdev=UDAPL_VM_${kind}_${host}_NETDEV dev=UDAPL_VM_${kind}_${host}_DEV
			printf '%s u2.0 nonthreadsafe default %s dapl.2.0 "%s" ""\n' "$(adapter $kind)" "$2" \
				"$([ -n "${VM_CM:-}" ] && echo "${!dev} 1" || echo "${!netdev} 0")"
		done >"$stage/$1.$host.conf"
	done
}

adapter() { # KIND
	printf 'ofa-%s%s' "${1,,}" "$suffix"
}

# The results of a program, with "KIND NAME: " before each test: file of its output, what to say, exit code.
# Everything goes to the lines of one writer, which numbers them: see collect.
report() {
	flock "$stage/lock" sed -u '/^\(not \)\?ok - tests$/d
		s/^not ok \([0-9]*\) # SKIP/ok \1 # SKIP/
		s/^\(ok\|not ok\) [0-9]* \(- \)\{0,1\}\(# SKIP \)\{0,1\}\(.*\)/\1 \3'"$2"': \4/' "$1"
	case $3 in
	0) ;;
	124 | 137) printf 'not ok %s exceeded its time limit\n' "$2" ;;
	*) grep -q '^not ok' "$1" || printf 'not ok %s ended with %s\n' "$2" "$3" ;;
	esac
}

# Numbers the results from standard input, each as it comes; the exit status says whether all are well.
collect() {
	local line n=0 failed=0
	while IFS= read -r line; do
		case $line in
		'ok '* | 'not ok '*)
			[[ $line =~ ^(ok|not ok)\ (#\ SKIP\ )?(.*) ]]
			[ "${BASH_REMATCH[1]}" = ok ] || failed=1
			n=$((n + 1))
			printf '%s %d - %s%s\n' "${BASH_REMATCH[1]}" $n "${BASH_REMATCH[3]}" "${BASH_REMATCH[2]:+ # SKIP}"
			;;
		1..*) ;;
		'#'*) printf '%s\n' "$line" ;;
		*) printf '# %s\n' "$line" ;;
		esac
	done
	printf '1..%d\n' $n
	return $failed
}

# ---- Programs of release 2.1.10 and of ours, over either one's libraries -----------------------

# Debian's packages, unpacked beside the build before the guest starts.
fetch_debian() {
	local package
	debian=$top_builddir/test/interop/debian
	for package in libdapl2 dapl2-utils; do
		# shellcheck disable=SC1091,SC2030
		(. "$top_srcdir/test/interop/debian.sh" && fetch $package) >/dev/null 2>&1 ||
			skip_all "Debian's $package cannot be had here"
	done
}

# Makes the stacks: ours and theirs; registry-theirs is their module under our libdat2, module-theirs the other way.
stage_debian() {
	debian=$top_builddir/test/interop/debian
	mkdir -p "$stage/theirs"
	cp "$debian"/usr/bin/* "$stage/bin/" || exit 99
	cp -L "$debian"/usr/lib/x86_64-linux-gnu/lib{dat2,daplofa,daploscm,daploucm}.so.2 "$stage/theirs/" || exit 99
	write_dat_conf theirs "$stage/theirs/$module"
}

# Runs a program on a host: STACK KIND HOST COMMAND... A stack is LIBDAT2+MODULE, each ours or theirs.
on() {
	local stack=$1 kind=$2 host=$3 path=$stage/lib netdev
	shift 3
	[ "${stack%+*}" = ours ] || path=$stage/theirs
	netdev=UDAPL_VM_${kind}_${host}_NETDEV
	DAPL_SCM_NETDEV=${!netdev} DAT_OVERRIDE=$stage/${stack#*+}.$host.conf LD_LIBRARY_PATH=$path \
		exec vm-on "$kind" "$host" "$@"
}

# Waits for what a command tells, as long as a process is there: PID COMMAND...
await() {
	local pid=$1 try
	shift
	for ((try = 0; try < 300; try++)); do
		"$@" && return
		kill -0 "$pid" 2>/dev/null || return 1
		sleep 0.1
	done
	return 1
}

# Somebody listens on host B of a kind, for rdma_cm or on a TCP port: KIND, KIND PORT.
listens_cm() {
	local device=UDAPL_VM_$1_B_DEV
	rdma resource show cm_id link "${!device}/1" 2>/dev/null | grep -q 'state LISTEN'
}

listens_tcp() {
	vm-on "$1" B grep -qE "^ *[0-9]+: [0-9A-F]+:$(printf '%04X' "$2") [0-9A-F:]+ 0A " /proc/net/tcp
}

# The script's run_kind KIND for both kinds of devices at once.
each_kind() {
	local kind
	for kind in ${KINDS:-RXE SIW}; do
		run_kind "$kind" &
	done
	wait
}

# One result of a script in the guest: STATUS NAME [FILE...]
result() {
	local status=$1 name=$2
	shift 2
	{
		flock 5
		if [ "$status" -eq 0 ]; then
			echo "ok $name"
		else
			echo "not ok $name"
			[ $# -eq 0 ] || tail -q -n 25 "$@" | cut -c 1-200 | sed 's/^/# /'
		fi
	} 5>>"$stage/lock"
	return "$status"
}

skipped() { # NAME REASON
	echo "ok # SKIP $1: $2"
}

# What a script that compares both stacks ends with: SECONDS, its arguments.
both_stacks() {
	local limit=$1
	shift
	case ${1:-} in
	--on)
		shift
		on "$@"
		;;
	--inside) inside | collect ;;
	*)
		fetch_debian
		enter_guest "$limit"
		;;
	esac
}
