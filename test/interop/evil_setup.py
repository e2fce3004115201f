# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""What the tests of connection set-up with peers that do not keep to it share."""
import random

import driver
import iwarp
from driver import establish
from iwarp import REQUEST_KEY
from tap import check, equal

NON_PEER_REJECTED = driver.NON_PEER_REJECTED
PATIENCE_MS = 20000  # the deadline of connection set-up, far off so that it explains no other end
HANDSHAKE_MS = 2000  # the same for the cases that wait until it is over
HTTP = b"GET / HTTP/1.1\r\nHost: localhost\r\nUser-Agent: evil\r\n\r\n"
HTTP_REPLY = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
TLS = bytes.fromhex("1603010200010001fc0303") + bytes(range(200))


def raw_frame(key, rev, length, data=b"", flags=0x40):
    return key + bytes([flags, rev]) + length.to_bytes(2, "big") + data


def bad_frames(key, other):
    """(name, octets) of everything that is not a startup frame with this key (RFC 5044 7.1.1)."""
    dice = random.Random(5044)
    wrong = bytearray(key)
    wrong[15] ^= 1
    yield "HTTP", HTTP if key == REQUEST_KEY else HTTP_REPLY
    yield "TLS", TLS
    yield "random octets", dice.randbytes(4096)
    yield "twenty random octets", dice.randbytes(20)
    yield "zeroes", bytes(64)
    yield "a wrong key", raw_frame(bytes(wrong), 1, 0)
    yield "the key of the other side", raw_frame(other, 1, 0)
    yield "revision 0", raw_frame(key, 0, 0)
    yield "revision 255", raw_frame(key, 255, 0)
    yield "513 octets of private data", raw_frame(key, 1, 513, bytes(513))
    yield "65535 octets of private data", raw_frame(key, 2, 65535, bytes(65535))
    for length in range(4):
        yield "S with %d octets" % length, raw_frame(key, 2, length, bytes(length), 0x50)


def ends(wire, timeout):
    """The stream ends without an octet."""
    try:
        got = wire.recv_exact(1, timeout)
        check(False, "the provider answered %s", got.hex())
    except iwarp.Closed:
        pass
    except iwarp.Deadline:
        check(False, "still open after %.1f s", timeout)


def hasty(**settings):
    """The case has a victim of its own, whose connection set-up is soon over."""

    def mark(function):
        environment = dict(settings, DAPL_SOFT_HANDSHAKE=str(HANDSHAKE_MS))
        return lambda _: driver.once(function, environment=environment)

    return mark


def still_serves(victim):
    """The service point takes a proper connection."""
    ep, peer = establish(victim, "initiates")
    peer.send(b"still here")
    equal(ep.received(), b"still here", "message")
    peer.wire.close()
    ep.ended((driver.DISCONNECTED,))
