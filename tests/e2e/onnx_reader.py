"""Reads what an ONNX file holds, with the standard library alone and nothing of the program under test."""

from __future__ import annotations

import dataclasses
from typing import Iterator

TYPES = {1: "f32", 2: "u8", 3: "i8", 4: "u16", 5: "i16", 6: "i32", 7: "i64", 8: "string", 9: "bool", 10: "f16", 11: "f64",
         12: "u32", 13: "u64", 14: "complex64", 15: "complex128", 16: "bf16", 21: "u4", 22: "i4"}  # fmt: skip


def fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Field numbers with their values: numbers as ints, everything else as bytes."""
    at = 0

    def varint() -> int:
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(data):
        key = varint()
        kind = key & 7
        if kind == 0:
            yield key >> 3, varint()
        elif kind == 2:
            size = varint()
            yield key >> 3, data[at : at + size]
            at += size
        else:
            size = 8 if kind == 1 else 4
            yield key >> 3, data[at : at + size]
            at += size


def all_of(data: bytes, number: int) -> list:
    return [value for field, value in fields(data) if field == number]


def one(data: bytes, number: int, default=b""):
    found = all_of(data, number)
    return found[-1] if found else default


def text(data: bytes, number: int) -> str:
    return bytes(one(data, number)).decode("utf-8", "replace")


@dataclasses.dataclass
class Value:
    name: str
    dtype: str
    shape: list[int | str] | None


@dataclasses.dataclass
class Node:
    name: str
    op: str
    domain: str
    inputs: list[str]
    outputs: list[str]
    bodies: list[Graph]


@dataclasses.dataclass
class Graph:
    nodes: list[Node]
    inputs: list[Value]
    outputs: list[Value]
    initializers: dict[str, tuple[str, list[int]]]

    def walk(self) -> Iterator[Node]:
        for node in self.nodes:
            yield node
            for body in node.bodies:
                yield from body.walk()


@dataclasses.dataclass
class Model:
    graph: Graph
    functions: dict[str, list[Node]]
    metadata: dict[str, str]


def _signed(value: int) -> int:
    return value - (1 << 64) if value >> 63 else value


def _ints(data: bytes, number: int) -> list[int]:
    values: list[int] = []
    for entry in all_of(data, number):
        if isinstance(entry, int):
            values.append(_signed(entry))
            continue
        at = 0
        while at < len(entry):
            value = shift = 0
            while True:
                byte = entry[at]
                at += 1
                value |= (byte & 0x7F) << shift
                shift += 7
                if byte < 0x80:
                    break
            values.append(_signed(value))
    return values


def _value(data: bytes) -> Value:
    tensor = one(one(data, 2), 1, None)
    if tensor is None:
        return Value(text(data, 1), "?", None)
    shape = one(tensor, 2, None)
    dims = None
    if shape is not None:
        dims = [next((v if f == 1 else v.decode() for f, v in fields(dim) if f in (1, 2)), "?") for dim in all_of(shape, 1)]
    return Value(text(data, 1), TYPES.get(one(tensor, 1, 0), "?"), dims)


def _node(data: bytes) -> Node:
    bodies = []
    for attribute in all_of(data, 5):
        bodies += [_graph(g) for g in all_of(attribute, 6)] + [_graph(g) for g in all_of(attribute, 11)]
    names = [[n.decode("utf-8", "replace") for n in all_of(data, f)] for f in (1, 2)]
    return Node(text(data, 3), text(data, 4), text(data, 7), names[0], names[1], bodies)


def _graph(data: bytes) -> Graph:
    initializers = {}
    for tensor in all_of(data, 5):
        initializers[text(tensor, 8)] = (TYPES.get(one(tensor, 2, 0), "?"), _ints(tensor, 1))
    return Graph([_node(n) for n in all_of(data, 1)], [_value(v) for v in all_of(data, 11)], [_value(v) for v in all_of(data, 12)], initializers)


def read(data: bytes) -> Model:
    functions = {text(f, 1): [_node(n) for n in all_of(f, 7)] for f in all_of(data, 25)}
    metadata = {text(e, 1): text(e, 2) for e in all_of(data, 14)}
    return Model(_graph(one(data, 7)), functions, metadata)
