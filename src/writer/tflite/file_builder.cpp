#include "writer/tflite/file_builder.h"

#include <algorithm>
#include <unordered_set>

namespace ec::tflite {
namespace {

using flatbuffers::Offset;

std::vector<int32_t> sizes_of(const Shape& shape, int32_t open) {
  std::vector<int32_t> sizes;
  for (const Dim& dim : shape)
    sizes.push_back(dim.is_static() ? static_cast<int32_t>(dim.size()) : open);
  return sizes;
}

template <class T>
Offset<flatbuffers::Vector<T>> optional_vector(flatbuffers::FlatBufferBuilder& fbb,
                                               const std::vector<T>& values) {
  return values.empty() ? 0 : fbb.CreateVector(values);
}

}  // namespace

std::optional<TensorType> tensor_type(DType dtype) {
  switch (dtype) {
    case DType::F32:
      return TensorType::FLOAT32;
    case DType::F16:
      return TensorType::FLOAT16;
    case DType::BF16:
      return TensorType::BFLOAT16;
    case DType::F64:
      return TensorType::FLOAT64;
    case DType::I8:
      return TensorType::INT8;
    case DType::U8:
      return TensorType::UINT8;
    case DType::I16:
      return TensorType::INT16;
    case DType::U16:
      return TensorType::UINT16;
    case DType::I32:
      return TensorType::INT32;
    case DType::U32:
      return TensorType::UINT32;
    case DType::I64:
      return TensorType::INT64;
    case DType::U64:
      return TensorType::UINT64;
    case DType::Bool:
      return TensorType::BOOL;
    case DType::I4:
      return TensorType::INT4;
    case DType::U4:
      return TensorType::UINT4;
    case DType::I2:
      return TensorType::INT2;
    default:
      return std::nullopt;
  }
}

uint32_t FileBuilder::add_buffer(Blob bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.bytes().data()), bytes.size());
  const size_t hash = std::hash<std::string_view>{}(text);
  const auto [begin, end] = by_hash_.equal_range(hash);
  uint32_t found = 0;
  for (auto it = begin; it != end; ++it)
    if (buffers_[it->second] == bytes) found = it->second;
  if (found != 0) return found;
  const auto index = static_cast<uint32_t>(buffers_.size());
  constant_bytes_ += bytes.size();
  buffers_.push_back(std::move(bytes));
  by_hash_.emplace(hash, index);
  return index;
}

uint32_t FileBuilder::add_code(BuiltinOperator op, int32_t version, const std::string& custom) {
  for (size_t i = 0; i < codes_.size(); ++i)
    if (codes_[i].op == op && codes_[i].version == version && codes_[i].custom == custom)
      return static_cast<uint32_t>(i);
  codes_.push_back({op, version, custom});
  return static_cast<uint32_t>(codes_.size() - 1);
}

uint32_t FileBuilder::add_graph(std::string name) {
  graphs_.emplace_back().name = std::move(name);
  return static_cast<uint32_t>(graphs_.size() - 1);
}

void FileBuilder::add_metadata(std::string name, std::string_view content) {
  const uint32_t buffer = add_buffer(
      Blob::copy_of(std::as_bytes(std::span<const char>(content.data(), content.size()))));
  metadata_.emplace_back(std::move(name), buffer);
}

void FileBuilder::set_signature(std::vector<SignatureEntry> inputs,
                                std::vector<SignatureEntry> outputs) {
  signature_inputs_ = std::move(inputs);
  signature_outputs_ = std::move(outputs);
}

uint64_t FileBuilder::size_bound() const {
  // Generous sums of what tables, vectors and padding take.
  uint64_t bytes = 4096 + description_.size() + constant_bytes_ + buffers_.size() * 64;
  for (const GraphRecord& graph : graphs_) {
    bytes += 256 + graph.name.size() + 4 * (graph.inputs.size() + graph.outputs.size());
    for (const TensorRecord& tensor : graph.tensors) {
      bytes += 256 + tensor.name.size() + 8 * (tensor.type.shape ? tensor.type.shape->rank() : 0);
      if (tensor.type.quant) bytes += 64 + 12 * tensor.type.quant->scales.size();
    }
    for (const OperatorRecord& op : graph.operators)
      bytes += 256 + 4 * (op.inputs.size() + op.outputs.size()) + op.custom_options.size();
  }
  for (const auto* entries : {&signature_inputs_, &signature_outputs_})
    for (const SignatureEntry& entry : *entries) bytes += 64 + entry.name.size();
  return bytes + codes_.size() * 64;
}

