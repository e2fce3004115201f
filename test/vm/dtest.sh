#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Debian's unmodified dtest without options, on our libraries, to its end: 2000 writes of 4 MB each way.
here=$(cd "$(dirname "$0")" && pwd)
VM_LIMIT=${VM_LIMIT:-3500} LIMIT=${LIMIT:-1750} exec "$here/dapl2-utils.sh" default
