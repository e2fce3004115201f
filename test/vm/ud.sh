#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Connections by datagrams on the kernel's soft-RoCE, by libdaploucm.so.2: ud.sh [PROGRAM...] of the conformance suite,
# as conformance.sh runs them.
#
# Release 2.1.10's module sends no datagrams on Ethernet (UCM-8), and its programs hand each other no GID, which RoCE
# needs: they are peers on an InfiniBand adapter, in test/zoo/peers.sh.
export VM_CM=ud
[ $# -gt 0 ] || set -- conn cr conn_more silent
# shellcheck source=test/vm/conformance.sh
. "$(dirname "$0")/conformance.sh"
