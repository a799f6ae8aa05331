#include "quantize/measure/output_comparison.h"

#include <algorithm>

#include "quantize/tuning.h"

namespace ec::quantize {

OutputComparison::OutputComparison(const Graph& graph, const OutputMeaning& meaning)
    : names_(graph.output_names()),
      axes_(softmax_axes(graph)),
      parts_(meaning.parts),
      errors_(names_.size()),
      agreement_(names_.size()),
      by_part_(names_.size()) {
  if (meaning.task != nullptr) task_ = OutputTask::Score(meaning.task);
  for (size_t i = 0; i < std::min(parts_.size(), names_.size()); ++i) {
    // A whole output of plain values is told by its own figures.
    if (axes_[i] || (parts_[i].size() == 1 && parts_[i][0].meaning == PartMeaning::Values))
      continue;
    for (const OutputPart& part : parts_[i])
      by_part_[i].push_back({names_[i] + part_text(part), part.meaning, {}, {}});
  }
}

void OutputComparison::see(const std::vector<Value>& expected, const std::vector<Value>& got) {
  task_.add(expected, got);
  for (size_t i = 0; i < expected.size(); ++i) {
    if (expected[i].dtype != DType::F32 || expected[i].shape != got[i].shape) continue;
    errors_[i].add(expected[i].as<float>(), got[i].as<float>());
    if (const auto lists = score_lists(expected[i].shape, axes_[i]))
      agreement_[i].add(expected[i].as<float>(), got[i].as<float>(), *lists);
    for (size_t p = 0; p < by_part_[i].size(); ++p)
      see_part(parts_[i][p], by_part_[i][p], expected[i], got[i]);
  }
}

void OutputComparison::tell(AccuracyReport& report) const {
  for (size_t i = 0; i < names_.size(); ++i)
    report.outputs.push_back({names_[i], errors_[i], agreement_[i].share(), by_part_[i]});
  report.task = task_.result();
  report.task_loss = task_.loss();
}

void OutputComparison::see_part(const OutputPart& part, PartAccuracy& accuracy,
                                const Value& expected, const Value& got) {
  const auto a = expected.as<float>(), b = got.as<float>();
  for_each_run(part, expected.shape, [&](size_t first, size_t count) {
    const auto run_a = a.subspan(first, count), run_b = b.subspan(first, count);
    if (part.meaning == PartMeaning::Values) {
      accuracy.error.add(run_a, run_b);
      return;
    }
    accuracy.decisions.add(run_a, run_b);
    kept_a_.clear();
    kept_b_.clear();
    for (size_t i = 0; i < count; ++i) {
      if (std::max(run_a[i], run_b[i]) < tuning::kLeastScore) continue;
      kept_a_.push_back(run_a[i]);
      kept_b_.push_back(run_b[i]);
    }
    accuracy.error.add(kept_a_, kept_b_);
  });
}

}  // namespace ec::quantize
