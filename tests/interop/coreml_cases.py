"""Operators of ML Programs in many forms: for each the operands, the parameters and the first operator set that has it.

A case whose operator coremltools can evaluate has no reference here; for the others there is one in coreml_references.py.
"""
from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator

import numpy as np

TARGETS = ("iOS15", "iOS16", "iOS17", "iOS18")


@dataclasses.dataclass
class Case:
    op: str
    tensors: dict  # operands that the program gets as inputs; a list for operators of several
    params: dict
    first: str = "iOS15"
    last: str = "iOS18"

    def runs_on(self, target: str) -> bool:
        return TARGETS.index(self.first) <= TARGETS.index(target) <= TARGETS.index(self.last)

    def text(self) -> str:
        shapes = {k: [v.shape for v in x] if isinstance(x, list) else (x.shape, str(x.dtype)) for k, x in self.tensors.items()}
        return f"{self.op} {shapes} " + ", ".join(f"{k}={v if np.size(v) < 12 else np.shape(v)}" for k, v in self.params.items())


def grid(**options) -> Iterator[dict]:
    for values in itertools.product(*options.values()):
        yield dict(zip(options, values))


class Numbers:
    """Numbers that are the same in every run."""

    def __init__(self) -> None:
        self.random = np.random.default_rng(7)

    def real(self, *shape: int, low: float = -2.0, high: float = 2.0, dtype=np.float32) -> np.ndarray:
        return self.random.uniform(low, high, shape).astype(dtype)

    def whole(self, *shape: int, low: int = -5, high: int = 6) -> np.ndarray:
        return self.random.integers(low, high, shape).astype(np.int32)


N = Numbers()
f32 = np.float32


def i32(*values: int) -> np.ndarray:
    return np.array(values, np.int32)


def elementwise() -> Iterator[Case]:
    for op in ("relu", "relu6", "sigmoid", "silu", "softplus", "softsign", "erf", "exp", "exp2", "floor", "ceil", "round", "sign", "sin", "cos", "tan", "sinh", "cosh", "tanh",
               "abs", "atan", "square", "identity"):
        for shape in ((6,), (2, 3, 4), (1, 2, 3, 2, 2)):
            yield Case(op, {"x": N.real(*shape)}, {})
        yield Case(op, {"x": N.real(2, 3, dtype=np.float16)}, {}, "iOS16")
    for op in ("abs", "sign", "square", "identity"):
        yield Case(op, {"x": N.whole(2, 5)}, {})
    yield Case("round", {"x": f32([0.5, 1.5, 2.5, -0.5, -1.5])}, {})
    for op in ("acos", "asin", "atanh"):
        yield Case(op, {"x": N.real(3, 4, low=-0.9, high=0.9)}, {})
    yield Case("sqrt", {"x": N.real(3, 4, low=0, high=4)}, {})
    for op, epsilon in itertools.product(("log", "rsqrt", "inverse"), (None, 1e-3, 0.5)):
        yield Case(op, {"x": N.real(3, 4, low=0.1, high=4)}, {} if epsilon is None else {"epsilon": f32(epsilon)})
    for op, alpha in itertools.product(("leaky_relu", "elu", "thresholded_relu", "threshold"), (0.1, 0.5, 1.0)):
        yield Case(op, {"x": N.real(2, 3, 4)}, {"alpha": f32(alpha)})
    for op, (alpha, beta) in itertools.product(("clamped_relu", "linear_activation", "sigmoid_hard", "scaled_tanh"), ((0.2, 0.5), (1.0, 1.0), (0.5, 1.5))):
        yield Case(op, {"x": N.real(2, 3, 4)}, {"alpha": f32(alpha), "beta": f32(beta)})
    yield Case("clip", {"x": N.real(2, 3, 4)}, {"alpha": f32(-0.5), "beta": f32(1.0)})
    for shape in ((2, 3, 4), (2, 3, 4, 2), (1, 3, 2, 2, 2)):
        yield Case("prelu", {"x": N.real(*shape)}, {"alpha": N.real(3)})
    yield Case("softplus_parametric", {"x": N.real(2, 3, 4, 2)}, {"alpha": N.real(3, low=0.5), "beta": N.real(3, low=0.5)})
    for mode in ("EXACT", "TANH_APPROXIMATION", "SIGMOID_APPROXIMATION"):
        yield Case("gelu", {"x": N.real(3, 4)}, {"mode": mode})
    for axis in (-1, 0, 1):
        yield Case("softmax", {"x": N.real(3, 4, 5)}, {"axis": axis})
    for source, dtype in itertools.product((N.real(3, 4), N.whole(3, 4)), ("int32", "fp32", "fp16", "bool")):
        yield Case("cast", {"x": source}, {"dtype": dtype})
    for dtype in ("int8", "int16", "uint8", "uint16"):
        yield Case("cast", {"x": N.real(3, 4, low=0, high=100)}, {"dtype": dtype}, "iOS17")


