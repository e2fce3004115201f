#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Results for machines, sweeps, soak runs, messages timed, the regression and the report.
. "$top_srcdir/test/dapltest/lib.sh"

use_soft
start_server

# json EXPRESSION: a Python expression over `j`, the client's output, is true.
json() {
	python3 -c 'import json, sys
j = json.load(open(sys.argv[1]))
r = j["results"]
sys.exit(0 if eval(sys.argv[2]) else "not so: " + sys.argv[2])' "$scratch/out" "$1" 2>>"$scratch/err"
}

plan 24

client P --json -i 300 -p 4 RW 4096 2 &&
	json 'len(r) == 1 and r[0]["ok"] and r[0]["operation"] == "RDMA_WRITE" and r[0]["segments"] == 2' &&
	json 'r[0]["operations"] == 300 and r[0]["pipeline"] == 4 and r[0]["mbytes_per_second"] > 0' &&
	json 'all(r[0]["latency_us"]["min"] <= r[0]["latency_us"][p] <= r[0]["latency_us"]["max"] for p in ("mean", "p50", "p99", "p99.9"))' &&
	json 'r[0]["latency_us"]["p50"] <= r[0]["latency_us"]["p99"] <= r[0]["latency_us"]["p99.9"]'
result $? "--json: a performance test with its percentiles" "$scratch/out" "$scratch/err"

client T --json -V -i 20 -t 2 -w 2 client RW 4096 server SR 256 client SR 256 &&
	json 'r[0]["test"] == "transaction" and r[0]["threads"] == 2 and r[0]["endpoints"] == 2' &&
	json 'r[0]["bytes_written"] == 20 * 4096 * 4'
result $? "--json: a transaction test counts its bytes" "$scratch/out" "$scratch/err"

client P --tap -i 100 RR 512 && grep -qx '1..1' "$scratch/out" &&
	grep -q '^ok 1 - RDMA_READ 512 x 1' "$scratch/out" && [ "$(grep -cv '^\(1\.\.\|ok\|#\)' "$scratch/out")" -eq 0 ]
result $? "--tap: a plan, a point and nothing else" "$scratch/out" "$scratch/err"

for mode in b p; do
	for pipeline in 1 8; do
		client P -i 300 -m $mode -p $pipeline SR 1000 3 &&
			has '^    Operation Type       : SR$' '^    Bandwidth ' '^raw: SR, 300, 1000, 3, ' \
				'^Latency percentile 50 +: [0-9.]+ us$' '^Latency percentile 99\.9 +: '
		result $? "P: messages there and back, -m $mode -p $pipeline" "$scratch/out" "$scratch/err" "$scratch/server.err"
	done
done

client P --json -i 20 --sweep 1..64k RW && json '[x["segment_size"] for x in r] == [1 << i for i in range(17)]'
result $? "--sweep: every doubling, both ends included" "$scratch/out" "$scratch/err"
client P --json -i 5 --sweep 1000..5000 SR && json '[x["segment_size"] for x in r] == [1000, 2000, 4000]'
result $? "--sweep: from an odd size" "$scratch/out" "$scratch/err"

client T -V -i 10 --duration 1 client SR 4096 server SR 4096 &&
	has '^Soak: [0-9]+ rounds in [1-9][0-9]*\.[0-9] sec, [0-9]{5,} bytes moved, none wrong$'
result $? "--duration: counts what it moved" "$scratch/out" "$scratch/err"
client T -i 10 --duration 1 client SR 4096 server SR 4096 && has 'as far as lengths tell'
result $? "--duration: without -V does not claim what it did not look at" "$scratch/out" "$scratch/err"

"$dapltest" -T L -D "$adapter" -m 5 --json limit_pz limit_lmr >"$scratch/out" 2>"$scratch/err" &&
	json '[(x["name"], x["objects"]) for x in r] == [("limit_pz", 5), ("limit_lmr", 5)]'
