#!/usr/bin/env python3
"""Quantised ONNX models to .tflite: every scale and zero point stays, results differ by a step at most.

    qdq_check.py [--edgecompile PATH] [--out DIR]

Needs onnx, onnxruntime and ai-edge-litert. Makes small networks, quantises them with ONNX Runtime's
quantize_static (QDQ and QOperator, per tensor and per channel, int8 and uint8), compiles them with
`-t tflite` and compares the file with the ONNX graph, executed in floating point. One network has its activations as
exporters write them: they must be integer across the pairs. It also has to compile for the Edge TPU.
"""
import pathlib
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static

import comparison
import program
from engines import ort_session
from litert import PictureModel


def network(rng):
    """Convolutions with and without activation, depthwise, residual, pooling, a linear layer."""
    weights = {
        "w1": rng.normal(0, 0.3, (8, 3, 3, 3)), "b1": rng.normal(0, 0.1, 8),
        "w2": rng.normal(0, 0.3, (8, 1, 3, 3)), "b2": rng.normal(0, 0.1, 8),
        "w3": rng.normal(0, 0.3, (8, 8, 1, 1)), "b3": rng.normal(0, 0.1, 8),
        "w4": rng.normal(0, 0.3, (10, 8)), "b4": rng.normal(0, 0.1, 10),
        "zero": np.array(0.0), "six": np.array(6.0),
    }  # fmt: skip
    nodes = [
        helper.make_node("Conv", ["x", "w1", "b1"], ["c1"], "stem", pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c1"], ["r1"], "stem_relu"),
        helper.make_node("Conv", ["r1", "w2", "b2"], ["c2"], "depthwise", group=8, pads=[1, 1, 1, 1]),
        helper.make_node("Clip", ["c2", "zero", "six"], ["r2"], "depthwise_relu6"),
        helper.make_node("Conv", ["r2", "w3", "b3"], ["c3"], "project"),
        helper.make_node("Add", ["r1", "c3"], ["a"], "residual"),
        helper.make_node("MaxPool", ["a"], ["m"], "pool", kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("GlobalAveragePool", ["m"], ["p"], "global_pool"),
        helper.make_node("Flatten", ["p"], ["f"], "flatten"),
        helper.make_node("Gemm", ["f", "w4", "b4"], ["y"], "head", transB=1),
    ]
    graph = helper.make_graph(
        nodes, "net", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 16, 16])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 10])],
        [numpy_helper.from_array(value.astype(np.float32), name) for name, value in weights.items()],
    )  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def activations(rng):
    """Activations as exporters write them, normalisation that nobody folded, and constants behind operations."""
    weights = {
        "w1": rng.normal(0, 0.3, (8, 3, 3, 3)), "b1": rng.normal(0, 0.1, 8),
        "gain": rng.uniform(0.5, 1.5, 8), "shift": rng.normal(0, 0.2, 8), "mean": rng.normal(0, 0.2, 8), "variance": rng.uniform(0.5, 2, 8),
        "w2": rng.normal(0, 0.4, (8, 8, 1, 1)), "b2": rng.normal(0, 0.1, 8),
        "w3": rng.normal(0, 0.4, (8, 8, 1, 1)), "b3": rng.normal(0, 0.1, 8),
        "w4": rng.normal(0, 0.3, (10, 8)), "b4": rng.normal(0, 0.1, 10),
        "zero": np.array(0.0), "half": np.array(0.5), "one": np.array(1.0), "three": np.array(3.0), "six": np.array(6.0),
        "root": np.array(np.sqrt(2)), "start": np.array(0.0), "end": np.array(16.0),
    }  # fmt: skip
    node = helper.make_node
    nodes = [
        node("Conv", ["x", "w1", "b1"], ["c1"], "stem", pads=[1, 1, 1, 1]),
        node("BatchNormalization", ["c1", "gain", "shift", "mean", "variance"], ["n1"], "norm"),
        # hard swish
        node("Add", ["n1", "three"], ["h1"], "swish_add"), node("Clip", ["h1", "zero", "six"], ["h2"], "swish_clip"),
        node("Mul", ["n1", "h2"], ["h3"], "swish_mul"), node("Div", ["h3", "six"], ["h"], "swish_div"),
        # GELU
        node("Conv", ["h", "w2", "b2"], ["c2"], "middle"), node("Div", ["c2", "root"], ["g1"], "gelu_div"),
        node("Erf", ["g1"], ["g2"], "gelu_erf"), node("Add", ["g2", "one"], ["g3"], "gelu_add"),
        node("Mul", ["c2", "g3"], ["g4"], "gelu_mul"), node("Mul", ["g4", "half"], ["g"], "gelu_half"),
        # a gate of hard sigmoid, SiLU
        node("GlobalAveragePool", ["g"], ["p1"], "squeeze"), node("Conv", ["p1", "w3", "b3"], ["p2"], "excite"),
        node("HardSigmoid", ["p2"], ["p3"], "gate", alpha=1 / 6, beta=0.5), node("Mul", ["g", "p3"], ["e"], "gated"),
        node("Sigmoid", ["e"], ["s1"], "silu_sigmoid"), node("Mul", ["e", "s1"], ["s"], "silu_mul"),
        # a position that is computed from constants
        node("Range", ["start", "end", "one"], ["r1"], "positions"), node("Div", ["r1", "end"], ["r2"], "scaled_positions"),
        node("Add", ["r2", "half"], ["r3"], "moved_positions"), node("Add", ["s", "r3"], ["q"], "placed"),
        node("GlobalAveragePool", ["q"], ["p"], "global_pool"), node("Flatten", ["p"], ["f"], "flatten"),
        node("Gemm", ["f", "w4", "b4"], ["y"], "head", transB=1),
    ]  # fmt: skip
    graph = helper.make_graph(
        nodes, "net", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 16, 16])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 10])],
        [numpy_helper.from_array(value.astype(np.float32), name) for name, value in weights.items()],
    )  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


