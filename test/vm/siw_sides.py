# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""The two sides of siw-interop.py, their conversations, and what goes over the wire between them."""
import collections
import ctypes
import os
import random
import socket
import struct
import subprocess
import time

import driver
from driver import Endpoint, Region, Victim, pattern
from iwarp import crc32c
from tap import check, equal, note


def host(name, what):
    return os.environ["UDAPL_VM_SIW_%s_%s" % (name, what)]


class Soft(Victim):
    """The soft provider on host A, which has nothing but an address."""

    def __init__(self, family="ADDR", **environment):
        super().__init__(
            ia="soft-net",
            parameter=host("A", family),
            prefix="ip netns exec " + host("A", "NS"),
            alone=True,
            environment=environment,
        )

    def port(self):
        self.listening = self.listening or self.listen()
        return int(self.listening["conn_qual"])

    def quit(self):
        self.say("quit")
        while "closed" not in self.hello:
            self.hello.update(self.line(20))
        equal(self.process.wait(20), 0, "exit status")
        equal(self.hello.get("graceful", "DAT_SUCCESS"), "DAT_SUCCESS", "graceful dat_ia_close")
        equal(self.hello["end_fds"], self.hello["start_fds"], "descriptors after dat_ia_close")
        self.discard()


class Siw(Victim):
    """The program on the verbs device of host B."""

    def __init__(self, family="ADDR"):  # pylint: disable=super-init-not-called
        self.folder = driver.tempfile.TemporaryDirectory(prefix="siw-")
        self.errors = open(self.folder.name + "/stderr", "w+", encoding="utf-8")
        self.log = collections.deque(maxlen=60)
        self.buffer = b""
        self.process = subprocess.Popen(
            ["ip", "netns", "exec", host("B", "NS")]
            + [os.path.join(driver.build_dir(), "test/vm/siw-peer"), host("B", family)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
        )
        self.hello = {}
        while "ready" not in self.hello:
            self.hello.update(self.line(30))
            if "failed" in self.hello:
                raise driver.Died("siw-peer: %s" % self.hello)
        self.address = self.hello["address"]
        equal(self.hello["device"], host("B", "DEV"), "device of the address")
        self.opened = []
        self.listening = None

    def port(self):
        self.listening = self.listening or self.listen()
        return int(self.listening["conn_qual"])

    def quit(self):
        self.say("quit")
        while "closed" not in self.hello:
            self.hello.update(self.line(20))
        equal(self.hello["result"], "DAT_SUCCESS", "objects of the device destroyed")
        equal(self.process.wait(10), 0, "exit status")
        self.discard()


class Capture:
    """What goes over the wire of host A."""

    def __init__(self):
        libc = ctypes.CDLL(None, use_errno=True)
        with open("/proc/self/ns/net", "rb") as here, open(
            "/run/netns/" + host("A", "NS"), "rb"
        ) as there:
            check(libc.setns(there.fileno(), 0) == 0, "setns")
            self.sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
            self.sock.bind((host("A", "NETDEV"), 0))
            check(libc.setns(here.fileno(), 0) == 0, "setns back")
        self.sock.setblocking(False)
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 << 20)

    def segments(self):
        """The content of the TCP segments so far, each with (source port, sequence number)."""
        while True:
            try:
                frame = self.sock.recv(70000)
            except BlockingIOError:
                return
            if frame[12:14] == b"\x08\x00" and frame[23] == 6:
                start = 14 + (frame[14] & 15) * 4
                end = 14 + struct.unpack("!H", frame[16:18])[0]
            elif frame[12:14] == b"\x86\xdd" and frame[20] == 6:
                start = 54
                end = 54 + struct.unpack("!H", frame[18:20])[0]
            else:
                continue
            port, _, sequence = struct.unpack("!HHI", frame[start : start + 8])
            yield port, sequence, frame[start + (frame[start + 12] >> 4) * 4 : end]

    def startup(self):
        """The two frames of MPA set-up, and the first FPDU of each port."""
        frames, first, after = {}, {}, {}
        for port, sequence, data in self.segments():
            for key in (b"MPA ID Req Frame", b"MPA ID Rep Frame"):
                if data.startswith(key):
                    frames[key[7:10]] = MpaFrame(data)
                    after[port] = sequence + len(data)
            if data and sequence == after.get(port) and port not in first:
                first[port] = data
        return frames, first.values()


