#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""What callgrind counts: instructions of a post and of a dequeue above the driver of an adapter, and the calls of the
kernel for a connection that is made and ended, both ends of it."""
import collections
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


def profiled(kind, options, program, *arguments):
    """The profile of a program on an adapter."""
    if not shutil.which("valgrind"):
        raise Skip("no valgrind")
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "out")
        done = subprocess.run(
            ["sh", os.path.join(TOP, "test/zoo/run"), kind, "valgrind", "--tool=callgrind",
             "--callgrind-out-file=" + out, *options, os.path.join(BUILD, "test/vm", program), *arguments],
            env=SELDOM, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        if done.returncode:
            note("%s", done.stdout)
        check(done.returncode == 0, "status %d", done.returncode)
        return Profile(out)


def count(kind, request):
    """Instructions of each of the request's CALLS."""
    profile = profiled(kind, ["--toggle-collect=" + call for call in CALLS[request]], "cost_probe", "ofa-zoo-" + kind,
                       str(POSTS), request)
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


# None of these calls enters the kernel.
AT_HOME = ("zoo_poll_cq", "rdma_ack_cm_event", "ibv_get_device_name", "rdma_get_src_port", "rdma_get_dst_port")
# Plain rdma_cm does not name the port beforehand, look for faults of the device, or ask how a QP ended.
MOST_CALLS = {"rxe": 37, "siw": 29}


def kernel_calls(kind, connections):
    """How often each function is called that enters the kernel."""
    profile = profiled(kind, [], "sizes", "dat", "ofa-zoo-" + kind, str(4 * connections), "connections")
    calls = collections.Counter()
    for (caller, called), times in profile.calls.items():
        if "/libzoo" in called.library and "/libzoo" not in caller.library and called.name not in AT_HOME:
            calls[called.name] += times
    return calls


def judge_connection(kind, most):
    """One case for the connections of an adapter."""
    few, many = 10, 60

    @case("a connection on %s: at most %d calls of the kernel" % (kind, most))
    def _():
        calls = kernel_calls(kind, many)
        calls.subtract(kernel_calls(kind, few))
        each = {name: times / (many - few) for name, times in calls.items() if times >= (many - few) / 10}
        for name, times in sorted(each.items(), key=lambda item: -item[1]):
            note("%.1f %s", times, name)
        check(each.get("rdma_connect", 0) >= 0.9, "no connections")
        check(sum(each.values()) <= most + 0.5, "%.1f calls", sum(each.values()))


for kind_and_request in LIMITS:
    judge(*kind_and_request)
for kind_and_most in MOST_CALLS.items():
    judge_connection(*kind_and_most)
run()
