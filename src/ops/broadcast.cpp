#include "ops/broadcast.h"

#include <algorithm>

#include "ops/convert.h"

namespace ec {

BroadcastPlan plan_broadcast(std::span<const int64_t> target,
                             std::span<const std::span<const int64_t>> operands) {
  BroadcastPlan plan;
  const size_t n = operands.size();
  plan.strides.resize(n);
  plan.inner_strides.assign(n, 0);
  if (std::find(target.begin(), target.end(), 0) != target.end()) {
    plan.runs = 0;
    return plan;
  }
  std::vector<std::vector<int64_t>> full;
  for (const auto& shape : operands) full.push_back(broadcast_strides(shape, target));

  // From the innermost dimension outwards: a dimension joins the one inside it when every operand
  // either steps on by exactly the inner extent or repeats in both.
  std::vector<int64_t> sizes;                    // innermost first
  std::vector<std::vector<int64_t>> strides(n);  // the same order
  for (size_t d = target.size(); d-- > 0;) {
    if (target[d] == 1) continue;
    bool joins = !sizes.empty();
    for (size_t k = 0; k < n && joins; ++k) joins = full[k][d] == strides[k].back() * sizes.back();
    if (joins) {
      sizes.back() *= target[d];
      continue;
    }
    sizes.push_back(target[d]);
    for (size_t k = 0; k < n; ++k) strides[k].push_back(full[k][d]);
  }
  plan.inner = sizes.empty() ? 1 : sizes.front();
  if (!sizes.empty())
    for (size_t k = 0; k < n; ++k) plan.inner_strides[k] = strides[k][0];
  for (size_t i = sizes.size(); i-- > 1;) {
    plan.outer.push_back(sizes[i]);
    for (size_t k = 0; k < n; ++k) plan.strides[k].push_back(strides[k][i]);
    plan.runs *= sizes[i];
  }
  return plan;
}

}  // namespace ec
