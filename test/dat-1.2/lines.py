#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""
Which lines of dat.conf serve programs of DAT 1.2. Each case writes a file and asks processes that load libdat.so.1
what they are listed and what they can open. libdaplofa.so.2 is the software provider by another name here.
"""
import ctypes
import json
import os
import subprocess
import sys

BUILD = os.path.abspath(os.environ.setdefault("top_builddir", "."))
TOP = os.environ.setdefault("top_srcdir", os.path.abspath(os.path.join(os.path.dirname(__file__), "../..")))
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(TOP, "test/tools"))
from util import ENV, SANITIZED, SOFT, Scratch, Skip, case, check, equal, run  # noqa: E402

LIBRARIES = {(1, 2): "dat-1.2/.libs/libdat.so.1", (2, 0): "dat/.libs/libdat2.so.2"}
LIBRARIES = {version: os.path.join(BUILD, path) for version, path in LIBRARIES.items()}
BADPROV = os.path.join(BUILD, "test/tools/.libs/badprov.so")
NOT_FOUND, NAME, MAJOR, MINOR, THREADS = 0x800A0000, 98, 99, 100, 101  # subtypes of 1.2


# ---- In the process that loads the library ----


def child(version, requests, scope):
    """Prints what is listed, and the word and the provider's name of each request."""
    dl = ctypes.CDLL(LIBRARIES[version], mode=getattr(ctypes, scope))
    for call in ("dat_ia_openv", "dat_ia_query", "dat_ia_close", "dat_registry_list_providers"):
        getattr(dl, call).restype = ctypes.c_uint32
    infos = [ctypes.create_string_buffer(268) for _ in range(64)]
    table, num = (ctypes.c_void_p * 64)(*[ctypes.addressof(i) for i in infos]), ctypes.c_int()
    words = [dl.dat_registry_list_providers(64, ctypes.byref(num), table)]
    names = [info.value.decode() for info in infos[:num.value]]
    opened = []
    for name, threads in requests:
        evd, ia = ctypes.c_void_p(), ctypes.c_void_p()
        rc = dl.dat_ia_openv(name.encode(), 8, ctypes.byref(evd), ctypes.byref(ia), *map(ctypes.c_uint32, version),
                             threads)
        attr = ctypes.create_string_buffer(1024)
        if not rc:
            words.append(dl.dat_ia_query(ia, ctypes.byref(evd), ctypes.c_uint64(0),
                                         ctypes.create_string_buffer(1024), ctypes.c_uint64(1), attr))
            words.append(dl.dat_ia_close(ia, 0))
        opened.append((rc, attr.value.decode()))
    json.dump({"words": words, "list": names, "opened": opened}, sys.stdout)


# ---- The cases ----


class Site(Scratch):
    """A folder with a dat.conf and the libraries that its lines name."""

    def __init__(self):
        super().__init__()
        for name in ("libdaplofa.so.2", "libdaplsoft.so.2"):
            os.symlink(SOFT, self.path(name))

    def ask(self, lines, *requests, version=(1, 2), scope="RTLD_LOCAL", **env):
        """What a process says, whose requests are names or (name, thread safety)."""
        pairs = [r if isinstance(r, tuple) else (r, 0) for r in requests]
        conf = self.write("dat.conf", lines)
        folders = [self.folder] + [os.path.dirname(path) for path in LIBRARIES.values()]
        done = subprocess.run(
            [sys.executable, __file__, json.dumps([version, pairs, scope])],
            env={**ENV, "DAT_OVERRIDE": conf, "DAPL_CONF": "/dev/null", "LD_LIBRARY_PATH": ":".join(folders), **env},
            capture_output=True, text=True, timeout=60, check=False)
        check(done.returncode == 0, "status %d: %s", done.returncode, done.stderr)
        said = json.loads(done.stdout)
        equal(set(said["words"]), {0}, "words")
        said["err"] = done.stderr
        return said


def old(name, library="libdaplsoft.so.2", params="lo", threads="nonthreadsafe", api="u1.2"):
    return '%s %s %s default %s dapl.1.2 "%s" ""\n' % (name, api, threads, library, params)


def new(name, library="libdaplsoft.so.2", params="lo", threads="nonthreadsafe"):
    return old(name, library, params, threads, "u2.0")


def opens(said, *names):
    """All requests were served, and the adapters have the names that were asked for."""
    equal([tuple(o) for o in said["opened"]], [(0, name) for name in names], "opened")


