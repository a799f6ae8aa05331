// Models in forked workers: a crash, a hang or a large allocation ends one worker, is written down
// with the model's seed, and another worker goes on behind it.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "fuzz/op/generate.h"
#include "fuzz/op/stages.h"

namespace ec::fuzz {

struct RunOptions {
  uint64_t seed = 1;
  uint64_t count = 1000;
  double seconds = 0;  // 0: until all models ran
  int jobs = 1;
  double cpu_seconds = 10;  // per model
  size_t megabytes = 256;   // per model, beyond what the worker held before
  GenerateOptions generate;
  bool verbose = false;
};

struct SeedFind {
  uint64_t seed = 0;
  std::string subject;  // the op that the model is about
  Find find;
};

struct OpFigures {
  uint64_t models = 0;            // models about this op
  uint64_t tried = 0, taken = 0;  // offered to inference, and accepted
};

struct RunFigures {
  uint64_t models = 0;
  double seconds = 0;
  std::array<uint64_t, 4> by_level = {};
  std::map<std::string, OpFigures> by_op;
  uint64_t restarts = 0;
  std::vector<SeedFind> finds;
};

RunFigures run_models(const RunOptions& options);

}  // namespace ec::fuzz
