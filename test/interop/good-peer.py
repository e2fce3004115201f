#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""The soft provider talks with an independent iWARP peer: every byte both ways is compared."""
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import driver  # noqa: E402
import iwarp  # noqa: E402
from conversations import (  # noqa: E402
    ALL_RTR,
    both,
    conversation,
    noise,
    part,
    peer_sends,
    provider_sends,
    whole,
)
from driver import Endpoint, Region, establish  # noqa: E402
from iwarp import Peer, Startup, Wire  # noqa: E402
from tap import Skip, case, check, equal, note  # noqa: E402


# ---- Every way to set a connection up ------------------------------------------------------------


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

    # auto: this peer is on the same host.
    for crc in ("0", "auto"):
        driver.once(converse, environment={"DAPL_SOFT_CRC": crc})


@both("Conversation with CRC that only the peer asks for (RFC 5044 7.1.1 bit C)")
def crc_by_peer(_, role):
    def converse(victim):
        frame = None if role == "initiates" else lambda request: request.answer(crc=True)
        peer = whole(victim, role, frame)
        check(peer.inward.crc, "CRC is on")

    for crc in ("0", "auto"):
        driver.once(converse, environment={"DAPL_SOFT_CRC": crc})


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


@both("FPDUs are larger than a TCP segment only where both sides say that they take it (RFC 5044 4.5)")
def large_fpdus(_, role):
    def converse(victim, says, asks):
        frame = Startup(large=asks) if role == "initiates" else lambda request: request.answer(large=asks)
        ep, peer = establish(victim, role, frame, size=6000, recvs=6, maxseg=1000)
        conversation(ep, peer)
        equal(peer.provider_frame.large, says and (asks or role == "responds"), "the provider's bit")
        segments = peer.seen[iwarp.SEND]
        part(ep, peer, role)
        return segments

    def count(asks, says=True, **environment):
        seen = []
        driver.once(lambda victim: seen.append(converse(victim, says, asks)), environment=environment)
        return seen[0]

    messages, many = count(True), count(False)
    check(messages < many, "%d segments of Sends, and %d where the peer takes no large ones", messages, many)
    small = count(True, False, DAPL_SOFT_FPDU="900")
    check(small >= many, "%d segments of Sends at FPDUs of 900", small)


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


driver.perform()
