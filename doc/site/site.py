#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""The manual pages and the guides as static HTML, with a search that needs no server.

site.py SOURCE BUILD OUTPUT VERSION: by mandoc (pages) and cmark-gfm (guides), Debian's packages of these names.
"""
import glob
import html
import json
import os
import re
import shutil
import subprocess
import sys

GUIDES = (
    ("Guides", ("README", "CONTRIBUTING", "doc/architecture", "doc/transports", "doc/cno-epoll", "doc/mistakes",
                "doc/differences", "doc/glossary")),
    ("Evidence", ("doc/performance", "doc/conformance", "doc/conformance-cards", "doc/reliability", "doc/security",
                  "doc/adapters", "doc/processors", "doc/ep-states", "doc/reader-test")),
    ("Reference of the rules", ("doc/spec/README",)),
)
SECTIONS = (("1", "Programs"), ("5", "Files"), ("7", "Overviews"), ("3", "Calls"))

PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="{up}style.css">
</head>
<body data-up="{up}">
<header>
<a class="home" href="{up}index.html">udapl {version}</a>
<input type="search" id="query" placeholder="Search" aria-label="Search" autocomplete="off">
<a href="{up}contents.html">Contents</a>
</header>
<ol id="found" hidden></ol>
<main>
{body}
</main>
<script src="{up}search-index.js"></script>
<script src="{up}search.js"></script>
</body>
</html>
"""


def run(*args, text=None):
    return subprocess.run(args, input=text, stdout=subprocess.PIPE, text=True, check=True).stdout


def plain(body):
    """The words of HTML."""
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", body)).split())


