"""compile, optimize and evaluate: model files in, reports and rewritten files out."""

from __future__ import annotations

import dataclasses
import json
import os
import pathlib
import tempfile
from collections.abc import Mapping, Sequence
from typing import Any, Union, overload

import numpy as np

from . import _native
from ._samples import Samples, samples_path
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


@overload
def compile(model: Model, target: str = "cpu", **options: Any) -> CompileResult: ...
@overload
def compile(model: Sequence[Model], target: str = "cpu", **options: Any) -> list[CompileResult]: ...
def compile(
    model: Model | Sequence[Model],
    target: str = "cpu",
    *,
    quantize: str | None = None,
    calibration_data: Samples | None = None,
    num_calibration_samples: int | None = None,
    calibration_method: str | None = None,
    calibration_percentile: float | None = None,
    save_statistics: str | os.PathLike[str] | None = None,
    statistics: str | os.PathLike[str] | None = None,
    mean: float | Sequence[float] | None = None,
    std: float | Sequence[float] | None = None,
    pixel_range: int | None = None,
    input_layout: str | None = None,
    color: str | None = None,
    resize: str | None = None,
    fold_preprocessing: bool = False,
    io_type: str | None = None,
    weights: str | None = None,
    equalize: str | None = None,
    balance: str | None = None,
    correct_bias: str | None = None,
    adapt_rounding: str | None = None,
    precise_outputs: str | None = None,
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
    threads: int | None = None,
    strict: bool = False,
    edgetpu_runtime: int | None = None,
    edgetpu_rules: str | None = None,
    edgetpu_compiler: bool = False,
    segments: int | None = None,
) -> CompileResult | list[CompileResult]:
    """Compiles a model file or a graph for a target and writes the target's file.

    Without `output` it goes beside the model as NAME_TARGET.EXT; a graph needs `output`. `passes` replaces the target's
    list of passes, `disable_pass` leaves some out. `keep_io_layout`: a target that has images channels last ("tflite")
    keeps the model's order for inputs and outputs. A list of models is compiled together where the target can ("coral":
    they share the device), `output` is a directory then, and the results are a list.

    `quantize="ptq"` makes it integer, with ranges measured on `calibration_data`: a path (picture, folder, .npy, .npz,
    .pt, raw file, list), "random", an array whose first axis counts samples, a dict of such arrays by input name, or an
    iterable of samples (arrays, tuples in input order, dicts by input name), which is streamed. Arrays are taken as they
    are; pictures become (pixel - mean) / std with pixels from 0 to `pixel_range`. `fold_preprocessing` makes that part of
    the model, which then takes uint8 RGB pixels. `save_statistics` writes what was measured to a file, which
    `statistics` takes in place of the data.

    `quantize="a16w8"` has 16-bit activations; "dynamic" and "float16" store weights smaller and need no data. `max_drop`
    and `min_sqnr` raise layers until the outputs are that close to the float model's; `equalize`, `balance`,
    `correct_bias`, `adapt_rounding` and `precise_outputs` are "auto", "on" or "off".

    For "coral": `strict` fails where an operation does not run on the device, `edgetpu_runtime` is its version,
    `edgetpu_rules` "fitted" or "published", `edgetpu_compiler` runs Google's compiler on the result, and `segments` cuts
    the model for a pipeline of as many devices (`report["segments"]`).
    """
    together = isinstance(model, Sequence) and not isinstance(model, (str, bytes))
    models: list[Model] = list(model) if together else [model]  # type: ignore[arg-type, list-item]
    if output is None and any(isinstance(m, IRGraph) for m in models):
        raise ValueError("a graph has no file name: give output=")
    if num_calibration_samples is not None and num_calibration_samples < 1:
        raise ValueError("num_calibration_samples must be at least 1")
    with tempfile.TemporaryDirectory() as name:
        scratch = pathlib.Path(name)
        options = _options(
            texts={
                "target": target, "output": output, "passes": passes, "quantize": quantize,
                "calibration_method": calibration_method, "save_statistics": save_statistics, "statistics": statistics,
                "pixel_range": pixel_range, "input_layout": input_layout, "color": color, "resize": resize,
                "io_type": io_type, "weights": weights, "equalize": equalize, "balance": balance,
                "correct_bias": correct_bias, "adapt_rounding": adapt_rounding, "precise_outputs": precise_outputs,
                "effort": effort, "edgetpu_rules": edgetpu_rules,
                "calibration_data": None if calibration_data is None else samples_path(calibration_data, scratch),
            },
            numbers={
                "calibration_samples": num_calibration_samples, "calibration_percentile": calibration_percentile,
                "mean": mean, "std": std, "max_drop": max_drop, "min_sqnr": min_sqnr, "threads": threads,
                "edgetpu_runtime": edgetpu_runtime, "segments": segments,
            },
            flags={
                "keep_io_layout": keep_io_layout, "fold_preprocessing": fold_preprocessing, "strict": strict,
                "edgetpu_compiler": edgetpu_compiler,
            },
            lists={"keep_float": keep_float, "disable_pass": disable_pass},
            input_shapes=input_shapes,
            dims=dims,
        )  # fmt: skip
        paths = [_model_path(m, scratch, i) for i, m in enumerate(models)]
        reports = json.loads(_native.compile(paths, options))["models"]
    results = [_compile_result(report, target) for report in reports]
    return results if together else results[0]


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
    options = _options(
        texts={"output": output, "passes": passes},
        lists={"disable_pass": disable_pass},
        input_shapes=input_shapes,
        dims=dims,
    )
    with tempfile.TemporaryDirectory() as scratch:
        report = json.loads(_native.optimize(_model_path(model, pathlib.Path(scratch)), options))
    return CompileResult(report["output"], "cpu", int(report["operations_after"]), 0, report)


