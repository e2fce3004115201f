#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""
Connections of the soft provider that a peer ends badly: by Terminate, reset, death, in the middle
of a message, or by chaos. What the program sees is that of DTO-84 and EV-5; a healthy connection of
the same process runs on, no descriptor or thread is left.
"""
import os
import random
import signal
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import driver  # noqa: E402
import iwarp  # noqa: E402
from causes import *  # noqa: E402,F403
from driver import BROKEN, DISCONNECTED, Region, establish  # noqa: E402
from iwarp import ReadRequest, Segment, Terminate  # noqa: E402
from tap import case, check, equal, note, one_of  # noqa: E402

# ---- Terminate from the peer ---------------------------------------------------------------------


def terminated(victim, role, term, status, close=True):
    """The provider waits for a read when the peer ends the stream with a Terminate."""
    ep, peer = establish(victim, role)
    sink = Region(victim, 64, "local")
    peer.auto_read = False
    ep.request("read", sink, remote_address=0x1000, rmr_context=0x77)
    peer.pump(lambda: peer.requests)
    peer.terminate(term)
    if close:
        peer.wire.shutdown()
    equal(peer.until_end()[0], None, "Terminate in answer to a Terminate")
    peer.wire.close()
    ep.ended((BROKEN, DISCONNECTED), requests=[status])
    sink.untouched()
    victim.clean()


RECEIVED = (
    ((READ_STAG, READ_BOUNDS, READ_RIGHTS, READ_STREAM, READ_WRAP), (REMOTE_ACCESS,)),
    ((NO_BUFFER, CATASTROPHIC, (0, 2, 8)), (REMOTE_RESPONDER,)),
    ((RDMAP_VERSION, OPCODE, (0, 2, 0xFF), (0, 0, 0), TOO_LONG, MSN_RANGE), FAILED),
    ((CRC, (2, 0, 1), (2, 0, 3), (2, 0, 5)), FAILED),
    (((15, 15, 0xFF), (3, 0, 0), (1, 7, 9)), FAILED),
)


def each_cause(victim, headers):
    count = 0
    for causes, status in RECEIVED:
        for cause in causes:
            role = ("initiates", "responds")[count % 2]
            request = ReadRequest(1, 2, 64, 0x77, 0x1000).pack()
            at_fault = Segment(iwarp.READ_REQUEST, request, qn=1, msn=1)
            term = Terminate(*cause)
            if headers:
                term.segment_length, term.ddp = len(at_fault.pack()), at_fault.header()
                term.rdma = request if cause[:2] == (0, 1) else b""
            try:
                terminated(victim, role, term, status)
            except AssertionError as err:
                raise type(err)("%s: %s" % (term, err)) from err
            count += 1
    note("%d causes", count)


@case("Terminate received while a read waits: the status the cause deserves (DTO-84, RFC 5040 7)")
def terminate_received(victim):
    each_cause(victim, True)


@case("Terminate without headers received while one read waits: the same (RFC 5040 figure 10)")
def terminate_without_headers(victim):
    each_cause(victim, False)


@case(
    "Terminate received from a peer that then keeps its end open: the connection ends in "
    "bounded time"
)
def terminate_and_stay(victim):
    for role in ("initiates", "responds"):
        terminated(victim, role, Terminate(*READ_RIGHTS), (REMOTE_ACCESS,), close=False)


@case("Terminates cut short or overlong: the connection ends, no answer (RFC 5040 4.8)")
def malformed_terminates(victim):
    whole = Terminate(0, 1, 0, 46, b"\x41\x41" + bytes(16), bytes(28)).pack()
    for number, data in enumerate(
        (
            b"",
            whole[:1],
            whole[:3],
            whole[:4],
            whole[:5],
            whole[:20],
            whole[:40],
            whole + bytes(2000),
        )
    ):
        ep, peer = establish(victim, ("initiates", "responds")[number % 2])
        peer.terminate(data)
        peer.until_end()
        peer.wire.close()
        ep.ended((BROKEN, DISCONNECTED))
        victim.clean()


# ---- Ends of the connection ----------------------------------------------------------------------


IN_PART = (FLUSHED, PARTIAL_PACKET)


def end_by(victim, role, function, allowed, outstanding=False, first=None):
    ep, peer = establish(victim, role)
    if outstanding:
        peer.auto_read = False
        ep.request("read", Region(victim, 64, "local"), remote_address=0x1000, rmr_context=0x77)
        peer.pump(lambda: peer.requests)
    function(peer)
    ep.ended(allowed, first, [(driver.FLUSHED, TRANSPORT)] if outstanding else None)
    victim.clean()


@case("The peer resets the connection: BROKEN or DISCONNECTED, everything flushed (DTO-84, EV-17)")
def reset(victim):
    for role in ("initiates", "responds"):
        for outstanding in (False, True):
            end_by(
                victim, role, lambda peer: peer.wire.reset(), (BROKEN, DISCONNECTED), outstanding
            )


@case("The peer's process is killed: BROKEN or DISCONNECTED, everything flushed (EV-17)")
def killed(victim):
    def kill(peer):
        child = os.fork()
        if child == 0:
            signal.pause()
            os._exit(0)
        peer.wire.close()  # now the child alone has it
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)

    for role in ("initiates", "responds"):
        for outstanding in (False, True):
            end_by(victim, role, kill, (BROKEN, DISCONNECTED), outstanding)


@case("FIN between messages: DISCONNECTED (EP-142, EV-11)")
def fin(victim):
    for role in ("initiates", "responds"):
        end_by(victim, role, lambda peer: peer.wire.close(), (DISCONNECTED,))


@case("FIN within an FPDU: BROKEN, the message is FLUSHED or a PARTIAL_PACKET (EV-12, EVT-8)")
def fin_within(victim):
    def cut(peer, length):
        raw = peer.out.encode(peer.untagged(iwarp.SEND, 0, b"half a message")[0].pack())
        peer.wire.send(raw[:length])
        peer.wire.shutdown()
        peer.until_end()
        peer.wire.close()

    for number, length in enumerate((1, 2, 3, 10, 20, 30, 37)):
        role = ("initiates", "responds")[number % 2]
        end_by(victim, role, lambda peer: cut(peer, length), (BROKEN,), first=IN_PART)


@case("FIN between the FPDUs of a message: the message is FLUSHED or a PARTIAL_PACKET (DTO-84)")
def fin_between(victim):
    def part(peer):
        peer.fpdu(Segment(iwarp.SEND, b"half a ", msn=1, last=False))
        peer.wire.shutdown()
        peer.until_end()
        peer.wire.close()

    for role in ("initiates", "responds"):
        end_by(victim, role, part, (BROKEN, DISCONNECTED), first=IN_PART)


@case(
    "The peer closes while the provider is sending to it a lot: requests succeed in a row, "
    "then fail (FL-2)"
)
def closes_on_stream(victim):
    for role in ("initiates", "responds"):
        ep, peer = establish(victim, role)
        source = Region(victim, 1 << 20, "local")
        stag = peer.register(1 << 20)
        for _ in range(12):
            ep.request("write", source, remote_address=peer.regions[stag].base, rmr_context=stag)
        peer.handle()
        peer.wire.reset()
        order = []
        while len(order) < 12:
            event = victim.event()
            if event["event"] == driver.DTO and not event["op"].startswith("DAT_DTO_RECEIVE"):
                ep.requests.popleft()
                order.append(event["status"] == driver.SUCCESS)
                one_of(event["status"], (driver.SUCCESS, driver.FLUSHED, TRANSPORT), "status")
            elif event["event"] == driver.DTO:
                equal(event["status"], driver.FLUSHED, "status of a Receive")
                ep.posted.popleft()
            else:
                one_of(event["event"], (BROKEN, DISCONNECTED), "event")
                equal(
                    order + [False] * (12 - len(order)),
                    sorted(order + [False] * (12 - len(order)), reverse=True),
                    "successes are a prefix",
                )
                break
        victim.free(ep)
        victim.clean()


COUNT, SIZE = 40, 2000


def stands_still(kill):
    """The peer reads only after the program has disconnected, closed everything and ended."""
    victim = driver.Victim(environment={"DAPL_SOFT_LINGER": "100"})
    try:
        ep, peer = establish(victim, "responds", rcvbuf=4096)
        source = Region(victim, SIZE, "local")
        content = source.fill(7)
        for _ in range(COUNT):
            ep.request("send", source)
        for _ in range(COUNT):
            equal(ep.done()["status"], driver.SUCCESS, "status of a Send")
        equal(
            victim.ask("disconnect", ep=ep.number, graceful=1)["result"],
            "DAT_SUCCESS",
            "dat_ep_disconnect",
        )
        ep.ended((DISCONNECTED,))
        time.sleep(1)  # ten times the time of option linger
        if kill:
            victim.process.kill()
            victim.process.wait()
        else:
            victim.say("quit")
            equal(victim.process.wait(20), 0, "exit status")
        peer.pump(lambda: len(peer.inbox) == COUNT)
        equal([bytes(got.data) for got in peer.inbox], [content] * COUNT, "messages")
        equal(peer.until_end()[0], None, "Terminate")
        peer.wire.close()
    finally:
        victim.discard()


@case("A peer stands still over the disconnect and the program's end: what completed comes (FL-13)")
def still_at_the_end(_):
    stands_still(False)


@case("A peer stands still over the disconnect and the program's death: what completed comes")
def still_at_death(_):
    stands_still(True)


# ---- Memory and endpoints that go away in the middle ---------------------------------------------


def halves(raw):
    return raw[: len(raw) // 2], raw[len(raw) // 2 :]


def send_rest(peer, rest):
    try:
        peer.wire.send(rest)
    except iwarp.Closed:
        pass


@case(
    "A region goes while an FPDU of a Write to it is under way: its memory is not touched (LMR-36)"
)
def write_midway(victim):
    for role in ("initiates", "responds"):
        ep, peer = establish(victim, role)
        region = Region(victim, 65000)
        segment = Segment(
            iwarp.WRITE, b"e" * 60000, tagged=True, stag=region.stag, to=region.address
        )
        first, rest = halves(peer.out.encode(segment.pack()))
        peer.wire.send(first)
        time.sleep(0.05)
        region.drop()
        send_rest(peer, rest)
        term = peer.until_end()[0]
        one_of(term and term.cause, (TAGGED_STAG,), "cause of the Terminate")
        peer.wire.close()
        ep.ended((BROKEN,))
        victim.clean()


@case("A region goes while a read of it is answered: its memory is not touched (LMR-36)")
def read_midway(victim):
    for role in ("initiates", "responds"):
        ep, peer = establish(victim, role, rcvbuf=8192)
        size = 16 << 20
        region = Region(victim, size)
        stag = peer.register(size)
        peer.inward.crc = False  # sixteen megabytes
        peer.read_post(stag, peer.regions[stag].base, size, region.stag, region.address)
        peer.pump(lambda: peer.reads[0][1])  # the answer has begun
        region.drop()
        term = peer.until_end(30)[0]
        check(term, "no Terminate")
        one_of(
            term.cause, (READ_STAG, CATASTROPHIC, (0, 2, 8), (0, 0, 0)), "cause of the Terminate"
        )
        note("%d of %d octets came, then %s", peer.reads[0][1], size, term)
        peer.wire.close()
        ep.ended((BROKEN,))
        victim.clean()


@case("The memory of posted Receives goes: LOCAL_PROTECTION, the rest flushed (DTO-84, LMR-36)")
def receive_memory(victim):
    for role in ("initiates", "responds"):
        for begun in (False, True):
            ep, peer = establish(victim, role, size=60000, mulpdu=65000)
            segment = peer.untagged(iwarp.SEND, 0, b"e" * 50000)[0]
            first, rest = halves(peer.out.encode(segment.pack()))
            if begun:
                peer.wire.send(first)
                time.sleep(0.05)
                first = b""
            ep.memory.drop()
            send_rest(peer, first + rest)
            check(peer.until_end()[0], "no Terminate (the sender's status is REMOTE_RESPONDER)")
            peer.wire.close()
            ep.ended((BROKEN,), first=(LOCAL_PROTECTION,))
            victim.clean()


@case(
    "The endpoint is freed while a message arrives: the peer sees the end, no event here (EP-112)"
)
def free_midway(victim):
    for role in ("initiates", "responds"):
        ep, peer = establish(victim, role, size=60000, mulpdu=65000)
        segment = peer.untagged(iwarp.SEND, 0, b"e" * 50000)[0]
        first, rest = halves(peer.out.encode(segment.pack()))
        peer.wire.send(first)
        victim.free(ep)
        ep.memory.drop()
        send_rest(peer, rest)
        drain(peer.wire)
        peer.wire.close()
        victim.quiet()


@case(
    "Chaos: segments with random fields and right sums; nothing but their own connection "
    "suffers (DTO-89)"
)
def chaos(victim):
    dice = random.Random(5040)
    region = Region(victim, 4096)
    for number in range(60):
        ep, peer = establish(victim, ("initiates", "responds")[number % 2])
        try:
            for _ in range(dice.randrange(1, 12)):
                segment = random_segment(dice, region, number)
                peer.wire.send(peer.out.encode(segment.pack()))
        except iwarp.Closed:
            pass
        peer.wire.shutdown()
        drain(peer.wire)
        peer.wire.close()
        victim.free(ep)
        region.bytes()
    victim.clean()


def random_segment(dice, region, number):
    wild = dice.random() < 0.3
    segment = Segment(
        dice.randrange(16) if wild else dice.randrange(7),
        dice.randbytes(dice.choice((0, 4, 28, 300))),
        last=dice.random() < 0.8,
        tagged=dice.random() < 0.5,
        dv=1,
        rv=1,
    )
    segment.stag = dice.choice((region.stag, dice.getrandbits(32), region.stag ^ 1))
    segment.to = (region.address + dice.randrange(-300, 4400)) & (1 << 64) - 1
    segment.qn = dice.choice((0, 0, 1, 1, 2, dice.getrandbits(32)))
    segment.msn = dice.choice((1, 1, 2, dice.getrandbits(32)))
    segment.mo = dice.choice((0, 0, 0, 4, dice.getrandbits(32)))
    segment.inv_stag = dice.choice((0, region.stag, number))
    return segment


def drain(wire, timeout=5.0):
    """Reads to the end of the stream, whatever it is."""
    end = time.monotonic() + timeout
    try:
        while time.monotonic() < end:
            wire.recv_exact(1 << 16, max(end - time.monotonic(), 0.01))
    except iwarp.Closed:
        return
    except iwarp.Deadline:
        pass
    check(False, "the provider keeps the connection open")


driver.perform()