class Samples(CalibrationDataReader):
    def __init__(self, rng, count=16):
        self.samples = iter([{"x": rng.normal(0, 1, (1, 3, 16, 16)).astype(np.float32)} for _ in range(count)])

    def get_next(self):
        return next(self.samples, None)


def onnx_parameters(model):
    """Scales with zero points (of uint8 moved to int8) in use, and the scales of weights."""
    values = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}
    activations, weights = set(), set()
    for node in model.graph.node:
        pairs = []
        if node.op_type in ("QuantizeLinear", "DequantizeLinear"):
            pairs = [(node.input[1], node.input[2], node.input[0])]
        elif node.op_type in ("QLinearConv", "QLinearMatMul", "QLinearAdd", "QGemm"):
            result = 7 if node.op_type == "QGemm" else 6
            pairs = [(node.input[1], node.input[2], node.input[0]), (node.input[4], node.input[5], node.input[3])]
            pairs.append((node.input[result], node.input[result + 1], node.output[0]))
        elif node.op_type == "QLinearGlobalAveragePool":
            pairs = [(node.input[1], node.input[2], node.input[0]), (node.input[3], node.input[4], node.output[0])]
        for scale, zero, tensor in pairs:
            scale, zero = values[scale], values[zero]
            if zero.dtype == np.int32:
                continue  # a bias: its scale is a product
            if tensor in values:
                weights.update(np.float32(s) for s in np.atleast_1d(scale))
            else:
                shift = 128 if zero.dtype == np.uint8 else 0
                activations.add((np.float32(scale), int(zero) - shift))
    return activations, weights


def tflite_parameters(interpreter):
    activations, weights = set(), set()
    for detail in interpreter.get_tensor_details():
        scales, zeros = detail["quantization_parameters"]["scales"], detail["quantization_parameters"]["zero_points"]
        if detail["dtype"] != np.int8 or not len(scales):
            continue
        if len(scales) > 1 or (len(detail["shape"]) in (2, 4) and detail["shape"][0] > 1):
            weights.update(np.float32(s) for s in scales)
        else:
            activations.add((np.float32(scales[0]), int(zeros[0])))
    return activations, weights


def onnx_results(path, tool):
    """The graph as a function of x, executed as it stands, in floating point."""
    if path.name.startswith("QDQ"):
        session = ort_session(path, as_it_stands=True)
        return lambda x: session.run(None, {"x": x})[0]
    # Of quantised operators our own results: ONNX Runtime's 8-bit kernels saturate on CPUs without VNNI.
    return lambda x: program.run_model(tool, path, {"x": x}, "--reference")["y"]


