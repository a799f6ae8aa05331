#include "analysis/work.h"

#include <algorithm>
#include <cmath>

#include "analysis/costs.h"
#include "ops/attrs.h"
#include "support/budget.h"

namespace ec {
namespace {

// Element-wise functions such as tanh take some nanoseconds for an element.
constexpr double kPerElement = 4;

double elements(const Tensor* tensor) {
  if (tensor == nullptr || !tensor->shape()) return 0;
  double count = 1;
  for (const Dim& dim : *tensor->shape()) {
    if (!dim.is_static()) return 0;
    count *= static_cast<double>(dim.size());
  }
  return count;
}

double product(const std::vector<int64_t>& sizes) {
  double count = 1;
  for (const int64_t size : sizes) count *= static_cast<double>(size);
  return count;
}

// The size of a dimension counted from the back, or 1.
double dim(const Tensor* tensor, size_t from_back) {
  if (tensor == nullptr || !tensor->shape() || tensor->shape()->rank() <= from_back) return 1;
  const Dim& d = (*tensor->shape())[tensor->shape()->rank() - 1 - from_back];
  return d.is_static() ? static_cast<double>(d.size()) : 1;
}

// How often each element of the result is computed from others.
double taps(const Operation& op) {
  switch (op.kind()) {
    case OpKind::MaxPool:
    case OpKind::AvgPool:
      return product(op.attrs_as<PoolAttrs>().kernel);
    case OpKind::LpPool:
      return product(op.attrs_as<LpPoolAttrs>().kernel);
    case OpKind::Lrn:
      return static_cast<double>(op.attrs_as<LrnAttrs>().size);
    case OpKind::RoiAlign: {
      const auto ratio = static_cast<double>(op.attrs_as<RoiAlignAttrs>().sampling_ratio);
      return 4 * std::max(1.0, ratio * ratio);
    }
    case OpKind::Det:
      return dim(op.input(0), 0) * dim(op.input(0), 0) * dim(op.input(0), 0);
    case OpKind::Dft:
    case OpKind::Stft:
    case OpKind::TopK:
    case OpKind::Unique:
    case OpKind::Resize:
    case OpKind::GridSample:
      return 16;
    default:
      return 1;
  }
}

}  // namespace

uint64_t estimate_work(const Operation& op) {
  double work = 0, results = 0;
  for (const Tensor* input : op.inputs()) work += elements(input);
  for (const Tensor* output : op.outputs()) results += elements(output);
  work = kPerElement * (work + results) + taps(op) * results;
  // Counts that overflow are as good as endless.
  if (const auto macs = count_macs(op)) {
    work += static_cast<double>(*macs);
  } else if (results > 0 && op.kind() != OpKind::Einsum) {
    work = INFINITY;  // einsum has forms that are not counted
  }
  constexpr double kMost = 1e18;
  return static_cast<uint64_t>(std::min(std::max(work, 0.0), kMost));
}

uint64_t most_fold_work(size_t bytes) {
  constexpr uint64_t kUsual = 250'000'000, kPerByte = 16;
  const Budget* budget = Budget::current();
  return (budget != nullptr ? budget->largest_fold() : kUsual) + kPerByte * bytes;
}

}  // namespace ec
