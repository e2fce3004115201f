#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Writes the seeds of stream_fuzz.c into a folder: what a peer says that knows the RFCs."""
import os
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "interop"))
import iwarp  # noqa: E402
from iwarp import Atomic, ReadRequest, Segment, Startup, Terminate  # noqa: E402

STAG = int.from_bytes(b"STAG", "big")
REGION = 20480  # of soft_attacked.c


def base(offset=0):
    return int.from_bytes(b"TOBASE", "big") << 16 | offset


def send(opcode, msn, payload, mo=0, last=True, inv_stag=0):
    return Segment(opcode, payload, last=last, qn=iwarp.QN_SEND, msn=msn, mo=mo, inv_stag=inv_stag)


def write(payload, offset=0, last=True):
    return Segment(iwarp.WRITE, payload, last=last, tagged=True, stag=STAG, to=base(offset))


def response(payload, offset):
    return Segment(iwarp.READ_RESPONSE, payload, last=True, tagged=True, stag=STAG, to=base(offset))


def read(msn, offset, size):
    request = ReadRequest(0x77, 0x1000, size, STAG, base(offset))
    return Segment(iwarp.READ_REQUEST, request.pack(), qn=iwarp.QN_READ, msn=msn)


def atomic(msn, operation):
    request = Atomic(operation, 5, STAG, base(8), 1)
    return Segment(iwarp.ATOMIC_REQUEST, request.pack(), qn=iwarp.QN_READ, msn=msn)


CONNECTED = {
    "nothing": [],
    "sends": [send(iwarp.SEND, 1, b"one"), send(iwarp.SEND_SE, 2, b""), send(iwarp.SEND, 3, bytes(64))],
    "send-in-two": [send(iwarp.SEND, 1, b"first", last=False), send(iwarp.SEND, 1, b"second", mo=5)],
    "send-too-long": [send(iwarp.SEND, 1, bytes(65))],
    "sends-too-many": [send(iwarp.SEND, i, b"x") for i in range(1, 7)],
    "invalidate": [send(iwarp.SEND_INV, 1, b"gone", inv_stag=STAG)],
    "writes": [write(bytes(100)), write(b"tail", REGION - 4), write(b"half", 8, last=False), write(b"", 12)],
    "write-beyond": [write(bytes(9), REGION - 8)],
    "reads": [read(1, 0, 64), read(2, REGION - 1, 1), read(3, 0, 0)],
    "read-beyond": [read(1, REGION - 6, 64)],
    "responses": [send(iwarp.SEND, 1, b"go"), response(bytes(64), 512)],
    "atomics": [atomic(1, iwarp.FETCH_ADD), atomic(2, iwarp.CMP_SWAP)],
    "immediate": [Segment(iwarp.IMMEDIATE, bytes(8), qn=iwarp.QN_SEND, msn=1)],
    "terminate": [Segment(iwarp.TERMINATE, Terminate(0, 1, 4).pack(), qn=iwarp.QN_TERMINATE, msn=1)],
}
UNCONNECTED = {
    "request-1": Startup(rev=1, enhanced=False).pack(),
    "request-2": Startup().pack(),
    "request-data": Startup(private_data=bytes(64)).pack(),
    "request-p2p": Startup(peer_to_peer=True, rtr=(iwarp.RTR_SEND, iwarp.RTR_READ)).pack(),
    "reply": Startup(request=False).pack(),
}


def main():
    for name, segments in CONNECTED.items():
        payloads = [segment.pack() for segment in segments]
        with open(os.path.join(sys.argv[1], name), "wb") as seed:
            seed.write(b"\1" + b"".join(struct.pack(">H", len(p)) + p for p in payloads))
    for name, stream in UNCONNECTED.items():
        with open(os.path.join(sys.argv[1], name), "wb") as seed:
            seed.write(b"\0" + stream)


if __name__ == "__main__":
    main()
