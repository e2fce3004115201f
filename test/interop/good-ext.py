#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""
The soft provider and a peer that knows the RFCs: Sends that invalidate (RFC 5040 section 4.7),
immediate data and atomics (RFC 7306), in both directions.
"""
import os
import struct
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import driver  # noqa: E402
import iwarp  # noqa: E402
from driver import IB_DTO, SUCCESS, Region, establish  # noqa: E402
from iwarp import ALL_ONES, CMP_SWAP, FETCH_ADD  # noqa: E402
from tap import case, check, equal  # noqa: E402


def both(title):
    """A case for the peer as initiator and one for it as responder."""

    def mark(function):
        for role in ("initiates", "responds"):

            def one(victim, role=role):
                ep, peer = establish(victim, role, size=6000, recvs=6)
                function(victim, ep, peer)
                peer.wire.close()
                ep.ended((driver.DISCONNECTED,))
                victim.clean()

            case("%s, peer %s" % (title, role))(one)
        return function

    return mark


def word(region, offset=0):
    return struct.unpack("<Q", region.bytes(offset, 8))[0]


# ---- Send with invalidate ------------------------------------------------------------------------


@both("The peer uses a context and invalidates it: DTO-58, RFC 5040 5.3")
def peer_invalidates(victim, ep, peer):
    region = Region(victim, 3000, "local")
    for number, opcode in enumerate((iwarp.SEND_INV, iwarp.SEND_SE_INV, iwarp.SEND_INV)):
        context = ep.bind(region, 100, 2000)
        text = b"by context %d" % number
        peer.write(context, region.address + 100, text)
        equal(peer.read(context, region.address + 100, len(text)), text, "read back")
        peer.mulpdu = 1000 if number == 2 else 1460
        message = driver.pattern((3, 0, 5000)[number], number)
        peer.send(message, opcode, context)
        event = victim.event()
        equal(
            (event["event"], event["op"], event["status"], int(event["context"])),
            (driver.DTO, "DAT_DTO_RECEIVE_WITH_INVALIDATE", SUCCESS, context),
            "receive that tells of the invalidation",
        )
        equal(int(event["length"]), len(message), "length")
        cookie = ep.posted.popleft()
        slot = cookie % 0x10000
        equal(
            ep.memory.bytes(slot * ep.stride, len(message)), message, "what came with the message"
        )
        ep.post_recv(slot)


@both("The provider invalidates a tag of the peer: RFC 5040 4.7, 5.3")
def provider_invalidates(victim, ep, peer):
    source = Region(victim, 5000, "local")
    content = source.fill(3)
    for flags, opcode in ((0, iwarp.SEND_INV), (2, iwarp.SEND_SE_INV)):
        for length in (0, 10, 5000):
            stag = peer.register(100)
            ep.request("invalidate", source, 0, length, arg=stag, flags=flags)
            message = peer.recv()
            equal((message.opcode, message.inv_stag), (opcode, stag), "opcode and tag")
            equal(message.data, content[:length], "message")
            event = ep.done()
            equal((event["op"], event["status"]), ("DAT_DTO_SEND", SUCCESS), "DTO-60")


# ---- Immediate data ------------------------------------------------------------------------------


def take_immediate(victim, ep, length, data):
    event = victim.event()
    equal(
        (event["event"], event["op"], event["status"]),
        (IB_DTO, "DAT_IB_DTO_RECV_IMMED", SUCCESS),
        "receive of immediate data",
    )
    equal((int(event["length"]), int(event["immediate"])), (length, data), "length and data")
    cookie = ep.posted.popleft()
    equal(int(event["cookie"]), cookie, "the oldest receive")
    ep.post_recv(cookie % 0x10000)


@both("Writes of the peer with immediate data: IBX-47, IBX-48, RFC 7306 6")
def peer_writes_immediate(victim, ep, peer):
    region = Region(victim, 9000)
    for number, length in enumerate((0, 1, 500, 9000)):
        content = driver.pattern(length, number)
        peer.write(region.stag, region.address, b"earlier")
        peer.write(region.stag, region.address, content)
        peer.immediate(struct.pack("<Q", 0x11223344 + number), number % 2)
        take_immediate(victim, ep, length, 0x11223344 + number)
        equal(region.bytes(0, length), content, "written data (IBX-48)")
        peer.send(b"a Send")
        equal(ep.received(), b"a Send", "Send behind it")
    ep.memory.untouched()


@both("Immediate data that find no receive wait for one: IBX-51, DTO-90")
def early_immediate(victim, ep, peer):
    region = Region(victim, 64)
    for _ in range(6):
        peer.send(b"fills")
    for number in range(3):
        peer.write(region.stag, region.address, b"x" * number)
        peer.immediate(struct.pack("<II", 77 + number, 0))
    for _ in range(6):
        equal(ep.received(), b"fills", "message")
    for number in range(3):
        take_immediate(victim, ep, number, 77 + number)


@both("Writes of the provider with immediate data: IBX-50, RFC 7306 6.2")
def provider_writes_immediate(victim, ep, peer):
    source = Region(victim, 9000, "local")
    content = source.fill(8)
    stag = peer.register(9000)
    there = peer.regions[stag]
    for number, (length, flags) in enumerate(((0, 0), (1, 2), (4000, 0), (9000, 2))):
        there.data[:] = bytes(9000)
        value = 0xA1B2C3D0 + number
        ep.request(
            "write_immed",
            source,
            0,
            length,
            remote_address=there.base,
            rmr_context=stag,
            arg=value,
            flags=flags,
        )
        message = peer.recv()
        equal(
            message.opcode, iwarp.IMMEDIATE_SE if flags else iwarp.IMMEDIATE, "opcode (figure 2)"
        )
        equal(message.data, struct.pack("<II", value, 0), "eight octets, as they lie in memory")
        equal(bytes(there.data[:length]), content[:length], "data before the immediate")
        event = ep.done(number=IB_DTO)
        equal(
            (event["op"], event["status"], int(event["length"])),
            ("DAT_IB_DTO_RDMA_WRITE_IMMED", SUCCESS, length),
            "completion",
        )


# ---- Atomics -------------------------------------------------------------------------------------


@both("Atomics of the peer: IBX-36, IBX-37, IBX-42, RFC 7306 5.1, masks included")
def peer_atomics(victim, ep, peer):
    region = Region(victim, 64, "atomic")
    region.fill(1)
    at = region.address + 8
    value = word(region, 8)
    operations = (
        (FETCH_ADD, 1, 0),
        (FETCH_ADD, ALL_ONES, 0),
        (FETCH_ADD, 0x0180FF00FF00FFFF, 0x8080808080808080),
        (FETCH_ADD, 0xFFFFFFFF, 0x80000000),
        (CMP_SWAP, 5, ALL_ONES, 1, ALL_ONES),
        (CMP_SWAP, 0x1234567890ABCDEF, 0xFF00FF, 0, 0),
        (FETCH_ADD, 0, 0),
    )
    for code, *rest in operations:
        known = iwarp.Atomic(code, 0, 0, 0, *rest)
        equal(peer.atomic(code, region.stag, at, *rest), value, "what was there")
        value = known.result(value)
        equal(word(region, 8), value, "what is left")
    equal(
        peer.atomic(CMP_SWAP, region.stag, at, 99, ALL_ONES, value, ALL_ONES), value, "CmpSwap"
    )
    equal(word(region, 8), 99, "swapped")


@both("Atomics of the provider: RFC 7306 5.2, one after the other and among reads")
def provider_atomics(victim, ep, peer):
    sink = Region(victim, 4096, "local")
    stag = peer.register(64)
    there = peer.regions[stag]
    there.base = 0x7F0000002000  # the peer's own alignment
    struct.pack_into("<Q", there.data, 8, 1000)
    for number in range(12):
        where = {"remote_address": there.base + 8, "rmr_context": stag}
        ep.request("fetch_add", sink, 16 * number, 8, arg=number, **where)
        if number % 3 == 0:
            ep.request("read", sink, 16 * number + 8, 8, **where)
    peer.pump(lambda: len(peer.asked) == 12 and peer.seen[iwarp.READ_REQUEST] >= 4)
    value = 1000
    for number in range(12):
        event = ep.done(number=IB_DTO)
        equal(
            (event["op"], event["status"], int(event["length"])),
            ("DAT_IB_DTO_FETCH_ADD", SUCCESS, 8),
            "completion",
        )
        equal(word(sink, 16 * number), value, "what was there (IBX-36)")
        value += number
        if number % 3 == 0:
            equal(ep.done()["status"], SUCCESS, "read behind it")
            check(word(sink, 16 * number + 8) >= value, "the read sees the sum (IBX-31)")
    for compare, swap in ((1, 2), (value, 0xFEDCBA9876543210)):
        ep.request("cmp_swap", sink, 3, 8, arg=compare, swap=swap, **where)
        peer.pump(lambda: peer.asked[-1].code == CMP_SWAP and peer.asked[-1].compare == compare)
        event = ep.done(number=IB_DTO)
        equal((event["op"], event["status"]), ("DAT_IB_DTO_CMP_SWAP", SUCCESS), "completion")
        equal(word(sink, 3), value, "what was there (IBX-37)")
    equal(struct.unpack_from("<Q", there.data, 8)[0], 0xFEDCBA9876543210, "swapped")
    for atomic in peer.asked:
        if atomic.code == CMP_SWAP:
            equal((atomic.mask, atomic.compare_mask), (ALL_ONES, ALL_ONES), "masks of a CmpSwap")
        else:
            equal(atomic.mask, 0, "mask of a FetchAdd of 64 bits")


driver.perform()
