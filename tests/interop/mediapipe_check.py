#!/usr/bin/env python3
"""MediaPipe's custom operators against their published formulas, and against LiteRT once they are written in builtin operators.

    mediapipe_check.py [--edgecompile PATH] [--seed N] [--count N] [--out DIR]

Needs ai-edge-litert and flatbuffers. No Python package runs these operators by themselves, so that the oracle is NumPy here, written
from mediapipe/util/tflite/operations. Each model runs here as it is, and in LiteRT as `edgecompile -t tflite` writes it.
"""
import pathlib
import sys
import tempfile

import numpy as np
from flatbuffers import flexbuffers

import comparison
import litert
import program
from tflite_builder import ModelBuilder
from tflite_check import difference

SAME, VALID = 1, 2  # TfLitePadding


def words(*numbers):
    return np.asarray(numbers, np.int32).tobytes()


def transpose_conv(rng):
    h, w, cin, cout = (int(rng.integers(1, n)) for n in (7, 7, 4, 4))
    kh, kw, sh, sw = (int(n) for n in rng.integers(1, 4, 4))
    padding = int(rng.choice([SAME, VALID]))
    x, k, b = (rng.normal(size=s).astype(np.float32) for s in ((1, h, w, cin), (cout, kh, kw, cin), (cout,)))
    pads = [max(0, n - (size - 1) % s - 1) if padding == SAME else 0 for n, size, s in ((kh, h, sh), (kw, w, sw))]
    whole = np.zeros((sh * (h - 1) + kh, sw * (w - 1) + kw, cout))
    for i in range(h):
        for j in range(w):
            whole[i * sh:i * sh + kh, j * sw:j * sw + kw] += np.einsum("oyxi,i->yxo", k, x[0, i, j])
    top, left = pads[0] // 2, pads[1] // 2
    y = whole[top:whole.shape[0] - (pads[0] - top), left:whole.shape[1] - (pads[1] - left)] + b
    return "Convolution2DTransposeBias", [x], [k, b], [y[None]], words(padding, sw, sh), 1


def pool(rng):
    k, n = [int(v) for v in rng.integers(1, 4, 2)], [int(v) for v in rng.integers(1, 4, 2)]
    x = rng.normal(size=(1, k[0] * n[0], k[1] * n[1], 3)).astype(np.float32)
    tiles = x.reshape(n[0], k[0], n[1], k[1], 3).transpose(0, 2, 1, 3, 4).reshape(1, n[0], n[1], -1, 3)
    return "MaxPoolingWithArgmax2D", [x], [], [tiles.max(3), tiles.argmax(3) + 0.1], words(VALID, k[1], k[0], k[1], k[0], 0, 0, 0, 0, 0), 1


