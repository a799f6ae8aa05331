// A fixed team of threads for loops inside one operation.
//
// Loops are cut into numbered tasks that never share an output element, and how a loop is cut into
// tasks that accumulate depends on the shape only; so results are the same bits for any number of
// threads.
#pragma once

#include <cstdint>
#include <memory>
#include <type_traits>

#include "support/budget.h"

namespace ec::kernels {

class ThreadPool {
 public:
  /// `threads` counts the calling thread; values below 1 mean 1. One thread starts no worker at
  /// all.
  explicit ThreadPool(int threads = 1);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return threads_; }

  /// Calls f(task, thread) once for every task in [0, tasks) and returns when all are done.
  /// `thread` is in [0, threads()) and names the scratch area the task may use. Not reentrant.
  /// All threads work under the budget of the calling one. When it ends, the tasks that are left
  /// are not done, and whoever runs the operation gives its results up.
  template <class F>
  void parallel_for(int64_t tasks, F&& f) {
    if (threads_ == 1 || tasks <= 1) {
      for (int64_t i = 0; i < tasks && !stop_asked(); ++i) f(i, 0);
      return;
    }
    using Fn = std::remove_reference_t<F>;
    run(
        tasks, [](void* ctx, int64_t i, int thread) { (*static_cast<Fn*>(ctx))(i, thread); },
        const_cast<void*>(static_cast<const void*>(&f)));
  }

 private:
  using TaskFn = void (*)(void*, int64_t, int);
  void run(int64_t tasks, TaskFn fn, void* ctx);

  struct Impl;
  int threads_ = 1;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ec::kernels
