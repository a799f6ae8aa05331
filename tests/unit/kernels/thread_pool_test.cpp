// Every task of a loop runs exactly once, whatever the workers are doing when it starts.
#include "runtime/kernels/thread_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace ec::kernels {
namespace {

void expect_each_once(ThreadPool& pool, int64_t tasks) {
  std::vector<std::atomic<int>> seen(static_cast<size_t>(tasks));
  std::atomic<bool> in_range{true};
  pool.parallel_for(tasks, [&](int64_t task, int thread) {
    seen[static_cast<size_t>(task)].fetch_add(1);
    if (thread < 0 || thread >= pool.threads()) in_range = false;
  });
  for (const auto& count : seen) ASSERT_EQ(count.load(), 1);
  ASSERT_TRUE(in_range);
}

TEST(ThreadPool, RunsEveryTaskOnceInLoopsThatFollowEachOther) {
  for (const int threads : {1, 2, 3, 8}) {
    ThreadPool pool(threads);
    for (int loop = 0; loop < 3000; ++loop) expect_each_once(pool, 1 + loop % 17);
  }
}

TEST(ThreadPool, WakesWorkersThatSleep) {
  ThreadPool pool(4);
  for (int loop = 0; loop < 20; ++loop) {
    std::this_thread::sleep_for(std::chrono::milliseconds(3));
    expect_each_once(pool, 64);
  }
}

TEST(ThreadPool, WorkersTakePart) {
  ThreadPool pool(2);
  // The first task ends when the second one has begun: one thread alone would wait for ever.
  std::atomic<bool> begun{false};
  pool.parallel_for(2, [&](int64_t task, int) {
    if (task == 1) begun = true;
    while (!begun) std::this_thread::yield();
  });
  EXPECT_TRUE(begun);
}

TEST(ThreadPool, EndsWhetherItWorkedOrNot) {
  for (int i = 0; i < 200; ++i) {
    ThreadPool pool(3);
    if (i % 2 == 0) expect_each_once(pool, 5);
  }
}

}  // namespace
}  // namespace ec::kernels
