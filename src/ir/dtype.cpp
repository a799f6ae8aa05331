#include "ir/dtype.h"

#include <array>

namespace ec {
namespace {

struct DTypeInfo {
  std::string_view name;
  uint8_t bytes;
  uint8_t bits;
};

constexpr std::array kInfo = {
#define EC_DTYPE(name, text, bytes, bits) DTypeInfo{text, bytes, bits},
    EC_FOR_EACH_DTYPE(EC_DTYPE)
#undef EC_DTYPE
};

const DTypeInfo& info_of(DType dtype) { return kInfo[static_cast<size_t>(dtype)]; }

}  // namespace

size_t element_size(DType dtype) { return info_of(dtype).bytes; }
int bit_width(DType dtype) { return info_of(dtype).bits; }
std::string_view dtype_name(DType dtype) { return info_of(dtype).name; }

std::optional<DType> dtype_from_name(std::string_view name) {
  for (size_t i = 0; i < kInfo.size(); ++i)
    if (kInfo[i].name == name) return static_cast<DType>(i);
  return std::nullopt;
}

bool is_float(DType dtype) { return info_of(dtype).name[0] == 'f' || dtype == DType::BF16; }
bool is_signed_integer(DType dtype) { return info_of(dtype).name[0] == 'i'; }
bool is_unsigned_integer(DType dtype) { return info_of(dtype).name[0] == 'u'; }
bool is_integer(DType dtype) { return is_signed_integer(dtype) || is_unsigned_integer(dtype); }

int64_t lowest_integer(DType dtype) {
  return is_signed_integer(dtype) ? INT64_MIN >> (64 - bit_width(dtype)) : 0;
}

uint64_t highest_integer(DType dtype) {
  if (dtype == DType::Bool) return 1;
  const int bits = bit_width(dtype) - (is_signed_integer(dtype) ? 1 : 0);
  return UINT64_MAX >> (64 - bits);
}

}  // namespace ec
