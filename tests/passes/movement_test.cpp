// simplify-reshapes, move-reshapes, simplify-broadcasts, simplify-slices, simplify-transposes.
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
  return "graph @g(%x: f32[2,3,4,5], %z: f32[2,3,4,5], %n: f32[N,3,4], %u: f32[2,1,4,5]) -> (y = "
         "%y) {\n"
         "  %i0 = const i64[1] splat(0) %i1 = const i64[1] splat(1) %i2 = const i64[1] splat(2)\n"
         "  %i3 = const i64[1] splat(3) %i4 = const i64[1] splat(4) %six = const i64[1] "
         "splat(6)\n" +
         std::string(body) + "\n}";
}

class Reshapes : public ::testing::TestWithParam<Case> {};
TEST_P(Reshapes, Rewrites) {
  expect_kinds(over_x(GetParam().body), "simplify-reshapes", GetParam().expected);
}
INSTANTIATE_TEST_SUITE_P(
    All, Reshapes,
    ::testing::Values(
        Case{"cancel", "%a = unsqueeze(%x, %i1) %y = squeeze(%a, %i1)", ""},
        Case{"merge", "%a = unsqueeze(%x, %i1) %y = flatten(%a)", "reshape"},
        Case{"chain",
             "%a = unsqueeze(%x, %i1) %b = flatten(%a) %t = const i64[3] dense[2,-1,2] %y = "
             "reshape(%b, %t)",
             "reshape"},
        Case{"open", "%a = unsqueeze(%n, %i1) %b = unsqueeze(%a, %i0) %y = squeeze(%b, %i0)",
             "reshape"},
        Case{"alone", "%y = flatten(%x)", "flatten"},
        Case{"between", "%a = flatten(%x) %b = relu(%a) %y = flatten(%b) {axis=2}",
             "flatten relu flatten"},
        Case{"reduce_drop", "%a = reduce_mean(%x, %i2) %y = squeeze(%a, %i2)", "reduce_mean"},
        Case{"reduce_restore",
             "%a = reduce_mean(%x, %i2) {keep_dims=false} %y = unsqueeze(%a, %i2)", "reduce_mean"},
        Case{"reduce_elsewhere",
             "%a = reduce_mean(%x, %i2) {keep_dims=false} %y = unsqueeze(%a, %i1)",
             "reduce_mean unsqueeze"},
        Case{"gather_everything",
             "%t = const i64[1] splat(-1) %a = reshape(%u, %t) %p = const i64[2,3] "
             "dense[0,1,2,3,4,5] %s = slice(%a, %i0, %six) %y = gather(%s, %p)",
             "reshape slice reshape"},
        Case{"gather_another_order",
             "%t = const i64[1] splat(-1) %a = reshape(%u, %t) %p = const i64[2,3] "
             "dense[0,2,1,3,4,5] %s = slice(%a, %i0, %six) %y = gather(%s, %p)",
             "reshape slice gather"},
        Case{"gather_drop", "%a = gather(%x, %i1) {axis=2} %y = squeeze(%a, %i2)", "gather"}),
    [](const auto& one) { return std::string(one.param.name); });

