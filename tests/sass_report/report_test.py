"""Tests of the parts of tools/sass-report. They need neither nvcc nor a disassembler."""

import json
import random
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "tools"))
from sass_report import budget, collect, compile, fat_binary, occupancy, present, sass  # noqa: E402


def listing(name):
    return sass.functions((HERE / name).read_text())


class Loops(unittest.TestCase):
    def setUp(self):
        self.function = listing("nested_loops.sass")["nested"]
        self.loops = {self.function.instructions[loop.header].address: loop
                      for loop in sass.loops(self.function)}

    def addresses(self, loop):
        return sorted(self.function.instructions[index].address for index in loop.body)

    def test_branches_back_are_loops_and_a_branch_to_itself_is_none(self):
        self.assertEqual(sorted(self.loops), [0x10, 0x70, 0x140, 0x1A0])

    def test_what_lies_out_of_line_belongs_to_the_loop_that_it_returns_to(self):
        self.assertEqual(self.addresses(self.loops[0x70]), [*range(0x70, 0x100, 0x10), 0x180, 0x190])

    def test_an_outer_loop_holds_the_inner_one(self):
        outer = self.loops[0x10]
        self.assertLess(self.loops[0x70].body, outer.body)
        self.assertNotIn(outer, sass.innermost(list(self.loops.values())))
        self.assertNotIn(0x130, self.addresses(outer))

    def test_the_hottest_is_the_innermost_with_most_multiply_adds(self):
        loop, _ = sass.hottest(self.function)
        self.assertEqual(loop.header, self.loops[0x70].header)

    def test_without_multiply_adds_it_is_the_one_with_most_accesses(self):
        for instruction in self.function.instructions:
            instruction.opcode = instruction.opcode.replace("FFMA", "FADD").replace("LDS", "MOV")
        loop, _ = sass.hottest(self.function)
        self.assertEqual(loop.header, self.loops[0x140].header)

    def test_of_loops_with_products_of_tensor_cores_it_is_the_innermost_of_those(self):
        # A product in the outer loop: the inner loops only wait and store then, however much they add.
        for instruction in self.function.instructions:
            if instruction.address == 0x50:
                instruction.opcode = "HGMMA.64x256x16.F32.BF16"
        loop, _ = sass.hottest(self.function)
        self.assertEqual(loop.header, self.loops[0x10].header)

    def test_the_loop_of_tensor_copies_is_the_innermost_with_one(self):
        # The inner loop only waits; the outer one has the copy, and everything but two instructions.
        self.assertIsNone(sass.copy_loop(self.function, list(self.loops.values())))
        for instruction in self.function.instructions:
            if instruction.address == 0x50:
                instruction.opcode = "UTMALDG.2D"
        outer = self.loops[0x10]
        self.assertEqual(sass.copy_loop(self.function, list(self.loops.values())),
                         len(outer.body) - 1)  # a dummy load
        self.assertEqual(sass.describe(self.function)["copy_loop"], len(outer.body) - 1)

    def test_a_kernel_without_a_loop_is_taken_whole(self):
        text = "\t.section\t.text.k,\"ax\"\n" \
               "k:\n        /*0000*/   LDG.E R0, [R2] ;\n        /*0010*/   EXIT ;\n" \
               ".L_1:\n        /*0020*/   BRA `(.L_1);\n        /*0030*/   NOP;\n"
        found = sass.describe(sass.functions(text)["k"])
        self.assertEqual((found["hot"], found["loops"], found["mix"]["instructions"]), ("all", 0, 2))


class Mix(unittest.TestCase):
    def test_of_the_loop_and_of_what_is_around_it(self):
        found = sass.describe(listing("nested_loops.sass")["nested"])
        self.assertEqual(found["mix"], {"instructions": 11, "shared_load_128": 1, "shared_load_64": 1,
                                        "fma": 3, "fp32": 3, "logic": 2, "special": 1})
        self.assertEqual(found["around"], {"instructions": 9, "cp_async_128": 1, "cp_async_32": 1, "never": 1,
                                           "waits": 2, "barriers": 2, "logic": 1})

    def test_of_a_real_kernel(self):
        found = sass.describe(listing("gemm_03.sm_90.sass")["gemm_03"])
        # 16 steps of k, each with one multiply-add, one load of B, and a quarter of a load of A.
        for kind, count in {"instructions": 84, "fma": 16, "shared_load_32": 16, "shared_load_128": 4,
                            "shared_store_32": 2, "global_load_32": 2, "barriers": 2}.items():
            self.assertEqual(found["mix"].get(kind), count, kind)
        self.assertEqual(found["hot"], "loop")

    def test_widths_are_read_from_the_modifiers(self):
        for opcode, bits in {"LDS": 32, "LDS.U.128": 128, "LDG.E.64.CONSTANT": 64, "LDG.E.U8": 8,
                             "STS.U16": 16, "LDGSTS.E.BYPASS.LTC128B.128": 128,
                             "LDGSTS.E.LTC128B": 32}.items():
            self.assertEqual(sass.width(sass.Instruction(0, "", opcode, "")), bits, opcode)