class MpaFrame:
    """A frame of MPA set-up: RFC 5044 section 7.1, RFC 6581 section 9."""

    def __init__(self, data):
        flags, self.rev, length = struct.unpack("!BBH", data[16:20])
        self.markers, self.crc, self.reject, self.enhanced = (
            bool(flags & bit) for bit in (0x80, 0x40, 0x20, 0x10)
        )
        self.data = data[20 : 20 + length]

    def __str__(self):
        words = ""
        if self.enhanced:
            words = ", words %04x %04x" % struct.unpack("!HH", self.data[:4])
        return "rev %d M %d C %d R %d S %d, %d octets%s" % (
            self.rev,
            self.markers,
            self.crc,
            self.reject,
            self.enhanced,
            len(self.data),
            words,
        )


def fpdu_crc(data):
    """The CRC of the FPDU that data starts with, and what it should be."""
    size = (2 + struct.unpack("!H", data[:2])[0] + 3) // 4 * 4
    if size + 4 > len(data):
        return None
    return struct.unpack("<I", data[size : size + 4])[0], crc32c(data[:size])


# ---- Conversations -------------------------------------------------------------------------------


def join(active, passive, data=b"hello", answer=b"welcome", first=0, silence=0, **options):
    """
    Connects; an endpoint of each side. The active one speaks first, after a silence
    (RFC 5044 7.1.2 rule 4), unless first is 1.
    """
    one, two = Endpoint(active, **options), Endpoint(passive, **options)
    port = passive.port()
    got = active.ask(
        "connect", ep=one.number, address=passive.address, qual=port, data=data.hex(), ms=10000
    )
    equal(got["result"], "DAT_SUCCESS", "connect")
    request = passive.request(10000)
    equal(request["event"], "DAT_CONNECTION_REQUEST_EVENT", "event of the passive side")
    equal(bytes.fromhex(request["data"]), data, "private data of the request")
    passive.accept(request, two, answer)
    established(active, one, answer)
    if first:
        established(passive, two, b"")
        sends(two, one, (8,))
        return one, two
    time.sleep(silence)
    source = Region(active, 8, "local")
    one.request("send", source)
    established(passive, two, b"")
    equal(two.received(), bytes([driver.CANARY] * 8), "first message")
    equal(one.done()["status"], driver.SUCCESS, "first message")
    return one, two


def established(side, ep, data):
    event = side.event(10000)
    equal(event["event"], driver.ESTABLISHED, "event")
    equal(int(event["ep"]), ep.number, "EP of the event")
    equal(bytes.fromhex(event["data"]), data, "private data of the event")


def sends(one, two, sizes=(0, 1, 3, 100, 1427, 1460, 5000)):
    for size in sizes:
        source = Region(one.victim, size + 1, "local")
        source.fill(size)
        one.request("send", source, 0, size)
        equal(two.received(), pattern(size, size), "message of %d octets" % size)
        equal(one.done()["status"], driver.SUCCESS, "send")


def writes_and_reads(one, two, size=60001):
    source, target = Region(one.victim, size), Region(two.victim, size)
    content = source.fill(1)
    for at, length in ((0, size), (1, 1), (7, 0)):
        one.request(
            "write",
            source,
            at,
            length,
            remote_address=target.address + at,
            rmr_context=target.stag,
        )
        one.request("send", source, 0, 1)
        two.received()
        for what in ("write of %d octets" % length, "send behind it"):
            equal(one.done()["status"], driver.SUCCESS, what)
        equal(target.bytes(), content, "memory after a write of %d octets" % length)
    content = target.fill(2)
    for at, length in ((0, size), (5, 1), (9, 0), (3, 4000)):
        before = bytearray(source.fill(3))
        before[at : at + length] = content[at : at + length]
        one.request(
            "read", source, at, length, remote_address=target.address + at, rmr_context=target.stag
        )
        event = one.done()
        equal(event["status"], driver.SUCCESS, "read of %d octets" % length)
        equal(source.bytes(), bytes(before), "memory after a read of %d octets" % length)
    for region in (source, target):
        region.unregister()


