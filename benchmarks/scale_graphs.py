"""ONNX files with many nodes, encoded by hand: a million nodes are written in seconds and without the onnx package.

Each function yields the parts of one kind of graph with about `count` nodes. No two nodes compute the same and none can be left out,
so that passes cannot shrink the graph, except in `repeated`, which is there to be shrunk.
"""

from __future__ import annotations

import pathlib
import struct

FLOAT = 1
SIZE = 4  # elements of every tensor
UNARY = ("Tanh", "Abs", "Sin", "Sigmoid")


def varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def field(number: int, payload: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(payload)) + payload


def number(tag: int, value: int) -> bytes:
    return varint(tag << 3) + varint(value)


def value_info(name: str) -> bytes:
    dims = field(1, number(1, 1)) + field(1, number(1, SIZE))
    return field(1, name.encode()) + field(2, field(1, number(1, FLOAT) + field(2, dims)))


class Model:
    """Collects the fields of a GraphProto and writes the file."""

    def __init__(self) -> None:
        self.parts: list[bytes] = []
        self.nodes = 0

    def node(self, op: str, inputs: list[str], output: str | None = None) -> str:
        output = output or f"v{self.nodes}"
        body = b"".join(field(1, name.encode()) for name in inputs) + field(2, output.encode())
        self.parts.append(field(1, body + field(3, f"n{self.nodes}".encode()) + field(4, op.encode())))
        self.nodes += 1
        return output

    def weight(self, index: int) -> str:
        """An initialiser that no other equals."""
        name = f"w{index}"
        data = struct.pack(f"<{SIZE}f", *(1.0 + (index * SIZE + k) * 2.0**-23 for k in range(SIZE)))
        self.parts.append(field(5, number(1, 1) + number(1, SIZE) + number(2, FLOAT) + field(8, name.encode()) + field(9, data)))
        return name

    def output(self, name: str) -> None:
        self.parts.append(field(12, value_info(name)))

    def write(self, path: pathlib.Path) -> None:
        graph = b"".join(self.parts) + field(2, b"scale") + field(11, value_info("x"))
        opset = field(1, b"") + number(2, 17)
        path.write_bytes(number(1, 8) + field(7, graph) + field(8, opset))


def chain(model: Model, count: int) -> None:
    """One operation after the other."""
    last = "x"
    for i in range(count):
        last = model.node(UNARY[i % len(UNARY)], [last])
    model.output(last)


def residual(model: Model, count: int) -> None:
    """Blocks of x + f(x)."""
    last = "x"
    for i in range(count // 2):
        last = model.node("Add", [last, model.node(UNARY[i % len(UNARY)], [last])])
    model.output(last)


def weights(model: Model, count: int) -> None:
    """A chain in which every second node reads an initialiser of its own."""
    last = "x"
    for i in range(count // 2):
        last = model.node("Add", [model.node(UNARY[i % len(UNARY)], [last]), model.weight(i)])
    model.output(last)


def shared(model: Model, count: int) -> None:
    """A chain in which every second node reads the same initialiser."""
    last, weight = "x", model.weight(0)
    for i in range(count // 2):
        last = model.node("Add", [model.node(UNARY[i % len(UNARY)], [last]), weight])
    model.output(last)


def scales(model: Model, count: int) -> None:
    """x * a + b * c + d ...: every node can be merged with the one before."""
    last = "x"
    for i in range(count):
        last = model.node("Mul" if i % 2 == 0 else "Add", [last, model.weight(i)])
    model.output(last)


def wide(model: Model, count: int) -> None:
    """Many readers of one tensor, added up by a tree."""
    level = [model.node("Mul", ["x", model.weight(i)]) for i in range(count // 2)]
    while len(level) > 1:
        pairs = [model.node("Add", level[i : i + 2]) for i in range(0, len(level) - 1, 2)]
        level = pairs + (level[-1:] if len(level) % 2 else [])
    model.output(level[0])


def many_operands(model: Model, count: int) -> None:
    """One node that reads all others."""
    model.output(model.node("Sum", [model.node("Mul", ["x", model.weight(i)]) for i in range(count - 1)]))


def outputs(model: Model, count: int) -> None:
    """A chain in which every tenth result is an output of the graph."""
    last = "x"
    for i in range(count):
        last = model.node(UNARY[i % len(UNARY)], [last])
        if i % 10 == 9:
            model.output(last)


def repeated(model: Model, count: int) -> None:
    """The same operation again and again: one is left."""
    level = [model.node("Tanh", ["x"]) for _ in range(count // 2)]
    last = level[0]
    for other in level[1:]:
        last = model.node("Add", [last, other])
    model.output(last)


def identities(model: Model, count: int) -> None:
    """Nothing is left of it but one operation."""
    last = "x"
    for _ in range(count - 1):
        last = model.node("Identity", [last])
    model.output(model.node("Tanh", [last]))


KINDS = {f.__name__: f for f in (chain, residual, weights, shared, scales, wide, many_operands, outputs, repeated, identities)}


def write(path: pathlib.Path, kind: str, count: int) -> None:
    model = Model()
    KINDS[kind](model, count)
    model.write(path)
