#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""An installation in a folder that the dynamic loader does not know serves its programs."""
# Clauses: REG-44
import os
import shutil
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from util import BUILD, DAT_INFO, SANITIZED, SOFT, TOP, Scratch, call, case, entry, run, skip_all

PROGRAM = """#include <dat/udat.h>
#include <stdio.h>
int main(void)
{
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;
	const char *major = "", *minor = "";
	DAT_RETURN rc = dat_ia_open((DAT_NAME_PTR) "soft-lo", 8, &evd, &ia);

	dat_strerror(rc, &major, &minor);
	printf("%s %s\\n", major, minor);
	return rc == DAT_SUCCESS ? dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG) != DAT_SUCCESS : 1;
}
"""
NAME = "libdaplsoft.so.2"


def folder(scratch, name, *libraries):
    """A folder with copies of libraries."""
    path = scratch.path(name)
    os.mkdir(path)
    for library in libraries:
        shutil.copy(os.path.realpath(library), os.path.join(path, os.path.basename(library)))
    return path


def program(scratch, libraries):
    """A program whose own run path has the folder, which holds for libdat2 and for nothing that libdat2 loads."""
    binary = scratch.path("program")
    call(0, *os.environ["CC"].split(), "-I" + os.path.join(TOP, "include"),
         scratch.write("program.c", PROGRAM), "-o", binary, os.path.join(libraries, "libdat2.so.2"),
         "-Wl,--enable-new-dtags,-rpath=" + libraries)
    return binary


LIBDAT2 = os.path.join(BUILD, "dat/.libs/libdat2.so.2")
if SANITIZED:
    skip_all("what a sanitizer adds has a run path of its own")


@case("a module beside libdat2 is found")
def _():
    with Scratch() as s:
        conf = s.write("dat.conf", entry("soft-lo", lib=NAME))
        call(0, program(s, folder(s, "lib", LIBDAT2, SOFT)), env={"DAT_OVERRIDE": conf}).says("^DAT_SUCCESS")


@case("one that is nowhere is told with both places")
def _():
    with Scratch() as s:
        conf = s.write("dat.conf", entry("soft-lo", lib="libnone.so.2"))
        path = folder(s, "lib", LIBDAT2)
        call(1, program(s, path), env={"DAT_OVERRIDE": conf}).complains(
            "libnone.so.2: cannot open shared object.*; %s/libnone.so.2: cannot open" % path)


@case("what the dynamic loader finds comes before what is beside libdat2")
def _():
    with Scratch() as s:
        conf = s.write("dat.conf", entry("soft-lo", lib=NAME))
        path = folder(s, "lib", LIBDAT2)
        s.write("lib/" + NAME, "this is no library")
        call(1, program(s, path), env={"DAT_OVERRIDE": conf}).complains("%s/%s: file too short" % (path, NAME))
        elsewhere = folder(s, "elsewhere", SOFT)
        call(0, s.path("program"), env={"DAT_OVERRIDE": conf, "LD_LIBRARY_PATH": elsewhere}).says("^DAT_SUCCESS")


@case("a path is taken as it is")
def _():
    with Scratch() as s:
        path = folder(s, "lib", LIBDAT2, SOFT)
        conf = s.write("dat.conf", entry("soft-lo", lib="/nowhere/" + NAME))
        call(1, program(s, path), env={"DAT_OVERRIDE": conf}).complains("/nowhere/%s: cannot open" % NAME)
        conf = s.write("dat.conf", entry("soft-lo", lib=os.path.join(path, NAME)))
        call(0, s.path("program"), env={"DAT_OVERRIDE": conf}).says("^DAT_SUCCESS")


@case("dat-info believes libdat2, and not its own run path")
def _():
    with Scratch() as s:
        conf = s.write("dat.conf", entry("soft-lo", lib=NAME))
        with open(DAT_INFO, "rb") as file:
            script = file.read(2) == b"#!"  # of libtool's
        tool = os.path.join(BUILD, ".libs/dat-info") if script else DAT_INFO
        alone, both = folder(s, "alone", LIBDAT2), folder(s, "both", LIBDAT2, SOFT)
        call(1, tool, "--check", "-f", conf, env={"LD_LIBRARY_PATH": alone}).says("; %s/%s: cannot open" % (alone, NAME))
        call(0, tool, "--check", "-f", conf, env={"LD_LIBRARY_PATH": both}).says("^0 errors")


run()
