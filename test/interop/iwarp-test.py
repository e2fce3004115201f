#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""The Python peer of this folder against the RFCs' examples and against itself."""
import os
import random
import socket
import sys
import threading

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import iwarp  # noqa: E402
from iwarp import Peer, Segment, Startup, Terminate, Wire  # noqa: E402
from tap import case, check, equal, run  # noqa: E402


def refused(text, function, *arguments, **named):
    """function has to raise ProtocolError with text in it."""
    try:
        function(*arguments, **named)
    except iwarp.ProtocolError as err:
        check(text in str(err), "%s lacks %s", err, text)
        return
    check(False, "%s was accepted", text)


def pair():
    listener = iwarp.listen()
    active = Wire.connect(*listener.getsockname())
    passive = iwarp.accept(listener)
    listener.close()
    return active, passive


def connected(request=None, reply=None, rtr=None, **options):
    """Two peers that went through connection set-up with each other."""
    active, passive = pair()
    ends = []
    other = threading.Thread(target=lambda: ends.append(Peer.respond(passive, reply, **options)))
    other.start()
    first = Peer.initiate(active, request, rtr=rtr, **options)
    other.join(10)
    return first, ends[0]


def in_thread(function):
    thread = threading.Thread(target=function)
    thread.start()
    return thread


def noise(size, seed=1):
    return random.Random(seed).randbytes(size)


@case("CRC-32C: RFC 3720 B.4, RFC 5044 figures 5 and 6")
def vectors():
    equal(iwarp.crc_octets(bytes(32)).hex(), "aa36918a", "zeroes")
    equal(iwarp.crc_octets(b"\xff" * 32).hex(), "43aba862", "ones")
    equal(iwarp.crc_octets(bytes(range(32))).hex(), "4e79dd46", "rising")
    equal(iwarp.crc_octets(bytes(range(31, -1, -1))).hex(), "5cdb3f11", "falling")


@case("FPDU with markers: RFC 5044 figures 5 and 6, octet by octet")
def figures():
    sender = iwarp.FpduSender(markers=True)
    first = Segment(iwarp.SEND, bytes(24), msn=1).pack()
    want = "00000000002a4143" + "00000000" * 2 + "00000001" + "00000000" + "00" * 24 + "52239983"
    equal(sender.encode(first).hex(), want, "figure 5")
    sender.position = 492
    second = Segment(iwarp.SEND, bytes(24), msn=2).pack()
    want = (
        "002a4143" + "00000000" * 2 + "00000002" + "00000000" + "00000014" + "00" * 24 + "84925898"
    )
    equal(sender.encode(second).hex(), want, "figure 6")


@case("Request and Reply Frames: RFC 5044 7.1.1, RFC 6581 6 and 9")
def frames():
    raw = Startup(
        private_data=b"ab", ird=3, ord=5, peer_to_peer=True, rtr=(iwarp.RTR_SEND, iwarp.RTR_READ)
    ).pack()
    equal(raw.hex(), b"MPA ID Req Frame".hex() + "50020006" + "c0034005" + "6162", "revision 2")
    raw = Startup(request=False, rev=1, crc=False, reject=True, markers=True).pack()
    equal(raw.hex(), b"MPA ID Rep Frame".hex() + "a0010000", "revision 1")
    for frame in (
        Startup(rev=1, private_data=noise(512)),
        Startup(private_data=noise(508)),
        Startup(enhanced=False),
        Startup(peer_to_peer=True, rtr=(iwarp.RTR_WRITE,)),
    ):
        active, passive = pair()
        active.send(frame.pack())
        got = Startup.receive(passive, True)
        if frame.rev == 1:
            frame.enhanced = False
        if not frame.enhanced:
            got.ird, got.ord = frame.ird, frame.ord
        equal(got, frame, "what arrived")


@case("Request and Reply Frames: what has to be refused is")
def bad_frames():
    good = bytearray(Startup(rev=1).pack())
    for text, at, value in (
        ("key", 3, 0x21),
        ("reserved", 16, 0x44),
        ("R set", 16, 0x60),
        ("PD_Length", 18, 3),
    ):
        active, passive = pair()
        bad = bytearray(good)
        bad[at] = value
        active.send(bad)
        refused(text, Startup.receive, passive, True)
    active, passive = pair()
    active.send(Startup(request=False).pack())
    refused("key", Startup.receive, passive, True)


