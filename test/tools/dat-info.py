#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""dat-info: the list, what adapters say, the check, a dat.conf for this host."""
import os
import re
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from util import BUILD, DAT_INFO, SANITIZED, SOFT, Scratch, Skip, call, case, check, entry, equal, run

BAD = os.path.join(BUILD, "test/tools/.libs/badprov.so")
NOENTRY = os.path.join(BUILD, "test/unit/.libs/noentry.so")


def bad(name, how):
    return entry(name, how, BAD)


# ---- The command line ----


@case("an unknown option is refused")
def _():
    call(2, DAT_INFO, "--colour").complains("unrecognized option", "Try dat-info --help")
    call(2, DAT_INFO, "-x").complains("invalid option")


@case("modes exclude each other, numbers are checked, names belong to the list")
def _():
    call(2, DAT_INFO, "--check", "--generate").complains("exclude each other")
    for value in ("0", "-1", "3601", "ten", "", "1x"):
        call(2, DAT_INFO, "--timeout", value).complains("--timeout: .* is no number from 1 to 3600")
    call(2, DAT_INFO, "--check", "soft-lo").complains("names are for the list only: soft-lo")


@case("--help and --version")
def _():
    call(0, DAT_INFO, "--help").says("^Usage: dat-info", "--check", "--generate", "--settings")
    call(0, DAT_INFO, "--version").says(r"^dat-info \(udapl\) \d")


@case("the manual page has every option of --help, and no other")
def _():
    page = open(os.path.join(os.environ["top_srcdir"], "tools/dat-info.1"), encoding="utf-8").read()
    text = page.replace("\\-", "-").split(".SH OPTIONS")[1].split(".SH EXIT")[0]
    shown = set(re.findall("--[a-z]+", call(0, DAT_INFO, "--help").out))
    heads = set()
    for line in re.findall(r"^\.TP\n(.*)$", text, re.MULTILINE):
        heads |= set(re.findall("--[a-z]+", line))
    equal(heads, shown, "options")


@case("a full disk is told")
def _():
    if not os.path.exists("/dev/full"):
        raise Skip("no /dev/full")
    with Scratch() as s:
        conf = s.write("dat.conf", entry("a"))
        for args in (["-f", conf], ["--help"], ["--version"]):
            result = call(3, "sh", "-c", '"$0" "$@" >/dev/full', DAT_INFO, *args)
            result.complains("standard output: No space left")


@case("closed standard descriptors, and as many open ones as there may be, are no hindrance")
def _():
    taken = "import os, sys\nfor n in range(3, int(sys.argv[1])): os.dup2(0, n)\n"
    taken += "os.execv(sys.argv[2], sys.argv[2:])\n"
    with Scratch() as s:
        conf = s.write("dat.conf", entry("a"))
        for closed in ("<&-", "2>&-", "<&- 2>&-"):
            call(0, "sh", "-c", '"$0" -v -f "$1" ' + closed, DAT_INFO, conf).says("^a ")
        call(3, "sh", "-c", '"$0" -v -f "$1" >&-', DAT_INFO, conf).complains("standard output: Bad file")
        for number in range(56, 65):
            call(0, sys.executable, "-c", taken, number, DAT_INFO, "-v", "-f", conf).says("^a ")


# ---- The file ----


@case("no file, a folder, an unreadable one, one that is too long: said with the reason")
def _():
    with Scratch() as s:
        missing = s.path("none")
        for args in ((), ("-v",), ("--check",), ("-j",)):
            call(3, DAT_INFO, *args, "-f", missing).complains(
                "none: No such file or directory", "dat-info --generate >%s$" % missing
            )
        call(3, DAT_INFO, env={"DAT_OVERRIDE": missing}).complains("none: No such file")
        call(3, DAT_INFO, "-f", s.folder).complains("Is a directory")
        call(3, DAT_INFO, "-f", s.write("long", "#" * (2 << 20))).complains("File too large")
        if os.geteuid() == 0:
            drop = lambda: (os.setgid(65534), os.setuid(65534))  # noqa: E731
            os.chmod(s.folder, 0o755)
            os.chmod(s.write("secret", ""), 0)
            if call_works_as_nobody(drop):
                call(3, DAT_INFO, "-f", s.path("secret"), preexec=drop).complains(
                    "secret: Permission denied"
                )


