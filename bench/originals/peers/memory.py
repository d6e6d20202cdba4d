"""What a process takes of a GPU's memory, as the driver counts it: the same measure for every framework."""

import shutil
import subprocess
import threading

MILLISECONDS = 250


class Watch:
    """most_bytes: the most of GPU 0's memory that was in use while this watched, beyond what was before. None: unknown."""

    def __init__(self, device):
        self.most_bytes = None
        self.program = shutil.which("nvidia-smi") if device == "cuda" else None
        self.process = self.thread = None

    def __enter__(self):
        if not self.program:
            return self
        self.process = subprocess.Popen(
            [self.program, "-i", "0", "--query-gpu=memory.used", "--format=csv,noheader,nounits", f"-lms={MILLISECONDS}"],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        before = self.next()
        self.thread = threading.Thread(target=self.follow, args=(before,))
        self.thread.start()
        return self

    def next(self):
        """In bytes; None at the end, or for what is no number."""
        line = self.process.stdout.readline().strip()
        return int(line) * 2**20 if line.isdigit() else None

    def follow(self, before):
        while before is not None and (used := self.next()) is not None:
            self.most_bytes = max(self.most_bytes or 0, used - before)

    def __exit__(self, *_):
        if self.process:
            self.process.terminate()
            self.thread.join()
            self.process.wait()
