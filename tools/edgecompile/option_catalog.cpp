// The options of the command line itself, beside those of the jobs.
#include <cstdlib>

#include "cli.h"
#include "driver/registry.h"

namespace ec::cli {
namespace {

constexpr OptionDef kOutput[] = {
    {.name = "markdown",
     .type = OptionType::Flag,
     .help = "print the page for the manual",
     .verbs = VerbSet(Verb::Ops, Verb::Passes, Verb::Targets, Verb::Explain, Verb::Help),
     .changes_output = false},
    {.name = "python-stubs",
     .type = OptionType::Flag,
     .help = "print the signatures of the Python functions, for type checkers",
     .verbs = VerbSet(Verb::Help),
     .changes_output = false},
    {.name = "python-reports",
     .type = OptionType::Flag,
     .help = "print the types of the reports that Python functions give",
     .verbs = VerbSet(Verb::Help),
     .changes_output = false},
    {.name = "report-schema",
     .type = OptionType::Flag,
     .help = "print the JSON schema of what --json prints",
     .verbs = VerbSet(Verb::Help),
     .changes_output = false},
    {.name = "json",
     .type = OptionType::Flag,
     .help = "print the result and all diagnostics as one JSON object",
     .verbs = VerbSet::all(),
     .changes_output = false},
    {.name = "verbose",
     .type = OptionType::Level,
     .help = "print more: times of passes, a row for each operation; -vv: also every run of a pass "
             "and the options with their origin",
     .verbs = VerbSet::all(),
     .changes_output = false,
     .short_name = 'v'},
    {.name = "quiet",
     .type = OptionType::Flag,
     .help = "print errors only",
     .verbs = VerbSet::all(),
     .changes_output = false},
};

constexpr OptionDef kGeneral[] = {
    {.name = "config",
     .type = OptionType::File,
     .argument = "FILE",
     .help = "read options from this file, TOML or JSON; the command line wins over it",
     .verbs = VerbSet::all(),
     .changes_output = false,
     .in_config = false},
    {.name = "generate-config",
     .type = OptionType::Flag,
     .help = "print a TOML file for --config with every option of the verb: help and default as "
             "comments, what is given here set",
     .verbs = kReadsModel,
     .changes_output = false,
     .in_config = false},
    {.name = "help",
     .type = OptionType::Flag,
     .help = "print this help; after a verb: the help of that verb",
     .verbs = VerbSet::all(),
     .changes_output = false,
     .short_name = 'h',
     .in_config = false},
    {.name = "version",
     .type = OptionType::Flag,
     .help = "print the version",
     .verbs = VerbSet::all(),
     .changes_output = false,
     .short_name = 'V',
     .in_config = false},
};

OptionCatalog make_catalog() {
  OptionCatalog all = default_registry().options();
  for (const OptionGroup& group :
       {OptionGroup{"Output", kOutput}, OptionGroup{"General", kGeneral}})
    if (const Status added = all.add(group); !added.ok()) std::abort();  // a test adds them, too
  return all;
}

}  // namespace

const OptionCatalog& catalog() {
  static const OptionCatalog all = make_catalog();
  return all;
}

Options job_options(const Options& options, Verb verb) {
  Options job;
  const OptionCatalog& known = default_registry().options();
  for (const auto& [name, entry] : options.entries()) {
    const CatalogEntry* found = known.find(name, verb);
    if (found != nullptr && found->def->verbs.has(verb)) job.set(name, entry.value, entry.source);
  }
  return job;
}

}  // namespace ec::cli
