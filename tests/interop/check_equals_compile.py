#!/usr/bin/env python3
"""`check` tells of every model and target what `compile` reports of the file that it writes.

usage: check_equals_compile.py [--edgecompile PROGRAM] [--shared DIR]
"""

from __future__ import annotations

import argparse
import os
import pathlib
import sys
import tempfile

import program


def models(shared: pathlib.Path) -> list[pathlib.Path]:
    data = shared / "data"
    found = [p for folder in ("cifar10/zoo", "torchscript", "torch213", "coral", "mlperf_tiny", "tflm", "basic_pitch", "onnx")
             for p in sorted((data / folder).glob("*")) if p.suffix in (".onnx", ".tflite", ".pt", ".pt2")]
    return [p for p in found if not p.name.startswith("reject") and "_edgetpu" not in p.name]


def rows(report: dict) -> list[tuple]:
    return [(row["name"], row["op"], row["source_op"], row["placement"], row["reason"], row["fix"]) for row in report["operations"]]


def compare(tool: str, model: pathlib.Path, arguments: list[str], folder: str) -> str:
    """"" where both agree, "refused" where compile does not take the model, else the difference."""
    extension = ".ecir" if arguments[1] == "cpu" else ".tflite"
    try:
        compiled = program.report(tool, "compile", model, *arguments, "-o", f"{folder}/out{extension}")
    except program.Failed:
        return "refused"
    try:
        checked = program.report(tool, "check", model, *arguments)
    except program.Failed as failed:
        # It reports all the same what cannot run: a custom operator is kept in an .ecir.
        if failed.result is None:
            raise
        checked = failed.result
    a, b = rows(checked), rows(compiled["placement"])
    if a == b:
        return ""
    first = next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))
    return f"{len(a)} and {len(b)} rows, first difference at {first}: {a[first:first + 1]} {b[first:first + 1]}"


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--edgecompile", default=program.find())
    parser.add_argument("--shared", type=pathlib.Path, default=pathlib.Path(os.environ.get("EC_SHARED", "../shared")))
    options = parser.parse_args()
    images = options.shared / "data/cifar10/calibration"
    ptq = ["-q", "ptq", "--calibration-data", str(images), "--calibration-samples", "16", "--calibration-method", "minmax"]
    equal, refused, faults = 0, 0, []
    with tempfile.TemporaryDirectory() as folder:
        for model in models(options.shared):
            cases = [["-t", target] for target in ("cpu", "tflite", "coral")]
            if "zoo" in str(model):
                cases += [["-t", "tflite", *ptq], ["-t", "coral", *ptq], ["-t", "coral", *ptq, "--fold-preprocessing"], ["-t", "tflite", "-q", "dynamic"]]
            for arguments in cases:
                difference = compare(options.edgecompile, model, arguments, folder)
                equal, refused = equal + (difference == ""), refused + (difference == "refused")
                if difference not in ("", "refused"):
                    faults.append(f"{model.name} {' '.join(arguments[:4])}: {difference}")
    print("\n".join(faults) if faults else f"check equals compile: {equal} placements, {refused} that compile refuses")
    return 1 if faults or equal == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
