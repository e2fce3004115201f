#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Writes the seeds of shm_fuzz.c into a folder: what peers do that know the memory, well and ill."""
import os
import struct
import sys

import stream_seeds

HELLO, BYTES, WRITE, FIELD, MOVE, STREAM, FPDU, TAKE, SHUT, POLL, SLEEP, SEND, WAIT, CUT, SEND_ALL = (
    bytes([deed]) for deed in range(15)
)
REFUSED, CONNECTED, CALLED = (bytes([mode]) for mode in range(3))
OWN_SENT, OTHER_SENT, OWN_ENDED, OTHER_ENDED, OWN_TAKEN, OTHER_TAKEN, OWN_BELL, OTHER_BELL = range(8)
DESCRIPTORS = 12


def hello(descriptor=0, which=255, bits=0):
    return HELLO + bytes([descriptor, which, bits])


def stream(data):
    return STREAM + struct.pack(">H", len(data)) + data


def fpdu(segment):
    payload = segment.pack()
    return FPDU + struct.pack(">H", len(payload)) + payload


def field(which, value, deed=FIELD):
    return deed + bytes([which]) + struct.pack(">I", value & 0xFFFFFFFF)


def write(offset, data):
    return WRITE + offset.to_bytes(3, "big") + bytes([len(data)]) + data


TAKEN = CALLED + write(2 * 1920 + 128 + 8, b"\1\0\0\0")  # shm_page.attached


def seeds():
    request = stream_seeds.UNCONNECTED["request-2"]
    for descriptor in range(DESCRIPTORS):
        yield f"descriptor-{descriptor}", REFUSED + hello(descriptor) + stream(request) + WAIT
        said = stream(request) + hello(descriptor)
        yield f"cut-{descriptor}", REFUSED + said + CUT + WAIT
        yield f"cut-late-{descriptor}", REFUSED + said + WAIT + CUT + WAIT + TAKE
    for which in (0, 8, 12, 16, 24):
        yield f"hello-{which}", REFUSED + hello(0, which, 1) + stream(request) + WAIT
    for name, request in stream_seeds.UNCONNECTED.items():
        yield f"refused-{name}", REFUSED + hello() + stream(request) + WAIT + TAKE
        yield f"called-{name}", TAKEN + stream(request) + WAIT + POLL
    yield "called-silent", CALLED + WAIT
    yield "called-shut", CALLED + SHUT + b"\1"
    yield "called-taken-shut", TAKEN + SHUT + b"\1"
    for name, segments in stream_seeds.CONNECTED.items():
        said = b"".join(fpdu(segment) for segment in segments)
        yield f"connected-{name}", CONNECTED + said + WAIT + POLL + TAKE
        yield f"asleep-{name}", CONNECTED + SLEEP + said + SLEEP + SEND + POLL + TAKE + WAIT
    for which in range(16):
        for value in (0, 1, 0x20000, 0x20001, 0x80000000, 0xFFFFFFFF):
            yield f"field-{which}-{value}", CONNECTED + SEND + field(which, value) + POLL + BYTES + b"\1" + SLEEP
            yield f"move-{which}-{value}", CONNECTED + field(which, value, MOVE) + SEND + BYTES + b"\1" + POLL
    ring = CONNECTED + write(0, bytes(200)) + write(0x780, bytes(200)) + write(0x1000, bytes(100)) + write(0x2700, bytes(100))
    yield "writes", ring + BYTES + b"\xff" + POLL
    yield "sends", CONNECTED + 8 * SEND + TAKE + POLL + TAKE + SHUT + b"\0" + POLL
    yield "grows", CONNECTED + 8 * SEND_ALL + 3 * (TAKE + POLL) + SLEEP + TAKE + POLL
    yield "grows-untaken", CONNECTED + 4 * SEND_ALL + TAKE + 4 * SEND_ALL + MOVE + bytes([OWN_TAKEN, 0, 0, 16, 0]) + POLL + TAKE
    yield "end", CONNECTED + field(OWN_ENDED, 1) + BYTES + b"\1" + WAIT + POLL
    yield "abort", CONNECTED + field(OWN_ENDED, 2) + BYTES + b"\1" + WAIT + POLL


def main():
    for name, seed in seeds():
        with open(os.path.join(sys.argv[1], name), "wb") as out:
            out.write(seed)


main()