// New indices for buffers, given when they are asked for. 0 stays: it stands for no buffer.
class FileBuilder::BufferOrder {
 public:
  explicit BufferOrder(size_t count) : index_(count, 0) {}
  uint32_t index(uint32_t buffer) {
    if (buffer != 0 && index_[buffer] == 0) index_[buffer] = ++last_;
    return index_[buffer];
  }
  std::vector<Blob> sorted(std::vector<Blob> buffers) const {
    std::vector<Blob> result(last_ + 1);
    for (size_t i = 1; i < buffers.size(); ++i)
      if (index_[i] != 0) result[index_[i]] = std::move(buffers[i]);
    return result;
  }

 private:
  std::vector<uint32_t> index_;
  uint32_t last_ = 0;
};

void FileBuilder::put_in_order() {
  BufferOrder order(buffers_.size());
  for (GraphRecord& graph : graphs_) put_in_order(graph, order);
  for (auto& [name, buffer] : metadata_) buffer = order.index(buffer);
  buffers_ = order.sorted(std::move(buffers_));
}

void FileBuilder::put_in_order(GraphRecord& graph, BufferOrder& buffers) {
  constexpr int32_t kUnused = -1;
  std::vector<int32_t> new_index(graph.tensors.size(), kUnused);
  std::vector<TensorRecord> ordered;
  std::unordered_set<std::string> names;
  const auto unique = [&names](const std::string& name) {
    std::string result = name;
    for (int i = 1; !names.insert(result).second; ++i) result = name + "_" + std::to_string(i);
    return result;
  };
  const auto put = [&](std::vector<int32_t>& list) {
    for (int32_t& i : list) {
      if (i < 0) continue;
      int32_t& to = new_index[static_cast<size_t>(i)];
      if (to == kUnused) {
        to = static_cast<int32_t>(ordered.size());
        ordered.push_back(std::move(graph.tensors[static_cast<size_t>(i)]));
        TensorRecord& tensor = ordered.back();
        tensor.name = unique(tensor.name);
        tensor.buffer = buffers.index(tensor.buffer);
      }
      i = to;
    }
  };
  put(graph.inputs);
  for (OperatorRecord& op : graph.operators) {
    put(op.inputs);
    put(op.outputs);
    put(op.intermediates);
  }
  put(graph.outputs);
  graph.tensors = std::move(ordered);
  if (&graph != &graphs_.front()) return;
  for (auto* entries : {&signature_inputs_, &signature_outputs_})
    for (SignatureEntry& entry : *entries)
      entry.tensor = new_index[static_cast<size_t>(entry.tensor)];
}

Offset<Buffer> FileBuilder::encode_buffer(const Blob& bytes) {
  // Kernels read the bytes in place: the file keeps them aligned.
  fbb_.ForceVectorAlignment(bytes.size(), 1, 16);
  const auto data =
      fbb_.CreateVector(reinterpret_cast<const uint8_t*>(bytes.bytes().data()), bytes.size());
  return CreateBuffer(fbb_, data);
}

Offset<Tensor> FileBuilder::encode_tensor(const TensorRecord& tensor) {
  const auto name = fbb_.CreateString(tensor.name);
  Offset<QuantizationParameters> quantization = 0;
  if (const auto& quant = tensor.type.quant) {
    const auto scale = fbb_.CreateVector(quant->scales);
    const auto zero_point = fbb_.CreateVector(
        std::vector<int64_t>(quant->zero_points.begin(), quant->zero_points.end()));
    quantization =
        CreateQuantizationParameters(fbb_, 0, 0, scale, zero_point, QuantizationDetails::NONE, 0,
                                     quant->per_channel() ? quant->axis : 0);
  }
  Offset<flatbuffers::Vector<int32_t>> shape = 0, signature = 0;
  const auto& known = tensor.type.shape;
  if (known) {
    std::vector<int32_t> sizes = sizes_of(*known, 1);
    // A dimension with scales of its own has as many indices as there are scales.
    if (tensor.type.quant && tensor.type.quant->per_channel())
      sizes[static_cast<size_t>(tensor.type.quant->axis)] =
          static_cast<int32_t>(tensor.type.quant->scales.size());
    shape = fbb_.CreateVector(sizes);
    if (!known->is_static()) signature = fbb_.CreateVector(sizes_of(*known, -1));
  }
  const TensorType element = tensor.is_resource ? TensorType::RESOURCE
                             : tensor.is_complex
                                 ? TensorType::COMPLEX64
                                 : tensor_type(tensor.type.dtype).value_or(TensorType::FLOAT32);
  return CreateTensor(fbb_, shape, element, tensor.buffer, name, quantization, tensor.is_variable,
                      0, signature, known.has_value());
}

