// eliminate-identities and simplify-algebra.
#include "passes/harness.h"

namespace ec {
namespace {

using test::expect_kinds;

// A graph over x: f32[2,3,4] (and z of the same type) whose result is %y.
std::string over_x(std::string_view body) {
  return "graph @g(%x: f32[2,3,4], %z: f32[2,3,4], %n: f32[N,3], %b: bool[2,3,4], %i: i32[2,3,4]) "
         "-> (y = %y) {\n" +
         std::string(body) + "\n}";
}

struct Case {
  const char* name;
  const char* body;
  const char* expected;
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

class Identities : public ::testing::TestWithParam<Case> {};
TEST_P(Identities, Rewrites) {
  // A leading abs keeps graph inputs apart from results.
  expect_kinds(over_x(GetParam().body), "eliminate-identities", GetParam().expected);
}

INSTANTIATE_TEST_SUITE_P(
    All, Identities,
    ::testing::Values(
        Case{"identity", "%y = identity(%x)", ""},
        Case{"add_zero", "%c = const f32[] splat(0) %y = add(%x, %c)", ""},
        Case{"add_zero_first", "%c = const f32[3,1] splat(0) %y = add(%c, %x)", ""},
        Case{"add_zero_open", "%c = const f32[3] splat(0) %y = add(%c, %n)", ""},
        Case{"add_zero_broadcast", "%c = const f32[2,1,1] splat(0) %y = add(%c, %n)", "add"},
        Case{"add_one", "%c = const f32[] splat(1) %y = add(%x, %c)", "add"},
        Case{"sub_zero", "%c = const f32[] splat(0) %y = sub(%x, %c)", ""},
        Case{"zero_sub", "%c = const f32[] splat(0) %y = sub(%c, %x)", "sub"},
        Case{"mul_one", "%c = const f32[] splat(1) %y = mul(%x, %c)", ""},
        Case{"mul_not_all_one", "%c = const f32[4] dense[1,1,1,2] %y = mul(%x, %c)", "mul"},
        Case{"div_one", "%c = const f32[] splat(1) %y = div(%x, %c)", ""},
        Case{"one_div", "%c = const f32[] splat(1) %y = div(%c, %x)", "div"},
        Case{"pow_one", "%c = const f32[] splat(1) %y = pow(%x, %c)", ""},
        // Computed in floats, which round such integers; the cast alone would not.
        Case{"pow_of_wide_integers",
             "%w = cast(%x) {to=i64} %c = const f32[] splat(1) %y = pow(%w, %c)", "cast pow"},
        Case{"pow_of_wide_integers_by_one",
             "%w = cast(%x) {to=i64} %c = const i64[] splat(1) %y = pow(%w, %c)", "cast"},
        Case{"and_true", "%c = const bool[] splat(1) %y = and(%b, %c)", ""},
        Case{"and_false", "%c = const bool[] splat(0) %y = and(%b, %c)", "and"},
        Case{"or_false", "%c = const bool[] splat(0) %y = or(%b, %c)", ""},
        Case{"cast_same", "%y = cast(%x) {to=f32}", ""},
        Case{"cast_other", "%y = cast(%x) {to=f16}", "cast"},
        Case{"neg_neg", "%a = neg(%x) %y = neg(%a)", ""},
        Case{"not_not", "%a = not(%b) %y = not(%a)", ""},
        Case{"abs_abs", "%a = abs(%x) %y = abs(%a)", "abs"},
        Case{"floor_ceil", "%a = ceil(%x) %y = floor(%a)", "ceil floor"},
        Case{"relu_relu", "%a = relu(%x) %y = relu(%a)", "relu"},
        Case{"relu_sigmoid", "%a = sigmoid(%x) %y = relu(%a)", "sigmoid"},
        Case{"relu_tanh", "%a = tanh(%x) %y = relu(%a)", "tanh relu"},
        Case{"pad_nothing", "%c = const i64[6] splat(0) %y = pad(%x, %c)", ""},
        Case{"pad_one", "%c = const i64[6] dense[0,0,0,0,0,1] %y = pad(%x, %c)", "pad"},
        Case{"tile_once", "%c = const i64[3] splat(1) %y = tile(%x, %c)", ""},
        Case{"tile_twice", "%c = const i64[3] dense[1,2,1] %y = tile(%x, %c)", "tile"},
        Case{"expand_same", "%c = const i64[3] dense[2,1,4] %y = expand(%x, %c)", ""},
        Case{"expand_more", "%c = const i64[4] dense[5,2,1,4] %y = expand(%x, %c)", "expand"},
        Case{"reshape_same", "%c = const i64[3] dense[2,-1,4] %y = reshape(%x, %c)", ""},
        Case{"reshape_open_same", "%c = const i64[2] dense[0,-1] %y = reshape(%n, %c)", ""},
        Case{"reshape_other", "%c = const i64[2] dense[2,-1] %y = reshape(%x, %c)", "reshape"},
        Case{"slice_all",
             "%s = const i64[1] splat(0) %e = const i64[1] splat(9) %a = const i64[1] splat(1) "
             "%y = slice(%x, %s, %e, %a)",
             ""},
        Case{"slice_reversed",
             "%s = const i64[1] splat(9) %e = const i64[1] splat(-9) %a = const i64[1] splat(1) "
             "%t = const i64[1] splat(-1) %y = slice(%x, %s, %e, %a, %t)",
             "slice"},
        Case{"slice_open",
             "%s = const i64[1] splat(0) %e = const i64[1] splat(9223372036854775807) %y = "
             "slice(%n, %s, %e)",
             ""},
        Case{"slice_open_some",
             "%s = const i64[1] splat(0) %e = const i64[1] splat(1) %y = slice(%n, %s, %e)",
             "slice"},
        Case{"concat_one", "%y = concat(%x) {axis=1}", ""},
        Case{"concat_two", "%y = concat(%x, %z) {axis=1}", "concat"},
        Case{"split_one", "%y = split(%x) {axis=1}", ""},
        Case{"transpose_same", "%y = transpose(%x) {perm=[0,1,2]}", ""},
        Case{"transpose_other", "%y = transpose(%x) {perm=[0,2,1]}", "transpose"},
        Case{"where_true", "%c = const bool[] splat(1) %y = where(%c, %x, %z)", ""},
        Case{"where_same", "%y = where(%b, %x, %x)", ""},
        Case{"where_open", "%y = where(%b, %x, %z)", "where"}),
    [](const auto& one) { return std::string(one.param.name); });

INSTANTIATE_TEST_SUITE_P(
    Movement, Identities,
    ::testing::Values(
        Case{"dropout", "%y = dropout(%x)", ""},
        Case{"dropout_training",
             "%r = const f32[] splat(0) %t = const bool[] splat(1) %y = "
             "dropout(%x, %r, %t)",
             "dropout"},
        Case{"reduce_ones",
             "%c = const i64[1] splat(1) %p = unsqueeze(%x, %c) %y = reduce_sum(%p, %c)",
             "unsqueeze"},
        Case{"reduce_ones_dropped",
             "%c = const i64[1] splat(1) %p = unsqueeze(%x, %c) %y = reduce_sum(%p, %c) "
             "{keep_dims=false}",
             "unsqueeze squeeze"},
        Case{"reduce_some", "%c = const i64[1] splat(1) %y = reduce_sum(%x, %c)", "reduce_sum"},
        Case{"gather_all", "%c = const i64[3] dense[0,1,2] %y = gather(%x, %c) {axis=1}", ""},
        Case{"gather_mixed", "%c = const i64[3] dense[0,2,1] %y = gather(%x, %c) {axis=1}",
             "gather"},
        Case{"pool_one", "%y = max_pool(%x) {kernel=[1]}", ""},
        Case{"pool_stride", "%y = max_pool(%x) {kernel=[1], strides=[2]}", "max_pool"}),
    [](const auto& one) { return std::string(one.param.name); });

class Algebra : public ::testing::TestWithParam<Case> {};
TEST_P(Algebra, Rewrites) {
  expect_kinds(over_x(GetParam().body), "simplify-algebra", GetParam().expected);
}

INSTANTIATE_TEST_SUITE_P(
    All, Algebra,
    ::testing::Values(
        Case{"bias_and_hard_sigmoid",
             "%c = const f32[4] dense[1,2,3,4] %d = const f32[] splat(3) %l = const f32[] splat(0) "
             "%h = const f32[] splat(6) %a = add(%x, %c) %b2 = add(%a, %d) %y = clip(%b2, %l, %h)",
             "add add clip"},
        Case{"add_add",
             "%c = const f32[4] dense[1,2,3,4] %d = const f32[3,1] dense[5,6,7] %e = const f32[] "
             "splat(2) %a = add(%x, %c) %y = add(%e, %a)",
             "add"},
        Case{"add_sub",
             "%c = const f32[] splat(1) %d = const f32[] splat(3) %a = add(%x, %c) %y = "
             "sub(%a, %d)",
             "add"},
        Case{"sub_sub",
             "%c = const f32[] splat(1) %d = const f32[] splat(3) %a = sub(%x, %c) %y = "
             "sub(%a, %d)",
             "sub"},
        Case{
            "no_larger_constant",
            "%c = const f32[4] splat(1) %d = const f32[3,1] splat(3) %a = add(%x, %c) %y = add(%a, "
            "%d)",
            "add add"},
        Case{"mul_div",
             "%c = const f32[] splat(3) %d = const f32[] splat(7) %a = mul(%x, %c) %y = "
             "div(%a, %d)",
             "mul"},
        Case{"div_mul",
             "%c = const f32[] splat(3) %d = const f32[] splat(7) %a = div(%x, %c) %y = "
             "mul(%a, %d)",
             "mul"},
        Case{"overflow",
             "%c = const f32[] splat(1e30) %d = const f32[] splat(1e30) %a = mul(%x, "
             "%c) %y = mul(%a, %d)",
             "mul mul"},
        Case{"integer_division",
             "%c = const i32[] splat(2) %d = const i32[] splat(3) %a = div(%i, "
             "%c) %y = mul(%a, %d)",
             "div mul"},
        Case{"used_twice",
             "%c = const f32[] splat(3) %a = mul(%x, %c) %b1 = mul(%a, %c) %y = "
             "add(%a, %b1)",
             "mul mul add"},
        Case{"add_neg", "%a = neg(%z) %y = add(%x, %a)", "sub"},
        Case{"sub_neg", "%a = neg(%z) %y = sub(%x, %a)", "add"},
        Case{"neg_sub", "%a = sub(%x, %z) %y = neg(%a)", "sub"},
        Case{"neg_mul", "%c = const f32[] splat(3) %a = mul(%x, %c) %y = neg(%a)", "mul"},
        Case{"mul_reciprocal", "%a = reciprocal(%z) %y = mul(%x, %a)", "div"},
        Case{"minus_one", "%c = const f32[] splat(-1) %y = mul(%x, %c)", "neg"},
        Case{"square", "%c = const f32[] splat(2) %y = pow(%x, %c)", "mul"},
        Case{"root", "%c = const f32[] splat(0.5) %y = pow(%x, %c)", "sqrt"},
        Case{"cube", "%c = const f32[] splat(3) %y = pow(%x, %c)", "pow"},
        Case{"max_zero", "%c = const f32[] splat(0) %y = max(%x, %c)", "relu"},
        Case{"relu6", "%c = const f32[] splat(6) %a = relu(%x) %y = min(%a, %c)", "clip"},
        Case{"clip_clip",
             "%l = const f32[] splat(-1) %h = const f32[] splat(1) %l2 = const f32[] splat(-0.5) "
             "%h2 = const f32[] splat(2) %a = clip(%x, %l, %h) %y = clip(%a, %l2, %h2)",
             "clip"},
        Case{"clip_disjoint",
             "%l = const f32[] splat(1) %h = const f32[] splat(2) %l2 = const f32[] splat(-2) "
             "%h2 = const f32[] splat(-1) %a = clip(%x, %l, %h) %y = clip(%a, %l2, %h2)",
             "clip"},
        Case{"clip_nothing", "%y = clip(%x)", ""},
        Case{"clip_is_relu", "%l = const f32[] splat(0) %y = clip(%x, %l)", "relu"},
        Case{"clip_stays", "%l = const f32[] splat(-1) %y = clip(%x, %l)", "clip"},
        Case{"clip_crossed",
             "%l = const f32[] splat(1) %h = const f32[] splat(-1) %a = relu(%x) %y = clip(%a, %l, "
             "%h)",
             "relu clip"},
        Case{"cast_widened", "%a = cast(%i) {to=i64} %y = cast(%a) {to=f32}", "cast"},
        Case{"cast_lossy", "%a = cast(%x) {to=f16} %y = cast(%a) {to=f32}", "cast cast"}),
    [](const auto& one) { return std::string(one.param.name); });

TEST(Algebra, MergesLocationsAndKeepsTheLastName) {
  const auto out = test::optimise(over_x(R"(
    %c = const f32[] splat(2)
    %a = mul(%x, %c) loc("first" : "Mul")
    %y = mul(%a, %c) loc("second" : "Mul"))"),
                                  "simplify-algebra");
  const Operation& mul = out.only(OpKind::Mul);
  EXPECT_EQ(mul.location().nodes, (std::vector<std::string>{"first", "second"}));
  EXPECT_EQ(mul.output()->name(), "y");
}

TEST(Identities, StayWhereTheyRequantise) {
  expect_kinds(R"(graph @g(%x: i8[4] q(0.5:0)) -> (y = %y) {
    %y = identity(%x) : i8[4] q(0.25:0)
  })",
               "eliminate-identities", "identity", {.compare = false});
}

TEST(Scaling, LongChainsOfConstantsMergeInLinearWork) {
  Graph graph;
  Tensor* x = graph.add_input("x", TensorType(DType::F32, Shape{4}));
  Tensor* c = graph.add_scalar("c", DType::F32, 0.001);
  for (int i = 0; i < 20000; ++i) {
    x = graph.add_single(OpKind::Add, {x, c}).value();
    if (i % 4 == 0) x = graph.add_single(OpKind::Identity, {x}).value();
    if (i % 4 == 2) x = graph.add_single(OpKind::Relu, {x}).value();
  }
  graph.add_output("y", x);
  PassContext context;
  auto report =
      PassManager().run(graph, "fixpoint(eliminate-identities,simplify-algebra)", context);
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(graph.num_operations(), 10001u);
  for (const PassRun& run : report->passes) EXPECT_LE(run.stats.visits, 150000) << run.name;
}

}  // namespace
}  // namespace ec
