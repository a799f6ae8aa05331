#!/usr/bin/env python3
"""Compiles the ONNX backend's node tests to .tflite files and lets LiteRT run them.

    tflite_nodes.py [--only TEXT] [--out DIR]

Needs onnx and ai-edge-litert. Results must be within 1e-4 of what the tests expect (integers equal). A model that is
refused is counted by its operator, with the reason: that list is what the `tflite` target does not express. Exit status 1:
a written file gives other results, or LiteRT does not run it.
"""

from __future__ import annotations

import argparse
import pathlib
import sys
import tempfile
from collections import Counter

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import numpy as np
import onnx

import comparison
import litert
import node_data
import node_suite
import program
from worker_pool import run_isolated

TOLERANCE = 1e-4
TYPES = {np.dtype(t) for t in (np.float32, np.int32, np.int64, np.bool_, np.int8, np.uint8)}
# Tests whose numbers come from elsewhere: random draws.
SKIP = ("bernoulli", "random", "dropout_default_mask", "training_dropout", "seeded")
# What LiteRT does otherwise, with the reason.
KNOWN = {
    "test_bitshift_right_int32_negative_shift": "LiteRT shifts by at least 0",
    "test_bitshift_right_int8_negative_shift": "LiteRT shifts by at least 0",
    "test_constantofshape_int_shape_zero": "LiteRT gives no buffer to outputs without elements",
}


def compile_model(path: pathlib.Path, output: pathlib.Path, feeds: dict[str, np.ndarray]) -> dict:
    shapes = program.shape_options((name, value.shape) for name, value in feeds.items() if value.ndim and all(value.shape))
    try:
        program.report(program.find(), path, "-t", "tflite", "-o", output, "--keep-io-layout", *shapes, timeout=60)
        return {}
    except program.Failed as error:
        first = error.errors[0] if error.errors else {"code": "no report", "message": str(error)}
        return {"refused": first.get("code", ""), "op": first.get("op_type", ""), "reason": first.get("message", "")}


def run_litert(path: pathlib.Path, feeds: dict[str, np.ndarray], outputs: list[str]) -> list[np.ndarray]:
    results = litert.run_signature(litert.open_model(path, reference=False, allocate=False), feeds)
    return [results[name] for name in outputs]


def with_constants(model: onnx.ModelProto, inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Makes everything but the first input a constant, as axes, sizes and weights are in exported models."""
    kept = dict(list(inputs.items())[:1])
    for name, value in list(inputs.items())[1:]:
        model.graph.initializer.append(onnx.numpy_helper.from_array(value, name))
    values = [v for v in model.graph.input if v.name in kept]
    del model.graph.input[:]
    model.graph.input.extend(values)
    return kept


def check(test: node_suite.NodeTest) -> dict:
    """In a worker."""
    model = onnx.load(test.model_path)
    if node_suite.io_class(model) != "tensor" or any(word in test.name for word in SKIP):
        return {"skipped": "no plain tensors"}
    inputs, values = node_suite.read_data_sets(test, model)[0]
    expected = dict(zip((o.name for o in model.graph.output), values))
    if any(v is None or v.dtype not in TYPES for v in [*inputs.values(), *expected.values()]):
        return {"skipped": "element types that LiteRT has no kernels for"}
    op = node_suite.subject_op(test, model)
    with tempfile.TemporaryDirectory() as scratch:
        file, source = pathlib.Path(scratch) / "model.tflite", pathlib.Path(scratch) / "model.onnx"
        inputs = with_constants(model, inputs)
        source.write_bytes(model.SerializeToString())
        if refused := compile_model(source, file, inputs):
            return {**refused, "op": refused["op"] or op}
        try:
            actual = run_litert(file, inputs, list(expected))
        except (RuntimeError, ValueError) as error:
            return {"op": op, "failed": str(error).strip()[:200]}
    for value, (name, wanted) in zip(actual, expected.items()):
        largest = float(np.abs(wanted[np.isfinite(wanted)]).max(initial=1)) if wanted.dtype.kind == "f" else 1.0
        if text := node_suite.compare(value, wanted, TOLERANCE, TOLERANCE * largest):
            return {"op": op, "failed": f"'{name}': {text}"}
    return {}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="tests whose name contains this")
    parser.add_argument("--suite", default="1.23.2")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--out", type=pathlib.Path)
    options = parser.parse_args()
    tests = [t for t in node_suite.list_tests(node_data.prepare(options.suite), ("node",)) if options.only in t.name]
    counts, refused, failed = Counter(), Counter(), {}
    for index, state, value in run_isolated(check, tests, options.workers, timeout=90):
        result = value if state == "done" else {"op": "?", "failed": f"{state} {value}"}
        kind = next((k for k in ("skipped", "refused", "failed") if k in result), "equal")
        counts[kind] += 1
        if kind == "refused":
            refused[f"{result['op']}: {result['refused']} {result['reason'][:120]}"] += 1
        if kind == "failed" and tests[index].name in KNOWN:
            print(f"known {tests[index].name}: {KNOWN[tests[index].name]}", flush=True)
        elif kind == "failed":
            failed[tests[index].name] = result["failed"]
            print(f"FAIL {tests[index].name}: {result['failed']}", flush=True)
    for text, count in sorted(refused.items()):
        print(f"refused {count:3} {text}")
    print(", ".join(f"{count} {kind}" for kind, count in sorted(counts.items())))
    comparison.save_json(options.out, "tflite_nodes.json", {"counts": counts, "refused": refused, "failed": failed})
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
