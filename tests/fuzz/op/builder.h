// Makes tensors for generated models: from those that are there, as new inputs or as constants.
#pragma once

#include <optional>
#include <vector>

#include "fuzz/op/model.h"
#include "fuzz/op/random_source.h"
#include "ops/attrs.h"
#include "ops/op_def.h"

namespace ec::fuzz {

using Sizes = std::vector<int64_t>;

// One operation before it is added.
struct Call {
  OpKind kind{};
  std::vector<Tensor*> inputs = {};
  Attrs attrs = {};
  size_t outputs = 1;
  std::vector<std::unique_ptr<Graph>> bodies = {};
};

struct BuilderOptions {
  DType real = DType::F32;               // of most numbers
  std::optional<DType> stored;           // integers with parameters in the place of reals
  bool open_sizes = false;               // inputs have symbols for some of their sizes
  bool is_body = false;                  // new inputs would change the interface of the body
  int depth = 0;                         // of nested graphs
  std::vector<Value>* values = nullptr;  // of inputs, in their order
};

class Builder {
 public:
  Builder(Graph& graph, RandomSource& random, BuilderOptions options)
      : graph_(graph), random_(random), options_(std::move(options)) {}

  Graph& graph() { return graph_; }
  RandomSource& random() { return random_; }
  const BuilderOptions& options() const { return options_; }
  DType real_type() const { return options_.real; }
  bool is_quantised() const { return options_.stored.has_value(); }

  // --- sizes ------------------------------------------------------------------------------------
  int64_t size(int64_t most = 6);
  Sizes shape(int64_t rank);
  Sizes shape(int64_t least_rank, int64_t most_rank) {
    return shape(random_.pick(least_rank, most_rank));
  }
  // The sizes that the tensor has when the model runs; empty: only the run knows.
  std::optional<Sizes> sizes_of(const Tensor* tensor) const;
  // A shape that broadcasts with `sizes`.
  Sizes broadcastable(Sizes sizes);

  // --- tensors ----------------------------------------------------------------------------------
  // A number tensor: one that is there, or a new one.
  Tensor* reals(int64_t least_rank, int64_t most_rank);
  Tensor* reals(const Sizes& sizes);
  // The same without parameters where the model is quantised.
  Tensor* floats(const Sizes& sizes);
  Tensor* positive(const Sizes& sizes);  // above zero, never quantised
  Tensor* of_type(DType dtype, const Sizes& sizes);
  Tensor* of_type(DType dtype, int64_t least_rank, int64_t most_rank) {
    return of_type(dtype, shape(least_rank, most_rank));
  }
  Tensor* weights(const Sizes& sizes, int32_t channel_axis);
  Tensor* bias(int64_t count);
  // Integers that mean sizes, axes or positions: constants more often than inputs.
  Tensor* ints(const std::vector<int64_t>& values);
  Tensor* ints(const Sizes& sizes, const std::vector<int64_t>& values, DType dtype = DType::I64);
  Tensor* indices(const Sizes& sizes, int64_t limit, DType dtype = DType::I64);
  // The same in either of the types that indices have.
  Tensor* typed_ints(const Sizes& sizes, const std::vector<int64_t>& values);
  Tensor* positions(const Sizes& sizes, int64_t limit);
  Tensor* scalar(DType dtype, double value);
  Tensor* flag(bool value);
  Tensor* given(Value value, bool constant, std::optional<QuantParams> quant = {});
  // A constant in so many of a hundred cases, else an input.
  Tensor* made(Value value, int constant_percent, std::optional<QuantParams> quant = {});
  void keep(Tensor* tensor) { pool_.push_back(tensor); }
  const std::vector<Tensor*>& pool() const { return pool_; }
  // A tensor that is there and fits, or null.
  Tensor* existing(const auto& fits) {
    if (pool_.empty()) return nullptr;
    const size_t start = random_.index(pool_.size());
    for (size_t i = 0; i < pool_.size(); ++i)
      if (Tensor* tensor = pool_[(start + i) % pool_.size()]; fits(*tensor)) return tensor;
    return nullptr;
  }

  // --- values -----------------------------------------------------------------------------------
  Value random_value(DType dtype, const Sizes& sizes);
  // Values that files can hold: extremes, NaN, and what is just outside.
  Value hostile_value(DType dtype, const Sizes& sizes);
  DType any_type();
  int64_t hostile_number();
  double hostile_real();

  // Defaults with flags, choices and factors changed; sizes and axes stay.
  Attrs attrs_of(OpKind kind);
  // Some fields with any value at all.
  void disturb(Attrs& attrs, int percent);
  // Parameters for results that have none of their own.
  void give_parameters(Operation& op);

 private:
  QuantParams parameters(DType dtype);
  TensorType input_type(const Value& value);
  FieldValue hostile_field(const Field& field, const FieldValue& now);

  Graph& graph_;
  RandomSource& random_;
  BuilderOptions options_;
  std::vector<Tensor*> pool_;
};

// Elements from doubles, converted as a cast does.
Value value_of(DType dtype, const Sizes& sizes, const std::vector<double>& elements);

}  // namespace ec::fuzz
