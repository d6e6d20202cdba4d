"""Runs GoogleTest programs as steps. Each program runs all of its tests, because on a GPU one process per
test would create one context each.

If a program hangs or crashes, the running test is reported, and the program is restarted without that test
and those that have run.
"""

import json
import re
import time

RUN = re.compile(r"\[ RUN      \] (\S+)")
ALL_RAN = re.compile(r"\[==========\] .* ran\.")
ENDED = re.compile(r"\[ +(OK|FAILED|SKIPPED) +\] ([^\s,]+).*\((\d+) ms\)")
MOST_STARTS = 8
LONGEST_FILTER = 100_000  # Linux allows 128 KiB in one argument


def list_programs(build):
    """[(name, path, labels)] of the GoogleTest programs of a build folder, from the list of
    tests/CMakeLists.txt."""
    listing = build / "test_programs.txt"
    rows = [line.split("\t") for line in listing.read_text().splitlines()] if listing.exists() else []
    return [(name, path, labels.split(",")) for name, path, labels in rows]


class Outcome:
    """The results of a program's tests: {test: (outcome, seconds)}. The outcome is OK, FAILED or SKIPPED; for
    the test in which the program ended it is CRASHED, HUNG (no output for long) or STOPPED (the time was up).
    `complete`: all tests have run. `steps`: one for each start of the program."""

    def __init__(self):
        self.tests = {}
        self.steps = []
        self.complete = False

    def names(self, *outcomes):
        return [name for name, (what, _) in self.tests.items() if what in outcomes]


def run_program(runner, step_name, command, limit, silence, left_out=(), cwd=None, env=None, results=None):
    """`results`: GoogleTest's JSON output file; without it the results are parsed from the printed output."""
    outcome = Outcome()
    deadline = time.monotonic() + limit
    for start in range(1, MOST_STARTS + 1):
        name = step_name if start == 1 else f"{step_name}, start {start}"
        pattern = filter_without([*left_out, *outcome.tests])
        arguments = [*command, *([f"--gtest_filter={pattern}"] if pattern else [])]
        if results:
            results.unlink(missing_ok=True)
            arguments.append(f"--gtest_output=json:{results}")
        step = runner.step(name, arguments, deadline - time.monotonic(), silence=silence, cwd=cwd, env=env)
        if step["exit_code"] is None:  # not started
            break
        outcome.steps.append(step)
        log = runner.log_of(name).read_text(errors="replace")
        ended, running = read_log(log)
        outcome.tests.update(read_json(results) if results and results.exists() else ended)
        if ALL_RAN.search(log):
            outcome.complete = True
            break
        if not running:  # for example in a suite's set-up: the failing test is unknown
            if step["state"] == "passed":
                step["state"] = "failed"
            runner.explain(step, f"{step['note']}; ended between two tests")
            break
        what = ("CRASHED" if step["state"] != "timed out"
                else "HUNG" if "printed nothing" in step["note"] else "STOPPED")
        outcome.tests[running] = (what, 0.0 if what == "CRASHED" else step["seconds"])
        runner.explain(step, f"{what.lower()} in {running} ({step['note']})")
    return outcome


def filter_without(names):
    """GoogleTest's filter for all tests but these. If it is too long, all suites but the last are excluded
    entirely."""
    if not names:
        return ""
    pattern = "-" + ":".join(names)
    if len(pattern) > LONGEST_FILTER:
        suites = list(dict.fromkeys(name.split(".")[0] for name in names))
        pattern = "-" + ":".join([*(suite + ".*" for suite in suites[:-1]),
                                  *(name for name in names if name.split(".")[0] == suites[-1])])
    return pattern


def read_log(text):
    """({test: (outcome, seconds)}, the test that began and did not end)."""
    tests, running = {}, None
    for line in text.splitlines():
        if begun := RUN.search(line):
            running = begun.group(1)
        elif ended := ENDED.search(line):
            tests[ended.group(2)] = (ended.group(1), int(ended.group(3)) / 1000)
            running = None
    return tests, running


def read_json(path):
    tests = {}
    for suite in json.loads(path.read_text())["testsuites"]:
        for test in suite["testsuite"]:
            if test["status"] != "RUN":
                continue
            what = "FAILED" if test.get("failures") else "SKIPPED" if test["result"] == "SKIPPED" else "OK"
            tests[f"{suite['name']}.{test['name']}"] = (what, float(test["time"].rstrip("s")))
    return tests
