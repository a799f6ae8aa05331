// Runs that never end: they stop when they are asked to, wherever they are.
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "edgecompiler/cancel.h"
#include "ir/text.h"
#include "runtime/executor.h"
#include "runtime/session.h"
#include "support/budget.h"

namespace ec {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::string_view kForever = R"(graph @g(%x: f32[2]) -> (y = %y) {
  %n = const i64[] splat(4611686018427387904)
  %yes = const bool[] splat(1)
  %y = loop(%n, %yes, %x) {num_carried=1} loc("endless" : "Loop")
    body graph @body(%i: i64[], %c: bool[], %a: f32[2]) -> (c = %c, r = %r) {
      %r = neg(%a)
    }
})";
// 2 x 10^11 multiplications in one operation.
constexpr std::string_view kProduct = R"(graph @g(%x: f32[6000,6000]) -> (y = %y) {
  %y = matmul(%x, %x) loc("endless" : "MatMul")
})";
constexpr std::string_view kStacked = R"(graph @g(%x: f32[1000]) -> (y = %y, s = %s) {
  %n = const i64[] splat(4611686018427387904)
  %yes = const bool[] splat(1)
  %y, %s = loop(%n, %yes, %x) {num_carried=1} loc("endless" : "Loop")
    body graph @body(%i: i64[], %c: bool[], %a: f32[1000]) -> (c = %go, r = %r, s = %r) {
      %r = neg(%a)
      %least = const i64[] splat(-1)
      %go = less(%least, %i)
    }
})";

std::unique_ptr<Session> open(std::string_view text, const SessionOptions& options = {}) {
  auto graph = parse(text);
  EXPECT_TRUE(graph.ok()) << graph.error().message();
  auto session = Session::create(std::move(*graph), options);
  EXPECT_TRUE(session.ok()) << session.error().message();
  return std::move(*session);
}

class Endless : public testing::TestWithParam<std::tuple<std::string_view, bool, int>> {};

TEST_P(Endless, StopsWithinASecond) {
  const auto& [text, reference, threads] = GetParam();
  SessionOptions options;
  options.threads = threads;
  options.reference = reference;
  const auto session = open(text, options);
  const auto inputs = session->random_inputs(1);
  ASSERT_TRUE(inputs.ok());
  const CancelToken token;
  const CancelScope scope(token);
  Clock::time_point asked;
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    asked = Clock::now();
    token.cancel();
  });
  const auto results = session->run(*inputs);
  const auto ended = Clock::now();
  other.join();
  ASSERT_FALSE(results.ok());
  EXPECT_EQ(results.error().code(), Code::Interrupted);
  EXPECT_EQ(results.error().diagnostic().node, "endless");
  EXPECT_LT(std::chrono::duration<double>(ended - asked).count(), 1.0);
}

INSTANTIATE_TEST_SUITE_P(Runs, Endless,
                         testing::Combine(testing::Values(kForever, kProduct), testing::Bool(),
                                          testing::Values(1, 2)));

TEST(Endless, WorkThatNoLimitAllowsIsToldBeforeAnythingIsPrepared) {
  const auto product = parse(kProduct), small = parse(kStacked);
  ASSERT_TRUE(product.ok() && small.ok());
  EXPECT_TRUE(check_run_work(**product).ok());  // nobody set a limit
  Budget budget({.work = 10'000'000, .work_option = "--self-check-work MILLIONS"});
  const BudgetScope scope(budget);
  const Status status = check_run_work(**product);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code(), Code::WorkLimit);
  EXPECT_EQ(status.error().diagnostic().hint, "allow more with --self-check-work MILLIONS");
  EXPECT_FALSE(budget.stopped());  // nothing was spent
  EXPECT_TRUE(check_run_work(**small).ok());
}

TEST(Endless, WorkAndMemoryEndALoop) {
  const auto session = open(kStacked);
  const auto inputs = session->random_inputs(1);
  {
    Budget budget({.memory = 10'000'000});
    const BudgetScope scope(budget);
    const auto results = session->run(*inputs);
    ASSERT_FALSE(results.ok());
    EXPECT_EQ(results.error().code(), Code::OutOfMemory);
  }
  Budget budget({.work = 10'000'000});
  const BudgetScope scope(budget);
  const auto results = session->run(*inputs);
  ASSERT_FALSE(results.ok());
  EXPECT_EQ(results.error().code(), Code::WorkLimit);
  EXPECT_EQ(results.error().diagnostic().node, "endless");
}

TEST(Endless, ASessionRunsAgain) {
  const auto session = open("graph @g(%x: f32[2]) -> (y = %y) {\n %y = neg(%x)\n}");
  const auto inputs = session->random_inputs(1);
  const CancelToken token;
  {
    const CancelScope scope(token);
    token.cancel();
    EXPECT_FALSE(session->run(*inputs).ok());
    token.reset();
  }
  EXPECT_TRUE(session->run(*inputs).ok());
}

}  // namespace
}  // namespace ec
