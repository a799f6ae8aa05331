// The state of one import, and the steps that converters of control flow and functions call back.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "formats/onnx/decode.h"
#include "formats/onnx/tensor_data.h"
#include "frontend/frontend.h"
#include "frontend/onnx/frame.h"
#include "frontend/onnx/scope.h"
#include "ir/graph.h"

namespace ec::onnx {

struct OpRow;

// A nested graph as a closed body.
struct Body {
  std::unique_ptr<ec::Graph> graph;
  std::vector<Capture> captures;
  bool ok = false;  // false: its problems were reported
};

class Importer {
 public:
  Importer(const Blob& file, const std::filesystem::path& path, const ImportOptions& options,
           DiagnosticSink& sink);
  Result<std::unique_ptr<ec::Graph>> run();

  // A constant from an encoded tensor.
  Result<ec::Tensor*> add_constant(Bytes message, ec::Graph& graph, std::string name);
  Result<ec::Tensor*> add_sparse_constant(Bytes message, ec::Graph& graph, std::string name);

  // A nested graph with the given input types (and known values), names captured from `outer`.
  // The body's inputs are the formal ones, then the captures.
  Body import_body(Bytes message, Scope& outer, const Frame& frame,
                   const std::vector<TensorType>& inputs);
  // The same without reporting, unless it succeeds: for attempts with types that may prove wrong.
  Body try_body(Bytes message, Scope& outer, const Frame& frame,
                const std::vector<TensorType>& inputs);
  // A nested graph built into the graph of `outer`; empty when its problems were reported.
  std::optional<std::vector<Binding>> inline_graph(Bytes message, Scope& outer, const Frame& frame,
                                                   const std::vector<Binding>& inputs);
  // Number of inputs that a nested graph declares, and its outputs.
  Result<std::pair<size_t, size_t>> count_interface(Bytes message);

  void report(Error error);
  // With the file and the usual way out.
  Error explained(Error error) const;
  void report_lasting(Error error);
  size_t errors() const { return errors_; }

 private:
  struct MissingOp {
    std::string_view domain, op_type;
    Error error;
    size_t nodes = 1;
  };

  // importer.cpp
  Status read_model();
  Frame model_frame();
  void set_metadata(ec::Graph& graph) const;
  void check_opset(std::string_view domain, int64_t version);
  void report_collected();

  // import_graph.cpp
  std::unique_ptr<ec::Graph> import_main(const Frame& frame);
  void add_inputs(const Graph& graph, Scope& scope);
  void bind_value(std::string_view name, const TensorType& type, const InputValue& value,
                  Scope& scope);
  void bind_initializers(const Graph& graph, Scope& scope);
  void import_nodes(const NodeList& list, Scope& scope, const Frame& frame);
  void add_outputs(const Graph& graph, Scope& scope);
  void check_declared(const ValueInfo& declared, const ec::Tensor& tensor);
  void apply_hint(Scope& scope, std::string_view name, ec::Tensor* tensor);
  Binding resolve(Scope& scope, std::string_view name, const Location& reader);
  std::optional<Binding> lookup(Scope& scope, std::string_view name);
  void materialize(Binding& binding, Scope& scope);
  Binding translate(const Binding& outer, Scope& scope);
  Result<Graph> enter_graph(Bytes message);

  // import_node.cpp
  bool count_operation(const Location& location);  // false: too many, reported
  void import_node(const Node& node, Scope& scope, const Frame& frame);
  void convert(const OpRow& row, const Node& node, int64_t version, Scope& scope,
               const Frame& frame, Location location);
  void call_function(const Function& function, const Node& node, Scope& scope, const Frame& frame,
                     const Location& location);
  void missing_op(const Node& node, std::string_view domain, int64_t version, Scope& scope,
                  const Location& location);
  void poison_outputs(const Node& node, Scope& scope);
  // A node that cannot be converted: kept as a custom operation where that is asked for, else the
  // problem is reported and the outputs are poisoned.
  void give_up(const Node& node, Scope& scope, const Location& location, Error error);
  // A node whose inputs were given up with a report of their own.
  void skip(const Node& node, Scope& scope, const Location& location);
  void erase_conversion(Scope& scope, size_t first_operation, size_t first_tensor);
  void add_kept(const Node& node, Scope& scope, const Location& location,
                std::vector<ec::Tensor*> inputs, Diagnostic problem, bool unjudged);
  std::vector<ec::Tensor*> known_operands(const Node& node, Scope& scope);
  TensorType kept_type(Scope& scope, std::string_view output,
                       const std::vector<ec::Tensor*>& inputs);
  void bind_output(Scope& scope, std::string_view name, Binding binding, const Location& location);
  Location location_of(const Node& node, const Frame& frame) const;

  const Blob file_;
  const std::filesystem::path path_;
  const ImportOptions& options_;
  DiagnosticSink* sink_;
  KeptOperations* kept_;  // null: nothing is kept, as while nested graphs are only tried
  Budget budget_;
  ExternalData external_;
  TensorReader tensors_;
  Model model_;
  // Local functions by (domain, name, overload).
  std::map<std::tuple<std::string_view, std::string_view, std::string_view>,
           std::unique_ptr<Function>>
      functions_;
  std::vector<MissingOp> missing_ops_;
  std::vector<Error> lasting_errors_;  // hold whatever is attempted: reported at the end
  std::set<std::string> warned_once_;
  size_t errors_ = 0;
  size_t operations_ = 0;
  size_t max_operations_;
  int depth_ = 0;
  int invented_dims_ = 0;
  bool stopped_ = false;
};

}  // namespace ec::onnx
