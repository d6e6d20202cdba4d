"""Tests of bench/frameworks. Argument: the build folder whose rondo program is run.

The frameworks' python3 is a fake that behaves well or badly, so the tests need neither PyTorch nor JAX.
"""

import importlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import types
import unittest
import unittest.mock
from pathlib import Path

import side_by_side

ROOT = Path(__file__).resolve().parents[2]
COMMAND = ROOT / "bench/frameworks/networks_beside_peers"
sys.path.insert(0, str(ROOT / "bench/frameworks"))
from peers import data, launch, memory, outcome, recipes, rondo_peer, table, tensors  # noqa: E402

BUILD = Path(sys.argv.pop(1)) if len(sys.argv) > 1 else ROOT / "build/cpu"
SMALL_MLP = ["--networks", "mlp", "--layers", "3", "--width", "16", "--batch", "8", "--steps", "2"]


class InTemporaryFolder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def program(self, text):
        path = self.folder / f"program{len(list(self.folder.iterdir()))}"
        path.write_text("#!/bin/sh\n" + text)
        path.chmod(0o755)
        return path


class CommandTest(InTemporaryFolder):
    def run_command(self, *arguments):
        return subprocess.run([sys.executable, COMMAND, *map(str, arguments)], capture_output=True, text=True)

    def python(self, of_peer):
        """A fake python3 that has every framework, and whose peer programs run `of_peer`."""
        return self.program(f'if [ "$1" = -c ]; then echo 9.9; exit; fi\n{of_peer}')

    def report(self, *arguments):
        done, rows = self.list_report(*arguments)
        return done, {table.title(row): row for row in rows}

    def list_report(self, *arguments):
        output = self.folder / "report.json"
        done = self.run_command(BUILD / "rondo", *SMALL_MLP, "--json", output, *arguments)
        return done, json.loads(output.read_text())["networks"]["mlp"]

    def test_a_peer_that_fails_is_recorded_and_the_rest_goes_on(self):
        done, rows = self.report("--python", self.python("echo out of order; exit 3"))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(list(rows), ["rondo", "rondo, checkpointing", "pytorch", "pytorch, checkpointing",
                                      "jax", "jax, checkpointing", "pytorch, compiled"])
        for title, row in rows.items():
            if title.startswith("rondo"):
                self.assertEqual(row["times_rondo"], 1)
                self.assertEqual(len(row["runs"][0]["seconds"]), 2)
            else:
                self.assertEqual(row["runs"][0]["error"], "exit code 3: out of order")
                self.assertIsNone(row["times_rondo"])
        self.assertIn("out of order", done.stdout)

    def test_what_a_peer_measured_before_it_was_stopped_counts(self):
        text = json.dumps({"seconds": [7, 9], "losses": [1, 0.5]})
        python = self.python(f"while [ $1 != --json ]; do shift; done; echo '{text}' > $2; sleep 60")
        begin = time.monotonic()
        done, rows = self.report("--programs", "rondo", "jax", "--timeout", "2", "--python", python)
        self.assertLess(time.monotonic() - begin, 30)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(rows["jax"]["runs"][0]["error"], "stopped after 2 s")
        self.assertEqual(rows["jax"]["seconds_mean"], 8)
        self.assertEqual(rows["jax"]["times_rondo"], 8 / rows["rondo"]["seconds_mean"])

    def test_each_precision_is_asked_of_each_program(self):
        tf32 = [BUILD / "rondo", "train", "mlp", "--layers", "1", "--width", "8", "--batch", "8",
                "--precision", "tf32"]
        refused = subprocess.run(tf32, capture_output=True, text=True).stderr
        if "needs compute capability" in refused:
            self.skipTest(refused)
        # Writes the precision that it was asked for and the variable as its outcome.
        python = self.python(
            'for word; do case $option in --json) output=$word;; --precision) precision=$word;; esac; '
            'option=$word; done\n'
            'echo "{\\"seconds\\": [3], \\"losses\\": [1], '
            '\\"asked\\": \\"$precision $NVIDIA_TF32_OVERRIDE\\","'
            ' "\\"rounding\\": {\\"measured\\": '
            '{\\"matrices\\": \\"fp32\\", \\"convolutions\\": \\"fp32\\"}}}" > $output')
        with unittest.mock.patch.dict(os.environ, NVIDIA_TF32_OVERRIDE="0"):
            done, rows = self.list_report("--programs", "rondo", "jax", "--python", python,
                                          "--precision", *recipes.PRECISIONS)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual([(row["precision"], row["program"], row["checkpoint_layers"]) for row in rows],
                         [(precision, program, layers) for precision in ("fp32", "tf32", "bf16")
                          for program in ("rondo", "jax") for layers in (0, 10)])
        self.assertEqual([row["runs"][0]["asked"] for row in rows if row["program"] == "jax"],
                         ["fp32 0", "fp32 0", "tf32 ", "tf32 ", "bf16 ", "bf16 "])
        rondo = {row["precision"]: row for row in rows
                 if row["program"] == "rondo" and not row["checkpoint_layers"]}
        self.assertEqual(len({row["train_loss"] for row in rondo.values()}), 3)  # rounded in three ways
        for row in rows:
            if row["program"] == "jax" and not row["checkpoint_layers"]:
                self.assertEqual(row["times_rondo"], 3 / rondo[row["precision"]]["seconds_mean"])
        self.assertIn("tf32 (fp32)", done.stdout)

    def test_frameworks_as_they_come_are_beside_the_precision_of_their_products(self):
        # Measured as on a GPU: JAX has all products in TF32, PyTorch only convolutions.
        python = self.python(
            'case "$2" in *jax*) matrices=tf32;; *) matrices=fp32;; esac\n'
            'for word; do\n'
            '  case $option in --json) output=$word;; --precision) precision=$word;; esac; option=$word\n'
            'done\n'
            'echo "{\\"seconds\\": [3], \\"losses\\": [1],"'
            ' "\\"asked\\": \\"$precision $NVIDIA_TF32_OVERRIDE\\","'
            ' "\\"rounding\\": {\\"measured\\": {\\"matrices\\": \\"$matrices\\","'
            ' "\\"convolutions\\": \\"tf32\\"}}}" > $output')
        with unittest.mock.patch.dict(os.environ, NVIDIA_TF32_OVERRIDE="0"):
            done, rows = self.list_report("--programs", "rondo", "jax", "eager", "--python", python,
                                          "--device", "cuda", "--precision", "default", "fp32")
        if "needs compute capability" in done.stdout:
            self.skipTest(done.stdout)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        rows = [row for row in rows if not row["checkpoint_layers"]]
        default = [row for row in rows if row["precision"] == "default"]
        self.assertEqual([(row["program"], row.get("rondo_precision")) for row in default],
                         [("rondo", "fp32"), ("rondo", "tf32"), ("eager", None), ("jax", None)])
        in_fp32, in_tf32, eager, jax = default
        self.assertNotEqual(in_fp32["train_loss"], in_tf32["train_loss"])  # rounded in two ways
        self.assertEqual(eager["runs"][0]["asked"], "default ")
        self.assertEqual(eager["times_rondo"], 3 / in_fp32["seconds_mean"])
        self.assertEqual(jax["times_rondo"], 3 / in_tf32["seconds_mean"])
        self.assertEqual([table.precision(row) for row in default],
                         ["default (fp32)", "default (tf32)", "default (matrices fp32, convolutions tf32)",
                          "default (tf32)"])
        for row in rows:  # "default" leaves the other rows alone
            if row["precision"] == "fp32" and row["program"] == "rondo":
                self.assertEqual(row["rondo_precision"], "fp32")
                self.assertEqual(row["train_loss"], in_fp32["train_loss"])
                self.assertEqual(row["times_rondo"], 1)

    def test_who_is_ended_ends_the_run_in_progress(self):
        begun = self.folder / "begun"
        program = self.program(f"echo $$ > {begun}.part; mv {begun}.part {begun}; exec sleep 600")
        process = subprocess.Popen([sys.executable, COMMAND, program, *SMALL_MLP, "--programs", "rondo"],
                                   stdout=subprocess.DEVNULL)
        while not begun.exists():
            time.sleep(0.01)
        state = Path("/proc", begun.read_text().strip(), "stat")
        self.assertTrue(state.exists())
        process.terminate()
        self.assertEqual(process.wait(), 128 + signal.SIGTERM)

        def runs():  # not if it has ended and nobody has asked for its exit code
            try:
                return state.read_text().rpartition(")")[2].split()[0] != "Z"
            except (FileNotFoundError, ProcessLookupError):
                return False

        latest = time.monotonic() + 60
        while runs() and time.monotonic() < latest:
            time.sleep(0.05)
        self.assertFalse(runs())

    def test_a_rondo_that_fails_fails(self):
        output = self.folder / "report.json"
        done = self.run_command(self.program("echo no device; exit 1\n"), *SMALL_MLP,
                                "--programs", "rondo", "--json", output)
        self.assertEqual(done.returncode, 1)
        (row, _) = json.loads(output.read_text())["networks"]["mlp"]
        self.assertEqual(row["runs"][0]["error"], "exit code 1: no device")

    def test_without_time_nothing_is_started(self):
        done, rows = self.report("--programs", "rondo", "--minutes", "0.001")
        self.assertEqual(done.returncode, 1)
        self.assertEqual(rows["rondo"]["runs"][0]["error"], "no time was left")

    def test_bad_arguments(self):
        for arguments, named in (([self.folder / "absent"], "absent"), ([COMMAND, "--batch", "0"], "0"),
                                 ([COMMAND, "--lr", "nan"], "nan"),
                                 ([COMMAND, "--timeout", "0"], "--timeout"),
                                 ([COMMAND, "--rounds", "0"], "--rounds"),
                                 ([COMMAND, "--networks", "vgg"], "vgg"),
                                 ([COMMAND, "--precision", "fp32", "tf32x3"], "tf32x3")):
            done = self.run_command(*arguments)
            self.assertEqual(done.returncode, 2, done.stdout)
            self.assertIn(named, done.stderr)

    @unittest.skipUnless(Path(recipes.DATA).is_dir(), "Fashion-MNIST is not installed")
    def test_rondo_on_images(self):
        output = self.folder / "report.json"
        done = self.run_command(BUILD / "rondo", "--networks", "lenet", "resnet18", "--programs", "rondo",
                                "--limit", "8", "--batch", "4", "--epochs", "2", "--json", output)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        for (row,), parameters in zip(json.loads(output.read_text())["networks"].values(),
                                      (129068, 11175818)):
            (run,) = row["runs"]
            self.assertEqual(run["parameters"], parameters)
            self.assertEqual([epoch["epoch"] for epoch in run["epochs"]], [1, 2])
            self.assertGreater(run["peak_bytes"], 4 * 2 * parameters)


