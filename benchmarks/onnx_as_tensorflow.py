"""An ONNX network as a function of TensorFlow, so that TensorFlow's converter can be compared on it.

Images are computed channels last, as TensorFlow's own networks are: activations directly behind their layers, no transposition
between. Sizes have to be fixed and shapes folded (ONNX Runtime's basic optimisations do that). What is not in the tables is refused.
"""

from __future__ import annotations

import numpy as np
import onnx
import tensorflow as tf
from onnx import numpy_helper

TO_LAST, TO_FIRST = (0, 2, 3, 1), (0, 3, 1, 2)


class Value:
    """A tensor; `last`: of an image, with its channels behind. Axes are those of the ONNX graph."""

    def __init__(self, tensor, last: bool = False) -> None:
        self.tensor, self.last = tensor, last

    @property
    def rank(self) -> int:
        return len(self.tensor.shape)

    def first(self):
        return tf.transpose(self.tensor, TO_FIRST) if self.last else self.tensor

    def as_last(self):
        """Also of constants of fewer dimensions, whose dimensions belong to the last ones of the other operand."""
        if self.last or self.rank == 0:
            return self.tensor
        if isinstance(self.tensor, np.ndarray):
            return self.tensor.reshape((1,) * (4 - self.rank) + self.tensor.shape).transpose(TO_LAST)
        return tf.transpose(tf.reshape(self.tensor, [1] * (4 - self.rank) + list(self.tensor.shape)), TO_LAST)

    def axis(self, axis: int) -> int:
        axis %= self.rank
        return TO_LAST.index(axis) if self.last else axis


