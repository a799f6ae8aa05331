#include "quantize/plan/plan.h"

#include "backend/coral/integer_rules.h"
#include "backend/tflite/integer_rules.h"
#include "passes/harness.h"
#include "quantize/ranges/parameters.h"

namespace ec::quantize {
namespace {

// A graph, its plan, and parameters from ranges that the test states by tensor name.
class Planned {
 public:
  explicit Planned(const std::string& text, PlanOptions options = {})
      : graph_(test::graph_from(text)), plan_(make_plan(*graph_, tflite_spec(), options)) {}

  bool integer(std::string_view tensor) const { return plan_.of(find(tensor)->producer()).integer; }
  std::string reason(std::string_view tensor) const {
    return plan_.of(find(tensor)->producer()).reason;
  }
  bool same(std::string_view a, std::string_view b) const {
    return plan_.group[plan_.stored_form(find(a))] == plan_.group[plan_.stored_form(find(b))];
  }
  Width stored(std::string_view name) const { return plan_.stored[find(name)->id()]; }
  uint32_t operation(std::string_view tensor) const { return find(tensor)->producer()->id(); }
  bool observed(std::string_view name) const { return plan_.observed[find(name)->id()]; }

  QuantParams params(std::string_view name, const std::map<std::string, Range>& given,
                     const std::map<std::string, Range>& wide = {}) const {
    Ranges ranges;
    ranges.resize(graph_->tensor_id_bound());
    for (const Tensor* tensor : graph_->tensors())
      if (plan_.observed[tensor->id()]) ranges[tensor->id()] = Range{0, 1};
    for (const auto& [tensor, range] : given) ranges[find(tensor)->id()] = range;
    if (!wide.empty()) ranges.wide = ranges;
    for (const auto& [tensor, range] : wide) ranges.wide[find(tensor)->id()] = range;
    const auto all = assign_parameters(*graph_, plan_, ranges);
    EXPECT_TRUE(all.ok());
    const auto& found = (*all)[plan_.stored_form(find(name))];
    EXPECT_TRUE(found.has_value()) << name;
    return found.value_or(QuantParams{{0}, {0}, -1});
  }

