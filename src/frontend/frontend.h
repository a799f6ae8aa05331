// The interface of front ends: a model file becomes a graph. The driver registers them explicitly
// and picks one by content.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/input_value.h"
#include "ir/graph.h"
#include "support/blob.h"
#include "support/diagnostic.h"
#include "support/result.h"

namespace ec {

struct ImportOptions {
  // Sizes for inputs with open dimensions, by name or position ("0"); "" means the only input. A
  // size of -1 leaves the dimension as it is in the model.
  std::map<std::string, std::vector<int64_t>> input_shapes;
  std::map<std::string, int64_t> dims;  // sizes for symbolic dimensions, by name
  // Values for inputs that are no data, by name: TorchScript parameters of type int, float, bool,
  // str, None or a list of them, and any tensor input that becomes a constant.
  InputValues input_values = {};
};

class Frontend {
 public:
  Frontend() = default;
  virtual ~Frontend() = default;
  Frontend(const Frontend&) = delete;
  Frontend& operator=(const Frontend&) = delete;

  virtual std::string_view name() const = 0;  // "onnx"
  // How sure the front end is that the file is its own, 0 to 100: content first, extension second.
  virtual int probe(std::span<const std::byte> head, const std::filesystem::path& path) const = 0;
  // Reports all problems to the sink; on failure the result is the first of them.
  Result<std::unique_ptr<Graph>> import(const std::filesystem::path& path,
                                        const ImportOptions& options, DiagnosticSink& sink) const;

 private:
  // `path` names the file in messages and anchors what it refers to.
  virtual Result<std::unique_ptr<Graph>> import_bytes(const Blob& file,
                                                      const std::filesystem::path& path,
                                                      const ImportOptions& options,
                                                      DiagnosticSink& sink) const = 0;
};

}  // namespace ec
