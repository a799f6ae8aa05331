// Ranges and choices of values. Only for the files of this folder.
#pragma once

#include <string_view>

#include "edgecompiler/options.h"
#include "options/option_def.h"
#include "support/result.h"

namespace ec {

// Usage: "--threads needs a whole number from 0 to 1024, not 'x'".
Error out_of_range(const OptionDef& def, std::string_view text);
// Usage where a value of the option's own type is out of range or no choice; spells a choice as the
// table does.
Status check_range(const OptionDef& def, OptionValue& value);

}  // namespace ec
