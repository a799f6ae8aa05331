#include "runtime/kernels/thread_pool.h"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

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

struct ThreadPool::Impl {
  std::vector<std::thread> workers;
  std::mutex mutex;
  std::condition_variable wake;
  std::atomic<uint64_t> generation{0};
  std::atomic<bool> stop{false};
  std::atomic<int> pending{0};
  std::atomic<int64_t> next{0};
  int64_t tasks = 0;
  TaskFn fn = nullptr;
  void* ctx = nullptr;

  void drain(int thread) {
    for (;;) {
      const int64_t i = next.fetch_add(1, std::memory_order_relaxed);
      if (i >= tasks) return;
      fn(ctx, i, thread);
    }
  }

  void worker(int thread) {
    uint64_t seen = 0;
    for (;;) {
      uint64_t now = seen;
      for (int spin = 0; spin < kSpins && now == seen; ++spin) {
        now = generation.load(std::memory_order_acquire);
        cpu_relax();
      }
      if (now == seen) {
        std::unique_lock lock(mutex);
        wake.wait(lock, [&] { return generation.load(std::memory_order_acquire) != seen; });
        now = generation.load(std::memory_order_acquire);
      }
      seen = now;
      if (stop.load(std::memory_order_relaxed)) return;
      drain(thread);
      pending.fetch_sub(1, std::memory_order_release);
    }
  }

  void publish() {
    {
      const std::lock_guard lock(mutex);
      generation.fetch_add(1, std::memory_order_release);
    }
    wake.notify_all();
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
  impl_->publish();
  for (std::thread& t : impl_->workers) t.join();
}

void ThreadPool::run(int64_t tasks, TaskFn fn, void* ctx) {
  Impl& p = *impl_;
  p.tasks = tasks;
  p.fn = fn;
  p.ctx = ctx;
  p.next.store(0, std::memory_order_relaxed);
  p.pending.store(threads_ - 1, std::memory_order_relaxed);
  p.publish();
  p.drain(0);
  // Every worker must have left drain() before the task fields may change again.
  int spins = 0;
  while (p.pending.load(std::memory_order_acquire) != 0) {
    cpu_relax();
    if (++spins > kSpins) std::this_thread::yield();
  }
}

}  // namespace ec::kernels
