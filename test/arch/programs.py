#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""The installed programs, dtest and its family and dapltest, between this machine and another processor's build."""
import os
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "interop"))

import driver  # noqa: E402
from tap import case, check, equal, note, run  # noqa: E402

BUILD = os.path.abspath(os.environ.get("top_builddir") or ".")
THERE = os.environ["ARCH_BUILD"]
ADDRESS = "127.0.0.1"


def start(folder, there, program, *arguments):
    """A process of one side, and the file with what it says."""
    build = THERE if there else BUILD
    conf = os.path.join(folder, "there" if there else "here")
    os.makedirs(conf, exist_ok=True)
    env = dict(os.environ, DAPL_SOFT_LINK="tcp", DAT_OVERRIDE=driver.write_conf(conf, "soft-lo", "lo", build))
    command = (["sh", HERE + "/run"] if there else []) + [os.path.join(build, program), *arguments]
    log = open(os.path.join(conf, "log"), "w+", encoding="utf-8", errors="replace")
    return subprocess.Popen(command, env=env, stdout=log, stderr=subprocess.STDOUT), log


def said(log):
    log.seek(0)
    return log.read()


def both(program, server_arguments, client_arguments, there_serves, ready, quit_arguments=None):
    with tempfile.TemporaryDirectory(prefix="arch-") as folder:
        server, server_log = start(folder, there_serves, program, *server_arguments)
        client_log = None
        try:
            end = time.monotonic() + 20
            while ready not in said(server_log) and server.poll() is None and time.monotonic() < end:
                time.sleep(0.05)
            client, client_log = start(folder, not there_serves, program, *client_arguments)
            equal(client.wait(60), 0, "exit status of the client")
            if quit_arguments:
                equal(start(folder, not there_serves, program, *quit_arguments)[0].wait(30), 0, "exit status of -T Q")
            equal(server.wait(30), 0, "exit status of the server")
        except Exception:
            for log in (server_log, client_log):
                if log:
                    note("%s", said(log)[-1500:])
            raise
        finally:
            for process in (server,):
                if process.poll() is None:
                    process.kill()
                    process.wait()


def cases(name, there_serves):
    for program in ("dtest", "dtestx", "dtestsrq"):
        case("%s: %s" % (program, name))(
            lambda program=program: both(
                "samples/" + program, ("-P", "soft-lo"), ("-P", "soft-lo", "-h", ADDRESS), there_serves, "listening"
            )
        )
    work = "client SR 1024 3 server SR 256 3 client RW 4096 1 server RW 2048 4 server RR 1024 1 client RR 2048 1"
    case("dapltest with validation: %s" % name)(
        lambda: both(
            "dapltest",
            ("-T", "S", "-D", "soft-lo"),
            ("-T", "T", "-s", ADDRESS, "-D", "soft-lo", "-V", "-i", "10", "-t", "1", "-w", "2", *work.split()),
            there_serves,
            "Ready",
            ("-T", "Q", "-s", ADDRESS, "-D", "soft-lo"),
        )
    )


cases("the other processor serves", True)
cases("this processor serves", False)
run()
