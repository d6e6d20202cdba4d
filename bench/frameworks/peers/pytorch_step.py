"""Runs a training step of a network with PyTorch, from given tensors, for same_step."""

import torch

from . import pytorch_networks, pytorch_peer, tensors
from .arguments import parse_step

# The inputs of linear weights after a Flatten are in NHWC order in the file, and in NCHW order in PyTorch.
FLATTENED = {"lenet": {"7.weight": (4, 4, 50)}, "resnet18": {}, "mlp": {}}


def to_pytorch(value, name, flattened):
    if value.dim() == 4:
        return value.permute(0, 3, 1, 2)
    if name in flattened:
        height, width, channels = flattened[name]
        return value.view(height, width, channels, -1).permute(3, 2, 0, 1).reshape(value.shape[1], -1)
    return value.T if value.dim() == 2 else value


def from_pytorch(value, name, flattened):
    if value.dim() == 4:
        return value.permute(0, 2, 3, 1)
    if name in flattened:
        height, width, channels = flattened[name]
        return value.view(-1, channels, height, width).permute(2, 3, 1, 0).reshape(-1, value.shape[0])
    return value.T if value.dim() == 2 else value


def packed(value):
    value = value.detach().cpu().contiguous()
    return list(value.shape), value.numpy().tobytes()


def main():
    arguments, recipe = parse_step(__doc__)
    device = torch.device(arguments.device)
    pytorch_peer.set_up(device, arguments.cores, recipe.precision, recipe.seed)
    flattened = FLATTENED[recipe.network]
    network = pytorch_networks.bare(recipe)
    x, y = torch.randn(recipe.batch, recipe.inputs), torch.randn(recipe.batch, recipe.outputs)
    if arguments.step_from:
        given = {name: torch.frombuffer(data, dtype=torch.float32).view(shape)
                 for name, (shape, data) in tensors.read_tensors(arguments.step_from)[0].items()}
        network.load_state_dict({
            name: to_pytorch(given[name], name, flattened) if value.dtype == torch.float32 else value
            for name, value in network.state_dict().items()})
        x, y = given.get("x", x), given.get("y", y)
    network.to(device)
    losses = take_steps(recipe, network, x.to(device), y.to(device), arguments) if arguments.step_from else []

    after = {name: packed(from_pytorch(value, name, flattened))
             for name, value in network.state_dict().items() if value.dtype == torch.float32}
    if recipe.network == "mlp":
        after.update(x=packed(x), y=packed(y))
    tensors.write_tensors(arguments.step_to, after, {"losses": losses})


def take_steps(recipe, network, x, y, arguments):
    """Runs one step on images, or recipe.steps steps of the MLP; returns the losses."""
    if recipe.network != "mlp":
        train = pytorch_peer.Images(arguments.data, "train", recipe.batch, x.device)
        training = pytorch_peer.ImageTraining(recipe, network, train, "eager", x.device)
        training.step(torch.arange(recipe.batch, device=x.device))
        return [training.total_loss.item() / recipe.batch]
    optimizer = pytorch_peer.make_optimizer(recipe, network)
    losses = []
    for _ in range(recipe.steps):
        losses.append(pytorch_peer.mlp_step(recipe, network, optimizer, x, y).item())
    return losses


if __name__ == "__main__":
    main()