def evaluate(
    model: Model,
    data: Samples,
    *,
    reference: Model | None = None,
    labels: str | os.PathLike[str] | Sequence[int] | None = None,
    label_offset: int = 0,
    num_samples: int | None = None,
    confusion: bool = False,
    mean: float | Sequence[float] | None = None,
    std: float | Sequence[float] | None = None,
    pixel_range: int | None = None,
    input_layout: str | None = None,
    color: str | None = None,
    resize: str | None = None,
    input_shapes: Shapes | None = None,
    dims: Mapping[str, int] | None = None,
    threads: int = 1,
    target: str = "cpu",
) -> dict[str, Any]:
    """Runs a model on data and gives what `edgecompile evaluate --json` prints: top-1 and top-5 accuracy of the model and
    of the `reference`, and for every output how far the two are apart.

    `data` takes the forms of `calibration_data`. Labels are told by class folders, or stand beside the samples: `(array,
    label)` tuples, `(batch, labels)` as a DataLoader gives them, files that hold `labels` or `y`. Or they are given: a file of
    "PATH LABEL" lines relative to `data`, or one integer per sample. `label_offset` is 1 for networks whose first class is the background.
    Preprocessing that is not given is taken from the model's file where it is recorded there.
    """
    with tempfile.TemporaryDirectory() as name:
        scratch = pathlib.Path(name)
        options = _options(
            texts={
                "target": target, "data": samples_path(data, scratch, labelled=True),
                "labels": _labels_path(labels, scratch),
                "reference": None if reference is None else _model_path(reference, scratch, 1),
                "pixel_range": pixel_range, "input_layout": input_layout, "color": color, "resize": resize,
            },
            numbers={"label_offset": label_offset, "samples": num_samples, "mean": mean, "std": std, "threads": threads},
            flags={"confusion": confusion},
            input_shapes=input_shapes,
            dims=dims,
        )  # fmt: skip
        report: dict[str, Any] = json.loads(_native.evaluate(_model_path(model, scratch), options))
    return report


def _compile_result(report: dict[str, Any], target: str) -> CompileResult:
    operations = int(report["operations_after"])
    placement = report.get("placement")
    fallback = placement["host"] if placement else 0
    on_target = placement["native"] if placement else operations
    return CompileResult(report["output"], str(report.get("target") or target), on_target, fallback, report)


def _model_path(model: Model, scratch: pathlib.Path, index: int = 0) -> str:
    if not isinstance(model, IRGraph):
        return os.fspath(model)
    path = scratch / f"graph_{index}.ecir"
    model.save(path)
    return str(path)


def _labels_path(labels: str | os.PathLike[str] | Sequence[int] | None, scratch: pathlib.Path) -> str | None:
    if labels is None or isinstance(labels, (str, os.PathLike)):
        return None if labels is None else os.fspath(labels)
    np.save(scratch / "labels.npy", np.asarray(labels, np.int64))
    return str(scratch / "labels.npy")


def _options(
    texts: Mapping[str, Any],
    numbers: Mapping[str, Any] | None = None,
    flags: Mapping[str, bool] | None = None,
    lists: Mapping[str, Sequence[str]] | None = None,
    input_shapes: Shapes | None = None,
    dims: Mapping[str, int] | None = None,
) -> _native.Options:
    """The native options; what is None keeps its default."""
    result = _native.Options()
    result.texts = {
        key: os.fspath(value) if isinstance(value, os.PathLike) else str(value)
        for key, value in texts.items()
        if value is not None
    }
    result.numbers = {
        key: [float(v) for v in np.atleast_1d(value)] for key, value in (numbers or {}).items() if value is not None
    }
    result.flags = dict(flags or {})
    result.lists = {key: list(value) for key, value in (lists or {}).items()}
    result.input_shapes, result.dims = named_shapes(input_shapes), dict(dims or {})
    return result
