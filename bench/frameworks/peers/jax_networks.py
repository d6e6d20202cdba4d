"""The three networks in jax.numpy, as functions of their parameters.

Parameters are a dict with Rondo's names (see rondo summary): filters HWIO, linear weights [inputs, outputs].
Activations are NHWC. They have the type of the input, and the float32 parameters of convolutions and linear
layers are cast to it.
"""

import functools

import jax
import jax.numpy as jnp
from jax import lax

from . import recipes

ACTIVATIONS = {"fp32": jnp.float32, "tf32": jnp.float32, "bf16": jnp.bfloat16,
               recipes.AS_IT_COMES: jnp.float32}
EPSILON, MOMENTUM = 1e-5, 0.1  # of batch normalisation
# ResNet-18: name, channels, stride of the first block
STAGES = ((3, 64, 1), (4, 128, 2), (5, 256, 2), (6, 512, 2))


def shapes(recipe):
    """The shapes of all parameters, by name."""
    found = {}

    def layer(name, *weight):
        found[f"{name}.weight"], found[f"{name}.bias"] = weight, weight[-1:]

    if recipe.network == "lenet":
        layer(0, 3, 3, 1, 20), layer(3, 5, 5, 20, 50), layer(7, 800, 128), layer(9, 128, recipes.CLASSES)
    elif recipe.network == "mlp":
        inputs = recipe.inputs
        for number in range(recipe.layers):
            layer(2 * number, inputs, recipe.width)
            inputs = recipe.width
        layer(2 * recipe.layers, inputs, recipe.outputs)
    else:
        layer(0, 3, 3, 1, 64), layer(1, 64)
        channels = 64
        for stage, outputs, stride in STAGES:
            for block in (0, 1):
                name = f"{stage}.{block}"
                layer(f"{name}.body.0", 3, 3, channels, outputs), layer(f"{name}.body.1", outputs)
                layer(f"{name}.body.3", 3, 3, outputs, outputs), layer(f"{name}.body.4", outputs)
                if block == 0 and stride != 1:
                    layer(f"{name}.shortcut", 1, 1, channels, outputs)
                channels = outputs
        layer(9, 512, recipes.CLASSES)
    return found


def initial_parameters(recipe, key):
    parameters = {}
    for number, (name, shape) in enumerate(shapes(recipe).items()):
        layer_key = jax.random.fold_in(key, number)
        if recipe.network == "mlp":  # uniform up to 1 / sqrt(inputs), including biases
            inputs = shapes(recipe)[name.replace("bias", "weight")][0] if name.endswith("bias") else shape[0]
            bound = inputs ** -0.5
            parameters[name] = jax.random.uniform(layer_key, shape, minval=-bound, maxval=bound)
        elif len(shape) > 1:
            parameters[name] = recipes.DEVIATION * jax.random.normal(layer_key, shape)
        else:  # a scale of batch normalisation, or a bias
            parameters[name] = jnp.ones(shape) if name.endswith("weight") else jnp.zeros(shape)
    return parameters


def initial_statistics(recipe):
    """The running mean and variance of each batch normalisation."""
    statistics = {}
    for name, shape in shapes(recipe).items():
        if name.endswith(".weight") and len(shape) == 1:
            layer = name.removesuffix(".weight")
            statistics[f"{layer}.running_mean"], statistics[f"{layer}.running_var"] = (
                jnp.zeros(shape), jnp.ones(shape))
    return statistics


def convolution(p, name, x, stride=1, padding=0):
    weight, bias = (p[f"{name}.{part}"].astype(x.dtype) for part in ("weight", "bias"))
    return bias + lax.conv_general_dilated(x, weight, (stride, stride), [(padding, padding)] * 2,
                                           dimension_numbers=("NHWC", "HWIO", "NHWC"))


def linear(p, name, x):
    weight, bias = (p[f"{name}.{part}"].astype(x.dtype) for part in ("weight", "bias"))
    return x @ weight + bias


def average_of_2x2(x):
    n, height, width, channels = x.shape
    x = x[:, :height // 2 * 2, :width // 2 * 2]
    return x.reshape(n, height // 2, 2, width // 2, 2, channels).mean((2, 4))


def lenet(p, statistics, x, training):
    x = average_of_2x2(jax.nn.relu(convolution(p, 0, x)))
    x = average_of_2x2(jax.nn.relu(convolution(p, 3, x)))
    x = jax.nn.relu(linear(p, 7, x.reshape(len(x), -1)))
    return linear(p, 9, x), statistics


def batch_norm(p, statistics, updated, name, x, training):
    """Computes in float32 for all types of x."""
    kind, x = x.dtype, x.astype(jnp.float32)
    mean, variance = statistics[f"{name}.running_mean"], statistics[f"{name}.running_var"]
    if training:
        count = x.size // x.shape[-1]
        old_mean, old_variance = mean, variance
        mean = x.mean((0, 1, 2))
        variance = jnp.maximum((x * x).mean((0, 1, 2)) - mean * mean, 0)  # both sums in one pass over x
        updated[f"{name}.running_mean"] = (1 - MOMENTUM) * old_mean + MOMENTUM * mean
        updated[f"{name}.running_var"] = (
            (1 - MOMENTUM) * old_variance + MOMENTUM * variance * (count / (count - 1)))
    scale = p[f"{name}.weight"] * lax.rsqrt(variance + EPSILON)
    return ((x - mean) * scale + p[f"{name}.bias"]).astype(kind)


def resnet18(p, statistics, x, training):
    updated = dict(statistics)

    def norm(name, x):
        return batch_norm(p, statistics, updated, name, x, training)

    def block(name, x, stride):
        y = jax.nn.relu(norm(f"{name}.body.1", convolution(p, f"{name}.body.0", x, stride, 1)))
        y = norm(f"{name}.body.4", convolution(p, f"{name}.body.3", y, 1, 1))
        return jax.nn.relu(y + (x if stride == 1 else convolution(p, f"{name}.shortcut", x, stride)))

    x = jax.nn.relu(norm(1, convolution(p, 0, x, 1, 1)))
    for stage, _, stride in STAGES:
        x = block(f"{stage}.1", block(f"{stage}.0", x, stride), 1)
    return linear(p, 9, x.mean((1, 2))), updated


def mlp(recipe, p, x):
    """With checkpoint_layers = n, keeps only the output of every n-th layer for the backward pass.

    On a CPU this saves nothing: there XLA merges the recomputation with the original computation.
    """
    def run(layers, p, x):
        for layer in layers:
            x = linear(p, 2 * layer, x)
            x = jax.nn.relu(x) if layer < recipe.layers else x
        return x

    layers = range(recipe.layers + 1)
    if not recipe.checkpoint_layers:
        return run(layers, p, x)
    for first in range(0, len(layers), recipe.checkpoint_layers):
        group = layers[first:first + recipe.checkpoint_layers]
        own = {name: p[name] for layer in group for name in (f"{2 * layer}.weight", f"{2 * layer}.bias")}
        x = jax.checkpoint(functools.partial(run, group))(own, x)
    return x
