// The phases of a compilation, in order. Each is a function of its own file.
#pragma once

#include <span>
#include <string_view>

#include "driver/compilation.h"

namespace ec {

struct Phase {
  std::string_view name;
  std::string_view summary;
  VerbSet verbs;  // that run it
  Status (*run)(Compilation& compilation);
};

std::span<const Phase> all_phases();
std::span<const std::string_view> phase_names();
// Both spellings: "optimise" and "optimize". Null: no such phase.
const Phase* find_phase(std::string_view name);

Status import_models(Compilation& compilation);  // phase_import.cpp
Status fold_input(Compilation& compilation);     // phase_prepare.cpp
Status prepare(Compilation& compilation);        //
Status optimise(Compilation& compilation);       // phase_passes.cpp
Status legalise(Compilation& compilation);       //
Status quantise(Compilation& compilation);       // phase_quantise.cpp
Status place(Compilation& compilation);          // phase_place.cpp
Status emit(Compilation& compilation);           // phase_emit.cpp
Status self_check(Compilation& compilation);     // phase_self_check.cpp
Status commit(Compilation& compilation);         // phase_commit.cpp

}  // namespace ec
