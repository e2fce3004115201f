#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""dat-info: lines of dat.conf for programs of DAT 1.2."""
# Clauses: D12-101, D12-104
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from util import DAT_INFO, SOFT, Scratch, call, case, check, entry, equal, run


def old(name, params="lo", lib=SOFT, threads="nonthreadsafe"):
    return entry(name, params, lib, "u1.2", threads)


@case("they are opened as their programs do, and what is wrong is told")
def _():
    missing = os.path.join(os.path.dirname(SOFT), "libdaplsoft.so.9")
    with Scratch() as s:
        conf = s.write("dat.conf", old("fine") + old("gone", "nonet7") + old("missing", lib=missing))
        result = call(1, DAT_INFO, "--check", "-f", conf).says(
            r'^%s:2: warning: gone: cannot be opened: "nonet7" is no .* \(DAT_INVALID_ADDRESS\)$' % conf,
            "^%s:3: error: missing: cannot be opened: %s: cannot open" % (conf, missing),
            "^1 error, 1 warning$",
        )
        check("fine" not in result.out, "one that opens is reported")
        result = call(1, DAT_INFO, "-v", "-f", conf).says(
            "^  for programs of DAT 1.2, which get %s$" % SOFT,
            "^    adapter_name +fine$",
            '^  cannot be opened: "nonet7" is no network device',
        )
        found = call(1, DAT_INFO, "-v", "-j", "-f", conf).json()["entries"]
        equal([e["outcome"] for e in found], ["opened", "refused", "no library"], "outcomes")
        call(0, DAT_INFO, "--settings", "-f", s.write("one", old("fine"))).says("^soft +linger ")


@case("one that is threadsafe is told, unless its programs get another of the name")
def _():
    with Scratch() as s:
        found = "ib0: programs of DAT 1.2 do not find it: they ask for nonthreadsafe"
        conf = s.write("dat.conf", old("ib0", threads="threadsafe"))
        call(0, DAT_INFO, "--check", "-f", conf).says("^%s:1: warning: %s$" % (conf, found))
        for plain in (old("ib0"), entry("ib0"), entry("ib0", threads="threadsafe")):
            conf = s.write("dat.conf", old("ib0", threads="threadsafe") + plain)
            check(found not in call(0, DAT_INFO, "--check", "-f", conf).out, "%s does not count", plain)


run()
