#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Every limit test, with the arguments that regressions use.
. "$top_srcdir/test/dapltest/lib.sh"

use_soft

# limited TEST MAXIMUM LINE
limited() {
	"$dapltest" -T L -D "$adapter" -w 8 -m "$2" "$1" >"$scratch/out" 2>"$scratch/err"
	[ $? -eq 0 ] && has "^Limitation Test +$1\$" "$3"
	result $? "L: $1" "$scratch/out" "$scratch/err"
}

plan 11

limited limit_ia 100 '^LimitTest: IAs opened: 100$'
limited limit_pz 100 '^LimitTest: PZs created: 100$'
limited limit_cno 100 '^LimitTest: CNOs created: 100$'
limited limit_evd 100 '^LimitTest: EVDs created: 100$'
limited limit_ep 100 '^LimitTest: EPs created: 100$'
limited limit_rsp 100 '^LimitTest: RSPs created: 100$'
limited limit_psp 100 '^LimitTest: PSPs created: 100$'
limited limit_lmr 100 '^LimitTest: LMRs created: 100$'
limited limit_rpost 15 '^LimitTest: recv buffers posted per EP: 15$'
limited limit_size_lmr 100 \
	'^LimitTest: (LMR of|Largest LMR was) 0x[1-9a-f][0-9a-f]* bytes'

"$dapltest" -T L -D "$adapter" -m 5 >"$scratch/out" 2>"$scratch/err"
[ $? -eq 0 ] && [ "$(grep -c '^Limitation Test' "$scratch/out")" -eq 10 ]
result $? "L: all of them by default" "$scratch/out" "$scratch/err"
