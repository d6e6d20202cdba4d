"""The steps of a report. Tests come first; the others follow by importance, in case time runs out."""

import csv
import datetime
import json
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from pathlib import Path

from . import checks, machine, markdown, targets
from .runner import Runner

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench/frameworks"))
from peers import launch, outcome, recipes, table  # noqa: E402

DATA = Path(recipes.DATA)
QUICK_SIZES = {"lenet": ["--limit", "512", "--epochs", "2"],
               "mlp": ["--layers", "6", "--width", "64", "--batch", "64"],
               "resnet18": ["--limit", "16", "--batch", "8", "--epochs", "1"]}
CPU_SIZES = {**QUICK_SIZES, "lenet": ["--limit", "10240", "--epochs", "3"]}
# The executor computes tensor core instructions one by one, some ten times slower than fp32.
CPU_TENSOR_CORE_SIZES = {**QUICK_SIZES, "lenet": ["--limit", "64", "--batch", "32", "--epochs", "2"],
                         "resnet18": ["--limit", "2", "--batch", "2", "--epochs", "1"]}
GPU_TENSOR_CORE_SIZES = {"lenet": ["--epochs", "3"], "resnet18": ["--epochs", "3"], "mlp": []}

# Shares of the time of the benchmarks; of the others 1. The targets need all convolutions.
WEIGHTS = {targets.GEMM_PROGRAM: 6, targets.CONVOLUTION_PROGRAM: 6}
FRAMEWORK_SECONDS = 60  # to load PyTorch or JAX from a cold disk

PARTS = ("build", "links", "tests", "networks", "training", "benchmarks", "collectives", "sanitizer",
         "compiled")


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
        "networks": {}, "frameworks": {}, "shared": {}, "mlp": {}, "tests": None, "benchmarks": {},
        "convolution_means": [], "targets": [], "clocks_while_benchmarking": [], "links": None,
        "collectives": {}, "sanitizer": None,
        "steps": runner.steps,
    }

    def write():  # also after each step, so that an interrupted run leaves a report
        report["seconds"] = round(time.monotonic() - begin, 1)
        report["convolution_means"] = targets.convolution_means(report)
        report["targets"] = targets.compare(report)
        outcome.write_json(directory / "report.json", report)
        (directory / "report.md").write_text(markdown.summary(report))

    runner.recorded = write
    left = Steps(arguments, directory, runner, preset, nvcc).parts()
    while left:
        (part, weight), *later = left
        # Each part has its share of the remaining time, so unused time goes to all later parts.
        share = weight / sum(weight for _, weight in left)
        # The steps of a quick report are short; a busy machine may make any take longer than its share.
        runner.begin_part(max(share, 0.2) if arguments.quick else share)
        take(part, report, runner)
        write()
        left = later
    return report


def take(part, report, runner):
    """Runs a part. An exception in it does not stop the following parts."""
    try:
        part(report)
    except Exception as error:  # for example an output file with an unexpected format
        runner.note(f"report of {getattr(part, 'func', part).__name__}", "failed",
                    f"{type(error).__name__}: {error}")


def detect_platform():
    """The preset of tools/train and tools/test on this machine, the reason, and nvcc."""
    script = f'source "{ROOT}/tools/platform.sh"; printf "%s\\n" "$preset" "$preset_reason" "$nvcc"'
    lines = subprocess.run(["bash", "-c", script], capture_output=True, text=True,
                           check=True).stdout.split("\n")
    return lines[0], lines[1], lines[2]


