#include "report/summary.h"

#include <algorithm>
#include <set>

#include "analysis/costs.h"
#include "ops/attrs.h"
#include "ops/op_def.h"
#include "report/short_text.h"

namespace ec {
namespace {

InterfaceSummary describe(std::string name, const TensorType& type) {
  InterfaceSummary value{std::move(name), std::string(dtype_name(type.dtype)), {}, {}};
  if (type.quant)
    value.quant = TensorQuantization{type.quant->scales, type.quant->zero_points, type.quant->axis};
  if (type.shape) {
    value.dims.emplace();
    for (const Dim& dim : *type.shape) value.dims->push_back(dim.text());
  }
  return value;
}

class Collector {
 public:
  explicit Collector(ModelSummary& summary) : summary_(summary) {}

  void visit(const Graph& graph) {
    std::vector<bool> counted(graph.tensor_id_bound());
    for (const Operation* op : graph.topological()) visit(*op, counted);
    for (const Tensor* tensor : graph.tensors()) {
      if (tensor->type().quant) {
        ++summary_.quant.tensors;
        summary_.quant.per_channel += tensor->type().quant->per_channel() ? 1 : 0;
      }
      if (!tensor->is_constant()) continue;
      const int64_t elements = tensor->type().num_elements().value_or(0);
      summary_.parameters += elements;
      summary_.parameter_bytes += static_cast<int64_t>(tensor->raw_data().size());
      summary_.parameter_types[std::string(dtype_name(tensor->dtype()))] += elements;
    }
  }

 private:
  void visit(const Operation& op, std::vector<bool>& counted) {
    LayerSummary layer;
    layer.name = op.location().name();
    layer.op = op_name(op.kind());
    layer.source_op = op.location().op_type;
    if (op.kind() == OpKind::Custom) {
      layer.op = op.attrs_as<CustomAttrs>().code;
      layer.problem = "a custom operator: only the runtime that it was written for has its kernel";
    }
    if (!op.outputs().empty() && op.output())
      layer.output_type = short_text(op.output()->type().text());
    layer.macs = count_macs(op);
    for (const Tensor* input : op.inputs()) {
      if (!input || !input->is_constant() || counted[input->id()]) continue;
      counted[input->id()] = true;
      layer.parameters += input->type().num_elements().value_or(0);
    }
    count(op, layer);
    summary_.layers.push_back(std::move(layer));
    for (const auto& body : op.bodies()) {
      summary_.has_bodies = true;
      visit(*body);
    }
  }

  void count(const Operation& op, const LayerSummary& layer) {
    ++summary_.operations;
    const bool supported = op.kind() != OpKind::Custom;
    auto& ops = summary_.ops;
    auto it = std::find_if(ops.begin(), ops.end(), [&](const OpSummary& known) {
      return known.name == layer.op && known.supported == supported;
    });
    if (it == ops.end()) it = ops.insert(ops.end(), OpSummary{layer.op, 0, 0, supported});
    ++it->count;
    if (layer.macs) {
      summary_.macs += *layer.macs;
      if (it->macs) *it->macs += *layer.macs;
    } else {
      ++summary_.macs_unknown;
      it->macs.reset();
    }
    summary_.unsupported += supported ? 0 : 1;
    if (op.kind() == OpKind::Quantize) ++summary_.quant.quantize_ops;
    if (op.kind() == OpKind::Dequantize) ++summary_.quant.dequantize_ops;
  }

  ModelSummary& summary_;
};

}  // namespace

ModelSummary summarize(const Graph& graph) {
  ModelSummary summary;
  summary.name = graph.name();
  summary.metadata = graph.metadata();
  constexpr std::string_view kCoded = "base64:";  // bytes that are no text
  for (auto& [key, value] : summary.metadata)
    if (value.starts_with(kCoded))
      value = std::to_string((value.size() - kCoded.size()) / 4 * 3) + " bytes";
  std::set<std::string_view> seen;
  for (const Tensor* input : graph.inputs()) {
    summary.inputs.push_back(describe(input->name(), input->type()));
    if (!input->shape()) continue;
    for (const Dim& dim : *input->shape())
      if (dim.is_symbol() && seen.insert(dim.symbol_name()).second)
        summary.open_dims.emplace_back(dim.symbol_name());
  }
  for (size_t i = 0; i < graph.outputs().size(); ++i)
    summary.outputs.push_back(describe(graph.output_names()[i], graph.outputs()[i]->type()));
  Collector(summary).visit(graph);
  std::stable_sort(summary.ops.begin(), summary.ops.end(), [](const auto& a, const auto& b) {
    return a.count != b.count ? a.count > b.count : a.name < b.name;
  });
  return summary;
}

std::string dims_text(const InterfaceSummary& value) {
  if (!value.dims) return "any rank";
  if (value.dims->empty()) return "scalar";
  std::string text;
  for (const std::string& dim : *value.dims) text += (text.empty() ? "" : "x") + dim;
  return text;
}

std::map<std::string, std::string> interface_layouts(const ModelSummary& summary) {
  constexpr std::string_view kPrefix = "layout.";
  std::map<std::string, std::string> layouts;
  for (const auto& [key, value] : summary.metadata)
    if (key.starts_with(kPrefix)) layouts[key.substr(kPrefix.size())] = value;
  return layouts;
}

}  // namespace ec
