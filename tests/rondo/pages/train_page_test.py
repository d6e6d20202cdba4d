"""Trains with `rondo train --html`, opens the page in headless Chromium, presses its keys, and compares what
it shows with what --log, --trace and --json of the same run wrote.

train_page_test.py RONDO. Exits with 77, which ctest counts as skipped, if Chromium is not installed.
"""
import csv
import json
import pathlib
import random
import re
import signal
import struct
import subprocess
import sys
import tempfile
import time

from browser import Browser, find_chromium

PHASES = ["load", "forward", "backward", "reduce", "update"]
TEXTS = "row => [...row.children].map(cell => cell.textContent)"
SHOWN = """({
  state: document.getElementById("state").textContent,
  tiles: Object.fromEntries([...document.querySelectorAll("#tiles div")].map(TEXTS)),
  numbers: [...document.querySelectorAll("#numbers tbody tr")].map(TEXTS),
  phases: [...document.querySelectorAll("#phases .bars span")].map(e => e.textContent),
  memory: [...document.querySelectorAll("#memory h3, #memory .bars span")].map(e => e.textContent),
  facts: [...document.querySelectorAll("#facts dd")].map(e => e.textContent),
  trace: !document.getElementById("trace").hidden,
  text: document.body.innerText,
})""".replace("TEXTS", TEXTS)
UNITS = {"µs": 1e-6, "ms": 1e-3, "s": 1, "byte": 1, "bytes": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}


def number_of(text):
    """Of "1.25 ms", "3.5 KiB" or "1:02"."""
    if ":" in text:
        value = 0
        for part in text.split(":"):
            value = 60 * value + int(part)
        return value
    number, unit = text.split()
    return float(number) * UNITS[unit]


def near(text, want, where):
    """Numbers have three digits, or two after the point."""
    got, unit = number_of(text), 1 if ":" in text else UNITS[text.split()[1]]
    assert abs(got - want) <= max(0.006 * abs(want), 0.0051 * unit), f"{where}: {text} instead of {want}"


def write_data(folder, train, test, classes=10):
    """Images of a class have a brightness of their own, so that there is something to learn."""
    draw = random.Random(1)
    for name, count in (("train", train), ("t10k", test)):
        labels = bytes(draw.randrange(classes) for _ in range(count))
        images = bytes(min(255, 20 * label + draw.randrange(20)) for label in labels for _ in range(784))
        (folder / f"{name}-images-idx3-ubyte").write_bytes(
            struct.pack(">4B3i", 0, 0, 8, 3, count, 28, 28) + images)
        (folder / f"{name}-labels-idx1-ubyte").write_bytes(
            struct.pack(">4B1i", 0, 0, 8, 1, count) + labels)


class Run:
    """A training and what it wrote. Its page is open until the next run."""

    def __init__(self, program, folder, browser, command, log=False, trace=False, results=False, code=0,
                 interrupt=False):
        self.paths = {name: folder / f"run.{name}" for name in ("html", "csv", "trace", "json")}
        self.folder = folder
        options = ["--html", self.paths["html"]]
        for wanted, option, name in ((log, "--log", "csv"), (trace, "--trace", "trace"),
                                     (results, "--json", "json")):
            options += [option, self.paths[name]] if wanted else []
        words = [program, "train", *command.split(), *options]
        if interrupt:
            process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
            while not process.stdout.readline().startswith("training"):
                pass
            time.sleep(0.5)
            process.send_signal(signal.SIGINT)
            self.said, got = process.communicate()[0], process.returncode
        else:
            done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            self.said, got = done.stdout + done.stderr, done.returncode
        assert got == code, f"{command}: exit code {got}\n{self.said}"
        self.page = browser.open(self.paths["html"])
        self.shown = self.page.value(SHOWN)
        text = self.paths["html"].read_text()
        script = re.search('<script type="application/json" id="data">(.*?)</script>', text, re.S)
        self.data = json.loads(script[1])

    def log(self):
        with open(self.paths["csv"]) as file:
            return [{name: float(value) for name, value in row.items()} for row in csv.DictReader(file)]

    def events(self, phase):
        document = json.loads(self.paths["trace"].read_text())
        return [e for e in document["traceEvents"] if e["ph"] == phase]

    def close(self):
        faults = self.page.faults
        assert not faults, faults

    def focus(self, selector):
        self.page.value(f"document.querySelector(`{selector}`).focus()")

    def reading(self, curve):
        return self.page.value(f"document.querySelector('#{curve} .curve').getAttribute('aria-valuetext')")

    def readings(self, curve):
        """The text of every point, by the keys."""
        self.focus(f"#{curve} .curve")
        self.page.press("End")
        last = self.reading(curve)
        self.page.press("Home")
        texts = [self.reading(curve)]
        while texts[-1] != last:
            self.page.press("ArrowRight")
            assert self.reading(curve) != texts[-1], f"{curve} stops at {texts[-1]}"
            texts.append(self.reading(curve))
        self.page.press("ArrowRight")
        assert self.reading(curve) == last
        if len(texts) > 1:
            self.page.press("ArrowLeft")
            assert self.reading(curve) == texts[-2]
        return texts

    def item(self):
        return self.page.value("document.getElementById('item').textContent")

    def view(self):
        shown = self.page.value("({...document.body.dataset})")
        return {name: float(value) for name, value in shown.items()}


