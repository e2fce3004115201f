#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""
What the adapters of the zoo announce and how connections end on them, from the logs of ZOO_LOGS=DIR test/zoo/zoo.sh.

  page.py write DIR [FILE]  makes the page, into FILE or doc/adapters.md
  page.py check DIR KIND    whether dat-info says of an adapter what its table does; what differs, on standard output
  page.py played DIR KIND   whether soft-RoCE (rxe) or soft-iWARP (siw) is played: which tests of the whole suite say
                            another thing in DIR/KIND than on the kernel's (test/conformance/results), but for those
                            that test/zoo/seen/differences has a reason for
"""
import fnmatch
import os
import re
import sys

sys.dont_write_bytecode = True

TOP = os.path.abspath(os.environ.get("top_srcdir") or os.path.join(os.path.dirname(__file__), "../.."))
sys.path.insert(0, os.path.join(TOP, "test/conformance"))
import matrix  # noqa: E402

UNSAID = 1 << 24  # bytes of a message, where the port does not say (providers/verbs/device.c)
MAX_WR = 65535  # the tunable max_wr
COMPLETIONS = 255  # depths that rdma_cm negotiates


def read(folder, kind, name):
    with open(os.path.join(folder, kind, name + ".log"), encoding="utf-8", errors="replace") as log:
        return log.read()


def seen(folder, kind):
    """What a program sees of the verbs device: fact and value."""
    return dict(line.split("\t", 1) for line in read(folder, kind, "observe").splitlines() if "\t" in line)


def told(folder, kind):
    """What dat-info -v says."""
    return dict(re.findall(r"^    (\w+) +(\S+)", read(folder, kind, "dat-info"), re.M))


def due(card):
    """The attributes of an IA over a device, by the device's own."""
    def limit(name):
        return int(card["limit " + name])

    windows = "yes" in (card["window of type 1"], card["window of type 2"])
    return {
        "max_eps": limit("max_qp"),
        "max_evds": limit("max_cq"),
        "max_evd_qlen": limit("max_cqe"),
        "max_iov_segments_per_dto": limit("max_sge"),
        "max_iov_segments_per_rdma_read": min(limit("max_sge_rd"), limit("max_sge")),
        "max_rdma_read_per_ep_in": min(limit("max_qp_rd_atom"), COMPLETIONS),
        "max_rdma_read_per_ep_out": min(limit("max_qp_init_rd_atom"), COMPLETIONS),
        "max_lmrs": limit("max_mr"),
        "max_pzs": limit("max_pd"),
        "max_rmrs": (limit("max_mw") or limit("max_mr")) if windows else 0,
        "max_message_size": limit("max_msg_sz") or UNSAID,
        "max_srqs": limit("max_srq"),
    }


def differences(folder, kind):
    card, ia = seen(folder, kind), told(folder, kind)
    wrong = ["%s is %s, not %d" % (name, ia.get(name), value) for name, value in due(card).items()
             if ia.get(name) != str(value)]
    # Some requests are the provider's, and what is announced can be made: test/zoo/mends.c.
    for name, most in (("max_dto_per_ep", "limit max_qp_wr"), ("max_recv_per_srq", "limit max_srq_wr")):
        most = min(int(card[most]), MAX_WR)
        if not most / 8 <= int(ia[name]) <= most:
            wrong.append("%s is %s, of %d" % (name, ia[name], most))
    return wrong


COLUMNS = (
    ("endpoints", "limit max_qp", "max_eps"), ("DTOs of one", "limit max_qp_wr", "max_dto_per_ep"),
    ("segments", "limit max_sge", "max_iov_segments_per_dto"),
    ("of a read", "limit max_sge_rd", "max_iov_segments_per_rdma_read"),
    ("reads in", "limit max_qp_rd_atom", "max_rdma_read_per_ep_in"),
    ("out", "limit max_qp_init_rd_atom", "max_rdma_read_per_ep_out"),
    ("EVDs", "limit max_cq", "max_evds"), ("events of one", "limit max_cqe", "max_evd_qlen"),
    ("LMRs", "limit max_mr", "max_lmrs"), ("PZs", "limit max_pd", "max_pzs"), ("RMRs", "limit max_mw", "max_rmrs"),
    ("SRQs", "limit max_srq", "max_srqs"), ("receives of one", "limit max_srq_wr", "max_recv_per_srq"),
    ("message", "limit max_msg_sz", "max_message_size"),
)


