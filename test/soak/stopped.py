#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Runs a command while the programs of a build folder are stopped at random, as a busy machine
stops them: stopped.py FOLDER COMMAND... A process that a test stops just then goes on too early."""

import os
import random
import signal
import subprocess
import sys
import time

LONGEST = 0.05  # seconds; most are far shorter


def programs(folder):
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            if os.readlink(f"/proc/{entry}/exe").startswith(folder):
                yield int(entry)
        except OSError:  # it has ended
            continue


def is_stopped(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as stat:
        return stat.read().rpartition(")")[2].split()[0] == "T"


def stop_shortly(pid):
    try:
        if is_stopped(pid):  # by a test
            return
        os.kill(pid, signal.SIGSTOP)
        try:
            time.sleep(LONGEST * random.random() ** 3)
        finally:
            os.kill(pid, signal.SIGCONT)
    except OSError:  # it has ended
        pass


def main():
    folder = os.path.join(os.path.realpath(sys.argv[1]), "")
    command = subprocess.Popen(sys.argv[2:])
    while command.poll() is None:
        running = list(programs(folder))
        for pid in random.sample(running, min(len(running), 16)):
            stop_shortly(pid)
        time.sleep(0.01 * random.random())
    return command.returncode


if __name__ == "__main__":
    sys.exit(main())