def preset_of(build):
    """The preset that a build folder was configured for."""
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
        self.data = Path(arguments.data) if arguments.data else DATA
        self.only = arguments.only
        self.checks = checks.Checks(runner, self.build_folder, directory, preset, nvcc, arguments.quick)

    def parts(self):
        """[(part, share)]: each part adds its results to a report. Tests come first: timings of wrong results
        are useless."""
        # The precisions that use tensor cores train for fewer epochs, so they need less time.
        networks = [(partial(self.networks, network, precision),
                     of_fp32 if precision == "fp32" else of_others)
                    for precision in recipes.PEER_PRECISIONS
                    for network, of_fp32, of_others in
                    (("lenet", 2, 1.6), ("mlp", 2.5, 1.4), ("resnet18", 3.5, 2.4))]
        compiled = [(partial(self.compiled, network, precision), 0.7 if precision == "fp32" else 0.4)
                    for precision in recipes.PEER_PRECISIONS
                    for network in ("lenet", "mlp", "resnet18")]
        # The tests compute references, which takes the suite minutes on a few cores. Their weight gives them
        # more than two minutes of a report with --build; time that they leave goes to the later parts.
        named = {
            "build": [(self.build, 30)],
            "links": [(self.links, 2.5)],
            "tests": [(self.checks.tests, 12)],
            "networks": networks,
            "training": [(self.shared, 1.2), (self.mlp, 0.8)],
            "benchmarks": [(self.benchmarks, 3.5)],
            "collectives": [(self.collectives, 1.2)],
            "sanitizer": [(self.checks.sanitizer, 4)],
            "compiled": compiled,
        }
        wanted = self.only or [name for name in PARTS if name != "build" or not self.prebuilt]
        if "networks" in wanted:
            named["networks"].insert(0, (partial(self.frameworks, ["pytorch", "jax"]), 1))
        elif "compiled" in wanted and not self.quick:
            named["compiled"].insert(0, (partial(self.frameworks, ["pytorch"]), 1))
        return [part for name in PARTS if name in wanted for part in named[name]]

    def build(self, _):
        # No limit: an interrupted package manager leaves a broken database. setup limits its own downloads.
        self.runner.run("setup", ["env", "RONDO_SETUP_SECONDS=60", ROOT / "tools/setup"], limit=None)
        # Missing packages show in the build's errors, and the installed ones may suffice. A target that does
        # not compile does not prevent the others from being built.
        build = f'source "{ROOT}/tools/platform.sh"; keep_going=true build {self.preset}'
        self.runner.run("build", ["bash", "-c", build], limit=self.runner.left())

    # The three networks, each program in a separate process on one device.

    def frameworks(self, names, _):
        """Loads the frameworks, so that the trainings' limits are for the trainings."""
        self.runner.begin_part(1)  # a cold disk is no faster in a short report
        with ThreadPoolExecutor() as pool:
            list(pool.map(self.load, names))

    def load(self, framework):
        name = f"frameworks {framework}"
        python, version = launch.find_python(framework)  # as networks_beside_peers does
        if not python:
            self.runner.note(name, "skipped", f"not importable ({version})")
            return
        command = [python, "-m", "peers.warm", framework, "cuda" if self.preset == "cuda" else "cpu"]
        step = self.runner.step(name, command, FRAMEWORK_SECONDS,
                                env=launch.environment(os.cpu_count()))
        if step["state"] in ("failed", "timed out"):
            # As in its rows: not a failure of Rondo.
            step["state"] = "reported"
            self.runner.explain(step, step["note"])

    def networks(self, network, precision, report):
        limit = self.runner.left()
        self.beside(report, f"{network} beside its peers, {precision}", network, precision,
                    ["rondo", "eager", "jax", "graph"], limit, limit / 2)

    def compiled(self, network, precision, report):
        """torch.compile, if there is time left; most of it is compilation."""
        step = f"{network} by torch.compile, {precision}"
        if self.quick:
            self.runner.note(step, "skipped", "not in a quick report")
        else:
            limit = self.runner.left()
            self.beside(report, step, network, precision, ["compiled"], limit, max(1, limit - 10))

    def beside(self, report, step, network, precision, programs, limit, of_each):
        if network != "mlp" and not self.has_data(step):
            return
        capability = self.capability()
        if precision != "fp32" and capability and capability < 8.0:
            why = ("as they come, the frameworks use tf32 from compute capability 8.0 on and fp32 before"
                   if precision == recipes.AS_IT_COMES else f"{precision} needs compute capability 8.0")
            self.runner.note(step, "skipped", f"{why}; the device has {capability}")
            return
        output = self.directory / f"networks_{network}_{programs[-1]}_{precision}.json"
        output.unlink(missing_ok=True)
        # The program's own time limit ends before the step's, so that its results are complete.
        seconds = max(1, min(limit, self.runner.left()) - 3)
        command = [sys.executable, ROOT / "bench/frameworks/networks_beside_peers",
                   self.build_folder / "rondo",
                   "--networks", network, "--programs", *programs, "--precision", precision,
                   "--device", "cuda" if self.preset == "cuda" else "cpu",
                   "--data", self.data, "--json", output,
                   "--cores", os.cpu_count(), "--timeout", of_each, "--minutes", seconds / 60,
                   *self.sizes(network, precision)]
        self.runner.run(step, command, limit=limit)
        if output.exists():
            found = json.loads(output.read_text())
            report["frameworks"].update(found["frameworks"])
            rows = report["networks"].setdefault(network, [])
            rows += found["networks"][network]
            table.summarise(rows)

    @cache
    def capability(self):
        return machine.compute_capability(self.build_folder / "rondo")

    def sizes(self, network, precision):
        """The size options of networks_beside_peers; none for the full size."""
        if self.preset == "cpu" and precision in ("tf32", "bf16"):
            return CPU_TENSOR_CORE_SIZES[network]
        if self.quick:
            return QUICK_SIZES[network]
        if self.preset == "cpu":
            return CPU_SIZES[network]
        return [] if precision == "fp32" else GPU_TENSOR_CORE_SIZES[network]

    def has_data(self, step):
        if self.data.is_dir():
            return True
        self.runner.note(step, "skipped",
                         f"{self.data} does not exist; --data or RONDO_DATA names a folder "
                         "with Fashion-MNIST")
        return False

    # The same on two ranks that share a device.

    def shared(self, report):
        for network in ("lenet", "resnet18"):
            step = f"{network} on 2 ranks of one device"
            if not self.has_data(step):
                continue
            log = self.directory / f"{network}_0_0.csv"
            command = [self.build_folder / "rondo", "train", network, "--devices", "0,0", "--data", self.data,
                       "--log", log, "--plot", log.with_suffix(".svg")]
            if self.quick:
                command += [*QUICK_SIZES[network], "--verify"]
            elif self.preset == "cpu":
                command += CPU_SIZES[network]
            elif network == "resnet18":
                # Half a minute on the slowest supported GPUs.
                command += ["--epochs", "2", "--limit", "20480"]
            if self.runner.run(step, command, limit=40):
                report["shared"][network] = read_log(log)

    def mlp(self, report):
        for mode in ("sharded", "replicated"):
            output = self.directory / f"mlp_{mode}.json"
            output.unlink(missing_ok=True)
            command = [self.build_folder / "rondo", "train", "mlp", "--mode", mode, "--devices", "0,0",
                       "--json", output]
            if self.quick or self.preset == "cpu":
                command += QUICK_SIZES["mlp"]
            if self.runner.run(f"mlp, {mode} on 2 ranks of one device", command, limit=30):
                report["mlp"][mode] = json.loads(output.read_text())

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
            weights = [WEIGHTS.get(later.name, 1) for later in programs[number:]]
            step = self.runner.step(program.name, command,
                                    limit=self.runner.left() * (weights[0] / sum(weights)))
            results[program.name] = read_benchmark(output)
            wrong = [entry["name"] for entry in results[program.name]["benchmarks"]
                     if entry.get("error_occurred")]
            if step["state"] in ("passed", "failed") and wrong:
                self.runner.fail(step, f"wrong results or errors: {', '.join(wrong)[:200]}")
        if not programs:
            self.runner.note("benchmarks", "failed", f"no program was found in {self.build_folder / 'bench'}")

    # The links, and all-reduce over ranks that share a device, which other libraries do not support.

    def links(self, report):
        links = self.directory / "links.json"
        links.unlink(missing_ok=True)
        command = [self.build_folder / "rondo", "links", "--store", links]
        if self.preset == "cpu":
            command += ["--devices", "2"]  # the CPU executor has as many as requested, all alike
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
                               "--algorithm", algorithm, "-G", launches, "-b", "64K", "-f", "16",
                               "--json", output]
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
    """The benchmark filters of the tests: sizes that a CPU completes in moments."""
    listing = machine.answer("ctest", "--test-dir", build, "-L", "^bench$", "--show-only=json-v1")
    commands = [test.get("command", []) for test in json.loads(listing or "{}").get("tests", [])]
    return {Path(command[0]).name: part for command in commands for part in command
            if part.startswith("--benchmark_filter=")}


def read_log(path):
    epochs = [{key: float(value) for key, value in row.items()}
              for row in csv.DictReader(path.read_text().splitlines())]
    later = epochs[1:] or epochs  # without the first epoch, which loads kernels
    return {"epochs": epochs, "sec_per_epoch": sum(epoch["seconds"] for epoch in later) / len(later),
            "test_accuracy": epochs[-1]["test_accuracy"]}


def read_benchmark(path):
    """Reads Google Benchmark's file; for a run that was stopped, the part that was written."""
    text = path.read_text() if path.exists() else ""
    for candidate in (text, text.rstrip().rstrip(",") + "]}"):
        try:
            return json.loads(candidate)
        except ValueError:
            continue
    return {"context": {}, "benchmarks": []}
