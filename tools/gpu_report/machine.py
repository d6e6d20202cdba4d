"""The conditions of a measurement: machine, GPU, driver, tools, commit, clocks."""

import os
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench/frameworks"))
from peers.watch import Watch  # noqa: E402

GPU_FIELDS = ["name", "driver_version", "memory.total", "power.limit", "clocks.max.sm", "clocks.max.mem",
              "clocks.sm", "clocks.mem", "temperature.gpu", "power.draw"]


def answer(*command, cwd=None):
    """The output of a command, or "" if it is missing or fails."""
    try:
        done = subprocess.run([str(part) for part in command], cwd=cwd, capture_output=True, text=True,
                              timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def cpu_name():
    try:
        with open("/proc/cpuinfo") as lines:
            names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    except OSError:
        return platform.processor()
    return names[0] if names else platform.processor()


def cores():
    return len(os.sched_getaffinity(0))


def memory_bytes():
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def gpus():
    rows = answer("nvidia-smi", "--query-gpu=" + ",".join(GPU_FIELDS), "--format=csv,noheader").splitlines()
    return [dict(zip(GPU_FIELDS, (value.strip() for value in row.split(",")))) for row in rows]


def compute_capability(rondo):
    """The compute capability of device 0, or None if the program does not print it."""
    table = [line.split() for line in answer(rondo, "devices").splitlines()]
    if len(table) < 2 or table[0][-1:] != ["capability"]:
        return None
    return float(table[1][-1])


def facts(root, nvcc):
    release = re.search(r"release [\d.]+, V([\d.]+)", answer(nvcc, "--version")) if nvcc else None
    return {
        "cpu": cpu_name(),
        "cores": cores(),
        "memory_gib": round(memory_bytes() / 2**30, 1),
        "system": platform.platform(),
        "gpus": gpus(),
        "cuda_toolkit": release.group(1) if release else None,
        "compiler": answer("g++", "--version").split("\n")[0] or None,
        "cmake": answer("cmake", "--version").split("\n")[0] or None,
        "commit": answer("git", "describe", "--always", "--dirty", "--abbrev=12", cwd=root) or None,
    }


class ClockWatch(Watch):
    """Samples the GPU's clocks while the benchmarks run, so that the report shows throttling."""

    FIELDS = ["clocks.sm", "clocks.mem", "power.draw", "temperature.gpu", "clocks_throttle_reasons.active"]

    def __init__(self, seconds_between=3):
        super().__init__(seconds_between, works=shutil.which("nvidia-smi") and gpus())
        self.samples = []

    def look(self):
        row = answer("nvidia-smi", "-i", "0", "--query-gpu=" + ",".join(self.FIELDS),
                     "--format=csv,noheader,nounits")
        if row:
            self.samples.append(dict(zip(self.FIELDS, (value.strip() for value in row.split(",")))))
