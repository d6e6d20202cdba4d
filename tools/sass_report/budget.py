"""The budget of each kernel: registers, spills, stack, resident warps, the shares of multiply-adds and of
products by tensor cores, and the length of the loop that issues tensor copies."""

import json

from . import occupancy, present

TOLERANCE = 0.005  # of a share: a few instructions in a loop of some hundred
COPY_LOOP_TOLERANCE = 8  # instructions: less than a division
SHARES = {"fma_share": "share of multiply-adds", "tensor_share": "share of products by tensor cores"}
THREADS_OF_BLOCK = 1024  # the maximum; a kernel without launch bounds must support it


def key_of(row):
    return f"{row['file']}: {row['kernel']}"


def entry_of(row):
    """The current values of a kernel as its budget. Spills and stack are included only if there are any."""
    entry = {"registers": row["registers"]}
    if row["warps"] is not None:
        entry["warps"] = row["warps"]
    if row["hot"] == "loop":
        entry |= {name: row[name] for name in (*SHARES, "copy_loop") if row.get(name)}
        if row.get("fma_share") and row.get("bound"):
            entry["bound"] = row["bound"]  # for the reader; not compared
    entry |= {name: value for name, value in (("spills", spills(row)), ("stack", row["stack"])) if value}
    return entry


def spills(row):
    stores, loads = row["spill_stores"], row["spill_loads"]
    return None if stores is None else stores + loads


def make(report):
    kernels = {}
    for row in report["kernels"]:
        kernels.setdefault(key_of(row), {})[row["arch"]] = entry_of(row)
    return {"toolkit": report["toolkit"], "kernels": kernels}


def text_of(budget):
    """JSON with one line per kernel and architecture, so that each change is one line of a diff."""
    lines = ["{", f' "toolkit": {json.dumps(budget["toolkit"])},', ' "kernels": {']
    kernels = sorted(budget["kernels"].items())
    for number, (name, of_kernel) in enumerate(kernels):
        lines.append(f"  {json.dumps(name)}: {{")
        entries = sorted(of_kernel.items(), key=lambda item: (len(item[0]), item[0]))
        for position, (arch, entry) in enumerate(entries):
            lines.append(f"   {json.dumps(arch)}: {json.dumps(entry)}"
                         f"{',' if position + 1 < len(entries) else ''}")
        lines.append("  }," if number + 1 < len(kernels) else "  }")
    return "\n".join([*lines, " }", "}", ""])


def architectures(budget):
    return sorted({arch for of_kernel in budget["kernels"].values() for arch in of_kernel},
                  key=lambda arch: (len(arch), arch))


def cannot_start(row, entry):
    """Why no block of the kernel can be launched, or None. This is an error with every toolkit. A budget of 0
    warps says that the kernel is for GPUs with more shared memory."""
    where = f"{key_of(row)}, sm_{row['arch']}"
    threads = row["threads"] or THREADS_OF_BLOCK
    if row["registers"] * threads > occupancy.REGISTERS:
        return (f"{where}: registers x threads is {row['registers']} x {threads}, "
                f"the limit is {occupancy.REGISTERS}")
    if row["blocks"] == 0 and (entry or {}).get("warps") != 0:
        return f"{where}: no block fits on a multiprocessor, limited by {row['limited_by']}"
    return None


def compare(report, budget, all_files=True):
    """(lines about exceeded budgets, lines about kernels that cannot be launched), each with kernel,
    quantity, budget and value."""
    worse, broken = [], []
    budgeted = set(architectures(budget))
    rows = {(key_of(row), row["arch"]): row for row in report["kernels"]}
    for (name, arch), row in rows.items():
        # For an architecture that is not in the budget, only spills and stack are checked.
        entry = budget["kernels"].get(name, {}).get(arch) if arch in budgeted else {"registers": 255}
        if problem := cannot_start(row, entry):
            broken.append(problem)
        if entry is None:
            worse.append(f"{name}, sm_{arch}: the budget does not have it")
            continue

        def most(quantity, value):
            allowed = entry.get(quantity, 0)
            if value is not None and value > allowed:
                worse.append(f"{name}, sm_{arch}: {quantity} {value}, budget {allowed}")

        most("registers", row["registers"])
        most("spills", spills(row))
        most("stack", row["stack"])
        if row.get("copy_loop", 0) > entry.get("copy_loop", row.get("copy_loop", 0)) + COPY_LOOP_TOLERANCE:
            worse.append(f"{name}, sm_{arch}: the loop of tensor copies has {row['copy_loop']} instructions, "
                         f"budget {entry['copy_loop']} and {COPY_LOOP_TOLERANCE}")
        if row["warps"] is not None and row["warps"] < entry.get("warps", 0):
            worse.append(f"{name}, sm_{arch}: resident warps {row['warps']}, budget {entry['warps']}")
        for share, title in SHARES.items():
            if row.get(share) is not None and row[share] < entry.get(share, 0) - TOLERANCE:
                worse.append(f"{name}, sm_{arch}: {title} {row[share]:.3f}, "
                             f"budget {entry[share]:.3f} less {TOLERANCE}")
    if all_files:
        for name, of_kernel in budget["kernels"].items():
            for arch in of_kernel:
                if arch in report["architectures"] and (name, arch) not in rows:
                    worse.append(f"{name}, sm_{arch}: is in the budget, and was not compiled")
    for failure in report["failures"]:
        worse.append(f"{failure['file']}, sm_{failure['arch']}: {failure['error']}")
    worse += map(present.warning_text, report["warnings"])
    return worse, broken
