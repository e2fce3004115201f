#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""What a call costs above the verbs driver: cost.py FILE FUNCTION...

FILE is of callgrind, with --toggle-collect of each FUNCTION. Prints for each the instructions per call that did not run
in the driver's library, and on standard error in which functions they ran.
"""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../bench"))
from callgrind import Profile  # noqa: E402

DRIVER = re.compile(r"/lib(rxe|siw|mlx[45])[-.]")


def in_driver(function):
    return bool(DRIVER.search(function.library))


def main():
    profile = Profile(sys.argv[1])
    for name in sys.argv[2:]:
        if not profile.count(name):
            sys.exit("no calls of " + name)
        print("%.1f" % profile.above(name, in_driver))
        for function, own in profile.parts(name, in_driver):
            if own >= 0.05:
                print("%8.1f  %s (%s)" % (own, function.name, os.path.basename(function.library)), file=sys.stderr)


if __name__ == "__main__":
    main()
