// Options from a file. Keys are option names; a table with the name of a verb ([bench]) holds
// options of that verb alone. The file is TOML, or JSON of the same structure.
#pragma once

#include <string>

#include "options/catalog.h"

namespace ec {

// Adds the options of the verb that the file has; values that `options` has from the caller win.
// Every key is checked, also those of other verbs. Usage: no such file format, an unknown key (with
// the nearest one), a value that does not fit.
Status read_config(const std::string& path, const OptionCatalog& catalog, Verb verb,
                   Options& options);
// The same of a file's content; `path` is for messages.
Status parse_config(std::string_view text, const std::string& path, const OptionCatalog& catalog,
                    Verb verb, Options& options);

// A TOML file with every option of the verb: its help and default as comments, and the values that
// `options` has from a file or the caller.
std::string generate_config(const OptionCatalog& catalog, Verb verb, const Options& options);

}  // namespace ec
