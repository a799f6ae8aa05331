#!/usr/bin/env python3
"""Records what PyTorch computes for single operators, for operators_test.cpp.

usage: gen_operators.py OUTPUT.json      (needs torch; 2.13 wrote the committed file)
"""

import json
import sys

import torch

CASES = []
SCALAR_TYPE = {torch.uint8: 0, torch.int8: 1, torch.int16: 2, torch.int32: 3, torch.int64: 4, torch.float16: 5,
               torch.float32: 6, torch.float64: 7, torch.bool: 11}


def number(value):
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return str(value)
    return float(f"{value:.8g}") if isinstance(value, float) else value


class Known:
    """A tensor that is a constant of the model, as trained parameters are."""

    def __init__(self, tensor):
        self.tensor = tensor


def encode(value):
    if isinstance(value, Known):
        return {**encode(value.tensor), "known": True}
    if isinstance(value, torch.Tensor):
        return {"t": SCALAR_TYPE[value.dtype], "s": list(value.shape), "v": [number(v) for v in value.flatten().tolist()]}
    if isinstance(value, torch.dtype):
        return SCALAR_TYPE[value]
    if isinstance(value, (list, tuple)):
        return [encode(v) for v in value]
    return number(value)


def case(name, *args, **kwargs):
    """Records one call; its tensors must be exact in eight digits."""
    space, _, rest = name.partition("::")
    base, _, overload = rest.partition(".")
    op = getattr(getattr(getattr(torch.ops, space), base), overload or "default")
    result = op(*[a.tensor if isinstance(a, Known) else a for a in args], **kwargs)
    results = list(result) if isinstance(result, (list, tuple)) and not isinstance(result, torch.Size) else [result]
    CASES.append({"op": name, "args": encode(args), "kwargs": {k: encode(v) for k, v in kwargs.items()},
                  "results": encode(results)})


def rnd(*shape, low=-2.0, high=2.0):
    return (torch.rand(*shape) * (high - low) + low).mul(64).round().div(64)


torch.manual_seed(5)
x = rnd(2, 3, 4)
y = rnd(3, 4)
p = rnd(2, 3, low=0.25, high=2.0)
i = torch.tensor([[3, -5, 7], [0, 2, -9]])
j = torch.tensor([[2, 3, -2], [4, -3, 2]])
b = torch.tensor([[True, False, True], [False, False, True]])
m = rnd(2, 3)
img = rnd(1, 2, 5, 6)

for op in ("relu", "relu6", "silu", "mish", "sigmoid", "tanh", "hardsigmoid", "hardswish", "selu", "softplus", "hardtanh",
           "elu", "leaky_relu", "log_sigmoid", "hardshrink", "softshrink", "celu", "abs", "neg", "exp", "expm1", "exp2",
           "floor", "ceil", "round", "trunc", "frac", "sign", "sin", "cos", "tan", "atan", "sinh", "cosh", "asinh", "erf",
           "erfc", "square", "sinc", "deg2rad", "rad2deg", "isnan", "isinf", "isfinite", "logical_not", "gelu"):
    case(f"aten::{op}", m)
for op in ("log", "log1p", "log2", "log10", "sqrt", "rsqrt", "reciprocal", "acosh"):
    case(f"aten::{op}", p + 1)
for op in ("asin", "acos", "atanh"):
    case(f"aten::{op}", m / 4)
case("aten::gelu", m, approximate="tanh")
case("aten::elu", m, 0.5)
case("aten::hardtanh", m, 0.0, 1.5)
case("aten::leaky_relu", m, 0.2)
case("aten::threshold", m, 0.5, -1.0)
case("aten::glu", rnd(2, 4), 1)
case("aten::prelu", img, torch.tensor([0.25, 0.5]))
case("aten::softplus", m, 2.0, 20.0)
case("aten::logit", p / 4)
case("aten::softmax.int", x, 1)
case("aten::_softmax", x, -1, False)
case("aten::log_softmax.int", x, 2)
case("aten::_log_softmax", x, 0, False)
case("aten::bitwise_not", i)
case("aten::bitwise_not", b)
case("aten::sqrt", torch.tensor([1, 4, 9]))
case("aten::round.decimals", m, decimals=1)
case("aten::nan_to_num", torch.tensor([1.0, float("nan"), float("inf"), -float("inf")]), 0.5, 9.0, -9.0)

for op in ("add.Tensor", "sub.Tensor", "mul.Tensor", "div.Tensor", "maximum", "minimum", "atan2", "eq.Tensor", "ne.Tensor",
           "lt.Tensor", "le.Tensor", "gt.Tensor", "ge.Tensor", "hypot", "copysign.Tensor", "fmod.Tensor", "remainder.Tensor"):
    case(f"aten::{op}", x, y + 3)
