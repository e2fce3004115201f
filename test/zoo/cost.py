#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Instructions of a post and of a dequeue above the driver of an adapter, as callgrind counts them."""
import os
import shutil
import subprocess
import sys
import tempfile

TOP, BUILD = os.environ["top_srcdir"], os.environ["top_builddir"]
sys.path.insert(0, os.path.join(TOP, "test/bench"))
sys.path.insert(0, os.path.join(TOP, "test/interop"))
from callgrind import Profile  # noqa: E402
from tap import Skip, case, check, note, run  # noqa: E402

POSTS = 400
# What the provider's watchdog has collected before costs more to dequeue.
SELDOM = dict(os.environ, DAPL_VERBS_WATCHDOG="60000")
TRIES = 5
WRITE = ("dat_ep_post_rdma_write", "dat_evd_dequeue")
CALLS = {
    "write": WRITE,
    "suppressed": WRITE,
    "segments": WRITE[:1],
    "read": ("dat_ep_post_rdma_read", "dat_evd_dequeue"),
    "send": ("dat_ep_post_send", "dat_ep_post_recv", "dat_evd_dequeue"),
}
# rxe: a post is a call of the kernel, which may fail. siw: it may raise SIGPIPE besides, from which the program is
# guarded. mlx5: small data goes inline, and is looked up before.
LIMITS = {
    ("rxe", "write"): (75, 85),
    ("rxe", "send"): (75, 130, 110),
    ("rxe", "read"): (145, 85),
    ("rxe", "segments"): (250,),
    ("rxe", "suppressed"): (205, 85),
    ("siw", "write"): (330, 85),
    ("siw", "read"): (395, 155),
    ("mlx5-roce", "write"): (110, 85),
}


def count(kind, request):
    """Instructions of each of the request's CALLS."""
    if not shutil.which("valgrind"):
        raise Skip("no valgrind")
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "out")
        done = subprocess.run(
            ["sh", os.path.join(TOP, "test/zoo/run"), kind, "valgrind", "--tool=callgrind",
             "--callgrind-out-file=" + out, *("--toggle-collect=" + call for call in CALLS[request]),
             os.path.join(BUILD, "test/vm/cost_probe"), "ofa-zoo-" + kind, str(POSTS), request],
            env=SELDOM, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        if done.returncode:
            note("%s", done.stdout)
        check(done.returncode == 0, "status %d", done.returncode)
        profile = Profile(out)
    for call in CALLS[request]:
        check(POSTS / 20 <= profile.count(call) <= POSTS * 1.1, "%d calls of %s", profile.count(call), call)
    return [profile.above(call, lambda called: "/libzoo" in called.library) for call in CALLS[request]]


def least(kind, request):
    """Ditto, of a few counts: a device or a thread that was late makes a call take more, and never less."""
    costs = count(kind, request)
    for _ in range(TRIES):
        if all(cost <= most for cost, most in zip(costs, LIMITS[kind, request])):
            break
        costs = [min(both) for both in zip(costs, count(kind, request))]
    return costs


def judge(kind, request):
    """One case for a kind of request on an adapter."""
    limits = LIMITS[kind, request]

    @case("%s on %s: at most %s instructions" % (request, kind, ", ".join(
        "%d of %s" % (limit, call) for call, limit in zip(CALLS[request], limits))))
    def _():
        for call, cost, most in zip(CALLS[request], least(kind, request), limits):
            note("%s: %.1f", call, cost)
            check(20 < cost <= most, "%s: %.1f instructions", call, cost)


for kind_and_request in LIMITS:
    judge(*kind_and_request)
run()
