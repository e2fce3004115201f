#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Manual pages of section 3 from the comments of the public headers, as doxygen's XML gives them.

man3.py XML-FOLDER OUTPUT-FOLDER VERSION: one page per call, and dat.3 with the rules for all of them.
"""
import glob
import os
import re
import sys
import xml.etree.ElementTree as ET

CLAUSE = r"(?:GEN|REG|IA|CTX|HA|VND|EP|PSP|RSP|CSP|CR|EV|PD|TMO|FL|SIM|EVD|CNO|EVT|PZ|LMR|RMR|DTO|SRQ|IBX|IWX)-\d+"
CLAUSES = re.compile(r"\s*\((%s(?:(?:\.\.|, | to | and )%s)*)\)" % (CLAUSE, CLAUSE))
ONLY_CLAUSES = re.compile(r"^%s(?:(?:\.\.|, )%s)*\.?$" % (CLAUSE, CLAUSE))
SUBTYPE = re.compile(r"(?:^|; )(DAT_\w+(?:(?: or |, )DAT_\w+)*): ")
ABOUT = re.compile(r"(?:^|\s)(Events|Blocking|Threads|Clauses): ")


def flat(node):
    """The text of an element with all that is in it, blanks as in print."""
    return " ".join("".join(node.itertext()).split()) if node is not None else ""


def sentence(text, names):
    """With a capital, unless a name begins it, and a full stop."""
    first = text.split()[0]
    if first.islower() and "_" not in first and first not in names:
        text = text[0].upper() + text[1:]
    return text if text.endswith(".") else text + "."


class Paragraph:
    """Running text, or the items of a list."""

    def __init__(self, text="", items=None):
        self.text, self.items = text, items or []


def paragraphs(node):
    """The text of a description, without its lists of parameters and return values."""
    found = []
    for para in node.findall("para") if node is not None else []:
        text = [para.text or ""]
        for child in para:
            if child.tag == "itemizedlist":
                found.append(Paragraph(" ".join("".join(text).split())))
                found.append(Paragraph(items=[flat(item) for item in child.findall("listitem")]))
                text = []
            elif child.tag not in ("parameterlist", "simplesect"):
                text.append("".join(child.itertext()))
            text.append(child.tail or "")
        found.append(Paragraph(" ".join("".join(text).split())))
    return [p for p in found if p.text or p.items]


def described(node, kind):
    """(name, text) of each parameter or return value."""
    found = []
    for group in node.iter("parameterlist"):
        if group.get("kind") != kind:
            continue
        for item in group.findall("parameteritem"):
            name = flat(item.find("parameternamelist"))
            found.append((name, flat(item.find("parameterdescription"))))
    return found


class Call:
    """A function, or a macro that is called like one."""

    def __init__(self, member, header):
        self.name, self.header = member.find("name").text, header
        self.is_macro = member.get("kind") == "define"
        self.brief = flat(member.find("briefdescription")).rstrip(".")
        detail = member.find("detaileddescription")
        self.params = described(detail, "param")
        self.returns = described(detail, "retval")
        self.about, self.text = {}, []
        for para in paragraphs(detail):
            pieces = ABOUT.split(para.text)
            if len(pieces) > 1:
                self.about.update(zip(pieces[1::2], (p.strip() for p in pieces[2::2])))
                para.text = pieces[0].strip()
            if para.text or para.items:
                self.text.append(para)
        self.args = [self.arg(p) for p in member.findall("param")]

    @staticmethod
    def arg(param):
        """Direction, type with its stars, name. A macro's arguments have but a name."""
        if param.find("defname") is not None:
            return "", "", param.find("defname").text
        kind = flat(param.find("type"))
        direction, _, rest = kind.partition(" ")
        if direction not in ("IN", "OUT", "INOUT"):
            direction, rest = "", kind
        name = param.find("declname")
        array = flat(param.find("array"))
        return direction, rest, (name.text if name is not None else "") + array


class Type:
    """A structure's members or an enumeration's values, with what is said of each."""

    def __init__(self, name, brief, rows, what):
        self.name, self.brief, self.rows, self.what = name, brief, rows, what


