#include "ir/graph.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "ops/attrs.h"
#include "ops/op_def.h"

namespace ec {
namespace {

TEST(OpTable, EveryOpHasNameAndSignature) {
  for (const OpDef* def : all_ops()) {
    EXPECT_FALSE(def->name.empty());
    EXPECT_NE(def->signature.find("->"), std::string_view::npos) << def->name;
    EXPECT_NE(def->infer, nullptr) << def->name;
    EXPECT_EQ(find_op(def->name), def);
  }
}

TEST(OpTable, SignaturesGiveArity) {
  const auto arity = [](OpKind kind) {
    const OpDef& def = op_def(kind);
    return std::vector<int>{def.inputs().min, def.inputs().max, def.outputs().min,
                            def.outputs().max};
  };
  EXPECT_EQ(arity(OpKind::Relu), (std::vector<int>{1, 1, 1, 1}));
  EXPECT_EQ(arity(OpKind::Slice), (std::vector<int>{3, 5, 1, 1}));
  EXPECT_EQ(arity(OpKind::Concat), (std::vector<int>{0, -1, 1, 1}));
  EXPECT_EQ(arity(OpKind::Unique), (std::vector<int>{1, 1, 1, 4}));
  EXPECT_EQ(arity(OpKind::If), (std::vector<int>{1, -1, 0, -1}));
}

const TensorType kRow(DType::F32, Shape{3});

Tensor* add_op(Graph& graph, OpKind kind, std::vector<Tensor*> inputs, Attrs attrs = {}) {
  auto added = graph.add_single(kind, std::move(inputs), std::move(attrs));
  EXPECT_TRUE(added.ok()) << added.error().message();
  return added.ok() ? *added : nullptr;
}

// x -> relu -> a -> add(a, x) -> b, with a and b as outputs.
struct Chain {
  Graph graph;
  Tensor *x, *a, *b;

