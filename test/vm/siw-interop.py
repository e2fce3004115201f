#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""
The soft provider on one host talks iWARP with the kernel's soft-iWARP on the other: with a program
that obeys the same commands (siw-peer.c), and with rping. Runs in the guest.
"""
import os
import struct
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../interop"))

import driver  # noqa: E402
from siw_sides import (  # noqa: E402
    Siw,
    Soft,
    captured,
    established,
    host,
    join,
    many_reads,
    meet,
    part,
    sends,
    together,
    whole,
)
from driver import Endpoint, Region, pattern  # noqa: E402
from tap import case, check, equal, note, one_of, run  # noqa: E402

ENDS = (driver.DISCONNECTED, driver.BROKEN)


# ---- The cases -----------------------------------------------------------------------------------


def connection_cases():
    for family, name in (("ADDR", "IPv4"), ("ADDR6", "IPv6")):
        case("soft connects, conversation, soft disconnects, " + name)(
            lambda family=family: meet(lambda soft, siw: whole(soft, siw), family)
        )
        case("siw connects, conversation, siw disconnects, " + name)(
            lambda family=family: meet(lambda soft, siw: whole(siw, soft), family)
        )
    case("soft connects, conversation, siw disconnects")(
        lambda: meet(lambda soft, siw: whole(soft, siw, 1))
    )
    case("siw connects, conversation, soft disconnects")(
        lambda: meet(lambda soft, siw: whole(siw, soft, 1))
    )
    for crc in (1, 0):
        text = "with CRC" if crc else "without CRC"
        case("soft connects, conversation %s" % text)(
            lambda crc=crc: captured(
                lambda soft, siw: whole(soft, siw), bool(crc), DAPL_SOFT_CRC=str(crc)
            )
        )
    case("siw connects, soft asks for CRC: conversation")(
        lambda: captured(lambda soft, siw: whole(siw, soft), True, DAPL_SOFT_CRC="1")
    )
    case("siw connects, soft does not ask for CRC: conversation")(
        lambda: captured(lambda soft, siw: whole(siw, soft), False, DAPL_SOFT_CRC="0")
    )


@case("soft connects with MPA revision 1: conversation")
def revision_1():
    frames = captured(
        lambda soft, siw: whole(soft, siw), True, DAPL_SOFT_MPA_REVISION="1", DAPL_SOFT_CRC="1"
    )
    equal(frames[b"Req"].rev, 1, "revision of the request")


@case("soft's FPDUs are small, or larger than siw's: conversation")
def fpdu_sizes():
    for size in (128, 1000, 8000):
        meet(lambda soft, siw: whole(soft, siw), DAPL_SOFT_FPDU=str(size))


@case("Depths of reads from 1 to 8 on either side: conversation")
def depths():
    def converse(soft, siw):
        for depth in (1, 2, 8):
            for active, passive in ((soft, siw), (siw, soft)):
                one, two = join(active, passive, reads_in=depth, reads_out=depth)
                many_reads(one, two)
                many_reads(two, one)
                part(one, two)

    meet(converse)


@case("Private data from none to the most that MPA carries, both ways")
def private_data():
    def converse(soft, siw):
        for size in (0, 1, 64, 200):
            data, answer = pattern(size, 1), pattern(size, 2)
            part(*join(soft, siw, data, answer))
            part(*join(siw, soft, data, answer))

    meet(converse)


def refused(active, passive, data):
    ep = Endpoint(active)
    active.ask(
        "connect", ep=ep.number, address=passive.address, qual=passive.port(), data=b"may I".hex()
    )
    request = passive.request(10000)
    equal(bytes.fromhex(request["data"]), b"may I", "private data of the request")
    got = passive.ask("reject", request=request["request"], data=data.hex())
    equal(got["result"], "DAT_SUCCESS", "reject")
    event = refusal(active)
    equal(event["event"], driver.PEER_REJECTED, "event")
    equal(bytes.fromhex(event["data"]), data, "private data of the rejection")
    active.free(ep)


def refusal(active):
    """The end of an attempt to connect; what was posted is flushed around it."""
    event = active.event(10000)
    while event["event"] == driver.DTO:
        equal(event["status"], "DAT_DTO_ERR_FLUSHED", "status of a receive")
        event = active.event(10000)
    return event


@case("A rejection with private data, both ways")
def rejection():
    def converse(soft, siw):
        for data in (b"", b"no room"):
            refused(soft, siw, data)
            refused(siw, soft, data)
        whole(soft, siw)

    meet(converse)


@case("No listener, both ways")
def no_listener():
    def converse(soft, siw):
        for active, passive, allowed in (
            (soft, siw, (driver.NON_PEER_REJECTED,)),
            (siw, soft, ("ECONNREFUSED",)),
        ):
            ep = Endpoint(active)
            got = active.ask("connect", ep=ep.number, address=passive.address, qual=9, ms=5000)
            # soft-iWARP connects before it returns.
            event = {"event": got["result"]}
            if got["result"] == "DAT_SUCCESS":
                event = refusal(active)
            note("%s: %s", type(active).__name__, event["event"])
            one_of(event["event"], allowed, "event")
            active.free(ep)

    meet(converse)


REFUSED = (
    "DAT_DTO_ERR_REMOTE_ACCESS",
    "DAT_DTO_ERR_REMOTE_RESPONDER",
    "DAT_DTO_ERR_TRANSPORT",
    driver.FLUSHED,
)


def forbidden(what, one, two, rights="all", past=0, stag=0):
    """A request that the other side must refuse: both connections end, nothing is placed."""
    source, target = Region(one.victim, 4096), Region(two.victim, 4096, rights)
    one.request(
        what,
        source,
        remote_address=target.address + past,
        rmr_context=target.stag ^ stag,
    )
    # A write is complete when it is sent, a read is not without its data.
    allowed = REFUSED + ((driver.SUCCESS,) if what == "write" else ())
    ends = [one.ended(ENDS, requests=[allowed])["event"], two.ended(ENDS)["event"]]
    target.untouched()
    source.untouched()
    return ends


@case("Access without the right, with a wrong tag, past the end: refused, both ways")
def protection():
    def converse(soft, siw):
        for what, options in (
            ("write", {"rights": "read"}),
            ("read", {"rights": "write"}),
            ("write", {"past": 1}),
            ("read", {"past": 1}),
            ("write", {"stag": 0x5500}),
            ("read", {"stag": 0x5500}),
        ):
            for active, passive in ((soft, siw), (siw, soft)):
                if passive is siw and what == "read" and "rights" in options:
                    # soft-iWARP lets itself be read without the right.
                    continue
                got = forbidden(what, *join(active, passive), **options)
                note("%s by %s %s: %s, other side %s", what, type(active).__name__, options, *got)
                soft.errors.seek(0)
                note("soft says: %s", soft.errors.read().rpartition(" - ")[2].strip())

    meet(converse)


@case("A message longer than the receive: an error on the receiver, both ways")
def too_long():
    def converse(soft, siw):
        for active, passive in ((soft, siw), (siw, soft)):
            one, two = join(active, passive, size=64)
            source = Region(active, 100, "local")
            one.request("send", source)
            end = two.ended(ENDS, first=("DAT_DTO_ERR_LOCAL_LENGTH",) + REFUSED)
            other = one.ended(ENDS, requests=[(driver.SUCCESS,) + REFUSED])
            note("%s: %s, other side %s", type(passive).__name__, end["event"], other["event"])

    meet(converse)


@case("The other process is killed: the connection ends, either side")
def killed():
    def die(survivor, other):
        one, _ = join(survivor, other)
        other.process.kill()
        other.process.wait()
        note("%s: %s", type(survivor).__name__, one.ended(ENDS)["event"])
        other.discard()
        survivor.clean()
        survivor.quit()

    for order in ((Soft, Siw), (Siw, Soft)):
        together(order, die)


@case("soft connects, siw speaks first")
def responder_first():
    def converse(soft, siw):
        one, two = join(soft, siw, first=1)
        sends(two, one, (100,))
        part(one, two)

    meet(converse)


@case("siw connects, then says nothing for twelve seconds: the connection is good")
def silent_initiator():
    def converse(soft, siw):
        one, two = join(siw, soft, silence=12)
        sends(one, two, (100,))
        sends(two, one, (100,))
        part(one, two)

    meet(converse)


@case("A megabyte written and read, both ways")
def large():
    def converse(soft, siw):
        pair = join(soft, siw)
        for one, two in (pair, pair[::-1]):
            size = 1 << 20
            source, target = Region(one.victim, size), Region(two.victim, size)
            content = source.fill(1)
            remote = {"remote_address": target.address, "rmr_context": target.stag}
            one.request("write", source, **remote)
            one.request("send", source, 0, 1)
            two.received(20000)
            equal(target.bytes(), content, "memory written")
            for _ in range(2):
                equal(one.done()["status"], driver.SUCCESS, "write and send")
            source.fill(2)
            one.request("read", source, **remote)
            equal(one.done(20000)["status"], driver.SUCCESS, "read")
            equal(source.bytes(), content, "memory read")
        part(*pair)

    meet(converse)


@case("Packets lost, late and out of order, small ones: conversations")
def bad_network():
    for mtu in (1280, 1500):
        for name in ("A", "B"):
            link = ["dev", host(name, "NETDEV")]
            inside = ["ip", "netns", "exec", host(name, "NS")]
            subprocess.run(inside + ["ip", "link", "set", "mtu", str(mtu)] + link, check=True)
            subprocess.run(
                inside
                + ["tc", "qdisc", "replace"]
                + link
                + "root netem delay 2ms 1ms reorder 20% 50% loss 0.3% duplicate 1%".split(),
                check=True,
            )
        meet(lambda soft, siw: whole(soft, siw))
        meet(lambda soft, siw: whole(siw, soft))
    for name in ("A", "B"):
        subprocess.run(
            ["ip", "netns", "exec", host(name, "NS"), "tc", "qdisc", "del"]
            + ["root", "dev", host(name, "NETDEV")],
            check=True,
        )


@case("Twenty connections at once")
def side_by_side():
    def converse(soft, siw):
        pairs = []
        for i in range(20):
            pairs.append(join(*((soft, siw) if i % 2 else (siw, soft)), recvs=2, size=3000))
        for one, two in pairs:
            sends(one, two, (0, 3000))
            sends(two, one, (3000,))
        for one, two in pairs:
            one.victim.ask("disconnect", ep=one.number)
            # Events of one connection only, as each is parted before the next.
            one.ended((driver.DISCONNECTED,))
            two.ended((driver.DISCONNECTED,))

    meet(converse)


@case("Twenty-four connections one after the other, by turns")
def in_turn():
    def converse(soft, siw):
        start = time.monotonic()
        for i in range(24):
            active, passive = (soft, siw) if i % 2 else (siw, soft)
            one, two = join(active, passive, recvs=2)
            part(*((one, two) if i % 4 < 2 else (two, one)))
            active.free(one)
            passive.free(two)
        note("%.0f ms each", (time.monotonic() - start) * 1000 / 24)

    meet(converse)


# ---- rping ---------------------------------------------------------------------------------------

PING = 64
ROUNDS = 5


def advert(region):
    """What an rping tells its peer of memory: address, key and size."""
    return struct.pack("!QII", region.address, region.stag, PING)


def rping(*arguments):
    return subprocess.Popen(
        ["ip", "netns", "exec", host("B", "NS"), "rping", "-C", str(ROUNDS), "-S", str(PING)]
        + ["-v", "-V"]
        + list(arguments),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def next_message(ep):
    """The next message, and on the way the completions of sends."""
    event = ep.victim.event(10000)
    while event["event"] == driver.DTO and event["op"] != "DAT_DTO_RECEIVE":
        equal((event["op"], event["status"]), ("DAT_DTO_SEND", driver.SUCCESS), "completion")
        equal(int(event["cookie"]), ep.requests.popleft(), "request in posting order")
        event = ep.victim.event(10000)
    return ep.message(event)


def send_text(ep, memory, data):
    ep.victim.ask("set", region=memory.number, offset=0, bytes=data.hex())
    ep.request("send", memory, 0, len(data))


@case("rping as client: soft reads what it pings and writes it back")
def rping_client():
    def serve(soft):
        ep, memory, page = Endpoint(soft, 2, 16), Region(soft, 16, "local"), Region(soft, PING)
        client = rping("-c", "-a", soft.address, "-p", str(soft.port()))
        try:
            soft.accept(soft.request(15000), ep)
            established(soft, ep, b"")
            for what in ("read", "write") * ROUNDS:
                address, key, size = struct.unpack("!QII", next_message(ep))
                equal(size, PING, "size of the ping")
                ep.request(what, page, remote_address=address, rmr_context=key)
                while ep.requests:
                    equal(ep.done()["status"], driver.SUCCESS, what)
                check(page.bytes().startswith(b"rdma-ping-"), "text of the ping")
                send_text(ep, memory, bytes(16))
            ep.ended((driver.DISCONNECTED,), requests=[(driver.SUCCESS,)])
            text, _ = client.communicate(timeout=20)
            equal(client.returncode, 0, "exit code of rping")
            equal(text.count("ping data: rdma-ping-"), ROUNDS, "pings that came back")
        finally:
            if client.poll() is None:
                client.kill()
            note("%s", client.communicate()[0] or "rping is done")

    together([Soft], serve)


@case("rping as server: it reads what soft pings and writes it back")
def rping_server():
    def ping(soft):
        server = rping("-s", "-a", host("B", "ADDR"), "-p", "7174")
        try:
            ep = connect_patiently(soft, host("B", "ADDR"), 7174)
            memory = Region(soft, 16, "local")
            start, sink = Region(soft, PING), Region(soft, PING)
            for i in range(ROUNDS):
                data = (b"rdma-ping-%d: " % i).ljust(PING - 1, b"x") + b"\0"
                soft.ask("set", region=start.number, offset=0, bytes=data.hex())
                for region in (start, sink):
                    send_text(ep, memory, advert(region))
                    next_message(ep)
                equal(sink.bytes(), data, "ping that came back")
            soft.ask("disconnect", ep=ep.number)
            ep.ended((driver.DISCONNECTED,), requests=[(driver.SUCCESS,)])
            server.wait(20)
        finally:
            if server.poll() is None:
                server.kill()
            note("%s", server.communicate()[0])

    together([Soft], ping)


def connect_patiently(soft, address, port):
    """rping does not say when it listens: until it does, there is nobody."""
    end = time.monotonic() + 20
    while True:
        ep = Endpoint(soft, 2, 16)
        soft.ask("connect", ep=ep.number, address=address, qual=port, ms=10000)
        event = refusal(soft)
        if event["event"] == driver.ESTABLISHED or time.monotonic() > end:
            equal(event["event"], driver.ESTABLISHED, "event")
            return ep
        soft.free(ep)


driver.require()
connection_cases()
run()
