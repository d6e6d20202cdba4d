"""Runs the steps of a report: each with a time limit, its output in a file, its outcome on record."""

import os
import signal
import subprocess
import time


class Runner:
    """Steps that share one deadline. A step's limit is its own or what is left, whichever is shorter."""

    def __init__(self, logs, seconds):
        self.logs = logs
        self.logs.mkdir(exist_ok=True)
        self.deadline = time.monotonic() + seconds
        self.steps = []

    def left(self):
        return self.deadline - time.monotonic()

    def run(self, name, command, limit, cwd=None, env=None):
        """Runs a command as a step; True when it ended with exit code 0 in time. Without a limit (None) it may
        take as long as it likes, for what must not be stopped half-way."""
        if limit is not None:
            limit = min(limit, self.left())
        if limit is not None and limit < 1:
            self.note(name, "skipped", "no time was left for it")
            return False
        command = [str(part) for part in command]
        print(f"{name} ...", end=" ", flush=True)
        log = self.logs / f"{name.replace(' ', '_').replace('/', '_')}.txt"
        begin = time.monotonic()
        with log.open("wb") as output:
            try:
                # A process group of its own, so that a step that runs out of time takes its children with it.
                process = subprocess.Popen(command, cwd=cwd, env={**os.environ, **(env or {})}, stdout=output,
                                           stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                                           start_new_session=True)
                state, note = self.wait(process, limit, log)
            except OSError as error:
                state, note = "failed", f"{command[0]}: {error.strerror}"
        self.record(name, state, time.monotonic() - begin, note, command)
        return state == "passed"

    def wait(self, process, limit, log):
        try:
            code = process.wait(timeout=limit)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return "timed out", f"stopped after {limit:.0f} s"
        except BaseException:  # Ctrl-C reaches this process only: the step has a session of its own
            os.killpg(process.pid, signal.SIGTERM)
            raise
        if code == 0:
            return "passed", ""
        lines = [line for line in log.read_text(errors="replace").splitlines() if line.strip()]
        return "failed", f"exit code {code}: {lines[-1][:200] if lines else 'no output'}"

    def note(self, name, state, why):
        """A step for which nothing was started."""
        print(f"{name} ...", end=" ")
        self.record(name, state, 0, why, [])

    def fail(self, why):
        """The step that ran last did end, but not well."""
        self.steps[-1]["state"] = "failed"
        self.steps[-1]["note"] = why
        print(f"    failed: {why}")

    def record(self, name, state, seconds, note, command):
        print(f"{state} ({seconds:.1f} s){': ' + note if note else ''}", flush=True)
        self.steps.append({"name": name, "state": state, "seconds": round(seconds, 2), "note": note,
                           "command": " ".join(command)})
