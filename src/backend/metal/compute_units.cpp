#include "backend/metal/compute_units.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "ops/attrs.h"

namespace ec::metal {
namespace {

// Why an operation is not for the Neural Engine, and what would help.
struct Verdict {
  bool engine = true, gpu = true;
  std::string reason, fix;
};

Verdict not_engine(std::string reason, std::string fix = {}) {
  return {false, true, std::move(reason), std::move(fix)};
}
Verdict cpu_alone(std::string reason, std::string fix = {}) {
  return {false, false, std::move(reason), std::move(fix)};
}

// Limits of the Neural Engine that were measured on an M1 (ane-guide.readthedocs.io).
constexpr int64_t kLargestSide = 16384, kMostChannels = 65536, kLargestWindow = 13,
                  kLongestArgAxis = 2048;

Verdict by_shape(const Tensor& tensor) {
  if (!tensor.type().is_static())
    return not_engine("sizes are open", "fix them with --input-shape");
  const std::vector<int64_t> sizes = tensor.shape()->sizes();
  if (sizes.size() > 4)
    return not_engine(fmt::format("{} dimensions; the Neural Engine takes 4", sizes.size()),
                      "merge dimensions with a reshape");
  for (size_t d = sizes.size() > 2 ? sizes.size() - 2 : 0; d < sizes.size(); ++d)
    if (sizes[d] > kLargestSide)
      return not_engine(fmt::format("a side of {} is longer than {}", sizes[d], kLargestSide),
                        "cut the tensor into shorter pieces");
  if (sizes.size() == 4 && sizes[1] > kMostChannels)
    return not_engine(fmt::format("{} channels are more than {}", sizes[1], kMostChannels));
  return {};
}

template <class Attributes>
Verdict by_window(const Operation& op) {
  for (const int64_t side : op.attrs_as<Attributes>().kernel)
    if (side > kLargestWindow)
      return not_engine(fmt::format("a window of {} is larger than {}", side, kLargestWindow),
                        "pool twice with smaller windows");
  return {};
}

Verdict by_kind(const Operation& op) {
  switch (op.kind()) {
    case OpKind::Lstm:
      return not_engine("the Neural Engine has no recurrent layers");
    case OpKind::TopK:
    case OpKind::NonZero:
    case OpKind::ScatterElements:
    case OpKind::ScatterNd:
      return cpu_alone("sorting and scattering run on the CPU",
                       "leave it to the application behind the model");
    case OpKind::GatherNd:
    case OpKind::GatherElements:
    case OpKind::Gather:
      return not_engine("gathers by computed indices stay off the Neural Engine",
                        "use slices where the indices are known");
    case OpKind::CumSum:
    case OpKind::ReduceProd:
    case OpKind::OneHot:
    case OpKind::Reverse:
    case OpKind::ReverseSequence:
      return not_engine("no path on the Neural Engine is known for it");
    case OpKind::ArgMax:
    case OpKind::ArgMin: {
      const Tensor* x = op.input(0);
      if (!x->shape()) return {};  // what a custom operation gives
      const auto axis = op.attrs_as<ArgReduceAttrs>().axis;
      const auto rank = static_cast<int64_t>(x->shape()->rank());
      const Dim size = (*x->shape())[static_cast<size_t>(axis < 0 ? axis + rank : axis)];
      if (size.is_static() && size.size() > kLongestArgAxis)
        return not_engine(
            fmt::format("an axis of {} is longer than {}", size.size(), kLongestArgAxis));
      return {};
    }
    case OpKind::MaxPool:
    case OpKind::AvgPool:
      return by_window<PoolAttrs>(op);
    case OpKind::LpPool:
      return by_window<LpPoolAttrs>(op);
    case OpKind::Conv: {
      if (!op.input(0)->shape() || !op.input(1)->type().is_static()) return {};
      if (op.input(0)->shape()->rank() > 4)
        return not_engine("convolutions over three dimensions have no path on the Neural Engine");
      const std::vector<int64_t> filter = op.input(1)->shape()->sizes();
      for (size_t d = 2; d < filter.size(); ++d)
        if (filter[d] > kLargestWindow)
          return not_engine(
              fmt::format("a filter of {} is larger than {}", filter[d], kLargestWindow));
      return {};
    }
    default:
      return {};
  }
}

// Integers and truth values are computed on the CPU; so are casts of them.
Verdict by_type(const Operation& op) {
  const auto is_kind = [](const Tensor* tensor, auto&& test) {
    return tensor != nullptr && test(tensor->dtype());
  };
  const Tensor* y = op.output();
  const bool floats = is_kind(y, is_float) || is_kind(op.input(0), is_float);
  const bool between_pairs = op.kind() == OpKind::Quantize || op.kind() == OpKind::Dequantize;
  if (!floats && !between_pairs)
    return cpu_alone("arithmetic on integers and truth values runs on the CPU",
                     "compute it on floats, or before the model");
  const bool single =
      y->dtype() == DType::F32 || (op.input(0) != nullptr && op.input(0)->dtype() == DType::F32);
  if (single && op.kind() != OpKind::Cast)
    return not_engine("the Neural Engine computes in half precision",
                      "compile with --precision fp16");
  return {};
}

Verdict verdict_of(const Operation& op) {
  if (op.outputs().empty()) return {};
  if (!op.bodies().empty())
    return cpu_alone("branches and loops are run by the CPU",
                     "compute both branches and choose, or unroll the loop");
  Verdict v = by_type(op);
  if (!v.engine) return v;
  v = by_kind(op);
  if (!v.engine) return v;
  for (const Tensor* tensor : {op.input(0), op.output()})
    if (tensor != nullptr && !tensor->is_constant()) {
      v = by_shape(*tensor);
      if (!v.engine) return v;
    }
  return {};
}

}  // namespace

bool is_told(const Operation& op) {
  // A weight as it is stored: Core ML unpacks it before it runs anything.
  if (op.kind() == OpKind::Dequantize && op.input(0)->is_constant()) return false;
  return op.kind() != OpKind::Cast || !op.location().name().empty();
}

void predict_unit(const Operation& op, ComputeUnits allowed, OpPlacement& row, bool in_range) {
  Verdict v = verdict_of(op);
  // Random sizes of a range were measured to run nothing there (coremltools issue 2370).
  if (v.engine && in_range)
    v = not_engine("inputs have ranges of sizes; the Neural Engine takes fixed or listed ones",
                   "list the shapes: --flexible-shape NAME:1x3x224x224,1x3x320x320");
  const bool engine_allowed =
      allowed == ComputeUnits::All || allowed == ComputeUnits::CpuAndNeuralEngine;
  const bool gpu_allowed = allowed == ComputeUnits::All || allowed == ComputeUnits::CpuAndGpu;
  if (v.engine && engine_allowed) {
    row.status = kOnNeuralEngine;
    return;
  }
  row.reason = v.engine ? "--compute-units leaves the Neural Engine out" : v.reason;
  row.fix = v.fix;
  if (v.gpu && gpu_allowed) {
    row.status = kOnGpu;
    return;
  }
  row.status = kOnCpu;
  row.placement = Placement::Host;
}

}  // namespace ec::metal
