"""Reads Fashion-MNIST as bytes."""

import gzip
from pathlib import Path


def read_idx(folder, name, header):
    """The data after the header of an IDX file, gzipped or not."""
    path = Path(folder) / name
    data = path.read_bytes() if path.exists() else gzip.decompress(Path(f"{path}.gz").read_bytes())
    return bytearray(data[header:])


def read_images(folder, split):
    """(images, labels) of "train" or "t10k": 28 x 28 bytes per image, one byte per label."""
    return (read_idx(folder, f"{split}-images-idx3-ubyte", 16),
            read_idx(folder, f"{split}-labels-idx1-ubyte", 8))
