#!/usr/bin/env python3
"""Runs com.microsoft::DynamicQuantizeLSTM here and in ONNX Runtime.

    dynamic_lstm_check.py [--edgecompile PATH] [--seed N] [--count N] [--out DIR]

Needs onnx and onnxruntime. One layer of random sizes, directions, weights (u8 or i8, per layer or per column), with and without bias,
lengths, initial states and peepholes. Activations pass through 8 bits, so that a value on the border of two steps may fall to either
side: results may differ by 2e-3 of the largest, which is less than one step, and by 1e-5 in nine of ten models.
"""
import pathlib
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

import comparison
import program

BOUND, USUAL = 2e-3, 1e-5


def quantized(rng, shape, signed, per_column):
    """Weights [directions, in, 4 * hidden] with their scales and zero points."""
    dtype = np.int8 if signed else np.uint8
    values = rng.integers(-127, 128, shape).astype(np.int16)
    sizes = (shape[0], shape[2]) if per_column else (shape[0],)
    scale = rng.uniform(0.002, 0.02, sizes).astype(np.float32)
    zero = 0 if signed else 128
    return (values + zero).astype(dtype), scale, np.full(sizes, zero, dtype)


def make(rng):
    time, batch, size, hidden = (int(rng.integers(1, n)) for n in (9, 4, 12, 10))
    direction = str(rng.choice(["forward", "reverse", "bidirectional"]))
    directions = 2 if direction == "bidirectional" else 1
    per_column, signed = bool(rng.integers(2)), bool(rng.integers(2))
    w = quantized(rng, (directions, size, 4 * hidden), signed, per_column)
    r = quantized(rng, (directions, hidden, 4 * hidden), signed, per_column)
    constants = {"W": w[0], "R": r[0], "Ws": w[1], "Wz": w[2], "Rs": r[1], "Rz": r[2]}
    optional = {"B": rng.normal(0, 0.5, (directions, 8 * hidden)), "h0": rng.normal(0, 0.5, (directions, batch, hidden)),
                "c0": rng.normal(0, 0.5, (directions, batch, hidden)), "P": rng.normal(0, 0.5, (directions, 3 * hidden))}
    used = {name: value.astype(np.float32) for name, value in optional.items() if rng.random() < 0.5}
    if rng.random() < 0.3 and time > 1:
        used["lens"] = np.full(batch, time, np.int32)
    constants |= used
    names = ["X", "W", "R", "B", "lens", "h0", "c0", "P", "Ws", "Wz", "Rs", "Rz"]
    node = helper.make_node("DynamicQuantizeLSTM", [n if n == "X" or n in constants else "" for n in names], ["Y", "Yh", "Yc"],
                            domain="com.microsoft", hidden_size=hidden, direction=direction)
    graph = helper.make_graph(
        [node], "lstm", [helper.make_tensor_value_info("X", TensorProto.FLOAT, [time, batch, size])],
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in ("Y", "Yh", "Yc")],
        [numpy_helper.from_array(value, name) for name, value in constants.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)], ir_version=8)
    return model, rng.normal(0, 1, (time, batch, size)).astype(np.float32)


def main():
    parser = comparison.parser(__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=40)
    args = parser.parse_args()
    rows, errors = comparison.Rows(), []
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1  # several threads quantise parts of the batch by themselves
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "lstm.onnx"
        for i in range(args.count):
            model, x = make(np.random.default_rng([args.seed, i]))
            onnx.save(model, path)
            theirs = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"]).run(None, {"X": x})
            ours = list(program.run_model(args.edgecompile, path, {"X": x}).values())
            same = all(a.shape == b.shape for a, b in zip(ours, theirs))
            errors.append(max(float(np.abs(a - b).max() / max(np.abs(b).max(), 1e-9)) for a, b in zip(ours, theirs)) if same else np.inf)
    usual = sum(error <= USUAL for error in errors)
    rows.add({"models": args.count, "largest error": max(errors), "within 1e-5": usual, "ok": max(errors) <= BOUND and usual >= 0.9 * args.count})
    return rows.finish(args.out, "dynamic_lstm.json")


if __name__ == "__main__":
    sys.exit(main())
