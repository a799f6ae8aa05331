"""Models as callers have them, and what jobs give back."""

from __future__ import annotations

import dataclasses
import os
import pathlib
from collections.abc import Mapping, Sequence
from typing import Union

from . import _native
from .ir import IRGraph
from .reports import CompileReport

StrPath = Union[str, "os.PathLike[str]"]
# A path, the content of a model file, or a graph.
Model = Union[str, "os.PathLike[str]", bytes, bytearray, memoryview, IRGraph]
# Sizes by input name or position; a list alone is for the only input. None leaves a size open.
Shapes = Union[Mapping[str, Sequence[Union[int, None]]], Mapping[int, Sequence[Union[int, None]]], Sequence[int]]


@dataclasses.dataclass(frozen=True)
class CompileResult:
    """What a compilation made. `report` is a dict, the same object that the command line prints with --json."""

    output_path: str | None
    backend: str
    ops_on_target: int
    ops_fallback: int
    report: CompileReport


def has_no_path(model: object) -> bool:
    """Whether the model is in memory: no file name can be derived from it."""
    return isinstance(model, (bytes, bytearray, memoryview, IRGraph))


def native_model(model: Model) -> _native.Model:
    """The model as the native part takes it."""
    if isinstance(model, IRGraph):
        return _native.Model.from_graph(model.name or "graph", model._to_native())
    if isinstance(model, (bytes, bytearray, memoryview)):
        return _native.Model.from_bytes("model", model)
    return _native.Model(os.fspath(model))


def model_path(model: Model, scratch: pathlib.Path) -> str:
    """A path to the model; one that is in memory goes to a file."""
    if isinstance(model, IRGraph):
        path = scratch / "graph.ecir"
        model.save(path)
        return str(path)
    if isinstance(model, (bytes, bytearray, memoryview)):
        path = scratch / "model"
        path.write_bytes(model)
        return str(path)
    return os.fspath(model)
