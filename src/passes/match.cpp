#include "passes/match.h"

#include <algorithm>
#include <cmath>

#include "ops/convert.h"
#include "ops/op_def.h"

namespace ec {

Operation* produced_by(const Tensor* tensor, OpKind kind) {
  if (tensor == nullptr || tensor->producer() == nullptr) return nullptr;
  return tensor->producer()->kind() == kind ? tensor->producer() : nullptr;
}

bool has_single_use(const Tensor* tensor) {
  if (tensor->uses().size() != 1) return false;
  return !tensor->uses().front().op->graph().is_output(tensor);
}

Operation* only_user(const Tensor* tensor) {
  return has_single_use(tensor) ? tensor->uses().front().op : nullptr;
}

bool is_constant(const Tensor* tensor) { return tensor != nullptr && tensor->is_constant(); }

bool has_quant(const Operation* op) {
  for (const Tensor* tensor : op->inputs())
    if (tensor != nullptr && tensor->type().quant) return true;
  for (const Tensor* tensor : op->outputs())
    if (tensor->type().quant) return true;
  return false;
}

bool is_plain(const Operation* op) { return !has_quant(op); }

std::optional<size_t> rank_of(const Tensor* tensor) {
  if (tensor == nullptr || !tensor->shape()) return std::nullopt;
  return tensor->shape()->rank();
}

std::optional<std::vector<int64_t>> static_shape(const Tensor* tensor) {
  if (tensor == nullptr || !tensor->type().is_static()) return std::nullopt;
  return tensor->shape()->sizes();
}

bool same_shape(const Shape& a, const Shape& b) {
  if (a.rank() != b.rank()) return false;
  for (size_t i = 0; i < a.rank(); ++i)
    if (!a[i].same_size(b[i])) return false;
  return true;
}

bool same_shape(const Tensor* a, const Tensor* b) {
  return a == b || (a->shape() && b->shape() && same_shape(*a->shape(), *b->shape()));
}

bool broadcasts_into(const Shape& other, const Shape& x) {
  if (other.rank() > x.rank()) return false;
  const size_t skip = x.rank() - other.rank();
  for (size_t i = 0; i < other.rank(); ++i)
    if (other[i] != Dim(1) && !other[i].same_size(x[skip + i])) return false;
  return true;
}

bool broadcasts_into(const Tensor* other, const Tensor* x) {
  return other->shape() && x->shape() && broadcasts_into(*other->shape(), *x->shape());
}

namespace {

ConstView view_of(const Tensor* tensor, std::vector<int64_t>& sizes) {
  sizes = tensor->shape()->sizes();
  return ConstView{tensor->dtype(), sizes, tensor->data().bytes().data(), nullptr};
}

}  // namespace

std::optional<double> splat_value(const Tensor* tensor) {
  if (!is_constant(tensor)) return std::nullopt;
  const std::span<const std::byte> bytes = tensor->data().bytes();
  const size_t size = element_size(tensor->dtype());
  if (bytes.size() < size || size == 0) return std::nullopt;
  // Bytes equal to themselves one element on are all equal.
  if (!std::equal(bytes.begin() + static_cast<std::ptrdiff_t>(size), bytes.end(), bytes.begin()))
    return std::nullopt;
  const ConstView first{tensor->dtype(), {}, bytes.data(), nullptr};
  double value = 0;
  load<double>(first, std::span<double>(&value, 1));
  return value;
}

bool is_splat(const Tensor* tensor, double value, double tolerance) {
  const auto splat = splat_value(tensor);
  return splat && std::abs(*splat - value) <= tolerance;
}

std::optional<double> scalar_value(const Tensor* tensor) {
  if (!is_constant(tensor) || tensor->type().num_elements() != 1) return std::nullopt;
  return splat_value(tensor);
}

std::optional<std::vector<int64_t>> int_values(const Tensor* tensor) {
  if (tensor == nullptr) return std::nullopt;
  if (!is_integer(tensor->dtype()) && tensor->dtype() != DType::Bool) return std::nullopt;
  if (tensor->is_constant()) {
    std::vector<int64_t> sizes;
    const ConstView view = view_of(tensor, sizes);
    std::vector<int64_t> values(static_cast<size_t>(view.count()));
    load<int64_t>(view, values);
    return values;
  }
  if (!tensor->dim_values()) return std::nullopt;
  std::vector<int64_t> values;
  for (const Dim& dim : *tensor->dim_values()) {
    if (!dim.is_static()) return std::nullopt;
    values.push_back(dim.size());
  }
  return values;
}

std::vector<float> float_values(const Tensor* tensor) {
  std::vector<int64_t> sizes;
  const ConstView view = view_of(tensor, sizes);
  std::vector<float> values(static_cast<size_t>(view.count()));
  load<float>(view, values);
  return values;
}

std::vector<double> double_values(const Tensor* tensor) {
  std::vector<int64_t> sizes;
  const ConstView view = view_of(tensor, sizes);
  std::vector<double> values(static_cast<size_t>(view.count()));
  load<double>(view, values);
  return values;
}

WithConstant with_constant(const Operation* op) {
  if (op->inputs().size() != 2) return {};
  Tensor* a = op->input(0);
  Tensor* b = op->input(1);
  if (is_constant(b) && !is_constant(a)) return {a, b};
  if (op->def().traits.commutative && is_constant(a) && !is_constant(b)) return {b, a};
  return {};
}

WithScalar with_scalar(const Operation* op) {
  const WithConstant match = with_constant(op);
  if (!match || !broadcasts_into(match.constant, match.x)) return {};
  const auto value = splat_value(match.constant);
  return value ? WithScalar{match.x, *value} : WithScalar{};
}

Operands operand_from(const Operation* op, OpKind kind) {
  if (op->inputs().size() != 2) return {};
  if (Operation* a = produced_by(op->input(0), kind)) return {a, op->input(1)};
  if (Operation* b = produced_by(op->input(1), kind)) return {b, op->input(0)};
  return {};
}

Tensor* other_operand(const Operation* op, const Tensor* x) {
  if (op->inputs().size() != 2) return nullptr;
  if (op->input(0) == x) return op->input(1);
  return op->input(1) == x ? op->input(0) : nullptr;
}

bool near(double value, double expected, double tolerance) {
  return std::abs(value - expected) <= tolerance * std::max(1.0, std::abs(expected));
}

std::optional<std::vector<int64_t>> reduce_axes(const Operation* op) {
  const auto rank = rank_of(op->input(0));
  if (!rank) return std::nullopt;
  std::vector<int64_t> axes;
  if (op->input(1) != nullptr && op->input(1)->type().num_elements() != 0) {
    const auto given = int_values(op->input(1));
    if (!given) return std::nullopt;
    axes = *given;
  }
  if (axes.empty() && !op->attrs_as<ReduceAttrs>().noop_with_empty_axes)
    for (size_t i = 0; i < *rank; ++i) axes.push_back(static_cast<int64_t>(i));
  for (int64_t& axis : axes) axis = positive_axis(axis, *rank);
  std::sort(axes.begin(), axes.end());
  return axes;
}

}  // namespace ec
