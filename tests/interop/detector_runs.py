"""Detectors run by other runtimes: real outputs in the order of the original network, whatever types a file has."""

from __future__ import annotations

import pathlib

import numpy as np

import litert
from engines import ort_session


def with_fixed_sizes(path: pathlib.Path, shape: tuple[int, ...], target: pathlib.Path) -> None:
    """As ONNX Runtime's quantiser wants to see a model: sizes fixed, shapes known, and operators that have scales per channel."""
    import onnx
    from onnx import version_converter

    model = onnx.load(path)
    if model.opset_import[0].version < 13:
        model = version_converter.convert_version(model, 17)
    for dim, size in zip(model.graph.input[0].type.tensor_type.shape.dim, shape):
        dim.dim_value = size
    del model.graph.value_info[:]
    for output in model.graph.output:
        output.type.tensor_type.ClearField("shape")
    onnx.save(onnx.shape_inference.infer_shapes(model), target)


class OnnxDetector:
    """As it stands, in floating point."""

    def __init__(self, path: pathlib.Path) -> None:
        self.session = ort_session(path, as_it_stands=True)
        self.input = self.session.get_inputs()[0].name
        self.outputs = [o.name for o in self.session.get_outputs()]

    def __call__(self, sample: np.ndarray) -> list[np.ndarray]:
        return self.session.run(None, {self.input: sample[None]})


class LiteDetector:
    """A .tflite file by its signature, which has the names of the original network."""

    def __init__(self, path: pathlib.Path, names: list[str]) -> None:
        # The reference kernels take minutes; the delegate gives the same but for a step here and there. It refuses some files
        # of others (splits whose results have scales of their own), which run without it.
        try:
            self.interpreter = litert.open_model(path, reference=False, num_threads=1)
        except RuntimeError:
            self.interpreter = litert.open_model(path, reference=False, delegate=False, num_threads=1)
        self.runner = self.interpreter.get_signature_runner("serving_default")
        (self.input, self.detail), *_ = self.runner.get_input_details().items()
        self.outputs = self.runner.get_output_details()
        self.names = names

    def __call__(self, sample: np.ndarray) -> list[np.ndarray]:
        value = sample[None]
        if self.detail["dtype"] != np.float32:
            scale, zero = self.detail["quantization"]
            limits = np.iinfo(self.detail["dtype"])
            value = np.clip(np.round(value / scale) + zero, limits.min, limits.max).astype(self.detail["dtype"])
        got = self.runner(**{self.input: value})
        return [self._real(name, got[name]) if name in got else self._joined(name, got) for name in self.names]

    def _joined(self, name: str, got: dict[str, np.ndarray]) -> np.ndarray:
        """What --split-outputs took apart."""
        parts = [self._real(part, got[part]) for part in (f"{name}_values", f"{name}_scores")]
        axis = next((i for i, (a, b) in enumerate(zip(parts[0].shape, parts[1].shape)) if a != b), len(parts[0].shape) - 1)
        return np.concatenate(parts, axis)

    def _real(self, name: str, value: np.ndarray) -> np.ndarray:
        if value.dtype == np.float32:
            return value
        scale, zero = self.outputs[name]["quantization"]
        return (value.astype(np.float32) - zero) * np.float32(scale)


def opened(path: pathlib.Path, names: list[str]):
    return OnnxDetector(path) if path.suffix == ".onnx" else LiteDetector(path, names)
