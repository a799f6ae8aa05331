"""Running models: InferenceSession.

    from edgecompiler.runtime import InferenceSession

    with InferenceSession("model.onnx", threads=2) as session:
        outputs = session.run({"input": array})
        print(session.benchmark(iterations=100).mean_ms)
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, Union

import numpy as np

from . import _native
from ._dtypes import Array, IRDType, array_from_native, array_of, array_to_native, from_native_name, native_name
from ._models import Model, Shapes, native_model
from .errors import EdgeCompilerError
from .ir import Dim, TensorQuantization

__all__ = ["BenchmarkResult", "InferenceSession", "TensorInfo"]

ArrayLike = Any
Feeds = Union[Mapping[str, ArrayLike], Sequence[ArrayLike]]


@dataclasses.dataclass(frozen=True)
class TensorInfo:
    """What an input takes or an output gives. Open dimensions are names, or None when nothing is known."""

    name: str
    dtype: IRDType
    shape: tuple[Dim, ...] | None
    quantization: TensorQuantization | None = None


@dataclasses.dataclass(frozen=True)
class BenchmarkResult:
    """Latencies of one session in milliseconds, measured here."""

    iterations: int
    mean_ms: float
    p50_ms: float
    p95_ms: float
    p99_ms: float
    min_ms: float
    max_ms: float
    throughput_fps: float


class InferenceSession:
    """A model ready to run on the CPU, or on a device that its file was compiled for.

    path: a model file, its content as bytes, or an IRGraph. target: files that hold a device's code run on the device
    with its target, and with "auto"; other models run on the CPU, which is the default. input_shapes: sizes for open
    dimensions, by input name or position; dims: by the dimension's name in the model; input_values: parameters of the
    model that are no tensors. threads: worker threads, 0 for one per core. optimize=False runs the graph as imported;
    reference=True uses only the reference kernels. A session may be used from several threads; runs are done one after
    the other.

    A model with open sizes takes arrays of any of them: it is optimised once for every set of shapes. State that a model
    keeps (LSTM states, variables, buffers that forward() writes) lives from run to run until reset().
    """

    def __init__(
        self,
        path: Model,
        target: str | None = None,
        input_shapes: Shapes | None = None,
        threads: int = 1,
        *,
        dims: Mapping[str, int] | None = None,
        input_values: Mapping[str, object] | None = None,
        optimize: bool = True,
        reference: bool = False,
    ) -> None:
        options = {
            "target": target, "input_shapes": input_shapes, "dims": dims, "input_values": input_values,
            "threads": threads, "reference": reference, "passes": None if optimize else "none",
        }  # fmt: skip
        native = _native.Session.open(native_model(path), options)
        self._native = native
        self._closed = False
        self._inputs = tuple(_describe(info) for info in native.inputs())
        self._outputs = tuple(_describe(info) for info in native.outputs())

    @property
    def inputs(self) -> tuple[TensorInfo, ...]:
        """Inputs in the model's order."""
        return self._inputs

    @property
    def outputs(self) -> tuple[TensorInfo, ...]:
        """Outputs in the model's order."""
        return self._outputs

    def run(self, feeds: Feeds) -> dict[str, Array]:
        """Runs the model on arrays given by input name, or as a list in input order; gives outputs by name, in order.

        Arrays must have the input's element type; a Python number or list is converted to it. A quantised input takes
        its stored type or float32, which is then quantised with the input's parameters.
        """
        results = self._native.run(self._pack(feeds))
        arrays = (array_from_native(data, from_native_name(dtype), tuple(shape)) for dtype, shape, data in results)
        return dict(zip((info.name for info in self._outputs), arrays))

    def run_all_tensors(self, feeds: Feeds) -> dict[str, Array]:
        """Every tensor that the graph computes, by name, in order; always with the reference kernels.

        Opened with optimize=False, the session has the tensors of the model; otherwise those of the optimised graph.
        """
        results = self._native.run_all_tensors(self._pack(feeds))
        return {
            name: array_from_native(data, from_native_name(dtype), tuple(shape)) for name, dtype, shape, data in results
        }

    def benchmark(self, iterations: int = 100, warmup: int = 5, feeds: Feeds | None = None) -> BenchmarkResult:
        """Measures `iterations` runs after `warmup` others, on the given arrays or on random values of a fixed seed."""
        if iterations < 1:
            raise ValueError(f"iterations must be at least 1, not {iterations}")
        packed = None if feeds is None else self._pack(feeds)
        return BenchmarkResult(iterations, **self._native.benchmark(iterations, warmup, packed))

    def reset(self) -> None:
        """Sets state that the model keeps from run to run (LSTM, SVDF, variables, buffers) back to its initial values."""
        self._native.reset()

    def close(self) -> None:
        """Frees the model; the session can run no more. Closing twice is fine."""
        self._closed = True
        self._native.close()

    @property
    def is_closed(self) -> bool:
        return self._closed

    def __enter__(self) -> InferenceSession:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        state = " closed" if self.is_closed else ""
        return f"<InferenceSession{state}: {[i.name for i in self._inputs]} -> {[o.name for o in self._outputs]}>"

    def _pack(self, feeds: Feeds) -> list[tuple[str, str, list[int], Array]]:
        packed = []
        for name, array in self._named(feeds):
            try:
                dtype = IRDType.of(array.dtype)
            except TypeError as error:
                raise EdgeCompilerError(f"error EC7003: input {name!r}: {error}", code="EC7003") from None
            packed.append((name, native_name(dtype), list(array.shape), array_to_native(array, dtype)))
        return packed

    def _named(self, feeds: Feeds) -> Iterator[tuple[str, Array]]:
        """(name, array) pairs; names and shapes are checked by the native part, which says what was expected."""
        if isinstance(feeds, Mapping):
            items = [(str(name), value) for name, value in feeds.items()]
        else:
            values = [feeds] if isinstance(feeds, np.ndarray) else list(feeds)
            names = [info.name for info in self._inputs]
            if len(values) > len(names):
                raise ValueError(f"{len(values)} arrays for {len(names)} inputs: {', '.join(names)}")
            items = list(zip(names, values))
        types = {info.name: info.dtype for info in self._inputs}
        for name, value in items:
            if isinstance(value, (np.ndarray, np.generic)) or hasattr(value, "__array__"):
                yield name, array_of(value, f"input {name!r}")
            else:
                yield name, array_of(value, f"input {name!r}", types[name].numpy if name in types else None)


def _describe(info: tuple[str, str, list[Dim] | None, tuple[list[float], list[int], int] | None]) -> TensorInfo:
    name, dtype_text, shape, quant = info
    dtype = from_native_name(dtype_text)
    quantization = None if quant is None else TensorQuantization._from_native(quant, dtype)
    return TensorInfo(name, dtype, None if shape is None else tuple(shape), quantization)
