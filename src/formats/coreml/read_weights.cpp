// MIL blob storage, version 2: metadata of 64 bytes in front of each run of elements.
#include <cstring>
#include <functional>

#include "formats/coreml/package.h"
#include "formats/coreml/weight_layout.h"
#include "support/checked.h"
#include "support/strings.h"

namespace ec::coreml {
namespace {

Error bad(const WeightRef& ref, const std::string& what) {
  return Error(Code::BadTensorData, "the weight at offset " + std::to_string(ref.offset) + " of " +
                                        printable(ref.file, 100) + " " + what)
      .hint(
          "weight file and model do not belong together, or one is damaged: copy the whole "
          "package again");
}

template <class T>
T load(std::span<const std::byte> bytes, size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

using Opener = std::function<Result<Blob>(const std::string&)>;

// Fills values one after the other.
class Resolver {
 public:
  explicit Resolver(const Opener& open) : open_(open) {}

  Status block(Block& block) {
    for (Operation& operation : block.operations) {
      for (auto& [name, value] : operation.attributes) EC_CHECK_OK(this->value(value));
      for (auto& [name, bindings] : operation.inputs)
        for (Binding& binding : bindings) EC_CHECK_OK(literal(binding));
      for (Block& nested : operation.blocks) EC_CHECK_OK(this->block(nested));
    }
    return {};
  }

 private:
  Status value(Value& value) {
    for (Value& item : value.items) EC_CHECK_OK(this->value(item));
    if (!value.weight) return {};
    EC_TRY(const Blob file, open_(value.weight->file));
    EC_TRY(value.data, read_weight(file, *value.weight, value.type));
    return {};
  }
  static bool refers(const Value& value) {
    if (value.weight) return true;
    for (const Value& item : value.items)
      if (refers(item)) return true;
    return false;
  }
  Status literal(Binding& binding) {
    if (binding.literal == nullptr || !refers(*binding.literal)) return {};
    auto copy = std::make_shared<Value>(*binding.literal);
    EC_CHECK_OK(value(*copy));
    binding.literal = std::move(copy);
    return {};
  }

  const Opener& open_;
};

}  // namespace

Result<Blob> read_weight(const Blob& file, const WeightRef& ref, const ValueType& type) {
  const auto bytes = file.bytes();
  if (bytes.size() < weight_layout::kHeaderBytes ||
      load<uint32_t>(bytes, 4) != weight_layout::kVersion)
    return Error(Code::CorruptFile,
                 "'" + printable(ref.file, 100) + "' is no weight file of version 2")
        .hint("copy the whole package again");
  if (ref.offset > bytes.size() || bytes.size() - ref.offset < weight_layout::kMetadataBytes)
    return bad(ref, "lies behind the end of the file");
  const auto metadata = bytes.subspan(ref.offset, weight_layout::kMetadataBytes);
  if (load<uint32_t>(metadata, weight_layout::kSentinelAt) != weight_layout::kSentinel)
    return bad(ref, "has no metadata");
  const auto stored = load<uint32_t>(metadata, weight_layout::kTypeAt);
  if (weight_layout::code_of(type.element) != stored)
    return bad(ref,
               "has another type than the model says (" + std::string(name_of(type.element)) + ")");
  const auto size = load<uint64_t>(metadata, weight_layout::kSizeAt);
  const auto offset = load<uint64_t>(metadata, weight_layout::kOffsetAt);
  const auto count = checked_extent(type.dims, 1);
  if (type.kind != ValueType::Kind::Tensor || type.variadic || !count)
    return bad(ref, "has no shape that is known");
  bool empty = false;
  for (const int64_t dim : type.dims) empty |= dim == 0;
  const uint64_t bits =
      empty ? 0 : static_cast<uint64_t>(*count) * static_cast<uint64_t>(bits_of(type.element));
  if (size != (bits + 7) / 8)
    return bad(ref, "has " + std::to_string(size) + " bytes where its type needs " +
                        std::to_string((bits + 7) / 8));
  if (offset > bytes.size() || size > bytes.size() - offset)
    return bad(ref, "reaches behind the end of the file");
  return file.slice(offset, size);
}

Status resolve_weights(Model& model, const std::function<Result<Blob>(const std::string&)>& open) {
  if (!model.program) return {};
  Resolver resolver(open);
  for (auto& [name, function] : model.program->functions)
    EC_CHECK_OK(resolver.block(function.block));
  return {};
}

Status resolve_weights(Model& model, const Blob& file) {
  return resolve_weights(model, [&](const std::string&) -> Result<Blob> { return file; });
}

}  // namespace ec::coreml
