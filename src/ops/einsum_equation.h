// The equation of an einsum: its labels, with the ellipsis and the implicit output resolved.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

namespace ec {

// Labels are small integers: letters first, then the dimensions of the ellipsis, outermost first.
inline constexpr int kEinsumLetters = 52;
inline constexpr int kMaxEinsumLabels = kEinsumLetters + 64;
inline constexpr int kEllipsis = -1;

struct EinsumEquation {
  std::vector<std::vector<int>> terms;  // kEllipsis where "..." stands
  std::vector<int> output;
};

// Empty when the text is no equation. Without an arrow the output has the ellipsis, then every
// letter that occurs exactly once, upper case before lower case.
std::optional<EinsumEquation> parse_einsum(std::string_view text);

bool has_ellipsis(const std::vector<int>& term);
// The labels of one operand's dimensions, with the ellipsis written out for its rank; `ellipsis` is
// the largest number of dimensions any ellipsis stands for.
std::vector<int> expand_einsum_term(const std::vector<int>& term, size_t rank, size_t ellipsis);

}  // namespace ec