def many_reads(one, two, count=16, size=3000):
    """More reads at once than the depth that was agreed, with writes among them."""
    source, target = Region(one.victim, count * size), Region(two.victim, count * size)
    content = target.fill(4)
    for i in range(count):
        where = {"remote_address": target.address + i * size, "rmr_context": target.stag}
        one.request("read", source, i * size, size, **where)
    for i in range(count):
        equal(one.done()["status"], driver.SUCCESS, "read %d of %d at once" % (i, count))
    equal(source.bytes(), content, "memory after %d reads" % count)
    equal(target.bytes(), content, "memory read")


def at_once(one, two, rounds=40):
    """Both sides send and write without waiting for each other."""
    sides = []
    for ep, other in ((one, two), (two, one)):
        sides.append((ep, Region(ep.victim, 8192), Region(other.victim, 8192)))
    chosen = random.Random(7)
    for _ in range(rounds // 4):
        for ep, source, target in sides:
            source.fill(1)
            for _ in range(3):
                at, length = chosen.randrange(4096), chosen.randrange(1, 4096)
                remote = {"remote_address": target.address + at, "rmr_context": target.stag}
                ep.request(chosen.choice(("write", "read")), source, at, length, **remote)
            ep.request("send", source, 0, 5)
        for ep, source, _ in sides:
            finish_round(ep, 4)
    for _, source, target in sides:
        equal(source.bytes()[4096:4100], pattern(8192, 1)[4096:4100], "content")


def finish_round(ep, requests):
    """
    A message comes, and the requests complete; soft's in the order of posting, while soft-iWARP
    completes a write before the read that was posted ahead of it.
    """
    message = False
    while requests or not message:
        event = ep.victim.event()
        equal(event["event"], driver.DTO, "event")
        if event["op"] == "DAT_DTO_RECEIVE":
            equal(len(ep.message(event)), 5, "message")
            message = True
        else:
            equal(event["status"], driver.SUCCESS, event["op"])
            if isinstance(ep.victim, Soft):
                equal(int(event["cookie"]), ep.requests[0], "request in posting order")
            ep.requests.remove(int(event["cookie"]))
            requests -= 1


def part(first, second):
    """The first disconnects, both see it, everything outstanding is flushed."""
    equal(first.victim.ask("disconnect", ep=first.number)["result"], "DAT_SUCCESS", "disconnect")
    first.ended((driver.DISCONNECTED,))
    second.ended((driver.DISCONNECTED,))


def whole(active, passive, leaver=0, **options):
    pair = join(active, passive, size=5000, recvs=6, **options)
    for one, two in (pair, pair[::-1]):
        sends(one, two)
        writes_and_reads(one, two)
        many_reads(one, two)
    at_once(*pair)
    part(pair[leaver], pair[1 - leaver])


def meet(function, family="ADDR", **environment):
    """Calls function with both sides and ends them in order."""
    together([lambda: Soft(family, **environment), lambda: Siw(family)], function)


def together(makers, function):
    sides = []
    try:
        for make in makers:
            sides.append(make())
        function(*sides)
        for side in sides:
            if not side.errors.closed:
                side.clean()
                side.quit()
    except Exception:
        for side in sides:
            if not side.errors.closed:
                note("%s:", type(side).__name__)
                side.complain()
        raise
    finally:
        for side in sides:
            if not side.errors.closed:
                side.discard()


def captured(function, crc, **environment):
    """As meet, with a look at the set-up and at the first FPDUs: is there a CRC?"""
    capture = Capture()
    try:
        meet(function, **environment)
        frames, first = capture.startup()
    finally:
        capture.sock.close()
    for name in (b"Req", b"Rep"):
        note("%s: %s", name.decode(), frames.get(name, "not seen"))
    equal(frames[b"Req"].crc or frames[b"Rep"].crc, crc, "CRC asked for by one side")
    sums = [s for s in map(fpdu_crc, first) if s]
    check(sums, "no FPDU seen")
    for got, right in sums:
        if crc:
            equal(got, right, "CRC of the first FPDU")
        else:
            check(got != right, "an FPDU with CRC that nobody asked for")
    return frames
