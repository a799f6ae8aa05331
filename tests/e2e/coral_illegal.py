"""Models with one thing that the Edge TPU does not run: (name, model, operator that stays, words of the reason, options)."""

from __future__ import annotations

from coral_models import graph

I8, U8 = "i8[1,8,8,4] q(0.5:0)", "u8[1,8,8,4] q(0.5:128)"


def unary(name: str, op: str, result: str = I8, attributes: str = "") -> str:
    return graph(f"%x: {I8}", "y = %y", f"%y = {op}(%x){attributes} : {result}")


def float_unary(op: str, attributes: str = "") -> str:
    return graph("%x: f32[1,8,8,4]", "y = %y", f"%y = {op}(%x){attributes}")


def integers(*lines: str, given: str = f"%x: {I8}") -> str:
    return graph(given, "y = %y", *lines)


def weights(shape: str) -> str:
    return f"%w = const i8[{shape}] q(0.01:0) splat(1)"


MISSING = "the Edge TPU has no"
TYPE = "computes on int8 and uint8"
OLD = ["--edgetpu-runtime", "12"]

CASES: list[tuple[str, str, str, str, list[str]]] = [
    # operators that the device does not have
    *[(f"float_{op}", float_unary(op), kind, MISSING, []) for op, kind in [
        ("abs", "ABS"), ("neg", "NEG"), ("exp", "EXP"), ("log", "LOG"), ("sqrt", "SQRT"), ("floor", "FLOOR"), ("ceil", "CEIL"),
        ("round", "ROUND"), ("sin", "SIN"), ("cos", "COS"), ("sign", "SIGN"), ("hard_swish", "HARD_SWISH"), ("gelu", "GELU")]],
    ("elu", float_unary("elu", " {alpha=1}"), "ELU", MISSING, []),
    ("leaky_relu", unary("leaky", "leaky_relu", attributes=" {alpha=0.1}"), "LEAKY_RELU", MISSING, []),
    ("hard_swish", unary("swish", "hard_swish"), "HARD_SWISH", MISSING, []),
    ("integer_abs", unary("abs", "abs"), "ABS", MISSING, []),
    ("arg_max", graph(f"%x: {I8}", "y = %y", "%y = arg_max(%x) {axis=3, keep_dims=false}"), "ARG_MAX", MISSING, []),
    ("dequantize", graph(f"%x: {I8}", "y = %y", "%y = dequantize(%x)"), "DEQUANTIZE", MISSING, []),
    ("cast", graph("%x: f32[4]", "y = %y", "%y = cast(%x) {to=i32}"), "CAST", MISSING, []),
    ("gather", integers("%i = const i64[2] dense[1,0]", "%y = gather(%x, %i) {axis=3} : i8[1,8,8,2] q(0.5:0)"), "GATHER", MISSING, []),
    ("depth_to_space", unary("d2s", "depth_to_space", "i8[1,16,16,1] q(0.5:0)", " {block=2, layout=nhwc}"), "DEPTH_TO_SPACE", MISSING, []),
    ("mirror_pad", integers("%p = const i64[8] dense[0,1,1,0,0,1,1,0]", "%y = pad(%x, %p) {mode=reflect} : i8[1,10,10,4] q(0.5:0)"),
     "MIRROR_PAD", MISSING, []),
    ("uneven_split", graph(f"%x: {I8}", "y = %y, z = %z", "%s = const i64[2] dense[1,3]",
                           "%y, %z = split(%x, %s) {axis=3} : i8[1,8,8,1] q(0.5:0), i8[1,8,8,3] q(0.5:0)"), "SPLIT_V", MISSING, []),
    ("broadcast", integers("%s = const i64[4] dense[1,8,8,4]", "%y = expand(%x, %s) : i8[1,8,8,4] q(0.5:0)",
                           given="%x: i8[1,1,1,4] q(0.5:0)"), "BROADCAST_TO", MISSING, []),
    ("custom", integers('%y = custom(%x) {code="MyOp"} : i8[4] q(0.5:0)', given="%x: i8[4] q(0.5:0)"), "MyOp", MISSING, []),
    ("product_of_two", graph("%x: f32[1,4,8], %z: f32[1,8,4]", "y = %y", "%y = matmul(%x, %z)"), "BATCH_MATMUL", MISSING, []),
    ("selection", graph("%c: bool[4], %x: f32[4], %z: f32[4]", "y = %y", "%y = where(%c, %x, %z)"), "SELECT_V2", MISSING, []),
    ("comparison", graph("%x: f32[4], %z: f32[4]", "y = %y", "%y = greater(%x, %z)"), "GREATER", MISSING, []),
    ("power", graph("%x: f32[4], %z: f32[4]", "y = %y", "%y = pow(%x, %z)"), "POW", MISSING, []),
    ("division", graph("%x: f32[4], %z: f32[4]", "y = %y", "%y = div(%x, %z)"), "DIV", MISSING, []),
    ("product_of_elements", graph("%x: f32[4]", "y = %y", "%a = const i64[1] dense[0]", "%y = reduce_prod(%x, %a)"),
     "REDUCE_PROD", MISSING, []),
    ("log_softmax", float_unary("log_softmax", " {axis=3}"), "LOG_SOFTMAX", MISSING, []),
    # element types
    ("float_add", graph("%x: f32[4], %z: f32[4]", "y = %y", "%y = add(%x, %z)"), "ADD", TYPE, ["-q", "none"]),
    ("float_conv", graph("%x: f32[1,8,8,4]", "y = %y", "%w = const f32[4,1,1,4] splat(0.1)", "%y = conv(%x, %w) {layout=nhwc}"),
     "CONV_2D", TYPE, ["-q", "none"]),
    ("int32_add", graph("%x: i32[4], %z: i32[4]", "y = %y", "%y = add(%x, %z)"), "ADD", "int32", []),
    ("int16_add", graph("%x: i16[4] q(0.1:0), %z: i16[4] q(0.1:0)", "y = %y", "%y = add(%x, %z) : i16[4] q(0.2:0)"),
     "ADD", "int16", []),
    ("float_input", graph("%x: f32[1,8,8,4]", "y = %y", f"%y = quantize(%x) : {U8}"), "QUANTIZE", "float32", []),
    # limits of operators
    ("dilation", integers(weights("4,3,3,4"), "%y = conv(%x, %w) {layout=nhwc, dilations=[1,2]} : i8[1,6,4,4] q(0.5:0)"),
     "CONV_2D", "dilation is 1x2", []),
    ("depthwise_dilation", integers(weights("4,3,3,1"),
                                    "%y = conv(%x, %w) {layout=nhwc, groups=4, dilations=[2,1]} : i8[1,4,6,4] q(0.5:0)"),
     "DEPTHWISE_CONV_2D", "dilation is 2x1", []),
    ("old_dilation", integers(weights("4,3,3,1"),
                              "%y = conv(%x, %w) {layout=nhwc, groups=4, dilations=[2,2]} : i8[1,4,4,4] q(0.5:0)"),
     "DEPTHWISE_CONV_2D", "runtime 12 takes none", OLD),
    ("computed_filters", graph("%x: f32[1,8,8,4], %w: f32[4,1,1,4]", "y = %y", "%y = conv(%x, %w) {layout=nhwc}"),
     "CONV_2D", "computed at run time", []),
    ("rows", integers(weights("3,4"), "%y = matmul(%x, %w) {transpose_b=true} : i8[5,3] q(0.5:0)", given="%x: i8[5,4] q(0.5:0)"),
     "FULLY_CONNECTED", "5x3 is more than one row", []),
    ("constant_in_concat", integers("%c = const i8[1,8,8,1] q(0.5:0) splat(3)", "%y = concat(%x, %c) {axis=3} : i8[1,8,8,5] q(0.5:0)"),
     "CONCATENATION", "not all zero", []),
    ("three_in_concat", integers("%c = const i8[1,8,8,1] q(0.5:0) splat(0)",
                                 "%y = concat(%x, %c, %x) {axis=3} : i8[1,8,8,9] q(0.5:0)"),
     "CONCATENATION", "one of 3 inputs is constant", []),
    ("mean_of_channels", integers("%a = const i64[1] dense[3]", "%y = reduce_mean(%x, %a) : i8[1,8,8,1] q(0.5:0)",
                                  given="%x: i8[1,8,8,6] q(0.5:0)"), "MEAN", "6 channels", []),
    ("old_mean_of_channels", integers("%a = const i64[1] dense[3]", "%y = reduce_mean(%x, %a) : i8[1,8,8,1] q(0.5:0)"),
     "MEAN", "runtime 12", OLD),
    ("mean_of_batch", integers("%a = const i64[1] dense[0]", "%y = reduce_mean(%x, %a) : i8[1,8,8,4] q(0.5:0)"), "MEAN", "batch", []),
    ("sum_of_batch", integers("%a = const i64[1] dense[0]", "%y = reduce_sum(%x, %a) : i8[1,8,8,4] q(0.5:0)"), "SUM", "batch", []),
    ("max_of_batch", integers("%a = const i64[1] dense[0]", "%y = reduce_max(%x, %a) : i8[1,8,8,4] q(0.5:0)"), "REDUCE_MAX", "batch", []),
    ("min_of_batch", integers("%a = const i64[1] dense[0]", "%y = reduce_min(%x, %a) : i8[1,8,8,4] q(0.5:0)"), "REDUCE_MIN", "batch", []),
    ("old_pad", integers("%p = const i64[8] dense[0,0,0,1,0,0,0,1]", "%y = pad(%x, %p) : i8[1,8,8,6] q(0.5:0)"), "PAD", "runtime 12", OLD),
    ("slopes", integers("%s = const i8[8,8,4] q(0.01:0) splat(9)", "%y = prelu(%x, %s) : i8[1,8,8,4] q(0.5:0)"), "PRELU", "8x8x4", []),
    ("large_bilinear", integers("%s = const i64[4] dense[1,64,64,4]",
                                "%y = resize(%x, _, _, %s) {mode=linear, coordinates=half_pixel} : i8[1,64,64,4] q(0.5:0)"),
     "RESIZE_BILINEAR", "8x8 to 64x64", []),
    ("large_nearest", integers("%s = const i64[4] dense[1,64,64,4]",
                               "%y = resize(%x, _, _, %s) {mode=nearest, coordinates=asymmetric, nearest=floor} : i8[1,64,64,4] q(0.5:0)"),
     "RESIZE_NEAREST_NEIGHBOR", "8x8 to 64x64", []),
    ("softmax_rows", integers("%y = softmax(%x) {axis=1} : i8[3,10] q(0.00390625:-128)", given="%x: i8[3,10] q(0.5:0)"),
     "SOFTMAX", "3x10 has more than one row", []),
    ("long_softmax", integers("%y = softmax(%x) {axis=1} : i8[1,20000] q(0.00390625:-128)", given="%x: i8[1,20000] q(0.5:0)"),
     "SOFTMAX", "20000 elements", []),
    ("published_softmax", integers("%y = softmax(%x) {axis=1} : i8[1,16384] q(0.00390625:-128)", given="%x: i8[1,16384] q(0.5:0)"),
     "SOFTMAX", "16384 elements", ["--edgetpu-rules", "published"]),
    ("published_tile", integers("%r = const i64[4] dense[1,2,2,1]", "%y = tile(%x, %r) : i8[1,16,16,4] q(0.5:0)"),
     "TILE", MISSING, ["--edgetpu-rules", "published"]),
    ("strides", integers("%b = const i64[1] dense[0]", "%e = const i64[1] dense[8]", "%a = const i64[1] dense[1]",
                         "%s = const i64[1] dense[2]", "%y = slice(%x, %b, %e, %a, %s) : i8[1,4,8,4] q(0.5:0)"),
     "STRIDED_SLICE", "stride of 2", []),
    # rank
    ("batch", integers(weights("4,1,1,4"), "%y = conv(%x, %w) {layout=nhwc} : i8[2,8,8,4] q(0.5:0)", given="%x: i8[2,8,8,4] q(0.5:0)"),
     "CONV_2D", "2x8x8x4", []),
    ("five_dimensions", integers("%y = transpose(%x) {perm=[0,1,2,4,3]} : i8[1,8,8,2,3] q(0.5:0)", given="%x: i8[1,8,8,3,2] q(0.5:0)"),
     "TRANSPOSE", "1x8x8x3x2", []),
    # operators that older runtimes lack
    ("old_transpose", integers("%y = transpose(%x) {perm=[0,2,1,3]} : i8[1,8,8,4] q(0.5:0)"), "TRANSPOSE", "runtime 14", OLD),
    ("old_sum", integers("%a = const i64[1] dense[3]", "%y = reduce_sum(%x, %a) : i8[1,8,8,1] q(0.5:0)"), "SUM", "runtime 13", OLD),
    ("old_quantize", integers(f"%y = quantize(%x) : {U8}"), "QUANTIZE", "runtime 13", OLD),
    ("old_prelu", integers("%s = const i8[4] q(0.01:0) splat(9)", "%y = prelu(%x, %s) : i8[1,8,8,4] q(0.5:0)"), "PRELU", "runtime 13", OLD),
    ("old_transposed_conv", integers(weights("4,2,2,4"), "%y = conv_transpose(%x, %w) {layout=nhwc, strides=[2,2]} : i8[1,16,16,4] q(0.5:0)"),
     "TRANSPOSE_CONV", "runtime 13", OLD),
    ("old_reduce_max", integers("%a = const i64[1] dense[3]", "%y = reduce_max(%x, %a) : i8[1,8,8,1] q(0.5:0)"), "REDUCE_MAX", "runtime 14", OLD),
]
