"""Trains a network with PyTorch, in its own process.

Forms: eager; graph: the whole step captured as one CUDA graph; compiled: by torch.compile, and on a GPU also
captured as a graph. The data are on the device as bytes, batches are gathered there, and the host does not
wait within an epoch.
"""

import copy
import time

import torch
from torch.nn import functional

from . import data, outcome, pytorch_networks, recipes
from .arguments import parse_training

EVALUATED_AT_ONCE = 1000


def main():
    arguments, recipe = parse_training(__doc__.splitlines()[0], ("eager", "graph", "compiled"))
    device = torch.device(arguments.device)
    rounding = set_up(device, arguments.cores, recipe.precision, recipe.seed)
    found = outcome.Outcome(
        arguments.json, framework="pytorch", form=arguments.form, version=torch.__version__,
        device=torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu",
        rounding=rounding)
    if recipe.network == "mlp":
        time_steps(recipe, device, arguments, found)
    else:
        learn_images(recipe, device, arguments, found)


def set_up(device, cores, precision, seed=0):
    """Selects the fastest settings with this precision; returns the measured rounding errors. With "default"
    PyTorch's own settings stay."""
    torch.set_num_threads(cores)
    torch.manual_seed(seed)
    if precision != recipes.AS_IT_COMES:
        torch.backends.cudnn.benchmark = True
        torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
        torch.backends.cudnn.allow_tf32 = precision == "tf32"
    with torch.no_grad(), autocast(device, precision):
        return outcome.check_rounding(precision, *rounding_errors(device))


def autocast(device, precision):
    """The context of a forward pass and its loss: mixed precision if bf16 is asked for. The backward pass
    uses the same types outside of it. bfloat16 has the range of float32, so losses need no scaling."""
    return torch.autocast(device.type, dtype=torch.bfloat16, enabled=precision == "bf16")


def rounding_errors(device):
    """The errors of a product with the identity, as matrices and as a convolution."""
    x = torch.randn(512, 512, device=device)
    one = torch.eye(512, device=device)
    matrix_error = ((x @ one - x).abs().max() / x.abs().max()).item()
    images = torch.randn(16, 64, 28, 28, device=device)
    filters = torch.zeros(64, 64, 3, 3, device=device)
    filters[:, :, 1, 1] = torch.eye(64, device=device)
    same = functional.conv2d(images, filters, padding=1)
    return matrix_error, ((same - images).abs().max() / images.abs().max()).item()


def make_optimizer(recipe, network):
    """PyTorch's fastest optimizer: the fused one, with one kernel for all tensors, if it is available."""
    kind = torch.optim.Adam if recipe.network == "mlp" else torch.optim.SGD
    parameters = list(network.parameters())
    try:
        optimizer = kind(parameters, lr=recipe.learning_rate, fused=True)
        # Some versions reject fused SGD only in the first step. A step with gradients of 0 changes nothing.
        if kind is torch.optim.SGD:
            for parameter in parameters:
                parameter.grad = torch.zeros_like(parameter)
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        return optimizer
    except (TypeError, RuntimeError):
        return kind(parameters, lr=recipe.learning_rate)


def wait(device):
    if device.type == "cuda":
        torch.cuda.synchronize()


def reset_peak(device):
    """Excludes the memory of trial steps and of algorithm selection from the peak."""
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats()


def peak_bytes(device):
    return torch.cuda.max_memory_allocated() if device.type == "cuda" else None


class Images:
    """A split of the data set on the device."""

    def __init__(self, folder, split, count, device):
        pixels, labels = data.read_images(folder, split)
        self.pixels = torch.frombuffer(pixels, dtype=torch.uint8).view(-1, 1, 28, 28)[:count].to(device)
        self.labels = torch.frombuffer(labels, dtype=torch.uint8)[:count].to(device).long()

    def batch(self, chosen):
        return self.pixels[chosen].float() / 255, self.labels[chosen]


