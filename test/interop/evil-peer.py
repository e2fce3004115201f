#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""
The soft provider meets a peer that breaks every rule. Each case checks what the program sees
(DTO-84, EV-5), the Terminate message that is due (RFC 5040 4.8), that a healthy connection of the
same process runs on, and that no descriptor or thread is left.
"""
import os
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import driver  # noqa: E402
import iwarp  # noqa: E402
from causes import *  # noqa: E402,F403
from driver import BROKEN, DISCONNECTED, Region, establish  # noqa: E402
from faults import Fault, fault, last_segment, write_segment  # noqa: E402
from iwarp import ReadRequest, Segment  # noqa: E402
from tap import case, check, equal, note, one_of  # noqa: E402


# ---- MPA -----------------------------------------------------------------------------------------


@fault("Bad CRC in a Send: BROKEN, Terminate 2/0/2 (RFC 5044 8 code 2)", (CRC,), ((0,), (1,), (2,)))
def bad_crc_send(victim, ep, peer, whole):
    peer.mulpdu = 80
    for _ in range(whole):
        peer.send(b"whole")
        equal(ep.received(), b"whole", "message before")
    last_segment(peer, peer.untagged(iwarp.SEND, 0, b"x" * 200), crc_error=1 << 9 * whole)


@fault(
    "Bad CRC in a Write, also a large one that comes in pieces: nothing is placed (RFC 5044 6)",
    (CRC,),
    ((4, 1), (1400, 2), (8000, 3), (60000, 1), (60000, 7)),
)
def bad_crc_write(victim, ep, peer, length, pieces):
    region = Region(victim, 65000)
    segment = write_segment(region.stag, region.address, b"e" * length)
    raw = peer.out.encode(segment.pack(), crc_error=0x80000000)
    step = -(-len(raw) // pieces)
    for at in range(0, len(raw), step):
        peer.wire.send(raw[at : at + step])
        time.sleep(0.01)
    return Fault(after=region.untouched)


@fault(
    "A header damaged on the way, with the sum of the right one: nothing is placed (RFC 5044 6)",
    (CRC,),
    ((4, 1), (1400, 2), (60000, 1), (60000, 7)),
)
def damaged_header(victim, ep, peer, length, pieces):
    region = Region(victim, 65000)
    segment = write_segment(region.stag, region.address + 256, b"e" * length)
    raw = bytearray(peer.out.encode(segment.pack()))
    raw[2 + 13] ^= 0x80  # the last octet of TO: 128 octets off
    step = -(-len(raw) // pieces)
    for at in range(0, len(raw), step):
        peer.wire.send(raw[at : at + step])
        time.sleep(0.01)
    return Fault(after=region.untouched)


def short_fpdu(victim, role, ulpdu, **wrong):
    """A ULPDU too short for its header: some error is due, and the connection ends."""
    ep, peer = establish(victim, role)
    peer.wire.send(peer.out.encode(ulpdu, **wrong))
    peer.wire.send(peer.out.encode(ulpdu, **wrong))
    peer.until_end()
    peer.wire.close()
    ep.ended((BROKEN,))
    victim.clean()


@case("FPDUs too short for a header, from no octet on: BROKEN (RFC 5044 4.1, RFC 5041 4)")
def short_fpdus(victim):
    good = Segment(iwarp.SEND, msn=1).pack()
    write = write_segment(1, 1, b"").pack()
    read = Segment(iwarp.READ_REQUEST, qn=1, msn=1).pack()
    for number, ulpdu in enumerate(
        (
            b"",
            good[:1],
            good[:2],
            good[:17],
            write[:2],
            write[:13],
            read[:18],
            read + bytes(27),
            read + bytes(29),
        )
    ):
        short_fpdu(victim, ("initiates", "responds")[number % 2], ulpdu)


# ---- Tagged buffers ------------------------------------------------------------------------------


@fault(
    "Write to an unknown STag: Terminate 1/1/0 (RFC 5041 7.1, DTO-84)",
    (TAGGED_STAG,),
    ((0,), (1,), (0xFFFFFFFF,), (0x12345678,)),
    asynchronous=True,
)
def unknown_stag(victim, ep, peer, stag):
    region = Region(victim, 64)
    if stag == region.stag:
        stag ^= 1
    segment = write_segment(stag, region.address)
    peer.fpdu(segment)
    return Fault(segment, region.untouched)


@fault(
    "Write to the STag of a live region, other key bits: Terminate 1/1/0",
    (TAGGED_STAG,),
    tuple((bit,) for bit in (0, 3, 8, 15, 20, 31)),
    asynchronous=True,
)
def guessed_stag(victim, ep, peer, bit):
    region = Region(victim, 64)
    segment = write_segment(region.stag ^ 1 << bit, region.address)
    peer.fpdu(segment)
    return Fault(segment, region.untouched)


@fault("Write to a freed STag: Terminate 1/1/0 (LMR-36)", (TAGGED_STAG,), asynchronous=True)
def freed_stag(victim, ep, peer):
    region = Region(victim, 64)
    peer.write(region.stag, region.address, b"good")
    peer.send(b"")
    ep.received()
    region.unregister()
    segment = write_segment(region.stag, region.address)
    peer.fpdu(segment)
    return Fault(segment, lambda: region.untouched(b"good" + bytes([driver.CANARY]) * 60))


@fault(
    "Write to the STag of another PZ: Terminate 1/1/2 (PZ-9)", (TAGGED_STREAM,), asynchronous=True
)
def foreign_stag(victim, ep, peer):
    region = Region(victim, 64, pz=1)
    segment = write_segment(region.stag, region.address)
    peer.fpdu(segment)
    return Fault(segment, region.untouched)


@fault(
    "Write out of bounds: Terminate 1/1/1, nothing outside changes (DTO-88)",
    (TAGGED_BOUNDS,),
    ((-1, 4), (-4, 4), (61, 4), (64, 1), (0, 65), (-1000000, 1), (1 << 40, 1), (0, 60000)),
    asynchronous=True,
)
def out_of_bounds(victim, ep, peer, offset, length):
    region = Region(victim, 64)
    segment = write_segment(region.stag, region.address + offset, b"e" * length)
    peer.fpdu(segment)
    return Fault(segment, region.bytes)


@fault(
    "Write that leaves the region in its second segment: Terminate 1/1/1 (DTO-88)",
    (TAGGED_BOUNDS,),
    asynchronous=True,
)
def out_of_bounds_later(victim, ep, peer):
    region = Region(victim, 64)
    peer.mulpdu = iwarp.TAGGED_HEADER + 40
    segment = last_segment(
        peer, peer.tagged_segments(iwarp.WRITE, region.stag, region.address, b"e" * 80)
    )
    return Fault(segment, lambda: equal(region.bytes()[:40], b"e" * 40, "the permitted part"))


@fault(
    "Write whose offset wraps at 2^64: Terminate 1/1/3 (RFC 5041 7.1 check 5)",
    (TAGGED_WRAP, TAGGED_BOUNDS),
    ((-1, 2), (-4, 8), (-100, 1000)),
    asynchronous=True,
)
def wrap(victim, ep, peer, to, length):
    region = Region(victim, 64)
    segment = write_segment(region.stag, to, b"e" * length)
    peer.fpdu(segment)
    return Fault(segment, region.untouched)


@fault(
    "Write without the right: Terminate 0/1/2 or 1/1/0 (LMR-23)",
    (READ_RIGHTS, TAGGED_STAG),
    asynchronous=True,
)
def no_write_right(victim, ep, peer):
    region = Region(victim, 64, "read")
    segment = write_segment(region.stag, region.address)
    peer.fpdu(segment)
    return Fault(segment, region.untouched)


@fault(
    "Write to a Receive buffer by its local context: refused (LMR-26)",
    (TAGGED_STAG, READ_RIGHTS, TAGGED_STREAM),
    asynchronous=True,
)
def local_context(victim, ep, peer):
    got = victim.ask("region", length=64, rights=driver.RIGHTS["local"])
    equal(got["rmr_context"], "0", "rmr_context without a remote right (LMR-26)")
    segment = write_segment(int(got["lmr_context"]), int(got["address"]))
    peer.fpdu(segment)
    return Fault(segment)


# ---- Reads ---------------------------------------------------------------------------------------


def ask_read(peer, stag, to, size):
    request = ReadRequest(0x5111, 0x1000, size, stag, to & (1 << 64) - 1)
    return Fault(last_segment(peer, peer.untagged(iwarp.READ_REQUEST, 1, request.pack())))


@fault(
    "Read of an unknown STag: Terminate 0/1/0 with both headers (RFC 5040 7.2)",
    (READ_STAG,),
    ((0,), (0xFFFFFFFF,)),
    asynchronous=True,
)
def read_unknown(victim, ep, peer, stag):
    return ask_read(peer, stag, 0x1000, 8)


@fault("Read of a freed STag: Terminate 0/1/0 (LMR-36)", (READ_STAG,), asynchronous=True)
def read_freed(victim, ep, peer):
    region = Region(victim, 64)
    region.unregister()
    return ask_read(peer, region.stag, region.address, 8)


@fault("Read of the STag of another PZ: Terminate 0/1/3 (PZ-9)", (READ_STREAM,), asynchronous=True)
def read_foreign(victim, ep, peer):
    region = Region(victim, 64, pz=1)
    return ask_read(peer, region.stag, region.address, 8)


@fault(
    "Read out of bounds: Terminate 0/1/1 (RFC 5040 7.2)",
    (READ_BOUNDS,),
    ((-1, 4), (61, 4), (64, 1), (0, 65), (0, 0xFFFFFFFF), (1 << 40, 1)),
    asynchronous=True,
)
def read_out_of_bounds(victim, ep, peer, offset, size):
    region = Region(victim, 64)
    return ask_read(peer, region.stag, region.address + offset, size)


@fault(
    "Read whose offset wraps at 2^64: Terminate 0/1/4 (RFC 5040 7.2 e)",
    (READ_WRAP, READ_BOUNDS),
    ((-1, 2), (-4, 0xFFFFFFFF)),
    asynchronous=True,
)
def read_wrap(victim, ep, peer, to, size):
    return ask_read(peer, Region(victim, 64).stag, to, size)


@fault("Read without the right: Terminate 0/1/2 (LMR-23)", (READ_RIGHTS,), asynchronous=True)
def read_no_right(victim, ep, peer):
    region = Region(victim, 64, "write")
    return ask_read(peer, region.stag, region.address, 8)


@fault(
    "Reads beyond the depth: Terminate, most likely 1/2/2 (DTO-51, DTO-84)",
    (NO_BUFFER, MSN_RANGE, CATASTROPHIC),
    asynchronous=True,
    reads_in=1,
    rcvbuf=8192,
)
def beyond_depth(victim, ep, peer):
    region = Region(victim, 8 << 20)
    depth = peer.provider_frame.ird
    stag = peer.register(8 << 20)
    peer.inward.crc = False  # eight megabytes, and the sum is not what this case is about
    raw = b""
    for number in range(depth + 1):
        size = 8 << 20 if number == 0 else 16
        request = ReadRequest(stag, peer.regions[stag].base, size, region.stag, region.address)
        for segment in peer.untagged(iwarp.READ_REQUEST, 1, request.pack()):
            raw += peer.out.encode(segment.pack())
        peer.reads.append([request, 0])
    peer.wire.send(raw)
    victim.ask("state", ep=ep.number)
    time.sleep(0.1)  # so that the requests are there before we take what the first one brings


@fault(
    "A Read Response nobody asked for: refused, nothing placed (RFC 5040 5.2.2)",
    (OPCODE, TAGGED_STAG, TAGGED_STREAM, CATASTROPHIC),
)
def unasked(victim, ep, peer):
    region = Region(victim, 64)
    segment = Segment(
        iwarp.READ_RESPONSE, b"evil", tagged=True, stag=region.stag, to=region.address
    )
    peer.fpdu(segment)
    return Fault(segment, region.untouched)


def wrong_response(victim, role, change):
    """The provider reads, and the answer is not what it asked for."""
    ep, peer = establish(victim, role)
    sink, other = Region(victim, 64, "local"), Region(victim, 64)
    peer.auto_read = False
    ep.request("read", sink, 0, 32, remote_address=0x1000, rmr_context=0x77)
    peer.pump(lambda: peer.requests)
    asked = peer.requests.popleft()
    segment = Segment(
        iwarp.READ_RESPONSE, b"r" * 32, tagged=True, stag=asked.sink_stag, to=asked.sink_to
    )
    change(segment, other)
    peer.fpdu(segment)
    if not segment.last:
        peer.fpdu(
            Segment(
                iwarp.READ_RESPONSE,
                b"r",
                tagged=True,
                stag=asked.sink_stag,
                to=asked.sink_to + len(segment.payload),
            )
        )
    peer.until_end()
    peer.wire.close()
    ep.ended((BROKEN,), requests=[FAILED])
    other.untouched()
    equal(sink.bytes()[32:], bytes([driver.CANARY]) * 32, "the sink behind what was asked for")
    victim.clean()


def to_other(segment, other):
    segment.stag, segment.to = other.stag, other.address


def to_unknown(segment, _):
    segment.stag ^= 0x40000


def elsewhere(segment, _):
    segment.to += 4


def too_long(segment, _):
    segment.payload = b"r" * 33


def too_short(segment, _):
    segment.payload = b"r" * 31


def too_long_later(segment, _):
    segment.last = False


def nothing_at_all(segment, _):
    segment.payload = b""


@case(
    "Read Responses to another place or of another length: the read fails, nothing else "
    "changes (DTO-84)"
)
def wrong_responses(victim):
    changes = (to_other, to_unknown, elsewhere, too_long, too_short, too_long_later, nothing_at_all)
    for number, change in enumerate(changes):
        for role in ("initiates", "responds"):
            try:
                wrong_response(victim, role, change)
            except AssertionError as err:
                raise type(err)("%s, peer %s: %s" % (change.__name__, role, err)) from err
    note("%d wrong answers", number + 1)


# ---- Untagged buffers ----------------------------------------------------------------------------


@fault(
    "A Send longer than the Receive: LOCAL_LENGTH, Terminate 1/2/5 (DTO-38, DTO-84)",
    (TOO_LONG,),
    ((257, 1460), (1000, 1460), (257, 18 + 256), (300, 18 + 100), (60000, 65000)),
    first=(LOCAL_LENGTH,),
)
def over_long(victim, ep, peer, length, mulpdu):
    peer.mulpdu = mulpdu
    segments = peer.untagged(iwarp.SEND, 0, b"e" * length)
    at_fault = [s for s in segments if s.mo + len(s.payload) > 256][0]
    try:
        last_segment(peer, segments)
    except iwarp.Closed:
        pass

    def gaps():
        data = ep.memory.bytes()
        for slot in range(4):
            gap = data[slot * ep.stride + 256 : (slot + 1) * ep.stride]
            equal(gap, bytes([driver.CANARY]) * ep.GAP, "octets behind Receive %d" % slot)

    return Fault(at_fault, gaps)


@fault(
    "Send to a queue that does not exist: Terminate 1/2/1 (RFC 5041 7.1)",
    (QUEUE,),
    ((4,), (5,), (0xFFFFFFFF,)),
)
def bad_queue(victim, ep, peer, qn):
    segment = Segment(iwarp.SEND, b"evil", qn=qn, msn=1)
    peer.fpdu(segment)
    return Fault(segment)


@fault(
    "Opcode and queue that do not fit: Terminate 0/2/6 or 1/2/1 (RFC 5040 figure 4)",
    (OPCODE, QUEUE),
    (
        (iwarp.SEND, 1, 4),
        (iwarp.SEND, 2, 4),
        (iwarp.READ_REQUEST, 0, 28),
        (iwarp.READ_REQUEST, 2, 28),
        (iwarp.TERMINATE, 0, 4),
        (iwarp.TERMINATE, 1, 4),
    ),
)
def misplaced(victim, ep, peer, opcode, qn, length):
    segment = Segment(opcode, bytes(length), qn=qn, msn=1)
    peer.fpdu(segment)
    return Fault(segment)


@fault(
    "Message sequence number out of range: Terminate 1/2/3 or 1/2/2 (RFC 5041 7.1)",
    (MSN_RANGE, NO_BUFFER),
    ((0, 0), (0, 1000), (0, 0xFFFFFFFF), (1, 0), (1, 77)),
)
def bad_msn(victim, ep, peer, qn, msn):
    opcode = iwarp.READ_REQUEST if qn else iwarp.SEND
    segment = Segment(opcode, bytes(28), qn=qn, msn=msn)
    peer.fpdu(segment)
    return Fault(segment)


@fault(
    "A message number used twice or left out: Terminate 1/2/3 or 1/2/2",
    (MSN_RANGE, NO_BUFFER),
    ((1,), (3,)),
)
def repeated_msn(victim, ep, peer, msn):
    peer.send(b"one")
    equal(ep.received(), b"one", "message before")
    segment = Segment(iwarp.SEND, b"evil", msn=msn)
    peer.fpdu(segment)
    return Fault(segment)


@fault(
    "Message offset out of range: Terminate 1/2/4 or 1/2/5 (RFC 5041 7.1)",
    (BAD_MO, TOO_LONG),
    ((257,), (0x7FFFFFFF,), (0xFFFFFFFF,), (0xFFFFFFF0,)),
    first=(LOCAL_LENGTH, driver.FLUSHED),
)
def bad_mo(victim, ep, peer, mo):
    segment = Segment(iwarp.SEND, b"e" * 32, msn=1, mo=mo)
    peer.fpdu(segment)
    return Fault(segment, ep.memory.bytes)


@fault(
    "Message offset that leaves a hole or goes back: Terminate 1/2/4",
    (BAD_MO,),
    ((10, 0), (10, 9), (10, 11)),
)
def holes(victim, ep, peer, size, mo):
    peer.fpdu(Segment(iwarp.SEND, b"e" * size, msn=1, last=False))
    segment = Segment(iwarp.SEND, b"e" * 4, msn=1, mo=mo)
    peer.fpdu(segment)
    return Fault(segment)


@fault(
    "Send with Invalidate of what cannot be invalidated: Terminate x/9 (RFC 5040 5.3, DTO-61)",
    NOT_INVALIDATED,
    ((iwarp.SEND_INV,), (iwarp.SEND_SE_INV,)),
    first=(LOCAL_PROTECTION, driver.FLUSHED),
)
def invalidate(victim, ep, peer, opcode):
    region = Region(victim, 64)
    segment = last_segment(peer, peer.untagged(opcode, 0, b"evil", region.stag))

    def still_there():
        """The region itself is not affected (DTO-89)."""
        other, friend = establish(victim, "initiates")
        friend.write(region.stag, region.address, b"good")
        friend.send(b"")
        other.received()
        equal(region.bytes()[:4], b"good", "written memory")
        friend.wire.close()
        other.ended((DISCONNECTED,))

    return Fault(segment, still_there)


# ---- Versions and opcodes ------------------------------------------------------------------------


@fault(
    "DDP version other than 1 in a tagged segment: Terminate 1/1/4 (RFC 5041 7.2)",
    (TAGGED_VERSION,),
    ((0,), (2,), (3,)),
)
def ddp_version_tagged(victim, ep, peer, version):
    region = Region(victim, 64)
    segment = write_segment(region.stag, region.address, dv=version)
    peer.fpdu(segment)
    return Fault(segment, region.untouched)


@fault(
    "DDP version other than 1 in an untagged segment: Terminate 1/2/6 (RFC 5041 7.2)",
    (UNTAGGED_VERSION,),
    ((0,), (2,), (3,)),
)
def ddp_version_untagged(victim, ep, peer, version):
    segment = Segment(iwarp.SEND, b"evil", msn=1, dv=version)
    peer.fpdu(segment)
    return Fault(segment)


@fault(
    "RDMAP version that does not exist: Terminate 0/2/5 (RFC 5040 4.1, 4.8)",
    (RDMAP_VERSION,),
    ((iwarp.SEND, 2), (iwarp.SEND, 3), (iwarp.WRITE, 2), (iwarp.READ_REQUEST, 3)),
)
def rdmap_version(victim, ep, peer, opcode, version):
    if opcode == iwarp.WRITE:
        region = Region(victim, 64)
        segment = write_segment(region.stag, region.address, rv=version)
    else:
        segment = Segment(
            opcode, bytes(28), qn=int(opcode == iwarp.READ_REQUEST), msn=1, rv=version
        )
    peer.fpdu(segment)
    return Fault(segment)


@fault(
    "Reserved opcodes: Terminate 0/2/6 (RFC 5040 figure 4)", (OPCODE,), ((12,), (13,), (14,), (15,))
)
def reserved_opcode(victim, ep, peer, opcode):
    segment = Segment(opcode, b"evil", msn=1)
    peer.fpdu(segment)
    return Fault(segment)


@fault(
    "Opcodes of the other buffer model: Terminate 0/2/6 (RFC 5040 figure 4)",
    (OPCODE,),
    (
        (iwarp.SEND, True),
        (iwarp.READ_REQUEST, True),
        (iwarp.TERMINATE, True),
        (iwarp.WRITE, False),
        (iwarp.READ_RESPONSE, False),
        (14, True),
    ),
)
def other_model(victim, ep, peer, opcode, tagged):
    if tagged:
        region = Region(victim, 64)
        segment = write_segment(region.stag, region.address)
        segment.opcode = opcode
    else:
        segment = Segment(opcode, b"evil", msn=1)
    peer.fpdu(segment)
    return Fault(segment)


driver.perform()
