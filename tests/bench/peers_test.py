"""Runs the training processes of the installed frameworks, PyTorch and JAX, in each precision on the CPU."""

import json
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench/frameworks"))
from peers import launch, outcome, recipes  # noqa: E402


class PeersTest(unittest.TestCase):
    def train(self, framework, python, precision, *arguments):
        with tempfile.TemporaryDirectory() as folder:
            output = Path(folder) / "outcome.json"
            command = [python, "-m", f"peers.{framework}_peer", *arguments, "--precision", precision,
                       "--device", "cpu", "--cores", "2", "--json", output]
            printed, why = launch.run(command, 200, launch.environment(2, precision))
            self.assertIsNone(why, printed)
            return json.loads(output.read_text())

    def check(self, framework, precisions, *arguments):
        python, why = launch.find_python(framework)
        if not python:
            self.skipTest(why)
        losses = {}
        for precision in precisions:
            found = self.train(framework, python, precision, *arguments)
            losses[precision] = outcome.with_summary(found)["train_loss"]
            wanted = "bf16" if precision == "bf16" else "fp32"  # a CPU has no tf32
            self.assertEqual(found["rounding"]["measured"], {"matrices": wanted, "convolutions": wanted})
        for precision in ("tf32", recipes.AS_IT_COMES):
            self.assertAlmostEqual(losses.get(precision, losses["fp32"]), losses["fp32"], delta=1e-5)
        self.assertNotEqual(losses["bf16"], losses["fp32"])
        self.assertAlmostEqual(losses["bf16"], losses["fp32"], delta=1e-2)

    def test_the_mlp_in_every_precision(self):
        for framework in launch.MODULES:
            with self.subTest(framework):
                self.check(framework, recipes.PEER_PRECISIONS, "mlp", "--layers", "4", "--width", "64",
                           "--batch", "32", "--steps", "2", "--checkpoint-layers", "2")

    @unittest.skipUnless(Path(recipes.DATA).is_dir(), "Fashion-MNIST is not installed")
    def test_batch_norm_in_bf16(self):
        for framework in launch.MODULES:
            with self.subTest(framework):
                self.check(framework, ("fp32", "bf16"), "resnet18", "--limit", "4", "--batch", "4",
                           "--epochs", "1")


if __name__ == "__main__":
    unittest.main(buffer=True)