class Broadcasts : public ::testing::TestWithParam<Case> {};
TEST_P(Broadcasts, Rewrites) {
  expect_kinds(over_x(GetParam().body), "simplify-broadcasts", GetParam().expected);
}
INSTANTIATE_TEST_SUITE_P(
    All, Broadcasts,
    ::testing::Values(
        Case{"expand", "%t = const i64[4] dense[2,3,4,5] %a = expand(%u, %t) %y = add(%a, %x)",
             "add"},
        Case{"expand_needed",
             "%t = const i64[4] dense[2,3,4,5] %a = expand(%u, %t) %y = add(%a, %u)", "expand add"},
        Case{
            "both_expanded",
            "%t = const i64[4] dense[2,3,4,5] %a = expand(%u, %t) %b = expand(%u, %t) %y = add(%a, "
            "%b)",
            "expand add"},
        Case{"leading",
             "%c = reduce_sum(%x, %i0) {keep_dims=false} %a = unsqueeze(%c, %i0) %y = mul(%a, %x)",
             "reduce_sum mul"},
        Case{"leading_removed", "%c = reduce_sum(%x, %i0) %a = squeeze(%c, %i0) %y = mul(%a, %x)",
             "reduce_sum mul"},
        Case{"leading_removed_needed",
             "%c = reduce_sum(%x, %i0) %a = squeeze(%c, %i0) %y = mul(%a, %a)",
             "reduce_sum squeeze mul"},
        Case{"leading_of_all_readers",
             "%c = reduce_sum(%x, %i0) {keep_dims=false} %a = unsqueeze(%c, %i0) %d = mul(%a, %x) "
             "%y = add(%a, %d)",
             "reduce_sum mul add"},
        Case{"leading_needed_by_another",
             "%c = reduce_sum(%x, %i0) {keep_dims=false} %a = unsqueeze(%c, %i0) %d = sigmoid(%a) "
             "%e = mul(%a, %x) %y = mul(%e, %d)",
             "reduce_sum unsqueeze sigmoid mul mul"},
        Case{"leading_needed", "%a = unsqueeze(%n, %i0) %y = mul(%a, %n)", "unsqueeze mul"},
        Case{"inner", "%a = unsqueeze(%n, %i1) %b = unsqueeze(%n, %i0) %y = mul(%a, %b)",
             "unsqueeze mul"}),
    [](const auto& one) { return std::string(one.param.name); });

class MovedReshapes : public ::testing::TestWithParam<Case> {};
TEST_P(MovedReshapes, Rewrites) {
  expect_kinds(
      "graph @g(%x: f32[2,3,4,5], %z: f32[2,3,5,4]) -> (y = %y) {\n"
      "  %w = const f32[5,7] splat(0) %flat = const i64[2] dense[24,5]\n"
      "  %wide = const i64[4] dense[2,3,4,7] %batch = const i64[3] dense[6,4,5]\n"
      "  %turned = const i64[3] dense[6,5,4] %split = const i64[4] dense[2,3,4,4]\n" +
          std::string(GetParam().body) + "\n}",
      "move-reshapes,simplify-reshapes,simplify-broadcasts", GetParam().expected);
}
INSTANTIATE_TEST_SUITE_P(
    All, MovedReshapes,
    ::testing::Values(
        Case{"linear", "%a = reshape(%x, %flat) %b = matmul(%a, %w) %y = reshape(%b, %wide)",
             "matmul"},
        Case{"linear_without_view_behind", "%a = reshape(%x, %flat) %y = matmul(%a, %w)",
             "reshape matmul"},
        Case{"two_linear",
             "%a = reshape(%x, %flat) %b = matmul(%a, %w) %c = matmul(%a, %w) %d = reshape(%b, "
             "%wide) %e = reshape(%c, %wide) %y = add(%d, %e)",
             "matmul matmul add"},
        Case{"view_read_elsewhere",
             "%a = reshape(%x, %flat) %b = matmul(%a, %w) %n = neg(%w) %c = matmul(%a, %n) %d = "
             "relu(%a) %e = matmul(%d, %w) %f = add(%b, %c) %g = add(%e, %f) %y = reshape(%g, "
             "%wide)",
             "reshape matmul neg matmul relu matmul add add reshape"},
        Case{"batched",
             "%a = reshape(%x, %batch) %b = reshape(%z, %turned) %c = matmul(%a, %b) %y = "
             "reshape(%c, %split)",
             "matmul"},
        Case{"one_view_only",
             "%a = reshape(%x, %batch) %n = relu(%z) %b = reshape(%n, %turned) %c = matmul(%a, %b) "
             "%d = relu(%b) %e = reduce_sum(%d) {keep_dims=false} %f = add(%c, %e) %y = "
             "reshape(%f, %split)",
             "reshape relu reshape matmul relu reduce_sum add reshape"},
        Case{"between_views",
             "%a = reshape(%x, %batch) %b = transpose(%a) {perm=[0,2,1]} %t = const i64[4] "
             "dense[2,3,5,4] %y = reshape(%b, %t)",
             "transpose"},
        Case{"mixed_by_transpose",
             "%a = reshape(%x, %batch) %b = transpose(%a) {perm=[1,0,2]} %t = const i64[2] "
             "dense[24,5] %y = reshape(%b, %t)",
             "reshape transpose reshape"}),
    [](const auto& one) { return std::string(one.param.name); });

