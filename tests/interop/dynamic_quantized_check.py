#!/usr/bin/env python3
"""Networks that ONNX Runtime quantised at run time (quantize_dynamic), compiled for tflite.

    dynamic_quantized_check.py [--edgecompile PATH] [--out DIR]

Needs onnx, onnxruntime, ai-edge-litert and ../shared/data (skips where that folder is absent). Weights of int8 and uint8, for a tensor and for
each channel. The file must not be larger than ONNX Runtime's by more than a tenth where its integers fit int8, and must agree with the float network
as often as ONNX Runtime on its own file, but for chance (McNemar).
"""
from __future__ import annotations

import logging
import math
import pathlib
import sys
import tempfile

import numpy as np
import onnxruntime
from onnxruntime.quantization import QuantType, quantize_dynamic

import comparison
import labelled_images
import program
from litert import open_model, run_in_order

NETWORKS = ("mobilenetv2", "vit")
FORMS = {"int8": (QuantType.QInt8, False), "int8 per channel": (QuantType.QInt8, True), "uint8": (QuantType.QUInt8, False)}
PICTURES = 200
LARGEST_GROWTH = 1.1
LEAST_CHANCE = 0.01


def chance_of(better: int, worse: int) -> float:
    """How likely two networks that agree equally often differ at least as much (exact McNemar test)."""
    total = better + worse
    return min(1.0, 2 * sum(math.comb(total, i) for i in range(min(better, worse) + 1)) / 2**total)


def compare(args, name: str, form: str, folder: pathlib.Path) -> dict:
    source = labelled_images.DATA / "cifar10" / "zoo" / f"{name}.onnx"
    quantised, written = folder / f"{name}.onnx", folder / f"{name}.tflite"
    weight_type, per_channel = FORMS[form]
    quantize_dynamic(str(source), str(quantised), weight_type=weight_type, per_channel=per_channel)
    program.report(args.edgecompile, quantised, "-t", "tflite", "--keep-io-layout", "-o", written)
    files = [file for file, _ in labelled_images.every_few(labelled_images.cifar_test(), PICTURES)]
    samples = [labelled_images.pixels(file, "cifar").transpose(2, 0, 1)[None] for file in files]

    def classes(path):
        session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
        return np.array([session.run(None, {session.get_inputs()[0].name: x})[0].argmax() for x in samples])

    interpreter = open_model(written)
    ours = np.array([run_in_order(interpreter, [x])[0].argmax() for x in samples])
    exact, theirs = classes(source), classes(quantised)
    worse, better = int(((theirs == exact) & (ours != exact)).sum()), int(((theirs != exact) & (ours == exact)).sum())
    chance = chance_of(better, worse)
    row = {"network": name, "form": form, "agreement": float((ours == exact).mean()), "theirs": float((theirs == exact).mean()), "chance": chance,
           "bytes": written.stat().st_size, "their_bytes": quantised.stat().st_size}
    behind = worse > better and chance < LEAST_CHANCE
    larger = form != "uint8" and row["bytes"] > LARGEST_GROWTH * row["their_bytes"]
    return row | {"ok": not behind and not larger}


def main() -> int:
    args = comparison.parser(__doc__).parse_args()
    if not labelled_images.DATA.is_dir():
        print(f"dynamic_quantized_check: no {labelled_images.DATA}, skipped")
        return 0
    logging.disable(logging.WARNING)
    rows = comparison.Rows()
    with tempfile.TemporaryDirectory() as folder:
        for name in NETWORKS:
            for form in FORMS:
                rows.add(compare(args, name, form, pathlib.Path(folder)))
    return rows.finish(args.out, "dynamic_quantized_check.json")


if __name__ == "__main__":
    sys.exit(main())
