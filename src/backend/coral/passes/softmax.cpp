// Softmax of several rows: the device computes one.
#include "backend/coral/passes/rules.h"

namespace ec::passes {
namespace {

constexpr int64_t kMostRows = 8;

Result<bool> softmax_per_row(Rewriter& r, Operation* op) {
  const auto sizes = static_shape(op->input(0));
  if (!sizes || sizes->size() < 2) return false;
  const int64_t axis = positive_axis(op->attrs_as<AxisAttrs>().axis, sizes->size());
  if (axis + 1 != static_cast<int64_t>(sizes->size())) return false;
  int64_t rows = 1;
  for (size_t d = 0; d + 1 < sizes->size(); ++d) rows *= (*sizes)[d];
  if (rows < 2 || rows > kMostRows) return false;
  Replacement p(r, op);
  Attrs attrs = op->attrs();
  attrs.edit<AxisAttrs>().axis = 1;
  Tensor* x = with_parameters_of(p, p.sized(op->input(0), {rows, sizes->back()}), op->input(0));
  std::vector<Tensor*> results;
  for (int64_t i = 0; i < rows; ++i) {
    Tensor* row = with_parameters_of(p, p.slice(x, 0, i, i + 1), op->input(0));
    results.push_back(with_parameters_of(p, p.op(OpKind::Softmax, {row}, attrs), op->output()));
  }
  Tensor* y = with_parameters_of(p, p.concat(std::move(results), 0), op->output());
  return rewritten(p, p.reshape(y, *op->output()->shape()), "one SOFTMAX per row");
}

constexpr RewriteRule kRules[] = {{OpKind::Softmax, softmax_per_row, "softmax of rows"}};

}  // namespace

const std::span<const RewriteRule> kCoralSoftmax = kRules;

}  // namespace ec::passes