class Occupancy(unittest.TestCase):
    def blocks(self, architecture, registers, shared, threads):
        return occupancy.resident_blocks(occupancy.LIMITS[architecture], registers, shared, threads)

    def test_registers_are_handed_out_to_warps_in_units_of_256(self):
        # 33 registers: 1056 per warp, rounded up to 1280. A quarter of the file holds 12 warps, all of it 48.
        self.assertEqual(self.blocks("90", 33, 0, 256), (6, "registers"))
        self.assertEqual(self.blocks("90", 32, 0, 256), (8, "warps"))
        # 255 registers: 8160 per warp, rounded up to 8192. A quarter of the file holds two warps.
        self.assertEqual(self.blocks("90", 255, 0, 128), (2, "registers"))
        # 168 registers: 5376 per warp. A quarter of the file holds three warps, and 12 warps are one block of
        # 12.
        self.assertEqual(self.blocks("90", 168, 0, 384), (1, "registers"))

    def test_a_warp_that_is_not_full_counts_in_full(self):
        self.assertEqual(self.blocks("80", 255, 0, 33), (4, "registers"))

    def test_shared_memory_has_a_reserve_and_a_unit(self):
        # 83968 + 1024 bytes: one block in 100 KiB, one in 164 KiB, two in 228 KiB.
        self.assertEqual(self.blocks("86", 64, 83968, 128), (1, "shared memory"))
        self.assertEqual(self.blocks("80", 64, 83968, 128), (1, "shared memory"))
        self.assertEqual(self.blocks("90", 64, 83968, 128), (2, "shared memory"))
        # 7.5 has no reserve: two blocks of 32 KiB fit into its 64 KiB. With 256 bytes more, only one fits.
        self.assertEqual(self.blocks("75", 32, 32768, 128), (2, "shared memory"))
        self.assertEqual(self.blocks("75", 32, 32769, 128), (1, "shared memory"))

    def test_the_most_blocks_and_warps(self):
        self.assertEqual(self.blocks("75", 16, 0, 32), (16, "blocks"))
        self.assertEqual(self.blocks("89", 16, 0, 32), (24, "blocks"))
        self.assertEqual(self.blocks("86", 16, 0, 1024), (1, "warps"))
        self.assertEqual(self.blocks("75", 16, 0, 1024), (1, "warps"))
        self.assertEqual(self.blocks("80", 16, 0, 1024), (2, "warps"))

    def test_what_cannot_be_started_has_no_block(self):
        self.assertEqual(self.blocks("90", 65, 0, 1024), (0, "registers"))
        self.assertEqual(self.blocks("86", 32, 99 * 1024 + 1, 32), (0, "shared memory"))

    def test_the_toolkit_says_the_same(self):
        """cuda_occupancy.h is NVIDIA's own calculator. It needs no GPU."""
        nvcc = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
        include = Path(nvcc).resolve().parents[1] / "include"
        if not (include / "cuda_occupancy.h").exists() or not shutil.which("c++"):
            self.skipTest("no cuda_occupancy.h")
        draw = random.Random(1)
        cases = []
        for _ in range(5000):
            name = draw.choice(sorted(occupancy.LIMITS))
            cases.append((name, draw.randint(16, 255),
                          draw.choice([0, draw.randint(1, occupancy.LIMITS[name].shared_of_block)]),
                          draw.randint(1, 1024)))
        lines = []
        for name, *case in cases:
            limits = occupancy.LIMITS[name]
            lines.append(" ".join(map(str, [name[:-1], name[-1], *case, limits.warps, limits.shared,
                                            limits.shared_of_block, limits.shared_reserved])))
        with tempfile.TemporaryDirectory() as folder:
            program = Path(folder) / "occupancy"
            subprocess.run(["c++", f"-I{include}", HERE / "occupancy_of_toolkit.cpp", "-o", program],
                           check=True)
            printed = subprocess.run([program], input="\n".join(lines), capture_output=True, text=True,
                                     check=True).stdout
        self.assertEqual([(case, self.blocks(*case)[0]) for case in cases],
                         list(zip(cases, map(int, printed.split()))))


