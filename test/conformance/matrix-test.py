#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""The conformance matrix's tool, on small trees and logs of its own."""
import os
import re
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "../interop")]
import clauses  # noqa: E402
import matrix  # noqa: E402
from tap import case, equal, check, run  # noqa: E402

matrix.KINDS = matrix.KINDS[:3]  # three columns show what there is to a column

TABLE = {"EP-1": "one", "EP-2": "two", "EP-3": "three", "EP-T1": "recipe", "CR-4": "four", "CR-5": "five", "CR-6": "six"}
NAMES = clauses.Names(TABLE)
PROGRAM = """/* of a file: EP-1 */
#include <x.h>

/* EP-2: a table */
static const int table[] = {
\t1, 2,
};

/* not of the function below: CR-5 */

static void helper(void)
{
\tuse(table);
}

/* EP-3 */
static void ep_1_above(void **state)
{
\thelper(); /* CR-4 */
\tputs("CR-5");
}

static void nothing(void **state)
{
\tif (state) {
\t}
}

#define MADE(name, n) \\
\tstatic void name(void **state) { nothing(state); }
MADE(ep_t1_made, 1)

/* CR-5 */
static void unused(void **state)
{
}

int main(void)
{
\tstatic const struct CMUnitTest tests[] = { T(ep_1_above), T(nothing), T(ep_t1_made) };
\treturn run(tests);
}
"""


@case("A name of a function names clauses of several areas")
def _():
    equal(NAMES.in_name("ep_1_2_cr_4_what_5_is"), {"EP-1", "EP-2", "CR-4"}, "clauses")
    equal(NAMES.in_name("ep_t1_3b_x"), {"EP-T1", "EP-3"}, "recipe and letter")
    equal(NAMES.in_name("ep_1_to_3_cr_4_and_5_x"), {"EP-1", "EP-2", "EP-3", "CR-4", "CR-5"}, "ranges")
    equal(NAMES.in_name("ep_1_to_the_end_3"), {"EP-1"}, "no range")
    equal(NAMES.in_name("the_ep_1"), set(), "not at the start")
    equal(NAMES.in_name("rfc_5040"), set(), "no area")
    legacy = clauses.Names({"D12-3": "three"})
    equal(legacy.in_name("d12_3_4_x"), {"D12-3", "D12-4"}, "DAT 1.2")
    equal(legacy.in_text("D12-3, D12-T4; D2-1"), {"D12-3", "D12-T4"}, "DAT 1.2 in a text")


@case("A text names clauses and ranges of them")
def _():
    equal(NAMES.in_text("EP-1 to EP-3, CR-4; RFC-9, XEP-2 EP-2x"), {"EP-1", "EP-2", "EP-3", "CR-4"}, "clauses")
    equal(NAMES.in_text("EP-T1"), {"EP-T1"}, "recipe")


@case("Comments in and above a test, and of what it uses, are its own")
def _():
    points = clauses.c_points(PROGRAM, NAMES)
    equal(points["ep_1_above"], {"EP-1", "EP-2", "EP-3", "CR-4"}, "name, above, inside, table")
    equal(points["nothing"], set(), "no clause")
    equal(points["ep_t1_made"], {"EP-T1"}, "made by a macro")
    check("unused" not in points, "a function that main does not name is no test")


@case("What a child process proves belongs to the test that starts it")
def _():
    points = clauses.c_points(
        'static int part(void)\n{\n\treturn 0; /* EP-2 */\n}\n\nstatic int other(void)\n{\n\treturn 0; /* EP-3 */\n}\n\n'
        'static void ep_1_a(void **state)\n{\n\tspawn("part-one");\n}\n\nint main(void)\n{\n\tstatic const struct x c[] = '
        '{ { "part-one", part }, { "other", other } };\n\tT(ep_1_a);\n}\n', NAMES)
    equal(points, {"ep_1_a": {"EP-1", "EP-2"}}, "points")


