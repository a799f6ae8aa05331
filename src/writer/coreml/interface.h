// The interface of a program: names, types and shapes that applications see.
#pragma once

#include <string>
#include <vector>

#include "formats/coreml/model.h"
#include "writer/coreml/coreml.h"
#include "writer/coreml/emitter.h"

namespace ec::mil {

struct InterfaceNames {
  std::vector<std::string> inputs, outputs;
  std::vector<std::pair<std::string, std::string>> renamed;
};

// Names of inputs and outputs, before anything else takes them. The tensors behind outputs get
// their names where they can.
Result<InterfaceNames> name_interface(const Graph& graph, WriteState& state, BlockEmitter& block);

// The features of the model and the inputs of its function.
Status describe_interface(const Graph& graph, const InterfaceNames& names,
                          const CoremlWriteOptions& options, coreml::Interface& interface,
                          coreml::Function& main);

// States as inputs of the function, which applications keep between runs.
void describe_states(const std::vector<ProgramState>& states, coreml::Interface& interface,
                     coreml::Function& main);

// The first output that has a number for each label becomes the name of the best class and the
// numbers by name.
Status add_classifier(const Graph& graph, WriteState& state, const std::vector<std::string>& labels,
                      coreml::Interface& interface, coreml::Function& main);

}  // namespace ec::mil
