"""compile, optimize and quantize: model file in, rewritten model file out."""

from __future__ import annotations

import dataclasses
import json
import os
import pathlib
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Union

import numpy as np

from . import _native
from .ir import IRGraph

Model = Union[str, "os.PathLike[str]", IRGraph]
Shapes = Mapping[Union[str, int], Sequence[int]]
Sample = Union["np.ndarray[Any, Any]", Mapping[str, Any]]
CalibrationData = Union[str, "os.PathLike[str]", "np.ndarray[Any, Any]", Iterable[Sample]]


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
    calibration_data: CalibrationData | None = None,
    num_calibration_samples: int | None = None,
    calibration_method: str | None = None,
    calibration_percentile: float | None = None,
    mean: float | Sequence[float] | None = None,
    std: float | Sequence[float] | None = None,
    pixel_range: int | None = None,
    input_layout: str | None = None,
    color: str | None = None,
    resize: str | None = None,
    io_type: str | None = None,
    weights: str | None = None,
    equalize: str | None = None,
    balance: str | None = None,
    correct_bias: str | None = None,
    adapt_rounding: str | None = None,
    effort: str | None = None,
    max_drop: float | None = None,
    min_sqnr: float | None = None,
    keep_float: Sequence[str] = (),
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

    `quantize="ptq"` makes it integer, with ranges measured on `calibration_data`: a path (picture, folder, .npy, .npz,
    list), "random", an array whose first axis counts samples, or an iterable of arrays or of dicts by input name.
    Arrays are taken as they are; pictures become (pixel - mean) / std with pixels from 0 to `pixel_range`.
    `quantize="a16w8"` has 16-bit activations; "dynamic" and "float16" store weights smaller and need no data.
    `max_drop` and `min_sqnr` raise layers until the outputs are that close to the float model's; `equalize`, `balance`,
    `correct_bias` and `adapt_rounding` are "auto", "on" or "off".
    """
    if isinstance(model, IRGraph) and output is None:
        raise ValueError("a graph has no file name: give output=")
    wanted = _Wanted(
        quantize, calibration_data, num_calibration_samples, calibration_method, calibration_percentile, mean, std,
        pixel_range, input_layout, color, resize, io_type, weights, equalize, balance, correct_bias,
        adapt_rounding, effort, max_drop, min_sqnr, keep_float,
    )  # fmt: skip
    report = _run(
        _native.compile, model, target, output, input_shapes, dims, passes, disable_pass, keep_io_layout, wanted
    )
    operations = int(report["operations_after"])
    placement = report.get("placement")
    fallback = placement["host"] if placement else 0
    on_target = placement["native"] if placement else operations
    return CompileResult(report["output"], str(report.get("target") or target), on_target, fallback, report)


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


@dataclasses.dataclass(frozen=True)
class _Wanted:
    """The keywords of quantisation as they were given."""

    quantize: str | None = None
    calibration_data: CalibrationData | None = None
    num_calibration_samples: int | None = None
    calibration_method: str | None = None
    calibration_percentile: float | None = None
    mean: float | Sequence[float] | None = None
    std: float | Sequence[float] | None = None
    pixel_range: int | None = None
    input_layout: str | None = None
    color: str | None = None
    resize: str | None = None
    io_type: str | None = None
    weights: str | None = None
    equalize: str | None = None
    balance: str | None = None
    correct_bias: str | None = None
    adapt_rounding: str | None = None
    effort: str | None = None
    max_drop: float | None = None
    min_sqnr: float | None = None
    keep_float: Sequence[str] = ()

    def native(self, scratch: pathlib.Path) -> _native.Quantization:
        result = _native.Quantization()
        texts = {}
        for name in (
            "quantize", "calibration_method", "pixel_range", "input_layout", "color", "resize", "io_type", "weights",
            "equalize", "balance", "correct_bias", "adapt_rounding", "effort",
        ):  # fmt: skip
            if (value := getattr(self, name)) is not None:
                texts[name] = str(value)
        if self.calibration_data is not None:
            texts["calibration_data"] = _calibration_path(self.calibration_data, scratch)
        numbers = {}
        for name in ("mean", "std", "calibration_percentile", "max_drop", "min_sqnr"):
            if (value := getattr(self, name)) is not None:
                numbers[name] = [float(v) for v in np.atleast_1d(value)]
        if self.num_calibration_samples is not None:
            if self.num_calibration_samples < 1:
                raise ValueError("num_calibration_samples must be at least 1")
            numbers["calibration_samples"] = [float(self.num_calibration_samples)]
        result.texts, result.numbers, result.keep_float = texts, numbers, list(self.keep_float)
        return result


def _calibration_path(data: CalibrationData, scratch: pathlib.Path) -> str:
    """A path as it is; arrays go to files one by one, so that an iterator of any length needs no memory."""
    if isinstance(data, (str, os.PathLike)):
        return os.fspath(data)
    if isinstance(data, np.ndarray):
        np.save(scratch / "samples.npy", data)
        return str(scratch / "samples.npy")
    folder = scratch / "samples"
    folder.mkdir()
    for i, sample in enumerate(data):
        if isinstance(sample, Mapping):
            np.savez(folder / f"{i:08}.npz", **{str(name): np.asarray(value) for name, value in sample.items()})
        else:
            np.save(folder / f"{i:08}.npy", np.asarray(sample))
    return str(folder)


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
    wanted: _Wanted = _Wanted(),
) -> dict[str, Any]:
    out = "" if output is None else os.fspath(output)
    with tempfile.TemporaryDirectory() as scratch:
        if isinstance(model, IRGraph):
            path = pathlib.Path(scratch) / "graph.ecir"
            model.save(path)
        else:
            path = pathlib.Path(model)
        shapes, sizes = named_shapes(input_shapes), dict(dims or {})
        quantization = wanted.native(pathlib.Path(scratch))
        text = function(
            str(path), target, out, shapes, sizes, passes, list(disable_pass), keep_io_layout, quantization
        )
    report: dict[str, Any] = json.loads(text)
    return report
