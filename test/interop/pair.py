#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""
Two processes use the soft provider with each other, every byte compared: over loopback, or with the
arguments "netns ONE TWO DEVICE_ONE DEVICE_TWO" between two network namespaces (netns.sh makes
them).
"""
import os
import select
import socket
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import driver  # noqa: E402
from driver import Endpoint, Region, Victim, pattern  # noqa: E402
from tap import Skip, case, check, equal, note, run  # noqa: E402


def join(active, passive, **options):
    """Connects one process with the other; an endpoint of each."""
    one, two = Endpoint(active, **options), Endpoint(passive, **options)
    port = passive.port()
    got = active.ask(
        "connect", ep=one.number, address=passive.address, qual=port, data=b"hello".hex()
    )
    equal(got["result"], "DAT_SUCCESS", "dat_ep_connect")
    request = passive.request()
    equal(request["event"], "DAT_CONNECTION_REQUEST_EVENT", "event of the passive side")
    equal(bytes.fromhex(request["data"]), b"hello", "private data of the request")
    passive.accept(request, two, b"welcome")
    driver.connected(active, one, b"welcome")
    driver.connected(passive, two, b"")
    return one, two


def exchange(one, two):
    """Sends, a write and a read from one to two."""
    for size in (0, 1, 100, 5000):
        source = Region(one.victim, size + 1, "local")
        source.fill(size)
        one.request("send", source, 0, size)
        equal(two.received(), pattern(size, size), "message of %d octets" % size)
        equal(one.done()["status"], driver.SUCCESS, "send")
    size = 300000
    source, target = Region(one.victim, size), Region(two.victim, size)
    content = source.fill(1)
    one.request("write", source, remote_address=target.address, rmr_context=target.stag)
    one.request("send", source, 0, 1)
    two.received()
    equal(target.bytes(), content, "written memory")
    equal(
        (one.done()["status"], one.done()["status"]),
        (driver.SUCCESS, driver.SUCCESS),
        "write and send",
    )
    content = target.fill(2)
    one.request("read", source, remote_address=target.address, rmr_context=target.stag)
    equal(one.done()["status"], driver.SUCCESS, "read")
    equal(source.bytes(), content, "read memory")


def both_ways(active, passive):
    one, two = join(active, passive, size=5000)
    exchange(one, two)
    exchange(two, one)
    active.ask("disconnect", ep=one.number)
    one.ended((driver.DISCONNECTED,))
    two.ended((driver.DISCONNECTED,))


def on_address(active, passive, parameter):
    equal(passive.address, "127.0.0.1" if parameter == "lo" else parameter, "address of the IA")
    both_ways(active, passive)


def together(function, first=None, second=None):
    """Calls function with two processes and ends them in order."""
    victims = []
    try:
        victims.append(Victim(**(first or {})))
        victims.append(Victim(**(second or {})))
        for victim in victims:
            victim.port()
        function(*victims)
        for victim in victims:
            victim.clean()
            victim.unharmed()
            victim.quit()
    except Exception:
        for victim in victims:
            if victim.process.poll() is None:
                victim.complain()
        raise
    finally:
        for victim in victims:
            if not victim.errors.closed:
                victim.discard()


def killed(survivor, other):
    """The other process is killed while connected."""
    one, _ = join(survivor, other)
    other.process.kill()
    other.process.wait()
    one.ended((driver.BROKEN, driver.DISCONNECTED))
    survivor.quiet()


def alone(function, first=None, second=None):
    """As together, but the second process does not live to the end."""
    survivor, other = Victim(**(first or {})), Victim(**(second or {}))
    try:
        survivor.port()
        function(survivor, other)
        survivor.clean()
        survivor.unharmed()
        survivor.quit()
    finally:
        for victim in (survivor, other):
            if not victim.errors.closed:
                victim.discard()


# ---- On one host ---------------------------------------------------------------------------------


def loopback_cases():
    for parameter in ("lo", "127.0.0.1", "::1"):

        def one(parameter=parameter):
            if ":" in parameter and not has_ipv6():
                raise Skip("no IPv6 here")
            side = {"parameter": parameter}
            together(lambda a, b: on_address(a, b, parameter), side, side)

        case('Two processes over loopback, parameter "%s": every byte both ways' % parameter)(one)
    case("One of two processes is killed: the other's connection ends, nothing is left (EV-17)")(
        lambda: alone(killed)
    )


def has_ipv6():
    try:
        with socket.socket(socket.AF_INET6, socket.SOCK_STREAM) as sock:
            sock.bind(("::1", 0))
        return True
    except OSError:
        return False


# ---- Between namespaces --------------------------------------------------------------------------


def address_of(namespace, device):
    text = subprocess.run(
        ["ip", "-n", namespace, "-o", "-4", "address", "show", "dev", device],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    return text.split()[3].partition("/")[0]


def in_namespace(namespace, parameter):
    return {"ia": "soft-net", "parameter": parameter, "prefix": "ip netns exec " + namespace}


def nobody_there(active, passive):
    """An address of the network that no host has, and a port without a listener."""
    network = passive.address.rpartition(".")[0]
    one = Endpoint(active, 2)
    got = active.ask("connect", ep=one.number, address=network + ".77", qual=4791, ms=8000)
    equal(got["result"], "DAT_SUCCESS", "dat_ep_connect")
    note("no host: %s", one.ended((driver.UNREACHABLE, driver.TIMED_OUT), ms=12000)["event"])
    two = Endpoint(active, 2)
    active.ask("connect", ep=two.number, address=passive.address, qual=9, ms=8000)
    equal(two.ended((driver.NON_PEER_REJECTED,))["event"], driver.NON_PEER_REJECTED, "no listener")


def loopback_stays_inside(outside, inside):
    """A service point of an adapter on loopback is not reachable from another host."""
    equal(inside.address, "127.0.0.1", "address of the adapter")
    ep = Endpoint(outside, 2)
    network = outside.address.rpartition(".")[0]
    outside.ask("connect", ep=ep.number, address=network + ".2", qual=inside.port(), ms=5000)
    ep.ended((driver.NON_PEER_REJECTED,))


def port_range(namespace, value):
    """Sets the kernel's range of ports for connections; returns what it was."""
    name = "net.ipv4.ip_local_port_range"
    sysctl = ["ip", "netns", "exec", namespace, "sysctl", "-n", name]
    before = subprocess.run(sysctl, check=True, capture_output=True, text=True).stdout
    subprocess.run([*sysctl[:-2], "-qw", name + "=" + value], check=True)
    return before.strip()