class Site:
    """What is written, and what a search finds."""

    def __init__(self, source, build, out, version):
        self.source, self.build, self.out, self.version = source, build, out, version
        self.index, self.contents = [], []
        self.pages = {}  # (name, section) -> file
        self.guides = {}  # path of the source -> address

    # ---- What there is ----

    def find_pages(self):
        files = glob.glob(os.path.join(self.build, "doc/man/man3/*.3"))
        for folder in ("doc/man", "tools", "samples", "test/dapltest"):
            files += glob.glob(os.path.join(self.source, folder, "*.[1-8]"))
        for path in sorted(files):
            name, section = os.path.basename(path).rsplit(".", 1)
            self.pages[name, section] = path

    def find_guides(self):
        for _, names in GUIDES:
            for name in names:
                self.guides[name + ".md"] = address(name)
        for path in sorted(glob.glob(os.path.join(self.source, "doc/spec/*.md"))):
            name = os.path.relpath(path, self.source)[:-3]
            self.guides[name + ".md"] = address(name)

    # ---- Writing ----

    def write(self, target, title, body):
        up = "../" * target.count("/")
        path = os.path.join(self.out, target)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(PAGE.format(title=html.escape(title), up=up, version=self.version, body=body))

    def remember(self, target, title, body):
        """One entry for each part that begins with a heading which can be gone to."""
        parts = re.split(r'(?=<h[1-4][^>]* id="[^"]+")', body)
        for part in parts:
            head = re.match(r'<h[1-4][^>]* id="([^"]+)"[^>]*>(.*?)</h[1-4]>', part, re.S)
            words = plain(part)
            if words:
                self.index.append({"t": title, "h": plain(head.group(2)) if head else "",
                                   "u": target + ("#" + head.group(1) if head else ""), "x": words[:4000]})

    def page(self, name, section, path):
        with open(path, encoding="utf-8") as file:
            first = file.read(200)
        other = re.match(r"\.so man3/(\S+)\.3", first)
        target = "man/%s.%s.html" % (name, section)
        if other:
            self.write(target, name, '<p>See <a href="%s.3.html">%s(3)</a>.</p>' % (other.group(1), other.group(1)))
            return target
        body = run("mandoc", "-Thtml", "-Ofragment,man=%N.%S.html", path)
        body = re.sub(r'<a class="Xr" href="(([^"/]+)\.(\d)\.html)"[^>]*>(.*?)</a>', self.reference, body, flags=re.S)
        body = wrap_tables(body)
        self.write(target, "%s(%s)" % (name, section), body)
        self.remember(target, "%s(%s)" % (name, section), body)
        return target

    def reference(self, match):
        """A reference to a page that is not ours has nowhere to go."""
        known = (match.group(2), match.group(3)) in self.pages
        return '<a class="Xr" href="%s">%s</a>' % (match.group(1), match.group(4)) if known else match.group(4)

    def guide(self, name):
        with open(os.path.join(self.source, name + ".md"), encoding="utf-8") as file:
            text = file.read()
        body = run("cmark-gfm", "-e", "table", "-e", "autolink", "-e", "strikethrough", text=text)
        body = re.sub(r"<h([1-4])>(.*?)</h\1>", heading(), body, flags=re.S)
        body = re.sub(r'<a href="([^"]*)"[^>]*>(.*?)</a>', lambda m: self.link(name, m), body, flags=re.S)
        body = wrap_tables(body)
        title = plain(re.search(r"<h1[^>]*>(.*?)</h1>", body, re.S).group(1))
        self.write(address(name), title, body)
        self.remember(address(name), title, body)
        return title

    def link(self, name, match):
        """What is in the source and not in the site has no link; links say .html."""
        href, text = match.groups()
        if re.match(r"https?:|#|mailto:", href):
            return match.group(0)
        path, _, fragment = href.partition("#")
        path = os.path.normpath(os.path.join(os.path.dirname(name), path))
        path = path + "/README.md" if path + "/README.md" in self.guides else path
        if path not in self.guides:
            return text
        up = "../" * address(name).count("/")
        return '<a href="%s%s">%s</a>' % (up + self.guides[path], "#" + fragment if fragment else "", text)

    # ---- All ----

    def all(self):
        self.find_pages()
        self.find_guides()
        body = ["<h1>Contents</h1>"]
        for title, names in GUIDES:
            body.append("<h2>%s</h2>\n<ul>" % title)
            names += tuple(sorted(n[:-3] for n in self.guides if n.startswith("doc/spec/"))) if "rules" in title else ()
            for name in dict.fromkeys(names):
                body.append('<li><a href="%s">%s</a></li>' % (address(name), html.escape(self.guide(name))))
            body.append("</ul>")
        for section, title in SECTIONS:
            body.append('<h2>%s</h2>\n<ul class="names">' % title)
            for (name, number), path in sorted(self.pages.items()):
                if number == section:
                    body.append('<li><a href="%s">%s(%s)</a></li>' % (self.page(name, number, path), name, number))
            body.append("</ul>")
        self.write("contents.html", "Contents", "\n".join(body))
        for plot in glob.glob(os.path.join(self.source, "doc/*.png")):
            shutil.copy(plot, self.out)
        here = os.path.dirname(os.path.abspath(__file__))
        for name in ("style.css", "search.js"):
            shutil.copy(os.path.join(here, name), self.out)
        with open(os.path.join(self.out, "search-index.js"), "w", encoding="utf-8") as file:
            file.write("const searchIndex = %s;\n" % json.dumps(self.index, ensure_ascii=True))


def address(name):
    """Guides lie on top, where their plots are; README is the first page."""
    if name == "README":
        return "index.html"
    return re.sub("^doc/", "", name) + ".html"


def heading():
    """Gives headings the names that GitHub gives them."""
    used = {}

    def name(match):
        text = re.sub(r"[^\w\- ]", "", plain(match.group(2)).lower()).replace(" ", "-")
        used[text] = used.get(text, -1) + 1
        text += "-%d" % used[text] if used[text] else ""
        return '<h%s id="%s">%s</h%s>' % (match.group(1), text, match.group(2), match.group(1))

    return name


def wrap_tables(body):
    return re.sub(r"<table.*?</table>", r'<div class="wide">\g<0></div>', body, flags=re.S)


def main():
    source, build, out, version = sys.argv[1:5]
    for tool in ("mandoc", "cmark-gfm"):
        if not shutil.which(tool):
            sys.exit("site.py: no %s: apt install %s" % (tool, tool))
    shutil.rmtree(out, ignore_errors=True)
    os.makedirs(out)
    Site(source, build, out, version).all()


if __name__ == "__main__":
    main()
