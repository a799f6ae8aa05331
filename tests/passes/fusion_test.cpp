// fuse-conv-bn, fuse-scale-bias, canonicalise-linear, fuse-pads.
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
  return "graph @g(%x: f32[2,4,6,6], %n: f32[2,6,6,4], %m: f32[N,4], %b: f32[3,5,4]) -> (y = %y) "
         "{\n"
         "  %w = const f32[6,4,3,3] splat(0) %wb = const f32[6] splat(0)\n"
         "  %wd = const f32[4,1,3,3] splat(0) %wt = const f32[4,3,2,2] splat(0)\n"
         "  %wl = const f32[6,3,3,4] splat(0) %wm = const f32[4,6] splat(0)\n"
         "  %ws = const f32[6] splat(0) %wo = const f32[6] splat(0) %wu = const f32[6] splat(0)\n"
         "  %v = const f32[6] dense[1,2,0.5,0.25,3,1.5]\n"
         "  %ws4 = const f32[4] splat(0) %wo4 = const f32[4] splat(0) %wu4 = const f32[4] "
         "splat(0)\n"
         "  %v4 = const f32[4] dense[1,2,0.5,0.25]\n"
         "  %wc = const f32[6,1,1] splat(0) %wc4 = const f32[4,1,1] splat(0)\n"
         "  %half = const f32[] splat(0.5)\n" +
         std::string(body) + "\n}";
}

