// Numbers, types and sizes of made TensorFlow files: small ones mostly, and those at the borders.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "formats/tensorflow/model.h"
#include "fuzz/op/model.h"
#include "fuzz/op/random_source.h"

namespace ec::fuzz {

using Dims = std::vector<int64_t>;

struct TensorflowNumbers {
  explicit TensorflowNumbers(RandomSource& random) : random_(random) {}

  int64_t number();
  float real();
  tf::DataType any_type();
  Dims any_dims();
  // The bytes of one element, by what the type holds.
  static std::string element(tf::DataType type, int64_t integer, float number);
  static int64_t count_of(const Dims& dims);

  RandomSource& random_;
};

// Values for the variables w0, w1 and w2 of a SavedModel.
void add_checkpoint(TensorflowNumbers& numbers, Model& model);

}  // namespace ec::fuzz
