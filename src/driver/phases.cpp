#include "driver/phases.h"

#include <array>
#include <string>

namespace ec {
namespace {

constexpr VerbSet kCompiles(Verb::Compile, Verb::Check, Verb::Quantize);
constexpr VerbSet kRuns(Verb::Compile, Verb::Check, Verb::Quantize, Verb::Run, Verb::Bench,
                        Verb::Evaluate);
constexpr VerbSet kOptimises(Verb::Compile, Verb::Check, Verb::Quantize, Verb::Run, Verb::Bench,
                             Verb::Evaluate, Verb::Optimize);
constexpr VerbSet kWrites(Verb::Compile, Verb::Quantize, Verb::Optimize);

constexpr Phase kPhases[] = {
    {"import", "the model becomes a graph, with the sizes that were given", kReadsModel,
     import_models},
    {"fold-input", "preprocessing becomes part of the graph where it is asked for", kCompiles,
     fold_input},
    {"prepare", "what quantisation needs to know before passes change the graph", kCompiles,
     prepare},
    {"optimise", "passes that serve every target", kOptimises, optimise},
    {"legalise", "passes that bring the graph into the target's form", kRuns, legalise},
    {"quantise", "integers in place of floats, by the target's rules", kCompiles, quantise},
    {"place", "which operation runs where, with reasons and estimates", kPlacesModel, place},
    {"emit", "the files as bytes", kWrites, emit},
    {"self-check", "the files are read back and run against the graph", VerbSet(Verb::Compile),
     self_check},
    {"commit", "the files take their names, all or none", kWrites, commit},
};

constexpr auto kNames = [] {
  std::array<std::string_view, std::size(kPhases)> names;
  for (size_t i = 0; i < names.size(); ++i) names[i] = kPhases[i].name;
  return names;
}();

}  // namespace

std::span<const Phase> all_phases() { return kPhases; }
std::span<const std::string_view> phase_names() { return kNames; }

const Phase* find_phase(std::string_view name) {
  std::string british(name);
  if (const size_t at = british.rfind("ize"); at != std::string::npos) british[at + 1] = 's';
  for (const Phase& phase : kPhases)
    if (phase.name == name || phase.name == british) return &phase;
  return nullptr;
}

}  // namespace ec
