"""edgecompiler: compiles neural networks for edge hardware, and runs them on the CPU.

    import edgecompiler
    graph = edgecompiler.load("model.onnx")
    print(edgecompiler.print_ir(graph))

`edgecompiler.runtime.InferenceSession` runs models, `edgecompiler.ir` holds the graph classes, `edgecompiler.errors`
the exceptions.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from . import _native, runtime
from ._compile import CompileResult, compile, evaluate, named_shapes, optimize
from .errors import BackendError, Diagnostic, EdgeCompilerError, FrontendError, QuantizationError, UnsupportedOpError
from .ir import IRGraph

__all__ = [
    "BackendError",
    "CompileResult",
    "Diagnostic",
    "EdgeCompilerError",
    "FrontendError",
    "IRGraph",
    "QuantizationError",
    "UnsupportedOpError",
    "compile",
    "evaluate",
    "load",
    "optimize",
    "parse_ir",
    "print_ir",
    "runtime",
]

__version__: str = _native.__version__


def load(
    path: str | os.PathLike[str],
    *,
    input_shapes: Mapping[str | int, Sequence[int]] | None = None,
    dims: Mapping[str, int] | None = None,
) -> IRGraph:
    """Reads a model file (the format is told by its content) into a graph, as it stands in the file.

    `input_shapes` fixes open dimensions by input name or position, `dims` by the dimension's name in the model.
    """
    return IRGraph._from_native(_native.load(os.fspath(path), named_shapes(input_shapes), dict(dims or {})))


def print_ir(graph: IRGraph, *, elide: bool = False) -> str:
    """The graph as .ecir text. With `elide` large constants print as `...`: shorter, but it does not parse back."""
    return graph._to_native().print(elide)


def parse_ir(text: str) -> IRGraph:
    """The graph that .ecir text describes."""
    return IRGraph._from_native(_native.parse_ir(text))
