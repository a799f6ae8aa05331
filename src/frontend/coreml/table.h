// The importer's table: operator, first operator set, parameters, converter. One array per family,
// next to its converters; table.cpp lists the arrays.
#pragma once

#include <span>
#include <string_view>

#include "frontend/coreml/op_call.h"

namespace ec::mil {

// The results; or nothing, where the converter bound them itself.
using ConvertFn = Tensors (*)(OpCall&);

// First operator sets, by the number in their name: CoreML5 is that of iOS 15.
inline constexpr int kIos15 = 5, kIos16 = 6, kIos17 = 7, kIos18 = 8;

struct OpRow {
  std::string_view op;
  int opset;  // a later row of the same operator takes its place from its operator set on
  // Names with blanks between them; "?" marks what may be absent.
  std::string_view parameters;
  ConvertFn convert;
};

// The row for a program of this operator set. Null: not supported.
const OpRow* find_row(std::string_view op, int opset);
std::span<const std::span<const OpRow>> all_rows();

extern const std::span<const OpRow> kActivationRows, kBinaryRows, kConstexprRows, kControlRows,
    kConvRows, kGatherRows, kImageRows, kLinearRows, kListRows, kMovementRows, kNormRows, kPoolRows,
    kQuantizeRows, kRandomRows, kRecurrentRows, kReduceRows, kResizeRows, kShapeRows, kSliceRows,
    kStateRows, kUnaryRows;

}  // namespace ec::mil
