#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""
The provider connects, with peers that are silent, slow, gone or do not speak MPA: the event of
EV-5 that is due, in time (TMO), or no trace at all on the passive side; a healthy connection of the
process runs on, nothing is left.
"""
import os
import select
import socket
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import driver  # noqa: E402
import iwarp  # noqa: E402
from evil_setup import NON_PEER_REJECTED, PATIENCE_MS, bad_frames, ends  # noqa: E402
from driver import Endpoint  # noqa: E402
from iwarp import Peer, REPLY_KEY, REQUEST_KEY, Startup, Wire  # noqa: E402
from tap import Skip, case, check, equal, note, one_of  # noqa: E402


def connect_to(victim, listener, ms=5000, recvs=3):
    ep = Endpoint(victim, recvs)
    got = victim.ask(
        "connect", ep=ep.number, address=victim.address, qual=listener.getsockname()[1], ms=ms
    )
    equal(got["result"], "DAT_SUCCESS", "dat_ep_connect")
    return ep


def each_attempt(victim, ep, listener, act):
    """
    act(wire) for the connection and, if the provider falls back to revision 1, the next one (RFC
    6581 10), until the provider gives up.
    """
    for _ in range(4):
        act(iwarp.accept(listener))
        end = time.monotonic() + 15
        while not select.select([listener], [], [], 0.01)[0]:
            if ep.state() != "DAT_EP_STATE_ACTIVE_CONNECTION_PENDING":
                return
            check(time.monotonic() < end, "the provider neither gives up nor tries again")
    check(False, "the provider tries again and again")


@case("Replies that are none: NON_PEER_REJECTED (EV-9, RFC 5044 7.1.1, 8 code 4)")
def not_replies(victim):
    count = 0
    for name, data in bad_frames(REPLY_KEY, REQUEST_KEY):
        if name == "zeroes":
            continue
        listener = iwarp.listen(victim.address)
        ep = connect_to(victim, listener)

        def act(wire, data=data):
            try:
                Startup.receive(wire, True)
                wire.send(data)
                ends(wire, 5)
            except iwarp.Closed:
                pass
            wire.close()

        try:
            each_attempt(victim, ep, listener, act)
            ep.ended((NON_PEER_REJECTED,))
        except AssertionError as err:
            raise type(err)("%s: %s" % (name, err)) from err
        listener.close()
        victim.clean()
        count += 1
    note("%d kinds", count)


@case("The responder closes or resets instead of replying: NON_PEER_REJECTED (EP-136)")
def closes(victim):
    whole = Startup(False, private_data=b"private").pack()
    for length in (0, 5, 20, 23, len(whole) - 1):
        for leave in (Wire.close, Wire.reset):
            listener = iwarp.listen(victim.address)
            ep = connect_to(victim, listener)

            def act(wire, length=length, leave=leave):
                Startup.receive(wire, True)
                wire.send(whole[:length])
                leave(wire)

            each_attempt(victim, ep, listener, act)
            ep.ended((NON_PEER_REJECTED,))
            listener.close()
            victim.clean()


def timed_out(victim, ep, start, ms):
    end = ep.ended((driver.TIMED_OUT,), ms=ms * 2 + PATIENCE_MS // 2)
    took = time.monotonic() - start - 0.15  # less the time that ended() watched for further events
    check(took * 1000 >= ms, "TIMED_OUT after %d of %d ms (TMO-4)", took * 1000, ms)
    check(took * 1000 <= ms * 1.1 + 1000, "TIMED_OUT after %d of %d ms (TMO-4)", took * 1000, ms)
    return end


@case(
    "A silent responder: TIMED_OUT in the caller's time, a late answer is ignored (EP-137, "
    "TMO-2 to TMO-4)"
)
def silent_responder(victim):
    for ms, late in ((1200, False), (1200, True)):
        listener = iwarp.listen(victim.address)
        start = time.monotonic()
        ep = connect_to(victim, listener, ms)
        wire = iwarp.accept(listener)
        request = Startup.receive(wire, True)
        timed_out(victim, ep, start, ms)
        if late:
            try:
                wire.send(request.answer().pack())
            except iwarp.Closed:
                pass
            victim.quiet(300)
        ends(wire, 3)
        wire.close()
        listener.close()
        victim.clean()


@case("A responder that answers octet by octet, too slowly: TIMED_OUT in the caller's time (TMO-2)")
def slow_responder(victim):
    listener = iwarp.listen(victim.address)
    start = time.monotonic()
    ep = connect_to(victim, listener, 1200)
    wire = iwarp.accept(listener)
    reply = Startup.receive(wire, True).answer(private_data=bytes(200)).pack()
    try:
        for octet in reply[:200]:
            wire.send(bytes([octet]))
            time.sleep(0.01)
    except iwarp.Closed:
        pass
    timed_out(victim, ep, start, 1200)
    wire.close()
    listener.close()


@case("A host whose TCP does not answer: TIMED_OUT in the caller's time (EP-137)")
def no_tcp(victim):
    listener = iwarp.listen(victim.address, 0)
    fillers = []
    for _ in range(8):  # fill its backlog, so that the system drops further attempts
        sock = socket.socket()
        sock.setblocking(False)
        sock.connect_ex(listener.getsockname())
        fillers.append(sock)
    time.sleep(0.1)
    start = time.monotonic()
    ep = connect_to(victim, listener, 500)
    timed_out(victim, ep, start, 500)
    for sock in fillers:
        sock.close()
    listener.close()


@case("The program gives up: DISCONNECTED, and the responder sees the end (EP-93)")
def gives_up(victim):
    listener = iwarp.listen(victim.address)
    ep = connect_to(victim, listener)
    wire = iwarp.accept(listener)
    Startup.receive(wire, True)
    equal(victim.ask("disconnect", ep=ep.number)["result"], "DAT_SUCCESS", "dat_ep_disconnect")
    ep.ended((driver.DISCONNECTED,))
    ends(wire, 5)
    wire.close()
    listener.close()


@case("Nobody listens: NON_PEER_REJECTED at once (EP-71, EV-9)")
def nobody(victim):
    holder = socket.socket()
    holder.bind((victim.address, 0))  # keeps the port without listening
    start = time.monotonic()
    ep = connect_to(victim, holder, PATIENCE_MS)
    ep.ended((NON_PEER_REJECTED,))
    took = time.monotonic() - start
    check(took < PATIENCE_MS / 2000, "took %.1f s", took)
    holder.close()


@case("Addresses without a route: INVALID_ADDRESS, or UNREACHABLE by event (EP-70, EV-14, EV-16)")
def unroutable(victim):
    for address in ("203.0.113.7", "240.0.0.1", "198.51.100.1"):
        ep = Endpoint(victim, 2)
        got = victim.ask("connect", ep=ep.number, address=address, qual=4791, ms=1000)["result"]
        if got == "DAT_SUCCESS":
            end = ep.ended((driver.UNREACHABLE, driver.TIMED_OUT))
            note("%s: %s", address, end["event"])
        else:
            check(got.startswith("DAT_INVALID_ADDRESS"), "result %s", got)
            equal(ep.state(), "DAT_EP_STATE_UNCONNECTED", "state (EP-155)")
            victim.quiet()
            note("%s: %s", address, got)
        victim.clean()


@case("A reply with more reads than the provider grants: one outcome, no harm (RFC 6581 9.1)")
def greedy_reply(victim):
    for ird, ord_ in ((0, 0x3FFE), (0x3FFE, 0x3FFE)):
        listener = iwarp.listen(victim.address)
        ep = connect_to(victim, listener)
        wire = iwarp.accept(listener)
        request = Startup.receive(wire, True)
        wire.send(request.answer(ird=ird, ord=ord_).pack())
        event = victim.event()
        while event["event"] == driver.DTO:
            ep.posted.popleft()
            event = victim.event()
        one_of(event["event"], (driver.ESTABLISHED, NON_PEER_REJECTED), "outcome")
        note("IRD %d ORD %d: %s", ird, ord_, event["event"])
        wire.close()
        if event["event"] == driver.ESTABLISHED:
            ep.ended((driver.DISCONNECTED, driver.BROKEN))
        listener.close()
        victim.clean()


@case("A reply that offers no RTR kind: one outcome, no harm (RFC 6581 9.2)")
def no_rtr(victim):
    listener = iwarp.listen(victim.address)
    ep = connect_to(victim, listener)
    wire = iwarp.accept(listener)
    request = Startup.receive(wire, True)
    if not request.peer_to_peer:
        wire.close()
        listener.close()
        raise Skip("the provider does not ask for the peer-to-peer model")
    wire.send(request.answer(rtr=()).pack())
    peer = Peer(wire, True)
    event = victim.event()
    one_of(event["event"], (driver.ESTABLISHED, NON_PEER_REJECTED, driver.DTO), "outcome")
    equal(int(event["ep"]), ep.number, "EP of the event")
    if event["event"] != driver.ESTABLISHED:
        term = peer.until_end()[0]
        check(not term or term.cause == (2, 0, 7), "%s instead of 2/0/7 (RFC 6581 9.2)", term)
    wire.close()


driver.perform(environment={"DAPL_SOFT_HANDSHAKE": str(PATIENCE_MS)})
