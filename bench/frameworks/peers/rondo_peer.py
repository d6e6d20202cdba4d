"""Runs `rondo train`, and converts its logs to the common form of results."""

import csv
import json
import re

UNITS = {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}


def command(program, recipe, data, log):
    """The command line. It writes its results to `log`, for images after every epoch."""
    asked = [program, "train", recipe.network, "--devices", "1", "--batch", recipe.batch,
             "--lr", recipe.learning_rate, "--seed", recipe.seed, "--precision", recipe.precision]
    if recipe.network == "mlp":
        return asked + ["--mode", "single", "--layers", recipe.layers, "--width", recipe.width,
                        "--inputs", recipe.inputs, "--outputs", recipe.outputs, "--steps", recipe.steps,
                        "--checkpoint-layers", recipe.checkpoint_layers, "--json", log]
    return asked + ["--epochs", recipe.epochs, "--limit", recipe.images, "--data", data, "--log", log]


def outcome(recipe, log, output):
    """The results that exist: a stopped training has the epochs that it finished."""
    found = {"framework": "rondo", "form": "graph", "device": device(output)}
    if recipe.network == "mlp":
        if log.exists():
            told = json.loads(log.read_text())
            found.update({key: told[key] for key in ("parameters", "seconds", "losses", "peak_bytes")})
        return found
    found["parameters"] = parameters(output)
    found["peak_bytes"] = bytes_of_a_replica(output)
    if log.exists():
        rows = csv.DictReader(log.read_text().splitlines())
        found["epochs"] = [{"epoch": int(row["epoch"]), **{key: float(row[key]) for key in (
            "train_loss", "test_accuracy", "seconds")}} for row in rows]
    return found


def device(output):
    found = re.search(r"^devices +\[\S+\] (.+)$", output, re.MULTILINE)
    return found.group(1).strip() if found else None


def parameters(output):
    found = re.search(r"([\d,]+) parameters", output)
    return int(found.group(1).replace(",", "")) if found else None


def bytes_of_a_replica(output):
    """All memory that a replica allocates, including the data set."""
    found = re.search(r"^memory +([\d.]+) (\w+) a replica", output, re.MULTILINE)
    return round(float(found.group(1)) * UNITS[found.group(2)]) if found else None
