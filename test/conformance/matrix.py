#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""
The conformance matrix: every clause of the specification against every provider.

  matrix.py report BUILD [FILE]  makes the matrix from the TAP logs of a build and the recorded runs, into FILE or to
                                 standard output; fails if a clause failed or too few are tested
  matrix.py record KIND FOLDER   keeps what the logs of a run on other devices say, in results/KIND, and what that says
                                 of programs without a log. Each is FOLDER/NAME.log, the output of
                                 test/conformance/run .../NAME.t
  matrix.py cards LOGS [FILE]    the same for adapters of the zoo, one a column, from LOGS/KIND/NAME.log and, by the other
                                 connection managers, LOGS/KIND-scm/NAME.log and LOGS/KIND-ucm/NAME.log (ZOO_LOGS
                                 of test/zoo/zoo.sh); fails if a clause failed
  matrix.py check                TAP: every clause has a test or a reason, every test's clause exists, and the
                                 matrix in doc/ is about these clauses
"""
import os
import re
import sys
from collections import Counter

sys.dont_write_bytecode = True
import clauses  # noqa: E402

TOP = os.path.abspath(os.environ.get("top_srcdir") or os.path.join(os.path.dirname(__file__), "../.."))
HERE = os.path.join(TOP, "test/conformance")
PAGE = os.path.join(TOP, "doc/conformance.md")
ENOUGH = 95.0  # per cent of the clauses that must be tested on soft
KINDS = (("soft", "soft"), ("rxe", "ofa, soft-RoCE"), ("siw", "ofa, soft-iWARP"),
         ("rxe-scm", "sockets, soft-RoCE"), ("rxe-ucm", "datagrams, soft-RoCE"))
LEGACY = "D12-"  # clauses of DAT 1.2, whose tests run on soft
POINT = re.compile(r"^(not )?ok (\d+)(?: - (.*?))?(?: # (SKIP|TODO)\s*(.*))?$")
ECHO = re.compile(r"^(PASS|FAIL|SKIP|ERROR|XFAIL|XPASS): \S+ (\d+)(?: - (.*?))?(?: # (SKIP|TODO)\s*(.*))?$")


def read_log(text):
    """
    Points of a TAP log: title, "pass", "fail" or "skip", reason. cmocka puts the name of a skipped test where
    the reason belongs and the reason on a line before, and the harness says first of all what is excluded; a plan
    of nothing is one skipped point without a title.
    Standard error may have torn a line apart: the driver's echo of it is as good.
    """
    points, said = {}, ""
    excluded = {name: line for line, name in re.findall(r"^# ((\w+) is excluded for \S+: .*)$", text, re.MULTILINE)}
    for line in text.splitlines():
        match = POINT.match(line)
        echo = ECHO.match(line)
        nothing = re.match(r"1\.\.0 # (?:SKIP|skip)\s*(.*)", line)
        if nothing:
            points[0] = ("", "skip", nothing.group(1))
        elif line.startswith("Bail out!"):
            points[-1] = ("", "fail", line)
        elif match:
            points.setdefault(int(match.group(2)), _point(match.group(1), *match.group(3, 4, 5), said, excluded))
            said = ""
        elif echo:
            bad = echo.group(1) in ("FAIL", "ERROR", "XPASS")
            points.setdefault(int(echo.group(2)), _point(bad, *echo.group(3, 4, 5), said, excluded))
        elif not re.match(r"(PASS|SKIP|FAIL|ERROR): |1\.\.\d|# (ok|not ok) - ", line):
            said = re.sub(r"^[# ]+", "", line) or said
    return [points[number] for number in sorted(points, key=lambda n: (n < 0, n))]


def _point(bad, title, word, rest, said, excluded):
    if word == "SKIP":
        return (title, "skip", rest) if title else (rest, "skip", excluded.get(rest, said))
    return (title or "", "fail" if bad else "pass", "")


def build_logs(build):
    """Logs of a build, by test."""
    logs = {}
    for folder, _, files in os.walk(os.path.join(build, "test")):
        for file in files:
            if file.endswith(".log"):
                path = os.path.join(folder, file)
                with open(path, encoding="utf-8", errors="replace") as log:
                    logs[os.path.relpath(path, build)[:-4]] = read_log(log.read())
    return logs


def load_results(kind):
    """A recorded run: lines of test, verdict, title and reason, with tabs between."""
    path, logs, note = os.path.join(HERE, "results", kind), {}, ""
    if not os.path.exists(path):
        return logs, note
    with open(path, encoding="utf-8") as file:
        for line in file.read().splitlines():
            if line.startswith("# "):
                note = note or line[2:]
            elif line:
                test, verdict, title, reason = line.split("\t")
                logs.setdefault(test, []).append((title, verdict, reason))
    return logs, note


def record(kind, folder):
    logs, _ = load_results(kind)
    files = [file for file in os.listdir(folder) if file.endswith(".log")]
    if not files:
        sys.exit("matrix.py: no log in %s" % folder)
    for file in files:
        with open(os.path.join(folder, file), encoding="utf-8", errors="replace") as log:
            logs["test/conformance/" + file[:-4]] = read_log(log.read())
    lines = ["\t".join(field.replace("\t", " ") for field in (test, verdict, title, reason))
             for test in sorted(logs) for title, verdict, reason in logs[test]]
    path = os.path.join(HERE, "results", kind)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write("# test, verdict, test point, reason\n" + "\n".join(lines) + "\n")
    print("%s: %d points" % (os.path.relpath(path, TOP), len(lines)))


class Tree:
    """The clauses and what the tree says of them."""

    def __init__(self, top=TOP):
        here = os.path.join(top, "test/conformance")
        self.table = clauses.load(os.path.join(here, "clauses.csv"))
        self.untestable = clauses.load_reasons(os.path.join(here, "untestable"))
        self.pending = clauses.load_reasons(os.path.join(here, "pending"))
        self.absent = clauses.load_reasons(os.path.join(here, "absent"))
        self.names = clauses.Names(self.table)
        self.sources = clauses.sources(top, self.names)
        self.named = set().union(*(source.clauses() for source in self.sources))
        self.everywhere = set().union(*(s.clauses() for s in self.sources if s.scope == clauses.ANY))

    def seen(self, kind, logs):
        """Clause to the list of (verdict, reason, test, scope) of all points that name it."""
        seen = {}
        for source in self.sources:
            if kind != "soft" and source.scope != clauses.ANY:
                continue
            for title, verdict, reason in logs.get(source.test, []):
                for clause in source.of_point(title, self.names) if title else source.clauses():
                    seen.setdefault(clause, []).append((verdict, reason, source.test, source.scope))
        return seen

    def lacks(self, clause, seen):
        """What no adapter has is not taken on trust: a point that asks the adapter must have passed."""
        shown, _, reason = self.absent[clause].partition(" ")
        if any(point[0] == "pass" for point in seen.get(shown, [])):
            return "unsupported: " + reason
        return "not run"

    def cell(self, clause, kind, seen, general):
        """What the matrix says of a clause on a provider."""
        if clause in self.untestable:
            return "not testable"
        points = seen.get(clause, [])
        verdicts = {point[0] for point in points}
        if "fail" in verdicts:
            return "FAIL: " + ", ".join(sorted({p[2] for p in points if p[0] == "fail"}))
        if "pass" in verdicts:
            return "pass"
        if kind != "soft" and any(point[0] == "pass" for point in general.get(clause, [])):
            return "pass (no device)"
        if points:
            return wording(points[0][1])
        if clause in self.absent:
            return self.lacks(clause, seen)
        if clause in self.pending:
            return "pending"
        return "not run" if kind == "soft" or clause in self.everywhere else "soft only"


def wording(reason):
    """Why a point was skipped: by the file of exclusions, or because the adapter says it has no such thing."""
    excluded = re.match(r"\w+ is excluded for \S+: (.*)", reason)
    if excluded:
        return "excluded: " + excluded.group(1)
    return "unsupported: " + (reason or "the adapter lacks it")


def matrix(tree, runs):
    """Rows of clause and cells, in the order of KINDS."""
    soft = tree.seen("soft", runs["soft"])
    general = {c: [p for p in points if p[3] == clauses.NONE] for c, points in soft.items()}
    seen = {kind: soft if kind == "soft" else tree.seen(kind, runs[kind]) for kind, _ in KINDS}
    rows = []
    for clause in tree.table:
        cells = []
        for kind, _ in KINDS:
            if kind != "soft" and not runs[kind] and clause not in tree.untestable:
                cells.append("not run")
            else:
                cells.append(tree.cell(clause, kind, seen[kind], general))
        tests = sorted({p[2] for p in soft.get(clause, []) if p[0] == "pass"})
        rows.append((clause, cells, [re.sub(r"^test/(conformance/)?", "", test) for test in tests]))
    return rows


def counted(rows):
    """Those of DAT 2.0, which the summary is of."""
    return [row for row in rows if not row[0].startswith(LEGACY)]


def sort_of(cell):
    return cell.split(":")[0].split(" (")[0]


def summary(tree, rows):
    lines = ["| | " + " | ".join(title for _, title in KINDS) + " |", "|---|" + "---:|" * len(KINDS)]
    counts = [Counter(sort_of(row[1][i]) for row in rows) for i in range(len(KINDS))]
    kinds_of_cells = [
        "pass", "unsupported", "excluded", "soft only", "not run", "pending", "not testable", "FAIL",
    ]
    for name in kinds_of_cells:
        if any(count[name] for count in counts):
            lines.append("| %s | %s |" % (name, " | ".join(str(count[name]) for count in counts)))
    lines.append("| tested | %s |" % " | ".join("%.1f %%" % share(rows, i) for i in range(len(KINDS))))
    return lines


def share(rows, column):
    """Per cent of the clauses that a test passed or failed on a provider."""
    tested = sum(sort_of(row[1][column]) in ("pass", "FAIL") for row in rows)
    return 100.0 * tested / len(rows)


INTRODUCTION = """<!-- SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only -->
# Conformance

