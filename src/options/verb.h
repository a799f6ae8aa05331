// The jobs that users ask for. An option names the verbs that it belongs to.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ec {

enum class Verb : uint8_t {
  Compile,
  Check,
  Inspect,
  Run,
  Bench,
  Optimize,
  Quantize,
  Evaluate,
  Explain,
  Targets,
  Passes,
  Ops,
  Doctor,
  Completion,
  Man,
  Help,
};
inline constexpr int kNumVerbs = static_cast<int>(Verb::Help) + 1;

std::string_view verb_name(Verb verb);  // "compile"
std::optional<Verb> verb_from_name(std::string_view name);

class VerbSet {
 public:
  constexpr VerbSet() = default;
  template <class... V>
  constexpr explicit VerbSet(V... verbs) : bits_((bit(verbs) | ... | 0u)) {}
  static constexpr VerbSet all() {
    VerbSet set;
    set.bits_ = ~0u;
    return set;
  }
  constexpr bool has(Verb verb) const { return (bits_ & bit(verb)) != 0; }
  constexpr bool is_all() const { return bits_ == ~0u; }
  constexpr bool overlaps(VerbSet other) const { return (bits_ & other.bits_) != 0; }
  constexpr bool operator==(const VerbSet&) const = default;

 private:
  static constexpr uint32_t bit(Verb verb) { return 1u << static_cast<unsigned>(verb); }
  uint32_t bits_ = 0;
};

// "run, bench".
std::string verb_names(VerbSet verbs);

// Verbs by what they do with a model, for the tables of options.
inline constexpr VerbSet kReadsModel(Verb::Compile, Verb::Check, Verb::Inspect, Verb::Run,
                                     Verb::Bench, Verb::Optimize, Verb::Quantize, Verb::Evaluate);
inline constexpr VerbSet kRunsPasses(Verb::Compile, Verb::Check, Verb::Run, Verb::Bench,
                                     Verb::Optimize, Verb::Quantize);
inline constexpr VerbSet kRewritesModel(Verb::Compile, Verb::Optimize, Verb::Quantize);
// `check` takes what `compile` takes, so that both judge the same graph.
inline constexpr VerbSet kQuantizesModel(Verb::Compile, Verb::Check, Verb::Quantize);
inline constexpr VerbSet kPlacesModel(Verb::Compile, Verb::Check);
inline constexpr VerbSet kRunsModel(Verb::Run, Verb::Bench);
inline constexpr VerbSet kReadsImages(Verb::Compile, Verb::Check, Verb::Quantize, Verb::Evaluate,
                                      Verb::Run);

}  // namespace ec
