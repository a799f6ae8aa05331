"""Small models for the target coral, as text: integers as the device takes them, and forms that it does not take."""


def graph(inputs: str, outputs: str, *lines: str) -> str:
    return f"graph @g({inputs}) -> ({outputs}) {{\n" + "".join(f"  {line}\n" for line in lines) + "}\n"


def conv(name: str, x: str, shape_in: str, shape_out: str, kernel: str, scale: str = "0.5:0", **options) -> list[str]:
    """A convolution with constant weights; shapes as "1,8,8,4"."""
    channels_in, channels_out = shape_in.split(",")[-1], shape_out.split(",")[-1]
    attributes = "".join(f", {key}={value}" for key, value in options.items())
    return [
        f"%w_{name} = const i8[{channels_out},{kernel},{channels_in}] q(0.01:0) splat(3)",
        f"%b_{name} = const i32[{channels_out}] q(0.005:0) splat(7)",
        f"%{name} = conv(%{x}, %w_{name}, %b_{name}) {{layout=nhwc{attributes}}} : i8[{shape_out}] q({scale})",
    ]


def chain(layers: int = 4) -> str:
    """Convolutions one after the other."""
    lines, last = [], "x"
    for i in range(layers):
        lines += conv(f"c{i}", last, "1,8,8,4", "1,8,8,4", "1,1", activation="relu")
        last = f"c{i}"
    return graph("%x: i8[1,8,8,4] q(0.5:0)", f"y = %{last}", *lines)


def between(*lines: str, shape: str = "1,8,8,4") -> str:
    """A convolution, then an operator that takes %c0 and gives %m of the same or another shape, then a relu."""
    before = conv("c0", "x", shape, shape, "1,1")
    return graph(f"%x: i8[{shape}] q(0.5:0)", "y = %m", *before, *lines)


def between_floats(*lines: str, shape: str = "1,8,8,4") -> str:
    channels = shape.split(",")[-1]
    weights = [f"%w = const f32[{channels},1,1,{channels}] splat(0.1)", "%c0 = conv(%x, %w) {layout=nhwc}"]
    return graph(f"%x: f32[{shape}]", "y = %m", *weights, *lines)


# name -> model of integers that maps wholly only in another form; results stay equal bit for bit
INTEGER_REWRITES = {
    "leaky_relu": between("%m = leaky_relu(%c0) {alpha=0.1} : i8[1,8,8,4] q(0.5:0)"),
    "unequal_dilation": between(
        "%w2 = const i8[4,3,3,4] q(0.01:0) splat(1)",
        "%m = conv(%c0, %w2) {layout=nhwc, dilations=[1,2]} : i8[1,6,4,4] q(0.5:0)",
    ),
    "zeros_in_concat": between(
        "%z = const i8[1,8,8,2] q(0.5:0) splat(0)",
        "%m = concat(%z, %c0, %c0) {axis=3} : i8[1,8,8,10] q(0.5:0)",
    ),
    "numbers_in_concat": between(
        "%z = const i8[1,8,8,2] q(0.5:0) splat(9)",
        "%m = concat(%c0, %z) {axis=3} : i8[1,8,8,6] q(0.5:0)",
    ),
    "mirrored_pad": between(
        "%p = const i64[8] dense[0,1,1,0,0,1,1,0]",
        "%m = pad(%c0, %p) {mode=reflect} : i8[1,10,10,4] q(0.5:0)",
    ),
    "strided_slice": between(
        "%b = const i64[2] dense[0,1]", "%e = const i64[2] dense[8,8]", "%a = const i64[2] dense[1,2]",
        "%s = const i64[2] dense[2,2]",
        "%m = slice(%c0, %b, %e, %a, %s) : i8[1,4,4,4] q(0.5:0)",
    ),
    "gather": between("%i = const i64[3] dense[2,0,1]", "%m = gather(%c0, %i) {axis=3} : i8[1,8,8,3] q(0.5:0)"),
    "depth_to_space": between("%m = depth_to_space(%c0) {block=2, layout=nhwc} : i8[1,16,16,1] q(0.5:0)"),
    "resize_from_one": between(
        "%s = const i64[4] dense[1,33,33,4]",
        "%m = resize(%c0, _, _, %s) {mode=linear, coordinates=align_corners} : i8[1,33,33,4] q(0.5:0)",
        shape="1,1,1,4",
    ),
    "large_nearest": between(
        "%s = const i64[4] dense[1,64,64,4]",
        "%m = resize(%c0, _, _, %s) {mode=nearest, coordinates=asymmetric, nearest=floor} : i8[1,64,64,4] q(0.5:0)",
    ),
    "rows_of_a_layer": between(
        "%f = const i64[2] dense[2,128]", "%r = reshape(%c0, %f) : i8[2,128] q(0.5:0)",
        "%w2 = const i8[3,128] q(0.01:0) splat(1)",
        "%m = matmul(%r, %w2) {transpose_b=true} : i8[2,3] q(0.5:0)",
    ),
    "rows_of_softmax": between(
        "%f = const i64[2] dense[2,128]", "%r = reshape(%c0, %f) : i8[2,128] q(0.5:0)",
        "%m = softmax(%r) {axis=1} : i8[2,128] q(0.00390625:-128)",
    ),
    "many_dimensions": between(
        "%f = const i64[5] dense[1,8,8,2,2]", "%r = reshape(%c0, %f) : i8[1,8,8,2,2] q(0.5:0)",
        "%t = transpose(%r) {perm=[0,1,2,4,3]} : i8[1,8,8,2,2] q(0.5:0)",
        "%g = const i64[4] dense[1,8,8,4]", "%m = reshape(%t, %g) : i8[1,8,8,4] q(0.5:0)",
    ),
    "pool_and_relu": between(
        "%q = avg_pool(%c0) {layout=nhwc, kernel=[2,2], strides=[2,2]} : i8[1,4,4,4] q(0.5:0)",
        "%m = relu(%q) : i8[1,4,4,4] q(0.5:0)",
    ),
}

# the same in front of quantisation
FLOAT_REWRITES = {
    "hard_swish": between_floats("%m = hard_swish(%c0)"),
    "abs": between_floats("%m = abs(%c0)"),
    "neg": between_floats("%m = neg(%c0)"),
    "division": between_floats("%t = tanh(%c0)", "%d = const f32[4] splat(3)", "%m = div(%t, %d)"),
    "unit_clip": between_floats("%l = const f32[] dense[0]", "%h = const f32[] dense[1]", "%m = clip(%c0, %l, %h)"),
    "mean_of_channels": between_floats("%a = const i64[1] dense[3]", "%m = reduce_mean(%c0, %a)", shape="1,8,8,6"),
    "rows_of_a_layer": between_floats(
        "%f = const i64[3] dense[1,64,4]", "%r = reshape(%c0, %f)", "%w2 = const f32[8,4] splat(0.2)",
        "%m = matmul(%r, %w2) {transpose_b=true}",
    ),
    "large_bilinear": between_floats(
        "%s = const i64[4] dense[1,57,57,4]", "%m = resize(%c0, _, _, %s) {mode=linear, coordinates=align_corners}"
    ),
}
