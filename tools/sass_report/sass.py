"""Parses nvdisasm's listing of a cubin: instructions, loops, and the instruction mix of a kernel's hottest
loop."""

import re
from dataclasses import dataclass, field

INSTRUCTION = re.compile(r"^\s+/\*([0-9a-f]{4,})\*/\s+(?:@(!?\w+)\s+)?([A-Z][A-Z0-9_.a-z]*)\s*([^;]*);")
SECTION = re.compile(r"^\s*\.section\s+\.text\.([^,\s]+)\s*,")
LABEL = re.compile(r"^([.$\w]+):\s*$")
TARGET = re.compile(r"`\(([^)]+)\)")
INDIRECT_TARGETS = re.compile(r"\.L_\w+")


@dataclass
class Instruction:
    address: int
    guard: str  # the predicate before it, without the @; empty if there is none
    opcode: str  # with its modifiers, such as LDS.U.128
    operands: str

    @property
    def name(self):
        return self.opcode.split(".")[0]

    @property
    def modifiers(self):
        return self.opcode.split(".")[1:]


@dataclass
class Function:
    instructions: list = field(default_factory=list)
    labels: dict = field(default_factory=dict)  # name: index of the following instruction


def functions(listing):
    """{mangled name of a kernel: Function} from the output of `nvdisasm -c`."""
    found, function = {}, None
    for line in listing.splitlines():
        if re.match(r"^\s*\.section\s+(\S+?),", line):
            text = SECTION.match(line)
            function = found.setdefault(text.group(1), Function()) if text else None
            if not text:
                section = None
        if function is None:
            continue
        if instruction := INSTRUCTION.match(line):
            address, guard, opcode, operands = instruction.groups()
            function.instructions.append(Instruction(int(address, 16), guard or "", opcode, operands.strip()))
        elif label := LABEL.match(line):
            function.labels[label.group(1)] = len(function.instructions)
    return {name: function for name, function in found.items() if function.instructions}


def never(instruction):
    return instruction.guard in ("!PT", "!UPT")


def conditional(instruction):
    """Whether control may continue at the next instruction after a branch."""
    if instruction.guard not in ("", "PT", "UPT"):
        return True
    return instruction.name == "BRA" and not instruction.operands.startswith("`(")


def follow(function):
    """For each instruction the indices of its possible successors; and the start indices of subroutines."""
    code, labels = function.instructions, function.labels
    rejoin = {}  # convergence barrier: the targets of its BSYNCs
    for instruction in code:
        if instruction.name == "BSSY":
            for target in TARGET.findall(instruction.operands):
                rejoin.setdefault(instruction.operands.split(",")[0], set()).add(labels[target])
    following, subroutines = [], set()
    for index, instruction in enumerate(code):
        after = {index + 1} if index + 1 < len(code) else set()
        name = instruction.name
        if never(instruction):
            following.append(after)
            continue
        targets = {labels[target] for target in TARGET.findall(instruction.operands) if target in labels}
        if name == "BRA" or name == "JMP":
            following.append(targets | (after if conditional(instruction) else set()))
        elif name in ("BRX", "JMX", "BRXU", "JMXU"):
            targets = {labels[target] for target in INDIRECT_TARGETS.findall(instruction.operands)
                       if target in labels}
            following.append(targets | (after if conditional(instruction) else set()))
        elif name in ("EXIT", "RET", "KILL"):
            following.append(after if conditional(instruction) else set())
        elif name == "BSYNC":
            ends = rejoin.get(instruction.operands.split(",")[0], set())
            # The target usually follows directly; an out-of-line BSYNC jumps.
            following.append(after if after & ends or not ends else ends)
        else:
            if name == "CALL":
                subroutines |= targets
            following.append(after)
    return [{index for index in after if index < len(code)} for after in following], subroutines


@dataclass
class Loop:
    header: int  # index of its first instruction in the flow
    body: set  # indices of its instructions


