#!/usr/bin/env python3
"""Weights stored smaller (--quantize dynamic, float16): LiteRT's reference kernels and our session agree on the file.

    stored_weights_check.py [--edgecompile PATH] [--out DIR]

Needs onnx and ai-edge-litert. Makes one small network for each kind of operator that reads 8-bit weights, compiles it
with `-t tflite`, and runs the file with both. Differences are counted in parts of the largest output: activations are
rounded at run time, so that an input which lies between two steps may fall on either.
"""
import pathlib
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import comparison
import program
from litert import open_model, run_in_order

RNG = np.random.default_rng(3)


def model(nodes, inputs, outputs, weights):
    graph = helper.make_graph(
        nodes, "net",
        [helper.make_tensor_value_info(name, kind, shape) for name, kind, shape in inputs],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in outputs],
        [numpy_helper.from_array(np.asarray(v, np.float32 if np.asarray(v).dtype.kind == "f" else np.int64), k)
         for k, v in weights.items()],
    )  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def noise(*shape):
    return RNG.normal(0, 0.2, shape)


def image(*nodes, out, **weights):
    return model(list(nodes), [("x", TensorProto.FLOAT, [1, 16, 9, 9])], [("y", out)], weights)


def networks():
    conv = helper.make_node
    yield "conv", image(conv("Conv", ["x", "w", "b"], ["c"], "conv", pads=[1, 1, 1, 1]), conv("Relu", ["c"], ["y"], "relu"),
                        out=[1, 32, 9, 9], w=noise(32, 16, 3, 3), b=noise(32))
    yield "conv_strided", image(conv("Conv", ["x", "w"], ["y"], "conv", strides=[2, 2]), out=[1, 32, 4, 4], w=noise(32, 16, 3, 3))
    yield "depthwise", image(conv("Conv", ["x", "w", "b"], ["y"], "depthwise", pads=[4, 4, 4, 4], group=16),
                             out=[1, 16, 9, 9], w=noise(16, 1, 9, 9), b=noise(16))
    yield "grouped", image(conv("Conv", ["x", "w"], ["y"], "grouped", group=2), out=[1, 32, 7, 7], w=noise(32, 8, 3, 3))
    yield "transposed", image(conv("ConvTranspose", ["x", "w"], ["y"], "up", strides=[2, 2]), out=[1, 8, 19, 19], w=noise(16, 8, 3, 3))
    yield "dense", model([conv("Gemm", ["x", "w", "b"], ["y"], "dense", transB=1)], [("x", TensorProto.FLOAT, [3, 64])],
                         [("y", [3, 40])], {"w": noise(40, 64), "b": noise(40)})
    yield "dense_rank3", model([conv("MatMul", ["x", "w"], ["y"], "dense")], [("x", TensorProto.FLOAT, [2, 5, 64])],
                               [("y", [2, 5, 40])], {"w": noise(64, 40)})
    yield "batched", model([conv("MatMul", ["x", "w"], ["y"], "batched")], [("x", TensorProto.FLOAT, [3, 5, 64])],
                           [("y", [3, 5, 40])], {"w": noise(3, 64, 40)})
    yield "embedding", model([conv("Gather", ["t", "i"], ["e"], "embedding"), conv("MatMul", ["e", "w"], ["y"], "dense")],
                             [("i", TensorProto.INT64, [1, 7])], [("y", [1, 7, 40])], {"t": noise(100, 32), "w": noise(32, 40)})
    gates = {"w": noise(1, 128, 24), "r": noise(1, 128, 32), "b": noise(1, 256)}
    yield "lstm", model([conv("LSTM", ["x", "w", "r", "b"], ["s"], "lstm", hidden_size=32), conv("Squeeze", ["s", "one"], ["y"], "squeeze")],
                        [("x", TensorProto.FLOAT, [5, 1, 24])], [("y", [5, 1, 32])], gates | {"one": np.array([1])})


class Peer:
    def __init__(self, path):
        self.interpreter = open_model(path)

    def inputs(self):
        return {d["name"].split(":")[0]: d for d in self.interpreter.get_input_details()}

    def __call__(self, feeds):
        return run_in_order(self.interpreter, [feeds[name] for name in self.inputs()])[0]

    def kinds(self):
        return sorted({np.dtype(d["dtype"]).name for d in self.interpreter.get_tensor_details()})


def check(name, tool, folder, how):
    source, output = folder / f"{name}.onnx", folder / f"{name}_{how}.tflite"
    report = program.report(tool, source, "-t", "tflite", "-o", output, "-q", how)["quantization"]
    plain = folder / f"{name}_float.tflite"
    program.report(tool, source, "-t", "tflite", "-o", plain)
    peer, exact = Peer(output), Peer(plain)
    feeds = {}
    for key, detail in peer.inputs().items():
        shape = detail["shape"]
        feeds[key] = (RNG.normal(0, 1, shape) if detail["dtype"] == np.float32 else RNG.integers(0, 90, shape)).astype(detail["dtype"])
    theirs, mine, real = peer(feeds), program.run_model(tool, output, feeds)["y"], exact(feeds)
    largest = float(np.abs(real).max())
    row = {
        "network": name, "how": how, "stored": len(report["stored_weights"]), "size": output.stat().st_size / plain.stat().st_size,
        "difference": float(np.abs(theirs - mine).max()) / largest,
        "sqnr_db": float(10 * np.log10(np.sum(real**2) / max(np.sum((real - theirs) ** 2), 1e-30))),
        "weight_sqnr_db": min(w["sqnr_db"] for w in report["stored_weights"]) if report["stored_weights"] else None,
    }  # fmt: skip
    small = "int8" if how == "dynamic" else "float16"
    limit, sqnr = (5e-3 if name in ("embedding", "lstm") else 1e-5, 30) if how == "dynamic" else (1e-5, 60)
    row["ok"] = row["stored"] > 0 and small in peer.kinds() and row["difference"] <= limit and row["sqnr_db"] >= sqnr
    return row


def main():
    arguments = comparison.parser(__doc__).parse_args()
    rows = comparison.Rows()
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        for name, network in networks():
            onnx.save(network, folder / f"{name}.onnx")
            for how in ("dynamic", "float16"):
                try:
                    rows.add(check(name, arguments.edgecompile, folder, how))
                except (RuntimeError, ValueError) as error:
                    rows.add({"network": name, "how": how, "ok": False, "reason": str(error)[-400:]})
    return rows.finish(arguments.out, "stored_weights_check.json")


if __name__ == "__main__":
    sys.exit(main())