def binary() -> Iterator[Case]:
    shapes = (((2, 3), (2, 3)), ((2, 3), (3,)), ((2, 1, 4), (3, 1)), ((4,), (1,)), ((2, 3, 4, 5), (1, 3, 1, 1)))
    for op, (a, b) in itertools.product(("add", "sub", "mul", "maximum", "minimum", "real_div", "floor_div", "mod"), shapes):
        low = 0.5 if op in ("real_div", "floor_div", "mod") else -2
        yield Case(op, {"x": N.real(*a), "y": N.real(*b, low=low, high=3)}, {})
        yield Case(op, {"x": N.real(*a)}, {"y": N.real(*b, low=low, high=3)})
    for op in ("add", "sub", "mul", "maximum", "minimum", "floor_div", "mod"):
        yield Case(op, {"x": N.whole(3, 4), "y": N.whole(3, 4, low=1, high=4)}, {})
    for a, b in shapes:
        yield Case("pow", {"x": N.real(*a, low=0.2), "y": N.real(*b)}, {})
    for op, (a, b) in itertools.product(("equal", "not_equal", "less", "less_equal", "greater", "greater_equal"), shapes[:3]):
        yield Case(op, {"x": N.whole(*a, low=0, high=3), "y": N.whole(*b, low=0, high=3)}, {})
        yield Case(op, {"x": N.real(*a), "y": N.real(*b)}, {})


def reductions() -> Iterator[Case]:
    names = ("sum", "mean", "max", "min", "prod", "l1_norm", "l2_norm", "log_sum", "log_sum_exp", "sum_square")
    for name, axes, keep in itertools.product(names, (None, i32(0), i32(-1), i32(1, 2), i32(0, -1)), (False, True)):
        params = {"keep_dims": keep}
        if axes is not None:
            params["axes"] = axes
        yield Case("reduce_" + name, {"x": N.real(2, 3, 4, low=0.2)}, params)
    for name, axis, keep in itertools.product(("argmax", "argmin"), (0, 1, -1), (False, True)):
        yield Case("reduce_" + name, {"x": N.real(2, 3, 4)}, {"axis": axis, "keep_dims": keep})
    yield Case("reduce_argmax", {"x": N.real(2, 3, 4)}, {"axis": 1, "output_dtype": "uint16"}, "iOS17")
    for options in grid(axis=(0, 1, -1), exclusive=(False, True), reverse=(False, True)):
        yield Case("cumsum", {"x": N.real(2, 3, 4)}, options)
    for options in grid(k=(1, 3), axis=(0, -1), ascending=(False, True)):
        yield Case("topk", {"x": N.real(4, 5)}, options)
    yield Case("topk", {"x": N.real(4, 5)}, {"k": 2, "output_indices_dtype": "uint16"}, "iOS17")
    for options in grid(axis=(0, 1, -1), ascending=(False, True)):
        yield Case("argsort", {"x": N.real(3, 4)}, options)


