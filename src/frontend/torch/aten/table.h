// The rows of the operator table: signature and conversion. One array per family, next to its
// conversions; table.cpp lists the arrays.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "frontend/torch/aten/call.h"
#include "support/result.h"

namespace ec::torch {

using TensorFn = Result<ec::Tensor*> (*)(Call&);
using ValueFn = Result<TorchValue> (*)(Call&);
using ValuesFn = Result<std::vector<TorchValue>> (*)(Call&);

// A conversion that gives one tensor, one value, or all values.
class Convert {
 public:
  constexpr Convert(TensorFn fn) : tensor_(fn) {}  // NOLINT: rows list functions
  constexpr Convert(ValueFn fn) : value_(fn) {}    // NOLINT
  constexpr Convert(ValuesFn fn) : values_(fn) {}  // NOLINT
  Result<std::vector<TorchValue>> operator()(Call& call) const;

 private:
  TensorFn tensor_ = nullptr;
  ValueFn value_ = nullptr;
  ValuesFn values_ = nullptr;
};

struct OperatorRow {
  std::string_view schema;
  Convert convert;
  // The conversion knows quantised tensors. Others get real numbers, and their results are
  // quantised with the parameters of the first quantised argument.
  bool quantized = false;
};

// A row with its signature read.
struct Operator {
  Schema schema;
  const OperatorRow* row = nullptr;
};

// All overloads of a name ("aten::add"), in the order of the table; empty when there are none.
std::span<const Operator> find_operators(std::string_view name);

// --- conversions that many rows share -----------------------------------------------------------
// The op on `self` (or the only tensor) as it is.
template <OpKind kKind>
Result<ec::Tensor*> direct(Call& c) {
  return c.add(kKind, {c.tensor(c.schema().args.front().name)});
}
// Integers are computed as floats.
Result<ec::Tensor*> float_operand(Call& c, std::string_view name = "self");
template <OpKind kKind>
Result<ec::Tensor*> direct_float(Call& c) {
  EC_TRY(ec::Tensor * x, float_operand(c, c.schema().args.front().name));
  return c.add(kKind, {x});
}
Result<ec::Tensor*> identity(Call& c);  // the first argument

extern const std::span<const OperatorRow> kActivationRows, kArithmeticRows, kAttentionRows,
    kComparisonRows, kConvolutionRows, kCreationRows, kFakeQuantRows, kFunctionRows, kIndexingRows,
    kJoiningRows, kLinearRows, kLossRows, kMovementRows, kNormalizationRows, kPaddingRows,
    kPoolingRows, kQuantizedRows, kQuantizeRows, kRecurrentRows, kReductionRows, kScalarRows,
    kScatterRows, kShapeRows, kSignalRows, kSortRows, kVisionRows;

}  // namespace ec::torch
