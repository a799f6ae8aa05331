#!/usr/bin/env python3
"""Networks that ONNX Runtime quantised, compiled with their own scales: what stays, and how far results are off.

    qdq_networks_check.py [--edgecompile PATH] [--out DIR] [--packages DIR] [--shapes DIR] [--keep DIR] [NAME ...]

Needs onnx, onnxruntime and ai-edge-litert, and ../shared/data (skips where that folder is absent). Every network is quantised by
quantize_static with uint8 activations and int8 weights per channel, as QDQ and as QOperator, and compiled for tflite and coral. Told for
each: scales with zero points of activations in the file, how many of them the .tflite file has, what it has beside them; how far outputs
are from ONNX Runtime executing the QDQ file in floating point without optimisations (QOperator: with its integer kernels), in steps of the
last rounding in front of each output; which operations stay on floats. Sigmoids and softmaxes of TFLite have scales of their own, which differ from
the file's by a step at most and add up over a deep network. Such a QDQ file is compiled once more with these scales in it
(`as_prescribed`): what is left then is the rounding of TFLite's kernels. Results that differ still (softmax, operations on floats) are
compared with those of the float network, from which the .tflite file may not be further off than the file is; `ort_integers` tells how far
ONNX Runtime's own integer kernels are from its float ones. Exit status 1: refused, results off by more than a step without that reason, or
further from the float network.
"""
from __future__ import annotations

import pathlib
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import onnx
from onnx import numpy_helper
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static

import comparison
import detector_list
import detector_pictures
import labelled_images
import program
from detector_runs import LiteDetector, OnnxDetector, with_fixed_sizes
from qdq_check import tflite_parameters

CALIBRATING, JUDGING = 8, 6
# Elements that may be more than a step off: two roundings of a tie, one behind the other.
RARELY = 0.002
# How much further from the float network than the file itself; less is chance.
FURTHER_OFF = 1.25


@dataclass(frozen=True)
class Network:
    path: pathlib.Path
    samples: Callable[[], np.ndarray]  # channels first


def cifar_samples() -> np.ndarray:
    files = labelled_images.cifar_calibration(per_class=2)[: CALIBRATING + JUDGING]
    return np.stack([labelled_images.pixels(f, "cifar").transpose(2, 0, 1) for f in files])


def imagenet_samples() -> np.ndarray:
    files = labelled_images.imagenet_calibration()[: CALIBRATING + JUDGING]
    return np.stack([labelled_images.pixels(f, "imagenet").transpose(2, 0, 1) for f in files])


def detector_samples(detector: detector_list.Detector) -> np.ndarray:
    import dataclasses

    return np.concatenate(dataclasses.replace(detector, calibration=CALIBRATING, test=JUDGING).samples())


def lines_of_text() -> np.ndarray:
    pictures = np.stack(detector_pictures.lines_of_words(CALIBRATING + JUDGING, 320, 48)).astype(np.float32)
    return np.ascontiguousarray((pictures / np.float32(127.5) - 1).transpose(0, 3, 1, 2))


def networks(args) -> dict[str, Network]:
    data = labelled_images.DATA
    found = {name: Network(data / "cifar10" / "zoo" / f"{name}.onnx", cifar_samples) for name in ("mobilenetv2", "efficientnet", "vit")}
    found["mobilenet_v2_224"] = Network(data / "onnx" / "mobilenet_v2_1.0_224.onnx", imagenet_samples)
    sets = [(args.shapes, detector_list.shapes(args.shapes))] if args.shapes else []
    sets += [(args.packages, detector_list.PACKAGED)] if args.packages else []
    for folder, detectors in sets:
        # Beside the detectors the recogniser of text that belongs to one of them.
        if detectors is detector_list.PACKAGED:
            found["text_recogniser"] = Network(folder / "rapidocr/models/PP-OCRv6_rec_small.onnx", lines_of_text)
        for name, detector in detectors.items():
            found[name] = Network(folder / detector.file, lambda d=detector: detector_samples(d))
    return found


class Samples(CalibrationDataReader):
    def __init__(self, name: str, samples: np.ndarray) -> None:
        self.samples = iter([{name: x[None]} for x in samples])

    def get_next(self):
        return next(self.samples, None)


def quantised(network: Network, form: QuantFormat, samples: np.ndarray, target: pathlib.Path) -> None:
    if target.exists():
        return
    fixed = target.with_suffix(".float.onnx")
    with_fixed_sizes(network.path, (1, *samples.shape[1:]), fixed)
    name = onnx.load(fixed).graph.input[0].name
    quantize_static(fixed, target, Samples(name, samples[:CALIBRATING]), quant_format=form, per_channel=True, activation_type=QuantType.QUInt8,
                    weight_type=QuantType.QInt8)