for op in ("add.Tensor", "mul.Tensor", "div.Tensor", "floor_divide", "remainder.Tensor", "fmod.Tensor", "bitwise_and.Tensor",
           "bitwise_or.Tensor", "bitwise_xor.Tensor", "logical_and", "logical_or", "logical_xor"):
    case(f"aten::{op}", i, j)
case("aten::div.Tensor_mode", i, j, rounding_mode="trunc")
case("aten::div.Tensor_mode", i, j, rounding_mode="floor")
case("aten::div.Tensor_mode", m, p, rounding_mode="trunc")
case("aten::add.Tensor", i, 2)
case("aten::add.Tensor", i, 1.5)
case("aten::add.Tensor", i.int(), torch.tensor(1.5, dtype=torch.float64))
case("aten::add.Tensor", i.int(), torch.tensor(7))
case("aten::add.Tensor", i.to(torch.uint8), j.to(torch.int8))
case("aten::add.Tensor", b, b)
case("aten::mul.Tensor", b, b)
case("aten::mul.Tensor", b, i)
case("aten::mul.Tensor", m, i)
case("aten::add.Tensor", m, m, alpha=2)
case("aten::sub.Tensor", i, j, alpha=3)
case("aten::rsub.Scalar", m, 1.0)
case("aten::gt.Scalar", i, 1.5)
case("aten::pow.Tensor_Scalar", p, 3)
case("aten::pow.Tensor_Scalar", p, 0.5)
case("aten::pow.Tensor_Tensor", p, p)
case("aten::pow.Scalar", 2.0, m)
case("aten::xlogy.Tensor", torch.tensor([0.0, 1.0, 2.0]), torch.tensor([0.0, 2.0, 3.0]))
case("aten::bitwise_left_shift.Tensor_Scalar", i, 2)
case("aten::bitwise_right_shift.Tensor_Scalar", i, 1)
case("aten::clamp", m, -0.5, 0.75)
case("aten::clamp", i, None, 2)
case("aten::clamp.Tensor", m, p - 1, p)
case("aten::clamp_min", m, 0.25)
case("aten::clamp_max", m, 0.25)
case("aten::where.self", b, m, i)
case("aten::masked_fill.Scalar", m, b, -9.0)
case("aten::lerp.Scalar", m, p, 0.25)
case("aten::addcmul", m, m, p, value=0.5)
case("aten::addcdiv", m, m, p, value=2)

case("aten::sum", i.int())
case("aten::sum", b)
case("aten::sum.dim_IntList", x, [0, -1], True)
case("aten::mean", x)
case("aten::mean.dim", x, [1])
case("aten::prod.dim_int", m, 1)
case("aten::amax", x, [0, 2])
case("aten::amin", x, [1], True)
case("aten::max", x)
case("aten::max.dim", x, 1)
case("aten::min.dim", x, 2, True)
case("aten::argmax", x)
case("aten::argmax", x, 1, True)
case("aten::argmin", x, 0)
case("aten::all.dim", b, 1)
case("aten::any.dim", b, 0)
case("aten::any", b)
case("aten::var.correction", x, [1], correction=1)
case("aten::var.dim", x, [0, 2], False, True)
case("aten::std.correction", x, [2], correction=0, keepdim=True)
case("aten::var_mean.correction", x, [1], correction=1)
case("aten::std_mean.correction", x, [0], correction=1)
case("aten::linalg_vector_norm", x, 2, [1])
case("aten::linalg_vector_norm", x, 3.0, [2], True)
case("aten::linalg_vector_norm", x, float("inf"))
case("aten::norm.ScalarOpt_dim", x, 1, [0], False)
case("aten::logsumexp", x, [1])
case("aten::count_nonzero", i, 1)
case("aten::cumsum", x, 1)
case("aten::cumsum", b, 0)
case("aten::cumprod", m, 1)

case("aten::linear", x, y, rnd(3))
case("aten::matmul", x, rnd(4, 2))
case("aten::matmul", rnd(4), rnd(4))
case("aten::mm", m, y)
case("aten::bmm", x, rnd(2, 4, 3))
case("aten::mv", m, rnd(3))
case("aten::addmm", rnd(4), m, y)
case("aten::addmm", rnd(2, 4), m, y, beta=0.5, alpha=2)
case("aten::baddbmm", rnd(2, 3, 2), x, rnd(2, 4, 2))
case("aten::outer", rnd(3), rnd(2))
case("aten::einsum", "bij, jk -> bik", [x, rnd(4, 2)])
case("aten::bilinear", m, rnd(2, 4), rnd(2, 3, 4), rnd(2))
case("aten::cdist", m, rnd(4, 3))
case("aten::tensordot", x, rnd(4, 3, 2), [1, 2], [1, 0])

