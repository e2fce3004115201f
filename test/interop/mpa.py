# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""
The lower half of an iWARP peer: TCP sockets with deadlines, and MPA (RFC 5044, RFC 6581) on them.

As strict about what it receives, and as willing to send what is wrong, as iwarp.py above it.
"""
import dataclasses
import errno
import select
import socket
import struct
import time


class ProtocolError(Exception):
    """The other side broke an RFC."""


class Deadline(Exception):
    """Nothing came within the time given."""


class Closed(Exception):
    """
    The TCP connection ended; how is "fin" or "rst", within is the number of octets of a cut record.
    """

    def __init__(self, how, within=0):
        super().__init__("%s after %d octets of a record" % (how, within))
        self.how = how
        self.within = within


# ---- CRC-32C, RFC 5044 section 4.4 ---------------------------------------------------------------


def _crc_table():
    table = []
    for i in range(256):
        c = i
        for _ in range(8):
            c = (c >> 1) ^ (0x82F63B78 if c & 1 else 0)
        table.append(c)
    return table


_CRC = _crc_table()


def crc32c(data):
    c = 0xFFFFFFFF
    table = _CRC
    for octet in data:
        c = table[(c ^ octet) & 0xFF] ^ (c >> 8)
    return c ^ 0xFFFFFFFF


def crc_octets(data):
    """
    The sum as it stands on the wire: RFC 5044 figure 5 shows the least significant octet first.
    """
    return struct.pack("<I", crc32c(data))


# ---- Sockets with deadlines ----------------------------------------------------------------------


class Wire:
    """A connected TCP socket; every operation has a deadline."""

    def __init__(self, sock):
        self.sock = sock
        sock.setblocking(False)
        try:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        except OSError:
            pass

    @staticmethod
    def connect(address, port, timeout=10.0, rcvbuf=0, maxseg=0):
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        sock = socket.socket(family, socket.SOCK_STREAM)
        if rcvbuf:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, rcvbuf)
        if maxseg:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, maxseg)
        sock.settimeout(timeout)
        sock.connect((address, port))
        return Wire(sock)

    def send(self, data, timeout=10.0):
        """Sends everything; Closed if the other side is gone."""
        end = time.monotonic() + timeout
        view = memoryview(data)
        while view:
            try:
                view = view[self.sock.send(view) :]
            except BlockingIOError:
                left = end - time.monotonic()
                if left <= 0 or not select.select([], [self.sock], [], left)[1]:
                    raise Deadline("%d octets unsent" % len(view)) from None
            except OSError as err:
                raise Closed("rst") from err

    def recv_exact(self, count, timeout, within=0):
        """Exactly count octets; within says how many octets of the record came before."""
        end = time.monotonic() + timeout
        data = bytearray()
        while len(data) < count:
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.sock], [], [], left)[0]:
                raise Deadline("%d of %d octets" % (len(data), count))
            try:
                piece = self.sock.recv(min(count - len(data), 1 << 20))
            except BlockingIOError:
                continue
            except OSError as err:
                if err.errno in (errno.ECONNRESET, errno.EPIPE, errno.ETIMEDOUT):
                    raise Closed("rst", within + len(data)) from err
                raise
            if not piece:
                raise Closed("fin", within + len(data))
            data += piece
        return bytes(data)

    def readable(self, timeout=0.0):
        return bool(select.select([self.sock], [], [], timeout)[0])

    def shutdown(self):
        """Sends FIN, keeps receiving."""
        try:
            self.sock.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def close(self):
        self.sock.close()

    def reset(self):
        """Sends RST, as the system of a killed process with unread data does."""
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.sock.close()


def listen(address="127.0.0.1", backlog=8, rcvbuf=0, maxseg=0):
    sock = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_STREAM)
    if rcvbuf:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, rcvbuf)
    if maxseg:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, maxseg)
    sock.bind((address, 0))
    sock.listen(backlog)
    return sock


def accept(listener, timeout=10.0):
    if not select.select([listener], [], [], timeout)[0]:
        raise Deadline("nobody connected")
    return Wire(listener.accept()[0])


# ---- MPA connection set-up: RFC 5044 section 7.1, RFC 6581 sections 6 and 9 ----------------------

REQUEST_KEY = bytes.fromhex("4D504120494420526571204672616D65")
REPLY_KEY = bytes.fromhex("4D504120494420526570204672616D65")
MAX_PRIVATE_DATA = 512

RTR_SEND, RTR_WRITE, RTR_READ = "send", "write", "read"


@dataclasses.dataclass
class Startup:
    """An MPA Request or Reply Frame."""

    request: bool = True
    markers: bool = False
    crc: bool = True
    reject: bool = False
    rev: int = 2
    private_data: bytes = b""
    enhanced: bool = True  # S: the private data begins with the words of RFC 6581 section 9
    ird: int = 4
    ord: int = 4
    peer_to_peer: bool = False  # control flag A
    rtr: tuple = ()  # control flags B, C, D
    large: bool = False  # a reserved bit: takes FPDUs larger than a TCP segment, as soft-iWARP says it

    def pack(self):
        data = self.private_data
        flags = self.markers << 7 | self.crc << 6 | self.reject << 5 | self.large << 3
        if self.enhanced and self.rev >= 2:
            flags |= 1 << 4
            word = self.peer_to_peer << 31 | (RTR_SEND in self.rtr) << 30 | self.ird << 16
            word |= (RTR_WRITE in self.rtr) << 15 | (RTR_READ in self.rtr) << 14 | self.ord
            data = struct.pack(">I", word) + data
        key = REQUEST_KEY if self.request else REPLY_KEY
        return key + struct.pack(">BBH", flags, self.rev, len(data)) + data

    @staticmethod
    def receive(wire, request, timeout=10.0):
        """Reads and checks the other side's frame; request says which kind it has to be."""
        head = wire.recv_exact(20, timeout)
        want = REQUEST_KEY if request else REPLY_KEY
        if head[:16] != want:
            raise ProtocolError("RFC 5044 7.1.1: key %r" % head[:16])
        flags, rev, length = struct.unpack(">BBH", head[16:])
        if length > MAX_PRIVATE_DATA:
            raise ProtocolError("RFC 5044 7.1.1: PD_Length %d" % length)
        if request and flags & 0x20:
            raise ProtocolError("RFC 5044 7.1.1: R set in a request")
        if flags & 0x07 or (flags & 0x18 and rev < 2):
            raise ProtocolError("RFC 5044 7.1.1: reserved bits %#x set" % flags)
        frame = Startup(
            request,
            bool(flags & 0x80),
            bool(flags & 0x40),
            bool(flags & 0x20),
            rev,
            wire.recv_exact(length, timeout, 20),
            bool(flags & 0x10),
            large=bool(flags & 0x08),
        )
        if frame.enhanced:
            frame.take_words()
        return frame

    def answer(self, **changes):
        """The reply that accepts this request, in its revision, with some fields changed."""
        reply = Startup(
            False,
            False,
            self.crc,
            False,
            self.rev,
            b"",
            self.enhanced,
            self.ord,
            self.ird,
            self.peer_to_peer,
            self.rtr,
        )
        return dataclasses.replace(reply, **changes)

    def take_words(self):
        if len(self.private_data) < 4:
            raise ProtocolError("RFC 6581 6: S set without the enhanced data")
        word = struct.unpack(">I", self.private_data[:4])[0]
        self.private_data = self.private_data[4:]
        self.peer_to_peer = bool(word >> 31)
        self.ird = word >> 16 & 0x3FFF
        self.ord = word & 0x3FFF
        flags = ((RTR_SEND, 30), (RTR_WRITE, 15), (RTR_READ, 14))
        self.rtr = tuple(name for name, bit in flags if word >> bit & 1)
        if self.rtr and not self.peer_to_peer:
            raise ProtocolError("RFC 6581 9.2: B, C or D set without A")


