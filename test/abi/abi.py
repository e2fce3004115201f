# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""What the checks of the binary interface share: tables, test points and compilers."""

import csv
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.environ.get("top_srcdir") or os.path.dirname(os.path.dirname(HERE))
# The interface that is checked, its tables and its headers: choose() has the next.
EDITION = "2.0"
TABLES = HERE
INCLUDE = os.path.join(TOP, "include", "dat")
WARN = ["-Wall", "-Wextra", "-Wstrict-prototypes", "-Wundef", "-Werror"]
WARN_CXX = ["-Wall", "-Wextra", "-Wundef", "-Werror"]
# Another processor: what runs its programs, and its name in Debian's words.
RUN = shlex.split(os.environ.get("ARCH_RUN") or "")
ARCH = os.environ.get("ABI_ARCH") or ""
# The extension and its parts.
EXTENSION = tuple(sorted(f for f in os.listdir(INCLUDE) if f.startswith("dat_ib_")))


def choose(edition):
    """From now on tables and headers are those of DAT 2.0, or of DAT 1.2."""
    global EDITION, TABLES, INCLUDE
    EDITION = edition
    old = "dat-1.2" if edition == "1.2" else ""
    TABLES = os.path.join(HERE, old)
    INCLUDE = os.path.join(TOP, "include", old, "dat")


class Tap:
    """Test points, numbered as they come; the plan is printed last."""

    def __init__(self):
        self.count = 0
        self.failed = 0

    def ok(self, good, name, *why):
        """One point; what is said after the name is printed if it fails."""
        self.count += 1
        print("%sok %d - %s" % ("" if good else "not ", self.count, name.replace("#", "")))
        if not good:
            self.failed += 1
            for text in why:
                for line in str(text).splitlines():
                    print("# " + line)

    def skip(self, name, why):
        """A point that cannot be tried here."""
        self.count += 1
        print("ok %d - %s # SKIP %s" % (self.count, name, why))

    def done(self):
        """Prints the plan and ends the program."""
        print("1..%d" % self.count)
        sys.stdout.flush()
        sys.exit(1 if self.failed else 0)


class Row(dict):
    """A line of a table; remembers where it stands."""

    def __init__(self, table, line, fields):
        super().__init__(fields)
        self.table = table
        self.line = line

    @property
    def title(self):
        """Where it stands, as test points say it."""
        return "%s:%d" % (os.path.relpath(os.path.join(TABLES, self.table), HERE), self.line)

    @property
    def place(self):
        """Where it stands, as compilers write it."""
        return "%s:%d" % (self.table, self.line)


def table(name):
    """The rows of a table, of the processor's own if there is one; the first is on line 2."""
    own = os.path.join(TABLES, ARCH, name)
    path = own if ARCH and os.path.exists(own) else os.path.join(TABLES, name)
    with open(path, newline="", encoding="ascii") as file:
        return [Row(name, i, r) for i, r in enumerate(csv.DictReader(file), 2)]


def header_text(name):
    """The text of a public header."""
    with open(os.path.join(INCLUDE, name), encoding="ascii") as file:
        return file.read()


def headers():
    """The names of the public headers."""
    return sorted(f for f in os.listdir(INCLUDE) if f.endswith(".h"))


