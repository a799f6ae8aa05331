#include "quantize/trial/trial.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "analysis/costs.h"
#include "quantize/measure/class_scores.h"
#include "quantize/trial/measurements.h"
#include "quantize/tuning.h"

namespace ec::quantize {
namespace {

// What the noise of parts weighs beside what a task loses.
constexpr double kPartsBesideTask = 0.1;

// A sum over samples and its typical term.
class Average {
 public:
  void add(double of, double value) {
    sum_ += of * value;
    total_ += of;
    if (value <= 0) return;
    logarithms_ += of * std::log(value);
    weight_ += of;
  }
  bool empty() const { return total_ <= 0; }
  double mean() const { return total_ > 0 ? sum_ / total_ : 0; }
  double typical() const { return weight_ > 0 ? std::exp(logarithms_ / weight_) : mean(); }

 private:
  double sum_ = 0, total_ = 0, logarithms_ = 0, weight_ = 0;
};

// Divergence of the probabilities that a softmax makes of `got` from those it makes of `expected`,
// over all lists of scores, as a share of the divergence of equal probabilities for all classes.
double divergence_of(std::span<const float> expected, std::span<const float> got,
                     const ScoreLists& lists) {
  double sum = 0;
  const auto log_sum = [&](std::span<const float> scores, size_t first) {
    float largest = -std::numeric_limits<float>::infinity();
    for (size_t c = 0; c < lists.classes; ++c)
      largest = std::max(largest, scores[first + c * lists.inner]);
    double powers = 0;
    for (size_t c = 0; c < lists.classes; ++c)
      powers += std::exp(static_cast<double>(scores[first + c * lists.inner] - largest));
    return static_cast<double>(largest) + std::log(powers);
  };
  for (size_t row = 0; row < lists.rows; ++row)
    for (size_t i = 0; i < lists.inner; ++i) {
      const size_t first = row * lists.classes * lists.inner + i;
      const double all = log_sum(expected, first), all_got = log_sum(got, first);
      if (!std::isfinite(all) || !std::isfinite(all_got)) continue;  // all of them masked
      for (size_t c = 0; c < lists.classes; ++c) {
        const size_t at = first + c * lists.inner;
        const double logarithm = static_cast<double>(expected[at]) - all;
        const double share = std::exp(logarithm);
        if (share > 0) sum += share * (logarithm - (static_cast<double>(got[at]) - all_got));
      }
    }
  const auto count = static_cast<double>(lists.rows * lists.inner);
  return std::max(0.0, sum / (count * std::log(static_cast<double>(lists.classes))));
}

}  // namespace

double cost_of(const Operation& op) {
  double elements = 0;
  for (const Tensor* output : op.outputs())
    elements += static_cast<double>(output->type().num_elements().value_or(0));
  return tuning::kCostOfElement * elements + static_cast<double>(count_macs(op).value_or(0));
}

double cost_of_run(const Graph& graph) {
  double cost = 0;
  for (const Operation* op : graph.topological()) cost += cost_of(*op);
  return cost;
}

double OutputError::sqnr_db() const {
  if (judged <= 0) return tuning::kBestSqnr;
  return signal <= 0 ? 0 : std::min(tuning::kBestSqnr, 10 * std::log10(signal / judged));
}

OutputError sum_of(std::span<const OutputError> subsets) {
  OutputError sum;
  for (const OutputError& subset : subsets) {
    sum.noise += subset.noise;
    sum.judged += subset.judged;
    sum.signal += subset.signal;
    sum.by_task |= subset.by_task;
    sum.parts.resize(std::max(sum.parts.size(), subset.parts.size()));
    for (size_t i = 0; i < subset.parts.size(); ++i) sum.parts[i] += subset.parts[i];
  }
  return sum;
}

Trial::Trial(const Graph& graph, const Plan& plan, std::shared_ptr<ReferenceOutputs> reference)
    : graph_(graph), plan_(plan), reference_(std::move(reference)) {
  const OutputMeaning& meaning = reference_->meaning();
  if (meaning.task != nullptr && meaning.task->has_difference()) task_ = meaning.task;
  tensors_ = judged_outputs(graph);
  // A task reads the outputs themselves.
  if (task_ != nullptr)
    for (size_t i = 0; i < tensors_.size(); ++i) tensors_[i] = {graph.outputs()[i], std::nullopt};
  const OutputParts& parts = meaning.parts;
  for (size_t i = 0; i < tensors_.size(); ++i) {
    if (tensors_[i].softmax_axis || i >= parts.size())
      judged_.push_back({i, {}, tensors_[i].softmax_axis});
    else
      for (const OutputPart& part : parts[i]) judged_.push_back({i, part, std::nullopt});
  }
}

Result<std::unique_ptr<Trial>> Trial::create(const Graph& graph, const Plan& plan, int threads,
                                             std::shared_ptr<ReferenceOutputs> reference) {
  std::unique_ptr<Trial> trial(new Trial(graph, plan, std::move(reference)));
  const bool small = cost_of_run(graph) <= tuning::kSmallRun;
  trial->team_ =
      std::make_unique<kernels::ThreadPool>(small ? std::min(threads, tuning::kMostRunners) : 1);
  for (int i = 0; i < trial->team_->threads(); ++i) {
    EC_TRY(auto runner,
           RoundedRunner::create(graph, plan, trial->tensors_,
                                 std::make_shared<kernels::ThreadPool>(small ? 1 : threads)));
    trial->runners_.push_back(std::move(runner));
  }
  return trial;
}

Status Trial::add_sample(SampleSource& source, size_t index, double weight) {
  measurements_ = source.measurements();
  if (measurements_ != nullptr && measurements_->playing()) return ++num_samples_, Status();
  EC_TRY(std::vector<Value> sample, source.read(index));
  EC_TRY(std::vector<Value> outputs,
         reference_->of(index, [&] { return runners_[0]->run_exact(sample); }));
  samples_.push_back(std::move(sample));
  weights_.push_back(weight);
  expected_.push_back(std::move(outputs));
  num_samples_ = samples_.size();
  return {};
}

void Trial::keep_samples(size_t count) {
  num_samples_ = std::min(num_samples_, count);
  if (count >= samples_.size()) return;
  samples_.resize(count);
  weights_.resize(count);
  expected_.resize(count);
}

void Trial::keep_telling_samples(size_t count) {
  if (task_ != nullptr && count < samples_.size()) {
    std::vector<std::pair<double, size_t>> order;
    for (size_t i = 0; i < samples_.size(); ++i) {
      const auto own = task_->difference(expected_[i], expected_[i]);
      order.emplace_back(own ? -own->signal : 0, i);
    }
    std::ranges::sort(order);
    const auto reordered = [&](auto& values) {
      auto sorted = values;
      for (size_t i = 0; i < order.size(); ++i) sorted[i] = values[order[i].second];
      values = std::move(sorted);
    };
    reordered(samples_);
    reordered(weights_);
    reordered(expected_);
  }
  keep_samples(count);
}

// Whether one part pays for what the others gain.
static bool loses_a_part(const OutputError& now, const OutputError& before) {
  if (now.by_task) return false;
  if (now.parts.size() < 2 || now.parts.size() != before.parts.size()) return false;
  const double worst = *std::max_element(now.parts.begin(), now.parts.end());
  for (size_t i = 0; i < now.parts.size(); ++i)
    if (now.parts[i] > tuning::kPartLoss * before.parts[i] &&
        now.parts[i] > tuning::kHarmlessPart * worst)
      return true;
  return false;
}

bool is_better(std::span<const OutputError> now, std::span<const OutputError> before,
               const tuning::NoiseFactors& wanted) {
  const OutputError sum = sum_of(now), sum_before = sum_of(before);
  // A subset may hold next to no detections: what helps much may cost it something, but no more
  // than it gains.
  const double gain = sum.by_task && sum.judged > 0 ? sum_before.judged / sum.judged : 1;
  for (size_t i = 0; i < now.size(); ++i)
    if (now[i].judged > std::max(wanted.subset, gain) * before[i].judged) return false;
  return sum.judged < wanted.total * sum_before.judged && !loses_a_part(sum, sum_before);
}

size_t Trial::num_subsets() const {
  return std::clamp<size_t>(num_samples_ / tuning::kSamplesPerSubset, 1, tuning::kMostSubsets);
}
size_t Trial::subset_size(size_t subset) const {
  return (num_samples_ + num_subsets() - 1 - subset) / num_subsets();
}

Result<OutputError> Trial::measure(const Rounding& rounding) {
  return measure_every(rounding, 0, 1);
}
Result<OutputError> Trial::measure_subset(const Rounding& rounding, size_t subset) {
  return measure_every(rounding, subset, num_subsets());
}

Result<OutputError> Trial::measure_every(const Rounding& rounding, size_t subset,
                                         size_t num_subsets) {
  if (measurements_ == nullptr) return run_every(rounding, subset, num_subsets);
  return measurements_->output_error([&] { return run_every(rounding, subset, num_subsets); });
}

// Graphs of their own for roundings with more than one layer; the others apply that layer alone.
Status Trial::prepare(const Rounding& rounding) {
  const auto layers = std::count_if(rounding.weights.begin(), rounding.weights.end(),
                                    [](const IntegerWeights* weights) { return weights; });
  if (layers >= 2 && (rounded_ == nullptr || !rounded_->serves(rounding)))
    rounded_ = RoundedGraph::create(graph_, plan_, rounding);
  for (const auto& runner : runners_) EC_CHECK_OK(runner->use(layers >= 2 ? rounded_ : nullptr));
  return {};
}

// The error of one part over several samples.
class Trial::ErrorOfPart {
 public:
  void add(const SampleError& sample, double of) {
    noise_ += of * sample.noise;
    signal_ += of * sample.signal;
    if (sample.signal > 0) ratios_.add(of, sample.noise / sample.signal);
    if (sample.divergence) divergences_.add(of, *sample.divergence);
  }
  bool empty() const { return signal_ <= 0; }
  double ratio() const { return noise_ / signal_; }
  double judged() const {
    const double noise = std::sqrt(ratio() * ratios_.typical());
    if (divergences_.empty()) return noise;
    return std::sqrt(noise * std::sqrt(divergences_.mean() * divergences_.typical()));
  }