def call_works_as_nobody(drop):
    try:
        call(0, DAT_INFO, "--version", preexec=drop)
        return True
    except Exception:  # the build folder may be closed to others
        return False


@case("without a file or entries: the line that is shown is one that works, the command writes more")
def _():
    with Scratch() as s:
        missing, empty = s.path("none"), s.write("empty", "# nothing\n")
        for status, path in ((3, missing), (0, empty)):
            shown = call(status, DAT_INFO, "-f", path).complains("dat-info --generate >%s$" % path)
            line = re.search(r"^ {4}(soft-lo .*)$", shown.err, re.M).group(1)
            call(0, DAT_INFO, "-f", s.write("dat.conf", line + "\n")).says("^soft-lo +used +u2.0")
        made = s.write("made", call(0, DAT_INFO, "--generate").out)
        call(0, DAT_INFO, "-f", made).says("^soft-lo +used ")


@case("DAT_OVERRIDE names the file, -f goes before it")
def _():
    with Scratch() as s:
        a, b = s.write("a", entry("from-a")), s.write("b", entry("from-b"))
        call(0, DAT_INFO, env={"DAT_OVERRIDE": a}).says("^from-a ", "%s:1$" % a)
        call(0, DAT_INFO, "-f", b, env={"DAT_OVERRIDE": a}).says("^from-b ")


@case("REG-19, REG-20: every entry is listed with file and line, and how it is used")
def _():
    with Scratch() as s:
        conf = s.write(
            "dat.conf",
            "# comment\n\n"
            + entry("one")
            + entry("two", api="k2.0")
            + entry("three", default="nondefault")
            + entry("one", "second")
            + "four u2 nonthreadsafe default l p.1.0 x y\n"
            + entry("one", threads="threadsafe"),
        )
        result = call(0, DAT_INFO, "-f", conf).says(
            "^NAME +USE +API +THREADS +LIBRARY +PARAMETERS +WHERE$",
            '^one +used +u2.0 +nonthreadsafe +.* +"lo" +%s:3$' % conf,
            "^two +kernel +k2.0 .*:4$",
            "^three +nondefault .*:5$",
            '^one +fallback .*"second" .*:6$',
            "^one +used +u2.0 +threadsafe .*:8$",
        )
        result.complains(r":7: field 2 \(api_version\): .*; no entry$")
        starts = [line.index("dat.conf:") for line in result.out.splitlines()[1:]]
        equal(len(set(starts)), 1, "columns of the place")
        found = call(0, DAT_INFO, "-j", "-f", conf).json()
        equal([e["line"] for e in found["entries"]], [3, 4, 5, 6, 8], "lines")
        equal(found["entries"][0]["parameters"], "lo", "parameters")
        equal(found["bad_lines"][0]["line"], 7, "bad line")
        equal(found["bad_lines"][0]["field_name"], "api_version", "its field")


@case("a file without entries")
def _():
    with Scratch() as s:
        conf = s.write("dat.conf", "# nothing\n")
        call(0, DAT_INFO, "-f", conf).says("has no entries")
        call(0, DAT_INFO, "-v", "-f", conf).says("has no entries")
        equal(call(0, DAT_INFO, "-j", "-f", conf).json()["entries"], [], "entries")
        call(0, DAT_INFO, "--check", "-f", conf).says("warning: has no entry", "0 errors, 1 warn")


@case("names choose entries; an unknown one is told")
def _():
    with Scratch() as s:
        conf = s.write("dat.conf", entry("one") + entry("two"))
        result = call(0, DAT_INFO, "-f", conf, "two").says("^two ")
        check("one " not in result.out, "the other one is listed too")
        call(1, DAT_INFO, "-f", conf, "two", "zwei").says("^two ").complains('no entry for "zwei"')
        equal(call(1, DAT_INFO, "-f", conf, "zwei").out, "", "output")


