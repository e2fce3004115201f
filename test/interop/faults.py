# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""One fault of a peer on an established connection, and what is due for it."""
import driver
import iwarp
from driver import BROKEN, establish
from iwarp import Segment
from tap import case, check, equal, one_of


class Fault:
    """What a case did: the segment that is at fault, and what to look at afterwards."""

    def __init__(self, segment=None, after=None):
        self.segment = segment
        self.after = after


def headers_returned(term, segment):
    """RFC 5040 7.1: the length and the headers of the segment at fault come back."""
    if term.layer == iwarp.LAYER_LLP:
        check(not term.ddp and not term.rdma, "headers in a Terminate of MPA (RFC 5040 figure 10)")
        return
    if term.etype == 0 or not segment:
        return
    check(term.ddp, "the DDP header is missing in the %s (RFC 5040 7.1)", term)
    equal(term.ddp, segment.header(), "terminated DDP header")
    equal(term.segment_length, len(segment.pack()), "DDP segment length")
    if term.layer == iwarp.LAYER_RDMA and term.etype == 1 and segment.opcode == iwarp.READ_REQUEST:
        equal(term.rdma, segment.payload, "terminated RDMA header (RFC 5040 4.8)")


def misbehave(victim, role, function, causes, variant, rules, asynchronous, options):
    ep, peer = establish(victim, role, **options)
    fault = function(victim, ep, peer, *variant) or Fault()
    term, how, cut = peer.until_end()
    check(
        term,
        "no Terminate, the stream ended by %s after %d octets of an FPDU (RFC 5040 7.1)",
        how,
        cut,
    )
    one_of(term.cause, causes, "cause of the Terminate %s" % (variant,))
    headers_returned(term, fault.segment)
    peer.wire.close()
    ep.ended((BROKEN,), *rules)
    if asynchronous:
        event = victim.async_event()
        equal(event["event"], driver.EP_BROKEN, "asynchronous event (DTO-84, DTO-87)")
        equal(int(event["ep"]), ep.number, "EP of the asynchronous event")
        one_of(event["reason"], ("0", "1"), "reason (DTO-87)")
    if fault.after:
        fault.after()
    victim.clean()


def fault(
    title, causes, variants=((),), first=None, asynchronous=False, requests=None, **options
):
    """
    A case for each role of the peer. function(victim, ep, peer, *variant) commits the fault; the
    Terminate has to name one of causes; first are the statuses allowed for the oldest Receive
    (FLUSHED if not given), requests those for the requests.
    """

    def mark(function):
        for role in ("initiates", "responds"):

            def one(victim, role=role):
                for variant in variants:
                    misbehave(
                        victim,
                        role,
                        function,
                        causes,
                        variant,
                        (first, requests),
                        asynchronous,
                        options,
                    )

            case("%s, peer %s" % (title, role))(one)
        return function

    return mark


def last_segment(peer, segments, **wrong):
    for segment in segments:
        peer.fpdu(segment, **(wrong if segment is segments[-1] else {}))
    return segments[-1]


def write_segment(stag, to, payload=b"evil", **fields):
    return Segment(iwarp.WRITE, payload, tagged=True, stag=stag, to=to & (1 << 64) - 1, **fields)
