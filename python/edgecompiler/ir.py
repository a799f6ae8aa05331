"""The graph as Python objects: operations over named tensors.

The classes are plain data: build or change them freely, then print, validate, save, compile or run them. Loading a
model copies no weights, `IRTensor.data` is a read-only array on the loaded bytes.

    graph = edgecompiler.load("model.onnx")
    for op in graph.ops:
        print(op.op_type, op.inputs, op.outputs, op.attributes)
"""

from __future__ import annotations

import dataclasses
import heapq
import os
from collections.abc import Iterable, Sequence
from typing import Any, Union

import numpy as np

from . import _native
from ._dtypes import Array, IRDType, array_from_native, array_to_native, from_native_name, native_name

__all__ = ["Dim", "IRDType", "IRGraph", "IROperation", "IRTensor", "OpQuantization", "TensorQuantization"]

# A size, the name of an open dimension (equal names are equal sizes), or None: nothing is known.
Dim = Union[int, str, None]


@dataclasses.dataclass
class TensorQuantization:
    """real = scale * (stored - zero_point). With `axis`, one scale and zero point per index of that axis."""

    scale: float
    zero_point: int
    quantized_dtype: IRDType = IRDType.INT8
    axis: int | None = None
    scales: list[float] | None = None
    zero_points: list[int] | None = None

    @property
    def is_per_channel(self) -> bool:
        return self.axis is not None

    def _to_native(self) -> tuple[list[float], list[int], int]:
        if self.axis is None:
            return [self.scale], [self.zero_point], -1
        scales = list(self.scales or [self.scale])
        return scales, list(self.zero_points or [self.zero_point] * len(scales)), self.axis

    @classmethod
    def _from_native(cls, native: tuple[list[float], list[int], int], dtype: IRDType) -> TensorQuantization:
        scales, zero_points, axis = native
        if axis < 0:
            return cls(scales[0], zero_points[0], dtype)
        return cls(scales[0], zero_points[0], dtype, axis, list(scales), list(zero_points))


@dataclasses.dataclass
class OpQuantization:
    """The parameters an operation computes with, gathered from its tensors (first channel where per channel)."""

    input_scales: list[float]
    input_zero_points: list[int]
    output_scale: float
    output_zero_point: int


@dataclasses.dataclass(eq=False)
class IRTensor:
    """A named value. `data` is set for constants; `shape` is None when not even the rank is known."""

    name: str
    dtype: IRDType = IRDType.FLOAT32
    shape: list[Dim] | None = None
    data: Array | None = None
    quantization: TensorQuantization | None = None

    def __post_init__(self) -> None:
        self.dtype = IRDType.of(self.dtype)
        if self.shape is not None:
            self.shape = list(self.shape)
        elif self.data is not None:
            self.shape = list(np.shape(self.data))

    @property
    def is_constant(self) -> bool:
        return self.data is not None

    def __repr__(self) -> str:
        shape = "*" if self.shape is None else ",".join("?" if d is None else str(d) for d in self.shape)
        kind = " constant" if self.is_constant else ""
        return f"<IRTensor {self.name}: {native_name(self.dtype)}[{shape}]{kind}>"


@dataclasses.dataclass(eq=False)
class IROperation:
    """One operation. Absent optional inputs are None; `bodies` are the nested graphs of if, loop and scan."""

    op_type: str
    inputs: list[str | None] = dataclasses.field(default_factory=list)
    outputs: list[str] = dataclasses.field(default_factory=list)
    attributes: dict[str, Any] = dataclasses.field(default_factory=dict)
    quantization: OpQuantization | None = None
    bodies: list[IRGraph] = dataclasses.field(default_factory=list)
    source_names: list[str] = dataclasses.field(default_factory=list)  # nodes of the source model it stands for
    source_type: str = ""

    @property
    def is_quantized(self) -> bool:
        return self.quantization is not None

    def __repr__(self) -> str:
        inputs = ", ".join("none" if name is None else name for name in self.inputs)
        return f"<IROperation {', '.join(self.outputs)} = {self.op_type}({inputs})>"


