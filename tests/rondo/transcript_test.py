"""Compares what commands of rondo print with transcripts.

transcript_test.py RONDO TRANSCRIPT... [--update]: a transcript is a sequence of "$ command" lines, each followed
by the output of the command, standard output and errors together, and by "[code]" if its exit code is not 0. The
commands of a transcript run one after another in an empty folder, by sh. --update writes what the commands print
now into the transcripts. Numbers are kept to 12 digits: the last digits of a double depend on whether the
compiler uses fused multiply-add.
"""
import difflib
import os
import pathlib
import re
import subprocess
import sys
import tempfile


LONG_NUMBER = re.compile(r"\d+\.\d{9,}(e[-+]?\d+)?")


def run(command, folder, program):
    environment = {"PATH": f"{program.parent}:{os.environ['PATH']}", "HOME": folder, "TERM": "dumb"}
    done = subprocess.run(["sh", "-c", command], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    text = done.stdout if done.stdout.endswith("\n") or not done.stdout else done.stdout + "\n"
    text = LONG_NUMBER.sub(lambda number: f"{float(number[0]):.12g}", text)
    return text + (f"[{done.returncode}]\n" if done.returncode else "")


def transcript_of(commands, program):
    with tempfile.TemporaryDirectory() as folder:
        return "\n".join(f"$ {command}\n{run(command, folder, program)}" for command in commands)


def main():
    program, *paths = [pathlib.Path(argument).resolve() for argument in sys.argv[1:] if argument != "--update"]
    failed = False
    for path in paths:
        wanted = path.read_text()
        commands = [line[2:] for line in wanted.splitlines() if line.startswith("$ ")]
        if not commands:
            sys.exit(f"{path}: there is no line that begins with '$ '")
        found = transcript_of(commands, program)
        if found == wanted:
            continue
        if "--update" in sys.argv:
            path.write_text(found)
            continue
        failed = True
        sys.stdout.writelines(difflib.unified_diff(wanted.splitlines(True), found.splitlines(True), path.name,
                                                   "what rondo prints"))
    sys.exit(failed)


if __name__ == "__main__":
    main()