 private:
  double noise_ = 0, signal_ = 0;
  Average ratios_, divergences_;
};

Result<std::vector<Trial::SampleError>> Trial::errors_of(size_t sample, const Rounding& rounding,
                                                         RoundedRunner& runner) const {
  EC_TRY(const std::vector<Value> got, runner.run(samples_[sample], rounding));
  std::vector<SampleError> errors(judged_.size());
  for (size_t i = 0; i < judged_.size(); ++i) {
    const Value& expected = expected_[sample][judged_[i].output];
    const Value& value = got[judged_[i].output];
    if (value.dtype != DType::F32 || value.shape != expected.shape) continue;
    const auto a = expected.as<float>(), b = value.as<float>();
    const PartError error = part_error(judged_[i].part, expected.shape, a, b);
    errors[i].noise = error.noise;
    errors[i].signal = error.signal;
    if (judged_[i].softmax_axis)
      if (const auto lists = score_lists(expected.shape, judged_[i].softmax_axis);
          lists && lists->rows * lists->inner >= tuning::kManyPredictions)
        errors[i].divergence = divergence_of(a, b, *lists);
  }
  if (task_ == nullptr) return errors;
  const auto difference = task_->difference(expected_[sample], got).value_or(tasks::Difference{});
  errors.push_back({difference.noise, difference.signal, std::nullopt});
  return errors;
}

Result<OutputError> Trial::run_every(const Rounding& rounding, size_t subset, size_t num_subsets) {
  EC_CHECK_OK(prepare(rounding));
  std::vector<size_t> chosen;
  for (size_t s = subset; s < samples_.size(); s += num_subsets) chosen.push_back(s);
  std::vector<std::optional<Result<std::vector<SampleError>>>> by_sample(chosen.size());
  team_->parallel_for(static_cast<int64_t>(chosen.size()), [&](int64_t task, int thread) {
    const auto at = static_cast<size_t>(task);
    by_sample[at] = errors_of(chosen[at], rounding, *runners_[static_cast<size_t>(thread)]);
  });
  // Summed in the order of the samples, so that the number of threads does not matter.
  std::vector<ErrorOfPart> parts(judged_.size());
  ErrorOfPart task;
  for (size_t n = 0; n < chosen.size(); ++n) {
    EC_TRY(const std::vector<SampleError> sample, std::move(*by_sample[n]));
    for (size_t i = 0; i < parts.size(); ++i) parts[i].add(sample[i], weights_[chosen[n]]);
    if (sample.size() > parts.size()) task.add(sample.back(), weights_[chosen[n]]);
  }
  OutputError total;
  double squares = 0;
  for (const ErrorOfPart& part : parts) {
    total.parts.push_back(part.empty() ? 0 : part.judged());
    if (part.empty()) continue;
    total.noise += part.ratio();
    squares += total.parts.back() * total.parts.back();
    total.signal = 1;
  }
  // Ratios of noise differ by powers of ten: the root of their squares is little more than the
  // largest, and still falls when another part gains.
  total.judged = parts.size() == 1 ? total.parts[0] : std::sqrt(squares);
  if (task.empty()) return total;
  // Pictures without objects are no more typical of a detector than those with many. Parts decide
  // where there is nothing to detect.
  total.judged = std::hypot(task.ratio(), kPartsBesideTask * total.judged);
  total.signal = 1;
  total.by_task = true;
  return total;
}

}  // namespace ec::quantize