def pads_of(node: dict, image, kernel, strides, dilations):
    """Explicit padding in the picture's dimensions, and what TensorFlow calls the rest."""
    pads = node.get("pads", [0] * 4)
    if node.get("auto_pad", "NOTSET") in ("SAME_UPPER", b"SAME_UPPER"):
        return None, "SAME"
    before, after = pads[:2], pads[2:]
    same = True
    for i in range(2):
        size, step, reach = int(image.shape[1 + i]), strides[i], (kernel[i] - 1) * dilations[i] + 1
        total = max((-(-size // step) - 1) * step + reach - size, 0)
        same &= (before[i], after[i]) == (total // 2, total - total // 2)
    if same:
        return None, "SAME"
    return (None if not any(pads) else [[0, 0], *([before[i], after[i]] for i in range(2)), [0, 0]]), "VALID"


def conv(node, x, w, b=None):
    image, weights = x.as_last(), w.tensor
    groups, strides, dilations = node.get("group", 1), node.get("strides", [1, 1]), node.get("dilations", [1, 1])
    pads, name = pads_of(node, image, weights.shape[2:], strides, dilations)
    if pads:
        image = tf.pad(image, pads)
    if groups > 1 and groups == image.shape[3] and weights.shape[0] % groups == 0:
        kernel = weights.transpose(2, 3, 0, 1).reshape(*weights.shape[2:], groups, -1)
        result = tf.nn.depthwise_conv2d(image, kernel, [1, *strides, 1], name, dilations=dilations)
    else:
        result = tf.nn.conv2d(image, weights.transpose(2, 3, 1, 0), strides, name, dilations=dilations)
    return Value(tf.nn.bias_add(result, b.tensor) if b is not None else result, True)


def conv_transpose(node, x, w, b=None):
    image, strides = x.as_last(), node.get("strides", [1, 1])
    pads = node.get("pads", [0] * 4)
    if node.get("group", 1) != 1 or any(node.get("output_padding", [0])):
        raise NotImplementedError("ConvTranspose with groups or output padding")
    sizes = [(int(image.shape[1 + i]) - 1) * strides[i] + w.tensor.shape[2 + i] for i in range(2)]
    result = tf.nn.conv2d_transpose(image, w.tensor.transpose(2, 3, 1, 0), [1, *sizes, w.tensor.shape[1]], strides, "VALID")
    result = result[:, pads[0] : sizes[0] - pads[2], pads[1] : sizes[1] - pads[3]]
    return Value(tf.nn.bias_add(result, b.tensor) if b is not None else result, True)


def pool(node, x):
    image, kernel, strides = x.as_last(), node["kernel_shape"], node.get("strides", [1, 1])
    pads, name = pads_of(node, image, kernel, strides, [1, 1])
    largest = node["op"] == "MaxPool"
    if pads:
        if not largest:
            raise NotImplementedError("an average pool with such padding")
        image = tf.pad(image, pads, constant_values=image.dtype.min)
    return Value((tf.nn.max_pool2d if largest else tf.nn.avg_pool2d)(image, kernel, strides, name), True)


def resize(node, x, *rest):
    image, sizes = x.as_last(), rest[2].tensor[2:] if len(rest) == 3 else None
    if sizes is None:
        sizes = np.round(np.array(image.shape[1:3]) * rest[1].tensor[2:])
    method, place = node.get("mode", b"nearest"), node.get("coordinate_transformation_mode", b"half_pixel")
    if method == b"nearest":
        return Value(tf.raw_ops.ResizeNearestNeighbor(images=image, size=np.int32(sizes)), True)
    half = place in (b"half_pixel", b"pytorch_half_pixel")
    return Value(tf.raw_ops.ResizeBilinear(images=image, size=np.int32(sizes), half_pixel_centers=half, align_corners=place == b"align_corners"), True)


def elementwise(function):
    def convert(node, *inputs):
        if any(x.last for x in inputs):
            return Value(function(node, *(x.as_last() for x in inputs)), True)
        return Value(function(node, *(x.tensor for x in inputs)))

    return convert


def concat(node, *inputs):
    rank = max(x.rank for x in inputs)
    if any(x.last for x in inputs):
        return Value(tf.concat([x.as_last() for x in inputs], TO_LAST.index(node["axis"] % rank)), True)
    return Value(tf.concat([x.tensor for x in inputs], node["axis"]))


def split(node, x, sizes=None):
    axis = x.axis(node.get("axis", 0))
    counts = sizes.tensor.tolist() if sizes is not None else node.get("split") or [int(x.tensor.shape[axis]) // node["outputs"]] * node["outputs"]
    return [Value(part, x.last) for part in tf.split(x.tensor, counts, axis)]


def slices(node, x, begin, end, axes=None, steps=None):
    chosen = [slice(None)] * x.rank
    axes = axes.tensor if axes is not None else range(len(begin.tensor))
    for i, axis in enumerate(axes):
        limit = int(end.tensor[i])
        chosen[x.axis(int(axis))] = slice(int(begin.tensor[i]), None if limit > 2**31 - 2 else limit, int(steps.tensor[i]) if steps is not None else 1)
    return Value(x.tensor[tuple(chosen)], x.last)


def reduce_with(function):
    def convert(node, x, axes=None):
        axes = axes.tensor.tolist() if axes is not None else node["axes"]
        keep = bool(node.get("keepdims", 1))
        if keep:
            return Value(function(x.tensor, [x.axis(a) for a in axes], keepdims=True), x.last)
        return Value(function(x.first(), axes))

    return convert


def layer_norm(node, x, gain, shift=None):
    values, axis = x.first(), node.get("axis", -1)
    axes = list(range(axis % x.rank, x.rank))
    mean = tf.reduce_mean(values, axes, keepdims=True)
    centred = values - mean
    result = centred * tf.math.rsqrt(tf.reduce_mean(tf.square(centred), axes, keepdims=True) + node.get("epsilon", 1e-5)) * gain.tensor
    return Value(result + shift.tensor if shift is not None else result)


def batch_norm(node, x, gain, shift, mean, variance):
    factor = gain.tensor / np.sqrt(variance.tensor + node.get("epsilon", 1e-5))
    return Value(x.as_last() * factor + (shift.tensor - mean.tensor * factor), True)


def hard_sigmoid(node, x):
    return tf.clip_by_value(x * node.get("alpha", 0.2) + node.get("beta", 0.5), 0.0, 1.0)


def clip(node, x, low=None, high=None):
    low, high = (node.get("min", -np.inf) if low is None else float(low)), (node.get("max", np.inf) if high is None else float(high))
    if low == 0:
        return tf.nn.relu6(x) if high == 6 else tf.nn.relu(x) if high == np.inf else tf.clip_by_value(x, low, high)
    return tf.clip_by_value(x, low, high)


def gelu(node, x):
    return tf.nn.gelu(x, approximate=node.get("approximate", b"none") == b"tanh")


BY_ELEMENT = {
    "Relu": lambda n, x: tf.nn.relu(x), "Sigmoid": lambda n, x: tf.sigmoid(x), "Tanh": lambda n, x: tf.tanh(x), "Exp": lambda n, x: tf.exp(x),
    "Sqrt": lambda n, x: tf.sqrt(x), "Erf": lambda n, x: tf.math.erf(x), "Log": lambda n, x: tf.math.log(x), "Neg": lambda n, x: -x,
    "Abs": lambda n, x: tf.abs(x), "LeakyRelu": lambda n, x: tf.nn.leaky_relu(x, n.get("alpha", 0.01)), "HardSigmoid": hard_sigmoid, "Clip": clip,
    "HardSwish": lambda n, x: x * tf.nn.relu6(x + 3) / 6, "Gelu": gelu, "Identity": lambda n, x: tf.identity(x),
    "Add": lambda n, a, b: a + b, "Sub": lambda n, a, b: a - b, "Mul": lambda n, a, b: a * b, "Div": lambda n, a, b: a / b,
    "Pow": lambda n, a, b: tf.square(a) if np.all(b == 2) else tf.pow(a, b), "Max": lambda n, a, b: tf.maximum(a, b),
    "Min": lambda n, a, b: tf.minimum(a, b), "PRelu": lambda n, x, a: tf.nn.relu(x) - a * tf.nn.relu(-x),
}  # fmt: skip
CONVERTERS = {name: elementwise(function) for name, function in BY_ELEMENT.items()} | {
    "Conv": conv, "ConvTranspose": conv_transpose, "MaxPool": pool, "AveragePool": pool, "Resize": resize, "Concat": concat, "Split": split,
    "Slice": slices, "ReduceMean": reduce_with(tf.reduce_mean), "ReduceSum": reduce_with(tf.reduce_sum), "ReduceMax": reduce_with(tf.reduce_max),
    "LayerNormalization": layer_norm, "BatchNormalization": batch_norm,
    "GlobalAveragePool": lambda n, x: Value(tf.reduce_mean(x.as_last(), [1, 2], keepdims=True), True),
    "Reshape": lambda n, x, shape: Value(tf.reshape(x.first(), reshaped(x, shape.tensor))),
    "Flatten": lambda n, x: Value(tf.reshape(x.first(), [int(np.prod(x.first().shape[: n.get("axis", 1)])), -1])),
    "Transpose": lambda n, x: Value(tf.transpose(x.first(), n["perm"])),
    "MatMul": lambda n, a, b: Value(tf.matmul(a.first(), b.first())),
    "Gemm": lambda n, a, b, *c: Value(tf.matmul(a.first(), b.tensor.T if n.get("transB") else b.tensor) + (c[0].tensor if c else 0)),
    "Softmax": lambda n, x: Value(tf.nn.softmax(x.tensor, x.axis(n.get("axis", -1))), x.last),
    "Unsqueeze": lambda n, x, axes: Value(tf.reshape(x.first(), with_ones(x.first().shape, axes.tensor))),
    "Squeeze": lambda n, x, axes: Value(tf.squeeze(x.first(), axes.tensor.tolist())),
}  # fmt: skip


def reshaped(x: Value, shape) -> list[int]:
    sizes = x.first().shape
    return [int(sizes[i]) if size == 0 else int(size) for i, size in enumerate(shape)]


def with_ones(shape, axes) -> list[int]:
    sizes = [int(size) for size in shape]
    for axis in sorted(int(a) % (len(sizes) + len(axes)) for a in axes):
        sizes.insert(axis, 1)
    return sizes


def join_gelus(graph) -> None:
    """x * (1 + erf(x / sqrt 2)) / 2, as exporters write it, becomes one node: TensorFlow's converter knows it as a whole and no erf."""
    weights = {t.name: numpy_helper.to_array(t) for t in graph.initializer}
    readers: dict[str, list] = {}
    for node in graph.node:
        for name in node.input:
            readers.setdefault(name, []).append(node)
    makers = {name: node for node in graph.node for name in node.output}

    def is_constant(name: str, value: float) -> bool:
        return name in weights and np.allclose(weights[name], value, rtol=1e-4)

    def only_reader(node, kind: str):
        found = readers.get(node.output[0], [])
        return found[0] if len(found) == 1 and found[0].op_type == kind else None

    for erf in [n for n in graph.node if n.op_type == "Erf"]:
        scaled = makers.get(erf.input[0])
        add = only_reader(erf, "Add")
        product = only_reader(add, "Mul") if add is not None else None
        half = only_reader(product, "Mul") if product is not None else None
        if scaled is None or half is None or not (scaled.op_type == "Div" and is_constant(scaled.input[1], 2**0.5)):
            continue
        if not any(is_constant(name, 1) for name in add.input):
            continue
        if scaled.input[0] in product.input and any(is_constant(name, 0.5) for name in half.input):
            joined = onnx.helper.make_node("Gelu", [scaled.input[0]], [half.output[0]], half.name)
            at = list(graph.node).index(half)
            graph.node.remove(half)
            graph.node.insert(at, joined)
            for node in (product, add, erf, scaled):
                graph.node.remove(node)


def function_of(path: str):
    """The network as a concrete function of one picture, channels first, with the names of its outputs."""
    graph = onnx.load(path).graph
    join_gelus(graph)
    weights = {t.name: Value(numpy_helper.to_array(t)) for t in graph.initializer}
    source = next(i for i in graph.input if i.name not in weights)
    nodes = []
    for node in graph.node:
        facts = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute} | {"op": node.op_type, "outputs": len(node.output)}
        if node.op_type == "Constant":
            weights[node.output[0]] = Value(numpy_helper.to_array(facts["value"]))
        elif node.op_type in CONVERTERS:
            nodes.append((node, facts))
        else:
            raise NotImplementedError(f"operator {node.op_type}")

    def network(x):
        values = weights | {source.name: Value(x)}
        for node, facts in nodes:
            results = CONVERTERS[node.op_type](facts, *(values[name] if name else None for name in node.input))
            values |= dict(zip(node.output, results if isinstance(results, list) else [results]))
        return {output.name: tf.identity(values[output.name].first(), name=output.name) for output in graph.output}

    shape = [d.dim_value for d in source.type.tensor_type.shape.dim]
    return tf.function(network, [tf.TensorSpec(shape, tf.float32, name=source.name)], autograph=False)
