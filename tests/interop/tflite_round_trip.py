#!/usr/bin/env python3
"""Reads every .tflite file, writes it again and lets LiteRT's reference kernels run both.

    tflite_round_trip.py [--edgecompile PATH] [--runs N] [MODEL.tflite ...]

Needs ai-edge-litert. Without models: all below ../shared/data, where that folder exists. Integers must be equal in every
element, floats within 1e-5 of the largest value. Operators, the names of what they compute, types, shapes and quantisation
are compared, too: what is not the same must be in EXPLAINED. Exit status 1: a file differs, or is refused though LiteRT
runs it.
"""

from __future__ import annotations

import argparse
import pathlib
import sys
import tempfile
from collections import Counter

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import numpy as np

import model_set
import program
from litert import open_model, operators, run_in_order
from tflite_check import random_input

FLOAT_TOLERANCE = 1e-5
# Operators that come back as others, and why. Everything else must come back as it is.
EXPLAINED = {
    "SQUARE": "x * x, which is MUL",
    "ADD_N": "sums of two, which are ADD",
    "SELECT": "SELECT_V2 is the same with broadcasting",
}


def run(interpreter, values: list[np.ndarray]) -> list[np.ndarray]:
    interpreter.reset_all_variables()
    return run_in_order(interpreter, values)


def difference(expected: np.ndarray, actual: np.ndarray) -> str:
    if expected.shape != actual.shape or expected.dtype != actual.dtype:
        return f"{actual.dtype}{list(actual.shape)} instead of {expected.dtype}{list(expected.shape)}"
    if not np.issubdtype(expected.dtype, np.floating):
        wrong = int((expected != actual).sum())
        return f"{wrong} of {expected.size} integers differ" if wrong else ""
    largest = float(np.abs(expected).max(initial=0))
    error = float(np.abs(expected - actual).max(initial=0))
    return f"floats differ by {error / largest:.1e}" if error > FLOAT_TOLERANCE * largest else ""


def computed_tensors(interpreter) -> dict[str, dict]:
    """What operators compute, by name."""
    details = {d["index"]: d for d in interpreter.get_tensor_details()}
    return {details[int(i)]["name"]: details[int(i)] for op in operators(interpreter) for i in op["outputs"] if int(i) in details}


def parameters(detail: dict) -> tuple:
    quant = detail["quantization_parameters"]
    return (detail["dtype"], tuple(detail["shape"]), tuple(quant["scales"]), tuple(quant["zero_points"]))


def changes(original, written) -> list[str]:
    before, after = (Counter(op["op_name"] for op in operators(i)) for i in (original, written))
    found = [f"{name} {before[name]} -> {after[name]}" for name in sorted(before | after) if before[name] != after[name]]
    if found and all(name in EXPLAINED for name in before - after):
        found = []
    old, new = computed_tensors(original), computed_tensors(written)
    found += [f"'{name}' is gone" for name in old if name not in new][:3]
    found += [f"'{name}' is new" for name in new if name not in old][:3] if not set(before) & set(EXPLAINED) else []
    found += [f"'{name}' has other parameters" for name in old if name in new and parameters(old[name]) != parameters(new[name])][:3]
    return found


def check(path: pathlib.Path, tool: str, runs: int) -> tuple[bool, str]:
    try:
        original = open_model(path)
    except (ValueError, RuntimeError) as error:
        return True, f"skipped: LiteRT does not run it ({str(error).splitlines()[0][:80]})"
    with tempfile.TemporaryDirectory() as folder:
        copy = pathlib.Path(folder) / "copy.tflite"
        try:
            program.report(tool, path, "-t", "tflite", "-o", copy)
        except program.Failed as error:
            return False, str(error)[:300]
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
        if found := changes(original, written):
            return False, "equal results, but " + ", ".join(found)
        return True, f"the same {len(operators(original))} operators, names, parameters and results"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--edgecompile", default=program.find())
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("models", nargs="*", type=pathlib.Path)
    arguments = parser.parse_args()
    root = model_set.shared_data()
    models = arguments.models or model_set.shared_tflite_files()
    failed = 0
    for path in models:
        good, text = check(path, arguments.edgecompile, arguments.runs)
        failed += not good
        print(f"{'ok  ' if good else 'FAIL'} {path.relative_to(root) if path.is_relative_to(root) else path}: {text}", flush=True)
    print(f"{len(models) - failed} of {len(models)} files hold")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
