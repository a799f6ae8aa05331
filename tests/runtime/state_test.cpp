// State that outlives a run, and models with open sizes.
#include <gtest/gtest.h>

#include <cmath>

#include "ir/text.h"
#include "ops/infer.h"
#include "runtime/quantize_input.h"
#include "runtime/session.h"

namespace ec {
namespace {

// y = state + x; the state becomes y.
constexpr std::string_view kCounter = R"(graph @g(%x: f32[2]) -> (y = %y) {
  %zero = const f32[2] dense[1,2]
  %s = read_state(%zero) {name="sum"}
  %y = add(%s, %x)
  %w = write_state(%y) {name="sum"}
})";

std::unique_ptr<Graph> graph_of(std::string_view text) {
  auto graph = parse(text);
  EXPECT_TRUE(graph.ok()) << (graph.ok() ? "" : graph.error().message());
  return std::move(*graph);
}

std::unique_ptr<Session> open(std::string_view text, SessionOptions options = {}) {
  auto session = Session::create(graph_of(text), options);
  EXPECT_TRUE(session.ok());
  return std::move(*session);
}

std::vector<float> run(Session& session, const std::vector<float>& x) {
  const auto count = static_cast<int64_t>(x.size());
  const NamedValue feed{"x", Value::of<float>({count}, std::span<const float>(x))};
  auto results = session.run(std::span(&feed, 1));
  if (!results.ok()) return ADD_FAILURE() << results.error().message(), std::vector<float>();
  const auto values = (*results)[0].as<float>();
  return {values.begin(), values.end()};
}

using Floats = std::vector<float>;

TEST(SessionState, IsKeptUntilReset) {
  for (const bool reference : {false, true}) {
    SessionOptions options;
    options.reference = reference;
    const auto session = open(kCounter, options);
    EXPECT_EQ(run(*session, {1, 1}), (Floats{2, 3}));
    EXPECT_EQ(run(*session, {1, 1}), (Floats{3, 4}));
    EXPECT_EQ(run(*session, {-3, 0}), (Floats{0, 4}));
    ASSERT_TRUE(session->reset().ok());
    EXPECT_EQ(run(*session, {1, 1}), (Floats{2, 3}));
  }
}

TEST(SessionState, CanBeLeftOut) {
  SessionOptions options;
  options.keep_state = false;
  const auto session = open(kCounter, options);
  EXPECT_EQ(run(*session, {1, 1}), (Floats{2, 3}));
  EXPECT_EQ(run(*session, {1, 1}), (Floats{2, 3}));
}

TEST(SessionState, ARunThatFailsLeavesTheStateAsItWas) {
  // The gather fails for an index that is out of range, after the state was written.
  const auto session = open(R"(graph @g(%x: f32[2]) -> (y = %r) {
    %zero = const f32[2] splat(0)
    %s = read_state(%zero) {name="sum"}
    %y = add(%s, %x)
    %w = write_state(%y) {name="sum"}
    %i = cast(%w) {to=i64}
    %r = gather(%y, %i)
  })");
  EXPECT_EQ(run(*session, {1, 0}), (Floats{0, 1}));
  const Floats bad = {7, 7};
  const NamedValue feed{"x", Value::of<float>({2}, std::span<const float>(bad))};
  EXPECT_FALSE(session->run(std::span(&feed, 1)).ok());
  EXPECT_EQ(run(*session, {0, 0}), (Floats{0, 1}));
}

TEST(SessionState, AllTensorsOfARunStartFromTheStateAndLeaveIt) {
  const auto session = open(kCounter);
  run(*session, {1, 1});
  const Floats x = {1, 1};
  const NamedValue feed{"x", Value::of<float>({2}, std::span<const float>(x))};
  Floats seen;
  for (int i = 0; i < 2; ++i)
    ASSERT_TRUE(session
                    ->run_all_tensors(std::span(&feed, 1),
                                      [&](const Tensor& tensor, const ConstView& view) {
                                        if (tensor.name() == "y")
                                          seen.push_back(view.as<float>()[0]);
                                      })
                    .ok());
  EXPECT_EQ(seen, (Floats{3, 3}));
}

// --- open sizes
// -----------------------------------------------------------------------------------

