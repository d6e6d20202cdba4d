"""Tests of tools/platform.sh. nvcc, nvidia-smi and cmake are fakes."""

import os
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

NVCC = """#!/bin/sh
case "$1" in
  --version) echo "Cuda compilation tools, release ${NVCC_RELEASE:-13.0}, V13.0.88" ;;
  --list-gpu-arch) for a in ${NVCC_KNOWS:-75 80 86 89 90 100 120}; do echo compute_$a; done ;;
esac
"""
NVIDIA_SMI = """#!/bin/sh
[ -n "$CAPABILITIES" ] || exit 9
case "$1" in
  -L) echo "GPU 0: one" ;;
  *) for c in $CAPABILITIES; do echo $c; done ;;
esac
"""


class PlatformTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        (self.folder / "bin").mkdir()
        self.program("nvcc", NVCC)
        self.program("nvidia-smi", NVIDIA_SMI)

    def program(self, name, text):
        path = self.folder / "bin" / name
        path.write_text(text)
        path.chmod(0o755)

    def run_script(self, script, **variables):
        environment = {key: value for key, value in os.environ.items() if key not in ("CUDACXX", "CUDAARCHS")}
        environment.update(PATH=f"{self.folder}/bin:{environment['PATH']}", **variables)
        script = f'set -euo pipefail; source "{ROOT}/tools/platform.sh"; {script}'
        return subprocess.run(["bash", "-c", script], capture_output=True, text=True, env=environment)

    def platform(self, **variables):
        done = self.run_script('echo "$preset|$architectures|$preset_reason"', **variables)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.strip().split("|")

    def test_architectures_are_those_of_the_gpus(self):
        for capabilities, architectures in (("7.5", "75-real"), ("9.0", "90-real"),
                                            ("9.0 8.0 9.0", "80-real;90-real"),
                                            ("12.0", "120-real"), ("7.0 8.6", "86-real"),
                                            # nvcc does not support these two
                                            ("8.7", "86"), ("12.1", "120")):
            self.assertEqual(self.platform(CAPABILITIES=capabilities)[:2], ["cuda", architectures],
                             capabilities)

    def test_an_older_gpu_is_left_to_the_executor(self):
        preset, _, reason = self.platform(CAPABILITIES="7.0", NVCC_KNOWS="50 60 70 75 80 90")
        self.assertEqual(preset, "cpu")
        self.assertIn("7.5", reason)

    def test_without_a_gpu_or_a_new_enough_nvcc(self):
        self.assertEqual(self.platform(CAPABILITIES="")[:2], ["cpu", "90-real"])
        preset, _, reason = self.platform(CAPABILITIES="9.0", NVCC_RELEASE="12.4")
        self.assertEqual(preset, "cpu")
        self.assertIn("nvcc is 12.4 and 12.8 is needed", reason)

    def test_the_environment_names_others(self):
        self.assertEqual(self.platform(CAPABILITIES="9.0", CUDAARCHS="75;80")[1], "75;80")

    def build(self, build_output, exit_code=0, command="build cpu"):
        """Builds in a checkout of its own, with a fake cmake that prints `build_output` and records its
        options."""
        tools = self.folder / "checkout/tools"
        tools.mkdir(parents=True, exist_ok=True)
        (tools / "platform.sh").write_text((ROOT / "tools/platform.sh").read_text())
        (self.folder / "output").write_text(build_output)
        self.program("cmake", f"#!/bin/sh\nfor word; do echo \"$word\"; done >> {self.folder}/options\n"
                              f"case $1 in\n--preset) echo '-- one is left out: no two' ;;\n"
                              f"*) cat {self.folder}/output; exit {exit_code} ;;\nesac\n")
        environment = dict(os.environ, PATH=f"{self.folder}/bin:{os.environ['PATH']}")
        return subprocess.run(["bash", "-c", f'set -euo pipefail; source "{tools}/platform.sh"; {command}'],
                              capture_output=True, text=True, env=environment)

    def test_warnings_of_a_build_are_shown(self):
        done = self.build("[1/2] Building x.o\nx.cpp:1: warning: a dangling reference\n   1 | int& x\n"
                          "[2/2] Linking x\n")
        self.assertEqual(done.returncode, 0)
        self.assertIn("warning: a dangling reference\n   1 | int& x", done.stderr)
        self.assertNotIn("Linking", done.stderr)
        self.assertEqual(done.stdout, "one is left out: no two\n")

    def test_a_build_without_warnings_is_silent(self):
        self.assertEqual(self.build("[1/1] Building warning.o\n").stderr, "")

    def test_a_build_that_fails_shows_its_end(self):
        done = self.build("[1/2] Building x.o\nx.cpp:1: error: no such thing\n", exit_code=1)
        self.assertEqual(done.returncode, 1)
        self.assertIn("no such thing", done.stderr)
        self.assertIn("building preset cpu failed", done.stderr)


if __name__ == "__main__":
    unittest.main(buffer=True)
