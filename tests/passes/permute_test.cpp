// The op table and the code that permutes operations agree, for every operation of the table:
// transpose(f(x), p) = g(transpose(x, p)) where the table says that transposes move over f.
#include "passes/permute.h"

#include <gtest/gtest.h>

#include <set>

#include "ops/attrs.h"
#include "ops/op_def.h"
#include "passes/harness.h"
#include "passes/permute_axes.h"
#include "passes/rewriter.h"

namespace ec::test {
namespace {

const Perm kPerms[] = {{0, 2, 3, 1}, {3, 1, 0, 2}};
const std::vector<int64_t> kSizes = {2, 3, 4, 5};

const char* const kOperands =
    "graph @g(%x: f32[2,3,4,5], %z: f32[2,3,4,5], %one: f32[2,3,1,5], %q: i8[2,3,4,5])"
    " -> (y = %y) {\n"
    "  %axes = const i64[2] dense[1,-1] %axis = const i64[1] dense[2]\n"
    "  %starts = const i64[2] dense[0,1] %ends = const i64[2] dense[2,4]\n"
    "  %all_pads = const i64[8] dense[0,1,2,0,1,0,0,3] %pads = const i64[4] dense[1,2,3,0]\n"
    "  %reps = const i64[4] dense[1,2,3,1] %whole = const i64[4] dense[2,3,4,5]\n"
    "  %larger = const i64[4] dense[2,3,8,10] %two = const i64[2] dense[6,7]\n"
    "  %index = const i64[3] dense[2,0,-1] %scale = const f32[] splat(0.5)\n"
    "  %scales = const f32[4] dense[0.5,0.25,1,2] %zero = const i8[] splat(3)\n"
    "  %zeros = const i8[4] dense[0,1,2,3]\n  ";

// Operations that name axes; at least one case for each.
const char* const kAxisCases[] = {
    "%y = softmax(%x) {axis=1}",
    "%y = softmax(%x) {axis=-1}",
    "%y = log_softmax(%x) {axis=2}",
    "%y = hardmax(%x) {axis=0}",
    "%y = lp_norm(%x) {axis=1}",
    "%y = arg_max(%x) {axis=2}",
    "%y = arg_min(%x) {axis=-1}",
    "%y = reduce_sum(%x, %axes)",
    "%y = reduce_sum(%x)",
    "%y = reduce_mean(%x, %axes)",
    "%y = reduce_max(%x, %axis)",
    "%y = reduce_min(%x, %axis)",
    "%y = reduce_prod(%x, %axis)",
    "%y = reduce_l1(%x, %axis)",
    "%y = reduce_l2(%x, %axes)",
    "%a = abs(%x) %y = reduce_log_sum(%a, %axis)",
    "%y = reduce_log_sum_exp(%x, %axis)",
    "%y = reduce_sum_square(%x, %axes)",
    "%y = concat(%x, %z) {axis=1}",
    "%y = concat(%x, %z, %x) {axis=-1}",
    "%y, %other = split(%x) {axis=2}",
    "%y = slice(%x, %starts, %ends, %axes)",
    "%y = slice(%x, %starts, %ends)",
    "%y = pad(%x, %all_pads)",
    "%y = pad(%x, %pads, %scale, %axes)",
    "%y = tile(%x, %reps)",
    "%y = expand(%one, %whole)",
    "%y = resize(%x, _, _, %larger) {mode=nearest}",
    "%y = resize(%x, _, _, %two) {mode=linear, axes=[2,3]}",
    "%y = gather(%x, %index) {axis=2}",
    "%y = quantize(%x, %scale, %zero) {dtype=i8}",
    "%y = quantize(%x, %scales, %zeros) {axis=2, dtype=i8}",
    "%y = dequantize(%q, %scales, %zeros) {axis=2}",
};

// The graph whose operation reads transposed operands and has its results transposed back.
std::unique_ptr<Graph> permuted_graph(const Graph& source, const Perm& perm) {
  std::unique_ptr<Graph> graph = source.clone();
  PassContext context;
  Rewriter rewriter(*graph, context);
  Operation* op = graph->outputs()[0]->producer();
  const auto roles = permute_roles(op, perm);
  EXPECT_TRUE(roles) << "no permuted form";
  if (!roles) return nullptr;
  std::vector<Tensor*> inputs = op->inputs();
  for (size_t i = 0; i < inputs.size(); ++i)
    if (roles->inputs[i] == PermuteRole::Data)
      inputs[i] = rewriter.transpose(inputs[i], perm, {}).value();
  const auto result = add_permuted(rewriter, op, std::move(inputs), perm);
  EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().message());
  if (!result.ok()) return nullptr;
  Tensor* y = (*result)->output();
  if (roles->outputs[0] == PermuteRole::Data) y = rewriter.transpose(y, inverse(perm), {}).value();
  graph->set_output(0, y);
  return graph;
}

void expect_permutes(const Graph& graph) {
  for (const Perm& perm : kPerms)
    if (const auto permuted = permuted_graph(graph, perm)) expect_same_results(graph, *permuted);
}

TEST(LayoutRule, OpsThatNameAxesArePermuted) {
  std::set<OpKind> shown;
  for (const char* body : kAxisCases) {
    SCOPED_TRACE(body);
    const auto graph = graph_from(kOperands + std::string(body) + "\n}");
    ASSERT_FALSE(graph->outputs().empty());
    shown.insert(graph->outputs()[0]->producer()->kind());
    expect_permutes(*graph);
  }
  for (const OpDef* def : all_ops()) {
    const bool names_axes = def->layout == LayoutRule::AxisAttr;
    EXPECT_EQ(axis_form(def->kind) != nullptr, names_axes) << def->name;
    EXPECT_EQ(shown.contains(def->kind), names_axes) << def->name;
  }
}

// One operation on inputs of these element types; null where it takes others. The last operand is
// broadcast where there are several.
std::unique_ptr<Graph> elementwise_graph(const OpDef& def, const std::vector<DType>& types) {
  auto graph = std::make_unique<Graph>("g");
  std::vector<Tensor*> operands;
  for (const DType dtype : types) {
    const bool last = !operands.empty() && operands.size() + 1 == types.size();
    const Shape shape = last ? Shape{4, 1} : Shape::of(kSizes);
    const std::string name = "x" + std::to_string(operands.size());
    operands.push_back(graph->add_input(name, TensorType(dtype, shape)));
  }
  OpSpec spec;
  spec.attrs = def.kind == OpKind::FakeQuant ? Attrs(FakeQuantAttrs{.min = -1, .max = 1})
                                             : Attrs::defaults_of(def.attrs());
  const auto op = graph->add(def.kind, std::move(operands), std::move(spec));
  if (!op.ok()) return nullptr;
  graph->add_output("y", (*op)->output());
  return graph;
}

std::unique_ptr<Graph> elementwise_graph(const OpDef& def) {
  const auto count = static_cast<size_t>(def.inputs().min);
  for (const DType dtype : {DType::F32, DType::I32, DType::Bool})
    if (auto graph = elementwise_graph(def, std::vector<DType>(count, dtype))) return graph;
  return elementwise_graph(def, {DType::Bool, DType::F32, DType::F32});  // a condition
}

TEST(LayoutRule, ElementwiseOpsArePermuted) {
  for (const OpDef* def : all_ops()) {
    if (def->layout != LayoutRule::Agnostic) continue;
    SCOPED_TRACE(def->name);
    const auto graph = elementwise_graph(*def);
    ASSERT_NE(graph, nullptr);
    expect_permutes(*graph);
  }
}

// No rule but the table decides: what it calls fixed has no permuted form, whatever the operands.
TEST(LayoutRule, OtherOpsStayAsTheyAre) {
  for (const char* body :
       {"%y = transpose(%x) {perm=[0,2,3,1]}", "%y = flatten(%x)", "%y = unsqueeze(%x, %axis)",
        "%y = reverse(%x) {axes=[2]}", "%y = cum_sum(%x, %axis)",
        "%y = matmul(%x, %z) {transpose_b=true}", "%y = global_avg_pool(%x) {layout=nhwc}"}) {
    SCOPED_TRACE(body);
    const auto graph = graph_from(kOperands + std::string(body) + "\n}");
    for (const Perm& perm : kPerms)
      EXPECT_FALSE(permute_roles(graph->outputs()[0]->producer(), perm));
  }
}

}  // namespace
}  // namespace ec::test
