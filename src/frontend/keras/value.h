// Values of a Keras configuration and of the calls in it: what JSON has, and tensors of the graph
// with their masks.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"
#include "support/result.h"

namespace ec::keras {

class Value {
 public:
  enum class Kind : uint8_t { None, Bool, Int, Float, Text, Tensor, List, Dict, Slice, Failed };

  Value() = default;
  Value(ec::Tensor* tensor) : Value(Value::tensor(tensor)) {}  // NOLINT: results of conversions
  static Value boolean(bool value);
  static Value integer(int64_t value);
  static Value number(double value);
  static Value text(std::string value);
  // A mask tells which steps of a sequence count.
  static Value tensor(ec::Tensor* tensor, ec::Tensor* mask = nullptr);
  static Value list(std::vector<Value> items);
  static Value dict();
  static Value slice(Value begin, Value end, Value step);
  // What could not be had; why was reported.
  static Value failed();

  Kind kind() const { return kind_; }
  bool is_none() const { return kind_ == Kind::None; }
  bool is_text() const { return kind_ == Kind::Text; }
  bool is_number() const {
    return kind_ == Kind::Int || kind_ == Kind::Float || kind_ == Kind::Bool;
  }
  bool is_list() const { return kind_ == Kind::List; }
  bool is_dict() const { return kind_ == Kind::Dict; }
  bool is_tensor() const { return kind_ == Kind::Tensor; }
  bool is_failed() const { return kind_ == Kind::Failed; }
  bool is(std::string_view text) const { return is_text() && as_text() == text; }

  bool as_bool(bool otherwise = false) const;
  int64_t as_int(int64_t otherwise = 0) const;
  double as_number(double otherwise = 0) const;
  const std::string& as_text() const;  // empty for everything else
  ec::Tensor* as_tensor() const { return is_tensor() ? tensor_ : nullptr; }
  ec::Tensor* mask() const { return is_tensor() ? mask_ : nullptr; }
  void set_mask(ec::Tensor* mask) { mask_ = mask; }

  // Items of a list or slice, values of a dict.
  const std::vector<Value>& items() const;
  std::vector<Value>& mutable_items() { return parts().items; }
  const std::vector<std::string>& keys() const;
  // The value under a key of a dict; None where there is none.
  const Value& operator[](std::string_view key) const;
  bool has(std::string_view key) const { return !(*this)[key].is_none(); }
  void append(Value item) { parts().items.push_back(std::move(item)); }
  void set(std::string key, Value item);

 private:
  struct Parts {
    std::string text;
    std::vector<std::string> keys;
    std::vector<Value> items;
  };
  Parts& parts();

  Kind kind_ = Kind::None;
  union {
    bool bool_;
    int64_t int_ = 0;
    double number_;
    ec::Tensor* tensor_;
  };
  ec::Tensor* mask_ = nullptr;
  std::shared_ptr<Parts> parts_;
};

// All tensors in a value, in order.
void collect_tensors(const Value& value, std::vector<ec::Tensor*>& tensors);
bool contains_failed(const Value& value);

// JSON as Python writes it, NaN and Infinity included. Errors: CorruptFile, TooDeep, TooLarge.
Result<Value> parse_json(std::string_view text);

}  // namespace ec::keras
