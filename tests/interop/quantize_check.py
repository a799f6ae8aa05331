#!/usr/bin/env python3
"""Quantises real networks with calibration images and scores the written files in LiteRT.

    quantize_check.py [--edgecompile PATH] [--out DIR] [--limit N] [NAME ...]

Needs ai-edge-litert, numpy and pillow. Works on ../shared/data (skips where that folder is absent).
For each network: top-1 of the float file and of the int8 file, how often both agree, SQNR of the
outputs; and our own session gives what LiteRT's reference kernels give. Exit status 1: a network falls
below its mark.
"""
import pathlib
import sys
import tempfile
import time

import numpy as np
from edgecompiler.runtime import InferenceSession

import comparison
import labelled_images
import program
from litert import PictureModel, float_bound, same_results
from labelled_images import DATA

MOBILENET_V2 = ("onnx/mobilenet_v2_1.0_224.onnx", "imagenet", 224)
# Calibration and test images by kind.
PICTURES = {
    "imagenet": (labelled_images.imagenet_calibration, labelled_images.imagenet_test),
    "cifar": (labelled_images.cifar_calibration, labelled_images.cifar_test),
}

# name: model, kind of images, size, more options, marks for agreement and output SQNR (dB)
NETWORKS = {
    "mobilenet_v2": (*MOBILENET_V2, [], 0.978, 0.0),
    "mobilenet_v2_per_tensor": (*MOBILENET_V2, ["--weights", "per-tensor"], 0.90, 0.0),
    "mobilenet_v2_a16w8": (*MOBILENET_V2, ["-q", "a16w8"], 0.995, 0.0),
    "cifar_mobilenetv2": ("cifar10/zoo/mobilenetv2.onnx", "cifar", 32, [], 0.97, 27.0),
    "cifar_efficientnet": ("cifar10/zoo/efficientnet.onnx", "cifar", 32, [], 0.96, 22.0),
    "cifar_vit": ("cifar10/zoo/vit.onnx", "cifar", 32, [], 0.95, 20.0),
}


# 16-bit kernels of LiteRT are slow, and any image that differs would show.
FEWER_IMAGES = {"mobilenet_v2_per_tensor": 300, "mobilenet_v2_a16w8": 100}
# For the session next to the reference kernels, which are slow, by size of the images.
SESSION_IMAGES = {224: 3, 32: 50}


def images_of(kind):
    """Files to calibrate with, files with labels to score."""
    calibration, test = PICTURES[kind]
    return calibration(), test()


def compile_to(tool, model, output, size, *options):
    # The name of the only input may be left out.
    return program.report(tool, model, "-t", "tflite", "-o", output, "--input-shape", f"1x3x{size}x{size}", *options)


def session_against_reference(path, samples, bound):
    """Our session next to LiteRT's reference kernels: answers that are the same, with the same prediction, largest difference."""
    reference = PictureModel(path, reference=True)
    same = same_answer = 0
    largest = 0.0
    with InferenceSession(str(path)) as session:
        for pixels in samples:
            (got,) = session.run({session.inputs[0].name: pixels[None]}).values()
            got, wanted = got.reshape(-1), reference(pixels)
            same += same_results(got, wanted, bound)
            same_answer += got.argmax() == wanted.argmax()
            largest = max(largest, float(np.abs(got - wanted).max()))
    return {"images": len(samples), "same_results": int(same), "same_answer": int(same_answer), "largest": largest}


def session_holds(*compared):
    """Every picture is the same in every bit, also where normalisations stay float; behind a float softmax within its bound."""
    return all(c["same_results"] == c["images"] and c.get("same_bits_rounded", c["images"]) == c["images"] for c in compared)


def check(name, tool, folder, limit):
    model, kind, size, options, agreement_mark, sqnr_mark = NETWORKS[name]
    calibration, test = images_of(kind)
    test = labelled_images.every_few(test, limit or FEWER_IMAGES.get(name))
    listing = labelled_images.write_listing(folder / f"{name}.txt", calibration)
    plain, integers = folder / f"{name}_float.tflite", folder / f"{name}_int8.tflite"
    compile_to(tool, DATA / model, plain, size)
    start = time.time()
    result = compile_to(tool, DATA / model, integers, size, "-q", "ptq", "--calibration-data", listing, *labelled_images.OPTIONS[kind], *options)
    seconds = time.time() - start
    exact, quantised = PictureModel(plain), PictureModel(integers)
    right = [0, 0]
    same, noise, signal = 0, 0.0, 0.0
    for file, label in test:
        value = labelled_images.pixels(file, kind)
        a, b = exact(value).astype(np.float64), quantised(value).astype(np.float64)
        right[0] += a.argmax() == label
        right[1] += b.argmax() == label
        same += a.argmax() == b.argmax()
        signal += np.sum(a**2)
        noise += np.sum((a - b) ** 2)
    n = len(test)
    quantization = result["quantization"]

    def against_reference(chosen):
        samples = [labelled_images.pixels(file, kind) for file, _ in chosen]
        compared = session_against_reference(integers, samples, float_bound(quantization))
        if float_bound(quantization) == 0:
            return compared
        # The same with 8 bits up to the end, in which every bit has to be the same.
        rounded = integers.with_suffix(".rounded.tflite")
        if not rounded.exists():
            compile_to(tool, DATA / model, rounded, size, "-q", "ptq", "--calibration-data", listing, *labelled_images.OPTIONS[kind], *options,
                       "--precise-outputs", "off")
        return compared | {"same_bits_rounded": session_against_reference(rounded, samples, 0.0)["same_results"]}

    row = {
        "network": name, "images": n, "top1_float": right[0] / n, "top1_int8": right[1] / n, "agreement": same / n,
        "sqnr_db": 10 * np.log10(signal / noise) if noise else 120.0, "seconds": round(seconds, 1),
        "integer_operations": quantization["integer_operations"], "float_operations": quantization["float_operations"],
        "predicted": quantization["accuracy"]["outputs"][0],
        "session": against_reference(test[:3]), "session_spread": against_reference(labelled_images.every_few(test, SESSION_IMAGES[size])),
    }
    row["ok"] = bool(row["agreement"] >= agreement_mark and row["sqnr_db"] >= sqnr_mark
                     and session_holds(row["session"], row["session_spread"]))
    return row


def main():
    parser = comparison.parser(__doc__)
    parser.add_argument("--limit", type=int, default=0, help="score about this many images")
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    if not DATA.is_dir():
        print(f"quantize_check: no {DATA}, skipped")
        return 0
    rows = comparison.Rows()
    with tempfile.TemporaryDirectory() as scratch:
        for name in arguments.names or NETWORKS:
            rows.add(check(name, arguments.edgecompile, pathlib.Path(scratch), arguments.limit))
    return rows.finish(arguments.out, "quantize_check.json")


if __name__ == "__main__":
    sys.exit(main())