// y = relu(x) for [N]; counts how often a graph is made for a size.
OpenModel open_model(int& made) {
  std::shared_ptr<const Graph> graph = graph_of(R"(graph @g(%x: f32[N]) -> (y = %y) {
    %zero = const f32[] splat(0)
    %s = read_state(%zero) {name="runs"}
    %one = const f32[] splat(1)
    %n = add(%s, %one)
    %w = write_state(%n) {name="runs"}
    %y = mul(%x, %n)
  })");
  const auto specialise = [graph, &made](std::span<const TensorType> types) {
    ++made;
    std::unique_ptr<Graph> copy = graph->clone();
    copy->set_type(copy->inputs()[0], types[0]);
    DiagnosticSink sink;
    infer_graph(*copy, sink);
    return Result<std::unique_ptr<Graph>>(std::move(copy));
  };
  return {graph, specialise, {{"x", {1}}}};
}

TEST(SessionOpenSizes, OneProgramPerShapeAndOneState) {
  int made = 0;
  auto session = Session::create_open(open_model(made), {});
  ASSERT_TRUE(session.ok());
  EXPECT_EQ(made, 1);  // the default size
  EXPECT_EQ((*session)->inputs()[0].type.text(), "f32[N]");
  EXPECT_EQ(run(**session, {3}), (Floats{3}));
  EXPECT_EQ(run(**session, {3, 4}), (Floats{6, 8}));
  EXPECT_EQ(made, 2);
  EXPECT_EQ(run(**session, {3}), (Floats{9}));
  EXPECT_EQ(run(**session, {1, 1}), (Floats{4, 4}));
  EXPECT_EQ(made, 2);
  ASSERT_TRUE((*session)->reset().ok());
  EXPECT_EQ(run(**session, {1, 1}), (Floats{1, 1}));
}

TEST(SessionOpenSizes, OldProgramsAreDropped) {
  int made = 0;
  auto session = Session::create_open(open_model(made), {});
  for (size_t n = 1; n <= 20; ++n) run(**session, Floats(n, 1.0f));
  EXPECT_EQ(made, 20);
  run(**session, {1});
  EXPECT_EQ(made, 21);
  EXPECT_TRUE((*session)->timings().size() > 0);
}

TEST(SessionOpenSizes, RandomInputsHaveTheDefaultShape) {
  int made = 0;
  auto session = Session::create_open(open_model(made), {});
  const auto inputs = (*session)->random_inputs(0);
  ASSERT_TRUE(inputs.ok());
  EXPECT_EQ((*inputs)[0].value.shape, (std::vector<int64_t>{1}));
}

// --- real numbers for quantised inputs
// ------------------------------------------------------------

TEST(QuantizeInput, RoundsHalfAwayFromZeroAsLiteRT) {
  TensorType type(DType::I8, Shape{8});
  type.quant = QuantParams{{0.5f}, {1}, -1};
  const Floats x = {0.25f, 0.75f, 1.25f, -0.25f, -0.75f, 1000.0f, -1000.0f, NAN};
  ASSERT_TRUE(takes_real_numbers(type));
  const auto stored = quantize_input(Value::of<float>({8}, std::span<const float>(x)), type);
  ASSERT_TRUE(stored.ok());
  const auto got = stored->as<int8_t>();
  EXPECT_EQ(std::vector<int8_t>(got.begin(), got.end()),
            (std::vector<int8_t>{2, 3, 4, 0, -1, 127, -128, 1}));
}

TEST(QuantizeInput, ASessionUsesTheSameRule) {
  auto graph = std::make_unique<Graph>();
  TensorType type(DType::I8, Shape{2});
  type.quant = QuantParams{{0.5f}, {0}, -1};
  Tensor* x = graph->add_input("x", type);
  graph->add_output("y", graph->add_single(OpKind::Identity, {x}).value());
  auto session = Session::create(std::move(graph), {});
  const Floats half = {0.25f, 1.25f};
  const NamedValue feed{"x", Value::of<float>({2}, std::span<const float>(half))};
  const auto results = (*session)->run(std::span(&feed, 1));
  ASSERT_TRUE(results.ok());
  EXPECT_EQ((*results)[0].as<int8_t>()[0], 1);
  EXPECT_EQ((*results)[0].as<int8_t>()[1], 3);
}

}  // namespace
}  // namespace ec
