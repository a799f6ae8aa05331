#include "tasks/values.h"

#include <algorithm>

#include "support/strings.h"

namespace ec::tasks {
namespace {

// Rounding of sums of many 16-bit values.
constexpr double kSumTolerance = 0.02;

struct RangeOf {
  Span span;
  bool any = false;

  void add(float value) {
    if (!std::isfinite(value)) return;
    span = any ? Span{std::min(span.least, value), std::max(span.most, value)} : Span{value, value};
    any = true;
  }
};

}  // namespace

std::optional<Matrix> as_matrix(const Tensor& tensor) {
  if (tensor.rank() < 2 || tensor.values.empty()) return std::nullopt;
  for (size_t d = 0; d + 2 < tensor.rank(); ++d)
    if (tensor.shape[d] != 1) return std::nullopt;
  const auto rows = static_cast<size_t>(tensor.shape[tensor.rank() - 2]);
  const auto columns = static_cast<size_t>(tensor.shape[tensor.rank() - 1]);
  return Matrix{tensor.values.data(), rows, columns, columns, 1};
}

Matrix transposed(const Matrix& matrix) {
  return {matrix.data, matrix.columns, matrix.rows, matrix.column_step, matrix.row_step};
}

Span span_of(std::span<const float> values) {
  RangeOf range;
  for (const float value : values) range.add(value);
  return range.span;
}

Span span_of(const Matrix& matrix, size_t first, size_t last) {
  RangeOf range;
  for (size_t row = 0; row < matrix.rows; ++row)
    for (size_t column = first; column < last; ++column) range.add(matrix.at(row, column));
  return range.span;
}

bool is_unit(std::span<const float> values) { return is_unit(span_of(values)); }

bool are_integers(std::span<const float> values) {
  return std::all_of(values.begin(), values.end(), [](float v) {
    return std::isfinite(v) && std::abs(v - std::nearbyint(v)) < 1e-4f;
  });
}

bool rows_sum_to_one(const Matrix& matrix) {
  if (matrix.columns < 2 || !is_unit(span_of(matrix, 0, matrix.columns))) return false;
  for (size_t row = 0; row < matrix.rows; ++row) {
    double sum = 0;
    for (size_t column = 0; column < matrix.columns; ++column) sum += matrix.at(row, column);
    if (!(std::abs(sum - 1) < kSumTolerance)) return false;
  }
  return true;
}

size_t largest_column(const Matrix& matrix, size_t row) {
  size_t best = 0;
  for (size_t column = 1; column < matrix.columns; ++column)
    if (matrix.at(row, column) > matrix.at(row, best)) best = column;
  return best;
}

bool name_has(std::string_view name, std::initializer_list<std::string_view> words) {
  const std::string lower = to_lower(name);
  return std::any_of(words.begin(), words.end(),
                     [&](std::string_view word) { return lower.find(word) != std::string::npos; });
}

}  // namespace ec::tasks
