"""Trains a network with JAX, in its own process.

On a GPU a whole epoch is one call: a loop over batches that are gathered on the device, with donated buffers.
On the CPU each step is a call, because convolutions inside XLA's loops are many times slower there. The data
are on the device as bytes.
"""

import os
import time

from . import data, outcome, recipes
from .arguments import parse_training

# With preallocation the peak would always be three quarters of the memory.
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
from jax import lax  # noqa: E402

from . import jax_networks  # noqa: E402

EVALUATED_AT_ONCE = 1000
# bfloat16 operands need no setting. "default" leaves JAX's own.
PRODUCTS = {"fp32": "highest", "tf32": "tensorfloat32", "bf16": None}
ADAM_BETA1, ADAM_BETA2, ADAM_EPSILON = 0.9, 0.999, 1e-8


def main():
    arguments, recipe = parse_training(__doc__.splitlines()[0], ("jit",))
    device = choose_device(arguments.device, recipe.precision)
    found = outcome.Outcome(arguments.json, framework="jax", form="jit", version=jax.__version__,
                            device=device.device_kind, rounding=check_rounding(recipe.precision))
    (time_steps if recipe.network == "mlp" else learn_images)(recipe, device, arguments, found)


def choose_device(name, precision):
    jax.config.update("jax_platforms", name)
    if precision != recipes.AS_IT_COMES:
        jax.config.update("jax_default_matmul_precision", PRODUCTS[precision])  # for convolutions too
    device = jax.devices()[0]
    jax.config.update("jax_default_device", device)
    return device


def check_rounding(precision):
    """Measures the rounding of the networks' own products; see outcome.check_rounding()."""
    def error(found, wanted):
        return float(jnp.abs(found - wanted).max() / jnp.abs(wanted).max())

    x = jax.random.normal(jax.random.key(0), (512, 512))
    images = jax.random.normal(jax.random.key(1), (16, 28, 28, 64))
    p = {"same.weight": jnp.zeros((3, 3, 64, 64)).at[1, 1].set(jnp.eye(64)), "same.bias": jnp.zeros(64)}
    q = {"same.weight": jnp.eye(512), "same.bias": jnp.zeros(512)}
    kind = jax_networks.ACTIVATIONS[precision]
    matrices = jax.jit(lambda q, x: jax_networks.linear(q, "same", x.astype(kind)))(q, x)
    convolutions = jax.jit(
        lambda p, x: jax_networks.convolution(p, "same", x.astype(kind), padding=1))(p, images)
    return outcome.check_rounding(precision, error(matrices, x), error(convolutions, images))


def peak_bytes(device):
    return (device.memory_stats() or {}).get("peak_bytes_in_use")


def read_images(folder, split, count):
    pixels, labels = data.read_images(folder, split)
    pixels = jnp.frombuffer(pixels, dtype=jnp.uint8).reshape(-1, 28, 28, 1)[:count]
    return pixels, jnp.frombuffer(labels, dtype=jnp.uint8)[:count].astype(jnp.int32)


class ImageTraining:
    def __init__(self, recipe):
        self.recipe = recipe
        self.network = {"lenet": jax_networks.lenet, "resnet18": jax_networks.resnet18}[recipe.network]
        self.step_call = jax.jit(self.step, donate_argnums=0)
        self.epoch_call = jax.jit(self.epoch, donate_argnums=0)
        self.order_call = jax.jit(self.order)
        self.correct_call = jax.jit(self.correct)

    def scaled(self, images):
        return (images.astype(jnp.float32) / 255).astype(jax_networks.ACTIVATIONS[self.recipe.precision])

    def loss(self, parameters, statistics, images, labels):
        logits, statistics = self.network(parameters, statistics, self.scaled(images), True)
        log_probabilities = jax.nn.log_softmax(logits.astype(jnp.float32))
        return -jnp.take_along_axis(log_probabilities, labels[:, None], 1).mean(), statistics

    def step(self, state, train, chosen):
        """state: parameters, statistics, sum of losses"""
        parameters, statistics, total = state
        (loss, statistics), gradients = jax.value_and_grad(self.loss, has_aux=True)(
            parameters, statistics, train[0][chosen], train[1][chosen])
        parameters = jax.tree.map(lambda p, g: p - self.recipe.learning_rate * g, parameters, gradients)
        return parameters, statistics, total + loss * len(chosen)

    def order(self, key):
        return jax.random.permutation(key, self.recipe.images)

    def epoch(self, state, train, key):
        order = self.order(key)
        whole, rest = divmod(len(order), self.recipe.batch)
        batches = order[:whole * self.recipe.batch].reshape(whole, self.recipe.batch)
        state, _ = lax.scan(lambda state, chosen: (self.step(state, train, chosen), None), state, batches)
        return self.step(state, train, order[-rest:]) if rest else state

    def epoch_of_calls(self, state, train, key):
        order = self.order_call(key)
        for first in range(0, len(order), self.recipe.batch):
            state = self.step_call(state, train, order[first:first + self.recipe.batch])
        return state

    def correct(self, parameters, statistics, images, labels):
        logits, _ = self.network(parameters, statistics, self.scaled(images), False)
        return (logits.argmax(1) == labels).sum()

    def accuracy(self, parameters, statistics, test):
        count = len(test[1])
        return sum(int(self.correct_call(parameters, statistics,
                                         *(part[first:first + EVALUATED_AT_ONCE] for part in test)))
                   for first in range(0, count, EVALUATED_AT_ONCE)) / count