result $? "--json: limit tests" "$scratch/out" "$scratch/err"

"$dapltest" --regress "$host" -D "$adapter" -n "$port" --timeout "$wait_limit" --quick >"$scratch/out" 2>"$scratch/err" &&
	has '^REGRESS: 22 of 22 forms passed$' '^REGRESS: transmete  ok$' '^REGRESS: lim-rpost  ok$'
result $? "--regress: every form passes" "$scratch/out" "$scratch/err" "$scratch/server.err"
has '^---- dapltest --regress: a summary to send ----$' "^host     $(uname -n): Linux $(uname -r)" '^program  dapltest \(udapl\) [0-9]' \
	"^adapter  $adapter: .* at " "^server   $host, port $port: dapltest \\(udapl\\) [0-9]" \
	'^epa +ok +[0-9.]+ s$' && [ "$(sed -n '/a summary to send/,$p' "$scratch/out" | grep -c ' ok  *[0-9.]* s$')" -eq 22 ]
result $? "--regress: ends with a summary that a person can send" "$scratch/out"
"$dapltest" --regress "$host" -D nowhere -n "$port" --timeout 5 --quick >"$scratch/out" 2>"$scratch/err"
[ $? -eq 100 ] && has '^REGRESS: 0 of 22 forms passed$' '^REGRESS: conn       FAILED: ' '^conn +FAILED +[0-9.]+ s  .+'
result $? "--regress: fails with a reason for each form" "$scratch/out" "$scratch/err"

"$dapltest" --report "$scratch/page.html" -s "$host" -D "$adapter" -n "$port" --timeout "$wait_limit" --quick \
	>"$scratch/out" 2>"$scratch/err" && [ "$(grep -c '<td>RDMA read</td>' "$scratch/page.html")" -eq 32 ] &&
	grep -q '</html>' "$scratch/page.html" && ! grep -q 'src="http\|href=' "$scratch/page.html"
result $? "--report: a page of its own with all rows" "$scratch/out" "$scratch/err"
if command -v gnuplot >/dev/null; then
	[ "$(grep -c 'data:image/png;base64,iVBOR' "$scratch/page.html")" -eq 2 ] && [ -s "$scratch/page.latency.png" ]
	result $? "--report: two plots, in the page and beside it" "$scratch/out" "$scratch/err"
else
	count=$((count + 1))
	echo "ok $count - --report: plots # SKIP gnuplot is not here"
fi
"$dapltest" --report /nonexistent/page.html -s "$host" -D "$adapter" -n "$port" --timeout 5 --quick \
	>"$scratch/out" 2>"$scratch/err"
[ $? -eq 100 ] && grep -q '/nonexistent/page.html: No such file' "$scratch/err"
result $? "--report: says at once where it cannot write" "$scratch/out" "$scratch/err"

client P --json -i 10 -p 100000 SR 64
[ $? -eq 100 ] && json 'not r[0]["ok"] and r[0]["error"]' || { client P --json -i 10 -p 8 SR 64 && json 'r[0]["ok"]'; }
result $? "--json: ok and error exclude each other" "$scratch/out" "$scratch/err"

refused() {
	name=$1 pattern=$2
	shift 2
	"$dapltest" "$@" >"$scratch/out" 2>"$scratch/err"
	[ $? -eq 1 ] && grep -q -- "$pattern" "$scratch/err"
	result $? "refused: $name" "$scratch/out" "$scratch/err"
}
refused "a sweep of one number" 'not FIRST..LAST' -T P -s x -D y --sweep 4096 RW
refused "a sweep that goes down" 'not FIRST..LAST' -T P -s x -D y --sweep 4096..64 RW
refused "a sweep of transactions" '--sweep is for -T P' -T T -s x -D y --sweep 1..2 client SR server SR
refused "a duration of nothing" '--duration' -T P -s x -D y --duration 0 RW

quit_server
result $? "the server ends, and well" "$scratch/server.err"