class Slices : public ::testing::TestWithParam<Case> {};
TEST_P(Slices, Rewrites) {
  expect_kinds(over_x(GetParam().body), "simplify-slices,eliminate-dead-code", GetParam().expected);
}
INSTANTIATE_TEST_SUITE_P(
    All, Slices,
    ::testing::Values(
        Case{"slice_slice", "%a = slice(%x, %i1, %i4, %i3) %y = slice(%a, %i1, %i2, %i3)", "slice"},
        Case{"slice_slice_steps",
             "%a = slice(%x, %i0, %i4, %i3, %i2) %y = slice(%a, %i1, %i4, %i3, %i1)", "slice"},
        Case{"slice_two_axes", "%a = slice(%x, %i1, %i4, %i3) %y = slice(%a, %i1, %i2, %i2)",
             "slice"},
        Case{"slice_used_by_slices",
             "%a = slice(%x, %i0, %i4, %i3, %i2) %b = slice(%a, %i0, %i4, %i2, %i2) %c = slice(%a, "
             "%i1, %i4, %i2, %i2) %y = add(%b, %c)",
             "slice slice add"},
        Case{"slice_used_twice",
             "%a = slice(%x, %i1, %i4, %i3) %b = slice(%a, %i1, %i2, %i3) %y = add(%a, %b)",
             "slice slice add"},
        Case{"slice_of_concat_part",
             "%a = concat(%x, %z) {axis=1} %e = const i64[1] splat(6) %y = slice(%a, %i3, %e, %i1)",
             ""},
        Case{"slice_of_concat_inside",
             "%e = const i64[1] splat(6) %a = concat(%x, %z) {axis=1} %y = slice(%a, %i4, %e, %i1)",
             "slice"},
        Case{"slice_of_concat_across", "%a = concat(%x, %z) {axis=1} %y = slice(%a, %i2, %i4, %i1)",
             "concat slice"},
        Case{"concat_concat", "%a = concat(%x, %z) {axis=1} %y = concat(%z, %a) {axis=1}",
             "concat"},
        Case{"concat_concat_other_axis",
             "%a = concat(%x, %z) {axis=1} %b = concat(%z, %x) {axis=1} %y = concat(%b, %a) "
             "{axis=2}",
             "concat concat concat"},
        Case{"rebuilt",
             "%a = slice(%x, %i0, %i2, %i2) %b = slice(%x, %i2, %i4, %i2) %y = concat(%a, "
             "%b) {axis=2}",
             ""},
        Case{"swapped",
             "%a = slice(%x, %i0, %i2, %i2) %b = slice(%x, %i2, %i4, %i2) %y = concat(%b, "
             "%a) {axis=2}",
             "split concat"},
        Case{"equal_parts",
             "%e = const i64[1] splat(5) %a = slice(%x, %i0, %i2, %i2) %b = slice(%x, %i2, %i4, "
             "%i2) %y = sub(%a, %b)",
             "split sub"},
        Case{"unequal_parts",
             "%a = slice(%x, %i0, %i1, %i2) %b = slice(%x, %i1, %i4, %i2) %y = sub(%a, %b)",
             "slice slice sub"},
        Case{"same_part_twice",
             "%a = slice(%x, %i0, %i2, %i2) %b = slice(%x, %i0, %i2, %i2) %y = sub(%a, %b)",
             "slice slice sub"},
        Case{"parts_in_another_order",
             "%e = const i64[1] splat(5) %a = slice(%x, %i2, %i4, %i2) %b = slice(%x, %i0, %i2, "
             "%i2) %y = sub(%a, %b)",
             "split sub"},
        Case{"parts_with_a_gap",
             "%a = slice(%x, %i0, %i1, %i2) %b = slice(%x, %i2, %i3, %i2) %y = sub(%a, %b)",
             "slice slice sub"},
        Case{"rebuilt_part",
             "%a = slice(%x, %i0, %i1, %i2) %b = slice(%x, %i1, %i3, %i2) %y = concat(%a, %b, %z) "
             "{axis=2}",
             "slice concat"},
        Case{"split_concat", "%a, %b = split(%x) {axis=2} %y = concat(%a, %b) {axis=2}", ""},
        Case{"split_concat_swapped", "%a, %b = split(%x) {axis=2} %y = concat(%b, %a) {axis=2}",
             "split concat"}),
    [](const auto& one) { return std::string(one.param.name); });

