#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Counts the instructions of one RDMA write post and of one dequeued completion, with callgrind.

    cost.py DAPLTEST ADAPTER SERVER PORT [--below-post FUNCTION] [--below-poll FUNCTION] [--iterations N]

What a call costs above the transport is the inclusive count of the DAT call less that of the functions below it that
are named; a server must run already. Prints two lines: post N, dequeue N.
"""
import argparse
import os
import subprocess
import sys
import tempfile

from callgrind import Profile


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
        profile = Profile(out)
    posts = profile.count("dat_ep_post_rdma_write")
    print("post %.1f" % profile.above("dat_ep_post_rdma_write", lambda function: function.name in args.below_post))
    # Empty polls are dequeues too: their share is what the polled function's calls say.
    print("dequeue %.1f per call, %d calls, %d completions" %
          (profile.above("dat_evd_dequeue", lambda function: function.name in args.below_poll),
           profile.count("dat_evd_dequeue"), posts))


if __name__ == "__main__":
    main()
