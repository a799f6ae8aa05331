// Options by schema: text to value and back, sources, checks, configuration files, provenance.
#include <gtest/gtest.h>

#include <fstream>

#include "options/catalog.h"
#include "options/config.h"
#include "options/value.h"
#include "support/file.h"
#include "temporary_directory.h"

namespace ec {
namespace {

constexpr VerbSet kRun(Verb::Run);
constexpr VerbSet kBoth(Verb::Run, Verb::Bench);

constexpr OptionDef kOptions[] = {
    {.name = "flag", .type = OptionType::Flag, .help = "h", .verbs = kBoth},
    {.name = "level", .type = OptionType::Level, .help = "h", .verbs = kBoth, .short_name = 'l'},
    {.name = "whole",
     .type = OptionType::Integer,
     .argument = "N",
     .help = "h",
     .default_value = "7",
     .least = 0,
     .most = 9,
     .verbs = kBoth,
     .alias = "num-whole"},
    {.name = "number",
     .type = OptionType::Number,
     .argument = "X",
     .help = "h",
     .least = 0.5,
     .unit = "dB",
     .verbs = kBoth},
    {.name = "text", .argument = "TEXT", .help = "h", .verbs = kBoth},
    {.name = "choice",
     .type = OptionType::Choice,
     .argument = "a|b",
     .help = "h",
     .default_value = "auto",
     .choices = "auto|on|255",
     .verbs = kBoth},
    {.name = "file", .type = OptionType::File, .argument = "FILE", .help = "h", .verbs = kBoth},
    {.name = "numbers",
     .type = OptionType::Numbers,
     .argument = "LIST",
     .help = "h",
     .least = -10,
     .most = 10,
     .verbs = kBoth},
    {.name = "texts", .type = OptionType::Texts, .argument = "T", .help = "h", .verbs = kBoth},
    {.name = "items",
     .type = OptionType::Items,
     .argument = "I",
     .help = "h",
     .verbs = kBoth,
     .changes_output = false},
    {.name = "shapes", .type = OptionType::Shapes, .argument = "S", .help = "h", .verbs = kBoth},
    {.name = "sizes", .type = OptionType::Sizes, .argument = "N=S", .help = "h", .verbs = kBoth},
    {.name = "named",
     .type = OptionType::NamedTexts,
     .argument = "N=V",
     .help = "h",
     .verbs = kBoth},
    {.name = "only-run",
     .type = OptionType::Integer,
     .argument = "N",
     .help = "h",
     .verbs = kRun,
     .changes_output = true},
};
constexpr OptionDef kDevice[] = {
    {.name = "tiles",
     .type = OptionType::Integer,
     .argument = "N",
     .help = "h",
     .default_value = "2",
     .verbs = kBoth},
};
constexpr OptionDef kOtherTiles[] = {
    {.name = "tiles", .type = OptionType::Text, .argument = "N", .help = "h", .verbs = kBoth},
};

OptionCatalog make_catalog() {
  OptionCatalog catalog;
  EXPECT_TRUE(catalog.add({"Core", kOptions}).ok());
  EXPECT_TRUE(catalog.add({"npu", kDevice, "npu"}).ok());
  EXPECT_TRUE(catalog.add({"dsp", kDevice, "dsp"}).ok());
  return catalog;
}

const OptionDef& def(const OptionCatalog& catalog, std::string_view name) {
  return *catalog.find(name, Verb::Run)->def;
}

std::string error_of(const Status& status) {
  return status.ok() ? "" : format_diagnostic(status.error().diagnostic());
}
template <class T>
std::string error_of(const Result<T>& result) {
  return result.ok() ? "" : format_diagnostic(result.error().diagnostic());
}

TEST(OptionValues, TextAndBack) {
  const OptionCatalog catalog = make_catalog();
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"flag", "true"},   {"flag", "false"},        {"level", "2"},
      {"whole", "9"},     {"number", "0.75"},       {"text", "a, b"},
      {"choice", "255"},  {"file", "a/b.npy"},      {"numbers", "0.5,-1,2"},
      {"texts", "a,b"},   {"items", "x=a,b.npy"},   {"shapes", "input:0:1x3x?,y:"},
      {"shapes", "1x3"},  {"sizes", "batch=1,n=0"}, {"named", "sr=16000"},
      {"named", "x=a=b"},
  };
  for (const auto& [name, text] : cases) {
    const Result<OptionValue> value = parse_value(def(catalog, name), text);
    ASSERT_TRUE(value.ok()) << name << " " << text << error_of(value);
    EXPECT_EQ(value_text(def(catalog, name), *value), text) << name;
    const Result<OptionValue> again = checked_value(def(catalog, name), *value);
    ASSERT_TRUE(again.ok()) << name << error_of(again);
    EXPECT_EQ(*again, *value) << name;
  }
}

