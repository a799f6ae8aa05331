#include "formats/tflite/model_file.h"

#include <algorithm>

#include "support/strings.h"

namespace ec::tflite {
namespace {

// The format nests ten tables deep at most; hostile files nest deeper.
constexpr flatbuffers::uoffset_t kMaxDepth = 32;
// A table takes at least eight bytes of the file, but tables may be shared: a file may not make the
// verifier walk the same ones forever.
constexpr size_t kTablesPerByte = 1;

flatbuffers::uoffset_t max_tables(size_t size) {
  return static_cast<flatbuffers::uoffset_t>(
      std::min<size_t>(1'000'000'000, 10'000 + size / kTablesPerByte));
}

Error corrupt(std::string message) {
  return Error(Code::CorruptFile, std::move(message))
      .hint("the file is damaged or was cut off: export or copy it again");
}

}  // namespace

bool ModelFile::looks_like(std::span<const std::byte> head) {
  return head.size() >= 8 && ModelBufferHasIdentifier(head.data());
}

Result<ModelFile> ModelFile::open(const Blob& given, DiagnosticSink& sink) {
  const auto fail = [&](Error error) {
    sink.report(error.diagnostic());
    return error;
  };
  if (!looks_like(given.bytes()))
    return fail(corrupt("the file does not carry the identifier of TFLite models"));
  const Blob file = given.aligned();
  // Large models keep their weights behind the flatbuffer, which ends before two gigabytes.
  const size_t size = std::min<size_t>(file.size(), FLATBUFFERS_MAX_BUFFER_SIZE - 1);
  const auto* bytes = reinterpret_cast<const uint8_t*>(file.bytes().data());
  flatbuffers::Verifier verifier(bytes, size, kMaxDepth, max_tables(size));
  if (!VerifyModelBuffer(verifier))
    return fail(
        corrupt("the TFLite model is not sound: an offset, size or vector inside it leaves "
                "its bounds"));
  ModelFile model(file, GetModel(bytes));
  const size_t before = sink.error_count();
  check_model(model, sink);
  if (sink.error_count() > before) return sink.first_error();
  return model;
}

Blob ModelFile::slice(const flatbuffers::Vector<uint8_t>& bytes) const {
  const auto* begin = reinterpret_cast<const std::byte*>(bytes.data());
  return file_.slice(static_cast<size_t>(begin - file_.bytes().data()), bytes.size());
}

Blob ModelFile::buffer_data(uint32_t index) const {
  const Buffer& buffer = *model_->buffers()->Get(index);
  if (buffer.offset() > 1)
    return file_.slice(static_cast<size_t>(buffer.offset()), static_cast<size_t>(buffer.size()));
  return buffer.data() != nullptr ? slice(*buffer.data()) : Blob();
}

std::optional<Blob> ModelFile::constant_data(const Tensor& tensor) const {
  // Buffer 0 stands for "no data"; so does an empty one, unless the tensor itself is empty.
  if (tensor.buffer() == 0 || tensor.is_variable()) return std::nullopt;
  const Blob data = buffer_data(tensor.buffer());
  if (!data.empty()) return data;
  const bool is_empty =
      tensor.shape() != nullptr &&
      std::find(tensor.shape()->begin(), tensor.shape()->end(), 0) != tensor.shape()->end();
  return is_empty && model_->buffers()->Get(tensor.buffer())->data() != nullptr
             ? std::optional(data)
             : std::nullopt;
}

Blob ModelFile::custom_options(const Operator& op) const {
  if (op.large_custom_options_offset() > 1)
    return file_.slice(static_cast<size_t>(op.large_custom_options_offset()),
                       static_cast<size_t>(op.large_custom_options_size()));
  return op.custom_options() != nullptr ? slice(*op.custom_options()) : Blob();
}

std::vector<uint32_t> ModelFile::called_subgraphs(const Operator& op) const {
  const auto list = [](std::initializer_list<int32_t> indices) {
    std::vector<uint32_t> out;
    for (const int32_t i : indices) out.push_back(static_cast<uint32_t>(i));
    return out;
  };
  if (const auto* o = op.builtin_options_as_IfOptions())
    return list({o->then_subgraph_index(), o->else_subgraph_index()});
  if (const auto* o = op.builtin_options_as_WhileOptions())
    return list({o->cond_subgraph_index(), o->body_subgraph_index()});
  if (const auto* o = op.builtin_options_as_CallOnceOptions())
    return list({o->init_subgraph_index()});
  return {};
}

int element_bits(TensorType type) {
  switch (type) {
    case TensorType::INT2:
      return 2;
    case TensorType::INT4:
    case TensorType::UINT4:
      return 4;
    case TensorType::INT8:
    case TensorType::UINT8:
    case TensorType::BOOL:
      return 8;
    case TensorType::FLOAT16:
    case TensorType::BFLOAT16:
    case TensorType::INT16:
    case TensorType::UINT16:
      return 16;
    case TensorType::FLOAT32:
    case TensorType::INT32:
    case TensorType::UINT32:
      return 32;
    case TensorType::FLOAT64:
    case TensorType::INT64:
    case TensorType::UINT64:
    case TensorType::COMPLEX64:
      return 64;
    case TensorType::COMPLEX128:
      return 128;
    case TensorType::STRING:
    case TensorType::RESOURCE:
    case TensorType::VARIANT:
      return 0;
  }
  return 0;
}

std::string_view tensor_type_name(TensorType type) {
  constexpr std::string_view kNames[] = {
      "float32", "float16",   "int32",  "uint8",   "int64",      "string", "bool",
      "int16",   "complex64", "int8",   "float64", "complex128", "uint64", "resource",
      "variant", "uint32",    "uint16", "int4",    "bfloat16",   "int2",   "uint4"};
  const auto i = static_cast<size_t>(type);
  return i < std::size(kNames) ? kNames[i] : "an unknown type";
}

std::string tensor_label(const SubGraph& graph, int32_t index) {
  const auto* tensors = graph.tensors();
  if (index >= 0 && static_cast<size_t>(index) < size_of(tensors)) {
    const std::string_view name =
        text_of(tensors->Get(static_cast<flatbuffers::uoffset_t>(index))->name());
    if (!name.empty()) return "'" + printable(name) + "'";
  }
  return "tensor " + std::to_string(index);
}

}  // namespace ec::tflite
