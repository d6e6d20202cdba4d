#!/usr/bin/env python3
"""The problems of `rondo judge`: each has the best known solution, a slow one, and three wrong ones.

  judge_test.py RONDO                the best known solutions, and the first wrong one of each problem
  judge_test.py RONDO --all          all solutions
  judge_test.py RONDO --seeds 20     the wrong solutions with each of 20 seeds alone
  judge_test.py RONDO --update       writes the counts of slow.json and best.json
  ... --problem NAME                 one problem

The first line of a wrong solution begins with "// KIND: ", what the judge must say: wrong, race, unwritten
read, out of range, deadlock, launch, time limit, changed input.
"""
import argparse
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

SOLUTIONS = pathlib.Path(__file__).resolve().parent
PROBLEMS = SOLUTIONS.parents[2] / "tools/rondo/judge/problems"
WRONG = ["wrong_1", "wrong_2", "wrong_3"]


def compiler(folder):
    """g++, through ccache if it is there: the same sources are compiled many times."""
    if not shutil.which("ccache"):
        return "g++"
    script = pathlib.Path(folder) / "compiler"
    script.write_text('#!/bin/sh\nexec ccache g++ "$@"\n')
    script.chmod(0o755)
    return str(script)


class Judge:
    def __init__(self, program, folder):
        self.program, self.compiler = program, compiler(folder)

    def check(self, problem, solution, *options):
        """The verdict, as JSON and as the exit code."""
        file = SOLUTIONS / problem / f"{solution}.cu"
        command = [self.program, "judge", "check", file, "--problem", problem, "--json", "-",
                   "--compiler", self.compiler, *options]
        run = subprocess.run(command, capture_output=True, text=True, check=False)
        try:
            return json.loads(run.stdout), run.returncode
        except json.JSONDecodeError:
            return {"verdict": "none", "stars": 0, "text": run.stdout + run.stderr}, run.returncode


def kinds(verdict):
    """What the judge said about a wrong solution."""
    said = {finding["kind"] for finding in verdict.get("findings", [])}
    end = verdict.get("failure", {}).get("end")
    if end == "CUDA error" and not said:
        said.add("launch")
    if end:
        said.add(end)
    return said


def expect(problems, condition, message, verdict):
    if not condition:
        short = {key: value for key, value in verdict.items() if key not in ("profile",)}
        problems.append(f"{message}: {json.dumps(short)[:1500]}")


def test_wrong(judge, problem, solution, problems, *options):
    source = (SOLUTIONS / problem / f"{solution}.cu").read_text()
    kind = source.split(":")[0].removeprefix("// ")
    verdict, code = judge.check(problem, solution, *options)
    place = f"{problem}/{solution} {' '.join(options)}"
    failed = code == 1 and verdict["verdict"] in ("wrong", "faulty", "time limit")
    expect(problems, failed, f"{place} passed", verdict)
    said = kinds(verdict)
    expect(problems, kind in said, f"{place} must be '{kind}', is {sorted(said)}", verdict)


def test_counted(judge, problem, solution, stars, update, problems):
    verdict, code = judge.check(problem, solution)
    place = f"{problem}/{solution}"
    expect(problems, code == 0 and verdict["verdict"] == "right", f"{place} is not right", verdict)
    if "profile" not in verdict:
        return
    file = PROBLEMS / problem / f"{solution}.json"
    counts = json.dumps(verdict["profile"], separators=(",", ":")) + "\n"
    if update:
        file.write_text(counts)
        return
    same = counts == file.read_text()
    expect(problems, same, f"{place}: other counts than {file.name} has; --update writes them", verdict)
    found = verdict["stars"]
    expect(problems, found == stars, f"{place} has {found} stars, must have {stars}", verdict)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--seeds", type=int, default=0)
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--problem")
    options = parser.parse_args()
    listed = subprocess.run([options.program, "judge", "list"], capture_output=True, text=True, check=True)
    names = [line.split()[1] for line in listed.stdout.splitlines() if line[:2].strip().isdigit()]
    problems = []
    solved = [file.parent.name for file in SOLUTIONS.glob("*/best.cu")]
    if sorted(names) != sorted(solved):
        problems.append(f"the problems {names} are not those with solutions")
    if options.problem:
        names = [options.problem]
    with tempfile.TemporaryDirectory() as folder:
        judge = Judge(options.program, folder)
        for name in names:
            for seed in range(options.seeds):
                for wrong in WRONG:
                    test_wrong(judge, name, wrong, problems, "--seed", str(100 + seed), "--seeds", "1")
            if options.seeds:
                continue
            test_counted(judge, name, "best", 3, options.update, problems)
            if options.all or options.update:
                test_counted(judge, name, "slow", 1, options.update, problems)
            for wrong in WRONG if options.all else [] if options.update else WRONG[:1]:
                test_wrong(judge, name, wrong, problems)
    print("\n".join(problems) or f"{len(names)} problems")
    sys.exit(1 if problems else 0)


main()
