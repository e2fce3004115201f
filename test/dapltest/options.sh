#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# The command line: every form that users run is understood, every wrong one is refused. No adapter
# is needed: a form that is understood gets as far as an adapter that does not exist.
. "$top_srcdir/test/dapltest/lib.sh"

DAT_OVERRIDE=$scratch/dat.conf
export DAT_OVERRIDE
: >"$DAT_OVERRIDE"

# understood ARGUMENTS...
understood() {
	"$dapltest" "$@" >"$scratch/out" 2>"$scratch/err"
	[ $? -eq 100 ] && grep -q 'DAT_NAME_NOT_REGISTERED' "$scratch/err"
	result $? "understood: $*" "$scratch/out" "$scratch/err"
}

# refused MESSAGE ARGUMENTS...
refused() {
	message=$1
	shift
	"$dapltest" "$@" >"$scratch/out" 2>"$scratch/err"
	[ $? -eq 1 ] && grep -Fq -- "$message" "$scratch/err" && grep -q '^USAGE' "$scratch/err" &&
		grep -q '^Command line syntax error' "$scratch/err"
	result $? "refused: $* ($message)" "$scratch/out" "$scratch/err"
}

plan 67

on="-s localhost -D nowhere"
trans="client RW 4096 1 server RW 2048 4 server RR 1024 1 client RR 2048 1"
trans="$trans client SR 1024 3 -f server SR 256 3 -f"
big="client RW 32768 4 server RW 32768 4 server RR 32768 1 client RR 32768 1"
big="$big client SR 16384 4 -f server SR 16384 4 -f"
three="client SR 8192 3 server SR 8192 3"

understood $on -T T -i 1 -t 1 -w 1 client SR 4096 server SR 4096
understood $on -T T -i 8192 -t 1 -w 1 client SR 4096 server SR 4096
understood $on -T T -P -t 1 -w 1 -i 4096 $trans
understood $on -T T -P -t 1 -w 1 -i 8192 $big
understood $on -T T -i 4096 -t 4 -w 1 $three
understood $on -T T -P -t 1 -w 4 -i 4096 $trans
understood $on -T T -P -t 2 -w 4 -i 4096 $trans
understood $on -T T -P -t 4 -w 4 -i 8192 $trans
understood $on -T T -i 4096 -t 6 -w 1 $three
understood $on -T T -i 4096 -t 4 -w 4 $three
understood $on -T T -i 4096 -t 10 -w 10..50 $three
understood $on -T P -i 2048 -m b RW 4096 2
understood $on -T P -i 4096 RR 32768 1
understood $on -T P -i 4096 RW 32768 4
understood $on -T P -i 4096 -p 16 -m b RW 65536 2
understood $on -T P -i 8192 -p 1 -m b RW 4 1
understood $on -T P -i 100000 -p 1 -m p RW 4 1
understood -T L -D nowhere -w 8 -m 100 limit_ia
for limit in pz evd ep psp lmr; do
	understood -T L -D nowhere -w 8 -m 100 limit_$limit
done
understood -T L -D nowhere -w 8 -m 15 limit_rpost
understood -T Q $on
understood -T S -D nowhere
understood -T S -D nowhere -n 53000 -d
understood -D nowhere -d -T T -V -t 2 -w 4 -i 55555 -s localhost client RW 4096 1 \
	server RW 2048 4 client SR 1024 4 server SR 4096 2 client SR 1024 3 -f server SR 2048 1 -f
understood -T T $on -n 53000 -Q -r -R HT --timeout 5 -w 2..8..3 client SR 4k 2 server SR
understood -T P $on -R LL RW 1m

echo '-T P -s localhost # a comment
	-D nowhere RW 4096' >"$scratch/script"
understood -f "$scratch/script"
echo "dapltest -T T $on $three" >"$scratch/script"
understood -f "$scratch/script"

refused 'Must Specify Test (-T) option first' -D nowhere
refused 'Invalid Test Type' -T X
refused 'Invalid Test Type' -T TT
refused 'Must Specify Test (-T) option first' $on -T
refused 'option requires an argument -- i' -T T $on -i
refused 'Invalid Server option: s' -T S -s localhost
refused 'Invalid Quit option: t' -T Q $on -t 1
refused 'Invalid Transaction Test Parameter: m' -T T $on -m b $three
refused 'Invalid Transaction Test Parameter: x' -T T $on -x $three
refused 'Invalid Performance Test Parameter: V' -T P $on -V RW
refused 'Invalid Limit Test Parameter: s' -T L -s localhost
refused 'Must specify server_name in command line or scriptfile' -T T -D nowhere $three
refused 'Must specify server_name in command line or scriptfile' -T Q
refused 'OP first arg must <server/client>' -T T $on SR 4096
refused 'OP Second arg must be <RR/RW/SR>' -T T $on client XX
refused 'OP too many args' -T T $on client SR 4096 1 2
refused 'OP: -f only valid on SEND_RECV' -T T $on client RW 4096 1 -f $three
refused 'OP: Unbalanced -f options' -T T $on client SR 4096 1 -f server SR 4096 1
refused 'OP: Unbalanced -f options' -T T $on server SR 4096 1 -f client SR 4096 1 -f
refused 'At least one server SR and one client SR Operation' -T T $on client SR 4096
refused 'seg_size must be a number' -T T $on client SR 0 server SR
refused 'seg_size must be a number' -T T $on client SR -1 server SR
refused 'num_segs must be a number' -T T $on client SR 4096 0 server SR
refused 'too much for one transfer' -T T $on client SR 1g 4 server SR
refused 'Syntax Error -i<iterations> option' -T T $on -i -5 $three
refused 'Syntax Error -i<iterations> option' -T T $on -i 4294967297 $three
refused 'Syntax Error -w<EPs/thread> option' -T T $on -w 50..10 $three
refused 'Operation Missing Transfer Type' -T P $on
refused 'OP type must be' -T P $on XX
refused 'Pipeline size must not be 0' -T P $on -p 0 RW
refused 'Syntax Error -m <mode> option' -T P $on -m z RW
refused 'Cannot find this limit test: limit_foo' -T L limit_foo
refused 'Syntax Error -R<service reliability> option' -T Q $on -R XX
refused 'Cannot open script file: /nonexistent' -f /nonexistent
refused '-f <script_file> allows no additional options' -f /dev/null -T S
