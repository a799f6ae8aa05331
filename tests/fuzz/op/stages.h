// What every generated model has to pass: each stage ends in a result or in a coded error, and all
// forms of a model give the same numbers.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "driver/registry.h"
#include "fuzz/op/model.h"

namespace ec::fuzz {

struct Find {
  std::string stage;  // "run-fast", "compile tflite"
  std::string kind;   // "internal", "differs", "refused", "unreadable", "invalid"
  std::string text;
};

struct StageHooks {
  // Called before each stage: a crash is known by the last one.
  std::function<void(std::string_view stage)> begin = [](std::string_view) {};
  std::function<void(Find find)> found = [](const Find&) {};
  std::filesystem::path scratch;  // where models that are folders are written
};

// Everything that a model goes through; `seed` chooses among options that are alternatives.
void run_stages(const Registry& registry, const Model& model, uint64_t seed,
                const StageHooks& hooks);

}  // namespace ec::fuzz
