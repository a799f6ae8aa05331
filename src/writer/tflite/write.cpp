#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>

#include "formats/tflite/metadata_keys.h"
#include "ir/base64.h"
#include "ops/op_def.h"
#include "support/file.h"
#include "support/strings.h"
#include "writer/tflite/emitter.h"
#include "writer/tflite/tflite.h"

namespace ec::tflite {
namespace {

Status emit_plain(OpEmitter& e) {
  for (const PlainRow& row : kEmitPlain) {
    if (row.kind != e.op().kind()) continue;
    Options opts{row.options, 0};
    if (row.options != BuiltinOptions::NONE) {
      const flatbuffers::uoffset_t start = e.fbb().StartTable();  // an empty table of any kind
      opts.offset = e.fbb().EndTable(start);
    }
    e.add(row.code, e.inputs(), e.outputs(), opts);
    return {};
  }
  return e.fail("TFLite has no operator for it");
}

std::string json_text(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\')
      out += {'\\', c};
    else if (static_cast<unsigned char>(c) < 0x20)
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    else
      out += c;
  }
  return out + "\"";
}

std::string json_object(const std::map<std::string, std::string>& entries) {
  std::string out = "{";
  for (const auto& [key, value] : entries)
    out += fmt::format("{}{}:{}", out.size() > 1 ? "," : "", json_text(key), json_text(value));
  return out + "}";
}

// Metadata and buffers that the source file has beside its graphs.
void add_source_metadata(const ec::Graph& graph, const TfliteWriteOptions& options,
                         FileBuilder& model) {
  for (const auto& [key, value] : graph.metadata()) {
    if (!key.starts_with(kTfliteMetadata)) continue;
    const std::string name = key.substr(kTfliteMetadata.size());
    if (name == kTfliteProvenance || options.entries.contains(name)) continue;
    if (!value.starts_with(kBase64Prefix)) {
      model.add_metadata(name, value);
    } else if (const auto bytes = base64_decode(value.substr(kBase64Prefix.size()))) {
      model.add_metadata(
          name, std::string_view(reinterpret_cast<const char*>(bytes->data()), bytes->size()));
    }
  }
}

// The format has 32 bits for a size.
Status check_sizes(const ec::Graph& graph) {
  for (const ec::Tensor* tensor : graph.tensors()) {
    if (!tensor->shape()) continue;
    for (const Dim& dim : *tensor->shape()) {
      if (!dim.is_static() || dim.size() <= std::numeric_limits<int32_t>::max()) continue;
      Error error(
          Code::ExportFailed,
          fmt::format("tensor '{}' of type {} has a size beyond the 32 bits of TFLite files",
                      printable(tensor->name()), tensor->type().text()));
      if (tensor->producer() == nullptr) return error;
      const Location& location = tensor->producer()->location();
      return std::move(error).node(std::string(location.name()), location.op_type);
    }
  }
  for (const ec::Operation* op : graph.topological())
    for (const auto& body : op->bodies()) EC_CHECK_OK(check_sizes(*body));
  return {};
}

void fill_summary(const FileBuilder& model, TfliteSummary& summary) {
  std::map<std::string, int64_t> counts;
  for (const GraphRecord& graph : model.graphs())
    for (const OperatorRecord& op : graph.operators) {
      const std::string& custom = model.custom_of(op);
      ++counts[custom.empty() ? std::string(builtin_name(model.operator_of(op))) : custom];
      ++summary.num_operators;
    }
  for (const OperatorRecord& op : model.graphs().front().operators)
    summary.sources.push_back(op.source);
  summary.operators.assign(counts.begin(), counts.end());
  std::stable_sort(summary.operators.begin(), summary.operators.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
}

}  // namespace

EmitFn find_emit(OpKind kind) {
  static const std::vector<EmitFn> kTable = [] {
    std::vector<EmitFn> table(all_ops().size(), nullptr);
    for (const auto rows : {kEmitElementwise, kEmitMovement, kEmitSlice, kEmitGather, kEmitReduce,
                            kEmitWeighted, kEmitImage, kEmitDetection, kEmitControl, kEmitRecurrent,
                            kEmitSignal, kEmitSpectrum, kEmitState, kEmitOther})
      for (const EmitRow& row : rows) table[static_cast<size_t>(row.kind)] = row.emit;
    for (const PlainRow& row : kEmitPlain) table[static_cast<size_t>(row.kind)] = emit_plain;
    return table;
  }();
  return kTable[static_cast<size_t>(kind)];
}

}  // namespace ec::tflite

namespace ec {

int64_t TfliteSummary::count(std::string_view name) const {
  for (const auto& [op, n] : operators)
    if (op == name) return n;
  return 0;
}

Result<Blob> encode_tflite(const Graph& graph, const TfliteWriteOptions& options,
                           DiagnosticSink& sink, TfliteSummary* summary) {
  EC_CHECK_OK(tflite::check_sizes(graph));
  tflite::FileBuilder model;
  model.set_fuse_pool_activations(options.fuse_pool_activations);
  const uint32_t main = model.add_graph(graph.name().empty() ? "main" : graph.name());
  const size_t errors = sink.error_count();
  tflite::GraphEmitter(model, graph, main, sink).emit();
  if (sink.error_count() > errors) return sink.first_error();
  const tflite::GraphRecord& record = model.graph(main);
  std::vector<tflite::SignatureEntry> inputs, outputs;
  for (size_t i = 0; i < record.inputs.size(); ++i)
    inputs.push_back({graph.inputs()[i]->name(), record.inputs[i]});
  for (size_t i = 0; i < record.outputs.size(); ++i)
    outputs.push_back({graph.output_names()[i], record.outputs[i]});
  model.set_signature(std::move(inputs), std::move(outputs));
  const auto described = graph.metadata().find(std::string(tflite::kTfliteDescription));
  model.set_description(!options.description.empty()          ? options.description
                        : described != graph.metadata().end() ? described->second
                                                              : "edgecompiler");
  tflite::add_source_metadata(graph, options, model);
  for (const auto& [name, content] : options.entries) model.add_metadata(name, content);
  if (!options.provenance.empty())
    model.add_metadata(std::string(kTfliteProvenance), tflite::json_object(options.provenance));
  if (summary != nullptr) tflite::fill_summary(model, *summary);
  if (model.size_bound() > options.size_limit)
    return Error(
               Code::ExportFailed,
               fmt::format("the file would have {} bytes, more than the {} that a TFLite file can",
                           model.size_bound(), options.size_limit))
        .hint("quantise the weights, or compile for --target cpu");
  return model.finish();
}

}  // namespace ec