@case("Titles of Python cases and the line of a script name clauses")
def _():
    equal(clauses.py_points('@case("a: EP-1, "\n    "CR-4")\ndef f(): pass\n', NAMES),
          {"a: EP-1, CR-4": {"EP-1", "CR-4"}}, "case")
    equal(clauses.sh_titles("# EP-1\nok 1 'CR-4: x'\n", NAMES), {"CR-4"}, "shell")
    equal(clauses.whole("# EP-1\n# Clauses: EP-2,\n#   CR-4\n# CR-5\n", NAMES), {"EP-2", "CR-4"}, "script")


@case("Logs: verdicts, titles and reasons")
def _():
    text = ("1..5\nok 1 - ep_1_a\nPASS: x 1 - ep_1_a\n# ep_2_b is excluded for siw: slow\nok 2 # SKIP ep_2_b\n"
            "the adapter has none\nok 3 # SKIP ep_3_c\nnot ok 4 - cr_4_d\nFAIL: x 4 - cr_4_d\n"
            "ok 5 - title EP-1 # SKIP no such tool\nBail out! late\n")
    equal(matrix.read_log(text), [
        ("ep_1_a", "pass", ""),
        ("ep_2_b", "skip", "ep_2_b is excluded for siw: slow"),
        ("ep_3_c", "skip", "the adapter has none"),
        ("cr_4_d", "fail", ""),
        ("title EP-1", "skip", "no such tool"),
        ("", "fail", "Bail out! late"),
    ], "points")
    equal(matrix.read_log("# cr_4_b is excluded for siw: slow\n1..2\nok 1 - ep_1_a\nok 2 # SKIP cr_4_b\n"), [
        ("ep_1_a", "pass", ""),
        ("cr_4_b", "skip", "cr_4_b is excluded for siw: slow"),
    ], "what the harness says first of all")
    equal(matrix.read_log("1..2\nok 1 - adat: from standard error\nPASS: x 1 - a\nFAIL: x 2 - bdat: more\n"
                          "not ok 2 - b\n"), [("adat: from standard error", "pass", ""),
                                             ("bdat: more", "fail", "")], "torn lines")
    equal(matrix.read_log("1..1\ndat: tornok 1 - a\nPASS: x 1 - a\n"), [("a", "pass", "")], "the echo")
    equal(matrix.read_log("1..0 # SKIP no guest\n"), [("", "skip", "no guest")], "nothing to run")


def tree(folder, untestable="EP-T1 nobody can\n", program=PROGRAM):
    """A tree with one conformance program and one of the core."""
    for path, text in (
        ("test/conformance/clauses.csv", "clause,subject\n" + "".join("%s,%s\n" % row for row in TABLE.items())),
        ("test/conformance/untestable", "# text\n" + untestable),
        ("test/conformance/pending", "CR-5 to come\n"),
        ("test/conformance/absent", "CR-6 EP-2 nobody has it\n"),
        ("test/conformance/one.c", program.replace(", T(ep_t1_made)", "")),
        ("test/unit/core.c", "/* EP-3 */\nstatic void t(void **s)\n{\n}\nint main(void)\n{\n\tT(t);\n}\n"),
    ):
        os.makedirs(os.path.join(folder, os.path.dirname(path)), exist_ok=True)
        with open(os.path.join(folder, path), "w", encoding="utf-8") as file:
            file.write(text)
    return matrix.Tree(folder)


def titles_of(points):
    return [title for title, wrong in points if wrong]


