#include "quantize/calibration/array_samples.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ops/convert.h"
#include "support/strings.h"

namespace ec::quantize {
namespace {

struct Form {
  char kind;
  int64_t size;
  DType dtype;
};

constexpr Form kForms[] = {
    {'f', 2, DType::F16}, {'f', 4, DType::F32}, {'f', 8, DType::F64}, {'i', 1, DType::I8},
    {'i', 2, DType::I16}, {'i', 4, DType::I32}, {'i', 8, DType::I64}, {'u', 1, DType::U8},
    {'u', 2, DType::U16}, {'u', 4, DType::U32}, {'u', 8, DType::U64}, {'b', 1, DType::Bool},
};

Error mismatch(const ModelInput& input, const std::string& got, std::string_view hint) {
  return Error(Code::BadCalibrationData, fmt::format("input '{}': got {}, expected {}",
                                                     printable(input.name), got, input.type.text()))
      .hint(std::string(hint));
}

// Elements of one sample; the input's shape is static.
int64_t elements_of(const ModelInput& input) { return *input.type.num_elements(); }

Result<Value> convert(const ConstView& from, const ModelInput& input) {
  const DType to = input.type.dtype;
  std::vector<int64_t> shape = input.type.shape->sizes();
  Buffer buffer = Buffer::allocate(static_cast<size_t>(elements_of(input)) * element_size(to));
  if (!buffer.ok()) return Error(Code::OutOfMemory, "no memory for a calibration sample");
  const MutableView out{to, shape, buffer.data()};
  if (from.dtype == to) {
    std::copy_n(from.data, from.bytes(), buffer.data());
  } else if (is_float(from.dtype) && is_float(to)) {
    const Reader<double> values(from);
    store<double>(out, values.values());
  } else if (is_integer(from.dtype) && is_integer(to) && from.dtype != DType::U64 &&
             to != DType::U64) {
    const Reader<int64_t> values(from);
    for (const int64_t value : values.values())
      if (value < lowest_integer(to) ||
          (value > 0 && static_cast<uint64_t>(value) > highest_integer(to)))
        return Error(Code::BadCalibrationData,
                     fmt::format("input '{}': {} does not fit {}", printable(input.name), value,
                                 dtype_name(to)));
    store<int64_t>(out, values.values());
  } else {
    return mismatch(input, std::string(dtype_name(from.dtype)) + Shape::of(from.shape).text(),
                    "save the array with the input's element type, after preprocessing");
  }
  return Value(to, std::move(shape), std::move(buffer).to_blob());
}

Status check_finite(const Value& value, const ModelInput& input) {
  if (value.dtype != DType::F32) return {};
  for (const float element : value.as<float>())
    if (!std::isfinite(element))
      return Error(Code::BadCalibrationData,
                   fmt::format("input '{}' holds infinity or not-a-number", printable(input.name)))
          .hint("leave the sample out, or find where the value comes from");
  return {};
}

}  // namespace

std::optional<DType> dtype_of_array(const npy::Array& array) {
  for (const Form& form : kForms)
    if (form.kind == array.kind && form.size == array.item_size) return form.dtype;
  return std::nullopt;
}

npy::Array array_of_bytes(DType dtype, std::vector<int64_t> shape, Blob data) {
  npy::Array array{'V', static_cast<int64_t>(element_size(dtype)), std::move(shape),
                   std::move(data)};
  for (const Form& form : kForms)
    if (form.dtype == dtype) array.kind = form.kind;
  return array;
}

Result<npy::Array> raw_form(size_t file_size, const ModelInput& input) {
  const size_t bytes = static_cast<size_t>(elements_of(input)) * element_size(input.type.dtype);
  if (bytes == 0 || file_size % bytes != 0)
    return mismatch(input, fmt::format("{} bytes", file_size),
                    fmt::format("a raw file holds {} bytes per sample: the input's elements, "
                                "little endian",
                                bytes));
  std::vector<int64_t> shape = input.type.shape->sizes();
  shape.insert(shape.begin(), static_cast<int64_t>(file_size / bytes));
  return array_of_bytes(input.type.dtype, std::move(shape), {});
}

std::string array_text(const npy::Array& array) {
  const std::optional<DType> dtype = dtype_of_array(array);
  const std::string type = dtype ? std::string(dtype_name(*dtype))
                                 : fmt::format("raw data of {} bytes", array.item_size);
  return type + Shape::of(array.shape).text();
}

Result<int64_t> count_samples(const npy::Array& array, const ModelInput& input) {
  const std::vector<int64_t> expected = input.type.shape->sizes();
  const std::vector<int64_t>& got = array.shape;
  const auto ends_with = [&](size_t skip_got, size_t skip_expected) {
    return std::equal(got.begin() + static_cast<int64_t>(skip_got), got.end(),
                      expected.begin() + static_cast<int64_t>(skip_expected), expected.end());
  };
  const size_t rank = expected.size();
  if (got == expected) return 1;
  // The input's shape without its batch of one.
  if (rank > 0 && got.size() + 1 == rank && expected[0] == 1 && ends_with(0, 1)) return 1;
  if (got.size() == rank + 1 && got[0] > 0 && ends_with(1, 0)) return got[0];
  if (rank > 0 && got.size() == rank && expected[0] > 0 && got[0] > 0 &&
      got[0] % expected[0] == 0 && ends_with(1, 1))
    return got[0] / expected[0];
  return mismatch(input, array_text(array),
                  "the first dimension may count samples; the others are the input's");
}

Result<Value> sample_at(npy::ArrayFile& file, const ModelInput& input, int64_t index) {
  const npy::Array& array = file.array();
  const std::optional<DType> dtype = dtype_of_array(array);
  if (!dtype) return mismatch(input, array_text(array), "save the array as float32");
  const std::vector<int64_t> shape = input.type.shape->sizes();
  const int64_t bytes = elements_of(input) * array.item_size;
  EC_TRY(const Blob row, file.read(static_cast<uint64_t>(index) * static_cast<uint64_t>(bytes),
                                   static_cast<size_t>(bytes)));
  EC_TRY(Value value, convert({*dtype, shape, row.bytes().data()}, input));
  EC_CHECK_OK(check_finite(value, input));
  return value;
}

Status check_value(const Value& value, const ModelInput& input) {
  const bool fits = value.dtype == input.type.dtype && input.type.shape &&
                    Shape::of(value.shape) == *input.type.shape &&
                    value.data.size() == value.view().bytes();
  if (!fits) return mismatch(input, value.type().text(), "give arrays of the input's type");
  return check_finite(value, input);
}

}  // namespace ec::quantize