def table(heads, rows):
    lines = ["| " + " | ".join(heads) + " |", "|---" * len(heads) + "|"]
    return lines + ["| " + " | ".join(str(cell).replace("|", "\\|") for cell in row) + " |" for row in rows]


def announced(folder, kinds):
    rows = []
    for kind in kinds:
        card, ia = seen(folder, kind), told(folder, kind)
        pairs = [(card[limit], ia[name]) for _, limit, name in COLUMNS]
        rows.append([kind] + [a if a == b else "%s: %s" % (a, b) for a, b in pairs])
    return table(["adapter"] + [title for title, _, _ in COLUMNS], rows)


def ends(folder, kinds):
    rows = {}
    for kind in kinds:
        for line in read(folder, kind, "ends").splitlines():
            if line.startswith("# end\t"):
                _, name, where, event, ms, size = line.split("\t")
                rows.setdefault((name, where), {})[kind] = (event, ms, size)
    lines = []
    for (name, where), cells in rows.items():
        events, sizes = ({cell[i] for cell in cells.values()} for i in (0, 2))
        lines.append([name, where, ", ".join(sorted(events)), ", ".join(sorted(sizes))]
                     + [cells[kind][1] if kind in cells else "-" for kind in kinds])
    return table(["what happens", "side", "event", "bytes"] + kinds, lines)


