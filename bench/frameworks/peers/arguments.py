"""The command lines of the training and step processes."""

import argparse

from . import recipes


def make_parser(description):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("network", choices=recipes.NETWORKS)
    parser.add_argument("--device", choices=("cpu", "cuda"), required=True)
    parser.add_argument("--data", default=recipes.DATA)
    parser.add_argument("--checkpoint-layers", type=int, default=0)
    parser.add_argument("--cores", type=int, required=True)
    parser.add_argument("--precision", choices=recipes.PEER_PRECISIONS, default="fp32")
    recipes.add_size_arguments(parser)
    return parser


def parse(parser):
    arguments = parser.parse_args()
    recipes.check_sizes(parser, arguments)
    return arguments, recipes.recipe_of(arguments.network, arguments, arguments.precision,
                                        arguments.checkpoint_layers)


def parse_training(description, forms):
    parser = make_parser(description)
    parser.add_argument("--form", choices=forms, default=forms[0])
    parser.add_argument("--json", required=True, help="output file of the outcome")
    return parse(parser)


def parse_step(description):
    parser = make_parser(description)
    parser.add_argument("--step-from",
                        help="input file: tensors before the step [the framework's initial tensors]")
    parser.add_argument("--step-to", required=True,
                        help="output file: tensors after the step, or the initial ones without --step-from")
    return parse(parser)
