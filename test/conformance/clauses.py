# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""
Which clause is named by which test, read from the sources of the tests.

A C test names clauses by its function's name (rmr_8_11_old_context_is_dead) and by comments inside or directly
above the function, or of a helper, a child process or a table of the same file that it uses (DTO-68, or EP-13 to
EP-15). A case of a Python test names them in its title, a shell script in the titles it prints. A line "Clauses: ..."
in a comment of a script names what all its points prove together.
"""
import csv
import os
import re

CLAUSE = re.compile(r"\b([A-Z]{2,3}|D12)-(T?\d+)\b(?:(?: to |-)\1-(T?\d+)\b)?")
TOKENS = re.compile(
    r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|^[ \t]*#(?:\\\n|[^\n])*'
    r"|\n[ \t]*\n|[{};=(]|[A-Za-z_]\w*|.",
    re.S | re.M,
)
# Folders and what the tests in them say: of the provider under test, of soft alone, or of no provider.
ANY, SOFT, NONE = "every provider", "soft", "no provider"
SCOPES = (
    ("test/conformance/", ANY),
    ("test/dat-1.2/", SOFT),
    ("test/interop/", SOFT),
    ("test/dapltest/", SOFT),
    ("test/unit/soft_", SOFT),
    ("test/unit/", NONE),
    ("test/abi/", NONE),
    ("test/fuzz/", NONE),
    ("test/minimal/", NONE),
)


def scope_of(path):
    return next((scope for start, scope in SCOPES if path.startswith(start)), None)


def load(path):
    """The table of the clauses: number to subject, in its order."""
    with open(path, newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    if not rows or rows[0] != ["clause", "subject"]:
        raise ValueError("%s: no header" % path)
    table = {}
    for row in rows[1:]:
        if len(row) != 2 or not CLAUSE.fullmatch(row[0]) or not row[1] or row[0] in table:
            raise ValueError("%s: bad row %s" % (path, row))
        table[row[0]] = row[1]
    return table


def load_reasons(path):
    """A file of lines CLAUSE REASON. Several clauses of one reason: separated by commas."""
    reasons = {}
    with open(path, encoding="utf-8") as file:
        for line in file:
            if line.strip() and not line.startswith("#"):
                names, _, reason = line.strip().partition(" ")
                for name in names.split(","):
                    if name in reasons or not CLAUSE.fullmatch(name) or not reason.strip():
                        raise ValueError("%s: bad line %s" % (path, line.strip()))
                    reasons[name] = reason.strip()
    return reasons


class Names:
    """Finds clauses in texts; areas are the prefixes that exist, so that RFC-1 or IPV-6 are none."""

    def __init__(self, table):
        self.areas = {name.split("-")[0] for name in table}

    def in_text(self, text):
        found = []
        for area, first, last in CLAUSE.findall(text):
            if area not in self.areas:
                continue
            if last and first.isdigit() and last.isdigit():
                found += ["%s-%d" % (area, n) for n in range(int(first), int(last) + 1)]
            else:
                found += ["%s-%s" % (area, n) for n in (first, last) if n]
        return set(found)

    def in_name(self, name):
        """Of ep_12_14_to_16_cr_4_what_follows: EP-12, EP-14, EP-15, EP-16 and CR-4."""
        area, last, words, found = None, None, name.upper().split("_"), set()
        for place, word in enumerate(words):
            number = re.fullmatch(r"(T?)(\d+)[A-Z]?", word)
            if word in self.areas:
                area, last = word, None
            elif number and area:
                first = last if place and words[place - 1] == "TO" and last else int(number.group(2))
                last = int(number.group(2))
                found |= {"%s-%s%d" % (area, number.group(1), n) for n in range(first, last + 1)}
            elif word not in ("TO", "AND") or not last:
                break
        return found


class Chunk:
    """A function, a table or a macro of a C file with the comments that belong to it."""

    def __init__(self):
        self.name = None
        self.comments = []
        self.words = set()
        self.strings = set()


def _chunks(text):
    chunk, depth, last, named = Chunk(), 0, None, False
    for match in TOKENS.finditer(text):
        token = match.group(0)
        if token.startswith(("/*", "//")):
            chunk.comments.append(token)
        elif depth == 0 and not chunk.words and re.fullmatch(r"\n[ \t]*\n", token):
            chunk.comments = []  # a comment with an empty line below belongs to nothing
        elif token.lstrip(" \t").startswith("#"):
            macro = re.match(r"\s*#\s*define\s+(\w+)(.*)", token, re.S)
            if macro and depth == 0:
                chunk.name, chunk.words = macro.group(1), set(re.findall(r"[A-Za-z_]\w*", macro.group(2)))
                yield chunk
            if depth == 0:
                chunk, last, named = Chunk(), None, False
        elif token[0] == '"':
            chunk.strings.add(token[1:-1])
        elif token[0] == "_" or token[0].isalpha():
            chunk.words.add(token)
            last = token
        elif token in ("(", "=") and depth == 0:
            chunk.name, named = chunk.name if named else last, True
        elif token == "{":
            depth += 1
        elif token == "}":
            depth -= 1
        if depth == 0 and (token == ";" or (token == "}" and "=" not in chunk.words)):
            if chunk.name and (token == "}" or chunk.words):
                yield chunk
            if token == ";" or chunk.name:
                chunk, last, named = Chunk(), None, False


def c_points(text, names):
    """Of a cmocka program: name of each test to its clauses."""
    chunks = {}
    for chunk in _chunks(text):
        if chunk.name in chunks:  # a declaration and its definition
            chunks[chunk.name].comments += chunk.comments
            chunks[chunk.name].words |= chunk.words
            chunks[chunk.name].strings |= chunk.strings
        else:
            chunks[chunk.name] = chunk
    # What a test runs in a process of its own, it calls by a string: { "name", function }.
    children = dict(re.findall(r'\{\s*"([\w-]+)",\s*(\w+)\s*\}', text))
    for chunk in chunks.values():
        if chunk.name not in ("main", "tests"):
            chunk.words |= {children[string] for string in chunk.strings & set(children)}
    points = {}
    roots = set()
    for name in ("main", "tests"):
        if name in chunks:
            roots |= chunks[name].words
    for root in sorted(roots - set(children.values()) - {"main"}):
        if root not in chunks and not names.in_name(root):
            continue
        points[root] = names.in_name(root) | _said(root, chunks, names)
    return points


def _said(root, chunks, names):
    """What the comments of a test, and of all in its file that it uses, name."""
    seen, todo, found = {"main", "tests"}, [root], set()
    while todo:
        name = todo.pop()
        if name in seen or name not in chunks:
            continue
        seen.add(name)
        found |= names.in_text("\n".join(chunks[name].comments))
        todo += chunks[name].words
    return found


def whole(text, names):
    """Clauses that a script as a whole proves; a line may go on in the next ones, indented more."""
    found = set()
    for match in re.finditer(r"^(#| \*|/\*)? ?Clauses:[^\n]*(?:\n(?:#| \*)? {2,}[^\n]*)*", text, re.M):
        found |= names.in_text(match.group(0))
    return found


def py_points(text, names):
    """Of a Python test: titles to clauses. The title is the first string of the case's decorator."""
    points = {}
    for match in re.finditer(r'^[ \t]*@\w+\(\s*((?:"[^"\n]*"\s*)+)', text, re.M):
        title = "".join(re.findall(r'"([^"]*)"', match.group(1)))
        points[title] = names.in_text(title)
    return points