TEST(OptionValues, FormsOfText) {
  const OptionCatalog catalog = make_catalog();
  EXPECT_EQ(*parse_value(def(catalog, "choice"), "ON"), OptionValue("on"));
  EXPECT_EQ(*parse_value(def(catalog, "numbers"), "1 2"), OptionValue(std::vector<double>{1, 2}));
  EXPECT_EQ(*parse_value(def(catalog, "shapes"), "x:1,3,y:2X4"),
            OptionValue(ShapesByName{{"x", {1, 3}}, {"y", {2, 4}}}));
  EXPECT_EQ(*parse_value(def(catalog, "shapes"), "x:-1x3"),
            OptionValue(ShapesByName{{"x", {-1, 3}}}));
  EXPECT_EQ(*parse_value(def(catalog, "texts"), " a ,,b"),
            OptionValue(std::vector<std::string>{"a", "b"}));
}

TEST(OptionValues, BadText) {
  const OptionCatalog catalog = make_catalog();
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"flag", "maybe"},   {"whole", "x"},       {"whole", "10"},    {"whole", "-1"},
      {"whole", "1.5"},    {"number", "0.25"},   {"number", "nan"},  {"choice", "off"},
      {"numbers", "1,x"},  {"numbers", "11"},    {"numbers", " , "}, {"numbers", "inf"},
      {"shapes", "x:axb"}, {"shapes", "x:1x-3"}, {"sizes", "batch"}, {"sizes", "=3"},
      {"sizes", "n=-1"},   {"named", "sr"},      {"named", "=1"},
  };
  for (const auto& [name, text] : cases) {
    const Result<OptionValue> value = parse_value(def(catalog, name), text);
    ASSERT_FALSE(value.ok()) << name << " " << text;
    EXPECT_EQ(value.error().code(), Code::Usage);
  }
  EXPECT_NE(error_of(parse_value(def(catalog, "whole"), "12")).find("from 0 to 9, not '12'"),
            std::string::npos);
  EXPECT_NE(error_of(parse_value(def(catalog, "number"), "0")).find("of at least 0.5 in dB"),
            std::string::npos);
  EXPECT_NE(error_of(parse_value(def(catalog, "choice"), "x")).find("known: auto, on, 255"),
            std::string::npos);
}

TEST(OptionValues, FromPrograms) {
  const OptionCatalog catalog = make_catalog();
  const auto checked = [&](std::string_view name, OptionValue value) {
    return checked_value(def(catalog, name), value);
  };
  EXPECT_EQ(*checked("number", 2), OptionValue(2.0));
  EXPECT_EQ(*checked("whole", 3.0), OptionValue(3));
  EXPECT_EQ(*checked("whole", "3"), OptionValue(3));
  EXPECT_EQ(*checked("choice", 255), OptionValue("255"));
  EXPECT_EQ(*checked("numbers", 0.5), OptionValue(std::vector<double>{0.5}));
  EXPECT_EQ(*checked("texts", "a,b"), OptionValue(std::vector<std::string>{"a", "b"}));
  EXPECT_FALSE(checked("whole", 2.5).ok());
  EXPECT_FALSE(checked("whole", 99).ok());
  EXPECT_FALSE(checked("flag", 1).ok());
  EXPECT_FALSE(checked("sizes", 1).ok());
  EXPECT_FALSE(checked("text", std::vector<double>{1}).ok());
}

