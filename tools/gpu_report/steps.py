"""The steps of a report, in the order of what one would miss most if time ran out."""

import csv
import datetime
import json
import os
import shutil
import subprocess
import sys
import time
import xml.etree.ElementTree as xml
from functools import partial
from pathlib import Path

from . import machine
from .runner import Runner

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench/originals"))
from peers import outcome, table  # noqa: E402

INSTALLED_DATA = Path("/usr/share/datasets/fashion-mnist")
QUICK_SIZES = {"lenet": ["--limit", "512", "--epochs", "2"], "mlp": ["--layers", "6", "--width", "64", "--batch", "64"],
               "resnet18": ["--limit", "16", "--batch", "8", "--epochs", "1"]}
CPU_SIZES = {**QUICK_SIZES, "lenet": ["--limit", "10240", "--epochs", "3"]}


def make_report(arguments, directory):
    begin = time.monotonic()
    runner = Runner(directory / "logs", arguments.minutes * 60)
    preset, reason, nvcc = detect_platform()
    if arguments.build:
        preset, reason = preset_of(Path(arguments.build)), f"--build {arguments.build}"
    print(f"preset {preset}: {reason}")
    report = {
        "started": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "preset": preset,
        "preset_reason": reason,
        "quick": arguments.quick,
        "machine": machine.facts(ROOT, nvcc),
        "originals": {}, "frameworks": {}, "shared": {}, "mlp": {}, "tests": None, "benchmarks": {},
        "clocks_while_benchmarking": [], "links": None, "collectives": {}, "sanitizer": None,
        "steps": runner.steps,
    }
    for part in Steps(arguments, directory, runner, preset, nvcc).parts():
        take(part, report, runner)
        report["seconds"] = round(time.monotonic() - begin, 1)
        outcome.write_json(directory / "report.json", report)  # whoever ends this early has that much
    return report


def take(part, report, runner):
    """What comes after a part does not depend on it."""
    try:
        part(report)
    except Exception as error:  # such as a file that is not what its program promises
        runner.note(f"report of {getattr(part, 'func', part).__name__}", "failed", f"{type(error).__name__}: {error}")


def detect_platform():
    """The preset that tools/train and tools/test would take, why, and nvcc."""
    script = f'source "{ROOT}/tools/platform.sh"; printf "%s\\n" "$preset" "$preset_reason" "$nvcc"'
    lines = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True).stdout.split("\n")
    return lines[0], lines[1], lines[2]


def preset_of(build):
    """Which target a build folder was configured for."""
    cache = (build / "CMakeCache.txt").read_text()
    return "cuda" if "\nRONDO_CUDA:BOOL=ON\n" in cache else "cpu"