  Chain() {
    x = graph.add_input("x", kRow);
    a = add_op(graph, OpKind::Relu, {x});
    b = add_op(graph, OpKind::Add, {a, x});
    graph.add_output("first", a);
    graph.add_output("second", b);
  }
};

// --- names
// ----------------------------------------------------------------------------------------

TEST(Graph, NamesAreUnique) {
  Graph graph;
  Tensor* a = graph.add_input("x", kRow);
  Tensor* b = graph.add_input("x", kRow);
  Tensor* c = graph.add_input("", kRow);
  EXPECT_EQ(a->name(), "x");
  EXPECT_NE(b->name(), "x");
  EXPECT_FALSE(c->name().empty());
  EXPECT_EQ(graph.find_tensor("x"), a);
  EXPECT_EQ(graph.find_tensor(b->name()), b);
  EXPECT_EQ(graph.find_tensor("nowhere"), nullptr);
}

TEST(Graph, ManyEqualNamesStayDifferent) {
  Graph graph;
  std::vector<std::string> names;
  for (int i = 0; i < 1000; ++i) names.push_back(graph.add_input("n", kRow)->name());
  std::sort(names.begin(), names.end());
  EXPECT_EQ(std::unique(names.begin(), names.end()), names.end());
}

TEST(Graph, RenameKeepsTheIndex) {
  Graph graph;
  Tensor* a = graph.add_input("a", kRow);
  Tensor* b = graph.add_input("b", kRow);
  graph.rename(a, "c");
  EXPECT_EQ(graph.find_tensor("a"), nullptr);
  EXPECT_EQ(graph.find_tensor("c"), a);
  graph.rename(b, "c");
  EXPECT_EQ(graph.find_tensor("c"), a);
  EXPECT_NE(b->name(), "c");
}

// --- edges
// ----------------------------------------------------------------------------------------

TEST(Graph, UsesFollowOperands) {
  Chain chain;
  EXPECT_EQ(chain.x->uses().size(), 2u);
  EXPECT_EQ(chain.a->producer()->kind(), OpKind::Relu);
  EXPECT_FALSE(chain.graph.has_single_use(chain.a));  // also an output
  Operation* add = chain.b->producer();
  chain.graph.set_operand(add, 1, chain.a);
  EXPECT_EQ(chain.x->uses().size(), 1u);
  EXPECT_EQ(chain.a->uses(), (std::vector<Use>{{add, 0}, {add, 1}}));
  chain.graph.set_operands(add, {chain.x, chain.x});
  EXPECT_TRUE(chain.a->uses().empty());
  EXPECT_EQ(chain.x->uses().size(), 3u);
  EXPECT_TRUE(verify(chain.graph).empty());
}

TEST(Graph, ManyReadersOfOneTensorGoInAnyOrder) {
  Graph graph;
  Tensor* x = graph.add_input("x", kRow);
  std::vector<Operation*> readers;
  for (int i = 0; i < 1000; ++i) readers.push_back(add_op(graph, OpKind::Neg, {x})->producer());
  std::vector<Use> expected;
  for (Operation* op : readers) expected.push_back({op, 0});
  // From the front, the back and in between; those that stay keep their order.
  uint32_t random = 1;
  while (expected.size() > 3) {
    random = random * 1664525 + 1013904223;
    const size_t at = expected.size() % 3 == 0   ? 0
                      : expected.size() % 3 == 1 ? expected.size() - 1
                                                 : random % expected.size();
    graph.erase(expected[at].op);
    expected.erase(expected.begin() + static_cast<std::ptrdiff_t>(at));
    ASSERT_EQ(x->uses().size(), expected.size());
    ASSERT_EQ(x->uses().front(), expected.front());
    ASSERT_TRUE(x->uses() == expected);
  }
  const Tensor* again = add_op(graph, OpKind::Abs, {x});
  expected.push_back({again->producer(), 0});
  EXPECT_TRUE(x->uses() == expected);
  EXPECT_TRUE(verify(graph).empty());
}

TEST(Graph, OperandsMayBeAbsent) {
  Graph graph;
  Tensor* x = graph.add_input("x", kRow);
  Tensor* low = graph.add_scalar("low", DType::F32, 0);
  Tensor* y = add_op(graph, OpKind::Clip, {x, low});
  graph.set_operand(y->producer(), 2, low);
  EXPECT_EQ(y->producer()->inputs().size(), 3u);
  graph.set_operand(y->producer(), 1, nullptr);
  EXPECT_EQ(low->uses(), (std::vector<Use>{{y->producer(), 2}}));
  EXPECT_EQ(y->producer()->input(7), nullptr);
  EXPECT_TRUE(verify(graph).empty());
}

TEST(Graph, ReplaceAllUsesMovesOperandsAndOutputs) {
  Chain chain;
  Tensor* other = add_op(chain.graph, OpKind::Neg, {chain.x});
  chain.graph.replace_all_uses(chain.a, other);
  EXPECT_EQ(chain.b->producer()->input(0), other);
  EXPECT_EQ(chain.graph.outputs()[0], other);
  EXPECT_EQ(chain.graph.output_names()[0], "first");
  EXPECT_TRUE(chain.graph.is_unused(chain.a));
  EXPECT_FALSE(chain.graph.is_output(chain.a));
  chain.graph.erase(chain.a->producer());
  EXPECT_EQ(chain.graph.num_operations(), 2u);
  EXPECT_TRUE(verify(chain.graph).empty());
}

TEST(Graph, ReplacementTakesTheSourceName) {
  Graph graph;
  Tensor* x = graph.add_input("x", kRow);
  OpSpec spec;
  spec.output_names = {"conv1"};
  Tensor* named = graph.add(OpKind::Relu, {x}, std::move(spec)).value()->output();
  Tensor* fresh = add_op(graph, OpKind::Neg, {x});
  graph.add_output("y", named);
  graph.replace_all_uses(named, fresh);
  EXPECT_EQ(fresh->name(), "conv1");
  EXPECT_EQ(graph.find_tensor("conv1"), fresh);
  EXPECT_EQ(graph.find_tensor(named->name()), named);
  // An input keeps its name: it is part of the interface.
  graph.replace_all_uses(x, add_op(graph, OpKind::Abs, {x}));
  EXPECT_EQ(x->name(), "x");
}

TEST(Graph, EraseRemovesInputsOutputsAndConstants) {
  Graph graph;
  Tensor* x = graph.add_input("x", kRow);
  graph.add_input("unused", kRow);
  Tensor* c = graph.add_scalar("c", DType::F32, 1);
  Tensor* y = add_op(graph, OpKind::Add, {x, c});
  graph.add_output("y", y);
  graph.add_output("again", y);
  graph.erase_input(1);
  EXPECT_EQ(graph.inputs().size(), 1u);
  EXPECT_EQ(graph.find_tensor("unused"), nullptr);
  graph.erase_output(0);
  EXPECT_TRUE(graph.is_output(y));
  EXPECT_EQ(graph.output_names(), (std::vector<std::string>{"again"}));
  graph.erase_output(0);
  EXPECT_FALSE(graph.is_output(y));
  graph.erase(y->producer());
  EXPECT_TRUE(c->uses().empty());
  graph.erase(c);
  EXPECT_EQ(graph.tensors(), (std::vector<Tensor*>{x}));
  EXPECT_EQ(graph.num_operations(), 0u);
}

TEST(Graph, FailedAddLeavesNoTrace) {
  Graph graph;
  Tensor* x = graph.add_input("x", TensorType(DType::F32, Shape{2}));
  Tensor* y = graph.add_input("y", TensorType(DType::F32, Shape{3}));
  EXPECT_FALSE(graph.add(OpKind::Add, {x, y}).ok());
  EXPECT_FALSE(graph.add(OpKind::Relu, {x, y}).ok());
  EXPECT_FALSE(graph.add(OpKind::Relu, {nullptr}).ok());
  OpSpec foreign;
  foreign.attrs = GatherAttrs{};
  EXPECT_FALSE(graph.add(OpKind::Relu, {x}, std::move(foreign)).ok());
  EXPECT_TRUE(x->uses().empty());
  EXPECT_EQ(graph.num_operations(), 0u);
  EXPECT_EQ(graph.tensors().size(), 2u);
}

TEST(Graph, TopologicalOrder) {
  Chain chain;
  Tensor* late = add_op(chain.graph, OpKind::Neg, {chain.x});
  // The first operation now reads the last one's result.
  chain.graph.set_operand(chain.a->producer(), 0, late);
  const auto order = chain.graph.topological();
  ASSERT_EQ(order.size(), 3u);
  EXPECT_EQ(order[0]->kind(), OpKind::Neg);
  EXPECT_EQ(order[1]->kind(), OpKind::Relu);
  EXPECT_EQ(order[2]->kind(), OpKind::Add);
}

TEST(Graph, DeepGraphsNeedNoStack) {
  Graph graph;
  Tensor* t = graph.add_input("x", kRow);
  for (int i = 0; i < 100000; ++i) t = add_op(graph, OpKind::Neg, {t});
  graph.add_output("y", t);
  EXPECT_EQ(graph.topological().size(), 100000u);
  const auto copy = graph.clone();
  EXPECT_TRUE(*copy == graph);
}

TEST(Location, MergeKeepsNamesOnce) {
  Location a("conv", "Conv"), b("relu", "Relu");
  b.merge(Location("bn"));
  a.merge(b);
  a.merge(b);
  EXPECT_EQ(a.nodes, (std::vector<std::string>{"conv", "relu", "bn"}));
  EXPECT_EQ(a.op_type, "Conv");
}

// --- clone and equality
// ---------------------------------------------------------------------------

std::unique_ptr<Graph> branching_graph() {
  auto graph = std::make_unique<Graph>("g");
  graph->metadata()["format"] = "test";
  Tensor* c = graph->add_input("c", TensorType(DType::Bool, Shape{}));
  Tensor* x = graph->add_input("x", TensorType(DType::F32, Shape{Dim::symbol("N"), 3}));
  Tensor* shape = add_op(*graph, OpKind::Shape, {x});
  Tensor* flat = add_op(*graph, OpKind::Reshape, {x, shape});
  OpSpec spec;
  spec.location = Location("branch", "If");
  for (const OpKind kind : {OpKind::Relu, OpKind::Neg}) {
    auto body = std::make_unique<Graph>("body");
    Tensor* in = body->add_input("in", flat->type());
    body->add_output("out", add_op(*body, kind, {in}));
    spec.bodies.push_back(std::move(body));
  }
  graph->add_output("y", graph->add(OpKind::If, {c, flat}, std::move(spec)).value()->output());
  return graph;
}

TEST(Clone, IsEqualAndIndependent) {
  const auto graph = branching_graph();
  const auto copy = graph->clone();
  EXPECT_TRUE(*copy == *graph);
  EXPECT_TRUE(verify(*copy).empty());
  EXPECT_TRUE(copy->tensors()[2]->dim_values() == graph->tensors()[2]->dim_values());
  copy->rename(copy->find_tensor("x"), "renamed");
  EXPECT_FALSE(*copy == *graph);
  EXPECT_NE(graph->find_tensor("x"), nullptr);
}

TEST(Graph, ConstantTruthValuesAreZerosAndOnes) {
  Graph graph("g");
  const std::array<uint8_t, 4> bytes = {0, 1, 2, 255};
  const Blob data = Blob::copy_of(std::as_bytes(std::span(bytes)));
  Tensor* c = graph.add_constant("c", TensorType(DType::Bool, Shape{4}), data);
  const std::array<uint8_t, 4> wanted = {0, 1, 1, 1};
  EXPECT_EQ(c->data(), Blob::copy_of(std::as_bytes(std::span(wanted))));
  graph.set_constant_data(c, TensorType(DType::Bool, Shape{4}), data);
  EXPECT_EQ(c->data(), Blob::copy_of(std::as_bytes(std::span(wanted))));
}

TEST(Clone, SharesConstantBytes) {
  Graph graph;
  const std::vector<float> values(1000, 1.5f);
  Tensor* c = graph.add_constant<float>("c", Shape{1000}, values);
  graph.add_output("y", c);
  const auto copy = graph.clone();
  EXPECT_EQ(copy->find_tensor("c")->raw_data().bytes().data(), c->raw_data().bytes().data());
}

TEST(Clone, CompactsIds) {
  Chain chain;
  Tensor* dead = add_op(chain.graph, OpKind::Neg, {chain.x});
  Tensor* kept = add_op(chain.graph, OpKind::Abs, {chain.x});
  chain.graph.add_output("kept", kept);
  chain.graph.erase(dead->producer());
  const auto copy = chain.graph.clone();
  EXPECT_EQ(copy->operation_id_bound(), copy->num_operations());
  EXPECT_EQ(copy->tensor_id_bound(), copy->tensors().size());
  EXPECT_TRUE(*copy == chain.graph);
}

TEST(Equality, SeesEveryDifference) {
  const auto differs = [](auto&& change) {
    const auto a = branching_graph();
    const auto b = branching_graph();
    EXPECT_TRUE(*a == *b);
    change(*b);
    return !(*a == *b);
  };
  EXPECT_TRUE(differs([](Graph& g) { g.set_name("other"); }));
  EXPECT_TRUE(differs([](Graph& g) { g.metadata()["format"] = "other"; }));
  EXPECT_TRUE(differs([](Graph& g) { g.add_input("extra", kRow); }));
  EXPECT_TRUE(differs([](Graph& g) { g.add_output("extra", g.inputs()[0]); }));
  EXPECT_TRUE(differs([](Graph& g) { g.set_type(g.find_tensor("x"), kRow); }));
  EXPECT_TRUE(differs([](Graph& g) { g.rename(g.find_tensor("x"), "z"); }));
  EXPECT_TRUE(differs([](Graph& g) {
    g.set_quant(g.find_tensor("x"), QuantParams{{1}, {0}, -1});
  }));
  EXPECT_TRUE(differs([](Graph& g) { g.set_location(g.topological()[0], Location("elsewhere")); }));
  EXPECT_TRUE(differs([](Graph& g) { g.set_attrs(g.topological()[0], ShapeAttrs{1, 2}); }));
  EXPECT_TRUE(differs([](Graph& g) {
    Graph& body = *g.topological().back()->bodies()[1];
    body.set_kind(body.topological()[0], OpKind::Abs, NoAttrs{});
  }));
}

// --- verify
// ---------------------------------------------------------------------------------------

bool has_fault(const Graph& graph, std::string_view text) {
  const auto faults = verify(graph);
  return std::any_of(faults.begin(), faults.end(), [&](const Diagnostic& d) {
    return d.message.find(text) != std::string::npos;
  });
}

TEST(Verify, SoundGraphHasNoFaults) {
  EXPECT_TRUE(verify(Chain().graph).empty());
  EXPECT_TRUE(verify(*branching_graph()).empty());
  EXPECT_TRUE(verify(Graph()).empty());
}

TEST(Verify, FindsCycles) {
  Chain chain;
  chain.graph.set_operand(chain.a->producer(), 0, chain.b);
  EXPECT_TRUE(has_fault(chain.graph, "cycle"));
}

TEST(Verify, FindsWrongArityAndAttributes) {
  Chain chain;
  chain.graph.set_operands(chain.a->producer(), {chain.x, chain.x});
  EXPECT_TRUE(has_fault(chain.graph, "wrong number"));
  chain.graph.set_operands(chain.b->producer(), {});
  EXPECT_TRUE(has_fault(chain.graph, "add has the wrong number"));
  chain.graph.set_operands(chain.b->producer(), {nullptr, chain.x});
  EXPECT_TRUE(has_fault(chain.graph, "add lacks operand 0"));
  const auto other = branching_graph();
  other->set_attrs(other->topological()[0], GatherAttrs{});
  EXPECT_TRUE(has_fault(*other, "shape has attributes of another op"));
}

TEST(Verify, FindsTypesThatInferenceContradicts) {
  Chain chain;
  chain.graph.set_type(chain.b, TensorType(DType::F32, Shape{4}));
  EXPECT_TRUE(has_fault(chain.graph, "inference says f32[3]"));
  chain.graph.set_type(chain.b, TensorType(DType::I8, Shape{3}));
  EXPECT_TRUE(has_fault(chain.graph, "inference says f32[3]"));
  // Knowing less or naming a size is no contradiction.
  chain.graph.set_type(chain.b, TensorType(DType::F32, Shape{Dim::symbol("N")}));
  EXPECT_TRUE(verify(chain.graph).empty());
  chain.graph.set_type(chain.b, TensorType(DType::F32));
  EXPECT_TRUE(verify(chain.graph).empty());
}

TEST(Verify, FindsOperandsThatDoNotFit) {
  Chain chain;
  chain.graph.set_type(chain.x, TensorType(DType::F16, Shape{3}));
  EXPECT_TRUE(has_fault(chain.graph, "different element types"));
}

TEST(Verify, ManyUsesOfOneTensorStayCheap) {
  Graph graph;
  Tensor* x = graph.add_input("x", kRow);
  for (int i = 0; i < 50000; ++i) graph.add_output("y", add_op(graph, OpKind::Add, {x, x}));
  EXPECT_TRUE(verify(graph).empty());
}

TEST(Verify, FindsBadConstants) {
  Graph graph;
  const std::vector<float> values = {1, 2};
  Tensor* c = graph.add_constant<float>("c", Shape{2}, values);
  graph.add_output("y", c);
  graph.set_type(c, TensorType(DType::F32, Shape{3}));
  EXPECT_TRUE(has_fault(graph, "needs 12 bytes and has 8"));
  graph.set_type(c, TensorType(DType::F32, Shape{Dim::symbol("N")}));
  EXPECT_TRUE(has_fault(graph, "without a static shape"));
}

TEST(Verify, FindsBadQuantisation) {
  Graph graph;
  Tensor* x = graph.add_input("x", TensorType(DType::I8, Shape{2, 3}));
  graph.add_output("y", x);
  const auto faulty = [&](QuantParams quant, std::string_view text) {
    graph.set_quant(x, std::move(quant));
    return has_fault(graph, text);
  };
  EXPECT_TRUE(faulty({{}, {}, -1}, "0 scales"));
  EXPECT_TRUE(faulty({{1}, {0, 0}, -1}, "1 scales and 2 zero points"));
  EXPECT_TRUE(faulty({{0}, {0}, -1}, "not positive"));
  EXPECT_TRUE(faulty({{INFINITY}, {0}, -1}, "not positive and finite"));
  EXPECT_TRUE(faulty({{1, 1}, {0, 0}, -1}, "no axis"));
  EXPECT_TRUE(faulty({{1}, {0}, 2}, "axis it lacks"));
  EXPECT_TRUE(faulty({{1, 1}, {0, 0}, 1}, "2 scales for 3 channels"));
  graph.set_quant(x, QuantParams{{1, 1, 1}, {0, 0, 0}, 1});
  EXPECT_TRUE(verify(graph).empty());
}

TEST(Verify, FindsFaultsInsideBodies) {
  const auto graph = branching_graph();
  Graph& body = *graph->topological().back()->bodies()[0];
  body.set_type(body.outputs()[0], TensorType(DType::F32, Shape{7, 3, 1}));
  EXPECT_TRUE(has_fault(*graph, "inference says"));
}

TEST(Verify, FindsBodiesThatDoNotFitTheirOperation) {
  const auto graph = branching_graph();
  Graph& body = *graph->topological().back()->bodies()[0];
  body.add_input("extra", kRow);
  EXPECT_TRUE(has_fault(*graph, "takes 2 inputs, 1 are given"));
  const auto other = branching_graph();
  Graph& typed = *other->topological().back()->bodies()[0];
  typed.set_type(typed.inputs()[0], TensorType(DType::F16, Shape{2, 3}));
  EXPECT_TRUE(has_fault(*other, "given f32"));
}

TEST(Verify, DoesNotChangeTheGraph) {
  const auto graph = branching_graph();
  const auto copy = graph->clone();
  Graph& body = *graph->topological().back()->bodies()[0];
  body.set_type(body.inputs()[0], TensorType(DType::F32));
  Graph& same = *copy->topological().back()->bodies()[0];
  same.set_type(same.inputs()[0], TensorType(DType::F32));
  verify(*graph);
  EXPECT_TRUE(*graph == *copy);
}

TEST(Verify, ReportsAllFaultsInOneRun) {
  Chain chain;
  chain.graph.set_quant(chain.x, QuantParams{{-1}, {0}, -1});
  chain.graph.set_type(chain.a, TensorType(DType::F32, Shape{4}));
  chain.graph.set_operands(chain.b->producer(), {chain.x, chain.x, chain.x});
  const std::vector<float> values = {1, 2};
  Tensor* c = chain.graph.add_constant<float>("c", Shape{2}, values);
  chain.graph.set_type(c, TensorType(DType::F32, Shape{3}));
  EXPECT_GE(verify(chain.graph).size(), 4u);
  EXPECT_TRUE(has_fault(chain.graph, "not positive"));
  EXPECT_TRUE(has_fault(chain.graph, "needs 12 bytes"));
  EXPECT_TRUE(has_fault(chain.graph, "inference says f32[3]"));
  EXPECT_TRUE(has_fault(chain.graph, "wrong number"));
}

// --- state
// ----------------------------------------------------------------------------------------

// s -> add(s, x) -> s; y = add's result.
struct Stateful {
  Graph graph;
  Operation *read, *write;
  Tensor *x, *sum;

