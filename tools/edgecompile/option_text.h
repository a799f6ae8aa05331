// Options as text for --help, the man page and the manual.
#pragma once

#include <string>
#include <vector>

#include "options/catalog.h"

namespace ec::cli {

// The heading of an option: its group, or "Target a, b" for the options of back ends.
std::string group_title(const CatalogEntry& entry);
// All headings in the order of the catalogue.
std::vector<std::string> option_groups();

// "-t, --target TARGET".
std::string option_label(const OptionDef& option);
// The help with the option's other name, where it has one.
std::string help_with_alias(const OptionDef& option);
// The same with the default at its end.
std::string help_with_default(const OptionDef& option);
// A pipe would end the cell of a table in markdown.
std::string markdown_cell(std::string_view text);
// "| `--name N` | values | default |", the beginning of a row.
std::string markdown_option(const OptionDef& option);

}  // namespace ec::cli