class SameStepTest(InTemporaryFolder):
    def run_without_data(self, *arguments):
        absent = str(self.folder / "absent")
        return subprocess.run([sys.executable, ROOT / "bench/frameworks/same_step", "/bin/false",
                               "--networks", "lenet", "resnet18", *arguments], capture_output=True, text=True,
                              env={**os.environ, "RONDO_DATA": absent}), absent

    def test_without_a_data_set_nothing_is_compared(self):
        done, absent = self.run_without_data()
        self.assertEqual(done.returncode, 3, done.stderr)  # ctest: skipped
        for network in ("lenet", "resnet18"):
            self.assertIn(f"{network}: nothing is compared, {absent} does not exist\n", done.stdout)

    def test_a_folder_that_is_asked_for_must_be_there(self):
        done, _ = self.run_without_data("--data", "/nowhere")
        self.assertEqual(done.returncode, 2, done.stdout)
        self.assertIn("--data is '/nowhere', must be a folder", done.stderr)


class LaunchTest(InTemporaryFolder):
    def test_a_framework_that_nobody_has(self):
        launch.MODULES["nothing"] = "no_such_module"
        self.addCleanup(launch.MODULES.pop, "nothing")
        python, why = launch.find_python("nothing", [str(self.folder / "absent")])
        self.assertIsNone(python)
        self.assertIn("No module named 'no_such_module'", why)
        self.assertIn("absent", why)

    def test_a_stopped_process_takes_its_children_along(self):
        mark = self.folder / "went_on"
        _, why = launch.run(["sh", "-c", f"(sleep 3; touch {mark}) & sleep 60"], 1, None)
        self.assertEqual(why, "stopped after 1 s")
        time.sleep(3)
        self.assertFalse(mark.exists())

    def test_a_child_with_a_session_of_its_own_is_not_waited_for(self):
        for end, wanted in (("exit 0", None), ("sleep 60", "stopped after 2 s")):
            begin = time.monotonic()
            output, why = launch.run(["sh", "-c", f"echo told; setsid sleep 20 & {end}"], 2, None)
            self.assertLess(time.monotonic() - begin, 10)
            self.assertEqual((output, why), ("told\n", wanted))

    def test_frameworks_are_imported_from_where_they_were_found(self):
        (self.folder / "some_framework.py").write_text("")
        with unittest.mock.patch.dict(os.environ, PYTHONPATH=str(self.folder)):
            environment = launch.environment(1)
        self.assertEqual(launch.run([sys.executable, "-c", "import peers, some_framework"], 20, environment),
                         ("", None))


