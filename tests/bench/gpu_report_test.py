"""Tests of tools/gpu-report. Argument: the build folder for which the tests make a quick report."""

import argparse
import json
import os
import stat
import subprocess
import sys
import tempfile
import time
import unittest
import unittest.mock
from pathlib import Path

import side_by_side

ROOT = Path(__file__).resolve().parents[2]
COMMAND = ROOT / "tools/gpu-report"
sys.path.insert(0, str(ROOT / "tools"))
from gpu_report import checks, gtest, machine, markdown, sanitizer, steps, targets  # noqa: E402
from gpu_report.runner import Runner  # noqa: E402
from peers import launch, recipes  # noqa: E402

BUILD = Path(sys.argv.pop(1)) if len(sys.argv) > 1 else ROOT / "build/cpu"


STAND_IN = BUILD / "tests/bench/vendor_stand_in"
HAS_STAND_IN = (STAND_IN / "gemm_beside_stand_in").exists()


def vendor_program(kind):
    """bench_gemm_beside_cublas or bench_conv_beside_cudnn with the stand-in for the vendor's library."""
    return STAND_IN / f"{kind}_beside_stand_in"


class InTemporaryFolder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)


class RunnerTest(InTemporaryFolder):
    def runner(self, seconds=60):
        return Runner(self.folder / "logs", seconds)

    def test_a_step_that_ends_well(self):
        runner = self.runner()
        self.assertTrue(runner.run("good", ["true"], limit=5))
        self.assertEqual(runner.steps[0]["state"], "passed")

    def test_a_step_that_fails_is_recorded_with_its_last_line(self):
        runner = self.runner()
        self.assertFalse(runner.run("bad", ["sh", "-c", "echo the reason; exit 3"], limit=5))
        self.assertEqual(runner.steps[0]["state"], "failed")
        self.assertEqual(runner.steps[0]["note"], "exit code 3: the reason")
        self.assertTrue(runner.run("next", ["true"], limit=5))

    def test_a_step_that_takes_too_long_is_stopped_with_its_children(self):
        runner = self.runner()
        mark = self.folder / "child_went_on"
        self.assertFalse(runner.run("slow", ["sh", "-c", f"(sleep 3; touch {mark}) & sleep 60"], limit=1))
        self.assertEqual(runner.steps[0]["state"], "timed out")
        self.assertLess(runner.steps[0]["seconds"], 3)
        subprocess.run(["sleep", "3"], check=True)
        self.assertFalse(mark.exists())

    def test_a_program_that_is_not_there(self):
        runner = self.runner()
        self.assertFalse(runner.run("absent", [self.folder / "nothing"], limit=5))
        self.assertEqual(runner.steps[0]["state"], "failed")

    def test_a_part_ends_with_its_share_of_what_is_left(self):
        runner = self.runner(seconds=40)
        runner.begin_part(1 / 20)
        self.assertFalse(runner.run("slow", ["sleep", "30"], limit=30))
        self.assertLess(runner.steps[0]["seconds"], 4)
        runner.begin_part(1)
        self.assertGreater(runner.left(), 30)

    def test_after_the_deadline_nothing_is_started(self):
        runner = self.runner(seconds=0)
        self.assertFalse(runner.run("late", ["touch", self.folder / "started"], limit=5))
        self.assertEqual(runner.steps[0]["state"], "skipped")
        self.assertFalse((self.folder / "started").exists())


# A fake GoogleTest program. A file beside it has a line "NAME DEED" for each test, with the outcome of the
# test.
FAKE_PROGRAM = """#!/usr/bin/env python3
import json, os, sys, time
from pathlib import Path
deeds = [line.split() for line in Path(__file__ + ".deeds").read_text().splitlines()]
arguments = dict(part.split("=", 1) for part in sys.argv[1:] if "=" in part)
left_out = arguments.get("--gtest_filter", "-")[1:].split(":")
ran = []
for name, deed in deeds:
    if name in left_out:
        continue
    print(f"[ RUN      ] {name}", flush=True)
    if deed == "hangs": time.sleep(600)
    if deed == "crashes": os.abort()
    word = {"passes": "      OK", "fails": " FAILED ", "skips": " SKIPPED"}.get(deed, "      OK")
    print(f"[ {word} ] {name} ({3000 if deed == 'is_slow' else 12} ms)", flush=True)
    ran.append((name, deed))
print(f"[==========] {len(ran)} tests from 1 test suite ran. (1 ms total)", flush=True)
output = arguments.get("--gtest_output", "")[5:]
if output:
    suites = [{"name": name.split(".")[0], "testsuite": [
        {"name": name.split(".")[1], "status": "RUN", "time": "3.5s" if deed == "is_slow" else "0.012s",
         "result": "SKIPPED" if deed == "skips" else "COMPLETED",
         **({"failures": [{}]} if deed == "fails" else {})}]} for name, deed in ran]
    Path(output).write_text(json.dumps({"testsuites": suites}))
sys.exit(any(deed == "fails" for _, deed in ran))
"""


