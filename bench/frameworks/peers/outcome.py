"""The results of a run, in a file that is complete after every epoch, so that a run may be stopped early."""

import json
import os
import statistics
from pathlib import Path

from . import recipes

# The largest error of a product with the identity, relative to the largest value. Sums in fp32 have about
# 1e-6. tf32 rounds the operands to 11 bits and bfloat16 to 8; these bounds hold for truncation, too. With
# normally distributed values tf32 has an error of at least 2e-4, and bfloat16 of at least 1.5e-3.
MOST_ROUNDING = {"fp32": 5e-5, "tf32": 2**-10, "bf16": 2**-7}
# Precisions that a product may have if another is asked for. CPUs and older GPUs have no tf32. The frameworks
# as they come may choose any; the outcome says which.
ALLOWED = {"fp32": ("fp32",), "tf32": ("tf32", "fp32"), "bf16": ("bf16",),
           recipes.AS_IT_COMES: ("fp32", "tf32", "bf16")}


def write_json(path, value):
    """Writes the file atomically: if the process is stopped, the old or the new file is complete."""
    beside = Path(f"{path}.part")
    beside.write_text(json.dumps(value, indent=1) + "\n")
    os.replace(beside, path)


class Outcome:
    def __init__(self, path, **facts):
        self.path = Path(path)
        self.found = dict(facts)
        self.write()

    def write(self, **more):
        self.found.update(more)
        write_json(self.path, self.found)

    def epoch(self, seconds, train_loss, test_accuracy):
        epochs = self.found.setdefault("epochs", [])
        epochs.append({"epoch": len(epochs) + 1, "train_loss": train_loss, "test_accuracy": test_accuracy,
                       "seconds": seconds})
        self.write()


def measured_precision(error):
    """The precision of products with this error; None if it is larger than that of bfloat16, or NaN."""
    return next((precision for precision, most in MOST_ROUNDING.items() if error <= most), None)


def check_rounding(precision, matrix_error, convolution_error):
    """The errors and the precisions that they show. Exits if these contradict the precision asked for.

    The arguments are the largest relative errors of a product with the identity, as matrices and as a
    convolution.
    """
    errors = {"matrices": matrix_error, "convolutions": convolution_error}
    measured = {kind: measured_precision(error) for kind, error in errors.items()}
    if not set(measured.values()) <= set(ALLOWED[precision]):
        wanted = "in any known precision" if precision == recipes.AS_IT_COMES else precision
        raise SystemExit(f"products are not {wanted}: they are wrong by " + ", ".join(
            f"{error:.1e} ({kind}: {measured[kind] or 'coarser than bf16'})"
            for kind, error in errors.items()))
    return {**errors, "measured": measured}


def with_summary(found):
    """Adds the summary values to the results. A run without any epoch or step gets none."""
    found = dict(found)
    if found.get("epochs"):
        epochs = found["epochs"]
        later = epochs[1:] or epochs  # the first epoch includes loading, tuning and compilation
        found["first_seconds"] = epochs[0]["seconds"]
        found["seconds_median"] = statistics.median(epoch["seconds"] for epoch in later)
        found["test_accuracy"] = epochs[-1]["test_accuracy"]
        found["train_loss"] = epochs[-1]["train_loss"]
    if found.get("seconds"):
        found["seconds_mean"] = statistics.fmean(found["seconds"])
        found["seconds_deviation"] = statistics.pstdev(found["seconds"])
        found["seconds_median"] = statistics.median(found["seconds"])
        found["train_loss"] = found["losses"][-1]
    return found
