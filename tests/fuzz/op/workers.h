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

struct OperatorFigures {
  uint64_t files = 0, read = 0;  // files about this operator, and those that became a graph
};

struct RunFigures {
  uint64_t models = 0;
  uint64_t next_seed = 0;  // all models before it ran: where another run goes on
  double seconds = 0;
  std::array<uint64_t, kLevels> by_level = {};
  std::map<std::string, OpFigures> by_op;
  std::map<std::string, OperatorFigures> by_operator;
  std::map<std::string, uint64_t> by_stage;  // how often it began
  uint64_t restarts = 0;
  std::vector<SeedFind> finds;
};

// Ends early, with its figures, on SIGINT and SIGTERM.
RunFigures run_models(const RunOptions& options);

}  // namespace ec::fuzz