Every clause of the specification and what the tests say of it. Made by `make conformance`; the columns of the
verbs provider are runs in the virtual machine of test/vm, by rdma_cm (ofa), over sockets and by datagrams.

- *pass*: at least one test point names the clause, and every one that does passed; *(no device)*: tests of the
  registry library, the core or the headers, which no provider takes part in.
- *unsupported*: the adapter's attributes say that it lacks this, and the tests look at the attributes. What none
  of the adapters has stands in test/conformance/absent, with the clause that says how an adapter tells so and
  refuses; it counts only where the test of that clause passed.
- *excluded*: by test/conformance/exclusions, with its reason.
- *soft only*: the tests that name it look at the wire or into the software provider.
- *not testable*: by test/conformance/untestable; the reasons stand at the end.
- *pending*: by test/conformance/pending, what is not built yet.
- *not run*: there is no record of a run.

Clauses of DAT 1.2 (D12) come last and are not in the counts; their tests run on soft.
"""


def page(tree, rows):
    lines = [INTRODUCTION] + summary(tree, counted(rows))
    area = None
    for clause, cells, tests in rows:
        kinds = KINDS[:1] if clause.startswith(LEGACY) else KINDS
        if clause.split("-")[0] != area:
            area = clause.split("-")[0]
            lines += ["", "## " + area, "", "| clause | subject | %s | tests |"
                      % " | ".join(title for _, title in kinds), "|---|---|" + "---|" * len(kinds) + "---|"]
        cells = " | ".join(cell.replace("|", "\\|") for cell in cells[:len(kinds)])
        lines.append("| %s | %s | %s | %s |" % (clause, tree.table[clause], cells, " ".join(tests)))
    for title, reasons in (("Not testable", tree.untestable), ("Pending", tree.pending)):
        shown = [c for c in tree.table if c in reasons and (title != "Pending" or c not in tree.named)]
        if shown:
            lines += ["", "## " + title, "", "| clause | reason |", "|---|---|"]
            lines += ["| %s | %s |" % (clause, reasons[clause]) for clause in shown]
    return "\n".join(lines) + "\n"


def report(build, path=None):
    tree = Tree()
    runs = {"soft": build_logs(build)}
    for kind, _ in KINDS[1:]:
        runs[kind], _note = load_results(kind)
    rows = matrix(tree, runs)
    text = page(tree, rows)
    if path:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    else:
        sys.stdout.write(text)
    failed = ["%s: %s" % (r[0], cell) for r in rows for cell in r[1] if cell.startswith("FAIL")]
    print("\n".join(summary(tree, counted(rows)) + failed), file=sys.stderr if not path else sys.stdout)
    if failed or share(rows, 0) < ENOUGH:
        sys.exit("matrix.py: %d clauses failed, %.1f %% tested on soft, at least %.0f %% are due"
                 % (len(failed), share(rows, 0), ENOUGH))


CARDS = """<!-- SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only -->
# Conformance on adapters that are not at hand

