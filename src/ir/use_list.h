// The operands that read a tensor, in the order in which they began to.
//
// Most tensors have one reader, and some have a hundred thousand: a list of many keeps an index, so
// that any of them is removed in constant time. What was removed leaves a gap, which iteration
// steps over, until half of the list are gaps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <vector>

namespace ec {

class Operation;

struct Use {
  Operation* op;
  uint32_t index;  // which operand
  bool operator==(const Use&) const = default;
};

class UseList {
 public:
  UseList();
  ~UseList();
  UseList(const UseList&) = delete;
  UseList& operator=(const UseList&) = delete;

  class Iterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = Use;
    using difference_type = std::ptrdiff_t;
    using pointer = const Use*;
    using reference = const Use&;

    Iterator() = default;
    Iterator(const Use* at, const Use* end) : at_(at), end_(end) { skip_gaps(); }
    const Use& operator*() const { return *at_; }
    const Use* operator->() const { return at_; }
    Iterator& operator++() {
      ++at_;
      skip_gaps();
      return *this;
    }
    Iterator operator++(int) {
      Iterator before = *this;
      ++*this;
      return before;
    }
    bool operator==(const Iterator& other) const { return at_ == other.at_; }

   private:
    void skip_gaps() {
      while (at_ != end_ && at_->op == nullptr) ++at_;
    }
    const Use* at_ = nullptr;
    const Use* end_ = nullptr;
  };

  size_t size() const { return items_.size() - gaps_; }
  bool empty() const { return size() == 0; }
  Iterator begin() const { return {items_.data() + first_, items_.data() + items_.size()}; }
  Iterator end() const { return {items_.data() + items_.size(), items_.data() + items_.size()}; }
  // Requires !empty().
  const Use& front() const { return *begin(); }
  // A copy, for loops that change operands.
  std::vector<Use> copy() const { return {begin(), end()}; }
  bool operator==(const std::vector<Use>& other) const { return copy() == other; }

  void add(Use use);
  // Requires that the list holds it.
  void remove(Use use);
  void clear();

 private:
  struct Index;
  void close_gaps();

  std::vector<Use> items_;  // a gap has no operation
  uint32_t gaps_ = 0;
  uint32_t first_ = 0;            // everything before it is a gap
  std::unique_ptr<Index> index_;  // of a long list; null: it is short and has no gaps
};

}  // namespace ec
