#include "quantize/ranges/parameters.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/axis.h"
#include "quantize/plan/masked_values.h"
#include "support/rounding.h"

namespace ec::quantize {
namespace {

// Below this the fixed-point multipliers of integer kernels run out of bits.
constexpr double kSmallestScale = 1e-9;
// Tensors that are always zero: any scale represents them.
constexpr float kIdleScale = 1.0f;
constexpr double largest_bias(Width width) { return width == Width::Wide ? 0x1p38 : 0x1p30; }
constexpr double kWidestWeight = 127;

}  // namespace

QuantParams params_of_range(const Range& range, DType dtype, bool symmetric) {
  const auto lowest = static_cast<double>(lowest_integer(dtype));
  const auto highest = static_cast<double>(highest_integer(dtype));
  // What overflowed is as large as floats get.
  constexpr auto kLargest = static_cast<double>(std::numeric_limits<float>::max());
  const double low = std::max(std::min(0.0, static_cast<double>(range.min)), -kLargest);
  const double high = std::min(std::max(0.0, static_cast<double>(range.max)), kLargest);
  if (low == 0.0 && high == 0.0) return {{kIdleScale}, {0}, -1};
  if (symmetric) {
    const double scale = std::max(std::max(-low, high) / highest, kSmallestScale);
    return {{static_cast<float>(scale)}, {0}, -1};
  }
  const auto scale =
      static_cast<float>(std::max((high - low) / (highest - lowest), kSmallestScale));
  // Computed with the scale as stored; the end that gives the smaller rounding error decides.
  const double from_low = lowest - low / static_cast<double>(scale);
  const double from_high = highest - high / static_cast<double>(scale);
  const double error_low = std::abs(lowest) + std::abs(low / static_cast<double>(scale));
  const double error_high = std::abs(highest) + std::abs(high / static_cast<double>(scale));
  const double zero = round_half_away(error_low < error_high ? from_low : from_high);
  return {{scale}, {static_cast<int32_t>(std::clamp(zero, lowest, highest))}, -1};
}

QuantParams params_of_channels(std::span<const Range> channels, DType dtype, bool symmetric,
                               int32_t axis) {
  QuantParams params;
  params.axis = axis;
  for (const Range& range : channels) {
    const QuantParams one = params_of_range(range, dtype, symmetric);
    params.scales.push_back(one.scales[0]);
    params.zero_points.push_back(one.zero_points[0]);
  }
  return params;
}

QuantParams params_of_weights(std::span<const float> weights, std::span<const int64_t> shape,
                              int32_t axis) {
  std::vector<double> largest(num_channels(shape, axis), 0.0);
  for_each_channel_run(shape, axis, [&](size_t c, size_t at, size_t n) {
    for (size_t i = at; i < at + n; ++i)
      largest[c] = std::max(largest[c], static_cast<double>(std::abs(weights[i])));
  });
  // A channel of zeros takes the scale of the widest, which keeps its bias fine enough.
  const double widest = largest.empty() ? 0.0 : *std::max_element(largest.begin(), largest.end());
  QuantParams params;
  params.axis = axis;
  for (const double magnitude : largest) {
    const double used = magnitude > 0 ? magnitude : widest > 0 ? widest : 1.0;
    params.scales.push_back(static_cast<float>(std::max(used / kWidestWeight, kSmallestScale)));
  }
  params.zero_points.assign(params.scales.size(), 0);
  return params;
}

bool fit_bias(QuantParams& weights, std::span<const float> input_scales,
              std::span<const float> bias, Width width) {
  bool widened = false;
  for (size_t i = 0; i < bias.size(); ++i) {
    float& scale = weights.scales[weights.scales.size() == 1 ? 0 : i];
    const auto input_scale = static_cast<double>(input_scales[input_scales.size() == 1 ? 0 : i]);
    const double needed =
        std::abs(static_cast<double>(bias[i])) / (input_scale * largest_bias(width));
    if (needed <= static_cast<double>(scale)) continue;
    scale = std::nextafter(static_cast<float>(needed), INFINITY);
    widened = true;
  }
  return widened;
}

QuantParams params_of_bias(const QuantParams& weights, std::span<const float> input_scales) {
  const auto at = [](std::span<const float> scales, size_t i) {
    return scales[scales.size() == 1 ? 0 : i];
  };
  const size_t count = std::max(weights.scales.size(), input_scales.size());
  QuantParams params;
  params.axis = weights.per_channel() || count > 1 ? 0 : -1;
  for (size_t i = 0; i < count; ++i)
    params.scales.push_back(at(input_scales, i) * at(weights.scales, i));
  params.zero_points.assign(params.scales.size(), 0);
  return params;
}

template <class T>
std::vector<T> quantize_values(std::span<const float> values, std::span<const int64_t> shape,
                               const QuantParams& params, int64_t limit) {
  std::vector<T> out(values.size());
  const double low =
      limit > 0 ? static_cast<double>(-limit) : static_cast<double>(std::numeric_limits<T>::min());
  const double high =
      limit > 0 ? static_cast<double>(limit) : static_cast<double>(std::numeric_limits<T>::max());
  for_each_channel_run(shape, params.axis, [&](size_t c, size_t at, size_t n) {
    const auto scale = static_cast<double>(params.scales[c]);
    const auto zero = static_cast<double>(params.zero_points[c]);
    for (size_t i = at; i < at + n; ++i) {
      const double steps =
          std::isnan(values[i]) ? 0.0 : round_half_away(static_cast<double>(values[i]) / scale);
      out[i] = static_cast<T>(std::clamp(steps + zero, low, high));
    }
  });
  return out;
}

template std::vector<int8_t> quantize_values(std::span<const float>, std::span<const int64_t>,
                                             const QuantParams&, int64_t);
template std::vector<int16_t> quantize_values(std::span<const float>, std::span<const int64_t>,
                                              const QuantParams&, int64_t);
template std::vector<int32_t> quantize_values(std::span<const float>, std::span<const int64_t>,
                                              const QuantParams&, int64_t);
template std::vector<int64_t> quantize_values(std::span<const float>, std::span<const int64_t>,
                                              const QuantParams&, int64_t);

namespace {

// By tensor id: whether a run needs the values. Of an operand of shape and size only the sizes are
// read, which are known before any run.
std::vector<bool> read_values(const Graph& graph) {
  std::vector<bool> read(graph.tensor_id_bound(), false);
  for (const Tensor* output : graph.outputs()) read[output->id()] = true;
  const std::vector<Operation*> order = graph.topological();
  for (size_t i = order.size(); i-- > 0;) {
    const Operation& op = *order[i];
    if (op.kind() == OpKind::Shape || op.kind() == OpKind::Size) continue;
    const bool runs =
        op.kind() == OpKind::WriteState ||
        std::ranges::any_of(op.outputs(), [&](const Tensor* output) { return read[output->id()]; });
    for (const Tensor* input : op.inputs())
      if (runs && input != nullptr) read[input->id()] = true;
  }
  return read;
}

}  // namespace

Result<FormParams> assign_parameters(const Graph& graph, const Plan& plan, const Ranges& ranges) {
  const auto range_of_tensor = [&](const Tensor* tensor, Width width) -> std::optional<Range> {
    const bool wide = width == Width::Wide && !ranges.wide.empty();
    if (!tensor->is_constant()) return wide ? ranges.wide[tensor->id()] : ranges[tensor->id()];
    const auto values = tensor->values<float>();
    if (values.empty()) return Range{};
    if (const auto counting = range_that_counts(*tensor, plan, ranges)) return counting;
    bool finite = true;
    return range_of(values, finite);
  };
  const std::vector<bool> read = read_values(graph);
  const size_t forms = 2 * graph.tensor_id_bound();
  std::vector<const Tensor*> by_id(graph.tensor_id_bound(), nullptr);
  std::vector<std::optional<Range>> of_group(forms);
  const auto widen = [&](FormId group, const std::optional<Range>& range) {
    if (range) of_group[group] = of_group[group] ? hull(*of_group[group], *range) : *range;
  };
  constexpr Width kWidths[] = {Width::Narrow, Width::Wide};
  for (const Tensor* tensor : graph.tensors()) {
    by_id[tensor->id()] = tensor;
    for (const Width width : kWidths) {
      const FormId form = form_id(tensor->id(), width);
      if (!plan.quantized[form]) continue;
      if (plan.observed[tensor->id()] && !ranges[tensor->id()] && read[tensor->id()])
        return Error(Code::Internal, fmt::format("calibration never saw '{}'", tensor->name()));
      if (plan.observed[tensor->id()] || tensor->is_constant())
        widen(plan.group[form], range_of_tensor(tensor, width));
    }
  }
  for (FormId group = 0; group < plan.also.size(); ++group)
    for (const uint32_t id : plan.also[group])
      widen(group, range_of_tensor(by_id[id], width_of(group)));

  // Groups with parameters by channel hold the ranges of all their tensors.
  std::map<FormId, std::vector<Range>> by_channel;
  for (const auto& [id, channels] : ranges.channels)
    for (const Width width : kWidths) {
      const FormId form = form_id(id, width), group = plan.group[form];
      if (!plan.quantized[form] || !plan.channel_wise[group]) continue;
      std::vector<Range>& known = by_channel.try_emplace(group, channels).first->second;
      for (size_t c = 0; c < known.size(); ++c) known[c] = hull(known[c], channels[c]);
    }

  FormParams params(forms);
  for (FormId form = 0; form < forms; ++form) {
    if (!plan.quantized[form]) continue;
    const FormId group = plan.group[form];
    const Width width = width_of(form);
    const bool symmetric = plan.target->is_symmetric(width);
    if (plan.fixed[group]) {
      params[form] = *plan.fixed[group];
    } else if (const auto channels = by_channel.find(group); channels != by_channel.end()) {
      const auto rank = static_cast<int32_t>(by_id[tensor_of(form)]->shape()->rank());
      params[form] =
          params_of_channels(channels->second, activation_type(width), symmetric, rank - 1);
    } else {
      params[form] =
          params_of_range(of_group[group].value_or(Range{}), activation_type(width), symmetric);
    }
  }
  return params;
}

}  // namespace ec::quantize
