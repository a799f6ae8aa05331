#include "ir/type.h"

#include "support/strings.h"

namespace ec {

std::optional<int64_t> TensorType::num_bytes() const {
  const auto count = num_elements();
  if (!count) return std::nullopt;
  return checked_mul(*count, static_cast<int64_t>(element_size(dtype)));
}

std::string TensorType::text() const {
  std::string out(dtype_name(dtype));
  out += shape ? shape->text() : "[*]";
  if (!quant) return out;
  out += " q(";
  if (quant->per_channel()) out += "axis=" + std::to_string(quant->axis) + ",";
  for (size_t i = 0; i < quant->scales.size(); ++i) {
    if (i > 0) out += ",";
    out += format_float(quant->scales[i]) + ":" + std::to_string(quant->zero_points[i]);
  }
  return out + ")";
}

}  // namespace ec
