"""Tests of tools/cmake/cudnn.cmake with folders that look like the CUDA toolkit and the Python wheel.
Arguments: cmake, and the generator."""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "tools/cmake/cudnn.cmake"
CMAKE, GENERATOR = (sys.argv.pop(1), sys.argv.pop(1)) if len(sys.argv) > 2 else ("cmake", "Ninja")
PROJECT = f"""cmake_minimum_required(VERSION 3.25)
project(find LANGUAGES NONE)
foreach(path CMAKE_SYSTEM SYSTEM_ENVIRONMENT CMAKE_ENVIRONMENT)  # only the folders of the test
  set(CMAKE_FIND_USE_${{path}}_PATH OFF)
endforeach()
set(CMAKE_FIND_LIBRARY_PREFIXES lib)
set(CMAKE_FIND_LIBRARY_SUFFIXES .so .a)
include({SCRIPT})
find_cudnn()
file(WRITE ${{CMAKE_BINARY_DIR}}/found "${{CUDNN_LIBRARY}}\\n${{CUDNN_INCLUDE_DIR}}\\n")
"""


class FindCudnnTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name).resolve()
        (self.folder / "CMakeLists.txt").write_text(PROJECT)
        (self.folder / "site").mkdir()
        self.toolkit, self.wheel = self.folder / "toolkit", self.folder / "site/nvidia/cudnn"

    def install(self, folder, library, version):
        (folder / "include").mkdir(parents=True)
        (folder / "lib").mkdir()
        (folder / "__init__.py").write_text("")
        (folder / "include/cudnn.h").write_text('#include "cudnn_version.h"\n')
        names = zip(("MAJOR", "MINOR", "PATCHLEVEL"), version)
        (folder / "include/cudnn_version.h").write_text(
            "".join(f"#define CUDNN_{name} {number}\n" for name, number in names)
            + "#define CUDNN_VERSION (CUDNN_MAJOR * 10000 + CUDNN_MINOR * 100 + CUDNN_PATCHLEVEL)\n")
        (folder / "lib" / library).write_text("")

    def find(self, *options):
        done = subprocess.run(
            [CMAKE, "-G", GENERATOR, "-S", self.folder, "-B", self.folder / "build",
             f"-DPython3_EXECUTABLE={sys.executable}",
             f"-DCUDAToolkit_LIBRARY_DIR={self.toolkit}/lib",
             f"-DCUDAToolkit_INCLUDE_DIRS={self.toolkit}/include", *options],
            capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(self.folder / "site")})
        self.assertEqual(done.returncode, 0, done.stderr)
        library, include = (self.folder / "build/found").read_text().splitlines()
        said = [line for line in done.stdout.splitlines() if line.startswith("-- cuDNN")]
        return library, include, said

    def expect(self, folder, library, version, *options):
        found, include, said = self.find(*options)
        self.assertEqual((found, Path(include).resolve()), (f"{folder}/lib/{library}", folder / "include"))
        self.assertEqual(said, [f"-- cuDNN {version}: {found}, headers in {include}"])

    def test_the_wheel(self):
        self.install(self.wheel, "libcudnn.so.9", (9, 13, 1))
        (self.wheel / "lib/libcudnn_graph.so.9").write_text("")
        self.expect(self.wheel, "libcudnn.so.9", "9.13.1")
        self.expect(self.wheel, "libcudnn.so.9", "9.13.1")  # again, from the cache

    def test_the_toolkit_comes_first(self):
        self.install(self.wheel, "libcudnn.so.9", (9, 13, 1))
        self.install(self.toolkit, "libcudnn.so", (9, 12, 0))
        self.expect(self.toolkit, "libcudnn.so", "9.12.0")

    def test_a_library_without_the_name_for_linking(self):
        self.install(self.toolkit, "libcudnn.so.9", (9, 1, 2))
        self.expect(self.toolkit, "libcudnn.so.9", "9.1.2")

    def test_the_headers_are_those_of_the_library(self):
        self.install(self.toolkit, "libcudnn.so", (9, 12, 0))
        (self.toolkit / "lib/libcudnn.so").unlink()
        self.assertTrue(self.find()[0].endswith("NOTFOUND"))
        self.install(self.wheel, "libcudnn.so.9", (9, 13, 1))
        self.expect(self.wheel, "libcudnn.so.9", "9.13.1")  # and not the headers in the cache

    def test_the_headers_beside_a_library_that_was_named(self):
        self.install(self.toolkit, "libcudnn.so", (9, 12, 0))
        self.install(self.folder / "own", "libcudnn.so", (9, 14, 0))
        library = self.folder / "own/lib/libcudnn.so"
        self.expect(self.folder / "own", "libcudnn.so", "9.14.0", f"-DCUDNN_LIBRARY={library}")

    def test_half_a_wheel_is_not_taken(self):
        self.install(self.wheel, "libcudnn.so.9", (9, 13, 1))
        (self.wheel / "lib/libcudnn.so.9").unlink()
        library, _, said = self.find()
        self.assertTrue(library.endswith("NOTFOUND"), library)
        self.assertEqual(said, [])

    def test_nothing(self):
        library, include, said = self.find()
        self.assertTrue(library.endswith("NOTFOUND") and include.endswith("NOTFOUND"), (library, include))
        self.assertEqual(said, [])


if __name__ == "__main__":
    unittest.main(buffer=True)
