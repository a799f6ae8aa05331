#include "passes/manager.h"

#include <chrono>
#include <cstdio>

#include "ir/text.h"
#include "passes/settle.h"
#include "support/budget.h"
#include "support/file.h"
#include "support/strings.h"

namespace ec {
namespace {

using Clock = std::chrono::steady_clock;

double milliseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

// A pass of the pipeline, made once.
struct Step {
  std::unique_ptr<Pass> pass;  // null: a group
  std::string group_name;
  std::vector<Step> group;
  size_t row = 0;     // in the report
  int64_t seen = -1;  // change count after its last run: nothing to do while it stays
};

class Runner {
 public:
  Runner(const PassManagerOptions& options, const PassRegistry& registry, Graph& graph,
         PassContext& context)
      : options_(options), registry_(registry), graph_(graph), context_(context) {}

  Result<PipelineReport> run(std::span<const PipelineItem> items) {
    const auto start = Clock::now();
    EC_CHECK_OK(check_names());
    EC_TRY(std::vector<Step> steps, make_steps(items));
    report_.operations_before = count_operations(graph_);
    if (options_.verify) EC_CHECK_OK(verify_after("the importer"));
    EC_CHECK_OK(dump("input"));
    EC_CHECK_OK(run_steps(steps));
    report_.operations_after = count_operations(graph_);
    report_.milliseconds = milliseconds_since(start);
    report_.stopped = stopped_;
    return std::move(report_);
  }

 private:
  Status check_names() const {
    const auto check = [this](const std::string& name) -> Status {
      EC_TRY(const auto pass, registry_.make_pass(name, {}));
      return {};
    };
    for (const std::string& name : options_.disabled) EC_CHECK_OK(check(name));
    for (const std::string& name : options_.print_after)
      if (name != "all") EC_CHECK_OK(check(name));
    if (!options_.stop_after.empty()) EC_CHECK_OK(check(options_.stop_after));
    return {};
  }

  bool listed(const std::vector<std::string>& names, std::string_view name) const {
    for (const std::string& one : names)
      if (one == name || one == "all") return true;
    return false;
  }

  Result<std::vector<Step>> make_steps(std::span<const PipelineItem> items) {
    std::vector<Step> steps;
    for (const PipelineItem& item : items) {
      Step step;
      if (!item.group.empty()) {
        step.group_name = item.name;
        EC_TRY(step.group, make_steps(item.group));
        steps.push_back(std::move(step));
        continue;
      }
      bool disabled = false;
      for (const std::string& name : options_.disabled) disabled = disabled || name == item.name;
      if (disabled) continue;
      EC_TRY(step.pass, registry_.make_pass(item.name, item.options));
      step.row = report_.passes.size();
      report_.passes.push_back({.name = item.name, .stats = {}, .runs = 0, .milliseconds = 0});
      steps.push_back(std::move(step));
    }
    return steps;
  }

  Status run_steps(std::vector<Step>& steps) {
    for (Step& step : steps) {
      if (stopped_) return {};
      if (step.pass == nullptr)
        EC_CHECK_OK(run_group(step));
      else
        EC_CHECK_OK(run_pass(step));
    }
    return {};
  }

  Status run_group(Step& group) {
    for (int i = 0; i < PassManager::kMaxIterations; ++i) {
      const int64_t before = changes_;
      EC_CHECK_OK(run_steps(group.group));
      if (changes_ == before || stopped_) return {};
    }
    warn_unsettled("group '" + group.group_name + "' still changes the graph after " +
                   std::to_string(PassManager::kMaxIterations) + " iterations");
    return {};
  }

