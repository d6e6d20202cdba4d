"""Checks that no kernel of the libraries can be replaced by one of the same name in another shared library.

A program may load two shared libraries that each contain Rondo. A kernel that is visible outside of its
library would be launched by both. So would a function that takes a kernel: each library has a CUDA runtime of
its own.

kernel_visibility_test.py ROOT ARCHIVE...: ROOT is the folder of the sources, an archive a static library.
"""
import pathlib
import re
import subprocess
import sys
import unittest

ROOT = pathlib.Path(sys.argv[1])
ARCHIVES = sys.argv[2:]
FOLDERS = ("kernels", "collectives", "nn")

BOUNDS = re.compile(r"__launch_bounds__(\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\))")
KERNEL = re.compile(r"__global__\s+(?:void\s+)?(\w+)\(")
TAKE_KERNELS = {"rondo::launch", "rondo::load"}


def kernel_names():
    files = (file for folder in FOLDERS for ending in (".cu", ".cuh")
             for file in (ROOT / folder).rglob("*" + ending))
    return {name for file in files for name in KERNEL.findall(BOUNDS.sub("", file.read_text()))}


def names_of(symbol):
    """Of a mangled function: its name without its scope, and with it."""
    rest = symbol.removeprefix("_ZN").removeprefix("_Z")
    names = [""]
    while match := re.match(r"\d+", rest):
        end = match.end() + int(match[0])
        names.append(rest[match.end():end])
        rest = rest[end:]
    return names[-1].split("__device_stub__")[-1], "::".join(names[1:])  # the stub is nvcc's


def functions(archive):
    """The names of each function in it, and whether it can be seen outside of a shared library."""
    listing = subprocess.run(["readelf", "--symbols", "--wide", archive], capture_output=True, text=True,
                             check=True).stdout
    for line in listing.splitlines():
        fields = line.split()
        if len(fields) >= 8 and fields[3] == "FUNC" and fields[6] != "UND" and fields[7].startswith("_Z"):
            yield names_of(fields[7]), fields[4] != "LOCAL" and fields[5] == "DEFAULT"


class KernelVisibility(unittest.TestCase):
    def test_names(self):
        self.assertEqual(names_of("_ZN5rondo13conv2d_kernelINS_4TileEEEvT_")[0], "conv2d_kernel")
        self.assertEqual(names_of("_ZN5rondo12_GLOBAL__N_113write_patternEPjl")[0], "write_pattern")
        self.assertEqual(names_of("_ZN5rondo6launchIJiEEENS_6StatusEv"), ("launch", "rondo::launch"))
        self.assertEqual(names_of("_ZN5rondo9StepGraph6launchEv")[1], "rondo::StepGraph::launch")

    def test_kernels_are_not_visible(self):
        kernels = kernel_names()
        self.assertGreater(len(kernels), 50)
        found, visible = set(), set()
        for archive in ARCHIVES:
            for names, is_visible in functions(archive):
                for name in names:
                    if name in kernels or name in TAKE_KERNELS:
                        found.add(name)
                        if is_visible:
                            visible.add(name)
        self.assertEqual(sorted(kernels - found), [])
        self.assertLessEqual(TAKE_KERNELS, found)
        self.assertEqual(sorted(visible), [])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
