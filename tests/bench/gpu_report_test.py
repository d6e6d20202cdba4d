"""Tests of tools/gpu-report. Argument: the build folder of which a quick report is made."""

import json
import stat
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COMMAND = ROOT / "tools/gpu-report"
sys.path.insert(0, str(ROOT / "tools"))
from gpu_report import markdown, steps  # noqa: E402
from gpu_report.runner import Runner  # noqa: E402

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

    def test_after_the_deadline_nothing_is_started(self):
        runner = self.runner(seconds=0)
        self.assertFalse(runner.run("late", ["touch", self.folder / "started"], limit=5))
        self.assertEqual(runner.steps[0]["state"], "skipped")
        self.assertFalse((self.folder / "started").exists())


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
                                 ([self.folder / "report", "--minutes", "nan"], "nan")):
            done = self.command(*map(str, arguments))
            self.assertEqual(done.returncode, 2, done.stdout)
            self.assertIn(named, done.stderr)

    def test_failing_steps_are_recorded_and_the_rest_goes_on(self):
        build = self.folder / "build"
        (build / "bench").mkdir(parents=True)
        (build / "CMakeCache.txt").write_text("")
        program = build / "bench/bench_broken"
        program.write_text("#!/bin/sh\necho out of order\nexit 3\n")
        rondo = build / "rondo"  # passes, and does not write what it should
        rondo.write_text("#!/bin/sh\n"
                         f"[ $1 != allreduce ] || cp {self.folder}/report/report.json {self.folder}/so_far.json\n")
        for file in (program, rondo):
            file.chmod(file.stat().st_mode | stat.S_IXUSR)
        done = self.command(self.folder / "report", "--build", build, "--data", self.folder / "absent")
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        states = {step["name"]: step["state"] for step in self.report()["steps"]}
        for part in ("mlp", "links", "collectives"):
            self.assertEqual(states[f"report of {part}"], "failed")
        self.assertIn("links", [step["name"] for step in json.loads((self.folder / "so_far.json").read_text())["steps"]])
        self.assertEqual(states["bench_broken"], "failed")
        self.assertEqual(states["tests"], "failed")  # there are none in this folder
        self.assertEqual(states["lenet beside its peers"], "skipped")
        self.assertEqual(states["mlp beside its peers"], "failed")
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
        if steps.INSTALLED_DATA.is_dir():
            self.assertEqual({name: len(run["epochs"]) for name, run in report["shared"].items()}, {"lenet": 2, "resnet18": 1})
            for original, rows in report["originals"].items():
                # What else there is depends on what can be imported here.
                self.assertIn("rondo", [row["program"] for row in rows], original)
                for row in rows:
                    self.assertNotIn("error", row["runs"][0], original)
                    self.assertGreater(row["times_rondo"], 0)
            self.assertEqual(list(report["originals"]), ["lenet", "mlp", "resnet18"])
        of_rondo = [row["runs"][0] for row in report["originals"]["mlp"] if row["program"] == "rondo"]
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
        for heading in ("## The originals", "## Tests", "## Benchmarks", "## Links", "## Collectives", "## Steps", "launch_eager"):
            self.assertIn(heading, text)


if __name__ == "__main__":
    unittest.main(buffer=True)
