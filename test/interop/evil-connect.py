#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""
The provider listens, with peers that are silent, slow, gone or do not speak MPA: the event of
EV-5 that is due, in time (TMO), or no trace at all on the passive side; a healthy connection of the
process runs on, nothing is left.
"""
import os
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import driver  # noqa: E402
import iwarp  # noqa: E402
from evil_setup import (  # noqa: E402
    HANDSHAKE_MS,
    HTTP,
    NON_PEER_REJECTED,
    PATIENCE_MS,
    bad_frames,
    ends,
    hasty,
    still_serves,
)
from driver import Endpoint  # noqa: E402
from iwarp import Peer, REPLY_KEY, REQUEST_KEY, Startup, Wire  # noqa: E402
from tap import case, check, equal, note, one_of  # noqa: E402


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
