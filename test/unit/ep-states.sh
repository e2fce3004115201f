#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# doc/ep-states.md says what dapl/endpoint/ep_state.c does.
echo 1..1
if differences=$("${top_builddir:-.}/tools/ep-states" | diff -u "${top_srcdir:-.}/doc/ep-states.md" - 2>&1); then
	echo "ok 1 - the documented state machine is the one in the code"
else
	echo "not ok 1 - the documented state machine is the one in the code"
	echo "$differences" | sed 's/^/# /'
	echo "# to write it anew: tools/ep-states >doc/ep-states.md"
fi
