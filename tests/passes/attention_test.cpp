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

class RecoverAttention : public ::testing::TestWithParam<Case> {};
TEST_P(RecoverAttention, Rewrites) {
  expect_kinds(
      "graph @g(%q: f32[N,2,5,4], %k: f32[N,2,6,4], %v: f32[N,2,6,3], %kt: f32[N,2,4,6],\n"
      "         %ks: f32[N,6,2,4], %m: f32[N,1,5,6], %q3: f32[3,5,4], %v3: f32[3,5,4],\n"
      "         %k1: f32[1,2,6,4]) -> (y = %y) {\n"
      "  %s = const f32[] splat(0.5) %r = const f32[] splat(0.7) %wm = const f32[5,6] splat(0)\n" +
          std::string(GetParam().body) + "\n}",
      "fuse-scale-bias,recover-attention,simplify-transposes", GetParam().expected);
}
INSTANTIATE_TEST_SUITE_P(
    All, RecoverAttention,
    ::testing::Values(
        Case{
            "plain",
            "%a = matmul(%q, %k) {transpose_b=true} %b = softmax(%a) {axis=-1} %y = matmul(%b, %v)",
            "attention"},
        Case{"scaled",
             "%a = matmul(%q, %kt) %c = mul(%a, %s) %b = softmax(%c) {axis=3} %y = matmul(%b, %v)",
             "transpose attention"},
        Case{"scaled_before",
             "%d = mul(%q, %r) %e = mul(%k, %r) %a = matmul(%d, %e) {transpose_b=true} %b = "
             "softmax(%a) {axis=-1} %y = matmul(%b, %v)",
             "attention"},
        Case{"keys_by_token",
             "%t = transpose(%ks) {perm=[0,2,3,1]} %a = matmul(%q, %t) %c = div(%a, %s) %b = "
             "softmax(%c) {axis=-1} %y = matmul(%b, %v)",
             "transpose attention"},
        Case{"masked",
             "%a = matmul(%q, %k) {transpose_b=true} %c = mul(%a, %s) %d = add(%c, %m) %b = "
             "softmax(%d) {axis=-1} %y = matmul(%b, %v)",
             "attention"},
        Case{"constant_mask",
             "%a = matmul(%q, %k) {transpose_b=true, alpha=0.5} %d = add(%wm, %a) %b = softmax(%d) "
             "{axis=-1} %y = matmul(%b, %v)",
             "attention"},
        Case{"one_head",
             "%a = matmul(%q3, %v3) {transpose_b=true} %b = softmax(%a) {axis=-1} %y = "
             "matmul(%b, %v3)",
             "attention"},
        Case{
            "scores_read_elsewhere",
            "%a = matmul(%q, %k) {transpose_b=true} %b = softmax(%a) {axis=-1} %c = matmul(%b, %v) "
            "%d = reduce_sum(%b) %y = add(%c, %d)",
            "matmul softmax matmul reduce_sum add"},
        Case{"other_axis",
             "%a = matmul(%q, %k) {transpose_b=true} %b = softmax(%a) {axis=2} %y = "
             "matmul(%b, %v)",
             "matmul softmax matmul"},
        Case{"broadcast_keys",
             "%a = matmul(%q, %k1) {transpose_b=true} %b = softmax(%a) {axis=-1} %y = matmul(%b, "
             "%v)",
             "matmul softmax matmul"},
        Case{"negative_scale",
             "%n = const f32[] splat(-1) %a = matmul(%q, %k) {transpose_b=true, alpha=-1} %b = "
             "softmax(%a) {axis=-1} %y = matmul(%b, %v)",
             "matmul softmax matmul"}),
    [](const auto& one) { return std::string(one.param.name); });

}  // namespace
}  // namespace ec
