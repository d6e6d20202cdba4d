"""As much of PyTorch as the peer of `rondo bench gemm` needs, for tests where PyTorch is not installed.

FAKE_TORCH_LOG names a file to which each product appends its operands' shapes.
"""

import os
import time
from types import SimpleNamespace

__version__ = "0.0.fake"
float32, bfloat16, float16 = "float32", "bfloat16", "float16"
backends = SimpleNamespace(cudnn=SimpleNamespace())
cuda = SimpleNamespace(is_available=lambda: False)
threads = precision = None


class Tensor:
    def __init__(self, sizes, dtype):
        self.sizes, self.dtype = sizes, dtype

    @property
    def mT(self):
        return Tensor((*self.sizes[:-2], self.sizes[-1], self.sizes[-2]), self.dtype)


def randn(*sizes, device, dtype):
    return Tensor(sizes, dtype)


def matmul(a, b):
    if a.sizes[-1] != b.sizes[-2]:
        raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({a.sizes} and {b.sizes})")
    if os.environ.get("FAKE_TORCH_LOG"):
        with open(os.environ["FAKE_TORCH_LOG"], "a", encoding="utf-8") as log:
            log.write(f"{a.sizes} {b.sizes} {a.dtype} {precision} {id(a)}\n")
    time.sleep(1e-3)


def device(name):
    return SimpleNamespace(type=name)


def set_num_threads(count):
    global threads
    threads = count


def manual_seed(seed):
    pass


def set_float32_matmul_precision(name):
    global precision
    precision = name


class set_grad_enabled:
    def __init__(self, enabled):
        pass

    def __enter__(self):
        pass

    def __exit__(self, *error):
        pass
