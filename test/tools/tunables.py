#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Tunables of the software provider that show outside: port range, queue sizes, traffic class."""
import json
import os
import random
import re
import shutil
import socket
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from util import BUILD, DAT_INFO, ENV, Scratch, Skip, call, case, check, entry, equal, run

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


def free_pair():
    """The first of two adjacent ports that nobody has."""
    while True:
        low = random.randrange(20000, 30000)
        with socket.socket() as first, socket.socket() as second:
            try:
                first.bind(("127.0.0.1", low))
                second.bind(("127.0.0.1", low + 1))
                return low
            except OSError:
                continue


@case("port_min, port_max: qualifiers are chosen from there, and nowhere else")
def _():
    with Scratch() as s:
        low = free_pair()
        conf = s.write("dapl.conf", "soft {\n\tport_min = %d\n\tport_max = %d\n}\n" % (low, low + 1))
        with Servers(s, DAPL_CONF=conf) as servers:
            first, second = servers.start()[0], servers.start()[0]
            equal({first, second}, {low, low + 1}, "ports")
            port, said = servers.start()
            equal(port, None, "the third's port")
            check("all connection qualifiers from %d to %d are in use (options port_min, port_max)" % (low, low + 1)
                  in said, "what it says: %s", said)


@case("max_wr: an endpoint takes so many requests and no more")
def _():
    with Scratch() as s:
        for limit in 7, 16384:
            conf = s.write("dapl.conf", "soft {\n\tmax_wr = %d\n}\n" % limit)
            result = call(0, DAPLTEST, "-T", "L", "-D", "soft-lo", "-m", "100", "--json", "limit_rpost",
                          env={"DAT_OVERRIDE": s.write("dat.conf", entry("soft-lo")), "DAPL_CONF": conf})
            equal(json.loads(result.out)["results"][0]["objects"], min(limit, 100), "receives")


@case("tos: connections have the traffic class")
def _():
    if not shutil.which("ss"):
        raise Skip("no ss")
    with Scratch() as s, Servers(s, DAPL_CM_TOS="0x28", DAPL_SOFT_LINK="tcp") as servers:
        port, _ = servers.start()
        client = subprocess.Popen(
            [DAPLTEST, "-T", "P", "-s", "127.0.0.1", "-D", "soft-lo", "-n", str(port), "-i", "100000000",
             "-p", "4", "SR", "1024"], env=servers.env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )
        servers.programs.append(client)
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            seen = call(0, "ss", "-tnH", "--tos", "state", "established").out
            if "tos:0x28" in seen:
                return
            if client.poll() is not None:
                break
        check(False, "no connection with tos 0x28: %s", seen[:2000])


RELEASE_2_1_10 = """
DAPL_ACK_RETRY DAPL_ACK_TIMER DAPL_CM_ARP_RETRY_COUNT DAPL_CM_ARP_TIMEOUT_MS DAPL_CM_ROUTE_RETRY_COUNT
DAPL_CM_ROUTE_TIMEOUT_MS DAPL_CM_TOS DAPL_DBG_LEVEL DAPL_DBG_SYS_MEM DAPL_GLOBAL_ROUTING DAPL_HOP_LIMIT DAPL_IB_MTU
DAPL_IB_PKEY DAPL_IB_SL DAPL_LOOPBACK DAPL_MAX_CM_RESPONSE_TIME DAPL_MAX_CM_RETRIES DAPL_MAX_INLINE
DAPL_NETWORK_NODES DAPL_NETWORK_PPN DAPL_NETWORK_PROCESS_NUM DAPL_NETWORK_TRESHOLD DAPL_RNR_RETRY DAPL_RNR_TIMER
DAPL_SCM_NETDEV DAPL_TCLASS DAPL_UCM_ARRAY_BITS DAPL_UCM_CQ_SIZE DAPL_UCM_DREP_TIME DAPL_UCM_DREQ_RETRY
DAPL_UCM_ENTRY_BITS DAPL_UCM_QP_SIZE DAPL_UCM_REP_TIME DAPL_UCM_RETRY DAPL_UCM_RTU_TIME DAPL_UCM_TIMER
DAPL_UCM_TX_BURST DAPL_UCM_WAIT_TIME DAPL_WR_MAX
""".split()


