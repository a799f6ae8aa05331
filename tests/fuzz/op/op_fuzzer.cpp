// Models made from the op table, through every phase of the compiler.
//
//   op_fuzzer --seed 1 --count 3000 [--level LEVEL] [--ops PATTERN]
//             [--recorded FOLDER] [--jobs N] [--seconds N] [--limit CPU_SECONDS_PER_MODEL]
//             [--report FILE.json] [--quiet]
//   op_fuzzer --replay SEED [--level L] [--ops PATTERN] [--recorded FOLDER] [--print]
//
// A report that is there gets the figures added: a campaign is many runs, each from the seed that
// the last one named. Ctrl-C ends a run with its report.
//
// A model is a function of its seed, --level, --ops and --recorded. --replay runs one in this
// process, for a debugger, and prints it as text.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fnmatch.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "fuzz/op/workers.h"
#include "ir/text.h"
#include "ops/convert.h"
#include "ops/op_def.h"
#include "support/strings.h"
#include "temporary_directory.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define EC_ADDRESS_SANITIZER
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(EC_ADDRESS_SANITIZER)
// Endless models end by their limits of work, which instrumented code reaches later.
constexpr double kSecondsPerModel = 60;
extern "C" const char* __asan_default_options();
extern "C" const char* __asan_default_options() {
  // Memory that is refused is an error which the program tells. Workers end without cleaning up.
  // A seed shows its model again at any time: short stacks of allocations and a small quarantine
  // cost less than they tell.
  return "allocator_may_return_null=1:max_allocation_size_mb=4096:detect_leaks=0:"
         "quarantine_size_mb=8:thread_local_quarantine_size_kb=256:malloc_context_size=4";
}
#else
constexpr double kSecondsPerModel = 10;
#endif