def blocks_of(following, entries):
    """Reachable basic blocks: {leader: (indices, possible next leaders)}."""
    into = {}
    for index, after in enumerate(following):
        for target in after:
            into.setdefault(target, set()).add(index)
    leaders = set(entries)
    for index, after in enumerate(following):
        if len(after) != 1 or after != {index + 1}:
            leaders |= after
    leaders |= {target for target, origins in into.items() if origins != {target - 1}}
    blocks, waiting = {}, list(entries)
    while waiting:
        leader = waiting.pop()
        if leader in blocks:
            continue
        indices = [leader]
        while following[indices[-1]] == {indices[-1] + 1} and indices[-1] + 1 not in leaders:
            indices.append(indices[-1] + 1)
        blocks[leader] = (indices, following[indices[-1]])
        waiting.extend(following[indices[-1]])
    return blocks


ROOT = -1  # a virtual block before the kernel's first instruction and before each subroutine


def dominators(blocks, entries):
    """{leader: its immediate dominator}."""
    after = {leader: edges for leader, (_, edges) in blocks.items()}
    after[ROOT] = set(entries)
    order, seen, stack = [], {ROOT}, [(ROOT, iter(sorted(after[ROOT])))]
    while stack:
        node, rest = stack[-1]
        for target in rest:
            if target not in seen:
                seen.add(target)
                stack.append((target, iter(sorted(after[target]))))
                break
        else:
            order.append(node)
            stack.pop()
    rank = {node: number for number, node in enumerate(order)}  # postorder: the root has the highest rank
    before = {}
    for node, edges in after.items():
        for target in edges:
            before.setdefault(target, []).append(node)
    nearest, changed = {ROOT: ROOT}, True
    while changed:
        changed = False
        for node in reversed(order[:-1]):
            new = None
            for origin in before[node]:
                if origin not in nearest:
                    continue
                if new is None:
                    new = origin
                    continue
                other = origin
                while new != other:
                    while rank[new] < rank[other]:
                        new = nearest[new]
                    while rank[other] < rank[new]:
                        other = nearest[other]
            if nearest.get(node) != new:
                nearest[node], changed = new, True
    return nearest


def loops(function):
    """The natural loops of a kernel: a branch back to a block that dominates the branch."""
    following, subroutines = follow(function)
    entries = {0} | subroutines
    blocks = blocks_of(following, entries)
    nearest = dominators(blocks, entries)

    def dominates(header, node):
        while node not in (header, ROOT):
            node = nearest[node]
        return node == header

    before = {}
    for leader, (_, edges) in blocks.items():
        for target in edges:
            before.setdefault(target, set()).add(leader)
    found = {}
    for leader, (_, edges) in blocks.items():
        for header in edges:
            if not dominates(header, leader):
                continue
            inside, waiting = found.setdefault(header, {header}), [leader]
            while waiting:
                node = waiting.pop()
                if node not in inside:
                    inside.add(node)
                    waiting.extend(before.get(node, ()))
    result = []
    for header, leaders in found.items():
        body = {index for leader in leaders for index in blocks[leader][0]}
        # Excludes the branch to itself after the end of a kernel.
        if len(body) > 1:
            result.append(Loop(header, body))
    return result


def innermost(all_loops):
    return [loop for loop in all_loops
            if not any(other is not loop and other.header in loop.body and other.body < loop.body
                       for other in all_loops)]


FMA = ("FFMA", "FFMA2", "DFMA", "HFMA2")
TENSOR = ("HMMA", "IMMA", "DMMA", "QMMA", "OMMA", "HGMMA", "IGMMA", "QGMMA", "UTCHMMA", "UTCQMMA", "UTCIMMA",
          "UTCOMMA")
