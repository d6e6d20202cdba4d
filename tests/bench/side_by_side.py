"""Runs the tests of a file whose tests mostly wait: its classes at the same time, each in its own process."""

import subprocess
import sys
import unittest


def main(build):
    """For a file whose first argument is a build folder, which it has taken from sys.argv. With more
    arguments: unittest's own main(), so that one test can be run."""
    if len(sys.argv) > 1:
        unittest.main(buffer=True)
    cases = [name for name, value in vars(sys.modules["__main__"]).items()
             if isinstance(value, type) and issubclass(value, unittest.TestCase)
             and unittest.defaultTestLoader.getTestCaseNames(value)]
    if not cases:
        sys.exit(f"{sys.argv[0]} has no tests")
    running = [subprocess.Popen([sys.executable, sys.argv[0], build, name], stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True) for name in cases]
    for name, process in zip(cases, running):
        print(f"{name}: {process.communicate()[0]}", flush=True)
    sys.exit(any(process.returncode != 0 for process in running))
