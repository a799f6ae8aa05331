#include "formats/onnx/encode.h"

#include <protozero/pbf_writer.hpp>

#include "formats/onnx/fields.h"

namespace ec::onnx {
namespace {

using protozero::pbf_writer;

// Tag and length of a nested message whose bytes follow.
std::string message_head(uint32_t tag, size_t size) {
  std::string head;
  protozero::write_varint(std::back_inserter(head), uint64_t{tag} << 3 | 2);
  protozero::write_varint(std::back_inserter(head), size);
  return head;
}

void append_nested(Pieces& out, uint32_t tag, Pieces message) {
  out.append(message_head(tag, message.size()));
  out.append(std::move(message));
}

void add_text(pbf_writer& writer, uint32_t tag, std::string_view text) {
  if (!text.empty()) writer.add_string(tag, text.data(), text.size());
}

void add_entry(pbf_writer& parent, uint32_t tag, std::string_view key, std::string_view value) {
  pbf_writer entry(parent, tag);
  entry.add_string(field::entry::kKey, key.data(), key.size());
  entry.add_string(field::entry::kValue, value.data(), value.size());
}

}  // namespace

void Pieces::append(std::string text) {
  size_ += text.size();
  if (!list_.empty() && list_.back().blob.empty())
    list_.back().text += text;
  else
    list_.push_back({std::move(text), {}});
}

void Pieces::append(Blob blob) {
  // Small data is not worth a write of its own.
  constexpr size_t kSmall = 4096;
  if (blob.size() <= kSmall)
    return append(std::string(reinterpret_cast<const char*>(blob.bytes().data()), blob.size()));
  size_ += blob.size();
  if (list_.empty() || !list_.back().blob.empty()) list_.emplace_back();
  list_.back().blob = std::move(blob);
}

void Pieces::append(Pieces other) {
  for (Piece& piece : other.list_) {
    append(std::move(piece.text));
    if (!piece.blob.empty()) append(std::move(piece.blob));
  }
}

std::string Pieces::joined() const {
  std::string all;
  all.reserve(size_);
  for (const Piece& piece : list_) {
    all += piece.text;
    all.append(reinterpret_cast<const char*>(piece.blob.bytes().data()), piece.blob.size());
  }
  return all;
}

Pieces encode_tensor(const TensorSource& tensor) {
  std::string head;
  pbf_writer writer(head);
  for (const int64_t dim : tensor.dims) writer.add_int64(field::tensor::kDims, dim);
  writer.add_int32(field::tensor::kDataType, static_cast<int32_t>(tensor.type));
  add_text(writer, field::tensor::kName, tensor.name);
  Pieces out;
  if (!tensor.location.empty()) {
    add_entry(writer, field::tensor::kExternalData, "location", tensor.location);
    add_entry(writer, field::tensor::kExternalData, "offset", std::to_string(tensor.offset));
    add_entry(writer, field::tensor::kExternalData, "length", std::to_string(tensor.data.size()));
    writer.add_int32(field::tensor::kDataLocation, 1);
    out.append(std::move(head));
    return out;
  }
  head += message_head(field::tensor::kRawData, tensor.data.size());
  out.append(std::move(head));
  if (!tensor.data.empty()) out.append(tensor.data);
  return out;
}

Blob pack_elements(const Blob& elements, int bits) {
  if (bits >= 8) return elements;
  const auto per_byte = static_cast<size_t>(8 / bits);
  const unsigned mask = (1u << bits) - 1;
  Buffer out = Buffer::allocate((elements.size() + per_byte - 1) / per_byte);
  for (size_t i = 0; i < elements.size(); ++i) {
    const unsigned value = static_cast<unsigned>(elements.bytes()[i]) & mask;
    const auto shift = static_cast<unsigned>(i % per_byte) * static_cast<unsigned>(bits);
    out.data()[i / per_byte] |= static_cast<std::byte>(value << shift);
  }
  return std::move(out).to_blob();
}

namespace {

template <class F>
std::string attribute(std::string_view name, AttributeType type, F&& fill) {
  std::string text;
  pbf_writer writer(text);
  writer.add_string(field::attribute::kName, name.data(), name.size());
  fill(writer);
  writer.add_int32(field::attribute::kType, static_cast<int32_t>(type));
  return text;
}

}  // namespace

void AttributeList::add(std::string_view name, int64_t value) {
  list_.push_back(attribute(name, AttributeType::Int,
                            [&](auto& w) { w.add_int64(field::attribute::kInt, value); }));
}
void AttributeList::add(std::string_view name, float value) {
  list_.push_back(attribute(name, AttributeType::Float,
                            [&](auto& w) { w.add_float(field::attribute::kFloat, value); }));
}
void AttributeList::add(std::string_view name, std::string_view value) {
  list_.push_back(attribute(name, AttributeType::String, [&](auto& w) {
    w.add_string(field::attribute::kString, value.data(), value.size());
  }));
}
void AttributeList::add(std::string_view name, std::span<const int64_t> values) {
  list_.push_back(attribute(name, AttributeType::Ints, [&](auto& w) {
    for (const int64_t v : values) w.add_int64(field::attribute::kInts, v);
  }));
}
void AttributeList::add(std::string_view name, std::span<const float> values) {
  list_.push_back(attribute(name, AttributeType::Floats, [&](auto& w) {
    for (const float v : values) w.add_float(field::attribute::kFloats, v);
  }));
}
void AttributeList::add(std::string_view name, std::span<const std::string> values) {
  list_.push_back(attribute(name, AttributeType::Strings, [&](auto& w) {
    for (const std::string& v : values) w.add_string(field::attribute::kStrings, v);
  }));
}
void AttributeList::add_tensor(std::string_view name, const TensorSource& tensor) {
  const std::string encoded = encode_tensor(tensor).joined();
  list_.push_back(attribute(name, AttributeType::Tensor,
                            [&](auto& w) { w.add_message(field::attribute::kTensor, encoded); }));
}
void AttributeList::add_graph(std::string_view name, std::string_view graph) {
  list_.push_back(attribute(name, AttributeType::Graph, [&](auto& w) {
    w.add_message(field::attribute::kGraph, graph.data(), graph.size());
  }));
}

std::string encode_node(const NodeSource& node) {
  std::string text;
  pbf_writer writer(text);
  for (const std::string& input : node.inputs) writer.add_string(field::node::kInput, input);
  for (const std::string& output : node.outputs) writer.add_string(field::node::kOutput, output);
  add_text(writer, field::node::kName, node.name);
  add_text(writer, field::node::kOpType, node.op_type);
  for (const std::string& encoded : node.attributes.list())
    writer.add_message(field::node::kAttribute, encoded);
  add_text(writer, field::node::kDomain, node.domain);
  return text;
}

namespace {

// Built from the inside: protozero drops a nested message that has no fields, and the shape of a
// scalar or an unknown dimension has none.
std::string encode_shape(const std::vector<Dimension>& dims) {
  std::string shape;
  pbf_writer writer(shape);
  for (const Dimension& dim : dims) {
    std::string entry;
    pbf_writer fields(entry);
    if (dim.value) fields.add_int64(field::dimension::kValue, *dim.value);
    add_text(fields, field::dimension::kParam, dim.param);
    writer.add_message(field::shape::kDim, entry);
  }
  return shape;
}

void add_tensor_type(pbf_writer& writer, const ValueSource& value) {
  pbf_writer type(writer, field::value_info::kType);
  pbf_writer tensor(type, field::type::kTensor);
  tensor.add_int32(field::tensor_type::kElement, static_cast<int32_t>(value.type));
  if (value.has_shape) tensor.add_message(field::tensor_type::kShape, encode_shape(value.dims));
}

}  // namespace

std::string encode_value(const ValueSource& value) {
  std::string text;
  pbf_writer writer(text);
  writer.add_string(field::value_info::kName, value.name.data(), value.name.size());
  if (value.type != DataType::Undefined) add_tensor_type(writer, value);
  return text;
}

Pieces encode_graph(GraphSource graph) {
  Pieces out;
  const auto append_all = [&](uint32_t tag, const std::vector<std::string>& messages) {
    for (const std::string& message : messages) {
      out.append(message_head(tag, message.size()));
      out.append(message);
    }
  };
  append_all(field::graph::kNode, graph.nodes);
  out.append(message_head(field::graph::kName, graph.name.size()));
  out.append(std::string(graph.name));
  for (Pieces& initializer : graph.initializers)
    append_nested(out, field::graph::kInitializer, std::move(initializer));
  append_all(field::graph::kInput, graph.inputs);
  append_all(field::graph::kOutput, graph.outputs);
  return out;
}

Pieces encode_model(const ModelSource& model, Pieces graph) {
  std::string head;
  {
    pbf_writer writer(head);
    writer.add_int64(field::model::kIrVersion, model.ir_version);
    add_text(writer, field::model::kProducerName, model.producer_name);
    add_text(writer, field::model::kProducerVersion, model.producer_version);
    add_text(writer, field::model::kDomain, model.domain);
    if (model.model_version != 0)
      writer.add_int64(field::model::kModelVersion, model.model_version);
    add_text(writer, field::model::kDoc, model.doc);
  }
  Pieces out;
  out.append(std::move(head));
  append_nested(out, field::model::kGraph, std::move(graph));
  std::string tail;
  {
    pbf_writer writer(tail);
    for (const OpsetId& opset : model.opsets) {
      pbf_writer entry(writer, field::model::kOpsetImport);
      entry.add_string(field::opset::kDomain, opset.domain.data(), opset.domain.size());
      entry.add_int64(field::opset::kVersion, opset.version);
    }
    for (const StringEntry& entry : model.metadata)
      add_entry(writer, field::model::kMetadata, entry.key, entry.value);
  }
  out.append(std::move(tail));
  return out;
}

}  // namespace ec::onnx
