#include "api/lists_json.h"

#include "edgecompiler/report.h"
#include "options/value.h"

namespace ec {
namespace {

std::string text(std::string_view view) { return std::string(view); }

TargetEntry target_entry(const BackendInfo& info) {
  TargetEntry entry;
  entry.name = info.name;
  if (!info.files.empty()) entry.extension = info.files.front().extension;
  entry.summary = info.summary;
  for (const FileKind& file : info.files)
    entry.files.push_back({text(file.extension), text(file.summary)});
  for (const BackendVariant& variant : info.variants)
    entry.variants.push_back({text(variant.name), text(variant.summary)});
  for (const OptionDef& option : info.options)
    entry.options.push_back({text(option.name), text(option.argument), text(option.default_value),
                             allowed_values(option), text(option.help)});
  return entry;
}

PassEntry pass_entry(const PassInfo& pass) {
  PassEntry entry{text(pass.name), text(pass.summary), text(pass.details), {}};
  for (const PassOptionInfo& option : pass.options)
    entry.options.push_back(
        {text(option.key), text(option.default_value), text(option.choices), text(option.summary)});
  return entry;
}

StrategyEntry strategy_entry(const quantize::Strategy& strategy) {
  StrategyEntry entry{text(strategy.name), text(strategy.summary), {}};
  for (const quantize::Step& step : strategy.steps)
    entry.steps.push_back({text(step.name), text(step.summary)});
  return entry;
}

CodeEntry code_entry(const CodeInfo& info) {
  return {code_id(info.code), text(info.name), text(info.title), text(info.explanation),
          info.exit_code};
}

}  // namespace

std::string targets_json(const Registry& registry) {
  TargetList list;
  for (const Backend* backend : registry.backends())
    list.targets.push_back(target_entry(backend->info()));
  for (const AbsentBackend& absent : registry.absent_backends()) {
    TargetEntry& entry = list.targets.emplace_back();
    entry.name = absent.name;
    entry.available = false;
    entry.extension = absent.extension;
    entry.summary = absent.summary;
  }
  return to_json(list);
}

std::string passes_json(const Registry& registry) {
  PassList list;
  for (const PassInfo* pass : registry.passes().passes()) list.passes.push_back(pass_entry(*pass));
  for (const NamedPipeline* pipeline : registry.passes().pipelines())
    list.pipelines.push_back(
        {text(pipeline->name), text(pipeline->summary), text(pipeline->text), pipeline->fixpoint});
  for (const quantize::Strategy* strategy : registry.strategies())
    list.strategies.push_back(strategy_entry(*strategy));
  return to_json(list);
}

std::string codes_json() {
  CodeList list;
  for (const CodeInfo& info : all_codes()) list.codes.push_back(code_entry(info));
  return to_json(list);
}

std::string code_json(const CodeInfo& info) { return to_json(code_entry(info)); }

}  // namespace ec
