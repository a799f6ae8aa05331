"""Reads what a TFLite file holds, with the standard library alone and nothing of the program under test."""

from __future__ import annotations

import dataclasses
import struct

TYPES = {0: "f32", 1: "f16", 2: "i32", 3: "u8", 4: "i64", 5: "string", 6: "bool", 7: "i16", 8: "complex64", 9: "i8", 10: "f64",
         11: "complex128", 12: "u64", 15: "u32", 16: "u16", 17: "i4", 18: "bf16"}  # fmt: skip
CUSTOM = 32


class Table:
    """A table of a FlatBuffers file, by field number."""

    def __init__(self, data: bytes, at: int) -> None:
        self.data, self.at = data, at
        self.vtable = at - struct.unpack_from("<i", data, at)[0]
        self.size = struct.unpack_from("<H", data, self.vtable)[0]

    def _field(self, number: int) -> int:
        slot = 4 + 2 * number
        if slot + 2 > self.size:
            return 0
        offset = struct.unpack_from("<H", self.data, self.vtable + slot)[0]
        return self.at + offset if offset else 0

    def scalar(self, number: int, form: str, default: float = 0) -> float:
        at = self._field(number)
        return struct.unpack_from("<" + form, self.data, at)[0] if at else default

    def _target(self, number: int) -> int:
        at = self._field(number)
        return at + struct.unpack_from("<I", self.data, at)[0] if at else 0

    def table(self, number: int) -> Table | None:
        at = self._target(number)
        return Table(self.data, at) if at else None

    def vector(self, number: int, form: str) -> list:
        at = self._target(number)
        if not at:
            return []
        count = struct.unpack_from("<I", self.data, at)[0]
        return list(struct.unpack_from(f"<{count}{form}", self.data, at + 4))

    def tables(self, number: int) -> list[Table]:
        at = self._target(number)
        if not at:
            return []
        count = struct.unpack_from("<I", self.data, at)[0]
        fields = [at + 4 + 4 * i for i in range(count)]
        return [Table(self.data, field + struct.unpack_from("<I", self.data, field)[0]) for field in fields]

    def bytes(self, number: int) -> bytes:
        at = self._target(number)
        if not at:
            return b""
        count = struct.unpack_from("<I", self.data, at)[0]
        return self.data[at + 4 : at + 4 + count]

    def text(self, number: int) -> str:
        return self.bytes(number).decode("utf-8", "replace")


@dataclasses.dataclass
class Tensor:
    name: str
    dtype: str
    shape: list[int]  # -1: open
    constant: bool
    scales: list[float]
    zero_points: list[int]


@dataclasses.dataclass
class Operator:
    code: int
    custom: str
    inputs: list[int]
    outputs: list[int]


@dataclasses.dataclass
class Subgraph:
    tensors: list[Tensor]
    inputs: list[int]
    outputs: list[int]
    operators: list[Operator]


@dataclasses.dataclass
class Model:
    subgraphs: list[Subgraph]
    input_names: list[str]
    output_names: list[str]
    metadata: dict[str, bytes]

    def value(self, index: int) -> Tensor:
        return self.subgraphs[0].tensors[index]


def _tensor(table: Table, buffers: list[bytes]) -> Tensor:
    shape, signature = table.vector(0, "i"), table.vector(7, "i")
    quantization = table.table(4)
    buffer = int(table.scalar(2, "I"))
    dtype = TYPES.get(int(table.scalar(1, "b")), "?")
    scales = quantization.vector(2, "f") if quantization and dtype in ("i8", "u8", "i16", "i32", "i4", "i64", "u16", "u32") else []
    zero_points = quantization.vector(3, "q") if quantization else []
    return Tensor(table.text(3), dtype, signature if -1 in signature else shape, buffer < len(buffers) and bool(buffers[buffer]),
                  scales if all(scales) else [], zero_points)  # fmt: skip


def read(data: bytes) -> Model:
    root = Table(data, struct.unpack_from("<I", data, 0)[0])
    codes = []
    for entry in root.tables(1):
        old, new = int(entry.scalar(0, "b")), int(entry.scalar(3, "i"))
        codes.append((max(old, new), entry.text(1)))
    buffers = [entry.bytes(0) for entry in root.tables(4)]
    subgraphs = []
    for graph in root.tables(2):
        operators = []
        for op in graph.tables(3):
            code, custom = codes[int(op.scalar(0, "I"))]
            operators.append(Operator(code, custom if code == CUSTOM else "", op.vector(1, "i"), op.vector(2, "i")))
        subgraphs.append(Subgraph([_tensor(t, buffers) for t in graph.tables(0)], graph.vector(1, "i"), graph.vector(2, "i"), operators))
    main = subgraphs[0]
    inputs = [main.tensors[i].name for i in main.inputs]
    outputs = [main.tensors[i].name for i in main.outputs]
    for signature in root.tables(7):
        if int(signature.scalar(4, "I")) != 0:
            continue
        named = {int(m.scalar(1, "I")): m.text(0) for m in signature.tables(0)}
        inputs = [named.get(i, main.tensors[i].name) for i in main.inputs]
        named = {int(m.scalar(1, "I")): m.text(0) for m in signature.tables(1)}
        outputs = [named.get(i, main.tensors[i].name) for i in main.outputs]
        break
    metadata = {}
    for entry in root.tables(6):
        buffer = int(entry.scalar(1, "I"))
        metadata[entry.text(0)] = buffers[buffer] if buffer < len(buffers) else b""
    return Model(subgraphs, inputs, outputs, metadata)
