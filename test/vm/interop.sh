#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# The soft provider and the kernel's soft-iWARP, each on its host of the virtual machine: siw-interop.py.
here=$(cd "$(dirname "$0")" && pwd)
top_builddir=${top_builddir:-$(pwd)}
export top_builddir

skip() {
	echo "1..0 # SKIP $1"
	exit 0
}

command -v python3 >/dev/null || skip "no python3"
[ -x "$top_builddir/test/vm/siw-peer" ] || skip "siw-peer is not built: no libibverbs-dev and librdmacm-dev"
"$here/run" --prepare || skip "no virtual machine"

exec "$here/run" --limit 1200 -- "$here/siw-interop.py" "$@"
