#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""
Two processes of different processors use the soft provider with each other, every byte compared: the first is of the
build in ARCH_BUILD, run by ARCH_RUN, whose byte order is ARCH_ORDER (little or big), the second is of this machine.
ARCH_SHM=1: over shared memory as well.
"""
import os
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "interop"))

import driver  # noqa: E402
import pair  # noqa: E402
from driver import IB_DTO, SUCCESS, Endpoint, Region  # noqa: E402
from tap import case, equal, run  # noqa: E402

ORDER = {"there": os.environ["ARCH_ORDER"], "here": sys.byteorder}


def sides(**more):
    """How the process of the other processor is started, and how the one of this machine is."""
    there = {"build": os.environ["ARCH_BUILD"], "prefix": "sh %s/run" % HERE, "environment": more}
    return there, {"environment": more}


def private_data(active, passive):
    """Of every kind of length, in the request and in the answer."""
    most = min(active.max_private_data, passive.max_private_data)
    for length in (0, 1, 31, most):
        asked, answered = driver.pattern(length, 1), driver.pattern(length, 2)
        one, two = Endpoint(active), Endpoint(passive)
        got = active.ask(
            "connect", ep=one.number, address=passive.address, qual=passive.port(), data=asked.hex()
        )
        equal(got["result"], "DAT_SUCCESS", "dat_ep_connect")
        request = passive.request()
        equal(bytes.fromhex(request["data"]), asked, "private data of the request")
        passive.accept(request, two, answered)
        driver.connected(active, one, answered)
        driver.connected(passive, two, b"")
        active.ask("disconnect", ep=one.number)
        one.ended((driver.DISCONNECTED,))
        two.ended((driver.DISCONNECTED,))


def rejected(active, passive):
    one = Endpoint(active)
    active.ask("connect", ep=one.number, address=passive.address, qual=passive.port())
    request = passive.request()
    passive.ask("reject", request=request["request"], data=b"no".hex())
    end = one.ended((driver.PEER_REJECTED,))
    equal(bytes.fromhex(end["data"]), b"no", "private data of the rejection")


def word(region, offset, order):
    return int.from_bytes(region.bytes(offset, 8), order)


def extension(one, two, order_one, order_two):
    """Atomics on a word of two's, which is a number there as here, and immediate data."""
    sink, target = Region(one.victim, 64, "local"), Region(two.victim, 64, "atomic")
    value = 0x0102030405060708
    two.victim.ask(
        "set", region=target.number, offset=8, bytes=value.to_bytes(8, order_two).hex()
    )
    where = {"remote_address": target.address + 8, "rmr_context": target.stag}
    for what, arg, swap, after in (
        ("fetch_add", 0x00000000FFFFFFFF, 0, value + 0xFFFFFFFF),
        ("cmp_swap", 1, 2, value + 0xFFFFFFFF),
        ("cmp_swap", value + 0xFFFFFFFF, 0xFEDCBA9876543210, 0xFEDCBA9876543210),
    ):
        one.request(what, sink, 8, 8, arg=arg, swap=swap, **where)
        equal(one.done(number=IB_DTO)["status"], SUCCESS, what)
        equal(word(sink, 8, order_one), value, "what was there")
        value = after
        equal(word(target, 8, order_two), value, "what is left")
    number, place = 0x01020304, Region(two.victim, 64)
    where = {"remote_address": place.address, "rmr_context": place.stag}
    one.request("write_immed", sink, 0, 8, arg=number, **where)
    equal(one.done(number=IB_DTO)["status"], SUCCESS, "write with immediate data")
    event = two.victim.event()
    equal((event["event"], event["op"]), (IB_DTO, "DAT_IB_DTO_RECV_IMMED"), "receive")
    cookie = two.posted.popleft()
    equal(int(event["cookie"]), cookie, "the oldest receive")
    two.post_recv(cookie % 0x10000)
    # The bits are carried as they lie in memory (IBX-50).
    equal(
        int(event["immediate"]).to_bytes(4, order_two),
        number.to_bytes(4, order_one),
        "immediate data",
    )


def all_of_it(active, passive, order_active, order_passive):
    pair.both_ways(active, passive)
    private_data(active, passive)
    rejected(active, passive)
    one, two = pair.join(active, passive, size=5000)
    extension(one, two, order_active, order_passive)
    extension(two, one, order_passive, order_active)
    active.ask("disconnect", ep=one.number)
    one.ended((driver.DISCONNECTED,))
    two.ended((driver.DISCONNECTED,))


def cases(name, **environment):
    there, here = sides(**environment)
    case("%s: the other processor connects, both send, write, read, add and swap" % name)(
        lambda: pair.together(
            lambda a, b: all_of_it(a, b, ORDER["there"], ORDER["here"]), there, here
        )
    )
    case("%s: this processor connects, both send, write, read, add and swap" % name)(
        lambda: pair.together(
            lambda a, b: all_of_it(a, b, ORDER["here"], ORDER["there"]), here, there
        )
    )


cases("TCP")
cases("TCP without CRCs", DAPL_SOFT_CRC="no")
if os.environ.get("ARCH_SHM"):
    cases("shared memory", DAPL_SOFT_LINK="shm")
run()
