"""Finds a python3 for each framework, and runs processes with a time limit."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1]  # the folder for `import peers`
MODULES = {"pytorch": "torch", "jax": "jax"}
LOOK_SECONDS = 60


def pin_to_cores(count):
    """Pins this process and its children to at most `count` cores; returns their number."""
    cores = sorted(os.sched_getaffinity(0))[:count]
    os.sched_setaffinity(0, cores)
    return len(cores)


def environment(cores, precision="fp32"):
    """The environment variables of a run with the given precision."""
    # Keeps the caller's PYTHONPATH: it may be needed to find the frameworks.
    path = os.pathsep.join([str(FOLDER), *filter(None, [os.environ.get("PYTHONPATH")])])
    found = {**os.environ, "SIMT_WORKERS": str(cores), "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1",
             "TF_CPP_MIN_LOG_LEVEL": "2"}
    # NVIDIA's libraries let this variable override what the frameworks ask for.
    found.pop("NVIDIA_TF32_OVERRIDE", None)
    if precision == "fp32":
        found["NVIDIA_TF32_OVERRIDE"] = "0"
    return found


# Checks without an import, which takes seconds for such large frameworks.
LOOK = """import importlib.metadata, importlib.util, sys
if not importlib.util.find_spec(sys.argv[1]):
    sys.exit(f"No module named '{sys.argv[1]}'")
print(importlib.metadata.version(sys.argv[1]))"""


def find_python(framework, candidates=()):
    """(python3, version) of the first python3 that has the framework, or (None, reason)."""
    whys = []
    for python in dict.fromkeys([*candidates, sys.executable, shutil.which("python3"), "/usr/bin/python3"]):
        if not python:
            continue
        version, why = run([python, "-c", LOOK, MODULES[framework]], LOOK_SECONDS, os.environ)
        if not why:
            return python, version.strip()
        whys.append(f"{python}: {why}")
    return None, "; ".join(whys)


def run(command, seconds, environment):
    """Runs a process and its children for at most `seconds`. Returns (output, error or None)."""
    begin = time.monotonic()
    # A file, not a pipe: a grandchild outside the process group could keep a pipe open, and reading it would
    # block.
    with tempfile.TemporaryFile() as log:
        try:
            process = subprocess.Popen([str(part) for part in command], env=environment, stdout=log,
                                       stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                                       start_new_session=True)
        except OSError as error:
            return "", f"{command[0]}: {error.strerror}"
        try:
            process.wait(timeout=seconds)
            stopped = None
        except subprocess.TimeoutExpired:
            stop(process)
            stopped = f"stopped after {time.monotonic() - begin:.0f} s"
        except BaseException:  # Ctrl-C reaches only this process: the child has its own session
            stop(process)
            raise
        log.seek(0)
        output = log.read().decode(errors="replace")
    if stopped or process.returncode == 0:
        return output, stopped
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return output, f"exit code {process.returncode}: {lines[-1][:300] if lines else 'no output'}"


def stop(process):
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