class Transposes : public ::testing::TestWithParam<Case> {};
TEST_P(Transposes, Rewrites) {
  expect_kinds(over_x(GetParam().body), "simplify-transposes", GetParam().expected);
}
INSTANTIATE_TEST_SUITE_P(
    All, Transposes,
    ::testing::Values(
        Case{"cancel", "%a = transpose(%x) {perm=[0,2,3,1]} %y = transpose(%a) {perm=[0,3,1,2]}",
             ""},
        Case{"merge", "%a = transpose(%x) {perm=[0,2,3,1]} %y = transpose(%a) {perm=[0,2,3,1]}",
             "transpose"},
        Case{"default_reverses", "%a = transpose(%x) %y = transpose(%a) {perm=[3,2,1,0]}", ""},
        Case{"unit", "%y = transpose(%u) {perm=[0,2,3,1]}", "reshape"},
        Case{"not_unit", "%y = transpose(%x) {perm=[0,2,3,1]}", "transpose"},
        Case{"over_relu",
             "%a = transpose(%x) {perm=[0,2,3,1]} %b = relu(%a) %y = transpose(%b) "
             "{perm=[0,3,1,2]}",
             "relu"},
        Case{"over_bias",
             "%w = const f32[3] splat(0) %a = transpose(%x) {perm=[0,2,3,1]} %b = add(%a, %w) %y = "
             "transpose(%b) {perm=[0,3,1,2]}",
             "add"},
        Case{"over_softmax",
             "%a = transpose(%x) {perm=[0,2,3,1]} %b = softmax(%a) {axis=-1} %y = transpose(%b) "
             "{perm=[0,3,1,2]}",
             "softmax"},
        Case{"over_square_and_dropping_reduce",
             "%a = transpose(%x) {perm=[0,2,1,3]} %q = mul(%a, %a) %b = reduce_sum(%q, %i3) "
             "{keep_dims=false} %y = transpose(%b) {perm=[0,2,1]}",
             "mul reduce_sum"},
        Case{"not_over_dropping_reduce_alone",
             "%q = mul(%x, %x) %b = reduce_sum(%q, %i3) {keep_dims=false} %y = transpose(%b) "
             "{perm=[0,2,1]}",
             "mul reduce_sum transpose"},
        Case{"over_reduce",
             "%a = transpose(%x) {perm=[0,2,3,1]} %b = reduce_sum(%a, %i3) %y = transpose(%b) "
             "{perm=[0,3,1,2]}",
             "reduce_sum"},
        Case{"over_pad",
             "%p = const i64[8] dense[0,1,0,2,0,0,3,0] %a = transpose(%x) {perm=[0,2,3,1]} %b = "
             "pad(%a, %p) %y = transpose(%b) {perm=[0,3,1,2]}",
             "pad"},
        Case{"over_slice",
             "%a = transpose(%x) {perm=[0,2,3,1]} %b = slice(%a, %i1, %i3, %i2) %y = transpose(%b) "
             "{perm=[0,3,1,2]}",
             "slice"},
        Case{"over_slice_without_axes",
             "%s = const i64[4] dense[0,1,2,1] %e = const i64[4] dense[9,9,9,9] %a = transpose(%x) "
             "{perm=[0,2,3,1]} %b = slice(%a, %s, %e) %y = transpose(%b) {perm=[0,3,1,2]}",
             "slice"},
        Case{"over_tile",
             "%r = const i64[4] dense[1,2,1,3] %a = transpose(%x) {perm=[0,2,3,1]} %b = tile(%a, "
             "%r) %y = transpose(%b) {perm=[0,3,1,2]}",
             "tile"},
        Case{"stays_without_a_partner", "%a = relu(%x) %y = transpose(%a) {perm=[0,2,3,1]}",
             "relu transpose"},
        Case{"stays_when_used_twice",
             "%a = transpose(%x) {perm=[0,2,3,1]} %b = relu(%a) %c = transpose(%b) "
             "{perm=[0,3,1,2]} %d = reduce_sum(%b) %y = add(%c, %d)",
             "transpose relu transpose reduce_sum add"},
        Case{"common",
             "%a = transpose(%x) {perm=[0,2,3,1]} %b = transpose(%z) {perm=[0,2,3,1]} %y = add(%a, "
             "%b)",
             "add transpose"},
        Case{"common_concat",
             "%a = transpose(%x) {perm=[0,2,3,1]} %b = transpose(%z) {perm=[0,2,3,1]} %y = "
             "concat(%a, %b) {axis=3}",
             "concat transpose"},
        Case{"not_common",
             "%r = slice(%x, %i0, %i4, %i3) %s = slice(%z, %i0, %i4, %i3) %a = transpose(%r) "
             "{perm=[0,2,3,1]} %b = transpose(%s) {perm=[0,3,2,1]} %y = concat(%a, %b) {axis=3}",
             "slice slice transpose transpose concat"},
        Case{"over_split_view",
             "%t = const i64[5] dense[2,2,2,5,3] %a = transpose(%x) {perm=[0,2,3,1]} %b = "
             "reshape(%a, %t) %y = transpose(%b) {perm=[0,4,1,2,3]}",
             "reshape"},
        Case{"over_split_view_merged",
             "%t = const i64[5] dense[2,2,2,5,3] %a = transpose(%x) {perm=[0,2,3,1]} %b = "
             "reshape(%a, %t) %y = transpose(%b) {perm=[0,1,3,4,2]}",
             "reshape transpose"},
        Case{"not_over_merging_view",
             "%t = const i64[3] dense[2,4,15] %a = transpose(%x) {perm=[0,2,3,1]} %b = reshape(%a, "
             "%t) %y = transpose(%b) {perm=[0,2,1]}",
             "transpose reshape transpose"},
        Case{"into_matmul", "%a = transpose(%z) {perm=[0,1,3,2]} %y = matmul(%x, %a)", "matmul"},
        Case{"not_into_matmul",
             "%a = transpose(%z) {perm=[1,0,3,2]} %b = transpose(%x) {perm=[1,0,2,3]} %y = "
             "matmul(%b, %a)",
             "transpose transpose matmul"}),
    [](const auto& one) { return std::string(one.param.name); });

TEST(Transposes, ShareOfAnElementwiseOperandWithOpenSizes) {
  expect_kinds(R"(graph @g(%x: f32[N,3,H]) -> (y = %y) {
    %w = const f32[3,1] splat(1)
    %a = transpose(%x) {perm=[0,2,1]}
    %c = sigmoid(%a)
    %y = transpose(%c) {perm=[0,2,1]}
  })",
               "simplify-transposes", "sigmoid");
}

}  // namespace
}  // namespace ec