TEST(OptionCatalog, NamesAliasesAndSharing) {
  OptionCatalog catalog = make_catalog();
  EXPECT_EQ(catalog.find("only_run", Verb::Run)->def->name, "only-run");
  EXPECT_EQ(catalog.find("num-whole", Verb::Run)->def->name, "whole");
  EXPECT_EQ(catalog.find("nothing", Verb::Run), nullptr);
  EXPECT_EQ(catalog.find_short('l', Verb::Run)->def->name, "level");
  const CatalogEntry* tiles = catalog.find("tiles", Verb::Run);
  EXPECT_EQ(tiles->targets, (std::vector<std::string_view>{"npu", "dsp"}));
  EXPECT_FALSE(catalog.add({"gpu", kOtherTiles, "gpu"}).ok()) << "another option with its name";
  EXPECT_FALSE(catalog.add({"Again", kOptions}).ok());
  const Error unknown = catalog.unknown_name("num_whol", Verb::Run);
  EXPECT_EQ(unknown.code(), Code::Usage);
  EXPECT_NE(unknown.diagnostic().hint.find("'--num-whole'"), std::string::npos);
}

TEST(OptionCatalog, StrongerSourcesWin) {
  const OptionCatalog catalog = make_catalog();
  Options options;
  const auto set = [&](std::string_view name, std::string_view text, OptionSource source) {
    ASSERT_TRUE(catalog.set_from_text(options, def(catalog, name), text, source).ok());
  };
  set("sizes", "n=3", OptionSource::ConfigFile);
  set("sizes", "m=4", OptionSource::ConfigFile);
  EXPECT_EQ(options.sizes("sizes"), (SizesByName{{"m", 4}, {"n", 3}}));
  set("sizes", "n=5", OptionSource::Caller);
  EXPECT_EQ(options.sizes("sizes"), (SizesByName{{"n", 5}})) << "the caller's value replaces it";
  set("sizes", "k=1", OptionSource::ConfigFile);
  EXPECT_EQ(options.sizes("sizes"), (SizesByName{{"n", 5}}));
  set("level", "", OptionSource::Caller);
  set("level", "", OptionSource::Caller);
  EXPECT_EQ(options.integer("level"), 2);
  set("whole", "1", OptionSource::Caller);
  set("whole", "2", OptionSource::Caller);
  EXPECT_EQ(options.integer("whole"), 2);
}

TEST(OptionCatalog, ResolveFillsDefaultsAndKeepsSources) {
  const OptionCatalog catalog = make_catalog();
  const Options given{{"num_whole", 3}, {"number", 2}, {"shapes", ShapesByName{{"x", {1}}}}};
  const Result<Options> resolved = catalog.resolve(given, Verb::Run, "npu:large");
  ASSERT_TRUE(resolved.ok()) << error_of(resolved);
  EXPECT_EQ(resolved->integer("whole"), 3);
  EXPECT_TRUE(resolved->is_given("whole"));
  EXPECT_EQ(resolved->number_if("number"), 2.0);
  EXPECT_EQ(resolved->text("choice"), "auto");
  EXPECT_TRUE(resolved->has("choice"));
  EXPECT_FALSE(resolved->is_given("choice"));
  EXPECT_EQ(resolved->integer("tiles"), 2);
  EXPECT_FALSE(resolved->has("text"));
  EXPECT_EQ(resolved->text("text"), "");
  EXPECT_EQ(resolved->integer_if("only-run"), std::nullopt);
  // Resolving again changes nothing.
  const Result<Options> again = catalog.resolve(*resolved, Verb::Run, "npu");
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->integer("whole"), 3);
  EXPECT_FALSE(again->is_given("tiles"));
  // Without a target nobody's own options have values.
  EXPECT_FALSE(catalog.resolve(given, Verb::Run, "")->has("tiles"));
}

