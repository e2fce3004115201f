#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""What a call costs above the verbs driver: cost.py FILE FUNCTION

FILE is of callgrind, with --toggle-collect=FUNCTION. Prints the instructions per call that did not run in the
driver's library.
"""
import re
import sys

DRIVER = re.compile(r"/lib(rxe|siw|mlx[45])[-.]")


def named(names, text):
    number, _, rest = text.partition(" ")
    if rest:
        names[number] = rest
    return names.get(number, text)


def read(path, function):
    """All instructions, those of the driver and what it calls, and the calls of the function."""
    total = below = calls = 0
    objects, functions = {}, {}
    here = there = None
    inside = callee = ""
    pending = None
    for line in open(path, encoding="utf-8"):
        line = line.rstrip("\n")
        key, _, value = line.partition("=")
        if key == "ob":
            here = named(objects, value)
        elif key == "fn":
            inside = named(functions, value)
        elif key == "cob":
            there = named(objects, value)
        elif key == "cfn":
            callee = named(functions, value)
        elif key == "calls":
            pending = int(value.split()[0])
        elif re.match(r"^[+\-*\d]", line):
            cost = int(line.split()[1])
            if pending is None:
                total += cost
                continue
            target = there or here
            if DRIVER.search(target) and not DRIVER.search(here):
                below += cost
            if callee.split("@")[0] == function and inside != callee:
                calls += pending
            pending, there = None, None
    return total, below, calls


def main():
    total, below, calls = read(sys.argv[1], sys.argv[2])
    if not calls:
        sys.exit("no calls of " + sys.argv[2])
    print("%.1f" % ((total - below) / calls))


if __name__ == "__main__":
    main()
