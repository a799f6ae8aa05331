#!/usr/bin/env python3
"""ONNX files with quantize-dequantize pairs that we write: ONNX Runtime loads them and agrees with our integers.

    qdq_write_check.py [--edgecompile PATH] [--out DIR]

Needs onnx, onnxruntime and ai-edge-litert. The network of qdq_check.py and, where they are present, the CIFAR-10 networks
are quantised with `edgecompile quantize -o X.onnx` (ptq and a16w8). ONNX Runtime executes the file as it stands, in floating
point; LiteRT executes the same quantisation on integers (`-t tflite` of the same model). And the file compiled again must
have the parameters that it holds. Over dozens of layers results that are rounded either way add up to more than one step.
"""
import pathlib
import sys
import tempfile

import numpy as np
import onnx
from onnx import numpy_helper

import comparison
import labelled_images
import program
import qdq_check
from engines import ort_session
from litert import PictureModel


def pairs_of(model):
    """Scale and zero point of everything that is quantised as a whole."""
    values = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}
    found = set()
    for node in model.graph.node:
        if node.op_type in ("QuantizeLinear", "DequantizeLinear") and values[node.input[1]].size == 1:
            zero = int(values[node.input[2]]) if len(node.input) > 2 else 0
            found.add((np.float32(values[node.input[1]]), zero))
    return found


def activations_of(interpreter, dtype):
    found = set()
    for detail in interpreter.get_tensor_details():
        parameters = detail["quantization_parameters"]
        if detail["dtype"] == dtype and len(parameters["scales"]) == 1:
            found.add((np.float32(parameters["scales"][0]), int(parameters["zero_points"][0])))
    return found


def check(name, source, how, tool, folder, samples):
    np.save(folder / "samples.npy", np.concatenate(samples))
    shape = "x".join(map(str, samples[0].shape))
    # Both files are quantised on their own, in another order of dimensions each. Searches decide by the last bits of float sums,
    # which differ between the two; without them the parameters are the same on every machine.
    fixed = ["--calibration-method", "minmax", "--correct-bias", "off", "--adapt-rounding", "off", "--equalize", "off", "--balance", "off"]
    common = [source, "-q", how, "--calibration-data", folder / "samples.npy", "--input-shape", shape, *fixed]
    written, integers, again = folder / f"{name}.onnx", folder / f"{name}.tflite", folder / f"{name}_again.tflite"
    program.report(tool, "quantize", *common, "-o", written)
    program.report(tool, *common, "-t", "tflite", "-o", integers)
    report = program.report(tool, written, "-t", "tflite", "-o", again)
    model = onnx.load(written)
    onnx.checker.check_model(model)
    dtype = np.int16 if how == "a16w8" else np.int8
    session, ours, reread = ort_session(written, as_it_stands=True), PictureModel(integers, True), PictureModel(again, True)
    held, kept = pairs_of(model), activations_of(reread.interpreter, dtype)
    step = max(scale for scale, _ in held)
    # Of constants the scale is found again from their values, to the last digit or so.
    lost = [(s, z) for s, z in kept if not any(z == zero and abs(s - scale) <= 1e-6 * scale for scale, zero in held)]
    worst, final, largest, same = 0.0, 0.0, 0.0, 0
    for x in samples:
        a = session.run(None, {session.get_inputs()[0].name: x})[0]
        b, c = (run(x[0].transpose(1, 2, 0)) for run in (ours, reread))
        worst = max(worst, float(np.abs(a - b).max()))
        final = max(final, float(np.abs(b - c).max()))
        same += int(a.argmax() == b.argmax())
        largest = max(largest, float(np.abs(b).max()))
    row = {
        "network": name, "how": how, "pairs": sum(n.op_type == "QuantizeLinear" for n in model.graph.node),
        "transposes": sum(n.op_type == "Transpose" for n in model.graph.node), "strategy": report["quantization"]["strategy"],
        "float_operations": report["quantization"]["float_operations"], "parameters": len(held),
        "lost": sorted(map(str, lost)), "largest_error_in_steps": worst / float(step), "same_top1": same / len(samples),
        "error": worst / largest, "reread_error_in_steps": final / float(step),
    }  # fmt: skip
    row["ok"] = (not row["lost"] and row["strategy"] == "qat" and row["error"] <= (0.06 if how == "ptq" else 0.001)
                 and row["reread_error_in_steps"] <= 1.01 and row["same_top1"] >= 0.95)  # fmt: skip
    return row


def networks(folder):
    rng = np.random.default_rng(5)
    path = folder / "small_float.onnx"
    onnx.save(qdq_check.network(rng), path)
    yield "small", path, [rng.normal(0, 1, (1, 3, 16, 16)).astype(np.float32) for _ in range(24)]
    zoo = labelled_images.DATA / "cifar10" / "zoo"
    if not zoo.is_dir():
        print(f"qdq_write_check: no {zoo}, left out")
        return
    samples = [labelled_images.pixels(file, "cifar").transpose(2, 0, 1)[None] for file in labelled_images.cifar_calibration(per_class=8)]
    for name in ("mobilenetv2", "efficientnet", "vit"):
        yield name, zoo / f"{name}.onnx", samples


def main():
    arguments = comparison.parser(__doc__).parse_args()
    rows = comparison.Rows()
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        for name, source, samples in networks(folder):
            for how in ("ptq", "a16w8"):
                try:
                    rows.add(check(name, source, how, arguments.edgecompile, folder, samples))
                except (RuntimeError, ValueError) as error:
                    rows.add({"network": name, "how": how, "ok": False, "reason": str(error)[-400:]})
    return rows.finish(arguments.out, "qdq_write_check.json")


if __name__ == "__main__":
    sys.exit(main())