TEST(OptionCatalog, ResolveRefuses) {
  const OptionCatalog catalog = make_catalog();
  const auto error = [&](const Options& given, Verb verb = Verb::Bench,
                         std::string_view target = "npu") {
    return error_of(catalog.resolve(given, verb, target));
  };
  EXPECT_NE(error({{"treads", 1}}).find("unknown option '--treads'"), std::string::npos);
  EXPECT_NE(error({{"text", std::vector<double>{1}}}).find("--text needs a text"),
            std::string::npos);
  EXPECT_NE(error({{"only-run", 1}}).find("does not apply to 'bench'"), std::string::npos);
  EXPECT_NE(error({{"only-run", 1}}).find("it belongs to: run"), std::string::npos);
  const std::string other = error({{"tiles", 1}}, Verb::Run, "cpu");
  EXPECT_NE(other.find("--tiles does not apply to target 'cpu'"), std::string::npos);
  EXPECT_NE(other.find("it belongs to: npu, dsp"), std::string::npos);
  EXPECT_EQ(error({{"tiles", 1}}, Verb::Run, "dsp:v2"), "");
  EXPECT_NE(error({{"whole", 1}, {"num-whole", 2}}).find("same option"), std::string::npos);
}

TEST(OptionCatalog, ProvenanceAndReport) {
  const OptionCatalog catalog = make_catalog();
  const Options given{
      {"whole", 7}, {"file", "/data/images/"}, {"items", "not part of the output"}, {"tiles", 3}};
  const Options resolved = *catalog.resolve(given, Verb::Run, "npu");
  EXPECT_EQ(provenance_text(catalog, resolved, Verb::Run), "file=images;tiles=3;");
  Options defaults = *catalog.resolve({}, Verb::Run, "npu");
  EXPECT_EQ(provenance_text(catalog, defaults, Verb::Run), "");
  const std::vector<OptionReportRow> rows = options_report(catalog, resolved, Verb::Run);
  ASSERT_EQ(rows.size(), 5u);
  EXPECT_EQ(rows[0].name, "whole");
  EXPECT_EQ(rows[0].source, "caller");
  EXPECT_EQ(rows[1].name, "choice");
  EXPECT_EQ(rows[1].source, "default");
  EXPECT_EQ(rows[2].value, "/data/images/");
}

class OptionFiles : public ::testing::Test {
 protected:
  Status read(std::string_view text, Options& options, Verb verb = Verb::Run) {
    const std::string path = (directory_.path() / "c.conf").string();
    EXPECT_TRUE(write_file(path, text).ok());
    return read_config(path, catalog_, verb, options);
  }
  void expect_all_types(const Options& o) {
    EXPECT_TRUE(o.flag("flag"));
    EXPECT_EQ(o.integer("level"), 2);
    EXPECT_EQ(o.integer("whole"), 4);
    EXPECT_EQ(o.number("number"), 1.5);
    EXPECT_EQ(o.text("text"), "a=b, \"c\"");
    EXPECT_EQ(o.text("choice"), "255");
    EXPECT_EQ(o.numbers("numbers"), (std::vector<double>{0.5, 1}));
    EXPECT_EQ(o.texts("texts"), (std::vector<std::string>{"a", "b"}));
    EXPECT_EQ(o.texts("items"), (std::vector<std::string>{"x=1,2"}));
    EXPECT_EQ(o.shapes("shapes"), (ShapesByName{{"x", {1, -1}}, {"y:0", {2}}}));
    EXPECT_EQ(o.sizes("sizes"), (SizesByName{{"n", 3}}));
    EXPECT_EQ(o.named_texts("named"), (TextsByName{{"sr", "16000"}}));
  }

  TemporaryDirectory directory_;
  OptionCatalog catalog_ = make_catalog();
};

TEST_F(OptionFiles, TomlOfEveryType) {
  Options o;
  const Status status = read(
      "flag = true\nlevel = 2\nnum_whole = 4\nnumber = 1.5\ntext = 'a=b, \"c\"'\nchoice = 255\n"
      "numbers = [0.5, 1]\ntexts = ['a', 'b']\nitems = ['x=1,2']\nsizes = 'n=3'\n"
      "[shapes]\nx = [1, -1]\n'y:0' = '2'\n[named]\nsr = 16000\n",
      o);
  ASSERT_TRUE(status.ok()) << error_of(status);
  expect_all_types(o);
  EXPECT_EQ(o.entries().at("flag").source, OptionSource::ConfigFile);
}