class ConvBn : public ::testing::TestWithParam<Case> {};
TEST_P(ConvBn, Rewrites) {
  expect_kinds(over_x(GetParam().body), "fuse-conv-bn,eliminate-dead-code", GetParam().expected);
}
INSTANTIATE_TEST_SUITE_P(
    All, ConvBn,
    ::testing::Values(
        Case{"conv",
             "%a = conv(%x, %w, %wb) {pads=[1,1,1,1]} %y = batch_norm(%a, %ws, %wo, %wu, %v)",
             "conv"},
        Case{"conv_without_bias", "%a = conv(%x, %w) %y = batch_norm(%a, %ws, %wo, %wu, %v)",
             "conv"},
        Case{"depthwise",
             "%a = conv(%x, %wd) {groups=4} %y = batch_norm(%a, %ws4, %wo4, %wu4, %v4)", "conv"},
        Case{"channels_last",
             "%a = conv(%n, %wl) {layout=nhwc} %y = batch_norm(%a, %ws, %wo, %wu, %v) "
             "{layout=nhwc}",
             "conv"},
        Case{"transposed",
             "%a = conv_transpose(%x, %wt) {groups=2, strides=[2,2]} %y = batch_norm(%a, %ws, %wo, "
             "%wu, %v)",
             "conv_transpose"},
        Case{"gemm", "%a = gemm(%m, %wm, %wb) %y = batch_norm(%a, %ws, %wo, %wu, %v)", "gemm"},
        Case{"matmul", "%a = matmul(%m, %wm) %y = batch_norm(%a, %ws, %wo, %wu, %v)", "matmul"},
        Case{"flattened_matmul",
             "%t = const i64[2] dense[15,6] %a = matmul(%b, %wm) %c = reshape(%a, %t) "
             "%y = batch_norm(%c, %ws, %wo, %wu, %v)",
             "matmul reshape"},
        Case{
            "flattened_matmul_other_rows",
            "%t = const i64[2] dense[5,18] %s18 = const f32[18] splat(2) %a = matmul(%b, %wm) %c = "
            "reshape(%a, %t) %y = batch_norm(%c, %s18, %s18, %s18, %s18)",
            "matmul reshape batch_norm"},
        Case{"flattened_read_twice",
             "%t = const i64[2] dense[15,6] %a = matmul(%b, %wm) %c = reshape(%a, %t) "
             "%d = batch_norm(%c, %ws, %wo, %wu, %v) %y = add(%c, %d)",
             "matmul reshape batch_norm add"},
        Case{"matmul_other_axis",
             "%s5 = const f32[5] splat(2) %a = matmul(%b, %wm) %y = batch_norm(%a, %s5, %s5, %s5, "
             "%s5)",
             "matmul batch_norm"},
        Case{"used_twice",
             "%a = conv(%x, %w) %c = batch_norm(%a, %ws, %wo, %wu, %v) %y = add(%a, %c)",
             "conv batch_norm add"},
        Case{"activated",
             "%a = conv(%x, %w) {activation=relu} %y = batch_norm(%a, %ws, %wo, %wu, %v)",
             "conv batch_norm"},
        Case{"before", "%a = batch_norm(%x, %ws4, %wo4, %wu4, %v4) %y = conv(%a, %w, %wb)", "conv"},
        Case{"before_depthwise",
             "%a = batch_norm(%x, %ws4, %wo4, %wu4, %v4) %y = conv(%a, %wd) {groups=4}", "conv"},
        Case{"before_padded",
             "%a = batch_norm(%x, %ws4, %wo4, %wu4, %v4) %y = conv(%a, %w) {pads=[1,1,1,1]}",
             "batch_norm conv"},
        Case{"before_matmul", "%a = batch_norm(%m, %ws4, %wo4, %wu4, %v4) %y = matmul(%a, %wm)",
             "matmul"},
        Case{"before_transposed_gemm",
             "%wn = const f32[6,4] splat(0) %a = batch_norm(%m, %ws4, %wo4, %wu4, %v4) "
             "%y = gemm(%a, %wn, %wb) {transpose_b=true, alpha=0.5}",
             "gemm"},
        Case{"before_pointwise",
             "%w1 = const f32[6,4,1,1] splat(0) %a = batch_norm(%x, %ws4, %wo4, %wu4, %v4) "
             "%y = conv(%a, %w1)",
             "conv"},
        Case{"before_pointwise_depthwise",
             "%w1 = const f32[4,1,1,1] splat(0) %a = batch_norm(%x, %ws4, %wo4, %wu4, %v4) "
             "%y = conv(%a, %w1) {groups=4}",
             "conv"},
        Case{"before_grouped",
             "%wg = const f32[6,2,3,3] splat(0) %a = batch_norm(%x, %ws4, %wo4, %wu4, %v4) "
             "%y = conv(%a, %wg, %wb) {groups=2}",
             "conv"},
        Case{"before_channels_last",
             "%wg = const f32[6,3,3,2] splat(0) %a = batch_norm(%n, %ws4, %wo4, %wu4, %v4) "
             "{layout=nhwc} %y = conv(%a, %wg) {groups=2, layout=nhwc}",
             "conv"},
        // Rows longer than what is scaled at a time.
        Case{"long_rows",
             "%wr = const f32[4,1300] splat(0) %wr0 = const f32[1300] splat(0) "
             "%wr1 = const f32[1300] splat(0) %wr2 = const f32[1300] splat(0) "
             "%vr = const f32[1300] splat(2) %a = matmul(%m, %wr) "
             "%y = batch_norm(%a, %wr0, %wr1, %wr2, %vr)",
             "matmul"}),
    [](const auto& one) { return std::string(one.param.name); });