class MemoryTest(unittest.TestCase):
    def test_the_most_beyond_what_was_before(self):
        values = [100, 150, 400, 300]
        with memory.Watch(lambda: values.pop(0) if len(values) > 1 else values[0]) as watch:
            while len(values) > 1:
                time.sleep(0.01)
        self.assertEqual(watch.most_bytes, 300)

    def test_a_driver_that_fails(self):
        def fail():
            raise OSError("NVML's error 15")
        with memory.Watch(fail) as watch:
            pass
        self.assertIsNone(watch.most_bytes)


class OutcomeTest(InTemporaryFolder):
    def test_the_first_epoch_is_told_apart(self):
        epochs = [{"seconds": s, "train_loss": 1, "test_accuracy": a}
                  for s, a in ((9, 0.1), (2, 0.5), (3, 0.6), (7, 0.8))]
        found = outcome.with_summary({"epochs": epochs})
        self.assertEqual((found["first_seconds"], found["seconds_median"], found["test_accuracy"]),
                         (9, 3, 0.8))

    def test_the_deviation_is_that_of_the_steps_themselves(self):
        found = outcome.with_summary({"seconds": [1, 3], "losses": [5, 4]})
        self.assertEqual((found["seconds_mean"], found["seconds_deviation"], found["train_loss"]), (2, 1, 4))

    def test_what_contradicts_the_precision_is_refused(self):
        nan = float("nan")
        errors = {0: "fp32", 1e-6: "fp32", 2e-4: "tf32", 9e-4: "tf32", 1.5e-3: "bf16", 7e-3: "bf16",
                  2e-2: None, nan: None}
        allowed = {"fp32": ("fp32",), "tf32": ("fp32", "tf32"), "bf16": ("bf16",),
                   "default": ("fp32", "tf32", "bf16")}
        for precision in recipes.PEER_PRECISIONS:
            for matrices, first in errors.items():
                for convolutions, second in errors.items():
                    if {first, second} <= set(allowed[precision]):
                        self.assertEqual(outcome.check_rounding(precision, matrices, convolutions), {
                            "matrices": matrices, "convolutions": convolutions,
                            "measured": {"matrices": first, "convolutions": second}})
                    else:
                        wanted = "in any known precision" if precision == "default" else precision
                        with self.assertRaisesRegex(SystemExit, f"products are not {wanted}"):
                            outcome.check_rounding(precision, matrices, convolutions)

    def test_the_table_shows_a_precision_that_was_not_reached(self):
        for matrices, convolutions, text in (("tf32", "tf32", "tf32"), ("fp32", "fp32", "tf32 (fp32)"),
                                             ("tf32", "fp32", "tf32 (convolutions fp32)")):
            row = {"precision": "tf32", "runs": [{}, {"rounding": {"measured": {
                "matrices": matrices, "convolutions": convolutions}}}]}
            self.assertEqual(table.precision(row), text)

    def test_a_framework_as_it_comes_is_compared_by_its_most_products(self):
        def row(program, seconds, **more):
            return {"program": program, "precision": "default", "products": "convolutions",
                    "checkpoint_layers": 0, "runs": [{"seconds_median": seconds, **more}]}
        measured = {"measured": {"matrices": "fp32", "convolutions": "tf32"}}
        rows = [{**row("rondo", 2.0), "rondo_precision": "fp32"},
                {**row("rondo", 1.0), "rondo_precision": "tf32"},
                row("eager", 4.0, rounding=measured), row("jax", 4.0)]
        table.summarise(rows)
        # JAX's precision is not known.
        self.assertEqual([row["times_rondo"] for row in rows], [1, 1, 4, None])
        rows[2]["products"] = "matrices"
        table.summarise(rows)
        self.assertEqual(rows[2]["times_rondo"], 2)
        del rows[0]  # Rondo in the precision of the peer
        table.summarise(rows)
        self.assertIsNone(rows[1]["times_rondo"])

    def test_rondo_has_the_precision_of_the_peers_products(self):
        for network, on_gpu in (("lenet", ("tf32",)), ("resnet18", ("tf32",)), ("mlp", ("fp32", "tf32"))):
            self.assertEqual(recipes.rondo_precisions(network, "default", "cuda"), on_gpu)
            self.assertEqual(recipes.rondo_precisions(network, "default", "cpu"), ("fp32",))
            for precision in recipes.PRECISIONS:
                self.assertEqual(recipes.rondo_precisions(network, precision, "cuda"), (precision,))

    def test_what_rondo_prints(self):
        self.assertEqual(rondo_peer.bytes_of_a_replica("memory    1.5 GiB a replica\n"), 3 * 2**29)
        self.assertEqual(rondo_peer.parameters("model     LeNet, 129,068 parameters\n"), 129068)
        self.assertEqual(rondo_peer.device("devices   [cpu:0] CPU executor\n"), "CPU executor")

    def test_tensors_come_back(self):
        path = self.folder / "tensors"
        tensors.write_tensors(path, {"a": ([2], b"\0\0\x80?\0\0\0@"), "b": ([], b"\0\0\0\0")},
                              {"losses": [1.5]})
        found, about = tensors.read_tensors(path)
        self.assertEqual(list(tensors.floats(found["a"][1])), [1, 2])
        self.assertEqual((found["b"][0], about), ([], {"losses": "[1.5]"}))

    @unittest.skipUnless(Path(recipes.DATA).is_dir(), "Fashion-MNIST is not installed")
    def test_images(self):
        images, labels = data.read_images(recipes.DATA, "t10k")
        self.assertEqual((len(images), len(labels)), (recipes.TEST_IMAGES * 28 * 28, recipes.TEST_IMAGES))
        self.assertEqual(set(labels), set(range(recipes.CLASSES)))