def losses(folder, kinds):
    rows = []
    for kind in kinds:
        if os.path.exists(os.path.join(folder, kind, "losses.log")):
            said = re.search(r"^# (\d+) connections in (\d+) ms .*longest end (\d+) us of (\d+)$",
                             read(folder, kind, "losses"), re.M)
            if said:
                count, ms, longest, most = map(int, said.groups())
                rows.append([kind, count, "%.1f" % (ms / 1000), "%.0f" % (longest / 1000), most // 1000])
    return table(["adapter", "connections", "seconds", "longest end, ms", "of"], rows)


def meshes(folder):
    """What mesh says of each connection manager."""
    rows = []
    for name, manager in (("mesh", "rdma_cm"), ("sockets/mesh", "sockets"), ("datagrams/mesh", "datagrams")):
        said = re.search(r"^# (\d+) connections in ([\d.]+) s, (\d+) us and ([\d.]+) messages each$",
                         read(folder, "mlx5-ib", name), re.M)
        rows.append([manager, *said.groups()])
    return table(["manager", "connections", "seconds", "us each", "messages each"], rows)


def beneath(folder, kinds):
    """Facts of rdma_cm and the adapters that say so."""
    facts = {}
    for kind in kinds:
        for name, value in seen(folder, kind).items():
            if name.startswith("cm "):
                value = value.replace("RDMA_CM_EVENT_", "")
                facts.setdefault(name[3:], {}).setdefault(value, []).append(kind)
    rows = [(name, value, "all" if len(values) == 1 else " ".join(who))
            for name, values in facts.items() for value, who in values.items()]
    return table(["what happens", "rdma_cm says", "adapters"], rows)


# ---- Soft-RoCE and soft-iWARP beside the kernel's ----

def verdicts(points):
    return {title: verdict for title, verdict, _ in points if title}


def both(folder, kind):
    """Tests that ran on both: name, verdict of the kernel's, of the zoo's."""
    kernels, _ = matrix.load_results(kind)
    found = []
    for test, points in sorted(kernels.items()):
        path = os.path.join(folder, kind, os.path.basename(test) + ".log")
        if not os.path.exists(path):
            continue
        with open(path, encoding="utf-8", errors="replace") as log:
            zoos = verdicts(matrix.read_log(log.read()))
        found += [(title, verdict, zoos[title]) for title, verdict in verdicts(points).items() if title in zoos]
    return found


def reasons():
    """Of test/zoo/seen/differences: kind, pattern, reason."""
    with open(os.path.join(TOP, "test/zoo/seen/differences"), encoding="utf-8") as file:
        return [line.split(None, 2) for line in file.read().splitlines() if line and not line.startswith("#")]


def played(folder, kind):
    """Rows for the page, and what has no reason."""
    rows, unknown, known = {}, [], reasons()
    for title, there, here in both(folder, kind):
        if there == here:
            continue
        why = [reason for who, pattern, reason in known if who == kind and fnmatch.fnmatchcase(title, pattern)]
        if why:
            rows.setdefault(why[0], []).append(title)
        else:
            unknown.append("%s: %s on the kernel's, %s here" % (title, there, here))
    return rows, unknown


def not_played(folder):
    lines = []
    for kind in ("rxe", "siw"):
        rows, unknown = played(folder, kind)
        lines += [[kind, len(names), " ".join(names), why] for why, names in rows.items()]
        lines += [[kind, 1, name, "?"] for name in unknown]
    counts = ["%d on %s" % (len(both(folder, kind)), kind) for kind in ("rxe", "siw")]
    return "\n".join(table(["adapter", "tests", "which", "why"], lines)), " and ".join(counts)


PAGE = """<!-- SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only -->
# Adapters that are not at hand

What the adapters of test/zoo announce, and how connections end on them. They play verbs devices by a table of what is
known or assumed of them (test/zoo/cards.c says which); soft-RoCE (rxe) and soft-iWARP (siw) are also held to what a
program saw of the kernel's (test/zoo/seen, test/vm/cards.sh). Made by `test/zoo/page.py write DIR` from
`ZOO_LOGS=DIR test/zoo/zoo.sh`, which asserts what is said here. What the conformance suite says of them is in
[conformance-cards.md](conformance-cards.md).

## What is announced

What the device names (ibv_query_device) and, where it is another number, after a colon what dat-info -v says. The
largest EP, EVD and SRQ that is announced has been made on each.

"""
PAGE_ENDS = """
## Ends of connections

The event is the same on every adapter; after it the bytes of private data that come with it, and milliseconds on
each, after the call that caused it. The zoo's connection managers give up after %s ms.

"""
PAGE_LOSSES = """
## Messages that are lost

One of 20 messages of the connection manager is lost while connections are opened and closed, one after the other. Both
sides hear of each end within the time that the manager takes to give up, and nothing is left (losses of zoo.sh, by
an_end_is_heard_though_messages_are_lost and an_end_is_heard_and_nothing_is_left of mends.t; over iWARP they are TCP's,
which repeats them).

"""
PAGE_MESHES = """
## All to all

Eight processes of 511 endpoints each on mlx5-ib, connected all to all at once (test/zoo/mesh.c): time until the last
connection is there, and messages, which over sockets are TCP's segments. Each then carries a message either way.

"""
PAGE_BENEATH = """
## What rdma_cm says

What the provider makes the above of.

"""


PAGE_PLAYED = """
## Where soft-RoCE and soft-iWARP are not played

Tests of the conformance suite that say another thing on the zoo than on Linux 6.1's soft-RoCE and soft-iWARP
(test/conformance/results), of %s that ran on both.

"""


def write(folder, path):
    suite, folder = folder, folder + ".more" if os.path.exists(folder + ".more") else folder
    kinds = sorted(kind for kind in os.listdir(folder) if os.path.exists(os.path.join(folder, kind, "observe.log")))
    text = PAGE + "\n".join(announced(folder, kinds)) + "\n" + PAGE_ENDS % "16 times 50"
    text += "\n".join(ends(folder, kinds)) + "\n" + PAGE_LOSSES
    text += "\n".join(losses(folder, kinds)) + "\n" + PAGE_MESHES
    text += "\n".join(meshes(folder)) + "\n" + PAGE_BENEATH + "\n".join(beneath(folder, kinds)) + "\n"
    rows, counts = not_played(suite)
    text += PAGE_PLAYED % counts + rows + "\n"
    with open(os.path.join(TOP, "test/zoo/mended.md"), encoding="utf-8") as file:
        text += "\n" + file.read().partition("\n")[2]
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    print("%s: %d adapters" % (os.path.relpath(path, TOP), len(kinds)))


def main():
    if len(sys.argv) == 4 and sys.argv[1] == "check":
        wrong = differences(*sys.argv[2:])
        print("\n".join(wrong))
        sys.exit(1 if wrong else 0)
    if len(sys.argv) == 4 and sys.argv[1] == "played":
        wrong = played(*sys.argv[2:])[1]
        print("\n".join(wrong))
        sys.exit(1 if wrong else 0)
    if len(sys.argv) in (3, 4) and sys.argv[1] == "write":
        write(sys.argv[2], sys.argv[3] if len(sys.argv) == 4 else os.path.join(TOP, "doc/adapters.md"))
        return
    sys.exit(__doc__)


main()
