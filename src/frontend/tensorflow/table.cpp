#include "frontend/tensorflow/table.h"

#include <algorithm>
#include <unordered_map>

#include "frontend/tensorflow/tensorflow.h"
#include "support/strings.h"

namespace ec::tf {
namespace {

const std::span<const std::span<const OpRow>>& families() {
  static const std::span<const OpRow> kFamilies[] = {
      kActivationRows, kArithmeticRows, kArrayRows,  kBoxRows,      kCallRows,
      kComplexRows,    kControlRows,    kConvRows,   kDiagonalRows, kGatherRows,
      kImageRows,      kListRows,       kMatMulRows, kMovementRows, kNormalizationRows,
      kPoolRows,       kQuantizeRows,   kRandomRows, kReduceRows,   kRefusedRows,
      kResampleRows,   kShapeRows,      kSliceRows,  kVariableRows, kWhileRows,
  };
  static const std::span<const std::span<const OpRow>> kAll = kFamilies;
  return kAll;
}

}  // namespace

std::span<const std::span<const OpRow>> all_rows() { return families(); }

const OpRow* find_row(std::string_view op) {
  static const std::unordered_map<std::string_view, const OpRow*> kRows = [] {
    std::unordered_map<std::string_view, const OpRow*> rows;
    for (const std::span<const OpRow> family : families())
      for (const OpRow& row : family) rows.emplace(row.op, &row);
    return rows;
  }();
  const auto found = kRows.find(op);
  return found == kRows.end() ? nullptr : found->second;
}

uint32_t output_position(std::string_view op, std::string_view argument) {
  const OpRow* row = find_row(op);
  if (row == nullptr || row->outputs.empty()) return 0;
  uint32_t position = 0;
  for (const std::string_view name : split(row->outputs, ',')) {
    if (name == argument) return position;
    ++position;
  }
  return 0;
}

}  // namespace ec::tf

namespace ec {

std::vector<std::string_view> tensorflow_operators() {
  std::vector<std::string_view> names;
  for (const std::span<const tf::OpRow> family : tf::all_rows())
    for (const tf::OpRow& row : family)
      if (family.data() != tf::kRefusedRows.data()) names.push_back(row.op);
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace ec
