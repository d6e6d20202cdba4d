"""Tests of tools/gpu-report. Argument: the build folder for which the tests make a quick report."""

import json
import os
import stat
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

import side_by_side

ROOT = Path(__file__).resolve().parents[2]
COMMAND = ROOT / "tools/gpu-report"
sys.path.insert(0, str(ROOT / "tools"))
from gpu_report import checks, gtest, markdown, steps  # noqa: E402
from gpu_report.runner import Runner  # noqa: E402
from peers import recipes  # noqa: E402

BUILD = Path(sys.argv.pop(1)) if len(sys.argv) > 1 else ROOT / "build/cpu"


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
        outcome = self.run_program(self.program(A="passes", B="fails", C="skips", D="is_slow"), results=self.folder / "own.json")
        self.assertEqual(self.outcomes(outcome), {"S.A": "OK", "S.B": "FAILED", "S.C": "SKIPPED", "S.D": "OK"})
        self.assertEqual(outcome.tests["S.D"][1], 3.5)
        self.assertTrue(outcome.complete)
        self.assertEqual([step["state"] for step in self.runner.steps], ["failed"])

    def test_a_test_that_hangs_is_named_and_the_others_have_their_turn(self):
        for results in (None, self.folder / "own.json"):
            outcome = self.run_program(self.program(A="passes", B="hangs", C="fails", D="hangs", E="passes"), results=results)
            self.assertEqual(self.outcomes(outcome),
                             {"S.A": "OK", "S.B": "HUNG", "S.C": "FAILED", "S.D": "HUNG", "S.E": "OK"})
            self.assertTrue(outcome.complete)
        self.assertEqual(self.runner.steps[0]["state"], "timed out")
        self.assertIn("hung in S.B", self.runner.steps[0]["note"])

    def test_a_test_that_crashes_is_named_and_the_others_have_their_turn(self):
        outcome = self.run_program(self.program(A="passes", B="crashes", C="passes"), results=self.folder / "own.json")
        self.assertEqual(self.outcomes(outcome), {"S.A": "OK", "S.B": "CRASHED", "S.C": "OK"})
        self.assertEqual(self.runner.steps[0]["state"], "failed")
        self.assertIn("crashed in S.B", self.runner.steps[0]["note"])

    def test_a_fault_of_the_device_does_not_reach_other_tests(self):
        program = BUILD / "tests/bench/faulty_program"
        outcome = gtest.run_program(self.runner, "test fault", [program], limit=100, silence=50)
        self.assertEqual({name: what for name, (what, _) in outcome.tests.items()},
                         {"Fault.Before": "OK", "Fault.Itself": "CRASHED", "Fault.Without": "FAILED", "Fault.After": "OK"})
        self.assertTrue(outcome.complete)
        self.assertIn("device 0 has failed", (self.folder / "logs/test_fault.txt").read_text())

    def test_when_the_time_is_up_the_running_test_is_named(self):
        begin = time.monotonic()
        outcome = gtest.run_program(self.runner, "test fake", [self.program(A="passes", B="hangs", C="passes")], limit=2,
                                    silence=50)
        self.assertLess(time.monotonic() - begin, 10)
        self.assertEqual(self.outcomes(outcome), {"S.A": "OK", "S.B": "STOPPED"})
        self.assertFalse(outcome.complete)

    def test_a_program_that_ends_between_two_tests(self):
        program = self.folder / "fake_test"
        program.write_text("#!/bin/sh\necho '[ RUN      ] S.A'; echo '[       OK ] S.A (0 ms)'; echo no device; exit 3\n")
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


