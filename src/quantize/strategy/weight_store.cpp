#include "quantize/strategy/weight_store.h"

#include "ops/op_def.h"

namespace ec::quantize {

std::string WeightStore::kept_by_name(const Operation& op) const {
  for (const std::string& pattern : context_.request.keep_float)
    for (const std::string& name : op.location().nodes)
      if (matches_glob(pattern, name)) return "--keep-float " + pattern;
  return {};
}

void WeightStore::keep(const Operation& op, std::string reason) {
  ++report().float_ops;
  report().kept_in_float.push_back(
      {std::string(op.location().name()), std::string(op.def().name), std::move(reason)});
}

void WeightStore::replace_operand(Operation* op, size_t i, Tensor* stored) {
  Tensor* exact = op->input(i);
  graph().set_operand(op, i, stored);
  if (graph().is_unused(exact)) replaced_.push_back(exact);
}

void WeightStore::record(const Tensor& exact, Tensor& stored, std::span<const float> rounded) {
  names_.emplace_back(&stored, exact.name());
  StoredWeight entry{exact.name(),
                     std::string(dtype_name(stored.dtype())),
                     static_cast<int64_t>(exact.raw_data().size()),
                     static_cast<int64_t>(stored.raw_data().size()),
                     {}};
  if (stored.type().quant)
    entry.bytes_after += static_cast<int64_t>(4 * stored.type().quant->scales.size());
  const auto values = exact.values<float>();
  for (size_t i = 0; i < values.size(); ++i) {
    const auto value = static_cast<double>(values[i]);
    const double difference = value - static_cast<double>(rounded[i]);
    entry.error.signal += value * value;
    entry.error.noise += difference * difference;
  }
  report().stored_weights.push_back(std::move(entry));
}

void WeightStore::finish() {
  for (Tensor* exact : replaced_) graph().erase(exact);
  for (const auto& [stored, name] : names_)
    if (graph().find_tensor(name) == nullptr) graph().rename(stored, name);
}

}  // namespace ec::quantize
