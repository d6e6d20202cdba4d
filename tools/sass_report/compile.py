"""Compiles the kernels as the preset cuda does, one architecture at a time, and caches the compiler's
output."""

import functools
import hashlib
import json
import os
import re
import shlex
import shutil
import site
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from . import sass

ROOT = Path(__file__).resolve().parents[2]
FACTS = Path(__file__).resolve().parent / "facts"
KERNELS = ("kernels", "collectives")  # the folders of the reported kernels


class Failure(Exception):
    """An error that prevents the report, in one line."""


def find_nvcc():
    for candidate in (os.environ.get("CUDACXX"), shutil.which("nvcc"), "/usr/local/cuda/bin/nvcc"):
        if candidate and os.access(candidate, os.X_OK):
            return candidate
    raise Failure("nvcc is not here: set CUDACXX, or put it in PATH")


def find_tool(name, nvcc, given=None):
    """The path of a toolkit program: as given, in PATH, beside nvcc, or in pip's folders; None if it is not
    found."""
    if given:
        if not os.access(given, os.X_OK):
            raise Failure(f"--{name} is '{given}', must be a program")
        return str(given)
    candidates = [shutil.which(name), str(Path(nvcc).resolve().parent / name)]
    for folder in [*site.getsitepackages(), site.getusersitepackages()]:
        candidates += map(str, sorted(Path(folder).glob(f"nvidia/*/bin/{name}")))
    return next((found for found in candidates if found and os.access(found, os.X_OK)), None)


def how_to_get(name):
    return (f"{name} is not here: install the toolkit's package cuda-{name}-MAJOR-MINOR, "
            f"or Python's nvidia-cuda-{name}, or give --{name} FILE")


@functools.cache
def release(program):
    """The version of a toolkit program, such as 13.0.88."""
    printed = subprocess.run([program, "--version"], capture_output=True, text=True).stdout
    found = re.search(r"release [\d.]+, V([\d.]+)", printed)
    return found.group(1) if found else "unknown"


@dataclass
class Unit:
    """One source file and its compile command in the preset."""
    source: str  # relative to the root
    folder: str  # the working directory of the command
    arguments: list  # without output, architecture and -c
    object: str  # the object file of the preset's build
    architectures: list  # of the build


def read_commands(build):
    """The kernels' source files of a configured build, with their compile arguments."""
    units = []
    for entry in json.loads((Path(build) / "compile_commands.json").read_text()):
        source = Path(entry["file"])
        if source.suffix == ".cu" and source.resolve().is_relative_to(Path(build).resolve()):
            raise Failure(f"'{build}' has {source.name}, in which files are compiled together: "
                          "configure it with -DRONDO_UNITY_KERNELS=OFF")
        if (source.suffix != ".cu" or not source.is_relative_to(ROOT)
                or source.relative_to(ROOT).parts[0] not in KERNELS):
            continue
        arguments, made, words = [], "", iter(shlex.split(entry["command"]))
        for word in words:
            if word == "-o":
                made = next(words)
            elif word != "-c" and not word.startswith("--generate-code") and word != entry["file"]:
                arguments.append(word)
        # Skip a launcher before nvcc, such as ccache.
        while arguments and not Path(arguments[0]).name.startswith("nvcc"):
            arguments.pop(0)
        units.append(Unit(str(source.relative_to(ROOT)), entry["directory"], arguments[1:] + [entry["file"]],
                          str(Path(entry["directory"]) / made), architectures_of(entry["command"])))
    return sorted(units, key=lambda unit: unit.source)


def architectures_of(command):
    return sorted(set(re.findall(r"\bsm_(\w+)", command)), key=lambda name: (len(name), name))


def configure(nvcc, folder):
    """Configures only the libraries of the preset cuda, to get their compile commands."""
    parts = [f"-DRONDO_{part}=OFF"
             for part in ("BUILD_TOOLS", "BUILD_TESTS", "BUILD_BENCH", "INSTALL", "MPI")]
    done = subprocess.run(["cmake", "--preset", "cuda", "-B", str(folder), *parts], cwd=ROOT,
                          capture_output=True, text=True, env={**os.environ, "CUDACXX": nvcc})
    if done.returncode != 0:
        raise Failure("cmake --preset cuda failed: " + " ".join(done.stderr.split())[:500])
    return folder


def digest(*parts):
    value = hashlib.sha256()
    for part in parts:
        value.update(part if isinstance(part, bytes) else str(part).encode())
        value.update(b"\0")
    return value.hexdigest()[:32]


