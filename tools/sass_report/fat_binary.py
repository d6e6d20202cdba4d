"""The code in the fat binaries of programs, objects and archives.

The layout is not documented. These are the fields that nvcc 13.0 writes: a header (magic number, version,
its bytes, bytes of the entries), and for each entry its kind (1 PTX, 2 machine code), the bytes of its
header, the bytes that follow it, the architecture at 28, and at 56 the bytes before compression, or 0.
"""

import struct
from collections import namedtuple

MAGIC = struct.pack("<I", 0xBA55ED50)
KINDS = {1: "PTX", 2: "machine code"}

Code = namedtuple("Code", "kind architecture stored whole")  # bytes in the file, and before compression


def code_of(data):
    """The Code of all entries in the bytes of a file."""
    found = []
    at = data.find(MAGIC)
    while at >= 0:
        entries = entries_of(data, at)
        found += entries
        at = data.find(MAGIC, at + len(MAGIC))
    return found


def entries_of(data, at):
    """Those of the fat binary at an offset; empty if none is there."""
    if at + 16 > len(data):
        return []
    _, _, header, size = struct.unpack_from("<IHHQ", data, at)
    begin, end = at + header, at + header + size
    if header != 16 or end > len(data):
        return []
    found = []
    while begin + 64 <= end:
        kind, _, header, size = struct.unpack_from("<HHIQ", data, begin)
        architecture, = struct.unpack_from("<I", data, begin + 28)
        whole, = struct.unpack_from("<Q", data, begin + 56)
        if kind not in KINDS or header < 64 or begin + header + size > end:
            return []
        found.append(Code(KINDS[kind], architecture, header + size, whole or size))
        begin += header + size
    return found


def sizes(files):
    """Lines: for each architecture and kind of code, its bytes in these files together."""
    totals = {}
    for file in files:
        for code in code_of(file.read_bytes()):
            stored, whole = totals.get((code.architecture, code.kind), (0, 0))
            totals[code.architecture, code.kind] = stored + code.stored, whole + code.whole
    if not totals:
        return ["there are no kernels in " + ", ".join(str(file) for file in files)]
    rows = [(f"{architecture / 10:.1f}", kind, stored, whole)
            for (architecture, kind), (stored, whole) in sorted(totals.items())]
    if len(rows) > 1:
        rows.append(("all", "", sum(row[2] for row in rows), sum(row[3] for row in rows)))
    return [f"{'':4} {'':12} {'MB':>7} {'MB, not compressed':>18}"] + [
        f"{architecture:4} {kind:12} {stored / 1e6:7.2f} {whole / 1e6:18.2f}"
        for architecture, kind, stored, whole in rows]
