"""Measures a process's GPU memory with the driver, which is the same measure for every framework."""

import ctypes

from . import watch

SECONDS_BETWEEN = 0.05


class NvmlMemory(ctypes.Structure):
    _fields_ = [("total", ctypes.c_ulonglong), ("free", ctypes.c_ulonglong), ("used", ctypes.c_ulonglong)]


class Driver:
    """GPU 0 through NVIDIA's management library (NVML). Raises OSError without one."""

    def __init__(self):
        self.library = ctypes.CDLL("libnvidia-ml.so.1")
        self.gpu = ctypes.c_void_p()
        self.check(self.library.nvmlInit_v2())
        self.check(self.library.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(self.gpu)))

    def used_bytes(self):
        memory = NvmlMemory()
        self.check(self.library.nvmlDeviceGetMemoryInfo(self.gpu, ctypes.byref(memory)))
        return memory.used

    @staticmethod
    def check(code):
        if code != 0:
            raise OSError(f"NVML's error {code}")


class Watch(watch.Watch):
    """most_bytes: maximum memory in use since the start, minus the memory in use before; None if unknown."""

    def __init__(self, used_bytes):
        super().__init__(SECONDS_BETWEEN, works=used_bytes)
        self.used_bytes = used_bytes
        self.most_bytes = None

    def follow(self):
        try:
            self.before = self.used_bytes()
            super().follow()
        except OSError:
            self.most_bytes = None

    def look(self):
        self.most_bytes = max(self.most_bytes or 0, self.used_bytes() - self.before)


def of_gpu():
    """The function that Watch calls; None without a driver."""
    try:
        return Driver().used_bytes
    except (OSError, AttributeError):
        return None