class ImageTraining:
    def __init__(self, recipe, network, train, form, device):
        self.network = network
        self.precision = recipe.precision
        self.train = train
        self.optimizer = make_optimizer(recipe, network)
        self.total_loss = torch.zeros((), device=device)
        self.loss = torch.compile(self.plain_loss, dynamic=False) if form == "compiled" else self.plain_loss
        self.whole_step = self.step
        if device.type == "cuda" and form != "eager":
            self.whole_step = self.recorded(recipe.batch, device)

    def plain_loss(self, chosen):
        images, labels = self.train.batch(chosen)
        with autocast(images.device, self.precision):
            return functional.cross_entropy(self.network(images), labels)

    def step(self, chosen):
        self.optimizer.zero_grad(set_to_none=True)
        loss = self.loss(chosen)
        loss.backward()
        self.optimizer.step()
        self.total_loss += loss.detach() * len(chosen)

    def recorded(self, batch, device):
        """The step as a CUDA graph. Restores parameters and buffers after the warm-up of the capture."""
        chosen = torch.arange(batch, device=device)
        state = [*self.network.parameters(), *self.network.buffers()]
        before = [tensor.detach().clone() for tensor in state]
        aside = torch.cuda.Stream()
        aside.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(aside):
            for _ in range(3):
                self.step(chosen)
        torch.cuda.current_stream().wait_stream(aside)
        self.optimizer.zero_grad(set_to_none=True)  # places the gradients in the graph's memory
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self.step(chosen)
        with torch.no_grad():
            for tensor, old in zip(state, before):
                tensor.copy_(old)

        def replay(order):
            chosen.copy_(order)
            graph.replay()
        return replay

    def epoch(self, recipe, device):
        """(seconds, mean loss)"""
        self.network.train()
        wait(device)
        begin = time.perf_counter()
        self.total_loss.zero_()
        order = torch.randperm(recipe.images, device=device)
        for first in range(0, recipe.images, recipe.batch):
            chosen = order[first:first + recipe.batch]
            (self.whole_step if len(chosen) == recipe.batch else self.step)(chosen)
        mean_loss = self.total_loss.item() / recipe.images  # waits
        return time.perf_counter() - begin, mean_loss


@torch.no_grad()
def accuracy(network, test, precision):
    network.eval()
    correct = 0
    for first in range(0, len(test.labels), EVALUATED_AT_ONCE):
        images, labels = test.batch(slice(first, first + EVALUATED_AT_ONCE))
        with autocast(images.device, precision):
            correct += (network(images).argmax(1) == labels).sum()
    return correct.item() / len(test.labels)


def seconds_of_a_step(recipe, network, train, device):
    training = ImageTraining(recipe, network, train, "eager", device)
    chosen = torch.arange(recipe.batch, device=device)
    for steps in (3, 5):  # the first steps include tuning
        wait(device)
        begin = time.perf_counter()
        for _ in range(steps):
            training.step(chosen)
        wait(device)
    return time.perf_counter() - begin


def in_its_quicker_layout(network, seconds_of):
    """Converts the network to NCHW or NHWC, the one for which seconds_of(network) is less; also its name."""
    seconds = {}
    for layout in (torch.contiguous_format, torch.channels_last):
        seconds[layout] = seconds_of(copy.deepcopy(network).to(memory_format=layout))
    quicker = min(seconds, key=seconds.get)
    return network.to(memory_format=quicker), str(quicker).replace("torch.", "")


def learn_images(recipe, device, arguments, found):
    train = Images(arguments.data, "train", recipe.images, device)
    test = Images(arguments.data, "t10k", recipe.test_images, device)
    network, layout = in_its_quicker_layout(
        pytorch_networks.make(recipe).to(device),
        lambda trial: seconds_of_a_step(recipe, trial, train, device))
    found.write(layout=layout, parameters=sum(p.numel() for p in network.parameters()))
    training = ImageTraining(recipe, network, train, arguments.form, device)
    for epoch in range(recipe.epochs):
        if epoch == 1:
            reset_peak(device)
        seconds, loss = training.epoch(recipe, device)
        found.epoch(seconds, loss, accuracy(network, test, recipe.precision))
        found.write(peak_bytes=peak_bytes(device))


def mlp_loss(recipe, network, x, y):
    with autocast(x.device, recipe.precision):
        return functional.mse_loss(network(x), y, reduction="sum") / recipe.batch


def mlp_step(recipe, network, optimizer, x, y, loss_of=mlp_loss):
    """Runs one step; returns the loss per element before it."""
    optimizer.zero_grad(set_to_none=True)
    loss = loss_of(recipe, network, x, y)
    loss.backward()
    optimizer.step()
    return loss.detach() / recipe.outputs


def time_steps(recipe, device, arguments, found):
    network = pytorch_networks.make(recipe).to(device)
    found.write(parameters=sum(p.numel() for p in network.parameters()))
    optimizer = make_optimizer(recipe, network)
    x = torch.randn(recipe.batch, recipe.inputs, device=device)
    y = torch.randn(recipe.batch, recipe.outputs, device=device)
    loss_of = torch.compile(mlp_loss, dynamic=False) if arguments.form == "compiled" else mlp_loss

    seconds, losses = [], []
    for step in range(recipes.WARM_UP_STEPS + recipe.steps):
        if step == recipes.WARM_UP_STEPS:
            reset_peak(device)
        wait(device)
        begin = time.perf_counter()
        loss = mlp_step(recipe, network, optimizer, x, y, loss_of)
        wait(device)
        seconds.append(time.perf_counter() - begin)
        losses.append(loss.item())
        found.write(first_seconds=seconds[0], seconds=seconds[recipes.WARM_UP_STEPS:], losses=losses,
                    peak_bytes=peak_bytes(device))


if __name__ == "__main__":
    main()
