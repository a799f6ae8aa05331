// Patterns found again in arithmetic.
#include "passes/harness.h"

namespace ec {
namespace {

using test::expect_kinds;

struct Case {
  const char* name;
  const char* body;
  const char* expected;
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

std::string over_x(std::string_view body) {
  return "graph @g(%x: f32[2,8,4,4], %z: f32[2,8,4,4], %t: f32[N,5,8]) -> (y = %y) {\n"
         "  %half = const f32[] splat(0.5) %one = const f32[] splat(1) %two = const f32[] "
         "splat(2)\n"
         "  %three = const f32[] splat(3) %six = const f32[] splat(6) %zero = const f32[] "
         "splat(0)\n"
         "  %sixth = const f32[] splat(0.16666667) %r2 = const f32[] splat(1.4142135)\n"
         "  %ir2 = const f32[] splat(0.70710677) %k = const f32[] splat(0.044715)\n"
         "  %rp = const f32[] splat(0.7978846) %eps = const f32[] splat(1e-5)\n"
         "  %tiny = const f32[] splat(1e-12) %mhalf = const f32[] splat(-0.5)\n"
         "  %last = const i64[1] splat(-1) %c1 = const i64[1] splat(1)\n"
         "  %wg = const f32[8] splat(0) %wb = const f32[8] splat(0)\n"
         "  %wgc = const f32[8,1,1] splat(0) %wbc = const f32[8,1,1] splat(0)\n"
         "  %ones = const f32[4] splat(1) %zeros = const f32[4] splat(0)\n" +
         std::string(body) + "\n}";
}

class RecoverActivations : public ::testing::TestWithParam<Case> {};
TEST_P(RecoverActivations, Rewrites) {
  expect_kinds(over_x(GetParam().body), "recover-activations", GetParam().expected);
}
INSTANTIATE_TEST_SUITE_P(
    All, RecoverActivations,
    ::testing::Values(
        Case{"silu", "%a = sigmoid(%x) %y = mul(%a, %x)", "silu"},
        Case{"quick_gelu", "%b = mul(%x, %r2) %a = sigmoid(%b) %y = mul(%x, %a)", "silu"},
        Case{"not_silu", "%a = sigmoid(%x) %y = mul(%a, %z)", "sigmoid mul"},
        Case{"gate_read_elsewhere", "%a = sigmoid(%x) %b = mul(%a, %x) %y = add(%a, %b)",
             "sigmoid mul add"},
        Case{"softplus", "%a = exp(%x) %b = add(%one, %a) %y = log(%b)", "softplus"},
        Case{"not_softplus", "%a = exp(%x) %b = add(%two, %a) %y = log(%b)", "exp add log"},
        Case{"mish", "%a = softplus(%x) %b = tanh(%a) %y = mul(%x, %b)", "mish"},
        Case{"hard_sigmoid", "%a = add(%x, %three) %b = clip(%a, %zero, %six) %y = div(%b, %six)",
             "hard_sigmoid"},
        Case{"hard_sigmoid_unit",
             "%a = mul(%x, %sixth) %c = add(%a, %half) %y = clip(%c, %zero, %one)", "hard_sigmoid"},
        Case{"clip_alone", "%a = mul(%x, %sixth) %y = clip(%a, %zero, %one)", "mul clip"},
        Case{"hard_swish",
             "%a = add(%x, %three) %b = clip(%a, %zero, %six) %c = div(%b, %six) %y = mul(%x, %c)",
             "hard_swish"},
        Case{
            "hard_swish_order",
            "%a = add(%x, %three) %b = clip(%a, %zero, %six) %c = mul(%x, %b) %y = mul(%c, %sixth)",
            "hard_swish"},
        Case{"hard_swish_times_a_number",
             "%a = add(%x, %three) %b = clip(%a, %zero, %six) %c = mul(%x, %b) %d = div(%c, %six) "
             "%y = mul(%d, %half)",
             "hard_swish mul"},
        Case{"silu_times_a_number", "%a = sigmoid(%x) %b = mul(%a, %x) %y = mul(%b, %half)",
             "silu mul"},
        Case{"not_hard_swish",
             "%a = add(%x, %two) %b = clip(%a, %zero, %six) %c = mul(%x, %b) %y = mul(%c, %sixth)",
             "add clip mul mul"},
        Case{"gelu",
             "%a = div(%x, %r2) %b = erf(%a) %c = add(%b, %one) %d = mul(%x, %c) %y = mul(%d, "
             "%half)",
             "gelu"},
        Case{"gelu_half_first",
             "%a = mul(%x, %ir2) %b = erf(%a) %c = add(%one, %b) %d = mul(%x, %half) %y = mul(%d, "
             "%c)",
             "gelu"},
        Case{"gelu_half_inside",
             "%a = mul(%x, %ir2) %b = erf(%a) %c = mul(%b, %half) %d = add(%c, %half) %y = mul(%d, "
             "%x)",
             "gelu"},
        Case{"not_gelu",
             "%a = mul(%x, %half) %b = erf(%a) %c = add(%one, %b) %d = mul(%x, %half) %y = mul(%d, "
             "%c)",
             "mul erf add mul mul"},
        Case{"gelu_tanh",
             "%p = pow(%x, %three) %a = mul(%p, %k) %b = add(%x, %a) %c = mul(%b, %rp) %d = "
             "tanh(%c) "
             "%e = add(%d, %one) %f = mul(%x, %half) %y = mul(%f, %e)",
             "gelu"},
        Case{"gelu_tanh_squares",
             "%p = mul(%x, %x) %a = mul(%p, %k) %b = add(%a, %one) %q = mul(%x, %rp) %c = mul(%b, "
             "%q) %d = tanh(%c) %e = add(%d, %one) %f = mul(%x, %e) %y = mul(%f, %half)",
             "gelu"},
        Case{"not_gelu_tanh",
             "%p = pow(%x, %two) %a = mul(%p, %k) %b = add(%x, %a) %c = mul(%b, %rp) %d = tanh(%c) "
             "%e = add(%d, %one) %f = mul(%x, %half) %y = mul(%f, %e)",
             "pow mul add mul tanh add mul mul"}),
    [](const auto& one) { return std::string(one.param.name); });

class RecoverSoftmax : public ::testing::TestWithParam<Case> {};
TEST_P(RecoverSoftmax, Rewrites) {
  expect_kinds(
      "graph @g(%x: f32[2,3,4], %q: f32[2,3,8], %k: f32[2,8,4], %m: f32[3,4]) -> (y = %y) {\n"
      "  %last = const i64[1] splat(-1) %mid = const i64[1] splat(1) %zero = const f32[] splat(0)\n"
      "  %none = const f32[] splat(-inf) %half = const f32[] splat(0.5)\n"
      "  %seen = const f32[3,4] dense[0,-inf,-inf,-inf,0,0,-inf,-inf,0,0,0,-inf]\n"
      "  %blind = const f32[3,4] dense[0,0,0,0,-inf,-inf,-inf,-inf,0,0,0,0]\n" +
          std::string(GetParam().body) + "\n}",
      "recover-softmax,eliminate-dead-code", GetParam().expected);
}

// The guard of PyTorch's decomposed attention around softmax(%s).
#define EC_GUARD                                                                              \
  " %p = softmax(%s) {axis=2} %e = equal(%s, %none) %n = not(%e) %u = cast(%n) {to=u8} %r = " \
  "reduce_max(%u, %last) %b = cast(%r) {to=bool} %g = not(%b) %y = where(%g, %zero, %p)"
#define EC_GUARD_KINDS "softmax equal not cast reduce_max cast not where"

INSTANTIATE_TEST_SUITE_P(
    All, RecoverSoftmax,
    ::testing::Values(
        Case{"plain", "%e = exp(%x) %s = reduce_sum(%e, %last) %y = div(%e, %s)", "softmax"},
        Case{"shifted",
             "%m0 = reduce_max(%x, %last) %d = sub(%x, %m0) %e = exp(%d) %s = reduce_sum(%e, "
             "%last) %y = div(%e, %s)",
             "softmax"},
        Case{"other_axis",
             "%m0 = reduce_max(%x, %mid) %d = sub(%x, %m0) %e = exp(%d) %s = reduce_sum(%e, "
             "%last) %y = div(%e, %s)",
             "reduce_max sub softmax"},
        Case{"log",
             "%m0 = reduce_max(%x, %last) %d = sub(%x, %m0) %e = exp(%d) %s = reduce_sum(%e, "
             "%last) %l = log(%s) %y = sub(%d, %l)",
             "log_softmax"},
        Case{"exponentials_read_elsewhere",
             "%e = exp(%x) %s = reduce_sum(%e, %last) %d = div(%e, %s) %y = add(%d, %e)",
             "exp reduce_sum div add"},
        Case{"guarded_product", "%a = matmul(%q, %k) %s = mul(%a, %half)" EC_GUARD,
             "matmul mul softmax"},
        Case{"guarded_seen_mask", "%a = matmul(%q, %k) %s = add(%a, %seen)" EC_GUARD,
             "matmul add softmax"},
        Case{"guarded_blind_mask", "%a = matmul(%q, %k) %s = add(%a, %blind)" EC_GUARD,
             "matmul add " EC_GUARD_KINDS},
        Case{"guarded_computed_mask", "%a = matmul(%q, %k) %s = add(%a, %m)" EC_GUARD,
             "matmul add " EC_GUARD_KINDS},
        Case{"guarded_input", "%s = identity(%x)" EC_GUARD, "identity " EC_GUARD_KINDS}),
    [](const auto& one) { return std::string(one.param.name); });
#undef EC_GUARD
#undef EC_GUARD_KINDS

class RecoverNorms : public ::testing::TestWithParam<Case> {};
TEST_P(RecoverNorms, Rewrites) {
  expect_kinds(over_x(GetParam().body), "simplify-algebra,common-subexpressions,recover-norms",
               GetParam().expected);
}
INSTANTIATE_TEST_SUITE_P(
    All, RecoverNorms,
    ::testing::Values(
        Case{"layer_norm",
             "%m = reduce_mean(%t, %last) %d = sub(%t, %m) %p = pow(%d, %two) %v = reduce_mean(%p, "
             "%last) %e = add(%v, %eps) %s = sqrt(%e) %n = div(%d, %s) %g = mul(%n, %wg) %y = "
             "add(%g, %wb)",
             "layer_norm"},
        Case{"layer_norm_twice_centred",
             "%m = reduce_mean(%t, %last) %d = sub(%t, %m) %d2 = sub(%t, %m) %p = mul(%d2, %d2) %v "
             "= "
             "reduce_mean(%p, %last) %e = add(%v, %eps) %s = sqrt(%e) %r = reciprocal(%s) %n = "
             "mul(%d, %r) %y = mul(%wg, %n)",
             "layer_norm"},
        Case{"layer_norm_plain",
             "%m = reduce_mean(%t, %last) %d = sub(%t, %m) %p = mul(%d, %d) %v = reduce_mean(%p, "
             "%last) %e = add(%v, %eps) %s = rsqrt(%e) %y = mul(%d, %s)",
             "layer_norm"},
        Case{"layer_norm_power",
             "%m = reduce_mean(%t, %last) %d = sub(%t, %m) %p = mul(%d, %d) %v = reduce_mean(%p, "
             "%last) %e = add(%v, %eps) %s = pow(%e, %mhalf) %y = mul(%d, %s)",
             "layer_norm"},
        Case{"layer_norm_expanded",
             "%m = reduce_mean(%t, %last) %d = sub(%t, %m) %p = mul(%d, %d) %v = reduce_mean(%p, "
             "%last) %e = add(%v, %eps) %s = rsqrt(%e) %q = mul(%s, %wg) %a = mul(%t, %q) %b = "
             "mul(%m, %q) %c = sub(%wb, %b) %y = add(%a, %c)",
             "layer_norm"},
        Case{"layer_norm_of_keras",
             "%m = reduce_mean(%t, %last) %p = squared_difference(%t, %m) %v = reduce_mean(%p, "
             "%last) %e = add(%v, %eps) %s = rsqrt(%e) %q = mul(%s, %wg) %a = mul(%t, %q) %n = "
             "neg(%m) %b = mul(%n, %q) %c = add(%b, %wb) %y = add(%a, %c)",
             "layer_norm"},
        Case{"layer_norm_of_keras_without_parameters",
             "%m = reduce_mean(%t, %last) %p = squared_difference(%t, %m) %v = reduce_mean(%p, "
             "%last) %e = add(%v, %eps) %s = rsqrt(%e) %a = mul(%t, %s) %n = neg(%m) %b = mul(%n, "
             "%s) %y = add(%a, %b)",
             "layer_norm"},
        Case{"squared_difference_divided",
             "%m = reduce_mean(%t, %last) %d = sub(%t, %m) %p = squared_difference(%t, %m) %v = "
             "reduce_mean(%p, %last) %e = add(%v, %eps) %s = sqrt(%e) %y = div(%d, %s)",
             "layer_norm"},
        Case{"difference_from_something_else",
             "%m = reduce_mean(%t, %c1) %p = squared_difference(%t, %m) %v = reduce_mean(%p, "
             "%last) %e = add(%v, %eps) %s = rsqrt(%e) %a = mul(%t, %s) %n = neg(%m) %b = mul(%n, "
             "%s) %y = add(%a, %b)",
             "reduce_mean squared_difference reduce_mean add rsqrt mul neg mul add"},
        Case{"no_mean_taken_away",
             "%m = reduce_mean(%t, %last) %p = squared_difference(%t, %m) %v = reduce_mean(%p, "
             "%last) %e = add(%v, %eps) %s = sqrt(%e) %y = div(%t, %s)",
             "reduce_mean squared_difference reduce_mean add sqrt div"},
        Case{
            "layer_norm_channels_first",
            "%m = reduce_mean(%x, %c1) %d = sub(%x, %m) %p = mul(%d, %d) %v = reduce_mean(%p, %c1) "
            "%e = add(%v, %eps) %s = sqrt(%e) %n = div(%d, %s) %g = mul(%n, %wgc) %y = add(%g, "
            "%wbc)",
            "transpose layer_norm transpose"},
        Case{"other_mean",
             "%m = reduce_mean(%t, %c1) %d = sub(%t, %m) %p = mul(%d, %d) %v = reduce_mean(%p, "
             "%last) %e = add(%v, %eps) %s = sqrt(%e) %y = div(%d, %s)",
             "reduce_mean sub rms_norm"},
        Case{
            "rms_norm",
            "%p = pow(%t, %two) %v = reduce_mean(%p, %last) %e = add(%v, %eps) %s = rsqrt(%e) %n = "
            "mul(%t, %s) %y = mul(%n, %wg)",
            "rms_norm"},
        Case{"variance_of_something_else",
             "%p = mul(%z, %z) %v = reduce_mean(%p, %last) %e = add(%v, %eps) %s = sqrt(%e) %y = "
             "div(%x, %s)",
             "mul reduce_mean add sqrt div"},
        Case{"lp_norm", "%n = reduce_l2(%x, %c1) %f = clip(%n, %tiny) %y = div(%x, %f)", "lp_norm"},
        Case{"lp_norm_large_floor", "%n = reduce_l2(%x, %c1) %f = clip(%n, %half) %y = div(%x, %f)",
             "reduce_l2 clip div"},
        Case{"parameters_behind",
             "%n = layer_norm(%t) {axis=-1} %g = mul(%n, %wg) %y = add(%g, %wb)", "layer_norm"}),
    [](const auto& one) { return std::string(one.param.name); });

class RecoverOthers : public ::testing::TestWithParam<Case> {};
TEST_P(RecoverOthers, Rewrites) {
  expect_kinds(over_x(GetParam().body), "recover-group-norm,recover-depth-to-space,recover-pools",
               GetParam().expected);
}
INSTANTIATE_TEST_SUITE_P(
    All, RecoverOthers,
    ::testing::Values(
        Case{
            "group_norm",
            "%s = const i64[3] dense[2,4,-1] %j = const i64[4] dense[2,8,4,4] %a = reshape(%x, %s) "
            "%n = instance_norm(%a, %ones, %zeros) %b = reshape(%n, %j) %g = mul(%b, %wgc) %y = "
            "add(%g, %wbc)",
            "group_norm"},
        Case{
            "group_norm_without_parameters",
            "%s = const i64[3] dense[2,4,-1] %j = const i64[4] dense[2,8,4,4] %a = reshape(%x, %s) "
            "%n = instance_norm(%a, %ones, %zeros) %y = reshape(%n, %j)",
            "group_norm"},
        Case{
            "not_group_norm",
            "%s = const i64[3] dense[2,4,-1] %j = const i64[4] dense[2,4,8,4] %a = reshape(%x, %s) "
            "%n = instance_norm(%a, %ones, %zeros) %y = reshape(%n, %j)",
            "reshape instance_norm reshape"},
        Case{"depth_to_space_crd",
             "%s = const i64[6] dense[2,2,2,2,4,4] %j = const i64[4] dense[2,2,8,8] %a = "
             "reshape(%x, %s) %b = transpose(%a) {perm=[0,1,4,2,5,3]} %y = reshape(%b, %j)",
             "depth_to_space"},
        Case{"depth_to_space_dcr",
             "%s = const i64[6] dense[2,2,2,2,4,4] %j = const i64[4] dense[2,2,8,8] %a = "
             "reshape(%x, %s) %b = transpose(%a) {perm=[0,3,4,1,5,2]} %y = reshape(%b, %j)",
             "depth_to_space"},
        Case{"space_to_depth_dcr",
             "%s = const i64[6] dense[2,8,2,2,2,2] %j = const i64[4] dense[2,32,2,2] %a = "
             "reshape(%x, %s) %b = transpose(%a) {perm=[0,3,5,1,2,4]} %y = reshape(%b, %j)",
             "space_to_depth"},
        Case{"space_to_depth_crd",
             "%s = const i64[6] dense[2,8,2,2,2,2] %j = const i64[4] dense[2,32,2,2] %a = "
             "reshape(%x, %s) %b = transpose(%a) {perm=[0,1,3,5,2,4]} %y = reshape(%b, %j)",
             "space_to_depth"},
        Case{"other_order",
             "%s = const i64[6] dense[2,8,2,2,2,2] %j = const i64[4] dense[2,32,2,2] %a = "
             "reshape(%x, %s) %b = transpose(%a) {perm=[0,1,5,3,2,4]} %y = reshape(%b, %j)",
             "reshape transpose reshape"},
        Case{"channel_shuffle",
             "%s = const i64[5] dense[2,2,4,4,4] %j = const i64[4] dense[2,8,4,4] %a = reshape(%x, "
             "%s) %b = transpose(%a) {perm=[0,2,1,3,4]} %y = reshape(%b, %j)",
             "reshape transpose reshape"},
        Case{"global_avg_pool", "%s = const i64[2] dense[-1,-2] %y = reduce_mean(%x, %s)",
             "global_avg_pool"},
        Case{"global_avg_pool_dropped",
             "%s = const i64[2] dense[2,3] %y = reduce_mean(%x, %s) {keep_dims=false}",
             "global_avg_pool squeeze"},
        Case{"global_max_pool", "%s = const i64[2] dense[2,3] %y = reduce_max(%x, %s)",
             "global_max_pool"},
        Case{"pool_of_the_whole_image", "%y = avg_pool(%x) {kernel=[4,4]}", "global_avg_pool"},
        Case{"pool_of_the_whole_image_strided", "%y = avg_pool(%x) {kernel=[4,4], strides=[4,4]}",
             "global_avg_pool"},
        Case{"pool_of_a_part", "%y = avg_pool(%x) {kernel=[4,3]}", "avg_pool"},
        Case{"pool_with_pads",
             "%y = avg_pool(%x) {kernel=[4,4], pads=[1,1,0,0], strides=[2,2], "
             "count_include_pad=true}",
             "avg_pool"},
        Case{"pool_beyond_the_image",
             "%y = avg_pool(%x) {kernel=[6,6], pads=[1,1,1,1], count_include_pad=true}",
             "avg_pool"},
        Case{"max_pool_of_the_whole_image", "%y = max_pool(%x) {kernel=[4,4]}", "max_pool"},
        Case{"mean_of_rows", "%s = const i64[1] dense[2] %y = reduce_mean(%x, %s)", "reduce_mean"}),
    [](const auto& one) { return std::string(one.param.name); });

class FuseActivations : public ::testing::TestWithParam<Case> {};
TEST_P(FuseActivations, Rewrites) {
  expect_kinds(
      "graph @g(%x: f32[2,4,5,5], %r: f32[2,6,3,3], %m: f32[N,4], %q: f32[6,3,3]) -> (y = %y) {\n"
      "  %w = const f32[6,4,3,3] splat(0) %wb = const f32[6] splat(0) %wm = const f32[4,6] "
      "splat(0)\n"
      "  %wt = const f32[4,6,2,2] splat(0) %zero = const f32[] splat(0) %six = const f32[] "
      "splat(6)\n"
      "  %one = const f32[] splat(1)\n" +
          std::string(GetParam().body) + "\n}",
      "fuse-activations", GetParam().expected);
}
INSTANTIATE_TEST_SUITE_P(
    All, FuseActivations,
    ::testing::Values(
        Case{"relu", "%a = conv(%x, %w, %wb) %y = relu(%a)", "conv"},
        Case{"relu6", "%a = conv(%x, %w) %y = clip(%a, %zero, %six)", "conv"},
        Case{"clip", "%a = conv(%x, %w) %y = clip(%a, _, %one)", "conv"},
        Case{"leaky_relu", "%a = conv(%x, %w) %y = leaky_relu(%a) {alpha=0.2}", "conv"},
        Case{"sigmoid", "%a = matmul(%m, %wm, %wb) %y = sigmoid(%a)", "matmul"},
        Case{"tanh", "%a = gemm(%m, %wm, %wb) %y = tanh(%a)", "gemm"},
        Case{"silu", "%a = conv_transpose(%x, %wt) %y = silu(%a)", "conv_transpose"},
        Case{"silu_scaled", "%a = conv(%x, %w) %y = silu(%a) {alpha=1.7}", "conv silu"},
        Case{"hard_swish", "%a = conv(%x, %w) %y = hard_swish(%a)", "conv"},
        Case{"hard_sigmoid", "%a = conv(%x, %w) %y = hard_sigmoid(%a) {alpha=0.25}", "conv"},
        Case{"gelu", "%a = matmul(%m, %wm) %y = gelu(%a)", "matmul"},
        Case{"gelu_tanh", "%a = matmul(%m, %wm) %y = gelu(%a) {form=tanh}", "matmul"},
        Case{"second_activation", "%a = conv(%x, %w) %b = relu(%a) %y = tanh(%b)", "conv tanh"},
        Case{"read_elsewhere", "%a = conv(%x, %w) %b = relu(%a) %y = add(%a, %b)", "conv relu add"},
        Case{"residual", "%a = conv(%x, %w, %wb) %b = add(%r, %a) %y = relu(%b)", "conv"},
        Case{"residual_of_two_convs",
             "%a = conv(%x, %w) %c = conv(%x, %w, %wb) %b = add(%c, %a) %y = relu(%b)",
             "conv conv"},
        Case{"residual_broadcast", "%a = conv(%x, %w, %wb) %y = add(%q, %a)", "conv add"}),
    [](const auto& one) { return std::string(one.param.name); });

}  // namespace
}  // namespace ec
