#include "tasks/sequence/sequence_measure.h"

#include <fmt/format.h>

#include <algorithm>

#include "tasks/values.h"

namespace ec::tasks::sequence {
namespace {

constexpr size_t kLeastTokens = 16, kManyTokens = 1000;
constexpr size_t kLeastSteps = 2;
// Bounds the edit distance: 4,096 steps against as many.
constexpr size_t kMostSteps = 4096;
// CTC answers with a blank between tokens, so most often.
constexpr double kBlankShare = 0.3;

using Tokens = std::vector<int32_t>;

struct Form {
  bool numbered = false;  // the output holds tokens
  int32_t blank = -1;     // of CTC; -1: none
};

// Scores of tokens, a row for each step: [1,T,V], or [T,1,V] as recurrent networks give it.
std::optional<Matrix> steps_of(const Tensor& tensor) {
  if (tensor.rank() == 3 && tensor.shape[1] == 1 && tensor.shape[0] > 1 && !tensor.values.empty()) {
    const auto tokens = static_cast<size_t>(tensor.shape[2]);
    return Matrix{tensor.values.data(), static_cast<size_t>(tensor.shape[0]), tokens, tokens, 1};
  }
  return as_matrix(tensor);
}

Tokens tokens_of(const Tensor& tensor, const Form& form) {
  Tokens tokens;
  if (form.numbered) {
    for (const float value : tensor.values.first(std::min(kMostSteps, tensor.values.size())))
      tokens.push_back(std::abs(value) < 1e9f ? static_cast<int32_t>(std::nearbyint(value)) : -1);
    return tokens;
  }
  const std::optional<Matrix> steps = steps_of(tensor);
  if (!steps) return tokens;
  int32_t before = -1;
  for (size_t step = 0; step < std::min(kMostSteps, steps->rows); ++step) {
    const auto token = static_cast<int32_t>(largest_column(*steps, step));
    const bool repeats = form.blank >= 0 && token == before;
    if (!repeats && token != form.blank) tokens.push_back(token);
    before = token;
  }
  return tokens;
}

// Insertions, deletions and replacements that make one sequence of the other.
int64_t edit_distance(const Tokens& a, const Tokens& b) {
  std::vector<int64_t> row(b.size() + 1);
  for (size_t k = 0; k <= b.size(); ++k) row[k] = static_cast<int64_t>(k);
  for (size_t i = 1; i <= a.size(); ++i) {
    int64_t diagonal = row[0];
    row[0] = static_cast<int64_t>(i);
    for (size_t k = 1; k <= b.size(); ++k) {
      const int64_t above = row[k];
      row[k] = std::min({above + 1, row[k - 1] + 1, diagonal + (a[i - 1] == b[k - 1] ? 0 : 1)});
      diagonal = above;
    }
  }
  return row[b.size()];
}

class SequenceMeasure final : public Measure {
 public:
  explicit SequenceMeasure(Form form) : form_(form) {}

  void add(Tensors expected, Tensors got) override {
    const Tokens e = tokens_of(expected[0], form_), g = tokens_of(got[0], form_);
    const int64_t edits = edit_distance(e, g);
    edits_ += edits;
    tokens_ += static_cast<int64_t>(e.size());
    equal_ += edits == 0 ? 1 : 0;
    ++samples_;
  }

  std::vector<Figure> figures() const override {
    std::vector<Figure> figures;
    if (const std::optional<double> share = agreement())
      figures = {{"token_agreement", "1 - edits per token of the reference", *share, false},
                 {"equal_sequences", "share of equal sequences",
                  static_cast<double>(equal_) / static_cast<double>(samples_), false}};
    figures.push_back({"edits", "edit distance, all samples", static_cast<double>(edits_), true});
    figures.push_back({"tokens", "tokens of the reference", static_cast<double>(tokens_), true});
    return figures;
  }

  std::optional<double> agreement() const override {
    if (samples_ == 0) return std::nullopt;
    if (tokens_ == 0) return edits_ == 0 ? 1.0 : 0.0;
    return std::max(0.0, 1 - static_cast<double>(edits_) / static_cast<double>(tokens_));
  }

 private:
  Form form_;
  int64_t edits_ = 0, tokens_ = 0, equal_ = 0, samples_ = 0;
};

bool are_log_probabilities(const Matrix& steps) {
  for (size_t step = 0; step < steps.rows; ++step) {
    double sum = 0;
    for (size_t token = 0; token < steps.columns; ++token)
      sum += std::exp(static_cast<double>(steps.at(step, token)));
    if (!(std::abs(sum - 1) < 0.02)) return false;
  }
  return true;
}

int32_t blank_of(const Matrix& steps) {
  for (const size_t token : {size_t{0}, steps.columns - 1}) {
    size_t count = 0;
    for (size_t step = 0; step < steps.rows; ++step) count += largest_column(steps, step) == token;
    if (static_cast<double>(count) >= kBlankShare * static_cast<double>(steps.rows))
      return static_cast<int32_t>(token);
  }
  return -1;
}

}  // namespace

std::optional<Recognised> recognise(const Interface& interface, Tensors outputs,
                                    const Request& request) {
  const bool forced = request.task == Task::Sequence;
  if (!forced && outputs.size() != 1) return std::nullopt;
  const Tensor& tensor = outputs[0];
  const std::optional<Matrix> steps = steps_of(tensor);
  Form form;
  std::string what;
  if (forced && !tensor.values.empty() && are_integers(tensor.values)) {
    form.numbered = true;
    what = fmt::format("{} tokens", tensor.values.size());
  } else {
    if (!steps || tensor.rank() != 3) return std::nullopt;
    const bool recurrent = tensor.shape[1] == 1;
    if (!forced && (steps->rows < kLeastSteps || steps->columns < kLeastTokens ||
                    (!recurrent && steps->columns < kManyTokens && !rows_sum_to_one(*steps) &&
                     !are_log_probabilities(*steps))))
      return std::nullopt;
    form.blank = blank_of(*steps);
    what = fmt::format("scores of {} tokens at {} steps", steps->columns, steps->rows);
    if (form.blank >= 0)
      what += fmt::format(", token {} is most frequent and taken for CTC's blank", form.blank);
  }
  Recognised found{Task::Sequence, form.blank >= 0 ? "CTC" : "", {}, nullptr};
  found.reason =
      fmt::format("output '{}' {}: {}", interface.outputs[0], shape_text(tensor.shape), what);
  found.measure = std::make_unique<SequenceMeasure>(form);
  return found;
}

}  // namespace ec::tasks::sequence
