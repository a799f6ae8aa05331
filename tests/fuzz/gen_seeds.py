"""Writes the small sound models under seeds/onnx that the mutation tests damage.

Needs the onnx package. Each model exercises another part of the importer: encodings, nesting,
functions, external data, shapes that are computed, quantised forms.
"""

import pathlib

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OUT = pathlib.Path(__file__).parent / "seeds" / "onnx"
RNG = np.random.default_rng(7)


def const(name, array):
    return numpy_helper.from_array(np.asarray(array), name)


def f32(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def value(name, shape, dtype=TensorProto.FLOAT):
    """A graph input or output; an int instead of a shape is a rank with open dimensions."""
    if isinstance(shape, int):
        shape = [f"{name}{i}" for i in range(shape)]
    return helper.make_tensor_value_info(name, dtype, shape)


def save(name, graph, opset=17, functions=(), domains=(), **kwargs):
    imports = [helper.make_opsetid("", opset)] + [helper.make_opsetid(d, 1) for d in domains]
    model = helper.make_model(graph, opset_imports=imports, functions=list(functions), ir_version=8)
    onnx.checker.check_model(model)
    onnx.save(model, OUT / f"{name}.onnx", **kwargs)


def cnn():
    nodes = [
        helper.make_node("Conv", ["x", "w", "b"], ["c"], "conv", pads=[1, 1, 1, 1], strides=[2, 2]),
        helper.make_node("BatchNormalization", ["c", "s", "o", "m", "v"], ["n"], "bn"),
        helper.make_node("Relu", ["n"], ["r"], "relu"),
        helper.make_node("MaxPool", ["r"], ["p"], "pool", kernel_shape=[2, 2], auto_pad="SAME_UPPER"),
        helper.make_node("GlobalAveragePool", ["p"], ["g"], "gap"),
        helper.make_node("Flatten", ["g"], ["f"], "flat"),
        helper.make_node("Gemm", ["f", "fc", "fb"], ["y"], "fc", transB=1),
    ]
    weights = [const("w", f32(4, 3, 3, 3)), const("b", f32(4))]
    weights += [const(n, np.abs(f32(4)) + 0.5) for n in "somv"]
    weights += [const("fc", f32(5, 4)), const("fb", f32(5))]
    save("cnn", helper.make_graph(nodes, "cnn", [value("x", ["batch", 3, 8, 8])], [value("y", ["batch", 5])], weights))


def shapes():
    nodes = [
        helper.make_node("Shape", ["x"], ["s"], "shape"),
        helper.make_node("Gather", ["s", "zero"], ["n"], "gather"),
        helper.make_node("Unsqueeze", ["n", "axes"], ["n1"], "unsqueeze"),
        helper.make_node("Concat", ["n1", "rest"], ["target"], "concat", axis=0),
        helper.make_node("Reshape", ["x", "target"], ["r"], "reshape"),
        helper.make_node("Slice", ["r", "starts", "ends", "axes1", "steps"], ["sl"], "slice"),
        helper.make_node("Pad", ["sl", "pads"], ["p"], "pad"),
        helper.make_node("Tile", ["p", "reps"], ["t"], "tile"),
        helper.make_node("Expand", ["t", "big"], ["y"], "expand"),
    ]
    ints = {"zero": np.int64(0), "axes": [0], "rest": [-1], "starts": [1], "ends": [9], "axes1": [1], "steps": [2],
            "pads": [0, 1, 0, 1], "reps": [1, 2], "big": [3, 1, 1]}
    weights = [const(k, np.array(v, dtype=np.int64)) for k, v in ints.items()]
    save("shapes", helper.make_graph(nodes, "shapes", [value("x", ["N", 3, 4])], [value("y", 3)], weights), 13)


def control():
    then = helper.make_graph([helper.make_node("Add", ["x", "x"], ["t"], "then_add")], "then", [], [value("t", 1)])
    other = helper.make_graph([helper.make_node("Mul", ["x", "k"], ["e"], "else_mul")], "else", [], [value("e", 1)])
    body = helper.make_graph(
        [helper.make_node("Add", ["acc", "k"], ["next"], "step"), helper.make_node("Identity", ["cond"], ["again"], "same"),
         helper.make_node("Identity", ["next"], ["row"], "row")],
        "body", [value("i", [], TensorProto.INT64), value("cond", [], TensorProto.BOOL), value("acc", [2])],
        [value("again", [], TensorProto.BOOL), value("next", [2]), value("row", [2])])
    nodes = [
        helper.make_node("If", ["flag"], ["a"], "if", then_branch=then, else_branch=other),
        helper.make_node("Loop", ["trip", "", "a"], ["b", "rows"], "loop", body=body),
    ]
    weights = [const("k", f32(2)), const("trip", np.int64(3))]
    save("control", helper.make_graph(nodes, "control", [value("x", [2]), value("flag", [], TensorProto.BOOL)],
                                      [value("b", [2]), value("rows", [3, 2])], weights))


def functions():
    inner = helper.make_function("local", "Scale", ["x"], ["y"], [
        helper.make_node("Constant", [], ["c"], value_float=2.0), helper.make_node("Mul", ["x", "c"], ["y"])],
        [helper.make_opsetid("", 17)])
    node = helper.make_node("LeakyRelu", ["s"], ["y"])
    node.attribute.append(onnx.AttributeProto(name="alpha", ref_attr_name="slope", type=onnx.AttributeProto.FLOAT))
    outer = helper.make_function("local", "Block", ["x"], ["y"], [helper.make_node("Scale", ["x"], ["s"], domain="local"), node],
                                 [helper.make_opsetid("", 17), helper.make_opsetid("local", 1)], ["slope"])
    nodes = [helper.make_node("Block", ["x"], ["h"], "b1", domain="local", slope=0.1),
             helper.make_node("Block", ["h"], ["y"], "b2", domain="local", slope=0.2)]
    save("functions", helper.make_graph(nodes, "functions", [value("x", [2, 3])], [value("y", [2, 3])]), 17, [inner, outer], ["local"])


def encodings():
    weights = [
        helper.make_tensor("f", TensorProto.FLOAT, [3], [1.0, 2.0, 3.0]),
        helper.make_tensor("h", TensorProto.FLOAT16, [3], [1.0, 2.0, 3.0]),
        helper.make_tensor("b", TensorProto.BFLOAT16, [3], [1.0, 2.0, 3.0]),
        helper.make_tensor("i", TensorProto.INT8, [3], [1, -2, 3]),
        helper.make_tensor("d", TensorProto.DOUBLE, [3], [1.0, 2.0, 3.0]),
        helper.make_tensor("u", TensorProto.UINT64, [3], [1, 2, 3]),
        helper.make_tensor("n", TensorProto.INT4, [3], [1, -2, 3]),
    ]
    nodes = [helper.make_node("Cast", [w.name], [w.name + "f"], to=TensorProto.FLOAT) for w in weights]
    nodes.append(helper.make_node("Sum", ["x"] + [w.name + "f" for w in weights], ["y"], "sum"))
    graph = helper.make_graph(nodes, "encodings", [value("x", [3])], [value("y", [3])], weights)
    save("encodings", graph, 21)


def recurrent():
    nodes = [helper.make_node("LSTM", ["x", "w", "r", "b"], ["y", "h", ""], "lstm", hidden_size=3, direction="bidirectional")]
    weights = [const("w", f32(2, 12, 4)), const("r", f32(2, 12, 3)), const("b", f32(2, 24))]
    save("recurrent", helper.make_graph(nodes, "recurrent", [value("x", ["T", 1, 4])], [value("y", 4), value("h", 3)], weights))


def quantized():
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"], "q"),
        helper.make_node("DequantizeLinear", ["q", "s", "z"], ["d"], "d"),
        helper.make_node("DequantizeLinear", ["w", "ws", "wz"], ["wd"], "wd", axis=0),
        helper.make_node("Conv", ["d", "wd"], ["y"], "conv"),
        helper.make_node("QLinearConv", ["q", "s", "z", "w", "ws", "wz", "s", "z"], ["qc"], "qconv"),
    ]
    weights = [const("s", np.float32(0.1)), const("z", np.int8(3)), const("w", RNG.integers(-9, 9, (2, 1, 3, 3)).astype(np.int8)),
               const("ws", np.array([0.1, 0.2], np.float32)), const("wz", np.zeros(2, np.int8))]
    save("quantized", helper.make_graph(nodes, "quantized", [value("x", [1, 1, 5, 5])],
                                        [value("y", 4), value("qc", 4, TensorProto.INT8)], weights), 13)


