"""Formats the results as a text table."""

import statistics

from . import recipes

PROGRAMS = {"rondo": "rondo", "jax": "jax", "eager": "pytorch", "graph": "pytorch, CUDA graph",
            "compiled": "pytorch, compiled"}


def title(row):
    return PROGRAMS[row["program"]] + (", checkpointing" if row["checkpoint_layers"] else "")


def summarise(rows):
    """Adds to each row the medians of its rounds, and the ratio of its time to Rondo's for the same work."""
    for row in rows:
        whole = [run for run in row["runs"] if "seconds_median" in run]
        if not whole:
            continue
        for key in ("seconds_median", "seconds_mean", "seconds_deviation", "first_seconds", "test_accuracy",
                    "train_loss", "peak_bytes", "device_bytes"):
            values = [run[key] for run in whole if run.get(key) is not None]
            row[key] = statistics.median(values) if values else None
    times = {work(row): time_of(row) for row in rows if row["program"] == "rondo"}
    for row in rows:
        rondo, own = times.get(work(row)), time_of(row)
        row["times_rondo"] = own / rondo if rondo and own else None


def work(row):
    return row["precision"], arithmetic(row), row["checkpoint_layers"]


def arithmetic(row):
    """The precision whose times are compared: the one asked for. In rows of frameworks as they come it is the
    measured one of most products, and for Rondo the one that it was run in; None if it is not known."""
    if row["precision"] != recipes.AS_IT_COMES:
        return row["precision"]
    if row["program"] == "rondo":
        return row["rondo_precision"]
    return measured_precisions(row).get(row["products"])


def measured_precisions(row):
    """{"matrices": precision, "convolutions": precision}; empty for Rondo, or if no run came that far."""
    return next((run["rounding"]["measured"] for run in row["runs"] if "rounding" in run), {})


def precision(row):
    """The precision asked for, and in parentheses the measured ones if they differ."""
    if row["precision"] == recipes.AS_IT_COMES and row["program"] == "rondo":
        return f"{row['precision']} ({row['rondo_precision']})"
    measured = measured_precisions(row)
    if row["precision"] == recipes.AS_IT_COMES and len(set(measured.values())) > 1:
        return f"{row['precision']} ({', '.join(f'{kind} {found}' for kind, found in measured.items())})"
    differing = {kind: found for kind, found in measured.items() if found != row["precision"]}
    if not differing:
        return row["precision"]
    kinds = "" if len(differing) == len(measured) else " and ".join(differing) + " "
    return f"{row['precision']} ({kinds}{' and '.join(sorted(set(differing.values())))})"


def time_of(row):
    """The median time of an epoch, or the mean time of a step."""
    return row.get("seconds_mean") or row.get("seconds_median")


def cells(row):
    """(program, precision, time, first, accuracy or loss, peak, device, ratio), or the error."""
    seconds = time_of(row)
    if not seconds:
        errors = [run["error"] for run in row["runs"] if "error" in run]
        return [title(row), precision(row), errors[-1] if errors else "not run"] + [""] * 5
    time = in_time(seconds)
    if row.get("seconds_mean"):
        time += f" ± {in_time(row['seconds_deviation'])}"
    done = (f"{row['test_accuracy']:.4f}" if row.get("test_accuracy") is not None
            else f"{row['train_loss']:.6g}")
    short = [run for run in row["runs"] if "error" in run]
    return [title(row), precision(row), time,
            in_time(row["first_seconds"]) if row.get("first_seconds") else "-",
            done + (f" ({short[-1]['error']})" if short else ""),
            in_bytes(row.get("peak_bytes")), in_bytes(row.get("device_bytes")),
            f"{row['times_rondo']:.2f}" if row.get("times_rondo") else "-"]


def header(network):
    return ["program", "precision", "a step" if network == "mlp" else "an epoch", "the first",
            "loss" if network == "mlp" else "accuracy", "peak", "of the GPU", "times rondo"]


def in_time(seconds):
    return (f"{seconds:.3f} s" if seconds >= 1 else f"{1e3 * seconds:.1f} ms" if seconds >= 0.01
            else f"{1e3 * seconds:.3f} ms")


def in_bytes(count):
    return ("-" if count is None else f"{count / 2**30:.2f} GiB" if count >= 2**30
            else f"{count / 2**20:.1f} MiB")


def text(network, rows):
    lines = [header(network)] + [cells(row) for row in rows]
    widths = [max(len(line[column]) for line in lines if not (column == 2 and line[3:] == [""] * 5))
              for column in range(len(lines[0]))]
    return "\n".join(
        f"{network}" if number < 0
        else "  " + "  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip()
        for number, line in enumerate([[], *lines], -1)) + "\n"