class Pipes(unittest.TestCase):
    MIX = {"instructions": 280, "fma": 256, "fp32": 256, "imad": 3, "logic": 4, "shared_load_128": 16}

    def test_cycles_of_a_gemm_loop(self):
        found = occupancy.pipe_cycles(occupancy.LIMITS["90"], self.MIX)
        self.assertEqual(found, {"issue": 70, "FMA": 259 / 4, "integer": 2, "FP64": 0, "special": 0,
                                 "LSU": 32})
        self.assertEqual(occupancy.bounding_pipe(found), "issue")
        self.assertEqual(occupancy.wavefronts(self.MIX, shared_addresses=False), 64)

    def test_half_the_lanes_take_twice_as_long(self):
        found = occupancy.pipe_cycles(occupancy.LIMITS["80"], self.MIX)
        self.assertEqual((found["FMA"], occupancy.bounding_pipe(found)), (259 / 2, "FMA"))

    def test_shared_memory_can_bound(self):
        found = occupancy.pipe_cycles(
            occupancy.LIMITS["90"], {"instructions": 40, "fma": 16, "fp32": 16, "shared_load_32": 20})
        self.assertEqual(occupancy.bounding_pipe(found), "LSU")


PTXAS = """ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'first' for 'sm_90'
ptxas info    : Function properties for first
    16 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads
ptxas info    : Used 255 registers, used 1 barriers, 2048 bytes smem, 400 bytes cmem[0]
ptxas info    : Compiling entry function 'second' for 'sm_90'
ptxas info    : Function properties for helper
    32 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Function properties for second
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized \
due to a call in function 'second'
ptxas info    : Used 40 registers, used 0 barriers
ptxas warning : Value of threads per SM for entry third is out of range. .minnctapersm will be ignored
ptxas /tmp/a.ptx, line 9; warning : Instruction 'x' is deprecated
"""

PTX = """.visible .func (.param .b32 func_retval0) helper(
\t.param .b64 helper_param_0
)
{
\tmov.u64 \t%rd1, _ZZ13shared_memoryI1AEvE18rondo_shared_bytes;
}
.shared .align 128 .b8 _ZZ13shared_memoryI1AEvE18rondo_shared_bytes[43008];
.shared .align 128 .b8 _ZZ13shared_memoryI1BEvE18rondo_shared_bytes[512];
\t// .globl\tby_call
.entry by_call(
\t.param .u32 by_call_param_0
)
.maxntid 16, 16, 1
.minnctapersm 1
{
\tcall.uni (retval0), helper, (param0);
}
.visible .entry directly(
)
.maxntid 128
{
\tmov.u64 \t%rd1, _ZZ13shared_memoryI1BEvE18rondo_shared_bytes;
}
.visible .entry plain()
{
\tret;
}
"""


