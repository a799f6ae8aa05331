// Samples whose measurements are recorded, and the record in place of samples.
#include <fmt/format.h>

#include "quantize/trial/measurements.h"

namespace ec::quantize {
namespace {

// Kept beside the options that describe the data.
const std::string kHoldsImages = "holds-images";

class PlaybackSource final : public SampleSource {
 public:
  explicit PlaybackSource(Measurements& measurements) : measurements_(measurements) {}
  size_t size() const override { return measurements_.num_samples(); }
  std::string name(size_t index) const override { return fmt::format("sample {}", index); }
  bool holds_images() const override { return measurements_.data_option(kHoldsImages) == "yes"; }
  Result<std::vector<Value>> read(size_t) override {
    return statistics_mismatch("the statistics do not hold what this quantisation measures");
  }
  Measurements* measurements() override { return &measurements_; }

 private:
  Measurements& measurements_;
};

class RecordingSource final : public SampleSource {
 public:
  RecordingSource(SampleSource& source, Measurements& measurements)
      : source_(source), measurements_(measurements) {
    measurements.set_num_samples(source.size());
    measurements.set_data_option(kHoldsImages, source.holds_images() ? "yes" : "no");
  }
  size_t size() const override { return source_.size(); }
  std::string name(size_t index) const override { return source_.name(index); }
  bool holds_images() const override { return source_.holds_images(); }
  Result<std::vector<Value>> read(size_t index) override { return source_.read(index); }
  Measurements* measurements() override { return &measurements_; }

 private:
  SampleSource& source_;
  Measurements& measurements_;
};

}  // namespace

std::unique_ptr<SampleSource> played_back_samples(Measurements& measurements) {
  return std::make_unique<PlaybackSource>(measurements);
}

std::unique_ptr<SampleSource> recorded_samples(SampleSource& source, Measurements& measurements) {
  return std::make_unique<RecordingSource>(source, measurements);
}

}  // namespace ec::quantize