class TestProgramsTest(InTemporaryFolder):
    def setUp(self):
        super().setUp()
        self.runner = Runner(self.folder / "logs", 60)

    def program(self, **deeds):
        return fake_program(self.folder / "fake_test", deeds)

    def run_program(self, program, limit=30, **more):
        return gtest.run_program(self.runner, "test fake", [program], limit=limit, silence=1, **more)

    def outcomes(self, outcome):
        return {name: what for name, (what, _) in outcome.tests.items()}

    def test_results_are_googletests_own(self):
        outcome = self.run_program(self.program(A="passes", B="fails", C="skips", D="is_slow"),
                                   results=self.folder / "own.json")
        self.assertEqual(self.outcomes(outcome),
                         {"S.A": "OK", "S.B": "FAILED", "S.C": "SKIPPED", "S.D": "OK"})
        self.assertEqual(outcome.tests["S.D"][1], 3.5)
        self.assertTrue(outcome.complete)
        self.assertEqual([step["state"] for step in self.runner.steps], ["failed"])

    def test_a_test_that_hangs_is_named_and_the_others_have_their_turn(self):
        for results in (None, self.folder / "own.json"):
            outcome = self.run_program(
                self.program(A="passes", B="hangs", C="fails", D="hangs", E="passes"), results=results)
            self.assertEqual(self.outcomes(outcome),
                             {"S.A": "OK", "S.B": "HUNG", "S.C": "FAILED", "S.D": "HUNG", "S.E": "OK"})
            self.assertTrue(outcome.complete)
        self.assertEqual(self.runner.steps[0]["state"], "timed out")
        self.assertIn("hung in S.B", self.runner.steps[0]["note"])

    def test_a_test_that_crashes_is_named_and_the_others_have_their_turn(self):
        outcome = self.run_program(self.program(A="passes", B="crashes", C="passes"),
                                   results=self.folder / "own.json")
        self.assertEqual(self.outcomes(outcome), {"S.A": "OK", "S.B": "CRASHED", "S.C": "OK"})
        self.assertEqual(self.runner.steps[0]["state"], "failed")
        self.assertIn("crashed in S.B", self.runner.steps[0]["note"])

    def test_a_fault_of_the_device_does_not_reach_other_tests(self):
        program = BUILD / "tests/bench/faulty_program"
        outcome = gtest.run_program(self.runner, "test fault", [program], limit=100, silence=50)
        self.assertEqual({name: what for name, (what, _) in outcome.tests.items()},
                         {"Fault.Before": "OK", "Fault.Itself": "CRASHED", "Fault.Without": "FAILED",
                          "Fault.After": "OK"})
        self.assertTrue(outcome.complete)
        self.assertIn("device 0 has failed", (self.folder / "logs/test_fault.txt").read_text())

    def test_when_the_time_is_up_the_running_test_is_named(self):
        begin = time.monotonic()
        outcome = gtest.run_program(self.runner, "test fake",
                                    [self.program(A="passes", B="hangs", C="passes")], limit=2, silence=50)
        self.assertLess(time.monotonic() - begin, 10)
        self.assertEqual(self.outcomes(outcome), {"S.A": "OK", "S.B": "STOPPED"})
        self.assertFalse(outcome.complete)

    def test_a_program_that_ends_between_two_tests(self):
        program = self.folder / "fake_test"
        program.write_text("#!/bin/sh\n"
                           "echo '[ RUN      ] S.A'; echo '[       OK ] S.A (0 ms)'; "
                           "echo no device; exit 3\n")
        program.chmod(0o755)
        outcome = self.run_program(program)
        self.assertFalse(outcome.complete)
        self.assertEqual(self.runner.steps[0]["note"], "exit code 3: no device; ended between two tests")

    def test_a_filter_that_is_too_long_names_suites(self):
        names = [f"Suite{number}.Test{'x' * 100}{test}" for number in range(40) for test in range(50)]
        pattern = gtest.filter_without(names)
        self.assertLess(len(pattern), gtest.LONGEST_FILTER)
        self.assertIn("Suite0.*:", pattern)
        self.assertNotIn("Suite39.*", pattern)
        self.assertTrue(pattern.endswith(names[-1]))


def fake_program(path, deeds):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(FAKE_PROGRAM)
    path.chmod(0o755)
    Path(f"{path}.deeds").write_text("".join(f"S.{name} {deed}\n" for name, deed in deeds.items()))
    return path


# What compute-sanitizer prints about kernels with mbarriers, and about others.
RING = """========= Barrier error detected. Missing wait.
=========     at rondo::ptx::mbarrier_arrive(unsigned long *)+0x1a0 in mbarrier.cuh:50
=========     by thread (0,0,0) in block (1,0,0)
=========         Device Frame: void conv2d_wgmma_kernel<float>(Parameters)+0x20 in conv2d_wgmma.cuh:150
=========     Saved host backtrace up to driver entry point at kernel launch time
=========         Host Frame: main in gemm_test.cpp:12 [0x1234]
=========
========= Barrier error detected. Missing wait.
=========     at rondo::ptx::mbarrier_arrive(unsigned long *)+0x1a0 in mbarrier.cuh:50
=========     by thread (32,0,0) in block (7,0,0)
=========         Device Frame: void conv2d_wgmma_kernel<float>(Parameters)+0x20 in conv2d_wgmma.cuh:150
=========
========= Error: Race reported between Write access at void gemm_persistent_kernel<Tile>(T1)+0x70
=========     and Read access at void gemm_persistent_kernel<Tile>(T1)+0x130 [1024 hazards]
=========
"""
PLAIN = """========= Invalid __shared__ read of size 4 bytes
=========     at max_pool_kernel(Parameters)+0x30 in max_pool.cu:50
=========     by thread (0,0,0) in block (0,0,0)
"""


class SanitizerTest(unittest.TestCase):
    def test_reports_are_read_once_without_the_frames_of_the_host(self):
        text = ("[ RUN      ] A.B\n========= COMPUTE-SANITIZER\n" + RING + "[       OK ] A.B (3 ms)\n" + PLAIN
                + "========= RACECHECK SUMMARY: 3 hazards displayed (3 errors, 0 warnings)\n"
                + "=========     and what is no part of a report\n")
        reports = sanitizer.read_reports(text)
        self.assertEqual([one["times"] for one in reports], [2, 1, 1])
        self.assertEqual(reports[0]["text"].splitlines(),
                         ["Barrier error detected. Missing wait.",
                          "    at rondo::ptx::mbarrier_arrive(unsigned long *)+0x1a0 in mbarrier.cuh:50",
                          "    by thread (0,0,0) in block (1,0,0)",
                          "        Device Frame: void conv2d_wgmma_kernel<float>(Parameters)+0x20 in "
                          "conv2d_wgmma.cuh:150"])
        self.assertEqual(reports[2]["text"].count("\n"), 2)

    def test_a_program_without_reports(self):
        self.assertEqual(sanitizer.read_reports("========= COMPUTE-SANITIZER\n[==========] 1 test ran\n"
                                                "========= ERROR SUMMARY: 0 errors\n"), [])

    def test_kernels_with_mbarriers_are_found_in_the_sources(self):
        names = sanitizer.names_of_mbarrier_kernels()
        for name in ("gemm_tc_06_warp_specialized_kernel", "gemm_persistent_tf32x3_kernel",
                     "gemm_clusters_kernel", "gemm_stream_k_kernel", "conv2d_wgmma_kernel",
                     "filter_gradient_wgmma_kernel", "warp_specialized.cuh", "mbarrier.cuh"):
            self.assertIn(name, names)
        for name in ("max_pool_kernel", "conv2d_kernel.cuh", "pipelined.cuh", "epilogue.cuh",
                     "gemm_tc_03_ldmatrix.cu", "cp_async.cuh"):
            self.assertNotIn(name, names)

    def test_only_the_checkers_of_barriers_are_known_to_err(self):
        ring = sanitizer.read_reports(RING)[0]
        self.assertEqual([sanitizer.is_known(checker, ring) for checker in checks.CHECKERS],
                         [checker != "memcheck" for checker in checks.CHECKERS])


