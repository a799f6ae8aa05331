// Limits and cancellation: who stops, who does not, and what the error says.
#include "support/budget.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "edgecompiler/cancel.h"
#include "runtime/kernels/thread_pool.h"

namespace ec {
namespace {

Code code_of(const Status& status) { return status.ok() ? Code{} : status.error().code(); }

TEST(Budget, WithoutOneNothingStops) {
  EXPECT_EQ(Budget::current(), nullptr);
  EXPECT_FALSE(stop_asked());
  EXPECT_TRUE(check_budget().ok());
  EXPECT_TRUE(check_room(SIZE_MAX).ok());
}

TEST(Budget, TheThreadCarriesIt) {
  Budget budget;
  {
    const BudgetScope scope(budget);
    EXPECT_EQ(Budget::current(), &budget);
    std::thread([] { EXPECT_EQ(Budget::current(), nullptr); }).join();
    budget.cancel();
    EXPECT_EQ(code_of(check_budget()), Code::Interrupted);
  }
  EXPECT_FALSE(stop_asked());
}

TEST(Budget, ADeadlineStopsAndStays) {
  Budget budget({.seconds = 0.01});
  const BudgetScope scope(budget);
  EXPECT_FALSE(stop_asked());
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_TRUE(stop_asked());
  const Status status = check_budget();
  EXPECT_EQ(code_of(status), Code::TimedOut);
  EXPECT_NE(status.error().diagnostic().hint.find("--timeout"), std::string::npos);
}

TEST(Budget, WorkIsCountedInAllBudgetsAround) {
  Budget job;
  const BudgetScope outer(job);
  Budget part({.work = 100, .work_option = "--more"});
  {
    const BudgetScope inner(part);
    spend_work(100);
    EXPECT_FALSE(stop_asked());
    spend_work(1);
    const Status status = check_budget();
    EXPECT_EQ(code_of(status), Code::WorkLimit);
    EXPECT_NE(status.error().diagnostic().hint.find("--more"), std::string::npos);
  }
  EXPECT_EQ(job.spent(), 101u);
  EXPECT_FALSE(stop_asked());  // the part ended, not the job
}

TEST(Budget, APartEndsWithTheJob) {
  Budget job;
  const BudgetScope outer(job);
  Budget part({.work = 100});
  const BudgetScope inner(part);
  job.cancel();
  EXPECT_EQ(code_of(check_budget()), Code::Interrupted);
  EXPECT_EQ(part.reason(), Budget::Stop::No);
}

TEST(Budget, MemoryIsTakenAndGivenBack) {
  Budget budget({.memory = 1000, .memory_option = "--more"});
  const BudgetScope scope(budget);
  EXPECT_TRUE(check_room(1000).ok());
  EXPECT_EQ(code_of(check_room(1001)), Code::OutOfMemory);
  EXPECT_FALSE(stop_asked());  // a plan that was refused stops nothing
  {
    MemoryCharge charge;
    charge.add(600);
    EXPECT_FALSE(check_room(500).ok());
  }
  EXPECT_TRUE(check_room(1000).ok());
  MemoryCharge charge;
  charge.add(1001);
  EXPECT_EQ(code_of(check_budget()), Code::OutOfMemory);
}

TEST(Budget, FoldingIsRefusedAndStopsNothing) {
  Budget budget({.fold_work = 1'000'000});
  const BudgetScope scope(budget);
  EXPECT_TRUE(budget.may_fold(1'000'000));
  budget.fold(900'000);
  EXPECT_FALSE(budget.may_fold(200'000));
  EXPECT_TRUE(budget.may_fold(1000));  // sizes depend on small ones
  budget.allow_more_folding(1'000'000);
  EXPECT_TRUE(budget.may_fold(200'000));
  EXPECT_FALSE(stop_asked());
}

TEST(Budget, TickersCountAndLeaveLoops) {
  Budget budget({.work = 10'000'000});
  const BudgetScope scope(budget);
  Ticker ticker;
  int64_t rounds = 0;
  while (!ticker.tick(1000)) ++rounds;
  EXPECT_GE(rounds, 10'000);
  EXPECT_LE(rounds, 11'000);
  EXPECT_TRUE(ticker.tick(0));
}

TEST(Budget, AnInterruptIsAskedForByItsOwnThread) {
  Budget budget;
  int asked = 0;
  budget.watch(
      [](void* count) {
        ++*static_cast<int*>(count);
        return true;
      },
      &asked);
  std::thread([&] { EXPECT_FALSE(budget.stopped()); }).join();
  EXPECT_EQ(asked, 0);
  EXPECT_TRUE(budget.stopped());
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(budget.reason(), Budget::Stop::Cancelled);
}

TEST(Budget, ConstantsThatReadingComputesAreBounded) {
  Budget outer({.computed = 1000});
  const BudgetScope around(outer);
  Budget inner({.computed = 800});
  EXPECT_TRUE(inner.may_compute(500));
  EXPECT_FALSE(inner.may_compute(301));  // counted here
  EXPECT_TRUE(inner.may_compute(300));
  Budget other;
  EXPECT_FALSE(other.may_compute(201));  // counted around
  EXPECT_TRUE(other.may_compute(200));
  EXPECT_FALSE(other.stopped());
}

TEST(CancelScope, ATokenStopsTheThreadsThatHoldIt) {
  const CancelToken token;
  const CancelScope outer(token);
  EXPECT_FALSE(stop_asked());
  token.cancel();
  EXPECT_TRUE(stop_asked());
  const CancelToken other;
  const CancelScope inner(other);
  EXPECT_TRUE(stop_asked());  // each of the tokens counts
}

TEST(ThreadPool, AllThreadsWorkUnderTheBudgetOfTheCaller) {
  for (const int threads : {1, 3}) {
    kernels::ThreadPool pool(threads);
    Budget budget;
    const BudgetScope scope(budget);
    std::atomic<int64_t> done{0};
    pool.parallel_for(1000, [&](int64_t, int) {
      EXPECT_EQ(Budget::current(), &budget);
      if (++done == 10) budget.cancel();
    });
    EXPECT_GE(done, 10);
    EXPECT_LE(done, 10 + threads);
  }
}

}  // namespace
}  // namespace ec