class Headers:
    """All that the XML holds."""

    def __init__(self, folder):
        self.calls, self.types, self.rules, self.includes = {}, {}, [], {}
        by_id, typedefs = {}, []
        for path in sorted(glob.glob(os.path.join(folder, "*.xml"))):
            root = ET.parse(path).getroot()
            for compound in root.findall("compounddef"):
                if compound.get("kind") == "struct":
                    by_id[compound.get("id")] = self.struct(compound)
                elif compound.get("kind") == "file":
                    typedefs += self.file(compound, by_id)
        for name, ref in typedefs:
            if ref in by_id and by_id[ref].rows:
                self.types[name] = by_id[ref]

    def file(self, compound, by_id):
        header = compound.find("compoundname").text
        typedefs = []
        self.includes[header] = [flat(i) for i in compound.findall("includes")]
        if header == "dat.h":
            self.rules = paragraphs(compound.find("detaileddescription"))
        for member in compound.iter("memberdef"):
            kind, name = member.get("kind"), flat(member.find("name"))
            if kind == "enum":
                by_id[member.get("id")] = self.enum(member)
            elif kind == "typedef":
                ref = member.find("type/ref")
                if ref is not None:
                    typedefs.append((name, ref.get("refid")))
            elif name.startswith("dat_") and flat(member.find("briefdescription")):
                if kind == "function" or (kind == "define" and member.find("param") is not None):
                    self.calls[name] = Call(member, header)
        return typedefs

    def to_include(self, header):
        """What a program includes for what stands in a header, which may be a part of another."""
        for whole in "udat.h", "dat_ib_extensions.h":
            reached, left = set(), [whole]
            while left:
                name = left.pop()
                if name not in reached:
                    reached.add(name)
                    left += self.includes.get(name, [])
            if header in reached:
                return "dat/" + whole
        return "dat/" + header

    @staticmethod
    def note(member):
        text = flat(member.find("briefdescription")) or flat(member.find("detaileddescription"))
        text = re.sub(r", %s$" % CLAUSE, "", text.rstrip("."))
        return "" if ONLY_CLAUSES.match(text) else text

    def struct(self, compound):
        rows = []
        for member in compound.iter("memberdef"):
            if member.get("kind") == "variable":
                kind = flat(member.find("type"))
                name = flat(member.find("name")) + flat(member.find("argsstring"))
                rows.append((kind + ("" if kind.endswith("*") else " ") + name, self.note(member)))
        return Type(flat(compound.find("compoundname")), self.note(compound), rows, "member")

    def enum(self, member):
        rows = []
        for value in member.findall("enumvalue"):
            text = flat(value.find("initializer"))
            rows.append((flat(value.find("name")) + (" " + text if text else ""), self.note(value)))
        return Type(flat(member.find("name")), self.note(member), rows, "value")