class ChecksTest(InTemporaryFolder):
    """Tests and checkers of a build for GPUs, with fake test programs and a fake compute-sanitizer."""

    def setUp(self):
        super().setUp()
        self.build = self.folder / "build"
        self.build.mkdir()
        self.programs = []
        tool = self.folder / "bin/compute-sanitizer"
        tool.parent.mkdir()
        # Reports errors in each program: those of a file beside the program, if there is one. synccheck hangs
        # in a program without such files.
        tool.write_text("#!/bin/sh\n"
                        f"echo \"$@\" >> {self.folder}/calls\n"
                        "checker=$2\n"
                        "while [ \"${1#/}\" = \"$1\" ]; do shift; done\n"
                        "[ $checker != synccheck ] || [ -e $1.memcheck ] || sleep 600\n"
                        "\"$@\"; test -e $1.$checker && cat $1.$checker\n"
                        "echo '========= ERROR SUMMARY: 3 errors'; exit 99\n")
        tool.chmod(0o755)
        path = os.environ["PATH"]
        os.environ["PATH"] = f"{tool.parent}:{path}"
        self.addCleanup(os.environ.__setitem__, "PATH", path)

    def add(self, name, labels, **deeds):
        path = fake_program(self.build / "tests" / name, deeds)
        self.programs.append(f"{name}\t{path}\t{labels}\n")

    def checks(self, seconds, quick=False):
        (self.build / "test_programs.txt").write_text("".join(self.programs))
        self.runner = Runner(self.folder / "logs", seconds)
        parts = checks.Checks(self.runner, self.build, self.folder, "cuda", "/nowhere/nvcc", quick)
        parts.silence = lambda: 2
        return parts

    def report(self, seconds=30, quick=False):
        parts = self.checks(seconds, quick)
        report = {}
        parts.tests(report)
        parts.sanitizer(report)
        return report

    def test_a_program_at_a_time(self):
        self.add("kernel_test", "kernels", A="passes", Slow="is_slow", B="hangs", C="passes")
        self.add("net_test", "nn", A="fails", B="crashes")
        self.add("ring_test", "collectives", A="passes", B="crashes")
        self.add("grid_test", "heavy", A="passes")
        report = self.report()
        tests = report["tests"]
        self.assertEqual(sorted(tests["failed"]), ["kernel_test.S.B (hung)", "net_test.S.A",
                                                   "net_test.S.B (crashed)", "ring_test.S.B (crashed)"])
        self.assertEqual((tests["tests"], tests["failures"], tests["incomplete"]), (8, 4, []))

        memcheck = report["sanitizer"]["memcheck"]["kernel_test"]
        self.assertEqual(memcheck["left_out"], ["S.Slow", "S.B"])
        self.assertEqual((memcheck["tests"], memcheck["complete"]), (2, True))
        self.assertEqual(report["sanitizer"]["memcheck"]["ring_test"]["failed"], ["S.B (crashed)"])
        states = {step["name"]: (step["state"], step["note"]) for step in self.runner.steps}
        self.assertEqual(states["memcheck kernel_test"],
                         ("failed", "exit code 99: ========= ERROR SUMMARY: 3 errors"))
        self.assertEqual(states["synccheck kernel_test"][0], "timed out")
        self.assertNotIn("memcheck net_test", states)
        calls = (self.folder / "calls").read_text().splitlines()
        self.assertEqual(["--report-api-errors no" in call for call in calls],
                         ["memcheck" in call for call in calls])
        self.assertEqual({call.split()[1] for call in calls}, {"memcheck", "racecheck", "synccheck"})

    def test_reports_of_kernels_with_mbarriers_are_no_failures_of_racecheck_and_synccheck(self):
        for program, of in (("ring_test", RING), ("plain_test", PLAIN), ("both_test", RING + PLAIN)):
            self.add(program, "kernels", A="passes")
            for checker in checks.CHECKERS:
                (self.build / f"tests/{program}.{checker}").write_text(of)
        self.add("failing_test", "kernels", A="fails")
        for checker in checks.CHECKERS:
            (self.build / f"tests/failing_test.{checker}").write_text(RING)
        report = self.report()
        states = {step["name"]: (step["state"], step["note"]) for step in self.runner.steps}
        for checker in checks.CHECKERS:
            for program in ("plain_test", "both_test", "failing_test"):
                self.assertEqual(states[f"{checker} {program}"][0], "failed")
            self.assertIn("reports: 1, the first: Invalid __shared__ read",
                          states[f"{checker} plain_test"][1])
        self.assertEqual(states["memcheck ring_test"][0], "failed")
        for checker in ("racecheck", "synccheck"):
            self.assertEqual(states[f"{checker} ring_test"],
                             ("reported", "reports of kernels with mbarriers, to be read: 2"))
            self.assertEqual([(one["known"], one["times"]) for one in
                              report["sanitizer"][checker]["both_test"]["reports"]],
                             [(True, 2), (True, 1), (False, 1)])
        text = markdown.sanitizer(report)
        plain, known = text.split("### Reports of kernels with mbarriers")
        self.assertIn("Invalid __shared__ read", plain)
        for of, line in ((known, "Race reported between Write access at void gemm_persistent_kernel"),
                         (known, "Barrier error detected. Missing wait."),
                         (known, "racecheck ring_test, racecheck both_test, "),
                         (plain, "| racecheck both_test | 1 | 0 |  |  | 1 | 2 |"),
                         (plain, "- memcheck: 4 tests in 4 programs, 1 failed, 8 reports\n"),
                         (plain, "- racecheck: 4 tests in 4 programs, 1 failed, 2 reports, 6 of kernels with "
                                 "mbarriers\n")):
            self.assertIn(line, of)

    def test_a_checker_that_found_nothing_has_one_line(self):
        for name in ("a_test", "b_test"):
            self.add(name, "kernels", A="passes", B="passes", C="is_slow")
            for checker in checks.CHECKERS:
                (self.build / f"tests/{name}.{checker}").write_text("")
        self.add("ring_test", "collectives", A="passes", B="hangs")  # for memcheck alone
        parts, report = self.checks(seconds=12), {}
        parts.seconds = {name: {"S.A": 0.1, "S.C": 3.0} for name in ("a_test", "b_test")}
        parts.jobs, parts.silence = 3, lambda: None
        parts.sanitizer(report)
        text = markdown.sanitizer(report)
        for line in ("- synccheck: 4 tests in 2 programs, 0 reports; 2 tests left out as slow\n",
                     "- memcheck: 6 tests in 3 programs, 0 reports; not all tests of 1 program; "
                     "2 tests left out as slow\n",
                     "| memcheck ring_test | 2 | 0 | not all: stopped in S.B |  |  |  |\n"):
            self.assertIn(line, text)
        for program in ("a_test", "b_test"):
            self.assertNotIn(f" {program} ", text)

    def test_a_program_that_could_not_start_is_no_report_of_a_checker(self):
        self.assertEqual(sanitizer.read_reports(
            "========= Error: Target application terminated before first instrumented API call\n"), [])
        run = {"tests": 0, "left_out": [], "complete": False, "failed": [], "stopped": [], "reports": []}
        text = markdown.sanitizer({"sanitizer": {"memcheck": {"a_test": run}}})
        self.assertIn("- memcheck: 0 tests in 0 programs, 0 reports; 1 program ran no test\n", text)
        self.assertIn("| memcheck a_test | 0 | 0 | none |  |  |  |\n", text)

    def test_the_time_that_a_checker_leaves_is_used_by_the_next(self):
        self.add("kernel_test", "kernels", A="passes")
        for checker in checks.CHECKERS:
            (self.build / f"tests/kernel_test.{checker}").write_text("")
        parts, limits = self.checks(seconds=90), {}
        run_program = gtest.run_program

        def note_the_limit(runner, name, command, limit, **more):
            limits[name] = limit
            return run_program(runner, name, command, limit, **more)

        with unittest.mock.patch.object(gtest, "run_program", note_the_limit):
            parts.sanitizer({})
        # Each ends at once: a third, a half, all of what is left.
        self.assertEqual([name for name, _ in sorted(limits.items(), key=lambda item: item[1])],
                         ["synccheck kernel_test", "memcheck kernel_test", "racecheck kernel_test"])
        self.assertGreater(limits["racecheck kernel_test"], 75)

    def test_short_programs_come_first(self):
        for name in ("long_test", "short_test", "middle_test"):
            self.add(name, "kernels", A="passes", B="passes")
            (self.build / f"tests/{name}.memcheck").write_text("")
        parts = self.checks(seconds=30)
        parts.jobs = 1
        # What is left out as slow does not count.
        parts.seconds = {"long_test": {"S.A": 0.4}, "middle_test": {"S.A": 0.2}, "short_test": {"S.B": 9.0}}
        parts.sanitizer({})
        self.assertEqual([step["name"] for step in self.runner.steps][:3],
                         ["synccheck short_test", "synccheck middle_test", "synccheck long_test"])

    def test_programs_that_share_a_gpu_have_enough_connections(self):
        asks = self.build / "tests/asks_test"
        fake_program(asks, {"A": "passes"})
        asks.write_text(asks.read_text().replace(
            "ran = []", "ran = []\nprint('connections:', os.environ.get('CUDA_DEVICE_MAX_CONNECTIONS'))"))
        self.programs.append(f"asks_test\t{asks}\tkernels\n")
        for theirs, wanted in ((None, "32"), ("1", "1")):
            with unittest.mock.patch.dict(os.environ):
                os.environ.pop("CUDA_DEVICE_MAX_CONNECTIONS", None)
                if theirs:
                    os.environ["CUDA_DEVICE_MAX_CONNECTIONS"] = theirs
                self.report()
            for step in ("test_asks_test", "memcheck_asks_test"):
                self.assertIn(f"connections: {wanted}\n", (self.folder / f"logs/{step}.txt").read_text())
        on_cpu = checks.Checks(self.runner, self.build, self.folder, "cpu", None, False)
        self.assertEqual(on_cpu.environment, {})

    def test_everything_ends_within_the_time(self):
        for number in range(12):
            self.add(f"kernel{number}_test", "kernels", A="hangs", B="hangs", C="hangs", D="hangs")
        begin = time.monotonic()
        self.report(seconds=6)
        self.assertLess(time.monotonic() - begin, 9)
        self.assertIn("skipped", {step["state"] for step in self.runner.steps})

    def test_each_checker_has_its_share_of_the_time(self):
        for number in range(12):
            self.add(f"kernel{number}_test", "kernels", A="hangs")
        parts = self.checks(seconds=5)
        parts.jobs = 4  # three rounds of programs
        parts.sanitizer({})
        calls = (self.folder / "calls").read_text().splitlines()
        self.assertEqual({call.split()[1] for call in calls}, set(checks.CHECKERS))


