# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""The software provider beside UCX, libfabric and memcpy inside this host, in turns and pinned alike."""
import ctypes
import os
import shutil
import socket
import statistics
import subprocess
import time

SIZES = (1, 8, 64, 512, 4096, 32768, 65536, 262144, 1 << 20, 4 << 20)
LATENCY_SECONDS, STREAM_BYTES = 0.3, 3 << 30

# (operation, mode) of udapl-bench: the test of ucx_perftest that does the same.
UCX = {("send", "polling"): "tag_lat", ("write", "polling"): "ucp_put_lat", ("send", "stream"): "tag_bw",
       ("write", "stream"): "ucp_put_bw", ("read", "stream"): "ucp_get"}


def count_of(mode, size):
    if mode == "polling":
        return max(300, min(200000, int(LATENCY_SECONDS / (0.5e-6 + size / 4e9))))
    return max(300, min(1000000, STREAM_BYTES // size))


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def pair(server, client, env):
    """What the client says while the server runs, each on its own processor; None if it fails."""
    first = subprocess.Popen(["taskset", "-c", "1"] + server, env=env, stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL)
    try:
        time.sleep(0.3)
        second = subprocess.run(["taskset", "-c", "0"] + client, env=env, stdout=subprocess.PIPE,
                                stderr=subprocess.DEVNULL, text=True, timeout=60)
        return second.stdout if not second.returncode else None
    except subprocess.TimeoutExpired:
        return None
    finally:
        first.kill()
        first.wait()


def ucx(operation, mode, size, count):
    """Microseconds or MB/s, as udapl-bench has them; put and get are of memory that UCX allocates to be shared."""
    if not shutil.which("ucx_perftest"):
        return None
    port = str(free_port())
    test = ["-t", UCX[operation, mode], "-s", str(size), "-n", str(count), "-w", str(count // 10 + 1), "-f"]
    text = pair(["ucx_perftest", "-p", port], ["ucx_perftest", "127.0.0.1", "-p", port] + test,
                dict(os.environ, UCX_TLS="shm,self", UCX_WARN_UNUSED_ENV_VARS="n"))
    if not text:
        return None
    fields = text.split()[-8:]
    return float(fields[3]) if mode == "polling" else float(fields[5]) * (1 << 20) / 1e6


def libfabric(operation, mode, size, count):
    if (operation, mode) != ("send", "polling") or not shutil.which("fi_pingpong"):
        return None
    port = str(free_port())
    test = ["fi_pingpong", "-p", "shm", "-e", "rdm", "-S", str(size), "-I", str(min(count, 50000))]
    text = pair(test + ["-B", port], test + ["-P", port, "127.0.0.1"], os.environ)
    lines = [line.split() for line in (text or "").splitlines() if line[:1].isdigit()]
    return float(lines[-1][6]) if lines else None


def memcpy(operation, mode, size, count):
    if (operation, mode) != ("write", "stream") or size < 32768:
        return None
    here, there = ctypes.create_string_buffer(size), ctypes.create_string_buffer(size)
    ctypes.memmove(there, here, size)
    begin = time.perf_counter()
    for _ in range(count // 4):
        ctypes.memmove(there, here, size)
    return size * (count // 4) / (time.perf_counter() - begin) / 1e6


def ours(build, conf):
    def figure(operation, mode, size, count):
        out = subprocess.run([build + "/test/bench/udapl-bench", "-m", "-t", "-c",
                              "%s:%s:%d:%d" % (operation, mode, size, count), "soft-lo", "1"],
                             env=dict(os.environ, DAT_OVERRIDE=conf), stdout=subprocess.PIPE, text=True)
        return [float(each) for each in out.stdout.split("\t")[3:4] + out.stdout.split("\t")[7:10]]
    return figure


def measure(build, conf, rounds):
    """[(operation, mode, bytes, {who: median}, percentiles of ours)]; who cannot do it is missing."""
    mine, found = ours(build, conf), []
    for (operation, mode) in UCX:
        for size in SIZES:
            count = count_of(mode, size)
            figures, tails = {}, []
            for _ in range(rounds):
                figure = mine(operation, mode, size, count)
                figures.setdefault("ours", []).append(figure[0])
                tails.append(figure[1:])
                for name, peer in (("UCX", ucx), ("libfabric", libfabric), ("memcpy", memcpy)):
                    other = peer(operation, mode, size, count)
                    if other is not None:
                        figures.setdefault(name, []).append(other)
            tail = [statistics.median(each) for each in zip(*tails)]
            found.append((operation, mode, size, {who: statistics.median(all_) for who, all_ in figures.items()}, tail))
    return found


def endpoints(build, conf, rounds):
    """{endpoints: (half a round trip on one of them, the median of that over each in turn, after a silence, millions of
    writes of 8 bytes a second over all in turn)}"""
    found = {}
    for number in (1, 10, 20, 100, 1000):
        out = subprocess.run([build + "/test/bench/udapl-bench", "-m", "-t", "-e", str(number), "-c",
                              "send:polling:8:200000", "-c", "send:turns:8:20000", "-c", "write:stream:8:1000000", "soft-lo",
                              str(rounds)],
                             env=dict(os.environ, DAT_OVERRIDE=conf), stdout=subprocess.PIPE, text=True)
        one, turns, stream = [line.split("\t") for line in out.stdout.splitlines()]
        found[number] = (float(one[3]), float(turns[7]), float(stream[3]) / 8)
    return found

