// What the recipes of several families share.
#pragma once

#include <algorithm>

#include "fuzz/op/builder.h"

namespace ec::fuzz {

// Any tensor whose sizes are known; movement does not care for the type.
inline Tensor* anything(Builder& b, int64_t least, int64_t most) {
  return b.random().chance(20) ? b.of_type(b.any_type(), least, most) : b.reals(least, most);
}
inline int64_t axis_of(Builder& b, size_t rank) {
  const auto r = static_cast<int64_t>(rank);
  return b.random().pick(-r, r - 1);
}
inline size_t plain(int64_t axis, size_t rank) {
  return static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(rank) : axis);
}
inline int64_t divisor_of(Builder& b, int64_t n) {
  std::vector<int64_t> divisors;
  for (int64_t d = 1; d <= std::max<int64_t>(n, 1); ++d)
    if (n % d == 0) divisors.push_back(d);
  return b.random().chance(50) ? 1 : b.random().one_of(divisors);
}

// Most weighted sums have none.
template <class A>
void plain_activation(Builder& b, A& attrs) {
  if (b.random().chance(60)) attrs.activation = Activation::None;
}

}  // namespace ec::fuzz
