// What the operands of TensorFlow's operators are, as far as a model that means something has them.
#pragma once

#include <string_view>

namespace ec::fuzz {

// A letter for each operand, the last one for all that follow.
//   x   any tensor                        =   the type and shape of the first operand
//   f   floats                            0-5 floats of so many dimensions
//   b   truth values                      c   complex numbers
//   i   small indices                     I   rows of indices
// and constants:
//   a   an axis of the first tensor       A   several axes
//   p   a permutation of its axes         s   its sizes, or others of as many elements
//   P   a pair of paddings for each axis  B   one small number for each axis
//   g   one -1, 1 or 2 for each axis      k   block sizes
//   w   weights of a convolution          d   weights of one filter for each channel
//   v   a number for each channel         S   a height and a width
//   n   a small number                    h   0, or a small number
//   F   a float                           G   two floats
//   X   boxes                             Y   numbers for the boxes
//   C   one box for all classes           D   numbers for boxes and classes
//   u   updates for rows of indices       m   what a variable may be assigned
// and what is no tensor:
//   L   a list of tensors                 V   a variable
//   z   the condition of a branch
std::string_view operands_of(std::string_view op);

}  // namespace ec::fuzz
