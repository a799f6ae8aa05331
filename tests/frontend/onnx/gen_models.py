"""Writes the models under models/: small ONNX files with inputs and expected outputs, in the layout
of ONNX's own backend tests. Expected outputs come from ONNX Runtime, or from ONNX's reference
evaluator where it has no implementation.

Needs onnx, onnxruntime and numpy; the files are checked in, so only changes need a run.
"""

import pathlib
import shutil

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto as T
from onnx import helper as h
from onnx import numpy_helper as nh
from onnx.reference import ReferenceEvaluator

OUT = pathlib.Path(__file__).parent / "models"
RNG = np.random.default_rng(11)
IR_VERSION = {range(1, 10): 4, range(10, 11): 5, range(11, 12): 6, range(12, 15): 7,
              range(15, 19): 8, range(19, 21): 9, range(21, 23): 10, range(23, 24): 11,
              range(24, 25): 12, range(25, 28): 13, range(28, 29): 14}


def f32(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def const(name, array, dtype=None):
    return nh.from_array(np.asarray(array, dtype), name)


def ints(name, *values):
    return const(name, values, np.int64)


def info(name, array):
    return h.make_tensor_value_info(name, h.np_dtype_to_tensor_dtype(array.dtype), array.shape)


def any_info(name, dtype=T.FLOAT):
    return h.make_tensor_value_info(name, dtype, None)


def ir_version(opset):
    return next(v for r, v in IR_VERSION.items() if opset in r)


def make_model(nodes, inputs, outputs, initializers=(), opset=17, domains=(), functions=(), sparse=(), ir=None):
    graph = h.make_graph(nodes, "test", inputs, outputs, list(initializers), sparse_initializer=list(sparse))
    imports = [h.make_opsetid("", opset)] + [h.make_opsetid(d, 1) for d in domains]
    return h.make_model(graph, opset_imports=imports, functions=list(functions), ir_version=ir or ir_version(opset))


def expected(model, feeds):
    """What the model should give: ONNX Runtime first."""
    ort.set_default_logger_severity(4)
    try:
        session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
        return session.run(None, feeds)
    except Exception:
        return ReferenceEvaluator(model).run(None, feeds)


def save_tensor(path, name, array):
    path.write_bytes(nh.from_array(np.asarray(array, order="C"), name).SerializeToString())


def save(name, model, feeds, outputs=None, **kwargs):
    folder = OUT / name
    data = folder / "test_data_set_0"
    data.mkdir(parents=True)
    results = outputs if outputs is not None else expected(model, feeds)
    onnx.save(model, folder / "model.onnx", **kwargs)
    for i, (key, array) in enumerate(feeds.items()):
        save_tensor(data / f"input_{i}.pb", key, array)
    for i, array in enumerate(results):
        save_tensor(data / f"output_{i}.pb", model.graph.output[i].name, array)


# --- one network in every operator set -----------------------------------------------------------


class Network:
    """Nodes in the form that the operator set has them."""

    def __init__(self, opset):
        self.opset, self.nodes, self.constants = opset, [], []

    def const(self, array, dtype=None):
        name = f"c{len(self.constants)}"
        self.constants.append(const(name, array, dtype))
        return name

    def node(self, op, inputs, outputs=1, **attributes):
        names = [f"{op.lower()}{len(self.nodes)}_{i}" for i in range(outputs)]
        self.nodes.append(h.make_node(op, inputs, names, **attributes))
        return names[0] if outputs == 1 else names

    def by_version(self, since, op, inputs, outputs=1, **attributes):
        """Attributes in capitals are int64 inputs from version `since` on."""
        moved = {k.lower(): v for k, v in attributes.items() if k.isupper()}
        kept = {k: v for k, v in attributes.items() if not k.isupper()}
        if self.opset < since:
            return self.node(op, inputs, outputs, **moved, **kept)
        return self.node(op, inputs + [self.const(v, np.int64) for v in moved.values()], outputs, **kept)


def network(opset):
    n = Network(opset)
    x = n.by_version(11, "Pad", ["x"], PADS=[0, 0, 1, 1, 0, 0, 1, 1], mode="constant")
    x = n.node("Conv", [x, n.const(f32(4, 3, 3, 3)), n.const(f32(4))], strides=[2, 2])
    bn = {"spatial": 1} if opset < 9 else {}
    x = n.node("BatchNormalization", [x] + [n.const(np.abs(f32(4)) + 0.5) for _ in range(4)], **bn)
    if opset < 11:
        x = n.node("Clip", [x], min=-1.0, max=2.0)
    else:
        x = n.node("Clip", [x, n.const(-1.0, np.float32), n.const(2.0, np.float32)])
    if opset < 9:
        x = n.node("Upsample", [x], scales=[1.0, 1.0, 2.0, 2.0], mode="nearest")
    elif opset == 9:
        x = n.node("Upsample", [x, n.const([1, 1, 2, 2], np.float32)], mode="nearest")
    elif opset == 10:
        x = n.node("Resize", [x, n.const([1, 1, 2, 2], np.float32)], mode="linear")
    else:
        roi = n.const([], np.float32) if opset < 13 else ""
        x = n.node("Resize", [x, roi, n.const([1, 1, 2, 2], np.float32)], mode="linear")
    x = n.node("AveragePool", [x], kernel_shape=[2, 2], strides=[2, 2])
    if opset < 12:
        x = n.node("Dropout", [x], **({"ratio": 0.5} if opset >= 7 else {}))
    else:
        x = n.node("Dropout", [x, n.const(0.5, np.float32)])
    if opset < 10:
        x = n.node("Slice", [x], starts=[0, 1], ends=[4, 9], axes=[2, 3])
    else:
        x = n.node("Slice", [x, n.const([0, 1], np.int64), n.const([4, 9], np.int64), n.const([2, 3], np.int64)])
    if opset < 18:
        a, b = n.by_version(13, "Split", [x], 2, SPLIT=[1, 3], axis=1)
    else:
        a, b = n.node("Split", [x], 2, axis=1, num_outputs=2)
    a = n.by_version(18, "ReduceMean", [a], AXES=[2], keepdims=1)
    b = n.by_version(13, "ReduceSum", [b], AXES=[1, 2], keepdims=0)
    b = n.by_version(13, "Unsqueeze", [b], AXES=[1])
    a = n.by_version(13, "Squeeze", [a], AXES=[2])
    a = n.by_version(18, "ReduceMax", [a], AXES=[1], keepdims=1)
    x = n.node("Add", [a, b])
    x = n.node("Softmax", [x])
    x = n.node("Flatten", [x], axis=1)
    x = n.node("Gemm", [x, n.const(f32(3, 5)), n.const(f32(5))])
    if opset < 10:
        values, _ = n.node("TopK", [x], 2, k=2)
    else:
        values, _ = n.node("TopK", [x, n.const([2], np.int64)], 2)
    y = n.node("Identity", [values])
    image = f32(1, 3, 8, 8)
    model = make_model(n.nodes, [info("x", image)], [h.make_tensor_value_info(y, T.FLOAT, [1, 2])], n.constants, opset)
    onnx.checker.check_model(model)
    save(f"opset_{opset:02}", model, {"x": image})


# --- structure -----------------------------------------------------------------------------------


def functions():
    domain = "test.local"
    opsets = [h.make_opsetid("", 13), h.make_opsetid(domain, 1)]
    scaled = h.make_function(domain, "Scaled", ["x"], ["y"], [
        h.make_node("Constant", [], ["c"]), h.make_node("Mul", ["x", "c"], ["y"])], opsets, ["factor"])
    reference = onnx.AttributeProto(name="value_float", type=onnx.AttributeProto.FLOAT, ref_attr_name="factor")
    scaled.node[0].attribute.append(reference)
    twice = h.make_function(domain, "Twice", ["x", "skip"], ["y", "z"], [
        h.make_node("Scaled", ["x"], ["a"], domain=domain, factor=2.0),
        h.make_node("Scaled", ["a"], ["b"], domain=domain, factor=0.25),
        # axes are an attribute in the function's operator set 11, an input in the model's
        h.make_node("ReduceMean", ["b"], ["z"], axes=[0], keepdims=0),
        h.make_node("Add", ["b", "skip"], ["y"])], opsets)
    nodes = [h.make_node("Twice", ["x", "x"], ["p", "q"], domain=domain, name="call1"),
             h.make_node("Twice", ["p", "x"], ["r", ""], domain=domain, name="call2"),
             h.make_node("ReduceSum", ["r"], ["s"], keepdims=0)]
    x = f32(3, 2)
    model = make_model(nodes, [info("x", x)], [any_info("r"), any_info("q"), any_info("s")], [], 18, [domain],
                       [scaled, twice])
    save("functions", model, {"x": x})


def control_flow():
    x, n = f32(4), np.array(3, np.int64)
    branch = h.make_graph([h.make_node("Mul", ["acc", "w"], ["m"])], "then", [], [any_info("m")])
    other = h.make_graph([h.make_node("Sub", ["acc", "x"], ["d"])], "else", [], [any_info("d")])
    body = h.make_graph([
        h.make_node("Cast", ["i"], ["f"], to=T.FLOAT), h.make_node("Less", ["f", "one"], ["small"]),
        h.make_node("If", ["small"], ["next"], then_branch=branch, else_branch=other),
        h.make_node("Identity", ["go"], ["again"]), h.make_node("ReduceSum", ["next"], ["total"], keepdims=0)],
        "body", [h.make_tensor_value_info("i", T.INT64, []), h.make_tensor_value_info("go", T.BOOL, []),
                 h.make_tensor_value_info("acc", T.FLOAT, [4])],
        [h.make_tensor_value_info("again", T.BOOL, []), h.make_tensor_value_info("next", T.FLOAT, [4]),
         h.make_tensor_value_info("total", T.FLOAT, [])], [const("one", 1.0, np.float32)])
    nodes = [h.make_node("Loop", ["n", "", "x"], ["last", "totals"], body=body)]
    model = make_model(nodes, [info("x", x), info("n", n)], [any_info("last"), any_info("totals")], [const("w", f32(4))])
    save("loop_if_captures", model, {"x": x, "n": n})

    scan = h.make_graph([h.make_node("Add", ["s", "e"], ["s2"]), h.make_node("Mul", ["s2", "k"], ["o"])], "scan",
                        [h.make_tensor_value_info("s", T.FLOAT, [2]), h.make_tensor_value_info("e", T.FLOAT, [2])],
                        [h.make_tensor_value_info("s2", T.FLOAT, [2]), h.make_tensor_value_info("o", T.FLOAT, [2])])
    start, seq, k = f32(2), f32(2, 5), f32(2)
    nodes = [h.make_node("Scan", ["start", "seq"], ["end", "all"], body=scan, num_scan_inputs=1, scan_input_axes=[1],
                         scan_input_directions=[1], scan_output_axes=[1])]
    model = make_model(nodes, [info("start", start), info("seq", seq), info("k", k)], [any_info("end"), any_info("all")])
    save("scan_axes", model, {"start": start, "seq": seq, "k": k})


def encodings():
    """Typed and raw tensors of every element type, all brought to float."""
    plain = {T.FLOAT: 1, T.DOUBLE: 1, T.INT8: 1, T.UINT8: 1, T.INT16: 1, T.UINT16: 1, T.INT32: 1, T.UINT32: 1,
             T.INT64: 1, T.UINT64: 1, T.BOOL: 1, T.FLOAT16: 1, T.BFLOAT16: 1, T.FLOAT8E4M3FN: 1, T.FLOAT8E5M2: 1,
             T.UINT4: 1, T.INT4: 1}
    nodes, constants, outputs, results = [], [], [], []
    for dtype in plain:
        signed = dtype not in (T.UINT8, T.UINT16, T.UINT32, T.UINT64, T.BOOL, T.UINT4)
        values = [1, 0, 1] if dtype == T.BOOL else [-3, 2, 1] if signed else [3, 2, 1]
        raw = onnx.numpy_helper.from_array(np.array(values).astype(h.tensor_dtype_to_np_dtype(dtype)), f"raw{dtype}")
        typed = h.make_tensor(f"typed{dtype}", dtype, [3], values)
        for tensor in (raw, typed):
            constants.append(tensor)
            nodes.append(h.make_node("Cast", [tensor.name], [tensor.name + "_f"], to=T.FLOAT))
            outputs.append(any_info(tensor.name + "_f"))
            results.append(np.array(values, np.float32))
    model = make_model(nodes, [], outputs, constants, 21)
    save("encodings", model, {}, results)


def sparse_initializer():
    x = f32(2, 3)
    values = const("w", [2.0, -1.0, 4.0], np.float32)
    flat = h.make_sparse_tensor(values, ints("w_indices", 0, 4, 11), [3, 4])
    pairs = h.make_sparse_tensor(const("v", [5.0, 6.0], np.float32),
                                 const("v_indices", [[0, 1], [1, 3]], np.int64), [2, 4])
    nodes = [h.make_node("MatMul", ["x", "w"], ["m"]), h.make_node("Add", ["m", "v"], ["y"])]
    model = make_model(nodes, [info("x", x)], [any_info("y")], sparse=[flat, pairs])
    w, v = np.zeros(12, np.float32), np.zeros((2, 4), np.float32)
    w[[0, 4, 11]] = [2, -1, 4]
    v[0, 1], v[1, 3] = 5, 6
    save("sparse_initializer", model, {"x": x}, [x @ w.reshape(3, 4) + v])


def external_data():
    x, w, b = f32(2, 16), f32(16, 4), f32(4)
    nodes = [h.make_node("MatMul", ["x", "w"], ["m"]), h.make_node("Add", ["m", "b"], ["y"])]
    model = make_model(nodes, [info("x", x)], [any_info("y")], [const("w", w), const("b", b)])
    save("external_data", model, {"x": x}, [x @ w + b], save_as_external_data=True, location="weights.bin",
         size_threshold=0)


def old_ir():
    """IR version 3: every initializer is an input, too; the nodes are out of order."""
    x = f32(2, 3)
    w, b = const("w", f32(3, 2)), const("b", f32(2))
    nodes = [h.make_node("Relu", ["s"], ["y"]), h.make_node("Add", ["m", "b"], ["s"]),
             h.make_node("MatMul", ["x", "w"], ["m"])]
    ordered = make_model(nodes[::-1], [info("x", x)], [any_info("y")], [w, b], 8, ir=3)
    inputs = [any_info(c.name) for c in (w, b)]
    model = make_model(nodes, inputs[:1] + [info("x", x)] + inputs[1:], [any_info("y")], [w, b], 8, ir=3)
    results = [np.maximum(x @ nh.to_array(w) + nh.to_array(b), 0)]
    assert ordered
    save("ir3_unordered", model, {"x": x}, results)


def sequences():
    x = f32(6, 2)
    nodes = [h.make_node("SplitToSequence", ["x", "sizes"], ["s"], axis=0),
             h.make_node("SequenceAt", ["s", "minus1"], ["last"]), h.make_node("SequenceEmpty", [], ["e"]),
             h.make_node("SequenceInsert", ["e", "last"], ["e1"]), h.make_node("SequenceInsert", ["e1", "x", "zero"], ["e2"]),
             h.make_node("SequenceLength", ["e2"], ["n"]), h.make_node("ConcatFromSequence", ["e2"], ["y"], axis=0),
             h.make_node("SequenceErase", ["s", "zero"], ["t"]),
             h.make_node("ConcatFromSequence", ["t"], ["z"], axis=0, new_axis=0)]
    constants = [ints("sizes", 1, 2, 3), const("minus1", -1, np.int64), const("zero", 0, np.int64)]
    model = make_model(nodes, [info("x", x)], [any_info("y"), any_info("z"), any_info("n", T.INT64)], constants)
    save("sequences", model, {"x": x})


# --- quantised and com.microsoft -----------------------------------------------------------------


def quantized():
    u8 = lambda *s: RNG.integers(0, 256, s).astype(np.uint8)  # noqa: E731
    i8 = lambda *s: RNG.integers(-128, 128, s).astype(np.int8)  # noqa: E731
    scale = lambda name, v: const(name, v, np.float32)  # noqa: E731
    x, w = u8(1, 3, 6, 6), i8(4, 3, 3, 3)
    constants = [scale("xs", 0.021), const("xz", 120, np.uint8), const("w", w), scale("ws", [0.01, 0.02, 0.03, 0.015]),
                 const("wz", [0, 0, 0, 0], np.int8), scale("ys", 0.31), const("yz", 101, np.uint8),
                 const("b", [100, -200, 300, 0], np.int32)]
    node = h.make_node("QLinearConv", ["x", "xs", "xz", "w", "ws", "wz", "ys", "yz", "b"], ["y"], pads=[1, 1, 1, 1],
                       strides=[2, 2])
    save("qlinear_conv", make_model([node], [info("x", x)], [any_info("y", T.UINT8)], constants), {"x": x})
    a, b = u8(2, 3, 5), u8(5, 4)
    constants = [const("b", b), const("az", 7, np.uint8), const("bz", 130, np.uint8)]
    node = h.make_node("MatMulInteger", ["a", "b", "az", "bz"], ["y"])
    save("matmul_integer", make_model([node], [info("a", a)], [any_info("y", T.INT32)], constants), {"a": a})
    x = u8(1, 2, 5, 5)
    node = h.make_node("ConvInteger", ["x", "w", "xz"], ["y"], pads=[1, 1, 1, 1])
    constants = [const("w", u8(3, 2, 3, 3)), const("xz", 9, np.uint8)]
    save("conv_integer", make_model([node], [info("x", x)], [any_info("y", T.INT32)], constants), {"x": x})
    x = f32(3, 8)
    nodes = [h.make_node("QuantizeLinear", ["x", "s", "z"], ["q"], axis=1), h.make_node("DequantizeLinear", ["q", "s", "z"], ["y"], axis=1)]
    constants = [scale("s", np.linspace(0.01, 0.08, 8)), const("z", np.arange(-4, 4), np.int8)]
    save("qdq_per_channel", make_model(nodes, [info("x", x)], [any_info("y")], constants), {"x": x})
    nodes = [h.make_node("DynamicQuantizeLinear", ["x"], ["q", "s", "z"])]
    model = make_model(nodes, [info("x", x)], [any_info("q", T.UINT8), any_info("s"), any_info("z", T.UINT8)])
    save("dynamic_quantize", model, {"x": x})


def microsoft(name, op, feeds, constants=(), outputs=(T.FLOAT,), before=(), **attributes):
    inputs = list(feeds)
    names = [n if isinstance(n, str) else n.name for n in before] or inputs + [c.name for c in constants]
    outs = [f"y{i}" for i in range(len(outputs))]
    node = h.make_node(op, names, outs, domain="com.microsoft", **attributes)
    model = make_model([node], [info(k, v) for k, v in feeds.items()],
                       [any_info(o, t) for o, t in zip(outs, outputs)], constants, 17, ["com.microsoft"])
    save("ms_" + name, model, feeds)


def contrib():
    x = f32(2, 4, 8)
    microsoft("gelu", "Gelu", {"x": x})
    microsoft("bias_gelu", "BiasGelu", {"x": x}, [const("b", f32(8))])
    microsoft("fast_gelu", "FastGelu", {"x": x}, [const("b", f32(8))])
    microsoft("quick_gelu", "QuickGelu", {"x": x}, alpha=1.5)
    microsoft("skip_layer_norm", "SkipLayerNormalization", {"x": x, "skip": f32(2, 4, 8)},
              [const("g", f32(8)), const("b", f32(8)), const("bias", f32(8))], epsilon=1e-5)
    microsoft("skip_rms_norm", "SkipSimplifiedLayerNormalization", {"x": x, "skip": f32(2, 4, 8)},
              [const("g", f32(8))], epsilon=1e-5)
    microsoft("fused_matmul", "FusedMatMul", {"a": f32(2, 5, 3), "b": f32(2, 4, 5)}, transA=1, transB=1, alpha=0.5)
    microsoft("fused_matmul_batch", "FusedMatMul", {"a": f32(3, 2, 5), "b": f32(2, 5, 4)}, transBatchA=1)
    microsoft("fused_conv", "FusedConv", {"x": f32(1, 2, 5, 5)}, [const("w", f32(3, 2, 3, 3)), const("b", f32(3))],
              activation="LeakyRelu", activation_params=[0.2], pads=[1, 1, 1, 1])
    microsoft("fused_gemm", "FusedGemm", {"a": f32(2, 3)}, [const("w", f32(4, 3)), const("c", f32(4))], transB=1,
              activation="Relu")
    u8 = lambda *s: RNG.integers(0, 256, s).astype(np.uint8)  # noqa: E731
    sc = lambda n, v: const(n, v, np.float32)  # noqa: E731
    z = lambda n, v: const(n, v, np.uint8)  # noqa: E731
    out = [sc("ys", 0.043), z("yz", 77)]
    q = u8(2, 6)
    pair = [sc("xs", 0.02), z("xz", 100)]
    for op in ("QLinearAdd", "QLinearMul"):
        constants = pair + [const("b", u8(6)), sc("bs", 0.031), z("bz", 90)] + out
        microsoft(op.lower(), op, {"x": q}, constants, (T.UINT8,))
    microsoft("qlinear_sigmoid", "QLinearSigmoid", {"x": q}, pair + [sc("ys", 1 / 256), z("yz", 0)], (T.UINT8,))
    microsoft("qlinear_leaky_relu", "QLinearLeakyRelu", {"x": q}, pair + out, (T.UINT8,), alpha=0.1)
    microsoft("qlinear_softmax", "QLinearSoftmax", {"x": q}, pair + [sc("ys", 1 / 256), z("yz", 0)], (T.UINT8,), axis=-1,
              opset=13)
    image = u8(1, 2, 6, 6)
    microsoft("qlinear_average_pool", "QLinearAveragePool", {"x": image}, pair + [sc("ys", 0.0191), z("yz", 100)],
              (T.UINT8,), kernel_shape=[3, 3], strides=[2, 2])
    microsoft("qlinear_global_average_pool", "QLinearGlobalAveragePool", {"x": image},
              pair + [sc("ys", 0.0191), z("yz", 100)], (T.UINT8,))
    constants = [sc("ys", 0.043), z("yz", 77), sc("xs", 0.02), z("xz", 100), const("b", u8(2, 3)), sc("bs", 0.031), z("bz", 90)]
    microsoft("qlinear_concat", "QLinearConcat", {"x": q}, constants, (T.UINT8,),
              ["ys", "yz", "x", "xs", "xz", "b", "bs", "bz"], axis=1)
    constants = pair + [const("b", u8(6, 4)), sc("bs", 0.013), z("bz", 120), const("c", [5, -7, 900, 0], np.int32),
                        sc("ys", 0.11), z("yz", 99)]
    microsoft("qgemm", "QGemm", {"x": q}, constants, (T.UINT8,))
    b = u8(8, 4)
    microsoft("dynamic_quantize_matmul", "DynamicQuantizeMatMul", {"a": f32(3, 8)},
              [const("b", b), sc("bs", 0.02), z("bz", 118), const("bias", f32(4))])
    microsoft("matmul_integer_to_float", "MatMulIntegerToFloat", {"a": u8(3, 8)},
              [const("b", b), sc("as", 0.03), sc("bs", 0.02), z("az", 128), z("bz", 118), const("bias", f32(4))])
    for bits in (4, 8):
        k, n, block = 40, 6, 16
        blocks = -(-k // block)
        weights = RNG.integers(0, 256, (n, blocks, block * bits // 8)).astype(np.uint8)
        zeros = RNG.integers(0, 256, (n * ((blocks * bits + 7) // 8),)).astype(np.uint8)
        microsoft(f"matmul_nbits_{bits}", "MatMulNBits", {"a": f32(2, 3, k)},
                  [const("w", weights), const("s", np.abs(f32(n * blocks)) * 0.1), const("z", zeros)], K=k, N=n, bits=bits,
                  block_size=block)
    w = u8(2, 6)
    constants = [const("x", u8(2, 6)), sc("xs", 0.02), z("xz", 100), const("w", w), sc("bs", 0.031), z("bz", 90)] + out
    microsoft("qlinear_where", "QLinearWhere", {"c": RNG.integers(0, 2, (2, 6)).astype(bool)}, constants, (T.UINT8,))


def main():
    if OUT.exists():
        shutil.rmtree(OUT)
    for opset in range(7, 29):
        network(opset)
    functions()
    control_flow()
    encodings()
    sparse_initializer()
    external_data()
    old_ir()
    sequences()
    quantized()
    contrib()


if __name__ == "__main__":
    main()
