#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Every command form that users of dapltest run, with Debian's binary of release 2.1.10 on our libraries and with our
# own dapltest: both pass, and both print the lines that a script would read. DAPLTEST_PART of the iterations are made,
# and of the forms those whose names stand in DAPLTEST_FORMS, or all.
: "${top_srcdir:?}" "${top_builddir:?}"
. "$top_srcdir/test/interop/debian.sh"
[ -z "${SAN_FLAGS:-}" ] || skip_all "a program without the sanitizer's run-time cannot load a library with it"
fetch dapl2-utils || skip_all "Debian's dapl2-utils cannot be had here: $(tail -n 1 "$scratch/fetch.log")"
if [ -z "${UDAPL_IA:-}" ] && [ -z "${IN_PRIVATE_NETWORK:-}" ] && unshare --net true 2>/dev/null; then
	rm -rf "$scratch"
	IN_PRIVATE_NETWORK=1 exec unshare --net sh -c 'ip link set lo up && exec /bin/sh "$@"' sh "$0" "$@"
fi
if [ -z "${UDAPL_IA:-}" ]; then
	UDAPL_IA=soft-lo
	use_soft
fi
host=${UDAPL_HOST:-127.0.0.1}
part=${DAPLTEST_PART:-50}
LD_LIBRARY_PATH=$top_builddir/dat/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH

# What a script reads: results and their labels. Numbers, host names and chatter differ.
readable() {
	sed -nE -e 's/-?[0-9]+(\.[0-9]+)?/N/g; s/[ \t]+/ /g; s/ $//' \
		-e '/^(----- Stats|Total (WQE|Time|Send|Recv|RDMA))/p' \
		-e '/^-+ Statistics -+$/p; /^ (Mode|Operation Type|Number of Operations|Segment Size|Number of Segments|Pipeline Length|Total Time|Total Data Exchanged|CPU Utilization|Operation Throughput|Bandwidth|Arithmetic mean|maximum|minimum) *:/p' \
		-e '/^(Latency$|Time Per Post|Time Per Reap|raw: )/p' \
		-e '/^(Limitation Test|LimitTest: [A-Za-z ]*: N$)/p' \
		-e '/Server Name: |End of Work/p' "$1" | sort -u
}

# Iterations in the part that was asked for, at least 1.
scale() {
	printf '%s\n' "$*" | awk -v part="$part" '{
		for (i = 1; i <= NF; i++) {
			if ($(i - 1) == "-i") { $i = int(($i + part - 1) / part) }
			printf "%s%s", $i, i < NF ? " " : "\n"
		}
	}'
}

start_server() { # PROGRAM LOG
	: >"$2"
	timeout "${DAPLTEST_SERVER_LIMIT:-540}" "$1" -T S -D "$UDAPL_IA" >>"$2" 2>&1 &
	server=$!
	children="$children $server"
	wait_line Ready "$2" $server
}

quit_server() { # PROGRAM LOG NAME
	timeout 60 "$1" -T Q -s "$host" -D "$UDAPL_IA" >"$scratch/quit" 2>&1
	wait $server
	result $? "$3: the server ends when asked" "$2" "$scratch/quit"
}

run_forms() { # WHO PROGRAM
	who=$1 program=$2
	start_server "$program" "$scratch/$who.server"
	result $? "$who: the server is ready" "$scratch/$who.server"
	told=1
	while read -r name arguments; do
		case $arguments in
		*"-T L"*) set -- -D "$UDAPL_IA" ;;
		*) set -- -s "$host" -D "$UDAPL_IA" ;;
		esac
		# shellcheck disable=SC2046
		timeout "${DAPLTEST_LIMIT:-120}" "$program" $(scale "$arguments" | cut -d' ' -f1-2) "$@" \
			$(scale "$arguments" | cut -d' ' -f3-) >"$scratch/$who.$name" 2>&1 </dev/null
		status=$?
		# The released program's exit status tells nothing of the outcome; its words do, and its server's.
		[ "$who" = ours ] || [ $status -eq 124 ] || status=0
		sed "1,${told}d" "$scratch/$who.server" >"$scratch/$who.new"
		told=$(grep -c '' "$scratch/$who.server")
		[ $status -eq 0 ] && ! grep -qiE 'fail|error|mismatch|wrong|not created' "$scratch/$who.$name" "$scratch/$who.new"
		result $? "$who: $name" "$scratch/$who.$name" "$scratch/$who.new"
	done <"$scratch/forms"
	quit_server "$program" "$scratch/$who.server" "$who"
}

mix="client RW 4096 1 server RW 2048 4 server RR 1024 1 client RR 2048 1 client SR 1024 3 -f server SR 256 3 -f"
cat >"$scratch/forms" <<FORMS
conn -T T -i 1 -t 1 -w 1 client SR 4096 server SR 4096
trans -T T -i 8192 -t 1 -w 1 client SR 4096 server SR 4096
transm -T T -P -t 1 -w 1 -i 4096 $mix
transmx -T T -P -t 1 -w 1 -i 8192 client RW 32768 4 server RW 32768 4 server RR 32768 1 client RR 32768 1 client SR 16384 4 -f server SR 16384 4 -f
transt -T T -i 4096 -t 4 -w 1 client SR 8192 3 server SR 8192 3
transme -T T -P -t 1 -w 4 -i 4096 $mix
transmet -T T -P -t 2 -w 4 -i 4096 $mix
transmete -T T -P -t 4 -w 4 -i 8192 $mix
threads -T T -i 4096 -t 6 -w 1 client SR 8192 3 server SR 8192 3
threadsm -T T -i 4096 -t 4 -w 4 client SR 8192 3 server SR 8192 3
epa10 -T T -i 4096 -t 10 -w 10 client SR 8192 3 server SR 8192 3
epa50 -T T -i 4096 -t 10 -w 50 client SR 8192 3 server SR 8192 3
perf -T P -i 2048 -m b RW 4096 2
rdma-read -T P -i 4096 RR 32768 1
rdma-write -T P -i 4096 RW 32768 4
bw -T P -i 4096 -p 16 -m b RW 65536 2
latb -T P -i 8192 -p 1 -m b RW 4 1
latp -T P -i 100000 -p 1 -m p RW 4 1
limit_pz -T L -w 8 -m 100 limit_pz
limit_evd -T L -w 8 -m 100 limit_evd
limit_ep -T L -w 8 -m 100 limit_ep
limit_psp -T L -w 8 -m 100 limit_psp
limit_lmr -T L -w 8 -m 100 limit_lmr
limit_ia -T L -w 8 -m 100 limit_ia
limit_rpost -T L -w 8 -m 15 limit_rpost
FORMS
if [ -n "${DAPLTEST_FORMS:-}" ]; then
	for name in $DAPLTEST_FORMS; do
		grep "^$name " "$scratch/forms"
	done >"$scratch/chosen"
	mv "$scratch/chosen" "$scratch/forms"
fi

run_forms theirs "$debian/usr/bin/dapltest"
run_forms ours "$top_builddir/dapltest"
while read -r name _; do
	readable "$scratch/theirs.$name" >"$scratch/t"
	readable "$scratch/ours.$name" >"$scratch/o"
	comm -23 "$scratch/t" "$scratch/o" >"$scratch/missing"
	[ -s "$scratch/t" ] && ! [ -s "$scratch/missing" ]
	result $? "$name: ours prints all that a script reads" "$scratch/missing" "$scratch/o"
done <"$scratch/forms"

echo "1..$count"
[ $failures -eq 0 ]
