// Sums of products with constant matrices: x * X + h * H + bias, as the gates of recurrent cells
// have them. The matrices are known numbers, so that slices and sums of forms are forms again.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <vector>

#include "ir/graph.h"

namespace ec::tf {

struct Matrix {
  size_t rows = 0, columns = 0;
  std::vector<float> values;  // row by row
};

struct LinearForm {
  size_t width = 0;
  std::optional<Matrix> x, h;  // [size of x or h, width]
  std::vector<float> bias;     // empty: zeros
};

// Reads forms in a graph where `x` and `h` stand for the two vectors.
class LinearReader {
 public:
  LinearReader(const ec::Tensor* x, const ec::Tensor* h) : x_(x), h_(h) {}
  // Null: the tensor is none.
  const LinearForm* read(const ec::Tensor* tensor) { return read(tensor, 0); }

 private:
  const LinearForm* read(const ec::Tensor* tensor, int depth);
  std::optional<LinearForm> make(const ec::Tensor* tensor, int depth);
  std::optional<LinearForm> product(const Operation& op) const;
  std::optional<LinearForm> part(const Operation& op, uint32_t result, int depth);
  std::optional<LinearForm> sum(const Operation& op, int depth);

  const ec::Tensor* x_;
  const ec::Tensor* h_;
  std::map<const ec::Tensor*, std::optional<LinearForm>> known_;  // looked up only
};

// A constant of f32 with this many dimensions as a matrix; a vector is one row.
std::optional<Matrix> constant_matrix(const ec::Tensor* tensor);

}  // namespace ec::tf