class ClocksTest(InTemporaryFolder):
    def test_the_clocks_are_read_again_and_again(self):
        driver = self.folder / "nvidia-smi"
        driver.write_text("#!/bin/sh\necho 1980, 2619, 650.5, 61, 0x4\n")
        driver.chmod(0o755)
        with unittest.mock.patch.dict(os.environ, PATH=f"{self.folder}:{os.environ['PATH']}"):
            with machine.ClockWatch(seconds_between=0.01) as clocks:
                end = time.monotonic() + 30
                while len(clocks.samples) < 2 and time.monotonic() < end:
                    time.sleep(0.01)
        self.assertGreaterEqual(len(clocks.samples), 2)
        self.assertEqual(clocks.samples[0]["clocks.sm"], "1980")
        self.assertEqual(clocks.samples[1]["clocks_throttle_reasons.active"], "0x4")


class FilesTest(InTemporaryFolder):
    def test_a_benchmark_that_was_stopped_keeps_what_it_had_written(self):
        path = self.folder / "stopped.json"
        path.write_text('{"context": {"a": 1}, "benchmarks": [{"name": "one"}, {"name": "two"},')
        self.assertEqual([entry["name"] for entry in steps.read_benchmark(path)["benchmarks"]],
                         ["one", "two"])

    def test_a_benchmark_that_wrote_nothing(self):
        self.assertEqual(steps.read_benchmark(self.folder / "absent.json")["benchmarks"], [])

    def test_the_first_epoch_is_not_in_the_time_of_an_epoch(self):
        path = self.folder / "log.csv"
        path.write_text("epoch,seconds,test_accuracy\n1,9,0.1\n2,2,0.5\n3,4,0.8\n")
        self.assertEqual(steps.read_log(path)["sec_per_epoch"], 3)
        self.assertEqual(steps.read_log(path)["test_accuracy"], 0.8)

    def test_quantities_for_people(self):
        self.assertEqual(markdown.quantity(1.234e12, "FLOP/s"), "1.23 TFLOP/s")
        self.assertEqual(markdown.quantity(12.5e-6, "s"), "12.5 µs")
        self.assertEqual(markdown.quantity(0, "s"), "0 s")


    def test_the_vendors_libraries_are_named(self):
        self.assertEqual(markdown.libraries({"cudnn_library": "/site/libcudnn.so.9", "cudnn_version": "91301",
                                             "commit": "abc"}), "cudnn 91301: /site/libcudnn.so.9\n\n")