class Compiler(unittest.TestCase):
    def test_what_ptxas_prints(self):
        kernels, warnings = compile.read_resources(PTXAS)
        self.assertEqual(kernels, {
            "first": {"registers": 255, "spill_stores": 8, "spill_loads": 12, "stack": 16,
                      "static_shared": 2048},
            "second": {"registers": 40, "spill_stores": 0, "spill_loads": 0, "stack": 0, "static_shared": 0}})
        self.assertEqual([(warning["code"], warning["kernel"]) for warning in warnings],
                         [("C7510", "second"), (None, "third"), (None, None)])
        self.assertEqual([warning["text"] for warning in warnings[1:]],
                         ["Value of threads per SM for entry third is out of range. .minnctapersm "
                          "will be ignored",
                          "Instruction 'x' is deprecated"])

    def test_launch_bounds_and_shared_memory_from_ptx(self):
        self.assertEqual(compile.read_facts(PTX), {"by_call": {"threads": 256, "dynamic_shared": 43008},
                                                   "directly": {"threads": 128, "dynamic_shared": 512},
                                                   "plain": {"threads": None, "dynamic_shared": 0}})

    def test_what_cuobjdump_prints(self):
        printed = (" Function f:\n  REG:22 STACK:0 SHARED:1040 LOCAL:0 CONSTANT[0]:568\n"
                   " Function g:\n  REG:9 STACK:8 SHARED:0 LOCAL:0\n")
        self.assertEqual(collect.read_usage(printed, "80")["f"]["static_shared"], 1040)
        self.assertEqual(collect.read_usage(printed, "90a"), {
            "f": {"registers": 22, "spill_stores": 0, "spill_loads": 0, "stack": 0, "static_shared": 16},
            "g": {"registers": 9, "spill_stores": None, "spill_loads": None, "stack": 8, "static_shared": 0}})

    def test_kernels_of_a_library_are_no_rows(self):
        found = {"registers": 16, "spill_stores": 0, "spill_loads": 0, "stack": 0, "static_shared": 0}
        unit = compile.Unit("kernels/a.cu", "", [], "", [])
        rows = collect.rows_of(unit, "90",
                               {"_ZN5rondo1kEi": dict(found), "_ZN3cub11EmptyKernelIvEEvv": dict(found)},
                               {"_ZN5rondo1kEi": {"threads": 128, "dynamic_shared": 1000}})
        self.assertEqual([(row["kernel"], row["threads"], row["warps"]) for row in rows], [("k", 128, 64)])

    def test_names_without_what_says_nothing(self):
        self.assertEqual(compile.short_name("void rondo::(anonymous namespace)::f<rondo::T<8, false>, "
                                            "(rondo::E)1>(rondo::(anonymous namespace)::P)"),
                         "f<T<8, false>, (E)1>")
        self.assertEqual(compile.short_name("void rondo::norm::g<4>(double*, long)"), "g<4>")

    def test_the_files_that_a_source_reads(self):
        depends = (f"out: {compile.ROOT}/kernels/core/vec.cuh \\\n"
                   "  /usr/include/stdio.h ../../kernels/gemm/tile.cuh\n")
        self.assertEqual(compile.project_files(depends, compile.ROOT / "build/cuda"),
                         ["kernels/core/vec.cuh", "kernels/gemm/tile.cuh"])


def row(**changes):
    return {"file": "kernels/a.cu", "kernel": "k<1>", "arch": "90", "registers": 64, "spill_stores": 0,
            "spill_loads": 0, "stack": 0, "static_shared": 0, "dynamic_shared": 1024, "threads": 256,
            "blocks": 4, "warps": 32, "limited_by": "registers", "fma_share": 0.9, "tensor_share": 0.2,
            "hot": "loop", "instructions": 200, "mix": {"instructions": 100, "fma": 90}, **changes}


def report(*rows, **changes):
    return {"command": "tools/sass-report", "toolkit": "13.0.88", "disassembler": "13.0.88",
            "architectures": ["90"], "failures": [], "warnings": [], "kernels": list(rows), **changes}


