"""ONNX to .tflite side by side: time, operators and error, `edgecompile -t tflite` against onnx2tf.

    python benchmarks/convert_vs_onnx2tf.py --onnx2tf PATH [--only 'resnet*'] [--out DIR]

Both sides are whole runs of their programs, from file to file, start-up included, one after the other on the same model.
Operators are counted in the written files; the error is LiteRT's result against ONNX Runtime's, max abs error over max
abs output of the worst output. Without --only: the models of MODELS, one per kind of architecture. onnx2tf lives in an
environment of its own (requirements-onnx2tf.txt, made by run.sh); PATH is its program.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests" / "interop"))

import numpy as np

import litert
import model_set
from comparison import save_json, save_lines
from machine import describe_setup
from tflite_zoo import compile_tflite, run_litert
from zoo_check import relative_error, run_ort

# Convolutions of all kinds, attention, token mixing, recurrence, segmentation, super-resolution, and shared mobilenet_v2.
MODELS = (
    "resnet18-legacy*", "mobilenet_v2-legacy*", "mobilenet_v3_small-legacy*", "efficientnet_b0-legacy*", "convnext_tiny*",
    "densenet121*", "shufflenet_v2*", "vit_b_32*", "mixer*", "LstmTagger-legacy*", "SuperResolution-legacy*", "KeywordNet*",
    "shared-mobilenet_v2*",
)


def peer_error(path: pathlib.Path, feeds: dict[str, np.ndarray], expected: list[np.ndarray]) -> float:
    """By position and form: the peer renames tensors and turns images."""
    interpreter = litert.open_model(path, reference=False)
    values = []
    for detail, value in zip(interpreter.get_input_details(), feeds.values()):
        turn = tuple(detail["shape"]) != value.shape and value.ndim >= 3
        values.append(np.ascontiguousarray(np.moveaxis(value, 1, -1) if turn else value))
    actual = litert.run_in_order(interpreter, values)
    turned = [np.moveaxis(a, -1, 1) if a.shape != e.shape and a.ndim >= 3 else a for a, e in zip(actual, expected)]
    return relative_error(turned, expected)


def run_peer(program: str, model: model_set.Model, folder: pathlib.Path) -> tuple[float, pathlib.Path]:
    # It fetches sample images from the network unless they are in the current folder; any will do for a float model.
    folder.mkdir()
    pictures = np.random.default_rng(0).random((20, 128, 128, 3), dtype=np.float32)
    np.save(folder / "calibration_image_sample_data_20x128x128x3_float32.npy", pictures)
    command = [program, "-i", str(model.path.resolve()), "-o", str(folder)]
    if model.dynamic:
        command += ["-ois", *(f"{i.name}:{','.join(str(d) for d in i.shape)}" for i in model.inputs)]
    begin = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True, timeout=600, cwd=folder)
    seconds = time.perf_counter() - begin
    files = sorted(folder.glob("*float32.tflite")) or sorted(folder.glob("*.tflite"))
    return seconds, files[0]


def compare(model: model_set.Model, program: str) -> dict:
    feeds = model.feeds()
    expected = run_ort(model.path, feeds)
    row: dict = {"model": model.name}
    with tempfile.TemporaryDirectory() as scratch:
        ours = pathlib.Path(scratch) / "ours.tflite"
        report = compile_tflite(model, ours)
        names = [o["name"] for o in report["outputs"]]
        row["seconds"] = report["seconds"]
        row["operators"] = report["num_operators"]
        row["transposes"] = report["operators"].get("TRANSPOSE", 0)
        row["error"] = relative_error(run_litert(ours, feeds, report.get("interface_layouts", {}), names, False), expected)
        try:
            row["peer_seconds"], file = run_peer(program, model, pathlib.Path(scratch) / "peer")
            names = [op["op_name"] for op in litert.operators(litert.open_model(file, reference=False, allocate=False))]
            row["peer_operators"], row["peer_transposes"] = len(names), names.count("TRANSPOSE")
            row["peer_error"] = peer_error(file, feeds, expected)
        except Exception as error:  # a model that the peer cannot convert is a row, not an end
            row["peer_failed"] = f"{type(error).__name__}"
    return row


def table(rows: list[dict]) -> list[str]:
    lines = ["# ONNX to .tflite: edgecompile and onnx2tf", "", describe_setup("ai-edge-litert", "onnxruntime"), ""]
    lines += ["| model | s | onnx2tf s | times faster | operators | onnx2tf | TRANSPOSE | onnx2tf | error | onnx2tf |"]
    lines += ["|---|---|---|---|---|---|---|---|---|---|"]
    ratios = []
    for r in rows:
        if "peer_failed" in r or "peer_error" not in r:
            ours = f"| {r['model']} | {r['seconds']:.2f} | {r.get('peer_failed', '')} | | {r['operators']} | | {r['transposes']} | "
            lines.append(ours + f"| {r['error']:.1e} | |")
            continue
        ratios.append(r["peer_seconds"] / r["seconds"])
        lines.append(
            f"| {r['model']} | {r['seconds']:.2f} | {r['peer_seconds']:.1f} | {ratios[-1]:.0f} | {r['operators']} | "
            f"{r['peer_operators']} | {r['transposes']} | {r['peer_transposes']} | {r['error']:.1e} | {r['peer_error']:.1e} |"
        )
    if ratios:
        lines += ["", f"Times faster: median {statistics.median(ratios):.0f}, least {min(ratios):.0f}, over {len(ratios)} models."]
    return lines


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--onnx2tf", required=True)
    parser.add_argument("--only", action="append")
    parser.add_argument("--out", type=pathlib.Path)
    arguments = parser.parse_args()
    rows = []
    for model in model_set.all_models(arguments.only or list(MODELS)):
        rows.append(compare(model, arguments.onnx2tf))
        print(json.dumps(rows[-1]), flush=True)
    save_lines(arguments.out, "convert.md", table(rows))
    save_json(arguments.out, "convert.json", rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
