# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""DDP segments and RDMAP headers: RFC 5041 section 4, RFC 5040 section 4, RFC 7306."""
import dataclasses
import struct

from mpa import ProtocolError


WRITE, READ_REQUEST, READ_RESPONSE, SEND, SEND_INV, SEND_SE, SEND_SE_INV, TERMINATE = range(8)
SENDS = (SEND, SEND_INV, SEND_SE, SEND_SE_INV)
IMMEDIATE, IMMEDIATE_SE, ATOMIC_REQUEST, ATOMIC_RESPONSE = range(8, 12)  # RFC 7306 figure 2
QN_SEND, QN_READ, QN_TERMINATE, QN_ATOMIC = 0, 1, 2, 3
QUEUES = {
    READ_REQUEST: QN_READ,
    TERMINATE: QN_TERMINATE,
    ATOMIC_REQUEST: QN_READ,
    ATOMIC_RESPONSE: QN_ATOMIC,
}
TAGGED_HEADER, UNTAGGED_HEADER, READ_HEADER = 14, 18, 28
FETCH_ADD, CMP_SWAP = 0, 2  # RFC 7306 figure 5
ALL_ONES = (1 << 64) - 1


@dataclasses.dataclass
class Segment:
    """A DDP segment with the RDMAP control field in it."""

    opcode: int
    payload: bytes = b""
    last: bool = True
    tagged: bool = False
    stag: int = 0
    to: int = 0
    inv_stag: int = 0
    qn: int = 0
    msn: int = 0
    mo: int = 0
    dv: int = 1
    rv: int = 1
    reserved: int = 0  # the four bits of DDP's control field, RFC 5041 section 4.1

    def header(self):
        control = bytes(
            [
                self.tagged << 7 | self.last << 6 | self.reserved << 2 | self.dv,
                self.rv << 6 | self.opcode,
            ]
        )
        if self.tagged:
            return control + struct.pack(">IQ", self.stag, self.to)
        return control + struct.pack(">IIII", self.inv_stag, self.qn, self.msn, self.mo)

    def pack(self):
        return self.header() + bytes(self.payload)

    @staticmethod
    def unpack(ulpdu):
        """
        Splits and checks what RFC 5040 section 4.1 and RFC 5041 section 4 require of a sender.
        """
        if len(ulpdu) < 2:
            raise ProtocolError("RFC 5041 4.4: a ULPDU of %d octets" % len(ulpdu))
        ddp, rdmap = ulpdu[0], ulpdu[1]
        seg = Segment(
            rdmap & 15,
            last=bool(ddp & 0x40),
            tagged=bool(ddp & 0x80),
            dv=ddp & 3,
            rv=rdmap >> 6,
            reserved=ddp >> 2 & 15,
        )
        size = TAGGED_HEADER if seg.tagged else UNTAGGED_HEADER
        if len(ulpdu) < size:
            raise ProtocolError("RFC 5041 4: a header of %d octets" % len(ulpdu))
        if seg.tagged:
            seg.stag, seg.to = struct.unpack(">IQ", ulpdu[2:14])
        else:
            seg.inv_stag, seg.qn, seg.msn, seg.mo = struct.unpack(">IIII", ulpdu[2:18])
        seg.payload = ulpdu[size:]
        seg.check(rdmap)
        return seg

    def check(self, rdmap):
        if self.dv != 1:
            raise ProtocolError("RFC 5041 4.1: DDP version %d" % self.dv)
        if self.reserved:
            raise ProtocolError("RFC 5041 4.1: reserved bits %#x" % self.reserved)
        if self.rv != 1:
            raise ProtocolError("RFC 5040 4.1: RDMAP version %d" % self.rv)
        if rdmap & 0x30:
            raise ProtocolError("RFC 5040 4.1: reserved bits %#x" % rdmap)
        if self.opcode > ATOMIC_RESPONSE:
            raise ProtocolError("RFC 5040 4.1: opcode %d" % self.opcode)
        if self.tagged != (self.opcode in (WRITE, READ_RESPONSE)):
            raise ProtocolError("RFC 5040 figure 4: opcode %d, T %d" % (self.opcode, self.tagged))
        if self.tagged:
            return
        want = QUEUES.get(self.opcode, QN_SEND)
        if self.qn != want:
            raise ProtocolError("RFC 5040 figure 4: opcode %d, QN %d" % (self.opcode, self.qn))
        if self.inv_stag and self.opcode not in (SEND_INV, SEND_SE_INV):
            raise ProtocolError(
                "RFC 5040 4.1: Invalidate STag %#x in opcode %d" % (self.inv_stag, self.opcode)
            )


