#include "api/lists_json.h"

#include <nlohmann/json.hpp>

#include "options/value.h"

namespace ec {
namespace {

using Json = nlohmann::ordered_json;

Json options_json(const BackendInfo& info) {
  Json options = Json::array();
  for (const OptionDef& option : info.options)
    options.push_back({{"name", option.name},
                       {"argument", option.argument},
                       {"default", option.default_value},
                       {"values", allowed_values(option)},
                       {"help", option.help}});
  return options;
}

Json target_json(const BackendInfo& info) {
  Json variants = Json::array(), files = Json::array();
  for (const BackendVariant& variant : info.variants)
    variants.push_back({{"name", variant.name}, {"summary", variant.summary}});
  for (const FileKind& file : info.files)
    files.push_back({{"extension", file.extension}, {"summary", file.summary}});
  return {{"name", info.name},
          {"available", true},
          {"extension", info.files.empty() ? "" : info.files.front().extension},
          {"summary", info.summary},
          {"files", std::move(files)},
          {"variants", std::move(variants)},
          {"options", options_json(info)}};
}

Json pass_json(const PassInfo& pass) {
  Json options = Json::array();
  for (const PassOptionInfo& option : pass.options)
    options.push_back({{"key", option.key},
                       {"default", option.default_value},
                       {"choices", option.choices},
                       {"summary", option.summary}});
  return {{"name", pass.name},
          {"summary", pass.summary},
          {"details", pass.details},
          {"options", std::move(options)}};
}

Json strategy_json(const quantize::Strategy& strategy) {
  Json steps = Json::array();
  for (const quantize::Step& step : strategy.steps)
    steps.push_back({{"name", step.name}, {"summary", step.summary}});
  return {{"name", strategy.name}, {"summary", strategy.summary}, {"steps", std::move(steps)}};
}

Json code_object(const CodeInfo& info) {
  return {{"code", code_id(info.code)},
          {"name", info.name},
          {"title", info.title},
          {"explanation", info.explanation},
          {"exit_code", info.exit_code}};
}

}  // namespace

std::string targets_json(const Registry& registry) {
  Json list = Json::array();
  for (const Backend* backend : registry.backends()) list.push_back(target_json(backend->info()));
  for (const AbsentBackend& absent : registry.absent_backends())
    list.push_back({{"name", absent.name},
                    {"available", false},
                    {"extension", absent.extension},
                    {"summary", absent.summary}});
  return Json{{"targets", std::move(list)}}.dump();
}

std::string passes_json(const Registry& registry) {
  Json passes = Json::array(), pipelines = Json::array(), strategies = Json::array();
  for (const PassInfo* pass : registry.passes().passes()) passes.push_back(pass_json(*pass));
  for (const NamedPipeline* pipeline : registry.passes().pipelines())
    pipelines.push_back({{"name", pipeline->name},
                         {"summary", pipeline->summary},
                         {"passes", pipeline->text},
                         {"until_nothing_changes", pipeline->fixpoint}});
  for (const quantize::Strategy* strategy : registry.strategies())
    strategies.push_back(strategy_json(*strategy));
  return Json{{"passes", std::move(passes)},
              {"pipelines", std::move(pipelines)},
              {"strategies", std::move(strategies)}}
      .dump();
}

std::string codes_json() {
  Json list = Json::array();
  for (const CodeInfo& info : all_codes()) list.push_back(code_object(info));
  return Json{{"codes", std::move(list)}}.dump();
}

std::string code_json(const CodeInfo& info) { return code_object(info).dump(); }

}  // namespace ec
