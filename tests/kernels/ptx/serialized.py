"""Compiles the kernels with wgmma for sm_90a, and fails if ptxas serializes products or spills registers.

    serialized.py NVCC INCLUDE_FOLDER...

ptxas runs all products of a kernel one after the other if the code between them touches their registers, or
if it lacks registers (C7510 to C7515). It says so in a note, which no option turns into an error.
"""

import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

KERNELS = Path(__file__).resolve().parents[3] / "kernels"
FOLDERS = ("gemm", "conv/implicit_gemm")
NVCC, INCLUDES = sys.argv[1], sys.argv[2:]


@cache
def uses_wgmma(source):
    """Whether the file includes wgmma_tile.cuh, itself or by another file of the folders."""
    included = re.findall(r"#include <rondo/kernels/([\w/]+\.cuh)>", source.read_text())
    return "gemm/wgmma/wgmma_tile.cuh" in included or any(uses_wgmma(KERNELS / name) for name in included
                                                    if name.startswith(FOLDERS))


def faults(source):
    with tempfile.TemporaryDirectory() as folder:
        result = subprocess.run([NVCC, "-std=c++20", "-O3", "-DNDEBUG", "-arch=sm_90a", "--extended-lambda",
                                 "-cubin", "-Xptxas=-v,-warn-spills", *[f"-I{folder}" for folder in INCLUDES],
                                 str(source), "-o", str(Path(folder) / "kernels.cubin")],
                                capture_output=True, text=True)
    text = result.stdout + result.stderr
    if result.returncode != 0:
        return [text]
    if "Compiling entry function" not in text:
        return ["ptxas does not say what it compiles"]
    return [line for line in text.splitlines()
            if re.search(r"C75\d\d|serialized|Registers are spilled", line)]


sources = {folder: [source for source in sorted((KERNELS / folder).rglob("*.cu"))
                    if source.name != "tile_table.cu" and uses_wgmma(source)]
           for folder in FOLDERS}
for folder, least in (("gemm", 6), ("conv/implicit_gemm", 4)):
    if len(sources[folder]) < least:
        sys.exit(f"only {[source.name for source in sources[folder]]} of {folder} use wgmma")
sources = sum(sources.values(), [])
with ThreadPoolExecutor(2) as pool:
    found = {source.relative_to(KERNELS): lines
             for source, lines in zip(sources, pool.map(faults, sources)) if lines}
for name, lines in found.items():
    print(f"{name}:", *lines[:3], sep="\n  ")
sys.exit(1 if found else 0)
