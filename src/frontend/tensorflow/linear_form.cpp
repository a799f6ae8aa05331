#include "frontend/tensorflow/linear_form.h"

#include <algorithm>

#include "frontend/known_values.h"
#include "ops/attrs.h"

namespace ec::tf {
namespace {

constexpr int kMaxDepth = 32;

Matrix columns_of(const Matrix& matrix, size_t first, size_t count) {
  Matrix part{matrix.rows, count, {}};
  part.values.reserve(part.rows * count);
  for (size_t row = 0; row < matrix.rows; ++row) {
    const auto start =
        matrix.values.begin() + static_cast<std::ptrdiff_t>(row * matrix.columns + first);
    part.values.insert(part.values.end(), start, start + static_cast<std::ptrdiff_t>(count));
  }
  return part;
}

Matrix rows_of(const Matrix& matrix, size_t first, size_t count) {
  const auto start = matrix.values.begin() + static_cast<std::ptrdiff_t>(first * matrix.columns);
  return {count, matrix.columns,
          std::vector<float>(start, start + static_cast<std::ptrdiff_t>(count * matrix.columns))};
}

LinearForm columns_of(const LinearForm& form, size_t first, size_t count) {
  LinearForm part;
  part.width = count;
  if (form.x) part.x = columns_of(*form.x, first, count);
  if (form.h) part.h = columns_of(*form.h, first, count);
  if (!form.bias.empty())
    part.bias.assign(form.bias.begin() + static_cast<std::ptrdiff_t>(first),
                     form.bias.begin() + static_cast<std::ptrdiff_t>(first + count));
  return part;
}

bool add_to(std::optional<Matrix>& sum, const std::optional<Matrix>& other) {
  if (!other) return true;
  if (!sum) {
    sum = other;
    return true;
  }
  if (sum->rows != other->rows || sum->columns != other->columns) return false;
  for (size_t i = 0; i < sum->values.size(); ++i) sum->values[i] += other->values[i];
  return true;
}

std::optional<int64_t> last_size(const ec::Tensor* tensor) {
  if (!tensor->shape() || tensor->shape()->rank() != 2 || !(*tensor->shape())[1].is_static())
    return std::nullopt;
  return (*tensor->shape())[1].size();
}

}  // namespace

std::optional<Matrix> constant_matrix(const ec::Tensor* tensor) {
  if (tensor == nullptr || !tensor->is_constant() || tensor->dtype() != DType::F32)
    return std::nullopt;
  std::vector<int64_t> sizes = tensor->shape()->sizes();
  while (sizes.size() > 2 && sizes.front() == 1) sizes.erase(sizes.begin());
  if (sizes.empty() || sizes.size() > 2) return std::nullopt;
  if (sizes.size() == 1) sizes.insert(sizes.begin(), 1);
  const auto values = tensor->values<float>();
  return Matrix{static_cast<size_t>(sizes[0]), static_cast<size_t>(sizes[1]),
                std::vector<float>(values.begin(), values.end())};
}

const LinearForm* LinearReader::read(const ec::Tensor* tensor, int depth) {
  if (tensor == nullptr || depth > kMaxDepth) return nullptr;
  auto known = known_.find(tensor);
  if (known == known_.end()) known = known_.emplace(tensor, make(tensor, depth)).first;
  return known->second ? &*known->second : nullptr;
}

std::optional<LinearForm> LinearReader::make(const ec::Tensor* tensor, int depth) {
  if (tensor->is_constant()) {
    const auto vector = constant_matrix(tensor);
    if (!vector || vector->rows != 1) return std::nullopt;
    LinearForm form;
    form.width = vector->columns;
    form.bias = vector->values;
    return form;
  }
  const Operation* op = tensor->producer();
  if (op == nullptr) return std::nullopt;
  switch (op->kind()) {
    case OpKind::MatMul:
      return product(*op);
    case OpKind::Add:
      return sum(*op, depth);
    case OpKind::Split:
    case OpKind::Slice:
      return part(*op, tensor->producer_index(), depth);
    default:
      return std::nullopt;
  }
}

// x * W, h * W, or both of them side by side.
std::optional<LinearForm> LinearReader::product(const Operation& op) const {
  const auto& attrs = op.attrs_as<MatMulAttrs>();
  const ec::Tensor* left = op.input(0);
  if (attrs.transpose_a || attrs.transpose_b || attrs.alpha != 1.0f || op.input(2) != nullptr ||
      attrs.activation != Activation::None || !left->shape() || left->shape()->rank() != 2)
    return std::nullopt;
  auto matrix = constant_matrix(op.input(1));
  if (!matrix || op.input(1)->shape()->rank() != 2) return std::nullopt;
  LinearForm form;
  form.width = matrix->columns;
  if (left == x_) {
    form.x = std::move(matrix);
  } else if (left == h_) {
    form.h = std::move(matrix);
  } else {
    const Operation* join = left->producer();
    if (join == nullptr || join->kind() != OpKind::Concat || join->inputs().size() != 2)
      return std::nullopt;
    const int64_t axis = join->attrs_as<AxisAttrs>().axis;
    const auto first = last_size(join->input(0));
    if ((axis != 1 && axis != -1) || !first || static_cast<size_t>(*first) > matrix->rows)
      return std::nullopt;
    const auto count = static_cast<size_t>(*first);
    const Matrix top = rows_of(*matrix, 0, count),
                 bottom = rows_of(*matrix, count, matrix->rows - count);
    if (join->input(0) == x_ && join->input(1) == h_) {
      form.x = top;
      form.h = bottom;
    } else if (join->input(0) == h_ && join->input(1) == x_) {
      form.h = top;
      form.x = bottom;
    } else {
      return std::nullopt;
    }
  }
  return form;
}

std::optional<LinearForm> LinearReader::sum(const Operation& op, int depth) {
  const LinearForm* a = read(op.input(0), depth + 1);
  const LinearForm* b = read(op.input(1), depth + 1);
  if (a == nullptr || b == nullptr || a->width != b->width) return std::nullopt;
  LinearForm form = *a;
  if (!add_to(form.x, b->x) || !add_to(form.h, b->h)) return std::nullopt;
  if (form.bias.empty()) {
    form.bias = b->bias;
  } else if (!b->bias.empty()) {
    for (size_t i = 0; i < form.bias.size(); ++i) form.bias[i] += b->bias[i];
  }
  return form;
}

// Columns of a form.
std::optional<LinearForm> LinearReader::part(const Operation& op, uint32_t result, int depth) {
  const LinearForm* whole = read(op.input(0), depth + 1);
  const auto& shape = op.input(0)->shape();
  if (whole == nullptr || !shape) return std::nullopt;
  const auto last = static_cast<int64_t>(shape->rank()) - 1;
  const auto width = static_cast<int64_t>(whole->width);
  if (op.kind() == OpKind::Split) {
    const int64_t axis = op.attrs_as<AxisAttrs>().axis;
    const auto parts = static_cast<int64_t>(op.outputs().size());
    if ((axis != last && axis != -1) || op.input(1) != nullptr || width % parts != 0)
      return std::nullopt;
    const auto count = static_cast<size_t>(width / parts);
    return columns_of(*whole, result * count, count);
  }
  const auto starts = known_ints(op.input(1)), ends = known_ints(op.input(2));
  const auto axes = known_ints(op.input(3));
  const auto steps =
      op.input(4) != nullptr ? known_ints(op.input(4)) : std::optional(std::vector<int64_t>{1});
  if (!starts || !ends || !axes || !steps || axes->size() != 1 || (*axes)[0] != last ||
      (*steps)[0] != 1)
    return std::nullopt;
  const auto place = [&](int64_t at) {
    return std::clamp<int64_t>(at < 0 ? at + width : at, 0, width);
  };
  const int64_t from = place((*starts)[0]), to = place((*ends)[0]);
  if (to <= from) return std::nullopt;
  return columns_of(*whole, static_cast<size_t>(from), static_cast<size_t>(to - from));
}

}  // namespace ec::tf
