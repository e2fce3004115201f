#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""
The soft provider meets a peer that breaks the rules of Sends that invalidate, of immediate data and
of atomics (RFC 5040 section 5.3, RFC 7306). As evil-peer.py.
"""
import os
import struct
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import driver  # noqa: E402
import iwarp  # noqa: E402
from causes import *  # noqa: E402,F403
from driver import Region  # noqa: E402
from faults import Fault, fault, last_segment  # noqa: E402
from iwarp import Atomic, CMP_SWAP, FETCH_ADD, Segment  # noqa: E402
from tap import equal  # noqa: E402


# ---- Send with invalidate ------------------------------------------------------------------------


def invalidate(peer, stag, opcode=iwarp.SEND_INV):
    return last_segment(peer, peer.untagged(opcode, iwarp.QN_SEND, b"evil", stag))


@fault(
    "Invalidate of what is no context: Terminate 0/1/9, the Receive LOCAL_PROTECTION (DTO-61)",
    NOT_INVALIDATED,
    ((0,), (1,), (0xFFFFFFFF,), (0x12345678,)),
    first=(LOCAL_PROTECTION,),
    asynchronous=True,
)
def unknown_context(victim, ep, peer, stag):
    return Fault(invalidate(peer, stag))


@fault(
    "Invalidate of a region's own context, which stays good: Terminate 0/1/9 (RMR-36)",
    NOT_INVALIDATED,
    ((iwarp.SEND_INV,), (iwarp.SEND_SE_INV,)),
    first=(LOCAL_PROTECTION,),
    asynchronous=True,
)
def region_context(victim, ep, peer, opcode):
    region = Region(victim, 64)
    return Fault(invalidate(peer, region.stag, opcode), region.untouched)


@fault(
    "Invalidate of another connection's context: Terminate 0/1/9 (RMR-36)",
    NOT_INVALIDATED,
    first=(LOCAL_PROTECTION,),
    asynchronous=True,
)
def other_context(victim, ep, peer):
    region = Region(victim, 64, "local")
    other, other_peer = driver.establish(victim, "initiates")
    context = other.bind(region, 0, 64)

    def still_good():
        other_peer.write(context, region.address, b"good")
        other_peer.send(b"")
        other.received()
        equal(region.bytes(0, 4), b"good", "written by the context")
        other_peer.wire.close()
        other.ended((driver.DISCONNECTED,))

    return Fault(invalidate(peer, context), still_good)


@fault(
    "Invalidate twice: Terminate 0/1/9 at the second time (DTO-61)",
    NOT_INVALIDATED,
    first=(LOCAL_PROTECTION,),
    asynchronous=True,
)
def invalidate_twice(victim, ep, peer):
    region = Region(victim, 64, "local")
    context = ep.bind(region, 0, 64)
    invalidate(peer, context)
    equal(victim.event()["op"], "DAT_DTO_RECEIVE_WITH_INVALIDATE", "first one")
    ep.posted.popleft()
    return Fault(invalidate(peer, context))


@fault(
    "Write by a context that the peer has invalidated: Terminate 1/1/0 (RMR-34)",
    (TAGGED_STAG,),
    asynchronous=True,
)
def use_after_invalidate(victim, ep, peer):
    region = Region(victim, 64, "local")
    context = ep.bind(region, 0, 64)
    invalidate(peer, context)
    equal(victim.event()["op"], "DAT_DTO_RECEIVE_WITH_INVALIDATE", "invalidation")
    ep.posted.popleft()
    segment = Segment(iwarp.WRITE, b"evil", tagged=True, stag=context, to=region.address)
    peer.fpdu(segment)
    return Fault(segment, region.untouched)


@fault(
    "Write beyond what a context is bound to, or without its right (RMR-38)",
    (TAGGED_BOUNDS, READ_RIGHTS),
    ((9, 4, "all"), (28, 8, "all"), (20, 4, "read")),
    asynchronous=True,
)
def beyond_the_binding(victim, ep, peer, offset, length, rights):
    region = Region(victim, 64, "local")
    context = ep.bind(region, 10, 20, rights)
    segment = Segment(
        iwarp.WRITE, b"e" * length, tagged=True, stag=context, to=region.address + offset
    )
    peer.fpdu(segment)
    return Fault(segment, region.untouched)


# ---- Immediate data ------------------------------------------------------------------------------


@fault(
    "Immediate data of another length than eight: Terminate 1/2/5 or 0/2/7 (RFC 7306 6.3)",
    (TOO_LONG, CATASTROPHIC),
    ((0,), (4,), (7,), (9,), (200,)),
)
def wrong_immediate(victim, ep, peer, length):
    return Fault(last_segment(peer, peer.untagged(iwarp.IMMEDIATE, 0, bytes(length))))


@fault(
    "Immediate data in two segments, or within a Send: Terminate 1/2/5 or 1/2/4",
    (TOO_LONG, BAD_MO, CATASTROPHIC),
    ((0,), (1,)),
)
def split_immediate(victim, ep, peer, within):
    if within:
        peer.fpdu(Segment(iwarp.SEND, b"half", last=False, msn=1))
        segment = Segment(iwarp.IMMEDIATE, bytes(8), msn=1)
    else:
        segment = Segment(iwarp.IMMEDIATE, bytes(4), last=False, msn=1)
    peer.fpdu(segment)
    return Fault(segment)


@fault(
    "Immediate data on another queue, or out of sequence: Terminate 0/2/6, 1/2/1 or 1/2/3",
    (OPCODE, QUEUE, MSN_RANGE),
    ((1, 1), (2, 1), (3, 1), (0, 2), (0, 0)),
)
def misplaced_immediate(victim, ep, peer, qn, msn):
    segment = Segment(iwarp.IMMEDIATE, bytes(8), qn=qn, msn=msn)
    peer.fpdu(segment)
    return Fault(segment)


# ---- Atomic requests -----------------------------------------------------------------------------


def ask(peer, stag, to, code=FETCH_ADD, cut=None):
    data = Atomic(code, 0x77, stag, to & (1 << 64) - 1, 1).pack()
    data = data if cut is None else (data + bytes(100))[:cut]
    return last_segment(peer, peer.untagged(iwarp.ATOMIC_REQUEST, iwarp.QN_READ, data))


@fault(
    "Atomic on an address without alignment: Terminate 0/2/7, memory unchanged (IBX-40)",
    (CATASTROPHIC,),
    tuple((offset, code) for offset in (1, 4, 7, 9) for code in (FETCH_ADD, CMP_SWAP)),
    asynchronous=True,
)
def misaligned(victim, ep, peer, offset, code):
    region = Region(victim, 64, "atomic")
    return Fault(
        ask(peer, region.stag, region.address - region.address % 8 + 8 + offset, code),
        region.untouched,
    )


@fault(
    "Atomic without the right: Terminate 0/1/2 (IBX-39)",
    (READ_RIGHTS,),
    (("all",), ("read",), ("write",)),
    asynchronous=True,
)
def no_atomic_right(victim, ep, peer, rights):
    region = Region(victim, 64, rights)
    return Fault(ask(peer, region.stag, region.address), region.untouched)


@fault(
    "Atomic with a wrong tag or out of bounds: Terminate 0/1/0, 0/1/1, 0/1/3 or 0/1/4",
    (READ_STAG, READ_BOUNDS, READ_STREAM, READ_WRAP),
    ((0, 0, 0), (5, 0, 0), (0, -8, 0), (0, 64, 0), (0, 60, 0), (0, 1 << 63, 0), (0, 0, 1)),
    asynchronous=True,
)
def atomic_elsewhere(victim, ep, peer, other, offset, pz):
    region = Region(victim, 64, "atomic", pz=pz)
    stag = region.stag ^ other if (other, offset, pz) != (0, 0, 0) else 0
    return Fault(ask(peer, stag, region.address + offset), region.untouched)


@fault(
    "Atomic of an unknown code: Terminate 0/2/6 (RFC 7306 5.2.1)",
    (OPCODE,),
    ((1,), (3,), (15,)),
    asynchronous=True,
)
def unknown_code(victim, ep, peer, code):
    region = Region(victim, 64, "atomic")
    return Fault(ask(peer, region.stag, region.address, code), region.untouched)


@fault(
    "Atomic Request of another length: Terminate 1/2/5 or 0/2/7, nothing is done",
    (TOO_LONG, CATASTROPHIC),
    ((0,), (28,), (51,), (53,), (64,), (100,)),
)
def wrong_request(victim, ep, peer, length):
    region = Region(victim, 64, "atomic")
    return Fault(ask(peer, region.stag, region.address, cut=length), region.untouched)


# ---- Atomic responses ----------------------------------------------------------------------------


def value(identifier, number=5):
    return struct.pack(">IQ", identifier, number)


@fault(
    "Atomic Response without a request: Terminate 1/2/2 (RFC 7306 5.2)",
    (NO_BUFFER, MSN_RANGE),
    ((1,), (2,)),
)
def unasked(victim, ep, peer, msn):
    segment = Segment(iwarp.ATOMIC_RESPONSE, value(1), qn=iwarp.QN_ATOMIC, msn=msn)
    peer.fpdu(segment)
    return Fault(segment)


def asked(victim, ep, peer, what="fetch_add"):
    """The provider asks; its request is not answered."""
    sink = Region(victim, 64, "local")
    stag = peer.register(64)
    peer.auto_read = False
    ep.request(what, sink, 8, 8, remote_address=0x7F0000002000, rmr_context=stag)
    peer.pump(lambda: peer.asked or peer.requests)
    return sink


@fault(
    "Atomic Response with another identifier: Terminate 1/2/2, BAD_RESPONSE",
    (NO_BUFFER, CATASTROPHIC),
    ((1,), (0x80000000,)),
    requests=[(BAD_RESPONSE,)],
)
def wrong_identifier(victim, ep, peer, other):
    sink = asked(victim, ep, peer)
    data = value(peer.asked[0].identifier ^ other)
    segment = Segment(iwarp.ATOMIC_RESPONSE, data, qn=iwarp.QN_ATOMIC, msn=1)
    peer.fpdu(segment)
    return Fault(segment, sink.untouched)


@fault(
    "Atomic Response of another length or out of sequence: the sink is untouched",
    (TOO_LONG, CATASTROPHIC, MSN_RANGE, BAD_MO),
    ((0, 1, 0), (8, 1, 0), (11, 1, 0), (13, 1, 0), (60, 1, 0), (12, 2, 0), (12, 1, 4)),
)
def wrong_response(victim, ep, peer, length, msn, mo):
    sink = asked(victim, ep, peer)
    data = (value(peer.asked[0].identifier) + bytes(100))[:length]
    segment = Segment(iwarp.ATOMIC_RESPONSE, data, qn=iwarp.QN_ATOMIC, msn=msn, mo=mo)
    peer.fpdu(segment)
    return Fault(segment, sink.untouched)


@fault(
    "The second request is answered before the first: BAD_RESPONSE, nothing is placed",
    (NO_BUFFER, TAGGED_STAG, MSN_RANGE),
    (("fetch_add", "fetch_add"), ("fetch_add", "read"), ("read", "fetch_add")),
    requests=[(BAD_RESPONSE,), (FLUSHED,)],
)
def out_of_order(victim, ep, peer, first, second):
    one = asked(victim, ep, peer, first)
    two = asked(victim, ep, peer, second)
    peer.pump(lambda: len(peer.asked) + len(peer.requests) == 2)
    if second == "read":
        request = peer.requests[-1]
        segment = Segment(
            iwarp.READ_RESPONSE, bytes(8), tagged=True, stag=request.sink_stag, to=request.sink_to
        )
    else:
        segment = Segment(
            iwarp.ATOMIC_RESPONSE,
            value(peer.asked[-1].identifier),
            qn=iwarp.QN_ATOMIC,
            msn=1,
        )
    peer.fpdu(segment)

    def untouched():
        one.untouched()
        two.untouched()

    return Fault(segment, untouched)


@fault(
    "Atomic Response twice: Terminate 1/2/2 or 1/2/3 at the second",
    (NO_BUFFER, MSN_RANGE),
    ((1,), (2,)),
)
def answered_twice(victim, ep, peer, msn):
    sink = asked(victim, ep, peer)
    peer.answer_atomic(peer.asked[0], 41)
    equal(ep.done(number=driver.IB_DTO)["status"], driver.SUCCESS, "completion")
    data = value(peer.asked[0].identifier, 42)
    segment = Segment(iwarp.ATOMIC_RESPONSE, data, qn=iwarp.QN_ATOMIC, msn=msn)
    peer.fpdu(segment)
    return Fault(segment, lambda: equal(sink.bytes(8, 8)[0], 41, "the first answer"))


driver.perform()
