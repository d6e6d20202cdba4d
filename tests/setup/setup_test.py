"""Tests of tools/setup. The programs that it calls (cmake, apt-get, id) are fakes. apt-get records calls."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# The programs that the script needs. Its PATH contains no others.
TOOLS = ("bash", "env", "dirname", "mktemp", "rm", "sed", "tr", "tail", "uname", "c++", "ninja", "cat",
         "grep", "timeout", "sleep")

# The fake cmake: prints the names of the missing packages, from a file from which the fake apt-get removes
# lines.
CMAKE = """#!/bin/bash
sed 's/ .*//; s/^/missing /' "$STATE/missing"
exit "$(cat "$STATE/cmake_exit" 2>/dev/null || echo 0)"
"""
# Lines of $STATE/missing are "NAME PACKAGE...". The fake apt-get cannot find the packages listed in
# $STATE/unknown.
APT_GET = """#!/bin/bash
echo "$@" >> "$STATE/calls"
sleep "$(cat "$STATE/network_seconds" 2>/dev/null || echo 0)"
case " $* " in *" update "*) exit 100 ;; esac
while read -r package; do
  case " $* " in *" $package "*) echo "E: Unable to locate package $package"; exit 100 ;; esac
done < "$STATE/unknown"
case " $* " in *" --download-only "*) exit ;; esac
rest=$(while read -r name package; do \
case " $* " in *" $package "*) ;; *) echo "$name $package" ;; esac; done < "$STATE/missing")
echo "$rest" | sed '/^$/d' > "$STATE/missing"
"""


class SetupTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.path = self.folder / "bin"
        self.path.mkdir()
        for tool in TOOLS:
            if found := shutil.which(tool):
                (self.path / tool).symlink_to(found)
        self.program("cmake", CMAKE)
        self.program("apt-get", APT_GET)
        self.program("id", "#!/bin/sh\necho ${USER_ID:-0}\n")
        for tool in ("c++", "ninja"):
            if not (self.path / tool).exists():
                self.program(tool, "#!/bin/sh\n")
        self.data = self.folder / "data"
        self.data.mkdir()
        self.state(missing="", unknown="")

    def program(self, name, text):
        (self.path / name).write_text(text)
        (self.path / name).chmod(0o755)

    def state(self, **files):
        for name, text in files.items():
            (self.folder / name).write_text(text)

    def setup(self, *arguments, **variables):
        environment = {"PATH": str(self.path), "STATE": str(self.folder), "RONDO_DATA": str(self.data),
                       **variables}
        done = subprocess.run([ROOT / "tools/setup", *arguments], capture_output=True, text=True,
                              env=environment)
        calls = self.folder / "calls"
        self.calls = calls.read_text().splitlines() if calls.exists() else []
        return done

    def test_where_all_is_found_nothing_is_installed(self):
        done = self.setup("data")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
        self.assertEqual(self.calls, [])

    def test_what_is_optional_is_named_in_a_line_and_stops_nothing(self):
        self.state(missing="MPI openmpi-bin\n")
        done = self.setup(RONDO_DATA=str(self.folder / "absent"))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual([line.split(":")[1] for line in done.stdout.splitlines()],
                         [" not found, left out"] * 2)
        self.assertEqual(self.calls, [])

    def test_what_is_missing_is_installed_and_looked_for_again(self):
        self.state(missing="GTest libgtest-dev\nZLIB zlib1g-dev\nMPI openmpi-bin\n")
        done = self.setup()
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(len(self.calls), 2)
        download, installation = self.calls
        for word in ("libgtest-dev", "zlib1g-dev", "openmpi-bin"):
            self.assertIn(word, download)
            self.assertIn(word, installation)
        for word in ("--download-only", "Acquire::Retries=0", "Acquire::http::Timeout=10"):
            self.assertIn(word, download)
        self.assertIn("--no-download", installation)
        self.assertNotIn("libcli11-dev", download)

    def test_a_network_without_answers_is_given_up(self):
        self.state(missing="GTest libgtest-dev\nMPI openmpi-bin\n", network_seconds="20")
        begin = time.monotonic()
        done = self.setup(RONDO_SETUP_SECONDS="2")  # whole seconds: one may be over at once
        self.assertLess(time.monotonic() - begin, 10)
        self.assertEqual(done.returncode, 1)
        self.assertIn("stopped after RONDO_SETUP_SECONDS=2", done.stderr)
        self.assertEqual(len(self.calls), 1)

    def test_the_time_must_be_a_number(self):
        for value in ("0", "-1", "1.5", "soon", "1000000"):
            done = self.setup(RONDO_SETUP_SECONDS=value)
            self.assertEqual(done.returncode, 2)
            self.assertEqual(done.stderr, f"setup: RONDO_SETUP_SECONDS is '{value}', "
                                          "must be a number of seconds from 1 to 999999\n")

    def test_an_optional_package_that_cannot_be_had_keeps_no_other_out(self):
        self.state(missing="GTest libgtest-dev\nMPI openmpi-bin\n", unknown="openmpi-bin\n")
        done = self.setup()
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("left out: MPI", done.stdout)

    def test_where_nothing_can_be_installed_the_ways_are_told(self):
        self.state(missing="GTest libgtest-dev\n", unknown="libgtest-dev\n")
        done = self.setup()
        self.assertEqual(done.returncode, 1)
        for part in ("could not install GTest", "Unable to locate package libgtest-dev",
                     "apt-get install -y libgtest-dev", "CMAKE_PREFIX_PATH"):
            self.assertIn(part, done.stdout + done.stderr)

    def test_without_rights_the_line_to_run_is_told(self):
        self.state(missing="CLI11 libcli11-dev\n")
        done = self.setup(USER_ID="1000")
        self.assertEqual(done.returncode, 1)
        self.assertIn("sudo apt-get install -y libcli11-dev", done.stderr)
        self.assertEqual(self.calls, [])

    def test_another_distribution(self):
        (self.path / "apt-get").unlink()
        self.assertEqual(self.setup().returncode, 0)
        self.state(missing="benchmark libbenchmark-dev\n")
        done = self.setup()
        self.assertEqual(done.returncode, 1)
        for part in ("benchmark", "not Debian or Ubuntu", "CMAKE_PREFIX_PATH"):
            self.assertIn(part, done.stderr)

    def test_without_cmake_everything_is_asked_for(self):
        (self.path / "cmake").unlink()
        done = self.setup()
        self.assertEqual(done.returncode, 1)  # the fake apt-get does not install it
        self.assertIn("libgtest-dev", self.calls[0])
        self.assertIn(" cmake ", self.calls[0])

    def test_a_cmake_that_fails_is_not_taken_for_one_that_finds_all(self):
        self.state(cmake_exit="1")
        done = self.setup()
        self.assertEqual(done.returncode, 1)
        self.assertIn("CMake could not look", done.stderr)

    def test_the_data_set_is_needed_to_train(self):
        done = self.setup("data", RONDO_DATA=str(self.folder / "absent"))
        self.assertEqual(done.returncode, 1)
        self.assertIn("dataset-fashion-mnist", self.calls[0])
        self.assertIn("RONDO_DATA", done.stderr)


class NeedsTest(unittest.TestCase):
    """The real CMake finds sources and headers below a prefix."""

    # Where the packages of this machine are said to be: not a part of the test.
    PLACES = re.compile("CMAKE_(PREFIX|INCLUDE|LIBRARY)_PATH|.*_ROOT|.*_DIR|FETCHCONTENT_.*")

    def missing(self, *options, **variables):
        environment = {name: value for name, value in os.environ.items() if not self.PLACES.fullmatch(name)}
        with tempfile.TemporaryDirectory() as scratch:
            done = subprocess.run(["cmake", "-S", ROOT / "tools/cmake/needs", "-B", scratch, *options],
                                  capture_output=True, text=True, env={**environment, **variables})
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        text = done.stdout + done.stderr
        return {line.split()[1] for line in text.splitlines() if line.startswith("missing ")}

    # Options that hide installed packages from find_package() and find_path().
    BARE = [f"-DCMAKE_DISABLE_FIND_PACKAGE_{name}=ON"
            for name in ("GTest", "benchmark", "CLI11", "nlohmann_json")] + [
        "-DCMAKE_IGNORE_PREFIX_PATH=/usr;/usr/local"]

    def test_without_any(self):
        missing = self.missing(*self.BARE)
        self.assertLessEqual({"benchmark", "CLI11", "nlohmann_json"}, missing)

    def test_below_a_prefix(self):
        with tempfile.TemporaryDirectory() as name:
            prefix = Path(name)
            for file in ("src/googletest/CMakeLists.txt", "src/googletest/googletest/include/gtest/gtest.h",
                         "benchmark/CMakeLists.txt", "benchmark/include/benchmark/benchmark.h",
                         "include/CLI/CLI.hpp", "json/include/nlohmann/json.hpp"):
                (prefix / file).parent.mkdir(parents=True, exist_ok=True)
                (prefix / file).write_text("")
            both = {"CMAKE_PREFIX_PATH": f"/nowhere:{prefix}", "nlohmann_json_ROOT": str(prefix / "json")}
            self.assertFalse({"GTest", "benchmark", "CLI11", "nlohmann_json"}
                             & self.missing(*self.BARE, **both))
            named = {"FETCHCONTENT_SOURCE_DIR_BENCHMARK": str(prefix / "benchmark"),
                     "GTest_ROOT": str(prefix / "src/googletest"), "CLI11_ROOT": str(prefix)}
            self.assertFalse({"GTest", "benchmark", "CLI11"} & self.missing(*self.BARE, **named))


if __name__ == "__main__":
    unittest.main(buffer=True)
