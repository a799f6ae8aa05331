#!/usr/bin/env python3
"""Compares what `edgecompile evaluate` tells with the same networks scored in ONNX Runtime and LiteRT.

    evaluate_check.py [--edgecompile PATH] [--out DIR] [NAME ...]

Needs onnxruntime, ai-edge-litert, numpy and pillow. Works on ../shared/data (skips where that folder is absent). For each
network: top-1 of the float model in ONNX Runtime and of the int8 file in LiteRT, on the images that quantize_check.py scores, against
the figures of one run of `evaluate`. JPEG decoders differ by a step here and there, so a few samples may fall on the other side.
Exit status 1: a figure differs by more than that.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnxruntime
from PIL import Image

from quantize_check import DATA, NETWORKS, ROOT, Scores, compile_to

# Of top-1 and of agreement: two samples of a thousand.
TOLERANCE = 0.002


def evaluate(program, model, reference, data, labels, options):
    command = [program, "evaluate", str(model), "--reference", str(reference), "--data", str(data), "--labels", str(labels),
               "--threads", "2", "--json", *map(str, options)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)}\n{done.stdout}\n{done.stderr}")
    return json.loads(done.stdout)["result"]


def check(name, program, folder):
    model, images, pixels, size, options, _, _ = NETWORKS[name]
    calibration, test = images()
    listing, labels = folder / f"{name}.txt", folder / f"{name}.labels"
    listing.write_text("".join(f"{f}\n" for f in calibration))
    labels.write_text("".join(f"{f.relative_to(DATA)}\t{label}\n" for f, label in test))
    written = folder / f"{name}.tflite"
    compile_to(program, DATA / model, written, size, "-q", "ptq", "--calibration-data", listing, "--calibration-method", "minmax", *options)
    told = evaluate(program, written, DATA / model, DATA, labels, ())  # preprocessing is recorded in the file
    session = onnxruntime.InferenceSession(str(DATA / model), providers=["CPUExecutionProvider"])
    source, quantised = session.get_inputs()[0].name, Scores(written)
    right, same = [0, 0], 0
    for file, label in test:
        value = pixels(Image.open(file).convert("RGB"))
        a = session.run(None, {source: np.ascontiguousarray(value.transpose(2, 0, 1)[None], np.float32)})[0].reshape(-1)
        b = quantised(value)
        right[0] += a.argmax() == label
        right[1] += b.argmax() == label
        same += a.argmax() == b.argmax()
    n = len(test)
    row = {"network": name, "images": n, "top1_float": [told["reference"]["top1"], right[0] / n],
           "top1_int8": [told["model"]["top1"], right[1] / n], "agreement": [told["outputs"][0]["top1_agreement"], same / n],
           "top5_float": told["reference"]["top5"], "sqnr_db": told["outputs"][0]["sqnr_db"]}
    # LiteRT's fast integer kernels round in other places than its reference kernels: another few samples.
    row["ok"] = all(abs(a - b) <= limit for (a, b), limit in (
        (row["top1_float"], TOLERANCE), (row["top1_int8"], 4 * TOLERANCE), (row["agreement"], 4 * TOLERANCE)))
    print(json.dumps(row, default=float), flush=True)
    return row


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--edgecompile", default=str(ROOT / "build" / "bin" / "edgecompile"))
    parser.add_argument("--out")
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    if not DATA.is_dir():
        print(f"evaluate_check: no {DATA}, skipped")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        rows = [check(name, arguments.edgecompile, pathlib.Path(folder))
                for name in arguments.names or ("mobilenet_v2", "cifar_mobilenetv2")]
    if arguments.out:
        pathlib.Path(arguments.out).mkdir(parents=True, exist_ok=True)
        (pathlib.Path(arguments.out) / "evaluate.json").write_text(json.dumps(rows, indent=1, default=float))
    return 0 if all(row["ok"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
