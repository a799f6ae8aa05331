// The importer's table: operator, number of inputs, converter. One array per family, next to its
// converters; table.cpp lists the arrays.
#pragma once

#include <span>
#include <string_view>

#include "frontend/tensorflow/op_context.h"
#include "ops/op_def.h"
#include "support/result.h"

namespace ec::tf {

using ConvertFn = Status (*)(OpContext&);

inline constexpr int kMany = -1;  // as a maximum: any number

// What inputs may be beside tensors of real numbers. Nothing: they are not looked at.
enum class Takes : uint8_t { Numbers, Complex, Anything, Nothing };

struct OpRow {
  std::string_view op;
  Arity inputs;
  ConvertFn convert;  // null: the node has no results that matter
  Takes takes = Takes::Numbers;
  std::string_view outputs = {};  // names of several output arguments, with commas
};

const OpRow* find_row(std::string_view op);  // null: not supported
std::span<const std::span<const OpRow>> all_rows();

// The op with the node's inputs as they are, and no attributes.
template <OpKind kKind>
Status direct(OpContext& ctx) {
  return ctx.finish(kKind, ctx.tensors());
}

extern const std::span<const OpRow> kActivationRows, kArithmeticRows, kArrayRows, kBoxRows,
    kCallRows, kComplexRows, kControlRows, kConvRows, kDiagonalRows, kGatherRows, kImageRows,
    kListRows, kMatMulRows, kMovementRows, kNormalizationRows, kPoolRows, kQuantizeRows,
    kRandomRows, kReduceRows, kRefusedRows, kResampleRows, kShapeRows, kSliceRows, kVariableRows,
    kWhileRows;

}  // namespace ec::tf
