#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Instructions of a post and of a dequeue at the trace levels 0 and 3, as callgrind counts them, above the transport."""
import os
import subprocess
import sys
import tempfile

TOP, BUILD = os.environ["top_srcdir"], os.environ["top_builddir"]
sys.path.insert(0, os.path.join(TOP, "test/bench"))
sys.path.insert(0, os.path.join(TOP, "test/interop"))
from callgrind import Profile  # noqa: E402
from tap import Skip, case, check, note, run  # noqa: E402

BELOW = {"qp_post_send", "cq_poll"}
MOST = 3


def count(level):
    """(post, dequeue) in instructions per call."""
    program = os.path.join(BUILD, "test/minimal/trace_cost")
    result = []
    with tempfile.TemporaryDirectory() as folder:
        for function, call in (("counted_posts", "dat_ep_post_rdma_write"), ("counted_dequeues", "dat_evd_dequeue")):
            out = os.path.join(folder, "out")
            env = {k: v for k, v in os.environ.items() if not k.startswith(("DAT_", "DAPL_"))}
            env.update(DAT_TRACE_LEVEL=str(level), DAPL_TRACE_LEVEL=str(level), DAT_TRACE_DEST="none")
            done = subprocess.run(
                ["valgrind", "--tool=callgrind", "--callgrind-out-file=" + out, "--toggle-collect=" + function, program],
                env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
            if done.returncode:
                note("%s", done.stdout)
            check(done.returncode == 0, "status %d", done.returncode)
            profile = Profile(out)
            number = profile.count(call)
            check(number == 160, "%d calls of %s", number, call)
            result.append(profile.above(call, lambda called: called.name in BELOW))
    return result


@case("level 3 costs no more than %d instructions per post and per dequeue" % MOST)
def _():
    if os.environ.get("SAN_FLAGS"):
        raise Skip("built with a sanitizer")
    if subprocess.run(["which", "valgrind"], stdout=subprocess.DEVNULL, check=False).returncode:
        raise Skip("no valgrind")
    silent, normal = count(0), count(3)
    for name, without, traced in zip(("post", "dequeue"), silent, normal):
        note("%s: %.1f instructions at level 0, %.1f at level 3", name, without, traced)
        check(20 < without < 300, "%s: %.1f instructions are unlikely", name, without)
        check(traced - without <= MOST, "%s: %.1f more", name, traced - without)


run()
