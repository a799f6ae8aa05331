// What shape arithmetic tells of one element of a result: exact on constants, and on symbols where
// their equality or their sign decides. Everything else is unknown. Truth values are 0 and 1.
#pragma once

#include "ops/shape_values.h"

namespace ec::ops {

Dim known_add(const ShapeElement& a, const ShapeElement& b);
Dim known_sub(const ShapeElement& a, const ShapeElement& b);
Dim known_mul(const ShapeElement& a, const ShapeElement& b);
Dim known_div(const ShapeElement& a, const ShapeElement& b);  // towards zero
Dim known_mod(const ShapeElement& a, const ShapeElement& b);
Dim known_max(const ShapeElement& a, const ShapeElement& b);
Dim known_min(const ShapeElement& a, const ShapeElement& b);
Dim known_lt(const ShapeElement& a, const ShapeElement& b);
Dim known_le(const ShapeElement& a, const ShapeElement& b);
Dim known_gt(const ShapeElement& a, const ShapeElement& b);
Dim known_ge(const ShapeElement& a, const ShapeElement& b);
Dim known_equal(const ShapeElement& a, const ShapeElement& b);
Dim known_and(const ShapeElement& a, const ShapeElement& b);
Dim known_or(const ShapeElement& a, const ShapeElement& b);

}  // namespace ec::ops
