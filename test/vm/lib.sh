# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash
# What the tests in the guest share. Sourced by a script test/vm/NAME.sh that is called without arguments on this
# machine (outside) and with --inside in the guest; needs its $here.
top_builddir=${top_builddir:-$(pwd)}
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
	exec "$here/run" --limit "$limit" -- "$0" --inside "$@"
}

# ---- In the guest -------------------------------------------------------------------------------

stage=/dev/shm/stage

# Programs and libraries of the build, where no file server is between: PROGRAM... as in the build tree.
stage_build() {
	local program name
	mkdir -p "$stage/bin" "$stage/lib"
	cp -L "$top_builddir"/{dat,providers/verbs,providers/soft}/.libs/lib*.so.2 "$stage/lib/" || exit 99
	for program in "$@"; do
		name=${program##*/}
		cp "$top_builddir/${program%"$name"}.libs/$name" "$stage/bin/" 2>/dev/null ||
			cp "$top_builddir/$program" "$stage/bin/" || exit 99
	done
	write_dat_conf "$stage/dat.conf" "$stage/lib/libdaplofa.so.2"
	export DAT_OVERRIDE=$stage/dat.conf LD_LIBRARY_PATH=$stage/lib
}

# An adapter for each device, ofa-rxe-a to ofa-siw-b: FILE LIBRARY.
write_dat_conf() {
	local kind host netdev
	for kind in RXE SIW; do
		for host in A B; do
			netdev=UDAPL_VM_${kind}_${host}_NETDEV
			printf '%s u2.0 nonthreadsafe default %s dapl.2.0 "%s 0" ""\n' \
				"$(adapter $kind $host)" "$2" "${!netdev}"
		done
	done >"$1"
}

adapter() { # KIND HOST
	printf 'ofa-%s-%s' "${1,,}" "${2,,}"
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

# Numbers the results from standard input; the exit status says whether all are well.
collect() {
	awk '
	/^(ok|not ok) / {
		failed += /^not/
		match($0, /^(ok|not ok) /)
		word = substr($0, 1, RLENGTH)
		rest = substr($0, RLENGTH + 1)
		skip = sub(/^# SKIP /, "", rest)
		n++
		print word n " - " rest (skip ? " # SKIP" : "")
		fflush()
		next
	}
	/^1\.\./ { next }
	{ print /^#/ ? $0 : "# " $0; fflush() }
	END { print "1.." n; exit failed > 0 }'
}
