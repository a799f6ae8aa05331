// What the meaning of a node depends on beside its graph: operator set versions, and inside a
// model-local function the attributes of the call.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "formats/onnx/model.h"

namespace ec::onnx {

struct Frame {
  std::map<std::string_view, int64_t> opsets;        // "" for ai.onnx
  std::map<std::string_view, Attribute> attributes;  // of the call, by name
  const Function* function = nullptr;                // null in the model's own graph
  const Frame* caller = nullptr;
  std::string prefix;  // of node names: "call/"
  int depth = 0;
};

// "ai.onnx" is another name of "".
inline std::string_view canonical_domain(std::string_view domain) {
  return domain == "ai.onnx" ? std::string_view{} : domain;
}

}  // namespace ec::onnx
