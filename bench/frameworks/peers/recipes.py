"""The recipes of the three networks. Other settings are the frameworks' defaults."""

import dataclasses
import os

DATA = os.environ.get("RONDO_DATA") or "/usr/share/datasets/fashion-mnist"
TRAINING_IMAGES = 60000
TEST_IMAGES = 10000
CLASSES = 10
# Standard deviation of the initial weights of convolutions and linear layers in LeNet and ResNet-18. Biases
# begin at 0.
DEVIATION = 0.01
WARM_UP_STEPS = 2  # untimed steps of the MLP, as in `rondo train mlp`

NETWORKS = ("lenet", "resnet18", "mlp")
# Arithmetic of convolutions and linear layers. In bf16 the activations are bfloat16, too; parameters, the
# optimizer and the statistics of batch normalisation stay float32.
PRECISIONS = ("fp32", "tf32", "bf16")
# What the peers may be asked for. "default": the frameworks as they come, with no setting of their
# arithmetic.
AS_IT_COMES = "default"
PEER_PRECISIONS = (*PRECISIONS, AS_IT_COMES)
# The products in which most FLOP of a network are: the kind of product whose precision is compared.
MOST_PRODUCTS = {"lenet": "convolutions", "resnet18": "convolutions", "mlp": "matrices"}
DEFAULT_BATCH = {"lenet": 256, "resnet18": 256, "mlp": 256 * 27}
DEFAULT_RATE = {"lenet": 0.2, "resnet18": 0.1, "mlp": 1e-4}


@dataclasses.dataclass(frozen=True)
class Recipe:
    network: str
    batch: int
    learning_rate: float  # of plain SGD; for the MLP, of Adam
    precision: str = "fp32"  # one of PRECISIONS; for a peer, of PEER_PRECISIONS
    seed: int = 0
    # LeNet and ResNet-18
    epochs: int = 10
    images: int = TRAINING_IMAGES  # the number of training images, from the start of the data
    test_images: int = TEST_IMAGES  # the number of test images
    # The MLP
    layers: int = 90  # layers of `width`, each with a ReLU, followed by one layer of `outputs`
    width: int = 2056
    inputs: int = 1024
    outputs: int = 10
    steps: int = 7  # timed steps
    checkpoint_layers: int = 0  # keep the activations of every n-th layer only; 0: all


def add_size_arguments(parser):
    """Adds the size options. Their defaults depend on the network."""
    parser.add_argument("--batch", type=int, help="samples per step [256; 6912 for the MLP]")
    parser.add_argument("--lr", type=float, help="learning rate [LeNet: 0.2, ResNet-18: 0.1, MLP: 0.0001]")
    for name, what in (("seed", "seed of weights and order"), ("epochs", "epochs of LeNet and ResNet-18"),
                       ("layers", "layers of the MLP"), ("width", "width of the MLP's layers"),
                       ("inputs", "inputs of the MLP"), ("outputs", "outputs of the MLP"),
                       ("steps", "timed steps of the MLP")):
        default = getattr(Recipe, name)
        parser.add_argument(f"--{name}", type=int, default=default, help=f"{what} [{default}]")
    parser.add_argument("--limit", type=int,
                        help="maximum number of training images and of test images [all]")


def check_sizes(parser, arguments):
    for name in ("batch", "epochs", "limit", "layers", "width", "inputs", "outputs", "steps"):
        value = getattr(arguments, name)
        if value is not None and value < 1:
            parser.error(f"--{name} is {value}, must be at least 1")
    if arguments.lr is not None and not 0 < arguments.lr <= 1000:
        parser.error(f"--lr is {arguments.lr}, must be above 0 and at most 1000")


def rondo_precisions(network, precision, device):
    """The precisions in which Rondo runs beside peers with this precision.

    Beside "default" it is the one that the peers' products have. On a GPU since 8.0 PyTorch computes
    convolutions in TF32 and products of matrices in fp32, and JAX both in TF32. So LeNet and ResNet-18 run in
    tf32, and the MLP in fp32 and in tf32. A CPU has no TF32.
    """
    if precision != AS_IT_COMES:
        return (precision,)
    if device == "cpu":
        return ("fp32",)
    return ("fp32", "tf32") if MOST_PRODUCTS[network] == "matrices" else ("tf32",)


def recipe_of(network, arguments, precision, checkpoint_layers=0):
    images = min(arguments.limit or TRAINING_IMAGES, TRAINING_IMAGES)
    batch = arguments.batch or DEFAULT_BATCH[network]
    return Recipe(
        network=network,
        batch=batch if network == "mlp" else min(batch, images),
        learning_rate=arguments.lr or DEFAULT_RATE[network],
        precision=precision,
        seed=arguments.seed,
        epochs=arguments.epochs,
        images=images,
        test_images=min(arguments.limit or TEST_IMAGES, TEST_IMAGES),
        layers=arguments.layers,
        width=arguments.width,
        inputs=arguments.inputs,
        outputs=arguments.outputs,
        steps=arguments.steps,
        checkpoint_layers=checkpoint_layers)