def shapes() -> Iterator[Case]:
    for shape in ((6, 4), (2, -1), (3, 2, 2, 2), (-1,), (0, 0, -1), (4, 3, 2)):
        yield Case("reshape", {"x": N.real(2, 3, 4)}, {"shape": i32(*shape)})
    for shape in ((0, -1), (0, 0, 0, 0), (1, 2, 0, 0)):
        yield Case("reshape", {"x": N.real(2, 3, 4)}, {"shape": i32(*shape)}, "iOS17")
    for perm in ((0, 2, 1), (2, 1, 0), (-1, 0, 1)):
        yield Case("transpose", {"x": N.real(2, 3, 4)}, {"perm": i32(*perm)})
    for axes in ((0,), (-1,), (0, 2), (1, -1)):
        yield Case("expand_dims", {"x": N.real(2, 3)}, {"axes": i32(*axes)})
    for params in ({}, {"axes": i32(0)}, {"axes": i32(-1, 0)}, {"axes": i32(2)}):
        yield Case("squeeze", {"x": N.real(1, 3, 1, 1)}, params)
    for axis, interleave in itertools.product((0, 1, -1), (False, True)):
        yield Case("concat", {"values": [N.real(2, 3, 4), N.real(2, 3, 4)]}, {"axis": axis, "interleave": interleave})
    yield Case("concat", {"values": [N.real(2, 1), N.real(2, 3), N.real(2, 2)]}, {"axis": 1})
    for axis in (0, 1, 2, -1):
        yield Case("stack", {"values": [N.real(2, 3), N.real(2, 3), N.real(2, 3)]}, {"axis": axis})
    for params in ({"axis": 0, "num_splits": 2}, {"axis": 1, "split_sizes": i32(1, 2)}, {"axis": -1, "num_splits": 4}, {"axis": -1, "split_sizes": i32(1, 1, 2)}):
        yield Case("split", {"x": N.real(2, 3, 4)}, params)
    for reps in ((1, 2, 1), (2, 1, 3)):
        yield Case("tile", {"x": N.real(2, 3, 4)}, {"reps": i32(*reps)})
    for params in ({}, {"axes": i32(0)}, {"axes": i32(1, -1)}):
        yield Case("reverse", {"x": N.real(2, 3, 4)}, params)
    for axis in (1, 2, -1, 0):
        yield Case("flatten2d", {"x": N.real(2, 3, 4)}, {"axis": axis})
    yield Case("shape", {"x": N.real(2, 3, 4)}, {})
    yield Case("fill", {}, {"shape": i32(2, 3), "value": f32(1.5)})
    yield Case("fill_like", {"ref_tensor": N.real(2, 3)}, {"value": f32(1.5)}, "iOS16")
    yield Case("reshape_like", {"x": N.real(4, 6), "ref_tensors": [N.real(2, 2, 5), N.real(3, 2)]}, {"begins": (0, 0), "ends": (2, 2), "end_masks": (False, True)}, "iOS16")
    for start, end, step in ((0, 6, 1), (1, 9, 3), (5, 0, -2)):
        yield Case("range_1d", {}, {"start": start, "end": end, "step": step})
    for options in grid(lower=(-1, 0, 1), upper=(-1, 0, 2)):
        yield Case("band_part", {"x": N.real(2, 4, 5)}, options)
    for options in grid(axis=(-1, 0, 1), on_value=(f32(1), f32(5)), off_value=(f32(0), f32(-1))):
        yield Case("one_hot", {"indices": N.whole(2, 3, low=0, high=4)}, {"one_hot_vector_size": 4, **options})
    yield Case("non_zero", {"x": f32([[0, 1, 0], [2, 0, 3]])}, {})
    for options in grid(axis=(0, 1, -1), size=(1, 2), stride=(1, 2)):
        yield Case("sliding_windows", {"x": N.real(3, 4, 5)}, options)
    yield Case("select", {"a": N.real(2, 3), "b": N.real(2, 3)}, {"cond": np.array([[True, False, True], [False, False, True]])})