def sh_titles(text, names):
    """Clauses that a shell script names in what it prints."""
    return names.in_text("\n".join(l for l in text.splitlines() if not l.lstrip().startswith("#")))


class Source:
    """A test program: path without suffix, clauses by point, clauses of the whole, whom it speaks of."""

    def __init__(self, path, text, names):
        self.path = path
        self.test = os.path.splitext(path)[0]
        self.scope = scope_of(path)
        self.whole = whole(text, names)
        self.points = {}
        if path.endswith(".c"):
            self.points = c_points(text, names)
        elif path.endswith(".py"):
            self.points = py_points(text, names)
        elif path.endswith(".sh"):
            self.points = {"": sh_titles(text, names)}

    def clauses(self):
        return self.whole.union(*self.points.values())

    def of_point(self, title, names):
        """Clauses of a point of its log, whose title may have an argument behind the name."""
        own = self.points.get(title) or self.points.get(title.split(" ")[0]) or set()
        return own | names.in_name(title.split(" ")[0]) | names.in_text(title) | self.whole


def sources(top, names):
    """All tests of the tree."""
    found = []
    for folder, _, files in sorted(os.walk(os.path.join(top, "test"))):
        for file in sorted(files):
            path = os.path.relpath(os.path.join(folder, file), top)
            script = file.endswith((".py", ".sh")) or file.endswith("-check")
            if scope_of(path) and (script or file.endswith(".c")):
                with open(os.path.join(top, path), encoding="utf-8") as stream:
                    found.append(Source(path, stream.read(), names))
    return found
