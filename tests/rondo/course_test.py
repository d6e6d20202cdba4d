"""Runs the commands of docs/course.md, and compares what they print with the page.

course_test.py RONDO COURSE.md [--update]: a block of ```console has "$ command" lines, each followed by what
the command prints. A block of ```cpp whose first line is "// NAME" is written to that file. The commands of
the page run one after another in one folder. Numbers of commands that measure (train, allreduce, strategies)
are compared by their places only. The images are drawn, because Fashion-MNIST may not be there; --update,
which writes the page, needs it.
"""
import difflib
import gzip
import os
import pathlib
import re
import struct
import subprocess
import sys
import tempfile

MEASURES = ("rondo train", "rondo allreduce", "rondo strategies", "rondo numerics")
BLOCK = re.compile(r"```(console|cpp)\n(.*?)```\n", re.DOTALL)


def write_images(folder):
    """A data set with the names and shapes of Fashion-MNIST."""
    folder.mkdir()
    for name, count in (("train", 2560), ("t10k", 256)):
        labels = bytes(i * 7 % 10 for i in range(count))
        pixels = bytes((i * 31 + label * 25 + j) % 256 for i, label in enumerate(labels) for j in range(784))
        for part, header, values in (("images-idx3", (2051, count, 28, 28), pixels),
                                     ("labels-idx1", (2049, count), labels)):
            with gzip.open(folder / f"{name}-{part}-ubyte.gz", "wb", compresslevel=1) as file:
                file.write(struct.pack(f">{len(header)}i", *header) + values)


def run(command, folder, program):
    environment = {"PATH": f"{program.parent}:{os.environ['PATH']}", "HOME": folder, "TERM": "dumb",
                   "RONDO_DATA": f"{folder}/images"}
    if "--update" in sys.argv:
        del environment["RONDO_DATA"]
    done = subprocess.run(["sh", "-c", command], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    text = done.stdout.replace(folder + "/", "").rstrip()
    return text + "\n" if text else ""


def comparable(command, text):
    """Without the values of numbers, and how wide they are, if the command measures them."""
    if not any(name in command for name in MEASURES):
        return text
    text = re.sub(r"data +.*", "data", text)
    text = re.sub(r"-?\d[\d,.]*(e[-+]\d+)?|\bnan\b", "#", text)
    text = re.sub(r"# (?:us|ms|s)\b", "# s", text)
    return re.sub(r"[ ]+", " ", text)


def main():
    program, page = (pathlib.Path(argument).resolve() for argument in sys.argv[1:3])
    update = "--update" in sys.argv
    text = page.read_text()
    failures = commands = 0
    with tempfile.TemporaryDirectory() as folder:
        write_images(pathlib.Path(folder) / "images")

        def block(match):
            nonlocal failures, commands
            kind, content = match[1], match[2]
            if kind == "cpp":
                name = re.match(r"// (\S+\.cu)\n", content)
                if name:
                    (pathlib.Path(folder) / name[1]).write_text(content)
                return match[0]
            result = ""
            for part in re.split(r"^(?=\$ )", content, flags=re.MULTILINE):
                if not part:
                    continue
                command, _, wanted = part[2:].partition("\n")
                found = run(command, folder, program)
                commands += 1
                result += f"$ {command}\n{found}"
                if comparable(command, found) != comparable(command, wanted):
                    failures += 1
                    lines = wanted.splitlines(True), found.splitlines(True)
                    sys.stdout.writelines(difflib.unified_diff(*lines, page.name, command))
            return f"```console\n{result}```\n"

        text = BLOCK.sub(block, text)
    if update:
        page.write_text(text)
        return
    if commands < 10:
        sys.exit(f"{page} has only {commands} commands")
    print(f"{commands} commands, {failures} print something else")
    sys.exit(failures > 0)


main()