class Steps:
    def __init__(self, arguments, directory, runner, preset, nvcc):
        self.quick = arguments.quick
        self.directory = directory
        self.runner = runner
        self.preset = preset
        self.nvcc = nvcc
        self.prebuilt = arguments.build is not None
        self.build_folder = Path(arguments.build or ROOT / "build" / preset).resolve()
        self.data = Path(arguments.data) if arguments.data else INSTALLED_DATA

    def parts(self):
        """Each adds to a report what it finds."""
        return [*([] if self.prebuilt else [self.build]),
                partial(self.originals, "lenet", 80, 40), partial(self.originals, "mlp", 150, 60),
                partial(self.originals, "resnet18", 240, 100),
                self.shared, self.mlp, self.tests, self.benchmarks, self.links, self.collectives,
                *(partial(self.compiled, original) for original in ("lenet", "mlp", "resnet18")), self.sanitizer]

    def build(self, _):
        # No limit: a package manager that is killed half-way leaves its database broken.
        self.runner.run("setup", [ROOT / "tools/setup"], limit=None)
        # What is missing stops the build, which says so; what is there may be enough for it.
        build = f'source "{ROOT}/tools/platform.sh"; build {self.preset}'
        self.runner.run("build", ["bash", "-c", build], limit=300)

    # The three originals, each program in a process of its own on one device.

    def originals(self, original, limit, of_each, report):
        self.beside(report, f"{original} beside its peers", original, ["rondo", "eager", "jax", "graph"], limit, of_each)

    def compiled(self, original, report):
        """More of PyTorch, when there is time left: compiling takes most of it."""
        step = f"{original} by torch.compile"
        if self.quick:
            self.runner.note(step, "skipped", "not in a quick report")
        else:
            self.beside(report, step, original, ["compiled"], limit=70, of_each=60)

    def beside(self, report, step, original, programs, limit, of_each):
        if original != "mlp" and not self.has_data(step):
            return
        output = self.directory / f"originals_{original}_{programs[-1]}.json"
        output.unlink(missing_ok=True)
        # It ends by itself before it is ended: then what it found is complete.
        seconds = max(1, min(limit, self.runner.left()) - 3)
        command = [sys.executable, ROOT / "bench/originals/originals_beside_peers", self.build_folder / "rondo",
                   "--originals", original, "--programs", *programs, "--device", "cuda" if self.preset == "cuda" else "cpu",
                   "--data", self.data, "--json", output, "--cores", os.cpu_count(), "--timeout", of_each,
                   "--minutes", seconds / 60]
        if self.quick:
            command += QUICK_SIZES[original]
        elif self.preset == "cpu":
            command += CPU_SIZES[original]
        self.runner.run(step, command, limit=limit)
        if output.exists():
            found = json.loads(output.read_text())
            report["frameworks"].update(found["frameworks"])
            rows = report["originals"].setdefault(original, [])
            rows += found["originals"][original]
            table.summarise(rows)

    def has_data(self, step):
        if self.data.is_dir():
            return True
        self.runner.note(step, "skipped", f"{self.data} does not exist; --data names a folder with Fashion-MNIST")
        return False

    # The same on two ranks that share a device.

    def shared(self, report):
        for original in ("lenet", "resnet18"):
            step = f"{original} on 2 ranks of one device"
            if not self.has_data(step):
                continue
            log = self.directory / f"{original}_0_0.csv"
            command = [self.build_folder / "rondo", "train", original, "--devices", "0,0", "--data", self.data,
                       "--log", log, "--plot", log.with_suffix(".svg")]
            if self.quick:
                command += [*QUICK_SIZES[original], "--verify"]
            elif self.preset == "cpu":
                command += CPU_SIZES[original]
            elif original == "resnet18":
                command += ["--epochs", "2"]
            if self.runner.run(step, command, limit=40):
                report["shared"][original] = read_log(log)

    def mlp(self, report):
        for mode in ("sharded", "replicated"):
            output = self.directory / f"mlp_{mode}.json"
            output.unlink(missing_ok=True)
            command = [self.build_folder / "rondo", "train", "mlp", "--mode", mode, "--devices", "0,0", "--json", output]
            if self.quick or self.preset == "cpu":
                command += QUICK_SIZES["mlp"]
            if self.runner.run(f"mlp, {mode} on 2 ranks of one device", command, limit=30):
                report["mlp"][mode] = json.loads(output.read_text())

    # Tests.

    def tests(self, report):
        output = (self.directory / "tests.xml").resolve()
        command = ["ctest", "--test-dir", self.build_folder, "-j", os.cpu_count(), "--timeout", "120",
                   "--no-tests=error", "--output-on-failure", "--output-junit", output]
        # A few are enough to show that this step works. The programs under bench/ run below, by themselves.
        command += ["-L", "core"] if self.quick else ["-LE", "heavy|bench"]
        output.unlink(missing_ok=True)
        self.runner.run("tests", command, limit=150)
        report["tests"] = read_junit(output) if output.exists() else None

    def sanitizer(self, report):
        if self.preset != "cuda":
            self.runner.note("memcheck", "skipped", "compute-sanitizer looks at GPUs; without one: tools/test asan")
            return
        tool = shutil.which("compute-sanitizer") or shutil.which("compute-sanitizer", path=str(Path(self.nvcc).parent))
        if not tool:
            self.runner.note("memcheck", "skipped", "compute-sanitizer was not found, neither in PATH nor beside nvcc")
            return
        programs = executables(self.build_folder / "tests/kernels") + executables(self.build_folder / "tests/collectives")
        if self.quick:
            programs = programs[:1]
        report["sanitizer"] = {
            program.name: self.runner.run(
                f"memcheck {program.name}",
                [tool, "--tool", "memcheck", "--error-exitcode", "99", program, "--gtest_brief=1"], limit=60)
            for program in programs}

    # Benchmarks.

    def benchmarks(self, report):
        with machine.ClockWatch() as clocks:
            report["clocks_while_benchmarking"] = clocks.samples
            self.time_programs(report["benchmarks"])

    def time_programs(self, results):
        folder = self.directory / "benchmarks"
        folder.mkdir(exist_ok=True)
        programs = executables(self.build_folder / "bench")
        short = {} if self.preset == "cuda" else test_filters(self.build_folder)
        for number, program in enumerate(programs):
            if self.quick and program.name != "bench_limits":
                self.runner.note(program.name, "skipped", "not in a quick report")
                continue
            output = folder / f"{program.name}.json"
            output.unlink(missing_ok=True)
            command = [program, f"--benchmark_out={output}", "--benchmark_out_format=json",
                       f"--benchmark_min_time={0.05 if self.preset == 'cuda' else 0.001}"]
            if self.quick:
                command.append("--benchmark_filter=launch|bytes:65536/")
            elif program.name in short:
                command.append(short[program.name])
            # Each has its share of what is left, of which a quarter is kept for what follows.
            share = 0.75 * self.runner.left() / (len(programs) - number)
            passed = self.runner.run(program.name, command, limit=max(10, share))
            results[program.name] = read_benchmark(output)
            wrong = [entry["name"] for entry in results[program.name]["benchmarks"] if entry.get("error_occurred")]
            if passed and wrong:
                self.runner.fail(f"wrong results or errors: {', '.join(wrong)[:200]}")
        if not programs:
            self.runner.note("benchmarks", "failed", f"no program was found in {self.build_folder / 'bench'}")

    # The links, and all-reduce over ranks that share one device: what other libraries refuse.

    def links(self, report):
        links = self.directory / "links.json"
        links.unlink(missing_ok=True)
        command = [self.build_folder / "rondo", "links", "--store", links]
        if self.preset == "cpu":
            command += ["--devices", "2"]  # as many as asked for, all alike
        if self.runner.run("links", command, limit=60):
            report["links"] = json.loads(links.read_text())

    def collectives(self, report):
        for ranks in (2,) if self.quick else (2, 4, 8):
            for algorithm in ("ring", "direct"):
                for mode, launches in (("eager", 0), ("graph", 5)):
                    name = f"allreduce of {ranks} ranks on one device, {algorithm}, {mode}"
                    output = self.directory / f"allreduce_{ranks}_{algorithm}_{mode}.json"
                    output.unlink(missing_ok=True)
                    command = [self.build_folder / "rondo", "allreduce", "--devices", ",".join(["0"] * ranks),
                               "--algorithm", algorithm, "-G", launches, "-b", "64K", "-f", "16", "--json", output]
                    if self.quick:
                        command += ["-e", "64K", "-n", "2"]
                    elif self.preset == "cpu":
                        command += ["-e", "16M", "-n", "5"]
                    else:
                        command += ["-e", "256M"]
                    if self.runner.run(name, command, limit=30):
                        report["collectives"][name] = json.loads(output.read_text())


