#include "backend/coral/support.h"

#include <algorithm>

#include "backend/coral/rules.h"

namespace ec::coral {

using tflite::BuiltinOperator;
using tflite::TensorType;

namespace {

// A row of support.def.
struct Entry {
  BuiltinOperator code;
  int runtime;
  rules::Rule rule;
  std::string_view limitation;
  bool seen_only;  // not in the published table, but in compiled files
};

constexpr Entry kEntries[] = {
#define EC_CORAL_OPERATOR(name, runtime, rule, text) \
  {BuiltinOperator::name, runtime, rules::rule, text, false},
#define EC_CORAL_OPERATOR_SEEN(name, runtime, rule, text) \
  {BuiltinOperator::name, runtime, rules::rule, text, true},
#include "backend/coral/support.def"
#undef EC_CORAL_OPERATOR
#undef EC_CORAL_OPERATOR_SEEN
};

const Entry* find_entry(BuiltinOperator code, const Rules& rules) {
  const auto* entry = std::ranges::find(kEntries, code, &Entry::code);
  if (entry == std::end(kEntries)) return nullptr;
  return entry->seen_only && rules.evidence == Evidence::Published ? nullptr : entry;
}

bool is_byte(TensorType type) { return type == TensorType::INT8 || type == TensorType::UINT8; }

// Activations are 8 bits wide; the state of an LSTM cell may have 16.
bool type_flows(const OperatorView& op, const tflite::Tensor& tensor) {
  if (is_byte(tensor.type())) return true;
  return op.code() == BuiltinOperator::UNIDIRECTIONAL_SEQUENCE_LSTM &&
         tensor.type() == TensorType::INT16 && tensor.is_variable();
}

// `what` is "its result" or "input 1": reasons of many operators that are alike read alike.
Verdict type_fault(const std::string& what, const tflite::Tensor& tensor) {
  const std::string type(tflite::tensor_type_name(tensor.type()));
  const bool is_float =
      tensor.type() == TensorType::FLOAT32 || tensor.type() == TensorType::FLOAT16;
  return {Status::DataType,
          what + " is " + type + ", the device computes on int8 and uint8",
          is_float ? "quantise the model to int8 (--quantize ptq)"
                   : "keep integer arithmetic of " + type + " out of the middle of the model",
          {}};
}

std::optional<Verdict> check_flowing(const OperatorView& op, const std::string& what,
                                     const tflite::Tensor& tensor) {
  if (!type_flows(op, tensor)) return type_fault(what, tensor);
  const std::vector<int64_t> shape = op.shape(tensor);
  if (std::ranges::any_of(shape, [](int64_t size) { return size < 1; }))
    return Verdict{Status::Limited,
                   what + " has no fixed size",
                   "give the sizes of the inputs at conversion (--input-shape)",
                   {}};
  for (size_t d = 0; d + 3 < shape.size(); ++d)
    if (shape[d] != 1)
      return Verdict{Status::Rank,
                     what + " is " + shape_text(shape),
                     "use batch 1: only the 3 innermost dimensions may exceed 1",
                     {}};
  return std::nullopt;
}

std::optional<Verdict> check_tensors(const OperatorView& op) {
  for (size_t i = 0; i < op.num_inputs(); ++i) {
    const tflite::Tensor* tensor = op.input(i);
    if (tensor == nullptr || op.is_constant(i)) continue;
    if (auto fault = check_flowing(op, "input " + std::to_string(i), *tensor)) return fault;
  }
  for (size_t i = 0; i < op.num_outputs(); ++i)
    if (auto fault =
            check_flowing(op, op.num_outputs() == 1 ? "its result" : "output " + std::to_string(i),
                          *op.output(i)))
      return fault;
  return std::nullopt;
}

Verdict unknown(const OperatorView& op) {
  Verdict verdict{Status::NotSupported, "the Edge TPU has no " + op.name(), {}, {}};
  if (op.is_custom())
    verdict.fix = "move it to the end of the model: it then runs on the CPU after the device";
  else if (op.code() == BuiltinOperator::DEQUANTIZE)
    verdict.fix = "use int8 or uint8 outputs";
  else
    verdict.fix = "replace it by supported operators, or move it to the end of the model";
  return verdict;
}

}  // namespace

std::string_view status_text(Status status) {
  switch (status) {
    case Status::Mapped:
      return "Mapped to Edge TPU";
    case Status::LaterGroup:
      return "More than one subgraph is not supported";
    case Status::Limited:
      return "Operation is otherwise supported, but not mapped due to some unspecified limitation";
    case Status::NotSupported:
      return "Operation not supported";
    case Status::DataType:
      return "Operation is working on an unsupported data type";
    case Status::Rank:
      return "Tensor has unsupported rank (up to 3 innermost dimensions mapped)";
    case Status::NotConstant:
      return "Filter, bias, or other param is not constant at compile-time";
  }
  return {};
}

Verdict judge(const OperatorView& op, const Rules& rules) {
  const Entry* entry = find_entry(op.code(), rules);
  if (entry == nullptr) return unknown(op);
  if (entry->runtime > rules.runtime)
    return {Status::NotSupported,
            "needs Edge TPU runtime " + std::to_string(entry->runtime) + ", the target has " +
                std::to_string(rules.runtime),
            "update the runtime on the device",
            {}};
  Verdict verdict = entry->rule(op, rules);
  // A computed weight would be refused for its type or rank as well; that is not what the user has
  // to change.
  if (verdict.status == Status::NotConstant) return verdict;
  if (auto fault = check_tensors(op)) return *fault;
  if (verdict.status == Status::Limited && !entry->limitation.empty())
    verdict.reason += "; the limit: " + std::string(entry->limitation);
  return verdict;
}

}  // namespace ec::coral
