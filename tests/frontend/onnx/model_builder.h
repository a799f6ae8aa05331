// Small ONNX files, built in memory for tests.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "formats/onnx/encode.h"
#include "frontend/onnx/onnx.h"
#include "support/blob.h"

namespace ec::onnx {

class ModelBuilder {
 public:
  explicit ModelBuilder(int64_t opset = 17) : opset_(opset) {}

  ModelBuilder& input(std::string_view name, std::vector<int64_t> dims,
                      DataType type = DataType::Float) {
    graph_.inputs.push_back(value(name, dims, type));
    return *this;
  }
  // With symbols and unknown sizes.
  ModelBuilder& open_input(std::string_view name, std::vector<Dimension> dims) {
    graph_.inputs.push_back(encode_value({name, DataType::Float, true, std::move(dims)}));
    return *this;
  }
  ModelBuilder& output(std::string_view name) {
    graph_.outputs.push_back(encode_value({name, DataType::Undefined, false, {}}));
    return *this;
  }
  ModelBuilder& output(std::string_view name, std::vector<int64_t> dims,
                       DataType type = DataType::Float) {
    graph_.outputs.push_back(value(name, dims, type));
    return *this;
  }
  ModelBuilder& node(std::string op_type, std::vector<std::string> inputs,
                     std::vector<std::string> outputs, AttributeList attributes = {},
                     std::string name = {}, std::string domain = {}) {
    graph_.nodes.push_back(
        encode_node({std::move(name), std::move(op_type), std::move(domain), std::move(inputs),
                     std::move(outputs), std::move(attributes)}));
    return *this;
  }
  template <class T>
  ModelBuilder& constant(std::string_view name, DataType type, std::vector<int64_t> dims,
                         std::vector<T> values) {
    TensorSource tensor;
    tensor.name = name;
    tensor.type = type;
    tensor.dims = dims;
    tensor.data = Blob::copy_of(std::span<const T>(values));
    graph_.initializers.push_back(encode_tensor(tensor));
    return *this;
  }
  // An initializer that is encoded already.
  ModelBuilder& raw_constant(std::string message) {
    Pieces pieces;
    pieces.append(std::move(message));
    graph_.initializers.push_back(std::move(pieces));
    return *this;
  }
  ModelBuilder& external(std::string_view name, std::vector<int64_t> dims,
                         std::string_view location, uint64_t offset, size_t length) {
    TensorSource tensor;
    tensor.name = name;
    tensor.type = DataType::Float;
    tensor.dims = dims;
    tensor.location = location;
    tensor.offset = offset;
    const std::vector<std::byte> bytes(length);
    tensor.data = Blob::copy_of(std::span<const std::byte>(bytes));
    graph_.initializers.push_back(encode_tensor(tensor));
    return *this;
  }
  ModelBuilder& import(std::string_view domain, int64_t version) {
    more_opsets_.push_back({domain, version});
    return *this;
  }

  std::string graph_bytes() const { return encode_graph(graph_).joined(); }
  std::string bytes() const {
    ModelSource model;
    model.ir_version = ir_version_;
    model.producer_name = "test";
    model.opsets = {{"", opset_}};
    model.opsets.insert(model.opsets.end(), more_opsets_.begin(), more_opsets_.end());
    return encode_model(model, encode_graph(graph_)).joined();
  }

 private:
  static std::string value(std::string_view name, const std::vector<int64_t>& dims, DataType type) {
    ValueSource v{name, type, true, {}};
    for (const int64_t d : dims) v.dims.push_back(d < 0 ? Dimension{} : Dimension{d, {}});
    return encode_value(v);
  }

  int64_t opset_, ir_version_ = 8;
  GraphSource graph_{"g", {}, {}, {}, {}};
  std::vector<OpsetId> more_opsets_;
};

inline Blob as_blob(const std::string& bytes) {
  return Blob::copy_of(std::as_bytes(std::span<const char>(bytes)));
}

struct Imported {
  std::unique_ptr<ec::Graph> graph;  // null when there were errors
  DiagnosticSink sink;

  // The n-th error, in order of report.
  std::vector<Diagnostic> errors() const {
    std::vector<Diagnostic> list;
    for (const Diagnostic& d : sink.diagnostics())
      if (d.severity == Severity::Error) list.push_back(d);
    return list;
  }
  bool has(Code code) const {
    for (const Diagnostic& d : sink.diagnostics())
      if (d.code == code) return true;
    return false;
  }
  std::string text() const {
    std::string all;
    for (const Diagnostic& d : sink.diagnostics()) all += format_diagnostic(d) + "\n";
    return all;
  }
};

inline Imported import_bytes(const std::string& bytes, const ImportOptions& options = {},
                             const std::filesystem::path& path = "test.onnx") {
  Imported result;
  auto graph = import_onnx(as_blob(bytes), path, options, result.sink);
  if (graph.ok()) result.graph = std::move(*graph);
  return result;
}

}  // namespace ec::onnx
