"""Writes small ONNX files with the standard library only: sound ones, and ones with faults on purpose."""

from __future__ import annotations

import struct

FLOAT, UINT8, INT8, INT32, INT64, STRING, BOOL, FLOAT16, DOUBLE = 1, 2, 3, 6, 7, 8, 9, 10, 11


def varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def number(field: int, value: int) -> bytes:
    return varint(field << 3) + varint(value)


def data(field: int, value: bytes | str) -> bytes:
    raw = value.encode() if isinstance(value, str) else value
    return varint(field << 3 | 2) + varint(len(raw)) + raw


def tensor(name: str, dims: list[int], values: list[float], dtype: int = FLOAT) -> bytes:
    form = {FLOAT: "f", INT64: "q", INT32: "i", INT8: "b", UINT8: "B", BOOL: "?", DOUBLE: "d"}[dtype]
    body = b"".join(number(1, d) for d in dims) + number(2, dtype) + data(8, name)
    return body + data(9, struct.pack(f"<{len(values)}{form}", *values))


def external_tensor(name: str, dims: list[int], location: str) -> bytes:
    entry = data(1, "location") + data(2, location)
    return b"".join(number(1, d) for d in dims) + number(2, FLOAT) + data(8, name) + data(13, entry) + number(14, 1)


def value(name: str, dims: list[int | str] | None, dtype: int = FLOAT) -> bytes:
    shape = b""
    if dims is not None:
        entries = [number(1, d) if isinstance(d, int) else data(2, d) for d in dims]
        shape = data(2, b"".join(data(1, e) for e in entries))
    return data(1, name) + data(2, data(1, number(1, dtype) + shape))


def attribute(name: str, content: int | float | str | list[int]) -> bytes:
    if isinstance(content, int):
        return data(1, name) + number(3, content) + number(20, 2)
    if isinstance(content, float):
        return data(1, name) + varint(2 << 3 | 5) + struct.pack("<f", content) + number(20, 1)
    if isinstance(content, str):
        return data(1, name) + data(4, content) + number(20, 3)
    return data(1, name) + b"".join(number(8, i) for i in content) + number(20, 7)


def node(op: str, inputs: list[str], outputs: list[str], name: str = "", domain: str = "", **attributes) -> bytes:
    body = b"".join(data(1, i) for i in inputs) + b"".join(data(2, o) for o in outputs)
    body += data(3, name or f"{op}_{outputs[0]}") + data(4, op)
    body += b"".join(data(5, attribute(k, v)) for k, v in attributes.items())
    return body + (data(7, domain) if domain else b"")


def model(nodes: list[bytes], inputs: list[bytes], outputs: list[bytes], initializers: list[bytes] = (),
          opset: int = 17, domains: dict[str, int] | None = None, name: str = "graph") -> bytes:
    graph = b"".join(data(1, n) for n in nodes) + data(2, name) + b"".join(data(5, t) for t in initializers)
    graph += b"".join(data(11, i) for i in inputs) + b"".join(data(12, o) for o in outputs)
    opsets = {"": opset, **(domains or {})}
    imports = b"".join(data(8, (data(1, d) if d else b"") + number(2, v)) for d, v in opsets.items())
    return number(1, 8) + data(2, "onnx_builder") + data(7, graph) + imports


def relu_model(dims: list[int | str] | None = None) -> bytes:
    dims = [1, 3, 4, 4] if dims is None else dims
    return model([node("Relu", ["x"], ["y"], "relu1")], [value("x", dims)], [value("y", dims)])


def conv_model() -> bytes:
    """conv 3 -> 4, batch norm, relu, global pool: something for every verb."""
    weights = [((i * 37) % 19 - 9) / 20 for i in range(4 * 3 * 3 * 3)]
    ones, zeros = [1.0] * 4, [0.0] * 4
    nodes = [
        node("Conv", ["x", "w"], ["c"], "conv1", pads=[1, 1, 1, 1], kernel_shape=[3, 3]),
        node("BatchNormalization", ["c", "s", "b", "m", "v"], ["n"], "bn1"),
        node("Relu", ["n"], ["r"], "relu1"),
        node("GlobalAveragePool", ["r"], ["p"], "pool1"),
        node("Flatten", ["p"], ["y"], "flatten1"),
    ]
    constants = [tensor("w", [4, 3, 3, 3], weights), tensor("s", [4], [0.5, 1.0, 2.0, 1.5]), tensor("b", [4], zeros),
                 tensor("m", [4], zeros), tensor("v", [4], ones)]
    return model(nodes, [value("x", ["batch", 3, 8, 8])], [value("y", ["batch", 4])], constants)