def unpool(rng):
    k, n = [int(v) for v in rng.integers(1, 4, 2)], [int(v) for v in rng.integers(1, 4, 2)]
    x = rng.normal(size=(1, *n, 3)).astype(np.float32)
    at = rng.integers(0, k[0] * k[1], x.shape)
    y = np.zeros((1, n[0] * k[0], n[1] * k[1], 3), np.float32)
    for i, j, c in np.ndindex(n[0], n[1], 3):
        y[0, i * k[0] + at[0, i, j, c] // k[1], j * k[1] + at[0, i, j, c] % k[1], c] = x[0, i, j, c]
    return "MaxUnpooling2D", [x, (at + 0.1).astype(np.float32)], [], [y], words(VALID, k[1], k[0], k[1], k[0], 0, 0, 0, 0, 0), 1


def rotation(angle):
    return np.asarray([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])


def matrix(rng, version):
    count = int(rng.integers(3, 12))
    points = rng.uniform(0, 100, (count, 3)).astype(np.float32)
    subset = [int(i) for i in rng.integers(0, count, int(rng.integers(2, 8)))]
    left, right = (int(i) for i in rng.choice(count, 2, replace=False))
    dx, dy = points[right, :2].astype(np.float64) - points[left, :2]
    common = {"left_rotation_idx": left, "right_rotation_idx": right}
    angle = -np.arctan(dy / dx) if version == 1 else 0.3 - np.arctan2(dy, dx)
    turned = points[subset, :2] @ rotation(angle).T
    low, high = turned.min(0), turned.max(0)
    size, centre = high - low, rotation(-angle) @ ((low + high) / 2)
    m = np.eye(4)
    if version == 1:
        ih, iw, oh, ow = (int(v) for v in rng.integers(2, 60, 4))
        scale, to = np.diag(size * 1.5 / 100), np.asarray([2 / (ow - 1), 2 / (oh - 1)])
        whole = np.asarray([iw - 1, ih - 1]) / 2
        m[:2, :2] = whole[:, None] * (rotation(-angle) @ scale) * to
        m[:2, 3] = whole * (rotation(-angle) @ scale @ [-1, -1] + centre / 100 * 2 - 1) + whole
        options = common | {"input_hw": [ih, iw], "output_hw": [oh, ow], "subset": subset, "dimensions": 3, "landmarks_range": 100,
                            "bbox_size_multiplier": 1.5}
        return "Landmarks2TransformMatrix", [points.reshape(1, 1, 1, -1)], [], [m[None]], bytes(flexbuffers.Dumps(options)), 1
    oh, ow = (int(v) for v in rng.integers(1, 60, 2))
    m[:2, :2] = rotation(-angle) @ np.diag([1.25 * size[0] / ow, 1.5 * size[1] / oh])
    m[:2, 3] = m[:2, :2] @ [-ow / 2, -oh / 2] + centre
    options = common | {"subset_idxs": subset, "target_rotation_radians": 0.3, "output_height": oh, "output_width": ow, "scale_x": 1.25, "scale_y": 1.5}
    return "Landmarks2TransformMatrix", [points[None]], [], [m[None]], bytes(flexbuffers.Dumps(options)), 2


def landmarks(rng, version):
    dimensions, count = int(rng.integers(2, 4)), int(rng.integers(1, 20))
    points, m = rng.normal(size=(count, dimensions)).astype(np.float32), rng.normal(size=(1, 4, 4)).astype(np.float32)
    scale = 2.5 if version == 1 else 1
    y = points.astype(np.float64).copy()
    y[:, :2] = points[:, :2] @ m[0, :2, :2].T.astype(np.float64) + m[0, :2, 3] * scale
    shape = (1, 1, 1, count * dimensions) if version == 1 else (1, count, dimensions)
    options = bytes(flexbuffers.Dumps({"dimensions": dimensions, "scale": 2.5})) if version == 1 else bytes(flexbuffers.Dumps({}))
    return "TransformLandmarks", [points.reshape(shape), m], [], [y.reshape(shape)], options, version


def image(rng, version):
    h, w, c, oh, ow = (int(v) for v in rng.integers(1, 9, 5))
    x, m = rng.normal(size=(1, h, w, c)).astype(np.float32), np.zeros((1, 4, 4), np.float32)
    m[0, :2, :2] = np.eye(2) + rng.normal(0, 0.2, (2, 2))
    m[0, :2, 3] = rng.normal(0, 1, 2)
    a = m[0, :2].astype(np.float64)
    if version == 2:
        a[:, 3] += a[:, 0] / 2 + a[:, 1] / 2 - 0.5
    y, padded = np.zeros((1, oh, ow, c)), np.pad(x[0], ((0, 2), (0, 2), (0, 0)))
    for i, j in np.ndindex(oh, ow):
        u, v = a[0, 0] * j + a[0, 1] * i + a[0, 3], a[1, 0] * j + a[1, 1] * i + a[1, 3]
        if not (0 <= u <= w - 1 and 0 <= v <= h - 1):
            continue
        l, t = int(u), int(v)
        across = [(1 - (u - l)) * padded[r, l] + (u - l) * padded[r, l + 1] for r in (t, t + 1)]
        y[0, i, j] = (1 - (v - t)) * across[0] + (v - t) * across[1]
    options = {"mode": "bilinear", "output_size": [oh, ow]} if version == 1 else {"output_height": oh, "output_width": ow}
    return "TransformTensorBilinear", [x, m], [], [y], bytes(flexbuffers.Dumps(options)), version


CASES = {"transpose_conv": transpose_conv, "pool": pool, "unpool": unpool,
         **{f"{f.__name__}_v{v}": (lambda rng, f=f, v=v: f(rng, v)) for f in (matrix, landmarks, image) for v in (1, 2)}}


def check(tool, case, folder):
    code, inputs, constants, expected, options, version = case
    builder = ModelBuilder()
    operands = [builder.input(v.shape, v.dtype) for v in inputs] + [builder.const(v) for v in constants]
    builder.custom(code, operands, [builder.output(v.shape, np.float32) for v in expected], options, version)
    source, again = pathlib.Path(folder) / "model.tflite", pathlib.Path(folder) / "again.tflite"
    source.write_bytes(builder.finish())
    ours = list(program.run_model(tool, source, inputs).values())
    program.report(tool, source, "-t", "tflite", "-o", again)
    interpreter = litert.open_model(again, reference=False)
    if any("CUSTOM" in op["op_name"] or op["op_name"] == code for op in litert.operators(interpreter)):
        return "written as a custom operator"
    names = [f"t{i}" for i in builder.inputs]
    theirs = list(litert.run_signature(interpreter, dict(zip(names, inputs))).values())
    for who, results in (("ours", ours), ("LiteRT", theirs)):
        for result, value in zip(results, expected):
            if text := difference(result, value.astype(np.float32), 2e-5):
                return f"{who}: {text}"
    return None


def main():
    parser = comparison.parser(__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=10)
    args = parser.parse_args()
    rows = comparison.Rows()
    for number, (name, make) in enumerate(CASES.items()):
        faults = []
        with tempfile.TemporaryDirectory() as folder:
            for i in range(args.count):
                try:
                    text = check(args.edgecompile, make(np.random.default_rng([args.seed, number, i])), folder)
                except (RuntimeError, ValueError) as error:
                    text = str(error)[:200]
                if text:
                    faults.append(f"{i}: {text}")
        rows.add({"case": name, "models": args.count, "different": faults, "ok": not faults})
    return rows.finish(args.out, "mediapipe_check.json")


if __name__ == "__main__":
    sys.exit(main())
