"""Reads and writes named tensors in Rondo's file format (docs/checkpoints.md).

Filters are KRSC, linear weights [inputs, outputs].
"""

import array
import json
import struct
from pathlib import Path


def read_tensors(path):
    """({name: (shape, bytearray of float32)}, metadata) of a safetensors file; skips other types."""
    data = Path(path).read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    head = json.loads(data[8:8 + length])
    metadata = head.pop("__metadata__", {})
    tensors = {}
    for name, entry in head.items():
        if entry["dtype"] == "F32":
            begin, end = entry["data_offsets"]
            tensors[name] = (entry["shape"], bytearray(data[8 + length + begin:8 + length + end]))
    return tensors, metadata


def write_tensors(path, tensors, metadata):
    head, values = {"__metadata__": {key: str(value) for key, value in metadata.items()}}, b""
    values = bytearray()
    for name, (shape, data) in tensors.items():
        head[name] = {"dtype": "F32", "shape": list(shape),
                      "data_offsets": [len(values), len(values) + len(data)]}
        values += data
    text = json.dumps(head).encode()
    Path(path).write_bytes(struct.pack("<Q", len(text)) + text + values)


def floats(data):
    values = array.array("f")
    values.frombytes(data)
    return values
