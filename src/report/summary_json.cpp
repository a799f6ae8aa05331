#include <nlohmann/json.hpp>

#include "report/summary.h"
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

Json property_json(const Property& property) {
  return std::visit(
      [](const auto& value) -> Json {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, std::monostate>) {
          return nullptr;
        } else if constexpr (std::is_same_v<T, Property::List>) {
          Json list = Json::array();
          for (const Property& element : value) list.push_back(property_json(element));
          return list;
        } else if constexpr (std::is_same_v<T, Property::Record>) {
          Json record = Json::object();
          for (const auto& [key, element] : value) record[key] = property_json(element);
          return record;
        } else {
          return value;
        }
      },
      property.value);
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
  for (const Inspection& code : s.device_code) json[code.key] = property_json(code.facts);
  if (layers) json["layers"] = layers_json(s.layers);
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace ec
