#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""The soft provider talks with an independent iWARP peer: every byte both ways is compared."""
import os
import random
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import driver  # noqa: E402
import iwarp  # noqa: E402
from driver import Endpoint, Region, establish  # noqa: E402
from iwarp import Peer, Startup, Wire  # noqa: E402
from tap import Skip, case, check, equal, note  # noqa: E402

SIZES = (0, 1, 2, 3, 4, 5, 100, 1427, 1442, 1460, 5000)
ROLES = ("initiates", "responds")
ALL_RTR = (iwarp.RTR_SEND, iwarp.RTR_WRITE, iwarp.RTR_READ)


def noise(size, seed=1):
    return random.Random(seed * 1000003 + size).randbytes(size)


# ---- What every good conversation contains -------------------------------------------------------


def peer_sends(ep, peer, sizes=SIZES):
    for size in sizes:
        peer.send(noise(size))
        equal(ep.received(), noise(size), "message of %d octets to the provider" % size)


def provider_sends(ep, peer, sizes=SIZES):
    source = Region(ep.victim, max(sizes) + 1, "local")
    content = source.fill(9)
    for size in sizes:
        ep.request("send", source, 0, size)
        got = peer.recv()
        equal(got.data, content[:size], "message of %d octets from the provider" % size)
        equal(ep.done()["status"], driver.SUCCESS, "send of %d octets" % size)
    ep.request("send", source, 0, 1, flags=2)
    equal(peer.recv().opcode, iwarp.SEND_SE, "solicited Send (DTO-24)")
    equal(ep.done()["status"], driver.SUCCESS, "solicited send")


def peer_writes(ep, peer, size=9000):
    target = Region(ep.victim, size)
    content = bytearray(target.fill(3))
    for at, length in ((0, 1), (5, 1446), (2000, 4321), (size - 7, 7), (100, 0)):
        data = noise(length, at)
        peer.write(target.stag, target.address + at, data)
        content[at : at + length] = data
    peer.send(b"written")
    equal(ep.received(), b"written", "Send behind the writes")
    equal(target.bytes(), bytes(content), "written memory, visible at the Send (DTO-66)")
    return target, bytes(content)


def peer_reads(peer, region, content):
    for at, length in ((0, len(content)), (1, 1), (77, 3000), (len(content), 0)):
        got = peer.read(region.stag, region.address + at, length)
        equal(got, content[at : at + length], "read of %d octets at %d" % (length, at))


def provider_writes(ep, peer, size=9000):
    source = Region(ep.victim, size, "local")
    content = source.fill(5)
    stag = peer.register(size + 10)
    there = peer.regions[stag]
    for at, length in ((0, size), (3, 1), (10, 0), (11, 4000)):
        there.data[:] = bytes(len(there.data))
        ep.request("write", source, at, length, remote_address=there.base + 5, rmr_context=stag)
        ep.request("send", source, 0, 4)
        equal(peer.recv().data, content[:4], "Send behind the write")
        equal(
            bytes(there.data),
            bytes(5) + content[at : at + length] + bytes(size + 5 - length),
            "memory written by the provider (DTO-45, DTO-66)",
        )
        equal(ep.done()["status"], driver.SUCCESS, "write of %d octets" % length)
        equal(ep.done()["status"], driver.SUCCESS, "send behind it")


def serve_reads(peer, count):
    """Answers Read Requests until count of them were seen."""
    goal = peer.seen[iwarp.READ_REQUEST] + count
    peer.pump(lambda: peer.seen[iwarp.READ_REQUEST] >= goal)


def provider_reads(ep, peer, size=9000):
    sink = Region(ep.victim, size, "local")
    stag = peer.register(0, data=noise(size + 10))
    there = peer.regions[stag]
    for at, length in ((0, size), (3, 1), (11, 4000), (0, 0)):
        before = bytearray(sink.fill(at))
        before[at : at + length] = there.data[at + 2 : at + 2 + length]
        ep.request("read", sink, at, length, remote_address=there.base + at + 2, rmr_context=stag)
        if length:
            serve_reads(peer, 1)
        else:
            serve_empty_read(ep, peer)
        event = ep.done()
        equal(
            (event["op"], event["status"], int(event["length"])),
            ("DAT_DTO_RDMA_READ", driver.SUCCESS, length),
            "read of %d octets" % length,
        )
        equal(sink.bytes(), bytes(before), "memory read by the provider (DTO-48)")