@case("bytes from the file cannot command a terminal, and JSON stays JSON")
def _():
    # No character, half of a pair, longer than it need be, and beyond the last one.
    odd = b"\xff\xed\xa0\x80\xe0\x80\x80\xf0\x80\x80\x80\xf4\x90\x80\x80"
    with Scratch() as s:
        conf = s.write("dat.conf", entry("esc", "a\x1b[31m\u00e9" + odd.decode(errors="surrogateescape")))
        result = call(0, DAT_INFO, "-f", conf)
        check("\x1b" not in result.out, "an escape character")
        equal(
            call(0, DAT_INFO, "-j", "-f", conf).json()["entries"][0]["parameters"],
            "a\x1b[31m\u00e9" + odd.decode("latin-1"),
            "parameters",
        )


# ---- Opening ----


@case("IA-16 to IA-79: an open adapter tells all its attributes")
def _():
    with Scratch() as s:
        conf = s.write("dat.conf", entry("soft-lo"))
        call(0, DAT_INFO, "-v", "-f", conf).says(
            "^soft-lo  %s:1$" % conf,
            "^    adapter_name +soft-lo$",
            "^    ia_address +127.0.0.1$",
            "^    max_eps +[0-9]+$",
            "^    completion_flags_supported +suppress, solicited_wait, unsignalled",
            "^    evd_stream_merging_supported +all$",
            "^    ep_creator +ifasked$",
        )
        found = call(0, DAT_INFO, "-v", "-j", "-f", conf).json()["entries"][0]
        equal(found["outcome"], "opened", "outcome")
        equal(found["loaded_from"], SOFT, "library")
        headers = fields_of_headers()
        for group, names in headers.items():
            missing = names - set(found[group])
            equal(missing, set(), "attributes of %s that are not shown" % group)


def fields_of_headers():
    """The members of both attribute structures, as the header declares them."""
    path = os.path.join(os.environ["top_srcdir"], "include/dat/dat_ia_attr.h")
    text = open(path, encoding="utf-8").read()
    fields = {}
    for group, struct in (("ia", "dat_ia_attr"), ("provider", "dat_provider_attr")):
        body = text.split("typedef struct %s {" % struct)[1].split("}")[0]
        names = set()
        for line in body.splitlines():
            words = line.split(";")[0].replace("*", " ").replace("[", " ").split()
            if ";" in line and len(words) >= 2:
                names.add([w for w in words if not w[0].isdigit() and w != "6]"][-1].rstrip("]"))
        names = {n.split("]")[0] for n in names}
        names -= {n for n in names if n.startswith("num_")}
        fields[group] = {"ia_address" if n == "ia_address_ptr" else n for n in names if n.islower()}
        check(len(fields[group]) > 25, "only %d fields found in %s", len(fields[group]), struct)
    return {g: {n for n in f if not n[0].isdigit()} for g, f in fields.items()}


# In which a provider that crashes does so, under a sanitizer on a machine that is busy.
PATIENCE = "5"

FAULTS = [
    ("crash", "crashed while opening it: Aborted", True),
    ("exit", "ended the process with status 7 while opening it", True),
    ("hang", "no answer within %s s while opening it" % PATIENCE, True),
    ("absent", "did not register this name", True),
    ("crash-open", "crashed while opening it: Aborted", True),
    ("hang-open", "no answer within %s s while opening it" % PATIENCE, True),
    ("refuse", "DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_DEVICE", False),
    ("odd-code", "0x8ead0000, which is no code of DAT", False),
    ("hang-close", "no answer within %s s while closing it" % PATIENCE, True),
    (
        "wild-attr",
        "(crashed|ended the process with status [0-9]+) while querying it",
        True,
    ),
]


