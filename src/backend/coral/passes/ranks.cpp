// Transposes of many dimensions: those that stay neighbours become one, so that three are left.
#include "backend/coral/passes/rules.h"

namespace ec::passes {
namespace {

constexpr size_t kMostDimensions = 3;

bool exceeds_rank(const std::vector<int64_t>& sizes) {
  for (size_t d = 0; d + kMostDimensions < sizes.size(); ++d)
    if (sizes[d] != 1) return true;
  return false;
}

// Sizes of the operand and the order of the result, dimensions of size 1 left out and neighbours
// joined.
struct Joined {
  std::vector<int64_t> sizes;
  Perm perm;
};
Joined joined(const std::vector<int64_t>& sizes, const Perm& perm) {
  std::vector<int64_t> group(sizes.size(), -1);  // by dimension of the operand, in result order
  int64_t groups = 0, last = -2;
  for (const int64_t d : perm) {
    if (sizes[static_cast<size_t>(d)] == 1) continue;
    int64_t next = last + 1;  // the next dimension of the operand that is not 1
    while (last >= 0 && next < static_cast<int64_t>(sizes.size()) &&
           sizes[static_cast<size_t>(next)] == 1)
      ++next;
    group[static_cast<size_t>(d)] = last >= 0 && d == next ? groups - 1 : groups++;
    last = d;
  }
  Joined result;
  result.perm.resize(static_cast<size_t>(groups));
  int64_t current = -1;
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (group[d] < 0) continue;
    if (group[d] == current) {
      result.sizes.back() *= sizes[d];
      continue;
    }
    current = group[d];
    result.perm[static_cast<size_t>(current)] = static_cast<int64_t>(result.sizes.size());
    result.sizes.push_back(sizes[d]);
  }
  return result;
}

Result<bool> join_dimensions(Rewriter& r, Operation* op) {
  const auto sizes = static_shape(op->input(0)), out = static_shape(op->output());
  const auto perm = perm_of(op);
  if (!sizes || !out || !perm || !moves_elements_only(op)) return false;
  if (!exceeds_rank(*sizes) && !exceeds_rank(*out)) return false;
  const Joined few = joined(*sizes, *perm);
  if (few.sizes.empty() || few.sizes.size() > kMostDimensions) return false;
  Replacement p(r, op);
  Tensor* x = with_parameters_of(p, p.sized(op->input(0), few.sizes), op->input(0));
  Tensor* y = with_parameters_of(p, p.transpose(x, few.perm), op->input(0));
  return rewritten(p, p.reshape(y, *op->output()->shape()), "TRANSPOSE of three dimensions");
}

constexpr RewriteRule kRules[] = {{OpKind::Transpose, join_dimensions, "transposes"}};

}  // namespace

const std::span<const RewriteRule> kCoralRanks = kRules;

}  // namespace ec::passes
