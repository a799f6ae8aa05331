// A generated model: the graph, the values to run it on, and which operations were tried.
#pragma once

#include <filesystem>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "ops/value.h"

namespace ec::fuzz {

// How close to the rules of the op table a model is.
enum class Level : uint8_t {
  Legal,     // operands and attributes by the rules of each op
  Near,      // the same with one thing changed
  Wild,      // anything that the signatures allow
  File,      // a file: nodes made without looking at any rule, or one of ours with damage
  Recorded,  // a recorded model of another framework with damage
  Immense,   // a legal model with one immense size
};
inline constexpr std::string_view kLevelNames[] = {"legal", "near",     "wild",
                                                   "file",  "recorded", "immense"};
inline constexpr size_t kLevels = std::size(kLevelNames);

struct ModelFile {
  std::string name;  // within the folder of the model; empty: the model is this file
  std::string bytes;
};

struct Model {
  Level level = Level::Legal;
  OpKind subject = OpKind::Identity;  // the op that the model is about
  std::unique_ptr<Graph> graph;       // null: only `files`
  std::vector<Value> inputs;          // one per graph input, or none: it is not run
  std::vector<OpKind> tried, taken;   // operations offered to inference, and those it accepted
  std::vector<ModelFile> files;
  std::string file_name = "fuzz.onnx";
  std::string file_subject;  // the operator or the recorded model that the file is about
  std::map<std::string, std::vector<int64_t>> input_shapes;  // of a file that states none

  bool is_folder() const { return !files.empty() && !files.front().name.empty(); }
};

// Writes the files of a model into a folder; the path of the model.
std::filesystem::path write_model(const Model& model, const std::filesystem::path& folder);

}  // namespace ec::fuzz
