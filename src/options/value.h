// Values of options: text to value, value to text, and what a program hands over to the type that
// the option has.
#pragma once

#include <string>
#include <string_view>

#include "edgecompiler/options.h"
#include "options/option_def.h"
#include "support/result.h"

namespace ec {

// The value that a text of the command line or of a file stands for. A flag takes "", "true" and
// "false". Usage: it is none, or out of range.
Result<OptionValue> parse_value(const OptionDef& def, std::string_view text);

// The value as it is written on the command line. Texts that hold a comma are not quoted.
std::string value_text(const OptionDef& def, const OptionValue& value);

// A value from a caller in the type of the option: whole numbers serve as numbers, one value as a
// list, a text as it would on the command line. Usage: it does not fit, or is out of range.
Result<OptionValue> checked_value(const OptionDef& def, const OptionValue& value);

// Adds to a list, map or level; replaces any other value.
void merge_value(OptionValue& into, OptionValue more);

// The default of the option; std::monostate where it has none.
OptionValue default_of(const OptionDef& def);

// For Choice: "auto, on, off".
std::string choice_names(const OptionDef& def);
// The choices, or the range: "0 to 120 dB"; empty where anything goes.
std::string allowed_values(const OptionDef& def);

}  // namespace ec
