#!/usr/bin/env python3
"""Reads every .tflite file, writes it again and lets LiteRT's reference kernels run both.

    tflite_round_trip.py [--edgecompile PATH] [--runs N] [MODEL.tflite ...]

Needs ai-edge-litert. Without models: all below ../shared/data, where that folder exists. Integers must be equal in every
element, floats within 1e-5 of the largest value. Exit status 1: a file differs, or is refused though LiteRT runs it.
"""

from __future__ import annotations

import argparse
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import numpy as np

import model_set
from tflite_check import random_input

FLOAT_TOLERANCE = 1e-5


def open_model(path: pathlib.Path):
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    interpreter = Interpreter(model_path=str(path), experimental_op_resolver_type=OpResolverType.BUILTIN_REF)
    interpreter.allocate_tensors()
    return interpreter


def run(interpreter, values: list[np.ndarray]) -> list[np.ndarray]:
    interpreter.reset_all_variables()
    for detail, value in zip(interpreter.get_input_details(), values):
        interpreter.set_tensor(detail["index"], value)
    interpreter.invoke()
    return [interpreter.get_tensor(d["index"]) for d in interpreter.get_output_details()]


def difference(expected: np.ndarray, actual: np.ndarray) -> str:
    if expected.shape != actual.shape or expected.dtype != actual.dtype:
        return f"{actual.dtype}{list(actual.shape)} instead of {expected.dtype}{list(expected.shape)}"
    if not np.issubdtype(expected.dtype, np.floating):
        wrong = int((expected != actual).sum())
        return f"{wrong} of {expected.size} integers differ" if wrong else ""
    largest = float(np.abs(expected).max(initial=0))
    error = float(np.abs(expected - actual).max(initial=0))
    return f"floats differ by {error / largest:.1e}" if error > FLOAT_TOLERANCE * largest else ""


def operators(interpreter) -> int:
    return len([op for op in interpreter._get_ops_details() if op["op_name"] != "DELEGATE"])


def check(path: pathlib.Path, program: str, runs: int) -> tuple[bool, str]:
    try:
        original = open_model(path)
    except (ValueError, RuntimeError) as error:
        return True, f"skipped: LiteRT does not run it ({str(error).splitlines()[0][:80]})"
    with tempfile.TemporaryDirectory() as folder:
        copy = pathlib.Path(folder) / "copy.tflite"
        outcome = subprocess.run([program, str(path), "-t", "tflite", "-o", str(copy)], capture_output=True, text=True)
        if outcome.returncode != 0:
            return False, f"exit {outcome.returncode}: {outcome.stderr.strip().splitlines()[0][:300] if outcome.stderr else ''}"
        try:
            written = open_model(copy)
        except (ValueError, RuntimeError) as error:
            return False, f"LiteRT refuses the written file: {str(error)[:300]}"
        generator = np.random.default_rng(0)
        for _ in range(runs):
            values = [random_input(d, d["shape"], generator) for d in original.get_input_details()]
            for expected, actual in zip(run(original, values), run(written, values)):
                if text := difference(expected, actual):
                    return False, text
        return True, f"equal; {operators(original)} operators before, {operators(written)} after"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--edgecompile", default=None)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("models", nargs="*", type=pathlib.Path)
    arguments = parser.parse_args()
    program = arguments.edgecompile or str(model_set.find_binary())
    root = model_set.shared_data()
    models = arguments.models or sorted(root.rglob("*.tflite"))
    failed = 0
    for path in models:
        good, text = check(path, program, arguments.runs)
        failed += not good
        print(f"{'ok  ' if good else 'FAIL'} {path.relative_to(root) if path.is_relative_to(root) else path}: {text}", flush=True)
    print(f"{len(models) - failed} of {len(models)} files hold")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
