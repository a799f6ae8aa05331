// What other back ends that write TFLite files build on, beside encode.h.
#pragma once

#include "options/option_def.h"
#include "passes/pass.h"

namespace ec {

// --keep-io-layout, for every back end whose files have channels last.
inline constexpr OptionDef kKeepIoLayoutOption{
    .name = "keep-io-layout",
    .type = OptionType::Flag,
    .help =
        "inputs and outputs keep the model's order of dimensions (NCHW), at the price of "
        "transposes",
    .verbs = VerbSet(Verb::Compile, Verb::Check, Verb::Quantize)};

// Pipelines of this back end that bring an optimised graph into TFLite's form.
inline constexpr std::string_view kToTflite = "to-tflite";
inline constexpr std::string_view kToTfliteKeepIo = "to-tflite-keep-io";
// Cleans up behind legalising passes. It is not the whole clean-up: moving transposes would undo
// what needs its dimension last.
#define EC_AFTER_LEGALISING \
  "fold-known,eliminate-identities,simplify-reshapes,common-subexpressions,eliminate-dead-code"

}  // namespace ec
