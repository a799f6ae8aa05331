#include "options/verb.h"

namespace ec {
namespace {

// In the order of the enumeration.
constexpr std::string_view kNames[] = {
    "compile", "check",   "inspect", "run", "bench",  "optimize",   "quantize", "evaluate",
    "explain", "targets", "passes",  "ops", "doctor", "completion", "man",      "help"};
static_assert(std::size(kNames) == kNumVerbs);

}  // namespace

std::string_view verb_name(Verb verb) { return kNames[static_cast<size_t>(verb)]; }

std::optional<Verb> verb_from_name(std::string_view name) {
  for (int i = 0; i < kNumVerbs; ++i)
    if (kNames[i] == name) return static_cast<Verb>(i);
  return std::nullopt;
}

std::string verb_names(VerbSet verbs) {
  std::string names;
  for (int i = 0; i < kNumVerbs; ++i) {
    if (!verbs.has(static_cast<Verb>(i))) continue;
    if (!names.empty()) names += ", ";
    names += kNames[i];
  }
  return names;
}

}  // namespace ec