@case("a provider that crashes, hangs, exits or refuses spoils only its own entry")
def _():
    with Scratch() as s:
        lines = [entry("good")]
        for how, _, _ in FAULTS:
            lines += [bad(how, how), entry("after-" + how)]
        lines += [
            entry("no-file", lib="libnothere.so.2"),
            entry("no-entry", lib=NOENTRY),
            entry("no-device", "nonet7"),
            entry("last"),
        ]
        conf = s.write("dat.conf", "".join(lines))
        start = time.monotonic()
        result = call(1, DAT_INFO, "-v", "-f", conf, "-t", PATIENCE, limit=110)
        check(time.monotonic() - start < 100, "it took too long")
        sections = {text.split("  ")[0]: text for text in result.out.split("\n\n")}
        equal(len(sections), len(lines), "sections")
        for name, text in sections.items():
            if name in ("good", "last") or name.startswith("after-"):
                check("max_eps" in text and "cannot" not in text, "%s: %s", name, text)
        for how, reason, _ in FAULTS:
            opened = how in ("hang-close", "wild-attr")
            start = "opened, but then: " if opened else "cannot be opened: .*"
            call(0, "grep", "-Eq", start + reason, s.write("x", sections[how]))
        for name, reason in (
            ("no-file", "cannot be opened: libnothere.so.2: cannot open shared object file"),
            ("no-entry", "cannot be opened: .*dat_provider_init"),
            ("no-device", 'cannot be opened: "nonet7" is no network device'),
        ):
            call(0, "grep", "-q", reason, s.write("x", sections[name]))
        check("max_eps" in sections["hang-close"], "what it told before it hung is lost")


@case("--check: errors and warnings with file and line, and a status for scripts")
def _():
    with Scratch() as s:
        lines = [bad(how, how) for how, _, _ in FAULTS] + [
            entry("gone", "nonet7"),
            entry("gone", "nonet7"),
            entry("no-file", lib="libnothere.so.2"),
            entry("kernel", api="k2.0"),
            entry("old", api="u1.2", lib="libold.so.1"),
            entry("safe", threads="threadsafe"),
            entry("both", threads="threadsafe"),
            entry("both"),
            entry("legacy", api="u1.2"),
            "short u2.0\n",
        ]
        conf = s.write("dat.conf", "".join(lines))
        result = call(1, DAT_INFO, "--check", "-t", PATIENCE, "-f", conf, limit=110)
        for line, (how, reason, error) in enumerate(FAULTS, 1):
            result.says("^%s:%d: %s: .*%s" % (conf, line, "error" if error else "warning", reason))
        n = len(FAULTS)
        result.says(
            r'^%s:%d: warning: gone: cannot be opened: "nonet7" is no .* \(DAT_INVALID_ADDRESS\)$'
            % (conf, n + 1),
            "^%s:%d: warning: .*duplicate of line %d" % (conf, n + 2, n + 1),
            "^%s:%d: error: no-file: cannot be opened: libnothere.so.2: cannot" % (conf, n + 3),
            "^%s:%d: warning: kernel: programs take no kernel entries" % (conf, n + 4),
            "^%s:%d: warning: old: nobody finds it: .* DAT 1.2 for libold.so.1$" % (conf, n + 5),
            "^%s:%d: warning: safe: dat_ia_open does not find it" % (conf, n + 6),
            r"^%s:%d: error: field 3 \(thread_safety\): missing" % (conf, n + 10),
            "^%d errors, 8 warnings$" % (sum(e for _, _, e in FAULTS) + 2),
        )
        check("both:" not in result.out, "an entry with a plain twin is reported")
        check("legacy:" not in result.out, "an entry that serves DAT 1.2 is reported")
        lines = [int(text.split(":")[1]) for text in result.out.splitlines()[:-1]]
        equal(lines, sorted(lines), "order of lines")


@case("--check: a good file gives status 0, also as JSON")
def _():
    with Scratch() as s:
        conf = s.write("dat.conf", entry("soft-lo"))
        call(0, DAT_INFO, "--check", "-f", conf).says("^0 errors, 0 warnings$")
        found = call(0, DAT_INFO, "--check", "-j", "-f", conf).json()
        equal(found, {"errors": 0, "warnings": 0, "findings": []}, "findings")
        broken = s.write("bad.conf", "x\n")
        found = call(1, DAT_INFO, "--check", "-j", "-f", broken).json()
        equal(
            [(f["line"], f["severity"]) for f in found["findings"]],
            [(0, "warning"), (1, "error")],
            "lines and severities",
        )


