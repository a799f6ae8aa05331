// What a model is called with: the tensors of forward()'s parameters, their types and shapes.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "frontend/input_shapes.h"
#include "frontend/torch/script/interpreter.h"

namespace ec::torch::script {

// The structure of one parameter: a tensor input, a container of them, or a fixed value.
struct InputPlan {
  enum class Kind : uint8_t { Tensor, Scalar, List, Tuple, Value };
  Kind kind = Kind::Value;
  std::string name;  // of a tensor input, or of a number that becomes one
  SymScalar::Kind scalar = SymScalar::Kind::Int;
  std::vector<InputPlan> items;
  TorchValue value;  // of a fixed value
};

struct Signature {
  std::string method;  // "forward"
  std::vector<InputPlan> parameters;
  std::vector<NamedInput> tensors;  // in order
  std::set<std::string> assumed;    // names of tensors whose element type nobody told
  std::vector<std::string> given;   // parameters whose value the user gave
};

// From the archive's example inputs, the parameters' types and the user's shapes. Inputs without a
// shape are reported to the sink. Where whatever can be parsed is kept, sizes stay open and numbers
// without a value become inputs; warnings say so.
Result<Signature> plan_inputs(const Archive& archive, Interpreter& interpreter,
                              const ImportOptions& options, DiagnosticSink& sink);

}  // namespace ec::torch::script
