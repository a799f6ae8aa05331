// What the op table states about operands and attributes. The border (ops/border.h) checks these
// statements before inference, kernels, passes or writers see an operation, so that a fact which
// one of them relies on is stated here once. Names are those of the signature and of the attribute
// struct; a test finds the ones that do not exist.
//
//   constexpr Rule kRules[] = {rule::min_rank("x", 3), rule::at_least("groups", 1)};
//   EC_OP_DEF(Conv, .signature = "(x, w) -> y", .summary = "...", .rules = kRules, ...);
#pragma once

#include <cstdint>
#include <string_view>

namespace ec {

enum class RuleKind : uint8_t {
  // Of an operand; unknown shapes pass and are checked again when they are known.
  Rank,         // between low and high
  SameRank,     // as operand `other`
  OneElement,   // of any rank
  Integers,     // element type
  Floats,       // element type; an operand with quantisation parameters stands for real numbers
  Numbers,      // element type: no boolean
  NotNegative,  // known elements
  Positive,     // known elements
  // Of an attribute: a number, or each number of a list.
  Between,      // low to high
  Length,       // entries of a list: low to high
  PerSpatial,   // entries of a list: none, or low for each dimension of `other` beyond two
  Axis,         // of operand `other`: [-rank, rank); made non-negative
  AxisOrEnd,    // [-rank, rank]; made non-negative
  NewAxis,      // of a result with one dimension more: [-rank-1, rank]; made non-negative
  Axes,         // a list of different axes of `other`; made non-negative
  Permutation,  // none, or every axis of `other` once; made non-negative
};

struct Rule {
  RuleKind kind;
  std::string_view subject;  // operand or attribute
  std::string_view other{};  // operand
  int64_t low = 0, high = 0;
};

namespace rule {

// Far beyond any real window, block or count, small enough that products of two fit in int64.
inline constexpr int64_t kLargest = int64_t{1} << 30;
inline constexpr int64_t kAnyRank = 64;

constexpr Rule rank(std::string_view x, int64_t low, int64_t high) {
  return {RuleKind::Rank, x, {}, low, high};
}
constexpr Rule rank(std::string_view x, int64_t exact) { return rank(x, exact, exact); }
constexpr Rule min_rank(std::string_view x, int64_t low) { return rank(x, low, kAnyRank); }
constexpr Rule same_rank(std::string_view x, std::string_view other) {
  return {RuleKind::SameRank, x, other};
}
constexpr Rule one_element(std::string_view x) { return {RuleKind::OneElement, x}; }
constexpr Rule integers(std::string_view x) { return {RuleKind::Integers, x}; }
constexpr Rule floats(std::string_view x) { return {RuleKind::Floats, x}; }
constexpr Rule numbers(std::string_view x) { return {RuleKind::Numbers, x}; }
constexpr Rule not_negative(std::string_view x) { return {RuleKind::NotNegative, x}; }
constexpr Rule positive(std::string_view x) { return {RuleKind::Positive, x}; }

constexpr Rule between(std::string_view attr, int64_t low, int64_t high) {
  return {RuleKind::Between, attr, {}, low, high};
}
constexpr Rule at_least(std::string_view attr, int64_t low) { return between(attr, low, kLargest); }
constexpr Rule length(std::string_view attr, int64_t low, int64_t high) {
  return {RuleKind::Length, attr, {}, low, high};
}
constexpr Rule per_spatial(std::string_view attr, std::string_view x, int64_t each = 1) {
  return {RuleKind::PerSpatial, attr, x, each};
}
constexpr Rule axis(std::string_view attr, std::string_view x) { return {RuleKind::Axis, attr, x}; }
constexpr Rule axis_or_end(std::string_view attr, std::string_view x) {
  return {RuleKind::AxisOrEnd, attr, x};
}
constexpr Rule new_axis(std::string_view attr, std::string_view x) {
  return {RuleKind::NewAxis, attr, x};
}
constexpr Rule axes(std::string_view attr, std::string_view x) { return {RuleKind::Axes, attr, x}; }
constexpr Rule permutation(std::string_view attr, std::string_view x) {
  return {RuleKind::Permutation, attr, x};
}

}  // namespace rule
}  // namespace ec
