// A generated model: the graph, the values to run it on, and which operations were tried.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "ops/value.h"

namespace ec::fuzz {

// How close to the rules of the op table a model is.
enum class Level : uint8_t {
  Legal,  // operands and attributes by the rules of each op
  Near,   // the same with one thing changed
  Wild,   // anything that the signatures allow
  File,   // a file: nodes made without looking at any rule, or one of ours with damage
};
inline constexpr std::string_view kLevelNames[] = {"legal", "near", "wild", "file"};

struct Model {
  Level level = Level::Legal;
  OpKind subject = OpKind::Identity;  // the op that the model is about
  std::unique_ptr<Graph> graph;       // null: only `file`
  std::vector<Value> inputs;          // one per graph input
  std::vector<OpKind> tried, taken;   // operations offered to inference, and those it accepted
  std::string file;                   // the bytes of a model
  std::string file_name = "fuzz.onnx";
  std::string file_subject;  // the operator that the file is about
};

}  // namespace ec::fuzz