def learn_images(recipe, device, arguments, found):
    train = read_images(arguments.data, "train", recipe.images)
    test = read_images(arguments.data, "t10k", recipe.test_images)
    training = ImageTraining(recipe)
    key = jax.random.key(recipe.seed)
    parameters = jax_networks.initial_parameters(recipe, key)
    statistics = jax_networks.initial_statistics(recipe)
    found.write(parameters=sum(p.size for p in parameters.values()))
    run_epoch = training.epoch_of_calls if device.platform == "cpu" else training.epoch_call
    for epoch in range(recipe.epochs):
        jax.block_until_ready((parameters, train, test))
        begin = time.perf_counter()
        parameters, statistics, total = run_epoch((parameters, statistics, jnp.zeros(())), train,
                                                  jax.random.fold_in(key, 1000 + epoch))
        loss = float(total) / recipe.images  # waits
        seconds = time.perf_counter() - begin
        found.epoch(seconds, loss, training.accuracy(parameters, statistics, test))
        found.write(peak_bytes=peak_bytes(device))


def make_mlp_step(recipe):
    def loss_of(parameters, x, y):
        outputs = jax_networks.mlp(recipe, parameters, x.astype(jax_networks.ACTIVATIONS[recipe.precision]))
        return jnp.square(outputs.astype(jnp.float32) - y).sum() / recipe.batch

    def step(state, x, y):
        """Returns the new state and the loss per element before the step.

        state: parameters, first and second moments, number of steps
        """
        parameters, first, second, steps = state
        loss, gradients = jax.value_and_grad(loss_of)(parameters, x, y)
        steps += 1
        first = jax.tree.map(lambda m, g: ADAM_BETA1 * m + (1 - ADAM_BETA1) * g, first, gradients)
        second = jax.tree.map(lambda v, g: ADAM_BETA2 * v + (1 - ADAM_BETA2) * g * g, second, gradients)
        rate = recipe.learning_rate / (1 - ADAM_BETA1 ** steps)
        correction = 1 / (1 - ADAM_BETA2 ** steps)
        parameters = jax.tree.map(lambda p, m, v: p - rate * m / (jnp.sqrt(v * correction) + ADAM_EPSILON),
                                  parameters, first, second)
        return (parameters, first, second, steps), loss / recipe.outputs

    return jax.jit(step, donate_argnums=0)


def mlp_state(parameters):
    """The state before the first step."""
    return (parameters, jax.tree.map(jnp.zeros_like, parameters), jax.tree.map(jnp.zeros_like, parameters),
            jnp.zeros(()))


def time_steps(recipe, device, arguments, found):
    key = jax.random.key(recipe.seed)
    parameters = jax_networks.initial_parameters(recipe, key)
    found.write(parameters=sum(p.size for p in parameters.values()))
    x = jax.random.normal(jax.random.fold_in(key, 10001), (recipe.batch, recipe.inputs))
    y = jax.random.normal(jax.random.fold_in(key, 10002), (recipe.batch, recipe.outputs))
    step_call, state = make_mlp_step(recipe), mlp_state(parameters)
    del parameters
    seconds, losses = [], []
    for _ in range(recipes.WARM_UP_STEPS + recipe.steps):
        jax.block_until_ready((state, x, y))
        begin = time.perf_counter()
        state, loss = step_call(state, x, y)
        jax.block_until_ready((state, loss))
        seconds.append(time.perf_counter() - begin)
        losses.append(float(loss))
        found.write(first_seconds=seconds[0], seconds=seconds[recipes.WARM_UP_STEPS:], losses=losses,
                    peak_bytes=peak_bytes(device))


if __name__ == "__main__":
    main()