namespace ec::fuzz {
namespace {

struct Arguments {
  RunOptions run;
  std::optional<uint64_t> replay;
  std::string report;
  bool print_only = false;
};

bool parse(int argc, char** argv, Arguments& arguments) {
  arguments.run.verbose = true;
  arguments.run.cpu_seconds = kSecondsPerModel;
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    if (name == "--quiet") {
      arguments.run.verbose = false;
      continue;
    }
    if (name == "--print") {
      arguments.print_only = true;
      continue;
    }
    if (i + 1 >= argc) return false;
    const std::string value = argv[++i];
    const std::optional<int64_t> number = parse_int(value);
    if (name == "--level") {
      for (size_t l = 0; l < kLevels; ++l)
        if (kLevelNames[l] == value) arguments.run.generate.level = static_cast<Level>(l);
      if (!arguments.run.generate.level) return false;
    } else if (name == "--ops") {
      for (const OpDef* def : all_ops())
        if (fnmatch(value.c_str(), std::string(def->name).c_str(), 0) == 0)
          arguments.run.generate.subjects.push_back(def->kind);
      if (arguments.run.generate.subjects.empty()) return false;
    } else if (name == "--recorded") {
      arguments.run.generate.recorded = value;
    } else if (name == "--report") {
      arguments.report = value;
    } else if (!number || *number < 0) {
      return false;
    } else if (name == "--seed") {
      arguments.run.seed = static_cast<uint64_t>(*number);
    } else if (name == "--count") {
      arguments.run.count = static_cast<uint64_t>(*number);
    } else if (name == "--limit") {
      arguments.run.cpu_seconds = static_cast<double>(*number);
    } else if (name == "--seconds") {
      arguments.run.seconds = static_cast<double>(*number);
    } else if (name == "--jobs") {
      arguments.run.jobs = static_cast<int>(std::clamp<int64_t>(*number, 1, 64));
    } else if (name == "--replay") {
      arguments.replay = static_cast<uint64_t>(*number);
    } else {
      return false;
    }
  }
  return true;
}

// The numbers of a small input.
std::string elements_of(const Value& value) {
  constexpr int64_t kMost = 64;
  if (count_elements(value.shape) > kMost) return {};
  std::vector<double> list(static_cast<size_t>(count_elements(value.shape)));
  load<double>(value.view(), list);
  return fmt::format(" {}", fmt::join(list, ","));
}

int replay(const Arguments& arguments) {
  const Model model = generate(*arguments.replay, arguments.run.generate);
  if (model.graph != nullptr) {
    std::printf("%s\n", print(*model.graph).c_str());
    for (size_t i = 0; i < model.inputs.size(); ++i)
      std::printf("// input %s: %s%s\n", model.graph->inputs()[i]->name().c_str(),
                  model.inputs[i].type().text().c_str(), elements_of(model.inputs[i]).c_str());
  } else {
    write_model(model, ".");
    std::printf("// about %s, written to %s\n", model.file_subject.c_str(),
                model.file_name.c_str());
  }
  std::fflush(stdout);
  if (arguments.print_only) return 0;
  int finds = 0;
  StageHooks hooks;
  const TemporaryDirectory scratch;
  hooks.scratch = scratch.path();
  hooks.begin = [](std::string_view stage) {
    std::printf("stage: %s\n", std::string(stage).c_str());
    std::fflush(stdout);
  };
  hooks.found = [&](const Find& find) {
    ++finds;
    std::printf("FIND %s: %s: %s\n", find.stage.c_str(), find.kind.c_str(), find.text.c_str());
  };
  run_stages(default_registry(), model, *arguments.replay, hooks);
  return finds == 0 ? 0 : 1;
}

// Finds that are one fault: the same stage and words, whatever the numbers.
std::string signature(const SeedFind& find) {
  std::string text = find.find.stage + "|" + find.find.kind + "|";
  for (const char c : find.find.text) {
    const bool digit = (c >= '0' && c <= '9') || c == '-' || c == '.';
    if (!digit)
      text += c;
    else if (text.back() != '#')
      text += '#';
  }
  return text;
}

nlohmann::json as_json(const RunFigures& figures, uint64_t seed) {
  nlohmann::json json = {
      {"models", figures.models}, {"seconds", figures.seconds}, {"restarts", figures.restarts}};
  json["runs"] = {{{"seed", seed}, {"next_seed", figures.next_seed}}};
  for (size_t i = 0; i < kLevels; ++i)
    json["levels"][std::string(kLevelNames[i])] = figures.by_level[i];
  for (const auto& [name, op] : figures.by_op)
    json["ops"][name] = {{"models", op.models}, {"tried", op.tried}, {"taken", op.taken}};
  for (const auto& [name, op] : figures.by_operator)
    json["files"][name] = {{"files", op.files}, {"read", op.read}};
  json["stages"] = figures.by_stage;
  json["finds"] = nlohmann::json::array();
  for (const SeedFind& find : figures.finds)
    json["finds"].push_back({{"seed", find.seed},
                             {"about", find.subject},
                             {"stage", find.find.stage},
                             {"kind", find.find.kind},
                             {"text", find.find.text}});
  return json;
}

// Numbers are summed, lists joined.
void add(nlohmann::json& total, const nlohmann::json& more) {
  if (more.is_object()) {
    for (const auto& [name, value] : more.items()) add(total[name], value);
  } else if (more.is_array()) {
    for (const auto& value : more) total.push_back(value);
  } else if (more.is_number_integer()) {
    total = total.is_null() ? more : nlohmann::json(total.get<int64_t>() + more.get<int64_t>());
  } else {
    total = total.is_null() ? more : nlohmann::json(total.get<double>() + more.get<double>());
  }
}

// A campaign takes several runs: the figures are added to those of the runs before.
void write_report(const std::string& file, const nlohmann::json& run) {
  nlohmann::json total = nlohmann::json::parse(std::ifstream(file), nullptr, false);
  if (!total.is_object() || !total.contains("runs")) total = nlohmann::json::object();
  add(total, run);
  if (!total.contains("finds")) total["finds"] = nlohmann::json::array();
  std::ofstream(file) << total.dump(1, ' ', false, nlohmann::json::error_handler_t::replace)
                      << "\n";
}

int run(const Arguments& arguments) {
  const RunFigures figures = run_models(arguments.run);
  if (!arguments.report.empty())
    write_report(arguments.report, as_json(figures, arguments.run.seed));
  uint64_t tried = 0, taken = 0, without = 0;
  for (const auto& [name, op] : figures.by_op) {
    tried += op.tried;
    taken += op.taken;
    without += op.taken == 0 ? 1 : 0;
  }
  std::printf(
      "%llu models in %.1f s (%.0f a second); %llu of %llu operations legal; %llu ops never; %llu "
      "restarts; next seed %llu\n",
      static_cast<unsigned long long>(figures.models), figures.seconds,
      static_cast<double>(figures.models) / figures.seconds, static_cast<unsigned long long>(taken),
      static_cast<unsigned long long>(tried), static_cast<unsigned long long>(without),
      static_cast<unsigned long long>(figures.restarts),
      static_cast<unsigned long long>(figures.next_seed));
  std::map<std::string, std::pair<size_t, const SeedFind*>> groups;
  for (const SeedFind& find : figures.finds) {
    auto& [count, first] = groups[signature(find)];
    ++count;
    if (first == nullptr || find.seed < first->seed) first = &find;
  }
  for (const auto& [text, group] : groups)
    std::printf("%zu x seed %llu about %s: %s: %s: %s\n", group.first,
                static_cast<unsigned long long>(group.second->seed), group.second->subject.c_str(),
                group.second->find.stage.c_str(), group.second->find.kind.c_str(),
                group.second->find.text.c_str());
  return figures.finds.empty() ? 0 : 1;
}

}  // namespace
}  // namespace ec::fuzz

int main(int argc, char** argv) {
  ec::fuzz::Arguments arguments;
  if (!ec::fuzz::parse(argc, argv, arguments)) {
    std::fprintf(stderr,
                 "usage: op_fuzzer [--seed N] [--count N] [--level "
                 "legal|near|wild|file|recorded|immense] [--ops PATTERN] "
                 "[--recorded FOLDER] "
                 "[--jobs N] [--report FILE] [--quiet] [--replay SEED [--print]]\n");
    return 2;
  }
  return arguments.replay ? ec::fuzz::replay(arguments) : ec::fuzz::run(arguments);
}
