// The type of a tensor: element type, shape (when the rank is known) and quantisation.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/dtype.h"
#include "ir/shape.h"

namespace ec {

// real = scale * (quantised - zero_point). axis >= 0: one scale and zero point per index of that
// axis; axis < 0: one of each for the whole tensor.
struct QuantParams {
  std::vector<float> scales;
  std::vector<int32_t> zero_points;
  int32_t axis = -1;

  bool per_channel() const { return axis >= 0; }
  bool operator==(const QuantParams&) const = default;
};

struct TensorType {
  DType dtype = DType::F32;
  std::optional<Shape> shape;  // empty: not even the rank is known
  std::optional<QuantParams> quant;

  TensorType() = default;
  TensorType(DType d, Shape s) : dtype(d), shape(std::move(s)) {}
  explicit TensorType(DType d) : dtype(d) {}

  bool has_rank() const { return shape.has_value(); }
  bool is_static() const { return shape && shape->is_static(); }
  std::optional<int64_t> num_elements() const {
    return shape ? shape->num_elements() : std::nullopt;
  }
  std::optional<int64_t> num_bytes() const;  // empty when not static or overflowing
  std::string text() const;                  // "f32[N,3,8,8] q(0.5:3)"; "f32[*]" without a rank
  bool operator==(const TensorType&) const = default;
};

}  // namespace ec