def serve_empty_read(ep, peer):
    """A read of nothing need not go over the wire (DTO-56)."""
    end = time.monotonic() + 10
    while time.monotonic() < end and ep.victim.ask("state", ep=ep.number)["request_idle"] != "1":
        if peer.wire.readable(0.02):
            peer.handle()


def conversation(ep, peer):
    peer_sends(ep, peer)
    provider_sends(ep, peer)
    target, content = peer_writes(ep, peer)
    peer_reads(peer, target, content)
    provider_writes(ep, peer)
    provider_reads(ep, peer)


def part(ep, peer, role):
    """
    The side that did not connect ends the conversation; the other sees an orderly end (EP-98).
    """
    if role == "initiates":
        equal(
            ep.victim.ask("disconnect", ep=ep.number)["result"], "DAT_SUCCESS", "dat_ep_disconnect"
        )
        equal(peer.until_end(), (None, "fin", 0), "end of the stream (EP-98)")
        peer.wire.close()
    else:
        # With something unread that would be a reset: a slow peer has been told again that the provider is ready.
        while peer.wire.readable():
            peer.handle()
        peer.wire.close()
    ep.ended((driver.DISCONNECTED,))


def whole(victim, role, frame=None, **options):
    ep, peer = establish(victim, role, frame, size=6000, recvs=6, **options)
    conversation(ep, peer)
    part(ep, peer, role)
    return peer


# ---- Every way to set a connection up ------------------------------------------------------------


def both(title):
    """A case for the peer as initiator and one for it as responder."""

    def mark(function):
        for role in ROLES:
            case("%s, peer %s" % (title, role))(lambda victim, role=role: function(victim, role))
        return function

    return mark


@both("Conversation, MPA revision 2 with CRC: RFC 6581, RFC 5044 4.4")
def revision_2(victim, role):
    peer = whole(victim, role)
    check(peer.inward.crc, "CRC is on")
    note(
        "request rev %d S %d A %d ird %d ord %d rtr %s C %d M %d",
        peer.request.rev,
        peer.request.enhanced,
        peer.request.peer_to_peer,
        peer.request.ird,
        peer.request.ord,
        "+".join(peer.request.rtr) or "none",
        peer.request.crc,
        peer.request.markers,
    )
    note(
        "reply rev %d S %d A %d ird %d ord %d rtr %s C %d M %d",
        peer.reply.rev,
        peer.reply.enhanced,
        peer.reply.peer_to_peer,
        peer.reply.ird,
        peer.reply.ord,
        "+".join(peer.reply.rtr) or "none",
        peer.reply.crc,
        peer.reply.markers,
    )


@case("Conversation, MPA revision 1 with CRC: RFC 5044 7.1, peer initiates")
def revision_1(victim):
    peer = whole(victim, "initiates", Startup(rev=1))
    equal(peer.reply.rev, 1, "revision of the reply (RFC 6581 10)")


def respond_old(listener):
    """
    A responder of RFC 5044: closes on what it does not know (RFC 6581 10); the wire, its request.
    """
    for _ in range(2):
        wire = iwarp.accept(listener)
        request = Startup.receive(wire, True)
        if request.rev == 1:
            return wire, request
        wire.close()
    return None, None


@case("Conversation, MPA revision 1 with CRC, peer responds and closes on revision 2 (RFC 6581 10)")
def revision_1_only(victim):
    ep = Endpoint(victim, 6, 6000)
    listener = iwarp.listen(victim.address)
    victim.ask("connect", ep=ep.number, address=victim.address, qual=listener.getsockname()[1])
    wire, request = respond_old(listener)
    check(wire, "the provider came back with revision 1")
    reply = Startup(False, rev=1, enhanced=False, crc=request.crc)
    wire.send(reply.pack())
    peer = Peer(wire, True)
    peer.request, peer.reply = request, reply
    driver.connected(victim, ep, b"")
    conversation(ep, peer)
    part(ep, peer, "responds")