class Budget(unittest.TestCase):
    def setUp(self):
        self.budget = budget.make(report(row()))

    def findings(self, *rows, **changes):
        return budget.compare(report(*rows, **changes), self.budget)[0]

    def test_nothing_worse_is_nothing_to_say(self):
        self.assertEqual(self.findings(row()), [])
        self.assertEqual(self.findings(row(registers=60, warps=40, fma_share=0.95)), [])
        self.assertEqual(self.findings(row(fma_share=0.896, tensor_share=0.196)), [])

    def test_each_quantity_is_held(self):
        for changes, said in (({"registers": 65}, "registers 65, budget 64"),
                              ({"stack": 8}, "stack 8, budget 0"),
                              ({"spill_loads": 4}, "spills 4, budget 0"),
                              ({"warps": 24}, "resident warps 24, budget 32"),
                              ({"fma_share": 0.89}, "share of multiply-adds 0.890, budget 0.900"),
                              ({"tensor_share": 0.19},
                               "share of products by tensor cores 0.190, budget 0.200")):
            found = self.findings(row(**changes))
            self.assertEqual(len(found), 1, changes)
            self.assertIn(said, found[0])
            self.assertIn("kernels/a.cu: k<1>, sm_90", found[0])

    def test_the_loop_of_tensor_copies_may_be_a_few_instructions_longer(self):
        self.budget = budget.make(report(row(copy_loop=40)))
        self.assertEqual(self.findings(row(copy_loop=48)), [])
        self.assertEqual(self.findings(row()), [])
        self.assertIn("the loop of tensor copies has 49 instructions, budget 40 and 8",
                      self.findings(row(copy_loop=49))[0])

    def test_kernels_that_come_and_go(self):
        self.assertIn("the budget does not have it", self.findings(row(), row(kernel="new"))[0])
        self.assertIn("was not compiled", self.findings()[0])
        self.assertEqual(budget.compare(report(), self.budget, all_files=False)[0], [])
        self.assertEqual(self.findings(architectures=["80"]), [])

    def test_an_architecture_without_a_budget_has_no_spills_all_the_same(self):
        self.assertEqual(self.findings(row(), row(arch="120", registers=200, warps=1)), [])
        self.assertIn("sm_120: stack 8, budget 0", self.findings(row(), row(arch="120", stack=8))[0])

    def test_files_that_fail_and_warnings_of_ptxas(self):
        self.assertIn("no such thing", self.findings(
            row(), failures=[{"file": "b.cu", "arch": "75", "error": "no such thing"}])[0])
        for code, text, said in (("C7511", "serialised", "b.cu, sm_90: (C7511) serialised"),
                                 (None, ".minnctapersm will be ignored",
                                  "b.cu, sm_90: .minnctapersm will be ignored")):
            warnings = [{"file": "b.cu", "arch": "90", "code": code, "text": text}]
            self.assertEqual(self.findings(row(), warnings=warnings), [said])
            self.assertIn(f"- {said}\n", present.markdown(report(row(), warnings=warnings)))

    def test_what_cannot_be_started_is_no_matter_of_the_budget(self):
        for changes, said in (({"registers": 80, "threads": None}, "80 x 1024"),
                              ({"registers": 255, "threads": 512}, "255 x 512"),
                              ({"blocks": 0, "limited_by": "shared memory"}, "limited by shared memory")):
            self.assertIn(said, budget.compare(report(row(**changes)), self.budget)[1][0])

    def test_a_tile_of_larger_gpus_has_a_budget_of_no_warps(self):
        large = row(kernel="large", blocks=0, warps=0, limited_by="shared memory")
        wanted = budget.make(report(row(), large))
        self.assertEqual(budget.compare(report(row(), large), wanted), ([], []))
        # Of a kernel that fitted before, it is an error.
        _, broken = budget.compare(report(row(blocks=0, warps=0), large), wanted)
        self.assertEqual(len(broken), 1)
        self.assertIn("k<1>, sm_90: no block fits", broken[0])

    def test_a_budget_is_read_as_it_was_written(self):
        wanted = budget.make(report(row(), row(arch="100"), row(kernel="l", stack=8, spill_stores=None)))
        self.assertEqual(json.loads(budget.text_of(wanted)), wanted)
        self.assertEqual(budget.architectures(wanted), ["90", "100"])


class Commands(unittest.TestCase):
    def test_a_build_whose_files_are_compiled_together_is_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            entry = {"directory": folder, "file": f"{folder}/kernels/pool/pool.cu",
                     "command": "nvcc -c pool.cu -o pool.o"}
            (Path(folder) / "compile_commands.json").write_text(json.dumps([entry]))
            with self.assertRaisesRegex(compile.Failure, "pool.cu.*RONDO_UNITY_KERNELS=OFF"):
                compile.read_commands(folder)


class Presentation(unittest.TestCase):
    def test_a_row(self):
        cells = present.cells(row(mix={"instructions": 40, "fma": 16, "tensor": 3, "shared_load_32": 16,
                                       "shared_load_128": 4, "barriers": 2},
                                  fma_share=0.4, tensor_share=0.075, bound="LSU",
                                  cycles={"issue": 10.0, "LSU": 24.5}, lsu_distinct=32), report())
        self.assertEqual(cells, ["`k<1>`", 64, 0, 0, 1024, 256, "4, 32", "registers", 40, "40.0 %", "7.5 %",
                                 "LDS 16 x 32, 4 x 128", 2, "", "LSU", "issue 10, LSU 24.5 to 32"])
        self.assertEqual(len(cells), len(present.header(report())))

    def test_without_a_disassembler_the_columns_are_left_out(self):
        plain = report(row(hot=None), disassembler=None)
        self.assertEqual(len(present.cells(row(hot=None), plain)), len(present.header(plain)))
        self.assertIn("No disassembler", present.markdown(plain))

    def test_spills_and_failures_are_said_at_the_top(self):
        text = present.markdown(report(row(spill_stores=4),
                                       failures=[{"file": "b.cu", "arch": "90", "error": "why"}]))
        self.assertIn("Spills: k<1>.", text)
        self.assertIn("b.cu does not compile for sm_90: `why`", text)


