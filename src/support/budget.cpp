#include "support/budget.h"

#include <fmt/format.h>

#include "support/units.h"

namespace ec {
namespace {

thread_local Budget* carried = nullptr;
// Its address tells threads apart.
thread_local const char thread_mark = 0;

constexpr uint64_t kUsualFoldWork = 1'000'000'000;  // where no limit was set
constexpr int64_t kQuestionsApart = 50;             // milliseconds between calls of Interrupted

int64_t milliseconds(std::chrono::steady_clock::time_point at) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(at.time_since_epoch()).count();
}

}  // namespace

Budget::Budget(const BudgetLimits& limits) noexcept : limits_(limits), parent_(carried) {
  if (limits.seconds <= 0) return;
  // More than a year is no limit, and would not fit the clock's numbers.
  const double seconds = limits.seconds < 3e7 ? limits.seconds : 3e7;
  deadline_ = Clock::now() +
              std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

Budget* Budget::current() noexcept { return carried; }

void Budget::watch(Interrupted interrupted, void* context) noexcept {
  interrupted_ = interrupted;
  context_ = context;
  owner_ = &thread_mark;
}

void Budget::stop(Stop reason) noexcept {
  Stop none = Stop::No;
  reason_.compare_exchange_strong(none, reason, std::memory_order_acq_rel);
}

bool Budget::stopped() noexcept {
  if (reason_.load(std::memory_order_relaxed) != Stop::No) return true;
  if (parent_ != nullptr && parent_->stopped()) return true;
  return look_around();
}

bool Budget::look_around() noexcept {
  if (flag_ != nullptr && flag_->load(std::memory_order_relaxed)) stop(Stop::Cancelled);
  const bool may_ask = interrupted_ != nullptr && owner_ == &thread_mark;
  if (limits_.seconds > 0 || may_ask) {
    const Clock::time_point now = Clock::now();
    if (limits_.seconds > 0 && now >= deadline_) stop(Stop::Time);
    if (may_ask && milliseconds(now) >= next_question_.load(std::memory_order_relaxed)) {
      next_question_.store(milliseconds(now) + kQuestionsApart, std::memory_order_relaxed);
      if (interrupted_(context_)) stop(Stop::Cancelled);
    }
  }
  return reason_.load(std::memory_order_relaxed) != Stop::No;
}

void Budget::spend(uint64_t operations) noexcept {
  const uint64_t before = spent_.fetch_add(operations, std::memory_order_relaxed);
  if (limits_.work > 0 && (before >= limits_.work || operations > limits_.work - before))
    stop(Stop::Work);
  if (parent_ != nullptr) parent_->spend(operations);
}

bool Budget::may_fold(uint64_t operations) const noexcept {
  constexpr uint64_t kSmall = 1 << 16;
  const uint64_t folded = folded_.load(std::memory_order_relaxed);
  const uint64_t limit = limits_.fold_work + more_folding_.load(std::memory_order_relaxed);
  const bool fits = limits_.fold_work == 0 || operations <= kSmall ||
                    (folded <= limit && operations <= limit - folded);
  return fits && (parent_ == nullptr || parent_->may_fold(operations));
}

uint64_t Budget::largest_fold() const noexcept {
  if (limits_.fold_work > 0) return limits_.fold_work / 4;
  return parent_ != nullptr ? parent_->largest_fold() : kUsualFoldWork / 4;
}

void Budget::fold(uint64_t operations) noexcept {
  folded_.fetch_add(operations, std::memory_order_relaxed);
  if (parent_ != nullptr) parent_->fold(operations);
}

void Budget::allow_more_folding(uint64_t operations) noexcept {
  more_folding_.fetch_add(operations, std::memory_order_relaxed);
}

bool Budget::may_compute(size_t bytes) noexcept {
  const size_t before = computed_.load(std::memory_order_relaxed);
  if (limits_.computed > 0 && (before > limits_.computed || bytes > limits_.computed - before))
    return false;
  if (parent_ != nullptr && !parent_->may_compute(bytes)) return false;
  computed_.fetch_add(bytes, std::memory_order_relaxed);
  return true;
}

bool Budget::has_room(size_t bytes) const noexcept {
  const size_t held = held_.load(std::memory_order_relaxed);
  const bool fits =
      limits_.memory == 0 || (held <= limits_.memory && bytes <= limits_.memory - held);
  return fits && (parent_ == nullptr || parent_->has_room(bytes));
}

bool Budget::take(size_t bytes) noexcept {
  const bool fits = limits_.memory == 0 || has_room(bytes);
  held_.fetch_add(bytes, std::memory_order_relaxed);
  if (!fits) stop(Stop::Memory);
  const bool fits_around = parent_ == nullptr || parent_->take(bytes);
  return fits && fits_around;
}

void Budget::give_back(size_t bytes) noexcept {
  held_.fetch_sub(bytes, std::memory_order_relaxed);
  if (parent_ != nullptr) parent_->give_back(bytes);
}

Error Budget::memory_error(size_t bytes) const {
  const Budget* limiting = this;
  while (limiting->limits_.memory == 0 && limiting->parent_ != nullptr)
    limiting = limiting->parent_;
  Error error(Code::OutOfMemory,
              fmt::format("the tensors need {}, more than the {} that are allowed",
                          format_bytes(static_cast<int64_t>(bytes)),
                          format_bytes(static_cast<int64_t>(limiting->limits_.memory))));
  if (limiting->limits_.memory_option == nullptr) return error;
  return std::move(error).hint(fmt::format("allow more with {}", limiting->limits_.memory_option));
}

Status Budget::status() noexcept {
  if (!stopped()) return {};
  switch (reason()) {
    case Stop::No:  // the budget around this one has ended
      return parent_->status();
    case Stop::Cancelled:
      return Error(Code::Interrupted, "the job was cancelled");
    case Stop::Time:
      return Error(Code::TimedOut, fmt::format("the time limit of {:g} s is over", limits_.seconds))
          .hint("allow more time with --timeout SECONDS");
    case Stop::Memory:
      return memory_error(held_.load(std::memory_order_relaxed));
    case Stop::Work:
      break;
  }
  return work_error();
}

Error Budget::work_error() const {
  Error error(Code::WorkLimit,
              fmt::format("more than {} million operations are needed",
                          format_count(static_cast<int64_t>(limits_.work / 1'000'000))));
  if (limits_.work_option == nullptr) return error;
  return std::move(error).hint(fmt::format("allow more with {}", limits_.work_option));
}

Status Budget::check_work(uint64_t operations) const {
  const uint64_t before = spent();
  if (limits_.work > 0 && (before >= limits_.work || operations > limits_.work - before))
    return work_error();
  return parent_ != nullptr ? parent_->check_work(operations) : Status();
}

BudgetScope::BudgetScope(Budget* budget) noexcept : before_(carried) { carried = budget; }
BudgetScope::~BudgetScope() { carried = before_; }

Status check_work(uint64_t operations) {
  const Budget* budget = Budget::current();
  return budget != nullptr ? budget->check_work(operations) : Status();
}

Status check_room(size_t bytes) {
  Budget* budget = Budget::current();
  if (budget == nullptr || budget->has_room(bytes)) return {};
  return budget->memory_error(bytes);
}

bool is_stop(Code code) {
  return code == Code::Interrupted || code == Code::TimedOut || code == Code::WorkLimit;
}

}  // namespace ec
