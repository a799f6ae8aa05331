#!/usr/bin/env python3
"""Weights that edgecompile stores in fewer bits, against coremltools.optimize of the same weights: no more bytes, and no
larger squared error.

usage: coreml_compress_check.py [--edgecompile PROGRAM] [--out DIR] [MODEL...]

Without models: weights of several shapes and distributions, and the MobileNetV2 of ../shared/data where it is there. The
weights are those of the uncompressed package in half precision; both sides are read by coremltools, so that its own
evaluation unpacks what we store. Runs in an environment of requirements-coreml.txt.
"""

from __future__ import annotations

import argparse
import dataclasses
import logging
import os
import pathlib
import subprocess
import sys
import tempfile
import warnings

warnings.filterwarnings("ignore")
logging.disable(logging.CRITICAL)

import numpy as np  # noqa: E402
from coremltools.converters.mil.frontend.milproto.load import load as load_program  # noqa: E402
from coremltools.optimize.coreml._quantization_passes import linear_quantize_weights, palettize_weights, prune_weights  # noqa: E402
from coremltools.proto import Model_pb2  # noqa: E402

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "tests/e2e"))
import onnx_builder as onnx  # noqa: E402

FORMS = ("palettize:1", "palettize:2", "palettize:3", "palettize:4", "palettize:6", "palettize:8", "int4:32", "int8", "sparse:0.5", "sparse:0.75")
SPARE = 1e-3  # the last step of half precision, in which both unpack
SMALL = 2048  # weights that coremltools leaves by default


def program_of(package: pathlib.Path):
    # Not through coremltools.utils: opening a package there rewrites its manifest.
    spec = Model_pb2.Model()
    spec.ParseFromString((package / "Data/com.apple.CoreML/model.mlmodel").read_bytes())
    weights = package / "Data/com.apple.CoreML/weights"
    return load_program(spec, spec.specificationVersion, file_weights_dir=str(weights)).functions["main"]


@dataclasses.dataclass
class Stored:
    value: np.ndarray
    bytes: float


def bits_of(array: np.ndarray, sub_byte: int | None) -> int:
    return array.size * (sub_byte or array.dtype.itemsize * 8)


def dense_weights(package: pathlib.Path) -> dict[str, np.ndarray]:
    return {op.outputs[0].name: op.outputs[0].val for op in program_of(package).operations
            if op.op_type == "const" and isinstance(op.outputs[0].val, np.ndarray) and op.outputs[0].val.dtype == np.float16
            and op.outputs[0].val.ndim > 1 and op.outputs[0].val.size > SMALL}


def stored_weights(package: pathlib.Path, form: str) -> dict[str, Stored]:
    """What our package unpacks to and what it takes, by the name of the weight."""
    kind, _, parameter = form.partition(":")
    result = {}
    for op in program_of(package).operations:
        if not op.op_type.startswith("constexpr_"):
            continue
        value = op.materialized_val_inference()
        count = value.size
        if kind == "palettize":
            bits = count * int(parameter) + bits_of(op.inputs["lut"].val, None)
        elif kind == "sparse":
            bits = count + bits_of(op.inputs["nonzero_data"].val, None)
        elif kind == "int4":
            bits = count * 4 + bits_of(op.inputs["scale"].val, None)
        else:
            bits = count * 8 + bits_of(op.inputs["scale"].val, None)
        result[op.outputs[0].name] = Stored(value, bits / 8)
    return result


def their_weight(weight: np.ndarray, form: str) -> Stored | None:
    """coremltools' form of the same weight; None where it leaves the weight or lacks a library."""
    kind, _, parameter = form.partition(":")
    if kind == "palettize":
        try:
            made = palettize_weights.blockwise_compress(weight, "KMEANS", int(parameter), [0] * weight.ndim)
        except ModuleNotFoundError:  # scikit-learn, for weights of less than 10,000 elements
            return None
        return Stored(palettize_weights.decompress(made), (weight.size * int(parameter) + bits_of(made.lut.astype(np.float16), None)) / 8)
    if kind == "sparse":
        # In single precision: of halves its percentile is rounded, and above 65,504 elements no number at all, which keeps every weight.
        made = prune_weights.compress_by_magnitude(weight.astype(np.float32), float(parameter))
        return Stored(prune_weights.decompress(made), (weight.size + bits_of(made.nonzero_data.astype(np.float16), None)) / 8)
    bits = 4 if kind == "int4" else 8
    blocks = [1, int(parameter) if kind == "int4" else 0] + [0] * (weight.ndim - 2)
    made = linear_quantize_weights.blockwise_compress(weight, bits, "LINEAR_SYMMETRIC", True, blocks)
    if made is None:  # blocks that do not divide the inputs
        return None
    value = linear_quantize_weights.decompress(made)
    return Stored(value, (weight.size * bits + bits_of(made.scale.astype(np.float16), None)) / 8)


def error_of(weight: np.ndarray, stored: Stored) -> float:
    return float(np.sum((weight.astype(np.float64) - stored.value.astype(np.float64).reshape(weight.shape)) ** 2))


