// Everything that can be chosen by name: front ends, back ends, passes, strategies and the options
// that they declare. Filled from the lists of this build; more can be added while the program runs.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/backend.h"
#include "frontend/frontend.h"
#include "options/catalog.h"
#include "passes/pass_registry.h"
#include "quantize/strategy/strategy.h"
#include "support/result.h"

namespace ec {

// A target that is planned and not in this build.
struct AbsentBackend {
  std::string_view name, extension, summary;
};

class Registry {
 public:
  // What this build has, from the lists of front ends, back ends, passes and strategies.
  static Registry built_in();

  // Whoever adds keeps the object alive. A name that is taken is an error.
  Status add(const Frontend& frontend);
  Status add(const quantize::Strategy& strategy);
  // The back end's passes, pipelines and options come along.
  Status add(const Backend& backend);

  std::span<const Frontend* const> frontends() const { return frontends_; }
  std::span<const Backend* const> backends() const { return backends_; }
  std::span<const AbsentBackend> absent_backends() const { return absent_; }
  std::span<const quantize::Strategy* const> strategies() const { return strategies_; }
  PassRegistry& passes() { return passes_; }
  const PassRegistry& passes() const { return passes_; }
  const OptionCatalog& options() const { return options_; }
  OptionCatalog& options() { return options_; }

  // "NAME", "NAME:VARIANT", "auto". UnknownTarget: no such name, or known and not in this
  // build; the message says which.
  Result<const Backend*> find_backend(std::string_view name) const;
  // Names of back ends: "cpu, tflite".
  std::string backend_names() const;
  // "int8" is "ptq", "fp16" is "float16". Usage: no such strategy, with the nearest name.
  Result<const quantize::Strategy*> find_strategy(std::string_view name) const;

 private:
  std::vector<const Frontend*> frontends_;
  std::vector<const Backend*> backends_;
  std::vector<AbsentBackend> absent_;
  std::vector<const quantize::Strategy*> strategies_;
  PassRegistry passes_;
  OptionCatalog options_;
};

// The registry of this process, which the public interfaces use.
Registry& default_registry();

}  // namespace ec
