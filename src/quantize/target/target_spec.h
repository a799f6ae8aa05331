// What a target can do with integers: for each operation whether it has an integer form and which
// rules its operands and results keep. A back end describes itself with one TargetSpec; the
// strategies know nothing else about targets. How a result gets its parameters is a fact of the
// operation, which stands in the op table; targets start from it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"

namespace ec {
struct OpDef;
}

namespace ec::quantize {

enum class OperandRole : uint8_t {
  Plain,       // stays as it is: shapes, indices, conditions, bounds
  Activation,  // one scale and zero point for the tensor
  Weights,     // a constant, symmetric around zero; a scale per index of an axis where allowed
  Bias,        // a constant: scale of operand 0 x scale of the weights, zero point 0
};

enum class ResultRule : uint8_t {
  Calibrated,  // parameters from the observed range
  SameScale,   // the parameters of the operands, which all have the same
  Fixed,       // parameters that the target prescribes
  Plain,       // no real numbers: indices, comparisons
};

struct OpRule {
  bool integer = false;
  std::string reason;                 // why there is no integer form
  std::vector<OperandRole> operands;  // operands beyond the list have the role of its last
  ResultRule result = ResultRule::Calibrated;
  int32_t weights_axis = -1;  // -1: one scale for all weights
  std::optional<QuantParams> fixed;
  // A relu or clip behind it is computed with it: both have the range after the activation.
  bool fuses_activation = false;
  // Operand 0 has a scale and zero point for each channel (index of the last dimension), from the
  // channel's extremes, where whoever else reads the tensor takes that too. For operations that
  // keep channels apart (depthwise convolutions); such graphs have the simulated form.
  bool channel_wise_input = false;
  // Moves elements only; worth doing on integers where its neighbours are.
  bool moves_data = false;

  OperandRole role(size_t operand) const {
    if (operands.empty()) return OperandRole::Plain;
    return operands[operand < operands.size() ? operand : operands.size() - 1];
  }
};

// The rule that follows from the op table (OpDef::quant): how the result gets its parameters. The
// target adds the roles of operands and the parameters of results that it prescribes.
OpRule rule_from_table(const OpDef& def);

// How an operation on floats takes weights that are stored as integers.
enum class WeightUse : uint8_t {
  None,         // only floats
  Read,         // as they are: what they are multiplied with is rounded at run time
  Moved,        // it moves them, and its result is dequantised
  Dequantized,  // as floats, from a dequantize in front
};

struct WeightRule {
  WeightUse use = WeightUse::None;
  std::vector<size_t> operands;  // constants of rounded real numbers
  int32_t axis = -1;             // of their scales; -1: one scale for all
};

// How many bits the activations of an operation have. Weights have 8 either way.
enum class Width : uint8_t {
  Narrow,  // 8 bits, affine unless the target says otherwise; biases of 32 bits
  Wide,    // 16 bits, symmetric; biases of 64 bits
};
constexpr DType activation_type(Width width) {
  return width == Width::Wide ? DType::I16 : DType::I8;
}
constexpr DType bias_type(Width width) { return width == Width::Wide ? DType::I64 : DType::I32; }

struct TargetSpec {
  std::string_view name;
  // The target has operations with 16-bit activations.
  bool has_wide = false;
  // 8-bit activations have zero point 0; those of 16 bits always do.
  bool symmetric = false;
  // Normalisations made of several operations (a root of a mean of squares) stay in floating point:
  // their intermediate values span more than 8 bits. For targets that mix both kinds freely.
  bool float_norms = false;
  // The device computes on integers only: a float model has no use for it.
  bool integers_only = false;
  // Files hold float operations between quantize and dequantize, not operations on integers.
  bool simulated = false;
  // What the device's interface has unless asked otherwise: "float", "int8" or "uint8".
  std::string_view io_type = "float";
  OpRule (*describe)(const Operation& op, Width width) = nullptr;
  // How operations that compute on floats take integer weights; null where the target has none.
  WeightRule (*describe_weights)(const Operation& op) = nullptr;
  // Float constants may be stored with 16 bits.
  bool has_float16 = false;

  bool is_symmetric(Width width) const { return symmetric || width == Width::Wide; }
};

}  // namespace ec::quantize
