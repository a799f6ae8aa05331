#include "backend/metal/measure/compare.h"

#include <algorithm>
#include <cmath>

#include "ops/convert.h"

namespace ec::metal {
namespace {

// What the figures end at: infinite results, and results that are equal.
constexpr double kWorstShare = 1e6, kBestSqnr = 120;

}  // namespace

void OutputComparison::add(const Value& expected, const Value& actual) {
  const Reader<double> a(expected.view()), b(actual.view());
  const size_t count = std::min(a.size(), b.size());
  for (size_t i = 0; i < count; ++i) {
    const bool alike = a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]));
    if (std::isfinite(a[i])) {
      largest_ = std::max(largest_, std::abs(a[i]));
      signal_ += a[i] * a[i];
    }
    if (alike) continue;
    const double difference = std::abs(a[i] - b[i]);
    error_ = std::max(error_, std::isfinite(difference) ? difference : HUGE_VAL);
    noise_ += std::isfinite(difference) ? difference * difference : HUGE_VAL;
  }
}

OutputCost OutputComparison::cost(std::string name) const {
  OutputCost cost;
  cost.name = std::move(name);
  if (error_ > 0)
    cost.largest_error = largest_ > 0 ? std::min(kWorstShare, error_ / largest_) : kWorstShare;
  cost.sqnr_db = kBestSqnr;
  if (noise_ > 0 && signal_ > 0)
    cost.sqnr_db = std::clamp(10 * std::log10(signal_ / noise_), -kBestSqnr, kBestSqnr);
  else if (noise_ > 0)
    cost.sqnr_db = -kBestSqnr;
  return cost;
}

}  // namespace ec::metal
