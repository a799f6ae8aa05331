#include "frontend/ecir/ecir.h"

#include "frontend/input_shapes.h"
#include "ir/text.h"
#include "ops/infer.h"

namespace ec {
namespace {

class EcirFrontend : public Frontend {
 public:
  std::string_view name() const override { return "ecir"; }

  int probe(const ModelSource& source) const override {
    if (looks_like_ecir(source.outline())) return 100;
    return source.extension() == ".ecir" ? 20 : 0;
  }

 private:
  Result<std::unique_ptr<Graph>> read(const ModelSource& source, const ImportOptions& options,
                                      DiagnosticSink& sink) const override {
    EC_TRY(const Blob bytes, source.bytes());
    Result<std::unique_ptr<Graph>> graph = read_ecir(bytes);
    if (!graph.ok()) {
      sink.report(std::move(graph).error().file(source.name()));
      return sink.first_error();
    }
    EC_CHECK_OK(apply_import_options(**graph, options, sink));
    return graph;
  }
};

}  // namespace

const Frontend& ecir_frontend() {
  static const EcirFrontend kFrontend;
  return kFrontend;
}

Status apply_import_options(Graph& graph, const ImportOptions& options, DiagnosticSink& sink) {
  EC_CHECK_OK(refuse_part(options));
  if (options.input_shapes.empty() && options.dims.empty()) return {};
  std::vector<NamedInput> inputs;
  for (const Tensor* input : graph.inputs()) inputs.push_back({input->name(), input->type()});
  const size_t before = sink.error_count();
  apply_input_options(inputs, options, sink);
  if (sink.error_count() > before) return sink.first_error();
  for (size_t i = 0; i < inputs.size(); ++i)
    graph.set_type(graph.inputs()[i], std::move(inputs[i].type));
  infer_graph(graph, sink);
  if (sink.error_count() > before) return sink.first_error();
  return {};
}

}  // namespace ec
