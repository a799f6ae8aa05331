#include "runtime/executor.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "ir/text.h"
#include "ops/kernel.h"
#include "support/budget.h"

namespace ec {
namespace {

TensorType f32(std::vector<int64_t> shape) { return TensorType(DType::F32, Shape::of(shape)); }

Value random_value(const TensorType& type, uint32_t seed) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<float> values(-2.0f, 2.0f);
  std::vector<float> data(static_cast<size_t>(*type.num_elements()));
  for (float& v : data) v = values(engine);
  return Value::of<float>(type.shape->sizes(), std::span<const float>(data));
}

Result<std::vector<Value>> run(const Graph& graph, const std::vector<Value>& inputs,
                               ExecutorOptions options = {}, int threads = 1) {
  GraphRunner runner(graph, std::move(options), std::make_shared<kernels::ThreadPool>(threads));
  std::vector<ConstView> views;
  for (const Value& value : inputs) views.push_back(value.view());
  return runner.run(views);
}

void expect_near(const Value& got, const Value& want) {
  ASSERT_EQ(got.dtype, want.dtype);
  ASSERT_EQ(got.shape, want.shape);
  const auto g = got.as<float>();
  const auto w = want.as<float>();
  for (size_t i = 0; i < g.size(); ++i) ASSERT_NEAR(g[i], w[i], 1e-5f * (1 + std::fabs(w[i]))) << i;
}

Tensor* add(Graph& graph, OpKind kind, std::vector<Tensor*> inputs, Attrs attrs = {}) {
  auto result = graph.add_single(kind, std::move(inputs), std::move(attrs));
  EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().message());
  return *result;
}

// The time that building takes is linear; what can be counted is that every operation is one step
// and that memory does not grow with them.
TEST(Executor, FiftyThousandStepsShareOneBuffer) {
  constexpr size_t kBlocks = 25'000;
  Graph graph("long");
  Tensor* t = graph.add_input("x", f32({64}));
  for (size_t i = 0; i < kBlocks; ++i)
    t = add(graph, OpKind::Add, {t, add(graph, OpKind::Tanh, {t})});
  graph.add_output("y", t);
  auto executor = Executor::create(graph, std::vector<TensorType>{f32({64})}, {},
                                   std::make_shared<kernels::ThreadPool>(1));
  ASSERT_TRUE(executor.ok());
  EXPECT_EQ((*executor)->timings().size(), 2 * kBlocks);
  EXPECT_LE((*executor)->memory().arena_bytes, 2U * 64 * 4);
}

TEST(Executor, LongChainReusesMemory) {
  Graph graph("chain");
  Tensor* x = graph.add_input("x", f32({64, 64}));
  Tensor* t = x;
  for (int i = 0; i < 40; ++i) {
    t = add(graph, OpKind::Tanh, {t});
    t = add(graph, OpKind::Add, {t, x});
  }
  graph.add_output("y", t);
  const Value in = random_value(f32({64, 64}), 1);
  auto executor = Executor::create(graph, std::vector<TensorType>{f32({64, 64})}, {},
                                   std::make_shared<kernels::ThreadPool>(1));
  ASSERT_TRUE(executor.ok());
  // Everything happens in place, in the memory of the result.
  EXPECT_LE((*executor)->memory().arena_bytes, 2U * 64 * 64 * 4);
  const std::vector<ConstView> views = {in.view()};
  const auto got = (*executor)->run(views);
  const auto want = interpret(graph, std::vector<Value>{in});
  ASSERT_TRUE(got.ok() && want.ok());
  expect_near((*got)[0], (*want)[0]);
}

