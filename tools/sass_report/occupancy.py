"""Computes how many blocks of a kernel a multiprocessor holds, and how many cycles its pipes need for a
loop."""

from dataclasses import dataclass

KIB = 1024
WARP = 32
REGISTERS = 65536  # of a multiprocessor, and the maximum of a block
REGISTER_UNIT = 256  # allocation unit of a warp's registers
PARTITIONS = 4  # of a multiprocessor; each has a quarter of the registers and issues an instruction a cycle
SHARED_BYTES_A_CYCLE = 128


@dataclass(frozen=True)
class Limits:
    """Limits of a multiprocessor, and its throughput in results per cycle."""
    warps: int
    blocks: int
    shared: int  # bytes
    shared_of_block: int  # the maximum of one block
    shared_reserved: int = KIB  # per block, by the system
    shared_unit: int = 128
    fp32: int = 128
    integer: int = 64
    fp64: int = 2
    special: int = 16


# From the programming guide's tables of compute capabilities and of arithmetic throughput, and
# cuda_occupancy.h.
LIMITS = {
    "75": Limits(32, 16, 64 * KIB, 64 * KIB, shared_reserved=0, shared_unit=256, fp32=64),
    "80": Limits(64, 32, 164 * KIB, 163 * KIB, fp32=64, fp64=32),
    "86": Limits(48, 16, 100 * KIB, 99 * KIB),
    "87": Limits(48, 16, 164 * KIB, 163 * KIB),
    "89": Limits(48, 24, 100 * KIB, 99 * KIB),
    "90": Limits(64, 32, 228 * KIB, 227 * KIB, fp64=64),
    "100": Limits(64, 32, 228 * KIB, 227 * KIB, fp64=64),
    "120": Limits(48, 24, 100 * KIB, 99 * KIB),
}


def limits_of(architecture):
    """The limits of "90" or "90a"; None for an unknown architecture."""
    return LIMITS.get(architecture.rstrip("af"))


def round_up(value, unit):
    return -(-value // unit) * unit


def resident_blocks(limits, registers, shared, threads):
    """(resident blocks of a multiprocessor, the limiting resource). With 0 blocks the kernel cannot be
    launched."""
    warps = -(-threads // WARP)
    of_warp = round_up(registers * WARP, REGISTER_UNIT)
    bounds = {"blocks": limits.blocks, "warps": limits.warps // warps}
    if of_warp:
        # The block limit is checked as if its warps were spread over all partitions.
        fits = registers <= 255 and of_warp * round_up(warps, PARTITIONS) <= REGISTERS
        bounds["registers"] = REGISTERS // PARTITIONS // of_warp * PARTITIONS // warps if fits else 0
    taken = round_up(shared + limits.shared_reserved, limits.shared_unit)
    if taken:
        bounds["shared memory"] = limits.shared // taken if shared <= limits.shared_of_block else 0
    limit = min(bounds, key=bounds.get)
    return bounds[limit], limit


# Shared memory moves 128 bytes per cycle. A warp's wide access takes at least this many cycles: with a
# different address per thread, 128 bits take four, but threads that read the same address share it.
LEAST_WAVEFRONTS = {8: 1, 16: 1, 32: 1, 64: 1, 128: 2, 256: 4}


def wavefronts(mix, shared_addresses):
    """Cycles of the load-store unit for one iteration of a warp."""
    total = 0
    for key, count in mix.items():
        kind, _, bits = key.rpartition("_")
        if kind in ("shared_load", "shared_store", "global_load", "global_store", "cp_async"):
            bits = int(bits)
            total += count * (LEAST_WAVEFRONTS[bits] if shared_addresses
                              else max(1, bits * WARP // 8 // SHARED_BYTES_A_CYCLE))
        elif kind == "matrix":
            total += count
    return (total + mix.get("generic", 0) + mix.get("local", 0) + mix.get("atomics", 0)
            + mix.get("shuffles", 0))


def pipe_cycles(limits, mix):
    """The minimum of cycles that each pipe of a multiprocessor needs for one iteration of one warp."""
    def cycles(count, lanes):
        return count * WARP / lanes

    imad = mix.get("imad", 0)
    return {
        "issue": mix["instructions"] / PARTITIONS,
        "FMA": max(cycles(mix.get("fp32", 0) + imad, limits.fp32), cycles(imad, limits.integer)),
        "integer": cycles(mix.get("logic", 0), limits.integer),
        "FP64": cycles(mix.get("fp64", 0), limits.fp64),
        "special": cycles(mix.get("special", 0), limits.special),
        "LSU": wavefronts(mix, shared_addresses=True),
    }


def bounding_pipe(cycles):
    """The pipe that needs most cycles; the first of equal ones, so that issue slots precede other pipes."""
    return max(cycles, key=cycles.get)