class IRGraph:
    """A model: operations, tensors by name, inputs, outputs and metadata."""

    version: str = _native.IR_VERSION

    def __init__(self, name: str = "main") -> None:
        self.name = name
        self.ops: list[IROperation] = []
        self.tensors: dict[str, IRTensor] = {}
        self.metadata: dict[str, str] = {}
        self._inputs: list[IRTensor] = []
        self._outputs: list[IRTensor] = []
        self.output_names: list[str] = []

    # --- building -------------------------------------------------------------------------------

    @property
    def inputs(self) -> list[IRTensor]:
        return self._inputs

    @inputs.setter
    def inputs(self, tensors: Iterable[IRTensor]) -> None:
        self._inputs = [self.add_tensor(t) for t in tensors]

    @property
    def outputs(self) -> list[IRTensor]:
        return self._outputs

    @outputs.setter
    def outputs(self, tensors: Iterable[IRTensor]) -> None:
        self._outputs = [self.add_tensor(t) for t in tensors]
        self.output_names = [t.name for t in self._outputs]

    def add_tensor(self, tensor: IRTensor) -> IRTensor:
        """Adds a tensor; a tensor of that name must be the same object."""
        known = self.tensors.setdefault(tensor.name, tensor)
        if known is not tensor:
            raise ValueError(f"the graph has another tensor named {tensor.name!r}")
        return tensor

    def add_constant(self, name: str, data: Any) -> IRTensor:
        """Adds a constant with the values of an array."""
        array = np.asarray(data)
        return self.add_tensor(IRTensor(name, IRDType.of(array.dtype), list(array.shape), array))

    def add_op(self, op: IROperation) -> None:
        """Appends an operation; outputs that the graph does not know yet become tensors, types are inferred."""
        for name in op.outputs:
            if name not in self.tensors:
                self.tensors[name] = IRTensor(name)
        self.ops.append(op)

    # --- reading --------------------------------------------------------------------------------

    def get_tensor(self, name: str) -> IRTensor:
        """The tensor of that name; KeyError says which names are near."""
        try:
            return self.tensors[name]
        except KeyError:
            near = _native.nearest_names(name, list(self.tensors))
            hint = f"; did you mean {' or '.join(map(repr, near))}?" if near else ""
            raise KeyError(f"no tensor {name!r} in graph {self.name!r}{hint}") from None

    def producer(self, name: str) -> IROperation | None:
        """The operation that writes a tensor; None for inputs and constants."""
        return next((op for op in self.ops if name in op.outputs), None)

    def consumers(self, name: str) -> list[IROperation]:
        return [op for op in self.ops if name in op.inputs]

    def topological_sort(self) -> None:
        """Puts producers before consumers, otherwise keeping the order. ValueError if there is a cycle."""
        writer = {name: i for i, op in enumerate(self.ops) for name in op.outputs}
        waiting = [len({writer[n] for n in op.inputs if n in writer}) for op in self.ops]
        readers: list[set[int]] = [set() for _ in self.ops]
        for i, op in enumerate(self.ops):
            for name in op.inputs:
                if name in writer:
                    readers[writer[name]].add(i)
        ready = [i for i, count in enumerate(waiting) if count == 0]
        order: list[int] = []
        while ready:
            i = heapq.heappop(ready)
            order.append(i)
            for reader in readers[i]:
                waiting[reader] -= 1
                if waiting[reader] == 0:
                    heapq.heappush(ready, reader)
        if len(order) != len(self.ops):
            stuck = next(op for i, op in enumerate(self.ops) if waiting[i] > 0)
            raise ValueError(f"the operations form a cycle through {stuck!r}")
        self.ops = [self.ops[i] for i in order]

    def infer_types(self) -> None:
        """Computes element types and shapes of all results anew, after inputs or operations were changed."""
        written = {name for op in self.ops for name in op.outputs}
        for name in written:
            self.tensors[name].shape = None
        for name, dtype, shape, _, _ in self._to_native().tensors():
            if name in written:
                self.tensors[name].dtype, self.tensors[name].shape = from_native_name(dtype), shape

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the graph with its weights, in the format of the extension (.ecir or .onnx)."""
        _native.save(self._to_native(), os.fspath(path))

    def validate(self) -> list[str]:
        """All faults of the graph, in words; empty when it is sound."""
        from .errors import EdgeCompilerError

        try:
            native = self._to_native()
        except EdgeCompilerError as error:
            return [str(d) for d in error.diagnostics]
        return [d["text"] for d in native.verify()]

    def __repr__(self) -> str:
        return f"<IRGraph {self.name}: {len(self.ops)} operations, {len(self.tensors)} tensors>"

    def __str__(self) -> str:
        return self._to_native().print()

    # --- native form ----------------------------------------------------------------------------

    @classmethod
    def _from_native(cls, native: _native.Graph) -> IRGraph:
        graph = cls(native.name)
        graph.metadata = dict(native.metadata)
        for name, dtype_name, shape, data, quant in native.tensors():
            dtype = from_native_name(dtype_name)
            array = None if data is None else array_from_native(data, dtype, shape)
            quantization = None if quant is None else TensorQuantization._from_native(quant, dtype)
            graph.tensors[name] = IRTensor(name, dtype, shape, array, quantization)
        for op_type, inputs, outputs, attributes, bodies, source_names, source_type in native.ops():
            op = IROperation(op_type, inputs, outputs, attributes, None, [], source_names, source_type)
            op.bodies = [cls._from_native(body) for body in bodies]
            op.quantization = graph._gather_quantization(op)
            graph.ops.append(op)
        graph._inputs = [graph.tensors[name] for name in native.inputs]
        graph._outputs = [graph.tensors[name] for name, _ in native.outputs]
        graph.output_names = [name for _, name in native.outputs]
        return graph

    def _gather_quantization(self, op: IROperation) -> OpQuantization | None:
        inputs = [self.tensors[n].quantization for n in op.inputs if n is not None]
        output = self.tensors[op.outputs[0]].quantization if op.outputs else None
        known = [q for q in inputs if q is not None]
        if output is None or not known:
            return None
        return OpQuantization([q.scale for q in known], [q.zero_point for q in known], output.scale, output.zero_point)

    def _to_native(self) -> _native.Graph:
        native = _native.Graph(self.name)
        native.metadata = {str(k): str(v) for k, v in self.metadata.items()}
        for tensor in self._inputs:
            native.add_input(tensor.name, native_name(tensor.dtype), tensor.shape)
        for tensor in self.tensors.values():
            if tensor.data is not None:
                array = np.asarray(tensor.data)
                stored = array_to_native(array, tensor.dtype)
                native.add_constant(tensor.name, native_name(tensor.dtype), list(array.shape), stored)
        for op in _in_order(self):
            bodies = [body._to_native() for body in op.bodies]
            native.add_op(op.op_type, op.inputs, op.outputs, op.attributes, bodies, op.source_names, op.source_type)
        for tensor in self.tensors.values():
            if tensor.quantization is not None:
                native.set_quantization(tensor.name, *tensor.quantization._to_native())
            if tensor.shape is not None and tensor.data is None:
                native.declare_type(tensor.name, native_name(tensor.dtype), tensor.shape)
        for tensor, name in zip(self._outputs, self._interface_names()):
            native.add_output(name, tensor.name)
        return native

    def _interface_names(self) -> Sequence[str]:
        """Names of the outputs; kept apart because an output may be an input or be listed twice."""
        if len(self.output_names) == len(self._outputs):
            return self.output_names
        return [t.name for t in self._outputs]


def _in_order(graph: IRGraph) -> list[IROperation]:
    """The operations with producers first, without changing the graph's own list."""
    seen = {name for name, tensor in graph.tensors.items() if tensor.data is not None} | {t.name for t in graph.inputs}
    for op in graph.ops:
        if any(name is not None and name not in seen for name in op.inputs):
            ordered = IRGraph(graph.name)
            ordered.ops = list(graph.ops)
            try:
                ordered.topological_sort()
            except ValueError:
                return graph.ops  # the native part names the missing value
            return ordered.ops
        seen.update(op.outputs)
    return graph.ops
