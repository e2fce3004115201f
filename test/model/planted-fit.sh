#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# The mistakes of test/model/planted can still be made: each patch fits the tree.
exec "$top_srcdir/test/model/planted.sh" --check