class Readme(unittest.TestCase):
    """The figures in README.md are those of bench/compiled/budget.json, for compute capability 9.0."""

    TILE = "Tile<8, 16, 16, 8, 32, 2, false>"  # rung 06 with 128 x 128 results

    def setUp(self):
        root = HERE.parents[1]
        self.text = (root / "README.md").read_text()
        self.kernels = json.loads((root / "bench/compiled/budget.json").read_text())["kernels"]

    def rung(self, number):
        """The budget of a rung; of several variants the one with A and B K-major."""
        own = rf"kernels/gemm/ladder/gemm_{number}_\w+\.cu: gemm_{number}_\w+_kernel"
        names = (own, own + r"<\(Order\)0, \(Order\)0>")
        if number == "06":
            names = (rf"kernels/gemm/fma/gemm_fma\.cu: gemm_pipelined_kernel<{re.escape(self.TILE)}, "
                     r"\(Order\)0, \(Order\)0>",)
        found = [of_kernel["90a"] for key, of_kernel in self.kernels.items()
                 if any(re.fullmatch(name, key) for name in names)]
        self.assertEqual(len(found), 1, number)
        return found[0]

    def test_the_rungs(self):
        pipes = {"issue": "issue", "LSU": "load-store unit", "FMA": "fp32 FMA pipe"}
        for number in ("01", "02", "03", "04", "05", "06"):
            row = self.rung(number)
            cells = f"| {row['registers']} | {100 * row['fma_share']:.1f} % | {pipes[row['bound']]} |"
            shown = re.search(rf"^\| {number} \| [^|]+ (\|.*\|)$", self.text, re.MULTILINE)
            self.assertEqual(shown and shown[1], cells, f"rung {number}")


class FatBinaries(unittest.TestCase):
    """As nvcc 13.0 writes them."""

    @staticmethod
    def entry(kind, architecture, payload, whole=0):
        return struct.pack("<HHIQ12xI24xQ", kind, 0x101, 64, len(payload), architecture, whole) + payload

    @staticmethod
    def fat_binary(*entries):
        return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, sum(map(len, entries))) + b"".join(entries)

    def setUp(self):
        ptx, code = self.entry(1, 90, b"p" * 40, 400), self.entry(2, 90, b"c" * 100, 2000)
        other = self.entry(2, 80, b"d" * 24)  # not compressed
        self.file = (b"!<arch>\n" + self.fat_binary(ptx, code) + b"text" + self.fat_binary(other)
                     + struct.pack("<I", 0xBA55ED50) + b"no fat binary follows this number, but other text")

    def test_entries_of_all_fat_binaries_in_a_file(self):
        self.assertEqual(fat_binary.code_of(self.file),
                         [("PTX", 90, 104, 400), ("machine code", 90, 164, 2000),
                          ("machine code", 80, 88, 24)])

    def test_one_that_is_cut_off_is_none(self):
        whole = self.fat_binary(self.entry(2, 90, b"c" * 100))
        for length in range(len(whole)):
            self.assertEqual(fat_binary.code_of(whole[:length]), [], length)

    def test_sizes_are_added_by_architecture_and_kind(self):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "kernels.a"
            file.write_bytes(self.file * 100_000)
            lines = fat_binary.sizes([file, file])
            self.assertEqual([line.split() for line in lines[1:]],
                             [["8.0", "machine", "code", "17.60", "4.80"], ["9.0", "PTX", "20.80", "80.00"],
                              ["9.0", "machine", "code", "32.80", "400.00"], ["all", "71.20", "484.80"]])
            file.write_bytes(b"text")
            self.assertEqual(fat_binary.sizes([file]), [f"there are no kernels in {file}"])


if __name__ == "__main__":
    unittest.main()
