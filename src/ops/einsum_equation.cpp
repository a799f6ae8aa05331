#include "ops/einsum_equation.h"

#include <algorithm>
#include <array>

namespace ec {
namespace {

int letter_label(char c) {
  // Upper case before lower case: the order of the implicit output.
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return 26 + (c - 'a');
  return -1;
}

std::optional<std::vector<int>> parse_term(std::string_view text) {
  std::vector<int> labels;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == ' ') continue;
    if (text.substr(i, 3) == "...") {
      if (std::count(labels.begin(), labels.end(), kEllipsis) > 0) return std::nullopt;
      labels.push_back(kEllipsis);
      i += 2;
      continue;
    }
    const int label = letter_label(text[i]);
    if (label < 0) return std::nullopt;
    labels.push_back(label);
  }
  return labels;
}

// Without an arrow the output has the ellipsis, then every letter that occurs exactly once.
std::vector<int> implicit_output(const EinsumEquation& equation) {
  std::array<int, kEinsumLetters> count{};
  bool ellipsis = false;
  for (const auto& term : equation.terms)
    for (const int label : term) {
      if (label == kEllipsis)
        ellipsis = true;
      else
        ++count[static_cast<size_t>(label)];
    }
  std::vector<int> output;
  if (ellipsis) output.push_back(kEllipsis);
  for (int label = 0; label < kEinsumLetters; ++label)
    if (count[static_cast<size_t>(label)] == 1) output.push_back(label);
  return output;
}

}  // namespace

std::optional<EinsumEquation> parse_einsum(std::string_view text) {
  EinsumEquation equation;
  const size_t arrow = text.find("->");
  std::string_view inputs = text.substr(0, arrow);
  while (true) {
    const size_t comma = inputs.find(',');
    auto term = parse_term(inputs.substr(0, comma));
    if (!term) return std::nullopt;
    equation.terms.push_back(std::move(*term));
    if (comma == std::string_view::npos) break;
    inputs.remove_prefix(comma + 1);
  }
  if (arrow == std::string_view::npos) {
    equation.output = implicit_output(equation);
    return equation;
  }
  auto output = parse_term(text.substr(arrow + 2));
  if (!output) return std::nullopt;
  equation.output = std::move(*output);
  return equation;
}

std::vector<int> expand_einsum_term(const std::vector<int>& term, size_t rank, size_t ellipsis) {
  std::vector<int> labels;
  for (const int label : term) {
    if (label != kEllipsis) {
      labels.push_back(label);
      continue;
    }
    const size_t own = rank + 1 - term.size();
    for (size_t i = ellipsis - own; i < ellipsis; ++i)
      labels.push_back(kEinsumLetters + static_cast<int>(i));
  }
  return labels;
}

bool has_ellipsis(const std::vector<int>& term) {
  return std::find(term.begin(), term.end(), kEllipsis) != term.end();
}

}  // namespace ec
