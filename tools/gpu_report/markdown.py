"""The report as Markdown."""

import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench/frameworks"))
from peers import table as of_networks  # noqa: E402

from . import targets  # noqa: E402


def quantity(value, unit):
    """1234567, 'B/s' -> '1.23 MB/s'."""
    for factor, prefix in ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1, ""), (1e-3, "m"),
                           (1e-6, "µ"), (1e-9, "n")):
        if abs(value) >= factor:
            return f"{value / factor:.3g} {prefix}{unit}"
    return f"{value:.3g} {unit}"


def table(header, rows):
    if not rows:
        return ""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(str(cell).replace("|", "\\|") for cell in line) + " |"
                     for line in lines) + "\n\n"


def summary(report):
    return (f"# Rondo on {title(report)}\n\n" + machine_table(report) + targets_table(report)
            + networks(report) + shared(report) + mlp(report) + tests(report) + convolutions(report)
            + benchmarks(report) + links(report) + collectives(report) + sanitizer(report) + steps(report))


def title(report):
    gpus = report["machine"]["gpus"]
    return (gpus[0]["name"] if report["preset"] == "cuda" and gpus
            else report["machine"]["cpu"] + " (CPU executor)")


def machine_table(report):
    facts = report["machine"]
    rows = [["commit", facts["commit"]], ["date", report["started"]],
            ["preset", f"{report['preset']}: {report['preset_reason']}"]]
    for number, gpu in enumerate(facts["gpus"]):
        rows.append([f"GPU {number}", ", ".join(f"{key} {value}" for key, value in gpu.items())])
    rows += [["CPU", f"{facts['cpu']}, {facts['cores']} cores, {facts['memory_gib']} GiB"],
             ["system", facts["system"]], ["CUDA toolkit", facts["cuda_toolkit"] or "none"],
             ["compiler", facts["compiler"]], ["took", f"{report.get('seconds', 0)} s"]]
    return table(["", ""], rows)


def targets_table(report):
    rows = []
    for row in report["targets"]:
        is_time = row["unit"] == "s"
        measured = row["measured"]
        limit = (f"at most {quantity(row['limit'], 's')}" if is_time else
                 f"at least {row['limit']:.2f} {row['unit']}")
        if measured is None:
            cells = [targets.NOT_MEASURED, targets.NOT_MEASURED]
        else:
            cells = [quantity(measured, "s") if is_time else f"{measured:.3f}",
                     {True: "yes", False: "no", None: "measured in part"}[row["reached"]]]
        rows.append([f"{row['target']}: {limit}", *cells])
    if not rows:
        return ""
    times = (f"The times are for an {targets.GPU}." if targets.is_for_this_gpu(report) else
             f"The targets for times are for an {targets.GPU}, and are left out on this GPU.")
    ratios = "Ratios compare the throughput with that of the vendor's library in the same run."
    return (f"## Targets\n\n{ratios} {times}\n\n" + table(["target", "measured", "reached"], rows))


def tests(report):
    found = report["tests"]
    if not found:
        return ""
    text = f"## Tests\n\n{found['tests']} tests, {found['failures']} failed, {found['skipped']} skipped.\n\n"
    lines = [*(f"failed: {name}" for name in found["failed"]),
             *(f"not all tests had their turn: {name}" for name in found["incomplete"])]
    return text + "".join(f"- {line}\n" for line in lines) + ("\n" if lines else "")


def sanitizer(report):
    found = report["sanitizer"]
    if not found:
        return ""
    text = "## compute-sanitizer\n\n" + "".join(f"- {checker_line(name, runs)}\n"
                                                for name, runs in found.items())
    # The other programs are only counted.
    rows = [[f"{checker} {program}", run["tests"], len(run["left_out"]),
             "" if run["complete"] else
             f"not all: stopped in {', '.join(run['stopped'])}" if run["stopped"] else
             "not all" if run["tests"] else "none",
             ", ".join(run["failed"]), reports_in(run, False) or "", reports_in(run, True) or ""]
            for checker, runs in found.items() for program, run in runs.items()
            if run["failed"] or run["reports"] or not run["complete"]]
    text += "\n" + table(["checker and program", "tests", "left out as slow", "ran", "failed", "reports",
                          "of kernels with mbarriers"], rows)
    text += reports_of(report, False, "### Reports\n\n")
    return text + reports_of(report, True, "### Reports of kernels with mbarriers\n\n" + ABOUT_KNOWN)


def checker_line(checker, runs):
    """What a checker has run and found, in one line."""
    def total(count):
        return sum(count(run) for run in runs.values())

    parts = [(1, f"{checker}: {counted(total(lambda run: run['tests']), 'test')} in "
                 f"{counted(total(lambda run: run['tests'] > 0), 'program')}"),
             (total(lambda run: len(run["failed"])), ", {} failed"),
             (1, f", {counted(total(lambda run: reports_in(run, False)), 'report')}"),
             (total(lambda run: reports_in(run, True)), ", {} of kernels with mbarriers"),
             (total(lambda run: run["tests"] > 0 and not run["complete"]), "; not all tests of {programs}"),
             (total(lambda run: run["tests"] == 0 and not run["complete"]), "; {programs} ran no test"),
             (total(lambda run: len(run["left_out"])), "; {tests} left out as slow")]
    return "".join(text.format(count, programs=counted(count, "program"), tests=counted(count, "test"))
                   for count, text in parts if count)


