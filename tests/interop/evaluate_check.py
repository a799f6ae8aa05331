#!/usr/bin/env python3
"""Compares what `edgecompile evaluate` tells with the same networks scored in ONNX Runtime and LiteRT.

    evaluate_check.py [--edgecompile PATH] [--out DIR] [NAME ...]

Needs onnxruntime, ai-edge-litert, numpy and pillow. Works on ../shared/data (skips where that folder is absent). For each
network: top-1 of the float model in ONNX Runtime and of the int8 file in LiteRT, on the images that quantize_check.py scores, against
the figures of one run of `evaluate`. JPEG decoders differ by a step here and there, so a few samples may fall on the other side.
Exit status 1: a figure differs by more than that.
"""
import pathlib
import sys
import tempfile

import numpy as np

import comparison
import labelled_images
import program
from engines import ort_session
from litert import PictureModel
from labelled_images import DATA
from quantize_check import NETWORKS, compile_to, images_of

# Of top-1 and of agreement: two samples of a thousand.
TOLERANCE = 0.002


def check(name, tool, folder, reference=False):
    """With 8-bit scores in the kernels that users get, or as compiled by default in the reference kernels, which round as we do."""
    model, kind, size, options, _, _ = NETWORKS[name]
    calibration, test = images_of(kind)
    listing, labels = labelled_images.write_listing(folder / f"{name}.txt", calibration), folder / f"{name}.labels"
    labels.write_text("".join(f"{f.relative_to(DATA)}\t{label}\n" for f, label in test))
    written = folder / f"{name}.tflite"
    compile_to(tool, DATA / model, written, size, "-q", "ptq", "--calibration-data", listing, "--calibration-method", "minmax",
               "--precise-outputs", "auto" if reference else "off", *labelled_images.OPTIONS[kind], *options)
    # Preprocessing is recorded in the file.
    told = program.report(tool, "evaluate", written, "--reference", DATA / model, "--data", DATA, "--labels", labels, "--threads", "2")
    session = ort_session(DATA / model)
    source, quantised = session.get_inputs()[0].name, PictureModel(written, reference)
    right, same = [0, 0], 0
    for file, label in test:
        value = labelled_images.pixels(file, kind)
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
    integers = TOLERANCE if reference else 4 * TOLERANCE
    row["ok"] = all(abs(a - b) <= limit for (a, b), limit in (
        (row["top1_float"], TOLERANCE), (row["top1_int8"], integers), (row["agreement"], integers)))
    return row


def main():
    parser = comparison.parser(__doc__)
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    if not DATA.is_dir():
        print(f"evaluate_check: no {DATA}, skipped")
        return 0
    rows = comparison.Rows()
    with tempfile.TemporaryDirectory() as folder:
        for name in arguments.names or ("mobilenet_v2", "cifar_mobilenetv2"):
            rows.add(check(name, arguments.edgecompile, pathlib.Path(folder)))
        rows.add(check("cifar_mobilenetv2", arguments.edgecompile, pathlib.Path(folder), reference=True))
    return rows.finish(arguments.out, "evaluate.json")


if __name__ == "__main__":
    sys.exit(main())
