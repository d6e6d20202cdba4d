"""Runs a training step of a network with JAX, from given tensors, for same_step."""

import jax
import jax.numpy as jnp

from . import jax_networks, jax_peer, tensors
from .arguments import parse_step


def to_jax(data, shape):
    value = jnp.frombuffer(data, dtype=jnp.float32).reshape(shape)
    return value.transpose(1, 2, 3, 0) if len(shape) == 4 else value  # KRSC -> HWIO


def packed(value):
    value = value.transpose(3, 0, 1, 2) if value.ndim == 4 else value
    return list(value.shape), jax.device_get(value).tobytes()


def main():
    arguments, recipe = parse_step(__doc__)
    jax_peer.choose_device(arguments.device, recipe.precision)
    jax_peer.check_rounding(recipe.precision)
    if not arguments.step_from:
        raise SystemExit("--step-from is missing")
    given = {name: to_jax(data, shape)
             for name, (shape, data) in tensors.read_tensors(arguments.step_from)[0].items()}
    parameters = {name: given[name] for name in jax_networks.shapes(recipe)}
    if recipe.network == "mlp":
        losses, after = mlp_steps(recipe, parameters, given["x"], given["y"])
    else:
        losses, after = image_step(recipe, parameters, given, arguments)
    tensors.write_tensors(arguments.step_to, {name: packed(value) for name, value in after.items()},
                          {"losses": losses})


def image_step(recipe, parameters, given, arguments):
    train = jax_peer.read_images(arguments.data, "train", recipe.batch)
    statistics = {name: given[name] for name in jax_networks.initial_statistics(recipe)}
    state = jax_peer.ImageTraining(recipe).step_call((parameters, statistics, jnp.zeros(())), train,
                                                     jnp.arange(recipe.batch))
    return [float(state[2]) / recipe.batch], {**state[0], **state[1]}


def mlp_steps(recipe, parameters, x, y):
    step_call, state, losses = jax_peer.make_mlp_step(recipe), jax_peer.mlp_state(parameters), []
    for _ in range(recipe.steps):
        state, loss = step_call(state, x, y)
        losses.append(float(loss))
    return losses, state[0]


if __name__ == "__main__":
    main()