 private:
  const Tensor* find(std::string_view name) const {
    const Tensor* tensor = graph_->find_tensor(name);
    EXPECT_NE(tensor, nullptr) << name;
    return tensor;
  }
  std::unique_ptr<Graph> graph_;
  Plan plan_;
};

std::string over_images(const std::string& body) {
  return "graph @g(%x: f32[1,4,4,2], %z: f32[1,4,4,2]) -> (y = %y) {\n"
         "  %w = const f32[2,1,1,2] splat(0) %b = const f32[2] dense[1,2]\n" +
         body + "\n}";
}

TEST(Plan, SameScaleRunsThroughMovement) {
  const Planned p(
      over_images("%a = conv(%x, %w, %b) {layout=nhwc} %m = max_pool(%a) {kernel=[2,2], "
                  "layout=nhwc} %s = const i64[2] dense[1,-1] %y = reshape(%m, %s)"));
  EXPECT_TRUE(p.integer("y"));
  EXPECT_TRUE(p.same("a", "m") && p.same("m", "y"));
  EXPECT_FALSE(p.same("x", "a"));
}

const std::string kMovedInput = over_images(
    "%p = const i64[8] dense[0,1,1,0,0,1,1,0] %t = transpose(%x) {perm=[0,2,1,3]} "
    "%a = pad(%t, %p) %c = conv(%a, %w, %b) {layout=nhwc} %y = conv(%c, %w, %b) {layout=nhwc}");

TEST(Plan, MovedInputsAreAsWideAsTheirReaders) {
  const Planned narrow(kMovedInput);
  EXPECT_EQ(narrow.stored("a"), Width::Narrow);
  PlanOptions options;
  options.chosen[narrow.operation("y")] = {Precision::Wide, "raised"};
  EXPECT_EQ(Planned(kMovedInput, options).stored("a"), Width::Narrow);
  options.chosen[narrow.operation("c")] = {Precision::Wide, "raised"};
  const Planned wide(kMovedInput, options);
  EXPECT_EQ(wide.stored("a"), Width::Wide);
  EXPECT_EQ(wide.stored("t"), Width::Wide);
  EXPECT_EQ(wide.stored("x"), Width::Wide);
}

TEST(Plan, WideFormsMayHaveRangesOfTheirOwn) {
  PlanOptions options;
  options.chosen[Planned(kMovedInput).operation("c")] = {Precision::Wide, "raised"};
  const Planned p(kMovedInput, options);
  const std::map<std::string, Range> narrow{{"c", {-1, 1}}, {"y", {-1, 1}}};
  EXPECT_FLOAT_EQ(p.params("c", narrow).scales[0], 1.0f / 32767);
  EXPECT_FLOAT_EQ(p.params("c", narrow, {{"c", {-4, 4}}}).scales[0], 4.0f / 32767);
  EXPECT_FLOAT_EQ(p.params("y", narrow, {{"y", {-4, 4}}}).scales[0], 2.0f / 255);
}

TEST(Plan, WeightsWithoutElementsStayInFloat) {
  const Planned p(
      over_images("%none = const f32[0,1,1,2] splat(0) %y = conv(%x, %none) {layout=nhwc}"));
  EXPECT_FALSE(p.integer("y"));
}
TEST(Plan, ConcatUnifiesItsOperands) {
  const Planned p(over_images("%a = relu(%x) %c = relu(%z) %y = concat(%a, %c) {axis=3}"));
  EXPECT_TRUE(p.same("a", "c") && p.same("a", "y"));
  const QuantParams wide = p.params("a", {{"c", {0, 10}}});
  EXPECT_FLOAT_EQ(wide.scales[0], 10.0f / 255);
}

TEST(Plan, FixedOutputsKeepTheirParameters) {
  const Planned p(
      over_images("%s = sigmoid(%x) %t = identity(%s) %r = relu(%z) "
                  "%y = concat(%t, %r) {axis=3}"));
  EXPECT_EQ(p.params("s", {}), (QuantParams{{1.0f / 256}, {-128}, -1}));
  EXPECT_TRUE(p.same("s", "t"));
  EXPECT_FALSE(p.same("t", "y"));
  // The concatenation still has to hold what the sigmoid gives.
  EXPECT_FLOAT_EQ(p.params("y", {{"t", {0, 1}}, {"r", {0, 0.5f}}, {"y", {0, 0.5f}}}).scales[0],
                  1.0f / 255);
}

TEST(Plan, FixedOutputsThatAgreeAreJoined) {
  const Planned p(over_images("%s = sigmoid(%x) %t = sigmoid(%z) %y = concat(%s, %t) {axis=3}"));
  EXPECT_EQ(p.params("y", {}), (QuantParams{{1.0f / 256}, {-128}, -1}));
  const Planned q(over_images("%s = sigmoid(%x) %t = tanh(%z) %y = concat(%s, %t) {axis=3}"));
  EXPECT_FLOAT_EQ(q.params("y", {{"y", {-1, 1}}}).scales[0], 2.0f / 255);
}

TEST(Plan, ConstantsThatFitKeepPrescribedParameters) {
  const std::string pads = "%p = const i64[8] dense[0,1,1,0,0,1,1,0] %s = sigmoid(%x) ";
  const Planned zero(over_images(pads + "%v = const f32[] splat(0) %y = pad(%s, %p, %v)"));
  EXPECT_TRUE(zero.same("s", "y"));
  const Planned five(over_images(pads + "%v = const f32[] splat(5) %y = pad(%s, %p, %v)"));
  EXPECT_FALSE(five.same("s", "y"));
  EXPECT_FLOAT_EQ(five.params("y", {}).scales[0], 5.0f / 255);
}

TEST(Plan, ActivationsBehindSumsDecideTheRange) {
  const Planned p(over_images("%a = add(%x, %z) %y = relu(%a)"));
  EXPECT_TRUE(p.same("a", "y"));
  EXPECT_FALSE(p.observed("a"));
  EXPECT_EQ(p.params("a", {{"y", {0, 3}}}).zero_points[0], -128);
  // A second reader needs the sum itself.
  const Planned q(over_images("%a = add(%x, %z) %r = relu(%a) %y = mul(%a, %r)"));
  EXPECT_FALSE(q.same("a", "r"));
  EXPECT_TRUE(q.observed("a"));
}

TEST(Plan, ConstantsCountInTheGroupTheyJoin) {
  const Planned p(over_images("%k = const f32[1,4,4,1] splat(-8) %y = concat(%x, %k) {axis=3}"));
  const QuantParams params = p.params("x", {{"x", {0, 1}}});
  EXPECT_FLOAT_EQ(params.scales[0], 9.0f / 255);
}

TEST(Plan, WhatHasNoIntegerFormStaysFloatWithItsReason) {
  const Planned p(over_images("%a = sin(%x) %t = transpose(%a) {perm=[0,3,1,2]} %y = relu(%t)"));
  EXPECT_FALSE(p.integer("a"));
  EXPECT_NE(p.reason("a").find("sin"), std::string::npos);
  EXPECT_FALSE(p.integer("t"));  // moves floats
  EXPECT_TRUE(p.integer("y"));
}

TEST(Plan, ShapeArithmeticIsLeftAlone) {
  const Planned p(
      over_images("%s = shape(%x) %two = const i64[] splat(1) %d = mul(%s, %two) "
                  "%y = reshape(%x, %d)"));
  EXPECT_FALSE(p.integer("d"));
  EXPECT_TRUE(p.reason("d").empty());
}

TEST(Plan, WeightsThatAreNotConstantAndInfinitiesStayFloat) {
  const Planned p(
      "graph @g(%x: f32[1,4,4,2], %w: f32[2,1,1,2]) -> (y = %y) {\n"
      "%y = conv(%x, %w) {layout=nhwc}\n}");
  EXPECT_FALSE(p.integer("y"));
  const Planned q(over_images("%k = const f32[] splat(-inf) %y = max(%x, %k)"));
  EXPECT_FALSE(q.integer("y"));
}

TEST(Plan, NormalisationsStayFloat) {
  const std::string text =
      "graph @g(%x: f32[2,8]) -> (y = %y) {\n"
      "  %axes = const i64[1] dense[1] %eps = const f32[] splat(0.001) %g = const f32[8] splat(2)\n"
      "  %h = relu(%x) %m = reduce_mean(%h, %axes) %d = sub(%h, %m) %q = mul(%d, %d)\n"
      "  %v = reduce_mean(%q, %axes) %e = add(%v, %eps) %r = rsqrt(%e) %n = mul(%d, %r)\n"
      "  %y = mul(%n, %g)\n}";
  const Planned p(text);
  for (const char* part : {"m", "d", "q", "v", "e", "r", "n"})
    EXPECT_FALSE(p.integer(part)) << part;
  EXPECT_TRUE(p.integer("h"));
  EXPECT_TRUE(p.integer("y"));
}

TEST(Plan, KeepFloatByName) {
  PlanOptions options;
  options.keep_float = {"head/*"};
  const Planned p(over_images("%a = relu(%x) loc(\"body/relu\" : \"Relu\") "
                              "%y = mul(%a, %z) loc(\"head/mul\" : \"Mul\")"),
                  options);
  EXPECT_TRUE(p.integer("a"));
  EXPECT_FALSE(p.integer("y"));
}

TEST(Plan, IntegerOutputsGetParameters) {
  PlanOptions options;
  options.integer_outputs = true;
  const Planned p(over_images("%a = relu(%x) %y = sin(%a)"), options);
  EXPECT_TRUE(p.observed("y"));
}

TEST(Glob, Matches) {
  EXPECT_TRUE(matches_glob("*", ""));
  EXPECT_TRUE(matches_glob("a*c?e", "abbbcde"));
  EXPECT_FALSE(matches_glob("a*c?e", "abbbcd"));
  EXPECT_TRUE(matches_glob("*head*", "model/head/conv"));
  EXPECT_FALSE(matches_glob("head", "head1"));
  EXPECT_FALSE(matches_glob("", "x"));
  const std::string many(2000, 'a');
  EXPECT_FALSE(matches_glob("*a*a*a*a*a*a*a*b", many));
}

}  // namespace
}  // namespace ec::quantize
