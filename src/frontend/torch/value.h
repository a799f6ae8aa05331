// Values of a PyTorch program while it is turned into a graph: Python values that are known, and
// references to tensors of the graph that is being built. Shared by the readers of TorchScript and
// torch.export and by the operator table.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "ir/graph.h"

namespace ec::torch {

class TorchValue;
struct Alias;  // of functional/: how a tensor is a view of another one

// A tensor of the graph.
struct TensorRef {
  ec::Tensor* tensor = nullptr;
  // A 0-d tensor that takes part in type promotion as a Python number does (traced scalars).
  bool python_number = false;
  // A quantised tensor (quint8, qint8, qint32): `tensor` holds the integers and carries no
  // parameters itself; they are here. Operators keep the file's numbers: quint8 stays u8.
  std::shared_ptr<const QuantParams> quant;
  // Kept by functional/; operators neither read nor set it.
  std::shared_ptr<Alias> alias;

  bool operator==(const TensorRef& other) const { return tensor == other.tensor; }
};

// A bool, int or float that is known only at run time (an open size, float(x.max())): a tensor of
// rank 0 with elements Bool, I64, or any floating-point type.
struct SymScalar {
  enum class Kind : uint8_t { Bool, Int, Float };
  ec::Tensor* tensor = nullptr;
  Kind kind = Kind::Int;
  bool operator==(const SymScalar& other) const = default;
};

// Lists and dicts are references: append is seen through every name.
struct TorchList {
  std::vector<TorchValue> items;
};
struct TorchTuple {
  std::vector<TorchValue> items;
  std::string class_name;                // of a NamedTuple, else empty
  std::vector<std::string> field_names;  // of a NamedTuple
};
struct TorchDict {
  std::vector<std::pair<TorchValue, TorchValue>> items;  // in the order of insertion
};

// Modules, instances of classes, functions, devices: what only the readers know.
struct TorchObject {
  TorchObject() = default;
  virtual ~TorchObject() = default;
  TorchObject(const TorchObject&) = delete;
  TorchObject& operator=(const TorchObject&) = delete;
};

// Packed parameters of quantised operators. Weights are TensorRefs with `quant`, in PyTorch's
// order of dimensions; the bias is f32, or null.
struct PackedLinear {
  TensorRef weight;  // [out, in]
  ec::Tensor* bias = nullptr;
};
struct PackedConv {
  TensorRef weight;  // [out, in / groups, k...]; transposed: [in, out / groups, k...]
  ec::Tensor* bias = nullptr;
  std::vector<int64_t> stride, padding, output_padding, dilation;
  int64_t groups = 1;
  bool transposed = false;
};
// CellParamsBase of one layer and direction of a dynamically quantised LSTM or GRU.
struct PackedCell {
  PackedLinear input, hidden;  // W_ih with b_ih, W_hh with b_hh
  bool reduce_range = false;
};

class TorchValue {
 public:
  using List = std::shared_ptr<TorchList>;
  using Tuple = std::shared_ptr<TorchTuple>;
  using Dict = std::shared_ptr<TorchDict>;
  using Object = std::shared_ptr<TorchObject>;
  using Linear = std::shared_ptr<const PackedLinear>;
  using Conv = std::shared_ptr<const PackedConv>;
  using Cell = std::shared_ptr<const PackedCell>;
  using Variant = std::variant<std::monostate, bool, int64_t, double, std::string, TensorRef,
                               SymScalar, List, Tuple, Dict, Object, Linear, Conv, Cell>;

  TorchValue() = default;                                        // None
  TorchValue(bool value) : value_(value) {}                      // NOLINT: values convert
  TorchValue(int value) : value_(int64_t{value}) {}              // NOLINT
  TorchValue(int64_t value) : value_(value) {}                   // NOLINT
  TorchValue(double value) : value_(value) {}                    // NOLINT
  TorchValue(std::string value) : value_(std::move(value)) {}    // NOLINT
  TorchValue(const char* value) : value_(std::string(value)) {}  // NOLINT
  TorchValue(ec::Tensor* value) : value_(TensorRef{value, false, {}, {}}) {}  // NOLINT
  TorchValue(TensorRef value) : value_(std::move(value)) {}                   // NOLINT
  TorchValue(SymScalar value) : value_(value) {}                              // NOLINT
  TorchValue(List value) : value_(std::move(value)) {}                        // NOLINT
  TorchValue(Tuple value) : value_(std::move(value)) {}                       // NOLINT
  TorchValue(Dict value) : value_(std::move(value)) {}                        // NOLINT
  TorchValue(Object value) : value_(std::move(value)) {}                      // NOLINT
  TorchValue(Linear value) : value_(std::move(value)) {}                      // NOLINT
  TorchValue(Conv value) : value_(std::move(value)) {}                        // NOLINT
  TorchValue(Cell value) : value_(std::move(value)) {}                        // NOLINT
  static TorchValue list(std::vector<TorchValue> items) {
    return std::make_shared<TorchList>(TorchList{std::move(items)});
  }
  static TorchValue tuple(std::vector<TorchValue> items) {
    return std::make_shared<TorchTuple>(TorchTuple{std::move(items), {}, {}});
  }
  static TorchValue ints(const std::vector<int64_t>& values) {
    return list(std::vector<TorchValue>(values.begin(), values.end()));
  }

  bool is_none() const { return is<std::monostate>(); }
  bool is_tensor() const { return is<TensorRef>(); }
  // A number that is known: bool, int, float.
  bool is_number() const { return is<bool>() || is<int64_t>() || is<double>(); }
  template <class T>
  bool is() const {
    return std::holds_alternative<T>(value_);
  }
  template <class T>
  const T* get_if() const {
    return std::get_if<T>(&value_);
  }
  template <class T>
  T* get_if() {
    return std::get_if<T>(&value_);
  }
  template <class T>
  const T& get() const {
    return std::get<T>(value_);
  }
  ec::Tensor* tensor() const { return is_tensor() ? get<TensorRef>().tensor : nullptr; }
  // Items of a list or a tuple; null for anything else.
  const std::vector<TorchValue>* items() const {
    if (const auto* list = get_if<List>()) return &(*list)->items;
    if (const auto* tuple = get_if<Tuple>()) return &(*tuple)->items;
    return nullptr;
  }
  const Variant& variant() const { return value_; }

 private:
  Variant value_;
};

// "Tensor f32[1,3]", "int 3", "list of 4": for messages.
std::string describe(const TorchValue& value);

}  // namespace ec::torch