@dataclass
class Result:
    """One run of nvcc: its output file and its log."""
    ok: bool
    log: str
    path: Path = None


@dataclass
class Compiler:
    """Runs nvcc, and caches each result until one of the project's files that it read changes."""
    nvcc: str
    cache: Path
    version: str = ""
    digests: dict = field(default_factory=dict)

    def __post_init__(self):
        self.version = self.version or release(self.nvcc)
        self.cache.mkdir(parents=True, exist_ok=True)

    def of_file(self, name):
        if name not in self.digests:
            path = ROOT / name
            self.digests[name] = digest(path.read_bytes()) if path.is_file() else "absent"
        return self.digests[name]

    def run(self, unit, arguments, suffix):
        """Runs nvcc with the unit's arguments and these. Failures are not cached."""
        # The build folder's name is not part of the key: another build folder has the same flags.
        flags = [part.replace(unit.folder, "BUILD") for part in unit.arguments[:-1]]
        key = digest(self.version, unit.source, *flags, *arguments)
        record, made = self.cache / f"{key}.json", self.cache / f"{key}{suffix}"
        if record.exists() and made.exists():
            kept = json.loads(record.read_text())
            if all(self.of_file(name) == value for name, value in kept["read"].items()):
                return Result(True, kept["log"], made)
        with tempfile.TemporaryDirectory(dir=self.cache) as folder:
            output, depends = Path(folder) / f"output{suffix}", Path(folder) / "depends"
            done = subprocess.run([self.nvcc, *arguments, *unit.arguments, "-MD", "-MF", str(depends),
                                   "-o", str(output)],
                                  cwd=unit.folder, capture_output=True, text=True)
            log = done.stdout + done.stderr
            if done.returncode != 0:
                return Result(False, log)
            read = {name: self.of_file(name) for name in project_files(depends.read_text(), unit.folder)}
            output.replace(made)
            record.write_text(json.dumps({"source": unit.source, "log": log, "read": read}))
        return Result(True, log, made)

    def cubin(self, unit, architecture):
        return self.run(unit, [f"--generate-code=arch=compute_{architecture},code=sm_{architecture}",
                               "-cubin", "--resource-usage"], ".cubin")

    def facts(self, unit, architecture):
        """Unoptimised PTX that contains the size of shared memory and the launch bounds."""
        wanted = [f"--generate-code=arch=compute_{architecture},code=compute_{architecture}", "-ptx",
                  f"-I{FACTS}"]
        result = self.run(unit, [*wanted, "-Xcicc", "-O0"], ".ptx")
        return result if result.ok else self.run(unit, wanted, ".ptx")


def project_files(depends, folder):
    """The project's files in a make dependency file, relative to the root."""
    words = depends.replace("\\\n", " ").split(":", 1)[1].split()
    paths = {Path(os.path.realpath(Path(folder) / word)) for word in words}
    return sorted(str(path.relative_to(ROOT)) for path in paths if path.is_relative_to(ROOT))


PROPERTIES = re.compile(r"Function properties for (\S+)")
FRAME = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
ENTRY = re.compile(r"Compiling entry function '([^']+)'")
USED = re.compile(r"Used (\d+) registers")
STATIC_SHARED = re.compile(r"(\d+) bytes smem")
# A warning, or a loss of performance, which some versions of ptxas print as information:
#   ptxas warning : Value of threads per SM for entry k is out of range. .minnctapersm will be ignored
#   ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized ...
WARNING = re.compile(r"ptxas (?:\S+, line \d+; )?(warning|info)\s*:\s*(?:\((C\d+)\))?\s*(.*)")


def read_resources(log):
    """{kernel: registers, spills, stack, static shared memory} from ptxas' output, and its warnings."""
    kernels, warnings, entry, described = {}, [], None, None
    for line in log.splitlines():
        if (found := WARNING.match(line)) and (found.group(1) == "warning" or found.group(2)):
            function = re.search(r"(?:function '|entry '?)([\w$]+)", found.group(3))
            warnings.append({"code": found.group(2), "kernel": function.group(1) if function else None,
                             "text": found.group(3).strip()})
        if found := ENTRY.search(line):
            entry = found.group(1)
            kernels[entry] = {"registers": None, "spill_stores": 0, "spill_loads": 0, "stack": 0,
                              "static_shared": 0}
        elif found := PROPERTIES.search(line):
            described = found.group(1)
        elif (found := FRAME.search(line)) and described in kernels:
            stack, stores, loads = map(int, found.groups())
            kernels[described].update(stack=stack, spill_stores=stores, spill_loads=loads)
        elif (found := USED.search(line)) and entry:
            kernels[entry]["registers"] = int(found.group(1))
            shared = STATIC_SHARED.search(line)
            kernels[entry]["static_shared"] = int(shared.group(1)) if shared else 0
    return kernels, warnings


