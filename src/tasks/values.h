// What the values of an output tell about its meaning.
#pragma once

#include <cmath>

#include "tasks/task.h"

namespace ec::tasks {

// A matrix inside a tensor: rows and columns with steps of their own, so that [1,N,K] and [1,K,N]
// are read alike.
struct Matrix {
  const float* data = nullptr;
  size_t rows = 0, columns = 0;
  size_t row_step = 0, column_step = 0;

  float at(size_t row, size_t column) const { return data[row * row_step + column * column_step]; }
};
// A tensor of which at most two dimensions are above one, the last two of rank 2 and more; rows
// come first. Empty: it is something else.
std::optional<Matrix> as_matrix(const Tensor& tensor);
Matrix transposed(const Matrix& matrix);

// The range of the finite values of columns first to last - 1.
struct Span {
  float least = 0, most = 0;
  bool within(float low, float high) const { return least >= low && most <= high; }
};
Span span_of(std::span<const float> values);
Span span_of(const Matrix& matrix, size_t first, size_t last);

// Probabilities, up to rounding.
inline bool is_unit(const Span& span) { return span.within(-0.01f, 1.01f); }
bool is_unit(std::span<const float> values);
// Every value is a whole number.
bool are_integers(std::span<const float> values);
// Every row is a distribution: from 0 to 1, with the sum 1.
bool rows_sum_to_one(const Matrix& matrix);
size_t largest_column(const Matrix& matrix, size_t row);

inline float sigmoid(float x) { return 1.0f / (1.0f + std::exp(-x)); }

// Names that contain one of the words, letters of any case.
bool name_has(std::string_view name, std::initializer_list<std::string_view> words);

}  // namespace ec::tasks