def counted(count, noun):
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def reports_in(run, known):
    return sum(one["known"] == known for one in run["reports"])


ABOUT_KNOWN = ("racecheck and synccheck are known to report correct kernels of this kind "
               "(https://github.com/NVIDIA/cutlass/issues/2626). They are no failures, but each is to be "
               "read.\n\n")


def reports_of(report, known, heading):
    """The text of each report once, with the programs that have it."""
    programs, times = {}, Counter()
    for checker, runs in report["sanitizer"].items():
        for program, run in runs.items():
            for one in run["reports"]:
                if one["known"] == known:
                    programs.setdefault(one["text"], []).append(f"{checker} {program}")
                    times[one["text"]] += one["times"]
    return "".join([heading] + [f"{', '.join(names)}, {times[text]} times:\n\n```\n{text}\n```\n\n"
                                for text, names in programs.items()]) if programs else ""


def networks(report):
    text = "".join(f"- {framework}: {version}\n"
                   for framework, version in report["frameworks"].items()) + "\n"
    for network, rows in report["networks"].items():
        text += f"### {network}\n\n" + table(of_networks.header(network),
                                             [of_networks.cells(row) for row in rows])
    return "## The networks beside PyTorch and JAX\n\n" + text if report["networks"] else ""


def shared(report):
    rows = [[network, f"{len(run['epochs'])}", quantity(run["sec_per_epoch"], "s"),
             f"{run['test_accuracy']:.4f}"]
            for network, run in report["shared"].items()]
    header = ["network", "epochs", "time an epoch", "test accuracy"]
    return "## Fashion-MNIST on two ranks of one device\n\n" + table(header, rows) if rows else ""


def mlp(report):
    rows = [[name, f"{run['layers']} x {run['width']}", run["batch"],
             f"{quantity(run['seconds_mean'], 's')} ± {quantity(run['seconds_deviation'], 's')}",
             quantity(run["flops_per_second"], "FLOP/s"), quantity(run["peak_bytes"], "B"),
             f"{run['losses'][-1]:.6g}"]
            for name, run in report["mlp"].items()]
    header = ["mode", "layers", "batch", "time a step", "rate", "memory of a device", "last loss"]
    return "## The deep MLP on two ranks of one device\n\n" + table(header, rows) if rows else ""


def convolutions(report):
    rows = [[row["type"], row["pass"].replace("_", " "), row["convolutions"], row["failed"] or "",
             "" if row["mean"] is None else f"{row['mean']:.3f}",
             "" if row["least"] is None else
             f"{row['least']:.3f}: {row['least_of'].replace('_gradient', ' gradient')}"]
            for row in report["convolution_means"]]
    header = ["type", "pass", "convolutions", "failed", "geometric mean", "least"]
    text = "Rondo's throughput divided by cuDNN's in the same run; of tf32x3 by that of cuDNN in fp32.\n\n"
    return "## Convolutions beside cuDNN\n\n" + text + table(header, rows) if rows else ""


def libraries(context):
    """The versions and files of the vendor's libraries."""
    names = [key.removesuffix("_library") for key in context if key.endswith("_library")]
    return "".join(f"{name} {context[f'{name}_version']}: {context[f'{name}_library']}\n\n" for name in names)


def benchmarks(report):
    text = ""
    for program, results in report["benchmarks"].items():
        rows = []
        for entry in results["benchmarks"]:
            if entry.get("run_type") == "aggregate":
                continue
            if entry.get("error_occurred"):
                rows.append([entry["name"], "failed", "", entry.get("error_message", "")])
                continue
            seconds = entry["real_time"] * {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1}[entry["time_unit"]]
            rates = ", ".join(quantity(entry[key], key) for key in ("FLOP/s", "B/s", "images/s")
                              if key in entry)
            share = f"{100 * entry['share']:.1f} % " if "share" in entry else ""
            rows.append([entry["name"].replace("/manual_time", ""), quantity(seconds, "s"), rates,
                         share + entry.get("label", "")])
        if rows:
            text += (f"### {program}\n\n" + libraries(results["context"])
                     + table(["benchmark", "time", "rate", "share of bound"], rows))
    return "## Benchmarks\n\n" + text if text else ""


def links(report):
    found = report["links"]
    if not found:
        return ""
    rows = [[f"{link['from']} to {link['to']}", link["access"], quantity(link["bandwidth"], "B/s"),
             quantity(link["latency"], "s"), quantity(link["kernel_bandwidth"], "B/s")]
            for link in found["links"]]
    return "## Links\n\n" + table(["devices", "peer access", "copy", "latency", "kernel reads"], rows)


def collectives(report):
    rows = [[name, quantity(row["bytes"], "B"), quantity(row["out_of_place"]["seconds"], "s"),
             quantity(row["out_of_place"]["busbw"], "B/s"), f"{100 * row['reached']:.1f} %",
             row["predicted"]["mostly"], row["out_of_place"]["wrong"]]
            for name, run in report["collectives"].items() for row in run["rows"]]
    header = ["operation", "size", "time", "busbw", "share of bound", "mostly", "wrong"]
    return "## Collectives\n\n" + table(header, rows) if rows else ""


def steps(report):
    rows = [[step["name"], step["state"], f"{step['seconds']} s", step["note"]] for step in report["steps"]]
    return "## Steps\n\n" + table(["step", "state", "took", "note"], rows)