class Untouched:
    """Settings that must not be written."""

    def __setattr__(self, name, value):
        raise AssertionError(f"{name} is set to {value}")


class SettingsTest(unittest.TestCase):
    """The settings that the peers' programs make, with a fake module for each framework."""

    def peer(self, framework, *modules):
        fake = unittest.mock.MagicMock()
        found = {framework: fake, **{f"{framework}.{name}": getattr(fake, name) for name in modules}}
        patch = unittest.mock.patch.dict(sys.modules, found)
        patch.start()
        self.addCleanup(patch.stop)  # also forgets the program that has imported the fake
        return fake

    def test_pytorch(self):
        torch = self.peer("torch", "nn", "utils", "utils.checkpoint")
        peer = importlib.import_module("peers.pytorch_peer")
        for precision in recipes.PRECISIONS:
            torch.backends = unittest.mock.MagicMock()
            errors = [2e-3 * (precision == "bf16")] * 2
            with unittest.mock.patch.object(peer, "rounding_errors", return_value=errors):
                peer.set_up(unittest.mock.MagicMock(), 2, precision)
            self.assertIs(torch.backends.cudnn.benchmark, True)
            for settings in (torch.backends.cudnn, torch.backends.cuda.matmul):
                self.assertIs(settings.allow_tf32, precision == "tf32")
            self.assertIs(torch.autocast.call_args.kwargs["enabled"], precision == "bf16")
        torch.reset_mock()
        torch.backends = types.SimpleNamespace(cudnn=Untouched(),
                                               cuda=types.SimpleNamespace(matmul=Untouched()))
        with unittest.mock.patch.object(peer, "rounding_errors", return_value=(1e-6, 4e-4)):
            rounding = peer.set_up(unittest.mock.MagicMock(), 2, "default")
        self.assertEqual(rounding["measured"], {"matrices": "fp32", "convolutions": "tf32"})
        self.assertIs(torch.autocast.call_args.kwargs["enabled"], False)
        torch.set_float32_matmul_precision.assert_not_called()

    def test_jax(self):
        jax = self.peer("jax", "numpy", "lax")
        peer = importlib.import_module("peers.jax_peer")
        for precision, wanted in (("fp32", ["highest"]), ("tf32", ["tensorfloat32"]), ("bf16", [None]),
                                  ("default", [])):
            jax.reset_mock()
            peer.choose_device("cpu", precision)
            self.assertEqual([call.args[1] for call in jax.config.update.call_args_list
                              if call.args[0] == "jax_default_matmul_precision"], wanted)

    def test_warming_computes_with_the_framework_on_the_device(self):
        self.peer("torch", "nn", "utils", "utils.checkpoint")
        self.peer("jax", "numpy", "lax")
        for framework, called in (("pytorch", "set_up"), ("jax", "check_rounding")):
            peer = importlib.import_module(f"peers.{framework}_peer")
            with unittest.mock.patch.object(peer, called) as computes:
                importlib.import_module("peers.warm").main(framework, "cuda")
            computes.assert_called_once()
        sys.modules["jax"].config.update.assert_any_call("jax_platforms", "cuda")
        sys.modules["torch"].device.assert_called_once_with("cuda")


if __name__ == "__main__":
    side_by_side.main(BUILD)
