#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Tracers of the system see the probes of a running dapltest, though its own trace is silent."""
import os
import re
import select
import shutil
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from util import BUILD, ENV, SOFT, Scratch, Skip, case, check, entry, equal, note, run

DAPLTEST = os.path.join(BUILD, "dapltest")
LIB = os.path.realpath(SOFT)
WAIT = 60


def need(tool):
    if not shutil.which(tool):
        raise Skip("%s is not installed" % tool)
    if os.geteuid():
        raise Skip("%s takes root" % tool)


def refused(tool, text):
    """Skips with what the tool itself says."""
    lines = [line for line in text.splitlines() if line.strip()]
    raise Skip("%s: %s" % (tool, lines[-1] if lines else "no reason given"))


class Lines:
    """The lines that a program prints, as they come."""

    def __init__(self, args, env=None):
        self.program = subprocess.Popen(args, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT)
        self.rest = ""
        self.seen = ""

    def until(self, pattern, limit=WAIT):
        """Whether a line that matches comes, or came already."""
        while not re.search(pattern, self.seen, re.M):
            if not select.select([self.program.stdout], [], [], limit)[0]:
                return False
            more = os.read(self.program.stdout.fileno(), 65536).decode(errors="replace")
            if not more:
                return False
            self.seen += more
        return True

    def end(self):
        self.program.kill()
        self.program.wait()
        self.program.stdout.close()


class Server:
    def __init__(self, scratch):
        self.env = {**ENV, "DAT_OVERRIDE": scratch.write("dat.conf", entry("soft-lo"))}
        self.lines = Lines([DAPLTEST, "-T", "S", "-D", "soft-lo", "-n", "0"], self.env)
        self.pid = self.lines.program.pid
        check(self.lines.until("Service Point Ready"), "no server: %s", self.lines.seen)
        self.port = re.search("Server Port - ([0-9]+)", self.lines.seen).group(1)

    def client(self):
        done = subprocess.run(
            [DAPLTEST, "-T", "T", "-s", "127.0.0.1", "-D", "soft-lo", "-n", self.port, "-i", "10",
             "client", "SR", "256", "1", "server", "SR", "256", "1"],
            env=self.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, timeout=WAIT, check=False,
        )
        equal(done.returncode, 0, "the client's status: %s" % done.stdout)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.lines.end()


@case("readelf shows them")
def _():
    out = subprocess.run(["readelf", "-n", LIB], stdout=subprocess.PIPE, text=True, check=True).stdout
    if "stapsdt" not in out:
        raise Skip("built without sys/sdt.h")
    for point in ("ep_state", "post_request", "event_taken"):
        check(re.search(r"Provider: dapl\n\s+Name: %s\n" % point, out), "no %s", point)


@case("bpftrace sees changes of state, requests and completions with their arguments")
def _():
    need("bpftrace")
    script = ('usdt:%s:dapl:ep_state { printf("state %%s %%s\\n", str(arg1), str(arg2)); } '
              'usdt:%s:dapl:post_request { printf("post %%s %%d\\n", str(arg1), arg2); } '
              'usdt:%s:dapl:event_taken { printf("taken %%s\\n", str(arg1)); } '
              'BEGIN { printf("watching\\n"); }') % (LIB, LIB, LIB)
    with Scratch() as s, Server(s) as server:
        tracer = Lines(["bpftrace", "-B", "line", "-p", str(server.pid), "-e", script])
        try:
            if not tracer.until("^watching"):
                refused("bpftrace", tracer.seen)
            server.client()
            for what in (r"^state \S+ CONNECTED$", r"^post SEND \d+$", "^taken DAT_DTO_COMPLETION_EVENT$"):
                check(tracer.until(what, 20), "no line like %s: %s", what, tracer.seen)
        finally:
            tracer.end()


def perf(*args, home):
    return subprocess.run(["perf", *args], env={**os.environ, "HOME": home}, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=WAIT, check=False)


def recording(pid):
    """Whether a perf has its buffers and waits for records; what happens before that is not seen."""
    try:
        told = []
        for name in "maps", "wchan":
            with open("/proc/%d/%s" % (pid, name), encoding="utf-8") as file:
                told.append(file.read())
        return "perf_event" in told[0] and "poll" in told[1]
    except OSError:
        return False


@case("perf sees requests")
def _():
    need("perf")
    with Scratch() as s, Server(s) as server:
        home = s.folder
        perf("buildid-cache", "--add", LIB, home=home)
        made = perf("probe", "--force", "--add", "sdt_dapl:post_request", home=home)
        added = re.search(r"^ +(sdt_dapl:\w+) +\(on ", made.stdout, re.M)
        if not added:
            refused("perf", made.stdout)
        event = added.group(1)
        try:
            data = s.path("perf.data")
            recorder = subprocess.Popen(
                ["perf", "record", "-q", "-e", event, "-p", str(server.pid), "-o", data],
                env={**os.environ, "HOME": home}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT, text=True,
            )
            deadline = time.monotonic() + 20
            while not recording(recorder.pid) and recorder.poll() is None and time.monotonic() < deadline:
                time.sleep(0.1)
            if recorder.poll() is not None:
                refused("perf", recorder.communicate()[0])
            server.client()
            recorder.send_signal(2)
            recorder.communicate(timeout=WAIT)
            script = perf("script", "-i", data, home=home).stdout
            check(event in script, "no record of the probe: %s", script[:500])
        finally:
            perf("probe", "--del", event, home=home)


run()