def check_epochs(run):
    """The table, the tiles, the phases and the second curve are the log's."""
    epochs, shown = run.log(), run.shown
    assert len(shown["numbers"]) == len(epochs)
    for row, epoch in zip(shown["numbers"], epochs):
        accuracy = f"{100 * epoch['test_accuracy']:.2f} %"
        assert row[:3] == [f"{epoch['epoch']:.0f}", f"{epoch['train_loss']:.4f}", accuracy], row
        near(row[3], epoch["seconds"], row)
        for text, phase in zip(row[4:9], PHASES):
            near(text, epoch[f"{phase}_seconds"], f"{phase} of {row}")
        assert float(row[9]) == epoch["learning_rate"], row
    assert shown["tiles"]["training loss"] == f"{epochs[-1]['train_loss']:.4f}"
    assert shown["tiles"]["test accuracy"] == f"{100 * epochs[-1]['test_accuracy']:.2f} %"
    near(shown["tiles"]["training time"], sum(e["seconds"] for e in epochs), "training time")
    for i, phase in enumerate(PHASES):
        name, seconds, share = shown["phases"][3 * i:3 * i + 3]
        want = sum(e[f"{phase}_seconds"] for e in epochs)
        assert name == phase
        near(seconds, want, phase)
        whole = sum(e[f"{p}_seconds"] for e in epochs for p in PHASES)
        assert abs(float(share.split()[0]) - 100 * want / whole) <= 0.51, f"{phase}: {share}"
    assert run.readings("curve-2") == [
        f"epoch {e['epoch']:.0f}: test accuracy {100 * e['test_accuracy']:.2f} %" for e in epochs]