TEST(Executor, ValueReadLaterIsNotOverwritten) {
  Graph graph("diamond");
  Tensor* x = graph.add_input("x", f32({33}));
  Tensor* a = add(graph, OpKind::Exp, {x});
  Tensor* b = add(graph, OpKind::Neg, {a});
  Tensor* c = add(graph, OpKind::Abs, {b});
  Tensor* d = add(graph, OpKind::Mul, {a, c});
  graph.add_output("d", d);
  graph.add_output("a", a);
  const Value in = random_value(f32({33}), 2);
  const auto got = run(graph, {in});
  const auto want = interpret(graph, std::vector<Value>{in});
  ASSERT_TRUE(got.ok() && want.ok());
  expect_near((*got)[0], (*want)[0]);
  expect_near((*got)[1], (*want)[1]);
}

TEST(Executor, SameOperandTwice) {
  Graph graph("square");
  Tensor* x = graph.add_input("x", f32({20}));
  Tensor* a = add(graph, OpKind::Neg, {x});
  graph.add_output("y", add(graph, OpKind::Mul, {a, a}));
  const Value in = random_value(f32({20}), 3);
  const auto got = run(graph, {in});
  const auto want = interpret(graph, std::vector<Value>{in});
  ASSERT_TRUE(got.ok());
  expect_near((*got)[0], (*want)[0]);
}

TEST(Executor, OutputsThatAreInputsConstantsOrRepeated) {
  Graph graph("interface");
  Tensor* x = graph.add_input("x", f32({3}));
  const std::vector<float> constant = {1, 2, 3};
  Tensor* c = graph.add_constant<float>("c", Shape{3}, constant);
  Tensor* folded = add(graph, OpKind::Neg, {c});
  Tensor* y = add(graph, OpKind::Neg, {x});
  graph.add_output("input", x);
  graph.add_output("constant", c);
  graph.add_output("folded", folded);
  graph.add_output("y", y);
  graph.add_output("again", y);
  const Value in = random_value(f32({3}), 4);
  const auto got = run(graph, {in});
  const auto want = interpret(graph, std::vector<Value>{in});
  ASSERT_TRUE(got.ok());
  ASSERT_EQ(got->size(), 5U);
  for (size_t i = 0; i < 5; ++i) expect_near((*got)[i], (*want)[i]);
}