def no_port_left(namespace, active, passive):
    """Two ports are two connections; the third attempt says what is at its end, and no more."""
    before = port_range(namespace, "40000 40001")
    try:
        one, two = join(active, passive, size=5000)
        join(active, passive)
        third = Endpoint(active, 2)
        got = active.ask("connect", ep=third.number, address=passive.address, qual=passive.port())
        check(got["result"].startswith("DAT_INSUFFICIENT_RESOURCES"), "no port: %s", got["result"])
        active.errors.seek(0)
        check("net.ipv4.ip_local_port_range" in active.errors.read(), "the knob is not named")
        exchange(one, two)
    finally:
        port_range(namespace, before)
    active.ask("connect", ep=third.number, address=passive.address, qual=9)
    equal(third.ended((driver.NON_PEER_REJECTED,))["event"], driver.NON_PEER_REJECTED, "later")


def dapltest(server, client):
    """
    The test program with data validation, the server in one namespace and the client in the other.
    """
    program = os.path.join(driver.build_dir(), "dapltest")
    if not os.access(program, os.X_OK):
        raise Skip("dapltest is not built")
    with driver.tempfile.TemporaryDirectory() as folder:
        processes = []
        for number, side in enumerate((server, client)):
            os.mkdir("%s/%d" % (folder, number))
            conf = driver.write_conf("%s/%d" % (folder, number), side["ia"], side["parameter"])
            processes.append((dict(os.environ, DAT_OVERRIDE=conf), side["prefix"].split()))
        run_dapltest(program, processes, server)


