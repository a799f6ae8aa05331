#include "evaluate/evaluated_network.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "ops/convert.h"
#include "quantize/calibration/channels_last.h"
#include "quantize/fold_input/preprocessing_keys.h"
#include "runtime/quantize_input.h"
#include "support/strings.h"

namespace ec {
namespace {

using quantize::Preprocessing;

// Metadata of the graph itself, or of the file that it was read from.
bool is_quantized(const TensorType& type) { return type.quant && is_integer(type.dtype); }

// An open batch is one; other open sizes stay and are refused where samples need them.
TensorType sample_type(const TensorType& type) {
  TensorType result = type;
  result.quant.reset();
  if (is_quantized(type)) result.dtype = DType::F32;
  if (result.shape && result.shape->rank() > 0 && !(*result.shape)[0].is_static())
    (*result.shape)[0] = Dim(1);
  return result;
}

std::vector<int64_t> channels_last(std::vector<int64_t> sizes) {
  std::rotate(sizes.begin() + 1, sizes.begin() + 2, sizes.end());
  return sizes;
}

bool fits(const Shape& own, const std::vector<int64_t>& sizes) {
  if (own.rank() != sizes.size()) return false;
  for (size_t d = 0; d < sizes.size(); ++d)
    if (own[d].is_static() && own[d].size() != sizes[d]) return false;
  return true;
}

Result<Value> quantized_value(const Value& value, const TensorType& type) {
  if (!takes_real_numbers(type) || value.dtype != DType::F32)
    return Error(Code::InputTypeMismatch, "an input with a scale per channel cannot be evaluated")
        .hint("compile the model with --io-type float");
  return quantize_input(value, type);
}

RealOutput real_output(const Value& value, const TensorType& type) {
  RealOutput output{value.shape, std::vector<float>(static_cast<size_t>(value.view().count()))};
  load<float>(value.view(), output.values);
  if (!is_quantized(type) || type.quant->per_channel()) return output;
  const float scale = type.quant->scales[0];
  const auto zero = static_cast<float>(type.quant->zero_points[0]);
  for (float& v : output.values) v = scale * (v - zero);
  return output;
}

}  // namespace

Result<EvaluatedNetwork> EvaluatedNetwork::open(const Registry& registry, const ModelRef& model,
                                                const Options& options, DiagnosticSink& sink) {
  EC_TRY(OpenedSession opened, open_session(registry, model, Verb::Evaluate, options, sink));
  EvaluatedNetwork network;
  network.session_ = std::move(opened.session);
  network.device_ = std::move(opened.device);
  network.softmax_axes_ = std::move(opened.softmax_axes);
  network.recorded_ =
      quantize::recorded_preprocessing(opened.metadata, quantize::kPreprocessingKey);
  network.folded_ =
      quantize::recorded_preprocessing(opened.metadata, quantize::kFoldedPreprocessingKey);
  for (const TensorDescription& input : network.session_->inputs())
    network.inputs_.push_back({input.name, sample_type(input.type)});
  network.channels_last_.resize(network.inputs_.size(), false);
  return network;
}

void EvaluatedNetwork::read_as(const EvaluatedNetwork& other) {
  if (other.inputs_.size() != inputs_.size()) return;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const TensorType& theirs = other.inputs_[i].type;
    TensorType& own = inputs_[i].type;
    if (!theirs.is_static() || !own.shape) continue;
    const std::vector<int64_t> sizes = theirs.shape->sizes();
    const bool same = fits(*own.shape, sizes);
    channels_last_[i] = !same && sizes.size() >= 3 && fits(*own.shape, channels_last(sizes));
    if (!same && !channels_last_[i]) continue;
    own.shape = *theirs.shape;
    inputs_[i].name = other.inputs_[i].name;
  }
}

void EvaluatedNetwork::take_sizes(const EvaluatedNetwork& other) {
  if (other.inputs_.size() != inputs_.size()) return;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const TensorType& theirs = other.inputs_[i].type;
    TensorType& own = inputs_[i].type;
    if (own.is_static() || !own.shape || !theirs.is_static()) continue;
    std::vector<int64_t> sizes = theirs.shape->sizes();
    if (!fits(*own.shape, sizes) && sizes.size() >= 3)
      std::rotate(sizes.begin() + 1, sizes.end() - 1, sizes.end());  // channels first
    if (fits(*own.shape, sizes)) own.shape = Shape::of(sizes);
  }
}

bool EvaluatedNetwork::take_pixels() {
  const TensorType& type = session_->inputs()[0].type;
  const bool bytes = type.dtype == DType::U8 || type.dtype == DType::I8;
  if (inputs_.size() != 1 || !bytes) return false;
  inputs_[0].type.dtype = type.dtype;
  return true;
}

void EvaluatedNetwork::set_samples(std::unique_ptr<quantize::SampleSource> source) {
  source_ = std::move(source);
  samples_ = quantize::channels_last_samples(*source_, channels_last_);
}

Result<std::vector<RealOutput>> EvaluatedNetwork::run(size_t sample) {
  EC_TRY(std::vector<Value> values, samples_->read(sample));
  std::vector<NamedValue> feeds;
  for (size_t i = 0; i < values.size(); ++i) {
    const TensorDescription& input = session_->inputs()[i];
    if (is_quantized(input.type) && values[i].dtype != input.type.dtype) {
      EC_TRY(values[i], quantized_value(values[i], input.type));
    }
    feeds.push_back({input.name, std::move(values[i])});
  }
  // Samples are independent of each other: none starts from the state that another left.
  EC_CHECK_OK(session_->reset());
  const auto start = std::chrono::steady_clock::now();
  Result<std::vector<Value>> results = session_->run(feeds);
  seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (!results)
    return std::move(results).error().note(
        fmt::format("sample '{}'", printable(source_->name(sample))));
  std::vector<RealOutput> outputs;
  for (size_t i = 0; i < results->size(); ++i)
    outputs.push_back(real_output((*results)[i], session_->outputs()[i].type));
  return outputs;
}

RealOutput in_order_of(RealOutput output, const std::vector<int64_t>& like) {
  const bool is_channels_last =
      output.shape != like && like.size() >= 3 && channels_last(like) == output.shape;
  if (!is_channels_last) return output;
  RealOutput result{like, std::vector<float>(output.values.size())};
  const auto batch = static_cast<size_t>(like[0]), channels = static_cast<size_t>(like[1]);
  const size_t area = batch * channels > 0 ? output.values.size() / batch / channels : 0;
  for (size_t n = 0; n < batch; ++n)
    for (size_t c = 0; c < channels; ++c)
      for (size_t i = 0; i < area; ++i)
        result.values[(n * channels + c) * area + i] = output.values[(n * area + i) * channels + c];
  return result;
}

}  // namespace ec