# What release 1.2.19 came with, but for the parameters, which name a device here.
SHIPPED = (
    ("OpenIB-cma", "libdaplcma.so.1"), ("OpenIB-cma-1", "libdaplcma.so.1"),
    ("OpenIB-mthca0-1", "libdaplscm.so.1"), ("OpenIB-mlx4_0-1", "libdaplscm.so.1"),
    ("OpenIB-mlx4_0-2", "libdaplscm.so.1"), ("OpenIB-ipath0-1", "libdaplscm.so.2"),
    ("OpenIB-ehca0-2", "libdaplscm.so.2"), ("OpenIB-iwarp", "libdaplcma.so.1"),
    ("OpenIB-cma-roe-eth2", "libdaplcma.so.1"), ("OpenIB-scm-roe-mlx4_0-1", "libdaplscm.so.1"),
    ("OpenIB-old", "/usr/local/ofed/lib64/libdapl-cma.so"),
)


@case("D12-97, D12-105, D12-T7: the lines of release 1.2.19 are served by our modules")
def _():
    with Site() as site:
        names = [name for name, _ in SHIPPED]
        lines = "# of 1.2.19\n\n" + "".join(old(*line) for line in SHIPPED)
        said = site.ask(lines + old("of-ours", site.path("libdaplofa.so.2")), *names, "of-ours")
        equal(said["list"], names + ["of-ours"], "list")
        opens(said, *names, "of-ours")
        mixed = "OpenIB-iwarp\tu1.2  nonthreadsafe default libdaplcma.so.1 mv_dapl.1.2 \"lo\" \"\" # a comment\n"
        opens(site.ask(mixed, "OpenIB-iwarp"), "OpenIB-iwarp")


@case("D12-105: the folder of our modules is kept, that of the release's is dropped")
def _():
    with Site() as site:
        gone = "/nowhere/libdaplsoft.so.2"
        said = site.ask(old("ours", gone) + old("theirs", "/nowhere/libdaplcma.so.1"), "ours", "theirs")
        check(said["opened"][0][0] != 0, "a module that is not there serves")
        equal(said["opened"][1], [0, "theirs"], "the release's")


@case("D12-106, D12-T7: lines with other libraries serve nobody, which is said once, and do not load them")
def _():
    with Site() as site:
        for name in ("libdaplother.so.1", "libdaplsofter.so.2", "libdaplcmaa.so.1"):
            os.symlink(BADPROV, site.path(name))
        lines = old("other", "libdaplother.so.1") + old("softer", site.path("libdaplsofter.so.2"))
        lines += old("cmaa", "libdaplcmaa.so.1") + old("good")
        said = site.ask(lines, "other", "softer", "cmaa", "good", "other",
                        DAPL_TRACE_LEVEL="3", DAT_TRACE_LEVEL="3", LD_DEBUG="files")
        equal(said["list"], ["good"], "list")
        words = [rc for rc, _ in said["opened"]]
        equal(words, [NOT_FOUND | NAME] * 3 + [0] + [NOT_FOUND | NAME], "words")
        said_of = [line for line in said["err"].splitlines() if "no module serves DAT 1.2" in line]
        equal(len(said_of), 3, "lines of trace")
        for name in ("libdaplother", "libdaplsofter", "libdaplcmaa"):
            equal(len([line for line in said_of if name in line]), 1, "lines about " + name)
            check("calling init: " + site.path(name) not in said["err"], "%s is loaded", name)


@case("D12-98: DAT_OVERRIDE names the one file of both versions")
def _():
    with Site() as site:
        conf = site.write("other.conf", old("from-other") + new("both-of-other"))
        said = site.ask(old("from-first"), "from-other", "from-first", DAT_OVERRIDE=conf)
        equal(said["list"], ["from-other", "both-of-other"], "list")
        equal(said["opened"], [[0, "from-other"], [NOT_FOUND | NAME, ""]], "opened")


@case("D12-99: other versions than 1.2 and 2.0 are neither listed nor opened")
def _():
    with Site() as site:
        lines = "".join(old("v" + api, api=api) for api in ("u1.0", "u1.1", "u1.3", "u3.0", "k1.2", "k2.0"))
        said = site.ask(lines + old("good"), "vu1.0", "vu1.1", "vu1.3", "vu3.0", "vk1.2", "vk2.0", "good")
        equal(said["list"], ["good"], "list")
        check(all(rc & 0xFFFF0000 == NOT_FOUND for rc, _ in said["opened"][:-1]), "opened: %s", said["opened"])


