"""GoogleTest programs as steps, each run as a whole: on a GPU a process for each test would make a context each.

A program that hangs or crashes is named with the test that was running, and started again without the tests that have
run and without that one.
"""

import json
import re
import time

RUN = re.compile(r"\[ RUN      \] (\S+)")
ALL_RAN = re.compile(r"\[==========\] .* ran\.")
ENDED = re.compile(r"\[ +(OK|FAILED|SKIPPED) +\] ([^\s,]+).*\((\d+) ms\)")
MOST_STARTS = 8
LONGEST_FILTER = 100_000  # Linux takes 128 KiB in one argument


def list_programs(build):
    """[(name, path, labels)] of the GoogleTest programs of a build folder, as tests/CMakeLists.txt wrote them."""
    listing = build / "test_programs.txt"
    rows = [line.split("\t") for line in listing.read_text().splitlines()] if listing.exists() else []
    return [(name, path, labels.split(",")) for name, path, labels in rows]


class Outcome:
    """What became of a program's tests: {test: (outcome, seconds)}, the outcome being OK, FAILED or SKIPPED, or of the
    test in which the program ended CRASHED, HUNG (it had printed nothing for long) or STOPPED (the time was up).
    `complete`: every test had its turn."""

    def __init__(self):
        self.tests = {}
        self.complete = False

    def names(self, *outcomes):
        return [name for name, (what, _) in self.tests.items() if what in outcomes]


def run_program(runner, step_name, command, limit, silence, left_out=(), cwd=None, results=None):
    """`results`: where GoogleTest writes its own, as JSON; without, they are read from what it prints."""
    outcome = Outcome()
    deadline = time.monotonic() + limit
    for start in range(1, MOST_STARTS + 1):
        name = step_name if start == 1 else f"{step_name}, start {start}"
        pattern = filter_without([*left_out, *outcome.tests])
        arguments = [*command, *([f"--gtest_filter={pattern}"] if pattern else [])]
        if results:
            results.unlink(missing_ok=True)
            arguments.append(f"--gtest_output=json:{results}")
        step = runner.step(name, arguments, deadline - time.monotonic(), silence=silence, cwd=cwd)
        if step["exit_code"] is None:  # not started
            break
        log = runner.log_of(name).read_text(errors="replace")
        ended, running = read_log(log)
        outcome.tests.update(read_json(results) if results and results.exists() else ended)
        if ALL_RAN.search(log):
            outcome.complete = True
            break
        if not running:  # such as in the preparation of a suite: which tests are to blame is not known
            if step["state"] == "passed":
                step["state"] = "failed"
            runner.explain(step, f"{step['note']}; ended between two tests")
            break
        what = "CRASHED" if step["state"] != "timed out" else "HUNG" if "printed nothing" in step["note"] else "STOPPED"
        outcome.tests[running] = (what, 0.0 if what == "CRASHED" else step["seconds"])
        runner.explain(step, f"{what.lower()} in {running} ({step['note']})")
    return outcome


def filter_without(names):
    """GoogleTest's filter of all tests but these; of suites that are done in front of the last one as a whole."""
    if not names:
        return ""
    pattern = "-" + ":".join(names)
    if len(pattern) > LONGEST_FILTER:
        suites = list(dict.fromkeys(name.split(".")[0] for name in names))
        pattern = "-" + ":".join([*(suite + ".*" for suite in suites[:-1]),
                                  *(name for name in names if name.split(".")[0] == suites[-1])])
    return pattern


def read_log(text):
    """({test: (outcome, seconds)}, the test that had begun and not ended)."""
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