@dataclasses.dataclass
class ReadRequest:
    """RFC 5040 section 4.4."""

    sink_stag: int
    sink_to: int
    size: int
    src_stag: int
    src_to: int

    def pack(self):
        return struct.pack(
            ">IQIIQ", self.sink_stag, self.sink_to, self.size, self.src_stag, self.src_to
        )

    @staticmethod
    def unpack(data):
        if len(data) != READ_HEADER:
            raise ProtocolError("RFC 5040 4.4: a Read Request of %d octets" % len(data))
        return ReadRequest(*struct.unpack(">IQIIQ", data))


@dataclasses.dataclass
class Atomic:
    """An Atomic Operation Request, RFC 7306 section 5.2.1."""

    code: int
    identifier: int
    stag: int
    to: int
    data: int
    mask: int = 0
    compare: int = 0
    compare_mask: int = ALL_ONES
    LAYOUT = ">IIIQQQQQ"

    def pack(self):
        return struct.pack(
            self.LAYOUT,
            self.code,
            self.identifier,
            self.stag,
            self.to,
            self.data,
            self.mask,
            self.compare,
            self.compare_mask,
        )

    @staticmethod
    def unpack(data):
        if len(data) != 52:
            raise ProtocolError("RFC 7306 5.2.1: an Atomic Request of %d octets" % len(data))
        atomic = Atomic(*struct.unpack(Atomic.LAYOUT, data))
        if atomic.code not in (FETCH_ADD, CMP_SWAP):
            raise ProtocolError("RFC 7306 5.2.1: code or reserved bits %#x" % atomic.code)
        if atomic.code == FETCH_ADD and (atomic.compare, atomic.compare_mask) != (0, ALL_ONES):
            raise ProtocolError("RFC 7306 5.2.1: compare fields of a FetchAdd")
        if atomic.to % 8:
            raise ProtocolError("RFC 7306 5.1: an address without alignment")
        return atomic

    def result(self, old):
        """What is left where old was found, by the letter of RFC 7306 section 5.1."""
        if self.code == CMP_SWAP:
            if (self.compare ^ old) & self.compare_mask:
                return old
            return old & ~self.mask | self.data & self.mask
        new = carry = 0
        for bit in range(64):
            total = carry + (old >> bit & 1) + (self.data >> bit & 1)
            carry = total >> 1 and not self.mask >> bit & 1
            new |= (total & 1) << bit
        return new


LAYER_RDMA, LAYER_DDP, LAYER_LLP = 0, 1, 2


@dataclasses.dataclass
class Terminate:
    """RFC 5040 section 4.8."""

    layer: int
    etype: int
    code: int
    segment_length: int = None  # M
    ddp: bytes = b""  # D
    rdma: bytes = b""  # R

    def __str__(self):
        return "Terminate %d/%d/%#x" % (self.layer, self.etype, self.code)

    @property
    def cause(self):
        return (self.layer, self.etype, self.code)

    def pack(self):
        bits = (self.segment_length is not None) << 2 | bool(self.ddp) << 1 | bool(self.rdma)
        out = struct.pack(">BBBB", self.layer << 4 | self.etype, self.code, bits << 5, 0)
        if bits:
            out += struct.pack(">H", self.segment_length or 0)
        return out + self.ddp + self.rdma

    @staticmethod
    def unpack(data):
        if len(data) < 4:
            raise ProtocolError("RFC 5040 4.8: a Terminate of %d octets" % len(data))
        first, code, bits, reserved = data[:4]
        term = Terminate(first >> 4, first & 15, code)
        if bits & 0x1F or reserved:
            raise ProtocolError("RFC 5040 4.8: reserved bits set in %s" % data[:4].hex())
        rest = data[4:]
        if bits & 0xC0:
            term.segment_length, rest = term.take_length(rest)
        if bits & 0x40:
            size = TAGGED_HEADER if rest and rest[0] & 0x80 else UNTAGGED_HEADER
            term.ddp, rest = term.take(rest, size)
        if bits & 0x20:
            term.rdma, rest = term.take(rest, READ_HEADER)
        # RFC 5040 section 7.1 sets absent header fields to zero; trailing zeroes are harmless.
        if any(rest):
            raise ProtocolError("RFC 5040 4.8: %d octets behind a Terminate" % len(rest))
        if not bits & 0x80:
            term.segment_length = None
        return term

    def take_length(self, rest):
        raw, rest = self.take(rest, 2)
        return struct.unpack(">H", raw)[0], rest

    @staticmethod
    def take(rest, count):
        if len(rest) < count:
            raise ProtocolError("RFC 5040 4.8: the Terminate ends within its headers")
        return rest[:count], rest[count:]
