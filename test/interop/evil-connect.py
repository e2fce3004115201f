#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""
Connection set-up with peers that are silent, slow, gone or do not speak MPA: the event of EV-5 that
is due, in time (TMO), or no trace at all on the passive side; a healthy connection of the process
runs on, nothing is left.
"""
import os
import random
import select
import socket
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import driver  # noqa: E402
import iwarp  # noqa: E402
from driver import Endpoint, establish  # noqa: E402
from iwarp import REPLY_KEY, REQUEST_KEY, Peer, Startup, Wire  # noqa: E402
from tap import Skip, case, check, equal, note, one_of  # noqa: E402

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


# ---- The provider listens ------------------------------------------------------------------------


@case("Requests that are none: closed at once, no event (RFC 5044 7.1.1, 7.1.2 rule 5, 8 code 4)")
def not_requests(victim):
    count = 0
    for name, data in bad_frames(REQUEST_KEY, REPLY_KEY):
        wire = Wire.connect(victim.address, victim.port())
        try:
            wire.send(data)
        except iwarp.Closed:
            pass
        try:
            ends(wire, PATIENCE_MS / 2000)
        except AssertionError as err:
            raise type(err)("%s: %s" % (name, err)) from err
        wire.close()
        count += 1
    victim.no_request()
    still_serves(victim)
    note("%d kinds", count)


@case("A request cut short by FIN or RST: no event (RFC 5044 7.1.2 rule 9)")
def cut_requests(victim):
    whole = Startup(private_data=b"private").pack()
    for length in (0, 1, 15, 16, 19, 20, 22, 24, len(whole) - 1):
        for reset in (False, True):
            wire = Wire.connect(victim.address, victim.port())
            wire.send(whole[:length])
            if reset:
                wire.reset()
            else:
                wire.shutdown()
                ends(wire, 5)
                wire.close()
    victim.no_request()
    still_serves(victim)


@case(
    "Silent after connecting: closed when the set-up time is over (RFC 5044 7.1.2 rules 8 and 10)"
)
@hasty()
def silent(victim):
    whole = Startup().pack()
    wires = []
    for length in (0, 1, 19, 20, 23):
        start = time.monotonic()
        wire = Wire.connect(victim.address, victim.port())
        wire.send(whole[:length])
        wires.append(wire)
    for wire in wires:
        ends(wire, HANDSHAKE_MS / 1000 + 10)
        wire.close()
    took = time.monotonic() - start  # since before the last of them connected
    check(took > HANDSHAKE_MS / 1000 - 0.5, "closed after %.1f s already", took)
    victim.no_request()


@case("A drip of one octet now and then does not prolong the set-up time (RFC 5044 7.1.2 rule 10)")
@hasty()
def endless_drip(victim):
    wire = Wire.connect(victim.address, victim.port())
    whole = Startup(rev=1, private_data=bytes(500)).pack()  # 26 s in all
    start = time.monotonic()
    try:
        for octet in whole:
            wire.send(bytes([octet]))
            if wire.readable(0.05):
                break
    except iwarp.Closed:
        pass
    took = time.monotonic() - start
    check(took < HANDSHAKE_MS / 1000 + 10, "still reading after %.1f s", took)
    ends(wire, 5)
    wire.close()
    victim.no_request()


@case("What peers cause is said so often and no more, and how often it was not said")
@hasty(DAPL_TRACE_LEVEL="1")
def noisy(victim):
    def lines():
        victim.errors.seek(0)
        return victim.errors.read().splitlines()

    start = time.monotonic()
    for _ in range(300):
        wire = Wire.connect(victim.address, victim.port())
        wire.send(HTTP)
        ends(wire, 10)
        wire.close()
    said = [line for line in lines() if " soft_refused " in line]
    periods = int(time.monotonic() - start) // 5 + 2
    check(0 < len(said) <= 10 * periods, "300 requests that are none: %d lines", len(said))
    time.sleep(5)  # the period
    wire = Wire.connect(victim.address, victim.port())
    wire.send(HTTP)
    ends(wire, 10)
    wire.close()
    check(any(" messages_missed " in line for line in lines()), "not said how many were missed")
    still_serves(victim)


@case("Two hundred half-open connections do not keep a proper one out, and all are closed in time")
@hasty()
def half_open(victim):
    wires = [Wire.connect(victim.address, victim.port()) for _ in range(200)]
    still_serves(victim)
    for wire in wires:
        ends(wire, HANDSHAKE_MS / 1000 + 10)
        wire.close()
    victim.no_request()


@case("More half-open connections than allowed: bounded, a proper one gets in when they are over")
@hasty(DAPL_SOFT_HALF_OPEN="8")
def half_open_limit(victim):
    before = victim.counts()[0]
    wires = []
    for _ in range(60):
        try:
            wires.append(Wire.connect(victim.address, victim.port()))
        except ConnectionResetError:
            pass  # one too many
    time.sleep(0.2)
    held = victim.counts()[0] - before
    check(held <= 10, "%d descriptors held at a limit of 8", held)
    for wire in wires:
        try:
            ends(wire, HANDSHAKE_MS / 1000 + 10)
        finally:
            wire.close()
    still_serves(victim)
    note("%d descriptors held", held)


def gone(victim, leave, answer):
    ep = Endpoint(victim, 3)
    wire = Wire.connect(victim.address, victim.port())
    wire.send(
        Startup(peer_to_peer=True, rtr=(iwarp.RTR_WRITE, iwarp.RTR_READ, iwarp.RTR_SEND)).pack()
    )
    request = victim.request()
    leave(wire)
    time.sleep(0.05)
    answer(ep, request)


@case("The initiator goes before the accept: ACCEPT_COMPLETION_ERROR (EP-140, EP-141, CR-2, SIM-4)")
def gone_before_accept(victim):
    def accept(ep, request):
        victim.accept(request, ep)
        first = victim.event()
        while first["event"] == driver.DTO:
            equal(first["status"], driver.FLUSHED, "status of a Receive (FL-9)")
            equal(int(first["cookie"]), ep.posted.popleft(), "receives in posting order")
            first = victim.event()
        one_of(first["event"], (driver.ACCEPT_ERROR, driver.ESTABLISHED), "outcome (EP-151)")
        if first["event"] == driver.ESTABLISHED:
            ep.ended((driver.DISCONNECTED, driver.BROKEN))
        else:
            while ep.posted:
                event = victim.event()
                equal(
                    (event["event"], event["status"]),
                    (driver.DTO, driver.FLUSHED),
                    "Receive (FL-9)",
                )
                equal(int(event["cookie"]), ep.posted.popleft(), "receives in posting order")
            victim.quiet()

    for leave in (Wire.close, Wire.reset):
        gone(victim, leave, accept)
        victim.clean()


@case("The initiator goes before the reject: the reject succeeds, no event (EP-141, CR-2)")
def gone_before_reject(victim):
    def reject(_, request):
        got = victim.ask("reject", request=request["request"], data=b"no".hex())
        equal(got["result"], "DAT_SUCCESS", "dat_cr_reject")
        victim.quiet()

    for leave in (Wire.close, Wire.reset):
        gone(victim, leave, reject)
        victim.clean()


@case("The initiator never says that it is ready: the accept ends in bounded time (TMO-7, EP-140)")
@hasty()
def never_ready(victim):
    ep = Endpoint(victim, 3)
    wire = Wire.connect(victim.address, victim.port())
    frame = Startup(peer_to_peer=True, rtr=(iwarp.RTR_WRITE, iwarp.RTR_READ, iwarp.RTR_SEND))
    Peer.initiate(wire, frame, rtr=("none",), between=lambda: victim.accept(victim.request(), ep))
    ep.ended((driver.ACCEPT_ERROR,), ms=HANDSHAKE_MS + 10000)
    wire.close()


@case(
    "Instead of being ready the initiator leaves, or sends nonsense: ACCEPT_COMPLETION_ERROR "
    "(EP-140)"
)
def not_ready(victim):
    for last_word in (b"", HTTP, bytes(64)):
        ep = Endpoint(victim, 3)
        wire = Wire.connect(victim.address, victim.port())
        frame = Startup(peer_to_peer=True, rtr=(iwarp.RTR_WRITE, iwarp.RTR_READ, iwarp.RTR_SEND))
        Peer.initiate(
            wire, frame, rtr=("none",), between=lambda: victim.accept(victim.request(), ep)
        )
        wire.send(last_word)
        wire.shutdown()
        ep.ended((driver.ACCEPT_ERROR,))
        wire.close()
        victim.clean()


@case(
    "A full queue of requests: the surplus gets NON_PEER_REJECTED, room is used again "
    "(PSP-4, PSP-T1)"
)
def backlog(victim):
    here = victim.listen(qlen=4)
    room, port = int(here["evd_qlen"]), int(here["conn_qual"])
    wires = []
    for _ in range(room + 1):
        wires.append(Wire.connect(victim.address, port))
        wires[-1].send(Startup().pack())
    for _ in range(20):  # attempts of the victim itself, until the requests above have all arrived
        extra = Endpoint(victim, 2)
        victim.ask("connect", ep=extra.number, address=victim.address, qual=port, ms=300)
        if extra.ended((NON_PEER_REJECTED, driver.TIMED_OUT))["event"] == NON_PEER_REJECTED:
            break
    else:
        check(False, "nobody was refused")
    wires.append(Wire.connect(victim.address, port))
    wires[-1].send(Startup().pack())
    refused(wires[-1])
    for number in range(room):
        request = victim.request(listening=here)
        equal(request["event"], "DAT_CONNECTION_REQUEST_EVENT", "request %d of %d" % (number, room))
        victim.ask("reject", request=request["request"])
    equal(victim.request(200, here)["event"], "none", "one request more than the queue holds")
    wires.append(Wire.connect(victim.address, port))
    wires[-1].send(Startup().pack())
    request = victim.request(listening=here)
    equal(request["event"], "DAT_CONNECTION_REQUEST_EVENT", "request after the queue was emptied")
    victim.ask("reject", request=request["request"])
    for wire in wires:
        wire.close()
    note("a queue of %d", room)


def refused(wire):
    """Refused by the provider, not by its program: closed, or a reply with R."""
    try:
        reply = Startup.receive(wire, False, 5)
        check(reply.reject and not reply.private_data, "reply %s", reply)
    except iwarp.Closed:
        pass
    wire.close()


# ---- The provider connects -----------------------------------------------------------------------


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


@case(
    "Out of descriptors for a while: connections are refused or wait, nobody spins, then all "
    "works again"
)
def no_descriptors(victim):
    limit = victim.ask("limit", fds=0)["fds"]
    victim.ask("limit", fds=victim.baseline[0] + 1)
    wires = []
    for _ in range(6):
        wires.append(Wire.connect(victim.address, victim.port()))
        wires[-1].send(Startup().pack())
    start, before = time.monotonic(), victim.processor_time()
    time.sleep(0.5)
    used = (victim.processor_time() - before) / (time.monotonic() - start)
    equal(victim.ask("healthy")["fault"], "none", "the healthy connection")
    victim.ask("limit", fds=limit)
    check(used < 0.7, "%.2f of a processor's time", used)
    for wire in wires:
        wire.reset()
    drain_requests(victim)
    still_serves(victim)


def drain_requests(victim):
    """Rejects all requests that were sent before, which come before one that is sent now."""
    wire = Wire.connect(victim.address, victim.port())
    wire.send(Startup().pack())
    port = None
    while port != wire.sock.getsockname()[1]:
        request = victim.request()
        equal(request["event"], "DAT_CONNECTION_REQUEST_EVENT", "event")
        port = int(request["remote_port"])
        victim.ask("reject", request=request["request"])
    wire.close()


driver.perform(environment={"DAPL_SOFT_HANDSHAKE": str(PATIENCE_MS)})
