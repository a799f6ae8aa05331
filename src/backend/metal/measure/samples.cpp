#include "backend/metal/measure/samples.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "analysis/costs.h"
#include "frontend/flexible_shapes.h"
#include "ops/convert.h"
#include "quantize/calibration/sample_source.h"
#include "runtime/fill.h"

namespace ec::metal {
namespace {

constexpr size_t kMostSamples = 16, kMostForLimit = 100, kRandomSamples = 2;
// Results in single precision are kept for all samples.
constexpr int64_t kMostOutputBytes = int64_t{64} << 20;
// Inputs that are made up take no more: a file of some bytes may name tensors of any size.
constexpr int64_t kMostInputBytes = int64_t{32} << 20;
// Products of a run beyond which random inputs are not worth the time.
constexpr int64_t kManyMacs = 1'000'000'000, kTooManyMacs = 20'000'000'000;

int64_t macs_of(const Graph& graph) {
  int64_t macs = 0;
  for (const Operation* op : graph.topological()) macs += count_macs(*op).value_or(0);
  return macs;
}

size_t most_samples(const Graph& graph, size_t wanted) {
  int64_t bytes = 1;
  for (const Tensor* output : graph.outputs()) bytes += output->type().num_bytes().value_or(0);
  return static_cast<size_t>(
      std::clamp<int64_t>(kMostOutputBytes / bytes, 1, static_cast<int64_t>(wanted)));
}

// [1, H, W, C] as [1, C, H, W].
std::vector<float> channels_first(const std::vector<float>& values, std::span<const int64_t> to) {
  std::vector<float> result(values.size());
  const auto channels = static_cast<size_t>(to[1]);
  const size_t pixels = values.size() / channels;
  for (size_t p = 0; p < pixels; ++p)
    for (size_t c = 0; c < channels; ++c) result[c * pixels + p] = values[p * channels + c];
  return result;
}

// A sample as the package's input takes it: its type, and for images its order of dimensions.
Result<Value> fitted(const Value& given, const Tensor* input) {
  const std::vector<int64_t> shape = input->shape()->sizes();
  if (given.dtype == input->dtype() && given.shape == shape) return given;
  const int64_t count = count_elements(shape);
  if (given.view().count() != count)
    return Error(Code::NotOnTarget, "the samples do not have the shape of the package's inputs");
  std::vector<float> values(static_cast<size_t>(count));
  load<float>(given.view(), values);
  const bool last = shape.size() == 4 && given.shape.size() == 4 && given.shape != shape &&
                    given.shape[3] == shape[1];
  if (last) values = channels_first(values, shape);
  Buffer buffer = Buffer::allocate(static_cast<size_t>(*input->type().num_bytes()));
  if (!buffer.ok()) return Error(Code::OutOfMemory, "not enough memory for the samples");
  store<float>(MutableView{input->dtype(), shape, buffer.data(), nullptr}, values);
  return Value(input->dtype(), shape, std::move(buffer).to_blob());
}

Result<Samples> given_samples(const Graph& graph, quantize::SampleSource& source, size_t wanted) {
  Samples samples{"calibration samples", {}};
  std::vector<size_t> all(source.size());
  std::iota(all.begin(), all.end(), size_t{0});
  for (const size_t s : quantize::evenly_spaced(all, most_samples(graph, wanted))) {
    EC_TRY(const std::vector<Value> given, source.read(s));
    if (given.size() != graph.inputs().size())
      return Error(Code::NotOnTarget, "the samples are not those of the package's inputs");
    std::vector<Value>& sample = samples.values.emplace_back();
    for (size_t i = 0; i < given.size(); ++i) {
      EC_TRY(Value value, fitted(given[i], graph.inputs()[i]));
      sample.push_back(std::move(value));
    }
  }
  return samples;
}

Result<Value> random_value(const Tensor* input, bool pixels, uint64_t seed) {
  const std::vector<int64_t> shape = input->shape()->sizes();
  EC_TRY(Value value, make_value(input->dtype(), shape, Fill::Random, seed));
  if (!pixels || input->dtype() != DType::F32) return value;
  std::vector<float> bytes(value.as<float>().begin(), value.as<float>().end());
  for (float& byte : bytes) byte = std::floor(byte * 256);
  return Value::of<float>(shape, bytes);
}

Result<Samples> random_samples(const Graph& graph, std::span<const CoremlImageInput> images) {
  const int64_t macs = macs_of(graph);
  if (macs > kTooManyMacs)
    return Error(Code::NotOnTarget,
                 "a run takes more than 20 billion products; give --calibration-data");
  int64_t bytes = 0;
  for (const Tensor* input : graph.inputs()) {
    bytes += std::min(input->type().num_bytes().value_or(kMostInputBytes + 1), kMostInputBytes + 1);
    if (bytes > kMostInputBytes)
      return Error(Code::NotOnTarget, "the inputs take more than 32 MB; give --calibration-data");
  }
  Samples samples{"random inputs", {}};
  const size_t count = macs > kManyMacs ? 1 : most_samples(graph, kRandomSamples);
  for (size_t s = 0; s < count; ++s) {
    std::vector<Value>& sample = samples.values.emplace_back();
    for (size_t i = 0; i < graph.inputs().size(); ++i) {
      const Tensor* input = graph.inputs()[i];
      const bool pixels = std::ranges::any_of(
          images, [&](const CoremlImageInput& image) { return image.name == input->name(); });
      EC_TRY(Value value, random_value(input, pixels, 1 + s * graph.inputs().size() + i));
      sample.push_back(std::move(value));
    }
  }
  return samples;
}

}  // namespace

Result<Samples> samples_of(const Graph& graph, quantize::SampleSource* source,
                           std::span<const CoremlImageInput> images, bool for_limit) {
  // Open sizes are measured at their default.
  if (const auto inputs = flexible_inputs(graph); !inputs.empty()) {
    EC_TRY(const std::unique_ptr<Graph> fixed, with_shapes(graph, admitted_shapes(inputs).front()));
    if (source == nullptr) return random_samples(*fixed, images);
    return given_samples(*fixed, *source, for_limit ? kMostForLimit : kMostSamples);
  }
  for (const Tensor* input : graph.inputs())
    if (!input->type().is_static()) return Error(Code::NotOnTarget, "sizes of the inputs are open");
  if (source == nullptr) return random_samples(graph, images);
  return given_samples(graph, *source, for_limit ? kMostForLimit : kMostSamples);
}

}  // namespace ec::metal
