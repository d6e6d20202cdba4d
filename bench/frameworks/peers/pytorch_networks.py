"""The three networks in PyTorch. Parameters have Rondo's names (see rondo summary)."""

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from . import recipes


def make(recipe):
    """The network on the CPU, with the initial weights of the recipe."""
    network = bare(recipe)
    if recipe.network == "mlp":
        return network  # uniform up to 1 / sqrt(inputs), as in `rondo train mlp`
    for layer in network.modules():
        if isinstance(layer, (nn.Conv2d, nn.Linear)):
            nn.init.normal_(layer.weight, std=recipes.DEVIATION)
            nn.init.zeros_(layer.bias)
    return network


def bare(recipe):
    """The network with PyTorch's default initial weights."""
    return {"lenet": lenet, "resnet18": resnet18, "mlp": lambda: Mlp(recipe)}[recipe.network]()


def lenet():
    return nn.Sequential(
        nn.Conv2d(1, 20, 3), nn.ReLU(inplace=True), nn.AvgPool2d(2),
        nn.Conv2d(20, 50, 5), nn.ReLU(inplace=True), nn.AvgPool2d(2),
        nn.Flatten(), nn.Linear(800, 128), nn.ReLU(inplace=True), nn.Linear(128, recipes.CLASSES))


class Block(nn.Module):
    """A residual block. If the stride is not 1, the shortcut is a 1 x 1 convolution."""

    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(inputs, outputs, 3, stride, 1), nn.BatchNorm2d(outputs), nn.ReLU(inplace=True),
            nn.Conv2d(outputs, outputs, 3, 1, 1), nn.BatchNorm2d(outputs))
        self.shortcut = nn.Identity() if stride == 1 else nn.Conv2d(inputs, outputs, 1, stride)

    def forward(self, x):
        return torch.relu_(self.body(x) + self.shortcut(x))


def resnet18():
    layers = [nn.Conv2d(1, 64, 3, 1, 1), nn.BatchNorm2d(64), nn.ReLU(inplace=True)]
    channels = 64
    for outputs, stride in ((64, 1), (128, 2), (256, 2), (512, 2)):
        layers.append(nn.Sequential(Block(channels, outputs, stride), Block(outputs, outputs, 1)))
        channels = outputs
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, recipes.CLASSES))


class Mlp(nn.Sequential):
    def __init__(self, recipe):
        layers, inputs = [], recipe.inputs
        for _ in range(recipe.layers):
            layers += [nn.Linear(inputs, recipe.width), nn.ReLU(inplace=True)]
            inputs = recipe.width
        super().__init__(*layers, nn.Linear(inputs, recipe.outputs))
        self.kept_every = 2 * recipe.checkpoint_layers  # a layer is a Linear and a ReLU

    def forward(self, x):
        if not self.kept_every:
            return super().forward(x)
        layers = list(self)
        for first in range(0, len(layers), self.kept_every):
            x = checkpoint(nn.Sequential(*layers[first:first + self.kept_every]), x, use_reentrant=False,
                           preserve_rng_state=False)  # the layers use no random numbers
        return x