def made_models(folder: pathlib.Path) -> list[pathlib.Path]:
    """One layer each, with weights of different shapes and distributions."""
    random = np.random.default_rng(1)
    cases = {
        "normal": random.normal(0, 0.05, (128, 96)),
        "laplace_filter": random.laplace(0, 0.02, (96, 64, 3, 3)),
        "outliers": np.where(random.random((160, 128)) < 0.01, 8, 1) * random.normal(0, 0.1, (160, 128)),
        "uniform": random.uniform(-1, 1, (64, 512)),
        "channels_apart": random.normal(0, 1, (128, 96)) * np.exp(random.normal(0, 1.5, (128, 1))),
        "few_values": np.round(random.normal(0, 2, (128, 96))) / 8,
        "pointwise": random.normal(0, 0.3, (128, 160, 1, 1)),
    }
    models = []
    for name, weight in cases.items():
        shape, image = list(weight.shape), weight.ndim == 4
        tensor = onnx.tensor("w", shape, [float(v) for v in weight.astype(np.float32).ravel()])
        x = [1, shape[1], 8, 8] if image else [1, shape[1]]
        y = [1, shape[0], 9 - shape[2], 9 - shape[3]] if image else [1, shape[0]]
        node = onnx.node("Conv", ["x", "w"], ["y"]) if image else onnx.node("Gemm", ["x", "w"], ["y"], transB=1)
        models.append(folder / f"{name}.onnx")
        models[-1].write_bytes(onnx.model([node], [onnx.value("x", x)], [onnx.value("y", y)], [tensor]))
    return models


def real_models() -> list[pathlib.Path]:
    shared = pathlib.Path(os.environ.get("EC_SHARED_DATA", REPOSITORY.parent / "shared/data"))
    return [model for model in [shared / "onnx/mobilenet_v2_1.0_224.onnx"] if model.is_file()]


def compile_package(program: str, model: pathlib.Path, package: pathlib.Path, *options: str) -> pathlib.Path:
    run = subprocess.run([program, model, "-t", "metal", "-o", package, *options], capture_output=True, text=True, timeout=600)
    if run.returncode != 0:
        raise AssertionError(f"{model.name} {' '.join(options)}: {run.stderr.strip()[-300:]}")
    return package


@dataclasses.dataclass
class Row:
    model: str
    form: str
    compared: int = 0
    left: int = 0  # that coremltools does not store in this form
    our_bytes: float = 0
    their_bytes: float = 0
    our_error: float = 0
    their_error: float = 0
    worse: list[str] = dataclasses.field(default_factory=list)

    def text(self) -> str:
        ratio = self.our_error / self.their_error if self.their_error else 1.0
        return (f"| {self.model} | {self.form} | {self.compared} | {self.left} | {self.our_bytes:.0f} | {self.their_bytes:.0f} | "
                f"{self.our_error:.6g} | {self.their_error:.6g} | {ratio:.4f} |")


def compare(model: str, form: str, weights: dict[str, np.ndarray], ours: dict[str, Stored]) -> Row:
    row = Row(model, form)
    for name, weight in weights.items():
        if name not in ours:
            continue
        theirs = their_weight(weight, form)
        if theirs is None:
            row.left += 1
            continue
        errors = error_of(weight, ours[name]), error_of(weight, theirs)
        row.compared += 1
        row.our_bytes += ours[name].bytes
        row.their_bytes += theirs.bytes
        row.our_error += errors[0]
        row.their_error += errors[1]
        if ours[name].bytes > theirs.bytes + 1 or errors[0] > errors[1] * (1 + SPARE):
            row.worse.append(f"{model} {form} {name}: {ours[name].bytes:.0f} bytes, error {errors[0]:.6g}; "
                             f"coremltools {theirs.bytes:.0f}, {errors[1]:.6g}")
    return row


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--edgecompile", default=str(REPOSITORY / "build/bin/edgecompile"))
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("models", nargs="*", type=pathlib.Path)
    options = parser.parse_args()
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for model in options.models or made_models(folder) + real_models():
            weights = dense_weights(compile_package(options.edgecompile, model, folder / f"{model.stem}.mlpackage"))
            for form in FORMS:
                package = folder / f"{model.stem}_{form.replace(':', '_')}.mlpackage"
                compile_package(options.edgecompile, model, package, "--compress-weights", form)
                rows.append(compare(model.stem, form, weights, stored_weights(package, form)))
    worse = [line for row in rows for line in row.worse]
    compared = sum(row.compared for row in rows)
    lines = [f"{compared} weights in {len(FORMS)} forms against coremltools.optimize: {len(worse)} with more bytes or a larger error, "
             f"{sum(row.left for row in rows)} that coremltools does not store so", "",
             "| weights | form | compared | not by coremltools | bytes | theirs | squared error | theirs | ratio |",
             "|---|---|---|---|---|---|---|---|---|"]
    lines += [row.text() for row in rows] + [""] + worse
    print(lines[0])
    for line in worse:
        print("  " + line)
    if options.out:
        options.out.mkdir(parents=True, exist_ok=True)
        (options.out / "coreml_compress.md").write_text("\n".join(lines) + "\n")
    return 1 if worse or compared == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
