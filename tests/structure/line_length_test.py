"""Refuses lines of more than 110 columns.

That is the limit of .clang-format and .editorconfig. It holds for C++, CUDA C++, Python, CMake and scripts; a
column is a character, not a byte.

line_length_test.py ROOT: ROOT is the folder of the sources.
"""
import os
import pathlib
import sys
import unittest

ROOT = pathlib.Path(sys.argv[1])
FOLDERS = ("kernels", "collectives", "nn", "bench", "tests", "tools", "docs")
ENDINGS = (".cpp", ".h", ".cu", ".cuh", ".inc", ".py", ".cmake", ".sh")
LIMIT = 110


def is_checked(name):
    """Files without an ending are scripts and headers of the C++ library, such as <cuda/barrier>."""
    path = pathlib.PurePath(name)
    return path.suffix in ENDINGS or path.name == "CMakeLists.txt" or not path.suffix


def files():
    """The names of the checked files. Build folders and hidden ones are not searched."""
    for path in sorted(ROOT.iterdir()):
        if path.is_file() and path.name[0] != "." and is_checked(path.name):
            yield path.name
    for folder in FOLDERS:
        for parent, inner, names in os.walk(ROOT / folder):
            inner[:] = sorted(name for name in inner if name[0] != "."
                              and name != "build" and not name.startswith("build-"))
            for name in sorted(names):
                if name[0] != "." and is_checked(name):
                    yield (pathlib.Path(parent) / name).relative_to(ROOT).as_posix()


def violations(name, text):
    """The place and the length of each line of the file `name` that is too long."""
    return [f"{name}:{number}: {len(line)} columns" for number, line in enumerate(text.split("\n"), 1)
            if len(line) > LIMIT]


class LineLength(unittest.TestCase):
    def test_no_line_is_too_long(self):
        checked, found = 0, []
        for name in files():
            text = (ROOT / name).read_bytes().decode("utf-8", "replace")
            if "\0" not in text:  # not a program that someone built here
                checked += 1
                found += violations(name, text)
        if found:
            self.fail("\n" + "\n".join(found))
        self.assertGreater(checked, 1000)

    def test_long_lines_are_found(self):
        text = "\n".join(["a" * LIMIT, "a" * (LIMIT + 1), "", "é" * LIMIT, "  // " + "é" * LIMIT])
        self.assertEqual(violations("nn/a.h", text), ["nn/a.h:2: 111 columns", "nn/a.h:5: 115 columns"])
        self.assertEqual(violations("nn/a.h", "a" * LIMIT + "\n"), [])

    def test_kinds_of_files(self):
        for name in ("a.cpp", "a.h", "a.cu", "a.cuh", "a.inc", "a.py", "a.cmake", "CMakeLists.txt", "a.sh",
                     "test", "barrier"):
            self.assertTrue(is_checked(name), name)
        for name in ("README.md", "a.txt", "a.json", "a.svg", "page.css", "a.sass"):
            self.assertFalse(is_checked(name), name)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
