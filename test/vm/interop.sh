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
echo '#include <rdma/rdma_cma.h>' | ${CC:-cc} -E - >/dev/null 2>&1 || skip "no libibverbs-dev and librdmacm-dev"
"$here/run" --prepare || skip "no virtual machine"

mkdir -p "$top_builddir/test/vm" && ${CC:-cc} -std=gnu11 -D_GNU_SOURCE -O2 -g -Wall -Wextra -Werror \
	-o "$top_builddir/test/vm/siw-peer" "$here/siw-peer.c" -lrdmacm -libverbs || {
	echo "Bail out! siw-peer does not build"
	exit 99
}
exec "$here/run" --limit 1200 -- "$here/siw-interop.py" "$@"
