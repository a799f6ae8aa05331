// The first step: what becomes integer, and which tensors share parameters. Nothing is measured or
// changed yet.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "quantize/target_spec.h"

namespace ec::quantize {

struct OpPlan {
  bool integer = false;
  OpRule rule;
  std::string reason;  // why it stays in floating point; empty where it has no real numbers
};

// Tables by operation id and tensor id of the analysed graph.
struct Plan {
  const TargetSpec* target = nullptr;
  std::vector<OpPlan> ops;
  std::vector<bool> quantized;  // activations that get parameters
  std::vector<bool> observed;   // activations whose range counts
  // Representative of the tensors that have the same parameters; constants included.
  std::vector<uint32_t> group;
  // Parameters that the target prescribes, by representative.
  std::vector<std::optional<QuantParams>> fixed;
  // Ranges that a group must also hold: operands with parameters of their own that are requantised
  // on the way in.
  std::vector<std::vector<uint32_t>> also;

  const OpPlan& of(const Operation* op) const { return ops[op->id()]; }
};

struct PlanOptions {
  // Outputs are integer at the interface, so that they need parameters whoever produces them.
  bool integer_outputs = false;
  // Operations to leave in floating point: name patterns with * and ?, matched against source
  // names.
  std::vector<std::string> keep_float;
};

Plan make_plan(const Graph& graph, const TargetSpec& target, const PlanOptions& options);

// Shell-like match of a whole name: * any run, ? any one character.
bool matches_glob(std::string_view pattern, std::string_view name);

}  // namespace ec::quantize
