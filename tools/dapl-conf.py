#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""dapl.conf as the modules declare it.

In the build directory:  make && $top_srcdir/tools/dapl-conf.py write   writes etc/dapl.conf and the tunables
of doc/man/dapl.conf.5 anew. As a test, without argument: both say the same as the modules of this build.
"""
import glob
import os
import subprocess
import sys
import tempfile
import textwrap

HEAD = """\
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# dapl.conf: tunables of the udapl providers. Every line below shows a default; take the # away to change one.
# The environment variable named with a tunable overrides the file. DAPL_CONF names another file.
# A name that is not known and a value out of range are reported with their line, and the default stays.
# `dat-info --settings` lists what is in force, and where it comes from.
#
# What a provider's section says holds for all its interface adapters. One adapter's own values stand in a
# section with its name, and win over the provider's:
#
# ia "soft-lo" {
# 	crc = no
# }
"""
TITLES = {
    "dapl": "The provider core: one value for the whole process.",
    "soft": "The software provider, libdaplsoft.so.2.",
    "verbs": "The provider for RDMA devices, libdaplofa.so.2, libdaploscm.so.2 and libdaploucm.so.2.",
}
FIELDS = "ia section name value origin type unit range default env help".split()
HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.environ.get("top_srcdir", os.path.dirname(HERE))
BUILD = os.environ.get("top_builddir", os.getcwd())


def declared():
    """The modules, and the rows of their command "settings"."""
    modules = sorted(glob.glob(BUILD + "/providers/*/.libs/libdapl*.so.2"))
    with tempfile.NamedTemporaryFile("w", suffix=".conf") as conf:
        for i, module in enumerate(modules):
            conf.write(f'ia{i} u2.0 nonthreadsafe default {module} udapl.1.0 "nothing" ""\n')
        conf.flush()
        env = {name: value for name, value in os.environ.items() if not name.startswith(("DAPL_", "DAT_"))}
        env.update(DAT_OVERRIDE=conf.name, DAPL_CONF="/dev/null", DAT_TRACE_LEVEL="0")
        names = [f"ia{i}" for i in range(len(modules))]
        out = subprocess.run([BUILD + "/tools/run-command", "settings", *names], env=env, stdout=subprocess.PIPE, text=True,
                             check=True).stdout
    rows = {}
    for line in out.splitlines():
        row = dict(zip(FIELDS, line.split("\t")))
        rows.setdefault(row["section"], {})[row["name"]] = row
    return modules, rows


def entry(row):
    """The lines of one tunable."""
    words = row["help"]
    if row["unit"]:
        words += f" Unit: {row['unit']}."
    if row["type"] == "choice":
        words += f" One of {row['range'].replace('|', ', ')}."
    elif row["type"] == "number":
        words += f" Range: {row['range'].replace('..', ' to ')}."
    if row["env"]:
        words += f" ({row['env']})"
    lines = textwrap.wrap(words, 104, break_long_words=False, break_on_hyphens=False)
    value = f'"{row["default"]}"' if row["type"] == "text" else row["default"]
    return "".join(f"\t# {line}\n" for line in lines) + f"\t# {row['name']} = {value}\n"


def section(name, rows):
    title = f"# {TITLES[name]}\n" if name in TITLES else ""
    return f"\n{title}{name} {{\n" + "\n".join(entry(row) for row in rows.values()) + "}\n"


BEGIN = '.\\" begin of tunables: written by tools/dapl-conf.py\n'
END = '.\\" end of tunables\n'


def troff(text):
    return text.replace("\\", r"\e").replace("-", r"\-")


def page_entry(row):
    """The lines of one tunable in the manual page."""
    facts = [{"switch": "yes or no", "number": "a number", "text": "a text"}.get(row["type"], "")]
    if row["type"] == "choice":
        facts = ["one of " + row["range"].replace("|", ", ")]
    elif row["type"] == "number":
        facts[0] += " from " + row["range"].replace("..", " to ")
        facts += [row["unit"]] if row["unit"] else []
    words = ", ".join(facts) + f"; default {row['default'] or 'empty'}"
    words = troff(words[0].upper() + words[1:]) + (f"; variable \\fB{row['env']}\\fR." if row["env"] else ".")
    sentences = troff(row["help"]).replace(". ", ".\n")
    return f".TP\n.B {row['name']}\n{sentences}\n.br\n{words}\n"


def page_section(name, rows):
    title = TITLES.get(name, "").rstrip(".")
    return f".SS {name}\n{title}.\n" + "".join(page_entry(row) for row in rows.values())


def with_tunables(page, sections):
    head, rest = page.split(BEGIN)
    names = sorted(sections, key=order)
    return head + BEGIN + "".join(page_section(n, sections[n]) for n in names) + END + rest.split(END)[1]


def order(name):
    return list(TITLES).index(name) if name in TITLES else len(TITLES)


def check(sections, shipped, page):
    count = failed = 0

    def result(good, what, show=""):
        nonlocal count, failed
        count += 1
        failed += not good
        print(f"{'ok' if good else 'not ok'} {count} - {what}")
        if not good:
            print("".join(f"# {line}\n" for line in show.splitlines()), end="")

    result("dapl" in sections and "soft" in sections, "the modules tell their tunables")
    result(shipped.startswith(HEAD), "how to use dapl.conf", HEAD)
    for name in sorted(sections, key=order):
        for row in sections[name].values():
            result(entry(row) in shipped, f"{name}.{row['name']} is in dapl.conf", entry(row))
        text = section(name, sections[name])
        result(text in shipped, f"section {name} holds these and no others", text)
        text = page_section(name, sections[name])
        result(text in page, f"section {name} of the manual page says the same", text)
    print(f"1..{count}")
    return failed > 0


def main():
    path, page_path = TOP + "/etc/dapl.conf", TOP + "/doc/man/dapl.conf.5"
    with open(page_path, encoding="utf-8") as file:
        page = file.read()
    _, sections = declared()
    if sys.argv[1:] == ["write"]:
        names = sorted(sections, key=order)
        with open(path, "w", encoding="utf-8") as file:
            file.write(HEAD + "".join(section(name, sections[name]) for name in names))
        with open(page_path, "w", encoding="utf-8") as file:
            file.write(with_tunables(page, sections))
        return 0
    with open(path, encoding="utf-8") as file:
        return check(sections, file.read(), page)


if __name__ == "__main__":
    sys.exit(main())