class Page:
    """Writes troff."""

    def __init__(self, headers, version, call=None):
        self.headers, self.version, self.call = headers, version, call
        self.lines, self.clauses, self.mentioned = [], [], set()

    def take_clauses(self, match):
        for clause in match.group(1).replace(" to ", "..").replace(" and ", ", ").split(", "):
            if clause not in self.clauses:
                self.clauses.append(clause)
        return ""

    def link(self, match):
        name = match.group(0)
        if name in self.headers.calls and not (self.call and name == self.call.name):
            self.mentioned.add(name)
            return r"\fB%s\fR(3)" % name
        return r"\fB%s\fR" % name

    def inline(self, text):
        """Text with clauses taken out, names of the interface bold, names of parameters italic."""
        text = CLAUSES.sub(self.take_clauses, text)
        text = text.replace("\\", r"\e").replace("-1", r"\-1")
        text = re.sub(r"\bDAT_\w+", r"\\fB\g<0>\\fR", text)
        text = re.sub(r"\bdat_\w+", self.link, text)
        for name in self.names():
            # Names that are words too are names where a statement begins with them.
            where = r"(?<![\w\\])" if "_" in name else r"^"
            if not name.startswith("dat_"):
                text = re.sub(where + r"%s(?!\w)" % re.escape(name), r"\\fI%s\\fR" % name, text)
        return text

    def names(self):
        """The call's parameters."""
        return [a[2].split("[")[0] for a in self.call.args] if self.call else []

    def line(self, text):
        self.lines.append(r"\&" + text if text[:1] in (".", "'") else text)

    def raw(self, text):
        self.lines.append(text)

    def section(self, title):
        self.raw(".SH " + title)

    def say(self, text):
        """One sentence a line, as troff has it."""
        for sentence in re.split(r"(?<=[a-z0-9)R][.?]) (?=[A-Z\\])", self.inline(text)):
            self.line(sentence)

    def item(self, head, text):
        self.raw(".TP")
        self.line(head)
        self.say(text or "")

    def text(self, paras):
        for i, para in enumerate(paras):
            if para.items:
                for item in para.items:
                    self.raw(r".IP \(bu 3")
                    self.say(item)
                continue
            if i:
                self.raw(".PP")
            self.say(para.text)

    def title(self, name, section="3"):
        self.raw(r".\" SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only")
        self.raw('.TH %s %s "" "udapl %s" "uDAPL calls"' % (name.upper(), section, self.version))
        self.raw(".ad l")
        self.raw(".nh")

    # ---- The page of a call ----

    def aliases(self):
        return [c for c in self.headers.calls.values() if alias(c) == self.call.name]

    def synopsis(self):
        call = self.call
        self.section("SYNOPSIS")
        self.raw(".nf")
        self.raw(r".B #include <%s>" % self.headers.to_include(call.header))
        self.raw(".PP")
        for other in self.aliases():
            args = ", ".join(r"\fI%s\fR" % a[2] for a in other.args)
            self.raw(r"\fB%s(\fR%s\fB);\fR" % (other.name, args))
            self.raw(".PP")
        head = r"\fB%s%s(\fR" % ("" if call.is_macro else "DAT_RETURN ", call.name)
        args = []
        for _, kind, name in call.args:
            star = "" if not kind or kind.endswith("*") else " "
            args.append(r"\fB%s\fR%s\fI%s\fR" % (kind, star, name))
        if call.is_macro:
            self.raw(".fi")  # so that a long one is wrapped
            self.raw(head + ", ".join(args) + r"\fB);\fR")
        else:
            self.raw(head)
            for i, arg in enumerate(args):
                self.raw("    " + arg + (r"\fB,\fR" if i + 1 < len(args) else r"\fB);\fR"))
        self.raw(".fi")
        self.raw(".PP")
        self.raw(r"Link with \fI\-ldat2\fR.")

    def parameters(self):
        if not self.call.params:
            return
        self.section("PARAMETERS")
        directions = {a[2].split("[")[0]: a[0] for a in self.call.args}
        words = {"IN": "", "OUT": " (out)", "INOUT": " (in and out)", "": ""}
        for name, text in self.call.params:
            self.item(r"\fI%s\fR%s" % (name, words[directions.get(name, "")]), text)

    def returns(self):
        self.section("RETURN VALUE")
        groups = []
        for code, text in self.call.returns:
            pieces = SUBTYPE.split(text)
            if pieces[0]:
                groups.append((code, None, pieces[0]))
            groups += [(code, sub, said) for sub, said in zip(pieces[1::2], pieces[2::2])]
        for code, sub, text in groups:
            head = r"\fB%s\fR" % code
            if sub:
                head += ", " + re.sub(r"DAT_\w+", r"\\fB\g<0>\\fR", sub)
            self.item(head, sentence(text, self.names()))
        if "DAT_INTERNAL_ERROR" not in dict(self.call.returns):
            self.raw(".PP")
            self.raw(r"Any call can also return \fBDAT_INTERNAL_ERROR\fR; see \fBdat\fR(3).")

    def types(self):
        shown = []
        for _, kind, _ in self.call.args:
            name = kind.replace("const", "").replace("*", "").strip()
            known = self.headers.types.get(name)
            if known and name not in [n for n, _ in shown]:
                shown.append((name, known))
        shown = [(n, t) for n, t in shown if n not in ("DAT_BOOLEAN",)]
        if not shown:
            return
        self.section("TYPES")
        for name, known in shown:
            self.raw(".SS " + name)
            if known.brief:
                self.say(known.brief + ".")
            self.raw(".PD 0")
            for head, note in known.rows:
                self.raw(".TP")
                self.line(r"\fB%s\fR" % head.replace("\\", r"\e"))
                self.say(note) if note else self.raw(r"\&")
            self.raw(".PD")

    def about(self):
        for key, title in (("Events", "EVENTS"), ("Blocking", "BLOCKING"), ("Threads", "THREADS")):
            text = self.call.about.get(key)
            if text:
                self.section(title)
                self.say(text[0].upper() + text[1:])

    def see_also(self):
        group = self.call.name.split("_")[1] if self.call else ""
        names = set(self.mentioned)
        names |= {c.name for c in self.headers.calls.values()
                  if self.call and c.name.split("_")[1] == group}
        names.discard(self.call.name if self.call else "")
        names = sorted(names)[:30]
        self.section("SEE ALSO")
        listed = [(n, "3") for n in names] + [("dat", "3")] * bool(self.call) + [("udapl", "7")]
        for i, (name, section) in enumerate(listed):
            self.raw(".BR %s (%s)%s" % (name, section, "," if i + 1 < len(listed) else ""))

    def conformance(self):
        if self.call and "Clauses" in self.call.about:
            CLAUSES.sub(self.take_clauses, "(%s)" % self.call.about["Clauses"].rstrip("."))
        if self.clauses:
            self.section("CLAUSES")
            self.line("For those who have the source: what stands here are %s of doc/spec," % self.and_list())
            self.line("and doc/conformance.md tells which tests prove them.")

    def and_list(self):
        """The clauses in words, in order, each once: what a range has is not named again."""
        areas = {}
        for clause in self.clauses:
            area = clause.split("-")[0]
            numbers = [int(n) for n in re.findall(r"-(\d+)", clause)]
            areas.setdefault(area, set()).update(range(numbers[0], numbers[-1] + 1))
        words = []
        for area, numbers in areas.items():
            for low in sorted(n for n in numbers if n - 1 not in numbers):
                high = next(n for n in range(low, max(numbers) + 1) if n + 1 not in numbers)
                last = " to %s-%d" % (area, high) if high > low else ""
                words.append("%s-%d%s" % (area, low, last))
        return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " and " + words[-1]

    def call_page(self):
        call = self.call
        self.title(call.name)
        self.section("NAME")
        brief = CLAUSES.sub("", call.brief)
        names = [c.name for c in self.aliases()] + [call.name]
        self.raw(r"%s \- %s" % (", ".join(names), brief[:1].lower() + brief[1:]))
        self.synopsis()
        self.section("DESCRIPTION")
        self.text(call.text) if call.text else self.say(call.brief + ".")
        self.parameters()
        self.about()
        if call.returns:
            self.returns()
        self.types()
        self.conformance()
        self.see_also()
        return "\n".join(self.lines) + "\n"

    def rules_page(self):
        self.title("dat")
        self.section("NAME")
        self.raw(r"dat \- rules that hold for all calls of uDAPL")
        self.section("SYNOPSIS")
        self.raw(".B #include <dat/udat.h>")
        self.raw(".PP")
        self.raw(r"Link with \fI\-ldat2\fR, or with what \fBpkg-config --libs dat2\fR says.")
        self.section("DESCRIPTION")
        self.text(self.headers.rules)
        self.section("CALLS")
        for name, call in sorted(self.headers.calls.items()):
            brief = CLAUSES.sub("", call.brief)
            self.raw(".TP")
            self.raw(r"\fB%s\fR(3)" % name)
            self.line(brief)
        self.conformance()
        self.see_also()
        return "\n".join(self.lines) + "\n"


def alias(call):
    """The name of the call of which this one is but another form, or None."""
    found = re.search(r"see (dat_\w+)$", call.brief)
    return found.group(1) if found and not call.returns else None


def write(folder, name, text):
    with open(os.path.join(folder, name + ".3"), "w", encoding="utf-8") as file:
        file.write(text)


def main():
    xml, out, version = sys.argv[1:4]
    headers = Headers(xml)
    if len(headers.calls) < 80:
        sys.exit("man3.py: only %d calls in %s" % (len(headers.calls), xml))
    os.makedirs(out, exist_ok=True)
    for name, call in sorted(headers.calls.items()):
        if alias(call) in headers.calls:
            write(out, name, ".so man3/%s.3\n" % alias(call))
        else:
            write(out, name, Page(headers, version, call).call_page())
    write(out, "dat", Page(headers, version).rules_page())


if __name__ == "__main__":
    main()
