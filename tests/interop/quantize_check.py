#!/usr/bin/env python3
"""Quantises real networks with calibration images and scores the written files in LiteRT.

    quantize_check.py [--edgecompile PATH] [--out DIR] [--limit N] [NAME ...]

Needs ai-edge-litert, numpy and pillow. Works on ../shared/data (skips where that folder is absent).
For each network: top-1 of the float file and of the int8 file, how often both agree, SQNR of the
outputs; and our own session gives what LiteRT's reference kernels give. Exit status 1: a network falls
below its mark.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np
from ai_edge_litert.interpreter import Interpreter, OpResolverType
from edgecompiler.runtime import InferenceSession
from PIL import Image

ROOT = pathlib.Path(__file__).resolve().parents[2]
DATA = pathlib.Path(os.environ.get("EC_SHARED_DATA", ROOT.parent / "shared" / "data"))


def imagenet():
    files = sorted((DATA / "imagenet1000").glob("*.jpg"))
    label = {f: int(f.name[:3]) + 1 for f in files}
    return [f for f in files[::10]], [(f, label[f]) for i, f in enumerate(files) if i % 10]


def cifar():
    classes = sorted(p.name for p in (DATA / "cifar10" / "test").iterdir() if p.is_dir())
    calibration = []
    for name in classes:
        calibration += sorted((DATA / "cifar10" / "calibration" / name).iterdir())[:20]
    test = [(f, i) for i, name in enumerate(classes) for f in sorted((DATA / "cifar10" / "test" / name).iterdir())]
    return calibration, test


def crop(picture, size):
    left, top = (picture.width - size) // 2, (picture.height - size) // 2
    return picture.crop((left, top, left + size, top + size))


CIFAR_MEAN, CIFAR_STD = (0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616)
CIFAR_OPTIONS = ["--mean", ",".join(map(str, CIFAR_MEAN)), "--std", ",".join(map(str, CIFAR_STD))]


def imagenet_pixels(picture):
    return np.asarray(crop(picture, 224), np.float32) / 127.5 - 1


def cifar_pixels(picture):
    return ((np.asarray(picture, np.float32) / 255 - CIFAR_MEAN) / CIFAR_STD).astype(np.float32)


IMAGENET_OPTIONS = ["--mean", "127.5", "--std", "127.5", "--resize", "crop:256"]
MOBILENET_V2 = ("onnx/mobilenet_v2_1.0_224.onnx", imagenet, imagenet_pixels, 224)

# name: model, images, pixels, size, options, marks for agreement and output SQNR (dB)
NETWORKS = {
    "mobilenet_v2": (*MOBILENET_V2, IMAGENET_OPTIONS, 0.978, 0.0),
    "mobilenet_v2_per_tensor": (*MOBILENET_V2, [*IMAGENET_OPTIONS, "--weights", "per-tensor"], 0.90, 0.0),
    "mobilenet_v2_a16w8": (*MOBILENET_V2, [*IMAGENET_OPTIONS, "-q", "a16w8"], 0.995, 0.0),
    "cifar_mobilenetv2": ("cifar10/zoo/mobilenetv2.onnx", cifar, cifar_pixels, 32, CIFAR_OPTIONS, 0.97, 27.0),
    "cifar_efficientnet": ("cifar10/zoo/efficientnet.onnx", cifar, cifar_pixels, 32, CIFAR_OPTIONS, 0.96, 22.0),
    "cifar_vit": ("cifar10/zoo/vit.onnx", cifar, cifar_pixels, 32, CIFAR_OPTIONS, 0.95, 20.0),
}


# 16-bit kernels of LiteRT are slow, and any image that differs would show.
FEWER_IMAGES = {"mobilenet_v2_per_tensor": 300, "mobilenet_v2_a16w8": 100}


def compile_to(program, model, output, size, *options):
    # The name of the only input may be left out.
    command = [program, str(model), "-t", "tflite", "-o", str(output), "--input-shape", f"1x3x{size}x{size}",
               "--json", *map(str, options)]
    start = time.time()
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)}\n{done.stdout}\n{done.stderr}")
    return json.loads(done.stdout)["result"], time.time() - start


class Scores:
    def __init__(self, path, kernels=OpResolverType.AUTO):
        self.interpreter = Interpreter(str(path), experimental_op_resolver_type=kernels)
        self.interpreter.allocate_tensors()
        self.input = self.interpreter.get_input_details()[0]
        self.output = self.interpreter.get_output_details()[0]

    def __call__(self, pixels):
        channels_last = self.input["shape"][-1] == 3
        value = pixels[None] if channels_last else pixels.transpose(2, 0, 1)[None]
        self.interpreter.set_tensor(self.input["index"], np.ascontiguousarray(value, np.float32))
        self.interpreter.invoke()
        return self.interpreter.get_tensor(self.output["index"]).reshape(-1).astype(np.float64)


def same_as_reference(path, samples):
    """Whether our session and LiteRT's reference kernels give the same bits."""
    reference = Scores(path, OpResolverType.BUILTIN_REF)
    with InferenceSession(str(path)) as session:
        for pixels in samples:
            (got,) = session.run({session.inputs[0].name: pixels[None]}).values()
            if not np.array_equal(got.reshape(-1).astype(np.float64), reference(pixels)):
                return False
    return True


