// Which of several candidate ranges serves a tensor best, decided by what it does to the outputs.
#pragma once

#include "quantize/ranges/calibrate.h"
#include "quantize/trial/trial.h"

namespace ec::quantize {

struct ChosenRanges {
  Ranges ranges;
  // Errors with the first candidates of all tensors, the widest, and with those chosen; without
  // signal where nothing was tried.
  OutputError widest, chosen;
  size_t narrowed = 0;  // tensors that have another range than the widest
};

// Tries the candidates of all tensors together first, then of those that operations of one kind
// make, then of one group of tensors at a time, those whose candidates differ most first, until
// `runs` runs of the network are used up. Single groups are chosen by one half of the samples and
// kept where the other half confirms them.
Result<ChosenRanges> choose_ranges(const Graph& graph, const Plan& plan, const CalibrationRun& run,
                                   Trial& trial, size_t runs);

}  // namespace ec::quantize
