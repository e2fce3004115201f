#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""The trace points in udapl-probes(7).

In the build directory:  make && $top_srcdir/tools/probes.py write   brings the list of the page up to date,
keeping what it says of each point. As a test, without argument: the page has all points of this build, and no
others; each is explained; and each is a probe in its library, with as many arguments.
"""
import glob
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.environ.get("top_srcdir", os.path.dirname(HERE))
BUILD = os.environ.get("top_builddir", os.getcwd())
PAGE = TOP + "/doc/man/udapl-probes.7"
BEGIN = '.\\" The list is written by tools/probes.py, but for the explanations.\n'
END = '.\\" End of the list.\n'


def libraries():
    return [BUILD + "/dat/.libs/libdat2.so.2", *sorted(glob.glob(BUILD + "/providers/*/.libs/libdapl*.so.2"))]


def told():
    """(component, name) -> (level, arguments), as the libraries tell themselves."""
    with tempfile.NamedTemporaryFile("w", suffix=".conf") as conf:
        modules = libraries()[1:]
        for i, module in enumerate(modules):
            conf.write(f'ia{i} u2.0 nonthreadsafe default {module} udapl.1.0 "nothing" ""\n')
        conf.flush()
        env = {name: value for name, value in os.environ.items() if not name.startswith(("DAPL_", "DAT_"))}
        env.update(DAT_OVERRIDE=conf.name, DAPL_CONF="/dev/null", DAT_TRACE_LEVEL="0")
        names = [f"ia{i}" for i in range(len(modules))]
        out = subprocess.run([BUILD + "/tools/run-command", "points", *names], env=env, stdout=subprocess.PIPE,
                             text=True, check=True).stdout
    points = {}
    for line in out.splitlines():
        component, name, level, form = line.split("\t")
        points[component, name] = (int(level), arguments(form))
    return points


def arguments(form):
    """[(name, type)] of a format like "from=%s to=%s"."""
    found = re.findall(r"(\w+)[=:]\s*(?:0x)?%(?:ll|z|l)?([a-z])", form)
    if len(found) != form.count("%"):
        raise ValueError(f'every conversion has its name before it: "{form}"')
    types = {"s": "string", "p": "pointer"}
    return [(name, types.get(conversion, "number")) for name, conversion in found]


def notes(path):
    """{(provider, name): number of arguments} of the probes in a library."""
    out = subprocess.run(["readelf", "-n", path], stdout=subprocess.PIPE, text=True, check=True).stdout
    pattern = r"Provider: (\w+)\n\s+Name: (\w+)\n.*Semaphore: (\w+)\n\s+Arguments: ?(.*)"
    return {(provider, name): (len(args.split()), int(semaphore, 16))
            for provider, name, semaphore, args in re.findall(pattern, out)}


def head(component, name, level, args):
    words = ", ".join(["object", *(f"{arg} ({kind})" for arg, kind in args)])
    return f".TP\n.BR {component}:{name} \", level {level}\"\n{words}.\n.br\n"


def entries(text):
    """(component, name) -> (the generated part, the explanation)."""
    found = {}
    for part in text.split(".TP\n")[1:]:
        match = re.match(r"(\.BR (\w+):(\w+) .*\n.*\n\.br\n)((?:.*\n)*)", part)
        if match:
            found[match[2], match[3]] = (".TP\n" + match[1], match[4])
    return found


def sections(points, known):
    text = ""
    for key in sorted(points, key=lambda key: (key[0] != "dat", key)):
        text += head(*key, *points[key]) + known.get(key, ("", ""))[1]
    return text


def check(points, before, middle, after):
    count = failed = 0

    def result(good, what, show=""):
        nonlocal count, failed
        count += 1
        failed += not good
        print(f"{'ok' if good else 'not ok'} {count} - {what}")
        if not good:
            print("".join(f"# {line}\n" for line in str(show).splitlines()), end="")

    page = entries(middle)
    result(len(points) > 30, "the libraries tell their points", len(points))
    for key, (level, args) in sorted(points.items()):
        name = ":".join(key)
        result(key in page, f"{name} is in udapl-probes(7)", "run tools/probes.py write, and explain it")
        if key in page:
            result(page[key][0] == head(*key, level, args), f"{name} is described as it is", head(*key, level, args))
            result(page[key][1].strip(), f"{name} is explained")
    if any(name.startswith("rdma_") for _, name in points):
        result(set(page) <= set(points), "the page has no others", sorted(set(page) - set(points)))
    probes = [notes(path) for path in libraries()]
    if not any(probes):
        print(f"ok {count + 1} - the points are probes # SKIP built without sys/sdt.h")
        count += 1
    else:
        merged = {key: value for each in probes for key, value in each.items()}
        result(set(merged) == set(points), "the points are the probes of the libraries",
               sorted(set(merged) ^ set(points)))
        for key in sorted(set(points) & set(merged)):
            number, semaphore = merged[key]
            result(number == 1 + len(points[key][1]), f"{':'.join(key)} has its arguments", number)
            result(semaphore != 0, f"{':'.join(key)} has a semaphore")
    print(f"1..{count}")
    return failed > 0


def main():
    points = told()
    with open(PAGE, encoding="utf-8") as file:
        text = file.read()
    before, rest = text.split(BEGIN)
    middle, after = rest.split(END)
    if sys.argv[1:] == ["write"]:
        with open(PAGE, "w", encoding="utf-8") as file:
            file.write(before + BEGIN + sections(points, entries(middle)) + END + after)
        return 0
    return check(points, before, middle, after)


if __name__ == "__main__":
    sys.exit(main())
