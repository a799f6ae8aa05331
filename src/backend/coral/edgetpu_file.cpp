#include "backend/coral/edgetpu_file.h"

#include <fmt/format.h>

#include "formats/edgetpu/package.h"
#include "formats/tflite/model_file.h"
#include "frontend/model_source.h"
#include "support/strings.h"
#include "support/units.h"

namespace ec::coral {
namespace {

using edgetpu::CustomOpInfo, edgetpu::ExecutableInfo, edgetpu::LayerInfo, edgetpu::PackageInfo;
using Record = Property::Record;

// An operator that runs compiled code on the device.
struct CodeOperator {
  std::string node;
  CustomOpInfo op;
};

bool is_code(const tflite::OperatorCode& code) {
  return tflite::operator_name(code) == edgetpu::kCustomOpName;
}

// The code is in the file only: the graph keeps it as it is.
Result<std::vector<CodeOperator>> read_operators(const tflite::ModelFile& file) {
  std::vector<CodeOperator> operators;
  for (size_t g = 0; g < file.num_subgraphs(); ++g) {
    const tflite::SubGraph& graph = file.subgraph(g);
    for (uint32_t i = 0; i < tflite::size_of(graph.operators()); ++i) {
      const tflite::Operator& op = *graph.operators()->Get(i);
      if (!is_code(file.code_of(op))) continue;
      std::string node = "operator " + std::to_string(i);
      if (tflite::size_of(op.outputs()) > 0)
        node = tflite::text_of(
            graph.tensors()->Get(static_cast<uint32_t>(op.outputs()->Get(0)))->name());
      Result<CustomOpInfo> info = edgetpu::read_custom_op(file.custom_options(op));
      if (!info.ok())
        return std::move(info).error().node(node, std::string(edgetpu::kCustomOpName));
      operators.push_back({std::move(node), std::move(*info)});
    }
  }
  return operators;
}

Property layers_facts(const std::vector<LayerInfo>& layers) {
  Property::List list;
  for (const LayerInfo& layer : layers)
    list.push_back(Record{{"name", layer.name},
                          {"bytes", layer.size_bytes},
                          {"shape", Property::List{layer.y, layer.x, layer.z}},
                          {"data_type", layer.data_type},
                          {"scale", static_cast<double>(layer.scale)},
                          {"zero_point", layer.zero_point},
                          {"executions_per_inference", layer.executions}});
  return list;
}

Property executable_facts(const ExecutableInfo& e) {
  return Record{{"type", e.type},
                {"name", e.name},
                {"chip", e.chip},
                {"version", e.version},
                {"batch_size", e.batch_size},
                {"parameter_bytes", e.parameter_bytes},
                {"scratch_bytes", e.scratch_bytes},
                {"instruction_bytes", e.instruction_bytes},
                {"instruction_bitstreams", e.bitstreams},
                {"dma_hints", e.dma_hints},
                {"narrow_memory_bytes_per_tile", e.narrow_memory_bytes_per_tile},
                {"estimated_cycles", e.estimated_cycles},
                {"parameter_caching_token", Property::unsigned_number(e.caching_token)},
                {"input_layers", layers_facts(e.inputs)},
                {"output_layers", layers_facts(e.outputs)}};
}

Property operator_facts(const CodeOperator& code) {
  Property::List packages, chips;
  for (const int64_t id : code.op.chip_ids) chips.push_back(id);
  for (const PackageInfo& p : code.op.packages) {
    Property::List executables;
    for (const ExecutableInfo& e : p.executables) executables.push_back(executable_facts(e));
    packages.push_back(Record{{"bytes", p.bytes},
                              {"min_runtime_version", p.min_runtime_version},
                              {"compiler_version", p.compiler_version},
                              {"model_identifier", p.model_identifier},
                              {"virtual_chip_id", p.virtual_chip_id},
                              {"keypair_version", p.keypair_version},
                              {"signature_bytes", p.signature_bytes},
                              {"executables", std::move(executables)}});
  }
  return Record{{"node", code.node},
                {"version", code.op.version},
                {"execution_preference", code.op.execution_preference},
                {"chip_ids", std::move(chips)},
                {"cached_parameter_bytes", code.op.cached_bytes()},
                {"streamed_parameter_bytes", code.op.streamed_bytes()},
                {"instruction_bytes", code.op.instruction_bytes()},
                {"packages", std::move(packages)}};
}

std::string layers_text(const std::vector<LayerInfo>& layers, const char* what) {
  std::string out;
  for (const LayerInfo& layer : layers)
    out += fmt::format("      {} {}: {}x{}x{} {}, {}, scale {}, zero point {}\n", what,
                       printable(layer.name), layer.y, layer.x, layer.z, layer.data_type,
                       format_bytes(layer.size_bytes), format_float(layer.scale), layer.zero_point);
  return out;
}

std::string executable_text(const ExecutableInfo& e) {
  std::string out = fmt::format(
      "    {} for {}: {} parameters, {} instructions in {} bitstreams, {} scratch, {} of narrow "
      "memory per tile, {} DMA hints, token {:016x}\n",
      e.type, e.chip.empty() ? "an unnamed chip" : printable(e.chip),
      format_bytes(e.parameter_bytes), format_bytes(e.instruction_bytes), e.bitstreams,
      format_bytes(e.scratch_bytes), format_bytes(e.narrow_memory_bytes_per_tile), e.dma_hints,
      e.caching_token);
  return out + layers_text(e.inputs, "input") + layers_text(e.outputs, "output");
}

std::string operator_text(const CodeOperator& code) {
  const CustomOpInfo& op = code.op;
  std::string out = fmt::format(
      "\n  Edge TPU operator '{}'\n    parameters kept on the chip {}, sent at every inference {}, "
      "instructions {}\n",
      printable(code.node), format_bytes(op.cached_bytes()), format_bytes(op.streamed_bytes()),
      format_bytes(op.instruction_bytes()));
  for (const PackageInfo& package : op.packages) {
    out += fmt::format(
        "    package of {} for runtime {} or later, compiler '{}'{}\n", format_bytes(package.bytes),
        package.min_runtime_version, printable(package.compiler_version),
        op.chip_ids.empty() ? "" : fmt::format(", chip {}", fmt::join(op.chip_ids, ", ")));
    for (const ExecutableInfo& e : package.executables) out += executable_text(e);
  }
  return out;
}

}  // namespace

Result<bool> is_edgetpu_code(const ModelSource& source, DiagnosticSink& sink) {
  if (!tflite::ModelFile::looks_like(source.outline())) return false;
  EC_TRY(const Blob bytes, source.bytes());
  Result<tflite::ModelFile> model = tflite::ModelFile::open(bytes, sink);
  if (!model) return std::move(model).error().file(source.name());
  const auto* codes = model->model().operator_codes();
  for (uint32_t i = 0; i < tflite::size_of(codes); ++i)
    if (is_code(*codes->Get(i))) return true;
  return false;
}

Result<std::optional<Inspection>> inspect_file(const ModelSource& source, DiagnosticSink& sink) {
  if (!tflite::ModelFile::looks_like(source.outline())) return std::optional<Inspection>();
  EC_TRY(const Blob bytes, source.bytes());
  EC_TRY(const tflite::ModelFile file, tflite::ModelFile::open(bytes, sink));
  Result<std::vector<CodeOperator>> operators = read_operators(file);
  if (!operators) return std::move(operators).error().file(source.name());
  if (operators->empty()) return std::optional<Inspection>();
  Inspection inspection;
  inspection.key = "edgetpu";
  Property::List facts;
  for (const CodeOperator& code : *operators) {
    facts.push_back(operator_facts(code));
    inspection.text += operator_text(code);
  }
  inspection.facts = std::move(facts);
  return std::optional(std::move(inspection));
}

}  // namespace ec::coral