@case("VND-5: attributes of any provider: functions, odd values, names without an end")
def _():
    with Scratch() as s:
        conf = s.write("dat.conf", bad("chatty", "chatty"))
        result = call(0, DAT_INFO, "-v", "-f", conf).says(
            "^    debug_query +\\(function\\)$",
            "^    adapter_name +x{255}$",
            "^    extension_supported +77$",
            "^    completion_flags_supported +suppress, bit 6, bit 31$",
            "^    evd_stream_merging_supported +all but software\\+software",
            '^    text\\? +a "quoted"\\?value$',
            "a word on standard output",
        )
        check(result.out.startswith("chatty"), "a provider's words come before the output")
        found = call(0, DAT_INFO, "-v", "-j", "-f", conf).json()["entries"][0]
        equal(found["ia"]["vendor_attr"]["text\x01"], 'a "quoted"\tvalue', "a value")
        equal(found["ia"]["vendor_attr"]["nothing"], None, "no value")
        equal(found["provider"]["completion_flags_supported"][1], "bit 6", "a flag")


@case("a reason is told even if DAT_TRACE_LEVEL=0 silences programs")
def _():
    with Scratch() as s:
        conf = s.write("dat.conf", entry("gone", "nonet7"))
        call(1, DAT_INFO, "-v", "-f", conf, env={"DAT_TRACE_LEVEL": "0"}).says(
            'cannot be opened: "nonet7" is no network device'
        )


@case("traces that are asked for stand beside the reason, not in its place")
def _():
    with Scratch() as s:
        conf = s.write("dat.conf", entry("gone", "nonet7"))
        env = {"DAT_TRACE_LEVEL": "3", "DAPL_TRACE_LEVEL": "3"}
        result = call(1, DAT_INFO, "-v", "-f", conf, env=env).says(
            'cannot be opened: "nonet7" is no network device', "^    trace .*0x5C7 3"
        )
        equal(result.out.count("is no network device"), 1, "times the reason is told")
        check("/proc/self" not in result.out, "%s", result)


# ---- dapl.conf ----

TUNABLES = """\
soft {
	crcc = no
	linger = 12345678
	fpdu = 4096
}
sofd {
	x = 1
}
other {
	y = 2
}
ia "soft-lo" { crc = no }
ia "nobody" { crc = no }
"""
VARIABLES = {
    "DAPL_SOFT_HELD": "100000",
    "DAPL_SOFT_HELDD": "1",
    "DAPL_SOFT_LINGER": "soon",
}


@case("--settings: every tunable with its value and where it comes from")
def _():
    with Scratch() as s:
        conf = s.write("dat.conf", bad("first", "crash") + entry("soft-lo") + entry("gone", "nonet7"))
        dapl = s.write("dapl.conf", TUNABLES)
        env = {**VARIABLES, "DAPL_CONF": dapl}
        result = call(0, DAT_INFO, "--settings", "-f", conf, env=env).says(
            "^SECTION +NAME +VALUE +UNIT +ORIGIN +VARIABLE$",
            "^dapl +strict +no +default +DAPL_STRICT$",
            "^soft +crc +auto +default +DAPL_SOFT_CRC$",
            "^soft +fpdu +4096 +bytes +%s:4 +DAPL_SOFT_FPDU$" % dapl,
            "^soft +held +100000 +bytes +environment +DAPL_SOFT_HELD$",
            "^soft +linger +2000 +ms +default ",
            '^ia "soft-lo" +crc +no +%s:12 ' % dapl,
        )
        equal(len(set(result.out.splitlines())), len(result.out.splitlines()), "different lines")
        result.complains(
            "^%s:2: error: section soft: unknown name crcc, near: crc$" % dapl,
            "^environment: error: DAPL_SOFT_HELDD: unknown variable, near: DAPL_SOFT_HELD$",
        )
        equal(len(set(result.err.splitlines())), len(result.err.splitlines()), "complaints")
        call(0, DAT_INFO, "--settings", "-v", "-f", conf, env=env).says(
            r"^soft.fpdu = 4096 bytes \(%s:4\)$" % dapl,
            "^    Size of an FPDU",
            r"^    default 0, range 0..65535; variable DAPL_SOFT_FPDU$",
        )
        found = call(0, DAT_INFO, "--settings", "-j", "-f", conf, env=env).json()
        fpdu = [r for r in found["settings"] if r["name"] == "fpdu"]
        equal(fpdu[0]["origin"], dapl + ":4", "origin")
        check(len(found["findings"]) >= 4, "findings: %s", found["findings"])


