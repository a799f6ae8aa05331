// Bodies of branches and loops: closed graphs whose inputs stand for what they read from outside.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "frontend/coreml/op_call.h"

namespace ec::mil {

// Names that blocks read and do not define themselves, each once, in order.
std::vector<std::string> free_names(const std::vector<const coreml::Block*>& blocks);

// What names outside of a body stand for, split into what becomes an input of the body and the
// rest, which is the same inside.
struct Captures {
  std::vector<std::string> names;  // of tensors and lists
  std::vector<MilValue> values;    // the same, outside
  std::vector<std::pair<std::string, MilValue>> others;

  std::vector<ec::Tensor*> operands() const;
};
Captures capture(const Scope& outer, const std::vector<std::string>& names);

// Adds an input for each capture to the body and binds all names in its scope. `names` must outlive
// the scope.
void bind_captures(const Captures& captures, Scope& inner);

// The tensor of a loop variable: of a list that of its elements.
ec::Tensor* carried_tensor(const MilValue& value);
MilValue carried_value(const MilValue& like, ec::Tensor* tensor);

}  // namespace ec::mil
