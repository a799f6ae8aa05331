"""The jobs of the compiler: compile, check, optimize, quantize, evaluate and inspect.

Keywords are the options of the command line with underscores. The native part holds the one table of them: it checks
names and values here, and the signatures and the stub file (_jobs.pyi) are made from it.
"""

from __future__ import annotations

import inspect as _inspect
import os
import pathlib
import tempfile
from collections.abc import Sequence
from typing import Any, Callable, TypeVar

import numpy as np

from . import _native
from ._dtypes import array_of
from ._models import CompileResult, Model, StrPath, has_no_path, model_path, native_model
from ._samples import Samples, samples_path
from .reports import CompileReport, EvaluateReport, ModelSummary

__all__ = ["check", "compile", "evaluate", "inspect", "optimize", "quantize", "refresh_signatures"]

_Report = TypeVar("_Report")


def compile(model: Any, target: str | None = None, **options: Any) -> Any:
    """Compiles a model for a target and writes the target's file.

    `model` is a path, the content of a model file as bytes, or an IRGraph. Without `output` the file goes beside the
    model as NAME_TARGET.EXT; a model in memory needs `output`. A list of models is compiled together where the target
    can; `output` is a directory then, and the results are a list.

    `quantize="ptq"` makes it integer, with ranges measured on `calibration_data`: a path (image, folder, .npy, .npz,
    .pt, raw file, list), "random", an array whose first axis counts samples, a dict of such arrays by input name, or an
    iterable of samples (arrays, tuples in input order, dicts by input name), which is streamed. Arrays are taken as they
    are; images become (pixel - mean) / std with pixels from 0 to `pixel_range`.
    """
    together = isinstance(model, Sequence) and not isinstance(model, (str, bytes, bytearray, memoryview))
    models: list[Model] = list(model) if together else [model]
    if options.get("output") is None and options.get("output_dir") is None and any(has_no_path(m) for m in models):
        raise ValueError("a model in memory has no file name: give output=")
    with tempfile.TemporaryDirectory() as scratch:
        keywords = _keywords({"target": target, **options}, pathlib.Path(scratch))
        reports = _native.compile([native_model(m) for m in models], keywords)
    results = [_compile_result(report) for report in reports]
    return results if together else results[0]


def check(model: Model, target: str | None = None, **options: Any) -> Any:
    """What would run where: the report that `edgecompile check --json` prints.

    With a target a `reports.PlacementReport`; without one a `reports.CheckReport` with an entry for every target. A target
    that refuses the model is an entry with its reason; where all refuse it, the reason of the first is raised.

    Operations that cannot run are rows with reason and fix, not errors. Takes the options of `compile`, so that both
    judge the same graph.
    """
    return _report(_native.check, model, {"target": target, **options})


def optimize(model: Model, output: StrPath | None = None, **options: Any) -> CompileResult:
    """Simplifies a model and writes it to `output` (.onnx or .ecir); without `output` only the report is made."""
    return _compile_result(_report(_native.optimize, model, {"output": output, **options}))


def quantize(model: Model, output: StrPath | None = None, **options: Any) -> CompileResult:
    """Quantises a model and writes it to `output` (.ecir or .onnx); without `output` only the report is made.

    The result runs on the CPU and can be compiled later. `calibration_data` takes the forms of `compile`.
    """
    return _compile_result(_report(_native.quantize, model, {"output": output, **options}))


def evaluate(model: Model, data: Samples, **options: Any) -> EvaluateReport:
    """Runs a model on data and gives what `edgecompile evaluate --json` prints: top-1 and top-5 accuracy of the model and
    of the `reference`, and for every output how far the two are apart.

    `data` takes the forms of `calibration_data`. Labels are told by class folders, or stand beside the samples: `(array,
    label)` tuples, `(batch, labels)` as a DataLoader gives them, files that hold `labels` or `y`. Or they are given: a
    file of "PATH LABEL" lines relative to `data`, or one integer per sample. Preprocessing that is not given is taken
    from the model's file where it is recorded there.
    """
    return _report(_native.evaluate, model, {"data": data, **options})