@case("Terminate: RFC 5040 4.8, every combination of header bits")
def terminates():
    for length, ddp, rdma in (
        (None, b"", b""),
        (40, b"\x81" + bytes(13), b""),
        (46, b"\x41" + bytes(17), noise(28)),
        (9, b"", b""),
    ):
        term = Terminate(1, 2, 5, length, ddp, rdma)
        equal(Terminate.unpack(term.pack()), term, "what arrived")
    equal(
        Terminate(1, 1, 0, 22, b"\xc1\x40" + bytes(12)).pack()[:6].hex(), "1100c0000016", "octets"
    )
    refused(
        "ends within", Terminate.unpack, Terminate(0, 1, 0, 46, b"\x41" + bytes(17)).pack()[:20]
    )
    refused("reserved", Terminate.unpack, bytes.fromhex("00000100"))


def talk(**options):
    one, two = connected(**options)
    for size in (0, 1, 2, 3, 4, 17, 1000, 70000):
        one.send(noise(size, size))
        equal(two.recv().data, noise(size, size), "message of %d" % size)
        two.send(noise(size, size + 1), iwarp.SEND_SE)
        got = one.recv()
        equal((got.data, got.opcode), (noise(size, size + 1), iwarp.SEND_SE), "answer of %d" % size)
    stag = two.register(70000)
    base = two.regions[stag].base
    one.write(stag, base + 5, noise(60001))
    one.send(b"written")
    two.recv()
    equal(bytes(two.regions[stag].data[5:60006]), noise(60001), "written bytes")
    server = in_thread(lambda: two.pump(lambda: two.inbox))
    equal(one.read(stag, base + 7, 50000), noise(60001)[2:50002], "read bytes")
    equal(one.read(stag, base, 0), b"", "empty read")
    one.send(b"end")
    server.join(10)


@case("Two peers talk: sends, writes and reads, with CRC")
def with_crc():
    talk()


@case("Two peers talk: without CRC, revision 1")
def without_crc():
    talk(request=Startup(rev=1, crc=False), reply=Startup(False, rev=1, crc=False, enhanced=False))


@case("Two peers talk: markers both ways, small FPDUs")
def with_markers():
    talk(request=Startup(markers=True), reply=Startup(False, markers=True), mulpdu=128)
    talk(request=Startup(markers=True), reply=Startup(False, markers=True), mulpdu=16000)


@case("RTR messages of all three kinds: RFC 6581 9.2")
def rtr():
    for kind in (iwarp.RTR_SEND, iwarp.RTR_WRITE, iwarp.RTR_READ):
        frame = Startup(peer_to_peer=True, rtr=(iwarp.RTR_SEND, iwarp.RTR_WRITE, iwarp.RTR_READ))
        active, passive = pair()
        got = []

        def respond():
            peer = Peer.respond(passive)
            got.append(peer.expect_rtr())
            got.append(peer)

        thread = in_thread(respond)
        one = Peer.initiate(active, frame, rtr=(kind,))
        thread.join(10)
        equal(got[0], kind, "kind of RTR")
        one.send(b"first")
        equal(got[1].recv().data, b"first", "message after the RTR")


def wrong(text, prepare=lambda peer: None, **fields):
    """A segment with these fields has to be refused by the peer."""
    one, two = connected()
    prepare(two)
    seg = Segment(iwarp.SEND, b"data", msn=1)
    for name, value in fields.items():
        setattr(seg, name, value)
    one.fpdu(seg)
    refused(text, two.handle)


