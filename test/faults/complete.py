#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""What the libraries import either fails in test/faults/table.c or stands in test/faults/never with a reason.

complete.py MATRIX NEVER LIBRARY... [FOLDER...]

Of a folder's sources the calls of libibverbs and librdmacm count: verbs.h takes some out of the device's context.
"""
import fnmatch
import glob
import os
import re
import subprocess
import sys


def imports(library):
    if os.path.isdir(library):
        names = set()
        for path in glob.glob(library + "/**/*.[ch]", recursive=True):
            names |= set(re.findall(r"\b((?:ibv|rdma)_\w+)\(", open(path).read()))
        assert names, library
        return names
    out = subprocess.run(
        ["nm", "-D", "--undefined-only", library], check=True, capture_output=True, text=True
    ).stdout
    return {line.split()[-1].split("@")[0] for line in out.splitlines()}


def excused(path):
    """Patterns of names, each of which has a reason."""
    patterns = []
    for line in open(path):
        line = line.split("#")[0].strip()
        if line:
            names, _, reason = line.partition(":")
            assert reason.strip(), "no reason: " + line
            patterns += names.split()
    return patterns


def point(number, names, what):
    print("%s %d - %s%s" % ("not ok" if names else "ok", number, what, "".join(map(" %s".__mod__, names))))
    return bool(names)


def main():
    matrix, never, *libraries = sys.argv[1:]
    failing = subprocess.run([matrix, "-l"], check=True, capture_output=True, text=True).stdout.split()
    patterns = excused(never)

    def is_excused(name):
        return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)

    known = set()
    bad = 0
    for number, library in enumerate(libraries, 1):
        names = imports(library)
        known |= names
        left = sorted(n for n in names if (n in failing) == is_excused(n))
        bad += point(number, left, "every call of %s fails, or cannot" % os.path.basename(library))
    number = len(libraries) + 1
    bad += point(number, sorted(set(failing) - known), "every call that fails is one of theirs")
    print("1..%d" % number)
    return 1 if bad else 0


sys.exit(main())
