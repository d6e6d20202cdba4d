"""A headless Chromium, driven over pipes by the DevTools protocol; the standard library is all it needs.

    with Browser(find_chromium(), folder) as browser:
        page = browser.open(path)
        page.press("ArrowRight")
        page.value("document.title")

A page collects its faults: uncaught errors, console errors and warnings, and every request that is not for
its own file.
"""
import base64
import json
import os
import select
import shutil
import subprocess
import sys
import time


def find_chromium():
    """The program. Exits with 77, which ctest counts as skipped, if it is not installed."""
    for name in ("chromium", "chromium-browser", "google-chrome"):
        path = shutil.which(name)
        if path:
            return path
    print("skipped: Chromium is not installed (Debian: apt install chromium)")
    sys.exit(77)


class Browser:
    def __init__(self, program, folder, timeout=60):
        self._timeout = timeout
        to_read, self._write = os.pipe()
        self._read, to_write = os.pipe()
        # The protocol's pipes are the descriptors 3 and 4 of the browser.
        command = f'exec "$0" "$@" 3<&{to_read} 4>&{to_write}'
        options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe",
                   "--hide-scrollbars", "--disable-dev-shm-usage", "--no-first-run",
                   "--disable-background-networking", f"--user-data-dir={folder}/profile", "about:blank"]
        self._log = open(f"{folder}/chromium.log", "wb")
        self._process = subprocess.Popen(["bash", "-c", command, program, *options],
                                         pass_fds=(to_read, to_write), stdin=subprocess.DEVNULL,
                                         stdout=self._log, stderr=self._log)
        os.close(to_read)
        os.close(to_write)
        self._buffer = b""
        self._last = 0
        self.listeners = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self.send("Browser.close")
            self._process.wait(10)
        except (OSError, RuntimeError, subprocess.TimeoutExpired):
            self._process.kill()
            self._process.wait()
        os.close(self._write)
        os.close(self._read)
        self._log.close()

    def send(self, method, session=None, **parameters):
        """Returns the result of a command. Events that arrive meanwhile go to the listeners."""
        self._last += 1
        message = {"id": self._last, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        end = time.monotonic() + self._timeout
        while True:
            answer = self._receive(end)
            if answer.get("id") == self._last:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]

    def _receive(self, end):
        while b"\0" not in self._buffer:
            if not select.select([self._read], [], [], max(0, end - time.monotonic()))[0]:
                raise RuntimeError(f"no answer from Chromium after {self._timeout} s")
            data = os.read(self._read, 1 << 20)
            if not data:
                raise RuntimeError("Chromium has ended")
            self._buffer += data
        text, _, self._buffer = self._buffer.partition(b"\0")
        message = json.loads(text)
        if "method" in message:
            for listener in self.listeners:
                listener(message)
        return message

    def wait_for(self, happened):
        end = time.monotonic() + self._timeout
        while not happened():
            self._receive(end)

    def open(self, path, width=1400, height=1000):
        return Page(self, path, width, height)


class Page:
    KEYS = {" ": "Space", "+": "Equal", "-": "Minus"}

    def __init__(self, browser, path, width, height):
        self.faults = []
        self._browser = browser
        self._url = f"file://{os.path.abspath(path)}"
        self._loaded = False
        target = browser.send("Target.createTarget", url="about:blank")["targetId"]
        self._session = browser.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        browser.listeners.append(self._listen)
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
                  mobile=False)
        self.send("Page.navigate", url=self._url)
        browser.wait_for(lambda: self._loaded)

    def send(self, method, **parameters):
        return self._browser.send(method, self._session, **parameters)

    def _listen(self, message):
        if message.get("sessionId") != self._session:
            return
        method, details = message["method"], message["params"]
        if method == "Page.loadEventFired":
            self._loaded = True
        elif method == "Runtime.exceptionThrown":
            thrown = details["exceptionDetails"]
            self.faults.append(thrown.get("exception", {}).get("description", thrown["text"]))
        elif method == "Runtime.consoleAPICalled" and details["type"] in ("error", "warning", "assert"):
            self.faults.append(f"console: {details['args']}")
        elif method == "Log.entryAdded" and details["entry"]["level"] in ("error", "warning"):
            self.faults.append(details["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            url = details["request"]["url"]
            if url != self._url and not url.startswith("data:"):
                self.faults.append(f"a request for {url}")

    def value(self, expression):
        """The value of a JavaScript expression, by way of JSON."""
        result = self.send("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def press(self, key):
        details = {"key": key, "code": self.KEYS.get(key, key)}
        if len(key) == 1:
            details["text"] = key
        self.send("Input.dispatchKeyEvent", type="keyDown", **details)
        self.send("Input.dispatchKeyEvent", type="keyUp", key=key, code=details["code"])

    def mouse(self, kind, x, y, held=True):
        """mousePressed, mouseMoved (with the left button, or with none) or mouseReleased."""
        self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left" if held else "none",
                  buttons=int(held and kind != "mouseReleased"), clickCount=int(kind != "mouseMoved"))

    def media(self, media="", **features):
        self.send("Emulation.setEmulatedMedia", media=media,
                  features=[{"name": name.replace("_", "-"), "value": value}
                            for name, value in features.items()])

    def screenshot(self, path):
        data = self.send("Page.captureScreenshot", captureBeyondViewport=True)["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))

    def pdf(self, path):
        data = self.send("Page.printToPDF", printBackground=True)["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))