  Status run_pass(Step& step) {
    if (step.seen == changes_) return {};  // nothing changed since its last run
    const std::string name(step.pass->name());
    const auto start = Clock::now();
    auto result = run_on_all_graphs(*step.pass, graph_, context_);
    PassRun& row = report_.passes[step.row];
    row.milliseconds += milliseconds_since(start);
    ++row.runs;
    if (result.ok())
      if (Status stop = check_budget(); !stop.ok()) result = std::move(stop).error();
    if (!result.ok()) return std::move(result).error().note("in pass '" + name + "'");
    row.stats.add(*result);
    for (const auto& [what, count] : result->counters)
      if (what == kUnsettled)
        warn_unsettled("pass '" + name + "' was ended after " + std::to_string(result->changes) +
                       " rewrites");
    changes_ += result->changes;
    step.seen = changes_;
    if (options_.verify && result->changes > 0) EC_CHECK_OK(verify_after("pass '" + name + "'"));
    if (listed(options_.print_after, name)) print_graph(name);
    if (result->changes > 0) EC_CHECK_OK(dump(name));
    stopped_ = stopped_ || name == options_.stop_after;
    return {};
  }

  void warn_unsettled(std::string what) const {
    if (context_.sink == nullptr) return;
    context_.sink->warn(Code::NotSettled, std::move(what), {},
                        "the result is right; please report the model, so that the pass is mended");
  }

  Status verify_after(const std::string& what) const {
    const std::vector<Diagnostic> faults = verify(graph_);
    if (faults.empty()) return {};
    // Folding changes no operation: a value that it makes known may show a fault of the model.
    if (what.starts_with("pass 'fold-") && faults.front().code != Code::InvalidGraph)
      return Error(faults.front().code, faults.front().message)
          .node(faults.front().node, faults.front().op_type)
          .hint(faults.front().hint);
    Error error(Code::Internal, "the graph breaks IR rules after " + what);
    for (size_t i = 0; i < faults.size() && i < 10; ++i)
      error = std::move(error).note(format_diagnostic(faults[i]));
    return error;
  }

  void print_graph(const std::string& name) const {
    const std::string text = "// after " + name + "\n" + print(graph_, ConstantText::Elide) + "\n";
    if (options_.print)
      options_.print(text);
    else
      std::fwrite(text.data(), 1, text.size(), stderr);
  }

  Status dump(const std::string& name) {
    if (options_.dump_directory.empty()) return {};
    std::error_code status;
    std::filesystem::create_directories(options_.dump_directory, status);
    if (status)
      return Error(Code::OutputUnwritable, "cannot make directory: " + status.message())
          .file(options_.dump_directory.string());
    std::string number = std::to_string(dumped_++);
    number.insert(0, number.size() < 3 ? 3 - number.size() : 0, '0');
    return write_file(options_.dump_directory / (number + "-" + name + ".ecir"),
                      print(graph_, ConstantText::Elide));
  }

  const PassManagerOptions& options_;
  const PassRegistry& registry_;
  Graph& graph_;
  PassContext& context_;
  PipelineReport report_;
  int64_t changes_ = 0;
  int dumped_ = 0;
  bool stopped_ = false;
};

}  // namespace

int64_t PipelineReport::changes() const {
  int64_t sum = 0;
  for (const PassRun& run : passes) sum += run.stats.changes;
  return sum;
}

const PassRun* PipelineReport::find(std::string_view name) const {
  for (const PassRun& run : passes)
    if (run.name == name) return &run;
  return nullptr;
}

void PipelineReport::append(PipelineReport later) {
  if (passes.empty()) operations_before = later.operations_before;
  for (PassRun& run : later.passes) passes.push_back(std::move(run));
  milliseconds += later.milliseconds;
  operations_after = later.operations_after;
  stopped = later.stopped;
}

Result<PipelineReport> PassManager::run(Graph& graph, std::string_view pipeline,
                                        PassContext& context) const {
  EC_TRY(const std::vector<PipelineItem> items, registry_.parse(pipeline));
  return run(graph, items, context);
}

Result<PipelineReport> PassManager::run(Graph& graph, std::span<const PipelineItem> items,
                                        PassContext& context) const {
  return Runner(options_, registry_, graph, context).run(items);
}

size_t count_operations(const Graph& graph) {
  size_t count = graph.num_operations();
  for (uint32_t id = 0; id < graph.operation_id_bound(); ++id)
    if (const Operation* op = graph.operation(id))
      for (const auto& body : op->bodies()) count += count_operations(*body);
  return count;
}

}  // namespace ec
