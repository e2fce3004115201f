# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""
Runs the victim, a program that uses the library by commands, and checks what every case has in
common.
"""
import collections
import glob
import os
import select
import shlex
import subprocess
import tempfile
import time

from causes import FLUSHED  # noqa: F401, as below
from iwarp import Peer, Startup, Wire, accept, listen
from objects import (  # noqa: F401, who drives uses them as well
    ACCEPT_ERROR,
    BROKEN,
    CANARY,
    DISCONNECTED,
    DTO,
    EP_BROKEN,
    ESTABLISHED,
    IB_DTO,
    NON_PEER_REJECTED,
    PEER_REJECTED,
    RIGHTS,
    SUCCESS,
    TIMED_OUT,
    UNREACHABLE,
    Endpoint,
    Region,
    pattern,
)
from tap import case, check, equal, note, run, skip_all


class Died(Exception):
    """The victim ended or does not answer."""


def build_dir():
    here = os.path.dirname(os.path.abspath(__file__))
    return os.environ.get("top_builddir") or os.path.dirname(os.path.dirname(here))


def find_module(build=None):
    """The soft provider in the build tree, or the one of SOFT_MODULE."""
    if os.environ.get("SOFT_MODULE"):
        return os.environ["SOFT_MODULE"]
    for folder in ("", "providers/soft/"):
        found = sorted(glob.glob("%s/%s.libs/libdaplsoft.so*" % (build or build_dir(), folder)))
        if found:
            return found[0]
    return None


def find_victim(build=None):
    path = os.path.join(build or build_dir(), "test/interop/victim")
    return path if os.access(path, os.X_OK) else None


def require():
    """Skips the whole test when there is nothing to test."""
    if not find_victim():
        skip_all("the victim is not built")
    if not find_module():
        skip_all("providers/soft is not built")


def write_conf(folder, ia, parameter, build=None):
    """A dat.conf with one entry for the module of the build tree."""
    path = os.path.join(folder, "dat.conf")
    with open(path, "w", encoding="ascii") as conf:
        conf.write(
            '%s u2.0 nonthreadsafe default "%s" udapl.1.0 "%s" ""\n'
            % (ia, find_module(build), parameter)
        )
    return path


class Victim:
    """A process that obeys; build: the folder it is built in, prefix: what runs it."""

    def __init__(
        self, ia="soft-lo", parameter="lo", prefix="", alone=False, environment=None, build=None
    ):
        self.alone = alone
        self.folder = tempfile.TemporaryDirectory(prefix="interop-")
        # These peers look at the wire.
        wire = {"DAPL_SOFT_LINK": "tcp", "DAPL_SOFT_CRC": "yes"}
        env = dict(wire, **os.environ)
        env.update(environment or {})
        env["DAT_OVERRIDE"] = write_conf(self.folder.name, ia, parameter, build)
        self.errors = open(
            os.path.join(self.folder.name, "stderr"), "w+", encoding="utf-8", errors="replace"
        )
        self.log = collections.deque(maxlen=60)
        self.buffer = b""
        command = shlex.split(prefix) + [find_victim(build), ia] + (["alone"] if alone else [])
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, env=env
        )
        self.hello = {}
        try:
            while "ready" not in self.hello:
                self.hello.update(self.line(30))
        except Died:
            self.complain()
            self.discard()
            raise
        self.address = self.hello["address"]
        self.max_private_data = int(self.hello["max_private_data"])
        self.opened = []
        self.listening = None
        self.baseline = None

    def line(self, timeout):
        end = time.monotonic() + timeout
        while b"\n" not in self.buffer:
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.process.stdout], [], [], left)[0]:
                raise Died("the victim does not answer")
            piece = os.read(self.process.stdout.fileno(), 1 << 20)
            if not piece:
                raise Died("the victim ended with status %s" % self.process.wait(10))
            self.buffer += piece
        raw, self.buffer = self.buffer.split(b"\n", 1)
        text = raw.decode()
        self.log.append(text[:200])
        return dict(word.partition("=")[::2] for word in text.split())

    def say(self, verb, **arguments):
        text = " ".join([verb] + ["%s=%s" % pair for pair in arguments.items()])
        self.log.append("> " + text[:200])
        try:
            self.process.stdin.write(text.encode() + b"\n")
            self.process.stdin.flush()
        except OSError as err:
            raise Died("the victim ended with status %s" % self.process.wait(10)) from err

    def answers(self, timeout=30):
        lines = []
        while True:
            line = self.line(timeout)
            if "done" in line:
                return lines
            lines.append(line)

    def ask(self, verb, **arguments):
        """Obeys one command; the last line of the answer."""
        self.say(verb, **arguments)
        lines = self.answers(30 + int(arguments.get("ms", 0)) / 1000)
        if (
            verb in ("ep", "listen", "region")
            and lines
            and lines[-1].get("result") == "DAT_SUCCESS"
        ):
            self.opened.append((verb, int(lines[-1][verb])))
        return lines[-1] if lines else {}

    def event(self, ms=10000):
        return self.ask("wait", ms=ms)

    def async_event(self, ms=10000):
        return self.ask("wait", ms=ms, on="async")

    def quiet(self, ms=150):
        event = self.event(ms)
        equal(event["event"], "none", "further event (EP-151, EV-T2)")

    def counts(self):
        got = self.ask("counts")
        return int(got["fds"]), int(got["threads"])

    def processor_time(self):
        """Seconds of processor time used so far."""
        with open("/proc/%s/stat" % self.hello["pid"], encoding="ascii") as stat:
            fields = stat.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def listen(self, **options):
        got = self.ask("listen", **options)
        equal(got["result"], "DAT_SUCCESS", "dat_psp_create")
        return got

    def port(self):
        """The port of a service point that stays for the victim's life."""
        if not self.listening:
            self.listening = self.listen()
            self.opened.remove(("listen", int(self.listening["listen"])))
            self.warm_up()
        return int(self.listening["conn_qual"])

    def warm_up(self):
        """
        Once what the library makes at the first use: then what there is counts as the baseline.
        """
        # Each wait has to sleep, on a busy machine too. One asks the transport for completions
        # once an endpoint may have some, and meets those of the healthy connection, since two that
        # sleep at a time have a descriptor each: until five rounds began and ended during it.
        ms = 100
        ep = int(self.ask("ep")["ep"])
        met = 0
        end = time.monotonic() + 20
        while met < 5 and time.monotonic() < end:
            rounds = int(self.event(ms)["rounds"])
            met += 5 if self.alone else max(rounds - 1, 0)
        self.ask("free", ep=ep)
        self.opened.remove(("ep", ep))
        self.async_event(ms)
        self.request(ms)
        self.ask("healthy")
        self.baseline = self.counts()

    def request(self, ms=10000, listening=None):
        self.port()
        return self.ask("request", ms=ms, listen=(listening or self.listening)["listen"])

    def no_request(self, ms=200):
        equal(self.request(ms)["event"], "none", "connection request (PSP-1)")

    def accept(self, request, ep, data=b""):
        got = self.ask("accept", request=request["request"], ep=ep.number, data=data.hex())
        equal(got["result"], "DAT_SUCCESS", "dat_cr_accept")

    def free(self, ep):
        """Frees an endpoint that may have any state, and its events (EP-113)."""
        equal(self.ask("free", ep=ep.number)["result"], "DAT_SUCCESS", "dat_ep_free")
        self.opened.remove(("ep", ep.number))
        while self.event(0)["event"] != "none":
            pass

    def clean(self):
        """Frees what the case opened."""
        for verb, number in sorted(
            self.opened, key=lambda o: ("ep", "listen", "region").index(o[0])
        ):
            close = {"ep": "free", "listen": "unlisten", "region": "drop"}[verb]
            self.ask(close, **{verb: number})
        self.opened = []
        for on in ("main", "async"):
            while self.ask("wait", ms=0, on=on)["event"] != "none":
                pass

    def unharmed(self):
        """The healthy connection ran on and nothing is left of the case (DTO-89)."""
        got = self.ask("healthy")
        equal(got["fault"], "none", "the healthy connection")
        check(
            int(got["worst_ms"]) < 1500,
            "the healthy connection stood still for %s ms",
            got["worst_ms"],
        )
        end = time.monotonic() + 15
        counts = self.counts()
        while counts != self.baseline and time.monotonic() < end:
            time.sleep(0.02)
            counts = self.counts()
        equal(counts, self.baseline, "descriptors and threads afterwards")

    def quit(self):
        """Ends it; everything has to be closed, down to what was open at its start."""
        try:
            self.quit_in_order()
        except Exception:
            self.complain()
            raise
        finally:
            self.discard()

    def quit_in_order(self):
        self.say("quit")
        while "closed" not in self.hello:
            self.hello.update(self.line(20))
        equal(self.process.wait(10), 0, "exit status")
        equal(self.hello.get("graceful", "DAT_SUCCESS"), "DAT_SUCCESS", "graceful dat_ia_close")
        equal(self.hello["end_fds"], self.hello["start_fds"], "descriptors after dat_ia_close")
        equal(self.hello["end_threads"], self.hello["start_threads"], "threads after dat_ia_close")

    def discard(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()
        self.errors.close()
        self.folder.cleanup()

    def complain(self):
        """Says what is known of a failure."""
        note("victim, latest lines:")
        for line in list(self.log)[-14:]:
            note("  %s", line)
        self.errors.seek(0)
        for line in self.errors.read().splitlines()[-25:]:
            note("  stderr: %s", line[:300])


class Stage:
    """One victim for many cases; a new one after a case that failed."""

    def __init__(self, **options):
        self.options = options
        self.victim = None

    def around(self, function):
        if not self.victim:
            self.victim = Victim(**self.options)
            self.victim.port()
        try:
            function(self.victim)
            self.victim.clean()
            self.victim.unharmed()
        except Exception as err:
            if type(err).__name__ != "Skip":
                self.victim.complain()
                self.victim.discard()
                self.victim = None
            raise

    def end(self):
        victim, self.victim = self.victim or Victim(**self.options), None
        victim.quit()


def once(function, **options):
    """Calls function with a victim of its own, for options that the others do not have."""
    stage = Stage(**options)
    try:
        stage.around(function)
        stage.end()
    finally:
        if stage.victim:
            stage.victim.discard()


def perform(**options):
    """Runs the cases on a stage of their own, and what comes after them all."""
    require()
    stage = Stage(**options)

    @case("The library closes in order: no descriptor and no thread is left (IA-88)")
    def close(_):
        stage.end()

    run(lambda function: close(None) if function is close else stage.around(function))


def kick(peer):
    """The initiator's first FPDU, which lets a responder send (RFC 5044 7.1.2 rule 4)."""
    if not peer.reply.peer_to_peer:
        peer.write(0, 0, b"")


def establish(
    victim,
    role,
    frame=None,
    rtr=None,
    data=b"",
    accept_data=b"",
    ep=None,
    rcvbuf=0,
    maxseg=0,
    mulpdu=1460,
    **attributes
):
    """
    Connects the victim with a peer that initiates or responds; returns (endpoint, peer). frame is
    what the peer sends in set-up (as responder also a function of the request), data and
    accept_data are the private data of the two sides.
    """
    ep = ep or Endpoint(victim, **attributes)
    if role == "initiates":
        frame = frame or Startup(private_data=data)
        wire = Wire.connect(victim.address, victim.port(), rcvbuf=rcvbuf, maxseg=maxseg)

        def answer():
            request = victim.request()
            equal(request["event"], "DAT_CONNECTION_REQUEST_EVENT", "event")
            equal(
                bytes.fromhex(request["data"]),
                frame.private_data,
                "private data of the request (PD-5)",
            )
            equal(
                int(request["remote_port"]), wire.sock.getsockname()[1], "remote_port_qual (CR-4)"
            )
            victim.accept(request, ep, accept_data)

        peer = Peer.initiate(wire, frame, rtr=rtr, between=answer, mulpdu=mulpdu)
        peer.provider_frame = peer.reply
        equal(peer.reply.private_data, accept_data, "private data of the reply (PD-5)")
        kick(peer)
        connected(victim, ep, b"")
        return ep, peer
    listener = listen(victim.address, rcvbuf=rcvbuf, maxseg=maxseg)
    got = victim.ask(
        "connect",
        ep=ep.number,
        address=victim.address,
        data=data.hex(),
        qual=listener.getsockname()[1],
    )
    equal(got["result"], "DAT_SUCCESS", "dat_ep_connect")
    wire = accept(listener)
    peer = Peer.respond(wire, frame, mulpdu=mulpdu)
    peer.provider_frame = peer.request
    equal(peer.request.private_data, data, "private data of the request (PD-5)")
    listener.close()
    if peer.reply.peer_to_peer:
        peer.expect_rtr()
    connected(victim, ep, peer.reply.private_data)
    return ep, peer


def connected(victim, ep, data):
    event = victim.event()
    equal(event["event"], ESTABLISHED, "event (EV-6, EV-7)")
    equal(int(event["ep"]), ep.number, "EP of the event")
    equal(bytes.fromhex(event["data"]), data, "private data of the event (PD-5)")
    equal(ep.state(), "DAT_EP_STATE_CONNECTED", "state")