w = rnd(4, 2, 3, 3)
case("aten::conv2d", img, w, rnd(4), [2, 1], [1, 0], [1, 2])
case("aten::conv2d.padding", img, rnd(4, 1, 2, 3), None, [1, 1], "same", [1, 1], 2)
case("aten::conv1d", rnd(2, 3, 7), rnd(2, 3, 3), None, [2], [1])
case("aten::conv1d", rnd(3, 7), rnd(2, 3, 3))
case("aten::conv3d", rnd(1, 1, 3, 4, 4), rnd(2, 1, 2, 2, 2))
case("aten::conv_transpose2d.input", img, rnd(2, 3, 3, 2), rnd(3), [2, 2], [1, 0], [1, 1])
case("aten::convolution", img, w, None, [1, 1], [1, 1], [1, 1], False, [0, 0], 1)
case("aten::convolution", img, rnd(2, 1, 2, 2), None, [2, 2], [0, 0], [1, 1], True, [0, 0], 2)

case("aten::max_pool2d", img, [2, 2])
case("aten::max_pool2d", img, [3, 3], [2, 2], [1, 1], [1, 1], True)
case("aten::max_pool2d_with_indices", img, [2, 3], [2, 2], [1, 1])
case("aten::max_pool1d", rnd(2, 3, 7), [3], [2])
case("aten::avg_pool2d", img, [3, 3], [2, 2], [1, 1], False, False)
case("aten::avg_pool2d", img, [2, 2], [2, 2], [1, 1], False, True)
case("aten::avg_pool2d", img, [2, 2], [2, 2], [0, 0], False, True, 3)
case("aten::avg_pool2d", img, [2, 2], [2, 2], [0, 0], True, True)
case("aten::avg_pool1d", rnd(2, 3, 7), [2])
case("aten::adaptive_avg_pool2d", img, [1, 1])
case("aten::adaptive_avg_pool2d", img, [2, 4])
case("aten::_adaptive_avg_pool2d", img, [3, 3])
case("aten::adaptive_avg_pool1d", rnd(2, 3, 6), [3])
case("aten::adaptive_max_pool2d", rnd(1, 2, 4, 6), [2, 3])

case("aten::batch_norm", img, rnd(2), rnd(2), rnd(2), torch.tensor([0.5, 1.5]), False, 0.1, 1e-5, False)
case("aten::batch_norm", img, None, None, None, None, True, 0.1, 1e-5, False)
case("aten::layer_norm", x, [4], rnd(4), rnd(4))
case("aten::layer_norm", x, [3, 4])
case("aten::group_norm", rnd(2, 4, 3), 2, rnd(4), rnd(4))
case("aten::instance_norm", img, rnd(2), rnd(2), None, None, True, 0.1, 1e-5, False)
case("aten::rms_norm", x, [4], rnd(4), 1e-6)
case("aten::_weight_norm", rnd(3, 4), rnd(3, 1), 0)
case("aten::cosine_similarity", x, rnd(2, 3, 4), 1)

case("aten::view", x, [4, -1])
case("aten::reshape", x, [2, 12])
case("aten::flatten.using_ints", x, 1)
case("aten::unflatten.int", x, 2, [2, -1])
case("aten::squeeze", rnd(1, 3, 1))
case("aten::squeeze.dim", rnd(1, 3, 1), 2)
case("aten::squeeze.dims", rnd(1, 3, 1), [0, 1])
case("aten::unsqueeze", m, -1)
case("aten::expand", rnd(1, 3), [2, 4, -1])
case("aten::permute", x, [2, 0, 1])
case("aten::transpose.int", x, 0, -1)
case("aten::t", m)
case("aten::movedim.int", x, 0, 2)
case("aten::cat", [m, i], 0)
case("aten::cat", [torch.zeros(0), m], 1)
case("aten::stack", [m, p], 1)
case("aten::split.Tensor", x, 3, 2)
case("aten::split_with_sizes", x, [1, 3], 2)
case("aten::chunk", x, 3, 2)
case("aten::tensor_split.sections", x, 3, 2)
case("aten::unbind.int", x, 1)
case("aten::roll", x, [1, -1], [0, 2])
case("aten::roll", m, [2])
case("aten::flip", x, [0, 2])
case("aten::rot90", m, 1, [0, 1])
case("aten::repeat", m, [2, 1, 2])
case("aten::tile", m, [2])
case("aten::repeat_interleave.self_int", m, 2, 1)
case("aten::constant_pad_nd", m, [1, 2, -1, 0], 0.5)
case("aten::pad", img, [1, 2, 1, 0], "reflect")
case("aten::pad", img, [1, 1, 2, 2], "replicate")
case("aten::pad", img, [1, 1, 2, 2], "circular")
case("aten::tril", m, -1)
case("aten::triu", x, 1)
case("aten::unfold", x, 2, 2, 1)
case("aten::meshgrid.indexing", [rnd(2), rnd(3)], indexing="xy")
case("aten::meshgrid", [rnd(2), rnd(3)])
case("aten::as_strided", m, [2, 2], [1, 2], 1)

