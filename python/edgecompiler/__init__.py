"""edgecompiler: compiles neural networks for edge hardware, and runs them on the CPU.

    import edgecompiler
    graph = edgecompiler.load("model.onnx")
    print(edgecompiler.print_ir(graph))

`edgecompiler.runtime.InferenceSession` runs models, `edgecompiler.ir` holds the graph classes, `edgecompiler.errors`
the exceptions, `edgecompiler.reports` the types of the reports.
"""

from __future__ import annotations

from collections.abc import Mapping

from . import _native, errors, ir, reports, runtime
from ._jobs import check, compile, evaluate, inspect, optimize, quantize
from ._lists import explain, passes, targets
from ._models import CompileResult, Model, Shapes, native_model
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
    "check",
    "compile",
    "errors",
    "evaluate",
    "explain",
    "inspect",
    "ir",
    "load",
    "optimize",
    "parse_ir",
    "passes",
    "print_ir",
    "quantize",
    "reports",
    "runtime",
    "targets",
]

__version__: str = _native.__version__


def load(
    model: Model,
    *,
    input_shapes: Shapes | None = None,
    dims: Mapping[str, int] | None = None,
    input_values: Mapping[str, object] | None = None,
) -> IRGraph:
    """Reads a model (the format is told by its content) into a graph, as it stands in the file.

    `model` is a path, or the content of a model file as bytes. `input_shapes` fixes open dimensions by input name or
    position, `dims` by the dimension's name in the model, `input_values` the parameters that are no tensors.
    """
    options = {"input_shapes": input_shapes, "dims": dims, "input_values": input_values}
    return IRGraph._from_native(_native.load(native_model(model), options))


def print_ir(graph: IRGraph, *, elide: bool = False) -> str:
    """The graph as .ecir text. With `elide` large constants print as `...`: shorter, but it does not parse back."""
    return graph._to_native().print(elide)


def parse_ir(text: str) -> IRGraph:
    """The graph that .ecir text describes."""
    return IRGraph._from_native(_native.parse_ir(text))
