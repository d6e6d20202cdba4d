"""The correctness parts of a report: the tests, also under compute-sanitizer."""

import os
import shutil
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from . import gtest, machine, sanitizer

# The quickest first: each leaves the rest of its time to those after it.
CHECKERS = ("synccheck", "memcheck", "racecheck")
# A checker makes kernels ten to a hundred times slower, so tests that take longer than this without it are
# left out.
MOST_SECONDS = {"memcheck": 2.0, "racecheck": 0.5, "synccheck": 0.5}
ERRORS_FOUND = 99  # a checker's exit code
MOST_REPORTS = 10_000
CONTEXT_GIB = 2  # GPU memory for each program that runs in parallel with others
# Processes that share a GPU and launch graphs with many branches fail (cudaErrorLaunchFailure) or hang with
# the 8 connections that CUDA has by default; see docs/gpu.md, "Processes that share a GPU".
CONNECTIONS = "CUDA_DEVICE_MAX_CONNECTIONS"


class Checks:
    def __init__(self, runner, build_folder, directory, preset, nvcc, quick):
        self.runner = runner
        self.build_folder = build_folder
        self.directory = directory
        self.preset = preset
        self.nvcc = nvcc
        self.quick = quick
        self.jobs = side_by_side(preset)
        self.environment = {CONNECTIONS: os.environ.get(CONNECTIONS, "32")} if preset == "cuda" else {}
        self.seconds = {}  # {program: {test: seconds}}

    def tests(self, report):
        programs = [(name, path) for name, path, labels in gtest.list_programs(self.build_folder)
                    # A quick report runs only a few, to check the step itself.
                    if ("core" in labels if self.quick else "heavy" not in labels)]
        if not programs:
            self.runner.note("tests", "failed",
                             f"no program is listed in {self.build_folder / 'test_programs.txt'}")
            return
        folder = self.directory.resolve() / "tests"
        folder.mkdir(exist_ok=True)
        found = report["tests"] = {"tests": 0, "failures": 0, "skipped": 0, "failed": [], "incomplete": [],
                                   "seconds": {}}

        def run(program):
            name, path = program
            outcome = gtest.run_program(self.runner, f"test {name}", [path], limit=self.runner.left(),
                                        silence=self.silence(), cwd=Path(path).parent,
                                        env=self.environment, results=folder / f"{name}.json")
            return name, outcome

        for name, outcome in self.side_by_side(run, programs):
            bad = outcome.names("FAILED", "CRASHED", "HUNG", "STOPPED")
            found["tests"] += len(outcome.tests)
            found["failures"] += len(bad)
            found["skipped"] += len(outcome.names("SKIPPED"))
            found["failed"] += [f"{name}.{test}" + how(outcome.tests[test][0]) for test in bad]
            if not outcome.complete:
                found["incomplete"].append(name)
            self.seconds[name] = {test: seconds for test, (_, seconds) in outcome.tests.items()}
            found["seconds"][name] = round(sum(self.seconds[name].values()), 2)

    def sanitizer(self, report):
        if self.preset != "cuda":
            self.runner.note("memcheck", "skipped",
                             "compute-sanitizer looks at GPUs; without one: tools/test asan")
            return
        tool = (shutil.which("compute-sanitizer")
                or shutil.which("compute-sanitizer", path=str(Path(self.nvcc).parent)))
        if not tool:
            self.runner.note("memcheck", "skipped",
                             "compute-sanitizer was not found, neither in PATH nor beside nvcc")
            return
        programs = [(name, path, labels) for name, path, labels in gtest.list_programs(self.build_folder)
                    if {"core", "kernels", "collectives"} & set(labels)]
        if self.quick:
            programs = programs[:1]
        report["sanitizer"] = {}
        for number, checker in enumerate(CHECKERS):
            found = report["sanitizer"][checker] = {}
            # Races and barriers matter where threads of a block cooperate: in kernels.
            wanted = [(name, path) for name, path, labels in programs
                      if checker == "memcheck" or "kernels" in labels]
            # The shortest first, so that the most programs are complete when the time is up.
            wanted.sort(key=lambda program: sum(
                seconds for seconds in self.seconds.get(program[0], {}).values()
                if seconds <= MOST_SECONDS[checker]))
            # All programs of a checker share its time, which is as long as that of each later checker.
            deadline = time.monotonic() + self.runner.left() / (len(CHECKERS) - number)

            def run(program):
                name, path = program
                # A test that hung has its program's time and is left out; one that crashed is run.
                left_out = [test for test, seconds in self.seconds.get(name, {}).items()
                            if seconds > MOST_SECONDS[checker]]
                outcome = gtest.run_program(self.runner, f"{checker} {name}",
                                            [*self.command(tool, checker), path],
                                            limit=deadline - time.monotonic(), silence=self.silence(),
                                            left_out=left_out, cwd=Path(path).parent, env=self.environment)
                return name, left_out, outcome

            for name, left_out, outcome in self.side_by_side(run, wanted):
                failed = outcome.names("FAILED", "CRASHED", "HUNG")
                found[name] = {
                    "tests": len(outcome.tests), "left_out": left_out, "complete": outcome.complete,
                    "failed": [test + how(outcome.tests[test][0]) for test in failed],
                    "stopped": outcome.names("STOPPED"), "reports": self.judge(checker, outcome, failed)}

    def judge(self, checker, outcome, failed):
        """The reports of a checker. They fail a step, unless all are of a known kind: then its state is
        "reported"."""
        logs = [self.runner.log_of(step["name"]).read_text(errors="replace") for step in outcome.steps]
        reports = sanitizer.read_reports("\n".join(logs))
        for one in reports:
            one["known"] = sanitizer.is_known(checker, one)
        unknown = [one["text"].splitlines()[0] for one in reports if not one["known"]]
        if unknown:
            last = outcome.steps[-1]
            last["state"] = "failed" if last["state"] == "passed" else last["state"]
            self.runner.explain(last, f"{last['note']}; reports: {len(unknown)}, "
                                      f"the first: {unknown[0][:200]}")
        elif reports and not failed and outcome.complete:
            for step in outcome.steps:
                if step["exit_code"] in (0, ERRORS_FOUND):
                    step["state"] = "reported"
                    self.runner.explain(step, "reports of kernels with mbarriers, to be read: "
                                              f"{len(reports)}")
        return reports

    @staticmethod
    def command(tool, checker):
        command = [tool, "--tool", checker, "--error-exitcode", ERRORS_FOUND]
        if checker == "memcheck":
            return [*command, "--report-api-errors", "no"]  # tests cause API errors on purpose
        # Many of the known kind must not hide others.
        return [*command, "--print-limit", MOST_REPORTS, "--show-backtrace", "device"]

    def silence(self):
        """Seconds without output after which a test counts as hung."""
        return 60 if self.preset == "cuda" else 150

    def side_by_side(self, run, programs):
        with ThreadPoolExecutor(self.jobs) as pool:
            yield from pool.map(run, programs)


def how(outcome):
    return "" if outcome == "FAILED" else f" ({outcome.lower()})"


def side_by_side(preset):
    """The number of parallel programs: each computes references on a core and has a context on the GPU."""
    jobs = machine.cores()
    if preset == "cuda":
        memory = [float(gpu["memory.total"].split()[0]) / 1024 for gpu in machine.gpus()
                  if gpu["memory.total"][:1].isdigit()]
        jobs = min(jobs, 8, int(min(memory, default=CONTEXT_GIB) / CONTEXT_GIB))
    return max(1, jobs)
