#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Manual pages: what is public has one, it says what the source says, and it formats."""
import csv
import glob
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from util import BUILD, TOP, Skip, call, case, check, equal, run

PAGES = {}  # (name, section) -> file


def find_pages():
    for folder in ("tools", "test/dapltest", "samples", "doc"):
        for path in glob.glob(os.path.join(TOP, folder, "**/*.[1-8]"), recursive=True):
            if os.path.dirname(path).endswith("man3"):
                continue
            name, section = os.path.basename(path).rsplit(".", 1)
            PAGES[name, section] = path
    for path in glob.glob(os.path.join(BUILD, "doc/man/man3/*.3")):
        PAGES[os.path.basename(path)[:-2], "3"] = path


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def plain(name, section):
    """The text of a page without troff's escapes."""
    text = read(PAGES[name, section]).replace(r"\-", "-").replace(r"\&", "")
    return re.sub(r"\\f[BIRP]", "", text)


def need_calls():
    if not os.path.exists(os.path.join(BUILD, "doc/man/man3.stamp")):
        raise Skip("built without doxygen")


def headers():
    return {os.path.basename(p): read(p) for p in glob.glob(os.path.join(TOP, "include/dat/*.h"))}


def documented_calls():
    """Name -> comment, of functions and of macros that have parameters."""
    found = {}
    pattern = r"/\*\*((?:(?!\*/).)*?)\*/\n(?:DAT_EXPORT DAT_RETURN DAT_API\s+|#define )(dat_\w+)\("
    for text in headers().values():
        for comment, name in re.findall(pattern, text, re.S):
            found[name] = comment
    return found


@case("every public call has a page")
def _():
    need_calls()
    with open(os.path.join(TOP, "test/abi/functions.csv"), encoding="utf-8") as file:
        known = {row["function"] for row in csv.DictReader(file)}
    check(len(known) == 83, "%d calls in functions.csv", len(known))
    exported = set()
    for text in headers().values():
        exported |= set(re.findall(r"DAT_EXPORT DAT_RETURN DAT_API\s+(dat_\w+)\(", text))
    wanted = known | exported | set(documented_calls())
    equal({n for n in wanted if (n, "3") not in PAGES}, set(), "calls without a page")


@case("a page of a call has all its parts, and every parameter and return value")
def _():
    need_calls()
    for name, comment in sorted(documented_calls().items()):
        text = plain(name, "3")
        if text.startswith(".so "):
            check((text.split("/")[1].split(".")[0], "3") in PAGES, "%s: %s", name, text)
            continue
        for part in ("NAME", "SYNOPSIS", "DESCRIPTION", "RETURN VALUE", "SEE ALSO"):
            check("\n.SH %s\n" % part in text, "%s has no %s", name, part)
        check(re.search(r"^%s \\?- \S|, %s - \S" % (name, name), text, re.M) or
              re.search(r"^(?:\w+, )*%s - \S" % name, text, re.M), "%s: its name", name)
        for word in re.findall(r"@param (\w+)", comment):
            check(re.search(r"^%s\b" % word, text, re.M), "%s: parameter %s", name, word)
        returned = text.split(".SH RETURN VALUE")[1].split(".SH")[0]
        for value in re.findall(r"@retval[^@]*", comment.split("Events:")[0] + comment):
            for word in re.findall(r"\bDAT_\w+[A-Z0-9]\b", value):
                check(word in returned, "%s: return value %s", name, word)
        check("@" not in returned, "%s: a command of doxygen is left", name)


def installed_programs():
    """Their paths below the build folder."""
    makefile = read(os.path.join(BUILD, "Makefile")).replace("\\\n", " ")
    programs = re.search(r"^bin_PROGRAMS = (.*)$", makefile, re.M).group(1)
    paths = {p.replace("$(EXEEXT)", "") for p in programs.split()}
    paths = {p for p in paths if not p.startswith("$")} | {"dat-info", "dapltest"}
    check({"samples/dtest", "samples/dtestcm"} <= paths, "programs: %s", paths)
    return paths


@case("no page cites a rule by its number alone: what it says stands there")
def _():
    clause = r"\b(?:REG|IA|CTX|EP|PSP|RSP|CSP|CR|EV|PD|TMO|FL|EVD|CNO|EVT|PZ|LMR|RMR|DTO|SRQ|IBX|GEN)-\d+"
    for (name, section), path in sorted(PAGES.items()):
        text = plain(name, section).split(".SH CLAUSES")[0]
        check(not re.search(clause, text), "%s: %s", path, re.findall(clause, text))