@case("The check knows a complete tree, a missing test and a wrong name")
def _():
    with tempfile.TemporaryDirectory() as folder:
        one = tree(folder)
        text = matrix.page(one, matrix.matrix(one, {"soft": {}, "rxe": {}, "siw": {}}))
        equal(titles_of(matrix.check(one, text)), [], "complete")
        equal(titles_of(matrix.check(one, text.replace("| EP-2 | two |", "| EP-2 | too |"))),
              ["doc/conformance.md is about these clauses"], "subject changed")
        one = tree(folder, untestable="")
        equal(titles_of(matrix.check(one, text)), ["every clause has a test, or a reason why not"], "no reason")
        one = tree(folder, program=PROGRAM.replace("CR-4", "CR-44"))
        equal(titles_of(matrix.check(one, text)),
              ["every clause has a test, or a reason why not", "every clause that a test names exists"], "name")
        one = tree(folder, untestable="EP-T1,EP-1 nobody can\n")
        equal(titles_of(matrix.check(one, text)), ["no clause is tested and called untestable"], "both")
        one = tree(folder, untestable="EP-T1,EP-9 nobody can\n")
        equal(titles_of(matrix.check(one, text)), ["every clause with a reason exists"], "reason of nothing")


@case("Cells: pass, failure, skips, provider by provider")
def _():
    with tempfile.TemporaryDirectory() as folder:
        one = tree(folder)
        runs = {
            "soft": {
                "test/conformance/one": [("ep_1_above", "pass", ""), ("nothing", "pass", "")],
                "test/unit/core": [("t", "pass", "")],
            },
            "rxe": {"test/conformance/one": [("ep_1_above", "skip", "the adapter has none")]},
            "siw": {"test/conformance/one": [("ep_1_above", "fail", "")]},
        }
        rows = {row[0]: row[1:] for row in matrix.matrix(one, runs)}
        equal(rows["EP-1"], (["pass", "unsupported: the adapter has none", "FAIL: test/conformance/one"], ["one"]),
              "a clause of a provider")
        equal(rows["EP-3"][0], ["pass", "pass (no device)", "FAIL: test/conformance/one"], "also of the core")
        equal(rows["EP-3"][1], ["one", "unit/core"], "tests")
        equal(rows["EP-T1"][0], ["not testable"] * 3, "with a reason")
        equal(rows["CR-5"][0], ["pending"] * 3, "to come")
        equal(rows["CR-6"][0], ["unsupported: nobody has it", "not run", "not run"], "absent, where that is shown")
        equal(matrix.wording("ep_2_b is excluded for siw: slow"), "excluded: slow", "by the file")
        lines = matrix.summary(one, matrix.matrix(one, runs))
        equal(lines[2], "| pass | 4 | 1 | 0 |", "count")
        equal(lines[-1], "| tested | 57.1 % | 14.3 % | 57.1 % |", "share")


@case("One failing point is a failing clause, whatever else passes")
def _():
    with tempfile.TemporaryDirectory() as folder:
        one = tree(folder)
        runs = {"soft": {"test/conformance/one": [("ep_1_above", "pass", "")], "test/unit/core": [("t", "fail", "")]},
                "rxe": {}, "siw": {}}
        rows = {row[0]: row[1] for row in matrix.matrix(one, runs)}
        equal(rows["EP-3"], ["FAIL: test/unit/core", "not run", "not run"], "cell")
        runs["rxe"] = {"test/conformance/other": [("x", "pass", "")]}
        rows = {row[0]: row[1] for row in matrix.matrix(one, runs)}
        equal(rows["EP-1"][1], "not run", "a program without a record")
        runs["soft"]["test/conformance/one"].append(("", "fail", "Bail out!"))
        rows = {row[0]: row[1] for row in matrix.matrix(one, runs)}
        equal(rows["EP-1"][0], "FAIL: test/conformance/one", "a program that was cut off")


@case("The tree's own tables are well formed")
def _():
    one = matrix.Tree()
    check(len(one.table) > 1000, "%d clauses", len(one.table))
    numbers = {}
    for name in one.table:
        area, recipe, number = re.fullmatch(r"([A-Z]+|D12)-(T?)(\d+)", name).groups()
        numbers.setdefault((area, recipe), []).append(int(number))
    for area, found in numbers.items():
        equal(found, list(range(1, len(found) + 1)), "numbers of %s-%s" % area)


if __name__ == "__main__":
    run()
