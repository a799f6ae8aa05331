#include "formats/torch/pickle_machine.h"

#include <fmt/format.h>

#include <bit>

namespace ec::torch {

Error corrupt_pickle(std::string what) {
  return Error(Code::CorruptFile, "pickle: " + std::move(what))
      .hint("the file is damaged: save or copy it again");
}

Error unsafe_pickle(std::string what) {
  return Error(Code::UnsafePickle, "pickle: " + std::move(what))
      .hint(
          "nothing was executed; do not load this file in Python unless you trust who made it, and "
          "ask for a model saved with torch.jit.save or torch.export.save");
}

Result<std::string_view> PickleMachine::take(size_t count) {
  if (!has(count)) return corrupt_pickle("a text runs past the end");
  const std::string_view part = text_.substr(at_, count);
  at_ += count;
  return part;
}

Result<std::string_view> PickleMachine::line() {
  const size_t end = text_.find('\n', at_);
  if (end == std::string_view::npos || end - at_ > 4096)
    return corrupt_pickle("a name does not end");
  const std::string_view part = text_.substr(at_, end - at_);
  at_ = end + 1;
  return part;
}

PickleNode& PickleMachine::make(PickleKind kind) {
  push(static_cast<PickleRef>(pickle_.nodes_.size()));
  PickleNode& made = pickle_.nodes_.emplace_back();
  made.kind = kind;
  return made;
}

Result<PickleRef> PickleMachine::top() const {
  if (stack_.size() <= (marks_.empty() ? 0 : marks_.back()))
    return corrupt_pickle("the stack is empty");
  return stack_.back();
}

Result<PickleRef> PickleMachine::pop() {
  EC_TRY(const PickleRef ref, top());
  stack_.pop_back();
  return ref;
}

Result<std::vector<PickleRef>> PickleMachine::pop_to_mark() {
  if (marks_.empty()) return corrupt_pickle("no mark on the stack");
  const auto first = stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
  std::vector<PickleRef> values(first, stack_.end());
  stack_.erase(first, stack_.end());
  marks_.pop_back();
  return values;
}

Status PickleMachine::push_text(size_t count) {
  EC_TRY(const std::string_view part, take(count));
  make(PickleKind::String).text = part;
  return {};
}

// Little-endian two's complement of any length; larger than 64 bits is no value of a model.
Status PickleMachine::push_long(size_t count) {
  EC_TRY(const std::string_view bytes, take(count));
  if (count > 8) {
    if (mode_ == PickleMode::Load) return corrupt_pickle("an integer of more than 64 bits");
    make(PickleKind::Opaque);
    return {};
  }
  uint64_t value =
      count > 0 && (static_cast<unsigned char>(bytes.back()) & 0x80) ? ~uint64_t{0} : 0;
  for (size_t i = count; i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  make(PickleKind::Int).integer = static_cast<int64_t>(value);
  return {};
}

Status PickleMachine::make_tuple(size_t count) {
  std::vector<PickleRef> items(count);
  for (size_t i = count; i-- > 0;) {
    EC_TRY(items[i], pop());
  }
  make(PickleKind::Tuple).items = std::move(items);
  return {};
}

Status PickleMachine::put(uint64_t index) {
  EC_TRY(const PickleRef ref, top());
  memo_[index] = ref;
  return {};
}

Status PickleMachine::push_memo(uint64_t index) {
  const auto found = memo_.find(index);
  if (found == memo_.end()) return corrupt_pickle("reads a value that was never stored");
  push(found->second);
  return {};
}

Status PickleMachine::append(std::vector<PickleRef> values) {
  EC_TRY(const PickleRef list, top());
  if (is(list, PickleKind::Opaque)) return {};
  if (!is(list, PickleKind::List)) return corrupt_pickle("appends to what is no list");
  std::vector<PickleRef>& items = node(list).items;
  items.insert(items.end(), values.begin(), values.end());
  return {};
}

Status PickleMachine::set_items(std::vector<PickleRef> values) {
  EC_TRY(const PickleRef dict, top());
  if (values.size() % 2 != 0) return corrupt_pickle("a key without a value");
  if (is(dict, PickleKind::Opaque)) return {};
  if (!is(dict, PickleKind::Dict)) return corrupt_pickle("stores into what is no dictionary");
  std::vector<PickleRef>& items = node(dict).items;
  items.insert(items.end(), values.begin(), values.end());
  return {};
}

// Names are those of Python's pickletools.
Status PickleMachine::step(unsigned char opcode) {
  switch (opcode) {
    case 0x80: {  // PROTO
      EC_TRY(const auto version, get<uint8_t>());
      if (version > 5) return corrupt_pickle(fmt::format("protocol {}", version));
      return {};
    }
    case '.':  // STOP
      stopped_ = true;
      return {};
    case '(':  // MARK
      marks_.push_back(stack_.size());
      return {};
    case 'N':   // NONE
    case 0x88:  // NEWTRUE
    case 0x89:  // NEWFALSE
    case 'K':   // BININT1
    case 'M':   // BININT2
    case 'J':   // BININT
    case 0x8a:  // LONG1
    case 'G':   // BINFLOAT
    case 'X':   // BINUNICODE
      return push_value(opcode);
    case ')':   // EMPTY_TUPLE
    case ']':   // EMPTY_LIST
    case '}':   // EMPTY_DICT
    case 't':   // TUPLE
    case 0x85:  // TUPLE1
    case 0x86:  // TUPLE2
    case 0x87:  // TUPLE3
      return push_container(opcode);
    case 'a':  // APPEND
    case 'e':  // APPENDS
    case 's':  // SETITEM
    case 'u':  // SETITEMS
      return fill_container(opcode);
    case 'q':  // BINPUT
    case 'r':  // LONG_BINPUT
    case 'h':  // BINGET
    case 'j':  // LONG_BINGET
      return use_memo(opcode);
    case 'c':  // GLOBAL
      return push_global();
    case 'Q':  // BINPERSID
      return persistent_id();
    case 0x81:  // NEWOBJ
      return new_object();
    case 'R':  // REDUCE
      return reduce();
    case 'b':  // BUILD
      return build();
    default:
      return unsafe_pickle(fmt::format(
          "instruction 0x{:02x} at byte {} is none that PyTorch writes", opcode, at_ - 1));
  }
}

template <class T>
Status PickleMachine::push_integer() {
  EC_TRY(const auto value, get<T>());
  make(PickleKind::Int).integer = value;
  return {};
}

Status PickleMachine::push_value(unsigned char opcode) {
  switch (opcode) {
    case 'N':
      make(PickleKind::None);
      return {};
    case 0x88:
    case 0x89:
      make(PickleKind::Bool).flag = opcode == 0x88;
      return {};
    case 'K':
      return push_integer<uint8_t>();
    case 'M':
      return push_integer<uint16_t>();
    case 'J':
      return push_integer<int32_t>();
    case 0x8a: {
      EC_TRY(const auto count, get<uint8_t>());
      return push_long(count);
    }
    case 'G': {  // big-endian
      EC_TRY(const auto bits, get<uint64_t>());
      make(PickleKind::Float).real = std::bit_cast<double>(__builtin_bswap64(bits));
      return {};
    }
    default: {
      EC_TRY(const auto count, get<uint32_t>());
      return push_text(count);
    }
  }
}

Status PickleMachine::push_container(unsigned char opcode) {
  switch (opcode) {
    case ')':
      make(PickleKind::Tuple);
      return {};
    case ']':
      make(PickleKind::List);
      return {};
    case '}':
      make(PickleKind::Dict);
      return {};
    case 't': {
      EC_TRY(std::vector<PickleRef> items, pop_to_mark());
      make(PickleKind::Tuple).items = std::move(items);
      return {};
    }
    default:
      return make_tuple(opcode - 0x84);  // of one to three
  }
}

Status PickleMachine::fill_container(unsigned char opcode) {
  if (opcode == 'a') {
    EC_TRY(const PickleRef value, pop());
    return append({value});
  }
  if (opcode == 's') {
    EC_TRY(const PickleRef value, pop());
    EC_TRY(const PickleRef key, pop());
    return set_items({key, value});
  }
  EC_TRY(std::vector<PickleRef> values, pop_to_mark());
  return opcode == 'e' ? append(std::move(values)) : set_items(std::move(values));
}

Status PickleMachine::use_memo(unsigned char opcode) {
  uint64_t index = 0;
  if (opcode == 'q' || opcode == 'h') {
    EC_TRY(index, get<uint8_t>());
  } else {
    EC_TRY(index, get<uint32_t>());
  }
  return opcode == 'q' || opcode == 'r' ? put(index) : push_memo(index);
}

Result<Pickle> PickleMachine::run() {
  while (!stopped_) {
    EC_TRY(const auto opcode, get<uint8_t>());
    EC_CHECK_OK(step(opcode));
  }
  EC_TRY(pickle_.root_, top());
  return std::move(pickle_);
}

}  // namespace ec::torch