class ScaleBias : public ::testing::TestWithParam<Case> {};
TEST_P(ScaleBias, Rewrites) {
  expect_kinds(over_x(GetParam().body), "fuse-scale-bias,eliminate-dead-code", GetParam().expected);
}
INSTANTIATE_TEST_SUITE_P(
    All, ScaleBias,
    ::testing::Values(
        Case{"conv_add", "%a = conv(%x, %w) %y = add(%a, %wc)", "conv"},
        Case{"conv_add_to_bias", "%a = conv(%x, %w, %wb) %y = add(%wc, %a)", "conv"},
        Case{"conv_sub", "%a = conv(%x, %w) %y = sub(%a, %wc)", "conv"},
        Case{"conv_sub_from", "%a = conv(%x, %w, %wb) %y = sub(%wc, %a)", "conv"},
        Case{"conv_mul_div", "%a = conv(%x, %w, %wb) %c = mul(%a, %wc) %y = div(%c, %half)",
             "conv"},
        Case{"conv_div_by", "%a = conv(%x, %w, %wb) %y = div(%half, %a)", "conv div"},
        Case{"conv_add_map", "%wp = const f32[4,4] splat(0) %a = conv(%x, %w) %y = add(%a, %wp)",
             "conv add"},
        Case{"conv_transpose",
             "%a = conv_transpose(%x, %wt) {groups=2} %c = mul(%a, %wc) %y = add(%c, %wc)",
             "conv_transpose"},
        Case{"matmul_bias", "%a = matmul(%b, %wm) %y = add(%a, %wb)", "matmul"},
        Case{"matmul_bias_broadcasts",
             "%wp = const f32[2,1,1,6] splat(0) %a = matmul(%b, %wm) %y = add(%a, %wp)",
             "matmul add"},
        Case{"matmul_transposed_weights",
             "%wn = const f32[6,4] splat(0) %a = matmul(%b, %wn) {transpose_b=true} %c = mul(%a, "
             "%wb) %y = add(%c, %wo)",
             "matmul"},
        Case{"computed_bias", "%s = exp(%wb) %a = matmul(%b, %wm) %y = add(%s, %a)", "exp matmul"},
        Case{"factor_after", "%a = matmul(%b, %b) {transpose_b=true} %y = mul(%a, %half)",
             "matmul"},
        Case{"factor_before", "%c = div(%b, %half) %y = matmul(%b, %c) {transpose_b=true}",
             "matmul"},
        Case{"factors_on_both",
             "%c = mul(%b, %half) %d = mul(%b, %half) %y = matmul(%c, %d) {transpose_b=true}",
             "matmul"},
        Case{"scale_before_conv", "%a = mul(%x, %wc4) %y = conv(%a, %w, %wb) {pads=[1,1,1,1]}",
             "conv"},
        Case{"shift_before_conv", "%a = sub(%x, %wc4) %y = conv(%a, %w, %wb)", "conv"},
        Case{
            "factor_before_shift",
            "%two = const f32[1] splat(2) %a = mul(%x, %half) %c = add(%a, %two) %y = conv(%c, %w, "
            "%wb) {pads=[1,1,1,1]}",
            "add conv"},
        Case{"factors_before_shift",
             "%a = mul(%x, %wc4) %c = add(%a, %half) %y = conv(%c, %w) {pads=[1,1,1,1]}",
             "mul add conv"},
        Case{"shift_before_padded_conv", "%a = add(%x, %wc4) %y = conv(%a, %w) {pads=[1,1,1,1]}",
             "add conv"},
        Case{
            "grouped_before",
            "%wg = const f32[6,2,3,3] splat(0) %a = add(%x, %wc4) %c = mul(%a, %wc4) %y = conv(%c, "
            "%wg) {groups=2}",
            "conv"}),
    [](const auto& one) { return std::string(one.param.name); });

class Linear : public ::testing::TestWithParam<Case> {};
TEST_P(Linear, Rewrites) {
  expect_kinds(over_x(GetParam().body), "canonicalise-linear,eliminate-dead-code",
               GetParam().expected);
}
INSTANTIATE_TEST_SUITE_P(
    All, Linear,
    ::testing::Values(Case{"gemm", "%y = gemm(%m, %wm, %wb)", "matmul"},
                      Case{"gemm_beta", "%y = gemm(%m, %wm, %wb) {alpha=0.5, beta=2}", "matmul"},
                      Case{"gemm_row", "%wr = const f32[1,6] splat(0) %y = gemm(%m, %wm, %wr)",
                           "matmul"},
                      Case{"gemm_scalar", "%y = gemm(%m, %wm, %half)", "matmul"},
                      Case{"gemm_column",
                           "%wp = const f32[4,4] splat(0) %wr = const f32[4,1] splat(0) %y = "
                           "gemm(%wp, %wm, %wr)",
                           "gemm"},
                      Case{"gemm_without", "%y = gemm(%m, %wm)", "matmul"}),
    [](const auto& one) { return std::string(one.param.name); });
