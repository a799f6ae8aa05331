#include "driver/inspect.h"

#include "driver/load.h"
#include "formats/tflite/model_file.h"
#include "support/file.h"

namespace ec {
namespace {

// The file's Edge TPU operators. Their code is in the file only: the graph keeps it as it is.
Status read_edgetpu(const std::string& path, ModelSummary& summary, DiagnosticSink& sink) {
  EC_TRY(const Blob blob, map_file(path));
  EC_TRY(const tflite::ModelFile file, tflite::ModelFile::open(blob, sink));
  for (size_t g = 0; g < file.num_subgraphs(); ++g) {
    const tflite::SubGraph& graph = file.subgraph(g);
    for (uint32_t i = 0; i < tflite::size_of(graph.operators()); ++i) {
      const tflite::Operator& op = *graph.operators()->Get(i);
      if (tflite::operator_name(file.code_of(op)) != edgetpu::kCustomOpName) continue;
      std::string node = "operator " + std::to_string(i);
      if (tflite::size_of(op.outputs()) > 0)
        node = tflite::text_of(
            graph.tensors()->Get(static_cast<uint32_t>(op.outputs()->Get(0)))->name());
      Result<edgetpu::CustomOpInfo> info = edgetpu::read_custom_op(file.custom_options(op));
      if (!info.ok())
        return std::move(info).error().file(path).node(node, std::string(edgetpu::kCustomOpName));
      summary.edgetpu.push_back({std::move(node), std::move(*info)});
    }
  }
  return {};
}

}  // namespace

Result<ModelSummary> inspect_model(const std::string& file, const CompileOptions& options,
                                   DiagnosticSink& sink) {
  EC_TRY(const LoadedModel model, load_model(file, options, sink));
  ModelSummary summary = summarize(*model.graph);
  summary.file = file;
  summary.format = model.format;
  summary.file_bytes = model.file_bytes;
  if (model.format == "tflite") {
    if (Status status = read_edgetpu(file, summary, sink); !status.ok()) {
      if (!sink.has_errors()) sink.report(status.error().diagnostic());
      return std::move(status).error();
    }
  }
  return summary;
}

}  // namespace ec
