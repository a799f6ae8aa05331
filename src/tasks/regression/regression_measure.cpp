#include "tasks/regression/regression_measure.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace ec::tasks::regression {
namespace {

// Outputs of more elements are one quantity, such as a picture.
constexpr size_t kMostColumns = 64;

// Sums over the samples of one quantity; the spread is summed around the first value, so that large
// means do not cancel it.
struct Quantity {
  double first = 0, sum = 0, squares = 0, errors = 0;
  int64_t count = 0;

  void add(double expected, double got) {
    if (count == 0) first = expected;
    const double away = expected - first;
    sum += away;
    squares += away * away;
    errors += (expected - got) * (expected - got);
    ++count;
  }
  // Share of the spread that is explained; empty where all values are the same.
  std::optional<double> r2() const {
    if (count == 0) return std::nullopt;
    const double spread = squares - sum * sum / static_cast<double>(count);
    if (!(spread > 1e-12 * squares) || !(spread > 0)) return std::nullopt;
    return 1 - errors / spread;
  }
};

class RegressionMeasure final : public Measure {
 public:
  explicit RegressionMeasure(size_t outputs) : quantities_(outputs) {}

  void add(Tensors expected, Tensors got) override {
    for (size_t o = 0; o < expected.size(); ++o) {
      const auto e = expected[o].values, g = got[o].values;
      const size_t columns = e.size() <= kMostColumns ? e.size() : 1;
      if (quantities_[o].size() < columns) quantities_[o].resize(columns);
      for (size_t i = 0; i < e.size(); ++i) {
        const double error = std::abs(static_cast<double>(e[i]) - static_cast<double>(g[i]));
        // The original's own overflow says nothing about the changed network.
        if (!std::isfinite(e[i])) continue;
        if (!std::isfinite(g[i])) {
          ++broken_;
          continue;
        }
        quantities_[o][columns == 1 ? 0 : i].add(e[i], g[i]);
        largest_ = std::max(largest_, error);
        absolute_ += error;
        ++count_;
      }
    }
  }

  std::vector<Figure> figures() const override {
    std::vector<Figure> figures;
    if (const std::optional<double> worst = worst_r2())
      figures.push_back({"r2", "R2 of the worst value", *worst, false});
    figures.push_back({"max_error", "largest error", largest_, false});
    figures.push_back({"mean_error", "mean error",
                       count_ > 0 ? absolute_ / static_cast<double>(count_) : 0.0, false});
    if (broken_ > 0)
      figures.push_back({"not_finite", "values that are not finite in the model alone",
                         static_cast<double>(broken_), true});
    return figures;
  }

  std::optional<double> agreement() const override {
    if (broken_ > 0) return 0.0;
    const std::optional<double> worst = worst_r2();
    return worst ? std::optional(std::max(0.0, *worst)) : std::nullopt;
  }

 private:
  std::optional<double> worst_r2() const {
    std::optional<double> worst;
    for (const auto& output : quantities_)
      for (const Quantity& quantity : output)
        if (const std::optional<double> r2 = quantity.r2())
          worst = std::min(worst.value_or(*r2), *r2);
    return worst;
  }

  std::vector<std::vector<Quantity>> quantities_;  // by output and column
  double largest_ = 0, absolute_ = 0;
  int64_t count_ = 0, broken_ = 0;
};

}  // namespace

std::optional<Recognised> recognise(const Interface& interface, Tensors outputs,
                                    const Request& request) {
  const bool forced = request.task == Task::Regression;
  const bool single = std::all_of(outputs.begin(), outputs.end(),
                                  [](const Tensor& output) { return output.values.size() == 1; });
  if (!single && !forced) return std::nullopt;
  Recognised found{Task::Regression, {}, {}, nullptr};
  found.reason = single ? fmt::format("{} of one value for each sample",
                                      outputs.size() == 1 ? "an output" : "outputs")
                        : "chosen by --task";
  found.measure = std::make_unique<RegressionMeasure>(interface.outputs.size());
  return found;
}

}  // namespace ec::tasks::regression
