#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Counts the instructions of one RDMA write post and of one dequeued completion, with callgrind.

    cost.py DAPLTEST ADAPTER SERVER PORT [--below-post FUNCTION] [--below-poll FUNCTION] [--iterations N]

What a call costs above the transport is the inclusive count of the DAT call less that of the functions below it that
are named; a server must run already. Prints two lines: post N, dequeue N.
"""
import argparse
import collections
import os
import re
import subprocess
import sys
import tempfile


def profile(path):
    """Inclusive instructions and calls per function, by name, of a callgrind output file."""
    names = {}
    inclusive = collections.Counter()
    calls = collections.Counter()
    edges = collections.Counter()
    function = callee = None
    pending = 0

    def name(text):
        number, _, rest = text.partition(" ")
        if rest:
            names[number] = rest
        return names.get(number, text)

    for line in open(path):
        line = line.rstrip("\n")
        if line.startswith("fn="):
            function = name(line[3:])
        elif line.startswith("cfn="):
            callee = name(line[4:])
        elif line.startswith("calls="):
            pending = int(line[6:].split()[0])
        elif re.match(r"^[+\-*\d]", line) and function:
            cost = int(line.split()[1]) if len(line.split()) > 1 else 0
            if pending:
                # A function that calls itself is not counted twice.
                inclusive[function] += cost if callee != function else 0
                calls[callee] += pending
                edges[(function, callee)] += cost
                pending = 0
            else:
                inclusive[function] += cost
    return inclusive, calls, edges


def plain(name):
    return re.sub(r"('\d+|@.*)$", "", name)


def total(counter, wanted):
    return sum(count for name, count in counter.items() if plain(name) in wanted)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("dapltest")
    parser.add_argument("adapter")
    parser.add_argument("server")
    parser.add_argument("port")
    parser.add_argument("--below-post", action="append", default=[])
    parser.add_argument("--below-poll", action="append", default=[])
    parser.add_argument("--iterations", type=int, default=2000)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "callgrind")
        run = subprocess.run(
            ["valgrind", "--tool=callgrind", "--callgrind-out-file=" + out, args.dapltest, "-T", "P",
             "-s", args.server, "-D", args.adapter, "-n", args.port, "-i", str(args.iterations), "-m", "p",
             "RW", "64", "1"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if run.returncode:
            sys.exit(run.stdout)
        inclusive, calls, _ = profile(out)
    post = total(inclusive, {"dat_ep_post_rdma_write"}) - total(inclusive, set(args.below_post))
    posts = total(calls, {"dat_ep_post_rdma_write"})
    print("post %.1f" % (post / posts))
    # Empty polls are dequeues too: their share is what the polled function's calls say.
    poll = total(inclusive, {"dat_evd_dequeue"}) - total(inclusive, set(args.below_poll))
    print("dequeue %.1f per call, %d calls, %d completions" %
          (poll / total(calls, {"dat_evd_dequeue"}), total(calls, {"dat_evd_dequeue"}), posts))


if __name__ == "__main__":
    main()
