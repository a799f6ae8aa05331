// Counts, sizes and times for people.
#pragma once

#include <cstdint>
#include <string>

namespace ec {

std::string format_count(int64_t value);  // 1234567 -> "1,234,567"
std::string format_bytes(int64_t bytes);  // "3.4 MB"
std::string format_ms(double milliseconds);

}  // namespace ec
