"""Compares each inline-PTX wrapper of kernels/core/ptx with the expected instruction and its operands.

    wrappers.py NVCC INCLUDE_FOLDER

For kernels/core/ptx/NAME.cuh, NAME.cu has a kernel for each wrapper, and NAME.ptx has the instruction that
nvcc must emit for it. A line "# architecture: compute_90a" in NAME.ptx selects the architecture; the default
is compute_80. Registers are traced back to the kernel's parameters, because the compiler may choose any
registers.
"""

import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
WRAPPERS = HERE.parents[2] / "kernels/core/ptx"
NVCC, INCLUDE = sys.argv[1:3]

KERNEL = re.compile(r"\.visible \.entry (\w+)\(([^)]*)\)(.*?)\n}", re.DOTALL)
ASSEMBLY = re.compile(r"// begin inline asm\n(.*?)// end inline asm", re.DOTALL)
REGISTER = re.compile(r"%[a-z]+\d+")


def statements(text):
    return [re.sub(r"\s+", " ", part).strip() for part in re.sub(r"//.*", "", text).split(";")]


def value_of(operand, definitions, names):
    """The value of a register in terms of the kernel's parameters: 'shared + to', 'valid ? 4 : 0'."""
    operand = operand.strip()
    if operand not in definitions:
        if REGISTER.fullmatch(operand):
            return "result"  # of the assembly, and not stored as it is
        return "shared" if re.fullmatch(r"\w*shared\w*", operand) else operand
    opcode, operands = definitions[operand]
    values = [value_of(part, definitions, names) for part in operands]
    name, kind = opcode.split(".")[0], opcode.split(".")[1] if "." in opcode else ""
    if name == "ld" and kind == "param":
        return names[int(re.search(r"_param_(\d+)\]$", operands[0]).group(1))]
    if name == "ld" and kind == "global":
        pointer, offset = re.match(r"\[(%rd\d+)(?:\+(\d+))?\]", operands[0]).groups()
        return f"{value_of(pointer, definitions, names)}[{int(offset or 0) // 4}]"
    if name in ("mov", "cvt", "cvta", "result") or (name == "and" and values[1] in ("1", "255")):
        return values[0]
    if name == "add":
        return " + ".join(sorted(values, key=lambda value: value != "shared"))
    if name == "setp" and kind in ("eq", "ne") and values[1] == "0":
        return ("not " if kind == "eq" else "") + values[0]
    if name == "selp":
        yes, no, condition = values
        return (f"{condition[4:]} ? {no} : {yes}" if condition.startswith("not ")
                else f"{condition} ? {yes} : {no}")
    return f"{opcode}({', '.join(values)})"


def parameters(kernel, source):
    """Their names. A kernel that a macro defines, name_x, has those of a function name()."""
    while not (signature := re.search(rf"\b{kernel}\(([^)]*)\)", source)):
        kernel = kernel.rpartition("_")[0]
    return [part.split()[-1].strip("*&") for part in signature.group(1).split(",") if part.strip()]


def abbreviated(text):
    """With {d[0] to d[9]} for {d[0], d[1], ... d[9]}, for four elements or more."""
    def shorter(match):
        values = match.group(1).split(", ")
        array = values[0].partition("[")[0]
        full = len(values) >= 4 and values == [f"{array}[{i}]" for i in range(len(values))]
        return f"{{{values[0]} to {values[-1]}}}" if full else match.group()
    return re.sub(r"\{(\w+\[0\][^{}]*)\}", shorter, text)


def instructions(ptx, source):
    """{kernel: its inline assembly, with the parameter names of the source}."""
    found = {}
    for kernel, _, body in KERNEL.findall(ptx):
        names = parameters(kernel, source)
        definitions = {}
        for statement in statements(ASSEMBLY.sub("", body)):
            if match := re.match(r"st\.global\S* \[(%rd\d+)(?:\+(\d+))?\], (%[a-z]+\d+)$", statement):
                pointer, offset, register = match.groups()  # a result of the assembly, of 4 bytes
                element = int(offset or 0) // 4
                definitions.setdefault(
                    register, ("result", [f"{value_of(pointer, definitions, names)}[{element}]"]))
            if match := re.match(r"(\S+) (%[a-z]+\d+), (.*)", statement):
                opcode, register, operands = match.groups()
                definitions[register] = (opcode, operands.split(", "))
        assembly = [part for block in ASSEMBLY.findall(body) for part in statements(block) if part]
        found[kernel] = abbreviated("; ".join(
            REGISTER.sub(lambda register: value_of(register.group(), definitions, names), part)
            for part in assembly))
    return found


def architecture(golden):
    named = re.search(r"^# architecture: (\w+)$", golden.read_text(), re.MULTILINE)
    return named.group(1) if named else "compute_80"


def compiled(source, architecture):
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "wrappers.ptx"
        subprocess.run([NVCC, "-std=c++20", "-O3", f"-arch={architecture}", "-Werror=all-warnings",
                        "-allow-unsupported-compiler", f"-I{INCLUDE}", "-ptx", str(source), "-o", str(made)],
                       check=True)
        return made.read_text()


def expected(golden):
    lines = [line for line in golden.read_text().splitlines() if line and not line.startswith("#")]
    return {name.strip(): abbreviated(instruction.strip())
            for name, instruction in (line.split(":", 1) for line in lines)}


def wrappers_of(header):
    """The names of a header's functions that contain inline assembly, in macros or not."""
    text = re.sub(r"//.*", "", header.read_text())
    # A macro that a function calls is defined before it, behind the previous function.
    text = re.sub(r"#define (?:.*\\\n)*.*", lambda macro: macro[0] if "__device__" in macro[0] else "", text)
    functions = re.split(r"\b__device__\b", text)[1:]
    return [re.search(r"(\w+)\(", function).group(1) for function in functions
            if re.search(r"\basm\b|\bRONDO_\w+\(", function)]


class Wrappers(unittest.TestCase):
    maxDiff = None

    def test_each_is_the_instruction_that_it_is_to_be(self):
        for golden in sorted(HERE.glob("*.ptx")):
            with self.subTest(golden.name):
                source = golden.with_suffix(".cu")
                self.assertEqual(instructions(compiled(source, architecture(golden)), source.read_text()),
                                 expected(golden))

    def test_none_is_left_out(self):
        for header in sorted(WRAPPERS.glob("*.cuh")):
            golden = HERE / f"{header.stem}.ptx"
            kernels = expected(golden) if golden.exists() else {}
            wrappers = wrappers_of(header)
            self.assertTrue(wrappers, header)
            for wrapper in wrappers:
                self.assertTrue(any(re.fullmatch(rf"{wrapper}(_\w+)?", kernel) for kernel in kernels),
                                f"{golden.name} has no kernel of {wrapper}() of {header.name}")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