@case("Segments: what RFC 5041 and RFC 5040 forbid is refused")
def bad_segments():
    wrong("DDP version", dv=2)
    wrong("reserved", reserved=1)
    wrong("RDMAP version", rv=0)
    wrong("opcode", opcode=12)
    wrong("QN 0", opcode=iwarp.ATOMIC_REQUEST)
    wrong("QN 1", opcode=iwarp.ATOMIC_RESPONSE, qn=1)
    wrong("QN 3", opcode=iwarp.IMMEDIATE, qn=3)
    wrong("T 1", opcode=iwarp.IMMEDIATE, tagged=True)
    wrong("immediate data of", opcode=iwarp.IMMEDIATE)
    wrong("an Atomic Request of", opcode=iwarp.ATOMIC_REQUEST, qn=1)
    wrong("an Atomic Response of", opcode=iwarp.ATOMIC_RESPONSE, qn=3)
    wrong("was not asked for", opcode=iwarp.ATOMIC_RESPONSE, qn=3, payload=bytes(12))
    wrong("T 1", tagged=True)
    wrong("T 0", opcode=iwarp.WRITE)
    wrong("QN 1", qn=1)
    wrong("MSN", msn=2)
    wrong("MSN", mo=4)
    wrong("Invalidate", inv_stag=7)
    wrong("unknown STag", opcode=iwarp.WRITE, tagged=True, stag=5)
    wrong(
        "without a request",
        lambda p: p.register(8),
        opcode=iwarp.READ_RESPONSE,
        tagged=True,
        stag=0x51A60,
        to=0x7F0000001000 + 0x51A60,
    )
    wrong(
        "out of the buffer",
        lambda p: p.register(8),
        opcode=iwarp.WRITE,
        tagged=True,
        stag=0x51A60,
        to=0x7F0000001000 + 0x51A60 + 5,
    )
    wrong("a Read Request of", opcode=iwarp.READ_REQUEST, qn=1)
    wrong("a ULPDU of", header=lambda: b"", payload=b"x")
    wrong("a header of", header=lambda: b"\x41\x43", payload=b"x")


@case("Atomics and immediate data between two of these peers (RFC 7306)")
def extensions():
    one, two = connected()
    stag = two.register(32, base=0x1000)
    two.regions[stag].data[8:16] = (1000).to_bytes(8, "little")
    for code, rest, left in (
        (iwarp.FETCH_ADD, (5,), 1005),
        (iwarp.CMP_SWAP, (7, iwarp.ALL_ONES, 1005, iwarp.ALL_ONES), 7),
        (iwarp.CMP_SWAP, (9, iwarp.ALL_ONES, 1005, iwarp.ALL_ONES), 7),
        (iwarp.FETCH_ADD, (0xFF, 0x80), 6),
    ):
        before = int.from_bytes(two.regions[stag].data[8:16], "little")
        one.atomic_post(iwarp.Atomic(code, 0x1234, stag, 0x1008, *rest))
        two.handle()
        one.handle()
        equal(one.values.pop(), before, "what was there")
        equal(int.from_bytes(two.regions[stag].data[8:16], "little"), left, "what is left")
    one.immediate(b"8 octets", True)
    two.handle()
    message = two.inbox.popleft()
    equal((message.opcode, message.data), (iwarp.IMMEDIATE_SE, b"8 octets"), "immediate data")


@case("FPDUs: a wrong CRC or pad is refused, a cut one is told from an orderly end")
def bad_fpdus():
    one, two = connected()
    one.fpdu(Segment(iwarp.SEND, b"data", msn=1), crc_error=1)
    refused("CRC", two.handle)
    one, two = connected()
    raw = bytearray(one.out.encode(Segment(iwarp.SEND, b"data!", msn=1).pack()))
    raw[-5] = 1
    one.wire.send(raw)
    refused("pad", two.handle)
    for cut in (0, 1, 5, 25):
        one, two = connected()
        one.wire.send(one.out.encode(Segment(iwarp.SEND, b"data", msn=1).pack())[:cut])
        one.wire.close()
        equal(two.until_end(), (None, "fin", cut), "end of the stream")
    one, two = connected()
    one.wire.reset()
    equal(two.until_end()[1], "rst", "end of the stream")


@case("Messages behind a Terminate are refused, the stream's end is reported with it")
def after_terminate():
    one, two = connected()
    one.terminate(Terminate(0, 1, 2))
    one.wire.shutdown()
    term, how, cut = two.until_end()
    equal((term.cause, how, cut), ((0, 1, 2), "fin", 0), "the end")
    one, two = connected()
    one.terminate(Terminate(0, 1, 2))
    one.send(b"more")
    refused("behind the Terminate", two.until_end)


@case("Deadlines: a silent wire ends the wait in time")
def deadlines():
    active, passive = pair()
    for function in (
        lambda: Startup.receive(passive, True, 0.2),
        lambda: active.recv_exact(1, 0.2),
    ):
        try:
            function()
            check(False, "no deadline")
        except iwarp.Deadline:
            pass
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen()
    try:
        iwarp.accept(listener, 0.2)
        check(False, "no deadline")
    except iwarp.Deadline:
        pass


run()
