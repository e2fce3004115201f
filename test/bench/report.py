#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Measures, and writes a page that people look at: report.py BUILD FOLDER [--rounds N] [--vm-only]

Writes FOLDER/bench.html (needs no other file), FOLDER/latency.png, FOLDER/bandwidth.png and FOLDER/performance.md.
Everything is measured beside plain TCP in the same run, pinned, and shown as medians; absolute times drift on shared
machines, the ratios do not. What `make bench-vm` has left in BUILD/bench-vm.tsv (real kernel verbs and release
2.1.10 in a virtual machine) is shown as well.
"""
import argparse
import base64
import datetime
import html
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile


def run(command, **env):
    result = subprocess.run(command, stdout=subprocess.PIPE, text=True, env=dict(os.environ, **env))
    if result.returncode:
        sys.exit("%s: exit status %d" % (" ".join(command), result.returncode))
    return result.stdout


def size_name(size):
    for unit, name in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= unit:
            return "%d %s" % (size // unit, name)
    return "%d B" % size


class Bench:
    """The results of udapl-bench, CRC off and on."""

    def __init__(self, build, rounds, conf):
        self.rows = {}
        for crc in "0", "1":
            text = run([build + "/test/bench/udapl-bench", "-m", "-s", "soft-lo", str(rounds)],
                       DAT_OVERRIDE=conf, DAPL_SOFT_CRC=crc)
            rows = [line.split("\t") for line in text.splitlines()]
            self.rows[crc] = [(r[0], r[1], int(r[2]), float(r[3]), float(r[4]), r[5], float(r[6])) for r in rows]

    def of(self, crc, mode):
        return [row for row in self.rows[crc] if row[1] == mode]


def cost(build, source, conf):
    """Instructions above the transport on the software provider."""
    if not shutil.which("valgrind"):
        return None
    dapltest = build + "/.libs/dapltest" if os.path.exists(build + "/.libs/dapltest") else build + "/dapltest"
    env = dict(os.environ, DAT_OVERRIDE=conf, LD_LIBRARY_PATH=build + "/dat/.libs")
    server = subprocess.Popen([dapltest, "-T", "S", "-D", "soft-lo", "-n", "0"], stdout=subprocess.PIPE, text=True,
                              env=env)
    try:
        port = None
        for line in server.stdout:
            if "Server Port" in line:
                port = line.split()[-1]
            if "Ready" in line:
                break
        out = subprocess.run([source + "/test/bench/cost.py", dapltest, "soft-lo", "127.0.0.1", port, "--below-post",
                              "qp_post_send", "--below-poll", "cq_poll", "--below-poll", "cq_take"],
                             stdout=subprocess.PIPE, text=True, env=env)
        if out.returncode:
            return None
        return re.findall(r"^(\w+) ([\d.]+)", out.stdout, re.M)
    finally:
        server.kill()
        server.wait()


def memory(build, source):
    """KiB per connection, both ends, as the test with a thousand of them finds it."""
    program = build + "/test/conformance/thousand.t"
    if not os.path.exists(program):
        return None
    env = dict(os.environ, top_builddir=build, top_srcdir=source)
    out = subprocess.run([source + "/test/conformance/run", program], stdout=subprocess.PIPE, text=True, env=env)
    return re.findall(r"(\w[\w ]*): \d+ KiB here, \d+ KiB there, ([\d.]+) KiB per connection", out.stdout)


def plot(path, bench, mode, label, logarithmic):
    script = ["set terminal pngcairo size 900,540 font 'sans,11'", "set output '%s'" % path, "set logscale x 2",
              "set format x '%.0b%B'", "set grid", "set key left top", "set xlabel 'bytes'",
              "set ylabel '%s'" % label, "set logscale y" if logarithmic else "set yrange [0:*]"]
    curves = [("send, soft", "0", "send", 3), ("RDMA write, soft", "0", "write", 3),
              ("RDMA write, soft, CRC", "1", "write", 3), ("plain TCP", "0", "send", 4)]
    script.append("plot " + ", ".join("'-' with linespoints pt 7 ps 0.6 lw 2 title '%s'" % c[0] for c in curves))
    for _, crc, operation, column in curves:
        script += ["%d %g" % (row[2], row[column]) for row in bench.of(crc, mode) if row[0] == operation] + ["e"]
    if not shutil.which("gnuplot"):
        return False
    return not subprocess.run(["gnuplot"], input="\n".join(script), text=True).returncode


def bench_table(bench):
    rows = [("operation", "bytes", "mode", "soft", "soft, CRC", "TCP", "unit", "ratio", "ratio, CRC")]
    for off, on in zip(bench.rows["0"], bench.rows["1"]):
        digits = "%.2f" if off[5] == "us" else "%.0f"
        rows.append((off[0].replace("write", "RDMA write"), size_name(off[2]) if off[2] else "", off[1],
                     digits % off[3], digits % on[3], digits % off[4], off[5], "%.2f" % off[6], "%.2f" % on[6]))
    return rows


def facts(counts, kib):
    rows = [("what", "figure")]
    if counts:
        for name, figure in counts:
            rows.append(("instructions above the transport, soft: %s" % name, figure))
    for when, figure in kib or []:
        rows.append(("memory per connection, both ends, soft: %s" % when, figure + " KiB"))
    return rows


def read_vm(build):
    """The tables of bench-vm: cells with a tab between, empty lines between tables."""
    path = build + "/bench-vm.tsv"
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8") as file:
        tables = [[tuple(line.split("\t")) for line in table.splitlines()] for table in file.read().split("\n\n")]
    return [[row for row in table if len(row) > 1] for table in tables if any(len(row) > 1 for row in table)]


def machine():
    model = "unknown processor"
    for line in open("/proc/cpuinfo"):
        if line.startswith("model name"):
            model = line.split(":", 1)[1].strip()
            break
    return "%s, %d processors, %s %s, %s" % (model, os.cpu_count(), platform.system(), platform.release(),
                                             datetime.date.today().isoformat())


def as_markdown(rows):
    out = ["| " + " | ".join(rows[0]) + " |", "|" + "---|" * len(rows[0])]
    return "\n".join(out + ["| " + " | ".join(row) + " |" for row in rows[1:]])


def as_html(rows):
    out = ["<table><tr>" + "".join("<th>%s</th>" % html.escape(cell) for cell in rows[0]) + "</tr>"]
    for row in rows[1:]:
        out.append("<tr>" + "".join("<td>%s</td>" % html.escape(cell) for cell in row) + "</tr>")
    return "\n".join(out + ["</table>"])


def picture(path, text):
    if not os.path.exists(path):
        return "<p>No plot: gnuplot made none.</p>"
    data = base64.b64encode(open(path, "rb").read()).decode()
    return '<img alt="%s" src="data:image/png;base64,%s">' % (text, data)


STYLE = """body{font:15px/1.45 sans-serif;max-width:980px;margin:2em auto;padding:0 1em}
table{border-collapse:collapse;margin:1em 0}td,th{padding:.15em .8em;border-bottom:1px solid #ddd;text-align:right}
td:first-child,th:first-child{text-align:left}img{max-width:100%}"""

ABOUT = ("Half a round trip in microseconds (polling: the smaller the better) and a stream in MB/s (the larger the "
         "better), over soft-lo and over a plain TCP socket, alternating in the same run on the same two processors, "
         "medians of %d rounds. The ratio is that of the times for round trips, of the rates for streams and "
         "connections.")


VM_HEAD = "## Kernel verbs in a virtual machine"

VM_ABOUT = ("Measured by %s on soft-RoCE (RXE) and soft-iWARP (SIW) of an emulated machine, with release 2.1.10's own "
            "libraries and, where the table has it, with plain libibverbs in the same run. Times there are those of an "
            "emulated processor: the columns compare, the figures themselves mean little. Latency is half a round "
            "trip. \"fails\": the program does not get through on that device with those libraries.")


def vm_markdown(vm):
    out = VM_HEAD + "\n\n" + VM_ABOUT % "`make bench-vm`" + "\n"
    return out + "".join("\n" + as_markdown(table) + "\n" for table in vm)


def renew_vm(folder, vm):
    """Puts the tables of the virtual machine in the place of those in FOLDER/performance.md, which stays as it is."""
    with open(folder + "/performance.md", encoding="utf-8") as file:
        text = file.read().split(VM_HEAD)[0]
    with open(folder + "/performance.md", "w", encoding="utf-8") as file:
        file.write(text.rstrip("\n") + "\n\n" + vm_markdown(vm))


def write(folder, bench, rounds, rows, vm):
    about = ABOUT % rounds
    command = "make bench"
    with open(folder + "/performance.md", "w") as out:
        out.write("# Performance\n\nMeasured by `%s` on: %s.\n\n%s\n\n" % (command, machine(), about))
        out.write("![latency against size](latency.png)\n\n![bandwidth against size](bandwidth.png)\n\n")
        out.write(as_markdown(bench_table(bench)) + "\n")
        if len(rows) > 1:
            out.write("\n" + as_markdown(rows) + "\n")
        if vm:
            out.write("\n" + vm_markdown(vm))
    with open(folder + "/bench.html", "w") as out:
        out.write('<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>udapl: performance</title>'
                  "<style>%s</style></head><body><h1>udapl: performance</h1>\n" % STYLE)
        out.write("<p>%s. Made by <code>%s</code>.</p><p>%s</p>\n" % (html.escape(machine()), command, about))
        for name, text in ("latency", "Latency: half a round trip"), ("bandwidth", "Bandwidth: a stream"):
            out.write("<h2>%s</h2>\n%s\n" % (text, picture("%s/%s.png" % (folder, name), text)))
        out.write("<h2>All figures</h2>\n%s\n" % as_html(bench_table(bench)))
        if len(rows) > 1:
            out.write(as_html(rows) + "\n")
        if vm:
            out.write("<h2>%s</h2>\n<p>%s</p>\n" % (VM_HEAD.strip("# "), VM_ABOUT % "<code>make bench-vm</code>"))
            out.write("\n".join(as_html(table) for table in vm) + "\n")
        out.write("</body></html>\n")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("folder")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--vm-only", action="store_true",
                        help="only renew the part of FOLDER/performance.md that BUILD/bench-vm.tsv makes")
    args = parser.parse_args()
    build = os.path.abspath(args.build)
    source = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
    os.makedirs(args.folder, exist_ok=True)
    vm = read_vm(build)
    if args.vm_only:
        if not vm:
            sys.exit("no tables in %s/bench-vm.tsv: make bench-vm writes them" % build)
        return renew_vm(args.folder, vm)
    with tempfile.NamedTemporaryFile("w", suffix=".conf") as conf:
        conf.write('soft-lo u2.0 nonthreadsafe default %s/providers/soft/.libs/libdaplsoft.so.2 udapl.1.0 "lo" ""\n'
                   % build)
        conf.flush()
        bench = Bench(build, args.rounds, conf.name)
        counts = cost(build, source, conf.name)
        kib = memory(build, source)
    plot(args.folder + "/latency.png", bench, "polling", "microseconds", True)
    plot(args.folder + "/bandwidth.png", bench, "stream", "MB per second", False)
    write(args.folder, bench, args.rounds, facts(counts, kib), vm)
    print(as_markdown(bench_table(bench)))
    print("\nwritten to %s/bench.html and %s/performance.md" % (args.folder, args.folder))


if __name__ == "__main__":
    main()