@both("Conversation, neither side asks for CRC: RFC 5044 7.1.1 bit C")
def without_crc(victim, role):
    frame = Startup(crc=False) if role == "initiates" else lambda request: request.answer(crc=False)
    peer = whole(victim, role, frame)
    asked = peer.reply.crc if role == "initiates" else peer.request.crc
    note("the provider %s for CRC", "asks" if asked else "does not ask")


@case("Conversation, revision 2 without the enhanced words: RFC 6581 6 bit S")
def not_enhanced(victim):
    peer = whole(victim, "initiates", Startup(enhanced=False))
    check(not peer.reply.enhanced, "S is clear in the reply")


@case("Peer initiates and leaves the read depths to the programs: RFC 6581 9.1 value 0x3FFF")
def automatic_depths(victim):
    peer = whole(victim, "initiates", Startup(ird=0x3FFF, ord=0x3FFF))
    equal((peer.reply.ird, peer.reply.ord), (0x3FFF, 0x3FFF), "IRD and ORD of the reply")


@case("Read depths: the reply fits what the initiator asked for (RFC 6581 9.1)")
def depths(victim):
    for ird, ord_ in ((1, 1), (0, 0), (2, 3), (100, 2)):
        ep, peer = establish(victim, "initiates", Startup(ird=ird, ord=ord_))
        check(peer.reply.ord <= ird, "responder ORD %d above initiator IRD %d", peer.reply.ord, ird)
        check(
            peer.reply.ird >= ord_, "responder IRD %d below initiator ORD %d", peer.reply.ird, ord_
        )
        part(ep, peer, "responds")


@case("Ready to receive: each kind the provider offers as responder works (RFC 6581 9.2)")
def rtr_kinds(victim):
    ep, peer = establish(victim, "initiates", Startup(peer_to_peer=True, rtr=ALL_RTR))
    offered = peer.reply.rtr
    note("offered: %s", " ".join(offered))
    part(ep, peer, "initiates")
    for kind in offered:
        ep, peer = establish(
            victim, "initiates", Startup(peer_to_peer=True, rtr=ALL_RTR), rtr=(kind,), size=6000
        )
        provider_sends(ep, peer, (5,))
        peer_sends(ep, peer, (5, 6))
        part(ep, peer, "initiates")


@case(
    "Ready to receive: the provider as initiator sends the kind that the reply allows (RFC "
    "6581 9.2)"
)
def rtr_wanted(victim):
    ep, peer = establish(victim, "responds")
    asked = peer.request
    part(ep, peer, "responds")
    if not asked.peer_to_peer:
        raise Skip("the provider does not ask for the peer-to-peer model")
    for kind in asked.rtr:
        ep, peer = establish(
            victim, "responds", lambda request, kind=kind: request.answer(rtr=(kind,)), size=6000
        )
        peer_sends(ep, peer, (5, 6))
        provider_sends(ep, peer, (5,))
        part(ep, peer, "responds")


@case("Ready to receive: a responder that says nothing is told again, twice; one that speaks is not")
def told_again(victim):
    ep, peer = establish(victim, "responds")
    if not peer.request.peer_to_peer:
        raise Skip("the provider does not ask for the peer-to-peer model")
    for _ in range(2):
        segment = peer.handle()
        equal(segment.opcode, iwarp.WRITE, "opcode")
        check(segment.last and not segment.payload, "it has content")
    check(not peer.wire.readable(1.5), "it is told more than twice")
    peer_sends(ep, peer, (5,))
    part(ep, peer, "responds")

    ep, peer = establish(victim, "responds")
    peer_sends(ep, peer, (5,))
    while peer.wire.readable():
        peer.handle()
    check(not peer.wire.readable(0.6), "it is told although it spoke")
    part(ep, peer, "responds")


@case("A responder sends no FPDU before the initiator's first (RFC 5044 7.1.2 rule 4)")
def initiator_first(victim):
    ep = Endpoint(victim, 4)
    source = Region(victim, 64, "local")
    wire = Wire.connect(victim.address, victim.port())
    peer = Peer.initiate(wire, Startup(rev=1), between=lambda: victim.accept(victim.request(), ep))
    event = victim.event(300)
    if event["event"] != "none":
        equal(event["event"], driver.ESTABLISHED, "event (EV-7)")
        ep.request("send", source)
    check(not wire.readable(0.3), "an FPDU came before ours")
    peer.write(0, 0, b"")
    if event["event"] == "none":
        driver.connected(victim, ep, b"")
        ep.request("send", source)
    equal(len(peer.recv().data), 64, "the message held back")
    ep.done()
    part(ep, peer, "responds")


