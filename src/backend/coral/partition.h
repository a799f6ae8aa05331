// What of a TFLite file runs on the Edge TPU: one connected stretch that Google's compiler turns
// into a single custom operator; everything before and behind it stays on the CPU.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "backend/coral/support.h"

namespace ec::coral {

struct PlacedOperator {
  size_t index = 0;         // in the file
  std::string op;           // "CONV_2D"
  std::string node;         // its name in the source model, or that of its first result
  std::string result = {};  // the name of its first result
  Verdict verdict;
  int64_t macs = 0;
  int64_t parameter_bytes = 0;

  bool mapped() const { return verdict.status == Status::Mapped; }
};

struct Partition {
  std::vector<PlacedOperator> operators;  // of the main subgraph, in file order
  size_t mapped = 0;
  // The first operator behind the device's stretch that cut the graph: its operands come from the
  // device, but it does not run there. Empty when nothing had to follow.
  std::optional<size_t> cut_by;
};

// Groups alternate between device and CPU, as TFLite forms them for delegates: each takes every
// operator of its kind whose producers are done. The first device group is the one that is mapped.
// `sources`: names of the operators in the source model, by their number; empty ones are unknown.
Partition partition(const tflite::ModelFile& file, const Rules& rules,
                    std::span<const std::string> sources = {});

}  // namespace ec::coral