def refusal(tool, *arguments):
    """Why a command fails; empty where it does not."""
    try:
        program.report(tool, *arguments)
    except program.Failed as error:
        return str(error)[-400:]
    return ""


def check_activations(name, model_path, tool, folder):
    """Sigmoids have TFLite's own parameters and inner values their own, so that results are compared, and what is left on floats."""
    out = folder / f"{name}.tflite"
    refused = refusal(tool, model_path, "-t", "coral", "-o", folder / "coral.tflite")
    try:
        report = program.report(tool, model_path, "-t", "tflite", "-o", out)
    except program.Failed as error:
        refused = refused or str(error)[-400:]
    if refused:
        return {"model": name, "ok": False, "reason": refused}
    written, expected_of = PictureModel(out, reference=True), onnx_results(model_path, tool)
    step = output_step(onnx.load(model_path))
    rng = np.random.default_rng(11)
    errors = []
    for _ in range(20):
        x = rng.normal(0, 1, (1, 3, 16, 16)).astype(np.float32)
        errors.append(np.abs(written(x[0].transpose(1, 2, 0)) - expected_of(x).reshape(-1)) / step)
    kept = report["quantization"]["kept_in_float"]
    row = {"model": name, "largest_error_in_steps": float(np.max(errors)), "mean_error_in_steps": float(np.mean(errors)),
           "integer_operations": report["quantization"]["integer_operations"], "kept_in_float": [op["name"] for op in kept]}  # fmt: skip
    row["ok"] = row["largest_error_in_steps"] <= 1.01 and row["mean_error_in_steps"] <= 0.25 and not kept
    return row


def output_step(model):
    """The scale of the last rounding in front of the output."""
    values = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}
    last = next(n for n in model.graph.node if "y" in n.output)
    return float(values[last.input[1] if last.op_type == "DequantizeLinear" else last.input[7]])


def check(name, model_path, tool, folder):
    out = folder / f"{name}.tflite"
    try:
        report = program.report(tool, model_path, "-t", "tflite", "-o", out)
    except program.Failed as error:
        return {"model": name, "ok": False, "reason": str(error)[-400:]}
    written = PictureModel(out, reference=True)
    theirs, their_weights = onnx_parameters(onnx.load(model_path))
    ours, our_weights = tflite_parameters(written.interpreter)
    expected_of = onnx_results(model_path, tool)
    step = max(scale for scale, _ in theirs)
    worst = 0.0
    rng = np.random.default_rng(11)
    for _ in range(20):
        x = rng.normal(0, 1, (1, 3, 16, 16)).astype(np.float32)
        worst = max(worst, float(np.abs(written(x[0].transpose(1, 2, 0)) - expected_of(x)).max()))
    quantization = report.get("quantization", {})
    row = {
        "model": name, "parameters": len(theirs), "missing": sorted(map(str, ours - theirs)),
        "weights_differ": len(their_weights ^ our_weights), "largest_error_in_steps": worst / float(step),
        "integer_operations": quantization.get("integer_operations"), "float_operations": quantization.get("float_operations"),
    }  # fmt: skip
    row["ok"] = not row["missing"] and row["weights_differ"] == 0 and row["largest_error_in_steps"] <= 1.01 and not row["float_operations"]
    return row


def main():
    arguments = comparison.parser(__doc__).parse_args()
    rows = comparison.Rows()
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        rng = np.random.default_rng(5)
        source, arithmetic = folder / "float.onnx", folder / "activations.onnx"
        onnx.save(network(rng), source)
        onnx.save(activations(rng), arithmetic)
        for form in (QuantFormat.QDQ, QuantFormat.QOperator):
            for per_channel in (False, True):
                for activation in (QuantType.QInt8, QuantType.QUInt8):
                    name = f"{form.name}_{'channel' if per_channel else 'tensor'}_{activation.name}"
                    for network_file, compare in ((source, check), (arithmetic, check_activations)):
                        path = folder / f"{name}_{network_file.stem}.onnx"
                        quantize_static(network_file, path, Samples(np.random.default_rng(6)), quant_format=form, per_channel=per_channel,
                                        activation_type=activation, weight_type=QuantType.QInt8)
                        rows.add(compare(path.stem, path, arguments.edgecompile, folder))
    return rows.finish(arguments.out, "qdq_check.json")


if __name__ == "__main__":
    sys.exit(main())