def check(name, program, folder, limit):
    model, images, pixels, size, options, agreement_mark, sqnr_mark = NETWORKS[name]
    calibration, test = images()
    limit = limit or FEWER_IMAGES.get(name)
    if limit:
        test = test[:: max(1, len(test) // limit)]
    listing = folder / f"{name}.txt"
    listing.write_text("".join(f"{f}\n" for f in calibration))
    compile_to(program, DATA / model, folder / f"{name}_float.tflite", size)
    result, seconds = compile_to(program, DATA / model, folder / f"{name}_int8.tflite", size, "-q", "ptq",
                                 "--calibration-data", listing, *options)
    few = [pixels(Image.open(file).convert("RGB")) for file, _ in test[:3]]
    exact, quantised = Scores(folder / f"{name}_float.tflite"), Scores(folder / f"{name}_int8.tflite")
    right = [0, 0]
    same, noise, signal = 0, 0.0, 0.0
    for file, label in test:
        value = pixels(Image.open(file).convert("RGB"))
        a, b = exact(value), quantised(value)
        right[0] += a.argmax() == label
        right[1] += b.argmax() == label
        same += a.argmax() == b.argmax()
        signal += np.sum(a**2)
        noise += np.sum((a - b) ** 2)
    n = len(test)
    quantization = result["quantization"]
    row = {
        "network": name, "images": n, "top1_float": right[0] / n, "top1_int8": right[1] / n, "agreement": same / n,
        "sqnr_db": 10 * np.log10(signal / noise) if noise else 120.0, "seconds": round(seconds, 1),
        "integer_operations": quantization["integer_operations"], "float_operations": quantization["float_operations"],
        "predicted": quantization["accuracy"]["outputs"][0],
        "session_equals_reference": same_as_reference(folder / f"{name}_int8.tflite", few),
    }
    row["ok"] = bool(row["agreement"] >= agreement_mark and row["sqnr_db"] >= sqnr_mark
                     and row["session_equals_reference"])
    print(json.dumps(row, default=float), flush=True)
    return row


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--edgecompile", default=str(ROOT / "build" / "bin" / "edgecompile"))
    parser.add_argument("--out")
    parser.add_argument("--limit", type=int, default=0, help="score about this many images")
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    if not DATA.is_dir():
        print(f"quantize_check: no {DATA}, skipped")
        return 0
    rows = []
    with tempfile.TemporaryDirectory() as scratch:
        for name in arguments.names or NETWORKS:
            rows.append(check(name, arguments.edgecompile, pathlib.Path(scratch), arguments.limit))
    if arguments.out:
        out = pathlib.Path(arguments.out)
        out.mkdir(parents=True, exist_ok=True)
        (out / "quantize_check.json").write_text(json.dumps(rows, indent=1, default=float) + "\n")
    return 0 if all(row["ok"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