def slices() -> Iterator[Case]:
    none = [False] * 3
    for begin, end, stride, masks in (
        ((0, 1, 1), (2, 3, 4), None, None), ((0, -2, 0), (2, 3, -1), None, None), ((1, 0, 0), (2, 3, 4), (1, 2, 3), None),
        ((0, 0, 0), (0, 0, 0), None, (none, [True] * 3, none)), ((1, 1, 3), (0, 0, 0), (1, 1, -1), ([True, True, True], [True] * 3, none)),
        ((1, 0, 2), (0, 3, 0), None, (none, none, [True, False, True])), ((-1, 0, 0), (0, 2, 4), None, (none, none, [True, False, False])),
        ((0, 2, 3), (2, 0, 0), (1, -1, -2), None)):
        params = {"begin": i32(*begin), "end": i32(*end)}
        if stride:
            params["stride"] = i32(*stride)
        if masks:
            params.update(zip(("begin_mask", "end_mask", "squeeze_mask"), masks))
        yield Case("slice_by_index", {"x": N.real(2, 3, 4)}, params)
    for begin, size in (((0, 1, 1), (2, 2, 3)), ((1, 0, 2), (1, -1, -1))):
        yield Case("slice_by_size", {"x": N.real(2, 3, 4)}, {"begin": i32(*begin), "size": i32(*size)})
    for begin, end, update, more in (((0, 1, 1), (2, 3, 3), (2, 2, 2), {}), ((-1, 0, 0), (2, 3, 4), (1, 3, 4), {}), ((0, 0, 0), (2, 3, 4), (2, 2, 2), {"stride": i32(1, 2, 2)}),
                                     ((0, 0, 1), (0, 0, 3), (2, 3, 2), {"end_mask": [True, True, False]})):
        yield Case("slice_update", {"x": N.real(2, 3, 4), "update": N.real(*update)}, {"begin": i32(*begin), "end": i32(*end), **more}, "iOS18")
    for h, w in (((1, 1), (0, 2)), ((0, 0), (1, 0))):
        yield Case("crop", {"x": N.real(1, 2, 5, 6)}, {"crop_height": i32(*h), "crop_width": i32(*w)})
    for mode, pad in itertools.product(("constant", "reflect", "replicate"), ((1, 2), (1, 0, 2, 1))):
        yield Case("pad", {"x": N.real(2, 3, 4)}, {"pad": i32(*pad), "mode": mode, "constant_val": f32(0.5)})
    yield Case("pad", {"x": N.real(2, 3, 4)}, {"pad": i32(1, 1, 0, 2, 3, 0)})


def gathers() -> Iterator[Case]:
    for axis, shape in itertools.product((0, 1, -1), ((2,), (2, 3), (1,))):
        yield Case("gather", {"x": N.real(3, 4, 5)}, {"indices": N.whole(*shape, low=0, high=3), "axis": axis})
        yield Case("gather", {"x": N.real(3, 4, 5), "indices": N.whole(*shape, low=0, high=3)}, {"axis": axis})
    for axis, batch in ((1, 1), (2, 1), (2, 2)):
        yield Case("gather", {"x": N.real(2, 3, 4)}, {"indices": N.whole(2, 3, low=0, high=3), "axis": axis, "batch_dims": batch}, "iOS16")
    for axis in (0, 1, -1):
        yield Case("gather_along_axis", {"x": N.real(3, 3, 3)}, {"indices": N.whole(3, 3, 3, low=0, high=3), "axis": axis})
    yield Case("gather_nd", {"x": N.real(3, 4, 5)}, {"indices": N.whole(6, 2, low=0, high=3)})
    yield Case("gather_nd", {"x": N.real(3, 4, 5)}, {"indices": N.whole(2, 2, 3, low=0, high=3)})
    yield Case("gather_nd", {"x": N.real(2, 4, 5)}, {"indices": N.whole(2, 3, 1, low=0, high=4), "batch_dims": 1}, "iOS16")
    for mode, axis in itertools.product(("add", "update", "sub", "mul", "div", "max", "min"), (0, 1, -1)):
        shape = [3, 3, 3]
        shape[axis] = 2
        yield Case("scatter", {"data": N.real(3, 3, 3), "updates": N.real(*shape, low=0.5)}, {"indices": i32(2, 0), "axis": axis, "mode": mode})
        yield Case("scatter_along_axis", {"data": N.real(3, 3), "updates": N.real(2, 3, low=0.5) if axis == 0 else N.real(3, 2, low=0.5)},
                   {"indices": i32(0, 1, 2, 2, 0, 1).reshape(2, 3) if axis == 0 else i32(0, 1, 2, 0, 1, 2).reshape(3, 2), "axis": axis, "mode": mode})
    for mode in ("add", "update", "sub", "mul", "div", "max", "min"):
        yield Case("scatter_nd", {"data": N.real(3, 4), "updates": N.real(2, 4, low=0.5)}, {"indices": i32(2, 0).reshape(2, 1), "mode": mode})
    yield Case("reverse_sequence", {"x": N.real(3, 4, 2)}, {"lengths": i32(2, 4, 1), "seq_axis": 1, "batch_axis": 0})


