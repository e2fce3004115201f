#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Has spin look at all states of the models here: none may be a lost wake-up, or memory that two have for themselves;
# and with each mistake planted one must.
#
# SPIN_ALL  anything: both directions at a time as well, half a minute and 1.3 GB
here=$(cd "$(dirname "$0")" && pwd)
if ! command -v spin >/dev/null; then
	echo "1..0 # SKIP spin is not installed"
	exit 0
fi
scratch=$(mktemp -d) || exit 99
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 99
number=0
failed=0

# All states, in breadth or depth: MODEL OPTION...; sets errors and states.
look() {
	model=$1
	shift
	rm -f pan pan.*
	spin -a "$@" "$here/$model.pml" >log 2>&1 && ${CC:-cc} -O0 -DSAFETY -DCOLLAPSE -DMEMLIM=2048 -w -o pan pan.c >>log 2>&1 &&
		./pan -m1000000 -w22 >>log 2>&1
	errors=$(sed -n 's/.*errors: \([0-9]*\)$/\1/p' log)
	states=$(sed -n 's/^ *\([0-9.e+]*\) states, stored.*/\1/p' log | head -n 1)
	complete=yes
	! grep -q 'max search depth too small\|search not completed\|out of memory' log || complete=no
}

point() { # STATUS TEXT
	number=$((number + 1))
	if [ "$1" -eq 0 ]; then
		echo "ok $number - $2"
	else
		failed=1
		echo "not ok $number - $2"
		tail -n 25 log | sed 's/^/# /'
	fi
}

# MODEL OPTION...
holds() {
	look "$@"
	[ "$errors" = 0 ] && [ "$complete" = yes ]
	point $? "$*: nothing is wrong in any of $states states"
}

breaks() {
	look "$@"
	[ "${errors:-0}" -gt 0 ]
	point $? "$*: the mistake is found"
}

holds shm
[ -z "${SPIN_ALL:-}" ] || holds shm -DBOTH_WAYS -DMESSAGES=2
for mistake in 1 2 3; do
	breaks shm -DPLANT=$mistake
	breaks shm -DBOTH_WAYS -DMESSAGES=2 -DPLANT=$mistake
done
for model in arm room direct; do
	holds $model
	breaks $model -DPLANT=1
	breaks $model -DPLANT=2
done
breaks direct -DPLANT=3
echo "1..$number"
exit $failed