# A module that cannot be loaded or whose adapter cannot be opened: the order shows in whose answer comes last.
GONE = "/nowhere/libdaplsoft.so.2"


@case("D12-101, D12-102: 1.2 before 2.0, then 2.0 of the other thread safety, until one opens")
def _():
    with Site() as site:
        last = new("one", params="lo", threads="threadsafe")
        lines = last + new("one", params="nonet7") + old("one", GONE) + old("one", params="nonet8")
        said = site.ask(lines, "one", DAT_TRACE_LEVEL="3", LD_DEBUG="files")
        opens(said, "one")
        for tried in ("nonet8", "nonet7"):
            check(tried in said["err"], "%s is not tried", tried)
        check(said["err"].index("nonet8") < said["err"].index("nonet7"), "2.0 is tried before 1.2")
        opens(site.ask(old("one") + new("one", GONE), "one"), "one")
        opens(site.ask(new("one", GONE) + old("one"), "one"), "one")
        opens(site.ask(new("safe", threads="threadsafe"), "safe", ("safe", 1)), "safe", "safe")


@case("D12-102: if none opens, the answer is that of the last one")
def _():
    with Site() as site:
        alone = site.ask(new("one", params="nonet7"), "one")["opened"]
        gone = site.ask(new("one", GONE), "one")["opened"]
        check(alone != gone and alone[0][0] and gone[0][0], "answers: %s %s", alone, gone)
        equal(site.ask(new("one", params="nonet7") + old("one", GONE), "one")["opened"], alone, "1.2, then 2.0")
        equal(site.ask(old("one", params="nonet7") + new("one", GONE), "one")["opened"], gone, "2.0 last")


@case("D12-103: no candidate: what is missing, in the numbers of 1.2")
def _():
    with Site() as site:
        lines = old("safe", threads="threadsafe") + old("minor", api="u1.1") + old("major", api="u3.0")
        said = site.ask(lines, "none", "safe", ("safe", 1), "minor", "major")
        words = [rc - NOT_FOUND for rc, _ in said["opened"]]
        equal(words, [NAME, THREADS, -NOT_FOUND, MINOR, MAJOR], "subtypes")


@case("D12-110: a program's built-in name is a line of that name")
def _():
    with Site() as site:
        with open(os.path.join(TOP, "etc/dat.conf"), encoding="utf-8") as file:
            shown = [line[1:] for line in file if line.startswith("#") and " u1.2 nonthreadsafe" in line]
        names = [line.split()[0] for line in shown]
        equal(set(names) >= {"ib0", "nes0", "OpenIB-cma"}, True, "names")
        for line in shown:
            fields = line.split('"')
            opens(site.ask('"'.join([fields[0], "lo"] + fields[2:]), line.split()[0]), line.split()[0])


@case("D12-T6: modules that name libdat2 and modules that do not, by a library of either scope")
def _():
    with Site() as site:
        needs = [os.path.basename(module) for module in (BADPROV, SOFT) if "libdat2" in needed(module)]
        equal(needs, ["libdaplsoft.so.2"], "modules that name libdat2")
        for scope in ("RTLD_LOCAL", "RTLD_GLOBAL"):
            said = site.ask(new("without", BADPROV, "works") + new("with"), "without", "with", "without", scope=scope)
            equal([rc for rc, _ in said["opened"]], [0, 0, 0], "opened, " + scope)


def needed(module):
    """The libraries that a module names."""
    tool = os.environ.get("READELF") or "readelf"
    text = subprocess.run([tool, "-d", module], capture_output=True, text=True, check=True).stdout
    return " ".join(line for line in text.splitlines() if "NEEDED" in line)


@case("D12-T7, D12-104: a program of 2.0 sees of the same file what it saw before")
def _():
    with Site() as site:
        lines = old("old") + old("both") + new("both") + new("new")
        said = site.ask(lines, "old", "both", "new", version=(2, 0))
        check("old" not in [n for n, (rc, _) in zip(("old", "both", "new"), said["opened"]) if rc == 0], "old opens")
        equal([tuple(o) for o in said["opened"][1:]], [(0, "both"), (0, "new")], "opened")
        equal(site.ask(lines, "old", "both", "new")["list"], ["old", "both", "new"], "list of 1.2")


def main():
    if len(sys.argv) > 1:
        version, requests, scope = json.loads(sys.argv[1])
        return child(tuple(version), requests, scope)
    if SANITIZED:
        print("1..0 # SKIP Python loads no library with a sanitizer")
        return 0
    return run()


if __name__ == "__main__":
    sys.exit(main())