def check_losses(run, steps, samples, batch):
    """Every step is a point of the first curve, and the steps of an epoch have its mean."""
    epochs = {int(e["epoch"]): e["train_loss"] for e in run.log()}
    texts = run.readings("curve-1")
    assert len(texts) == len(run.data["losses"]) == steps * len(epochs), texts
    for number, (text, point) in enumerate(zip(texts, run.data["losses"]), 1):
        epoch = number / steps
        want = f"step {number} (epoch {float(f'{epoch:.2f}'):g}): loss {point['loss']:.4f}"
        if epoch in epochs:
            want += f"; mean of epoch {epoch:.0f}: {epochs[epoch]:.4f}"
        assert text == want, f"{text} instead of {want}"
    for epoch, mean in epochs.items():
        of_epoch = run.data["losses"][(epoch - 1) * steps:epoch * steps]
        batches = [batch] * (samples // batch) + [samples % batch] * (samples % batch > 0)
        assert [p["samples"] for p in of_epoch] == batches
        got = sum(p["loss"] * p["samples"] for p in of_epoch) / samples
        assert abs(got - mean) < 1e-9 * mean, f"epoch {epoch}: {got} instead of {mean}"


def check_memory(run, devices):
    parts = {part["name"]: part["bytes"] for part in run.data["memory"][0]["parts"]}
    whole = sum(parts.values())
    head, bars = run.shown["memory"][0], run.shown["memory"][1:]
    assert head.startswith(", ".join(devices) + ": "), head
    near(re.search(r": ([\d.]+ \w+) of", head)[1], whole, head)
    assert len(bars) == 3 * len(parts)
    for name, text in zip(bars[::3], bars[1::3]):
        near(text, parts[name], name)
    said = re.search(r"memory +([\d.]+ \w+) a replica", run.said)[1]
    near(said, whole, "the memory that the program printed")


def sentence_of(event, ranks, rows, first, transfers):
    return {"name": event["name"], "rank": ranks[event["pid"]], "row": rows[event["pid"], event["tid"]],
            "phase": event["args"]["phase"], "begin": (event["ts"] - first) * 1e-6,
            "takes": event["dur"] * 1e-6,
            "transfers": transfers.get((event["pid"], event["tid"], event["ts"]), 0)}


def check_item(text, want):
    match = re.fullmatch(r"(.*): (.*), (\w+), (\w+), begins after ([\d.]+ \S+), takes ([\d.]+ \S+?)"
                         r"(?:, (\d+) transfers?)?", text)
    assert match, text
    got = match.groups()
    assert got[:4] == (want["name"], want["rank"], want["row"], want["phase"]), f"{text} instead of {want}"
    near(got[4], want["begin"], text)
    near(got[5], want["takes"], text)
    assert int(got[6] or 0) == want["transfers"], f"{text} instead of {want}"


def check_timeline(run, steps):
    """Every item and transfer of the trace is in the timeline, and the keys reach it."""
    page, spans, tails = run.page, run.events("X"), run.events("s")
    ranks = {e["pid"]: e["args"]["name"] for e in run.events("M") if e["name"] == "process_name"}
    rows = {(e["pid"], e["tid"]): e["args"]["name"] for e in run.events("M") if e["name"] == "thread_name"}
    transfers = {}
    for end in tails + run.events("f"):
        key = end["pid"], end["tid"], end["ts"]
        transfers[key] = transfers.get(key, 0) + 1
    run.focus("#timeline")
    for step in steps:
        page.press(str(step))
        of_step = [e for e in spans if e["args"]["step"] == step]
        first = min(e["ts"] for e in of_step)
        keys = {(e["pid"], e["tid"], e["ts"]) for e in of_step}
        flows = sum((e["pid"], e["tid"], e["ts"]) in keys for e in tails)
        assert run.view()["step"] == step
        assert run.view()["arrows"] == flows, f"{run.view()['arrows']} arrows instead of {flows}"
        drawn = page.value("document.querySelectorAll('#timeline .transfer').length")
        assert drawn == (flows if flows <= 300 else 0), f"{drawn} arrows are drawn of {flows}"
        labels = page.value("[...document.querySelectorAll('#timeline .rank')].map(e => e.textContent)")
        assert labels == [ranks[rank] for rank in sorted({e["pid"] for e in of_step})], labels
        order = sorted({(e["pid"], e["tid"]) for e in of_step})
        page.press("ArrowRight")
        for number, row in enumerate(order):
            items = sorted((e for e in of_step if (e["pid"], e["tid"]) == row), key=lambda e: e["ts"])
            page.press("Home")
            for item in items if number < 2 or len(items) < 30 else items[:3]:
                check_item(run.item(), sentence_of(item, ranks, rows, first, transfers))
                page.press("ArrowRight")
            page.press("End")
            check_item(run.item(), sentence_of(items[-1], ranks, rows, first, transfers))
            page.press("ArrowDown")
        longest = page.value(f"[...document.querySelectorAll('#longest tbody tr')].map({TEXTS})")
        want = sorted(of_step, key=lambda e: -e["dur"])[:12]
        assert [row[0] for row in longest] == [e["name"] for e in want], longest
        for row, event in zip(longest, want):
            near(row[5], event["dur"] * 1e-6, row)
    return flows


def check_zoom(run):
    page = run.page
    page.press("Escape")
    page.press("0")
    whole = run.view()
    length = whole["to"] - whole["from"]
    for key, factor in (("+", 0.5), ("w", 0.25), ("-", 0.5), ("s", 1), ("=", 0.5)):
        page.press(key)
        view = run.view()
        assert abs(view["to"] - view["from"] - factor * length) < 0.02 * length, f"{key}: {view} of {whole}"
    before = run.view()
    page.press("d")
    assert run.view()["from"] > before["from"]
    page.press("a")
    assert abs(run.view()["from"] - before["from"]) < 0.02
    for button, wanted in (("zoom-in", 0.25), ("zoom-out", 0.5), ("whole", 1)):
        page.value(f"document.getElementById('{button}').click()")
        view = run.view()
        assert abs(view["to"] - view["from"] - wanted * length) < 0.02 * length, f"{button}: {view}"
    page.value("document.getElementById('arrows').click()")
    assert page.value("document.querySelectorAll('#timeline .transfer').length") == 0
    page.value("document.getElementById('arrows').click()")
    page.value("document.querySelector('#longest button').click()")
    longest = max(e["dur"] for e in run.events("X") if e["args"]["step"] == whole["step"])
    view = run.view()
    shown = view["to"] - view["from"]
    assert abs(shown - min(3 * longest, length)) < 0.02 * length, f"{view} for {longest} us"
    assert run.item().startswith(page.value("document.querySelector('#longest button').textContent") + ": ")
    assert page.value("document.activeElement.id") == "timeline"
    # The mouse: a drag pans, a click chooses.
    page.value("document.getElementById('timeline').scrollIntoView()")
    box = page.value("""(r => ({x: r.x, y: r.y, width: r.width}))(
        document.querySelector("#timeline svg").getBoundingClientRect())""")
    for key in ("0", "+", "+"):
        page.press(key)
    before = run.view()
    x, y = box["x"] + box["width"] / 2, box["y"] + 45
    page.mouse("mousePressed", x, y)
    page.mouse("mouseMoved", x - 60, y)
    page.mouse("mouseReleased", x - 60, y)
    assert run.view()["from"] > before["from"], "a drag to the left shows what is later"
    page.press("0")
    # What the mouse points at is in the tip, and a click chooses it. One of the points is within an item.
    for part in range(1, 40):
        page.mouse("mouseMoved", box["x"] + 62 + part * (box["width"] - 68) / 40, y, held=False)
        tip = page.value("(tip => tip.hidden ? '' : tip.textContent)(document.getElementById('tip'))")
        if tip:
            break
    assert tip, "no item has a tip"
    x = box["x"] + 62 + part * (box["width"] - 68) / 40
    page.mouse("mousePressed", x, y)
    page.mouse("mouseReleased", x, y)
    assert run.item() == tip, f"{run.item()} is chosen instead of {tip}"


def check_looks(run):
    """No width is too narrow, controls have names, dark mode and print change the colours, and print has no
    controls.
    """
    page = run.page
    for width in (380, 800, 1400):
        page.send("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1,
                  mobile=False)
        page.value("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        wide = page.value("document.documentElement.scrollWidth")
        assert wide <= width, f"the page is {wide} pixels wide in a window of {width}"
        for selector in ("#timeline svg", "#curve-1 svg"):
            box = page.value("(r => r && r.right)"
                             f"(document.querySelector('{selector}')?.getBoundingClientRect())")
            assert box is None or box <= width, f"{selector} ends at {box} in a window of {width}"
    unnamed = page.value("""[...document.querySelectorAll("button, input, [role=slider], [role=application],
        [role=region]")]
        .filter(e => !e.textContent.trim() && !e.getAttribute("aria-label") && !e.labels?.length)
        .map(e => e.outerHTML)""".replace("\n", " "))
    assert not unnamed, f"without a name: {unnamed}"
    colour = lambda: page.value("getComputedStyle(document.body).backgroundColor")
    light = colour()
    page.media(prefers_color_scheme="dark")
    assert colour() != light
    page.media("print", prefers_color_scheme="dark")
    assert colour() == "rgb(255, 255, 255)", "paper is white"
    assert page.value(
        "[...document.querySelectorAll('.screen')].every(e => getComputedStyle(e).display === 'none')")
    page.media()


def main():
    program = pathlib.Path(sys.argv[1]).resolve()
    chromium = find_chromium()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        write_data(folder, 70, 40)
        with Browser(chromium, folder) as browser:
            def train(command, **what):
                return Run(program, folder, browser, command, **what)

            lenet = f"lenet --data {folder} --weights kaiming --lr 0.05 "
            run = train(lenet + "--devices 2 --batch 16 --epochs 3 --algorithm ring", log=True, trace=True)
            assert run.shown["state"] == "Finished"
            check_epochs(run)
            check_losses(run, steps=5, samples=70, batch=16)
            check_memory(run, ["cpu:0", "cpu:1"])
            assert check_timeline(run, steps=(1, 3)) > 0
            check_zoom(run)
            check_looks(run)
            for fact in ("lenet, 129,068 parameters", "2 replicas, ring all-reduce", "16", "fp32", "0.05"):
                assert fact in run.shown["facts"], f"{fact} in {run.shown['facts']}"
            run.close()

            for options, parallelism in (
                ("--devices 3 --algorithm direct", "3 replicas, direct all-reduce"),
                ("--devices 0,0,1,1 --group 2", "4 in groups of 2, hierarchical all-reduce"),
                ("--devices 2 --device-count-invariant --micro-batches 2",
                 "8 sample blocks, direct all-reduce"),
                ("--devices 1", "1 replica")):
                run = train(lenet + "--batch 32 --epochs 1 " + options, log=True, trace=True)
                check_epochs(run)
                flows = check_timeline(run, steps=(2, ))
                assert (flows > 0) == (options != "--devices 1"), f"{options}: {flows} transfers"
                assert parallelism in run.shown["facts"], run.shown["facts"]
                run.close()

            run = train(f"lenet --data {folder} --batch 32 --epochs 2 --from-scratch", log=True)
            assert [row[1] for row in run.shown["numbers"]] == [f"{e['train_loss']:.4f}" for e in run.log()]
            for part in ("does not measure the phases", "does not compute its memory", "records no timeline"):
                assert part in run.shown["text"], part
            assert not run.shown["trace"]
            check_looks(run)
            run.close()

            run = train("mlp --layers 3 --width 24 --inputs 12 --batch 12 --steps 4 --devices 2 "
                        "--algorithm ring", trace=True, results=True)
            results = json.loads(run.paths["json"].read_text())
            losses = [f"{loss:.4f}" for loss in results["losses"]]
            assert [row[1] for row in run.shown["numbers"]] == losses
            assert [row[2] for row in run.shown["numbers"][:2]] == ["not timed"] * 2
            for row, seconds in zip(run.shown["numbers"][2:], results["seconds"]):
                near(row[2], seconds, row)
            near(run.shown["tiles"]["time of a step"], results["seconds_mean"], "time of a step")
            near(run.shown["tiles"]["memory at most"], results["peak_bytes"], "memory")
            assert run.readings("curve-1") == [f"step {i}: loss {loss}" for i, loss in enumerate(losses, 1)]
            assert check_timeline(run, steps=(1, )) > 0
            run.close()

            # A training that is stopped, and its continuation: the log has the earlier epochs.
            part = f"{lenet} --batch 2 --epochs 400 --devices 1 --save {folder}/part"
            run = train(part, log=True, code=128 + signal.SIGINT, interrupt=True)
            assert run.shown["state"] == "Stopped before its end", run.shown["state"]
            assert run.data["losses"], "no step is shown"
            run.close()
            state = int(re.search(r"stopped in epoch (\d+)", run.said)[1])
            run = train(part.replace("400", str(state + 1)) + f" --resume {folder}/part", log=True)
            assert run.shown["state"] == "Finished"
            epochs = [int(row[0]) for row in run.shown["numbers"]]
            assert epochs == list(range(1, state + 2)), run.shown["numbers"]
            assert run.data["losses"][-1]["step"] == 35 * (state + 1)
            assert run.shown["trace"], "a resumed training records its first steps"
            run.close()

            run = train(lenet.replace("0.05", "1000") + "--batch 16 --epochs 20", code=1)
            assert run.shown["state"].startswith("Failed: "), run.shown["state"]
            check_looks(run)
            run.close()


if __name__ == "__main__":
    main()
