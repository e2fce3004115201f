# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Test cases in Python with TAP output: one function is one case."""
import os
import sys
import time
import traceback

_cases = []


class Skip(Exception):
    """The case cannot run here; the message says why."""


class Failed(AssertionError):
    """A check failed."""


def case(title):
    """Marks a function as a case. The title names the clauses it proves."""

    def mark(function):
        _cases.append((title, function))
        return function

    return mark


def check(condition, text, *values):
    if not condition:
        raise Failed(text % values if values else text)


def equal(got, want, what):
    if got != want:
        raise Failed("%s: got %s, expected %s" % (what, brief(got), brief(want)))


def one_of(got, allowed, what):
    if got not in allowed:
        raise Failed("%s: got %s, expected one of %s" % (what, brief(got), brief(allowed)))


def brief(value):
    text = value.hex() if isinstance(value, (bytes, bytearray)) else str(value)
    return text if len(text) < 200 else "%s... (%d characters)" % (text[:200], len(text))


def note(text, *values):
    for line in (text % values if values else text).splitlines():
        print("# " + line, flush=True)


def skip_all(reason):
    print("1..0 # SKIP " + reason, flush=True)
    sys.exit(0)


def run(around=None):
    """
    Runs the cases, or those whose titles contain an argument of the command line. around(function)
    calls one case and does what is common to all.
    """
    chosen = [c for c in _cases if not sys.argv[1:] or any(a in c[0] for a in sys.argv[1:])]
    failures = 0
    print("1..%d" % len(chosen), flush=True)
    for number, (title, function) in enumerate(chosen, 1):
        start = time.monotonic()
        try:
            (around or (lambda f: f()))(function)
            verdict = "ok %d - %s" % (number, title)
        except Skip as why:
            verdict = "ok %d - %s # SKIP %s" % (number, title, why)
        except Exception as err:  # pylint: disable=broad-except
            failures += 1
            verdict = "not ok %d - %s" % (number, title)
            where = traceback.extract_tb(err.__traceback__)
            note("%s: %s", type(err).__name__, err)
            note(
                " < ".join(
                    "%s:%d" % (os.path.basename(f.filename), f.lineno) for f in reversed(where)
                )
            )
        print(verdict, flush=True)
        took = time.monotonic() - start
        if took > 3:
            note("took %.1f s", took)
    sys.exit(1 if failures else 0)
