"""compile and optimize: model file in, rewritten model file out."""

from __future__ import annotations

import dataclasses
import json
import os
import pathlib
import tempfile
from collections.abc import Mapping, Sequence
from typing import Any, Union

from . import _native
from .errors import QuantizationError
from .ir import IRGraph

Model = Union[str, "os.PathLike[str]", IRGraph]
Shapes = Mapping[Union[str, int], Sequence[int]]


@dataclasses.dataclass(frozen=True)
class CompileResult:
    """What a compilation made. `report` is the same object that the command line prints with --json."""

    output_path: str | None
    backend: str
    ops_on_target: int
    ops_fallback: int
    report: dict[str, Any]


def named_shapes(shapes: Shapes | None) -> dict[str, list[int]]:
    """Shapes by input name; positions become the texts that the native part reads as positions."""
    return {str(key): [int(d) for d in shape] for key, shape in (shapes or {}).items()}


def compile(
    model: Model,
    target: str = "cpu",
    *,
    quantize: str | None = None,
    calibration_data: Any = None,
    num_calibration_samples: int | None = None,
    output: str | os.PathLike[str] | None = None,
    input_shapes: Shapes | None = None,
    dims: Mapping[str, int] | None = None,
    passes: str = "",
    disable_pass: Sequence[str] = (),
    keep_io_layout: bool = False,
) -> CompileResult:
    """Compiles a model file or a graph for a target and writes the target's file.

    Without `output` it goes beside the model as NAME_TARGET.EXT; a graph needs `output`. `passes` replaces the target's
    list of passes, `disable_pass` leaves some out. `keep_io_layout`: a target that has images channels last ("tflite")
    keeps the model's order for inputs and outputs.
    """
    if quantize not in ("none", None) or calibration_data is not None or num_calibration_samples is not None:
        raise QuantizationError(f"this build compiles float models only: quantize={quantize!r} cannot be done")
    if isinstance(model, IRGraph) and output is None:
        raise ValueError("a graph has no file name: give output=")
    report = _run(_native.compile, model, target, output, input_shapes, dims, passes, disable_pass, keep_io_layout)
    operations = int(report["operations_after"])
    return CompileResult(report["output"], str(report.get("target") or target), operations, 0, report)


def optimize(
    model: Model,
    output: str | os.PathLike[str] | None = None,
    *,
    input_shapes: Shapes | None = None,
    dims: Mapping[str, int] | None = None,
    passes: str = "",
    disable_pass: Sequence[str] = (),
) -> CompileResult:
    """Simplifies a model and writes it to `output` (.onnx or .ecir); without `output` only the report is made."""
    report = _run(_native.optimize, model, "cpu", output, input_shapes, dims, passes, disable_pass)
    operations = int(report["operations_after"])
    return CompileResult(report["output"], "cpu", operations, 0, report)


def _run(
    function: Any,
    model: Model,
    target: str,
    output: str | os.PathLike[str] | None,
    input_shapes: Shapes | None,
    dims: Mapping[str, int] | None,
    passes: str,
    disable_pass: Sequence[str],
    keep_io_layout: bool = False,
) -> dict[str, Any]:
    out = "" if output is None else os.fspath(output)
    with tempfile.TemporaryDirectory() as scratch:
        if isinstance(model, IRGraph):
            path = pathlib.Path(scratch) / "graph.ecir"
            model.save(path)
        else:
            path = pathlib.Path(model)
        shapes, sizes = named_shapes(input_shapes), dict(dims or {})
        text = function(str(path), target, out, shapes, sizes, passes, list(disable_pass), keep_io_layout)
    report: dict[str, Any] = json.loads(text)
    return report
