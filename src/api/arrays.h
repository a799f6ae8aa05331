// Arrays of .npy files as values.
//
// Element types without a NumPy counterpart: bf16 is raw void data of two bytes (V2), the 8-bit
// floats and f4e2m1 of one (V1), as ml_dtypes writes them; i4 and i2 are int8, u4 and u2 uint8, one
// element each.
#pragma once

#include <cstdint>

#include "formats/npy/npy.h"
#include "ops/value.h"
#include "support/result.h"

namespace ec {

npy::Array array_from_value(const Value& value);
// `wanted` decides between element types that share a form; a form that fits none of the wanted
// type's gives the type of its own ("f64"), for the session to refuse by name.
Result<Value> value_from_array(const npy::Array& array, DType wanted);

// What `run` tells about an output.
struct ValueStatistics {
  double min = 0, max = 0, mean = 0;
  int64_t not_finite = 0;  // left out of the three
  int64_t count = 0;
  int64_t max_at = 0;  // position of the first largest element: the class of a classifier
};
ValueStatistics value_statistics(const Value& value);

}  // namespace ec