# The kind of an instruction by name; others are counted only in the sum. BY_WIDTH: the kinds whose keys end
# with a width.
KINDS = {name: kind for kind, names in {
    "fp32": "FFMA FFMA2 FADD FADD2 FMUL FMUL2",
    "fp64": "DFMA DADD DMUL DSETP DMNMX",
    "imad": "IMAD",
    "logic": "IADD3 IADD LOP3 ISETP FSETP FMNMX FMNMX3 SHF SEL FSEL PRMT MOV LEA IMNMX VIMNMX VIMNMX3 VIADD "
             "VIADDMNMX IABS PLOP3 SGXT BMSK FCHK P2R R2P HADD2 HMUL2 HSETP2 HMNMX2",
    "special": "MUFU I2F F2I F2F I2I FRND POPC FLO BREV",
    "barriers": "BAR SYNCS",
    "warp_barriers": "WARPSYNC",
    "shuffles": "SHFL",
    "waits": "DEPBAR LDGDEPBAR",
    "matrix_load": "LDSM",
    "matrix_store": "STSM",
    "atomics": "ATOM ATOMG ATOMS RED",
    "generic": "LD ST",
    "local": "LDL STL",
}.items() for name in names.split()}
BY_WIDTH = {"LDGSTS": "cp_async", "LDS": "shared_load", "STS": "shared_store", "LDG": "global_load",
            "STG": "global_store"}
MEMORY = ("LDG", "STG", "LDS", "STS", "LDGSTS", "LD", "ST", "LDSM", "STSM", "ATOMG", "ATOM", "ATOMS", "RED",
          "UBLKCP", "UTMALDG", "UTMASTG")


WIDTHS = {"U8": 8, "S8": 8, "U16": 16, "S16": 16, "64": 64, "128": 128, "256": 256}


def width(instruction):
    """Bits that a memory instruction moves per thread."""
    return next((WIDTHS[modifier] for modifier in instruction.modifiers if modifier in WIDTHS), 32)


def mix(instructions):
    """The instruction counts of a piece of code by kind, for one warp."""
    counts = {"instructions": len(instructions)}

    def count(key):
        counts[key] = counts.get(key, 0) + 1

    for instruction in instructions:
        name = instruction.name
        if never(instruction):
            count("never")  # ptxas puts `@!PT LDS RZ, [RZ]` next to copies: an issue slot without effect
            continue
        if name in FMA:
            count("fma")
        if name in TENSOR:
            count("tensor")
        if name in KINDS:
            count(KINDS[name])
        elif name in BY_WIDTH:
            count(f"{BY_WIDTH[name]}_{width(instruction)}")
    return counts


def hottest(function):
    """(the hottest loop or None, all loops). The hottest is the innermost loop with most products of tensor
    cores; without any, the one with most multiply-adds, then with most memory instructions; of equal ones the
    longest. A loop inside that only waits, for an mbarrier, does not count: of the loops with products it is
    the innermost of those."""
    def names(loop):
        return [function.instructions[index].name for index in loop.body
                if not never(function.instructions[index])]

    def count(loop, kinds):
        return sum(name in kinds for name in names(loop))

    def heat(loop):
        return (count(loop, TENSOR), count(loop, FMA), count(loop, MEMORY), len(names(loop)), -loop.header)

    all_loops = loops(function)
    with_products = [loop for loop in all_loops if count(loop, TENSOR)]
    return max(innermost(with_products or all_loops), key=heat, default=None), all_loops


def copy_loop(function, all_loops):
    """The number of instructions of the loop that issues tensor copies, or None: of the longest, if there are
    several. One thread issues the copies of a k-tile, in less time than the tensor cores need for its
    products. Code out of line, such as a wait, counts."""
    def length(loop):
        return sum(not never(function.instructions[index]) for index in loop.body)

    with_copies = [loop for loop in all_loops
                   if any(function.instructions[index].name == "UTMALDG" for index in loop.body)]
    return max((length(loop) for loop in innermost(with_copies)), default=None)


def describe(function):
    """The report's description of a kernel's code."""
    code = function.instructions
    end = next((index for index in range(len(code) - 1, -1, -1) if code[index].name not in ("NOP", "BRA")),
               0) + 1
    loop, all_loops = hottest(function)
    body = sorted(loop.body) if loop else range(end)
    result = {"instructions": end, "loops": len(all_loops), "hot": "loop" if loop else "all",
              "mix": mix([code[index] for index in body])}
    # The surrounding loop, such as the copies and barriers of a k-tile whose products form an inner loop.
    around = min((other for other in all_loops if loop and loop.body < other.body),
                 key=lambda other: len(other.body), default=None)
    if copies := copy_loop(function, all_loops):
        result["copy_loop"] = copies
    if around:
        result["around"] = mix([code[index] for index in sorted(around.body - loop.body)])
    return result