What the tests that run on any adapter say on those of test/zoo, which play verbs devices by a table of what is known
or assumed of them (test/zoo/cards.c says which): no such device was at hand. Made by `matrix.py cards` from
`ZOO_PROGRAMS=all ZOO_LOGS=DIR test/zoo/zoo.sh`. Columns that end in -scm and -ucm are connected over sockets and by
datagrams, the others by rdma_cm. The words are those of [conformance.md](conformance.md); reasons stand at the end.

"""


def cards(folder, path=None):
    tree, kinds, rows, reasons = Tree(), sorted(os.listdir(folder)), [], {}
    seen = {}
    for kind in kinds:
        logs = {}
        for file in os.listdir(os.path.join(folder, kind)):
            with open(os.path.join(folder, kind, file), encoding="utf-8", errors="replace") as log:
                logs["test/conformance/" + file[:-4]] = read_log(log.read())
        seen[kind] = tree.seen(kind, logs)
    for clause in tree.table:
        if clause not in tree.everywhere or clause in tree.untestable:
            continue
        cells = [tree.cell(clause, kind, seen[kind], {}) for kind in kinds]
        rows.append((clause, [sort_of(cell) for cell in cells]))
        for kind, cell in zip(kinds, cells):
            if sort_of(cell) != "pass":
                reasons.setdefault(cell, {}).setdefault(kind, []).append(clause)
    counts = [Counter(row[1][i] for row in rows) for i in range(len(kinds))]
    names = [name for name in ("pass", "unsupported", "excluded", "not run", "FAIL") if any(c[name] for c in counts)]
    lines = ["| | %s |" % " | ".join(kinds), "|---|" + "---:|" * len(kinds)]
    lines += ["| %s | %s |" % (name, " | ".join(str(c[name]) for c in counts)) for name in names]
    text = lines + ["", "| clause | subject | %s |" % " | ".join(kinds), "|---|---|" + "---|" * len(kinds)]
    text += ["| %s | %s | %s |" % (clause, tree.table[clause], " | ".join(cells)) for clause, cells in rows]
    text += ["", "## Reasons", "", "| reason | adapter | clauses |", "|---|---|---|"]
    for reason in sorted(reasons):
        text += ["| %s | %s | %s |" % (reason.replace("|", "\\|"), kind, " ".join(reasons[reason][kind]))
                 for kind in sorted(reasons[reason])]
    if path:
        with open(path, "w", encoding="utf-8") as file:
            file.write(CARDS + "\n".join(text) + "\n")
    print("\n".join(lines))
    if any(c["FAIL"] for c in counts):
        sys.exit("matrix.py: %d clauses failed" % sum(c["FAIL"] for c in counts))


def stale(tree, text):
    """Rows of the page that are not of these clauses and subjects, and the other way round."""
    found = {m.groups() for m in re.finditer(r"^\| ([A-Z]+(?:12)?-T?\d+) \| (.*?) \| .* \| .* \|", text, re.M)}
    due = set(tree.table.items())
    return sorted("%s, %s" % row for row in found ^ due)


def check(tree, text):
    """Points of the check: title and what is wrong."""
    table = set(tree.table)
    wrong = ["%s: %s" % (source.path, clause) for source in tree.sources
             for clause in sorted(source.clauses() - table)]
    listed = set(tree.untestable) | set(tree.pending) | set(tree.absent)
    shown = {reason.partition(" ")[0] for reason in tree.absent.values()}
    return [
        ("every clause has a test, or a reason why not",
         [c for c in tree.table if c not in tree.named | listed]),
        ("every clause that a test names exists", wrong),
        ("every clause with a reason exists", sorted((listed | shown) - table)),
        ("what shows that something is absent has a test", sorted(shown - tree.named)),
        ("no clause is tested and called untestable", sorted(tree.named & set(tree.untestable))),
        ("doc/conformance.md is about these clauses", stale(tree, text)),
    ]


def tap(points):
    print("1..%d" % len(points))
    for number, (title, wrong) in enumerate(points, 1):
        for line in wrong:
            print("# " + line)
        print("%sok %d - %s" % ("not " if wrong else "", number, title))
    return 1 if any(wrong for _, wrong in points) else 0


def main(args):
    if args[:1] == ["report"] and len(args) in (2, 3):
        report(*args[1:])
    elif args[:1] == ["cards"] and len(args) in (2, 3):
        cards(*args[1:])
    elif args[:1] == ["record"] and len(args) == 3 and args[1] in dict(KINDS[1:]):
        record(*args[1:])
    elif args == ["check"]:
        with open(PAGE, encoding="utf-8") as file:
            sys.exit(tap(check(Tree(), file.read())))
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
