#include "api/arrays.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "ops/convert.h"

namespace ec {
namespace {

struct Form {
  char kind;
  int64_t size;
  bool operator==(const Form&) const = default;
};

Form form_of(DType dtype) {
  const auto size = static_cast<int64_t>(element_size(dtype));
  switch (dtype) {
    case DType::F32:
    case DType::F16:
    case DType::F64:
      return {'f', size};
    case DType::Bool:
      return {'b', 1};
    default:
      if (is_signed_integer(dtype)) return {'i', size};
      if (is_unsigned_integer(dtype)) return {'u', size};
      return {'V', size};
  }
}

std::optional<DType> plain_type(const Form& form) {
  for (const DType dtype :
       {DType::F32, DType::F16, DType::F64, DType::I8, DType::U8, DType::I16, DType::U16,
        DType::I32, DType::U32, DType::I64, DType::U64, DType::Bool, DType::BF16, DType::F8E4M3FN})
    if (form_of(dtype) == form) return dtype;
  return std::nullopt;
}

// Bytes of types with less than 8 bits must be numbers of those types.
Status check_small_range(const Value& value) {
  const int bits = bit_width(value.dtype);
  if (bits >= 8 || !is_integer(value.dtype)) return {};
  const bool is_signed = is_signed_integer(value.dtype);
  const int low = is_signed ? -(1 << (bits - 1)) : 0;
  const int high = is_signed ? (1 << (bits - 1)) - 1 : (1 << bits) - 1;
  for (const std::byte byte : value.data.bytes()) {
    const int number = is_signed ? static_cast<int8_t>(byte) : static_cast<uint8_t>(byte);
    if (number < low || number > high)
      return Error(Code::InputTypeMismatch,
                   fmt::format("the array holds {}, outside the range of {} ({} to {})", number,
                               dtype_name(value.dtype), low, high));
  }
  return {};
}

}  // namespace

npy::Array array_from_value(const Value& value) {
  const Form form = form_of(value.dtype);
  return {form.kind, form.size, value.shape, value.data};
}

Result<Value> value_from_array(const npy::Array& array, DType wanted) {
  const Form form{array.kind, array.item_size};
  DType dtype = wanted;
  const bool raw = form.kind == 'V' && form.size == static_cast<int64_t>(element_size(wanted)) &&
                   form_of(wanted).kind == 'V';
  if (!raw && form != form_of(wanted)) {
    const std::optional<DType> own = plain_type(form);
    if (!own)
      return Error(Code::InputTypeMismatch,
                   fmt::format("raw data of {} bytes per element where {} is needed", form.size,
                               dtype_name(wanted)));
    dtype = *own;
  }
  Value value(dtype, array.shape, array.data);
  EC_CHECK_OK(check_small_range(value));
  return value;
}

ValueStatistics value_statistics(const Value& value) {
  ValueStatistics statistics;
  std::vector<double> elements(static_cast<size_t>(value.view().count()));
  load<double>(value.view(), elements);
  double sum = 0;
  statistics.min = std::numeric_limits<double>::infinity();
  statistics.max = -statistics.min;
  for (const double element : elements) {
    ++statistics.count;
    if (!std::isfinite(element)) {
      ++statistics.not_finite;
      continue;
    }
    statistics.min = std::min(statistics.min, element);
    if (element > statistics.max) {
      statistics.max = element;
      statistics.max_at = statistics.count - 1;
    }
    sum += element;
  }
  const int64_t finite = statistics.count - statistics.not_finite;
  if (finite == 0) {
    statistics.min = statistics.max = 0;
  } else {
    statistics.mean = sum / static_cast<double>(finite);
  }
  return statistics;
}

}  // namespace ec
