#include "runtime/kernels/thread_pool.h"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "support/budget.h"

namespace ec::kernels {

// Workers spin for a short while before they sleep: operations follow each other within
// microseconds during a run, and a futex wake-up costs more than many of them. The limit keeps an
// idle session off the processor.
namespace {
constexpr int kSpins = 2000;

inline void cpu_relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}
}  // namespace

// One word is the gate of the current loop: its number, whether workers may still enter, and how
// many are inside. The caller opens the gate, works itself until no task is left, closes it, and
// waits only for the workers inside: one that the system has not scheduled in time is not missed.
struct ThreadPool::Impl {
  static constexpr uint64_t kOpen = uint64_t{1} << 31, kInside = kOpen - 1;
  static uint64_t number_of(uint64_t gate) { return gate >> 32; }

  std::vector<std::thread> workers;
  std::mutex mutex;
  std::condition_variable wake;
  std::atomic<uint64_t> gate{0};
  std::atomic<int> sleeping{0};
  std::atomic<bool> stop{false};
  std::atomic<int64_t> next{0};
  // Change only while the gate is closed and nobody is inside.
  int64_t tasks = 0;
  TaskFn fn = nullptr;
  void* ctx = nullptr;
  Budget* budget = nullptr;

  void drain(int thread) {
    const BudgetScope scope(budget);
    while (!stop_asked()) {
      const int64_t i = next.fetch_add(1, std::memory_order_relaxed);
      if (i >= tasks) return;
      fn(ctx, i, thread);
    }
  }

  // Waits for a loop after the one with this sequence number.
  uint64_t wait_for_next(uint64_t seen) {
    for (int spin = 0; spin < kSpins; ++spin) {
      const uint64_t now = gate.load(std::memory_order_acquire);
      if (number_of(now) != seen) return now;
      cpu_relax();
    }
    // Announced before the gate is looked at again: either the caller sees the sleeper, or the
    // sleeper sees the new loop.
    sleeping.fetch_add(1);
    std::unique_lock lock(mutex);
    wake.wait(lock, [&] { return number_of(gate.load()) != seen; });
    sleeping.fetch_sub(1);
    return gate.load();
  }

  void worker(int thread) {
    uint64_t seen = 0;
    for (;;) {
      uint64_t now = wait_for_next(seen);
      if (stop.load(std::memory_order_relaxed)) return;
      seen = number_of(now);
      while ((now & kOpen) != 0 && number_of(now) == seen) {
        if (!gate.compare_exchange_weak(now, now + 1, std::memory_order_acquire)) continue;
        drain(thread);
        gate.fetch_sub(1, std::memory_order_release);
        break;
      }
    }
  }

  // Requires a closed gate with nobody inside.
  void open() {
    gate.store((number_of(gate.load(std::memory_order_relaxed)) + 1) << 32 | kOpen);
    if (sleeping.load() == 0) return;
    { const std::lock_guard lock(mutex); }
    wake.notify_all();
  }

  void close() {
    uint64_t now = gate.fetch_and(~kOpen, std::memory_order_acquire);
    for (int spins = 0; (now & kInside) != 0; ++spins) {
      cpu_relax();
      if (spins > kSpins) std::this_thread::yield();
      now = gate.load(std::memory_order_acquire);
    }
  }
};

ThreadPool::ThreadPool(int threads) : threads_(std::max(1, threads)) {
  if (threads_ == 1) return;
  impl_ = std::make_unique<Impl>();
  // Signals stay with the thread that owns the outputs: a handler that runs on a worker would
  // remove them while their owner goes on writing.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  for (int i = 1; i < threads_; ++i) impl_->workers.emplace_back([this, i] { impl_->worker(i); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

ThreadPool::~ThreadPool() {
  if (impl_ == nullptr) return;
  impl_->stop.store(true, std::memory_order_relaxed);
  impl_->open();
  for (std::thread& t : impl_->workers) t.join();
}

void ThreadPool::run(int64_t tasks, TaskFn fn, void* ctx) {
  Impl& p = *impl_;
  p.tasks = tasks;
  p.fn = fn;
  p.ctx = ctx;
  p.budget = Budget::current();
  p.next.store(0, std::memory_order_relaxed);
  p.open();
  p.drain(0);
  p.close();
}

}  // namespace ec::kernels
