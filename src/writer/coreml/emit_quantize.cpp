// Values of 8 bits: quantize and dequantize between float operations, and weights that are stored
// with 8 bits and unpacked when the program is compiled.
#include <algorithm>
#include <cstring>

#include "writer/coreml/emitter.h"

namespace ec::mil {
namespace {

bool is_byte(DType dtype) { return dtype == DType::I8 || dtype == DType::U8; }

// Scale and zero point as operands: scalars, or one for each index of an axis.
Status check_parameters(OpEmitter& e, int64_t block_size) {
  if (!e.has(1)) return e.fail("parameters that are part of a type", std::string(kPipelineHint));
  if (!e.input(1)->is_constant() || (e.has(2) && !e.input(2)->is_constant()))
    return e.fail("a scale or zero point that is computed");
  if (block_size != 0) return e.fail("scales of blocks");
  return {};
}

bool has_axis(const OpEmitter& e) { return e.input(1)->type().num_elements() != 1; }

std::string scale_of(OpEmitter& e, DataType type) {
  if (has_axis(e)) return e.in(1);
  return e.real(*scalar_value(e.input(1)), type);
}

bool is_zero(const Tensor* tensor) {
  const auto values = int_values(tensor);
  return values && std::ranges::all_of(*values, [](int64_t v) { return v == 0; });
}

// A zero point that is there and not zero.
std::optional<std::string> zero_point_of(OpEmitter& e) {
  if (!e.has(2) || is_zero(e.input(2))) return std::nullopt;
  const DataType type = e.input(2)->dtype() == DType::I8 ? DataType::Int8 : DataType::UInt8;
  ValueType value = ValueType::tensor(type);
  if (has_axis(e)) value.dims = e.sizes(e.input(2));
  return e.constant(std::move(value), e.input(2)->raw_data());
}

Status emit_quantize(OpEmitter& e) {
  const auto& attrs = e.attrs<QuantizeAttrs>();
  EC_CHECK_OK(check_parameters(e, attrs.block_size));
  const DType result = e.op().output()->dtype();
  if (!is_byte(result)) return e.fail("integers other than of 8 bits");
  EC_CHECK_OK(e.need(kCoremlIos17, "activations of 8 bits"));
  std::vector<Arg> args{{"input", e.in(0)},
                        {"scale", scale_of(e, e.element())},
                        {"output_dtype", e.text(result == DType::I8 ? "int8" : "uint8")}};
  if (auto zero = zero_point_of(e)) args.emplace_back("zero_point", std::move(*zero));
  if (has_axis(e)) args.emplace_back("axis", e.i32(e.axis(attrs.axis)));
  e.emit("quantize", std::move(args));
  return {};
}

Value stored(OpEmitter& e, ValueType type, Blob data) {
  return e.block().stored_value(std::move(type), std::move(data));
}

// constexpr_affine_dequantize has its parameters as attributes, not as operands.
Status emit_stored_weight(OpEmitter& e) {
  const auto& attrs = e.attrs<DequantizeAttrs>();
  const DataType type = e.input(0)->dtype() == DType::I8 ? DataType::Int8 : DataType::UInt8;
  const bool by_axis = has_axis(e);
  const std::vector<int64_t> dims = by_axis ? e.sizes(e.input(1)) : std::vector<int64_t>();
  coreml::Operation op;
  op.type = "constexpr_affine_dequantize";
  op.attributes.emplace_back(
      "quantized_data",
      stored(e, ValueType::tensor(type, e.sizes(e.input(0))), e.input(0)->raw_data()));
  op.attributes.emplace_back(
      "scale",
      stored(e,
             ValueType::tensor(element_type(e.input(1)->dtype()).value_or(DataType::Float32), dims),
             e.input(1)->raw_data()));
  int64_t count = 1;
  for (const int64_t size : dims) count *= size;
  Blob zero =
      e.has(2) ? e.input(2)->raw_data() : Buffer::allocate(static_cast<size_t>(count)).to_blob();
  op.attributes.emplace_back("zero_point",
                             stored(e, ValueType::tensor(type, dims), std::move(zero)));
  const auto axis = static_cast<int32_t>(by_axis ? e.axis(attrs.axis) : 0);
  op.attributes.emplace_back("axis", stored(e, ValueType::tensor(DataType::Int32),
                                            Blob::copy_of(std::span<const int32_t>(&axis, 1))));
  const std::string name = e.block().name(e.op().output());
  op.outputs.push_back({name, type_of(e.op().output())});
  e.block().add(std::move(op), name);
  return {};
}

// Elements of 4 bits, one per byte, as programs store them: the first in the low half.
Blob packed(const Blob& elements, DType dtype) {
  if (bit_width(dtype) != 4) return elements;
  Buffer buffer = Buffer::allocate((elements.size() + 1) / 2);
  for (size_t i = 0; i < elements.size(); ++i)
    buffer.data()[i / 2] |= (elements.bytes()[i] & std::byte{15}) << (i % 2 * 4);
  return std::move(buffer).to_blob();
}

std::optional<DataType> stored_type(DType dtype) {
  switch (dtype) {
    case DType::I4:
      return DataType::Int4;
    case DType::U4:
      return DataType::UInt4;
    case DType::I8:
      return DataType::Int8;
    case DType::U8:
      return DataType::UInt8;
    default:
      return std::nullopt;
  }
}

// The scales with as many dimensions as the weights have: their sizes tell the blocks.
Result<std::vector<int64_t>> block_counts(OpEmitter& e) {
  const auto& attrs = e.attrs<DequantizeAttrs>();
  const std::vector<int64_t> data = e.sizes(e.input(0)), scale = e.sizes(e.input(1));
  std::vector<int64_t> counts(data.size(), 1);
  if (attrs.block_size != 0)
    counts = scale;
  else if (has_axis(e))
    counts[static_cast<size_t>(e.axis(attrs.axis))] = *e.input(1)->type().num_elements();
  bool divides = counts.size() == data.size() && !data.empty();
  for (size_t d = 0; d < data.size() && divides; ++d)
    divides = counts[d] > 0 && data[d] % counts[d] == 0;
  const auto axis = static_cast<size_t>(e.axis(attrs.axis));
  if (divides && attrs.block_size != 0) divides = counts[axis] * attrs.block_size == data[axis];
  if (!divides) return e.fail("blocks that do not divide the weights");
  return counts;
}

// Scales or offsets of blocks.
struct Grid {
  std::vector<int64_t> sizes;
  Blob elements;
  size_t width = 1;  // bytes of an element

