"""Rondo's targets, and the comparison of a report with them."""

import dataclasses
import math
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench/frameworks"))
from peers import table  # noqa: E402

# The GPU that the times are for. The other targets are ratios to the vendor's library in the same run, and
# hold for any GPU.
GPU = "H100"
GEMM_PROGRAM, CONVOLUTION_PROGRAM = "bench_gemm_beside_cublas", "bench_conv_beside_cudnn"
PASSES = ("forward", "data_gradient", "filter_gradient")
ALL_PASSES = "all passes"
NOT_MEASURED = "not measured"


@dataclasses.dataclass(frozen=True)
class Target:
    what: str
    limit: float
    unit: str  # "times ...": at least the limit, in the vendor's throughput; "s": at most the limit
    # One of these says where the measured value is:
    benchmark: str = ""  # of GEMM_PROGRAM
    convolutions: str = ""  # the type; the geometric mean over all convolutions of CONVOLUTION_PROGRAM
    training: tuple = ()  # network and precision

    @property
    def is_time(self):
        return self.unit == "s"

    def is_reached(self, value):
        return value <= self.limit if self.is_time else value >= self.limit


def of_gemm(kind, size, limit, peer):
    """For both layouts of the second factor: [k, n] and, as wgmma needs it in tf32, [n, k]."""
    return [Target(f"GEMM in {kind}, {size.replace('x', ' x ')}, {layout}", limit, f"times cuBLAS in {peer}",
                   benchmark=f"rondo_{kind}/gemm/{size}/{layout}") for layout in ("nn", "nt")]


SQUARES = ("4096x4096x4096", "8192x8192x8192")
TARGETS = (
    *(target for size in SQUARES for target in of_gemm("bf16", size, 1.0, "bf16")),
    *(target for size in SQUARES for target in of_gemm("tf32", size, 1.0, "tf32")),
    *(target for kind in ("bf16", "tf32") for target in of_gemm(kind, "6912x2056x2056", 1.1, kind)),
    *(target for size in SQUARES for target in of_gemm("tf32x3", size, 1.5, "fp32")),
    *(Target(f"convolutions in {kind}, geometric mean", 1.0, f"times cuDNN in {kind}", convolutions=kind)
      for kind in ("fp32", "tf32", "bf16", "fp16")),
    Target("ResNet-18, an epoch in tf32", 0.9, "s", training=("resnet18", "tf32")),
    Target("ResNet-18, an epoch in bf16", 0.56, "s", training=("resnet18", "bf16")),
    Target("MLP, a step in tf32", 0.050, "s", training=("mlp", "tf32")),
    Target("MLP, a step in bf16", 0.030, "s", training=("mlp", "bf16")),
    Target("LeNet, an epoch in fp32", 0.025, "s", training=("lenet", "fp32")),
)


def shares(report, program):
    """{benchmark: Rondo's throughput divided by the vendor's}; None where a benchmark of Rondo's failed."""
    found = {}
    for entry in report["benchmarks"].get(program, {}).get("benchmarks", []):
        name = entry["name"].removesuffix("/manual_time")
        if name.startswith("rondo_") and entry.get("run_type") != "aggregate":
            share = 0 if entry.get("error_occurred") else entry.get("share", 0)
            found[name] = share if 0 < share < math.inf else None
    return found


def convolution_means(report):
    """A row for each type and pass, and for each type over all passes: {"type", "pass", "convolutions": the
    number of those measured, "failed", "mean": the geometric mean of the shares or None, "least", "least_of":
    the layer}."""
    of = {}
    for name, share in shares(report, CONVOLUTION_PROGRAM).items():
        kind, layer, operation = name.removeprefix("rondo_").split("/")
        of.setdefault((kind, operation), []).append((share, layer))
        of.setdefault((kind, ALL_PASSES), []).append((share, f"{layer}, {operation}"))
    rows = []
    for kind in dict.fromkeys(kind for kind, _ in of):
        for group in (*PASSES, ALL_PASSES):
            measured = [(share, layer) for share, layer in of.get((kind, group), []) if share]
            least = min(measured, default=(None, None))
            rows.append({"type": kind, "pass": group, "convolutions": len(measured),
                         "failed": len(of.get((kind, group), [])) - len(measured),
                         "mean": geometric_mean([share for share, _ in measured]),
                         "least": least[0], "least_of": least[1]})
    return rows


def geometric_mean(values):
    return math.exp(math.fsum(map(math.log, values)) / len(values)) if values else None


def is_for_this_gpu(report):
    gpus = report["machine"]["gpus"]
    return bool(gpus) and re.search(rf"\b{GPU}\b", gpus[0]["name"]) is not None


def compare(report):
    """[{"target", "limit", "unit", "measured", "reached"}] for a report of a GPU. Times are compared only on
    an H100. "measured" is None if there is no value. "reached" is then None, too, and also for what was
    measured only in part."""
    if report["preset"] != "cuda":
        return []
    gemm, means = shares(report, GEMM_PROGRAM), convolution_means(report)
    rows = []
    for target in TARGETS:
        if target.is_time and not is_for_this_gpu(report):
            continue
        if target.benchmark:
            value, is_whole = gemm.get(target.benchmark), True
        elif target.convolutions:
            value, is_whole = of_convolutions(report, means, target.convolutions)
        else:
            value, is_whole = of_training(report, *target.training)
        rows.append({"target": target.what, "limit": target.limit, "unit": target.unit, "measured": value,
                     "reached": target.is_reached(value) if value is not None and is_whole else None})
    return rows


def of_convolutions(report, means, kind):
    """The mean, and whether it is over all convolutions."""
    (row,) = [row for row in means if (row["type"], row["pass"]) == (kind, ALL_PASSES)] or [None]
    if not row:
        return None, False
    states = [step["state"] for step in report["steps"] if step["name"] == CONVOLUTION_PROGRAM]
    return row["mean"], states == ["passed"] and not row["failed"]


def of_training(report, network, precision):
    """Rondo's time of an epoch or a step without checkpointing, and whether it is of the whole data."""
    for row in report["networks"].get(network, []):
        if (row["program"], row["precision"], row["checkpoint_layers"]) == ("rondo", precision, 0):
            return table.time_of(row), not report["quick"]
    return None, False
