#include "report/field.h"

namespace ec::report {

std::string_view unit_name(Unit unit) {
  constexpr std::string_view kNames[] = {"",      "count",   "bytes", "ms",
                                         "share", "percent", "dB",    "1/s"};
  return kNames[static_cast<size_t>(unit)];
}

std::string_view certainty_name(Certainty certainty) {
  constexpr std::string_view kNames[] = {"", "exact", "measured", "simulated", "estimated"};
  return kNames[static_cast<size_t>(certainty)];
}

}  // namespace ec::report