case("aten::slice.Tensor", x, 2, 1, 9223372036854775807, 2)
case("aten::slice.Tensor", x, 1, -2, None)
case("aten::select.int", x, 1, -1)
case("aten::narrow", x, 2, 1, 2)
ix = torch.tensor([1, 0, -1])
case("aten::index.Tensor", x, [None, ix])
case("aten::index.Tensor", x, [None, ix, torch.tensor([0, 3, 1])])
case("aten::index.Tensor", x, [torch.tensor([0, 1, 1]), None, ix])
case("aten::index.Tensor", x, [None, torch.tensor([[0], [2]]), torch.tensor([1, 3])])
case("aten::index.Tensor", m, [b])
case("aten::index_select", x, 2, torch.tensor([3, 0]))
case("aten::gather", m, 1, torch.tensor([[2, 0], [1, 1]]))
case("aten::take_along_dim", m, torch.tensor([[2, 0, 1]]), 1)
case("aten::embedding", y, torch.tensor([[2, 0], [1, 1]]))
case("aten::one_hot", torch.tensor([0, 2, 1]), 3)
case("aten::bucketize.Tensor", m, torch.tensor([-1.0, 0.0, 1.0]))
case("aten::nonzero", b)
case("aten::masked_select", m, b)
case("aten::diagonal", m, 1)
case("aten::diag_embed", m, 1)
case("aten::diag_embed", m, -1)
case("aten::index_put", m, [torch.tensor([1, 0]), torch.tensor([2, 1])], torch.tensor([7.0, 8.0]))
case("aten::index_put", m, [torch.tensor([1, 1])], rnd(2, 3), True)
case("aten::index_put", x, [None, torch.tensor([2, 0])], rnd(2, 2, 4))
case("aten::index_put", m, [b], torch.tensor(5.0))
case("aten::scatter.src", m, 1, torch.tensor([[2, 0, 1]]), rnd(2, 3))
case("aten::scatter.value", m, 1, torch.tensor([[2], [0]]), 9.0)
case("aten::scatter_add", m, 0, torch.tensor([[1, 0, 1]]), rnd(2, 3))
case("aten::index_add", m, 1, torch.tensor([0, 2]), rnd(2, 2), alpha=2)
case("aten::slice_scatter", x, rnd(2, 3, 2), 2, 1, 3)
case("aten::slice_scatter", x, rnd(2, 3, 2), 2, 0, 4, 2)
case("aten::select_scatter", x, rnd(2, 4), 1, -1)
case("aten::masked_scatter", m, b, rnd(3))
case("aten::copy", m, torch.tensor([1, 2, 3]))
case("aten::fill.Scalar", m, 3)

case("aten::topk", x, 2, 2)
case("aten::topk", x, 2, 1, False)
case("aten::sort", x, 1, True)
case("aten::argsort", m, 1)
case("aten::kthvalue", x, 2, 2)
case("aten::median.dim", x, 2)

case("aten::full", [2, 3], 7)
case("aten::zeros_like", i)
case("aten::full_like", m, 2.5)
case("aten::new_zeros", i, [2])
case("aten::arange", 5)
case("aten::arange.start_step", 1, 2, 0.25)
case("aten::linspace", -1, 1, 5)
case("aten::eye.m", 2, 3)
case("aten::scalar_tensor", 3)
case("aten::_to_copy", m, dtype=torch.int64)
case("aten::_to_copy", m, dtype=torch.bool)
case("aten::hann_window", 6)
case("aten::size", x)
case("aten::numel", x)

