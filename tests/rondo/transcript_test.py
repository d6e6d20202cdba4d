"""Compares what commands of rondo print with transcripts.

transcript_test.py RONDO TRANSCRIPT... [--update] [--with-files]: a transcript is a sequence of "$ command"
lines, each followed by the output of the command, standard output and errors together, and by "[code]" if its
exit code is not 0. The commands of a transcript run one after another in an empty folder, by sh; with
--with-files in a copy of the folder of the transcript. Addresses, the names of temporary folders and the
folder of the executor's headers are replaced. --update writes what the commands print now into the
transcripts. Numbers are kept to 12 digits: the last digits of a double depend on whether the compiler uses
fused multiply-add.
"""
import difflib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile


TEMPORARY = re.compile(r"rondo-(cuda|judge)-\w{6}")
HEADERS = re.compile(r"/\S*/(?:simt/include|rondo-simt)/")
ADDRESS = re.compile(r"0x[0-9a-f]{8,}")
LONG_NUMBER = re.compile(r"\d+\.\d{9,}(e[-+]?\d+)?")


def run(command, folder, program):
    environment = {"PATH": f"{program.parent}:{os.environ['PATH']}", "HOME": folder, "TERM": "dumb"}
    done = subprocess.run(["sh", "-c", command], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    text = done.stdout if done.stdout.endswith("\n") or not done.stdout else done.stdout + "\n"
    text = LONG_NUMBER.sub(lambda number: f"{float(number[0]):.12g}", text)
    text = HEADERS.sub("", text)
    text = TEMPORARY.sub(r"rondo-\1-...", ADDRESS.sub("0x...", text)).replace(folder + "/", "")
    return text + (f"[{done.returncode}]\n" if done.returncode else "")


def transcript_of(commands, program, files):
    with tempfile.TemporaryDirectory() as folder:
        if files:
            shutil.copytree(files, folder, dirs_exist_ok=True)
        return "\n".join(f"$ {command}\n{run(command, folder, program)}" for command in commands)


def main():
    program, *paths = [pathlib.Path(argument).resolve()
                       for argument in sys.argv[1:] if not argument.startswith("--")]
    failed = False
    for path in paths:
        wanted = path.read_text()
        commands = [line[2:] for line in wanted.splitlines() if line.startswith("$ ")]
        if not commands:
            sys.exit(f"{path}: there is no line that begins with '$ '")
        found = transcript_of(commands, program, path.parent if "--with-files" in sys.argv else None)
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