def executables(folder):
    return sorted(path for path in folder.rglob("*")
                  if path.is_file() and os.access(path, os.X_OK) and not path.suffix)


def test_filters(build):
    """The arguments by which the tests keep each benchmark short: the sizes that a CPU does in moments."""
    listing = machine.answer("ctest", "--test-dir", build, "-L", "^bench$", "--show-only=json-v1")
    commands = [test.get("command", []) for test in json.loads(listing or "{}").get("tests", [])]
    return {Path(command[0]).name: part for command in commands for part in command
            if part.startswith("--benchmark_filter=")}


def read_log(path):
    epochs = [{key: float(value) for key, value in row.items()} for row in csv.DictReader(path.read_text().splitlines())]
    later = epochs[1:] or epochs  # the first epoch loads kernels
    return {"epochs": epochs, "sec_per_epoch": sum(epoch["seconds"] for epoch in later) / len(later),
            "test_accuracy": epochs[-1]["test_accuracy"]}


def read_junit(path):
    suite = xml.parse(path).getroot()
    failed = [case.get("name") for case in suite.iter("testcase") if case.find("failure") is not None]
    return {"tests": int(suite.get("tests")), "failures": int(suite.get("failures")),
            "skipped": int(suite.get("skipped")), "failed": failed}


def read_benchmark(path):
    """Google Benchmark's file; of a run that was stopped, what it had written."""
    text = path.read_text() if path.exists() else ""
    for candidate in (text, text.rstrip().rstrip(",") + "]}"):
        try:
            return json.loads(candidate)
        except ValueError:
            continue
    return {"context": {}, "benchmarks": []}
