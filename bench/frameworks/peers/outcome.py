"""The results of a run, in a file that is complete after every epoch, so that a run may be stopped early."""

import json
import os
import statistics
from pathlib import Path

TOO_COARSE = 5e-5  # errors: at least 2e-4 for TF32 and bfloat16, about 1e-6 for sums in fp32


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


def demand_strict_fp32(matrix_error, convolution_error):
    """Exits if the products are not strict fp32.

    The arguments are the largest relative errors of a product with the identity, as matrices and as a
    convolution.
    """
    if max(matrix_error, convolution_error) > TOO_COARSE:
        raise SystemExit(f"products are not strict fp32: they are wrong by {matrix_error:.1e} (matrices) and "
                         f"{convolution_error:.1e} (convolutions), must be at most {TOO_COARSE:.1e}")
    return {"matrices": matrix_error, "convolutions": convolution_error}


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