@both("Markers asked for by the peer are sent or the connection is refused: RFC 5044 4.3")
def markers(victim, role):
    if role == "initiates":
        wire = Wire.connect(victim.address, victim.port())
        ep = Endpoint(victim, 6, 6000)
        wire.send(Startup(markers=True).pack())
        request = victim.request()
        if request["event"] == "none":
            refuse = wire.recv_exact(1, 2) if wire.readable(2) else None
            check(refuse is None, "something came of a connection that was not announced")
            return
        victim.accept(request, ep)
        reply = Startup.receive(wire, False)
        if reply.reject:
            note("refused")
            return
        peer = Peer(wire, True, reply.markers, True)
        peer.reply = reply
        driver.kick(peer)
        driver.connected(victim, ep, b"")
    else:
        ep = Endpoint(victim, 6, 6000)
        listener = iwarp.listen(victim.address)
        victim.ask("connect", ep=ep.number, address=victim.address, qual=listener.getsockname()[1])
        peer = Peer.respond(iwarp.accept(listener), lambda request: request.answer(markers=True))
        try:
            if peer.reply.peer_to_peer:
                peer.expect_rtr()
        except iwarp.Closed:
            ep.ended((driver.NON_PEER_REJECTED,))
            note("refused")
            return
        driver.connected(victim, ep, b"")
    conversation(ep, peer)
    part(ep, peer, role)


# ---- The provider's own settings -----------------------------------------------------------------


@both("Conversation without CRC: neither side asks, nothing is checked (RFC 5044 7.1.1 bit C)")
def crc_off(_, role):
    def frame(request):
        return request.answer(crc=False)

    def converse(victim):
        first = Startup(crc=False) if role == "initiates" else frame
        ep, peer = establish(victim, role, first, size=6000, recvs=6)
        check(not peer.provider_frame.crc, "the provider does not ask for CRC")
        check(not peer.inward.crc, "CRC is off")
        conversation(ep, peer)
        for segment in peer.untagged(iwarp.SEND, 0, b"a wrong sum does not matter"):
            peer.fpdu(segment, crc_error=0x5A5A5A5A)
        equal(ep.received(), b"a wrong sum does not matter", "message with a wrong sum")
        part(ep, peer, role)

    driver.once(converse, environment={"DAPL_SOFT_CRC": "0"})


@both("Conversation with CRC that only the peer asks for (RFC 5044 7.1.1 bit C)")
def crc_by_peer(_, role):
    def converse(victim):
        frame = None if role == "initiates" else lambda request: request.answer(crc=True)
        peer = whole(victim, role, frame)
        check(peer.inward.crc, "CRC is on")

    driver.once(converse, environment={"DAPL_SOFT_CRC": "0"})


@case("The provider connects with revision 1: conversation (RFC 5044 7.1)")
def connects_old(_):
    def converse(victim):
        peer = whole(victim, "responds")
        equal(peer.request.rev, 1, "revision of the request")

    driver.once(converse, environment={"DAPL_SOFT_MPA_REVISION": "1"})


