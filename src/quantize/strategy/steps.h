// Runs the steps of a strategy in order and records what each took.
#pragma once

#include <chrono>
#include <string>

#include "quantize/strategy/strategy.h"

namespace ec::quantize {

class Steps {
 public:
  Steps(std::span<const StepInfo> steps, QuantizeReport& report) : steps_(steps), report_(report) {}

  // The next step.
  template <class F>
  Status run(F&& f) {
    const auto start = std::chrono::steady_clock::now();
    Status status = f();
    const auto took = std::chrono::steady_clock::now() - start;
    report_.steps.push_back({std::string(steps_[report_.steps.size()].name),
                             std::chrono::duration<double, std::milli>(took).count()});
    return status;
  }

 private:
  std::span<const StepInfo> steps_;
  QuantizeReport& report_;
};

}  // namespace ec::quantize
