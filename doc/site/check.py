#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""check.py FOLDER: links of the site lead somewhere, and it works in Chromium, on a telephone too. TAP."""
import html.parser
import http.server
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import urllib.parse

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../test/interop"))
from tap import Skip, case, check, equal, note, run  # noqa: E402

SITE = os.path.abspath(sys.argv.pop(1))
PHONE = 360  # pixels
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
LIMIT = 600  # seconds for all pages in the browser

# Shows every page in a frame as wide as a telephone, then looks for what is in udapl-soft(7) alone.
HARNESS = """<!DOCTYPE html><meta charset="utf-8"><link rel="icon" href="data:,"><body><script>
const pages = %s;
async function show(url) {
	const frame = document.createElement("iframe");
	frame.style.cssText = "width:%dpx;height:640px;border:0";
	frame.src = url;
	const loaded = new Promise(done => frame.onload = done);
	document.body.append(frame);
	await loaded;
	return frame;
}
async function all() {
	const result = { wide: [], shown: 0, found: [] };
	for (const url of pages) {
		const frame = await show(url), root = frame.contentDocument.documentElement;
		if (root.scrollWidth > %d)
			result.wide.push(url + ": " + root.scrollWidth);
		result.shown += frame.contentDocument.querySelector("main") ? 1 : 0;
		frame.remove();
	}
	const frame = await show("/contents.html"), page = frame.contentDocument;
	const box = page.getElementById("query");
	if (box) {
		box.value = "udapl-soft iwarp";
		box.dispatchEvent(new Event("input"));
		result.found = [...page.querySelectorAll("#found a")].map(a => a.getAttribute("href"));
	}
	await fetch("/result", { method: "POST", body: JSON.stringify(result) });
}
all();
</script></body>"""


class Links(html.parser.HTMLParser):
    """What a page refers to, and where it can be gone to."""

    def __init__(self, path):
        super().__init__()
        self.links, self.ids = [], set()
        with open(path, encoding="utf-8") as file:
            self.feed(file.read())

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.ids |= {attrs[k] for k in ("id", "name") if attrs.get(k)}
        self.links += [attrs[k] for k in ("href", "src") if attrs.get(k)]


def html_files(folder):
    return sorted(os.path.relpath(os.path.join(top, name), folder)
                  for top, _, names in os.walk(folder) for name in names if name.endswith(".html"))


def broken_links(folder):
    pages = {path: Links(os.path.join(folder, path)) for path in html_files(folder)}
    broken = []
    for path, page in pages.items():
        for link in page.links:
            url = urllib.parse.urlsplit(link)
            if url.scheme:
                continue
            target = path if not url.path else os.path.normpath(
                os.path.join(os.path.dirname(path), urllib.parse.unquote(url.path)))
            fragment = urllib.parse.unquote(url.fragment)
            if not os.path.isfile(os.path.join(folder, target)) or (fragment and fragment not in pages[target].ids):
                broken.append("%s: %s" % (path, link))
    return broken


class Browser:
    """All pages of a folder in Chromium: what it measured, and what its console said."""

    def __init__(self, folder):
        if not CHROMIUM:
            raise Skip("no chromium")
        self.result, self.missing = None, []
        done = threading.Event()
        outer = self

        class Handler(http.server.SimpleHTTPRequestHandler):
            def __init__(self, *args):
                super().__init__(*args, directory=folder)

            def do_GET(self):
                if self.path != "/harness":
                    super().do_GET()
                    return
                text = HARNESS % (json.dumps(["/" + p for p in html_files(folder)]), PHONE, PHONE)
                self.send_response(200)
                self.send_header("Content-Type", "text/html")
                self.end_headers()
                self.wfile.write(text.encode())

            def do_POST(self):
                outer.result = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                self.send_response(204)
                self.end_headers()
                done.set()

            def send_error(self, code, *args):
                outer.missing.append("%d %s" % (code, self.path))
                super().send_error(code, *args)

            def log_message(self, *_):
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.errors = self.browse("http://127.0.0.1:%d/harness" % server.server_port, done)
        server.shutdown()
        check(self.result, "the browser did not come to the end: %s", self.errors[-5:])

    def browse(self, url, done):
        """Lines of the console."""
        with tempfile.TemporaryDirectory(prefix="site.", ignore_cleanup_errors=True) as profile:
            with open(os.path.join(profile, "log"), "w+", encoding="utf-8") as log:
                program = subprocess.Popen(
                    [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking",
                     "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--no-first-run",
                     "--window-size=500,800", "--user-data-dir=" + profile, "--enable-logging=stderr",
                     "--v=0", url],
                    stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=log, start_new_session=True)
                try:
                    done.wait(LIMIT)
                finally:
                    program.kill()
                    program.wait()
                log.seek(0)
                return [line.strip() for line in log if "CONSOLE" in line]


@case("every link leads to a page and a place that there are")
def _():
    equal(broken_links(SITE), [], "broken links")


@case("every call, program and guide has its page, and what a search goes through is there")
def _():
    names = html_files(SITE)
    for wanted in ("index.html", "contents.html", "performance.html", "conformance.html", "mistakes.html",
                   "man/dat-info.1.html", "man/dapltest.1.html", "man/udapl.7.html", "man/dat.conf.5.html"):
        check(wanted in names, "no %s", wanted)
    calls = [n for n in names if n.startswith("man/dat_") and n.endswith(".3.html")]
    if len(calls) < 80 and not os.path.exists(os.path.join(SITE, "man/dat.3.html")):
        raise Skip("built without doxygen: no pages of calls")
    check(len(calls) >= 80, "only %d calls", len(calls))
    with open(os.path.join(SITE, "search-index.js"), encoding="utf-8") as file:
        index = json.loads(re.match(r"const searchIndex = (.*);$", file.read(), re.S).group(1))
    check({e["u"].split("#")[0] for e in index} >= set(calls[:1]) | {"performance.html"}, "the index lacks pages")


@case("in Chromium every page is shown, as wide as a telephone, without a word on the console; the search finds")
def _():
    browser = Browser(SITE)
    equal(browser.errors, [], "console")
    equal(browser.missing, [], "missing files")
    equal(browser.result["wide"], [], "wider than %d pixels" % PHONE)
    equal(browser.result["shown"], len(html_files(SITE)), "pages shown")
    check("man/udapl-soft.7.html" in browser.result["found"][0], "found: %s", browser.result["found"])
    note("%d pages", browser.result["shown"])


@case("a broken link, an error of a script and a page that is too wide are noticed")
def _():
    with tempfile.TemporaryDirectory(prefix="site.") as folder:
        for name in ("style.css", "search.js"):
            shutil.copy(os.path.join(SITE, name), folder)
        with open(os.path.join(folder, "contents.html"), "w", encoding="utf-8") as file:
            file.write('<link rel="stylesheet" href="style.css"><main><a href="none.html">x</a>'
                       '<a href="#nowhere">y</a><div style="width:900px">z</div></main>'
                       '<script src="search.js"></script>')
        equal(broken_links(folder), ["contents.html: none.html", "contents.html: #nowhere"], "broken links")
        browser = Browser(folder)
        equal(len(browser.result["wide"]), 1, "wide pages")
        check(any("TypeError" in line for line in browser.errors), "console: %s", browser.errors)


run()
