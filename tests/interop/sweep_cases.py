"""Single-operator cases for op_sweep.py: each appends one operator to a model and returns the names
of its inputs with their values. Shapes, options and parameters come from a seeded generator."""
import numpy as np

from tflite_builder import Quant

NONE, RELU, RELU_N1_TO_1, RELU6 = 0, 1, 2, 3
SAME, VALID = 0, 1
INT_TYPES = {"i8": np.int8, "u8": np.uint8, "i16": np.int16}


class Case:
    """Collects what one case adds to a model."""

    def __init__(self, model, rng):
        self.model, self.rng, self.values = model, rng, {}

    def pick(self, *choices):
        return choices[int(self.rng.integers(len(choices)))]

    def chance(self, p):
        return bool(self.rng.random() < p)

    def scale(self, low=0.002, high=0.2):
        return float(np.float32(np.exp(self.rng.uniform(np.log(low), np.log(high)))))

    def quant(self, kind, low=0.002, high=0.2):
        zero = {"i8": lambda: int(self.rng.integers(-128, 128)), "u8": lambda: int(self.rng.integers(0, 256)),
                "i16": lambda: 0}[kind]()
        return Quant(self.scale(low, high), zero)

    def values_of(self, shape, dtype):
        dtype = np.dtype(dtype)
        if dtype.kind == "f":
            return self.rng.normal(0, 2, shape).astype(dtype)
        if dtype == np.bool_:
            return self.rng.integers(0, 2, shape).astype(dtype)
        info = np.iinfo(dtype)
        low, high = (max(info.min, -1000), min(info.max, 1000)) if dtype.itemsize > 2 else (info.min, info.max)
        return self.rng.integers(low, high + 1, shape).astype(dtype)

    def input(self, shape, dtype, quant=None, values=None):
        index = self.model.input(shape, dtype, quant)
        self.values[f"t{index}"] = self.values_of(shape, dtype) if values is None else np.asarray(values, dtype)
        return index

    def integers(self, kind, shape, quant, values=None):
        return self.input(shape, INT_TYPES[kind], quant, values)