@case("--settings: where no library tells any")
def _():
    with Scratch() as s:
        conf = s.write("dat.conf", bad("first", "chatty"))
        call(0, DAT_INFO, "--settings", "-f", conf).says("tells of settings")
        equal(call(0, DAT_INFO, "--settings", "-j", "-f", conf).json()["settings"], [], "settings")


@case("--settings: no text of the files is taken for fields or lines")
def _():
    with Scratch() as s:
        conf = s.write("dat.conf", entry('"a\tb"'))
        dapl = s.write("dapl.conf", 'ia "a\tb" {\n\tcrc = no\n}\n')
        env = {"DAPL_CONF": dapl, "DAT_TRACE_FILE": "x\ty\nz"}
        found = call(0, DAT_INFO, "--settings", "-j", "-f", conf, env=env).json()["settings"]
        own = [t for t in found if t["ia"]]
        equal([(t["ia"], t["section"], t["name"], t["value"]) for t in own], [("a?b", "soft", "crc", "no")], "own")
        equal({t["ia"] for t in found}, {None, "a?b"}, "adapters")
        equal([t["value"] for t in found if t["name"] == "trace_file"], ["x?y?z"], "a path")


@case("--check: dapl.conf and the environment, each complaint once")
def _():
    with Scratch() as s:
        conf = s.write("dat.conf", entry("soft-lo") + entry("again"))
        dapl = s.write("dapl.conf", TUNABLES)
        result = call(1, DAT_INFO, "--check", "-f", conf, env={**VARIABLES, "DAPL_CONF": dapl})
        equal(
            [line.replace(dapl, "D").replace(conf, "C") for line in result.out.splitlines()],
            [
                "D:2: error: section soft: unknown name crcc, near: crc",
                "D:3: error: section soft: linger is 12345678, but 1 to 600000 ms are possible;"
                " 2000 stays",
                "D:7: error: unknown section sofd, near: soft",
                "D:10: warning: y: no library of C that could be loaded takes section other",
                'D:13: warning: crc: no entry of C has the name "nobody"',
                'environment: error: DAPL_SOFT_LINGER: "soon" is not a number; 2000 stays',
                "environment: error: DAPL_SOFT_HELDD: unknown variable, near: DAPL_SOFT_HELD",
                "5 errors, 2 warnings",
            ],
            "report",
        )


@case("--check: a dapl.conf that is malformed, missing or unreadable")
def _():
    with Scratch() as s:
        conf = s.write("dat.conf", entry("soft-lo"))
        for text in ("soft {\n\tcrc = \n", "soft }", "= =", "soft { crc"):
            dapl = s.write("dapl.conf", text)
            call(1, DAT_INFO, "--check", "-f", conf, env={"DAPL_CONF": dapl}).says(
                r"^%s:\d+: error: .*the rest is ignored" % dapl, "^1 error, 0 warnings$"
            )
        none = s.path("none")
        call(1, DAT_INFO, "--check", "-f", conf, env={"DAPL_CONF": none}).says(
            "^%s: error: No such file or directory$" % none
        )
        call(1, DAT_INFO, "--check", "-f", conf, env={"DAPL_CONF": s.folder}).says(
            "^%s: error: " % s.folder
        )
        # Also where no module reads it.
        conf = s.write("dat.conf", bad("first", "chatty"))
        dapl = s.write("dapl.conf", "soft {\n\n}}\n")
        call(1, DAT_INFO, "--check", "-f", conf, env={"DAPL_CONF": dapl}).says("^%s:3: error" % dapl)


# ---- A dat.conf for this host ----


def sysfs(scratch, devices):
    """devices: name -> (node type, {port: (state, [netdevs])})."""
    for name, (node, ports) in devices.items():
        base = "class/infiniband/%s/" % name
        scratch.write(base + "node_type", node + "\n")
        for port, (state, netdevs) in ports.items():
            scratch.write(base + "ports/%d/state" % port, state + "\n")
            for i, netdev in enumerate(netdevs):
                scratch.write(base + "ports/%d/gid_attrs/ndevs/%d" % (port, i), netdev + "\n")
    return scratch.folder