@case("every program has a page with all its options")
def _():
    for program in sorted(installed_programs()):
        name = os.path.basename(program)
        check((name, "1") in PAGES, "%s has no page", name)
        done = subprocess.run(
            [os.path.join(BUILD, program), "--help"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, stdin=subprocess.DEVNULL, check=False, timeout=60,
        )
        options = set(re.findall(r"(?<![\w-])--?[a-zA-Z][a-z-]*", done.stdout))
        # Those of one letter stand in the call that takes them.
        source = os.path.join(TOP, program + ".c")
        letters = re.findall(r'getopt\(argc, argv, "([^"]*)"', read(source)) if os.path.exists(source) else []
        options = {o for o in options if o.startswith("--") or not letters}
        options |= {"-" + letter for text in letters for letter in text if letter != ":"}
        text = plain(name, "1")
        for option in options:
            check(re.search(r"%s(?![\w-])" % re.escape(option), text), "%s: option %s", name, option)


@case("every program tells its name and version in the same words, and its options, and succeeds")
def _():
    version = re.search(r'^PACKAGE_VERSION = (.*)$', read(os.path.join(BUILD, "Makefile")), re.M).group(1)
    for program in sorted(installed_programs()):
        name = os.path.basename(program)
        told = call(0, os.path.join(BUILD, program), "--version")
        equal((told.out, told.err), ("%s (udapl) %s\n" % (name, version), ""), "version of " + name)
        told = call(0, os.path.join(BUILD, program), "--help")
        check(name in told.out and not told.err, "usage of %s: %s", name, told)


@case("every environment variable is in a page")
def _():
    names = set()
    for folder in ("dat", "trace", "dapl", "providers"):
        for path in glob.glob(os.path.join(TOP, folder, "**/*.[cd]*"), recursive=True):
            names |= set(re.findall(r'"((?:DAT|DAPL)_[A-Z0-9_]+)"', read(path)))
    # Names of attributes, which programs see, look alike.
    names = {n for n in names if not n.startswith(("DAT_IB_", "DAT_EXTENSION_"))}
    code = re.sub(r"/\*.*?\*/", "", " ".join(headers().values()), flags=re.S)
    names -= set(re.findall(r"\b(?:DAT|DAPL)_[A-Z0-9_]+\b", code))
    check({"DAT_OVERRIDE", "DAPL_CONF", "DAPL_STRICT"} <= names, "variables: %s", names)
    pages = plain("udapl", "7") + plain("dapl.conf", "5")
    equal({n for n in names if n not in pages}, set(), "variables without a page")


@case("every file that programs read, and every provider, has a page")
def _():
    for name, section in (("dat.conf", "5"), ("dapl.conf", "5"), ("udapl", "7")):
        check((name, section) in PAGES, "%s(%s)", name, section)
    for path in glob.glob(os.path.join(TOP, "providers/*/Makemodule.am")):
        name = "udapl-" + os.path.basename(os.path.dirname(path))
        check((name, "7") in PAGES, "%s(7)", name)
    text = plain("dapl.conf", "5")
    for path in glob.glob(os.path.join(TOP, "**/tunables.def"), recursive=True):
        for name in re.findall(r'^(?:SWITCH|NUMBER|CHOICE|TEXT)\(\w+, "(\w+)"', read(path), re.M):
            check(re.search(r"^\.B %s$" % name, text, re.M), "tunable %s", name)


@case("pages refer to pages that there are")
def _():
    need_calls()
    for (name, section), path in sorted(PAGES.items()):
        text = plain(name, section)
        found = re.findall(r"^\.BR ([\w.-]+) \((\d)\)", text, re.M)
        found += re.findall(r"\b((?:dat|udapl|dapl)[\w.-]*)\((\d)\)", text)
        for other in found:
            ours = re.match("dat|dapl|udapl", other[0])
            check(not ours or other in PAGES, "%s: %s(%s) is not there", path, *other)


@case("every event and status has a name, a number and a text in dat_event(3)")
def _():
    page, names = plain("dat_event", "3"), headers()["dat_names.h"]
    with open(os.path.join(TOP, "test/abi/enums.csv"), encoding="ascii", newline="") as file:
        rows = [r for r in csv.DictReader(file)
                if r["enum"] in ("enum dat_event_number", "enum dat_dto_completion_status")]
    check(len(rows) > 30, "only %d events and statuses", len(rows))
    for row in rows:
        name, value = row["enumerator"], int(row["value"])
        if name.endswith("_RANGE_BASE"):
            continue
        check("(%s)" % name in names, "%s has no name", name)
        shown = "0x%05x" % value if row["enum"] == "enum dat_event_number" else "%d" % value
        check(re.search('%s " %s[",]' % (name, shown), page), "%s %s is not in the page", name, shown)


@case("the mistakes of doc/mistakes.md are 60 at least, each with a test that there is")
def _():
    rows = re.findall(r"^\| \d+ \|.*\| (\w+)/(\w+): (\w+) \|$", read(os.path.join(TOP, "doc/mistakes.md")), re.M)
    check(len(rows) >= 60, "only %d mistakes", len(rows))
    for folder, file, name in rows:
        text = read(os.path.join(TOP, "test", folder, file + ".c"))
        check(re.search(r"\b%s\(void \*\*state\)|^TOLD\(%s," % (name, name), text, re.M), "%s has no %s", file, name)


@case("every page formats without a warning, within the width of a screen")
def _():
    if not shutil.which("groff"):
        raise Skip("no groff")
    for (name, section), path in sorted(PAGES.items()):
        done = subprocess.run(
            ["groff", "-man", "-Tutf8", "-ww", "-P-c", "-P-b", "-P-u", "-P-o", path],
            cwd=os.path.join(BUILD, "doc/man") if section == "3" else TOP,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False,
        )
        if read(path).startswith(".so "):
            continue
        equal(done.stderr, "", path)
        check(len(done.stdout.splitlines()) > 10, "%s is empty", path)
        if section in "357":
            wide = [line for line in done.stdout.splitlines() if len(line) > 95]
            equal(wide, [], "lines too wide for a screen in %s" % path)


find_pages()
run()
