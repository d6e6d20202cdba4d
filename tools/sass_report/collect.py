"""Collects the properties of each kernel: from the compiler, from its code, and from the occupancy rules."""

import re
import subprocess
import tempfile
from pathlib import Path

from . import compile as compiling
from . import occupancy


def compiled(compiler, nvdisasm, unit, architecture):
    """(kernels as {mangled: facts}, warnings, the first error or None) of one file."""
    result = compiler.cubin(unit, architecture)
    if not result.ok:
        return {}, [], first_error(result.log)
    kernels, warnings = compiling.read_resources(result.log)
    return add_code(kernels, result.path, nvdisasm, compiler.cache), warnings, None


def add_code(kernels, cubin, nvdisasm, cache):
    if nvdisasm and kernels:
        code = compiling.disassemble(nvdisasm, cubin, cache)
        for name, facts in kernels.items():
            facts["code"] = code.get(name)
    return kernels


def first_error(log):
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    wanted = next((line for line in lines if re.search(r"\berror\b|\bfatal\b", line, re.IGNORECASE)),
                  lines[0] if lines else "")
    return wanted.replace(str(compiling.ROOT) + "/", "")[:300]


RESOURCES = re.compile(r"REG:(\d+) STACK:(\d+) SHARED:(\d+) LOCAL:(\d+)")


def read_usage(printed, architecture):
    """{kernel: registers, stack, static shared memory} from `cuobjdump -res-usage`, which does not report
    spills. A kernel without a stack has no spills."""
    kernels, name = {}, None
    # From 9.0 on, the shared memory that the system reserves per block is included, if a block has any.
    reserve = occupancy.KIB if int(architecture.rstrip("af")) >= 90 else 0
    for line in printed.splitlines():
        if found := re.match(r"\s*Function (\S+):", line):
            name = found.group(1)
        elif (found := RESOURCES.search(line)) and name:
            registers, stack, shared, local = map(int, found.groups())
            spills = None if stack or local else 0
            kernels[name] = {"registers": registers, "spill_stores": spills, "spill_loads": spills,
                             "stack": stack + local, "static_shared": max(0, shared - reserve)}
    return kernels


def of_object(compiler, cuobjdump, nvdisasm, unit, wanted):
    """{architecture: kernels} of an object file of the build."""
    if not Path(unit.object).exists():
        raise compiling.Failure(f"{unit.object} is not there: build the preset first")
    found = {}
    with tempfile.TemporaryDirectory(dir=compiler.cache) as folder:
        def ask(*arguments):
            done = subprocess.run([cuobjdump, *map(str, arguments)], cwd=folder, capture_output=True,
                                  text=True)
            if done.returncode != 0:
                raise compiling.Failure(f"cuobjdump failed on {unit.object}: {done.stderr.strip()[:300]}")
            return done.stdout

        ask("-xelf", "all", unit.object)
        for cubin in sorted(Path(folder).glob("*.cubin")):
            architecture = re.search(r"\.sm_(\w+)\.cubin$", cubin.name).group(1)
            if not wanted or architecture in wanted:
                kernels = read_usage(ask("-res-usage", cubin.name), architecture)
                found.setdefault(architecture, {}).update(add_code(kernels, cubin, nvdisasm, compiler.cache))
    return found


OURS = "5rondo"  # in mangled names; excludes library kernels, such as CUB's, whose names vary between builds


def rows_of(unit, architecture, kernels, facts):
    """The report's rows of one file, with derived values and readable names."""
    names = compiling.demangled(set(kernels) | set(facts))
    # Match by readable names: the hash in the name of an anonymous namespace depends on the command.
    by_name = {names[name]: value for name, value in facts.items()}
    rows = []
    for mangled, found in kernels.items():
        if OURS not in mangled:
            continue
        name = names[mangled]
        known = by_name.get(name, {"threads": None, "dynamic_shared": None})
        row = {"file": unit.source, "kernel": name, "arch": architecture,
               **{key: value for key, value in found.items() if key != "code"}, **known}
        rows.append(row | occupied(row) | hot(found.get("code"), architecture))
    return sorted(rows, key=lambda row: row["kernel"])


def occupied(row):
    """Resident blocks and warps; None for a kernel without launch bounds, because its block size is
    unknown."""
    limits = occupancy.limits_of(row["arch"])
    if not limits or not row["threads"] or row["dynamic_shared"] is None:
        return {"blocks": None, "warps": None, "limited_by": None}
    shared = row["static_shared"] + row["dynamic_shared"]
    blocks, limit = occupancy.resident_blocks(limits, row["registers"], shared, row["threads"])
    return {"blocks": blocks, "warps": blocks * -(-row["threads"] // occupancy.WARP), "limited_by": limit}


def share(mix, kind):
    return round(mix.get(kind, 0) / mix["instructions"], 4)


def hot(code, architecture):
    if not code:
        return {"hot": None}
    mix, limits = code["mix"], occupancy.limits_of(architecture)
    row = {"fma_share": share(mix, "fma"), "tensor_share": share(mix, "tensor"), "hot": code["hot"],
           "instructions": code["instructions"], "mix": mix}
    row |= {name: code[name] for name in ("around", "copy_loop") if name in code}
    # Without a loop the counts include all code paths, so no bounding pipe can be determined.
    if limits and code["hot"] == "loop":
        cycles = occupancy.pipe_cycles(limits, mix)
        row |= {"bound": occupancy.bounding_pipe(cycles),
                "cycles": {pipe: round(value, 2) for pipe, value in cycles.items()},
                "lsu_distinct": occupancy.wavefronts(mix, shared_addresses=False)}
    return row