  // Bytes of all that follows one index of dimension d.
  size_t step(size_t d) const {
    size_t bytes = width;
    for (size_t i = d + 1; i < sizes.size(); ++i) bytes *= static_cast<size_t>(sizes[i]);
    return bytes;
  }
  // All indices of the dimension have the same elements.
  bool repeats(size_t d) const {
    const size_t bytes = step(d), row = bytes * static_cast<size_t>(sizes[d]);
    const std::byte* at = elements.bytes().data();
    for (size_t begin = 0; begin + row <= elements.size(); begin += row)
      for (size_t i = bytes; i < row; i += bytes)
        if (std::memcmp(at + begin, at + begin + i, bytes) != 0) return false;
    return true;
  }
  // The first index alone.
  void shorten(size_t d) {
    const size_t bytes = step(d), row = bytes * static_cast<size_t>(sizes[d]);
    Buffer first = Buffer::allocate(elements.size() / static_cast<size_t>(sizes[d]));
    for (size_t begin = 0, to = 0; begin + row <= elements.size(); begin += row, to += bytes)
      std::memcpy(first.data() + to, elements.bytes().data() + begin, bytes);
    elements = std::move(first).to_blob();
    sizes[d] = 1;
  }
};

// The graph has blocks along one dimension, programs along all: what is the same along the others
// is written once.
void share_blocks(Grid& scale, Grid* offset) {
  for (size_t d = 0; d < scale.sizes.size(); ++d) {
    if (scale.sizes[d] == 1 || !scale.repeats(d)) continue;
    if (offset != nullptr && !offset->repeats(d)) continue;
    scale.shorten(d);
    if (offset != nullptr) offset->shorten(d);
  }
}

// Weights of 4 bits and scales of blocks: operands that are literals, from iOS 18 on.
Status emit_blocks(OpEmitter& e) {
  EC_CHECK_OK(e.need(kCoremlIos18, "weights of 4 bits or with scales of blocks"));
  const auto type = stored_type(e.input(0)->dtype());
  if (!type || (e.has(2) && e.input(2)->dtype() != e.input(0)->dtype()))
    return e.fail("integers other than of 4 and 8 bits");
  EC_TRY(const std::vector<int64_t> counts, block_counts(e));
  coreml::Operation op;
  op.type = "constexpr_blockwise_shift_scale";
  const auto literal = [&](std::string_view parameter, DataType element, std::vector<int64_t> dims,
                           Blob data) {
    auto value = std::make_shared<const Value>(
        stored(e, ValueType::tensor(element, std::move(dims)), std::move(data)));
    op.inputs.emplace_back(std::string(parameter),
                           std::vector<coreml::Binding>{{"", std::move(value)}});
  };
  literal("data", *type, e.sizes(e.input(0)), packed(e.input(0)->raw_data(), e.input(0)->dtype()));
  Grid scale{counts, e.input(1)->raw_data(), element_size(e.input(1)->dtype())};
  const bool shifted = e.has(2) && !is_zero(e.input(2));
  Grid offset{counts, shifted ? e.input(2)->raw_data() : Blob(), 1};
  share_blocks(scale, shifted ? &offset : nullptr);
  if (shifted) literal("offset", *type, offset.sizes, packed(offset.elements, e.input(2)->dtype()));
  literal("scale", element_type(e.input(1)->dtype()).value_or(DataType::Float32), scale.sizes,
          scale.elements);
  const std::string name = e.block().name(e.op().output());
  op.outputs.push_back({name, type_of(e.op().output())});
  e.block().add(std::move(op), name);
  return {};
}

Status emit_dequantize(OpEmitter& e) {
  const auto& attrs = e.attrs<DequantizeAttrs>();
  const bool known = e.input(0)->is_constant() && e.has(1) && e.input(1)->is_constant() &&
                     (!e.has(2) || e.input(2)->is_constant());
  if (known && (attrs.block_size != 0 || bit_width(e.input(0)->dtype()) == 4))
    return emit_blocks(e);
  EC_CHECK_OK(check_parameters(e, attrs.block_size));
  if (!is_byte(e.input(0)->dtype())) return e.fail("integers other than of 8 bits");
  if (e.input(0)->is_constant()) return emit_stored_weight(e);
  if (e.element() == DataType::Int32)
    return e.fail("integers of 8 bits that were moved or given", "dequantise where they are made");
  EC_CHECK_OK(e.need(kCoremlIos17, "activations of 8 bits"));
  const DataType result = type_of(e.op().output()).element;
  std::vector<Arg> args{{"input", e.in(0)}, {"scale", scale_of(e, result)}};
  if (auto zero = zero_point_of(e)) args.emplace_back("zero_point", std::move(*zero));
  if (has_axis(e)) args.emplace_back("axis", e.i32(e.axis(attrs.axis)));
  e.emit("dequantize", std::move(args));
  return {};
}

constexpr EmitRow kRows[] = {
    {OpKind::Quantize, emit_quantize},
    {OpKind::Dequantize, emit_dequantize},
};

}  // namespace

const std::span<const EmitRow> kEmitQuantize = kRows;

}  // namespace ec::mil
