"""Opens the page of `rondo schedule --html` in headless Chromium, presses its keys, and compares what it
shows with what `rondo schedule --json` writes and with sums computed here.

schedule_page_test.py RONDO. Exits with 77, which ctest counts as skipped, if Chromium is not installed.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

from browser import Browser, find_chromium

SHOWN = """({
  algorithm: document.body.dataset.algorithm, ranks: Number(document.body.dataset.ranks),
  step: Number(document.body.dataset.step), position: document.getElementById("position").textContent,
  phase: document.getElementById("phase").textContent, time: document.getElementById("time").textContent,
  said: document.getElementById("say").textContent, slider: document.getElementById("slider").value,
  values: [...document.querySelectorAll("#values tbody tr")].map(
    row => [...row.querySelectorAll("td")].map(cell => cell.textContent)),
  transfers: [...document.querySelectorAll("#transfers tbody tr")].map(
    row => [...row.children].map(cell => cell.textContent)),
  picture: [...document.querySelectorAll("#stage .arrow")].length,
  wide: document.body.scrollWidth > window.innerWidth,
})"""


def seconds_of(text):
    number, unit = text.split()
    return float(number) * {"µs": 1e-6, "ms": 1e-3, "s": 1}[unit]


class ScheduleTest:
    def __init__(self, program, folder, page):
        self.program, self.folder, self.page = program, folder, page

    def written(self, ranks, *options):
        path = self.folder / "steps.json"
        subprocess.run([self.program, "schedule", "--ranks", str(ranks), *options, "--json", path],
                       check=True, stdout=subprocess.DEVNULL)
        return json.loads(path.read_text())

    def states(self, schedule):
        """The values of all chunks before the first step and after each step."""
        values = [list(row) for row in schedule["inputs"]]
        yield values
        for step in schedule["steps"]:
            for change in step["changed"]:
                values[change["rank"]][change["chunk"]] = change["value"]
            yield values

    def check(self, schedule, step, values):
        shown = self.page.value(SHOWN)
        where = f"{schedule['algorithm']}, {schedule['ranks']} ranks, step {step}"
        total = len(schedule["steps"])
        assert (shown["algorithm"], shown["ranks"], shown["step"]) == (
            schedule["algorithm"], schedule["ranks"], step), f"{where}: {shown}"
        texts = [["empty" if chunk["bytes"] == 0 else str(value)
                  for value, chunk in zip(row, schedule["chunks"])] for row in values]
        assert shown["values"] == texts, f"{where}: {shown['values']} instead of {texts}"
        movements = schedule["steps"][step - 1]["movements"] if step else []
        wanted = [[str(m["from"]), str(m["to"]), f"{m['bytes']:,}", f"{m['total']:,}"] for m in movements]
        assert [row[:2] + row[3:] for row in shown["transfers"]] == wanted, f"{where}: {shown['transfers']}"
        assert shown["picture"] == len(movements), f"{where}: {shown['picture']} arrows"
        assert shown["slider"] == str(step), where
        assert not shown["wide"], f"{where}: the page is wider than the window"
        now, end = (seconds_of(text) for text in shown["time"].split(" of "))
        for got, want in ((now, schedule["steps"][step - 1]["end"] if step else 0),
                          (end, schedule["seconds"])):
            assert abs(got - want) <= 0.006 * want, f"{where}: {got} s instead of {want}"
        if step:
            assert shown["position"] == f"Step {step} of {total}", where
            assert shown["phase"] == schedule["steps"][step - 1]["phase"], where
            assert shown["said"], where

    def walk(self, schedule):
        """Every step forwards by the right arrow key, then back to the start."""
        last = None
        for step, values in enumerate(self.states(schedule)):
            if step:
                self.page.press("ArrowRight")
            self.check(schedule, step, values)
            last = values
        ranks = schedule["ranks"]
        base = 10 if ranks <= 10 else 100
        for row in last:
            for chunk, value in enumerate(row):
                if schedule["chunks"][chunk]["bytes"]:
                    wanted = sum(base * rank + chunk for rank in range(ranks))
                    assert value == wanted, f"chunk {chunk} ends as {value} instead of {wanted}"
        self.page.press("ArrowRight")  # there is nothing after the end
        assert self.page.value("document.body.dataset.step") == str(len(schedule["steps"]))
        self.page.press("ArrowLeft")
        assert self.page.value("document.body.dataset.step") == str(len(schedule["steps"]) - 1)
        self.page.press("End")
        assert self.page.value("document.body.dataset.step") == str(len(schedule["steps"]))
        self.page.press("Home")
        assert self.page.value("document.body.dataset.step") == "0"

    def walk_all(self, document):
        for number, schedule in enumerate(document["schedules"], 1):
            self.page.press(str(number))
            self.walk(schedule)

    def play(self):
        """Space plays to the end and stops there; Space pauses."""
        self.page.press("2")  # direct: two steps
        self.page.value("document.getElementById('speed').value = '4'")
        self.page.press(" ")
        assert self.page.value("document.getElementById('play').textContent") == "Pause"
        self.page.value("""new Promise(done => {
            const look = () => document.body.dataset.step === "2" &&
                document.getElementById("play").textContent === "Play" ? done() : setTimeout(look, 20);
            look();
        })""")
        self.page.press("1")
        self.page.press(" ")
        self.page.press(" ")
        assert self.page.value("document.getElementById('play').getAttribute('aria-pressed')") == "false"
        assert self.page.value("document.body.dataset.step") == "1"

    def controls(self):
        """The slider, the timeline and the buttons lead to the same steps."""
        self.page.press("1")
        self.page.value("""{const slider = document.getElementById("slider"); slider.value = 3;
            slider.dispatchEvent(new Event("input", {bubbles: true}));}""")
        assert self.page.value("document.body.dataset.step") == "3"
        for click, step in (("#timeline [data-go='2']", "2"), ("#next", "3"), ("#back", "2"), ("#first", "0"),
                            ("#last", self.page.value("document.getElementById('slider').max"))):
            self.page.value(f"document.querySelector(`{click}`).click()")
            assert self.page.value("document.body.dataset.step") == step, click
        unnamed = self.page.value("""[...document.querySelectorAll("button, input, select, [role=img], svg")]
            .filter(e => !e.textContent.trim() && !e.getAttribute("aria-label") && !e.labels?.length)
            .map(e => e.outerHTML)""")
        assert not unnamed, f"without a name: {unnamed}"

    def paper(self, schedule):
        """Print shows every step, and nothing that only a screen can use. Dark mode changes the paper's
        colour.
        """
        self.page.value("dispatchEvent(new Event('beforeprint'))")
        self.page.media("print")
        figures = self.page.value("document.querySelectorAll('#print figure svg').length")
        assert figures == len(schedule["steps"]) + 1, f"{figures} figures"
        assert self.page.value("getComputedStyle(document.querySelector('main')).display") == "none"
        self.page.media(prefers_color_scheme="dark")
        dark = self.page.value("getComputedStyle(document.body).backgroundColor")
        self.page.media(prefers_color_scheme="light")
        assert dark != self.page.value("getComputedStyle(document.body).backgroundColor")


def main():
    program = pathlib.Path(sys.argv[1]).resolve()
    chromium = find_chromium()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        with Browser(chromium, folder) as browser:
            for ranks, options in ((4, []), (2, ["--bytes", "20"]),
                                   (6, ["--bytes", "1000003", "--group", "2"]),
                                   (16, ["--alpha", "1,5", "--bandwidth", "100,10"])):
                path = folder / "page.html"
                subprocess.run([program, "schedule", "--ranks", str(ranks), *options, "--html", path],
                               check=True, stdout=subprocess.DEVNULL)
                page = browser.open(path)
                test = ScheduleTest(program, folder, page)
                document = test.written(ranks, *options)
                test.walk_all(document)
                if ranks == 4:
                    test.play()
                    test.controls()
                    page.press("1")
                    test.paper(document["schedules"][0])
                    for _ in range(3):
                        page.press("+")
                    page.press("-")
                    page.press("4")
                    test.walk(test.written(6)["schedules"][3])
                assert not page.faults, page.faults


if __name__ == "__main__":
    main()
