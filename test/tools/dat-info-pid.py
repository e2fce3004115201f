#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""dat-info --pid and --watch: what a running program has open."""
import json
import os
import re
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from util import BUILD, DAT_INFO, ENV, Failed, Scratch, Skip, call, case, check, entry, equal, run

DAPLTEST = os.path.join(BUILD, "dapltest")


class Server:
    """dapltest as a server on a port of its own, and clients of it."""

    def __init__(self, scratch, preexec=None, name="soft-lo"):
        self.env = {**ENV, "DAT_OVERRIDE": scratch.write("dat.conf", entry('"%s"' % name))}
        os.chmod(scratch.folder, 0o755)
        self.programs = []
        self.server = self.start("-T", "S", "-D", name, "-n", "0", preexec=preexec)
        self.pid = self.server.pid
        self.port = None
        for line in self.server.stdout:
            found = re.match("Dapltest: Server Port - ([0-9]+)", line)
            self.port = found.group(1) if found else self.port
            if line.startswith("Dapltest: Service Point Ready"):
                return
        raise Skip("no server: it ended with status %s" % self.server.wait())

    def start(self, *args, preexec=None):
        program = subprocess.Popen(
            [DAPLTEST, *args],
            env=self.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            preexec_fn=preexec,
        )
        self.programs.append(program)
        return program

    def client(self, *args):
        return self.start(
            "-T", "P", "-s", "127.0.0.1", "-D", "soft-lo", "-n", self.port, "-i", "100000000", *args
        )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for program in reversed(self.programs):
            program.kill()
            program.wait()


def until(what, condition, limit=30):
    end = time.monotonic() + limit
    while time.monotonic() < end:
        found = condition()
        if found:
            return found
        time.sleep(0.1)
    raise Failed("%s: not within %d s" % (what, limit))


def objects(pid, kind):
    """A program that has just started has no IA open yet."""
    done = subprocess.run(
        [DAT_INFO, "--pid", str(pid), "-j"], env=ENV, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        check=False,
    )
    if done.returncode:
        return []
    return [o for o in json.loads(done.stdout)["objects"] if o["kind"] == kind]


@case("an idle program: its adapter, dispatchers and service point")
def _():
    with Scratch() as s, Server(s) as server:
        call(0, DAT_INFO, "--pid", server.pid).says(
            "process %d, " % server.pid,
            "^IA 1  soft-lo  127.0.0.1$",
            "^  .*psps 1",
            "^ +[0-9a-fx]+ +psp +%s +0x" % server.port,
            "^ +[0-9a-fx]+ +async +0/64 ",
        )
        found = objects(server.pid, "psp")
        equal(found[0]["qual"], int(server.port), "qualifier")
        equal(objects(server.pid, "ep"), [], "endpoints")


@case("a name is one, whatever it looks like")
def _():
    for name, shown in (("007", "007"), ("a\tclosing=1\teps=4", "a?closing=1?eps=4")):
        with Scratch() as s, Server(s, name=name) as server:
            ia = objects(server.pid, "ia")[0]
            equal((ia["name"], ia["closing"], ia["eps"]), (shown, 0, 0), "name, closing, endpoints")
            call(0, DAT_INFO, "--pid", server.pid).says("^IA 1  %s  127.0.0.1$" % re.escape(shown))


@case("a busy program: states, peers, queue depths")
def _():
    # By the link requests wait for their turn.
    ENV["DAPL_SOFT_DIRECT"] = "no"
    with Scratch() as s, Server(s) as server:
        # More than a socket takes at once, so that some of it waits.
        client = server.client("-p", "16", "RW", "262144")
        mine = until("two connections", lambda: connected(client.pid, 2))
        theirs = until("both ends of them", lambda: connected(server.pid, 2))
        equal({e["local"] for e in mine}, {e["remote"] for e in theirs}, "both ends")
        equal({e["remote"] for e in mine}, {e["local"] for e in theirs}, "both ends")
        until("a queue in use", lambda: any(e["requests"] > 1 for e in looked_at(client.pid)))
        for ep in looked_at(client.pid):
            check(0 <= ep["requests"] <= ep["max_requests"], "requests: %s", ep)
            check(0 <= ep["recvs"] <= ep["max_recvs"], "receives: %s", ep)
            check(ep["starved"] in (0, 1), "starved: %s", ep)
        evds = {e["evd"] for e in objects(client.pid, "evd")}
        check(all(e["request_evd"] in evds for e in looked_at(client.pid)), "unknown dispatcher")
        busy = until("traffic", lambda: [e for e in looked_at(client.pid) if e["writes"] > 100])[0]
        equal(busy["written_bytes"], 262144 * busy["writes"], "bytes of the writes")
        equal((busy["errors"], busy["connects"], busy["reads"]), (0, 1, 0), "errors, connects, reads")
        row = "^ +0x[0-9a-f]+ +CONNECTED +127.0.0.1:[0-9]+ +127.0.0.1:[0-9]+ +[0-9]+/[0-9]+ +[0-9]+/16 +[0-9.kMG]+ +[0-9.kMG]+"
        until("a row of it", lambda: re.search(row, call(0, DAT_INFO, "--pid", client.pid).out, re.M))