  Stateful() {
    x = graph.add_input("x", kRow);
    const std::vector<float> zeros(3, 0.0f);
    Tensor* initial = graph.add_constant<float>("zeros", Shape{3}, zeros);
    read = add_op(graph, OpKind::ReadState, {initial}, StateAttrs{"s"})->producer();
    sum = add_op(graph, OpKind::Add, {read->output(), x});
    write = add_op(graph, OpKind::WriteState, {sum}, StateAttrs{"s"})->producer();
    graph.add_output("y", sum);
  }
};

TEST(State, IsSoundAndUsed) {
  const Stateful s;
  EXPECT_TRUE(verify(s.graph).empty());
  EXPECT_FALSE(s.graph.is_unused(s.write->output()));
  EXPECT_TRUE(*s.graph.clone() == s.graph);
  EXPECT_TRUE(verify(*s.graph.clone()).empty());
}

TEST(State, RulesAreVerified) {
  Stateful twice;
  add_op(twice.graph, OpKind::WriteState, {twice.x}, StateAttrs{"s"});
  EXPECT_EQ(verify(twice.graph).size(), 1u);
  Stateful unread;
  add_op(unread.graph, OpKind::WriteState, {unread.x}, StateAttrs{"t"});
  EXPECT_EQ(verify(unread.graph).size(), 1u);
  Stateful retyped;
  Tensor* wide = add_op(retyped.graph, OpKind::Cast, {retyped.sum}, CastAttrs{.to = DType::F64});
  retyped.graph.set_operand(retyped.write, 0, wide);
  retyped.graph.set_type(retyped.write->output(), wide->type());
  EXPECT_EQ(verify(retyped.graph).size(), 1u);
}

}  // namespace
}  // namespace ec
