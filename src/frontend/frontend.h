// The interface of front ends: a model becomes a graph. The driver lists them and picks one by
// content.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/input_value.h"
#include "frontend/kept_operations.h"
#include "frontend/model_source.h"
#include "ir/graph.h"
#include "support/blob.h"
#include "support/diagnostic.h"
#include "support/result.h"

namespace ec {

// Which part of a model is meant; empty: its default.
struct ModelPart {
  std::string signature = {};
  // Nodes of a graph that says nothing of its interface.
  std::vector<std::string> inputs = {}, outputs = {};

  bool empty() const { return signature.empty() && inputs.empty() && outputs.empty(); }
};

struct ImportOptions {
  // Sizes for inputs with open dimensions, by name or position ("0"); "" means the only input. A
  // size of -1 leaves the dimension as it is in the model.
  std::map<std::string, std::vector<int64_t>> input_shapes;
  std::map<std::string, int64_t> dims;  // sizes for symbolic dimensions, by name
  // Values for inputs that are no data, by name: TorchScript parameters of type int, float, bool,
  // str, None or a list of them, and any tensor input that becomes a constant.
  InputValues input_values = {};
  // Set: operations that cannot be imported stay in the graph as custom operations and are listed
  // here; they are no errors of the import then.
  KeptOperations* kept = nullptr;
  // Set: who looks at the graph does not look at its weights; those that are still in the model's
  // files when the graph is complete stay there (support/deferred_bytes.h).
  bool leave_weights = false;
  ModelPart part = {};
};

// Usage: a part was chosen of a model of which only the whole can be read.
Status refuse_part(const ImportOptions& options);

// A kind of file that is known and not read.
struct DetectedFormat {
  std::string name;  // "a TFLite model"
  std::string hint;  // how to get a file that can be imported
};

class Frontend {
 public:
  Frontend() = default;
  virtual ~Frontend() = default;
  Frontend(const Frontend&) = delete;
  Frontend& operator=(const Frontend&) = delete;

  virtual std::string_view name() const = 0;  // "onnx"
  // How sure the front end is that the model is its own, 0 to 100: content first, extension second.
  virtual int probe(const ModelSource& source) const = 0;
  // What a model of this front end's family is that it cannot read, such as weights without code.
  virtual std::optional<DetectedFormat> explain(const ModelSource& source) const;

  // Whether models of this format have parts among which ImportOptions::part chooses.
  virtual bool has_parts() const { return false; }

  // Reports all problems to the sink; on failure the result is the first of them.
  Result<std::unique_ptr<Graph>> import(const ModelSource& source, const ImportOptions& options,
                                        DiagnosticSink& sink) const;
  Result<std::unique_ptr<Graph>> import_file(const std::filesystem::path& path,
                                             const ImportOptions& options,
                                             DiagnosticSink& sink) const;

 private:
  // The graph of the model; import() makes constants of inputs that were given values.
  virtual Result<std::unique_ptr<Graph>> read(const ModelSource& source,
                                              const ImportOptions& options,
                                              DiagnosticSink& sink) const = 0;
};

}  // namespace ec