Offset<Operator> FileBuilder::encode_operator(const OperatorRecord& op) {
  const auto inputs = fbb_.CreateVector(op.inputs);
  const auto outputs = fbb_.CreateVector(op.outputs);
  const auto custom = optional_vector(fbb_, op.custom_options);
  const auto mutating = optional_vector(fbb_, op.mutating_variable_inputs);
  const auto intermediates = optional_vector(fbb_, op.intermediates);
  return CreateOperator(fbb_, op.code, inputs, outputs, op.options.type, op.options.offset, custom,
                        CustomOptionsFormat::FLEXBUFFERS, mutating, intermediates);
}

Offset<SubGraph> FileBuilder::encode_graph(const GraphRecord& graph) {
  std::vector<Offset<Tensor>> tensors;
  for (const TensorRecord& tensor : graph.tensors) tensors.push_back(encode_tensor(tensor));
  std::vector<Offset<Operator>> operators;
  for (const OperatorRecord& op : graph.operators) operators.push_back(encode_operator(op));
  const auto tensor_list = fbb_.CreateVector(tensors);
  const auto inputs = fbb_.CreateVector(graph.inputs);
  const auto outputs = fbb_.CreateVector(graph.outputs);
  const auto operator_list = fbb_.CreateVector(operators);
  return CreateSubGraph(fbb_, tensor_list, inputs, outputs, operator_list,
                        fbb_.CreateString(graph.name));
}

Offset<SignatureDef> FileBuilder::encode_signature() {
  const auto map = [this](const std::vector<SignatureEntry>& entries) {
    std::vector<Offset<TensorMap>> list;
    for (const SignatureEntry& entry : entries)
      list.push_back(CreateTensorMap(fbb_, fbb_.CreateString(entry.name),
                                     static_cast<uint32_t>(entry.tensor)));
    return fbb_.CreateVector(list);
  };
  const auto inputs = map(signature_inputs_);
  const auto outputs = map(signature_outputs_);
  return CreateSignatureDef(fbb_, inputs, outputs, fbb_.CreateString("serving_default"), 0);
}

Blob FileBuilder::finish() {
  put_in_order();
  fbb_.reserve(size_bound());
  // What is added first stands last in the file: weights behind everything else.
  std::vector<Offset<Buffer>> buffers(buffers_.size());
  for (size_t i = buffers.size(); i-- > 1;) buffers[i] = encode_buffer(buffers_[i]);
  buffers[0] = CreateBuffer(fbb_);
  std::vector<Offset<SubGraph>> graphs;
  for (const GraphRecord& graph : graphs_) graphs.push_back(encode_graph(graph));
  std::vector<Offset<OperatorCode>> codes;
  for (const Code& code : codes_) {
    const auto op_code = static_cast<int32_t>(code.op);
    const Offset<flatbuffers::String> custom =
        code.custom.empty() ? 0 : fbb_.CreateString(code.custom);
    codes.push_back(CreateOperatorCode(fbb_, static_cast<int8_t>(std::min(op_code, 127)), custom,
                                       code.version, op_code));
  }
  std::vector<Offset<Metadata>> metadata;
  for (const auto& [name, buffer] : metadata_)
    metadata.push_back(CreateMetadata(fbb_, fbb_.CreateString(name), buffer));
  const std::vector<Offset<SignatureDef>> signatures{encode_signature()};
  const auto description = fbb_.CreateString(description_);
  const auto code_list = fbb_.CreateVector(codes);
  const auto graph_list = fbb_.CreateVector(graphs);
  const auto buffer_list = fbb_.CreateVector(buffers);
  const auto metadata_list = fbb_.CreateVector(metadata);
  const auto signature_list = fbb_.CreateVector(signatures);
  constexpr uint32_t kVersion = 3;
  FinishModelBuffer(fbb_, CreateModel(fbb_, kVersion, code_list, graph_list, description,
                                      buffer_list, 0, metadata_list, signature_list));
  auto file = std::make_shared<flatbuffers::DetachedBuffer>(fbb_.Release());
  const auto bytes = std::as_bytes(std::span<const uint8_t>(file->data(), file->size()));
  return Blob(std::move(file), bytes);
}

}  // namespace ec::tflite