def inspect(model: Model, **options: Any) -> ModelSummary:
    """Inputs, outputs, operations, parameters, multiply-adds and metadata: what `edgecompile inspect --json` prints."""
    return _report(_native.inspect, model, options)


def _report(job: Callable[[_native.Model, dict[str, Any]], _Report], model: Model, options: dict[str, Any]) -> _Report:
    with tempfile.TemporaryDirectory() as scratch:
        return job(native_model(model), _keywords(options, pathlib.Path(scratch)))


def _compile_result(report: CompileReport) -> CompileResult:
    placement = report.get("placement")
    fallback = placement["host"] if placement else 0
    on_target = placement["native"] + placement["reference"] if placement else report["operations_after"]
    return CompileResult(report["output"], report.get("target", ""), on_target, fallback, report)


def _keywords(options: dict[str, Any], scratch: pathlib.Path) -> dict[str, Any]:
    """The options that are given, with data that is in memory written to files."""
    to_path: dict[str, Callable[[Any], str]] = {
        "calibration_data": lambda data: samples_path(data, scratch),
        "data": lambda data: samples_path(data, scratch, labelled=True),
        "labels": lambda labels: _labels_path(labels, scratch),
        "reference": lambda model: model_path(model, scratch),
    }
    given = {key: value for key, value in options.items() if value is not None}
    return {key: to_path[key](value) if key in to_path else value for key, value in given.items()}


def _labels_path(labels: StrPath | Sequence[int], scratch: pathlib.Path) -> str:
    if isinstance(labels, (str, os.PathLike)):
        return os.fspath(labels)
    np.save(scratch / "labels.npy", array_of(labels, "labels=", np.int64, code="EC4003"))
    return str(scratch / "labels.npy")


# --- signatures ---
_ANNOTATIONS = {
    "flag": "bool", "level": "int", "integer": "int", "number": "float", "text": "str", "choice": "str",
    "file": "str | os.PathLike[str]", "directory": "str | os.PathLike[str]", "numbers": "float | Sequence[float]",
    "texts": "str | Sequence[str]", "items": "str | Sequence[str]", "shapes": "Shapes", "sizes": "Mapping[str, int]",
    "named_texts": "Mapping[str, object]",
}  # fmt: skip
_FUNCTIONS: tuple[Callable[..., Any], ...] = (compile, check, optimize, quantize, evaluate, inspect)
_DESCRIPTIONS = {function: function.__doc__ or "" for function in _FUNCTIONS}


def _set_signature(function: Callable[..., Any], table: list[dict[str, Any]]) -> None:
    own = {name: p for name, p in _own_parameters(function).items() if p.kind is not p.VAR_KEYWORD}
    parameters, lines = list(own.values()), []
    for option in table:
        if function.__name__ not in option["verbs"]:
            continue
        annotation = f"{_ANNOTATIONS[option['type']]} | None"
        for name in (option["name"], option["alias"]):
            if name and name not in own:
                parameters.append(_inspect.Parameter(name, _inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation))
        owner = f"{', '.join(option['targets'])}: " if option["targets"] else ""
        default = f" (default: {option['default']})" if option["default"] else ""
        lines.append(f"    {option['name']}: {owner}{option['help']}{default}")
    function.__signature__ = _inspect.Signature(parameters)  # type: ignore[attr-defined]
    function.__doc__ = _DESCRIPTIONS[function].rstrip() + "\n\n    Options:\n" + "\n".join(lines) + "\n"


def _own_parameters(function: Callable[..., Any]) -> dict[str, _inspect.Parameter]:
    function.__dict__.pop("__signature__", None)
    return dict(_inspect.signature(function).parameters)


def refresh_signatures() -> None:
    """Makes the signatures and help texts anew, after a back end with options of its own was added."""
    table = _native.option_table()
    for function in _FUNCTIONS:
        _set_signature(function, table)


refresh_signatures()
