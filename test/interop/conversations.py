# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""What every good conversation of the soft provider with an iWARP peer contains."""
import random
import time

import driver
import iwarp
from driver import Region, establish
from tap import case, equal

SIZES = (0, 1, 2, 3, 4, 5, 100, 1427, 1442, 1460, 5000)
ROLES = ("initiates", "responds")
ALL_RTR = (iwarp.RTR_SEND, iwarp.RTR_WRITE, iwarp.RTR_READ)


def noise(size, seed=1):
    return random.Random(seed * 1000003 + size).randbytes(size)


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


def both(title):
    """A case for the peer as initiator and one for it as responder."""

    def mark(function):
        for role in ROLES:
            case("%s, peer %s" % (title, role))(lambda victim, role=role: function(victim, role))
        return function

    return mark
