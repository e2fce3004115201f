#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Connections by datagrams on the kernel's soft-RoCE, by libdaploucm.so.2 under either libdat2: what socket.sh does, but
# for dapltest, which has no place for such an address.
export VM_CM=ud
# shellcheck source=test/vm/socket.sh
. "$(dirname "$0")/socket.sh"
