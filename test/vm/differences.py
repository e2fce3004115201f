#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""
Compares what the program attributes read on our libraries and on those of release 2.1.10, device by device, with the
table of doc/differences.md: differences.py TABLE DEVICE OURS THEIRS. A line "ok ..." or "not ok ..." for either way
that the table can be wrong.

Rows of the table: | what | device | here | 2.1.10 | why |. The first four are patterns of the shell, "what" of the
names that the program prints; a value that is not there is "-".
"""
import fnmatch
import re
import sys


def read_values(path):
    values = {}
    with open(path, encoding="utf-8") as file:
        for line in file:
            name, _, value = line.rstrip("\n").partition(" ")
            if name in values:
                raise ValueError("%s: %s twice" % (path, name))
            values[name] = value
    if values.pop("done", None) is None:
        raise ValueError("%s is not complete" % path)
    return values


def read_table(path):
    rows = []
    with open(path, encoding="utf-8") as file:
        for line in file:
            cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
            if not line.startswith("|") or len(cells) != 5 or cells[0] == "what":
                continue
            if re.fullmatch("-+", cells[0]):
                continue
            if not all(cells):
                raise ValueError("%s: an empty cell: %s" % (path, line.strip()))
            rows.append([cell.strip("`") for cell in cells])
    return rows


def explains(row, device, name, here, there):
    what, which, own, other, _ = row
    return which in ("both", device) and all(
        fnmatch.fnmatchcase(text, pattern)
        for text, pattern in ((name, what), (here, own), (there, other))
    )


def main():
    table, device, ours, theirs = sys.argv[1:]
    ours, theirs = read_values(ours), read_values(theirs)
    rows = [row for row in read_table(table) if row[1] in ("both", device)]
    used, unlisted = set(), []
    for name in list(ours) + [name for name in theirs if name not in ours]:
        here, there = ours.get(name, "-"), theirs.get(name, "-")
        if here == there:
            continue
        found = [i for i, row in enumerate(rows) if explains(row, device, name, here, there)]
        used.update(found)
        if not found:
            unlisted.append("%s: here %s, release 2.1.10 %s" % (name, here, there))
    gone = [" | ".join(row[:4]) for i, row in enumerate(rows) if i not in used]
    for title, wrong in (("no other differences", unlisted), ("no fewer differences", gone)):
        print("%s %s: %s than doc/differences.md lists" % ("not ok" if wrong else "ok", device, title))
        for line in wrong:
            print("# " + line)


if __name__ == "__main__":
    main()
