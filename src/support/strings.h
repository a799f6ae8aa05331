// Small text helpers shared by messages, parsers and option handling.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ec {

std::vector<std::string_view> split(std::string_view text, char separator);
std::string_view trim(std::string_view text);
std::string join(std::span<const std::string> parts, std::string_view separator);
std::string to_lower(std::string_view text);
std::optional<int64_t> parse_int(std::string_view text);
std::optional<double> parse_double(std::string_view text);  // also inf, -inf, nan
std::string format_double(double value);                    // shortest text that reads back equal
std::string format_float(float value);

// Printable form of hostile text: control bytes escaped, cut at max_length.
std::string printable(std::string_view text, size_t max_length = 200);

// Up to `count` names close to `wanted` by edit distance (case-insensitive), nearest first.
std::vector<std::string> nearest_names(std::string_view wanted,
                                       std::span<const std::string_view> known, size_t count = 3);
// "did you mean 'a' or 'b'?" or empty.
std::string did_you_mean(std::string_view wanted, std::span<const std::string_view> known);

}  // namespace ec
