// Which version of an operator has kernels for which element types. Runtimes refuse versions they
// do not know, so the lowest one that has what is used goes into the file.
#include <algorithm>

#include "writer/tflite/emitter.h"

namespace ec::tflite {
namespace {

using Op = BuiltinOperator;

// Versions by the type of the deciding tensor; 0: as the default, 1.
struct TypeRow {
  Op op;
  int8_t i8 = 0, i16 = 0, u8 = 0, boolean = 0, i32 = 0, i64 = 0, u32 = 0;
};

constexpr TypeRow kByType[] = {
    {.op = Op::ABS, .i8 = 2, .i16 = 3, .u8 = 2, .i32 = 5},
    {.op = Op::ADD, .i8 = 2, .i16 = 3, .i64 = 4},
    {.op = Op::ARG_MAX, .i8 = 2, .boolean = 3},
    {.op = Op::ARG_MIN, .i8 = 2, .boolean = 3},
    {.op = Op::AVERAGE_POOL_2D, .i8 = 2, .i16 = 3},
    {.op = Op::BATCH_MATMUL, .i8 = 2, .i16 = 3},
    {.op = Op::BATCH_TO_SPACE_ND, .i8 = 2, .i16 = 4},
    {.op = Op::CONCATENATION, .i8 = 2, .i16 = 3, .u32 = 4},
    {.op = Op::DEPTH_TO_SPACE, .i8 = 2},
    {.op = Op::EQUAL, .i8 = 2, .i16 = 4},
    {.op = Op::EXP, .i8 = 2, .i16 = 2},
    {.op = Op::FLOOR_MOD, .i8 = 2, .i16 = 2},
    {.op = Op::GATHER, .i8 = 2, .i16 = 4, .boolean = 3},
    {.op = Op::GATHER_ND, .i16 = 3, .boolean = 5},
    {.op = Op::GELU, .i8 = 2, .u8 = 2},
    {.op = Op::GREATER, .i8 = 2},
    {.op = Op::GREATER_EQUAL, .i8 = 2, .i16 = 3},
    {.op = Op::L2_NORMALIZATION, .i8 = 2},
    {.op = Op::LEAKY_RELU, .i16 = 2},
    {.op = Op::LESS, .i8 = 2, .i16 = 3},
    {.op = Op::LESS_EQUAL, .i8 = 2},
    {.op = Op::LOG, .i8 = 2, .i16 = 2},
    {.op = Op::LOGISTIC, .i8 = 2, .i16 = 3},
    {.op = Op::LOG_SOFTMAX, .i8 = 2},
    {.op = Op::MAXIMUM, .i8 = 2, .i16 = 4},
    {.op = Op::MAX_POOL_2D, .i8 = 2, .i16 = 3},
    {.op = Op::MEAN, .i8 = 2, .i16 = 3},
    {.op = Op::MINIMUM, .i8 = 2, .i16 = 4},
    {.op = Op::MIRROR_PAD, .i8 = 2, .i16 = 3},
    {.op = Op::MUL, .i8 = 2, .i16 = 4, .i64 = 5, .u32 = 7},
    {.op = Op::NOT_EQUAL, .i8 = 2},
    {.op = Op::PACK, .i8 = 2, .i16 = 3, .u32 = 4},
    {.op = Op::PAD, .i8 = 2, .i16 = 3},
    {.op = Op::PADV2, .i8 = 2, .i16 = 3},
    {.op = Op::RANGE, .i64 = 2},
    {.op = Op::REDUCE_MAX, .i8 = 2, .i16 = 3},
    {.op = Op::REDUCE_MIN, .i8 = 2, .i16 = 3},
    {.op = Op::REDUCE_PROD, .i8 = 2, .i16 = 2},
    {.op = Op::RELU, .i8 = 2, .i16 = 3, .u8 = 2},
    {.op = Op::RELU6, .i8 = 2, .i16 = 3},
    {.op = Op::RESIZE_BILINEAR, .i8 = 2, .i16 = 4},
    {.op = Op::RESIZE_NEAREST_NEIGHBOR, .i8 = 2, .i16 = 4},
    {.op = Op::REVERSE_V2, .i8 = 3, .boolean = 2},
    {.op = Op::RSQRT, .i8 = 2, .i16 = 3},
    {.op = Op::SIGN, .i32 = 2},
    {.op = Op::SLICE, .i8 = 2, .i16 = 4, .u32 = 6},
    {.op = Op::SOFTMAX, .i8 = 2, .i16 = 3},
    {.op = Op::SPACE_TO_BATCH_ND, .i8 = 2, .i16 = 4},
    {.op = Op::SPACE_TO_DEPTH, .i8 = 2},
    {.op = Op::SPLIT_V, .i8 = 2},
    {.op = Op::SQUARED_DIFFERENCE, .i8 = 2},
    {.op = Op::STRIDED_SLICE, .i8 = 2, .boolean = 3, .u32 = 7},
    {.op = Op::SUB, .i8 = 2, .i16 = 5, .i64 = 4},
    {.op = Op::SUM, .i8 = 2},
    {.op = Op::SVDF, .i8 = 3},
    {.op = Op::TANH, .i8 = 2, .i16 = 3},
    {.op = Op::TILE, .i8 = 3},
    {.op = Op::TOPK_V2, .i8 = 2, .i16 = 3},
    {.op = Op::TRANSPOSE, .i8 = 2, .i16 = 5, .boolean = 3},
    {.op = Op::UNPACK, .i8 = 2, .i16 = 4, .u8 = 2, .boolean = 3},
};

int32_t by_type(Op op, DType dtype) {
  for (const TypeRow& row : kByType) {
    if (row.op != op) continue;
    switch (dtype) {
      case DType::I8:
        return std::max<int32_t>(1, row.i8);
      case DType::I16:
        return std::max<int32_t>(1, row.i16);
      case DType::U8:
        return std::max<int32_t>(1, row.u8);
      case DType::Bool:
        return std::max<int32_t>(1, row.boolean);
      case DType::I32:
        return std::max<int32_t>(1, row.i32);
      case DType::I64:
        return std::max<int32_t>(1, row.i64);
      case DType::U32:
        return std::max<int32_t>(1, row.u32);
      default:
        return 1;
    }
  }
  return 1;
}

using Tensors = std::span<const TensorRecord* const>;

DType type_of(Tensors tensors, size_t i) {
  return i < tensors.size() && tensors[i] != nullptr ? tensors[i]->type.dtype : DType::F64;
}
bool is_per_channel(Tensors tensors, size_t i) {
  return i < tensors.size() && tensors[i] != nullptr && tensors[i]->type.quant &&
         tensors[i]->type.quant->per_channel();
}
bool is_quantized(Tensors tensors, size_t i) {
  return i < tensors.size() && tensors[i] != nullptr && tensors[i]->type.quant.has_value();
}
size_t max_rank(Tensors tensors) {
  size_t rank = 0;
  for (const TensorRecord* tensor : tensors)
    if (tensor != nullptr && tensor->type.shape) rank = std::max(rank, tensor->type.shape->rank());
  return rank;
}
bool broadcasts(Tensors tensors) {
  return tensors.size() >= 2 && tensors[0] != nullptr && tensors[1] != nullptr &&
         tensors[0]->type.shape != tensors[1]->type.shape;
}

// Activations and weights of different kinds.
int32_t of_weights(Op op, Tensors in) {
  const DType x = type_of(in, 0), w = type_of(in, 1);
  const bool hybrid = x == DType::F32 && w == DType::I8;
  const bool per_channel = is_per_channel(in, 1);
  switch (op) {
    case Op::CONV_2D:
      if (hybrid) return per_channel ? 5 : 2;
      if (w == DType::I4) return 7;
      return x == DType::I8 ? 3 : x == DType::I16 ? 4 : 1;
    case Op::DEPTHWISE_CONV_2D:
      if (hybrid) return per_channel ? 6 : 4;
      if (w == DType::I4) return 7;
      return x == DType::I8 ? 3 : x == DType::I16 ? 5 : 1;
    default: {  // FULLY_CONNECTED
      const int32_t bias = in.size() < 3 || in[2] == nullptr ? 6 : 1;
      if (hybrid) return std::max(bias, per_channel ? 12 : 3);
      if (w == DType::I4) return 10;
      return std::max(bias, x == DType::I8 ? 4 : x == DType::I16 ? 7 : 1);
    }
  }
}

int32_t of_cast(DType from, DType to) {
  const auto either = [&](DType dtype) { return from == dtype || to == dtype; };
  if (either(DType::BF16)) return 7;
  if (either(DType::I4)) return 6;
  if (either(DType::F64) || either(DType::F16)) return 5;
  if (either(DType::U16)) return 4;
  if (either(DType::I8)) return 3;
  return either(DType::U32) ? 2 : 1;
}

// Conversions between element types, and operators that another tensor than the first decides.
int32_t of_types(Op op, Tensors in, Tensors out) {
  const DType x = type_of(in, 0), y = type_of(out, 0);
  switch (op) {
    case Op::CAST:
      return of_cast(x, y);
    case Op::DEQUANTIZE:
      if (x == DType::I4) return 6;
      if (x == DType::I16 || x == DType::F16) return 3;
      if (x == DType::I8) return is_per_channel(in, 0) ? 5 : 2;
      return 1;
    case Op::QUANTIZE:
      if (x == DType::I4 || y == DType::I4) return 4;
      if (is_per_channel(out, 0)) return 3;
      return y == DType::I16 ? 2 : 1;
    case Op::SPLIT: {
      const DType data = type_of(in, 1);  // operand 0 is the axis
      return data == DType::I16 ? 4 : data == DType::I32 ? 3 : data == DType::I8 ? 2 : 1;
    }
    case Op::FILL: {
      const DType value = type_of(in, 1);
      if (value == DType::F16) return 4;
      return value == DType::I8 || value == DType::I16 ? 3 : value == DType::Bool ? 2 : 1;
    }
    case Op::BROADCAST_TO:
      return x == DType::I8 || x == DType::I16 ? 3 : 2;
    case Op::FLOOR_DIV:
      return x == DType::I8 || x == DType::I16 ? 3 : x == DType::F32 ? 2 : 1;
    case Op::WHERE:
      return x == DType::Bool ? 1 : 2;
    default:  // SELECT_V2
      return type_of(in, 1) == DType::U32 ? 2 : 1;
  }
}

// Later versions take tensors of more dimensions.
int32_t of_rank(Op op, Tensors in) {
  const size_t rank = max_rank(in.first(1));
  const bool broadcasts_many = broadcasts(in) && max_rank(in) > 4;
  switch (op) {
    case Op::TRANSPOSE:
      return rank > 5 ? 6 : rank > 4 ? 4 : 1;
    case Op::SLICE:
      return rank > 4 ? 5 : 1;
    case Op::STRIDED_SLICE:
    case Op::PAD:
    case Op::PADV2:
      return rank > 4 ? 4 : 1;
    case Op::SPACE_TO_BATCH_ND:
    case Op::BATCH_TO_SPACE_ND:
      return rank != 4 ? 3 : 1;
    case Op::DIV:
      return broadcasts_many ? 2 : 1;
    default:  // MAXIMUM, MINIMUM, SUB
      return broadcasts_many ? 3 : 1;
  }
}

// 16-bit numbers without a scale came later than those with one.
int32_t of_plain_int16(Op op) { return op == Op::MUL ? 7 : op == Op::ADD ? 5 : 4; }

bool needs_large_multiplier(Tensors in, Tensors out) {
  return is_quantized(in, 0) && is_quantized(in, 1) && is_quantized(out, 0) &&
         in[0]->type.quant->scales[0] * in[1]->type.quant->scales[0] >=
             out[0]->type.quant->scales[0];
}

}  // namespace

int32_t version_for_types(BuiltinOperator code, Tensors in, Tensors out) {
  const DType x = type_of(in, 0);
  const int32_t version = by_type(code, x);
  switch (code) {
    case Op::CONV_2D:
    case Op::DEPTHWISE_CONV_2D:
    case Op::FULLY_CONNECTED:
      return of_weights(code, in);
    case Op::TRANSPOSE_CONV:
      return in.size() > 3 ? 3 : type_of(in, 1) == DType::I8 ? 2 : version;
    case Op::CAST:
    case Op::DEQUANTIZE:
    case Op::QUANTIZE:
    case Op::SPLIT:
    case Op::FILL:
    case Op::BROADCAST_TO:
    case Op::FLOOR_DIV:
    case Op::WHERE:
    case Op::SELECT_V2:
      return of_types(code, in, out);
    case Op::TRANSPOSE:
    case Op::SLICE:
    case Op::STRIDED_SLICE:
    case Op::PAD:
    case Op::PADV2:
    case Op::SPACE_TO_BATCH_ND:
    case Op::BATCH_TO_SPACE_ND:
    case Op::MAXIMUM:
    case Op::MINIMUM:
    case Op::SUB:
    case Op::DIV:
      return std::max(version, of_rank(code, in));
    case Op::ADD:
    case Op::ABS:
    case Op::MUL:
      if (x == DType::I16 && !is_quantized(in, 0)) return of_plain_int16(code);
      return code == Op::MUL && needs_large_multiplier(in, out) ? std::max(version, 3) : version;
    default:
      return version;
  }
}

}  // namespace ec::tflite
