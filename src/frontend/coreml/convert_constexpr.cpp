// Weights that are stored in fewer bits. Integers with scales become constants behind dequantize;
// tables and masks become the weights that they stand for.
#include "frontend/coreml/constant.h"
#include "frontend/coreml/expand.h"
#include "frontend/coreml/table.h"
#include "support/checked.h"

namespace ec::mil {
namespace {

// --- scales --------------------------------------------------------------------------------------

Ints shape_of(OpCall& c, Tensor* x) {
  Ints shape;
  for (int64_t i = 0, n = c.rank(x); i < n; ++i) shape.push_back(c.size(x, i));
  return shape;
}

// scale * (q - offset), computed at once: for offsets that are no integers of the data's type.
Tensor* scaled(OpCall& c, Tensor* q, Tensor* scale, Tensor* offset) {
  Tensor* x = c.cast(q, DType::F32);
  if (offset != nullptr) x = c.add_weight(OpKind::Sub, {x, c.cast(offset, DType::F32)});
  x = c.add_weight(OpKind::Mul, {x, c.cast(scale, DType::F32)});
  return c.cast(x, scale->dtype());
}

Tensor* dequantized(OpCall& c, Tensor* q, Tensor* scale, Tensor* zero_point, int64_t axis,
                    int64_t block) {
  DequantizeAttrs attrs;
  attrs.axis = axis;
  attrs.block_size = block;
  attrs.dtype = scale->dtype();
  Tensors inputs = {q, c.cast(scale, DType::F32)};
  if (zero_point != nullptr) inputs.push_back(zero_point);
  return c.add(OpKind::Dequantize, std::move(inputs), attrs);
}

// A vector along one axis as it broadcasts.
Tensor* along(OpCall& c, Tensor* values, int64_t axis, int64_t dims) {
  if (values == nullptr || c.rank(values) == 0) return values;
  Sizes sizes(static_cast<size_t>(dims), Size(1));
  sizes[static_cast<size_t>(axis)] = Size(-1);
  return c.reshape(values, sizes);
}

Tensors affine_dequantize(OpCall& c) {
  Tensor *q = c.in("quantized_data"), *scale = c.in("scale"), *zero_point = c.in("zero_point");
  const int64_t dims = c.rank(q), axis = dims == 0 ? 0 : c.axis_of(q, "axis", 0);
  if (!c.ok()) return {q};
  if (dims == 0 && (c.rank(scale) != 0 || c.rank(zero_point) != 0))
    return {c.fail(Code::ShapeMismatch, "one number has one scale and one zero point")};
  if (zero_point->dtype() != q->dtype())
    return {scaled(c, q, along(c, scale, axis, dims), along(c, zero_point, axis, dims))};
  // Both parameters have the same number of values.
  const auto like = [&](Tensor* x, Tensor* other) {
    return c.rank(x) == 0 && c.rank(other) == 1 ? c.expand(x, c.sizes(other)) : x;
  };
  return {dequantized(c, q, like(scale, zero_point), like(zero_point, scale), axis, 0)};
}

// How scales of the shape S lie over data of the shape D. `axis` below 0: not as the IR has it.
struct Blocks {
  int64_t axis = -1, size = 0;
  bool expand = false;  // scales have one entry for all along other axes than `axis`
};

Blocks find_blocks(const Ints& data, const Ints& scale) {
  Blocks blocks;
  size_t per_axis = 0, blocked = 0;
  for (size_t i = 0; i < data.size(); ++i) {
    if (scale[i] < 1 || data[i] % scale[i] != 0) return {};
    if (scale[i] == 1) continue;
    const bool whole = scale[i] == data[i];
    per_axis += whole ? 1 : 0;
    blocked += whole ? 0 : 1;
    if (!whole || blocked == 0) blocks.axis = static_cast<int64_t>(i);
  }
  if (per_axis + blocked == 0) return {0, 0, false};
  if (blocked == 0 && per_axis == 1) return {blocks.axis, 0, false};
  if (blocked > 1) return {};
  // One blocked axis, or several whole ones: then every element of one of them is a block.
  const auto at = static_cast<size_t>(blocks.axis);
  return {blocks.axis, data[at] / scale[at], true};
}

// scale * (data - offset), with one scale for a block of elements.
Tensor* shift_scale(OpCall& c, Tensor* data, Tensor* scale, Tensor* offset) {
  const Ints shape = shape_of(c, data), groups = shape_of(c, scale);
  if (!c.ok() || shape.size() != groups.size() ||
      (offset != nullptr && shape_of(c, offset) != groups))
    return c.fail(Code::ShapeMismatch, "scales and offsets do not fit the data");
  const Blocks blocks = find_blocks(shape, groups);
  const bool integer =
      is_integer(data->dtype()) && (offset == nullptr || offset->dtype() == data->dtype());
  if (blocks.axis >= 0 && integer && !shape.empty()) {
    const auto prepared = [&](Tensor* x) -> Tensor* {
      if (x == nullptr) return x;
      if (blocks.size == 0) return c.reshape(x, {-1});
      Sizes sizes;
      for (size_t i = 0; i < shape.size(); ++i)
        sizes.emplace_back(static_cast<int64_t>(i) == blocks.axis ? groups[i] : shape[i]);
      return blocks.expand ? c.add_weight(OpKind::Expand, {x, c.shape_list(sizes)}) : x;
    };
    return dequantized(c, data, prepared(scale), prepared(offset), blocks.axis, blocks.size);
  }
  // Blocks along several axes: every block gets dimensions of its own.
  Sizes split, ones, whole;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (groups[i] < 1 || shape[i] % groups[i] != 0)
      return c.fail(Code::ShapeMismatch, "the scales do not divide the data into blocks");
    split.insert(split.end(), {Size(groups[i]), Size(shape[i] / groups[i])});
    ones.insert(ones.end(), {Size(groups[i]), Size(1)});
    whole.emplace_back(shape[i]);
  }
  Tensor* y = scaled(c, c.reshape(data, split), c.reshape(scale, ones),
                     offset == nullptr ? nullptr : c.reshape(offset, ones));
  return c.reshape(y, whole);
}

Tensors blockwise_shift_scale(OpCall& c) {
  return {shift_scale(c, c.in("data"), c.in("scale"), c.maybe("offset"))};
}

// --- tables and masks ----------------------------------------------------------------------------

// A constant operand as bytes.
Weights weights_of(OpCall& c, std::string_view parameter) {
  Tensor* x = c.in(parameter);
  if (!c.ok()) return {};
  if (!x->is_constant()) {
    c.unsupported("compressed weights that are computed");
    return {};
  }
  return {x->dtype(), x->shape()->sizes(), x->data()};
}

// A constant operand of indices or bits, which are one byte each.
Weights bytes_of(OpCall& c, std::string_view parameter) {
  Weights made = weights_of(c, parameter);
  if (c.ok() && made.dtype != DType::U8 && made.dtype != DType::U4 && made.dtype != DType::U2 &&
      made.dtype != DType::Bool)
    c.fail(Code::TypeMismatch,
           "'" + std::string(parameter) + "' has to be unsigned integers of up to 8 bits");
  return made;
}

Tensor* constant_of(OpCall& c, Result<Weights> made) {
  if (!made.ok()) {
    c.remember(std::move(made).error());
    return c.fail(Code::BadTensorData, "");
  }
  return c.graph().add_constant("", TensorType(made->dtype, Shape::of(made->shape)),
                                std::move(made->data));
}

// Whether constants of this shape may be made; an error otherwise.
bool may_make(OpCall& c, const Ints& shape, DType dtype) {
  const auto bytes = checked_extent(shape, static_cast<int64_t>(element_size(dtype)));
  if (bytes && c.importer().may_expand(static_cast<size_t>(*bytes))) return true;
  c.fail(Code::TooLarge, "compressed weights expand to more than the files justify");
  return false;
}

// Packed indices or bits of the shape that a parameter gives (iOS 16).
Weights unpacked(OpCall& c, std::string_view parameter, int bits) {
  Weights packed = bytes_of(c, parameter);
  const Ints shape = c.ints("shape");
  if (!c.ok() || !may_make(c, shape, DType::U8)) return {};
  int64_t count = 1;
  for (const int64_t size : shape) count *= size;
  Weights out{DType::U8, shape, unpack_bits(packed.data, bits, false, count)};
  if (out.data.size() != static_cast<size_t>(count))
    c.fail(Code::BadTensorData, "'" + std::string(parameter) + "' does not fit the shape");
  return out;
}

Tensors lut_to_dense_16(OpCall& c) {
  Weights table = weights_of(c, "lut");
  if (!c.ok()) return {};
  int bits = 0;
  while (bits < 8 && (int64_t{1} << bits) < (table.shape.empty() ? 0 : table.shape[0])) ++bits;
  if (table.shape.size() != 1 || table.shape[0] != int64_t{1} << bits || bits == 0)
    return {c.fail(Code::BadTensorData, "the table has to be of 2, 4, 16, 64 or 256 entries")};
  const Weights indices = unpacked(c, "indices", bits);
  if (!c.ok() || !may_make(c, indices.shape, table.dtype)) return {};
  Ints tables(indices.shape.size(), 1);
  tables.insert(tables.end(), {table.shape[0], 1});
  table.shape = tables;
  return {constant_of(c, look_up(indices, table, -1))};
}

int64_t vector_axis(OpCall& c, size_t rank) {
  return c.has("vector_axis") ? c.axis(c.integer("vector_axis"), static_cast<int64_t>(rank)) : -1;
}

Tensors lut_to_dense_18(OpCall& c) {
  const Weights indices = bytes_of(c, "indices"), tables = weights_of(c, "lut");
  if (!c.ok()) return {};
  Ints room = indices.shape;
  if (!tables.shape.empty()) room.push_back(tables.shape.back());
  if (!may_make(c, room, tables.dtype)) return {};
  return {constant_of(c, look_up(indices, tables, vector_axis(c, indices.shape.size())))};
}

Tensors sparse_to_dense_16(OpCall& c) {
  const Weights elements = weights_of(c, "nonzero_data"), mask = unpacked(c, "mask", 1);
  if (!c.ok() || !may_make(c, mask.shape, elements.dtype)) return {};
  return {constant_of(c, spread(elements, mask))};
}

Tensors sparse_to_dense_18(OpCall& c) {
  const Weights elements = weights_of(c, "nonzero_data"), mask = bytes_of(c, "mask");
  if (!c.ok() || !may_make(c, mask.shape, elements.dtype)) return {};
  return {constant_of(c, spread(elements, mask))};
}

// The weights of a table where the mask is one: looked up as if dense, then picked.
Tensors lut_to_sparse(OpCall& c) {
  const Weights mask = bytes_of(c, "indices_mask"), nonzero = bytes_of(c, "indices_nonzero_data"),
                tables = weights_of(c, "lut");
  if (!c.ok() || !may_make(c, mask.shape, DType::U8) || !may_make(c, mask.shape, tables.dtype))
    return {};
  if (!tables.shape.empty() && tables.shape.back() > 1)
    return {c.unsupported("tables of vectors with a mask")};
  Result<Weights> indices = spread(nonzero, mask);
  if (!indices.ok()) return {constant_of(c, std::move(indices))};
  Result<Weights> dense = look_up(*indices, tables, -1);
  if (!dense.ok()) return {constant_of(c, std::move(dense))};
  return {c.in("indices_mask"), constant_of(c, pick(*dense, mask))};
}

Tensors sparse_blockwise_shift_scale(OpCall& c) {
  const Weights mask = bytes_of(c, "data_mask"), nonzero = weights_of(c, "nonzero_data");
  if (!c.ok() || !may_make(c, mask.shape, DType::F32)) return {};
  Tensor* dense = constant_of(c, spread(nonzero, mask));
  if (!c.ok()) return {};
  const Ints shape = shape_of(c, dense), groups = shape_of(c, c.in("scale"));
  // Computed at once, since the elements are picked out again.
  Sizes split, ones;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (groups.size() != shape.size() || groups[i] < 1 || shape[i] % groups[i] != 0)
      return {c.fail(Code::ShapeMismatch, "the scales do not divide the data into blocks")};
    split.insert(split.end(), {Size(groups[i]), Size(shape[i] / groups[i])});
    ones.insert(ones.end(), {Size(groups[i]), Size(1)});
  }
  Tensor* offset = c.maybe("offset");
  Tensor* y = scaled(c, c.reshape(dense, split), c.reshape(c.in("scale"), ones),
                     offset == nullptr ? nullptr : c.reshape(offset, ones));
  if (!c.ok() || !y->is_constant()) return {c.unsupported("compressed weights that are computed")};
  return {c.in("data_mask"), constant_of(c, pick({y->dtype(), mask.shape, y->data()}, mask))};
}