@both("The provider's FPDUs are small: messages in many of them, conversation (RFC 5041 5.2)")
def small_fpdus(_, role):
    for size in (128, 1000):
        seen = []

        def converse(victim, seen=seen):
            ep, peer = establish(victim, role, size=6000, recvs=6)
            conversation(ep, peer)
            seen.append(peer.seen[iwarp.SEND])
            part(ep, peer, role)

        driver.once(converse, environment={"DAPL_SOFT_FPDU": str(size)})
        check(seen[0] > 9000 // size, "%s segments of Sends at FPDUs of %d", seen, size)
        note("FPDUs of %d octets: %d segments of Sends", size, seen[0])


# ---- Private data --------------------------------------------------------------------------------


@both("Private data of every size arrives as it was sent: PD-5, PD-T1, RFC 6581 6")
def private_data(victim, role):
    limit = min(victim.max_private_data, 508)
    for size in sorted({0, 1, 3, 4, 5, 20, 64, 507, limit}):
        if size > limit:
            continue
        for rev in (1, 2):
            data, back = noise(size, 1), noise(size, 2)
            if role == "initiates":
                frame = Startup(rev=rev, private_data=data)
                ep, peer = establish(victim, role, frame, accept_data=back)
            elif rev == 2:
                ep, peer = establish(
                    victim,
                    role,
                    lambda request, back=back: request.answer(private_data=back),
                    data=data,
                )
            else:
                continue
            part(ep, peer, "responds")
            victim.clean()


@case("More private data than the library takes is cut and announced as cut: PD-7")
def long_private_data(victim):
    data = noise(512)
    wire = Wire.connect(victim.address, victim.port())
    wire.send(Startup(rev=1, private_data=data).pack())
    request = victim.request()
    size = min(512, victim.max_private_data)
    equal(bytes.fromhex(request["data"]), data[:size], "private data of the request")
    equal(request["truncated"], str(int(size < 512)), "truncate_flag (EV-2)")
    victim.ask("reject", request=request["request"])
    wire.close()


@case("Reject with private data reaches the initiator: EV-8, RFC 5044 7.1.1 bit R")
def reject(victim):
    for frame in (Startup(rev=1), Startup(), Startup(enhanced=False)):
        for data in (b"", noise(17), noise(min(victim.max_private_data, 508))):
            wire = Wire.connect(victim.address, victim.port())
            wire.send(frame.pack())
            got = victim.ask("reject", request=victim.request()["request"], data=data.hex())
            equal(got["result"], "DAT_SUCCESS", "dat_cr_reject")
            reply = Startup.receive(wire, False)
            check(reply.reject, "R is set")
            equal(reply.private_data, data, "private data of the reject (CR-17)")
            equal(
                (reply.rev, reply.enhanced),
                (frame.rev, frame.rev == 2 and frame.enhanced),
                "revision and S of the reject",
            )
            check(wire.readable(5), "the rejected connection is closed")
            wire.close()
    victim.quiet()


@case("A reject by the peer ends in PEER_REJECTED with its private data: EV-8, EP-135")
def rejected(victim):
    for data in (b"", noise(3), noise(min(victim.max_private_data, 508))):
        ep = Endpoint(victim, 3)
        listener = iwarp.listen(victim.address)
        victim.ask("connect", ep=ep.number, address=victim.address, qual=listener.getsockname()[1])
        wire = iwarp.accept(listener)
        request = Startup.receive(wire, True)
        wire.send(request.answer(reject=True, private_data=data).pack())
        end = ep.ended((driver.PEER_REJECTED,))
        equal(bytes.fromhex(end["data"]), data, "private data of the event")
        wire.close()


# ---- Framing -------------------------------------------------------------------------------------


@both("Messages in FPDUs of many sizes, down to one octet each: RFC 5041 5.2")
def fragments(victim, role):
    ep, peer = establish(victim, role, size=3000)
    target = Region(victim, 3000)
    for room in (1, 2, 3, 4, 7, 61, 512, 1999, 65000):
        for size in (1, 9, 300):
            peer.mulpdu = iwarp.UNTAGGED_HEADER + room
            data = noise(size * (1 if room < 7 else 10), room)
            peer.send(data)
            equal(ep.received(), data, "message of %d octets by %d" % (len(data), room))
            peer.mulpdu = iwarp.TAGGED_HEADER + room
            data = noise(len(data), room + 1)
            peer.write(target.stag, target.address, data)
            peer.mulpdu = 1460  # a Read Request always fits (RFC 5044 4.5)
            back = peer.read(target.stag, target.address, len(data))
            equal(back, data, "write by %d, read back" % room)
    part(ep, peer, role)


@both("Large messages both ways, a megabyte: DTO-34, DTO-45, DTO-48")
def large(victim, role):
    size = 1 << 20
    ep, peer = establish(victim, role, size=size, recvs=1, mulpdu=16384)
    peer.send(noise(size))
    equal(ep.received(), noise(size), "message to the provider")
    source = Region(victim, size)
    content = source.fill(77)
    ep.request("send", source)
    equal(peer.recv(20).data, content, "message from the provider")
    ep.done()
    equal(peer.read(source.stag, source.address, size, 20), content, "memory read by the peer")
    stag = peer.register(size)
    ep.request("write", source, remote_address=peer.regions[stag].base, rmr_context=stag)
    ep.request("send", source, 0, 1)
    peer.recv(20)
    equal(bytes(peer.regions[stag].data), content, "memory written by the provider")
    ep.done()
    ep.done()
    sink = Region(victim, size, "local")
    ep.request("read", sink, remote_address=peer.regions[stag].base, rmr_context=stag)
    serve_reads(peer, 1)
    ep.done()
    equal(sink.bytes(), content, "memory read by the provider")
    part(ep, peer, role)


@both("FPDUs cut in two at every octet: RFC 5044 6")
def cut_everywhere(victim, role):
    ep, peer = establish(victim, role)
    number = 0
    length = len(peer.out.encode(bytes(iwarp.UNTAGGED_HEADER + 21)))
    for cut in range(1, length):
        data = noise(21, cut)
        segment = peer.untagged(iwarp.SEND, 0, data)[0]
        raw = peer.out.encode(segment.pack())
        peer.wire.send(raw[:cut])
        victim.ask("state", ep=ep.number)
        time.sleep(0.001)
        peer.wire.send(raw[cut:])
        equal(ep.received(), data, "message cut at octet %d" % cut)
        number += 1
    note("%d cuts", number)
    part(ep, peer, role)


@both(
    "FPDUs of several messages in one TCP segment, and a message that ends in the next: RFC "
    "5044 5.1"
)
def coalesced(victim, role):
    ep, peer = establish(victim, role, recvs=40)
    target = Region(victim, 1000)
    for count in (2, 3, 11, 30):
        raw = b""
        for i in range(count):
            for segment in peer.untagged(iwarp.SEND, 0, noise(i * 7, count)):
                raw += peer.out.encode(segment.pack())
            for segment in peer.tagged_segments(
                iwarp.WRITE, target.stag, target.address + i, b"x" * 9
            ):
                raw += peer.out.encode(segment.pack())
        middle = len(raw) * 2 // 3
        peer.wire.send(raw[:middle])
        time.sleep(0.01)
        peer.wire.send(raw[middle:])
        for i in range(count):
            equal(ep.received(), noise(i * 7, count), "message %d of %d" % (i, count))
    equal(target.bytes(0, 38), b"x" * 38, "written memory")
    part(ep, peer, role)


@both(
    "Octet by octet and slow, from the request on: everything still works (RFC 5044 7.1.2 rule 10)"
)
def drip(victim, role):
    ep = Endpoint(victim, 4)

    def slowly(wire, data):
        for i in range(len(data)):
            wire.send(data[i : i + 1])
            time.sleep(0.004)

    if role == "initiates":
        wire = Wire.connect(victim.address, victim.port())
        slowly(wire, Startup(private_data=b"slow").pack())
        request = victim.request()
        equal(bytes.fromhex(request["data"]), b"slow", "private data")
        victim.accept(request, ep)
        peer = Peer(wire, True)
        peer.reply = Startup.receive(wire, False)
    else:
        listener = iwarp.listen(victim.address)
        victim.ask("connect", ep=ep.number, address=victim.address, qual=listener.getsockname()[1])
        wire = iwarp.accept(listener)
        request = Startup.receive(wire, True)
        peer = Peer(wire, True)
        peer.reply = request.answer()
        slowly(wire, peer.reply.pack())
        if peer.reply.peer_to_peer:
            peer.expect_rtr()
    for segment in peer.tagged_segments(iwarp.WRITE, 0, 0, b""):
        slowly(wire, peer.out.encode(segment.pack()))
    driver.connected(victim, ep, b"")
    for size in (0, 5, 60):
        for segment in peer.untagged(iwarp.SEND, 0, noise(size)):
            slowly(wire, peer.out.encode(segment.pack()))
        equal(ep.received(), noise(size), "slow message")
    part(ep, peer, role)


@both(
    "Nothing to place: a write or read of no octets is not checked (RFC 5041 5.2, RFC 5040 5.2.1)"
)
def nothing(victim, role):
    ep, peer = establish(victim, role)
    peer.write(0xDEADBEEF, 0xFFFFFFFFFFFFFFFF, b"")
    peer.read_post(0x1234, 5, 0, 0xDEADBEEF, 0xFFFFFFFFFFFFFFFF)
    peer.finish_read()
    peer.send(b"")
    equal(ep.received(), b"", "empty message (DTO-36)")
    part(ep, peer, role)


# ---- Queues and depths ---------------------------------------------------------------------------


@both("A Send waits for its Receive without harm: DTO-90")
def late_receive(victim, role):
    ep, peer = establish(victim, role, recvs=0)
    ep.memory = Region(victim, ep.stride, "local")
    peer.send(b"early")
    victim.quiet()
    equal(ep.state(), "DAT_EP_STATE_CONNECTED", "state")
    ep.post_recv(0)
    equal(ep.received(), b"early", "message")
    part(ep, peer, role)


@both("Reads of the provider never exceed the peer's depth: DTO-50, DTO-51, RFC 6581 9.1")
def read_depth(victim, role):
    frame = Startup(ird=2) if role == "initiates" else lambda request: request.answer(ird=2)
    ep, peer = establish(victim, role, frame, reads_out=4)
    sink = Region(victim, 500, "local")
    stag = peer.register(0, data=noise(500))
    peer.auto_read = False
    for i in range(5):
        ep.request(
            "read",
            sink,
            i * 100,
            100,
            remote_address=peer.regions[stag].base + i * 100,
            rmr_context=stag,
        )
    served = 0
    while served < 5:
        peer.pump(lambda: peer.requests)
        while peer.wire.readable(0.1):
            peer.handle()
        check(len(peer.requests) <= 2, "%d Read Requests outstanding", len(peer.requests))
        peer.respond_read(peer.requests.popleft())
        served += 1
    for _ in range(5):
        equal(ep.done()["status"], driver.SUCCESS, "read")
    equal(sink.bytes(), noise(500), "memory read by the provider")
    part(ep, peer, role)


@both(
    "A passive target serves while its program sleeps, reads up to its depth at once: RFC "
    "5040 5.2.1"
)
def passive_target(victim, role):
    ep, peer = establish(victim, role, reads_in=4)
    source = Region(victim, 40000)
    content = source.fill(1)
    depth = min(peer.provider_frame.ird, 4)
    stag = peer.register(40000)
    base = peer.regions[stag].base
    for i in range(depth):
        peer.read_post(stag, base + i * 10000, 10000, source.stag, source.address + i * 10000)
    peer.pump(lambda: not peer.reads)
    equal(bytes(peer.regions[stag].data[: depth * 10000]), content[: depth * 10000], "memory read")
    part(ep, peer, role)


@both("A graceful disconnect sends what was posted before: EP-95, FL-12")
def graceful(victim, role):
    ep, peer = establish(victim, role)
    source = Region(victim, 200000, "local")
    content = source.fill(8)
    stag = peer.register(200000)
    ep.request("write", source, remote_address=peer.regions[stag].base, rmr_context=stag)
    ep.request("send", source, 0, 100)
    victim.ask("disconnect", ep=ep.number, graceful=1)
    equal(peer.recv().data, content[:100], "message")
    equal(bytes(peer.regions[stag].data), content, "written memory")
    equal(peer.until_end()[1:], ("fin", 0), "end of the stream")
    peer.wire.close()
    ep.ended((driver.DISCONNECTED,), requests=[(driver.SUCCESS,)] * 2)


@case("An endpoint is reset and used again, peers in both roles: EP-106, SIM-10")
def again(victim):
    ep = Endpoint(victim, 0)
    for round_ in range(6):
        role = ROLES[round_ % 2]
        ep.post_recv(0)
        _, peer = establish(victim, role, ep=ep)
        peer.send(b"round %d" % round_)
        equal(ep.received(), b"round %d" % round_, "message")
        part(ep, peer, ROLES[round_ // 2 % 2])
        equal(victim.ask("reset", ep=ep.number)["result"], "DAT_SUCCESS", "dat_ep_reset")


driver.perform()
