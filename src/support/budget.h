// What a job may use: time, work and memory, and whether somebody asked it to stop.
//
// The thread that runs a job carries its budget (BudgetScope), as it carries its call stack:
// kernels and readers ask it without a parameter through every signature, jobs on other threads
// have budgets of their own, and a team of threads takes over the budget of the thread it works
// for. ADR 20 tells why.
//
// A loop that sees that it has to stop leaves its result unfinished. Whoever called it asks
// check_budget() afterwards and gives the result up, so that nothing unfinished is ever used.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "support/result.h"

namespace ec {

// 0: no limit.
struct BudgetLimits {
  double seconds = 0;
  uint64_t work = 0;       // operations, estimated
  uint64_t fold_work = 0;  // operations for constants that are computed before the run
  size_t memory = 0;       // bytes of tensors that runs hold
  size_t computed = 0;     // bytes of constants that reading a model computes
  // The options that raise the limits, for messages.
  const char* work_option = nullptr;
  const char* memory_option = nullptr;
};

class Budget {
 public:
  // Why a job has to stop.
  enum class Stop : uint8_t { No, Cancelled, Time, Work, Memory };
  // Asked now and then on the thread that made the budget; true: stop as if cancelled.
  using Interrupted = bool (*)(void* context);

  // A budget within the one that the thread carries: it ends when that one ends.
  explicit Budget(const BudgetLimits& limits = {}) noexcept;
  Budget(const Budget&) = delete;
  Budget& operator=(const Budget&) = delete;

  // From any thread, and from a signal handler.
  void cancel() noexcept { stop(Stop::Cancelled); }
  // A flag that somebody else sets to cancel; it must outlive the budget.
  void watch(const std::atomic<bool>* flag) noexcept { flag_ = flag; }
  void watch(Interrupted interrupted, void* context) noexcept;

  // Whether the job has to stop. Stays true. From any thread.
  bool stopped() noexcept;
  // Why; No while stopped() is false. Reasons of this budget alone, not of the one around it.
  Stop reason() const noexcept { return reason_.load(std::memory_order_acquire); }
  // The error of the limit that was reached, or nothing. Adds the hint that raises it.
  Status status() noexcept;

  // Counts operations that are about to be done, here and in the budgets around this one.
  void spend(uint64_t operations) noexcept;
  uint64_t spent() const noexcept { return spent_.load(std::memory_order_relaxed); }
  // An error where this many more would be too many; nothing is counted and nothing stops.
  Status check_work(uint64_t operations) const;

  // Whether a constant that takes this many operations may still be computed. Small ones always
  // may: sizes depend on them. What may not is left to the run, and nothing stops.
  bool may_fold(uint64_t operations) const noexcept;
  // The most that one constant may take beside what its operands justify: a quarter of the limit.
  uint64_t largest_fold() const noexcept;
  void fold(uint64_t operations) noexcept;
  // A large model's own constants justify more.
  void allow_more_folding(uint64_t operations) noexcept;

  // Counts bytes of constants that reading a model is about to compute. False where they are too
  // many: the operation stays, nothing is counted and nothing stops.
  bool may_compute(size_t bytes) noexcept;

  // Counts bytes that are held from now on. False where they are too many: the job has to stop.
  bool take(size_t bytes) noexcept;
  void give_back(size_t bytes) noexcept;
  // Whether this many more bytes would be too many; nothing is counted and nothing stops.
  bool has_room(size_t bytes) const noexcept;

  // OutOfMemory: this many bytes are more than allowed.
  Error memory_error(size_t bytes) const;

  // The budget of this thread; null: no limit was set and nobody can cancel.
  static Budget* current() noexcept;

 private:
  friend class BudgetScope;
  using Clock = std::chrono::steady_clock;

  void stop(Stop reason) noexcept;
  bool look_around() noexcept;
  Error work_error() const;

  BudgetLimits limits_;
  Budget* const parent_;
  Clock::time_point deadline_{};
  const std::atomic<bool>* flag_ = nullptr;
  Interrupted interrupted_ = nullptr;
  void* context_ = nullptr;
  std::atomic<int64_t> next_question_{0};  // when to ask interrupted_ again, in milliseconds
  const void* owner_ = nullptr;            // the thread that may ask interrupted_
  std::atomic<Stop> reason_{Stop::No};
  std::atomic<uint64_t> spent_{0}, folded_{0}, more_folding_{0};
  std::atomic<size_t> held_{0}, computed_{0};
};

// While it lives, the thread carries the budget. Null: the thread carries none.
class BudgetScope {
 public:
  explicit BudgetScope(Budget* budget) noexcept;
  explicit BudgetScope(Budget& budget) noexcept : BudgetScope(&budget) {}
  ~BudgetScope();
  BudgetScope(const BudgetScope&) = delete;
  BudgetScope& operator=(const BudgetScope&) = delete;

 private:
  Budget* const before_;
};

// Whether the job of this thread has to stop.
inline bool stop_asked() noexcept {
  Budget* budget = Budget::current();
  return budget != nullptr && budget->stopped();
}
// The same as an error that says why.
inline Status check_budget() {
  Budget* budget = Budget::current();
  return budget != nullptr ? budget->status() : Status();
}
inline void spend_work(uint64_t operations) noexcept {
  if (Budget* budget = Budget::current()) budget->spend(operations);
}
// Whether a plan that needs this many operations or bytes may be made; an error that says how much
// is allowed.
Status check_work(uint64_t operations);
Status check_room(size_t bytes);
// Bytes that a loop collects. Belongs to the budget that was current when it was made.
class MemoryCharge {
 public:
  MemoryCharge() noexcept : budget_(Budget::current()) {}
  ~MemoryCharge() {
    if (budget_ != nullptr) budget_->give_back(bytes_);
  }
  MemoryCharge(const MemoryCharge&) = delete;
  MemoryCharge& operator=(const MemoryCharge&) = delete;
  void add(size_t bytes) noexcept {
    bytes_ += bytes;
    if (budget_ != nullptr) budget_->take(bytes);
  }

 private:
  Budget* const budget_;
  size_t bytes_ = 0;
};
// Whether an error tells that a job had to stop, rather than that something is wrong.
bool is_stop(Code code);

// For loops of kernels: counts the operations that were done and asks the budget once in about a
// millisecond of them. A member of the loop's own, not shared by threads.
class Ticker {
 public:
  // Operations that were done since the last call; true: leave the loop.
  bool tick(int64_t operations = 1) noexcept {
    count_ += operations;
    if (count_ < kEvery) return stopped_;
    spend_work(static_cast<uint64_t>(count_));
    count_ = 0;
    return stopped_ = stop_asked();
  }
  // The same for kernels whose work was counted before they began.
  bool look(int64_t operations = 1) noexcept {
    count_ += operations;
    if (count_ < kEvery) return stopped_;
    count_ = 0;
    return stopped_ = stop_asked();
  }

 private:
  static constexpr int64_t kEvery = int64_t{1} << 18;
  int64_t count_ = 0;
  bool stopped_ = false;
};

}  // namespace ec
