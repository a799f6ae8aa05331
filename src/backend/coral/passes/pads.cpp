// Mirrored pads: the device pads with zeros only, so the mirrored rows are sliced and joined.
#include "backend/coral/passes/rules.h"

namespace ec::passes {
namespace {

constexpr int64_t kMostSlices = 16;

Result<bool> mirror_to_slices(Rewriter& r, Operation* op) {
  if (op->attrs_as<PadAttrs>().mode != PadMode::Reflect || !moves_elements_only(op)) return false;
  const auto sizes = static_shape(op->input(0));
  const auto pads = is_constant(op->input(1)) ? int_values(op->input(1)) : std::nullopt;
  if (!sizes || !pads || op->input(3) != nullptr || pads->size() != 2 * sizes->size()) return false;
  const size_t rank = sizes->size();
  int64_t slices = 0;
  for (size_t d = 0; d < rank; ++d) {
    const int64_t before = (*pads)[d], after = (*pads)[rank + d];
    if (before < 0 || after < 0 || before >= (*sizes)[d] || after >= (*sizes)[d]) return false;
    slices += before + after;
  }
  if (slices == 0 || slices > kMostSlices) return false;
  Replacement p(r, op);
  Tensor* x = op->input(0);
  for (size_t d = 0; d < rank; ++d) {
    const int64_t before = (*pads)[d], after = (*pads)[rank + d], size = (*sizes)[d];
    if (before + after == 0) continue;
    const auto axis = static_cast<int64_t>(d);
    const auto row = [&](int64_t i) {
      return with_parameters_of(p, p.slice(x, axis, i, i + 1), op->output());
    };
    std::vector<Tensor*> parts;
    for (int64_t i = before; i > 0; --i) parts.push_back(row(i));
    parts.push_back(x);
    for (int64_t i = 0; i < after; ++i) parts.push_back(row(size - 2 - i));
    x = with_parameters_of(p, p.concat(std::move(parts), axis), op->output());
  }
  return rewritten(p, x, "slices and CONCATENATION");
}

constexpr RewriteRule kRules[] = {{OpKind::Pad, mirror_to_slices, "mirrored pads"}};

}  // namespace

const std::span<const RewriteRule> kCoralPads = kRules;

}  // namespace ec::passes
