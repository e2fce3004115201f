#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Transaction and performance tests, and the end of a server that was asked to quit.
. "$top_srcdir/test/dapltest/lib.sh"

use_soft
start_server

# As many segments of a read as the adapter has. A client that finds out there are too few leaves its server alone.
reads=3
expected='^$'
if ! client T -i 1 client RR 64 3 client SR server SR; then
	reads=$(sed -n 's/.*segments per RDMA read: .* the adapter has at most \([1-9]\).*/\1/p' "$scratch/err")
	expected='^Server\[1\]: the client went away$'
fi
two=$((reads < 2 ? reads : 2))

mix="client RW 4096 1 server RW 2048 4 server RR 1024 1 client RR 2048 $two"
mix="$mix client SR 1024 3 -f server SR 256 3 -f"
long="client RW 65536 3 server RW 100000 2 server RR 32768 1 client RR 70001 $reads"
long="$long client SR 33333 3 server SR 65536 2"
odd="client SR 1 server SR 7 3 client RW 1 server RW 13 3 client RR 3 $reads server RR 1 1"

# trans THREADS EPS NAME ARGUMENTS...
trans() {
	threads=$1
	eps=$2
	name=$3
	shift 3
	client T -t "$threads" -w "$eps" "$@" &&
		has "^----- Stats ---- : $threads threads, $eps EPs\$" \
			'^Total WQE        : +[0-9]+\.[0-9]{2} WQE/Sec$' \
			'^Total Time       : +[0-9]+\.[0-9]{2} sec$' \
			'^Total Send       : +[0-9]+\.[0-9]{2} MB - +[0-9]+\.[0-9]{2} MB/Sec$' \
			'^Total RDMA Write : ' '^DT_cs_Client: =+ End of Work'
	result $? "T: $name, $threads threads, $eps EPs" "$scratch/out" "$scratch/err" \
		"$scratch/server.err"
}

# perf NAME MODE OPERATION ARGUMENTS...
perf() {
	name=$1
	mode=$2
	operation=$3
	shift 3
	client P "$@" &&
		has '^-+ Statistics -+$' "^    Mode                 : $mode\$" \
			"^    Operation Type       : $operation\$" \
			'^    Total Time           : [0-9]+\.[0-9]+ sec$' \
			'^    CPU Utilization      : [0-9]+\.[0-9]+$' \
			'^    Operation Throughput : [0-9]+\.[0-9]+ ops/sec$' \
			'^    Bandwidth            : [0-9]+\.[0-9]+ MB/sec$' \
			'^    Arithmetic mean      : [0-9]+\.[0-9]+ us$' \
			"^raw: $operation(, [0-9]+){4}(, [0-9]+\\.[0-9]+){6} \$"
	result $? "P: $name" "$scratch/out" "$scratch/err" "$scratch/server.err"
}

plan 31

trans 1 1 "one exchange" -i 1 client SR 4096 server SR 4096
for threads in 1 4; do
	for eps in 1 4; do
		trans $threads $eps "send and receive, validated" -V -i 50 \
			client SR 4096 server SR 4096
		trans $threads $eps "all transfers, validated" -V -i 50 $mix
		trans $threads $eps "all transfers, not validated" -i 50 $mix
		trans $threads $eps "all transfers, polling, validated" -V -P -i 50 $mix
	done
done
trans 1 2 "long transfers, validated" -V -i 10 $long
trans 2 1 "odd lengths, validated" -V -i 50 $odd
trans 2 3 "through a CNO, validated" -V -Q -i 50 $mix
trans 2 3 "on reserved service points, validated" -V -r -i 20 $mix

client T -i 5 -w 1..3 client SR 64 server SR 64 &&
	has '1 threads, 1 EPs' '1 threads, 2 EPs' '1 threads, 3 EPs'
result $? "T: a range of endpoints" "$scratch/out" "$scratch/err"

perf "RDMA write, blocking" blocking RW -i 500 -m b RW 4096 2
perf "RDMA write, polling, one in flight" polling RW -i 500 -m p -p 1 RW 4 1
perf "RDMA read, blocking" blocking RR -i 500 RR 32768 1
perf "RDMA read, polling, sixteen in flight" polling RR -i 500 -m p -p 16 RR 4096 $two
perf "RDMA write, long" blocking RW -i 50 -p 16 RW 65536 4

# Five clients at once, each with its own output.
clients=
for i in 1 2 3 4 5; do
	"$dapltest" -T T -s "$host" -D "$adapter" -n "$port" --timeout "$wait_limit" -V -i 30 -w $i \
		$mix >"$scratch/out.$i" 2>"$scratch/err.$i" &
	clients="$clients $!"
done
failed=0
for pid in $clients; do
	wait "$pid" || failed=$((failed + 1))
done
[ $failed -eq 0 ]
result $? "T: five clients at once, validated" "$scratch"/out.[1-5] "$scratch"/err.[1-5]

complaints=$(grep -cv "$expected" "$scratch/server.err")
[ "$complaints" -eq 0 ]
result $? "the server has nothing to complain of" "$scratch/server.err"

quit_server
result $? "Q: the server ends, and well" "$scratch/out" "$scratch/err" "$scratch/server.err"

"$dapltest" -T T -s "$host" -D "$adapter" -n "$port" --timeout 5 client SR server SR \
	>"$scratch/out" 2>"$scratch/err"
[ $? -eq 100 ] && grep -q "no connection to $host, port $port" "$scratch/err"
result $? "without a server: an error that says where" "$scratch/out" "$scratch/err"
