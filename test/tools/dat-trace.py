#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""dat-trace: levels and records of a running program."""
import os
import re
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from util import BUILD, ENV, Scratch, Skip, call, case, check, entry, equal, run

DAT_TRACE = os.path.join(BUILD, "dat-trace")
DAPLTEST = os.path.join(BUILD, "dapltest")
NOBODY = 65534


class Server:
    """dapltest as a server whose trace goes to a file."""

    def __init__(self, scratch, env=None, preexec=None):
        os.chmod(scratch.folder, 0o777)
        self.trace = scratch.path("trace")
        env = {**ENV, "DAT_OVERRIDE": scratch.write("dat.conf", entry("soft-lo")),
               **(env or {"DAT_TRACE_FILE": self.trace})}
        self.env = env
        self.server = subprocess.Popen(
            [DAPLTEST, "-T", "S", "-D", "soft-lo", "-n", "0"], env=env, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, preexec_fn=preexec,
        )
        self.pid = self.server.pid
        self.port = None
        for line in self.server.stdout:
            found = re.match("Dapltest: Server Port - ([0-9]+)", line)
            self.port = found.group(1) if found else self.port
            if line.startswith("Dapltest: Service Point Ready"):
                return
        raise Skip("no server: it ended with status %s" % self.server.wait())

    def client(self):
        done = subprocess.run(
            [DAPLTEST, "-T", "T", "-s", "127.0.0.1", "-D", "soft-lo", "-n", self.port, "-i", "10",
             "client", "SR", "256", "1", "server", "SR", "256", "1"],
            env=self.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, timeout=60, check=False,
        )
        equal(done.returncode, 0, "the client's status: %s" % done.stdout)

    def traced(self):
        try:
            with open(self.trace, encoding="utf-8") as file:
                return [line for line in file if " %d." % self.pid in line]
        except FileNotFoundError:
            return []

    def at_rest(self):
        """What it has traced at level 10, to the end: its client ends before it has freed all, and told itself so."""
        deadline = time.monotonic() + 30
        while True:
            lines = self.traced()
            zones = [i for i, line in enumerate(lines) if " type=PZ " in line]
            after = lines[zones[-1] + 1:] if zones and " object_gone " in lines[zones[-1]] else []
            if all(any(point in line and "DAT_SOFTWARE_EVENT" in line for line in after)
                   for point in (" event ", " event_taken ")):
                return lines
            check(time.monotonic() < deadline, "the end is missing: %s", "".join(lines[-20:]))
            time.sleep(0.1)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.kill()
        self.server.wait()


def levels(pid, *args):
    out = call(0, DAT_TRACE, pid, *args).out
    return [int(n) for n in re.fullmatch(r"dat (\d+)\ndapl (\d+)\n", out).groups()]


@case("levels are shown and changed, and hold at once")
def _():
    with Scratch() as s, Server(s) as server:
        equal(levels(server.pid), [0, 0], "levels")
        server.client()
        equal(server.traced(), [], "what level 0 traces")
        equal(levels(server.pid, 3), [3, 3], "levels")
        server.client()
        found = "".join(server.traced())
        check(" 0x5C3 3 ep_state " in found, "no change of state at level 3")
        check(" 10 post_" not in found, "requests at level 3")
        equal(levels(server.pid, "0" * 80 + "3"), [3, 3], "levels, of many digits")
        equal(levels(server.pid, -1, 10), [3, 10], "levels")
        server.client()
        found = "".join(server.traced())
        for point in ("post_request", "post_recv", "event_taken"):
            check(" 0x5C3 10 %s " % point in found, "no %s at level 10", point)
        before = server.at_rest()
        equal(levels(server.pid, 0), [0, 0], "levels")
        server.client()
        equal(server.traced()[len(before):], [], "records after level 0")


@case("the environment gives the levels to begin with")
def _():
    with Scratch() as s, Server(s, {"DAT_TRACE_LEVEL": "1", "DAPL_TRACE_LEVEL": "7", "DAT_TRACE_DEST": "none"}) as server:
        equal(levels(server.pid), [1, 7], "levels")


@case("so does dapl.conf, which also says where records go")
def _():
    with Scratch() as s:
        where = s.path("elsewhere")
        conf = s.write("dapl.conf", 'dapl {\n\ttrace_level = 3\n\tdat_trace_level = 1\n'
                                    '\ttrace_dest = file\n\ttrace_file = "%s"\n}\n' % where)
        env = {"DAPL_CONF": conf}
        with Server(s, env) as server:
            equal(levels(server.pid), [1, 3], "levels")
            server.client()
            with open(where, encoding="utf-8") as file:
                check(" ep_state " in file.read(), "no record in the file")