def scales_of(node) -> list[tuple[str, str, str]]:
    """Tensor, scale and zero point, by name."""
    i, o = node.input, node.output
    if node.op_type in ("QuantizeLinear", "DequantizeLinear"):
        return [(i[0] if node.op_type == "DequantizeLinear" else o[0], i[1], i[2])]
    if node.op_type in ("QLinearConv", "QLinearMatMul", "QLinearAdd", "QLinearMul"):
        return [(i[0], i[1], i[2]), (i[3], i[4], i[5]), (o[0], i[6], i[7])]
    if node.op_type == "QGemm":
        return [(i[0], i[1], i[2]), (i[3], i[4], i[5]), (o[0], i[7], i[8])] if len(i) > 8 else [(i[0], i[1], i[2]), (i[3], i[4], i[5])]
    if node.op_type in ("QLinearGlobalAveragePool", "QLinearSigmoid", "QLinearLeakyRelu", "QLinearSoftmax", "QLinearAveragePool"):
        return [(i[0], i[1], i[2]), (o[0], i[3], i[4])]
    if node.op_type == "QLinearConcat":
        return [(o[0], i[0], i[1])] + [(i[k], i[k + 1], i[k + 2]) for k in range(2, len(i), 3)]
    return []


def file_parameters(model) -> set[tuple[np.float32, int]]:
    """Of activations; zero points as int8 has them."""
    values = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}
    found = set()
    for node in model.graph.node:
        for tensor, scale, zero in scales_of(node):
            if tensor in values or scale not in values or zero not in values or values[zero].dtype == np.int32 or values[scale].size != 1:
                continue
            shift = 128 if values[zero].dtype == np.uint8 else 0
            found.add((np.float32(values[scale].item()), int(values[zero].item()) - shift))
    return found


def output_steps(model) -> dict[str, float | None]:
    """By output the scale of the last rounding in front of it; None where the file gives none."""
    values = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}
    makers = {name: node for node in model.graph.node for name in node.output}
    steps = {}
    for output in model.graph.output:
        name, scale = output.name, None
        for _ in range(8):
            node = makers.get(name)
            if node is None:
                break
            if node.op_type in ("DequantizeLinear", "QuantizeLinear") and node.input[1] in values:
                scale = float(values[node.input[1]].max())
                break
            if node.op_type not in ("Reshape", "Transpose", "Concat", "Identity", "Squeeze", "Unsqueeze", "Flatten"):
                break
            name = node.input[0]
        steps[output.name] = scale
    return steps


def differences(source: pathlib.Path, written: pathlib.Path, samples: np.ndarray, as_it_stands: bool) -> dict:
    """In steps of each output; where the file has none, in 255ths of its range."""
    theirs = OnnxDetector(source)
    if not as_it_stands:
        from engines import ort_session

        theirs.session = ort_session(source)
    ours, steps = LiteDetector(written, theirs.outputs), output_steps(onnx.load(source))
    original = OnnxDetector(source.with_suffix(".float.onnx"))
    off, file_to_float, ours_to_float = [], [], []
    for sample in samples:
        for name, a, b, exact in zip(theirs.outputs, theirs(sample), ours(sample), original(sample)):
            step = steps[name] or max(float(a.max() - a.min()), 1e-9) / 255
            for kept, x, y in ((off, a, b), (file_to_float, a, exact), (ours_to_float, b, exact)):
                kept.append(np.abs(x - y).ravel() / step)
    all_of = np.concatenate(off)
    return {"largest": float(all_of.max()), "mean": float(all_of.mean()), "beyond_one_step": float((all_of > 1.01).mean()),
            "file_to_float": float(np.concatenate(file_to_float).mean()), "ours_to_float": float(np.concatenate(ours_to_float).mean()),
            "outputs_without_range": sum(step is None for step in steps.values())}