def external():
    nodes = [helper.make_node("MatMul", ["x", "w"], ["y"], "mm")]
    graph = helper.make_graph(nodes, "external", [value("x", [2, 32])], [value("y", [2, 16])], [const("w", f32(32, 16))])
    save("external", graph, 17, save_as_external_data=True, location="external.data", size_threshold=0)


def attention():
    nodes = [
        helper.make_node("Transpose", ["x"], ["k"], "tr", perm=[0, 2, 1]),
        helper.make_node("MatMul", ["x", "k"], ["s"], "scores"),
        helper.make_node("Softmax", ["s"], ["p"], "softmax", axis=-1),
        helper.make_node("MatMul", ["p", "x"], ["o"], "mix"),
        helper.make_node("LayerNormalization", ["o", "g"], ["l"], "ln"),
        helper.make_node("Split", ["l"], ["a", "b"], "split", axis=2, num_outputs=2),
        helper.make_node("TopK", ["a", "one"], ["y", "i"], "topk"),
        helper.make_node("ReduceMean", ["b", "last"], ["m"], "mean", keepdims=0),
    ]
    weights = [const("g", f32(8)), const("one", np.array([1], np.int64)), const("last", np.array([-1], np.int64))]
    outs = [value("y", 3), value("i", 3, TensorProto.INT64), value("m", 2)]
    save("attention", helper.make_graph(nodes, "attention", [value("x", [1, "L", 8])], outs, weights), 18)


def resize():
    nodes = [
        helper.make_node("Resize", ["x", "", "scales"], ["r"], "up", mode="linear"),
        helper.make_node("ConvTranspose", ["r", "w"], ["t"], "deconv", strides=[2, 2], output_padding=[1, 1]),
        helper.make_node("DepthToSpace", ["t"], ["d"], "shuffle", blocksize=2),
        helper.make_node("NonZero", ["d"], ["y"], "nz"),
    ]
    weights = [const("scales", np.array([1, 1, 2, 2], np.float32)), const("w", f32(1, 4, 2, 2))]
    save("resize", helper.make_graph(nodes, "resize", [value("x", [1, 1, 3, 3])], [value("y", 2, TensorProto.INT64)], weights), 13)


if __name__ == "__main__":
    OUT.mkdir(exist_ok=True)
    for make in (cnn, shapes, control, functions, encodings, recurrent, quantized, external, attention, resize):
        make()
