# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""
An iWARP peer: DDP (RFC 5041) and RDMAP (RFC 5040, RFC 7306; ddp.py) over MPA (mpa.py).

Written from the RFCs alone and sharing nothing with the library, so that the two prove each other.
It is strict about what it receives: whatever an RFC forbids raises ProtocolError with the section.
What it sends is as right or as wrong as the caller asks.
"""
import collections
import dataclasses
import struct
import time

from ddp import (  # noqa: F401, as below
    ALL_ONES,
    ATOMIC_REQUEST,
    ATOMIC_RESPONSE,
    CMP_SWAP,
    FETCH_ADD,
    IMMEDIATE,
    IMMEDIATE_SE,
    LAYER_DDP,
    LAYER_LLP,
    LAYER_RDMA,
    QN_ATOMIC,
    QN_READ,
    QN_SEND,
    QN_TERMINATE,
    QUEUES,
    READ_HEADER,
    READ_REQUEST,
    READ_RESPONSE,
    SEND,
    SENDS,
    SEND_INV,
    SEND_SE,
    SEND_SE_INV,
    TAGGED_HEADER,
    TERMINATE,
    UNTAGGED_HEADER,
    WRITE,
    Atomic,
    ReadRequest,
    Segment,
    Terminate,
)
from mpa import (  # noqa: F401, what stands above MPA is used with it
    REPLY_KEY,
    REQUEST_KEY,
    RTR_READ,
    RTR_SEND,
    RTR_WRITE,
    Closed,
    Deadline,
    FpduReceiver,
    FpduSender,
    ProtocolError,
    Startup,
    Wire,
    accept,
    crc32c,
    crc_octets,
    listen,
)

# ---- A peer --------------------------------------------------------------------------------------


@dataclasses.dataclass
class Region:
    """Memory the other side may reach; it is addressed from base on."""

    data: bytearray
    base: int
    read: bool = True
    write: bool = True

    def offset(self, to, length):
        if to < self.base or to + length > self.base + len(self.data):
            raise ProtocolError("RFC 5041 7.1: [%#x, +%d) is out of the buffer" % (to, length))
        return to - self.base


@dataclasses.dataclass
class Message:
    """A received Send."""

    data: bytes
    opcode: int
    inv_stag: int


class Peer:
    """One end of an RDMAP stream."""

    def __init__(self, wire, crc=True, send_markers=False, want_markers=False, mulpdu=1460):
        self.wire = wire
        self.out = FpduSender(send_markers)
        self.inward = FpduReceiver(wire, crc, want_markers)
        self.mulpdu = mulpdu
        self.tx_msn = collections.Counter()
        self.rx_msn = collections.Counter()
        self.regions = {}
        self.next_stag = 0x51A60
        self.reads = collections.deque()  # requests of ours the other side has not answered
        self.requests = collections.deque()  # the other side's, while auto_read is off
        self.auto_read = True
        self.atomics = collections.deque()  # identifiers the other side has not answered
        self.values = collections.deque()  # and what it answered
        self.asked = collections.deque()  # atomics of the other side, in the order they came
        self.inbox = collections.deque()
        self.terminated = None
        self.partial = {}  # queue -> what has come of its message
        self.tagged = None  # where the next segment of a tagged message has to go on
        self.seen = collections.Counter()  # opcodes of received segments

    # -- set-up --

    @classmethod
    def initiate(cls, wire, frame=None, timeout=10.0, rtr=None, between=None, **options):
        """
        Runs the initiator's side; between() is called when the request is out. The frames are in
        .request and .reply.
        """
        frame = frame or Startup()
        wire.send(frame.pack())
        if between:
            between()
        reply = Startup.receive(wire, False, timeout)
        if reply.rev != frame.rev and not (frame.rev > 2 > reply.rev):
            raise ProtocolError(
                "RFC 6581 10: revision %d answered with %d" % (frame.rev, reply.rev)
            )
        if frame.rev >= 2 and frame.enhanced != reply.enhanced:
            raise ProtocolError(
                "RFC 6581 10: S %d answered with %d" % (frame.enhanced, reply.enhanced)
            )
        if reply.enhanced and not reply.reject and reply.peer_to_peer != frame.peer_to_peer:
            raise ProtocolError(
                "RFC 6581 9.2: A %d answered with %d" % (frame.peer_to_peer, reply.peer_to_peer)
            )
        if reply.enhanced and not reply.reject and reply.peer_to_peer and not reply.rtr:
            raise ProtocolError("RFC 6581 9.2: no RTR option in the reply")
        peer = cls(wire, frame.crc or reply.crc, reply.markers, frame.markers, **options)
        peer.request, peer.reply = frame, reply
        if reply.enhanced and reply.peer_to_peer and not reply.reject:
            choice = [r for r in (rtr or reply.rtr) if r in reply.rtr and r in frame.rtr]
            if choice:
                peer.send_rtr(choice[0])
        return peer

    @classmethod
    def respond(cls, wire, frame=None, timeout=10.0, **options):
        """
        Runs the responder's side; frame is the reply to give, or a function of the request that
        makes it, None for a fitting one.
        """
        request = Startup.receive(wire, True, timeout)
        frame = frame or Startup.answer
        if callable(frame):
            frame = frame(request)
        wire.send(frame.pack())
        peer = cls(wire, frame.crc or request.crc, request.markers, frame.markers, **options)
        peer.request, peer.reply = request, frame
        return peer

    def send_rtr(self, kind):
        """RFC 6581 section 9.2: the zero-length message that says the initiator is ready."""
        if kind == RTR_SEND:
            self.send(b"")
        elif kind == RTR_WRITE:
            self.write(0, 0, b"")
        else:
            self.read_post(0, 0, 0, 0, 0)
            self.finish_read()

    def expect_rtr(self, timeout=10.0):
        """Takes the ready-to-receive message of the initiator; returns its kind."""
        segment = self.handle(timeout)
        kind = {SEND: RTR_SEND, WRITE: RTR_WRITE, READ_REQUEST: RTR_READ}.get(segment.opcode)
        if kind not in self.reply.rtr or not segment.last:
            raise ProtocolError(
                "RFC 6581 9.2: opcode %d instead of an RTR of %s" % (segment.opcode, self.reply.rtr)
            )
        empty = len(segment.payload) == (READ_HEADER if kind == RTR_READ else 0)
        if not empty or (kind == RTR_READ and ReadRequest.unpack(segment.payload).size):
            raise ProtocolError("RFC 6581 9.2: an RTR with content")
        if kind == RTR_SEND:
            self.inbox.pop()
        return kind

    # -- sending --

    def fpdu(self, segment, **wrong):
        self.wire.send(self.out.encode(segment.pack(), **wrong))

    def pieces(self, data, header):
        """(offset, piece, last) of a message in segments of at most mulpdu octets."""
        room = self.mulpdu - header
        if not data:
            yield 0, b"", True
        for at in range(0, len(data), room):
            yield at, data[at : at + room], at + room >= len(data)

    def untagged(self, opcode, qn, data, inv_stag=0):
        """The segments of an untagged message, with the next sequence number of its queue."""
        self.tx_msn[qn] += 1
        return [
            Segment(opcode, piece, last, inv_stag=inv_stag, qn=qn, msn=self.tx_msn[qn], mo=at)
            for at, piece, last in self.pieces(data, UNTAGGED_HEADER)
        ]

    def tagged_segments(self, opcode, stag, to, data):
        return [
            Segment(opcode, piece, last, True, stag, to + at & (1 << 64) - 1)
            for at, piece, last in self.pieces(data, TAGGED_HEADER)
        ]

    def send(self, data, opcode=SEND, inv_stag=0):
        for segment in self.untagged(opcode, QN_SEND, data, inv_stag):
            self.fpdu(segment)

    def write(self, stag, to, data):
        for segment in self.tagged_segments(WRITE, stag, to, data):
            self.fpdu(segment)

    def respond_read(self, request, data=None):
        if data is None:
            data = b""
            if request.size:
                region = self.region(request.src_stag)
                if not region.read:
                    raise ProtocolError("RFC 5040 4.8: a read without the right")
                at = region.offset(request.src_to, request.size)
                data = bytes(region.data[at : at + request.size])
        for segment in self.tagged_segments(
            READ_RESPONSE, request.sink_stag, request.sink_to, data
        ):
            self.fpdu(segment)

    def terminate(self, term):
        data = term if isinstance(term, bytes) else term.pack()
        for segment in self.untagged(TERMINATE, QN_TERMINATE, data):
            self.fpdu(segment)

    def register(self, size, base=None, data=None, **rights):
        """A region of ours; returns its tag."""
        stag = self.next_stag
        self.next_stag += 0x101
        self.regions[stag] = Region(
            bytearray(data or bytes(size)),
            0x7F0000001000 + stag if base is None else base,
            **rights
        )
        return stag

    def region(self, stag):
        if stag not in self.regions:
            raise ProtocolError("RFC 5041 7.1: unknown STag %#x" % stag)
        return self.regions[stag]

    def read_post(self, sink_stag, sink_to, size, src_stag, src_to):
        request = ReadRequest(sink_stag, sink_to, size, src_stag, src_to)
        for segment in self.untagged(READ_REQUEST, QN_READ, request.pack()):
            self.fpdu(segment)
        self.reads.append([request, 0])

    def finish_read(self, timeout=10.0):
        """Waits until the oldest read of ours is complete."""
        want = len(self.reads) - 1
        self.pump(lambda: len(self.reads) <= want, timeout)

    def read(self, src_stag, src_to, size, timeout=10.0):
        """Reads remote memory and returns it."""
        stag = self.register(max(size, 1))
        self.read_post(stag, self.regions[stag].base, size, src_stag, src_to)
        self.pump(lambda: not self.reads, timeout)
        return bytes(self.regions.pop(stag).data[:size])

    def immediate(self, data, solicited=False):
        """RFC 7306 section 6: eight octets on the queue of Sends."""
        for segment in self.untagged(IMMEDIATE_SE if solicited else IMMEDIATE, QN_SEND, data):
            self.fpdu(segment)

    def atomic_post(self, atomic):
        for segment in self.untagged(ATOMIC_REQUEST, QN_READ, atomic.pack()):
            self.fpdu(segment)
        self.atomics.append(atomic.identifier)

    def atomic(self, *fields, timeout=10.0):
        """One operation on remote memory; returns what was there. fields as of Atomic."""
        fields = list(fields)
        fields.insert(1, 0xA70000 + self.tx_msn[QN_READ])
        self.atomic_post(Atomic(*fields))
        self.pump(lambda: not self.atomics, timeout)
        return self.values.pop()

    def answer_atomic(self, atomic, value):
        data = struct.pack(">IQ", atomic.identifier, value)
        for segment in self.untagged(ATOMIC_RESPONSE, QN_ATOMIC, data):
            self.fpdu(segment)

    def do_atomic(self, atomic):
        """Executes one of the other side in a region of ours, whose host is a little endian one."""
        region = self.region(atomic.stag)
        at = region.offset(atomic.to, 8)
        old = struct.unpack_from("<Q", region.data, at)[0]
        struct.pack_into("<Q", region.data, at, atomic.result(old))
        self.answer_atomic(atomic, old)

    # -- receiving --

    def pump(self, done, timeout=10.0):
        """Handles FPDUs until done() is true."""
        end = time.monotonic() + timeout
        while not done():
            left = end - time.monotonic()
            if left <= 0:
                raise Deadline("waited %.1f s" % timeout)
            if self.terminated:
                raise ProtocolError("ended by %s" % self.terminated)
            self.handle(left)

    def handle(self, timeout=10.0):
        """Receives, checks and executes one FPDU; returns its segment."""
        segment = Segment.unpack(self.inward.receive(timeout))
        if self.terminated:
            raise ProtocolError("RFC 5040 5.4: a message behind the Terminate")
        self.seen[segment.opcode] += 1
        if segment.tagged:
            self.place(segment)
        else:
            self.untagged_arrived(segment)
        return segment

    def place(self, segment):
        if not segment.payload and not segment.last:
            raise ProtocolError("RFC 5041 5.2: an empty segment within a message")
        if not segment.payload and segment.last and not self.tagged:
            if segment.opcode == READ_RESPONSE:  # STag and TO are not checked, RFC 5041 section 5.2
                self.read_progress(segment)
            return
        at = (segment.opcode, segment.stag, segment.to)
        if self.tagged and at != self.tagged:
            raise ProtocolError("RFC 5041 5.2: segment %s, expected %s" % (at, self.tagged))
        region = self.region(segment.stag)
        if segment.opcode == WRITE and not region.write:
            raise ProtocolError("RFC 5041 7.1: a write without the right")
        start = region.offset(segment.to, len(segment.payload))
        if segment.opcode == READ_RESPONSE:
            self.read_progress(segment)
        region.data[start : start + len(segment.payload)] = segment.payload
        self.tagged = (
            None
            if segment.last
            else (segment.opcode, segment.stag, segment.to + len(segment.payload))
        )

    def read_progress(self, segment):
        if not self.reads:
            raise ProtocolError("RFC 5040 5.2.2: a Read Response without a request")
        request, done = self.reads[0]
        if segment.payload and (segment.stag, segment.to) != (
            request.sink_stag,
            request.sink_to + done,
        ):
            raise ProtocolError("RFC 5040 5.2.2: a Read Response for another place")
        done += len(segment.payload)
        self.reads[0][1] = done
        if done > request.size or segment.last != (done == request.size):
            raise ProtocolError(
                "RFC 5040 5.2.2: a Read Response of %d of %d octets, L %d"
                % (done, request.size, segment.last)
            )
        if segment.last:
            self.reads.popleft()

    def untagged_arrived(self, segment):
        qn = segment.qn
        so_far, opcode = self.partial.pop(qn, (b"", segment.opcode))
        if not so_far and segment.mo == 0:
            self.rx_msn[qn] += 1
        if segment.msn != self.rx_msn[qn]:
            raise ProtocolError(
                "RFC 5041 4.3: MSN %d of QN %d, expected %d" % (segment.msn, qn, self.rx_msn[qn])
            )
        if segment.mo != len(so_far) or segment.opcode != opcode:
            raise ProtocolError("RFC 5041 5.2: MO %d, expected %d" % (segment.mo, len(so_far)))
        if not segment.last and not segment.payload:
            raise ProtocolError("RFC 5041 5.2: an empty segment within a message")
        data = so_far + segment.payload
        if not segment.last:
            self.partial[qn] = (data, opcode)
        else:
            self.delivered(opcode, data, segment)

    def delivered(self, opcode, data, segment):
        if opcode == TERMINATE:
            self.terminated = Terminate.unpack(data)
        elif opcode == READ_REQUEST:
            request = ReadRequest.unpack(data)
            if self.auto_read:
                self.respond_read(request)
            else:
                self.requests.append(request)
        elif opcode == ATOMIC_REQUEST:
            self.asked.append(Atomic.unpack(data))
            if self.auto_read:
                self.do_atomic(self.asked[-1])
        elif opcode == ATOMIC_RESPONSE:
            self.answered(data)
        else:
            if opcode in (IMMEDIATE, IMMEDIATE_SE) and len(data) != 8:
                raise ProtocolError("RFC 7306 6.3: immediate data of %d octets" % len(data))
            self.inbox.append(Message(data, opcode, segment.inv_stag))

    def answered(self, data):
        if len(data) != 12:
            raise ProtocolError("RFC 7306 5.2.2: an Atomic Response of %d octets" % len(data))
        identifier, value = struct.unpack(">IQ", data)
        if not self.atomics or identifier != self.atomics[0]:
            raise ProtocolError("RFC 7306 5.2.2: identifier %#x was not asked for" % identifier)
        self.atomics.popleft()
        self.values.append(value)

    def recv(self, timeout=10.0):
        """The next message sent to us."""
        self.pump(lambda: self.inbox, timeout)
        return self.inbox.popleft()

    def until_end(self, timeout=10.0):
        """
        Receives to the end of the stream; (Terminate or None, "fin" or "rst", octets of a cut
        FPDU).
        """
        end = time.monotonic() + timeout
        while True:
            try:
                self.handle(max(end - time.monotonic(), 0.01))
            except Closed as how:
                return self.terminated, how.how, how.within
