#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Measures, and writes a page that people look at: report.py BUILD FOLDER [--rounds N] [--again]

Writes FOLDER/bench.html (needs no other file), FOLDER/performance.md and its plots, FOLDER/*.png. Everything is
measured beside plain TCP in the same run, and inside a host in turns with UCX, libfabric and memcpy as far as those are
installed, pinned, and shown as medians; absolute times drift on shared machines, the ratios do not. What `make bench-vm` has left in BUILD/bench-vm.tsv (real kernel verbs and release 2.1.10 in a virtual
machine) is shown as well.
"""
import argparse
import base64
import datetime
import html
import json
import os
import platform
import re
import shutil
import socket
import subprocess
import sys
import tempfile

import peers


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


# As installed, and what carries connections to other hosts.
SETTINGS = {
    "soft": {},
    "over TCP": {"DAPL_SOFT_LINK": "tcp", "DAPL_SOFT_CRC": "no"},
    "over TCP, CRC": {"DAPL_SOFT_LINK": "tcp", "DAPL_SOFT_CRC": "yes"},
}


def bench_rows(build, rounds, conf):
    """The results of udapl-bench with each setting: operation, mode, bytes, soft, TCP, unit, ratio."""
    found = {}
    for name, setting in SETTINGS.items():
        text = run([build + "/test/bench/udapl-bench", "-m", "-s", "soft-lo", str(rounds)],
                   DAT_OVERRIDE=conf, **setting)
        rows = [line.split("\t") for line in text.splitlines()]
        found[name] = [(r[0], r[1], int(r[2]), float(r[3]), float(r[4]), r[5], float(r[6])) for r in rows]
    return found


# Between two network namespaces, as between two hosts.
APART = ("send:polling:8:10000", "write:polling:8:10000", "send:polling:4096:5000", "send:waiting:8:5000",
         "send:stream:4096:10000", "write:stream:4096:10000", "write:stream:65536:4000", "send:stream:1048576:400",
         "write:stream:1048576:400", "read:stream:1048576:1000", "write:both:1048576:400",
         "write:waiting-stream:1048576:400", "memory:polling:8:2000", "reap:polling:8:2000")


def apart_rows(build, source, rounds):
    """Without and with a CRC; None where that is not allowed. As bench_rows, with the 99.9th percentile behind."""
    if os.geteuid() or subprocess.run(["unshare", "--net", "true"], stderr=subprocess.DEVNULL).returncode:
        return None
    found = {}
    for crc in "no", "yes":
        text = run([source + "/test/bench/apart", "-m"] + [word for case in APART for word in ("-c", case)],
                   top_builddir=build, ROUNDS=str(rounds), CRC=crc)
        found[crc] = [line.split("\t") for line in text.splitlines()]
    return found


def measure(build, source, rounds):
    """All that is not measured in the virtual machine, as it is kept in BUILD/bench.json."""
    with tempfile.NamedTemporaryFile("w", suffix=".conf") as conf:
        conf.write('soft-lo u2.0 nonthreadsafe default %s/providers/soft/.libs/libdaplsoft.so.2 udapl.1.0 "lo" ""\n'
                   % build)
        conf.flush()
        return {"rounds": rounds, "machine": machine(), "rows": bench_rows(build, rounds, conf.name),
                "apart": apart_rows(build, source, rounds), "peers": peers.measure(build, conf.name, rounds),
                "endpoints": list(peers.endpoints(build, conf.name, rounds).items()),
                "cost": cost(build, source, conf.name), "memory": memory(build, source), "tcp_memory": tcp_memory()}


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
                              "qp_post_send", "--below-poll", "cq_poll", "--below-poll", "cq_poll_plain"],
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


def kernel_kib():
    """Memory of the kernel's objects in use; None where only root may know."""
    try:
        with open("/proc/slabinfo") as file:
            rows = [line.split() for line in file][2:]
    except OSError:
        return None
    return sum(int(row[1]) * int(row[3]) for row in rows) / 1024


def tcp_memory(pairs=1000):
    """KiB of the kernel's per connection of plain TCP, both ends."""
    with socket.create_server(("127.0.0.1", 0), backlog=pairs) as listener:
        opened = []
        before = kernel_kib()
        for _ in range(pairs):
            opened.append(socket.create_connection(listener.getsockname()))
            opened.append(listener.accept()[0])
        after = kernel_kib()
        for each in opened:
            each.close()
    return None if before is None else (after - before) / pairs


# ---- Plots -------------------------------------------------------------------------------------

COLOURS = {"UCX": "#d1622b", "libfabric": "#4f9a4f", "memcpy": "#777777", "ours": "#1f6fb4", "2.1.10": "#d1622b", "plain verbs": "#4f9a4f", "plain TCP": "#777777"}


def gnuplot(path, height, script):
    head = ["set terminal pngcairo size 900,%d font 'sans,11'" % height, "set output '%s'" % path, "set grid ytics"]
    if not shutil.which("gnuplot"):
        return False
    return not subprocess.run(["gnuplot"], input="\n".join(head + script), text=True).returncode


def line_panel(title, label, curves):
    """Commands for one picture of curves against size: (name, style, [(size, figure)])."""
    script = ["set title '%s'" % title, "set ylabel '%s'" % label]
    script.append("plot " + ", ".join("'-' with linespoints pt 7 ps 0.6 lw 2 %s title '%s'" % (style, name)
                                      for name, style, _ in curves))
    for _, _, points in curves:
        script += ["%d %g" % point for point in points] + ["e"]
    return script


def figure_text(figure):
    return "%.0f" % figure if figure >= 100 or figure == round(figure) else "%.1f" % figure


def bar_panel(title, label, stacks, groups):
    """Commands for one picture of bars: groups is [(name, {stack: figure})]; where a figure is missing, no bar."""
    width = 0.8 / max(len(figures) for _, figures in groups)
    script = ["set title '%s'" % title, "set ylabel '%s'" % label, "set boxwidth %g" % (width * 0.92),
              "set style fill solid 0.85 noborder", "set xrange [-0.6:%g]" % (len(groups) - 0.4), "set yrange [0:*]",
              "set offsets 0,0,graph 0.1,0", "set key outside top center horizontal", "set tics nomirror",
              "set bmargin 4",
              "set xtics (%s)" % ", ".join('"%s" %d' % (name, at) for at, (name, _) in enumerate(groups))]
    bars = {stack: [] for stack in stacks}
    for at, (_, figures) in enumerate(groups):
        shown = [stack for stack in stacks if stack in figures]
        for which, stack in enumerate(shown):
            bars[stack].append("%g %g %s" % (at + (which - (len(shown) - 1) / 2) * width, figures[stack],
                                             figure_text(figures[stack])))
    plots, data = [], []
    for stack in stacks:
        if bars[stack]:
            plots += ["'-' using 1:2 with boxes lc rgb '%s' title '%s'" % (COLOURS[stack], stack),
                      "'-' using 1:2:3 with labels offset 0,0.6 notitle"]
            data += (bars[stack] + ["e"]) * 2
    return script + ["plot " + ", ".join(plots)] + data


AGAINST_SIZE = ["set logscale x 2", "set format x '%.0b%BB'", "set key left top", "set xlabel 'bytes'", "set grid"]


def plot(path, rows, mode, label, logarithmic):
    curves = [("send, soft", "soft", "send", 3), ("RDMA write, soft", "soft", "write", 3),
              ("RDMA write, soft over TCP", "over TCP", "write", 3),
              ("RDMA write, soft over TCP, CRC", "over TCP, CRC", "write", 3), ("plain TCP", "soft", "send", 4)]
    lines = [(name, "", [(row[2], row[column]) for row in rows[setting] if row[1] == mode and row[0] == operation])
             for name, setting, operation, column in curves]
    gnuplot(path, 540, AGAINST_SIZE + ["set logscale y" if logarithmic else "set yrange [0:*]"] +
            line_panel("", label, lines))


def plot_peers(path, found):
    """Two pictures side by side: round trips, and streams of writes."""
    script = AGAINST_SIZE + ["set multiplot layout 1,2", "set logscale y"]
    for operation, mode, label in ("send", "polling", "microseconds"), ("write", "stream", "MB per second"):
        curves = []
        for who in "ours", "UCX", "libfabric", "memcpy":
            points = [(row[2], row[3][who]) for row in found if tuple(row[:2]) == (operation, mode) and who in row[3]]
            if points:
                curves.append((who, "lc rgb '%s'" % COLOURS[who], points))
        script += line_panel("%s, inside a host" % ("send" if operation == "send" else "RDMA write"), label, curves)
    gnuplot(path, 420, script + ["unset multiplot"])


def number(text):
    try:
        return float(text)
    except ValueError:
        return None


def vm_figures(vm):
    """{(device, what, bytes or None): {stack: figure}} of the tables of bench-vm."""
    found = {}
    for table in vm:
        for row in table[1:]:
            match = re.match(r"(\w+): (.*?)(?:, (\d+) bytes)?(?:, (?:us|MB/s|KiB|/s|median of \d+))?$", row[0])
            figures = {stack: number(cell) for stack, cell in zip(table[0][1:], row[1:]) if number(cell) is not None}
            found[match[1], match[2], int(match[3]) if match[3] else None] = figures
    return found


DEVICES = (("RXE", "soft-RoCE"), ("SIW", "soft-iWARP"))


def vm_lines(path, figures, what, label, logarithmic):
    """Two pictures side by side, a device each."""
    script = AGAINST_SIZE + ["set multiplot layout 1,2", "set logscale y" if logarithmic else "set yrange [0:*]"]
    for device, name in DEVICES:
        curves = []
        for stack in "plain verbs", "ours", "2.1.10":
            points = [(size, at[stack]) for (kind, which, size), at in figures.items()
                      if kind == device and which == what and stack in at]
            if points:
                curves.append((stack, "lc rgb '%s'" % COLOURS[stack], points))
        if curves:
            script += line_panel("%s, %s" % (what, name), label, curves)
    gnuplot(path, 420, script + ["unset multiplot"])


def of_devices(figures, what):
    return [(name, figures[device, what, None]) for device, name in DEVICES if (device, what, None) in figures]


def bars(folder, found, figures):
    """What has one figure for each stack."""
    stacks = ("ours", "2.1.10", "plain verbs", "plain TCP")
    rate = next(row for row in found["rows"]["soft"] if row[0] == "connect")
    panels = bar_panel("on this machine", "connections a second", stacks,
                       [("software provider", {"ours": rate[3], "plain TCP": rate[4]})])
    groups = [("%s\\n%s" % (name.replace("soft-", ""), how), {stack: round(figure) for stack, figure in at.items()})
              for what, how in (("connections a second, dtestcm", "dtestcm"), ("connections, one by one", "one by one"))
              for name, at in of_devices(figures, what)]
    if groups:
        there = bar_panel("in the virtual machine", "", stacks, groups)
        panels = ["set multiplot layout 1,2"] + panels + there + ["unset multiplot"]
    gnuplot(folder + "/connections.png", 420, panels)

    groups = [("soft\\n%s" % name, {"ours": float(figure)}) for name, figure in found["cost"] or []]
    for call in "post", "dequeue":
        groups += [("%s\\n%s" % (name, call), at)
                   for name, at in of_devices(figures, "instructions above the driver, " + call)]
    if groups:
        gnuplot(folder + "/instructions.png", 420,
                bar_panel("one RDMA write, above the transport or the driver", "instructions", stacks, groups))

    groups = [("soft, a connection\\n(both ends)", {"ours": float(kib)}) for _, kib in (found["memory"] or [])[:1]]
    if groups and found["tcp_memory"] is not None:
        groups[0][1]["plain TCP"] = found["tcp_memory"]
    groups += [("%s\\nan endpoint" % name, at) for name, at in of_devices(figures, "memory, an endpoint")]
    if groups:
        gnuplot(folder + "/memory.png", 420, bar_panel("", "KiB", stacks, groups))


def draw(folder, found, vm):
    figures = vm_figures(vm)
    plot(folder + "/latency.png", found["rows"], "polling", "microseconds", True)
    plot(folder + "/bandwidth.png", found["rows"], "stream", "MB per second", False)
    plot_peers(folder + "/peers.png", found["peers"])
    bars(folder, found, figures)
    if figures:
        vm_lines(folder + "/vm-latency.png", figures, "latency, send", "microseconds", True)
        vm_lines(folder + "/vm-bandwidth.png", figures, "stream, RDMA write", "MB per second", False)


# ---- The page ----------------------------------------------------------------------------------


def bench_table(found):
    rows = [("operation", "bytes", "mode", *SETTINGS, "TCP", "unit", *("ratio, " + name for name in SETTINGS))]
    for each in zip(*(found[name] for name in SETTINGS)):
        first = each[0]
        digits = "%.2f" if first[5] == "us" else "%.0f"
        rows.append((first[0].replace("write", "RDMA write"), size_name(first[2]) if first[2] else "", first[1],
                     *(digits % row[3] for row in each), digits % first[4], first[5],
                     *("%.2f" % row[6] for row in each)))
    return rows


def apart_table(found):
    rows = [("operation", "bytes", "mode", "soft", "TCP", "ratio", "99.9 %", "soft, CRC", "TCP", "ratio, CRC", "unit")]
    asleep = {crc: next(float(row[4]) for row in found[crc] if row[1] == "waiting") for crc in found}
    for plain, summed in zip(found["no"], found["yes"]):
        digits = "%.2f" if plain[5] == "us" else "%.0f"
        figures = []
        for crc, row in (("no", plain), ("yes", summed)):
            ours, tcp, ratio = float(row[3]), float(row[4]), float(row[6])
            if row[0] in ("in memory", "own reaped"):
                tcp = asleep[crc]
                ratio = ours / tcp
            figures.append([digits % ours, digits % tcp, "%.2f" % ratio])
        rows.append((plain[0].replace("write", "RDMA write"), size_name(int(plain[2])), plain[1], *figures[0],
                     digits % float(plain[9]) if len(plain) > 9 else "", *figures[1], plain[5]))
    return rows


def peers_table(found):
    """Ratios as everywhere: of times to those of UCX, of rates to its rates."""
    rows = [("operation", "bytes", "mode", "soft", "UCX", "libfabric", "memcpy", "unit", "ratio to UCX", "99 %",
             "99.9 %")]
    for operation, mode, size, figures, tail in found:
        digits = "%.2f" if mode == "polling" else "%.0f"
        rows.append((operation.replace("write", "RDMA write").replace("read", "RDMA read"), size_name(size), mode,
                     *(digits % figures[who] if who in figures else "" for who in ("ours", "UCX", "libfabric",
                                                                                  "memcpy")),
                     "us" if mode == "polling" else "MB/s",
                     "%.2f" % (figures["ours"] / figures["UCX"]) if "UCX" in figures else "",
                     *(digits % tail[at] if len(tail) > at else "" for at in (1, 2))))
    return rows


def endpoints_table(found):
    return [("endpoints of one dispatcher", "send, 8 bytes, over one of them, us", "over each in turn, 20 us later, us",
             "RDMA writes of 8 bytes over all in turn, millions a second")] + \
        [(str(number), "%.2f" % latency, "%.2f" % turns, "%.2f" % rate) for number, (latency, turns, rate) in found]


def facts(found):
    rows = [("what", "figure")]
    for name, figure in found["cost"] or []:
        rows.append(("instructions above the transport, soft: %s" % name, figure))
    for when, figure in found["memory"] or []:
        rows.append(("memory per connection, both ends, soft: %s" % when, figure + " KiB"))
    if found["tcp_memory"] is not None:
        rows.append(("memory per connection, both ends, plain TCP: the kernel's, which soft has as well",
                     "%.1f KiB" % found["tcp_memory"]))
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


APART_HEAD = "## Between two network namespaces"

APART_ABOUT = ("As between two hosts: over TCP on a pair of virtual interfaces with an MTU of 1,500, without a CRC and "
               "with one, which is what is installed. The time of a round trip in which a side polls its memory, and "
               "not a dispatcher (in memory; own reaped: it dequeues its own write), is that of the service thread, "
               "which sleeps; TCP's figure beside it is that of two sides that sleep. 99.9 %: that percentile without "
               "a CRC.")


PEERS_HEAD = "## Beside other libraries, inside a host"

PEERS_ABOUT = ("With no setting touched, over shared memory: half a round trip, and a stream, in turns on the same two "
               "processors. UCX (ucx_perftest, its shared memory): tag_lat, ucp_put_lat, tag_bw, ucp_put_bw, ucp_get; its "
               "put and get are of memory that it has allocated to be shared, so that they are one memcpy, where DAT "
               "registers what the program has. libfabric: fi_pingpong with its provider shm. The last two columns are "
               "the 99th and 99.9th percentile of ours.")


PLOTS = (("latency", "Latency: half a round trip"), ("bandwidth", "Bandwidth: a stream"),
         ("connections", "Connections a second"), ("instructions", "Instructions of a call"),
         ("memory", "Memory"))
VM_PLOTS = (("vm-latency", "Latency in the virtual machine"), ("vm-bandwidth", "Bandwidth in the virtual machine"))


def write_markdown(folder, found, vm):
    with open(folder + "/performance.md", "w") as out:
        out.write("<!-- SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only -->\n# Performance\n\n"
                  "Measured by `make bench` on: %s.\n\n%s\n\n" % (found["machine"], ABOUT % found["rounds"]))
        for name, text in PLOTS:
            out.write("![%s](%s.png)\n\n" % (text, name))
        out.write(as_markdown(bench_table(found["rows"])) + "\n\n" + as_markdown(facts(found)) + "\n")
        if found["apart"]:
            out.write("\n%s\n\n%s\n\n%s\n" % (APART_HEAD, APART_ABOUT, as_markdown(apart_table(found["apart"]))))
        out.write("\n%s\n\n%s\n\n![Beside other libraries](peers.png)\n\n%s\n\n%s\n" % (
            PEERS_HEAD, PEERS_ABOUT, as_markdown(peers_table(found["peers"])),
            as_markdown(endpoints_table(found["endpoints"]))))
        if vm:
            out.write("\n" + VM_HEAD + "\n\n" + VM_ABOUT % "`make bench-vm`" + "\n\n")
            for name, text in VM_PLOTS:
                out.write("![%s](%s.png)\n\n" % (text, name))
            out.write("\n".join(as_markdown(table) + "\n" for table in vm))


def write_html(folder, found, vm):
    with open(folder + "/bench.html", "w") as out:
        out.write('<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>udapl: performance</title>'
                  "<style>%s</style></head><body><h1>udapl: performance</h1>\n" % STYLE)
        out.write("<p>%s. Made by <code>make bench</code>.</p><p>%s</p>\n" %
                  (html.escape(found["machine"]), ABOUT % found["rounds"]))
        for name, text in PLOTS:
            out.write("<h2>%s</h2>\n%s\n" % (text, picture("%s/%s.png" % (folder, name), text)))
        out.write("<h2>All figures</h2>\n%s\n%s\n" % (as_html(bench_table(found["rows"])), as_html(facts(found))))
        if found["apart"]:
            out.write("<h2>%s</h2>\n<p>%s</p>\n%s\n" % (APART_HEAD.strip("# "), html.escape(APART_ABOUT),
                                                       as_html(apart_table(found["apart"]))))
        out.write("<h2>%s</h2>\n<p>%s</p>\n%s\n%s\n%s\n" % (
            PEERS_HEAD.strip("# "), html.escape(PEERS_ABOUT), picture(folder + "/peers.png", "Beside other libraries"),
            as_html(peers_table(found["peers"])), as_html(endpoints_table(found["endpoints"]))))
        if vm:
            out.write("<h2>%s</h2>\n<p>%s</p>\n" % (VM_HEAD.strip("# "), VM_ABOUT % "<code>make bench-vm</code>"))
            for name, text in VM_PLOTS:
                out.write("%s\n" % picture("%s/%s.png" % (folder, name), text))
            out.write("\n".join(as_html(table) for table in vm) + "\n")
        out.write("</body></html>\n")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("folder")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--again", action="store_true",
                        help="write what was measured the last time, with what bench-vm has measured since")
    args = parser.parse_args()
    build = os.path.abspath(args.build)
    source = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
    os.makedirs(args.folder, exist_ok=True)
    if not args.again:
        found = measure(build, source, args.rounds)
        with open(build + "/bench.json", "w", encoding="utf-8") as file:
            json.dump(found, file)
    with open(build + "/bench.json", encoding="utf-8") as file:
        found = json.load(file)
    vm = read_vm(build)
    draw(args.folder, found, vm)
    write_markdown(args.folder, found, vm)
    write_html(args.folder, found, vm)
    print(as_markdown(bench_table(found["rows"])))
    print("\nwritten to %s/bench.html and %s/performance.md" % (args.folder, args.folder))


if __name__ == "__main__":
    main()