def blocks() -> Iterator[Case]:
    yield Case("depth_to_space", {"x": N.real(1, 8, 2, 3)}, {"block_size": 2})
    yield Case("space_to_depth", {"x": N.real(1, 2, 4, 6)}, {"block_size": 2})
    yield Case("pixel_shuffle", {"x": N.real(1, 8, 2, 3)}, {"upscale_factor": 2})
    yield Case("pixel_unshuffle", {"x": N.real(1, 2, 4, 6)}, {"downscale_factor": np.uint32(2)}, "iOS16")
    for pads in ((0, 0, 0, 0), (1, 1, 2, 0)):
        yield Case("space_to_batch", {"x": N.real(1, 2, 4, 6)}, {"block_shape": i32(2, 2), "paddings": i32(*pads).reshape(2, 2)})
        yield Case("batch_to_space", {"x": N.real(8, 2, 3, 4)}, {"block_shape": i32(2, 2), "crops": i32(*pads).reshape(2, 2)})


def linear() -> Iterator[Case]:
    for shape in ((4,), (2, 4), (3, 2, 4)):
        for bias in (False, True):
            yield Case("linear", {"x": N.real(*shape)}, {"weight": N.real(5, 4), **({"bias": N.real(5)} if bias else {})})
    for a, b, ta, tb in (((2, 3), (3, 4), False, False), ((3, 2), (3, 4), True, False), ((2, 3), (4, 3), False, True), ((2, 2, 3), (2, 3, 4), False, False), ((2, 1, 2, 3), (4, 3, 2), False, False)):
        yield Case("matmul", {"x": N.real(*a), "y": N.real(*b)}, {"transpose_x": ta, "transpose_y": tb})
    yield Case("einsum", {"values": [N.real(1, 2, 3, 4), N.real(1, 4, 3, 5)]}, {"equation": "nchw,nwhu->nchu"})
    yield Case("einsum", {"values": [N.real(2, 3, 4), N.real(4, 3, 5)]}, {"equation": "chw,whr->chr"})
    for q, k, v, mask in (((1, 2, 3, 4), (1, 2, 5, 4), (1, 2, 5, 6), None), ((2, 3, 4), (2, 5, 4), (2, 5, 4), None), ((1, 2, 3, 4), (1, 2, 5, 4), (1, 2, 5, 4), "float"),
                          ((1, 2, 3, 4), (1, 2, 5, 4), (1, 2, 5, 4), "bool")):
        params = {}
        if mask == "float":
            params["attn_mask"] = N.real(3, 5)
        if mask == "bool":
            params["attn_mask"] = np.tri(3, 5, dtype=bool)
        yield Case("scaled_dot_product_attention", {"query": N.real(*q), "key": N.real(*k), "value": N.real(*v)}, params, "iOS18")


