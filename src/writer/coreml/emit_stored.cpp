// Constants in fewer bits: tables and masks. iOS 16 has lists of bytes and the shape beside them as
// attributes, iOS 18 elements of fewer than 8 bits as operands that are literals.
#include <memory>

#include "support/strings.h"
#include "writer/coreml/emitter.h"

namespace ec::mil {
namespace {

// Elements of one byte each as one stream of bits, the least significant first.
Blob pack_bits(const Blob& elements, int bits) {
  const size_t total = elements.size() * static_cast<size_t>(bits);
  Buffer packed = Buffer::allocate((total + 7) / 8);
  size_t at = 0;
  for (const std::byte element : elements.bytes()) {
    const auto value = static_cast<uint32_t>(element) << (at % 8);
    packed.data()[at / 8] |= static_cast<std::byte>(value & 255);
    if (value > 255) packed.data()[at / 8 + 1] |= static_cast<std::byte>(value >> 8);
    at += static_cast<size_t>(bits);
  }
  return std::move(packed).to_blob();
}

DataType index_type(int bits) {
  switch (bits) {
    case 1:
      return DataType::UInt1;
    case 2:
      return DataType::UInt2;
    case 3:
      return DataType::UInt3;
    case 4:
      return DataType::UInt4;
    case 6:
      return DataType::UInt6;
    default:
      return DataType::UInt8;
  }
}

// One operation in the making.
class StoredConstant {
 public:
  StoredConstant(BlockEmitter& block, const Tensor* tensor)
      : block_(block), type_(type_of(tensor)), new_form_(block.state().version >= kCoremlIos18) {}

  bool new_form() const { return new_form_; }
  const ValueType& type() const { return type_; }

  void parameter(std::string_view name, ValueType type, Blob data) {
    Value value = block_.stored_value(std::move(type), std::move(data));
    if (!new_form_) {
      op_.attributes.emplace_back(std::string(name), std::move(value));
      return;
    }
    op_.inputs.emplace_back(
        std::string(name),
        std::vector<coreml::Binding>{{"", std::make_shared<const Value>(std::move(value))}});
  }
  // Elements of one byte each that count `bits` bits.
  void packed(std::string_view name, const Blob& elements, int bits) {
    Blob data = pack_bits(elements, bits);
    ValueType type = new_form_
                         ? ValueType::tensor(index_type(bits), type_.dims)
                         : ValueType::tensor(DataType::UInt8, {static_cast<int64_t>(data.size())});
    parameter(name, std::move(type), std::move(data));
  }
  void shape() {
    if (new_form_) return;
    std::vector<uint32_t> sizes(type_.dims.begin(), type_.dims.end());
    parameter("shape", ValueType::tensor(DataType::UInt32, {static_cast<int64_t>(sizes.size())}),
              Blob::copy_of(std::span<const uint32_t>(sizes)));
  }
  void add(std::string_view operation, const std::string& name) {
    op_.type = operation;
    op_.outputs.push_back({name, type_});
    block_.add(std::move(op_), name);
  }

 private:
  BlockEmitter& block_;
  ValueType type_;
  bool new_form_;
  coreml::Operation op_;
};

// Parameters in the order of their names, as all operations have them.
void emit(StoredConstant& constant, const CoremlPalette& palette, const std::string& name) {
  const int64_t entries = int64_t{1} << palette.bits;
  std::vector<int64_t> dims{entries};
  if (constant.new_form()) {
    dims.assign(constant.type().dims.size(), 1);
    dims.insert(dims.end(), {entries, 1});
  }
  constant.packed("indices", palette.indices, palette.bits);
  constant.parameter("lut", ValueType::tensor(constant.type().element, std::move(dims)),
                     palette.table);
  constant.shape();
  constant.add("constexpr_lut_to_dense", name);
}

void emit(StoredConstant& constant, const CoremlSparse& sparse, const std::string& name) {
  const auto bytes = static_cast<size_t>(coreml::bits_of(constant.type().element) / 8);
  const auto count = static_cast<int64_t>(sparse.elements.size() / bytes);
  constant.packed("mask", sparse.mask, 1);
  constant.parameter("nonzero_data", ValueType::tensor(constant.type().element, {count}),
                     sparse.elements);
  constant.shape();
  constant.add("constexpr_sparse_to_dense", name);
}

}  // namespace

std::string BlockEmitter::stored_constant(const Tensor* tensor, const CoremlStored& stored) {
  const auto* palette = std::get_if<CoremlPalette>(&stored);
  if (palette != nullptr && palette->bits == 3 && state_.version < kCoremlIos18) {
    Status raised = state_.need(
        kCoremlIos18, "constant '" + printable(tensor->name(), 80) + "': a table of 3 bits");
    if (!raised.ok()) state_.sink->report(std::move(raised).error());
  }
  const std::string name = state_.names.unique(tensor->name());
  StoredConstant constant(*this, tensor);
  std::visit([&](const auto& form) { emit(constant, form, name); }, stored);
  return name;
}

}  // namespace ec::mil