# ---- FPDUs: RFC 5044 section 4 -------------------------------------------------------------------


class FpduSender:
    """Makes FPDUs; keeps the position in the stream for markers (section 4.3)."""

    def __init__(self, markers=False):
        self.markers = markers
        self.position = 0

    def encode(self, ulpdu, crc_error=0, length=None):
        body = struct.pack(">H", len(ulpdu) if length is None else length) + bytes(ulpdu)
        body += bytes(-len(body) % 4)
        out = bytearray()
        start = self._marker(out, None)
        while body:
            take = 512 - self.position % 512 if self.markers else len(body)
            out += body[:take]
            self.position += len(body[:take])
            body = body[take:]
            self._marker(out, start)
        crc = struct.unpack(">I", crc_octets(out))[0] ^ crc_error
        self.position += 4
        return bytes(out) + struct.pack(">I", crc)

    def _marker(self, out, start):
        """Inserts a marker where one is due; returns where the FPDU starts."""
        if self.markers and self.position % 512 == 0:
            out += struct.pack(">HH", 0, 0 if start is None else self.position - start)
            self.position += 4
        return self.position if start is None else start


class FpduReceiver:
    """Takes FPDUs off a wire and checks them."""

    def __init__(self, wire, crc, markers=False):
        self.wire = wire
        self.crc = crc
        self.markers = markers
        self.position = 0
        self.record = bytearray()
        self.start = 0

    def _octets(self, count, timeout):
        """count octets of content, markers taken out and checked."""
        content = b""
        while True:
            if self.markers and self.position % 512 == 0:
                self._marker(timeout)
            take = min(count, 512 - self.position % 512) if self.markers else count
            piece = self.wire.recv_exact(take, timeout, len(self.record))
            self.record += piece
            self.position += take
            content += piece
            count -= take
            if not count:
                return content

    def _marker(self, timeout):
        raw = self.wire.recv_exact(4, timeout, len(self.record))
        reserved, pointer = struct.unpack(">HH", raw)
        before = not self.record
        want = 0 if before else self.position - self.start
        if reserved or pointer != want:
            raise ProtocolError("RFC 5044 4.3: marker %s, pointer should be %d" % (raw.hex(), want))
        self.record += raw
        self.position += 4
        if before:
            self.start = self.position

    def receive(self, timeout):
        """The next ULPDU. Closed with within 0 is an end between FPDUs."""
        self.record = bytearray()
        self.start = self.position
        head = self._octets(4, timeout)
        length = struct.unpack(">H", head[:2])[0]
        padded = -(-(length + 2) // 4) * 4
        rest = self._octets(padded - 4, timeout) if padded > 4 else b""
        body = (head + rest)[2:]
        if any(body[length:]):
            raise ProtocolError("RFC 5044 4.1: the pad is not zero")
        if self.markers and self.position % 512 == 0:
            self._marker(timeout)
        want = crc_octets(self.record) if self.crc else None
        crc = self.wire.recv_exact(4, timeout, len(self.record))
        self.position += 4
        if self.crc and crc != want:
            raise ProtocolError("RFC 5044 4.4: CRC %s, should be %s" % (crc.hex(), want.hex()))
        return body[:length]