@case("each variable of release 2.1.10 is a tunable, or named as one without effect")
def _():
    ofa = os.path.join(BUILD, "providers/verbs/.libs/libdaplofa.so.2")
    if not os.path.exists(ofa):
        raise Skip("built without verbs")
    with Scratch() as s:
        conf = s.write("dat.conf", entry("ofa", params="nothing", lib=ofa))
        variables = {name: "1" for name in RELEASE_2_1_10}
        result = call(0, os.path.join(BUILD, "tools/run-command"), "settings", "ofa",
                      env={"DAT_OVERRIDE": conf, "DAPL_CONF": "/dev/null", **variables})
        declared = {line.split("\t")[9] for line in result.out.splitlines()}
        for name in RELEASE_2_1_10:
            if name not in declared:
                result.complains("^dat: %s has no effect on provider verbs: " % name)


@case("bad settings of the trace are told, and the program runs on")
def _():
    with Scratch() as s:
        conf = s.write("dapl.conf", 'dapl {\n trace_level = 11\n trace_dest = printer\n trace_fil = "/x"\n'
                                    ' dat_trace_level = high\n}\n')
        env = {"DAT_OVERRIDE": s.write("dat.conf", entry("soft-lo"))}
        settings = os.path.join(BUILD, "tools/run-command")
        result = call(0, settings, "trace", "soft-lo", env={**env, "DAPL_CONF": conf})
        result.complains(
            "^dat: %s:2, section dapl: trace_level is 11, but 0 to 10 are possible; 0 stays$" % conf,
            '^dat: %s:3: trace_dest is "printer", but a list of stderr, syslog, file and none is possible' % conf,
            "^dat: %s:4, section dapl: unknown name trace_fil, near: trace_file$" % conf,
            '^dat: %s:5, section dapl: dat_trace_level is "high", which is not a number; 0 stays$' % conf,
        )
        equal(result.out, "dat 0\ndapl 0\n", "levels")
        for level in ("-1", "11"):
            call(0, settings, "trace", "soft-lo", env={**env, "DAPL_TRACE_LEVEL": level}).complains(
                "^dat: DAPL_TRACE_LEVEL: trace_level is %s, but 0 to 10 are possible; 0 stays$" % level)
        call(0, settings, "trace", "soft-lo", env={**env, "DAPL_TRACE_LEVEL": "high"}).complains(
            '^dat: DAPL_TRACE_LEVEL: "high" is not a number; 0 stays$')


@case("a variable of the trace is read once, in the same way by libdat2 and the provider")
def _():
    with Scratch() as s:
        env = {"DAT_OVERRIDE": s.write("dat.conf", entry("soft-lo")), "DAPL_CONF": "/dev/null"}

        def trace(**variables):
            return call(0, os.path.join(BUILD, "tools/run-command"), "trace", "soft-lo", env={**env, **variables})

        said = trace(DAT_TRACE_DEST="printer").err
        equal(said.count("printer"), 1, "complaints of the destination in: " + said)
        said = trace(DAT_TRACE_FILE="/nowhere/file", DAT_TRACE_LEVEL="3").err
        equal(said.count("trace file /nowhere/file"), 1, "complaints of the file in: " + said)
        result = trace(DAT_TRACE_LEVEL="0x3", DAPL_TRACE_LEVEL="0x1", DAT_TRACE_DEST="none")
        equal((result.out, result.err), ("dat 3\ndapl 1\n", ""), "levels, complaints")
        call(0, DAT_INFO, "-v", env={**env, "DAT_TRACE_LEVEL": "0x3"}).says("trace .* conf_read")


@case("a variable that should name a file and is empty is told by its name")
def _():
    with Scratch() as s:
        conf = s.write("dat.conf", entry("soft-lo"))
        command = os.path.join(BUILD, "tools/run-command")
        call(0, command, "trace", "soft-lo", env={"DAT_OVERRIDE": conf, "DAPL_CONF": ""}).complains(
            "^dat: DAPL_CONF is empty: No such file")
        call(0, command, "trace", "soft-lo", env={"DAT_OVERRIDE": ""}).complains(
            "^dat: DAT_OVERRIDE is empty: No such file")
        call(3, DAT_INFO, env={"DAT_OVERRIDE": ""}).complains("^dat-info: DAT_OVERRIDE is empty: No such file")


run()