@case("--generate: loopback works as it is written")
def _():
    with Scratch() as s:
        result = call(0, DAT_INFO, "--generate").says('^#?soft-lo u2.0 nonthreadsafe default .* "lo" ""$')
        conf = s.write("dat.conf", result.out.replace("libdaplsoft.so.2", SOFT))
        found = call(0, DAT_INFO, "-j", "-f", conf).json()
        equal(found["bad_lines"], [], "bad lines")
        names = [e["name"] for e in found["entries"]]
        if "soft-lo" in names:
            call(0, DAT_INFO, "-v", "-f", conf, *names)
        generated = call(0, DAT_INFO, "--generate", "-j").json()["entries"]
        equal([e["name"] for e in generated if not e["off"]], names, "names as JSON")


@case("--generate: RDMA devices in the form of release 2.1.10")
def _():
    with Scratch() as s:
        tree = sysfs(
            s,
            {
                "mlx5_0": ("1: CA", {1: ("4: ACTIVE", ["ib0", "ib0.8001"]), 2: ("1: DOWN", [])}),
                "mlx5_10": ("1: CA", {1: ("4: ACTIVE", ["ens1"])}),
                "mlx5_2": ("1: CA", {1: ("4: ACTIVE", ["ens2", ""])}),
                "cxgb4_0": ("4: RNIC", {1: ("4: ACTIVE", [])}),
                "switch0": ("2: switch", {0: ("4: ACTIVE", ["swp1"])}),
            },
        )
        s.write("class/infiniband/cxgb4_0/device/net/eth5/dev_port", "0\n")
        s.write("class/infiniband/cxgb4_0/device/net/eth6/dev_port", "1\n")
        result = call(0, DAT_INFO, "--generate", "--sysfs", tree).says(
            '^ofa-v2-ib0 u2.0 nonthreadsafe default libdaplofa.so.2 dapl.2.0 "ib0 0" ""$',
            '^ofa-v2-ib0.8001 .* "ib0.8001 0" ""$',
            '^ofa-v2-eth5 .* libdaplofa.so.2 dapl.2.0 "eth5 0" ""$',
            '^ofa-v2-mlx5_0-1 u2.0 nonthreadsafe default libdaploscm.so.2 dapl.2.0 "mlx5_0 1" ""$',
            '^ofa-v2-mlx5_0-1u u2.0 nonthreadsafe default libdaploucm.so.2 dapl.2.0 "mlx5_0 1" ""$',
            "^# mlx5_0 2 is a port that is not active:$",
            "^#ofa-v2-mlx5_0-2 ",
        )
        for name in ("swp1", "switch0", "eth6", "cxgb4_0"):
            check(name not in result.out, "%s is in it", name)
        check(result.out.index("mlx5_2-1 ") < result.out.index("mlx5_10-1 "), "order of devices")
        conf = s.write("dat.conf", result.out)
        equal(call(0, DAT_INFO, "-j", "-f", conf).json()["bad_lines"], [], "bad lines")


@case("--generate: a line that is off does not keep another one of that name from being written")
def _():
    with Scratch() as s:
        tree = sysfs(
            s,
            {
                "mlx5_0": ("1: CA", {1: ("1: DOWN", ["bond0"])}),
                "mlx5_1": ("1: CA", {1: ("4: ACTIVE", ["bond0"])}),
                "mlx5_2": ("1: CA", {1: ("4: ACTIVE", ["bond0"])}),
            },
        )
        result = call(0, DAT_INFO, "--generate", "--sysfs", tree)
        lines = re.findall("^#?ofa-v2-bond0 ", result.out, re.M)
        equal(lines, ["#ofa-v2-bond0 ", "ofa-v2-bond0 ", "#ofa-v2-bond0 "], "lines")
        entries = call(0, DAT_INFO, "--generate", "-j", "--sysfs", tree).json()["entries"]
        off = [e["off"] for e in entries if e["name"] == "ofa-v2-bond0"]
        equal(off[1:], [None, "the name stands above already"], "as JSON")


@case("--generate: a host without devices, or without sysfs")
def _():
    with Scratch() as s:
        for folder in (s.folder, s.path("none")):
            result = call(0, DAT_INFO, "--generate", "--sysfs", folder).says("soft-lo")
            check("ofa-v2" not in result.out, "an RDMA entry")


run()
