"""Looks at something again and again, as long as a scope lasts."""

import threading


class Watch:
    """Calls self.look() on a thread of its own, after each `seconds`; not at all unless `works`."""

    def __init__(self, seconds, works):
        self.seconds = seconds
        self.stop = threading.Event()
        self.thread = threading.Thread(target=self.follow) if works else None

    def follow(self):
        while not self.stop.wait(self.seconds):
            self.look()

    def __enter__(self):
        if self.thread:
            self.thread.start()
        return self

    def __exit__(self, *_):
        self.stop.set()
        if self.thread:
            self.thread.join()
