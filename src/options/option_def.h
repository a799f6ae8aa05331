// One option, declared once by its owner. The command line, configuration files, Python keywords,
// --help, the man page, completion, the manual, the provenance of written files and the key of
// saved statistics all come from these declarations.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string_view>

#include "options/verb.h"

namespace ec {

// How a value is written, and which alternative of OptionValue holds it.
enum class OptionType : uint8_t {
  Flag,        // bool; given without a value
  Level,       // int64_t; every mention adds one (-vv)
  Integer,     // int64_t from `least` to `most`
  Number,      // double from `least` to `most`
  Text,        // std::string
  Choice,      // std::string, one of `choices`, in any case of letters
  File,        // std::string
  Directory,   // std::string
  Numbers,     // std::vector<double>: "0.485,0.456,0.406"
  Texts,       // std::vector<std::string>; may be repeated, commas separate
  Items,       // std::vector<std::string>; may be repeated, commas belong to the item
  Shapes,      // ShapesByName: "NAME:1x3x224x224", "?" leaves a size open
  Sizes,       // SizesByName: "NAME=N"
  NamedTexts,  // TextsByName: "NAME=VALUE"
};

// What a shell offers as the value.
enum class Completion : uint8_t { ByType, Pass, Target, Phase };

// What saved calibration statistics keep of an option.
enum class StatisticsRole : uint8_t {
  Ignored,
  MustMatch,      // decides what is measured: statistics serve only the value they were made with
  DescribesData,  // tells what the data is: taken from the statistics where it is not given
};

struct OptionDef {
  std::string_view name;  // "calibration-samples"
  OptionType type = OptionType::Text;
  std::string_view argument = {};  // stands for the value in --help: "N"; empty for flags
  std::string_view help = {};  // one line; tells the meaning, and the default where it is a rule
  std::string_view default_value = {};  // as written on the command line; empty: not set
  std::string_view choices = {};        // "auto|on|off"
  double least = -std::numeric_limits<double>::infinity();
  double most = std::numeric_limits<double>::infinity();
  std::string_view unit = {};  // "dB", "percent"
  VerbSet verbs = {};
  // The written file may differ when the value differs: the option is part of the provenance.
  bool changes_output = true;
  char short_name = 0;
  std::string_view alias = {};  // another name that is accepted
  Completion completion = Completion::ByType;
  StatisticsRole statistics = StatisticsRole::Ignored;
  bool in_config = true;  // may stand in a configuration file

  constexpr bool takes_value() const {
    return type != OptionType::Flag && type != OptionType::Level;
  }
};

// The options of one owner, under one heading of --help.
struct OptionGroup {
  std::string_view title;  // "Quantisation"; the name of the target for a back end's own
  std::span<const OptionDef> options;
  std::string_view target = {};  // set: the options belong to this back end alone
};

}  // namespace ec
