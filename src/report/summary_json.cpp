#include <nlohmann/json.hpp>

#include "driver/summary.h"
#include "support/strings.h"

namespace ec {
namespace {

using Json = nlohmann::ordered_json;

// Sizes as numbers, open dimensions by name.
Json dims_json(const InterfaceSummary& value) {
  if (!value.dims) return nullptr;
  Json dims = Json::array();
  for (const std::string& dim : *value.dims) {
    if (const std::optional<int64_t> size = parse_int(dim)) {
      dims.push_back(*size);
    } else {
      dims.push_back(dim);
    }
  }
  return dims;
}

Json interface_json(const std::vector<InterfaceSummary>& values) {
  Json list = Json::array();
  for (const InterfaceSummary& value : values) {
    Json item = {{"name", value.name}, {"dtype", value.dtype}, {"shape", dims_json(value)}};
    if (value.quant)
      item["quantization"] = {{"scales", value.quant->scales},
                              {"zero_points", value.quant->zero_points},
                              {"axis", value.quant->axis}};
    list.push_back(std::move(item));
  }
  return list;
}

Json layers_json(const std::vector<LayerSummary>& layers) {
  Json list = Json::array();
  for (const LayerSummary& layer : layers)
    list.push_back({{"name", layer.name},
                    {"op", layer.op},
                    {"source_op", layer.source_op},
                    {"output", layer.output_type},
                    {"macs", layer.macs ? Json(*layer.macs) : Json(nullptr)},
                    {"parameters", layer.parameters}});
  return list;
}

Json device_layers_json(const std::vector<edgetpu::LayerInfo>& layers) {
  Json list = Json::array();
  for (const edgetpu::LayerInfo& layer : layers)
    list.push_back({{"name", layer.name},
                    {"bytes", layer.size_bytes},
                    {"shape", {layer.y, layer.x, layer.z}},
                    {"data_type", layer.data_type},
                    {"scale", layer.scale},
                    {"zero_point", layer.zero_point},
                    {"executions_per_inference", layer.executions}});
  return list;
}

Json executable_json(const edgetpu::ExecutableInfo& e) {
  return {{"type", e.type},
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
          {"parameter_caching_token", e.caching_token},
          {"input_layers", device_layers_json(e.inputs)},
          {"output_layers", device_layers_json(e.outputs)}};
}

Json edgetpu_json(const std::vector<EdgeTpuSummary>& ops) {
  Json list = Json::array();
  for (const EdgeTpuSummary& summary : ops) {
    Json packages = Json::array();
    for (const edgetpu::PackageInfo& p : summary.op.packages) {
      Json executables = Json::array();
      for (const edgetpu::ExecutableInfo& e : p.executables)
        executables.push_back(executable_json(e));
      packages.push_back({{"bytes", p.bytes},
                          {"min_runtime_version", p.min_runtime_version},
                          {"compiler_version", p.compiler_version},
                          {"model_identifier", p.model_identifier},
                          {"virtual_chip_id", p.virtual_chip_id},
                          {"keypair_version", p.keypair_version},
                          {"signature_bytes", p.signature_bytes},
                          {"executables", std::move(executables)}});
    }
    list.push_back({{"node", summary.node},
                    {"version", summary.op.version},
                    {"execution_preference", summary.op.execution_preference},
                    {"chip_ids", summary.op.chip_ids},
                    {"cached_parameter_bytes", summary.op.cached_bytes()},
                    {"streamed_parameter_bytes", summary.op.streamed_bytes()},
                    {"instruction_bytes", summary.op.instruction_bytes()},
                    {"packages", std::move(packages)}});
  }
  return list;
}

}  // namespace

std::string summary_json(const ModelSummary& s, bool layers) {
  Json ops = Json::array();
  for (const OpSummary& op : s.ops)
    ops.push_back({{"op", op.name}, {"count", op.count}, {"macs", op.macs}});
  Json json = {{"file", s.file},
               {"file_bytes", s.file_bytes},
               {"format", s.format},
               {"name", s.name},
               {"inputs", interface_json(s.inputs)},
               {"outputs", interface_json(s.outputs)},
               {"open_dimensions", s.open_dims},
               {"operations", s.operations},
               {"ops", std::move(ops)},
               {"parameters", s.parameters},
               {"parameter_bytes", s.parameter_bytes},
               {"parameter_types", s.parameter_types},
               {"macs", s.macs},
               {"macs_unknown_operations", s.macs_unknown},
               {"has_nested_graphs", s.has_bodies},
               {"quantization",
                {{"tensors", s.quant.tensors},
                 {"per_channel", s.quant.per_channel},
                 {"quantize_ops", s.quant.quantize_ops},
                 {"dequantize_ops", s.quant.dequantize_ops}}},
               {"metadata", s.metadata}};
  if (!s.edgetpu.empty()) json["edgetpu"] = edgetpu_json(s.edgetpu);
  if (layers) json["layers"] = layers_json(s.layers);
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace ec
