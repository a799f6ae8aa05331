#include "passes/pass_registry.h"

#include "passes/registry.h"
#include "support/strings.h"

namespace ec {
namespace {

constexpr const PassInfo* kPasses[] = {
#define EC_PASS(Name) &passes::k##Name##Pass,
#include "passes/passes.def"
#undef EC_PASS
};

Error unknown(std::string what, std::string_view wanted, std::span<const std::string_view> known) {
  Error error(Code::Usage, "unknown " + what + " '" + printable(wanted, 80) + "'");
  std::string hint = did_you_mean(wanted, known);
  if (hint.empty()) {
    hint = "known:";
    for (const std::string_view name : known) hint += " " + std::string(name);
  }
  return std::move(error).hint(std::move(hint));
}

Status check_option(const PassInfo& info, const PassOption& option) {
  std::vector<std::string_view> keys;
  for (const PassOptionInfo& known : info.options) {
    keys.push_back(known.key);
    if (known.key != option.key) continue;
    const std::vector<std::string_view> choices = split(known.choices, '|');
    if (known.choices.empty()) return {};
    for (const std::string_view choice : choices)
      if (choice == option.value) return {};
    return unknown("value of option '" + option.key + "' of pass '" + std::string(info.name) + "':",
                   option.value, choices);
  }
  if (keys.empty())
    return Error(Code::Usage, "pass '" + std::string(info.name) + "' takes no options");
  return unknown("option of pass '" + std::string(info.name) + "':", option.key, keys);
}

}  // namespace

PassRegistry::PassRegistry() : passes_(std::begin(kPasses), std::end(kPasses)) {
  for (const NamedPipeline& pipeline : built_in_pipelines()) pipelines_.push_back(&pipeline);
}

const PassRegistry& PassRegistry::built_in() {
  static const PassRegistry kBuiltIn;
  return kBuiltIn;
}

Status PassRegistry::check_free(std::string_view name) const {
  if (find_pass(name) == nullptr && find_pipeline(name) == nullptr) return {};
  return Error(Code::Internal, "the name '" + printable(name) + "' of a pass is taken");
}

Status PassRegistry::add(const PassInfo& pass) {
  EC_CHECK_OK(check_free(pass.name));
  passes_.push_back(&pass);
  return {};
}

Status PassRegistry::add(const NamedPipeline& pipeline) {
  EC_CHECK_OK(check_free(pipeline.name));
  pipelines_.push_back(&pipeline);
  return {};
}

const PassInfo* PassRegistry::find_pass(std::string_view name) const {
  for (const PassInfo* info : passes_)
    if (info->name == name) return info;
  return nullptr;
}

const NamedPipeline* PassRegistry::find_pipeline(std::string_view name) const {
  for (const NamedPipeline* pipeline : pipelines_)
    if (pipeline->name == name) return pipeline;
  return nullptr;
}

Result<std::unique_ptr<Pass>> PassRegistry::make_pass(std::string_view name,
                                                      std::span<const PassOption> options) const {
  const PassInfo* info = find_pass(name);
  if (info == nullptr) {
    std::vector<std::string_view> names;
    for (const PassInfo* known : passes_) names.push_back(known->name);
    return unknown("pass", name, names);
  }
  for (const PassOption& option : options) EC_CHECK_OK(check_option(*info, option));
  return info->make(options);
}

std::string_view option_value(std::span<const PassOption> options, const PassOptionInfo& info) {
  std::string_view value = info.default_value;
  for (const PassOption& option : options)
    if (option.key == info.key) value = option.value;
  return value;
}

void PassStats::count(std::string_view what, int64_t n) {
  if (n == 0) return;
  for (auto& [name, value] : counters)
    if (name == what) {
      value += n;
      return;
    }
  counters.emplace_back(what, n);
}

void PassStats::add(const PassStats& other) {
  changes += other.changes;
  visits += other.visits;
  for (const auto& [name, value] : other.counters) count(name, value);
  notes.insert(notes.end(), other.notes.begin(), other.notes.end());
}

void PassContext::warn(Code code, std::string message) const {
  if (sink != nullptr) sink->warn(code, std::move(message));
}

Result<PassStats> run_on_all_graphs(const Pass& pass, Graph& graph, PassContext& context) {
  PassStats stats;
  // By id: a pass may erase operations of this graph only after its bodies are done.
  for (uint32_t id = 0; id < graph.operation_id_bound(); ++id) {
    const Operation* op = graph.operation(id);
    if (op == nullptr) continue;
    for (const auto& body : op->bodies()) {
      ++context.depth;
      Result<PassStats> inner = run_on_all_graphs(pass, *body, context);
      --context.depth;
      if (!inner.ok()) return std::move(inner).error();
      stats.add(*inner);
    }
  }
  EC_TRY(const PassStats own, pass.run(graph, context));
  stats.add(own);
  return stats;
}

}  // namespace ec
