#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# The shipped dapl.conf shows every tunable of the core and of the software provider.
: "${top_srcdir:?}"
count=0
failed=0
for file in dapl/config.c providers/soft/module.c; do
	for name in $(sed -n 's/.*{ *\.name = "\([a-z_]*\)".*/\1/p; s/^\t\t\.name = "\([a-z_]*\)".*/\1/p' "$top_srcdir/$file"); do
		count=$((count + 1))
		if grep -q "^	# $name = " "$top_srcdir/etc/dapl.conf"; then
			echo "ok $count - $name of $file"
		else
			failed=1
			echo "not ok $count - $name of $file"
		fi
	done
done
[ $count -gt 0 ] || failed=1
echo "1..$count"
exit $failed
