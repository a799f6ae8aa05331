#include "quantize/calibration/outliers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "support/budget.h"
#include "support/strings.h"

namespace ec::quantize {
namespace {

// Real inputs differ by tens or hundreds from sample to sample. Magnitudes below one count as one:
// data may be zero for most samples.
constexpr double kAbsurdFactor = 1e4;
constexpr size_t kFewestSamples = 3;
// Beyond this number samples are taken as they are: reading them all would cost more than the
// calibration, which reads some hundreds.
constexpr size_t kMostLookedAt = 4096;
constexpr size_t kMostNamed = 5;

double largest_magnitude(const std::vector<Value>& values) {
  double largest = 0;
  for (const Value& value : values) {
    if (value.dtype != DType::F32) continue;
    for (const float v : value.as<float>()) largest = std::max(largest, std::abs(double{v}));
  }
  return largest;
}

class ChosenSource final : public SampleSource {
 public:
  ChosenSource(SampleSource& source, std::vector<size_t> chosen)
      : source_(source), chosen_(std::move(chosen)) {}
  size_t size() const override { return chosen_.size(); }
  std::string name(size_t index) const override { return source_.name(chosen_[index]); }
  bool holds_images() const override { return source_.holds_images(); }
  Result<std::optional<int64_t>> label(size_t index) override {
    return source_.label(chosen_[index]);
  }
  Measurements* measurements() override { return source_.measurements(); }
  Result<std::vector<Value>> read(size_t index) override { return source_.read(chosen_[index]); }

 private:
  SampleSource& source_;
  std::vector<size_t> chosen_;
};

// Some samples from 0 to 1 and others from 0 to 255 were not normalised alike.
void warn_of_mixed_scales(const SampleSource& source, const std::vector<double>& largest,
                          DiagnosticSink& sink) {
  constexpr double kUnit = 1.0, kBytes = 100.0;
  const auto small =
      std::find_if(largest.begin(), largest.end(), [](double v) { return v > 0 && v <= kUnit; });
  const auto large =
      std::find_if(largest.begin(), largest.end(), [](double v) { return v >= kBytes; });
  const bool others =
      std::any_of(largest.begin(), largest.end(), [](double v) { return v > kUnit && v < kBytes; });
  if (small == largest.end() || large == largest.end() || others) return;
  sink.warn(
      Code::DoubtfulCalibration,
      fmt::format("calibration samples are unlike each other: '{}' holds values up to {:.3g}, "
                  "'{}' up to {:.3g}",
                  printable(source.name(static_cast<size_t>(small - largest.begin()))), *small,
                  printable(source.name(static_cast<size_t>(large - largest.begin()))), *large),
      {}, "normalise all samples alike, as in the training of the model");
}

}  // namespace

std::vector<size_t> absurd_magnitudes(const std::vector<double>& largest) {
  std::vector<size_t> absurd;
  if (largest.size() < kFewestSamples) return absurd;
  std::vector<double> sorted = largest;
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
  std::nth_element(sorted.begin(), middle, sorted.end());
  const double usual = std::max(*middle, 1.0);
  for (size_t i = 0; i < largest.size(); ++i)
    if (largest[i] > kAbsurdFactor * usual) absurd.push_back(i);
  return absurd;
}

Result<std::unique_ptr<SampleSource>> without_outliers(SampleSource& source, DiagnosticSink& sink) {
  if (source.holds_images() || source.size() > kMostLookedAt)
    return std::unique_ptr<SampleSource>();
  std::vector<double> largest;
  for (size_t i = 0; i < source.size(); ++i) {
    EC_CHECK_OK(check_budget());
    // A sample that cannot be read is told of when it is used.
    const Result<std::vector<Value>> values = source.read(i);
    largest.push_back(values ? largest_magnitude(*values) : 0.0);
  }
  warn_of_mixed_scales(source, largest, sink);
  const std::vector<size_t> absurd = absurd_magnitudes(largest);
  if (absurd.empty()) return std::unique_ptr<SampleSource>();
  for (size_t k = 0; k < std::min(absurd.size(), kMostNamed); ++k)
    sink.warn(Code::DoubtfulCalibration,
              fmt::format("calibration sample '{}' holds values up to {:.3g}, far beyond those of "
                          "the others: it is left out",
                          printable(source.name(absurd[k])), largest[absurd[k]]),
              {}, "remove the sample, or find where the value comes from");
  if (absurd.size() > kMostNamed)
    sink.warn(Code::DoubtfulCalibration,
              fmt::format("{} more calibration samples are left out for such values",
                          absurd.size() - kMostNamed));
  std::vector<size_t> chosen;
  for (size_t i = 0; i < largest.size(); ++i)
    if (!std::binary_search(absurd.begin(), absurd.end(), i)) chosen.push_back(i);
  return std::unique_ptr<SampleSource>(std::make_unique<ChosenSource>(source, std::move(chosen)));
}

}  // namespace ec::quantize
