// Tensors of more than five dimensions: transposes merge the dimensions that move together, and the
// views around them merge with theirs.
#include "backend/metal/passes/rules.h"
#include "passes/replacement.h"

namespace ec::passes {
namespace {

constexpr size_t kMostDimensions = 5;

// Dimensions of the operand in runs that stay next to each other in the result, without those of
// size 1.
std::vector<std::vector<size_t>> runs_of(const std::vector<int64_t>& shape, const Perm& perm) {
  std::vector<std::vector<size_t>> runs;
  for (const int64_t from : perm) {
    const auto d = static_cast<size_t>(from);
    if (shape[d] == 1) continue;
    bool follows = false;
    if (!runs.empty()) {
      size_t next = runs.back().back() + 1;
      while (next < shape.size() && shape[next] == 1) ++next;
      follows = next == d;
    }
    if (follows)
      runs.back().push_back(d);
    else
      runs.push_back({d});
  }
  return runs;
}

Result<bool> merge_dimensions(Rewriter& r, Operation* op) {
  const auto shape = static_shape(op->input(0)), out = static_shape(op->output());
  const auto perm = perm_of(op);
  if (!shape || !out || !perm || shape->size() <= kMostDimensions || has_quant(op)) return false;
  const auto runs = runs_of(*shape, *perm);  // in the order of the result
  if (runs.size() > kMostDimensions || runs.empty()) return false;
  // The same runs in the order of the operand.
  std::vector<size_t> order(runs.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::sort(order, {}, [&](size_t i) { return runs[i].front(); });
  std::vector<int64_t> merged;
  Perm moved(runs.size());
  for (size_t i = 0; i < order.size(); ++i) {
    int64_t size = 1;
    for (const size_t d : runs[order[i]]) size *= (*shape)[d];
    merged.push_back(size);
    moved[order[i]] = static_cast<int64_t>(i);
  }
  Replacement p(r, op);
  return p.replace(p.sized(p.transpose(p.sized(op->input(0), merged), moved), *out));
}

constexpr RewriteRule kRules[] = {
    {OpKind::Transpose, merge_dimensions, "dimensions merged"},
};

}  // namespace

const std::span<const RewriteRule> kMilRanks = kRules;

}  // namespace ec::passes
