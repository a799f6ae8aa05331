#include "frontend/coreml/table.h"

#include <set>
#include <unordered_map>

#include "frontend/coreml/coreml.h"

namespace ec::mil {

std::span<const std::span<const OpRow>> all_rows() {
  static const std::span<const OpRow> kFamilies[] = {
      kActivationRows, kBinaryRows, kConstexprRows, kControlRows,  kConvRows,   kGatherRows,
      kImageRows,      kLinearRows, kListRows,      kMovementRows, kNormRows,   kPoolRows,
      kQuantizeRows,   kRandomRows, kRecurrentRows, kReduceRows,   kResizeRows, kShapeRows,
      kSliceRows,      kStateRows,  kUnaryRows,
  };
  return kFamilies;
}

const OpRow* find_row(std::string_view op, int opset) {
  static const std::unordered_multimap<std::string_view, const OpRow*> kByName = [] {
    std::unordered_multimap<std::string_view, const OpRow*> rows;
    for (const std::span<const OpRow> family : all_rows())
      for (const OpRow& row : family) rows.emplace(row.op, &row);
    return rows;
  }();
  const OpRow* best = nullptr;
  const auto [first, last] = kByName.equal_range(op);
  for (auto it = first; it != last; ++it) {
    const OpRow* row = it->second;
    // The newest that the program can mean; else the oldest, for programs that state too little.
    const auto fits = [&](const OpRow* r) { return r->opset <= opset; };
    if (best == nullptr || (fits(row) ? !fits(best) || row->opset > best->opset
                                      : !fits(best) && row->opset < best->opset))
      best = row;
  }
  return best;
}

}  // namespace ec::mil

namespace ec {

std::vector<std::string_view> coreml_operators() {
  std::set<std::string_view> names = {"const"};
  for (const auto family : mil::all_rows())
    for (const mil::OpRow& row : family) names.insert(row.op);
  return {names.begin(), names.end()};
}

}  // namespace ec