@case("dump: what happened stands in memory at level 0")
def _():
    with Scratch() as s, Server(s) as server:
        server.client()
        out = call(0, DAT_TRACE, server.pid, "dump").says(
            r" 0x5C7 3 ia_open 0x1 name=soft-lo$",
            r" 0x5C3 3 ep_state 0x[0-9a-f]+ from=\S+ to=CONNECTED cause=",
            r" 0x5C3 3 conn_request 0x[0-9a-f]+ qualifier=\d+ bytes=\d+$",
            r" 0x5C3 3 object_new 0x[0-9a-f]+ type=EP ia=0x[0-9a-f]+$",
        ).out
        times = re.findall(r"^dat: trace (\S+Z) ", out, re.MULTILINE)
        equal(len(times), out.count("\n"), "lines")
        equal(times, sorted(times), "the order of the records")
        check(len(set(re.findall(r"Z \d+\.(\d+) ", out))) > 1, "records of one thread only")


@case("points: every point has a name, a level and arguments")
def _():
    with Scratch() as s, Server(s) as server:
        rows = [line.split("\t") for line in call(0, DAT_TRACE, server.pid, "points").out.splitlines()]
        check({row[0] for row in rows} == {"dat", "dapl"}, "components: %s", rows)
        names = [(row[0], row[1]) for row in rows]
        equal(len(set(names)), len(names), "points of one name")
        for row in rows:
            check(len(row) == 4 and 1 <= int(row[2]) <= 10, "a bad row: %s", row)


@case("wrong arguments are told before anybody is asked")
def _():
    call(2, DAT_TRACE).complains("^usage: dat-trace PID")
    call(0, DAT_TRACE, "--help").says("^usage: dat-trace PID")
    for bad in ("11", "-2", "high", "3x", ""):
        call(2, DAT_TRACE, os.getpid(), bad).complains('"%s" is not a level: 0 to 10' % bad)
        call(2, DAT_TRACE, os.getpid(), "3", bad).complains('"%s" is not a level' % bad)
    call(2, DAT_TRACE, os.getpid(), "1", "2", "3").complains("^usage")
    for bad in ("0", "-5", "12x", "me", ""):
        call(2, DAT_TRACE, bad).complains('"%s" is not a process id' % bad)


@case("a full disk is told")
def _():
    with Scratch() as s, Server(s) as server:
        call(1, "sh", "-c", '"$0" "$1" points >/dev/full', DAT_TRACE, server.pid).complains(
            "standard output: No space left"
        )
    for option in ("--help", "--version"):
        call(1, "sh", "-c", '"$0" "$1" >/dev/full', DAT_TRACE, option).complains(
            "standard output: No space left"
        )


@case("a program that is gone, or is none of uDAPL's")
def _():
    gone = subprocess.Popen(["true"])
    gone.wait()
    call(1, DAT_TRACE, gone.pid).complains("process %d does not exist" % gone.pid)
    call(1, DAT_TRACE, os.getpid(), "3").complains("has opened no uDAPL interface adapter")


@case("another user's program")
def _():
    if os.geteuid():
        raise Skip("becoming another user takes root")

    def nobody():
        os.setresuid(NOBODY, NOBODY, NOBODY)

    with Scratch() as s, Server(s) as server:
        call(1, DAT_TRACE, server.pid, 3, preexec=nobody).complains("belongs to another user")
        equal(levels(server.pid), [0, 0], "levels")
    with Scratch() as s, Server(s, preexec=nobody) as server:
        call(1, DAT_TRACE, server.pid, 3).complains("belongs to another user")
        check(server.server.poll() is None, "the program has ended")


@case("unset, asking does not wake anybody")
def _():
    with Scratch() as s, Server(s) as server:
        def control_thread():
            """Its context switches, once it has its name and sleeps."""
            for task in os.listdir("/proc/%d/task" % server.pid):
                try:
                    with open("/proc/%d/task/%s/status" % (server.pid, task),
                              encoding="utf-8") as file:
                        status = file.read()
                except (FileNotFoundError, ProcessLookupError):
                    continue
                if re.match(r"Name:\tudapl-control\n(.*\n)*State:\tS", status):
                    return sum(map(int, re.findall(r"ctxt_switches:\s+(\d+)", status)))
            return None

        def settled():
            before = control_thread()
            time.sleep(0.2)
            return before is not None and control_thread() == before and before

        deadline = time.monotonic() + 30
        while not (before := settled()):
            check(time.monotonic() < deadline, "there is no control thread")
        server.client()
        time.sleep(1)
        equal(control_thread(), before, "wake-ups of the control thread")


run()
