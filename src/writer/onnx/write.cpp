#include <algorithm>
#include <array>

#include "analysis/costs.h"
#include "formats/onnx/tensor_data.h"
#include "ops/op_def.h"
#include "support/file.h"
#include "writer/onnx/emitter.h"
#include "writer/onnx/onnx.h"

namespace ec::onnx {
namespace {

// ONNX's name of an op that needs no function of its own; empty for the others.
std::string_view plain_name(OpKind kind) {
  for (const PlainRow& row : kWritePlain)
    if (row.kind == kind) return row.onnx_name;
  return {};
}

Status emit_plain(OpEmitter& e) {
  const std::string_view name = plain_name(e.op().kind());
  if (name.empty()) return e.fail("there is no such operator");
  e.node(name, e.inputs(), e.outputs());
  return {};
}

// IR versions that belong to operator set versions (onnx.helper.VERSION_TABLE).
int64_t ir_version_of(int64_t opset) {
  if (opset <= 22) return 10;
  if (opset == 23) return 11;
  if (opset == 24) return 12;
  return opset <= 27 ? 13 : 14;
}

constexpr int64_t kLowestOpset = 21;

// The version that an op or type needs, where it came after the lowest one.
int64_t since(const Operation& op) {
  switch (op.kind()) {
    case OpKind::RmsNorm:
    case OpKind::RotaryEmbedding:
      return 23;
    case OpKind::Attention: {
      const auto& attrs = op.attrs_as<AttentionAttrs>();
      if (attrs.left_window >= 0 || attrs.right_window >= 0) return 25;
      return op.input(6) != nullptr ? 24 : 23;
    }
    case OpKind::MaxPool:
    case OpKind::AvgPool:
      // Which windows round-up pooling drops at the end is defined since version 22.
      return op.attrs_as<PoolAttrs>().ceil_mode ? 22 : kLowestOpset;
    case OpKind::TensorScatter:
      return 24;
    case OpKind::BitCast:
    case OpKind::CumProd:
      return 26;
    case OpKind::SpaceToDepth:
      if (op.attrs_as<SpaceToDepthAttrs>().order == DepthOrder::Dcr) return kLowestOpset;
      return channels_of_crd(op) ? kLowestOpset : 28;
    default:
      return kLowestOpset;
  }
}

int64_t since(DType dtype) {
  switch (dtype) {
    case DType::BF16:
      return 22;
    case DType::F4E2M1:
      return 23;
    case DType::F8E8M0:
      return 24;
    case DType::I2:
    case DType::U2:
      return 25;
    default:
      return kLowestOpset;
  }
}

constexpr std::string_view kMetadataPrefix = "onnx.metadata.";

std::vector<StringEntry> metadata_entries(const ec::Graph& graph) {
  std::vector<StringEntry> entries;
  for (const auto& [key, value] : graph.metadata()) {
    if (key.starts_with(kMetadataPrefix))
      entries.push_back({std::string_view(key).substr(kMetadataPrefix.size()), value});
    else if (!key.starts_with("onnx.") && key != "source_format")
      entries.push_back({key, value});
  }
  return entries;
}

std::string_view metadata(const ec::Graph& graph, const std::string& key) {
  const auto it = graph.metadata().find(key);
  return it == graph.metadata().end() ? std::string_view{} : std::string_view(it->second);
}

Result<Pieces> encode_main(const ec::Graph& graph, WriteState& state) {
  GraphEmitter emitter(state, graph);
  // The interface has first claim to names.
  for (const ec::Tensor* input : graph.inputs()) state.names.reserve(input->name());
  for (size_t i = 0; i < graph.outputs().size(); ++i) {
    const std::string& name = graph.output_names()[i];
    const ec::Tensor* clash = graph.find_tensor(name);
    if (clash != nullptr && clash->is_input() && clash != graph.outputs()[i])
      return Error(Code::ExportFailed, "output '" + name + "' has the name of an input")
          .hint("rename the input or the output");
    state.names.reserve(name);
  }
  for (const ec::Tensor* input : graph.inputs()) emitter.add_input(input, input->name());
  emitter.plan_outputs(graph.output_names());
  EC_CHECK_OK(emitter.emit_operations());
  emitter.finish_outputs();
  return emitter.finish(graph.name().empty() ? "main" : graph.name());
}

Result<Pieces> encode(const ec::Graph& graph, WriteState& state) {
  EC_TRY(Pieces body, encode_main(graph, state));
  ModelSource model;
  model.ir_version = ir_version_of(state.opset);
  model.producer_name = "edgecompiler";
  model.domain = metadata(graph, "onnx.domain");
  model.doc = metadata(graph, "onnx.doc");
  model.opsets = {{"", state.opset}};
  model.metadata = metadata_entries(graph);
  return encode_model(model, std::move(body));
}

std::vector<Blob> parts_of(const Pieces& pieces) {
  std::vector<Blob> parts;
  for (const Pieces::Piece& piece : pieces.list()) {
    if (!piece.text.empty()) parts.push_back(Blob::copy_of(std::span<const char>(piece.text)));
    if (!piece.blob.empty()) parts.push_back(piece.blob);
  }
  return parts;
}

}  // namespace

EmitFn find_emit(OpKind kind) {
  static const std::vector<EmitFn> kTable = [] {
    std::vector<EmitFn> table(all_ops().size(), emit_plain);
    for (const auto rows :
         {kWriteArithmetic, kWriteShape, kWriteSpatial, kWriteNeural, kWriteControl})
      for (const WriteRow& row : rows) table[static_cast<size_t>(row.kind)] = row.emit;
    return table;
  }();
  return kTable[static_cast<size_t>(kind)];
}

}  // namespace ec::onnx

namespace ec {

int64_t needed_onnx_opset(const Graph& graph) {
  int64_t version = onnx::kLowestOpset;
  for (const Tensor* tensor : graph.tensors())
    version = std::max(version, onnx::since(tensor->dtype()));
  for (const Operation* op : graph.topological()) {
    version = std::max(version, onnx::since(*op));
    for (const auto& body : op->bodies()) version = std::max(version, needed_onnx_opset(*body));
  }
  return version;
}

Result<OnnxFiles> encode_onnx(const Graph& graph, const std::string& data_name,
                              const OnnxWriteOptions& options) {
  const bool external = static_cast<uint64_t>(constant_bytes(graph)) > options.inline_limit;
  onnx::WriteState state{{}, onnx::DataStore(data_name, external), needed_onnx_opset(graph)};
  EC_TRY(const onnx::Pieces pieces, onnx::encode(graph, state));
  OnnxFiles files;
  files.model = onnx::parts_of(pieces);
  if (external)
    for (const Blob& blob : state.data.external()) files.data.push_back(blob);
  return files;
}

Status write_onnx(const Graph& graph, const std::filesystem::path& path,
                  const OnnxWriteOptions& options) {
  const std::filesystem::path data_path = path.string() + ".data";
  EC_TRY(const OnnxFiles files, encode_onnx(graph, data_path.filename().string(), options));
  EC_TRY(AtomicFile file, AtomicFile::create(path));
  EC_CHECK_OK(file.write(files.model));
  if (files.data.empty()) return file.commit();
  EC_TRY(AtomicFile data, AtomicFile::create(data_path));
  EC_CHECK_OK(data.write(files.data));
  AtomicFile both[] = {std::move(data), std::move(file)};
  // The data goes first: a model in place always has its weights.
  return commit_all(both);
}

}  // namespace ec