def benchmark(name, share=None, **more):
    return {"name": f"{name}/manual_time", "run_type": "iteration", "real_time": 1.0, "time_unit": "us",
            **({} if share is None else {"share": share}), **more}


def report_of(gpu="NVIDIA H100 80GB HBM3", gemms=(), convolutions=(), networks=None, **more):
    """A report of a GPU with these results."""
    programs = {targets.GEMM_PROGRAM: gemms, targets.CONVOLUTION_PROGRAM: convolutions}
    report = {"preset": "cuda", "quick": False, "machine": {"gpus": [{"name": gpu}]},
              "benchmarks": {program: {"benchmarks": list(entries)} for program, entries in programs.items()},
              "networks": networks or {},
              "steps": [{"name": program, "state": "passed"} for program in programs], **more}
    report["convolution_means"] = targets.convolution_means(report)
    report["targets"] = targets.compare(report)
    return report


class TargetsTest(unittest.TestCase):
    def rows(self, report):
        return {row["target"]: (row["measured"], row["reached"]) for row in report["targets"]}

    def test_the_mean_of_convolutions_is_geometric_by_type_and_pass(self):
        report = report_of(convolutions=[
            benchmark("rondo_bf16/a/forward", 0.5), benchmark("rondo_bf16/b/forward", 2.0),
            benchmark("rondo_bf16/c/forward", 8.0), benchmark("rondo_bf16/a/data_gradient", 0.25),
            benchmark("cudnn_bf16/a/forward", 0.01), benchmark("rondo_tf32/a/forward", 3.0),
            benchmark("rondo_tf32/a/filter_gradient", 12.0)])
        means = {(row["type"], row["pass"]): row for row in report["convolution_means"]}
        self.assertEqual(len(means), 8)
        for key, convolutions, mean, least in (
                (("bf16", "forward"), 3, 2.0, (0.5, "a")), (("bf16", "data_gradient"), 1, 0.25, (0.25, "a")),
                (("bf16", "filter_gradient"), 0, None, (None, None)),
                (("bf16", "all passes"), 4, 2.0 ** 0.25, (0.25, "a, data_gradient")),
                (("tf32", "all passes"), 2, 6.0, (3.0, "a, forward"))):
            row = means[key]
            self.assertEqual((row["convolutions"], row["failed"]), (convolutions, 0), key)
            self.assertEqual((row["least"], row["least_of"]), least, key)
            if mean is None:
                self.assertIsNone(row["mean"])
            else:
                self.assertAlmostEqual(row["mean"], mean, places=12)
        text = markdown.convolutions(report)
        self.assertIn("| bf16 | forward | 3 |  | 2.000 | 0.500: a |", text)
        self.assertIn("| bf16 | all passes | 4 |  | 1.189 | 0.250: a, data gradient |", text)

    def test_a_mean_over_a_part_reaches_nothing(self):
        good = [benchmark("rondo_bf16/a/forward", 4.0), benchmark("rondo_bf16/b/forward", 1.0)]
        mean = "convolutions in bf16, geometric mean"
        self.assertEqual(self.rows(report_of(convolutions=good))[mean], (2.0, True))
        for broken in (benchmark("rondo_bf16/c/forward", error_occurred=True, error_message="wrong"),
                       benchmark("rondo_bf16/c/forward", 2.0, error_occurred=True),
                       benchmark("rondo_bf16/c/forward", float("nan")),
                       benchmark("rondo_bf16/c/forward", 0.0)):
            report = report_of(convolutions=[*good, broken])
            self.assertEqual(self.rows(report)[mean], (2.0, None))
            self.assertIn("| bf16 | forward | 2 | 1 | 2.000 | 1.000: b |", markdown.convolutions(report))
        for state in ("timed out", "failed"):
            stopped = report_of(convolutions=good,
                                steps=[{"name": targets.CONVOLUTION_PROGRAM, "state": state}])
            self.assertEqual(self.rows(stopped)[mean], (2.0, None))
            self.assertIn("cuDNN in bf16 | 2.000 | measured in part |", markdown.targets_table(stopped))

    def test_a_ratio_must_be_at_least_its_target(self):
        names = {"rondo_bf16/gemm/4096x4096x4096/nn": ("GEMM in bf16, 4096 x 4096 x 4096, nn", 1.0),
                 "rondo_tf32/gemm/8192x8192x8192/nt": ("GEMM in tf32, 8192 x 8192 x 8192, nt", 1.0),
                 "rondo_bf16/gemm/6912x2056x2056/nn": ("GEMM in bf16, 6912 x 2056 x 2056, nn", 1.1),
                 "rondo_tf32x3/gemm/4096x4096x4096/nn": ("GEMM in tf32x3, 4096 x 4096 x 4096, nn", 1.5)}
        for name, (target, limit) in names.items():
            for share, reached in ((limit - 0.001, False), (limit, True), (limit + 0.001, True)):
                rows = self.rows(report_of(gemms=[benchmark(name, share)]))
                self.assertEqual(rows.pop(target), (share, reached))
                self.assertEqual(set(rows.values()), {(None, None)})
        failed = report_of(gemms=[benchmark(name, error_occurred=True) for name in names])
        self.assertEqual(set(self.rows(failed).values()), {(None, None)})
        for other in ("rondo_bf16/tc_07_persistent/4096x4096x4096/nn", "cublas_bf16/4096x4096x4096/nn",
                      "rondo_fp16/gemm/4096x4096x4096/nn"):
            report = report_of(gemms=[benchmark(other, 9.0)])
            self.assertEqual(set(self.rows(report).values()), {(None, None)})

    def test_a_time_must_be_at_most_its_target(self):
        times = {("resnet18", "tf32"): ("ResNet-18, an epoch in tf32", 0.9),
                 ("resnet18", "bf16"): ("ResNet-18, an epoch in bf16", 0.56),
                 ("mlp", "tf32"): ("MLP, a step in tf32", 0.05),
                 ("mlp", "bf16"): ("MLP, a step in bf16", 0.03),
                 ("lenet", "fp32"): ("LeNet, an epoch in fp32", 0.025)}
        for (network, precision), (target, limit) in times.items():
            row = {"program": "rondo", "precision": precision, "checkpoint_layers": 0}
            others = [{**row, "program": "jax", "seconds_median": 1e-6},
                      {**row, "precision": "default", "seconds_median": 1e-6},
                      {**row, "checkpoint_layers": 10, "seconds_median": 1e-6}]
            for seconds, reached in ((0.99 * limit, True), (limit, True), (1.01 * limit, False)):
                found = {network: [*others, {**row, "seconds_median": seconds}]}
                rows = self.rows(report_of(networks=found))
                self.assertEqual(rows.pop(target), (seconds, reached))
                self.assertEqual(set(rows.values()), {(None, None)})
                # A quick report trains small networks.
                self.assertEqual(self.rows(report_of(networks=found, quick=True))[target], (seconds, None))
            self.assertEqual(self.rows(report_of(networks={network: [*others, row]}))[target], (None, None))

    def test_times_are_only_for_one_gpu(self):
        found = {"lenet": [{"program": "rondo", "precision": "fp32", "checkpoint_layers": 0,
                            "seconds_median": 0.02}]}
        gemms = [benchmark("rondo_bf16/gemm/4096x4096x4096/nn", 1.25)]
        of_h100 = report_of(gemms=gemms, networks=found)
        text = markdown.targets_table(of_h100)
        self.assertIn("The times are for an H100.", text)
        self.assertIn("| LeNet, an epoch in fp32: at most 25 ms | 20 ms | yes |", text)
        ratio = "| GEMM in bf16, 4096 x 4096 x 4096, nn: at least 1.00 times cuBLAS in bf16 | 1.250 | yes |"
        self.assertIn(ratio, text)
        self.assertIn("| MLP, a step in bf16: at most 30 ms | not measured | not measured |", text)
        self.assertEqual(text.count("\n| ") - 2, len(targets.TARGETS))
        for gpu in ("NVIDIA H200", "NVIDIA GH100X", "NVIDIA A100-SXM4-80GB"):
            report = report_of(gpu, gemms=gemms, networks=found)
            text = markdown.targets_table(report)
            self.assertNotIn("LeNet", text)
            self.assertIn(ratio, text)
            self.assertIn("for an H100, and are left out on this GPU", text)
            self.assertEqual(len(report["targets"]), sum(target.unit != "s" for target in targets.TARGETS))
        without_driver = report_of(networks=found, machine={"gpus": []})
        self.assertNotIn("LeNet", markdown.targets_table(without_driver))
        on_executor = report_of(gemms=gemms, networks=found, preset="cpu")
        self.assertEqual((on_executor["targets"], markdown.targets_table(on_executor)), ([], ""))

    @unittest.skipUnless(HAS_STAND_IN, "the vendor programs are built without the stand-in")
    def test_each_benchmark_of_a_target_is_one_of_the_program(self):
        listed = subprocess.run([vendor_program("gemm"), "--benchmark_list_tests"], capture_output=True,
                                text=True, check=True, env={**os.environ, "SIMT_GPU": "h100"})
        wanted = {f"{target.benchmark}/manual_time" for target in targets.TARGETS if target.benchmark}
        names = listed.stdout.split()
        self.assertEqual(wanted - set(names), set(), f"{len(names)} names {listed.stderr}")
        self.assertEqual(sum(bool(target.benchmark) + bool(target.convolutions) + bool(target.training)
                             for target in targets.TARGETS), len(targets.TARGETS))