class ChecksTest(InTemporaryFolder):
    """Tests and checkers of a build for GPUs, with fake test programs and a fake compute-sanitizer."""

    def setUp(self):
        super().setUp()
        self.build = self.folder / "build"
        self.build.mkdir()
        self.programs = []
        tool = self.folder / "bin/compute-sanitizer"
        tool.parent.mkdir()
        # Reports errors in each program, except that synccheck hangs.
        tool.write_text("#!/bin/sh\n"
                        f"echo \"$@\" >> {self.folder}/calls\n"
                        "case \"$*\" in *synccheck*) sleep 600 ;; esac\n"
                        "while [ \"${1#/}\" = \"$1\" ]; do shift; done\n"
                        "\"$@\"; echo '========= ERROR SUMMARY: 3 errors'; exit 99\n")
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
        self.assertEqual(sorted(tests["failed"]), ["kernel_test.S.B (hung)", "net_test.S.A", "net_test.S.B (crashed)",
                                                   "ring_test.S.B (crashed)"])
        self.assertEqual((tests["tests"], tests["failures"], tests["incomplete"]), (8, 4, []))

        memcheck = report["sanitizer"]["memcheck kernel_test"]
        self.assertEqual(memcheck["left_out"], ["S.Slow", "S.B"])
        self.assertEqual((memcheck["tests"], memcheck["complete"]), (2, True))
        self.assertEqual(report["sanitizer"]["memcheck ring_test"]["failed"], ["S.B"])
        states = {step["name"]: (step["state"], step["note"]) for step in self.runner.steps}
        self.assertEqual(states["memcheck kernel_test"], ("failed", "exit code 99: ========= ERROR SUMMARY: 3 errors"))
        self.assertEqual(states["synccheck kernel_test"][0], "timed out")
        self.assertNotIn("memcheck net_test", states)
        calls = (self.folder / "calls").read_text().splitlines()
        self.assertEqual(["--report-api-errors no" in call for call in calls], ["memcheck" in call for call in calls])
        self.assertEqual({call.split()[1] for call in calls}, {"memcheck", "racecheck", "synccheck"})

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


class FilesTest(InTemporaryFolder):
    def test_a_benchmark_that_was_stopped_keeps_what_it_had_written(self):
        path = self.folder / "stopped.json"
        path.write_text('{"context": {"a": 1}, "benchmarks": [{"name": "one"}, {"name": "two"},')
        self.assertEqual([entry["name"] for entry in steps.read_benchmark(path)["benchmarks"]], ["one", "two"])

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
                         f"[ $1 != allreduce ] || cp {self.folder}/report/report.json {self.folder}/so_far.json\n")
        for file in (program, looks, rondo):
            file.chmod(file.stat().st_mode | stat.S_IXUSR)
        done = self.command(self.folder / "report", "--build", build, "--data", self.folder / "absent")
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        states = {step["name"]: step["state"] for step in self.report()["steps"]}
        for part in ("mlp", "links", "collectives"):
            self.assertEqual(states[f"report of {part}"], "failed")
        self.assertIn("links", [step["name"] for step in json.loads((self.folder / "so_far.json").read_text())["steps"]])
        self.assertIn("bench_broken", (self.folder / "within_a_part.json").read_text())
        self.assertEqual(states["bench_broken"], "failed")
        self.assertEqual(states["tests"], "failed")  # there are none in this folder
        for precision in recipes.PRECISIONS:
            self.assertEqual(states[f"lenet beside its peers, {precision}"], "skipped")
            self.assertEqual(states[f"mlp beside its peers, {precision}"], "failed")
        self.assertIn("out of order", (self.folder / "report/report.md").read_text())

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
            self.assertEqual({name: len(run["epochs"]) for name, run in report["shared"].items()}, {"lenet": 2, "resnet18": 1})
            for network, rows in report["networks"].items():
                # The other rows depend on the frameworks that can be imported here.
                self.assertEqual({row["precision"] for row in rows if row["program"] == "rondo"},
                                 set(recipes.PRECISIONS), network)
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
        for heading in ("## The networks", "## Tests", "## Benchmarks", "## Links", "## Collectives", "## Steps", "launch_eager"):
            self.assertIn(heading, text)


if __name__ == "__main__":
    side_by_side.main(BUILD)