def looked_at(pid):
    """An endpoint that is always busy may not be looked at."""
    return [e for e in objects(pid, "ep") if "requests" in e]


def connected(pid, num):
    found = [e for e in objects(pid, "ep") if e["state"] == "CONNECTED" and "remote" in e]
    return found if len(found) == num else None


@case("errors: a connection that ends under its work, a service that nobody offers")
def _():
    with Scratch() as s, Server(s) as server:
        client = server.client("-p", "16", "RW", "4096")
        until("two connections", lambda: connected(server.pid, 2))
        client.kill()
        until("flushed receives", lambda: any(e["flushed"] for e in objects(server.pid, "ep"))
              or not objects(server.pid, "ep"))
        ia = objects(server.pid, "ia")[0]
        check(ia["DCNT_IA_CM_REQ_RX"] >= 2, "requests: %s", ia)
        call(0, DAT_INFO, "-v", "--pid", server.pid).says("^  DCNT_IA_CM_REQ_RX +[0-9]+$")


@case("asking again and again while connections come and go")
def _():
    with Scratch() as s, Server(s) as server:
        for _ in range(8):
            client = server.client("-p", "4", "SR", "1024")
            for _ in range(4):
                objects(client.pid, "ep")
                objects(server.pid, "ep")
            client.kill()
            client.wait()
        until("the ends of the last connections", lambda: not connected(server.pid, 2))
        check(server.server.poll() is None, "the server has ended")


@case("--watch: shows it as often as asked, and ends with the program")
def _():
    with Scratch() as s, Server(s) as server:
        result = call(0, DAT_INFO, "--pid", server.pid, "--watch", "--interval", 1, "--count", 2)
        equal(len(re.findall("^IA 1 ", result.out, re.M)), 2, "views")
        check("\x1b" not in result.out, "escape sequences where there is no screen")
        client = server.client("-p", "4", "RW", "1024")
        until("traffic", lambda: any(e["writes"] for e in looked_at(client.pid)))
        # A view in which the endpoint could not be looked at has no rates of it.
        until("a row with rates", lambda: re.search(
            r"CONNECTED .* [1-9][0-9.]*k? +[1-9][0-9.]*[kMG] +[0-9.kMG]+ +-$",
            call(0, DAT_INFO, "--pid", client.pid, "--watch", "--interval", 1, "--count", 3).says(
                "OPS/s +OUT/s +IN/s +NOTES$").out, re.M))
        result = call(0, DAT_INFO, "--pid", server.pid, "-j", "--watch", "--interval", 1, "--count", 2)
        equal(result.out.count('"objects":'), 2, "JSON views")
        watch = subprocess.Popen(
            [DAT_INFO, "--pid", str(server.pid), "--watch", "--interval", "1"],
            env=ENV, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for line in watch.stdout:
            if line.startswith("IA 1"):
                break
        # It is to ask a program that has ended, not one that is just ending.
        watch.send_signal(signal.SIGSTOP)
        server.server.kill()
        server.server.wait()
        watch.send_signal(signal.SIGCONT)
        _, err = watch.communicate(timeout=30)
        equal(watch.returncode, 1, "status")
        check("does not exist" in err or "ended" in err, "what it says: %s", err)


@case("--watch clears the screen of a terminal")
def _():
    with Scratch() as s, Server(s) as server:
        call(
            0, "script", "-qec", "%s --pid %d --watch --count 1" % (DAT_INFO, server.pid), s.path("typescript")
        )
        text = open(s.path("typescript"), encoding="utf-8").read()
        check("\x1b[H\x1b[2J" in text, "the screen is not cleared")


@case("a program that is gone, is none of ours, or whose number is none")
def _():
    gone = subprocess.Popen(["true"])
    until("its end", lambda: re.search(r"\) Z ", open("/proc/%d/stat" % gone.pid, encoding="utf-8").read()))
    call(1, DAT_INFO, "--pid", gone.pid).complains("process %d does not exist" % gone.pid)
    gone.wait()
    call(1, DAT_INFO, "--pid", gone.pid).complains("process %d does not exist" % gone.pid)
    call(1, DAT_INFO, "--pid", os.getpid()).complains("has opened no uDAPL interface adapter")
    for text in ("0", "-3", "self", "", "99999999999", "1.5"):
        call(2, DAT_INFO, "--pid", text).complains("is no number from 1 to")
    call(2, DAT_INFO, "--watch").complains("--watch needs --pid")
    call(2, DAT_INFO, "--pid", "1", "--check").complains("exclude each other")
    call(2, DAT_INFO, "--pid", "1", "--watch", "--interval", "0").complains("--interval")


@case("another user's program")
def _():
    if os.geteuid():
        raise Skip("only root can be two users")
    drop = lambda: (os.setgid(65534), os.setuid(65534))  # noqa: E731
    try:
        call(0, DAT_INFO, "--version", preexec=drop)
    except Exception as err:
        raise Skip("the build folder is closed to others") from err
    with Scratch() as s, Server(s) as server:
        call(1, DAT_INFO, "--pid", server.pid, preexec=drop).complains("belongs to another user")
    with Scratch() as s, Server(s, preexec=drop) as server:
        call(1, DAT_INFO, "--pid", server.pid).complains("belongs to another user .65534.")


run()
