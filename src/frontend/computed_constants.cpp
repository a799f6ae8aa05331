#include "frontend/computed_constants.h"

#include "ops/kernel.h"
#include "support/budget.h"

namespace ec {
namespace {

bool all_constants(const Operation& op, size_t max_bytes) {
  size_t bytes = 0;
  for (const Tensor* input : op.inputs()) {
    if (input == nullptr) continue;
    if (!input->is_constant()) return false;
    bytes += input->raw_data().size();
  }
  return bytes <= max_bytes;
}

bool has_room(size_t bytes) {
  Budget* budget = Budget::current();
  return budget == nullptr || budget->may_compute(bytes);
}

// Of results whose types are known before; the others are counted when they are there.
size_t known_bytes(const Operation& op) {
  size_t bytes = 0;
  for (const Tensor* output : op.outputs())
    bytes += static_cast<size_t>(output->type().num_bytes().value_or(0));
  return bytes;
}

}  // namespace

std::optional<std::vector<Value>> computed_results(const Operation& op, size_t max_bytes) {
  if (op.inputs().empty() || op.def().traits.random || op.kind() == OpKind::Dequantize ||
      !op.bodies().empty() || !all_constants(op, max_bytes))
    return std::nullopt;
  const size_t known = known_bytes(op);
  if (!has_room(known)) return std::nullopt;
  std::vector<Value> values(op.inputs().size());
  std::vector<const Value*> operands(values.size(), nullptr);
  for (size_t i = 0; i < values.size(); ++i) {
    const Tensor* input = op.input(i);
    if (input == nullptr) continue;
    values[i] = Value(input->dtype(), input->shape()->sizes(), input->data());
    operands[i] = &values[i];
  }
  Result<std::vector<Value>> results = evaluate(op, operands, max_bytes);
  if (!results.ok()) return std::nullopt;
  size_t bytes = 0;
  for (const Value& value : *results) bytes += value.data.size();
  if (bytes > known && !has_room(bytes - known)) return std::nullopt;
  return std::move(*results);
}

}  // namespace ec
