#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""dat-info --doctor: what stands between two hosts, which are network namespaces here."""
import os
import resource
import shutil
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from util import BUILD, DAT_INFO, ENV, Scratch, Skip, call, case, check, entry, equal, run

HERE, THERE, NOBODY = "10.111.0.1", "10.111.0.2", "10.111.0.3"
DAPLTEST = os.path.join(BUILD, "dapltest")


def do(*args):
    done = subprocess.run(args, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        raise Skip("%s: %s" % (" ".join(args), done.stdout.strip()))


class Hosts:
    """Two namespaces with a cable between them, and a dat.conf for each."""

    def __init__(self, mtu=1500, mtu_there=1500):
        self.a, self.b = ("udapl-%d-%s" % (os.getpid(), n) for n in "ab")
        self.mtu, self.mtu_there, self.server = mtu, mtu_there, None

    def __enter__(self):
        if os.geteuid() or not shutil.which("ip"):
            raise Skip("making namespaces needs root and ip")
        self.scratch = Scratch()
        try:
            self.make()
        except BaseException:
            self.__exit__()
            raise
        return self

    def make(self):
        for name in (self.a, self.b):
            do("ip", "netns", "add", name)
            do("ip", "-n", name, "link", "set", "lo", "up")
        do("ip", "-n", self.a, "link", "add", "veth-a", "mtu", str(self.mtu), "type", "veth",
           "peer", "name", "veth-b", "mtu", str(self.mtu_there), "netns", self.b)
        for name, link, address in ((self.a, "veth-a", HERE), (self.b, "veth-b", THERE)):
            do("ip", "-n", name, "addr", "add", address + "/24", "dev", link)
            do("ip", "-n", name, "link", "set", link, "up")
        self.conf = self.scratch.write("dat.conf", entry("here", "veth-a"))
        self.conf_there = self.scratch.write("there.conf", entry("there", "veth-b"))

    def __exit__(self, *_):
        if self.server:
            self.server.kill()
            self.server.wait()
        for name in (self.a, self.b):
            subprocess.run(["ip", "netns", "del", name], stderr=subprocess.DEVNULL, check=False)
        shutil.rmtree(self.scratch.folder, ignore_errors=True)

    def inside(self, name, *args):
        return ("ip", "netns", "exec", name, *args)

    def serve(self):
        self.server = subprocess.Popen(
            self.inside(self.b, DAPLTEST, "-T", "S", "-D", "there"), env={**ENV, "DAT_OVERRIDE": self.conf_there},
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        check("Ready" in self.server.stdout.readline(), "dapltest's server is not ready")

    def doctor(self, status, *args, host=THERE, conf=None, **how):
        return call(status, *self.inside(self.a, DAT_INFO, "--doctor", host, "-f", conf or self.conf, *args), **how)

    def firewall(self, *verdict):
        if not shutil.which("nft"):
            raise Skip("no nft")
        rules = ("add table inet t", "add chain inet t in { type filter hook input priority 0; }",
                 "add rule inet t in tcp dport 62000 " + " ".join(verdict))
        do(*self.inside(self.b, "nft", "; ".join(rules)))


@case("nothing is in the way to a server, and its version is told")
def _():
    with Hosts() as hosts:
        hosts.serve()
        done = hosts.doctor(0)
        done.says(r"^ok +address +%s is %s$" % (THERE, THERE), r"^ok +route +by veth-a, from %s$" % HERE,
                  r"^ok +versions +udapl \d.* Linux \d", r"^ok +adapter +here opens, at %s$" % HERE,
                  r"^ok +adapter +here leads to", r"^ok +MTU +packets of 1500 bytes pass whole$",
                  r"^ok +port +TCP port 62000 is open$", r"^ok +uDAPL +here connects to port 62000 there$",
                  r"^ok +peer +dapltest \(udapl\) \d", r"^Nothing is in the way to %s\.$" % THERE)
        check("WRONG" not in done.out, "something is wrong: %s", done)
        told = hosts.doctor(0, "-j").json()
        equal(told["wrong"], 0, "findings in JSON")
        # Whatever is said beside it.
        many = hosts.scratch.write("many.conf", entry("here", "veth-a") * 80)
        hosts.doctor(0, conf=many).says(r"^ok +uDAPL +here connects to port 62000 there$")
        # The server has served a client that ran no test, and serves others.
        hosts.doctor(0)


@case("an adapter that dat_ia_open does not find, and a file that can be read once only")
def _():
    with Hosts() as hosts:
        hosts.serve()
        conf = hosts.scratch.write("threads.conf", entry("here", "veth-a", threads="threadsafe"))
        hosts.doctor(0, conf=conf).says(r"^ok +uDAPL +here connects to port 62000 there$")
        out, into = os.pipe()
        os.write(into, entry("here", "veth-a").encode())
        os.close(into)
        hosts.doctor(0, conf="/dev/stdin", stdin=out).says(r"^ok +uDAPL +here connects to port 62000 there$")
        os.close(out)


@case("nobody listens: it says so, and what to start")
def _():
    with Hosts() as hosts:
        hosts.doctor(1).says("^WRONG +port +nobody listens at TCP port 62000 of %s$" % THERE,
                             "^1 thing is in the way:$", "^ +start the program there.*dapltest -T S")
        hosts.doctor(1, "--port", "4711").says("nobody listens at TCP port 4711")


@case("a firewall that drops: the port is silent though the host answers")
def _():
    with Hosts() as hosts:
        hosts.serve()
        hosts.firewall("drop")
        begun = time.monotonic()
        hosts.doctor(1).says("^WRONG +port +TCP to port 62000 gets no answer, though .* a firewall drops it$",
                             "^ +let it through on %s" % THERE)
        check(time.monotonic() - begun < 30, "it took too long")


@case("a firewall that refuses says so")
def _():
    with Hosts() as hosts:
        hosts.serve()
        hosts.firewall("reject", "with", "icmpx", "admin-prohibited")
        hosts.doctor(1).says("^WRONG +port +TCP to port 62000 of .* fails: ", "^ +a firewall refuses it")


@case("the peer's MTU is smaller: the largest packet that passes is found")
def _():
    with Hosts(mtu=9000) as hosts:
        hosts.serve()
        done = hosts.doctor(1)
        # A veth lets 4 bytes more pass, the room of a VLAN's tag.
        done.says(r"^WRONG +MTU +veth-a has an MTU of 9000 bytes, but no packet above 150[0-4] gets",
                  "^ +give both hosts and all between them the same MTU")


@case("no route: it ends there, and says what is missing")
def _():
    with Hosts() as hosts:
        done = hosts.doctor(1, host="192.0.2.1")
        done.says("^WRONG +route +no route to 192.0.2.1: Network is unreachable$", "^ +bring up the interface")
        check(" port " not in done.out, "it went on: %s", done)


@case("a name with addresses of both families, of which the adapter has one")
def _():
    with Hosts() as hosts:
        hosts.serve()
        for name, link, address in ((hosts.a, "veth-a", "fd00:da7::1"), (hosts.b, "veth-b", "fd00:da7::2")):
            do("ip", "-n", name, "addr", "add", address + "/64", "dev", link, "nodad")
        folder = "/etc/netns/" + hosts.a
        os.makedirs(folder)
        try:
            with open(folder + "/hosts", "w") as file:
                file.write("fd00:da7::2 there.test\n%s there.test\n" % THERE)
            hosts.doctor(0, host="there.test").says("^ok +address +there.test is %s$" % THERE, "^ok +uDAPL ")
        finally:
            shutil.rmtree(folder)


@case("an address that only a local route has, and no interface")
def _():
    with Hosts() as hosts:
        do("ip", "-n", hosts.a, "route", "add", "local", "10.112.0.0/24", "dev", "lo")
        done = hosts.doctor(1, host="10.112.0.1")
        done.says("^ok +route +by an interface unknown, from 10.112.0.1$",
                  "^note +MTU +cannot be told: the interface is unknown$")


@case("an address that nobody has")
def _():
    with Hosts() as hosts:
        hosts.doctor(1, host=NOBODY).says("^WRONG +port ", "^ +see whether the host is up",
                                          "^note +MTU +cannot be told: no answer to pings$")


@case("no adapter of dat.conf leads there")
def _():
    with Hosts() as hosts:
        conf = hosts.scratch.write("lo.conf", entry("lo-only", "lo"))
        hosts.doctor(1, conf=conf).says("^WRONG +adapter +none of .*lo.conf is at %s, from where" % HERE,
                                        "^ +add a line for veth-a to .*dat-info --generate")


@case("nor to an address of version 6: an interface's line takes that of version 4")
def _():
    if not os.path.exists("/proc/net/if_inet6") or " lo" not in open("/proc/net/if_inet6", encoding="ascii").read():
        raise Skip("lo has no address of version 6")
    with Scratch() as s:
        conf = s.write("dat.conf", entry("soft-lo"))
        call(1, DAT_INFO, "--doctor", "::1", "-f", conf).says(
            "^WRONG +adapter +none of %s is at ::1" % conf, '^ +add a line to %s whose seventh field is "::1"$' % conf)


@case("something else than uDAPL listens")
def _():
    with Hosts() as hosts:
        hosts.server = subprocess.Popen(
            hosts.inside(hosts.b, sys.executable, "-c", "import socket; s = socket.create_server(('', 62000))\n"
                         "print('Ready', flush=True)\nwhile 1: s.accept()[0].send(b'220 hello, who is there?\\r\\n' * 9)"),
            stdout=subprocess.PIPE, text=True)
        hosts.server.stdout.readline()
        hosts.doctor(1).says("^ok +port ", "^WRONG +uDAPL +here does not connect to port 62000 there: ",
                             "^ +is it a uDAPL program that listens there")


@case("an RDMA device wants modules and memory that may be locked")
def _():
    with Hosts() as hosts, Scratch() as sys_folder:
        port = "class/infiniband/mlx5_0/ports/1/"
        sys_folder.write("class/infiniband/mlx5_0/node_type", "1: CA\n")
        sys_folder.write(port + "state", "4: ACTIVE\n")
        sys_folder.write(port + "gid_attrs/ndevs/0", "veth-a\n")
        done = hosts.doctor(1, "--sysfs", sys_folder.folder)
        done.says("^ok +devices +mlx5_0 port 1 is active, on veth-a$",
                  "^WRONG +modules +the kernel module rdma_ucm is not loaded$", "^ +modprobe rdma_ucm")
        done = hosts.doctor(1, conf=hosts.scratch.write("lo.conf", entry("lo-only", "lo")),
                            preexec=lambda: resource.setrlimit(resource.RLIMIT_MEMLOCK, (65536, 65536)))
        done.says("^note +memory +only 64 KiB may be locked")


@case("a name without address, a port that is none, and no dat.conf")
def _():
    with Scratch() as s:
        conf = s.write("dat.conf", entry("a"))
        call(1, DAT_INFO, "--doctor", "no.such.host.invalid", "-f", conf).says(
            "^WRONG +address +no.such.host.invalid has no address")
        call(2, DAT_INFO, "--doctor", "localhost", "--port", "0").complains("--port")
        call(3, DAT_INFO, "--doctor", "localhost", "-f", s.path("none")).complains("none")


run()
