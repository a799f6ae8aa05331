// TFLite's rules: every operation that they call integer has a kernel that computes it here.
#include "backend/tflite/integer_rules.h"

#include <set>

#include "ops/kernel.h"
#include "ops/op_def.h"
#include "quantize/quantized_text.h"

namespace ec::quantize {
namespace {

const char* const kOperands =
    "graph @g(%x: f32[1,4,4,4], %z: f32[1,4,4,4]) -> (y = %y) {\n"
    "  %axes = const i64[2] dense[1,2] %s = const f32[4] dense[0.1,0.2,0.3,0.4]\n"
    "  %pads = const i64[8] dense[0,1,1,0,0,1,1,0] %half = const f32[] splat(0.5)\n"
    "  %zero = const f32[] splat(0) %six = const f32[] splat(6)\n"
    "  %sizes = const i64[4] dense[1,8,8,4] %wt = const f32[4,2,2,3] splat(0)\n"
    "  %shape = const i64[2] dense[4,16] %idx = const i64[2] dense[0,2]\n"
    "  %reps = const i64[4] dense[1,2,1,1] %w = const f32[5,4] splat(0)\n"
    "  %wc = const f32[5,3,3,4] splat(0) %wd = const f32[4,3,3,1] splat(0)\n"
    "  %wg = const f32[5,16] splat(0) %bias = const f32[5] dense[0.1,0.2,-0.3,0.4,0.5]\n"
    "  %first = const i64[1] dense[0] %twice = const i64[4] dense[2,4,4,4]\n"
    "  %nd = const i64[2,2] dense[0,1,0,3]\n"
    "  %b0 = const i64[1] dense[1] %b1 = const i64[1] dense[3] %b2 = const i64[1] dense[2]\n  ";

// Each computes %y from %x and %z, in [-2, 2].
const char* const kCases[] = {
    "%y = conv(%x, %wc, %bias) {layout=nhwc, pads=[1,1,1,1]}",
    "%y = conv(%x, %wc, %bias) {layout=nhwc, activation=relu}",
    "%y = conv(%x, %wd) {layout=nhwc, groups=4, pads=[1,1,1,1], activation=relu6}",
    "%y = conv_transpose(%x, %wt) {layout=nhwc, strides=[2,2]}",
    "%r = reshape(%x, %shape) %y = gemm(%r, %wg, %bias) {transpose_b=true}",
    "%r = reshape(%x, %shape) %y = gemm(%r, %wg) {transpose_b=true, activation=relu}",
    "%y = matmul(%x, %z)",
    "%y = matmul(%x, %w) {transpose_b=true}",
    "%y = add(%x, %z)",
    "%r = add(%x, %z) %y = relu(%r)",
    "%y = sub(%x, %z)",
    "%y = mul(%x, %half)",
    "%y = squared_difference(%x, %z)",
    "%y = max(%x, %z)",
    "%y = min(%x, %half)",
    "%y = relu(%x)",
    "%y = clip(%x, %zero, %six)",
    "%y = leaky_relu(%x)",
    "%y = hard_swish(%x)",
    "%y = elu(%x)",
    "%y = gelu(%x)",
    "%y = prelu(%x, %s)",
    "%y = exp(%x)",
    "%a = abs(%x) %p = add(%a, %half) %y = log(%p)",
    "%a = abs(%x) %p = add(%a, %half) %y = rsqrt(%p)",
    "%y = abs(%x)",
    "%y = sigmoid(%x)",
    "%y = tanh(%x)",
    "%y = softmax(%x) {axis=-1}",
    "%y = log_softmax(%x) {axis=-1}",
    "%y = lp_norm(%x) {axis=-1}",
    "%y = reduce_mean(%x, %axes)",
    "%y = reduce_sum(%x, %axes)",
    "%y = reduce_max(%x, %axes)",
    "%y = reduce_min(%x, %axes)",
    "%y = global_avg_pool(%x) {layout=nhwc}",
    "%y = global_max_pool(%x) {layout=nhwc}",
    "%y = avg_pool(%x) {kernel=[2,2], layout=nhwc}",
    "%y = max_pool(%x) {kernel=[2,2], layout=nhwc}",
    "%c = arg_max(%x) {axis=3} %y = cast(%c) {to=f32}",
    "%c = arg_min(%x) {axis=3} %y = cast(%c) {to=f32}",
    "%c = equal(%x, %x) %y = cast(%c) {to=f32}",
    "%c = less(%x, %z) %y = cast(%c) {to=f32}",
    "%c = less_or_equal(%x, %z) %y = cast(%c) {to=f32}",
    "%c = greater(%x, %z) %y = cast(%c) {to=f32}",
    "%c = greater_or_equal(%x, %z) %y = cast(%c) {to=f32}",
    "%y = concat(%x, %z) {axis=3}",
    "%y = concat(%x, %x) {axis=1}",
    "%r = relu(%x) %y = identity(%r)",
    "%y = reshape(%x, %shape)",
    "%y = flatten(%x)",
    "%y = squeeze(%x, %first)",
    "%y = unsqueeze(%x, %first)",
    "%y = expand(%x, %twice)",
    "%y = transpose(%x) {perm=[0,3,1,2]}",
    "%p, %q = split(%x) {axis=3} %y = add(%p, %q)",
    "%y = slice(%x, %b0, %b1, %b2)",
    "%y = tile(%x, %reps)",
    "%y = gather(%x, %idx) {axis=1}",
    "%y = gather_nd(%x, %nd)",
    "%y = depth_to_space(%x) {block=2, layout=nhwc}",
    "%y = space_to_depth(%x) {block=2, layout=nhwc}",
    "%y = pad(%x, %pads)",
    "%y = pad(%x, %pads, %half)",
    "%y = resize(%x, _, _, %sizes) {mode=nearest}",
    "%y = resize(%x, _, _, %sizes) {mode=linear}",
};

double sqnr_of(const Quantized& q) {
  const std::vector<Value> sample = noise(*q.source, 1)[0];
  const auto expected = interpret(*q.source, sample);
  const auto got = interpret(q.graph(), sample);
  EXPECT_TRUE(expected.ok()) << expected.error().message();
  EXPECT_TRUE(got.ok()) << (got.ok() ? "" : got.error().message());
  if (!expected.ok() || !got.ok()) return 0;
  ErrorStatistics error;
  EXPECT_EQ(expected->at(0).shape, got->at(0).shape);
  error.add(expected->at(0).as<float>(), got->at(0).as<float>());
  return error.sqnr_db();
}

// The float operations of a case: casts of results that are no real numbers.
bool is_cast(const KeptInFloat& kept) { return kept.op == "cast"; }

// Runs the cases whose operations all have an integer form with that width; which operations that
// shows.
std::set<OpKind> run_cases(const TargetSpec& spec, Width width) {
  std::set<OpKind> shown;
  for (const char* body : kCases) {
    SCOPED_TRACE(body);
    std::unique_ptr<Graph> graph = test::graph_from(kOperands + std::string(body) + "\n}");
    std::set<OpKind> integer;
    bool all = true;
    for (const Operation* op : graph->topological()) {
      if (spec.describe(*op, width).integer)
        integer.insert(op->kind());
      else
        all &= op->kind() == OpKind::Cast;
    }
    if (!all) continue;
    QuantizeRequest request = plain_request();
    request.target = &spec;
    const Quantized q =
        quantize_text(std::move(graph), request, width == Width::Wide ? "a16w8" : "ptq");
    if (!q.result.graph) continue;
    EXPECT_TRUE(std::ranges::all_of(q.result.report.kept_in_float, is_cast));
    EXPECT_GT(sqnr_of(q), 20.0);
    shown.insert(integer.begin(), integer.end());
  }
  return shown;
}

void expect_every_op(const TargetSpec& spec, Width width) {
  const std::set<OpKind> shown = run_cases(spec, width);
  for (const OpKind kind : tflite_integer_ops(width))
    EXPECT_TRUE(shown.contains(kind)) << op_def(kind).name << " has no case that runs";
}

TEST(TfliteSpec, EveryIntegerOperationRuns) { expect_every_op(coral_spec(), Width::Narrow); }

TEST(TfliteSpec, EveryOperationWith16BitActivationsRuns) {
  TargetSpec spec = tflite_spec();
  spec.float_norms = false;  // they would keep a root in floating point
  expect_every_op(spec, Width::Wide);
}

TEST(TfliteSpec, OnlyListedOperationsAreInteger) {
  for (const Width width : {Width::Narrow, Width::Wide}) {
    const std::vector<OpKind> listed = tflite_integer_ops(width);
    for (const char* body : kCases) {
      const auto graph = test::graph_from(kOperands + std::string(body) + "\n}");
      for (const Operation* op : graph->topological())
        EXPECT_TRUE(!tflite_spec().describe(*op, width).integer ||
                    std::ranges::find(listed, op->kind()) != listed.end())
            << body;
    }
  }
}

ResultRule expected_result(QuantRule rule) {
  switch (rule) {
    case QuantRule::Free:
    case QuantRule::WeightedSum:
      return ResultRule::Calibrated;
    case QuantRule::SameAsInput:
      return ResultRule::SameScale;
    case QuantRule::FixedOutput:
      return ResultRule::Fixed;
    case QuantRule::Compared:
    case QuantRule::Never:
      return ResultRule::Plain;
  }
  return ResultRule::Plain;
}

// The op table says how results get their parameters; the spec says the rest.
TEST(TfliteSpec, EveryRuleFollowsTheOpTable) {
  for (const TargetSpec* spec : {&tflite_spec(), &coral_spec()})
    for (const Width width : {Width::Narrow, Width::Wide})
      for (const char* body : kCases) {
        const auto graph = test::graph_from(kOperands + std::string(body) + "\n}");
        for (const Operation* op : graph->topological()) {
          const OpRule rule = spec->describe(*op, width);
          if (!rule.integer) continue;
          const QuantRule table = op->def().quant;
          EXPECT_EQ(rule.result, expected_result(table)) << body;
          EXPECT_EQ(rule.fixed.has_value(), table == QuantRule::FixedOutput) << body;
          const bool weighted = std::ranges::count(rule.operands, OperandRole::Weights) > 0;
          EXPECT_TRUE(!weighted || table == QuantRule::WeightedSum) << body;
          EXPECT_TRUE(!rule.moves_data || table == QuantRule::SameAsInput) << body;
        }
      }
  for (const Width width : {Width::Narrow, Width::Wide})
    for (const OpKind kind : tflite_integer_ops(width))
      EXPECT_NE(op_def(kind).quant, QuantRule::Never) << op_def(kind).name;
}

TEST(TableRule, RefusesWhatHasNoIntegerForm) {
  const OpRule rule = rule_from_table(op_def(OpKind::Pow));
  EXPECT_FALSE(rule.integer);
  EXPECT_EQ(rule.reason, "pow is never quantised");
}

}  // namespace
}  // namespace ec::quantize
