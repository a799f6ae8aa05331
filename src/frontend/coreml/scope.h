// What the names of a program stand for while it is imported.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "formats/coreml/model.h"
#include "ir/graph.h"

namespace ec::mil {

// A list of tensors of one shape, as one tensor with the elements along its first dimension.
struct TensorList {
  ec::Tensor* stack = nullptr;
  bool fresh = false;    // nothing was written yet
  bool dynamic = false;  // grows where something is written behind its end
};

struct MilValue {
  enum class Kind : uint8_t {
    Failed,    // its producer was given up, and why was reported
    Tensor,    // numbers
    Constant,  // a value of the file: numbers that become a constant where they are read, or text
    State,     // what outlives a run
    List,      // of tensors
    Label,     // the name of a class: text, which graphs do not have
  };
  Kind kind = Kind::Failed;
  ec::Tensor* tensor = nullptr;
  const coreml::Value* constant = nullptr;
  std::string state;  // its key
  TensorList list;

  static MilValue of(ec::Tensor* tensor) { return {Kind::Tensor, tensor, nullptr, {}, {}}; }
  static MilValue of(const coreml::Value* value) {
    return {Kind::Constant, nullptr, value, {}, {}};
  }
  static MilValue of(TensorList list) { return {Kind::List, nullptr, nullptr, {}, list}; }
  static MilValue of_state(std::string key) {
    return {Kind::State, nullptr, nullptr, std::move(key), {}};
  }
  static MilValue label() { return {Kind::Label, nullptr, nullptr, {}, {}}; }
  bool failed() const { return kind == Kind::Failed; }
};

// A graph that is being built: the program's own, or the body of a branch or loop.
struct Site {
  Site(ec::Graph& g, bool main) : graph(g), is_main(main) {}
  ec::Graph& graph;
  const bool is_main;
  std::unordered_map<const coreml::Value*, ec::Tensor*> constants;  // looked up only
};

// The names of one block. An inner scope sees those of the blocks around it.
struct Scope {
  Scope(Site& s, Scope* p, int o) : site(s), parent(p), opset(o) {}
  Site& site;
  Scope* const parent;                                    // of the same site; null: the outermost
  const int opset;                                        // 5 for CoreML5
  std::unordered_map<std::string_view, MilValue> values;  // looked up, never iterated

  const MilValue* find(std::string_view name) const {
    for (const Scope* at = this; at != nullptr; at = at->parent)
      if (const auto found = at->values.find(name); found != at->values.end())
        return &found->second;
    return nullptr;
  }
};

}  // namespace ec::mil