TEST(Executor, ResultsThatShareMemoryCountEach) {
  Graph graph("shared");
  Tensor* x = graph.add_input("x", f32({1000}));
  Tensor* y = add(graph, OpKind::Neg, {x});
  for (int i = 0; i < 100; ++i) graph.add_output("y" + std::to_string(i), y);
  const Value in = random_value(f32({1000}), 5);
  Budget budget({.memory = 300'000});
  const BudgetScope scope(budget);
  const auto got = run(graph, {in});
  ASSERT_FALSE(got.ok());
  EXPECT_EQ(got.error().code(), Code::OutOfMemory);
}

TEST(Executor, ConstantReshapedByAnOperand) {
  // Two elements fill a list in one way only, so the result's shape is known although the operand's
  // value is not.
  Graph graph("view");
  Tensor* shape = graph.add_input("shape", TensorType(DType::I64, Shape{1}));
  const std::vector<float> constant = {53, 71};
  Tensor* c = graph.add_constant<float>("c", Shape{2}, constant);
  Tensor* y = add(graph, OpKind::Reshape, {c, shape});
  graph.add_output("y", y);
  graph.add_output("z", add(graph, OpKind::Neg, {y}));
  const std::vector<int64_t> sizes = {2};
  const Value in = Value::of<int64_t>({1}, std::span<const int64_t>(sizes));
  const auto got = run(graph, {in});
  const auto want = interpret(graph, std::vector<Value>{in});
  ASSERT_TRUE(got.ok() && want.ok());
  for (size_t i = 0; i < 2; ++i) expect_near((*got)[i], (*want)[i]);
}

TEST(Executor, ObserverSeesEveryProducedTensor) {
  Graph graph("observed");
  Tensor* x = graph.add_input("x", f32({4}));
  Tensor* a = add(graph, OpKind::Neg, {x});
  Tensor* b = add(graph, OpKind::Neg, {a});
  graph.add_output("b", b);
  std::vector<std::string> seen;
  std::vector<float> first;
  ExecutorOptions options;
  options.observer = [&](const Tensor& tensor, const ConstView& view) {
    seen.push_back(tensor.name());
    first.push_back(view.as<float>()[0]);
  };
  const Value in = random_value(f32({4}), 5);
  ASSERT_TRUE(run(graph, {in}, options).ok());
  EXPECT_EQ(seen, (std::vector<std::string>{a->name(), b->name()}));
  EXPECT_EQ(first[0], -in.as<float>()[0]);
  EXPECT_EQ(first[1], in.as<float>()[0]);
}

// Tables by tensor id belong to one graph: a nested graph gives its own tensors the same ids.
TEST(Executor, ObserverSeesNoTensorsOfNestedGraphs) {
  const auto graph = parse(R"(
graph @g(%c: bool[], %x: f32[2]) -> (y = %y) {
  %y = if(%c, %x)
    body graph @yes(%a: f32[2]) -> (r = %r) {
      %s = add(%a, %a)
      %r = neg(%s)
    }
    body graph @no(%a: f32[2]) -> (r = %r) {
      %r = neg(%a)
    }
})");
  ASSERT_TRUE(graph.ok()) << graph.error().message();
  std::vector<std::string> seen;
  ExecutorOptions options;
  options.observer = [&](const Tensor& tensor, const ConstView&) {
    EXPECT_EQ((*graph)->find_tensor(tensor.name()), &tensor);
    seen.push_back(tensor.name());
  };
  options.editor = [&](const Tensor& tensor, const MutableView&) {
    EXPECT_EQ((*graph)->find_tensor(tensor.name()), &tensor);
  };
  const bool yes = true;
  const Value condition = Value::of<bool>({}, std::span<const bool>(&yes, 1));
  ASSERT_TRUE(run(**graph, {condition, random_value(f32({2}), 1)}, options).ok());
  EXPECT_EQ(seen, std::vector<std::string>{"y"});
}

// The result's memory is planned from the constant shape; the run finds another number of elements.
TEST(Executor, ComparesPlannedResultsWithOperandsOfOpenSize) {
  Graph graph("planned");
  Tensor* x = graph.add_input("x", f32({4}));
  Tensor* positions = add(graph, OpKind::NonZero, {x});
  const int64_t shape[] = {2};
  graph.add_output(
      "y", add(graph, OpKind::Reshape, {positions, graph.add_ints("", shape)}, ReshapeAttrs{}));
  const auto vector = [](std::vector<float> values) {
    return Value::of<float>({4}, std::span<const float>(values));
  };
  const auto fits = run(graph, {vector({0, 1, 0, 1})});
  ASSERT_TRUE(fits.ok()) << fits.error().message();
  EXPECT_EQ((*fits)[0].as<int64_t>()[1], 3);
  EXPECT_FALSE(run(graph, {vector({0, 1, 0, 0})}).ok());
  EXPECT_FALSE(run(graph, {vector({1, 1, 1, 1})}).ok());
}

TEST(Executor, WrongNumberOfInputs) {
  Graph graph("none");
  graph.add_output("x", graph.add_input("x", f32({1})));
  EXPECT_EQ(run(graph, {}).error().code(), Code::MissingInput);
}

TEST(Executor, HugeTensorIsAnErrorNotACrash) {
  Graph graph("huge");
  const int64_t big = int64_t{1} << 40;
  Tensor* a = graph.add_input("a", TensorType(DType::F32, Shape{Dim::symbol("N"), 1}));
  Tensor* b = graph.add_input("b", TensorType(DType::F32, Shape{1, Dim::symbol("N")}));
  graph.add_output("y", add(graph, OpKind::Add, {a, b}));
  const std::vector<TensorType> types = {f32({big, 1}), f32({1, big})};
  const auto executor =
      Executor::create(graph, types, {}, std::make_shared<kernels::ThreadPool>(1));
  ASSERT_FALSE(executor.ok());
  EXPECT_EQ(executor.error().code(), Code::OutOfMemory);
}

}  // namespace
}  // namespace ec
