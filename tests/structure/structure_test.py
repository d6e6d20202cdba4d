"""Compiles each public header alone, and includes that must not compile.

structure_test.py COMPILER VISIBLE INCLUDE [CUDA...]: VISIBLE has a line for each library, its name and the
include folders of its users, separated by tabs; INCLUDE holds a folder for each library with the headers that
it owns; CUDA are the toolkit's include folders, whose warnings do not count.
"""
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

COMPILER, VISIBLE, INCLUDE = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
CUDA = {pathlib.Path(folder).resolve() for folder in sys.argv[4:]}
FOLDERS = {line.split("\t")[0]: [folder for folder in line.split("\t")[1:] if folder]
           for line in VISIBLE.read_text().splitlines()}


def compiles(library, header):
    """Whether `#include <header>` alone compiles for a user of the library, and what the compiler prints."""
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / "alone.cpp"
        source.write_text(f"#include <{header}>\n#include <{header}>\n")
        command = [COMPILER, "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Werror",
                   "-Wno-unknown-warning-option", "-Wno-restrict",
                   *[f"-isystem{f}" if pathlib.Path(f).resolve() in CUDA else f"-I{f}"
                     for f in FOLDERS[library]], source]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return done.returncode == 0, done.stderr


def headers(library):
    """The headers of a library, each with the file that it includes first."""
    # The executor has one folder for all of its headers, and g++ compiles its .cuh files, too.
    root, endings = (pathlib.Path(FOLDERS["simt"][0]), (".h", ".cuh")) if library == "simt" else (
        INCLUDE / f"rondo_{library}", (".h",))
    found = {}
    for folder, _, names in os.walk(root, followlinks=True):
        for path in (pathlib.Path(folder) / name for name in names if name.endswith(endings)):
            first = re.search(r"^#include [<\"](.+)[>\"]", path.read_text(), re.MULTILINE)
            found[str(path.relative_to(root))] = first and first[1]
    return found


def to_compile(found):
    """The headers to compile: without those that another one includes first, which it compiles alone."""
    left = set(found) - set(found.values())
    checked = set()
    for header in left:
        while header in found and header not in checked:
            checked.add(header)
            header = found[header]
    return sorted(left | (set(found) - checked))


class Structure(unittest.TestCase):
    def test_each_public_header_compiles_alone(self):
        cases = [(library, header) for library in FOLDERS for header in to_compile(headers(library))]
        self.assertGreater(len(cases), 100)
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            for (library, header), (good, text) in zip(cases, pool.map(lambda case: compiles(*case), cases)):
                with self.subTest(library=library, header=header):
                    self.assertTrue(good, text)

    def test_a_library_does_not_see_what_it_does_not_link(self):
        for library, header in (("core", "rondo/kernels/runtime/buffer.h"),
                                ("core", "rondo/kernels/gemm/gemm.h"),
                                ("runtime", "rondo/kernels/gemm/gemm.h"),
                                ("kernels", "rondo/kernels/runtime/buffer.h"),
                                ("kernels", "rondo/collectives/collectives.h"),
                                ("collectives", "rondo/kernels/gemm/gemm.h"),
                                ("kernels", "rondo/nn/fit/fit.h"), ("collectives", "rondo/nn/fit/fit.h"),
                                ("nn", "rondo/tools/rondo/main.cpp"), ("nn", "rondo/tests/support/inputs.h")):
            with self.subTest(library=library, header=header):
                good, text = compiles(library, header)
                self.assertFalse(good, f"a user of rondo_{library} can include <{header}>")
                self.assertIn(header, text)
                self.assertIn("No such file", text.replace("file not found", "No such file"))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
