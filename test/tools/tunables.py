#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Tunables of the software provider that show outside: the port range and the traffic class."""
import os
import random
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from util import BUILD, ENV, Scratch, Skip, call, case, check, entry, equal, run

DAPLTEST = os.path.join(BUILD, "dapltest")


class Servers:
    """Servers of dapltest with variables set."""

    def __init__(self, scratch, **variables):
        self.env = {**ENV, "DAT_OVERRIDE": scratch.write("dat.conf", entry("soft-lo")), **variables}
        self.programs = []

    def start(self):
        """(its port or None, all it said)"""
        program = subprocess.Popen(
            [DAPLTEST, "-T", "S", "-D", "soft-lo", "-n", "0"], env=self.env, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )
        self.programs.append(program)
        said = ""
        for line in program.stdout:
            said += line
            if line.startswith("Dapltest: Service Point Ready"):
                return int(re.search("Server Port - ([0-9]+)", said).group(1)), said
        return None, said

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for program in self.programs:
            program.kill()
            program.wait()


@case("port_min, port_max: qualifiers are chosen from there, and nowhere else")
def _():
    low = random.randrange(20000, 30000)
    with Scratch() as s:
        conf = s.write("dapl.conf", "soft {\n\tport_min = %d\n\tport_max = %d\n}\n" % (low, low + 1))
        with Servers(s, DAPL_CONF=conf) as servers:
            first, second = servers.start()[0], servers.start()[0]
            equal({first, second}, {low, low + 1}, "ports")
            port, said = servers.start()
            equal(port, None, "the third's port")
            check("all connection qualifiers from %d to %d are in use (options port_min, port_max)" % (low, low + 1)
                  in said, "what it says: %s", said)


@case("tos: connections have the traffic class")
def _():
    if not shutil.which("ss"):
        raise Skip("no ss")
    with Scratch() as s, Servers(s, DAPL_CM_TOS="0x28") as servers:
        port, _ = servers.start()
        client = subprocess.Popen(
            [DAPLTEST, "-T", "P", "-s", "127.0.0.1", "-D", "soft-lo", "-n", str(port), "-i", "100000000",
             "-p", "4", "SR", "1024"], env=servers.env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )
        servers.programs.append(client)
        for _ in range(300):
            seen = call(0, "ss", "-tnH", "--tos", "state", "established").out
            if "tos:0x28" in seen:
                return
            if client.poll() is not None:
                break
        check(False, "no connection with tos 0x28: %s", seen[:2000])


run()