PTX_FUNCTION = re.compile(r"^(?:\.\w+\s+)*\.(entry|func)\b")
PTX_NAME = re.compile(r"([A-Za-z_$%][\w$]*)\s*\(")
PTX_SHARED = re.compile(r"\.shared\s+\.align\s+\d+\s+\.b8\s+([\w$]*rondo_shared_bytes[\w$]*)\[(\d+)\]")
PTX_WORD = re.compile(r"[A-Za-z_$][\w$]*")


def read_facts(ptx):
    """{kernel: threads of its launch bounds or None, bytes of its struct in shared memory} from a PTX of
    facts()."""
    sizes = {name: int(size) for name, size in PTX_SHARED.findall(ptx)}
    bodies, threads, entries, current = {}, {}, [], None
    pending = False
    for line in ptx.splitlines():
        if PTX_FUNCTION.match(line):
            pending = True
            kind = PTX_FUNCTION.match(line).group(1)
        if pending:
            text = (re.sub(r"^.*?\.(entry|func)\b\s*(\([^)]*\))?", "", line) if PTX_FUNCTION.match(line)
                    else line)
            if found := PTX_NAME.search(text):
                current, pending = found.group(1), False
                bodies.setdefault(current, set())
                if kind == "entry":
                    entries.append(current)
        elif current and (found := re.match(r"^\.maxntid\s+(\d+)(?:,\s*(\d+))?(?:,\s*(\d+))?", line)):
            sides = [int(side) for side in found.groups() if side]
            threads[current] = (sides[0] * (sides[1] if len(sides) > 1 else 1)
                                * (sides[2] if len(sides) > 2 else 1))
        elif line.startswith("}"):
            current = None
        elif current:
            bodies[current].update(PTX_WORD.findall(line))

    def reached(name, seen):
        if name in seen:
            return seen
        seen.add(name)
        for word in bodies[name]:
            if word in bodies:
                reached(word, seen)
        return seen

    facts = {}
    for entry in entries:
        words = set().union(*(bodies[name] for name in reached(entry, set())))
        facts[entry] = {"threads": threads.get(entry),
                        "dynamic_shared": sum(size for name, size in sizes.items() if name in words)}
    return facts


def demangled(names):
    """{mangled: readable}; the readable name omits namespace, result and parameters."""
    names = sorted(names)
    tool = shutil.which("c++filt") or shutil.which("cu++filt")
    if not tool or not names:
        return {name: name for name in names}
    printed = subprocess.run([tool], input="\n".join(names), capture_output=True, text=True,
                             check=True).stdout
    return {name: short_name(line) for name, line in zip(names, printed.splitlines())}


def short_name(signature):
    """void rondo::(anonymous namespace)::f<rondo::T, (rondo::E)1>(int) -> f<T, (E)1>"""
    text = re.sub(r"\(anonymous namespace\)::|_GLOBAL__N__\w+::|\brondo::(detail::|norm::)?", "", signature)
    text = re.sub(r"^void ", "", text)
    depth = 0
    for index, letter in enumerate(text):
        if letter == "<":
            depth += 1
        elif letter == ">" and depth:
            depth -= 1
        elif letter == "(" and depth == 0:
            return text[:index]
    return text


def disassemble(nvdisasm, cubin, cache):
    """{kernel: description of its code}; cached by cubin, disassembler version and the parser's source."""
    key = digest(cubin.read_bytes(), release(nvdisasm), Path(sass.__file__).read_bytes())
    kept = cache / f"{key}.sass.json"
    if kept.exists():
        return json.loads(kept.read_text())
    done = subprocess.run([nvdisasm, "-c", str(cubin)], capture_output=True, text=True)
    if done.returncode != 0:
        raise Failure(f"nvdisasm failed: {done.stderr.strip()[:300]}")
    found = {name: sass.describe(function) for name, function in sass.functions(done.stdout).items()}
    kept.write_text(json.dumps(found))
    return found


def in_parallel(work, items, jobs):
    with ThreadPoolExecutor(jobs) as pool:
        return list(pool.map(work, items))
