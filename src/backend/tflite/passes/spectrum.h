// Fourier transforms in the form that RFFT2D has: real rows along the dimension before the parts of
// numbers, lengths that are powers of two, then the columns, if any.
#pragma once

#include "ir/graph.h"

namespace ec::passes {

// Whether RFFT2D has transforms of this length.
bool is_row_length(int64_t length);
// The forward transform of real rows.
bool is_row_transform(const Operation* op);
// The forward transform along the columns of what a row transform gives to nobody else.
bool is_column_transform(const Operation* op);
// [..., 2]: the complex result of one of the two.
bool is_spectrum(const Tensor* tensor);
// A magnitude, or the real or imaginary parts, of a spectrum: operators of their own.
bool reads_spectrum(const Operation* op);

}  // namespace ec::passes