def wait_for(process, word, seconds=20):
    """Until the process has said the word."""
    end = time.monotonic() + seconds
    said = b""
    while word.encode() not in said:
        left = end - time.monotonic()
        check(left > 0 and select.select([process.stdout], [], [], left)[0], "%s never came", word)
        piece = os.read(process.stdout.fileno(), 4096)
        check(piece, "the server ended: %s", said.decode())
        said += piece


def run_dapltest(program, processes, server):
    address = address_of(server["prefix"].split()[-1], server["device"])

    def command(number, *arguments):
        env, prefix = processes[number]
        return {
            "args": prefix + [program, "-D", "soft-net"] + list(arguments),
            "env": env,
            "stdout": subprocess.PIPE,
            "stderr": subprocess.STDOUT,
            "text": True,
        }

    listening = subprocess.Popen(**command(0, "-T", "S"))
    try:
        wait_for(listening, "Ready")
        got = subprocess.run(
            **command(
                1,
                "-T",
                "T",
                "-s",
                address,
                "-i",
                "100",
                "-t",
                "2",
                "-w",
                "2",
                "-V",
                "client",
                "SR",
                "4096",
                "server",
                "SR",
                "4096",
                "client",
                "RW",
                "8192",
                "server",
                "RR",
                "8192",
                "client",
                "SR",
                "64",
                "-f",
                "server",
                "SR",
                "64",
                "-f",
            ),
            timeout=60,
            check=False
        )
        note("%s", "\n".join(got.stdout.splitlines()[-6:]))
        equal(got.returncode, 0, "exit status of the client")
        got = subprocess.run(**command(1, "-T", "Q", "-s", address), timeout=30, check=False)
        equal(got.returncode, 0, "exit status of dapltest -T Q")
        equal(listening.wait(30), 0, "exit status of the server")
    finally:
        if listening.poll() is None:
            listening.kill()
        listening.communicate()


def namespace_cases(one, two, device_one, device_two):
    sides = {
        name: [in_namespace(one, first), in_namespace(two, second)]
        for name, first, second in (
            ("netdev", device_one, device_two),
            ("address", address_of(one, device_one), address_of(two, device_two)),
        )
    }
    for name, (first, second) in sides.items():
        case("Two namespaces, adapters by %s: every byte both ways, the first connects" % name)(
            lambda a=first, b=second: together(both_ways, a, b)
        )
        case("Two namespaces, adapters by %s: the second connects" % name)(
            lambda a=first, b=second: together(both_ways, b, a)
        )
    first, second = sides["netdev"]
    case(
        "No such host, no such listener: UNREACHABLE or TIMED_OUT, NON_PEER_REJECTED (EV-9, EV-14)"
    )(lambda: together(nobody_there, first, second))
    case("No port left on the connecting side: the call fails, the message names the knob (EP-79)")(
        lambda: together(lambda a, b: no_port_left(one, a, b), first, second)
    )
    inside = dict(in_namespace(two, "lo"), ia="soft-lo")
    case("soft-lo is not reachable from the other namespace")(
        lambda: together(loopback_stays_inside, first, inside)
    )
    case("A process killed in the other namespace ends the connection (EV-17)")(
        lambda: alone(killed, first, second)
    )
    case("dapltest with validation, the server in the first namespace")(
        lambda: dapltest(dict(first, device=device_one), second)
    )
    case("dapltest with validation, the server in the second namespace")(
        lambda: dapltest(dict(second, device=device_two), first)
    )


if __name__ == "__main__":
    driver.require()
    if sys.argv[1:2] == ["netns"]:
        namespace_cases(*sys.argv[2:6])
        del sys.argv[1:]
    else:
        loopback_cases()
    run()