def windows() -> Iterator[Case]:
    for spatial in (1, 2, 3):
        size, kernel = (7, 6, 5)[:spatial], (3, 2, 2)[:spatial]
        for options in grid(strides=(1, 2), dilations=(1, 2), pad_type=("valid", "same", "custom", "same_lower"), groups=(1, 2)):
            if options["strides"] == 2 and options["dilations"] == 2:
                continue
            params = {"strides": i32(*[options["strides"]] * spatial), "dilations": i32(*[options["dilations"]] * spatial), "pad_type": options["pad_type"], "groups": options["groups"],
                      "pad": i32(*[1, 0, 2, 1, 0, 1][: 2 * spatial]), "weight": N.real(4, 4 // options["groups"], *kernel)}
            if options["groups"] == 2:
                params["bias"] = N.real(4)
            yield Case("conv", {"x": N.real(1, 4, *size)}, params, "iOS16" if options["pad_type"] == "same_lower" else "iOS15")
        for options in grid(strides=(1, 2), pad_type=("valid", "custom"), groups=(1, 2)):
            params = {"strides": i32(*[options["strides"]] * spatial), "pad_type": options["pad_type"], "groups": options["groups"], "pad": i32(*[1, 0, 0, 1, 1, 1][: 2 * spatial]),
                      "weight": N.real(4, 4 // options["groups"], *kernel), "bias": N.real(4)}
            yield Case("conv_transpose", {"x": N.real(1, 4, *(3, 4, 3)[:spatial])}, params)
        for op, options in itertools.product(("max_pool", "avg_pool", "l2_pool"), grid(strides=(1, 2), pad_type=("valid", "same", "custom"))):
            params = {"kernel_sizes": i32(*kernel), "strides": i32(*[options["strides"]] * spatial), "pad_type": options["pad_type"], "pad": i32(*[1, 0, 0, 1, 1, 1][: 2 * spatial])}
            yield Case(op, {"x": N.real(1, 2, *size)}, params)
            if op == "avg_pool":
                yield Case(op, {"x": N.real(1, 2, *size)}, {**params, "exclude_padding_from_average": True})
    yield Case("max_pool", {"x": N.real(1, 2, 6, 7)}, {"kernel_sizes": i32(3, 3), "strides": i32(2, 2), "pad_type": "custom", "pad": i32(1, 1, 1, 1), "ceil_mode": True})


def norms() -> Iterator[Case]:
    for shape in ((2, 3, 4), (2, 3, 4, 5), (1, 3, 2, 2, 2)):
        for affine in (False, True):
            params = {"mean": N.real(3), "variance": N.real(3, low=0.5), "epsilon": f32(1e-3)}
            if affine:
                params.update(gamma=N.real(3), beta=N.real(3))
            yield Case("batch_norm", {"x": N.real(*shape)}, params)
    for shape in ((2, 3, 4), (2, 3, 4, 5)):
        for affine in (False, True):
            yield Case("instance_norm", {"x": N.real(*shape)}, {"epsilon": f32(1e-3), **({"gamma": N.real(3), "beta": N.real(3)} if affine else {})})
    for axes, shape in (((-1,), (4,)), ((1, 2), (3, 4)), ((-2, -1), (3, 4)), ((1,), (3,)), ((0, 1, 2), (2, 3, 4))):
        for affine in (False, True):
            yield Case("layer_norm", {"x": N.real(2, 3, 4)}, {"axes": i32(*axes), "epsilon": f32(1e-3), **({"gamma": N.real(*shape), "beta": N.real(*shape)} if affine else {})})
    yield Case("l2_norm", {"x": N.real(2, 3, 4, 2)}, {"epsilon": f32(1e-3)})
    for size in (3, 5):
        yield Case("local_response_norm", {"x": N.real(1, 6, 3, 3)}, {"size": size, "alpha": f32(0.5), "beta": f32(0.75), "k": f32(2)})


def images() -> Iterator[Case]:
    x = (1, 2, 4, 5)
    for h, w in ((2, 3), (1, 2)):
        yield Case("upsample_nearest_neighbor", {"x": N.real(*x)}, {"scale_factor_height": h, "scale_factor_width": w})
        for align in (False, True):
            yield Case("upsample_bilinear", {"x": N.real(*x)}, {"scale_factor_height": h, "scale_factor_width": w, "align_corners": align})
    yield Case("upsample_bilinear", {"x": N.real(*x)}, {"scale_factor_height": f32(1.6), "scale_factor_width": f32(0.5), "align_corners": False})
    yield Case("upsample_bilinear", {"x": N.real(*x)}, {"scale_factor_height": 2, "scale_factor_width": 3, "align_corners": False, "half_pixel_centers": False}, "iOS16")
    modes = ("DEFAULT", "STRICT_ALIGN_CORNERS", "ALIGN_CORNERS", "UNALIGN_CORNERS", "OFFSET_CORNERS")
    for h, w in ((8, 10), (3, 7), (1, 4), (1, 1)):
        yield Case("resize_nearest_neighbor", {"x": N.real(*x)}, {"target_size_height": h, "target_size_width": w})
        for mode in modes:
            yield Case("resize_bilinear", {"x": N.real(*x)}, {"target_size_height": h, "target_size_width": w, "sampling_mode": mode})
            yield Case("resize", {"x": N.real(*x)}, {"shape": i32(1, h, w), "resized_dims": np.uint32(2), "interpolation_mode": "LINEAR", "sampling_mode": mode}, "iOS17")
    for mode in modes:
        boxes = f32([[0.5, 0.25, 2.5, 3.75], [1, 1, 3, 2]])
        size = {"target_height": 3, "target_width": 2, "sampling_mode": mode}
        yield Case("crop_resize", {"x": N.real(*x), "roi": boxes.reshape(2, 1, 4, 1, 1)}, size, "iOS15", "iOS16")
        yield Case("crop_resize", {"x": N.real(2, 2, 4, 5), "boxes": boxes}, {"box_indices": i32(1, 0), **size}, "iOS17")
    for padding, coordinates, sampling, align in itertools.product(("constant", "border", "reflection", "symmetric"), ("unnormalized", "normalized_minus_one_to_one", "normalized_zero_to_one"),
                                                                   ("bilinear", "nearest"), (False, True)):
        at = {"unnormalized": (-1.6, 5.3), "normalized_minus_one_to_one": (-1.4, 1.4), "normalized_zero_to_one": (-0.2, 1.2)}[coordinates]
        yield Case("resample", {"x": N.real(*x), "coordinates": N.real(1, 3, 4, 2, low=at[0], high=at[1])},
                   {"sampling_mode": sampling, "padding_mode": padding, "padding_value": f32(0.5), "coordinates_mode": coordinates, "align_corners": align})
    yield Case("affine", {"x": N.real(2, 2, 4, 5), "transform_matrix": f32([[0.8, 0.1, 0.1, -0.2, 0.9, 0.05]])},
               {"output_height": 3, "output_width": 6, "sampling_mode": "bilinear", "padding_mode": "constant", "padding_value": f32(0), "coordinates_mode": "normalized_minus_one_to_one", "align_corners": True})


def recurrent() -> Iterator[Case]:
    for options in grid(direction=("forward", "reverse", "bidirectional"), output_sequence=(False, True), bias=(False, True), activation=("tanh", "relu")):
        h, d = 3, 2 if options["direction"] == "bidirectional" else 1
        params = {"weight_ih": N.real(4 * h, 4), "weight_hh": N.real(4 * h, h), "direction": options["direction"], "output_sequence": options["output_sequence"], "activation": options["activation"]}
        if d == 2:
            params.update(weight_ih_back=N.real(4 * h, 4), weight_hh_back=N.real(4 * h, h))
        if options["bias"]:
            params["bias"] = N.real(4 * h)
            if d == 2:
                params["bias_back"] = N.real(4 * h)
        yield Case("lstm", {"x": N.real(5, 2, 4), "initial_h": N.real(2, d * h), "initial_c": N.real(2, d * h)}, params)
    for options in grid(direction=("forward", "reverse"), output_sequence=(False, True), bias=(False, True), reset_after=(False, True)):
        params = {"weight_ih": N.real(9, 4), "weight_hh": N.real(9, 3), "direction": options["direction"], "output_sequence": options["output_sequence"]}
        if options["bias"]:
            params["bias"] = N.real(9)
        if options["reset_after"]:
            params.update(reset_after=True, input_bias=N.real(9))
        yield Case("gru", {"x": N.real(5, 2, 4), "initial_h": N.real(2, 3)}, params, "iOS18" if options["reset_after"] else "iOS15")
    for options in grid(direction=("forward", "reverse"), output_sequence=(False, True), activation=("tanh", "relu", "sigmoid", "linear")):
        yield Case("rnn", {"x": N.real(5, 2, 4), "initial_h": N.real(2, 3)}, {"weight_ih": N.real(3, 4), "weight_hh": N.real(3, 3), "bias": N.real(3), **options})


def quantized() -> Iterator[Case]:
    for zero, dtype in ((None, "int8"), (np.int8(3), "int8"), (np.uint8(128), "uint8")):
        params = {"scale": f32(0.05), "output_dtype": dtype, **({} if zero is None else {"zero_point": zero})}
        yield Case("quantize", {"input": N.real(2, 3, 4, low=-9, high=9)}, params, "iOS17")
    yield Case("quantize", {"input": N.real(2, 3, 4)}, {"scale": f32([0.05, 0.1, 0.02]), "axis": 1, "output_dtype": "int8"}, "iOS17")


def all_cases() -> list[Case]:
    families = (elementwise, binary, reductions, shapes, slices, gathers, blocks, linear, windows, norms, images, recurrent, quantized)
    return [case for family in families for case in family()]
