"""The report as Markdown, and as JSON with one line per kernel."""

import json


def json_of(report):
    head = {key: value for key, value in report.items() if key != "kernels"}
    lines = json.dumps(head, indent=1)[:-2]
    rows = ",\n".join("  " + json.dumps(row) for row in report["kernels"])
    return f'{lines},\n "kernels": [\n{rows}\n ]\n}}\n'


def warning_text(warning):
    """One line: file, architecture, code and text of a compiler's warning."""
    code = f"({warning['code']}) " if warning["code"] else ""
    return f"{warning['file']}, sm_{warning['arch']}: {code}{warning['text']}"


def table(header, rows):
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(str(cell).replace("|", "\\|") for cell in line) + " |"
                     for line in lines) + "\n\n"


def markdown(report):
    text = "# The compiled kernels\n\n"
    text += (f"Written by `{report['command']}`, with nvcc {report['toolkit']}"
             + (f" and nvdisasm {report['disassembler']}" if report["disassembler"] else "")
             + ". docs/compiled-kernels.md says what the columns mean.\n\n")
    if not report["disassembler"]:
        text += "No disassembler was there: the columns about the code are left out.\n\n"
    for failure in report["failures"]:
        text += f"- {failure['file']} does not compile for sm_{failure['arch']}: `{failure['error']}`\n"
    for warning in report["warnings"]:
        text += f"- {warning_text(warning)}\n"
    text += "\n" if report["failures"] or report["warnings"] else ""
    for arch in report["architectures"]:
        rows = [row for row in report["kernels"] if row["arch"] == arch]
        if not rows:
            continue
        text += f"## sm_{arch}\n\n" + summary(rows)
        for file in dict.fromkeys(row["file"] for row in rows):
            text += f"### {file}\n\n"
            text += table(header(report), [cells(row, report) for row in rows if row["file"] == file])
    return text


def summary(rows):
    spilling = [row["kernel"] for row in rows
                if row["spill_stores"] is None or row["spill_stores"] + row["spill_loads"] > 0]
    stacked = [row["kernel"] for row in rows if row["stack"]]
    most = max(row["registers"] for row in rows)
    say = [f"{len(rows)} kernels, at most {most} registers."]
    say.append("Spills: " + (", ".join(spilling) if spilling else "none") + ".")
    say.append("Stack: " + (", ".join(stacked) if stacked else "none") + ".")
    return " ".join(say) + "\n\n"


def header(report):
    names = ["kernel", "registers", "spills", "stack", "shared memory", "threads", "blocks, warps",
             "limited by"]
    if report["disassembler"]:
        names += ["hot loop", "FMA", "tensor", "memory", "barriers", "around it", "bound", "cycles"]
    return names


def accesses(mix, kind):
    """The accesses of a kind by width: '8 x 32, 24 x 128'."""
    widths = {int(key.rsplit("_", 1)[1]): count for key, count in mix.items()
              if key.rsplit("_", 1)[0] == kind}
    return ", ".join(f"{count} x {bits}" for bits, count in sorted(widths.items()))


def memory(mix):
    """The memory accesses of a mix by kind: 'LDS 24 x 128, STS 2 x 32'."""
    kinds = {"shared_load": "LDS", "shared_store": "STS", "global_load": "LDG", "global_store": "STG",
             "cp_async": "cp.async"}
    found = ((name, accesses(mix, kind)) for kind, name in kinds.items())
    return "; ".join(f"{name} {widths}" for name, widths in found if widths)


def number(value):
    return f"{value:.1f}".rstrip("0").rstrip(".")


def percent(share):
    return f"{100 * share:.1f} %" if share else ""


def cells(row, report):
    def known(value):
        return "?" if value is None else value

    shared = "?" if row["dynamic_shared"] is None else row["static_shared"] + row["dynamic_shared"]
    spills = "?" if row["spill_stores"] is None else row["spill_stores"] + row["spill_loads"]
    result = [f"`{row['kernel']}`", row["registers"], spills, row["stack"], shared, known(row["threads"]),
              "?" if row["blocks"] is None else f"{row['blocks']}, {row['warps']}", known(row["limited_by"])]
    if report["disassembler"]:
        result += code_cells(row)
    return result


def code_cells(row):
    if not row["hot"]:
        return [""] * 8
    mix, around = row["mix"], row.get("around", {})
    outside = [memory(around), f"{around['barriers']} barriers" if around.get("barriers") else ""]
    cycles = ""
    if "cycles" in row:
        cycles = ", ".join(f"{pipe} {number(value)}" for pipe, value in row["cycles"].items() if value)
        if row["lsu_distinct"] > row["cycles"]["LSU"]:
            cycles += f" to {row['lsu_distinct']}"
    return [mix["instructions"] if row["hot"] == "loop" else f"none; {mix['instructions']}",
            percent(row["fma_share"]), percent(row["tensor_share"]), memory(mix), mix.get("barriers", ""),
            "; ".join(filter(None, outside)), row.get("bound", ""), cycles]