@unittest.skipUnless(HAS_STAND_IN, "the vendor programs are built without the stand-in")
class VendorProgramsTest(InTemporaryFolder):
    """What bench_gemm_beside_cublas and bench_conv_beside_cudnn write, with the stand-in for the vendor."""

    def benchmarks(self, kind, pattern):
        output = self.folder / "own.json"
        subprocess.run([vendor_program(kind), "--benchmark_min_time=0.001", f"--benchmark_filter={pattern}",
                        f"--benchmark_out={output}", "--benchmark_out_format=json"], check=True,
                       capture_output=True)
        return steps.read_benchmark(output)["benchmarks"]

    def test_products(self):
        entries = self.benchmarks("gemm", "/gemm/200x136x72/nt|cublas_fp32/200x136x72/nt")
        found = targets.shares(report_of(gemms=entries), targets.GEMM_PROGRAM)
        self.assertEqual(set(found), {f"rondo_{kind}/gemm/200x136x72/nt"
                                      for kind in ("fp32", "tf32", "tf32x3", "bf16", "fp16")})
        self.assertTrue(all(found.values()), found)
        labels = {entry["name"].split("/")[0]: entry["label"] for entry in entries}
        self.assertEqual(labels, {"rondo_fp32": "of cuBLAS fp32", "rondo_tf32": "of cuBLAS tf32",
                                  "rondo_tf32x3": "of cuBLAS fp32", "rondo_bf16": "of cuBLAS bf16",
                                  "rondo_fp16": "of cuBLAS fp16", "cublas_fp32": "of fp32 FMA peak"})

    def test_convolutions(self):
        entries = self.benchmarks("conv", "lenet_conv2")
        report = report_of(convolutions=entries)
        self.assertEqual({(row["type"], row["pass"]): (row["convolutions"], row["failed"])
                          for row in report["convolution_means"]},
                         {(kind, group): (3 if group == targets.ALL_PASSES else 1, 0)
                          for kind in ("fp32", "fp32_direct", "tf32x3", "tf32", "bf16", "fp16")
                          for group in (*targets.PASSES, targets.ALL_PASSES)})
        reached = {row["target"]: row["reached"] for row in report["targets"]}
        for kind in ("fp32", "tf32", "bf16", "fp16"):
            self.assertIsNotNone(reached[f"convolutions in {kind}, geometric mean"])
        # The layout and the algorithm that the stand-in says are the fastest.
        for entry in entries:
            of, _, operation, _ = entry["name"].split("/")
            if of.startswith("cudnn_"):
                is_narrow, is_dx = of.endswith("16"), operation == "data_gradient"
                fastest = (f"{'NHWC' if is_narrow != is_dx else 'NCHW'}, "
                           f"algorithm {0 if operation == 'filter_gradient' else 1}")
                self.assertTrue(entry["label"].endswith(fastest), entry)