def check(name: str, network: Network, form: QuantFormat, args, folder: pathlib.Path) -> dict:
    samples = network.samples()
    source = folder / f"{name}_{form.name}.onnx"
    row = {"model": name, "form": form.name, "ok": False}
    quantised(network, form, samples, source)
    out = folder / f"{name}_{form.name}.tflite"
    for target, file in (("tflite", out), ("coral", folder / f"{name}_{form.name}_coral.tflite")):
        try:
            report = program.report(args.edgecompile, source, "-t", target, "-o", file, *(["--keep-io-layout"] if target == "tflite" else []))
        except program.Failed as error:
            return row | {"target": target, "reason": str(error)[-400:]}
        kept = report["quantization"]["kept_in_float"]
        row[f"{target}_integer"], row[f"{target}_float"] = report["quantization"]["integer_operations"], len(kept)
        if target == "tflite":
            row["float_reasons"] = reasons_of(kept)
            row["prescribed"] = sum(method["method"] == "prescribed" for method in report["quantization"]["methods"])
    theirs, (ours, _) = file_parameters(onnx.load(source)), tflite_parameters(LiteDetector(out, []).interpreter)
    row |= {"scales": len(theirs), "kept_scales": len(theirs & ours), "other_scales": len(ours - theirs)}
    row |= differences(source, out, samples[CALIBRATING:], form == QuantFormat.QDQ)
    if row["prescribed"] or row["tflite_float"]:
        row["ok"] = row["ours_to_float"] <= FURTHER_OFF * row["file_to_float"]
        if form == QuantFormat.QDQ:
            row["as_prescribed"] = as_prescribed(source, args, samples[CALIBRATING:])
            if not row["tflite_float"] and not has_softmax(source):
                row["ok"] = row["ok"] and row["as_prescribed"]["beyond_one_step"] <= RARELY
    else:
        row["ok"] = row["beyond_one_step"] <= RARELY and row["kept_scales"] == row["scales"] and not row["other_scales"]
    return row


# What TFLite prescribes, as uint8 has it: scale and zero point.
PRESCRIBED = {"Sigmoid": (1 / 256, 0), "Softmax": (1 / 256, 0), "Tanh": (1 / 128, 128)}


def with_prescribed_scales(source: pathlib.Path, target: pathlib.Path) -> None:
    model = onnx.load(source)
    values = {t.name: t for t in model.graph.initializer}
    makers = {name: node for node in model.graph.node for name in node.output}
    for node in model.graph.node:
        maker = makers.get(node.input[0]) if node.op_type == "QuantizeLinear" else None
        if maker is None or maker.op_type not in PRESCRIBED:
            continue
        scale, zero = PRESCRIBED[maker.op_type]
        values[node.input[1]].CopyFrom(numpy_helper.from_array(np.array(scale, np.float32), node.input[1]))
        values[node.input[2]].CopyFrom(numpy_helper.from_array(np.array(zero, np.uint8), node.input[2]))
    onnx.save(model, target)
    target.with_suffix(".float.onnx").write_bytes(source.with_suffix(".float.onnx").read_bytes())


def as_prescribed(source: pathlib.Path, args, samples: np.ndarray) -> dict:
    changed = source.with_name(source.stem + "_prescribed.onnx")
    with_prescribed_scales(source, changed)
    out = changed.with_suffix(".tflite")
    program.report(args.edgecompile, changed, "-t", "tflite", "-o", out, "--keep-io-layout")
    found = differences(changed, out, samples, True)
    return {key: found[key] for key in ("largest", "mean", "beyond_one_step")} | {"ort_integers": integers_of_ort(changed, samples)}


def integers_of_ort(source: pathlib.Path, samples: np.ndarray) -> dict:
    """How far ONNX Runtime's integer kernels are from its float ones, in steps."""
    from engines import ort_session

    floats, integers, steps = OnnxDetector(source), ort_session(source), output_steps(onnx.load(source))
    off = []
    for sample in samples:
        for name, a, b in zip(floats.outputs, floats(sample), integers.run(None, {floats.input: sample[None]})):
            off.append(np.abs(a - b).ravel() / (steps[name] or max(float(a.max() - a.min()), 1e-9) / 255))
    all_of = np.concatenate(off)
    return {"largest": float(all_of.max()), "mean": float(all_of.mean())}


def has_softmax(source: pathlib.Path) -> bool:
    return any(node.op_type == "Softmax" for node in onnx.load(source).graph.node)


def reasons_of(kept: list[dict]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for op in kept:
        key = f"{op['op']}: {op['reason']}"
        counts[key] = counts.get(key, 0) + 1
    return counts


def main() -> int:
    parser = comparison.parser(__doc__)
    parser.add_argument("--packages", type=pathlib.Path)
    parser.add_argument("--shapes", type=pathlib.Path)
    parser.add_argument("--keep", type=pathlib.Path, help="folder in which quantised files stay")
    parser.add_argument("names", nargs="*", metavar="NAME")
    args = parser.parse_args()
    if not labelled_images.DATA.is_dir():
        print(f"qdq_networks_check: no {labelled_images.DATA}, skipped")
        return 0
    rows = comparison.Rows()
    with tempfile.TemporaryDirectory() as scratch:
        folder = args.keep or pathlib.Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        for name, network in networks(args).items():
            if args.names and name not in args.names:
                continue
            for form in (QuantFormat.QDQ, QuantFormat.QOperator):
                rows.add(check(name, network, form, args, folder))
    return rows.finish(args.out, "qdq_networks.json")


if __name__ == "__main__":
    sys.exit(main())
