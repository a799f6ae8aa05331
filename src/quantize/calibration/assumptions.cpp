#include "quantize/calibration/assumptions.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "quantize/calibration/picture_fit.h"
#include "support/strings.h"
#include "tasks/task_scorer.h"

namespace ec::quantize {
namespace {

// So many pictures tell what the others are like.
constexpr size_t kLookedAt = 8;
// Detectors lose objects at the sides where the crop takes more than this share of a picture.
constexpr double kLargestCut = 0.05;
constexpr size_t kFewSamples = 16;

std::vector<size_t> looked_at(size_t count) {
  std::vector<size_t> all(count);
  for (size_t i = 0; i < count; ++i) all[i] = i;
  return evenly_spaced(all, kLookedAt);
}

struct Look {
  double min = std::numeric_limits<double>::infinity(), max = -min;
  double sum = 0, squares = 0;
  size_t count = 0;

  void add(const Value& value) {
    for (const float v : value.as<float>()) {
      const auto x = static_cast<double>(v);
      min = std::min(min, x);
      max = std::max(max, x);
      sum += x;
      squares += x * x;
    }
    count += value.as<float>().size();
  }
  double mean() const { return sum / static_cast<double>(count); }
  double deviation() const {
    return std::sqrt(std::max(0.0, squares / static_cast<double>(count) - mean() * mean()));
  }
};

// What the first float input that takes pictures gets.
void warn_of_normalisation(const AssumedData& data, DiagnosticSink& sink) {
  const std::vector<ModelInput>& inputs = *data.inputs;
  const auto image = std::find_if(inputs.begin(), inputs.end(), [&](const ModelInput& input) {
    return input.type.dtype == DType::F32 && image_form(input, data.preprocessing).ok();
  });
  if (image == inputs.end()) return;
  Look look;
  for (const size_t index : looked_at(data.samples->size()))
    if (const Result<std::vector<Value>> sample = data.samples->read(index))
      look.add((*sample)[static_cast<size_t>(image - inputs.begin())]);
  if (look.count == 0) return;  // told when the samples are used
  sink.warn(Code::DoubtfulCalibration,
            fmt::format("neither --mean nor --std is given: input '{}' gets pixels from 0 to {} "
                        "(values {:.3g} to {:.3g}, mean {:.3g}, deviation {:.3g})",
                        printable(image->name), data.preprocessing.effective_range(), look.min,
                        look.max, look.mean(), look.deviation()),
            {},
            "give what the network was trained with: often --mean 0.485,0.456,0.406 --std "
            "0.229,0.224,0.225, or --mean 127.5 --std 127.5; --pixel-range 1 or 255 says that "
            "pixels as they are are meant");
}

void warn_of_crop(const AssumedData& data, DiagnosticSink& sink) {
  if (data.preprocessing.resize != ResizeMode::Crop) return;
  double largest = 0;
  std::string name;
  for (const ModelInput& input : *data.inputs) {
    const Result<ImageForm> form = image_form(input, data.preprocessing);
    if (!form) continue;
    for (const size_t index : looked_at(data.samples->size())) {
      const Result<image::Image> picture = image::load(data.samples->name(index));
      if (!picture) continue;
      const PictureFit fit =
          picture_fit(picture->width, picture->height, *form, data.preprocessing);
      const double kept = static_cast<double>(form->width) * static_cast<double>(form->height) /
                          (static_cast<double>(fit.width) * static_cast<double>(fit.height));
      if (1 - kept <= largest) continue;
      largest = 1 - kept;
      name = data.samples->name(index);
    }
    break;
  }
  if (largest <= kLargestCut) return;
  sink.warn(Code::DoubtfulCalibration,
            fmt::format("the network finds objects, and pictures are cropped to its input: up to "
                        "{:.0f} % of a picture is cut off ('{}')",
                        100 * largest, printable(name)),
            {},
            "show it whole pictures as in training: --resize letterbox, or --resize stretch; "
            "--resize crop says that the crop is meant");
}

}  // namespace

void warn_of_preprocessing(const AssumedData& data, DiagnosticSink& sink) {
  if (!data.samples->holds_images() || data.samples->size() == 0) return;
  if (!data.normalisation_given) warn_of_normalisation(data, sink);
  if (!data.resize_given && data.finds_objects) warn_of_crop(data, sink);
}

bool finds_objects(const std::vector<std::string>& names, const std::vector<Value>& outputs,
                   const std::vector<ModelInput>& inputs, const Preprocessing& preprocessing) {
  std::vector<tasks::Tensor> views;
  for (const Value& value : outputs) {
    if (value.dtype != DType::F32) return false;
    views.push_back({value.shape, value.as<float>()});
  }
  tasks::Interface interface;
  interface.outputs = names;
  for (const ModelInput& input : inputs)
    if (const auto form = image_form(input, preprocessing)) {
      interface.batch = form->batch;
      interface.height = form->height;
      interface.width = form->width;
      break;
    }
  tasks::TaskScorer scorer(std::move(interface), {});
  return !views.empty() && scorer.recognise(views).ok() && scorer.task() == tasks::Task::Detection;
}

void warn_of_few_samples(size_t available, size_t wanted, DiagnosticSink& sink) {
  const size_t count = wanted > 0 ? std::min(wanted, available) : available;
  if (count == 0 || count >= kFewSamples) return;
  sink.warn(Code::DoubtfulCalibration,
            fmt::format("the ranges of activations come from {} sample{} alone", count,
                        count == 1 ? "" : "s"),
            {}, "give some hundred examples like those that the network will meet");
}

}  // namespace ec::quantize
