// MatMulNBits of com.microsoft: a product with weights of 2, 4 or 8 bits in blocks along K, packed
// as bytes. The weights become a constant of that type, one element per byte, and a blocked
// dequantisation.
#include <cstring>

#include "frontend/onnx/table.h"

namespace ec::onnx {
namespace {

struct Packing {
  int64_t k = 0, n = 0, bits = 4, block = 32;
  int64_t blocks() const { return (k + block - 1) / block; }
  DType dtype() const { return bits == 8 ? DType::U8 : bits == 4 ? DType::U4 : DType::U2; }
};

// `rows` rows of `columns` elements; each row starts at a multiple of row_bytes.
Result<ec::Tensor*> unpack(NodeContext& ctx, const ec::Tensor* packed, const Packing& p,
                           int64_t columns, int64_t row_bytes) {
  const auto bytes = packed->raw_data().bytes();
  const auto total = checked_mul(p.n, row_bytes);
  if (packed->dtype() != DType::U8 || !total || static_cast<size_t>(*total) != bytes.size())
    return ctx.fail(Code::ShapeMismatch, "'" + packed->name() + "' has " +
                                             std::to_string(bytes.size()) +
                                             " bytes, which does not fit N, K and block_size");
  Buffer out = Buffer::allocate(static_cast<size_t>(p.n * columns));
  if (!out.ok()) return ctx.fail(Code::OutOfMemory, "not enough memory for the weights");
  const auto per_byte = 8 / p.bits;
  const auto mask = static_cast<unsigned>((1 << p.bits) - 1);
  for (int64_t row = 0; row < p.n; ++row) {
    for (int64_t i = 0; i < columns; ++i) {
      const auto byte =
          static_cast<unsigned>(bytes[static_cast<size_t>(row * row_bytes + i / per_byte)]);
      const unsigned value = byte >> (i % per_byte * p.bits) & mask;
      out.data()[row * columns + i] = static_cast<std::byte>(value);
    }
  }
  return ctx.graph().add_constant("", TensorType(p.dtype(), Shape{p.n, columns}),
                                  std::move(out).to_blob());
}

Result<ec::Tensor*> zero_points(NodeContext& ctx, const Packing& p) {
  if (ctx.has(3)) {
    if (!ctx.in(3)->is_constant() || ctx.dtype(3) != DType::U8)
      return ctx.unsupported("zero points have to be a constant of packed bytes");
    return unpack(ctx, ctx.in(3), p, p.blocks(), (p.blocks() * p.bits + 7) / 8);
  }
  const std::vector<uint8_t> middle(static_cast<size_t>(p.n * p.blocks()),
                                    static_cast<uint8_t>(1 << (p.bits - 1)));
  return ctx.graph().add_constant("", TensorType(p.dtype(), Shape{p.n, p.blocks()}),
                                  Blob::copy_of(std::span<const uint8_t>(middle)));
}

// (a, b, scales, zero_points?, g_idx?, bias?)
Status matmul_nbits(NodeContext& ctx) {
  Packing p;
  p.k = ctx.attr_int("K");
  p.n = ctx.attr_int("N");
  p.bits = ctx.attr_int("bits", 4);
  p.block = ctx.attr_int("block_size");
  ctx.ignore_attr("accuracy_level");
  EC_CHECK_OK(ctx.attr_status());
  constexpr int64_t kMax = int64_t{1} << 24;
  if (p.k < 1 || p.n < 1 || p.k > kMax || p.n > kMax || p.block < 16 || p.block > kMax ||
      (p.block & (p.block - 1)) != 0)
    return ctx.fail(Code::BadAttribute, "K, N or block_size is out of range");
  if (p.bits != 2 && p.bits != 4 && p.bits != 8)
    return ctx.unsupported("weights of " + std::to_string(p.bits) + " bits are not supported");
  if (ctx.has(4)) return ctx.unsupported("reordered groups (g_idx) are not supported");
  if (!ctx.in(1)->is_constant()) return ctx.unsupported("the weights have to be constant");
  EC_TRY(ec::Tensor * weights, unpack(ctx, ctx.in(1), p, p.k, p.blocks() * p.block * p.bits / 8));
  EC_TRY(ec::Tensor * zero_point, zero_points(ctx, p));
  EC_TRY(ec::Tensor * scales, ctx.reshape(ctx.in(2), std::vector<int64_t>{p.n, p.blocks()}));
  DequantizeAttrs dequantize;
  dequantize.axis = 1;
  dequantize.block_size = p.block;
  dequantize.dtype = ctx.dtype(2);
  EC_TRY(weights, ctx.add(OpKind::Dequantize, {weights, scales, zero_point}, dequantize));
  MatMulAttrs attrs;
  attrs.transpose_b = true;
  if (!ctx.has(5)) return ctx.finish(OpKind::MatMul, {ctx.in(0), weights}, attrs);
  EC_TRY(ec::Tensor * y, ctx.add(OpKind::MatMul, {ctx.in(0), weights}, attrs));
  return ctx.finish(OpKind::Add, {y, ctx.in(5)});
}

constexpr OpRow kRows[] = {
    {"MatMulNBits", 1, kLatest, {3, 6}, {1, 1}, matmul_nbits},
};

}  // namespace

const std::span<const OpRow> kMatMulNBitsRows = kRows;

}  // namespace ec::onnx
