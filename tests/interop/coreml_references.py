"""What operators of ML Programs give that coremltools cannot evaluate, written from their definitions with NumPy."""
from __future__ import annotations

import numpy as np


def _pads(params: dict, size, kernel, strides, dilations):
    kind, spatial = params.get("pad_type", "valid"), len(kernel)
    if kind == "custom":
        return [(int(params["pad"][2 * i]), int(params["pad"][2 * i + 1])) for i in range(spatial)]
    pads = []
    for i in range(spatial):
        total = 0
        if kind != "valid":
            out = -(-size[i] // strides[i])
            total = max(0, (out - 1) * strides[i] + (kernel[i] - 1) * dilations[i] + 1 - size[i])
        pads.append((total // 2, total - total // 2) if kind != "same_lower" else (total - total // 2, total // 2))
    return pads


def _windows(x, kernel, strides, dilations):
    """[N, C, out..., k...]"""
    spatial = len(kernel)
    view = np.lib.stride_tricks.sliding_window_view(x, [(k - 1) * d + 1 for k, d in zip(kernel, dilations)], axis=tuple(range(2, 2 + spatial)))
    picks = (slice(None),) * 2 + tuple(slice(None, None, s) for s in strides) + tuple(slice(None, None, d) for d in dilations)
    return view[picks]


def conv(t, p):
    x, w = t["x"].astype(np.float64), np.asarray(p["weight"], np.float64)
    kernel, groups = w.shape[2:], int(p.get("groups", 1))
    strides, dilations = [int(v) for v in p["strides"]], [int(v) for v in p.get("dilations", [1] * len(kernel))]
    x = np.pad(x, [(0, 0), (0, 0), *_pads(p, x.shape[2:], kernel, strides, dilations)])
    spatial, parts = len(kernel), []
    for g in range(groups):
        rows = _windows(x[:, g * w.shape[1]:(g + 1) * w.shape[1]], kernel, strides, dilations)
        weights = w[g * (w.shape[0] // groups):(g + 1) * (w.shape[0] // groups)]
        y = np.tensordot(rows, weights, axes=([1, *range(2 + spatial, 2 + 2 * spatial)], [1, *range(2, 2 + spatial)]))
        parts.append(np.moveaxis(y, -1, 1))
    y = np.concatenate(parts, 1)
    return [y + np.reshape(p["bias"], (-1,) + (1,) * spatial) if "bias" in p else y]


def conv_transpose(t, p):
    x, w = t["x"].astype(np.float64), np.asarray(p["weight"], np.float64)
    kernel, groups, strides = w.shape[2:], int(p.get("groups", 1)), [int(v) for v in p["strides"]]
    dilations = [int(v) for v in p.get("dilations", [1] * len(kernel))]
    full = [(n - 1) * s + (k - 1) * d + 1 for n, s, k, d in zip(x.shape[2:], strides, kernel, dilations)]
    y = np.zeros((x.shape[0], w.shape[1] * groups, *full))
    for at in np.ndindex(*x.shape[2:]):
        place = tuple(slice(i * s, i * s + (k - 1) * d + 1, d) for i, s, k, d in zip(at, strides, kernel, dilations))
        for g in range(groups):
            rows = slice(g * (x.shape[1] // groups), (g + 1) * (x.shape[1] // groups))
            y[(slice(None), slice(g * w.shape[1], (g + 1) * w.shape[1]), *place)] += np.tensordot(x[(slice(None), rows, *at)], w[rows], axes=(1, 0))
    pads = _pads(p, x.shape[2:], kernel, strides, [1] * len(kernel)) if p.get("pad_type") == "custom" else [(0, 0)] * len(kernel)
    wanted = [int(n) for n in p["output_shape"][2:]] if "output_shape" in p else [n - a - b for (a, b), n in zip(pads, full)]
    # What is wanted beyond the last window is zero.
    y = np.pad(y, [(0, 0), (0, 0), *[(0, max(0, a + n - f)) for (a, _), n, f in zip(pads, wanted, full)]])
    y = y[(slice(None), slice(None), *[slice(a, a + n) for (a, _), n in zip(pads, wanted)])]
    return [y + np.reshape(p["bias"], (-1,) + (1,) * len(kernel)) if "bias" in p else y]


def pool(kind):
    def reference(t, p):
        x, kernel, strides = t["x"].astype(np.float64), [int(k) for k in p["kernel_sizes"]], [int(s) for s in p["strides"]]
        ones, last = [1] * len(kernel), tuple(range(-len(kernel), 0))
        pads = [(0, 0), (0, 0), *_pads(p, x.shape[2:], kernel, strides, ones)]
        if p.get("ceil_mode"):
            for i, (n, k, s) in enumerate(zip(x.shape[2:], kernel, strides)):
                left = (n + sum(pads[2 + i]) - k) % s
                pads[2 + i] = (pads[2 + i][0], pads[2 + i][1] + (s - left if left else 0))
        rows = _windows(np.pad(x, pads, constant_values=-np.inf if kind == "max" else 0), kernel, strides, ones)
        if kind == "max":
            return [rows.max(last)]
        if kind == "l2":
            return [np.sqrt(np.square(rows).sum(last))]
        count = _windows(np.pad(np.ones_like(x), pads), kernel, strides, ones).sum(last) if p.get("exclude_padding_from_average") else np.prod(kernel)
        return [rows.sum(last) / count]
    return reference


def _channels(values, rank):
    return np.reshape(values, (-1,) + (1,) * (rank - 2))


def batch_norm(t, p):
    x, rank = t["x"], t["x"].ndim
    y = (x - _channels(p["mean"], rank)) / np.sqrt(_channels(p["variance"], rank) + p["epsilon"])
    return [y * _channels(p["gamma"], rank) + _channels(p["beta"], rank) if "gamma" in p else y]


def instance_norm(t, p):
    x = t["x"]
    axes = tuple(range(2, x.ndim))
    y = (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + p["epsilon"])
    return [y * _channels(p["gamma"], x.ndim) + _channels(p["beta"], x.ndim) if "gamma" in p else y]


def local_response_norm(t, p):
    x, size = t["x"], p["size"]
    square, total = np.square(x), np.zeros_like(x)
    for c in range(x.shape[1]):
        total[:, c] = square[:, max(0, c - (size - 1) // 2):c + size // 2 + 1].sum(1)
    return [x / (p["k"] + p["alpha"] / size * total) ** p["beta"]]


def _points(mode, begin, end, count):
    i, length = np.arange(count), end - begin
    if mode in ("STRICT_ALIGN_CORNERS", "ALIGN_CORNERS"):
        if count == 1:
            return np.array([begin + (length / 2 if mode == "ALIGN_CORNERS" else 0)])
        return begin + i * length / (count - 1)
    if mode == "OFFSET_CORNERS":
        return np.clip(begin + (i + 0.5) * max(1, length) / count, begin, end)
    step = (length + 1) / count
    return np.clip(begin + i * step + (0.5 * step - 0.5 if mode == "UNALIGN_CORNERS" else 0), begin, end)


def _linear(x, axis, points):
    low = np.floor(points).astype(int)
    high, shape = np.minimum(low + 1, x.shape[axis] - 1), [1] * x.ndim
    shape[axis] = -1
    weight = np.reshape(points - low, shape)
    return np.take(x, low, axis) * (1 - weight) + np.take(x, high, axis) * weight


def _resized(x, size, mode):
    for axis, count in ((-2, size[0]), (-1, size[1])):
        x = _linear(x, axis % x.ndim, _points(mode, 0, x.shape[axis] - 1, count))
    return [x]


def resize_bilinear(t, p):
    return _resized(t["x"], (p["target_size_height"], p["target_size_width"]), p["sampling_mode"])


def resize(t, p):
    return _resized(t["x"], p["shape"][-2:], p["sampling_mode"])


def upsample_bilinear(t, p):
    x = t["x"]
    size = [int(np.floor(x.shape[-2] * p["scale_factor_height"])), int(np.floor(x.shape[-1] * p["scale_factor_width"]))]
    half = p.get("half_pixel_centers", not p["align_corners"])
    return _resized(x, size, "STRICT_ALIGN_CORNERS" if p["align_corners"] else "UNALIGN_CORNERS" if half else "DEFAULT")


def nearest(t, p):
    x = t["x"]
    if "target_size_height" in p:
        size = (p["target_size_height"], p["target_size_width"])
    else:
        size = (x.shape[-2] * p["scale_factor_height"], x.shape[-1] * p["scale_factor_width"])
    for axis, count in ((-2, size[0]), (-1, size[1])):
        x = np.take(x, np.arange(count) * x.shape[axis] // count, axis)
    return [x]


def crop_resize(t, p):
    x, old = t["x"], "roi" in t
    boxes = t["roi"].reshape(-1, 4) if old else t["boxes"]
    parts = []
    for n, (top, left, bottom, right) in enumerate(boxes):
        image = x if old else x[int(p["box_indices"][n])][None]
        part = _linear(image, 2, _points(p["sampling_mode"], top, bottom, p["target_height"]))
        parts.append(_linear(part, 3, _points(p["sampling_mode"], left, right, p["target_width"])))
    return [np.stack(parts) if old else np.concatenate(parts)]


def resample(t, p):
    x, at = t["x"], t["coordinates"].astype(np.float64)
    height, width = x.shape[2:]
    size = np.array([width, height])
    if p["coordinates_mode"] != "unnormalized":
        if p["coordinates_mode"] == "normalized_zero_to_one":
            at = at * 2 - 1
        at = (at + 1) / 2 * (size - 1) if p["align_corners"] else ((at + 1) * size - 1) / 2

    def element(i, n):
        if p["padding_mode"] == "border":
            return np.clip(i, 0, n - 1), True
        if p["padding_mode"] == "reflection":
            i = abs(i) % (2 * (n - 1))
            return (i if i < n else 2 * (n - 1) - i), True
        if p["padding_mode"] == "symmetric":
            i = i % (2 * n)
            return (i if i < n else 2 * n - 1 - i), True
        return np.clip(i, 0, n - 1), 0 <= i < n

    def pixel(b, row, column):
        (r, inside_r), (c, inside_c) = element(row, height), element(column, width)
        return x[b, :, r, c] if inside_r and inside_c else np.full(x.shape[1], p["padding_value"])

    out = np.zeros((x.shape[0], x.shape[1], *at.shape[1:3]))
    for b, i, j in np.ndindex(*at.shape[:3]):
        column, row = at[b, i, j]
        if p["sampling_mode"] == "nearest":
            out[b, :, i, j] = pixel(b, int(np.rint(row)), int(np.rint(column)))
            continue
        r, c = int(np.floor(row)), int(np.floor(column))
        for dr, dc in np.ndindex(2, 2):
            out[b, :, i, j] += pixel(b, r + dr, c + dc) * abs(1 - dr - (row - r)) * abs(1 - dc - (column - c))
    return [out]


def affine(t, p):
    x, matrix = t["x"], np.broadcast_to(t["transform_matrix"], (t["x"].shape[0], 6)).reshape(-1, 2, 3)
    rows, columns = np.meshgrid(np.linspace(-1, 1, p["output_height"]), np.linspace(-1, 1, p["output_width"]), indexing="ij")
    base = np.stack([columns, rows, np.ones_like(rows)], -1)
    return resample({"x": x, "coordinates": np.einsum("hwk,bjk->bhwj", base, matrix)}, p)


ACTIVATIONS = {"tanh": np.tanh, "relu": lambda x: np.maximum(x, 0), "sigmoid": lambda x: 1 / (1 + np.exp(-x)), "linear": lambda x: x}


def _sequence(step, x, states, reverse):
    outputs = []
    for row in x[::-1] if reverse else x:
        states = step(row, states)
        outputs.append(states[0])
    return np.stack(outputs[::-1] if reverse else outputs), states


def lstm(t, p):
    x, hidden = t["x"].astype(np.float64), p["weight_hh"].shape[1]
    sigmoid, activation = ACTIVATIONS["sigmoid"], ACTIVATIONS[p["activation"]]

    def run(back, states, reverse):
        bias = p.get("bias" + back, 0)

        def step(row, states):
            h, c = states
            i, f, o, z = np.split(row @ p["weight_ih" + back].T + h @ p["weight_hh" + back].T + bias, 4, -1)
            c = sigmoid(f) * c + sigmoid(i) * np.tanh(z)
            return sigmoid(o) * activation(c), c
        return _sequence(step, x, states, reverse)

    h, c = t["initial_h"], t["initial_c"]
    if p["direction"] == "bidirectional":
        (y1, (h1, c1)), (y2, (h2, c2)) = run("", (h[:, :hidden], c[:, :hidden]), False), run("_back", (h[:, hidden:], c[:, hidden:]), True)
        y, h, c = np.concatenate([y1, y2], -1), np.concatenate([h1, h2], -1), np.concatenate([c1, c2], -1)
    else:
        y, (h, c) = run("", (h, c), p["direction"] == "reverse")
    return [y if p["output_sequence"] else h[None], h, c]


def gru(t, p):
    sigmoid = ACTIVATIONS["sigmoid"]
    bias = np.split(p.get("bias", np.zeros(9)), 3)
    extra = np.split(p.get("input_bias", np.zeros(9)), 3)
    wi, wh = np.split(p["weight_ih"], 3), np.split(p["weight_hh"], 3)

    def step(row, states):
        h = states[0]
        r = sigmoid(row @ wi[0].T + h @ wh[0].T + bias[0] + extra[0])
        z = sigmoid(row @ wi[2].T + h @ wh[2].T + bias[2] + extra[2])
        inner = r * (h @ wh[1].T + bias[1]) if p.get("reset_after") else (r * h) @ wh[1].T + bias[1]
        return ((1 - z) * np.tanh(row @ wi[1].T + extra[1] + inner) + z * h,)

    y, (h,) = _sequence(step, t["x"].astype(np.float64), (t["initial_h"],), p["direction"] == "reverse")
    return [y if p["output_sequence"] else h[None], h]


def rnn(t, p):
    activation = ACTIVATIONS[p["activation"]]
    y, (h,) = _sequence(lambda row, s: (activation(row @ p["weight_ih"].T + s[0] @ p["weight_hh"].T + p["bias"]),), t["x"].astype(np.float64), (t["initial_h"],), p["direction"] == "reverse")
    return [y if p["output_sequence"] else h[None], h]


def attention(t, p):
    q, k, v = (t[n].astype(np.float64) for n in ("query", "key", "value"))
    scores = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
    if "attn_mask" in p:
        scores = np.where(p["attn_mask"], scores, -np.inf) if p["attn_mask"].dtype == bool else scores + p["attn_mask"]
    scores = np.exp(scores - scores.max(-1, keepdims=True))
    return [scores / scores.sum(-1, keepdims=True) @ v]


def _combine(mode, data, place, updates):
    for at, update in zip(place, updates):
        if mode == "update":
            data[at] = update
        else:
            function = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "max": np.maximum, "min": np.minimum}[mode]
            data[at] = function(data[at], update)


def scatter(t, p):
    data, axis = np.moveaxis(t["data"].copy(), p["axis"], 0), p["axis"]
    _combine(p["mode"], data, [int(i) for i in p["indices"]], np.moveaxis(t["updates"], axis, 0))
    return [np.moveaxis(data, 0, axis)]


def scatter_along_axis(t, p):
    data, axis = t["data"].copy(), p["axis"] % t["data"].ndim
    for at in np.ndindex(*t["updates"].shape):
        to = list(at)
        to[axis] = int(p["indices"][at])
        _combine(p["mode"], data, [tuple(to)], [t["updates"][at]])
    return [data]


def scatter_nd(t, p):
    data = t["data"].copy()
    _combine(p["mode"], data, [tuple(i) for i in p["indices"]], t["updates"])
    return [data]


def slice_update(t, p):
    data, picks = t["x"].copy(), []
    for i in range(data.ndim):
        end = None if "end_mask" in p and p["end_mask"][i] else int(p["end"][i])
        picks.append(slice(int(p["begin"][i]), end, int(p["stride"][i]) if "stride" in p else 1))
    data[tuple(picks)] = t["update"]
    return [data]


def _depth(x, block, order):
    n, c, h, w = x.shape
    y = x.reshape((n, block, block, c // block**2, h, w) if order == "dcr" else (n, c // block**2, block, block, h, w))
    y = y.transpose((0, 3, 4, 1, 5, 2) if order == "dcr" else (0, 1, 4, 2, 5, 3))
    return y.reshape(n, c // block**2, h * block, w * block)


def _space(x, block, order):
    n, c, h, w = x.shape
    y = x.reshape(n, c, h // block, block, w // block, block)
    y = y.transpose((0, 3, 5, 1, 2, 4) if order == "dcr" else (0, 1, 3, 5, 2, 4))
    return y.reshape(n, c * block**2, h // block, w // block)


def space_to_batch(t, p):
    (top, bottom), (left, right), (bh, bw) = *p["paddings"], p["block_shape"]
    x = np.pad(t["x"], ((0, 0), (0, 0), (top, bottom), (left, right)))
    n, c, h, w = x.shape
    return [x.reshape(n, c, h // bh, bh, w // bw, bw).transpose(3, 5, 0, 1, 2, 4).reshape(n * bh * bw, c, h // bh, w // bw)]


def batch_to_space(t, p):
    (top, bottom), (left, right), (bh, bw) = *p["crops"], p["block_shape"]
    n, c, h, w = t["x"].shape
    y = t["x"].reshape(bh, bw, n // (bh * bw), c, h, w).transpose(2, 3, 4, 0, 5, 1).reshape(n // (bh * bw), c, h * bh, w * bw)
    return [y[:, :, top:h * bh - bottom, left:w * bw - right]]


def sliding_windows(t, p):
    axis = p["axis"] % t["x"].ndim
    rows = np.lib.stride_tricks.sliding_window_view(t["x"], p["size"], axis=axis)
    rows = rows[(slice(None),) * axis + (slice(None, None, p["stride"]),)]
    return [np.moveaxis(rows, -1, axis + 1)]


def reverse_sequence(t, p):
    # Rows first, then steps.
    axes = (int(p.get("batch_axis", 0)), int(p.get("seq_axis", 1)))
    x = np.moveaxis(t["x"], axes, (0, 1))
    y = x.copy()
    for b, length in enumerate(p["lengths"]):
        y[b, :length] = x[b, :length][::-1]
    return [np.moveaxis(y, (0, 1), axes)]


def band_part(t, p):
    m, n = np.indices(t["x"].shape[-2:])
    inside = ((p["lower"] < 0) | (m - n <= p["lower"])) & ((p["upper"] < 0) | (n - m <= p["upper"]))
    return [np.where(inside, t["x"], 0)]


def crop(t, p):
    (a, b), (c, d), (h, w) = p["crop_height"], p["crop_width"], t["x"].shape[-2:]
    return [t["x"][..., a:h - b, c:w - d]]


def cumsum(t, p):
    x, axis = t["x"].astype(np.float64), p["axis"]
    x = np.flip(x, axis) if p["reverse"] else x
    y = np.cumsum(x, axis)
    if p["exclusive"]:
        y = y - x
    return [np.flip(y, axis) if p["reverse"] else y]


def pad(t, p):
    x, pads = t["x"], np.reshape(p["pad"], (-1, 2)).tolist()
    pads = [[0, 0]] * (x.ndim - len(pads)) + pads
    mode = {"constant": "constant", "reflect": "reflect", "replicate": "edge"}[p.get("mode", "constant")]
    return [np.pad(x, pads, mode, **({"constant_values": p.get("constant_val", 0)} if mode == "constant" else {}))]


def one_hot(t, p):
    hot = np.arange(p["one_hot_vector_size"]) == t["indices"][..., None]
    return [np.moveaxis(np.where(hot, p["on_value"], p["off_value"]), -1, p["axis"])]


def gather_nd(t, p):
    x, indices, batch = t["x"], p["indices"], p.get("batch_dims", 0)
    if batch == 0:
        return [x[tuple(np.moveaxis(indices, -1, 0))]]
    return [np.stack([gather_nd({"x": x[i]}, {"indices": indices[i], "batch_dims": batch - 1})[0] for i in range(x.shape[0])])]


def gather(t, p):
    x, indices, batch = t["x"], t.get("indices", p.get("indices")), p.get("batch_dims", 0)
    if batch == 0:
        return [np.take(x, indices, p["axis"])]
    return [np.stack([gather({"x": x[i]}, {"indices": indices[i], "axis": p["axis"] - 1, "batch_dims": batch - 1})[0] for i in range(x.shape[0])])]


def clamped_relu(t, p):
    x = t["x"]
    return [np.minimum(p["beta"], np.where(x >= 0, x, p["alpha"] * x))]


def gelu(t, p):
    import math
    x = t["x"].astype(np.float64)
    if p["mode"] == "SIGMOID_APPROXIMATION":
        return [x / (1 + np.exp(-1.702 * x))]
    if p["mode"] == "TANH_APPROXIMATION":
        return [0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))]
    return [0.5 * x * (1 + np.vectorize(math.erf)(x / np.sqrt(2)))]


def quantize(t, p):
    shape = [1] * t["input"].ndim
    if "axis" in p:
        shape[p["axis"]] = -1
    low, high = (-128, 127) if p["output_dtype"] == "int8" else (0, 255)
    return [np.clip(np.rint(t["input"] / np.reshape(p["scale"], shape)) + int(p.get("zero_point", 0)), low, high)]


def layer_norm(t, p):
    x, axes = t["x"].astype(np.float64), tuple(int(a) for a in p["axes"])
    y = (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + p["epsilon"])
    if "gamma" in p:
        shape = [x.shape[i] if i in [a % x.ndim for a in axes] else 1 for i in range(x.ndim)]
        y = y * p["gamma"].reshape(shape) + p["beta"].reshape(shape)
    return [y]


def concat(t, p):
    if not p.get("interleave"):
        return [np.concatenate(t["values"], p["axis"])]
    axis = p["axis"] % t["values"][0].ndim
    shape = list(t["values"][0].shape)
    shape[axis] *= len(t["values"])
    return [np.stack(t["values"], axis + 1).reshape(shape)]


REFERENCES = {
    "concat": concat,
    "conv": conv, "conv_transpose": conv_transpose, "max_pool": pool("max"), "avg_pool": pool("avg"), "l2_pool": pool("l2"), "batch_norm": batch_norm, "instance_norm": instance_norm,
    "layer_norm": layer_norm, "local_response_norm": local_response_norm, "resize_bilinear": resize_bilinear, "resize": resize, "upsample_bilinear": upsample_bilinear,
    "resize_nearest_neighbor": nearest, "upsample_nearest_neighbor": nearest, "crop_resize": crop_resize, "resample": resample, "affine": affine, "lstm": lstm, "gru": gru, "rnn": rnn,
    "scaled_dot_product_attention": attention, "scatter": scatter, "scatter_along_axis": scatter_along_axis, "scatter_nd": scatter_nd, "slice_update": slice_update, "crop": crop,
    "space_to_batch": space_to_batch, "batch_to_space": batch_to_space, "sliding_windows": sliding_windows, "reverse_sequence": reverse_sequence, "band_part": band_part, "cumsum": cumsum,
    "pad": pad, "one_hot": one_hot, "gather_nd": gather_nd, "gather": gather, "clamped_relu": clamped_relu, "gelu": gelu, "quantize": quantize,
    "depth_to_space": lambda t, p: [_depth(t["x"], p["block_size"], "dcr")], "space_to_depth": lambda t, p: [_space(t["x"], p["block_size"], "dcr")],
    "pixel_shuffle": lambda t, p: [_depth(t["x"], p["upscale_factor"], "crd")], "pixel_unshuffle": lambda t, p: [_space(t["x"], int(p["downscale_factor"]), "crd")],
    "silu": lambda t, p: [t["x"] / (1 + np.exp(-t["x"].astype(np.float64)))], "sigmoid_hard": lambda t, p: [np.clip(p["alpha"] * t["x"] + p["beta"], 0, 1)],
    "scaled_tanh": lambda t, p: [p["alpha"] * np.tanh(p["beta"] * t["x"])], "linear_activation": lambda t, p: [p["alpha"] * t["x"] + p["beta"]],
    "softplus_parametric": lambda t, p: [_channels(p["alpha"], 4) * np.log1p(np.exp(_channels(p["beta"], 4) * t["x"]))],
    "fill": lambda t, p: [np.full(p["shape"], p["value"])], "fill_like": lambda t, p: [np.full_like(t["ref_tensor"], p["value"])],
    "reshape_like": lambda t, p: [t["x"].reshape(2, 2, 3, 2)], "non_zero": lambda t, p: [np.argwhere(t["x"])], "identity": lambda t, p: [t["x"]],
    "einsum": lambda t, p: [np.einsum(p["equation"], *t["values"])],
}
