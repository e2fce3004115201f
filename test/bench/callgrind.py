# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Reads what callgrind has counted: who called whom, how often, and how many instructions that took."""
import collections
import re


class Function(collections.namedtuple("Function", "library name")):
    """A function of a program or library. Recursion levels and symbol versions are left out of its name."""


class Profile:
    """own: instructions of each function itself; calls and cost: of each (caller, callee), the cost inclusive."""

    def __init__(self, path):
        self.own = collections.Counter()
        self.calls = collections.Counter()
        self.cost = collections.Counter()
        self._names = {"ob": {}, "fn": {}}
        with open(path, encoding="utf-8") as file:
            self._read(file)

    def _name(self, kind, text):
        """Names are written once, with a number that stands for them from then on."""
        number, _, name = text.partition(" ")
        if name:
            self._names[kind][number] = name
        return self._names[kind].get(number, text)

    def _function(self, library, text):
        return Function(library, re.sub(r"('\d+|@.*)$", "", self._name("fn", text)))

    def _read(self, file):
        library = there = caller = callee = calls = None
        for line in file:
            key, _, value = line.rstrip("\n").partition("=")
            if key == "ob":
                library = self._name("ob", value)
            elif key == "cob":
                there = self._name("ob", value)
            elif key == "fn":
                caller = self._function(library, value)
            elif key == "cfn":
                callee = self._function(there or library, value)
            elif key == "calls":
                calls = int(value.split()[0])
            elif re.match(r"[+\-*\d]", line) and caller:
                cost = int((line.split() + ["0"])[1])
                if calls is None:
                    self.own[caller] += cost
                else:
                    self.calls[caller, callee] += calls
                    self.cost[caller, callee] += cost
                    calls = there = None

    def _into(self, counter, name):
        """Sum over the calls of a function by others than itself."""
        return sum(n for (a, b), n in counter.items() if b.name == name and a.name != name)

    def count(self, name):
        """How often a function was called."""
        return self._into(self.calls, name)

    def total(self, name):
        """Instructions of a function and of all that it calls."""
        return self._into(self.cost, name)

    def reached(self, name, below):
        """The function and those that it calls by any way that does not lead through one of `below`."""
        found = {b for _, b in self.calls if b.name == name}
        todo = list(found)
        while todo:
            caller = todo.pop()
            for a, b in self.calls:
                if a == caller and b not in found and not below(b):
                    found.add(b)
                    todo.append(b)
        return found

    def above(self, name, below):
        """Instructions per call of a function less those in functions of which below(function) holds."""
        functions = self.reached(name, below)
        under = sum(n for (a, b), n in self.cost.items() if a in functions and below(b))
        return (self.total(name) - under) / self.count(name)

    def parts(self, name, below):
        """(function, own instructions per call of name) of what above() counts, the largest first."""
        calls = self.count(name)
        return sorted(((f, self.own[f] / calls) for f in self.reached(name, below)), key=lambda part: -part[1])
