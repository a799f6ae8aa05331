#include "runtime/session.h"

#include <gtest/gtest.h>

#include <cmath>

#include "fuzz/allocation_meter.h"

namespace ec {
namespace {

Value floats(std::vector<int64_t> shape, const std::vector<float>& elements) {
  return Value::of<float>(std::move(shape), std::span<const float>(elements));
}

// out = relu(a + b), a: f32[N,2], b: f32[N,2]
std::unique_ptr<Graph> add_graph(Dim batch = Dim::symbol("N")) {
  auto graph = std::make_unique<Graph>("add");
  Tensor* a = graph->add_input("first", TensorType(DType::F32, Shape{batch, 2}));
  Tensor* b = graph->add_input("second", TensorType(DType::F32, Shape{batch, 2}));
  Tensor* sum = graph->add_single(OpKind::Add, {a, b}).value();
  graph->add_output("out", graph->add_single(OpKind::Relu, {sum}).value());
  return graph;
}

std::unique_ptr<Session> open(std::unique_ptr<Graph> graph, SessionOptions options = {}) {
  auto session = Session::create(std::move(graph), options);
  EXPECT_TRUE(session.ok());
  return std::move(*session);
}

std::vector<float> values_of(const Value& value) {
  const auto span = value.as<float>();
  return {span.begin(), span.end()};
}

TEST(Session, DescribesItsInterface) {
  const auto session = open(add_graph());
  ASSERT_EQ(session->inputs().size(), 2U);
  EXPECT_EQ(session->inputs()[0].name, "first");
  EXPECT_EQ(session->inputs()[0].type.text(), "f32[N,2]");
  ASSERT_EQ(session->outputs().size(), 1U);
  EXPECT_EQ(session->outputs()[0].name, "out");
}

TEST(Session, RunsByNameInAnyOrderAndForSeveralShapes) {
  const auto session = open(add_graph());
  for (int64_t n = 1; n < 20; ++n) {
    const std::vector<float> a(static_cast<size_t>(2 * n), 1.0f);
    const std::vector<float> b(static_cast<size_t>(2 * n), static_cast<float>(-n) + 2.5f);
    const auto result = session->run(
        std::vector<NamedValue>{{"second", floats({n, 2}, b)}, {"first", floats({n, 2}, a)}});
    ASSERT_TRUE(result.ok()) << result.error().message();
    const float want = std::max(0.0f, 3.5f - static_cast<float>(n));
    EXPECT_EQ(values_of((*result)[0]), std::vector<float>(static_cast<size_t>(2 * n), want));
    EXPECT_EQ((*result)[0].shape, (std::vector<int64_t>{n, 2}));
  }
}

// A plan says which kernels would run, whatever memory the run would take.
TEST(Session, PlansWithoutMemoryAndDoesNotRun) {
  auto graph = std::make_unique<Graph>("exp");
  Tensor* x = graph->add_input("x", TensorType(DType::F32, Shape{1 << 20}));
  Tensor* middle = graph->add_single(OpKind::Exp, {x}).value();
  graph->add_output("y", graph->add_single(OpKind::Softmax, {middle}).value());
  const std::unique_ptr<Graph> same = graph->clone();
  SessionOptions options;
  options.plan_only = true;
  const fuzz::AllocationMeter meter;
  const auto plan = open(std::move(graph), options);
  EXPECT_LT(meter.peak(), size_t{1} << 20);
  ASSERT_EQ(plan->timings().size(), 2U);
  const auto result =
      plan->run(std::vector<NamedValue>{{"x", floats({1 << 20}, std::vector<float>(1 << 20))}});
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code(), Code::Internal);
  const auto session = open(same->clone());
  EXPECT_GT(meter.peak(), size_t{4} << 20);
  EXPECT_EQ(session->timings().size(), 2U);
}

TEST(Session, ResultsStayValidAfterLaterRuns) {
  const auto session = open(add_graph(1));
  const auto first = session->run(std::vector<NamedValue>{{"first", floats({1, 2}, {1, 2})},
                                                          {"second", floats({1, 2}, {3, 4})}});
  const auto second = session->run(std::vector<NamedValue>{{"first", floats({1, 2}, {5, 6})},
                                                           {"second", floats({1, 2}, {7, 8})}});
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(values_of((*first)[0]), (std::vector<float>{4, 6}));
  EXPECT_EQ(values_of((*second)[0]), (std::vector<float>{12, 14}));
}

TEST(Session, SaysWhatIsWrongWithInputs) {
  const auto session = open(add_graph());
  const Value good = floats({1, 2}, {1, 2});
  const auto code = [&](std::vector<NamedValue> inputs) {
    return session->run(inputs).error().code();
  };
  const auto text = [&](std::vector<NamedValue> inputs) {
    return format_diagnostic(session->run(inputs).error().diagnostic());
  };
  EXPECT_EQ(code({{"frist", good}}), Code::UnknownInput);
  EXPECT_NE(text({{"frist", good}}).find("did you mean 'first'"), std::string::npos);
  EXPECT_EQ(code({{"first", good}}), Code::MissingInput);
  EXPECT_NE(text({{"first", good}}).find("'second' f32[N,2]"), std::string::npos);
  EXPECT_EQ(code({{"first", good}, {"first", good}}), Code::UnknownInput);
  const std::vector<double> doubles = {1, 2};
  const Value wide = Value::of<double>({1, 2}, std::span<const double>(doubles));
  EXPECT_EQ(code({{"first", wide}, {"second", good}}), Code::InputTypeMismatch);
  EXPECT_NE(text({{"first", wide}}).find("expected element type f32, got f64"), std::string::npos);
  const Value shaped = floats({1, 3}, {1, 2, 3});
  EXPECT_EQ(code({{"first", shaped}, {"second", good}}), Code::InputShapeMismatch);
  EXPECT_NE(text({{"first", shaped}, {"second", good}}).find("expected shape [N,2], got [1,3]"),
            std::string::npos);
  const Value flat = floats({2}, {1, 2});
  EXPECT_EQ(code({{"first", flat}, {"second", good}}), Code::InputShapeMismatch);
  const Value longer = floats({2, 2}, {1, 2, 3, 4});
  EXPECT_NE(text({{"first", good}, {"second", longer}}).find("dimension 'N' is 1"),
            std::string::npos);
  const Value lying(DType::F32, {4, 2}, good.data);
  EXPECT_EQ(code({{"first", lying}, {"second", lying}}), Code::InputShapeMismatch);
}

TEST(Session, QuantisedInputTakesFloats) {
  auto graph = std::make_unique<Graph>("quantised");
  Tensor* x = graph->add_input("x", TensorType(DType::U8, Shape{5}));
  graph->set_quant(x, QuantParams{{0.5f}, {10}, -1});
  graph->add_output("y", graph->add_single(OpKind::Identity, {x}).value());
  const auto session = open(std::move(graph));
  const auto run = [&](Value value) {
    const auto result = session->run(std::vector<NamedValue>{{"x", std::move(value)}});
    EXPECT_TRUE(result.ok());
    const auto got = (*result)[0].as<uint8_t>();
    return std::vector<int>(got.begin(), got.end());
  };
  // Ties go away from zero; values beyond the range saturate; not-a-number is the zero point.
  EXPECT_EQ(run(floats({5}, {0.0f, 1.0f, 0.75f, -100.0f, 1000.0f})),
            (std::vector<int>{10, 12, 12, 0, 255}));
  EXPECT_EQ(run(floats({5}, {0.25f, -0.25f, 1.25f, 0.24f, NAN})),
            (std::vector<int>{11, 9, 13, 10, 10}));
  const std::vector<uint8_t> stored = {1, 2, 3, 4, 5};
  EXPECT_EQ(run(Value::of<uint8_t>({5}, std::span<const uint8_t>(stored))),
            (std::vector<int>{1, 2, 3, 4, 5}));
}

TEST(Session, ClosedSessionRefuses) {
  const auto session = open(add_graph());
  session->close();
  EXPECT_EQ(session->run({}).error().code(), Code::SessionClosed);
  EXPECT_EQ(session->benchmark({}, {}).error().code(), Code::SessionClosed);
  session->close();
}

TEST(Session, BenchmarkOrdersItsFigures) {
  const auto session = open(add_graph(4));
  const auto inputs = session->random_inputs(1);
  ASSERT_TRUE(inputs.ok());
  const auto stats = session->benchmark(*inputs, {.warmup = 2, .iterations = 50});
  ASSERT_TRUE(stats.ok());
  EXPECT_EQ(stats->iterations, 50);
  EXPECT_GT(stats->min_ms, 0.0);
  EXPECT_LE(stats->min_ms, stats->p50_ms);
  EXPECT_LE(stats->p50_ms, stats->p95_ms);
  EXPECT_LE(stats->p95_ms, stats->p99_ms);
  EXPECT_LE(stats->p99_ms, stats->max_ms);
  EXPECT_NEAR(stats->throughput_fps * stats->mean_ms, 1000.0, 1e-6);
}

TEST(Session, RandomInputsAreRepeatableAndNeedShapes) {
  const auto session = open(add_graph(3));
  const auto a = session->random_inputs(7);
  const auto b = session->random_inputs(7);
  const auto c = session->random_inputs(8);
  ASSERT_TRUE(a.ok() && b.ok() && c.ok());
  EXPECT_EQ((*a)[0].value.data, (*b)[0].value.data);
  EXPECT_FALSE((*a)[0].value.data == (*c)[0].value.data);
  EXPECT_EQ(open(add_graph())->random_inputs(1).error().code(), Code::DynamicShape);
}

TEST(Session, ProfilesOperations) {
  SessionOptions options;
  options.profile = true;
  const auto session = open(add_graph(2), options);
  const auto inputs = session->random_inputs(1);
  ASSERT_TRUE(session->run(*inputs).ok());
  const std::vector<OpTiming> timings = session->timings();
  ASSERT_EQ(timings.size(), 2U);
  EXPECT_EQ(timings[0].op->kind(), OpKind::Add);
  EXPECT_TRUE(timings[0].fast);
  EXPECT_EQ(timings[0].runs, 1);
}

TEST(Session, ReferenceModeUsesNoFastKernel) {
  SessionOptions options;
  options.reference = true;
  const auto session = open(add_graph(2), options);
  ASSERT_TRUE(session->run(*session->random_inputs(1)).ok());
  for (const OpTiming& timing : session->timings()) EXPECT_FALSE(timing.fast);
}

}  // namespace
}  // namespace ec