Tensors constexpr_cast(OpCall& c) {
  return {c.cast(c.in("source_val"), c.dtype("output_dtype", "fp32"))};
}

constexpr OpRow kRows[] = {
    {"constexpr_affine_dequantize", kIos16, "quantized_data zero_point scale axis",
     affine_dequantize},
    {"constexpr_blockwise_shift_scale", kIos18, "data scale offset?", blockwise_shift_scale},
    {"constexpr_lut_to_dense", kIos16, "indices lut shape", lut_to_dense_16},
    {"constexpr_lut_to_dense", kIos18, "indices lut vector_axis?", lut_to_dense_18},
    {"constexpr_sparse_to_dense", kIos16, "nonzero_data mask shape", sparse_to_dense_16},
    {"constexpr_sparse_to_dense", kIos18, "nonzero_data mask", sparse_to_dense_18},
    {"constexpr_lut_to_sparse", kIos18, "indices_mask indices_nonzero_data lut vector_axis?",
     lut_to_sparse},
    {"constexpr_sparse_blockwise_shift_scale", kIos18, "data_mask nonzero_data scale offset?",
     sparse_blockwise_shift_scale},
    {"constexpr_cast", kIos16, "source_val output_dtype", constexpr_cast},
};

}  // namespace

const std::span<const OpRow> kConstexprRows = kRows;

}  // namespace ec::mil
