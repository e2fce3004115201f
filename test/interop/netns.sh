#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# The soft provider between two network namespaces with addresses of their own. Needs root and ip netns.
here=$(dirname "$0")
# shellcheck source=test/interop/hosts.sh
. "$here/hosts.sh"

make_hosts
hosts_up 10.99.77.1/24 10.99.77.2/24
"$here/pair.py" netns "$a" "$b" "$device_a" "$device_b"
