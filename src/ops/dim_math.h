// Shape arithmetic: what inference can say about the elements of integer operands (shapes, axes,
// starts), and products of dimensions with equal symbols cancelled.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "ops/infer.h"
#include "ops/shape_values.h"

namespace ec {

// No real model comes near; a limit keeps the cost of hostile ones linear.
inline constexpr size_t kMaxRank = 64;

using Elements = std::vector<ShapeElement>;
inline Elements unknown_elements(size_t count) { return Elements(count, Dim::unknown()); }

// The elements of a list operand (rank 1, integers, at most kMaxRank of them); empty when not even
// their number is known. `what` names the operand in messages.
Result<std::optional<Elements>> list_operand(const InferContext& ctx, size_t i,
                                             std::string_view what);
// As list_operand, when all elements are known values.
Result<std::optional<std::vector<int64_t>>> known_list(const InferContext& ctx, size_t i,
                                                       std::string_view what);
// The elements of any short integer operand, for tracking values through data movement.
std::optional<Elements> tracked_elements(const InferContext& ctx, size_t i);
// Records the result's elements when any of them is known.
void track_result(InferContext& ctx, size_t i, const std::vector<Dim>& dims);
void track_result(InferContext& ctx, size_t i, const Elements& elements);

// Operand i has an integer type.
Status require_integer(const InferContext& ctx, size_t i, std::string_view what);
// Operand i holds one element, as far as its shape is known.
Status require_scalar(const InferContext& ctx, size_t i, std::string_view what);
Status require_same_type(const InferContext& ctx, size_t a, size_t b);
// Apart from `axis`, no dimension of `part` is larger than that of `whole`; of equal ranks.
Status require_within(const InferContext& ctx, const Shape& part, const Shape& whole, int64_t axis,
                      std::string_view what);
Status require_rank_limit(const InferContext& ctx, size_t rank);

// Two statements about one size: the better one, or an error when they contradict.
Result<Dim> merge_dims(const InferContext& ctx, const Dim& a, const Dim& b, std::string_view what);
// What holds for both: the same size, else unknown.
Dim join_dims(const Dim& a, const Dim& b);
std::optional<Shape> join_shapes(const std::optional<Shape>& a, const std::optional<Shape>& b);

Result<Dim> add_dims(const InferContext& ctx, const Dim& a, const Dim& b);
Result<Dim> multiply_dims(const InferContext& ctx, const Dim& a, const Dim& b);

// A product of dimensions: number x symbols, or not known.
class DimProduct {
 public:
  void multiply(const Dim& dim);
  bool is_known() const { return !unknown_ && !overflow_; }
  bool overflows() const { return overflow_; }
  // The product as one dimension; unknown when it has no such form.
  Dim as_dim() const;

  enum class Quotient { Exact, Open, Impossible };
  // this / divisor, with equal symbols cancelled: Exact gives `out`; Open: cannot be told;
  // Impossible: known not to divide.
  Quotient divide(const DimProduct& divisor, Dim& out) const;
  // Both are known (perhaps too large for an integer), and different.
  bool contradicts(const DimProduct& other) const;

 private:
  int64_t factor_ = 1;
  std::vector<Dim> symbols_;
  bool unknown_ = false;
  bool overflow_ = false;
};

}  // namespace ec