TEST_F(OptionFiles, JsonOfEveryType) {
  Options o;
  const Status status = read(
      R"( {"flag": true, "level": 2, "whole": 4, "number": 1.5, "text": "a=b, \"c\"",
      "choice": 255, "numbers": [0.5, 1], "texts": "a,b", "items": {"x": "1,2"},
      "shapes": {"x": [1, -1], "y:0": [2]}, "run": {"sizes": {"n": 3}},
      "bench": {"sizes": {"n": 9}}, "named": ["sr=16000"]})",
      o);
  ASSERT_TRUE(status.ok()) << error_of(status);
  expect_all_types(o);
}

TEST_F(OptionFiles, SectionsAndTheCaller) {
  Options o{{"whole", 1}};
  ASSERT_TRUE(
      read("whole = 4\ntext = 'all'\n[run]\ntext = 'run'\n[bench]\ntext = 'bench'\n", o).ok());
  EXPECT_EQ(o.integer("whole"), 1) << "the caller wins over the file";
  EXPECT_EQ(o.text("text"), "run");
  Options bench;
  ASSERT_TRUE(read("only-run = 3\n", bench, Verb::Bench).ok());
  EXPECT_FALSE(bench.has("only-run")) << "options of other verbs may stand in a shared file";
}

TEST_F(OptionFiles, Faults) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"num-whol = 1", "'num-whole'"},
      {"[bench]\nwhol = 1", "line 2"},
      {"[bench]\nonly-run = 1", "does not apply to 'bench'"},
      {"whole = [", "line 1"},
      {"whole = 'x'", "line 1: --whole needs"},
      {"flag = 3", "'flag' needs true or false"},
      {"text = 1979-05-27", "needs a text"},
      {"text = [[1]]", "needs a text"},
      {"text = { a = 1 }", "takes no table"},
      {"{\"whole\": 99}", "key 'whole'"},
      {"{\"whole\": ", "parse error"},
      {"{\"a\":[[[[[[[[[[[[1]]]]]]]]]]]]}", "too deeply"},
  };
  for (const auto& [text, words] : cases) {
    Options o;
    const Status status = read(text, o);
    ASSERT_FALSE(status.ok()) << text;
    EXPECT_EQ(status.error().code(), Code::Usage) << text;
    EXPECT_NE(error_of(status).find(words), std::string::npos) << error_of(status);
    EXPECT_NE(error_of(status).find("c.conf"), std::string::npos) << error_of(status);
  }
}

TEST_F(OptionFiles, GeneratedFileReadsBack) {
  // Nothing given: everything is a comment.
  Options none;
  ASSERT_TRUE(read(generate_config(catalog_, Verb::Run, {}), none).ok());
  EXPECT_TRUE(none.entries().empty());
  EXPECT_NE(generate_config(catalog_, Verb::Run, {}).find("#whole = 7"), std::string::npos);

  const Options given{{"flag", true},
                      {"level", 2},
                      {"whole", 4},
                      {"number", 1.5},
                      {"text", "a=b, \"c\""},
                      {"choice", "255"},
                      {"numbers", std::vector<double>{0.5, 1}},
                      {"texts", std::vector<std::string>{"a", "b"}},
                      {"items", std::vector<std::string>{"x=1,2"}},
                      {"shapes", ShapesByName{{"x", {1, -1}}, {"y:0", {2}}}},
                      {"sizes", SizesByName{{"n", 3}}},
                      {"named", TextsByName{{"sr", "16000"}}}};
  Options again;
  const Status status = read(generate_config(catalog_, Verb::Run, given), again);
  ASSERT_TRUE(status.ok()) << error_of(status);
  expect_all_types(again);
  // Every commented line is a value that its option takes.
  std::string text = generate_config(catalog_, Verb::Run, {});
  for (size_t at = 0; (at = text.find("\n#", at)) != std::string::npos; ++at)
    if (text[at + 2] != ' ') text.erase(at + 1, 1);
  EXPECT_NE(text.find("\nchoice = \"auto\""), std::string::npos);
}

}  // namespace
}  // namespace ec
