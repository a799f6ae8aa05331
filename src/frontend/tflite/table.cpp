#include "frontend/tflite/table.h"

#include <algorithm>

#include "frontend/tflite/tflite.h"

namespace ec::tflite {
namespace {

const std::span<const std::span<const OpRow>>& families() {
  static const std::span<const OpRow> kFamilies[] = {
      kActivationRows, kComplexRows,   kControlRows, kConvRows,     kCustomRows,   kElementwiseRows,
      kGatherRows,     kImageRows,     kMatMulRows,  kMovementRows, kPoolRows,     kQuantizeRows,
      kReduceRows,     kRecurrentRows, kShapeRows,   kSliceRows,    kVariableRows,
  };
  static const std::span<const std::span<const OpRow>> kAll = kFamilies;
  return kAll;
}

}  // namespace

std::span<const std::span<const OpRow>> all_rows() { return families(); }

const OpRow* find_row(BuiltinOperator code) {
  for (const std::span<const OpRow> family : families())
    for (const OpRow& row : family)
      if (row.code == code) return &row;
  return nullptr;
}

}  // namespace ec::tflite

namespace ec {

std::vector<std::string_view> tflite_operators() {
  std::vector<std::string_view> names;
  for (const tflite::OperatorInfo& info : tflite::all_operators())
    if (info.code == tflite::BuiltinOperator::CUSTOM || tflite::find_row(info.code) != nullptr)
      names.push_back(info.name);
  return names;
}

}  // namespace ec
