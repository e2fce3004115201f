#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""
The soft provider on one host talks iWARP with the kernel's soft-iWARP on the other: with a program
that obeys the same commands (siw-peer.c), and with rping. Runs in the guest.
"""
import collections
import ctypes
import os
import random
import socket
import struct
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../interop"))

import driver  # noqa: E402
from driver import Endpoint, Region, Victim, pattern  # noqa: E402
from iwarp import crc32c  # noqa: E402
from tap import case, check, equal, note, one_of, run  # noqa: E402

ENDS = (driver.DISCONNECTED, driver.BROKEN)


def host(name, what):
    return os.environ["UDAPL_VM_SIW_%s_%s" % (name, what)]


# ---- The two sides -------------------------------------------------------------------------------


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


# ---- The cases -----------------------------------------------------------------------------------


def connection_cases():
    for family, name in (("ADDR", "IPv4"), ("ADDR6", "IPv6")):
        case("soft connects, conversation, soft disconnects, " + name)(
            lambda family=family: meet(lambda soft, siw: whole(soft, siw), family)
        )
        case("siw connects, conversation, siw disconnects, " + name)(
            lambda family=family: meet(lambda soft, siw: whole(siw, soft), family)
        )
    case("soft connects, conversation, siw disconnects")(
        lambda: meet(lambda soft, siw: whole(soft, siw, 1))
    )
    case("siw connects, conversation, soft disconnects")(
        lambda: meet(lambda soft, siw: whole(siw, soft, 1))
    )
    for crc in (1, 0):
        text = "with CRC" if crc else "without CRC"
        case("soft connects, conversation %s" % text)(
            lambda crc=crc: captured(
                lambda soft, siw: whole(soft, siw), bool(crc), DAPL_SOFT_CRC=str(crc)
            )
        )
    case("siw connects, soft asks for CRC: conversation")(
        lambda: captured(lambda soft, siw: whole(siw, soft), True)
    )
    case("siw connects, soft does not ask for CRC: conversation")(
        lambda: captured(lambda soft, siw: whole(siw, soft), False, DAPL_SOFT_CRC="0")
    )


@case("soft connects with MPA revision 1: conversation")
def revision_1():
    frames = captured(lambda soft, siw: whole(soft, siw), True, DAPL_SOFT_MPA_REVISION="1")
    equal(frames[b"Req"].rev, 1, "revision of the request")


@case("soft's FPDUs are small, or larger than siw's: conversation")
def fpdu_sizes():
    for size in (128, 1000, 8000):
        meet(lambda soft, siw: whole(soft, siw), DAPL_SOFT_FPDU=str(size))


@case("Depths of reads from 1 to 8 on either side: conversation")
def depths():
    def converse(soft, siw):
        for depth in (1, 2, 8):
            for active, passive in ((soft, siw), (siw, soft)):
                one, two = join(active, passive, reads_in=depth, reads_out=depth)
                many_reads(one, two)
                many_reads(two, one)
                part(one, two)

    meet(converse)


@case("Private data from none to the most that MPA carries, both ways")
def private_data():
    def converse(soft, siw):
        for size in (0, 1, 64, 200):
            data, answer = pattern(size, 1), pattern(size, 2)
            part(*join(soft, siw, data, answer))
            part(*join(siw, soft, data, answer))

    meet(converse)


def refused(active, passive, data):
    ep = Endpoint(active)
    active.ask(
        "connect", ep=ep.number, address=passive.address, qual=passive.port(), data=b"may I".hex()
    )
    request = passive.request(10000)
    equal(bytes.fromhex(request["data"]), b"may I", "private data of the request")
    got = passive.ask("reject", request=request["request"], data=data.hex())
    equal(got["result"], "DAT_SUCCESS", "reject")
    event = refusal(active)
    equal(event["event"], driver.PEER_REJECTED, "event")
    equal(bytes.fromhex(event["data"]), data, "private data of the rejection")
    active.free(ep)


def refusal(active):
    """The end of an attempt to connect; what was posted is flushed around it."""
    event = active.event(10000)
    while event["event"] == driver.DTO:
        equal(event["status"], "DAT_DTO_ERR_FLUSHED", "status of a receive")
        event = active.event(10000)
    return event


@case("A rejection with private data, both ways")
def rejection():
    def converse(soft, siw):
        for data in (b"", b"no room"):
            refused(soft, siw, data)
            refused(siw, soft, data)
        whole(soft, siw)

    meet(converse)


@case("No listener, both ways")
def no_listener():
    def converse(soft, siw):
        for active, passive, allowed in (
            (soft, siw, (driver.NON_PEER_REJECTED,)),
            (siw, soft, ("ECONNREFUSED",)),
        ):
            ep = Endpoint(active)
            got = active.ask("connect", ep=ep.number, address=passive.address, qual=9, ms=5000)
            # soft-iWARP connects before it returns.
            event = {"event": got["result"]}
            if got["result"] == "DAT_SUCCESS":
                event = refusal(active)
            note("%s: %s", type(active).__name__, event["event"])
            one_of(event["event"], allowed, "event")
            active.free(ep)

    meet(converse)


REFUSED = (
    "DAT_DTO_ERR_REMOTE_ACCESS",
    "DAT_DTO_ERR_REMOTE_RESPONDER",
    "DAT_DTO_ERR_TRANSPORT",
    driver.FLUSHED,
)


def forbidden(what, one, two, rights="all", past=0, stag=0):
    """A request that the other side must refuse: both connections end, nothing is placed."""
    source, target = Region(one.victim, 4096), Region(two.victim, 4096, rights)
    one.request(
        what,
        source,
        remote_address=target.address + past,
        rmr_context=target.stag ^ stag,
    )
    # A write is complete when it is sent, a read is not without its data.
    allowed = REFUSED + ((driver.SUCCESS,) if what == "write" else ())
    ends = [one.ended(ENDS, requests=[allowed])["event"], two.ended(ENDS)["event"]]
    target.untouched()
    source.untouched()
    return ends


@case("Access without the right, with a wrong tag, past the end: refused, both ways")
def protection():
    def converse(soft, siw):
        for what, options in (
            ("write", {"rights": "read"}),
            ("read", {"rights": "write"}),
            ("write", {"past": 1}),
            ("read", {"past": 1}),
            ("write", {"stag": 0x5500}),
            ("read", {"stag": 0x5500}),
        ):
            for active, passive in ((soft, siw), (siw, soft)):
                if passive is siw and what == "read" and "rights" in options:
                    # soft-iWARP lets itself be read without the right.
                    continue
                got = forbidden(what, *join(active, passive), **options)
                note("%s by %s %s: %s, other side %s", what, type(active).__name__, options, *got)
                soft.errors.seek(0)
                note("soft says: %s", soft.errors.read().rpartition(" - ")[2].strip())

    meet(converse)


@case("A message longer than the receive: an error on the receiver, both ways")
def too_long():
    def converse(soft, siw):
        for active, passive in ((soft, siw), (siw, soft)):
            one, two = join(active, passive, size=64)
            source = Region(active, 100, "local")
            one.request("send", source)
            end = two.ended(ENDS, first=("DAT_DTO_ERR_LOCAL_LENGTH",) + REFUSED)
            other = one.ended(ENDS, requests=[(driver.SUCCESS,) + REFUSED])
            note("%s: %s, other side %s", type(passive).__name__, end["event"], other["event"])

    meet(converse)


@case("The other process is killed: the connection ends, either side")
def killed():
    def die(survivor, other):
        one, _ = join(survivor, other)
        other.process.kill()
        other.process.wait()
        note("%s: %s", type(survivor).__name__, one.ended(ENDS)["event"])
        other.discard()
        survivor.clean()
        survivor.quit()

    for order in ((Soft, Siw), (Siw, Soft)):
        together(order, die)


@case("soft connects, siw speaks first")
def responder_first():
    def converse(soft, siw):
        one, two = join(soft, siw, first=1)
        sends(two, one, (100,))
        part(one, two)

    meet(converse)


@case("siw connects, then says nothing for twelve seconds: the connection is good")
def silent_initiator():
    def converse(soft, siw):
        one, two = join(siw, soft, silence=12)
        sends(one, two, (100,))
        sends(two, one, (100,))
        part(one, two)

    meet(converse)


@case("A megabyte written and read, both ways")
def large():
    def converse(soft, siw):
        pair = join(soft, siw)
        for one, two in (pair, pair[::-1]):
            size = 1 << 20
            source, target = Region(one.victim, size), Region(two.victim, size)
            content = source.fill(1)
            remote = {"remote_address": target.address, "rmr_context": target.stag}
            one.request("write", source, **remote)
            one.request("send", source, 0, 1)
            two.received(20000)
            equal(target.bytes(), content, "memory written")
            for _ in range(2):
                equal(one.done()["status"], driver.SUCCESS, "write and send")
            source.fill(2)
            one.request("read", source, **remote)
            equal(one.done(20000)["status"], driver.SUCCESS, "read")
            equal(source.bytes(), content, "memory read")
        part(*pair)

    meet(converse)


@case("Packets lost, late and out of order, small ones: conversations")
def bad_network():
    for mtu in (1280, 1500):
        for name in ("A", "B"):
            link = ["dev", host(name, "NETDEV")]
            inside = ["ip", "netns", "exec", host(name, "NS")]
            subprocess.run(inside + ["ip", "link", "set", "mtu", str(mtu)] + link, check=True)
            subprocess.run(
                inside
                + ["tc", "qdisc", "replace"]
                + link
                + "root netem delay 2ms 1ms reorder 20% 50% loss 0.3% duplicate 1%".split(),
                check=True,
            )
        meet(lambda soft, siw: whole(soft, siw))
        meet(lambda soft, siw: whole(siw, soft))
    for name in ("A", "B"):
        subprocess.run(
            ["ip", "netns", "exec", host(name, "NS"), "tc", "qdisc", "del"]
            + ["root", "dev", host(name, "NETDEV")],
            check=True,
        )


@case("Twenty connections at once")
def side_by_side():
    def converse(soft, siw):
        pairs = []
        for i in range(20):
            pairs.append(join(*((soft, siw) if i % 2 else (siw, soft)), recvs=2, size=3000))
        for one, two in pairs:
            sends(one, two, (0, 3000))
            sends(two, one, (3000,))
        for one, two in pairs:
            one.victim.ask("disconnect", ep=one.number)
            # Events of one connection only, as each is parted before the next.
            one.ended((driver.DISCONNECTED,))
            two.ended((driver.DISCONNECTED,))

    meet(converse)


@case("Twenty-four connections one after the other, by turns")
def in_turn():
    def converse(soft, siw):
        start = time.monotonic()
        for i in range(24):
            active, passive = (soft, siw) if i % 2 else (siw, soft)
            one, two = join(active, passive, recvs=2)
            part(*((one, two) if i % 4 < 2 else (two, one)))
            active.free(one)
            passive.free(two)
        note("%.0f ms each", (time.monotonic() - start) * 1000 / 24)

    meet(converse)


# ---- rping ---------------------------------------------------------------------------------------

PING = 64
ROUNDS = 5


def advert(region):
    """What an rping tells its peer of memory: address, key and size."""
    return struct.pack("!QII", region.address, region.stag, PING)


def rping(*arguments):
    return subprocess.Popen(
        ["ip", "netns", "exec", host("B", "NS"), "rping", "-C", str(ROUNDS), "-S", str(PING)]
        + ["-v", "-V"]
        + list(arguments),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def next_message(ep):
    """The next message, and on the way the completions of sends."""
    event = ep.victim.event(10000)
    while event["event"] == driver.DTO and event["op"] != "DAT_DTO_RECEIVE":
        equal((event["op"], event["status"]), ("DAT_DTO_SEND", driver.SUCCESS), "completion")
        equal(int(event["cookie"]), ep.requests.popleft(), "request in posting order")
        event = ep.victim.event(10000)
    return ep.message(event)


def send_text(ep, memory, data):
    ep.victim.ask("set", region=memory.number, offset=0, bytes=data.hex())
    ep.request("send", memory, 0, len(data))


@case("rping as client: soft reads what it pings and writes it back")
def rping_client():
    def serve(soft):
        ep, memory, page = Endpoint(soft, 2, 16), Region(soft, 16, "local"), Region(soft, PING)
        client = rping("-c", "-a", soft.address, "-p", str(soft.port()))
        try:
            soft.accept(soft.request(15000), ep)
            established(soft, ep, b"")
            for what in ("read", "write") * ROUNDS:
                address, key, size = struct.unpack("!QII", next_message(ep))
                equal(size, PING, "size of the ping")
                ep.request(what, page, remote_address=address, rmr_context=key)
                while ep.requests:
                    equal(ep.done()["status"], driver.SUCCESS, what)
                check(page.bytes().startswith(b"rdma-ping-"), "text of the ping")
                send_text(ep, memory, bytes(16))
            ep.ended((driver.DISCONNECTED,), requests=[(driver.SUCCESS,)])
            text, _ = client.communicate(timeout=20)
            equal(client.returncode, 0, "exit code of rping")
            equal(text.count("ping data: rdma-ping-"), ROUNDS, "pings that came back")
        finally:
            if client.poll() is None:
                client.kill()
            note("%s", client.communicate()[0] or "rping is done")

    together([Soft], serve)


@case("rping as server: it reads what soft pings and writes it back")
def rping_server():
    def ping(soft):
        server = rping("-s", "-a", host("B", "ADDR"), "-p", "7174")
        try:
            ep = connect_patiently(soft, host("B", "ADDR"), 7174)
            memory = Region(soft, 16, "local")
            start, sink = Region(soft, PING), Region(soft, PING)
            for i in range(ROUNDS):
                data = (b"rdma-ping-%d: " % i).ljust(PING - 1, b"x") + b"\0"
                soft.ask("set", region=start.number, offset=0, bytes=data.hex())
                for region in (start, sink):
                    send_text(ep, memory, advert(region))
                    next_message(ep)
                equal(sink.bytes(), data, "ping that came back")
            soft.ask("disconnect", ep=ep.number)
            ep.ended((driver.DISCONNECTED,), requests=[(driver.SUCCESS,)])
            server.wait(20)
        finally:
            if server.poll() is None:
                server.kill()
            note("%s", server.communicate()[0])

    together([Soft], ping)


def connect_patiently(soft, address, port):
    """rping does not say when it listens: until it does, there is nobody."""
    end = time.monotonic() + 20
    while True:
        ep = Endpoint(soft, 2, 16)
        soft.ask("connect", ep=ep.number, address=address, qual=port, ms=10000)
        event = refusal(soft)
        if event["event"] == driver.ESTABLISHED or time.monotonic() > end:
            equal(event["event"], driver.ESTABLISHED, "event")
            return ep
        soft.free(ep)


driver.require()
connection_cases()
run()
