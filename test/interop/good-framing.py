#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""How the bytes of good conversations are cut, and how full its queues are."""
import os
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import driver  # noqa: E402
import iwarp  # noqa: E402
from conversations import ROLES, both, noise, part, serve_reads  # noqa: E402
from driver import Endpoint, Region, establish  # noqa: E402
from iwarp import Peer, Startup, Wire  # noqa: E402
from tap import case, check, equal, note  # noqa: E402


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
