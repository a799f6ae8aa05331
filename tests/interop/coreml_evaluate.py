"""Evaluates a Core ML package without Apple's devices: loaded by coremltools, whose type inference sees every operation, then computed
operation by operation by its own value inference; where it has none, by the definition (coreml_references.py). Every result is rounded
to its declared type."""

from __future__ import annotations

import collections
import dataclasses
import pathlib

import numpy as np
from coremltools.converters.mil.frontend.milproto.load import load as load_program
from coremltools.converters.mil.mil.types.type_mapping import nptype_from_builtin, numpy_val_to_builtin_val
from coremltools.converters.mil.mil.types.symbolic import is_symbolic
from coremltools.proto import Model_pb2
from coreml_references import REFERENCES


# coremltools adds only one of the updates that go to one place, and joins interleaved operands one behind the other.
PREFERRED = {"concat", "scatter_along_axis"}


class NoEvaluation(Exception):
    """An operation that nobody here evaluates."""


@dataclasses.dataclass
class Evaluation:
    outputs: list[np.ndarray]
    # Operations by name: those that coremltools computed, and those of the definitions.
    own: collections.Counter
    defined: collections.Counter


def load(package: pathlib.Path):
    # Not through coremltools.utils: opening a package there rewrites its manifest.
    spec = Model_pb2.Model()
    spec.ParseFromString((package / "Data/com.apple.CoreML/model.mlmodel").read_bytes())
    return load_program(spec, spec.specificationVersion, file_weights_dir=str(package / "Data/com.apple.CoreML/weights"))


def put(var, value) -> None:
    value = np.asarray(value).astype(nptype_from_builtin(var.dtype))
    fits = len(value.shape) == len(var.shape) and all(is_symbolic(s) or n == int(s) for n, s in zip(value.shape, var.shape))
    if not fits:
        raise AssertionError(f"{var.name}: evaluated to {value.shape}, declared {tuple(var.shape)}")
    var._sym_val = numpy_val_to_builtin_val(value if value.ndim else value[()])[0]


def operands(op) -> dict:
    values = {}
    for name, var in op.inputs.items():
        if isinstance(var, (list, tuple)):
            values[name] = [v.val for v in var]
        elif var is not None and var.val is not None:
            values[name] = var.val
    return values


def has_open_sizes(op) -> bool:
    given = [v for var in op.inputs.values() if var is not None for v in (var if isinstance(var, (list, tuple)) else [var])]
    return any(is_symbolic(size) for var in [*given, *op.outputs] for size in var.shape)


def results_of(op, counts: Evaluation) -> list:
    if op.op_type.startswith("constexpr_"):
        found = op.materialized_val_inference()
    else:
        try:
            with np.errstate(all="ignore"):
                found = None if op.op_type in PREFERRED else op.value_inference()
        except NotImplementedError:
            found = None
        except Exception:  # an exclusive cumsum fails in coremltools itself
            if op.op_type not in REFERENCES:
                # coremltools computes reshapes and slices from declared sizes, also where only a run knows them.
                if has_open_sizes(op):
                    raise NoEvaluation(f"{op.op_type} to sizes that only the run knows") from None
                raise
            found = None
    if found is not None and any(np.asarray(x).dtype == object for x in (found if isinstance(found, (tuple, list)) else [found])):
        raise NoEvaluation(f"{op.op_type} of sizes that only the run knows")
    if found is not None:
        counts.own[op.op_type] += 1
        return list(found) if isinstance(found, (tuple, list)) else [found]
    if op.op_type not in REFERENCES:
        raise NoEvaluation(op.op_type)
    counts.defined[op.op_type] += 1
    values = operands(op)
    with np.errstate(all="ignore"):
        return REFERENCES[op.op_type](values, values)


def evaluate(package: pathlib.Path, inputs: list[np.ndarray]) -> Evaluation:
    """Raises NoEvaluation where an operation has none."""
    function = load(package).functions["main"]
    counts = Evaluation([], collections.Counter(), collections.Counter())
    for var, value in zip(function.inputs.values(), inputs):
        put(var, value)
    for op in function.operations:
        if op.op_type == "const":
            continue
        if op.blocks:
            raise NoEvaluation(op.op_type)
        for var, value in zip(op.outputs, results_of(op, counts)):
            put(var, value)
    counts.outputs = [np.asarray(var.val) for var in function.outputs]
    return counts
