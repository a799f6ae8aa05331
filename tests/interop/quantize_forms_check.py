#!/usr/bin/env python3
"""Forms that break int8 where their numbers count like others: masks of attention, fillers of max pools, sampled grids.

    quantize_forms_check.py [--edgecompile PATH] [--out DIR]

Needs onnx, onnxruntime and ai-edge-litert. Small networks made here, each as int8 and with 16-bit activations, on noise: the
written file against ONNX Runtime's floats (SQNR), and our session against LiteRT's reference kernels (bits).
"""
import pathlib
import sys
import tempfile

import numpy as np
from edgecompiler.runtime import InferenceSession
from onnx import TensorProto, checker, helper, numpy_helper, save

import comparison
import litert
import program
from engines import ort_session

WORDS, WIDTH, HEADS = 24, 32, 4
CALIBRATION, TEST = 32, 8
LOWEST = np.finfo(np.float32).min


class Network:
    """Nodes and constants of a graph in the making; `node` gives the name of the result."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.nodes, self.constants, self.inputs = [], [], []

    def constant(self, value) -> str:
        self.constants.append(numpy_helper.from_array(np.asarray(value), f"c{len(self.constants)}"))
        return self.constants[-1].name

    def input(self, name: str, shape, dtype=TensorProto.FLOAT) -> str:
        self.inputs.append(helper.make_tensor_value_info(name, dtype, shape))
        return name

    def node(self, kind: str, *operands: str, **attributes) -> str:
        self.nodes.append(helper.make_node(kind, operands, [f"t{len(self.nodes)}"], **attributes))
        return self.nodes[-1].output[0]

    def model(self, result: str, rank: int):
        self.nodes.append(helper.make_node("Identity", [result], ["y"]))
        output = helper.make_tensor_value_info("y", TensorProto.FLOAT, [None] * rank)
        graph = helper.make_graph(self.nodes, "net", self.inputs, [output], self.constants)
        made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        checker.check_model(made)
        return made


def attention(mask):
    """`mask` takes scores out."""
    net = Network(1)
    x = net.input("x", [1, WORDS, WIDTH])
    size = WIDTH // HEADS

    def part(turn):
        weights = net.constant(net.rng.normal(0, 0.35, (WIDTH, WIDTH)).astype(np.float32))
        heads = net.node("Reshape", net.node("MatMul", x, weights), net.constant(np.array([1, WORDS, HEADS, size])))
        return net.node("Transpose", heads, perm=turn)

    query, key, value = part([0, 2, 1, 3]), part([0, 2, 3, 1]), part([0, 2, 1, 3])
    scores = net.node("Mul", net.node("MatMul", query, key), net.constant(np.float32(size**-0.5)))
    found = net.node("MatMul", net.node("Softmax", mask(net, scores), axis=-1), value)
    joined = net.node("Reshape", net.node("Transpose", found, perm=[0, 2, 1, 3]), net.constant(np.array([1, WORDS, WIDTH])))
    weights = net.constant(net.rng.normal(0, 0.35, (WIDTH, WIDTH)).astype(np.float32))
    return net.model(net.node("MatMul", joined, weights), 3)


def causal(masked):
    triangle = np.triu(np.full((1, 1, WORDS, WORDS), masked, np.float32), 1)
    return attention(lambda net, scores: net.node("Add", scores, net.constant(triangle)))


def chosen(net, scores):
    """What masked_fill becomes."""
    seen = net.constant(np.tril(np.ones((1, 1, WORDS, WORDS), bool)))
    return net.node("Where", seen, scores, net.constant(np.float32(-np.inf)))


def padded(masked):
    """Words that the caller says are there, as in BERT."""

    def mask(net, scores):
        there = net.node("Unsqueeze", net.input("mask", [1, WORDS], TensorProto.INT64), net.constant(np.array([1, 2])))
        gone = net.node("Sub", net.constant(np.float32(1)), net.node("Cast", there, to=TensorProto.FLOAT))
        return net.node("Add", scores, net.node("Mul", gone, net.constant(np.float32(masked))))

    return attention(mask)


def added(net, scores):
    return net.node("Add", scores, net.input("mask", [1, 1, 1, WORDS]))


def pooled():
    """A max pool that pads in a way that TFLite has no scheme for, of values on both sides of zero."""
    net = Network(2)
    weights = net.constant(net.rng.normal(0, 0.3, (8, 3, 3, 3)).astype(np.float32))
    image = net.node("Conv", net.input("x", [1, 3, 16, 16]), weights, pads=[1, 1, 1, 1])
    return net.model(net.node("MaxPool", image, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]), 4)


def sampled():
    """An image turned by a map that a layer computes."""
    net = Network(3)
    x = net.input("x", [1, 3, 16, 16])
    means = net.node("Flatten", net.node("AveragePool", x, kernel_shape=[8, 8], strides=[8, 8]))
    small = net.constant(net.rng.normal(0, 0.05, (12, 6)).astype(np.float32))
    still = net.constant(np.float32([1, 0, 0, 0, 1, 0]))
    turn = net.node("Reshape", net.node("Gemm", means, small, still), net.constant(np.array([1, 2, 3])))
    axis = (2 * np.arange(16) + 1) / 16 - 1
    places = np.stack([np.tile(axis, 16), np.repeat(axis, 16), np.ones(256)], 1).astype(np.float32)[None]
    grid = net.node("MatMul", net.constant(places), net.node("Transpose", turn, perm=[0, 2, 1]))
    return net.model(net.node("GridSample", x, net.node("Reshape", grid, net.constant(np.array([1, 16, 16, 2])))), 4)


# Network, then the least SQNR as int8 and with 16-bit activations (LiteRT's softmax on those has about 30 dB).
CASES = {
    "causal_infinite": (lambda: causal(-np.inf), 22, 28),
    "causal_lowest": (lambda: causal(LOWEST), 22, 28),
    "causal_large": (lambda: causal(-1e4), 22, 28),
    "causal_where": (lambda: attention(chosen), 22, 28),
    "padded_lowest": (lambda: padded(LOWEST), 22, 28),
    "padded_large": (lambda: padded(-1e4), 22, 28),
    "mask_input": (lambda: attention(added), 22, 28),
    "max_pool": (pooled, 30, 38),
    "grid_sample": (sampled, 15, 40),
}


def sample(model, rng):
    there = np.arange(WORDS) < rng.integers(5, WORDS)
    values = {}
    for entry in model.graph.input:
        shape = [d.dim_value for d in entry.type.tensor_type.shape.dim]
        if entry.name == "x":
            values["x"] = rng.normal(0, 1, shape).astype(np.float32)
        elif entry.type.tensor_type.elem_type == TensorProto.INT64:
            values["mask"] = there[None].astype(np.int64)
        else:
            values["mask"] = np.where(there, 0, -1e9).astype(np.float32).reshape(shape)
    return values


def check(name, how, tool, folder):
    make, *marks = CASES[name]
    model = make()
    source, written, data = folder / f"{name}.onnx", folder / f"{name}_{how}.tflite", folder / name
    save(model, source)
    data.mkdir(exist_ok=True)
    rng = np.random.default_rng(4)
    for i in range(CALIBRATION):
        np.savez(data / f"{i:02}.npz", **sample(model, rng))
    report = program.report(tool, source, "-t", "tflite", "-q", how, "--calibration-data", data, "--keep-io-layout", "-o", written)
    floats, ours, peer = ort_session(source), InferenceSession(written), litert.open_model(written)
    signal = noise = differs = 0.0
    for _ in range(TEST):
        values = sample(model, rng)
        (expected,) = floats.run(None, values)
        got = np.asarray(ours.run(values)["y"])
        differs = max(differs, float(np.abs(got - litert.run_signature(peer, values)["y"]).max()))
        signal += float((expected.astype(np.float64) ** 2).sum())
        noise += float(((expected.astype(np.float64) - got) ** 2).sum())
    row = {"network": name, "how": how, "sqnr_db": round(10 * float(np.log10(signal / noise)), 1), "differs_from_litert": differs,
           "float_operations": report["quantization"]["float_operations"]}  # fmt: skip
    # Softmaxes and means in floating point may be a last bit off, which is a step of 16 bits now and then.
    row["ok"] = row["sqnr_db"] >= marks[how == "a16w8"] and differs <= (0 if how == "ptq" else 2e-3)
    return row


def main():
    arguments = comparison.parser(__doc__).parse_args()
    rows = comparison.Rows()
    with tempfile.TemporaryDirectory() as scratch:
        for name in CASES:
            for how in ("ptq", "a16w8"):
                try:
                    rows.add(check(name, how, arguments.edgecompile, pathlib.Path(scratch)))
                except (RuntimeError, ValueError) as error:
                    rows.add({"network": name, "how": how, "ok": False, "reason": str(error)[-400:]})
    return rows.finish(arguments.out, "quantize_forms_check.json")


if __name__ == "__main__":
    sys.exit(main())
