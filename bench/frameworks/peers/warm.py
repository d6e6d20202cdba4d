"""Loads a framework with its libraries, and computes one product and one convolution.

    python3 -m peers.warm pytorch cuda

From a cold disk this takes longer than a short training. Afterwards the files are in memory.
"""

import sys


def main(framework, device):
    if framework == "jax":
        from . import jax_peer
        jax_peer.choose_device(device, "fp32")
        jax_peer.check_rounding("fp32")
    else:
        from . import pytorch_peer
        pytorch_peer.set_up(pytorch_peer.torch.device(device), 1, "fp32")


if __name__ == "__main__":
    main(*sys.argv[1:])