INSTANTIATE_TEST_SUITE_P(
    Einsum, Linear,
    ::testing::Values(
        Case{"einsum", "%y = einsum(%b, %b) {equation=\"bij,bkj->bik\"}", "matmul"},
        Case{"einsum_first", "%y = einsum(%b, %b) {equation=\"bji,bjk->bik\"}", "matmul"},
        Case{"einsum_swapped", "%y = einsum(%b, %b) {equation=\"bij,bkj->bki\"}", "einsum"},
        Case{"einsum_broadcast", "%y = einsum(%b, %wm) {equation=\"bij,jk->bik\"}", "einsum"}),
    [](const auto& one) { return std::string(one.param.name); });

class Pads : public ::testing::TestWithParam<Case> {};
TEST_P(Pads, Rewrites) {
  expect_kinds(over_x(GetParam().body), "fuse-pads,eliminate-dead-code", GetParam().expected);
}
INSTANTIATE_TEST_SUITE_P(
    All, Pads,
    ::testing::Values(
        Case{"conv",
             "%p = const i64[8] dense[0,0,1,2,0,0,3,0] %a = pad(%x, %p) %y = conv(%a, %w) "
             "{pads=[1,0,0,1]}",
             "conv"},
        Case{"conv_axes",
             "%p = const i64[4] dense[1,2,3,0] %s = const i64[2] dense[2,-1] %a = pad(%x, "
             "%p, _, %s) %y = conv(%a, %w)",
             "conv"},
        Case{"conv_last",
             "%p = const i64[8] dense[0,1,2,0,0,3,0,0] %a = pad(%n, %p) %y = conv(%a, "
             "%wl) {layout=nhwc}",
             "conv"},
        Case{"conv_channels",
             "%p = const i64[8] dense[0,1,0,0,0,0,0,0] %wg = const f32[6,5,3,3] "
             "splat(0) %a = pad(%x, %p) %y = conv(%a, %wg)",
             "pad conv"},
        Case{"conv_value",
             "%p = const i64[8] dense[0,0,1,1,0,0,1,1] %a = pad(%x, %p, %half) %y = "
             "conv(%a, %w)",
             "pad conv"},
        Case{"conv_reflect",
             "%p = const i64[8] dense[0,0,1,1,0,0,1,1] %a = pad(%x, %p) "
             "{mode=reflect} %y = conv(%a, %w)",
             "pad conv"},
        Case{"max_pool",
             "%p = const i64[8] dense[0,0,1,1,0,0,1,1] %i = const f32[] splat(-inf) %a = "
             "pad(%x, %p, %i) %y = max_pool(%a) {kernel=[3,3], strides=[2,2]}",
             "max_pool"},
        Case{"max_pool_zero",
             "%p = const i64[8] dense[0,0,1,1,0,0,1,1] %a = pad(%x, %p) %y = "
             "max_pool(%a) {kernel=[3,3], strides=[2,2]}",
             "pad max_pool"},
        Case{"avg_pool",
             "%p = const i64[8] dense[0,0,1,1,0,0,1,1] %a = pad(%x, %p) %y = avg_pool(%a) "
             "{kernel=[3,3]}",
             "avg_pool"},
        Case{"avg_pool_excluding",
             "%p = const i64[8] dense[0,0,1,1,0,0,1,1] %a = pad(%x, %p) %y = "
             "avg_pool(%a) {kernel=[3,3], pads=[1,1,1,1]}",
             "pad avg_pool"}),
    [](const auto& one) { return std::string(one.param.name); });

TEST(ConvBn, KeepsLocationsAndTheLastName) {
  const auto out = test::optimise(over_x(R"(
    %a = conv(%x, %w) loc("layer/conv" : "Conv")
    %y = batch_norm(%a, %ws, %wo, %wu, %v) loc("layer/bn" : "BatchNormalization"))"),
                                  "fuse-conv-bn");
  const Operation& conv = out.only(OpKind::Conv);
  EXPECT_EQ(conv.location().nodes, (std::vector<std::string>{"layer/conv", "layer/bn"}));
  EXPECT_EQ(conv.location().op_type, "Conv");
  EXPECT_EQ(conv.output()->name(), "y");
}

}  // namespace
}  // namespace ec
