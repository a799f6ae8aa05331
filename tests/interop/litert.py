"""LiteRT as the peer of .tflite files: models opened and run in the ways that the comparisons need."""

from __future__ import annotations

import pathlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np


def open_model(model: pathlib.Path | bytes, reference: bool = True, allocate: bool = True, delegate: bool = True, **options: Any):
    """An interpreter of a file or of its bytes: with the reference kernels, or with the ones that users get."""
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    source = {"model_content": model} if isinstance(model, bytes) else {"model_path": str(model)}
    usual = OpResolverType.AUTO if delegate else OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
    kernels = OpResolverType.BUILTIN_REF if reference else usual
    interpreter = Interpreter(**source, experimental_op_resolver_type=kernels, **options)
    if allocate:
        interpreter.allocate_tensors()
    return interpreter


# Of a final softmax or sigmoid on floats: the reference kernels add up thousands of powers one after the other (3e-5 off for
# 6,625 classes). A step of 8 bits inside the network moves results by a hundred times as much.
FLOAT_BOUND = 1e-4


def float_bound(quantization: Mapping[str, Any]) -> float:
    """How far results of a file may be from the reference kernels': not at all, but for a last function on floats."""
    last = [op for op in quantization["kept_in_float"] if op["reason"] == "gives the floats that the caller takes"]
    return FLOAT_BOUND if last else 0.0


def same_results(ours: np.ndarray, theirs: np.ndarray, bound: float = 0.0) -> bool:
    """The same bits, or within a bound where that is not zero."""
    return ours.shape == theirs.shape and bool(np.all(np.abs(ours - theirs) <= bound))


def run_in_order(interpreter, values: Sequence[np.ndarray]) -> list[np.ndarray]:
    for detail, value in zip(interpreter.get_input_details(), values):
        interpreter.set_tensor(detail["index"], value)
    interpreter.invoke()
    return [interpreter.get_tensor(detail["index"]) for detail in interpreter.get_output_details()]


def run_by_name(interpreter, values: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """By the names of tensors."""
    results = run_in_order(interpreter, [values[detail["name"]] for detail in interpreter.get_input_details()])
    return {detail["name"]: value for detail, value in zip(interpreter.get_output_details(), results)}


def run_signature(interpreter, feeds: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """By the names of the signature that we write; what it does not take is left out."""
    runner = interpreter.get_signature_runner("serving_default")
    wanted = runner.get_input_details()
    return runner(**{name: value for name, value in feeds.items() if name in wanted})


def operators(interpreter) -> list[dict]:
    """Those of the file, without what a delegate put in their place."""
    return [op for op in interpreter._get_ops_details() if op["op_name"] != "DELEGATE"]


class PictureModel:
    """A model of one picture: real outputs of real pixels (channels last), whatever layout and types the file has."""

    def __init__(self, path: pathlib.Path, reference: bool = False) -> None:
        self.interpreter = open_model(path, reference)
        self.input = self.interpreter.get_input_details()[0]
        self.output = self.interpreter.get_output_details()[0]

    def __call__(self, pixels: np.ndarray) -> np.ndarray:
        value = (pixels if self.input["shape"][-1] == 3 else pixels.transpose(2, 0, 1))[None]
        if self.input["dtype"] != np.float32:
            scale, zero = self.input["quantization"]
            limits = np.iinfo(self.input["dtype"])
            value = np.clip(np.round(value / scale) + zero, limits.min, limits.max)
        (result, *_) = run_in_order(self.interpreter, [np.ascontiguousarray(value, self.input["dtype"])])
        if self.output["dtype"] == np.float32:
            return result.reshape(-1)
        scale, zero = self.output["quantization"]
        return (result.reshape(-1).astype(np.float32) - zero) * scale
