// Element types. In memory every element takes whole bytes: 4- and 2-bit types hold one element per
// byte (packing is a matter of the file formats), so that data movement needs only an element size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace ec {

// EC_DTYPE(enumerator, text name, bytes per element in memory, bits of the format)
#define EC_FOR_EACH_DTYPE(EC_DTYPE)        \
  EC_DTYPE(F32, "f32", 4, 32)              \
  EC_DTYPE(F16, "f16", 2, 16)              \
  EC_DTYPE(BF16, "bf16", 2, 16)            \
  EC_DTYPE(F64, "f64", 8, 64)              \
  EC_DTYPE(I8, "i8", 1, 8)                 \
  EC_DTYPE(U8, "u8", 1, 8)                 \
  EC_DTYPE(I16, "i16", 2, 16)              \
  EC_DTYPE(U16, "u16", 2, 16)              \
  EC_DTYPE(I32, "i32", 4, 32)              \
  EC_DTYPE(U32, "u32", 4, 32)              \
  EC_DTYPE(I64, "i64", 8, 64)              \
  EC_DTYPE(U64, "u64", 8, 64)              \
  EC_DTYPE(Bool, "bool", 1, 8)             \
  EC_DTYPE(I4, "i4", 1, 4)                 \
  EC_DTYPE(U4, "u4", 1, 4)                 \
  EC_DTYPE(I2, "i2", 1, 2)                 \
  EC_DTYPE(U2, "u2", 1, 2)                 \
  EC_DTYPE(F8E4M3FN, "f8e4m3fn", 1, 8)     \
  EC_DTYPE(F8E4M3FNUZ, "f8e4m3fnuz", 1, 8) \
  EC_DTYPE(F8E5M2, "f8e5m2", 1, 8)         \
  EC_DTYPE(F8E5M2FNUZ, "f8e5m2fnuz", 1, 8) \
  EC_DTYPE(F8E8M0, "f8e8m0", 1, 8)         \
  EC_DTYPE(F4E2M1, "f4e2m1", 1, 4)

enum class DType : uint8_t {
#define EC_DTYPE(name, text, bytes, bits) name,
  EC_FOR_EACH_DTYPE(EC_DTYPE)
#undef EC_DTYPE
};

size_t element_size(DType dtype);  // bytes in memory
int bit_width(DType dtype);        // bits of the format
std::string_view dtype_name(DType dtype);
std::optional<DType> dtype_from_name(std::string_view name);

bool is_float(DType dtype);    // any floating point, storage formats included
bool is_integer(DType dtype);  // bool is not an integer
bool is_signed_integer(DType dtype);
bool is_unsigned_integer(DType dtype);
// Range of an integer type (bool: 0 and 1). Requires is_integer or bool.
int64_t lowest_integer(DType dtype);
uint64_t highest_integer(DType dtype);

template <class T>
constexpr DType dtype_of();
template <>
constexpr DType dtype_of<float>() {
  return DType::F32;
}
template <>
constexpr DType dtype_of<double>() {
  return DType::F64;
}
template <>
constexpr DType dtype_of<int8_t>() {
  return DType::I8;
}
template <>
constexpr DType dtype_of<uint8_t>() {
  return DType::U8;
}
template <>
constexpr DType dtype_of<int16_t>() {
  return DType::I16;
}
template <>
constexpr DType dtype_of<uint16_t>() {
  return DType::U16;
}
template <>
constexpr DType dtype_of<int32_t>() {
  return DType::I32;
}
template <>
constexpr DType dtype_of<uint32_t>() {
  return DType::U32;
}
template <>
constexpr DType dtype_of<int64_t>() {
  return DType::I64;
}
template <>
constexpr DType dtype_of<uint64_t>() {
  return DType::U64;
}
template <>
constexpr DType dtype_of<bool>() {
  return DType::Bool;
}

}  // namespace ec