def window_output(size, kernel, stride, dilation, padding):
    extent = (kernel - 1) * dilation + 1
    if padding == SAME:
        return -(-size // stride)
    return (size - extent) // stride + 1


# --- complex numbers ------------------------------------------------------------------------------
def rfft(c, reader):
    """A transform of rows or of planes, and what reads its complex numbers."""
    lead, height, width = [c.pick(1, 2, 3)] if c.chance(0.6) else [], c.pick(1, 1, 2, 4, 8), c.pick(4, 8, 32, 256)
    size = [max(1, height + c.pick(-1, 0, 0, 1)) if height > 1 else 1, width + c.pick(-3, 0, 0, 2)]
    x = c.input([*lead, *size], np.float32)
    bins = [*lead, height, width // 2 + 1]
    numbers = c.model.tensor(bins, np.complex64)
    c.model.op("RFFT2D", [x, c.model.const(np.asarray([height, width], np.int32))], [numbers])
    if height == 1 and c.chance(0.5):
        bins = [*lead, width // 2 + 1]
        flat = c.model.tensor(bins, np.complex64)
        if c.chance(0.5):
            c.model.op("SQUEEZE", [numbers], [flat], [[c.pick(len(lead), -2)]])
        else:
            c.model.op("RESHAPE", [numbers, c.model.const(np.asarray(bins, np.int32))], [flat], [bins])
        numbers = flat
    if reader == "MUL":
        product = c.model.tensor(bins, np.complex64)
        c.model.op("MUL", [numbers, numbers], [product], [NONE])
        numbers, reader = product, c.pick("REAL", "IMAG")
    out = c.model.output(bins, np.float32)
    c.model.op(reader, [numbers], [out], [8, 0] if reader == "CAST" else ())


# --- weighted sums --------------------------------------------------------------------------------
def weights(c, kind, shape, axis, per_axis, narrow=True):
    if kind == "u8":
        quant = Quant(c.scale(0.002, 0.02), int(c.rng.integers(0, 256)))
        return c.rng.integers(0, 256, shape).astype(np.uint8), quant
    count = shape[axis] if per_axis else 1
    scales = [c.scale(0.002, 0.02) for _ in range(count)]
    low = -127 if narrow else -128
    return c.rng.integers(low, 128, shape).astype(np.int8), Quant(scales, 0, axis if per_axis else 0)


def bias_of(c, kind, channels, wide):
    if kind in ("f32", "hybrid"):
        return c.rng.normal(0, 1, channels).astype(np.float32)
    bound = 2000 if kind != "i16" else 200000
    return c.rng.integers(-bound, bound, channels).astype(np.int64 if wide else np.int32)


def output_quant(c, kind, in_scale, weight_scale, depth):
    spread = in_scale * weight_scale * np.sqrt(depth) * (5000 if kind != "i16" else 1000000)
    size = 128 if kind != "i16" else 32768
    quant = c.quant(kind)
    quant.scale = np.asarray([spread / size * c.pick(0.3, 1.0, 2.5)], np.float32)
    return quant


def weighted(c, op, kind, shape, weight_shape, axis, channels, depth, out_shape, options, order, front=()):
    """Adds operands and the operator; `order` turns (x, w) into its operand order."""
    per_axis = c.chance(0.6) and kind != "u8" and axis is not None
    # LiteRT reads one scale per channel whether there are so many or not.
    per_axis |= kind == "hybrid" and op == "DEPTHWISE_CONV_2D"
    has_bias = op == "CONV_2D" or c.chance(0.8)
    wide = kind == "i16" and (op == "DEPTHWISE_CONV_2D" or c.chance(0.5))
    if kind == "f32":
        x = c.input(shape, np.float32)
        w = c.model.const(c.rng.normal(0, 0.3, weight_shape).astype(np.float32))
        out = c.model.output(out_shape, np.float32)
    elif kind == "hybrid":
        values, quant = weights(c, "i8", weight_shape, axis or 0, per_axis)
        x, w = c.input(shape, np.float32), c.model.const(values, quant)
        out = c.model.output(out_shape, np.float32)
    else:
        in_quant = c.quant(kind)
        values, quant = weights(c, kind if kind == "u8" else "i8", weight_shape, axis or 0, per_axis)
        x, w = c.integers(kind, shape, in_quant), c.model.const(values, quant)
        out = c.model.output(out_shape, INT_TYPES[kind], output_quant(c, kind, in_quant.scale[0], float(np.mean(quant.scale)), depth))
    operands = order(x, w)
    if has_bias:
        bias = bias_of(c, kind, channels, wide)
        bias_quant = None
        if kind not in ("f32", "hybrid"):
            bias_quant = Quant(in_quant.scale[0] * quant.scale, 0, 0)
        operands.append(c.model.const(bias, bias_quant))
    bias_type = 0 if kind != "i16" or not has_bias else (4 if wide else 2)
    c.model.op(op, list(front) + operands, [out], [*options, bias_type] if op != "DEPTHWISE_CONV_2D" else options)


def spatial(c, lowest=1):
    kernel = (c.pick(1, 2, 3, 5), c.pick(1, 2, 3))
    stride = c.pick((1, 1), (2, 2), (1, 2), (3, 1))
    dilation = c.pick((1, 1), (1, 1), (2, 1), (2, 2)) if stride == (1, 1) else (1, 1)
    padding = c.pick(SAME, VALID)
    size = [int(c.rng.integers((k - 1) * d + 1, (k - 1) * d + 9)) for k, d in zip(kernel, dilation)]
    out = [window_output(s, k, t, d, padding) for s, k, t, d in zip(size, kernel, stride, dilation)]
    return kernel, stride, dilation, padding, size, out


def activation(c):
    return c.pick(NONE, NONE, RELU, RELU6, RELU_N1_TO_1)


def conv(c, kind):
    kernel, stride, dilation, padding, size, out = spatial(c)
    batch, cin, cout = c.pick(1, 1, 2), c.pick(1, 3, 8, 17), c.pick(1, 4, 9)
    weighted(c, "CONV_2D", kind, [batch, *size, cin], [cout, *kernel, cin], 0, cout, cin * kernel[0] * kernel[1],
             [batch, *out, cout], [padding, stride[1], stride[0], activation(c), dilation[1], dilation[0]], lambda x, w: [x, w])


def depthwise(c, kind):
    kernel, stride, dilation, padding, size, out = spatial(c)
    batch, cin, times = c.pick(1, 1, 2), c.pick(1, 3, 8), c.pick(1, 1, 2, 3)
    if kind == "hybrid" and cin * times == 1:
        cin = 3  # one channel is a plain convolution here, whose hybrid form is another one
    weighted(c, "DEPTHWISE_CONV_2D", kind, [batch, *size, cin], [1, *kernel, cin * times], 3, cin * times,
             kernel[0] * kernel[1], [batch, *out, cin * times],
             [padding, stride[1], stride[0], times, activation(c), dilation[1], dilation[0]], lambda x, w: [x, w])


def transpose_conv(c, kind, computed=False):
    kernel, stride, padding = (c.pick(1, 2, 3), c.pick(2, 3, 4)), c.pick((1, 1), (2, 2), (2, 1)), c.pick(SAME, VALID)
    batch, cin, cout = c.pick(1, 2), c.pick(1, 3, 8), c.pick(1, 4, 5)
    size = [int(c.rng.integers(1, 6)) for _ in range(2)]
    out = [s * t if padding == SAME else (s - 1) * t + k for s, t, k in zip(size, stride, kernel)]
    if computed:  # any size that a convolution turns into the input's
        out = [s + int(c.rng.integers(1 - t if s > t else 0, 1)) if padding == SAME else s + int(c.rng.integers(0, t)) for s, t in zip(out, stride)]
    sizes = np.asarray([batch, *out, cout], np.int32)
    shape = c.input([4], np.int32, values=sizes) if computed else c.model.const(sizes)
    weighted(c, "TRANSPOSE_CONV", kind, [batch, *size, cin], [cout, *kernel, cin], 0, cout, cin * kernel[0] * kernel[1],
             [batch, *out, cout], [padding, stride[1], stride[0], NONE], lambda x, w: [w, x], front=[shape])


def fully_connected(c, kind):
    depth, units = c.pick(1, 5, 16, 33), c.pick(1, 4, 10)
    keep = c.chance(0.4)
    lead = [c.pick(1, 2, 3), c.pick(1, 4)] if keep or c.chance(0.3) else [c.pick(1, 2, 5)]
    rows = int(np.prod(lead))
    out = [*lead, units] if keep else [rows, units]
    weighted(c, "FULLY_CONNECTED", kind, [*lead, depth], [units, depth], 0, units, depth, out,
             [activation(c), 0, keep, c.chance(0.5) if kind == "hybrid" else False], lambda x, w: [x, w])


def batch_matmul(c, kind):
    rows, depth, columns = c.pick(1, 3, 6), c.pick(1, 8, 13), c.pick(1, 4, 7)
    # LiteRT takes the scales of other rows where float rows have two batch dimensions.
    lead = c.pick([], [2]) if kind == "hybrid" else c.pick([], [2], [2, 3])
    adj_x, adj_y = (False, c.chance(0.5)) if kind == "hybrid" else (c.chance(0.3), c.chance(0.5))
    a = [*lead, depth, rows] if adj_x else [*lead, rows, depth]
    b_lead = lead if c.chance(0.7) else []
    b = [*b_lead, columns, depth] if adj_y else [*b_lead, depth, columns]
    if len(a) < 2 or len(b) < 2:
        return
    out = [*lead, rows, columns]
    if kind == "f32":
        x, y, z = c.input(a, np.float32), c.input(b, np.float32), c.model.output(out, np.float32)
    elif kind == "hybrid":
        values, quant = weights(c, "i8", b, 0, False)
        x, y, z = c.input(a, np.float32), c.model.const(values, quant), c.model.output(out, np.float32)
    else:
        qa, qb = c.quant(kind), c.quant(kind)
        x, y = c.integers(kind, a, qa), c.integers(kind, b, qb)
        z = c.model.output(out, INT_TYPES[kind], output_quant(c, kind, qa.scale[0], qb.scale[0], depth))
    c.model.op("BATCH_MATMUL", [x, y], [z], [adj_x, adj_y, kind == "hybrid" and c.chance(0.5)])


# --- element-wise ---------------------------------------------------------------------------------
def broadcast_pair(c):
    shape = [int(c.rng.integers(1, 6)) for _ in range(int(c.rng.integers(1, 5)))]
    other = shape
    if c.chance(0.4):
        other = [1 if c.chance(0.5) else s for s in shape][int(c.rng.integers(0, len(shape))):]
    return (shape, other) if c.chance(0.7) else (other, shape)


def out_of(a, b):
    return list(np.broadcast_shapes(tuple(a), tuple(b)))


def binary(c, op, kind, options, same=False, boolean=False, low=0.002, high=0.2):
    a, b = broadcast_pair(c)
    if op == "ATAN2":
        b = a
    if kind in ("f32", "i32"):
        dtype = np.float32 if kind == "f32" else np.int32
        values = c.values_of(b, dtype)
        if op in ("DIV", "FLOOR_DIV", "FLOOR_MOD"):
            values = np.where(values == 0, 1, values)
        x, y = c.input(a, dtype), c.input(b, dtype, values=values)
        z = c.model.output(out_of(a, b), np.bool_ if boolean else dtype)
    else:
        qa = c.quant(kind, low, high)
        qb, qz = (qa, qa) if same else (c.quant(kind, low, high), c.quant(kind, low, high))
        values = c.values_of(b, INT_TYPES[kind])
        if op == "DIV":
            values = np.where(values == qb.zero_point[0], values ^ 1, values)
        first = c.values_of(a, INT_TYPES[kind]).astype(np.int64)
        if op == "DIV":  # smaller numerators make LiteRT shift by more than 31 bits, which is undefined
            least, middle = (16384, 0) if kind == "i16" else (64, int(qa.zero_point[0]))
            away = middle + (least if middle < np.iinfo(INT_TYPES[kind]).max - least else -least)
            first = np.where(np.abs(first - middle) < least, away, first)
        x, y = c.integers(kind, a, qa, first), c.integers(kind, b, qb, values)
        z = c.model.output(out_of(a, b), np.bool_ if boolean else INT_TYPES[kind], None if boolean else qz)
    c.model.op(op, [x, y], [z], options(c))


def all_values(c, kind, at_least=None):
    """Every value of an 8-bit type; a spread of 16-bit ones."""
    info = np.iinfo(INT_TYPES[kind])
    values = np.arange(info.min, info.max + 1) if kind != "i16" else c.rng.integers(info.min, info.max + 1, 4096)
    return values if at_least is None else values[values >= at_least]


def unary(c, op, kind, out=None, options=(), at_least_zero=False, low=0.002, high=0.2, same=False):
    if kind == "f32":
        values = c.rng.normal(0, 3, (3, 50)).astype(np.float32)
        if at_least_zero:
            values = np.abs(values) + np.float32(0.01)
        x, y = c.input(values.shape, np.float32, values=values), c.model.output(values.shape, np.float32)
    else:
        quant = c.quant(kind, low, high)
        values = all_values(c, kind, int(quant.zero_point[0]) if at_least_zero else None)
        x = c.integers(kind, [len(values)], quant, values)
        y = c.model.output([len(values)], INT_TYPES[kind], quant if same else out(c, kind) if out else c.quant(kind, low, high))
    c.model.op(op, [x], [y], options)


def fixed(i8=None, u8=None, i16=None):
    table = {"i8": i8, "u8": u8, "i16": i16}
    return lambda c, kind: Quant(*table[kind])


def prelu(c, kind):
    shape = [1, 3, 4, int(c.rng.integers(1, 6))]
    alpha = c.pick([1, 1, shape[3]], [shape[3]], shape[1:])
    if kind == "f32":
        x, a, y = c.input(shape, np.float32), c.model.const(c.rng.normal(0, 1, alpha).astype(np.float32)), c.model.output(shape, np.float32)
    else:
        x = c.integers(kind, shape, c.quant(kind))
        slope = "i8" if kind == "i16" else kind  # LiteRT reads bytes there
        a = c.model.const(c.values_of(alpha, INT_TYPES[slope]), c.quant(slope))
        y = c.model.output(shape, INT_TYPES[kind], c.quant(kind))
    c.model.op("PRELU", [x, a], [y])


def rows(c, op, kind, out, options=(), low=0.01, high=0.5):
    shape = [*c.pick([], [2], [2, 3]), int(c.rng.integers(1, 40))]
    if kind == "f32":
        x, y = c.input(shape, np.float32), c.model.output(shape, np.float32)
    else:
        x = c.integers(kind, shape, c.quant(kind, low, high))
        y = c.model.output(shape, INT_TYPES[kind], out(c, kind))
    c.model.op(op, [x], [y], options)


# --- reductions and pools -------------------------------------------------------------------------
def reduce(c, op, kind, same=False):
    shape = [int(c.rng.integers(1, 6)) for _ in range(int(c.rng.integers(1, 5)))]
    count = int(c.rng.integers(1, len(shape) + 1))
    axes = sorted(c.rng.choice(len(shape), count, replace=False).tolist())
    keep = c.chance(0.5)
    out = [1 if d in axes else s for d, s in enumerate(shape) if keep or d not in axes]
    if c.chance(0.3):
        axes = [a - len(shape) for a in axes]
    axis = c.model.const(np.asarray(axes, np.int32))
    if kind in ("f32", "i32"):
        dtype = np.float32 if kind == "f32" else np.int32
        x, y = c.input(shape, dtype), c.model.output(out, dtype)
    else:
        quant = c.quant(kind)
        x = c.integers(kind, shape, quant)
        y = c.model.output(out, INT_TYPES[kind], quant if same else c.quant(kind))
    c.model.op(op, [x, axis], [y], [keep])


def pool(c, op, kind):
    kernel, stride, _, padding, size, _ = spatial(c)
    size = [max(s, k) for s, k in zip(size, kernel)]
    out = [window_output(s, k, t, 1, padding) for s, k, t in zip(size, kernel, stride)]
    batch, channels = c.pick(1, 2), c.pick(1, 5, 16)
    quant = None if kind == "f32" else c.quant(kind)
    dtype = np.float32 if kind == "f32" else INT_TYPES[kind]
    x, y = c.input([batch, *size, channels], dtype, quant), c.model.output([batch, *out, channels], dtype, quant)
    c.model.op(op, [x], [y], [padding, stride[1], stride[0], kernel[1], kernel[0], activation(c)])


# --- movement -------------------------------------------------------------------------------------
def typed(c, kind):
    return (np.float32, None) if kind == "f32" else (INT_TYPES[kind], c.quant(kind))


def concat(c, kind):
    rank, count = int(c.rng.integers(1, 5)), int(c.rng.integers(1, 5))
    shape = [int(c.rng.integers(1, 5)) for _ in range(rank)]
    axis = int(c.rng.integers(rank))
    dtype, quant = typed(c, kind)
    operands, total = [], 0
    for _ in range(count):
        part = list(shape)
        part[axis] = int(c.rng.integers(1, 5))
        total += part[axis]
        own = c.quant(kind) if kind == "u8" and c.chance(0.5) else quant
        operands.append(c.input(part, dtype, own))
    shape[axis] = total
    c.model.op("CONCATENATION", operands, [c.model.output(shape, dtype, quant)], [axis - (rank if c.chance(0.3) else 0), NONE])


def pad(c, kind):
    shape = [int(c.rng.integers(1, 5)) for _ in range(int(c.rng.integers(1, 5)))]
    pads = c.rng.integers(0, 3, (len(shape), 2)).astype(np.int32)
    dtype, quant = typed(c, kind)
    out = (np.asarray(shape) + pads.sum(axis=1)).tolist()
    op = c.pick("PAD", "PADV2", "MIRROR_PAD")
    if op == "MIRROR_PAD":
        pads = np.minimum(pads, np.asarray(shape)[:, None] - 1).astype(np.int32)
        out = (np.asarray(shape) + pads.sum(axis=1)).tolist()
    operands = [c.input(shape, dtype, quant), c.model.const(pads)]
    if op == "PADV2":
        operands.append(c.model.const(c.values_of([1], dtype), quant))
    c.model.op(op, operands, [c.model.output(out, dtype, quant)], [c.pick(0, 1)] if op == "MIRROR_PAD" else [])


def resize(c, op, kind):
    shape = [c.pick(1, 2), int(c.rng.integers(1, 8)), int(c.rng.integers(1, 8)), c.pick(1, 3, 5)]
    size = [int(c.rng.integers(1, 14)) for _ in range(2)]
    corners = c.chance(0.4)
    half = not corners and c.chance(0.5)
    dtype, quant = typed(c, kind)
    x, y = c.input(shape, dtype, quant), c.model.output([shape[0], *size, shape[3]], dtype, quant)
    options = [0, 0, corners, half] if op == "RESIZE_BILINEAR" else [corners, half]
    c.model.op(op, [x, c.model.const(np.asarray(size, np.int32))], [y], options)


def quantize(c, source, target):
    shape = [2, 100]
    if source == "f32":
        quant = c.quant(target)
        x = c.input(shape, np.float32, values=c.rng.normal(0, 60 * quant.scale[0] * (1 if target != "i16" else 200), shape))
        c.model.op("QUANTIZE", [x], [c.model.output(shape, INT_TYPES[target], quant)])
    elif target == "f32":
        c.model.op("DEQUANTIZE", [c.integers(source, shape, c.quant(source))], [c.model.output(shape, np.float32)])
    else:
        x = c.integers(source, shape, c.quant(source))
        c.model.op("QUANTIZE", [x], [c.model.output(shape, INT_TYPES[target], c.quant(target))])


def move(c, op, kind):
    """Ops that only move elements: one of their simple forms."""
    dtype, quant = typed(c, kind)
    const = lambda *v: c.model.const(np.asarray(v, np.int32))  # noqa: E731
    shape = [int(c.rng.integers(1, 5)) for _ in range(4)]
    finish = lambda operands, out, options=(): c.model.op(op, operands, [c.model.output(list(out), dtype, quant)], options)  # noqa: E731
    if op == "TRANSPOSE":
        perm = c.rng.permutation(4)
        finish([c.input(shape, dtype, quant), const(*perm)], [shape[p] for p in perm])
    elif op == "SLICE":
        begin = [int(c.rng.integers(s)) for s in shape]
        size = [int(c.rng.integers(1, s - b + 1)) for s, b in zip(shape, begin)]
        finish([c.input(shape, dtype, quant), const(*begin), const(*size)], size)
    elif op == "STRIDED_SLICE":
        step = [c.pick(1, 2, -1) for _ in shape]
        begin = [0 if t > 0 else s - 1 for s, t in zip(shape, step)]
        end = [s if t > 0 else -s - 1 for s, t in zip(shape, step)]
        out = [-(-s // abs(t)) for s, t in zip(shape, step)]
        finish([c.input(shape, dtype, quant), const(*begin), const(*end), const(*step)], out, [0, 0, 0, 0, 0, False])
    elif op == "GATHER":
        axis, count = int(c.rng.integers(4)), int(c.rng.integers(1, 5))
        index = c.rng.integers(0, shape[axis], count)
        finish([c.input(shape, dtype, quant), const(*index)], shape[:axis] + [count] + shape[axis + 1:], [axis, 0])
    elif op == "TILE":
        times = [int(c.rng.integers(1, 3)) for _ in shape]
        finish([c.input(shape, dtype, quant), const(*times)], [s * t for s, t in zip(shape, times)])
    elif op == "RESHAPE":
        out = [int(np.prod(shape[:2])), int(np.prod(shape[2:]))]
        finish([c.input(shape, dtype, quant), const(*out)], out, [out])
    elif op == "REVERSE_V2":
        finish([c.input(shape, dtype, quant), const(int(c.rng.integers(4)))], shape)
    elif op == "SPACE_TO_BATCH_ND":
        block, pads = [c.pick(1, 2), c.pick(1, 2, 3)], []
        for s, b in zip(shape[1:3], block):
            before = int(c.rng.integers(3))
            pads.append([before, (-(s + before)) % b])
        out = [shape[0] * block[0] * block[1], *[(s + sum(p)) // b for s, p, b in zip(shape[1:3], pads, block)], shape[3]]
        finish([c.input(shape, dtype, quant), const(*block), c.model.const(np.asarray(pads, np.int32))], out)
    elif op == "BATCH_TO_SPACE_ND":
        block = [c.pick(1, 2), c.pick(1, 2, 3)]
        shape[0] *= block[0] * block[1]
        crops = [[int(c.rng.integers(2)) if s * b > 2 else 0, 0] for s, b in zip(shape[1:3], block)]
        out = [shape[0] // (block[0] * block[1]), *[s * b - sum(k) for s, k, b in zip(shape[1:3], crops, block)], shape[3]]
        finish([c.input(shape, dtype, quant), const(*block), c.model.const(np.asarray(crops, np.int32))], out)
    elif op == "DEPTH_TO_SPACE":
        finish([c.input([*shape[:3], shape[3] * 4], dtype, quant)], [shape[0], shape[1] * 2, shape[2] * 2, shape[3]], [2])
    elif op == "SPACE_TO_DEPTH":
        finish([c.input([shape[0], shape[1] * 2, shape[2] * 2, shape[3]], dtype, quant)], [*shape[:3], shape[3] * 4], [2])
    elif op == "PACK":
        count, axis = int(c.rng.integers(1, 4)), int(c.rng.integers(3))
        finish([c.input(shape[:3], dtype, quant) for _ in range(count)], shape[:axis] + [count] + shape[axis:3], [count, axis])
    elif op in ("ARG_MAX", "ARG_MIN"):
        axis = int(c.rng.integers(4))
        out = shape[:axis] + shape[axis + 1:]
        c.model.op(op, [c.input(shape, dtype, quant), const(axis)], [c.model.output(out, np.int32)], [2])
    elif op == "SELECT_V2":
        condition = c.input(shape, np.bool_)
        finish([condition, c.input(shape, dtype, quant), c.input(shape, dtype, quant)], shape)
    elif op == "DYNAMIC_UPDATE_SLICE":
        part = [int(c.rng.integers(1, s + 1)) for s in shape]
        start = const(*[int(c.rng.integers(-1, 4)) for _ in shape])
        finish([c.input(shape, dtype, quant), c.input(part, dtype, quant), start], shape)


def plain(c):
    return []


def act_option(c):
    return [activation(c)]


def add_option(c):
    return [activation(c), False]


MOVES = ["TRANSPOSE", "SLICE", "STRIDED_SLICE", "GATHER", "TILE", "RESHAPE", "REVERSE_V2", "SPACE_TO_BATCH_ND", "BATCH_TO_SPACE_ND",
         "DEPTH_TO_SPACE", "SPACE_TO_DEPTH", "PACK", "ARG_MAX", "ARG_MIN", "SELECT_V2", "DYNAMIC_UPDATE_SLICE"]

SIGMOID_OUT = fixed(i8=(1 / 256, -128), u8=(1 / 256, 0), i16=(1 / 32768, 0))
TANH_OUT = fixed(i8=(1 / 128, 0), u8=(1 / 128, 128), i16=(1 / 32768, 0))
SOFTMAX_OUT = fixed(i8=(1 / 256, -128), u8=(1 / 256, 0), i16=(1 / 32768, 0))
LOG_SOFTMAX_OUT = fixed(i8=(16 / 256, 127), u8=(16 / 256, 255))


def families():
    """(name, how many cases, function of a Case)."""
    table = []

    def add(name, count, function, *args, **options):
        table.append((name, count, lambda c: function(c, *args, **options)))

    for kind in ("i8", "u8", "i16", "hybrid", "f32"):
        for name, function, count in (("conv", conv, 60), ("depthwise", depthwise, 50), ("transpose_conv", transpose_conv, 30),
                                      ("fully_connected", fully_connected, 50), ("batch_matmul", batch_matmul, 30)):
            if kind == "hybrid" and name == "transpose_conv" or kind == "u8" and name == "batch_matmul":
                continue
            add(f"{name}_{kind}", count, function, kind)
    for kind in ("i8", "u8", "i16", "f32"):
        for op, options in (("ADD", add_option), ("SUB", add_option), ("MUL", act_option)):
            add(f"{op}_{kind}", 40, binary, op, kind, options)
        add(f"DIV_{kind}", 20, binary, "DIV", kind, act_option, low=0.02, high=0.2)
        for op in ("MAXIMUM", "MINIMUM"):
            add(f"{op}_{kind}", 10, binary, op, kind, plain, same=True)
        for op in ("EQUAL", "NOT_EQUAL", "LESS", "LESS_EQUAL", "GREATER", "GREATER_EQUAL"):
            add(f"{op}_{kind}", 6, binary, op, kind, plain, boolean=True)
        for op in ("AVERAGE_POOL_2D", "MAX_POOL_2D"):
            add(f"{op}_{kind}", 30, pool, op, kind)
        for op in ("MEAN",):
            add(f"{op}_{kind}", 40, reduce, op, kind)
        for op in ("REDUCE_MAX", "REDUCE_MIN"):
            add(f"{op}_{kind}", 12, reduce, op, kind, same=True)
        add(f"LOGISTIC_{kind}", 12, unary, "LOGISTIC", kind, SIGMOID_OUT)
        add(f"TANH_{kind}", 12, unary, "TANH", kind, TANH_OUT)
        add(f"RELU_{kind}", 8, unary, "RELU", kind)
        add(f"RELU6_{kind}", 8, unary, "RELU6", kind)
        add(f"PRELU_{kind}", 12, prelu, kind)
        add(f"SOFTMAX_{kind}", 20, rows, "SOFTMAX", kind, SOFTMAX_OUT, [1.0])
        add(f"concat_{kind}", 16, concat, kind)
        add(f"pad_{kind}", 20, pad, kind)
        for op in ("RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR"):
            add(f"{op}_{kind}", 24, resize, op, kind)
        for op in MOVES:
            if kind == "i16" and op in ("DEPTH_TO_SPACE", "SPACE_TO_DEPTH", "ARG_MAX", "ARG_MIN"):
                continue  # LiteRT has no such kernels
            add(f"{op}_{kind}", 6, move, op, kind)
        for alpha in (0.1, 0.9, 1.5):
            add(f"LEAKY_RELU_{kind}_{alpha}", 5, unary, "LEAKY_RELU", kind, options=[alpha])
    for kind in ("i8", "u8", "f32"):
        add(f"HARD_SWISH_{kind}", 16, unary, "HARD_SWISH", kind, lambda c, k: c.quant(k, 0.01, 0.2))
        add(f"L2_NORMALIZATION_{kind}", 12, rows, "L2_NORMALIZATION", kind, TANH_OUT, [NONE])
        for op in ("RELU_N1_TO_1", "RELU_0_TO_1"):
            add(f"{op}_{kind}", 8, unary, op, kind)
    for kind in ("i8", "f32"):
        add(f"LOG_SOFTMAX_{kind}", 16, rows, "LOG_SOFTMAX", kind, LOG_SOFTMAX_OUT)
        add(f"SQUARED_DIFFERENCE_{kind}", 16, binary, "SQUARED_DIFFERENCE", kind, plain)
    for kind in ("i8", "i16", "f32"):
        for op, low, high in (("EXP", 0.002, 0.03), ("ABS", 0.002, 0.2)):
            add(f"{op}_{kind}", 10, unary, op, kind, low=low if kind != "i16" else 1e-5, high=high if kind != "i16" else 3e-4)
        for op in ("LOG", "SQRT", "RSQRT"):
            add(f"{op}_{kind}", 10, unary, op, kind, at_least_zero=True)
        for approximate in (False, True):
            add(f"GELU_{kind}_{approximate}", 8, unary, "GELU", kind, options=[approximate])
        add(f"NEG_{kind}", 5, unary, "NEG", kind, same=True)
        add(f"REDUCE_PROD_{kind}", 16, reduce, "REDUCE_PROD", kind)
    for source in ("f32", "i8", "u8", "i16"):
        for target in ("f32", "i8", "u8", "i16"):
            if source != target and (source, target) != ("i16", "u8"):
                add(f"quantize_{source}_{target}", 12, quantize, source, target)
    for op in ("FLOOR_DIV", "FLOOR_MOD", "ADD", "SUB", "MUL"):
        add(f"{op}_i32", 6, binary, op, "i32", {"ADD": add_option, "SUB": add_option, "MUL": act_option}.get(op, plain))
    for op in ("FLOOR_DIV", "ATAN2", "POW", "SQUARED_DIFFERENCE"):
        add(f"{op}_f32", 6, binary, op, "f32", plain)
    for kind in ("i8", "u8", "i16", "f32"):
        add(f"transpose_conv_computed_{kind}", 20, transpose_conv, kind, computed=True)
    for reader in ("COMPLEX_ABS", "REAL", "IMAG", "CAST", "MUL"):
        add(f"rfft_{reader}", 12, rfft, reader)
    add("SUM_f32", 10, reduce, "SUM", "f32")
    add("L2_POOL_2D_f32", 12, pool, "L2_POOL_2D", "f32")
    for op in ("SQUARE", "SIN"):
        add(f"{op}_f32", 4, unary, op, "f32")
    return table
