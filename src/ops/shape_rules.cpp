#include "ops/shape_rules.h"

#include <algorithm>

#include "support/rounding.h"

namespace ec::ops {

using E = ShapeElement;

namespace {

// Both constants: f of them; empty otherwise.
template <class F>
std::optional<Dim> fold(const E& a, const E& b, F&& f) {
  if (!a.constant() || !b.constant()) return std::nullopt;
  return dim_or_unknown(f(*a.constant(), *b.constant()));
}
std::optional<int64_t> checked_sub(int64_t a, int64_t b) {
  int64_t difference = 0;
  if (__builtin_sub_overflow(a, b, &difference)) return std::nullopt;
  return difference;
}

// a < b and a <= b as far as constants and the sign of sizes tell.
std::optional<bool> known_less(const E& a, const E& b) {
  if (a.constant() && b.constant()) return *a.constant() < *b.constant();
  if (a.same(b)) return false;
  if (a.is_negative() && b.dim().is_symbol()) return true;
  if (b.constant() && *b.constant() <= 0 && a.dim().is_symbol()) return false;
  return std::nullopt;
}
Dim truth(std::optional<bool> value) { return value ? Dim(*value ? 1 : 0) : Dim::unknown(); }
std::optional<bool> negated(std::optional<bool> value) {
  return value ? std::optional(!*value) : std::nullopt;
}
}  // namespace

Dim known_add(const E& a, const E& b) {
  if (const auto dim = fold(a, b, checked_add)) return *dim;
  return b.is(0) ? a.dim() : a.is(0) ? b.dim() : Dim::unknown();
}
Dim known_sub(const E& a, const E& b) {
  if (const auto dim = fold(a, b, checked_sub)) return *dim;
  return b.is(0) ? a.dim() : a.same(b) ? Dim(0) : Dim::unknown();
}
Dim known_mul(const E& a, const E& b) {
  if (const auto dim = fold(a, b, checked_mul)) return *dim;
  if (a.is(0) || b.is(0)) return 0;
  return b.is(1) ? a.dim() : a.is(1) ? b.dim() : Dim::unknown();
}
Dim known_div(const E& a, const E& b) {
  if (b.is(0)) return Dim::unknown();
  if (const auto dim = fold(a, b, [](int64_t x, int64_t y) { return divide_truncated(x, y); }))
    return *dim;
  return b.is(1) ? a.dim() : a.same(b) ? Dim(1) : Dim::unknown();
}
Dim known_mod(const E& a, const E& b) {
  if (b.is(0)) return Dim::unknown();
  // Signs decide between the two forms of the remainder; sizes have none.
  if (a.is_negative() || b.is_negative()) return Dim::unknown();
  if (const auto dim = fold(a, b, [](int64_t x, int64_t y) { return x % y; })) return *dim;
  return b.is(1) || a.same(b) ? Dim(0) : Dim::unknown();
}
Dim known_max(const E& a, const E& b) {
  if (const auto dim = fold(a, b, [](int64_t x, int64_t y) { return std::max(x, y); })) return *dim;
  if (a.same(b)) return a.dim();
  // Sizes are never negative.
  if (b.constant() && *b.constant() <= 0) return a.dim();
  if (a.constant() && *a.constant() <= 0) return b.dim();
  return Dim::unknown();
}
Dim known_min(const E& a, const E& b) {
  if (const auto dim = fold(a, b, [](int64_t x, int64_t y) { return std::min(x, y); })) return *dim;
  if (a.same(b)) return a.dim();
  if (a.is(0) && b.dim().is_symbol()) return 0;
  if (b.is(0) && a.dim().is_symbol()) return 0;
  return Dim::unknown();
}

Dim known_lt(const E& a, const E& b) { return truth(known_less(a, b)); }
Dim known_gt(const E& a, const E& b) { return truth(known_less(b, a)); }
Dim known_le(const E& a, const E& b) { return truth(negated(known_less(b, a))); }
Dim known_ge(const E& a, const E& b) { return truth(negated(known_less(a, b))); }
Dim known_equal(const E& a, const E& b) {
  if (a.constant() && b.constant()) return *a.constant() == *b.constant() ? 1 : 0;
  if (a.same(b)) return 1;
  const bool apart =
      (a.is_negative() && b.dim().is_symbol()) || (b.is_negative() && a.dim().is_symbol());
  return apart ? Dim(0) : Dim::unknown();
}
Dim known_and(const E& a, const E& b) {
  if (a.is(0) || b.is(0)) return 0;
  return a.is(1) && b.is(1) ? Dim(1) : Dim::unknown();
}
Dim known_or(const E& a, const E& b) {
  if (a.is(1) || b.is(1)) return 1;
  return a.is(0) && b.is(0) ? Dim(0) : Dim::unknown();
}

}  // namespace ec::ops