class TimeOfProgramsTest(InTemporaryFolder):
    def test_the_programs_of_the_targets_have_more_time(self):
        (self.folder / "bench").mkdir()
        names = ["bench_a", targets.CONVOLUTION_PROGRAM, targets.GEMM_PROGRAM, "bench_z"]
        for name in names:
            fake_program(self.folder / "bench" / name, {})
            (self.folder / "bench" / f"{name}.deeds").unlink()
        limits = []
        runner = unittest.mock.Mock()
        runner.left.return_value = 140
        runner.step.side_effect = lambda name, command, limit: limits.append(limit) or {"state": "passed"}
        arguments = argparse.Namespace(quick=False, build=self.folder, data=None, only=None)
        steps.Steps(arguments, self.folder, runner, "cuda", None).time_programs({})
        self.assertEqual(limits, [140 * share for share in (1 / 14, 6 / 13, 6 / 7, 1)])


class FrameworksTest(InTemporaryFolder):
    """The step that loads PyTorch and JAX, with a fake python that has them."""

    def steps(self, only=None, quick=False):
        self.runner = Runner(self.folder / "logs", 60)
        self.runner.begin_part(1 / 60)  # shorter than the step's own limit
        arguments = argparse.Namespace(quick=quick, build=self.folder, data=None, only=only)
        return steps.Steps(arguments, self.folder, self.runner, "cuda", None)

    def load(self, script):
        python = self.folder / "python3"
        python.write_text(f"#!/bin/sh\n{script}\n")
        python.chmod(0o755)
        found = {"pytorch": (python, "2.0"), "jax": (None, "/bin/python3: No module named 'jax'")}
        with unittest.mock.patch.object(launch, "find_python", found.get):
            self.steps().frameworks(["pytorch", "jax"], {})
        return {step["name"]: (step["state"], step["note"]) for step in self.runner.steps}

    def test_those_that_are_there_are_loaded_with_a_limit_of_their_own(self):
        loaded = self.load(f'sleep 2; echo "$@ $PYTHONPATH" > {self.folder}/call')
        self.assertEqual(loaded["frameworks pytorch"], ("passed", ""))
        self.assertEqual(loaded["frameworks jax"],
                         ("skipped", "not importable (/bin/python3: No module named 'jax')"))
        call = (self.folder / "call").read_text()
        self.assertTrue(call.startswith("-m peers.warm pytorch cuda "), call)
        self.assertIn("bench/frameworks", call)

    def test_one_that_fails_or_hangs_is_no_failure_of_rondo(self):
        self.assertEqual(self.load("echo no driver; exit 1")["frameworks pytorch"],
                         ("reported", "exit code 1: no driver"))
        with unittest.mock.patch.object(steps, "FRAMEWORK_SECONDS", 1):
            self.assertEqual(self.load("sleep 30")["frameworks pytorch"], ("reported", "stopped after 1 s"))

    def test_they_are_loaded_before_the_first_training_and_only_for_trainings(self):
        def names(**more):
            return [(getattr(part, "func", part).__name__, *getattr(part, "args", ())[:1])
                    for part, _ in self.steps(**more).parts()]

        both, one = ("frameworks", ["pytorch", "jax"]), ("frameworks", ["pytorch"])
        everything = names()
        self.assertEqual(everything.index(both) + 1, everything.index(("networks", "lenet")))
        self.assertNotIn(one, everything)
        self.assertEqual(names(only=["compiled"])[:2], [one, ("compiled", "lenet")])
        self.assertEqual([name for name, *_ in names(only=["compiled"], quick=True)][0], "compiled")
        self.assertEqual(names(only=["networks"])[0], both)
        for part in set(steps.PARTS) - {"networks", "compiled"}:
            self.assertNotIn("frameworks", [name for name, *_ in names(only=[part])])


