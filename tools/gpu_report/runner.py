"""Runs the steps of a report: each with a time limit, a log file and a recorded outcome."""

import os
import signal
import subprocess
import threading
import time

SECONDS_BETWEEN_LOOKS = 0.2


class Runner:
    """Steps with a common deadline. A step's limit is its own or the rest of its part's time, whichever is
    shorter. Steps may run in parallel, from several threads."""

    def __init__(self, logs, seconds):
        self.logs = logs
        self.logs.mkdir(exist_ok=True)
        self.deadline = time.monotonic() + seconds
        self.part_deadline = self.deadline
        self.lock = threading.Lock()
        self.steps = []
        self.recorded = lambda: None  # called after each step

    def begin_part(self, share):
        """Limits all following steps to this share of the remaining time."""
        now = time.monotonic()
        self.part_deadline = now + share * (self.deadline - now)

    def left(self):
        return self.part_deadline - time.monotonic()

    def run(self, name, command, limit, cwd=None, env=None):
        """Runs a command as a step. Returns True if it ended with exit code 0 in time. With limit None there
        is no time limit, for commands that must not be interrupted."""
        return self.step(name, command, limit, cwd=cwd, env=env)["state"] == "passed"

    def step(self, name, command, limit, silence=None, cwd=None, env=None):
        """As run(), but returns the recorded step. A program without output for `silence` seconds counts as
        hung and is stopped."""
        if limit is not None:
            limit = min(limit, self.left())
        if limit is not None and limit < 1:
            return self.note(name, "skipped", "no time was left for it")
        command = [str(part) for part in command]
        log = self.log_of(name)
        begin = time.monotonic()
        code = None
        with log.open("wb") as output:
            try:
                # A separate process group, so that the children of a timed-out step are stopped, too.
                process = subprocess.Popen(command, cwd=cwd, env={**os.environ, **(env or {})}, stdout=output,
                                           stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                                           start_new_session=True)
                state, note = self.wait(process, limit, silence, log)
                code = process.returncode
            except OSError as error:
                state, note = "failed", f"{command[0]}: {error.strerror}"
        return self.record(name, state, time.monotonic() - begin, note, command, code)

    def log_of(self, name):
        return self.logs / f"{name.replace(' ', '_').replace('/', '_')}.txt"

    def wait(self, process, limit, silence, log):
        try:
            reason = self.overdue(process, limit, silence, log)
        except BaseException:  # Ctrl-C reaches only this process, because the step has its own session
            os.killpg(process.pid, signal.SIGTERM)
            raise
        if reason:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return "timed out", reason
        if process.returncode == 0:
            return "passed", ""
        lines = [line for line in log.read_text(errors="replace").splitlines() if line.strip()]
        return "failed", f"exit code {process.returncode}: {lines[-1][:200] if lines else 'no output'}"

    def overdue(self, process, limit, silence, log):
        """Waits. Returns why the process must be stopped, or None if it has ended."""
        begin = said_something = time.monotonic()
        size = 0
        while True:
            now = time.monotonic()
            until_stop = float("inf") if limit is None else begin + limit - now
            until_hung = float("inf") if silence is None else said_something + silence - now
            if until_stop <= 0:
                return f"stopped after {limit:.0f} s"
            if until_hung <= 0:
                return f"stopped after {silence:.0f} s in which it printed nothing"
            wait = min(until_stop, until_hung, SECONDS_BETWEEN_LOOKS if silence else 3600)
            try:
                process.wait(timeout=wait)
                return None
            except subprocess.TimeoutExpired:
                pass
            if silence and log.stat().st_size != size:
                size, said_something = log.stat().st_size, time.monotonic()

    def note(self, name, state, why):
        """Records a step that was not started."""
        return self.record(name, state, 0, why, [], None)

    def fail(self, step, why):
        """Marks a finished step as failed."""
        step["state"] = "failed"
        self.explain(step, why)

    def explain(self, step, note):
        """Adds a note to a recorded step."""
        with self.lock:
            step["note"] = note
            print(f"    {step['name']} {step['state']}: {note}", flush=True)
            self.recorded()

    def record(self, name, state, seconds, note, command, code):
        step = {"name": name, "state": state, "seconds": round(seconds, 2), "note": note,
                "command": " ".join(command), "exit_code": code}
        with self.lock:
            print(f"{name} ... {state} ({seconds:.1f} s){': ' + note if note else ''}", flush=True)
            self.steps.append(step)
            self.recorded()
        return step
