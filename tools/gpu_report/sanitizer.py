"""What compute-sanitizer prints about a program.

racecheck and synccheck follow barriers of a block. They are known to report correct kernels whose warps have
roles and meet at mbarriers, as CUTLASS's do (https://github.com/NVIDIA/cutlass/issues/2626), so their reports
of such kernels are kept for a reader, and are no failures. Every other report is one.
"""

import re
from collections import Counter
from functools import cache
from pathlib import Path

KERNELS = Path(__file__).resolve().parents[2] / "kernels"
MBARRIER = "core/ptx/mbarrier.cuh"
CHECKERS_OF_BARRIERS = ("racecheck", "synccheck")
MARK = "========="
INCLUDE = re.compile(r"^#include <rondo/kernels/(\S+)>", re.MULTILINE)
KERNEL = re.compile(r"__global__[^;{]*?\bvoid (\w+)\(")
# Lines that begin no report.
OTHER = re.compile(r"COMPUTE-SANITIZER|\w+ SUMMARY|(Error: )?Target application|Saved host backtrace")
# What differs between two reports of one mistake: addresses, threads, blocks, numbers of hazards, host
# frames.
VARYING = re.compile(r"0x[0-9a-f]+|\(\d+, ?\d+, ?\d+\)|\d+ hazards?")


def read_reports(text):
    """[{"text", "times"}]: the different reports in a program's output, without the frames of the host."""
    reports, lines = [], None
    for line in text.splitlines():
        if not line.startswith(MARK):
            continue
        line = line.removeprefix(MARK)
        if line.startswith("  "):  # more about the report
            if lines is not None and not re.match(r" +(Host Frame|Saved host backtrace)", line):
                lines.append(line.rstrip().replace(" " * 5, "    ", 1))
        elif line.strip() and not OTHER.match(line.strip()):
            lines = [line.strip()]
            reports.append(lines)
        else:
            lines = None
    first, times = {}, Counter()
    for lines in reports:
        report = "\n".join(lines)
        key = VARYING.sub("", report)
        first.setdefault(key, report)
        times[key] += 1
    return [{"text": text, "times": times[key]} for key, text in first.items()]


@cache
def names_of_mbarrier_kernels(folder=KERNELS):
    """The names of the files that include mbarriers, and of the kernels in them."""
    text = {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*.cu*")}
    reached, found = set(), {MBARRIER}
    while found:
        reached |= found
        found = {name for name, content in text.items() if reached & set(INCLUDE.findall(content))} - reached
    return frozenset({Path(name).name for name in reached}
                     | {kernel for name in reached for kernel in KERNEL.findall(text.get(name, ""))})


def is_known(checker, report, names=None):
    """Whether it is a report of a kernel with mbarriers by a checker that does not follow them."""
    words = set(re.findall(r"\w[\w.]*", report["text"]))
    return checker in CHECKERS_OF_BARRIERS and bool(words & (names or names_of_mbarrier_kernels()))
