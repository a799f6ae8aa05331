// The importer's table: operator, range of versions, arity, converter. One array per family, next
// to its converters; table.cpp lists the arrays.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "frontend/onnx/node_context.h"
#include "ops/op_def.h"
#include "support/result.h"

namespace ec::onnx {

using ConvertFn = Status (*)(NodeContext&);

inline constexpr int kLatest = std::numeric_limits<int>::max();
inline constexpr int kMany = -1;  // as a maximum: any number

struct OpRow {
  std::string_view name;
  int since, until;  // versions of the operator set, both inclusive
  Arity inputs, outputs;
  ConvertFn convert;
  bool takes_any = false;  // inputs may be sequences or optionals
  // Inputs that may be left out although later ones are needed, bit i for input i.
  uint64_t gaps = 0;

  bool needs(size_t i) const {
    return i < static_cast<size_t>(inputs.min) && (i >= 64 || (gaps >> i & 1) == 0);
  }
};

struct DomainRows {
  std::string_view domain;
  std::span<const OpRow> rows;
};

std::span<const DomainRows> all_rows();

// The row for a version; null when there is none.
const OpRow* find_row(std::string_view domain, std::string_view name, int64_t version);
// Any row of the operator, for messages; null when the operator is unknown in every version.
const OpRow* find_any_version(std::string_view domain, std::string_view name);
bool is_known_domain(std::string_view domain);
std::vector<std::string_view> operator_names(std::string_view domain);

// --- converters that many rows share
// -------------------------------------------------------------- The op with the node's inputs as
// they are, and no attributes.
template <OpKind kKind>
Status direct(NodeContext& ctx) {
  return ctx.finish(kKind, ctx.tensors());
}

extern const std::span<const OpRow> kActivationRows, kAttentionRows, kConstantRows, kControlRows,
    kConvRows, kElementwiseRows, kGatherRows, kImageRows, kLossRows, kMatMulRows, kMicrosoftRows,
    kMicrosoftQuantizedRows, kMicrosoftRecurrentRows, kMatMulNBitsRows, kMovementRows,
    kNormalizationRows, kPoolRows, kQuantizeRows, kRandomRows, kRecurrentRows, kReduceRows,
    kSequenceRows, kShapeRows, kSignalRows, kTrainingRows, kLinearAttentionRows, kPreviewRows,
    kTfIdfRows, kTreeRows, kGradientRows, kMlRows;

}  // namespace ec::onnx
