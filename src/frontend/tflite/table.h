// The importer's table: operator, arity, converter. One array per family, next to its converters;
// table.cpp lists the arrays.
#pragma once

#include <span>

#include "formats/tflite/operators.h"
#include "frontend/tflite/op_context.h"
#include "ops/op_def.h"
#include "support/result.h"

namespace ec::tflite {

using ConvertFn = Status (*)(OpContext&);

inline constexpr int kMany = -1;  // as a maximum: any number

struct OpRow {
  BuiltinOperator code;
  Arity inputs, outputs;
  ConvertFn convert;
  bool takes_handles = false;  // inputs or outputs may be variables instead of tensors
  bool takes_complex = false;  // inputs or outputs may be complex numbers
};

const OpRow* find_row(BuiltinOperator code);  // null: not supported
std::span<const std::span<const OpRow>> all_rows();

// The op with the operator's inputs as they are, and no attributes.
template <OpKind kKind>
Status direct(OpContext& ctx) {
  return ctx.finish(kKind, ctx.tensors());
}

extern const std::span<const OpRow> kActivationRows, kComplexRows, kControlRows, kConvRows,
    kCustomRows, kElementwiseRows, kGatherRows, kImageRows, kMatMulRows, kMovementRows, kPoolRows,
    kQuantizeRows, kReduceRows, kRecurrentRows, kShapeRows, kSliceRows, kVariableRows;

}  // namespace ec::tflite
