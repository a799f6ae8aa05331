// Stopping a job or a run from outside.
//
//   ec::CancelToken token;
//   std::thread job([token] {
//     ec::CancelScope scope(token);        // jobs and runs of this thread obey the token
//     ec::compile("model.onnx");           // throws ec::Exception with code EC8002 when cancelled
//   });
//   token.cancel();                        // from any thread, or from a signal handler
//
// A cancelled job ends within a second and leaves no file half-written. A session whose run was
// cancelled can run again, with the state that it had before.
#pragma once

#include <atomic>
#include <memory>

namespace ec {

// Copies share one flag.
class CancelToken {
 public:
  CancelToken() : flag_(std::make_shared<std::atomic<bool>>(false)) {}

  void cancel() const noexcept { flag_->store(true, std::memory_order_relaxed); }
  // Makes the token usable for the next job.
  void reset() const noexcept { flag_->store(false, std::memory_order_relaxed); }
  bool cancelled() const noexcept { return flag_->load(std::memory_order_relaxed); }

 private:
  friend class CancelScope;
  std::shared_ptr<std::atomic<bool>> flag_;
};

// While it lives, what this thread calls obeys the token. Scopes may be nested: each of their
// tokens counts.
class CancelScope {
 public:
  explicit CancelScope(CancelToken token);
  ~CancelScope();
  CancelScope(const CancelScope&) = delete;
  CancelScope& operator=(const CancelScope&) = delete;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ec
