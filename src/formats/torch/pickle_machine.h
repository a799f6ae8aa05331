// The machine that reads a pickle: its stack, its memo, and one function per instruction.
#pragma once

#include <cstring>
#include <unordered_map>
#include <unordered_set>

#include "formats/torch/pickle.h"
#include "formats/torch/pickle_globals.h"

namespace ec::torch {

Error corrupt_pickle(std::string what);
Error unsafe_pickle(std::string what);

class PickleMachine {
 public:
  PickleMachine(std::span<const std::byte> bytes, PickleMode mode)
      : text_(reinterpret_cast<const char*>(bytes.data()), bytes.size()), mode_(mode) {}

  Result<Pickle> run();

 private:
  // Reading.
  bool has(size_t count) const { return count <= text_.size() - at_; }
  template <class T>
  Result<T> get() {
    if (!has(sizeof(T))) return corrupt_pickle("cut off");
    T value;
    std::memcpy(&value, text_.data() + at_, sizeof value);
    at_ += sizeof value;
    return value;
  }
  Result<std::string_view> take(size_t count);
  Result<std::string_view> line();

  // The stack.
  void push(PickleRef ref) { stack_.push_back(ref); }
  PickleNode& make(PickleKind kind);  // pushed; valid until the next node is made
  Result<PickleRef> pop();
  Result<PickleRef> top() const;
  Result<std::vector<PickleRef>> pop_to_mark();
  PickleNode& node(PickleRef ref) { return pickle_.nodes_[ref]; }
  bool is(PickleRef ref, PickleKind kind) { return node(ref).kind == kind; }

  // Opcodes.
  Status step(unsigned char opcode);
  Status push_value(unsigned char opcode);
  Status push_container(unsigned char opcode);
  Status fill_container(unsigned char opcode);
  Status use_memo(unsigned char opcode);
  template <class T>
  Status push_integer();
  Status push_global();
  Status push_text(size_t count);
  Status push_long(size_t count);
  Status make_tuple(size_t count);
  Status put(uint64_t index);
  Status push_memo(uint64_t index);
  Status append(std::vector<PickleRef> values);
  Status set_items(std::vector<PickleRef> values);
  Status persistent_id();
  Status new_object();
  Status reduce();
  Status build();
  Status reduce_known(GlobalKind kind, const std::string& global, PickleRef arguments);
  Status rebuild_tensor(std::vector<PickleRef> arguments, bool quantized);
  Status opaque(const std::string& global, PickleRef arguments);

  std::string_view text_;
  size_t at_ = 0;
  PickleMode mode_;
  Pickle pickle_;
  std::vector<PickleRef> stack_;
  std::vector<size_t> marks_;
  std::unordered_map<uint64_t, PickleRef> memo_;
  std::unordered_set<std::string> seen_classes_;
  bool stopped_ = false;
};

}  // namespace ec::torch
