"""A module of PyTorch and its state dict in Rondo have the same logits, and go there and back bit for bit.

    state_dict_torch_test.py RONDO LOGITS

LOGITS is the program of logits.cpp. Exit code 3 where PyTorch cannot be imported.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "bench" / "frameworks"))
try:
    import numpy
    import torch
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(3)
from torch import nn  # noqa: E402
from peers import pytorch_networks, tensors  # noqa: E402

RONDO, LOGITS = sys.argv[1:3]
IMAGES = 13


class Block(nn.Module):
    """A residual block as in the lesson: other names than Rondo's."""

    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.conv3 = nn.Conv2d(inputs, outputs, 1, stride) if stride != 1 else None

    def forward(self, x):
        y = self.bn2(self.conv2(torch.relu(self.bn1(self.conv1(x)))))
        return torch.relu(y + (self.conv3(x) if self.conv3 else x))


class ResNet18(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 64, 3, 1, 1)
        self.bn = nn.BatchNorm2d(64)
        channels = 64
        for number, (outputs, stride) in enumerate(((64, 1), (128, 2), (256, 2), (512, 2)), 1):
            setattr(self, f"layer{number}", nn.Sequential(Block(channels, outputs, stride),
                                                          Block(outputs, outputs, 1)))
            channels = outputs
        self.fc = nn.Linear(512, 10)

    def forward(self, x):
        x = torch.relu(self.bn(self.conv(x)))
        for number in range(1, 5):
            x = getattr(self, f"layer{number}")(x)
        return self.fc(x.mean((2, 3)))


class TransformerBlock(nn.Module):
    def __init__(self, channels, heads):
        super().__init__()
        self.ln_1 = nn.LayerNorm(channels)
        self.self_attention = nn.MultiheadAttention(channels, heads, batch_first=True)
        self.ln_2 = nn.LayerNorm(channels)
        self.mlp = nn.Sequential(nn.Linear(channels, 2 * channels), nn.GELU(),
                                 nn.Linear(2 * channels, channels))

    def forward(self, x):
        y = self.ln_1(x)
        x = x + self.self_attention(y, y, y, need_weights=False)[0]
        return x + self.mlp(self.ln_2(x))


class VisionTransformer(nn.Module):
    """As nn::vit(), with the modules and names that PyTorch users have."""

    def __init__(self, channels=64, heads=4, blocks=4):
        super().__init__()
        self.conv_proj = nn.Conv2d(1, channels, 4, 4)
        self.pos_embedding = nn.Parameter(0.02 * torch.randn(1, 49, channels))
        self.layers = nn.ModuleList(TransformerBlock(channels, heads) for _ in range(blocks))
        self.ln = nn.LayerNorm(channels)
        self.head = nn.Linear(channels, 10)

    def forward(self, x):
        x = self.conv_proj(x).flatten(2).transpose(1, 2) + self.pos_embedding
        for layer in self.layers:
            x = layer(x)
        return self.head(self.ln(x).mean(1))


def names_of_vit(blocks=4):
    names = {"0": "conv_proj", "1.weight": "pos_embedding", f"{2 * blocks + 2}": "ln",
             f"{2 * blocks + 5}": "head"}
    for block in range(blocks):
        attention, mlp, there = f"{2 * block + 2}.body", f"{2 * block + 3}.body", f"layers.{block}"
        names |= {f"{attention}.0": f"{there}.ln_1", f"{attention}.1": f"{there}.self_attention",
                  f"{mlp}.0": f"{there}.ln_2", f"{mlp}.1": f"{there}.mlp.0", f"{mlp}.3": f"{there}.mlp.2"}
    return names


def names_of_resnet18():
    names = {"0": "conv", "1": "bn", "9": "fc"}
    for stage in range(4):
        for block in range(2):
            here, there = f"{stage + 3}.{block}", f"layer{stage + 1}.{block}"
            names |= {f"{here}.body.0": f"{there}.conv1", f"{here}.body.1": f"{there}.bn1",
                      f"{here}.body.3": f"{there}.conv2", f"{here}.body.4": f"{there}.bn2"}
            if stage > 0 and block == 0:
                names[f"{here}.shortcut"] = f"{there}.conv3"
    return names


def drawn(module):
    """Drawn parameters, and running statistics that differ from 0 and 1."""
    torch.manual_seed(1)
    for layer in module.modules():
        if isinstance(layer, nn.BatchNorm2d):
            nn.init.uniform_(layer.running_mean, -0.2, 0.2)
            nn.init.uniform_(layer.running_var, 0.5, 2)
            nn.init.uniform_(layer.weight, 0.5, 1.5)
            nn.init.uniform_(layer.bias, -0.2, 0.2)
        elif isinstance(layer, nn.LayerNorm):
            nn.init.uniform_(layer.weight, 0.5, 1.5)
            nn.init.uniform_(layer.bias, -0.2, 0.2)
        elif isinstance(layer, nn.MultiheadAttention):
            nn.init.uniform_(layer.in_proj_bias, -0.2, 0.2)
    return module.eval()


def run(*command):
    subprocess.run([str(word) for word in command], check=True, stdout=subprocess.PIPE)


def save(path, state_dict):
    tensors.write_tensors(path, {name: (list(value.shape), value.numpy().tobytes())
                                 for name, value in state_dict.items()
                                 if not name.endswith("num_batches_tracked")}, {})


def check(model, module, folder, names=None):
    there, here, back = folder / "there.safetensors", folder / "here.safetensors", folder / "back.safetensors"
    options = []
    if names:
        (folder / "names.json").write_text(json.dumps(names))
        options = ["--names", folder / "names.json"]
    save(there, module.state_dict())
    run(RONDO, "convert", model, there, here, *options)
    run(RONDO, "convert", model, here, back, *options)

    images = torch.rand(IMAGES, 1, 28, 28)
    (folder / "images").write_bytes(images.permute(0, 2, 3, 1).contiguous().numpy().tobytes())
    run(LOGITS, model, here, folder / "images", folder / "logits")
    with torch.no_grad():
        want = module(images).double().numpy()
    found = numpy.fromfile(folder / "logits", dtype=numpy.float32).reshape(want.shape).astype(numpy.float64)
    error = numpy.abs(found - want).max() / numpy.abs(want).max()
    print(f"{model}: largest logit {numpy.abs(want).max():.3f}, relative error {error:.1e}")
    assert error < 1e-5, f"{model}: the logits differ"

    state = {name: torch.frombuffer(values, dtype=torch.float32).reshape(shape)
             for name, (shape, values) in tensors.read_tensors(back)[0].items()}
    for name, value in module.state_dict().items():
        if not name.endswith("num_batches_tracked"):
            assert torch.equal(state[name], value), f"{model}: {name} came back with other bits"
    module.load_state_dict(state)  # strict: no name is missing or unexpected


def main():
    with tempfile.TemporaryDirectory() as folder:
        check("lenet", drawn(pytorch_networks.lenet()), Path(folder))
        check("resnet18", drawn(pytorch_networks.resnet18()), Path(folder))
        check("resnet18", drawn(ResNet18()), Path(folder), names_of_resnet18())
        check("vit", drawn(VisionTransformer()), Path(folder), names_of_vit())


main()
