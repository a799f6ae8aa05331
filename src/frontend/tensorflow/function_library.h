// The functions of a graph, decoded when they are first called, with the names in them resolved.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "formats/tensorflow/decode.h"

namespace ec::tf {

// Where an input comes from.
struct Source {
  enum class Kind : uint8_t { Node, Argument, Control, Missing };
  Kind kind = Kind::Missing;
  uint32_t index = 0;   // of the node or argument
  uint32_t output = 0;  // of the node
};

// A function, or the main graph as a function without arguments.
struct FunctionBody {
  Function function;
  std::unordered_map<std::string_view, uint32_t> nodes;  // looked up only
  std::unordered_map<std::string_view, uint32_t> arguments;
  std::vector<Source> sources;  // for each name of function.list.names
  std::vector<Source> results;  // for each output argument

  std::span<const Source> inputs_of(const Node& node) const {
    const auto first = static_cast<size_t>(node.inputs.data() - function.list.names.data());
    return node.inputs.empty() ? std::span<const Source>()
                               : std::span(sources).subspan(first, node.inputs.size());
  }
  // "node", "node:1" of a graph.
  Source find(std::string_view name) const;
};

class FunctionLibrary {
 public:
  // The messages stay where they are; `graph` gives up its nodes.
  static Result<FunctionLibrary> make(GraphDef graph, Budget& budget);

  const FunctionBody& main() const { return *main_; }
  bool contains(std::string_view name) const { return messages_.contains(name); }
  Result<const FunctionBody*> find(std::string_view name);

 private:
  std::unique_ptr<FunctionBody> main_;
  std::unordered_map<std::string_view, Bytes> messages_;
  std::unordered_map<std::string_view, std::unique_ptr<FunctionBody>> bodies_;
  Budget* budget_ = nullptr;
};

// Which result of an operator an output argument's name stands for: "y" of FusedBatchNormV3 is 0.
uint32_t output_position(std::string_view op, std::string_view argument);

}  // namespace ec::tf
