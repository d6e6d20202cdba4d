"""The peer torch of `rondo bench`: times an operator of PyTorch, eager, a call at a time.

Reads a question per line, and answers it in a line of JSON. "start" names the device, "begin" the work, and
"sample" asks for the times of some calls. A backward pass is torch.autograd.grad() of a forward pass that was
made before, so its time is that of the gradient alone.
"""

import json
import os
import sys
import time

answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
os.dup2(2, 1)  # what libraries print is no answer


class Refusal(Exception):
    pass


try:
    import torch
    from torch.nn import functional as F
except ImportError as error:
    torch = None
    IMPORT_ERROR = str(error)


class Maker:
    """Makes the calls of an operator, each with operands of its own."""

    def __init__(self, work, device):
        self.work, self.shape, self.device = work, work["shape"], device
        self.dtype = getattr(torch, work["type"])
        self.backward = work["pass"] in ("backward", "data_gradient", "filter_gradient", "unpool_backward")

    def normal(self, *sizes, dtype=None):
        return torch.randn(*sizes, device=self.device, dtype=dtype or self.dtype)

    def gradient(self, function, inputs):
        """The call of a gradient with respect to the inputs, for a gradient of the result in its layout."""
        for each in inputs:
            each.requires_grad_(True)
        y = function()
        dy = torch.randn_like(y)
        return lambda: torch.autograd.grad(y, inputs, dy, retain_graph=True)

    def passes(self, function, *inputs):
        return self.gradient(function, inputs) if self.backward else function

    def images(self, channels):
        s = self.shape
        return self.normal(s["n"], channels, s["h"], s["w"]).contiguous(memory_format=torch.channels_last)

    def gemm(self):
        s, batch = self.shape, self.shape["batch"]

        def matrices(rows, cols, transposed):
            lead = (batch,) if batch > 1 else ()
            return self.normal(*lead, cols, rows).mT if transposed else self.normal(*lead, rows, cols)

        a = matrices(s["m"], s["k"], self.work["transpose_a"])
        b = matrices(s["k"], s["n"], self.work["transpose_b"])
        return lambda: torch.matmul(a, b)

    def conv(self):
        s = self.shape
        x = self.images(s["c"])
        w = self.normal(s["k"], s["c"] // s["groups"], s["r"], s["s"]).contiguous(
            memory_format=torch.channels_last)
        inputs = {"data_gradient": [x], "filter_gradient": [w]}.get(self.work["pass"], [])
        return self.passes(lambda: F.conv2d(x, w, None, s["stride"], s["pad"], s["dilation"], s["groups"]),
                           *inputs)

    def conv_transpose(self):
        s = self.shape
        x = self.images(s["c"])
        w = self.normal(s["c"], s["k"] // s["groups"], s["r"], s["s"])
        return lambda: F.conv_transpose2d(x, w, None, s["stride"], s["pad"], s["output_pad"], s["groups"],
                                          s["dilation"])

    def pool(self):
        s, kind = self.shape, self.work["kind"]
        if kind.startswith("adaptive"):
            x, size = self.images(s["c"]), (s["p"], s["q"])
            if kind == "adaptive_avg":
                return self.passes(lambda: F.adaptive_avg_pool2d(x, size), x)
            return self.passes(lambda: F.adaptive_max_pool2d(x, size, return_indices=True)[0], x)
        if s["pad"] > s["window"] // 2:
            raise Refusal(f"PyTorch pads pooling by at most half of the window, and pad is {s['pad']}")
        x = self.images(s["c"])
        window = (s["window"], s["stride"] or s["window"], s["pad"])
        if kind == "avg":
            return self.passes(lambda: F.avg_pool2d(x, *window), x)
        if kind == "max":
            return self.passes(lambda: F.max_pool2d(x, *window, s["dilation"]), x)
        if self.work["pass"] in ("forward", "backward"):
            return self.passes(lambda: F.max_pool2d(x, *window, s["dilation"], return_indices=True)[0], x)
        y, indices = F.max_pool2d(x, *window, s["dilation"], return_indices=True)
        if s["dilation"] != 1:
            raise Refusal("PyTorch's unpooling has no dilation")
        return self.passes(lambda: F.max_unpool2d(y, indices, *window, output_size=x.shape), y)

    def norm(self):
        s, kind = self.shape, self.work["kind"]
        x = self.images(s["c"]) if kind == "group" else self.normal(s["rows"], s.get("channels") or s["cols"])
        width = x.shape[1]
        gamma, beta = self.normal(width, dtype=torch.float32), self.normal(width, dtype=torch.float32)
        if kind != "batch":  # whose parameters are float32 in every type, as Rondo's are
            gamma, beta = gamma.to(self.dtype), beta.to(self.dtype)
        if kind == "batch":
            return self.passes(lambda: F.batch_norm(x, None, None, gamma, beta, training=True),
                               x, gamma, beta)
        if kind == "layer":
            return self.passes(lambda: F.layer_norm(x, (width,), gamma, beta), x, gamma, beta)
        if kind == "rms":
            return self.passes(lambda: F.rms_norm(x, (width,), gamma, 1e-5), x, gamma)
        return self.passes(lambda: F.group_norm(x, s["groups"], gamma, beta), x, gamma, beta)

    def loss(self):
        """The loss and its gradient, which Rondo computes in one call."""
        s = self.shape
        if self.work["kind"] == "binary":
            x = self.normal(s["rows"], s["cols"]).requires_grad_(True)
            targets = torch.rand_like(x)
            return lambda: torch.autograd.grad(
                F.binary_cross_entropy_with_logits(x, targets, reduction="sum"), x)
        x = self.normal(s["rows"], s["classes"]).requires_grad_(True)
        labels = torch.arange(s["rows"], device=self.device) % s["classes"]
        return lambda: torch.autograd.grad(F.cross_entropy(x, labels), x)

    def softmax(self):
        x = self.normal(self.shape["rows"], self.shape["cols"])
        function = F.log_softmax if self.work["kind"] == "log_softmax" else F.softmax
        return self.passes(lambda: function(x, dim=1), x)

    def layout(self):
        s, kind = self.shape, self.work["kind"]
        if kind == "transpose":
            x = self.normal(s["batch"], s["rows"], s["cols"])
            return lambda: x.transpose(1, 2).contiguous()
        if kind == "nchw_to_nhwc":
            x = self.normal(s["n"], s["c"], s["h"], s["w"])
            return lambda: x.permute(0, 2, 3, 1).contiguous()
        x = self.normal(s["n"], s["h"], s["w"], s["c"])
        return lambda: x.permute(0, 3, 1, 2).contiguous()

    def reduce(self):
        x, kind = self.normal(self.shape["rows"], self.shape["cols"]), self.work["kind"]
        if kind == "bias_gradient":
            return lambda: x.sum(0, dtype=torch.float32)
        dim = 1 if kind.endswith("_rows") else 0
        reductions = {"sum": lambda: x.sum(dim, dtype=torch.float32), "max": lambda: x.amax(dim),
                      "l2_norm": lambda: torch.linalg.vector_norm(x, dim=dim, dtype=torch.float32),
                      "argmax": lambda: x.argmax(dim)}
        for name, function in reductions.items():
            if kind.startswith(name + "_"):
                return function
        return lambda: (x.sum(0, dtype=torch.float32), (x * x).sum(0, dtype=torch.float32))

    def activation(self):
        x, kind = self.normal(self.shape["size"]), self.work["kind"]
        function = {"relu": F.relu, "sigmoid": torch.sigmoid, "gelu": F.gelu,
                    "gelu_tanh": lambda value: F.gelu(value, approximate="tanh")}[kind]
        return self.passes(lambda: function(x), x)

    def elementwise(self):
        kind = self.work["kind"]
        if kind == "add_bias":
            x, bias = self.normal(self.shape["rows"], self.shape["cols"]), self.normal(self.shape["cols"])
            return lambda: x + bias
        x = self.normal(self.shape["size"])
        if kind in ("sqrt", "log"):
            x = x.abs()
        unary = {"negate": torch.neg, "absolute": torch.abs, "square": torch.square, "sqrt": torch.sqrt,
                 "reciprocal": torch.reciprocal, "exp": torch.exp, "log": torch.log, "tanh": torch.tanh}
        if kind in unary:
            return lambda: unary[kind](x)
        function = {"add": torch.add, "subtract": torch.sub, "multiply": torch.mul, "divide": torch.div,
                    "minimum": torch.minimum, "maximum": torch.maximum}[kind]
        y = self.normal(self.shape["size"])
        return lambda: function(x, y)

    def optimizer(self):
        if self.dtype != torch.float32:
            raise Refusal("PyTorch has no optimizer with float32 parameters and gradients of 16 bits")
        parameter = self.normal(self.shape["size"]).requires_grad_(True)
        parameter.grad = self.normal(self.shape["size"])
        if self.work["kind"] == "adam":
            return torch.optim.Adam([parameter], lr=1e-3, fused=True).step
        return torch.optim.SGD([parameter], lr=1e-3, momentum=0.9, fused=True).step


def wait_for_threads():
    """Returns when the threads of OpenMP sleep: after a call they spin for some milliseconds, and would take
    the processors from Rondo, whose turn is next."""
    for _ in range(100):
        before = time.process_time()
        time.sleep(0.002)
        if time.process_time() - before < 0.0005:
            return


class Calls:
    """The calls of a work: calls[0] again and again, or all in turns."""

    def __init__(self, work, device):
        # tf32x3 has the accuracy of fp32, and is compared with it.
        torch.set_float32_matmul_precision("high" if work["math"] == "tf32" else "highest")
        torch.backends.cudnn.allow_tf32 = work["math"] == "tf32"
        torch.backends.cudnn.benchmark = True
        maker = Maker(work, device)
        self.is_cuda = device.type == "cuda"
        self.needs_gradient = maker.backward or work["operator"] == "loss"
        self.calls = [getattr(maker, work["operator"])() for _ in range(work["sets"])]
        self.next = 0
        for call in self.calls[:3]:
            self.run(call)

    def run(self, call):
        with torch.set_grad_enabled(self.needs_gradient):
            call()

    def next_call(self, cold):
        self.next += 1
        return self.calls[self.next % len(self.calls)] if cold else self.calls[0]

    def sample(self, cold, count):
        self.run(self.next_call(cold))
        if not self.is_cuda:
            seconds = []
            for _ in range(count):
                call = self.next_call(cold)
                begin = time.perf_counter()
                self.run(call)
                seconds.append(time.perf_counter() - begin)
            wait_for_threads()
            return seconds
        events = [torch.cuda.Event(enable_timing=True) for _ in range(count + 1)]
        self.run(self.next_call(cold))
        events[0].record()
        for event in events[1:]:
            self.run(self.next_call(cold))
            event.record()
        torch.cuda.synchronize()
        return [begin.elapsed_time(end) * 1e-3 for begin, end in zip(events, events[1:])]


def start(question):
    if torch is None:
        raise Refusal(f"PyTorch cannot be imported by {sys.executable}: {IMPORT_ERROR}; "
                      "--python PROGRAM names another Python")
    if question["device"] == "cuda" and not torch.cuda.is_available():
        raise Refusal("this PyTorch has no CUDA device")
    torch.set_num_threads(question["threads"])
    torch.manual_seed(1)
    return torch.device(question["device"])


def main():
    device = calls = None
    for line in sys.stdin:
        question = json.loads(line)
        try:
            answer = {}
            if question["do"] == "start":
                device = start(question)
                answer = {"name": f"PyTorch {torch.__version__}, eager"}
            elif question["do"] == "begin":
                calls = None  # frees their memory
                calls = Calls(question, device)
            else:
                answer = {"seconds": calls.sample(question["cold"], question["count"])}
        except (Refusal, RuntimeError, ValueError, NotImplementedError) as error:
            answer = {"error": str(error).splitlines()[0]}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


main()
