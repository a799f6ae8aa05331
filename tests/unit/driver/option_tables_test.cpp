// The options of this build: every row is complete, and what is made of the rows agrees with them.
#include <gtest/gtest.h>

#include <set>

#include "driver/registry.h"
#include "options/config.h"
#include "options/value.h"
#include "support/file.h"
#include "support/strings.h"
#include "tasks/detection/head.h"
#include "temporary_directory.h"

namespace ec {
namespace {

const OptionCatalog& catalog() { return default_registry().options(); }

TEST(OptionTables, EveryRowIsComplete) {
  ASSERT_GT(catalog().entries().size(), 50u);
  for (const CatalogEntry& entry : catalog().entries()) {
    const OptionDef& def = *entry.def;
    SCOPED_TRACE(std::string(def.name));
    EXPECT_FALSE(def.help.empty());
    EXPECT_NE(def.verbs, VerbSet());
    EXPECT_FALSE(entry.group.empty());
    EXPECT_EQ(def.argument.empty(), !def.takes_value()) << "flags alone have no argument";
    EXPECT_EQ(def.name, to_lower(def.name));
    EXPECT_EQ(def.name.find('_'), std::string_view::npos);
    EXPECT_EQ(def.choices.empty(), def.type != OptionType::Choice);
    EXPECT_TRUE(def.default_value.empty() || def.help.find("(default") == std::string_view::npos)
        << "the default stands in the row, not in the help";
    if (!def.default_value.empty()) {
      const Result<OptionValue> value = parse_value(def, def.default_value);
      ASSERT_TRUE(value.ok()) << value.error().message();
      EXPECT_EQ(value_text(def, *value), def.default_value);
    }
  }
}

TEST(OptionTables, FoundByNameAliasAndVerb) {
  EXPECT_EQ(catalog().find("num_calibration_samples", Verb::Compile)->def->name,
            "calibration-samples");
  EXPECT_EQ(catalog().find("output-dir", Verb::Compile)->def->name, "output");
  // The same name is a file to one verb and a flag to others.
  EXPECT_EQ(catalog().find("reference", Verb::Evaluate)->def->type, OptionType::File);
  EXPECT_EQ(catalog().find("reference", Verb::Run)->def->type, OptionType::Flag);
}

// The choices are written by hand; the heads and tasks are lists elsewhere.
TEST(OptionTables, TasksAndHeadsAreThoseThatThereAre) {
  std::set<std::string_view> heads = {"auto"};
  for (const tasks::detection::HeadKind& kind : tasks::detection::head_kinds())
    heads.insert(kind.name);
  const auto choices = split(catalog().find("head", Verb::Evaluate)->def->choices, '|');
  EXPECT_EQ(std::set<std::string_view>(choices.begin(), choices.end()), heads);
  for (const std::string_view task :
       split(catalog().find("task", Verb::Evaluate)->def->choices, '|'))
    EXPECT_EQ(tasks::parse_task(task) == tasks::Task::Unknown, task == "auto") << task;
}

// `check` judges the graph that `compile` would write.
TEST(OptionTables, CheckTakesWhatDecidesTheGraph) {
  const std::set<std::string_view> writes_only = {"stop-after"};
  for (const CatalogEntry& entry : catalog().entries()) {
    if (!entry.def->verbs.has(Verb::Compile) || !entry.def->changes_output) continue;
    if (writes_only.contains(entry.def->name)) continue;
    EXPECT_TRUE(entry.def->verbs.has(Verb::Check)) << entry.def->name;
  }
}

TEST(OptionTables, OptionsOfATargetNeedIt) {
  for (const CatalogEntry& entry : catalog().entries()) {
    if (entry.targets.empty()) continue;
    const std::string_view target = entry.targets.front();
    const Verb verb = entry.def->verbs.has(Verb::Compile) ? Verb::Compile : Verb::Check;
    const std::string text = entry.def->takes_value() ? "2" : "";
    Options given;
    if (!catalog().set_from_text(given, *entry.def, text, OptionSource::Caller).ok()) continue;
    EXPECT_TRUE(catalog().resolve(given, verb, target).ok()) << entry.def->name;
    const Result<Options> other = catalog().resolve(given, verb, "none");
    ASSERT_FALSE(other.ok()) << entry.def->name;
    EXPECT_NE(other.error().message().find("does not apply to target 'none'"), std::string::npos);
    EXPECT_NE(other.error().diagnostic().hint.find(target), std::string::npos);
  }
}

TEST(OptionTables, StatisticsAreBoundToWhatIsMeasured) {
  const Options options = *catalog().resolve(
      {{"quantize", "ptq"}, {"calibration-data", "/data/images"}, {"keep-float", "a,b"}},
      Verb::Compile, {});
  const auto key = statistics_key(catalog(), options, Verb::Compile, StatisticsRole::MustMatch);
  EXPECT_EQ(key.at("quantize"), "ptq");
  EXPECT_EQ(key.at("calibration-method"), "auto");
  EXPECT_EQ(key.at("keep-float"), "a,b");
  EXPECT_EQ(key.at("max-drop"), "");
  EXPECT_FALSE(key.contains("calibration-data"));
  EXPECT_FALSE(key.contains("threads"));
  const auto data =
      statistics_key(catalog(), options, Verb::Compile, StatisticsRole::DescribesData);
  EXPECT_EQ(data.at("calibration-data"), "images");
  EXPECT_EQ(data.at("color"), "rgb");
}

TEST(OptionTables, GeneratedFilesReadBackForEveryVerb) {
  const TemporaryDirectory directory;
  for (const Verb verb : {Verb::Compile, Verb::Check, Verb::Inspect, Verb::Run, Verb::Bench,
                          Verb::Optimize, Verb::Quantize, Verb::Evaluate}) {
    const std::string path = (directory / "c.toml").string();
    ASSERT_TRUE(write_file(path, generate_config(catalog(), verb, {})).ok());
    Options options;
    const Status status = read_config(path, catalog(), verb, options);
    ASSERT_TRUE(status.ok()) << status.error().message();
    EXPECT_TRUE(options.entries().empty());
  }
}

}  // namespace
}  // namespace ec
