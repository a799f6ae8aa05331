// A model that is evaluated: samples in, real values out, whatever its types and its order of
// dimensions are.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "driver/jobs.h"
#include "quantize/calibration/sample_source.h"

namespace ec {

struct RealOutput {
  std::vector<int64_t> shape;
  std::vector<float> values;
};

class EvaluatedNetwork {
 public:
  static Result<EvaluatedNetwork> open(const Registry& registry, const ModelRef& model,
                                       const Options& options, DiagnosticSink& sink);

  // How images become its input, where the file says it.
  const std::optional<quantize::Preprocessing>& recorded() const { return recorded_; }
  // The preprocessing is part of the network, as --fold-preprocessing makes it: it takes pixels.
  bool takes_pixels() const { return folded_.has_value(); }
  // The preprocessing that was made part of it.
  const std::optional<quantize::Preprocessing>& folded() const { return folded_; }

  // What samples have to be: the inputs, in real values where they are quantised. An open batch is
  // one.
  const std::vector<quantize::ModelInput>& inputs() const { return inputs_; }
  // Where the sizes allow it, takes the samples of `other`: the same, or images whose channels come
  // first there and last here.
  void read_as(const EvaluatedNetwork& other);
  // Where sizes are open they become those of `other`, a compiled file, in whichever order it has
  // its dimensions.
  void take_sizes(const EvaluatedNetwork& other);
  // Quantised bytes at the input are the pixels themselves; false where it has none.
  bool take_pixels();
  // Samples for inputs().
  void set_samples(std::unique_ptr<quantize::SampleSource> source);
  std::string sample_name(size_t sample) const { return source_->name(sample); }
  // As they were opened.
  quantize::SampleSource& samples() const { return *source_; }

  const std::vector<TensorDescription>& outputs() const { return session_->outputs(); }
  // By output: the dimension along which a softmax made it.
  const std::vector<std::optional<size_t>>& softmax_axes() const { return softmax_axes_; }
  const std::string& device() const { return device_; }

  // Errors: those of reading the sample and of running the model.
  Result<std::vector<RealOutput>> run(size_t sample);
  double run_seconds() const { return seconds_; }

 private:
  std::unique_ptr<Session> session_;
  std::string device_;
  std::optional<quantize::Preprocessing> recorded_, folded_;
  std::vector<quantize::ModelInput> inputs_;
  std::vector<bool> channels_last_;
  std::vector<std::optional<size_t>> softmax_axes_;
  std::unique_ptr<quantize::SampleSource> source_, samples_;
  double seconds_ = 0;
};

// `output` in the order of dimensions of `like`, where it has the same elements with channels last.
RealOutput in_order_of(RealOutput output, const std::vector<int64_t>& like);

}  // namespace ec
