#include "ops/dim_math.h"

#include <algorithm>

namespace ec {

namespace {

// All `count` elements of the operand; those nobody knows are unknown.
Elements elements_of(const InferContext& ctx, size_t i, int64_t count) {
  Elements elements;
  if (const auto values = ctx.int_values(i)) {
    for (const int64_t value : *values) elements.push_back(ShapeElement::constant(value));
  } else if (const auto dims = ctx.dim_values(i)) {
    for (const Dim& dim : *dims) elements.emplace_back(dim);
  }
  elements.resize(static_cast<size_t>(count), Dim::unknown());
  return elements;
}

}  // namespace

std::optional<Elements> tracked_elements(const InferContext& ctx, size_t i) {
  // Integers with quantisation parameters stand for other numbers.
  if (!ctx.has(i) || is_float(ctx.dtype(i)) || ctx.type(i).quant) return std::nullopt;
  const auto count = ctx.type(i).num_elements();
  if (!count || *count > static_cast<int64_t>(kMaxRank)) return std::nullopt;
  return elements_of(ctx, i, *count);
}

Result<std::optional<Elements>> list_operand(const InferContext& ctx, size_t i,
                                             std::string_view what) {
  EC_CHECK_OK(require_integer(ctx, i, what));
  const auto& shape = ctx.shape(i);
  if (shape && shape->rank() != 1)
    return ctx.bad_shape(std::string(what) + " must be a list, got " + operand_text(ctx, i));
  const auto count = ctx.type(i).num_elements();
  if (!count) return std::optional<Elements>{};
  // Pads give two numbers per dimension.
  if (*count > 2 * static_cast<int64_t>(kMaxRank))
    return ctx.bad_value(std::string(what) + " has " + std::to_string(*count) +
                         " elements; tensors have at most " + std::to_string(kMaxRank) +
                         " dimensions");
  return std::optional<Elements>(elements_of(ctx, i, *count));
}

Result<std::optional<std::vector<int64_t>>> known_list(const InferContext& ctx, size_t i,
                                                       std::string_view what) {
  EC_TRY(const std::optional<Elements> elements, list_operand(ctx, i, what));
  std::vector<int64_t> values;
  if (!elements) return std::optional<std::vector<int64_t>>{};
  for (const ShapeElement& element : *elements) {
    if (!element.constant()) return std::optional<std::vector<int64_t>>{};
    values.push_back(*element.constant());
  }
  return std::optional<std::vector<int64_t>>(std::move(values));
}

void track_result(InferContext& ctx, size_t i, const std::vector<Dim>& dims) {
  if (dims.size() > kMaxRank) return;
  const bool any_known =
      std::any_of(dims.begin(), dims.end(), [](const Dim& dim) { return !dim.is_unknown(); });
  if (any_known) ctx.set_dim_values(i, dims);
}

void track_result(InferContext& ctx, size_t i, const Elements& elements) {
  std::vector<Dim> dims;
  for (const ShapeElement& element : elements) dims.push_back(element.dim());
  track_result(ctx, i, dims);
}

Status require_integer(const InferContext& ctx, size_t i, std::string_view what) {
  if (is_integer(ctx.dtype(i))) return {};
  return ctx.bad_type(std::string(what) + " must be of an integer type, got " +
                      operand_text(ctx, i));
}

Status require_scalar(const InferContext& ctx, size_t i, std::string_view what) {
  const auto count = ctx.type(i).num_elements();
  if (!count || *count == 1) return {};
  return ctx.bad_shape(std::string(what) + " must be one element, got " + operand_text(ctx, i));
}

Status require_same_type(const InferContext& ctx, size_t a, size_t b) {
  if (ctx.dtype(a) == ctx.dtype(b)) return {};
  return ctx.bad_type("operands have different element types: " + operand_text(ctx, a) + " and " +
                      operand_text(ctx, b));
}

Status require_within(const InferContext& ctx, const Shape& part, const Shape& whole, int64_t axis,
                      std::string_view what) {
  for (size_t d = 0; d < part.rank(); ++d)
    if (static_cast<int64_t>(d) != axis && part[d].is_static() && whole[d].is_static() &&
        part[d].size() > whole[d].size())
      return ctx.bad_shape(std::string(what) + " " + part.text() + " reach beyond " + whole.text() +
                           " in dimension " + std::to_string(d));
  return {};
}

Status require_rank_limit(const InferContext& ctx, size_t rank) {
  if (rank <= kMaxRank) return {};
  return ctx.bad_shape("result has " + std::to_string(rank) + " dimensions; tensors have at most " +
                       std::to_string(kMaxRank));
}

Result<Dim> merge_dims(const InferContext& ctx, const Dim& a, const Dim& b, std::string_view what) {
  if (a.is_static() && b.is_static() && a.size() != b.size())
    return ctx.bad_shape(std::string(what) + ": sizes " + a.text() + " and " + b.text() +
                         " differ");
  if (a.is_static()) return a;
  if (b.is_static()) return b;
  return a.is_symbol() ? a : b;
}

Dim join_dims(const Dim& a, const Dim& b) { return a.same_size(b) ? a : Dim::unknown(); }

std::optional<Shape> join_shapes(const std::optional<Shape>& a, const std::optional<Shape>& b) {
  if (!a || !b || a->rank() != b->rank()) return std::nullopt;
  Shape joined;
  for (size_t d = 0; d < a->rank(); ++d) joined.push_back(join_dims((*a)[d], (*b)[d]));
  return joined;
}

Result<Dim> add_dims(const InferContext& ctx, const Dim& a, const Dim& b) {
  if (a == Dim(0)) return b;
  if (b == Dim(0)) return a;
  if (!a.is_static() || !b.is_static()) return Dim::unknown();
  const auto sum = checked_add(a.size(), b.size());
  if (!sum) return ctx.bad_shape("a dimension of the result is too large");
  return Dim(*sum);
}

Result<Dim> multiply_dims(const InferContext& ctx, const Dim& a, const Dim& b) {
  if (a == Dim(1) || b == Dim(0)) return b;
  if (b == Dim(1) || a == Dim(0)) return a;
  if (!a.is_static() || !b.is_static()) return Dim::unknown();
  const auto product = checked_mul(a.size(), b.size());
  if (!product) return ctx.bad_shape("a dimension of the result is too large");
  return Dim(*product);
}

void DimProduct::multiply(const Dim& dim) {
  if (dim.is_unknown()) {
    unknown_ = true;
  } else if (dim.is_symbol()) {
    symbols_.push_back(dim);
  } else if (factor_ != 0) {
    // Once a factor is zero the product stays zero, whatever follows.
    if (dim.size() == 0) overflow_ = false;
    const auto product = checked_mul(factor_, dim.size());
    overflow_ = overflow_ || !product;
    factor_ = product.value_or(1);
  }
}

Dim DimProduct::as_dim() const {
  if (factor_ == 0) return Dim(0);
  if (!is_known()) return Dim::unknown();
  if (symbols_.empty()) return Dim(factor_);
  return symbols_.size() == 1 && factor_ == 1 ? symbols_[0] : Dim::unknown();
}

DimProduct::Quotient DimProduct::divide(const DimProduct& divisor, Dim& out) const {
  if (!is_known() || !divisor.is_known()) return Quotient::Open;
  if (divisor.factor_ == 0) return Quotient::Impossible;
  std::vector<Dim> rest = symbols_;
  for (const Dim& symbol : divisor.symbols_) {
    const auto it = std::find(rest.begin(), rest.end(), symbol);
    if (it == rest.end()) return Quotient::Open;
    rest.erase(it);
  }
  if (factor_ == 0) return out = Dim(0), Quotient::Exact;
  if (factor_ % divisor.factor_ != 0) return rest.empty() ? Quotient::Impossible : Quotient::Open;
  const int64_t factor = factor_ / divisor.factor_;
  if (rest.empty()) return out = Dim(factor), Quotient::Exact;
  if (rest.size() == 1 && factor == 1) return out = rest[0], Quotient::Exact;
  return Quotient::Open;
}

bool DimProduct::contradicts(const DimProduct& other) const {
  if (unknown_ || other.unknown_ || !symbols_.empty() || !other.symbols_.empty()) return false;
  if (overflow_ || other.overflow_) return overflow_ != other.overflow_;
  return factor_ != other.factor_;
}

}  // namespace ec
