// The plan of a quantisation: which operations become integer, and which tensors share parameters.
// Making it measures and changes nothing.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "quantize/target/target_spec.h"

namespace ec::quantize {

// An activation in one width. A tensor that operations of both widths read has both forms.
using FormId = uint32_t;
constexpr FormId form_id(uint32_t tensor, Width width) {
  return tensor * 2 + (width == Width::Wide ? 1 : 0);
}
constexpr uint32_t tensor_of(FormId form) { return form / 2; }
constexpr Width width_of(FormId form) { return form % 2 != 0 ? Width::Wide : Width::Narrow; }

struct OpPlan {
  bool integer = false;
  Width width = Width::Narrow;
  OpRule rule;
  std::string reason;       // why it stays in floating point; empty where it has no real numbers
  bool on_purpose = false;  // it stays there because a method wants it, and nothing is wrong
};

// Which values of a tensor matter to the operations that read it (masked_values.h).
enum class Reading : uint8_t {
  Whole,
  Scores,  // only softmaxes read it: values far below the largest of a row do not matter
  Maxima,  // only max pools read it, and it holds a filler that does not matter
};

// Tables by operation id, tensor id or form of the analysed graph.
struct Plan {
  const TargetSpec* target = nullptr;
  std::vector<OpPlan> ops;
  std::vector<bool> quantized;   // forms that get parameters
  std::vector<bool> observed;    // tensors whose range counts
  std::vector<Width> stored;     // by tensor: the form that its producer gives
  std::vector<Reading> reading;  // by tensor
  // Representative of the forms that have the same parameters; constants included.
  std::vector<FormId> group;
  // Parameters that the target prescribes, by representative.
  std::vector<std::optional<QuantParams>> fixed;
  // Groups with parameters for each channel, by representative.
  std::vector<bool> channel_wise;
  // Tensors whose ranges a group must also hold: operands with parameters of their own that are
  // requantised on the way in.
  std::vector<std::vector<uint32_t>> also;

  const OpPlan& of(const Operation* op) const { return ops[op->id()]; }
  FormId stored_form(const Tensor* tensor) const {
    return form_id(tensor->id(), stored[tensor->id()]);
  }
};

enum class Precision : uint8_t { Narrow, Wide, Float };
// A precision for one operation that differs from that of all others.
struct Choice {
  Precision precision = Precision::Float;
  std::string reason;  // where it stays in floating point
  bool on_purpose = false;
};

struct PlanOptions {
  // Outputs are integer at the interface, so that they need parameters whoever produces them.
  bool integer_outputs = false;
  std::set<uint32_t> float_outputs;  // tensors that are left out of that
  // Operations to leave in floating point: name patterns with * and ?, matched against source
  // names.
  std::vector<std::string> keep_float;
  Width width = Width::Narrow;
  // One scale for all weights of an operation, also where the target has one per channel.
  bool weights_per_tensor = false;
  // An input that takes pixels from 0 to 255: every step is one. Empty: none.
  std::string pixel_input;
  // By operation id. An activation that is fused into such an operation follows it.
  std::map<uint32_t, Choice> chosen;
};

Plan make_plan(const Graph& graph, const TargetSpec& target, const PlanOptions& options);

// The operation that computes this activation with itself; null where there is none.
const Operation* fused_into(const Graph& graph, const Plan& plan, const Operation& op);

// Shell-like match of a whole name: * any run, ? any one character.
bool matches_glob(std::string_view pattern, std::string_view name);

}  // namespace ec::quantize
