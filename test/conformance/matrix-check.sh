#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Every clause of the specification has a test or a reason why not.
exec python3 "${top_srcdir:-$(dirname "$0")/../..}/test/conformance/matrix.py" check