class CommandTest(InTemporaryFolder):
    def command(self, *arguments):
        return subprocess.run([sys.executable, COMMAND, *arguments], capture_output=True, text=True)

    def report(self):
        return json.loads((self.folder / "report/report.json").read_text())

    def test_bad_arguments(self):
        a_file = self.folder / "file"
        a_file.write_text("")
        for arguments, named in (([a_file, "--build", BUILD], str(a_file)),
                                 ([self.folder / "report", "--build", self.folder], str(self.folder)),
                                 ([self.folder / "report", "--minutes", "0"], "0.0"),
                                 ([self.folder / "report", "--minutes", "nan"], "nan"),
                                 ([self.folder / "report", "--only", "nothing"], "nothing"),
                                 ([self.folder / "report", "--only", "build", "--build", BUILD], str(BUILD))):
            done = self.command(*map(str, arguments))
            self.assertEqual(done.returncode, 2, done.stdout)
            self.assertIn(named, done.stderr)

    def test_failing_steps_are_recorded_and_the_rest_goes_on(self):
        build = self.folder / "build"
        (build / "bench").mkdir(parents=True)
        (build / "CMakeCache.txt").write_text("")
        program = build / "bench/bench_broken"
        program.write_text("#!/bin/sh\necho out of order\nexit 3\n")
        looks = build / "bench/bench_looks"  # at the report, in the midst of a part
        looks.write_text(f"#!/bin/sh\ncp {self.folder}/report/report.json {self.folder}/within_a_part.json\n")
        rondo = build / "rondo"  # passes, and does not write what it should
        rondo.write_text("#!/bin/sh\n"
                         "[ $1 != allreduce ] || "
                         f"cp {self.folder}/report/report.json {self.folder}/so_far.json\n")
        for file in (program, looks, rondo):
            file.chmod(file.stat().st_mode | stat.S_IXUSR)
        done = self.command(self.folder / "report", "--build", build, "--data", self.folder / "absent")
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        states = {step["name"]: step["state"] for step in self.report()["steps"]}
        for part in ("mlp", "links", "collectives"):
            self.assertEqual(states[f"report of {part}"], "failed")
        self.assertIn("links", [step["name"] for step in
                                json.loads((self.folder / "so_far.json").read_text())["steps"]])
        self.assertIn("bench_broken", (self.folder / "within_a_part.json").read_text())
        self.assertEqual(states["bench_broken"], "failed")
        self.assertEqual(states["tests"], "failed")  # there are none in this folder
        for precision in recipes.PEER_PRECISIONS:
            self.assertEqual(states[f"lenet beside its peers, {precision}"], "skipped")
            self.assertEqual(states[f"mlp beside its peers, {precision}"], "failed")
        self.assertIn("out of order", (self.folder / "report/report.md").read_text())

    def test_targets_beside_what_the_programs_print(self):
        build = self.folder / "build"
        driver = self.folder / "bin/nvidia-smi"
        driver.parent.mkdir()
        driver.write_text("#!/bin/sh\necho 'NVIDIA H100 80GB HBM3, 1, 81559 MiB, 700 W, 1, 1, 1, 1, 1, 1'\n")
        driver.chmod(0o755)
        (build / "bench").mkdir(parents=True)
        (build / "CMakeCache.txt").write_text("\nRONDO_CUDA:BOOL=ON\n")
        gemms = [benchmark("rondo_tf32/gemm/4096x4096x4096/nt", 1.02)]
        convolutions = [benchmark("rondo_fp16/a/forward", 0.5), benchmark("rondo_fp16/b/forward", 0.98)]
        for program, library, entries in ((targets.GEMM_PROGRAM, "cublas", gemms),
                                          (targets.CONVOLUTION_PROGRAM, "cudnn", convolutions)):
            written = {"context": {f"{library}_version": "1.2", f"{library}_library": f"/{library}.so"},
                       "benchmarks": entries}
            path = build / "bench" / program
            path.write_text("#!/bin/sh\n"
                            "for word; do case $word in --benchmark_out=*) output=${word#*=};; esac; done\n"
                            f"echo '{json.dumps(written)}' > $output\n")
            path.chmod(0o755)
        with unittest.mock.patch.dict(os.environ, PATH=f"{driver.parent}:{os.environ['PATH']}"):
            done = self.command(self.folder / "report", "--build", build, "--only", "benchmarks")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        text = (self.folder / "report/report.md").read_text()
        for line in ("4096 x 4096 x 4096, nt: at least 1.00 times cuBLAS in tf32 | 1.020 | yes |",
                     "geometric mean: at least 1.00 times cuDNN in fp16 | 0.700 | no |",
                     "| LeNet, an epoch in fp32: at most 25 ms | not measured | not measured |",
                     "| fp16 | forward | 2 |  | 0.700 | 0.500: a |",
                     "cublas 1.2: /cublas.so", "cudnn 1.2: /cudnn.so"):
            self.assertIn(line, text)
        report = self.report()
        self.assertEqual(len(report["targets"]), len(targets.TARGETS))
        self.assertEqual([row["pass"] for row in report["convolution_means"]],
                         [*targets.PASSES, "all passes"])

    def test_a_quick_report_of_this_build(self):
        done = self.command(self.folder / "report", "--quick", "--build", BUILD)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        report = self.report()
        self.assertGreater(report["tests"]["tests"], 0)
        self.assertEqual(report["tests"]["failures"], 0)
        entries = report["benchmarks"]["bench_limits"]["benchmarks"]
        self.assertTrue(any(entry.get("B/s", 0) > 0 for entry in entries))
        self.assertTrue(report["machine"]["cpu"])
        if steps.DATA.is_dir():
            self.assertEqual({name: len(run["epochs"]) for name, run in report["shared"].items()},
                             {"lenet": 2, "resnet18": 1})
            for network, rows in report["networks"].items():
                # The other rows depend on the frameworks that can be imported here.
                self.assertEqual({row["precision"] for row in rows if row["program"] == "rondo"},
                                 set(recipes.PEER_PRECISIONS), network)
                for row in rows:
                    self.assertNotIn("error", row["runs"][0], network)
                    self.assertGreater(row["times_rondo"], 0)
            self.assertEqual(list(report["networks"]), ["lenet", "mlp", "resnet18"])
        of_rondo = [row["runs"][0] for row in report["networks"]["mlp"]
                    if row["program"] == "rondo" and row["precision"] == "fp32"]
        self.assertEqual(len(of_rondo), 2)
        losses = [run["losses"][-1] for run in [*of_rondo, *report["mlp"].values()]]
        self.assertEqual(len(losses), 4)
        self.assertEqual(len({round(loss, 4) for loss in losses}), 1)
        self.assertTrue(report["links"]["links"])
        self.assertEqual(len(report["collectives"]), 4)
        for run in report["collectives"].values():
            self.assertEqual((run["ranks"], run["wrong"]), (2, 0))
            self.assertGreater(run["rows"][0]["reached"], 0)
        text = (self.folder / "report/report.md").read_text()
        for heading in ("## The networks", "## Tests", "## Benchmarks", "## Links", "## Collectives",
                        "## Steps", "launch_eager"):
            self.assertIn(heading, text)


if __name__ == "__main__":
    side_by_side.main(BUILD)
