# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""What the tests of the tools share."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

TOP = os.environ["top_srcdir"]
BUILD = os.environ["top_builddir"]
sys.path.insert(0, os.path.join(TOP, "test", "interop"))
from tap import Failed, Skip, case, check, equal, note, run, skip_all  # noqa: E402,F401

SOFT = os.path.join(BUILD, "providers/soft/.libs/libdaplsoft.so.2")
DAT_INFO = os.path.join(BUILD, "dat-info")
ENV = {k: v for k, v in os.environ.items() if not k.startswith(("DAT_", "DAPL_"))}
SANITIZED = bool(os.environ.get("SAN_FLAGS"))


class Result:
    """What a command printed, and how it ended."""

    def __init__(self, done):
        self.status, self.out, self.err = done.returncode, done.stdout, done.stderr

    def __str__(self):
        return "status %d\n%s%s" % (self.status, self.out, self.err)

    def json(self):
        return json.loads(self.out)

    def says(self, *patterns, where="out"):
        """There is a line for each regular expression."""
        text = getattr(self, where)
        for pattern in patterns:
            if not re.search(pattern, text, re.MULTILINE):
                note("%s", self)
                raise Failed("std%s has no line like: %s" % (where, pattern))
        return self

    def complains(self, *patterns):
        return self.says(*patterns, where="err")


def call(status, *args, env=None, limit=60, preexec=None, stdin=None):
    """Runs a command that is to end with that status."""
    done = subprocess.run(
        [str(a) for a in args],
        env={**ENV, **(env or {})},
        stdin=stdin or subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="surrogateescape",
        timeout=limit,
        preexec_fn=preexec,
        check=False,
    )
    result = Result(done)
    if done.returncode != status:
        note("%s", result)
        raise Failed("status %d, not %d: %s" % (done.returncode, status, args))
    return result


class Scratch:
    """A folder for one case."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="tools.")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.folder, ignore_errors=True)

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text):
        path = self.path(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write(text)
        return path


def entry(name, params="lo", lib=SOFT, api="u2.0", threads="nonthreadsafe", default="default"):
    return '%s %s %s %s %s udapl.1.0 "%s" ""\n' % (name, api, threads, default, lib, params)