case("aten::upsample_nearest2d", img, [7, 9])
case("aten::upsample_nearest2d.vec", img, None, [2.0, 1.5])
case("aten::_upsample_nearest_exact2d", img, [7, 9])
case("aten::upsample_bilinear2d", img, [7, 9], False)
case("aten::upsample_bilinear2d.vec", img, None, True, [2.0, 2.0])
case("aten::upsample_bilinear2d.vec", img, None, False, [1.7, 2.0])
case("aten::upsample_bicubic2d", img, [7, 4], False)
case("aten::upsample_linear1d", rnd(1, 2, 5), [9], True)
case("aten::_upsample_bilinear2d_aa", img, [3, 2], False)
case("aten::_upsample_bicubic2d_aa", img, [3, 3], False)
grid = rnd(1, 3, 2, 2, low=-1.2, high=1.2)
case("aten::grid_sampler", img, grid, 0, 0, False)
case("aten::grid_sampler", img, grid, 1, 1, True)
case("aten::grid_sampler_2d", img, grid, 2, 2, False)
case("aten::affine_grid_generator", rnd(1, 2, 3), [1, 2, 3, 4], False)
case("aten::pixel_shuffle", rnd(1, 8, 2, 3), 2)
case("aten::pixel_unshuffle", rnd(1, 2, 4, 6), 2)
case("aten::channel_shuffle", rnd(1, 6, 2, 2), 3)
case("aten::im2col", img, [2, 3], [1, 2], [1, 0], [2, 1])
case("aten::col2im", rnd(1, 8, 12), [4, 5], [2, 2], [1, 1], [0, 0], [1, 1])

q, k, v = rnd(1, 2, 3, 4), rnd(1, 2, 5, 4), rnd(1, 2, 5, 4)
case("aten::scaled_dot_product_attention", q, k, v)
case("aten::scaled_dot_product_attention", q, k, v, rnd(3, 5) > 0.9, scale=0.4)
case("aten::scaled_dot_product_attention", q, k, v, rnd(1, 1, 3, 5))
case("aten::scaled_dot_product_attention", q, q, q, is_causal=True)
case("aten::scaled_dot_product_attention", rnd(2, 3, 4), rnd(2, 5, 4), rnd(2, 5, 4))
case("aten::lstm.input", rnd(4, 2, 3), [rnd(1, 2, 2), rnd(1, 2, 2)], [rnd(8, 3), rnd(8, 2), rnd(8), rnd(8)], True, 1, 0.0,
     False, False, False)
case("aten::gru.input", rnd(2, 4, 3), rnd(2, 2, 2), [rnd(6, 3), rnd(6, 2), rnd(6), rnd(6), rnd(6, 3), rnd(6, 2), rnd(6), rnd(6)],
     True, 1, 0.0, False, True, True)
case("aten::rnn_relu.input", rnd(4, 2, 3), rnd(1, 2, 2), [rnd(2, 3), rnd(2, 2)], False, 1, 0.0, False, False, False)
case("aten::lstm_cell", rnd(2, 3), [rnd(2, 2), rnd(2, 2)], rnd(8, 3), rnd(8, 2), rnd(8), rnd(8))
case("aten::gru_cell", rnd(2, 3), rnd(2, 2), rnd(6, 3), rnd(6, 2), rnd(6), rnd(6))
case("aten::rnn_tanh_cell", rnd(2, 3), rnd(2, 2), rnd(2, 3), rnd(2, 2))

case("aten::mse_loss", m, p)
case("aten::smooth_l1_loss", m, p, 2, 0.5)
case("aten::cross_entropy_loss", m, torch.tensor([2, 0]))
case("aten::nll_loss", m, torch.tensor([2, 0]))
case("aten::fake_quantize_per_tensor_affine", m, 0.125, 3, 0, 255)
case("aten::fake_quantize_per_tensor_affine", m, 0.125, 3, 0, 15)
case("aten::fake_quantize_per_channel_affine", m, Known(torch.tensor([0.125, 0.25])),
     Known(torch.tensor([1, -2], dtype=torch.int32)), 0, -128, 127)

# Hidden states that are projections (proj_size).
case("aten::lstm.input", rnd(3, 2, 3), [rnd(1, 2, 2), rnd(1, 2, 4)], [rnd(16, 3), rnd(16, 2), rnd(16), rnd(16), rnd(2, 4)], True,
     1, 0.0, False, False, False)
case("aten::lstm.input", rnd(2, 3, 3), [rnd(2, 2, 2), rnd(2, 2, 4)],
     [rnd(16, 3), rnd(16, 2), rnd(2, 4), rnd(16, 3), rnd(16, 2), rnd(2, 4)], False, 1, 0.0, False, True, True)

if __name__ == "__main__":
    with open(sys.argv[1], "w") as out:
        out.write("[\n" + ",\n".join(json.dumps(c, separators=(",", ":")) for c in CASES) + "\n]\n")
    print(len(CASES), "cases")
