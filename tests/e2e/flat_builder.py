"""FlatBuffers files from nested dicts, with the standard library alone: {field number: value}. An int is a 32-bit number,
a dict a table, a str a string, a list a vector of tables or of 32-bit numbers. Parents stand before their children."""

from __future__ import annotations

import struct
from typing import Any

Table = dict[int, Any]


class _Writer:
    def __init__(self) -> None:
        self.bytes = bytearray()

    def align(self) -> None:
        self.bytes += bytes(-len(self.bytes) % 4)

    def place(self, value: Any) -> int:
        self.align()
        if isinstance(value, dict):
            return self.table(value)
        at = len(self.bytes)
        if isinstance(value, str):
            self.bytes += struct.pack("<I", len(value)) + value.encode() + b"\0"
        elif value and isinstance(value[0], dict):
            self.bytes += struct.pack("<I", len(value)) + bytes(4 * len(value))
            for i, child in enumerate(value):
                self.refer(at + 4 + 4 * i, child)
        else:
            self.bytes += struct.pack(f"<I{len(value)}i", len(value), *value)
        return at

    def refer(self, field: int, child: Any) -> None:
        struct.pack_into("<I", self.bytes, field, self.place(child) - field)

    def table(self, fields: Table) -> int:
        slots = {number: 4 + 4 * i for i, number in enumerate(sorted(fields))}
        count = max(fields, default=-1) + 1
        entries = [slots.get(number, 0) for number in range(count)]
        vtable = len(self.bytes)
        self.bytes += struct.pack(f"<{2 + count}H", 4 + 2 * count, 4 + 4 * len(fields), *entries)
        self.align()
        at = len(self.bytes)
        self.bytes += struct.pack("<i", at - vtable) + bytes(4 * len(fields))
        for number, value in fields.items():
            if isinstance(value, int):
                struct.pack_into("<i", self.bytes, at + slots[number], value)
            else:
                self.refer(at + slots[number], value)
        return at


def file(root: Table, identifier: bytes) -> bytes:
    writer = _Writer()
    writer.bytes += bytes(4) + identifier
    writer.refer(0, root)
    return bytes(writer.bytes)


def recursive_tflite() -> bytes:
    """A subgraph whose IF runs the subgraph itself."""
    tensors = [{0: [], 1: 6, 2: 0, 3: "condition"}, {0: [4], 1: 9, 2: 0, 3: "x"}, {0: [4], 1: 9, 2: 0, 3: "y"}]
    operator = {0: 0, 1: [0, 1], 2: [2], 3: 92, 4: {0: 0, 1: 0}}
    subgraph = {0: tensors, 1: [0, 1], 2: [2], 3: [operator], 4: "main"}
    return file({0: 3, 1: [{0: 118, 2: 1, 3: 118}], 2: [subgraph], 3: "test", 4: [{}]}, b"TFL3")