class Compiler:
    """A C and a C++ compiler, and a directory where <dat/...> and <dat2/...> are found."""

    def __init__(self, cc, cxx):
        self.cc = shlex.split(cc)
        self.cxx = shlex.split(cxx)
        self.name = os.path.basename(self.cc[0])
        self.dir = tempfile.mkdtemp(prefix="abi-")
        for spelling in ("dat", "dat2") if EDITION == "2.0" else ("dat",):
            os.symlink(INCLUDE, os.path.join(self.dir, spelling))

    def close(self):
        """Removes the directory."""
        shutil.rmtree(self.dir)

    def run(self, text, lang, *flags):
        """Compiles text, given as lang; returns the exit status and what was said."""
        argv = (self.cxx if lang == "c++" else self.cc) + ["-I" + self.dir, "-x", lang]
        argv += list(flags) + ["-"]
        got = subprocess.run(argv, input=text, capture_output=True, text=True, check=False,
                             env=dict(os.environ, LC_ALL="C"))
        return got.returncode, got.stdout, got.stderr

    def macros(self, name):
        """What a header defines when it is included alone: name -> (parameters, text)."""
        return self.macros_of("#include <dat/%s>\n" % name)

    def macros_of(self, text):
        """What is defined at the end of a text."""
        status, out, err = self.run(text, "c", "-E", "-dM")
        if status:
            raise RuntimeError(err)
        found = {}
        for line in out.splitlines():
            got = re.match(r"#define (\w+)(\([^)]*\))?(?: (.*))?$", line)
            found[got[1]] = (got[2], (got[3] or "").strip())
        return found

    def execute(self, text, lang, *flags):
        """Compiles text into a program and runs it; returns status, output and complaints."""
        program = os.path.join(self.dir, "program")
        status, _, err = self.run(text, lang, "-o", program, *flags)
        if status:
            return status, "", err
        got = subprocess.run([*RUN, program], capture_output=True, text=True, check=False)
        return got.returncode, got.stdout, got.stderr


def compilers():
    """The compiler of the build, then the others that are installed for this machine's processor."""
    found = [(os.environ.get("CC") or "cc", os.environ.get("CXX") or "c++")]
    for pair in () if ARCH else (("gcc", "g++"), ("clang", "clang++")):
        if pair not in found:
            found.append(pair)
    usable = [p for p in found if all(shutil.which(shlex.split(x)[0]) for x in p)]
    if len(usable) > 1 and usable[0] == ("cc", "c++"):
        del usable[0]
    if not usable:
        print("Bail out! no compiler for C and C++")
        sys.exit(1)
    return [Compiler(*p) for p in usable]


def line_of(place):
    """Makes the compiler believe that the next line is a row of a table."""
    return '#line %s "%s"\n' % tuple(reversed(place.split(":")))


class Facts:
    """Questions to a compiler, each about one row of a table.

    Each question is an expression that must have a value. All are put into one program. A row
    that does not compile is blamed by its place, left out, and the rest is compiled again.
    """

    def __init__(self, lang, prologue):
        self.lang = lang
        self.prologue = prologue
        self.asked = []
        self.defined = []

    def define(self, row, text):
        """Functions that the questions about a row need."""
        self.defined.append((row.place, " ".join(text.split())))

    def ask(self, row, what, expression, value="1"):
        """The expression must equal the value; what names the question."""
        self.asked.append((row.place, what, expression, value))

    def source(self, broken):
        """The program that answers the questions about rows that are not broken."""
        text = "#include <stdio.h>\n#include <stddef.h>\n#include <string.h>\n" + self.prologue
        text += "\nstatic void fact(int i, unsigned long long a, unsigned long long b)\n"
        text += '{\n\tif (a != b)\n\t\tprintf("%d %#llx\\n", i, a);\n}\n'
        for place, definition in self.defined:
            if place not in broken:
                text += line_of(place) + definition + "\n"
        body = ""
        for i, (place, _, expression, value) in enumerate(self.asked):
            if place not in broken:
                body += line_of(place) + "fact(%d, (unsigned long long)(%s), " % (i, expression)
                body += "(unsigned long long)(%s));\n" % value
        return text + "int main(void)\n{\n" + body + "return 0;\n}\n"

    def answer(self, compiler):
        """What is wrong: place -> list of complaints."""
        wrong = {}
        flag = "-std=gnu11" if self.lang == "c" else "-std=gnu++17"
        while True:
            text = self.source(wrong)
            status, out, err = compiler.execute(text, self.lang, "-w", flag)
            if status == 0:
                break
            blamed = re.findall(r"^(\w+\.csv:\d+):(?:\d+:)? (?:fatal )?error: (.*)$", err, re.M)
            if not blamed:
                raise RuntimeError("status %d\n%s" % (status, err))
            for place, why in blamed:
                wrong.setdefault(place, []).append(why)
        for line in out.splitlines():
            number, got = line.split()
            place, what, expression, value = self.asked[int(number)]
            wrong.setdefault(place, []).append(
                "%s: %s is %s, not %s" % (what, expression, got, value))
        return wrong
