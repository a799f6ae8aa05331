#include "fuzz/op/stages.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "driver/compilation.h"
#include "driver/jobs.h"
#include "fuzz/op/compare.h"
#include "fuzz/op/random_source.h"
#include "ir/text.h"
#include "ops/attrs.h"
#include "ops/infer.h"
#include "ops/op_def.h"
#include "ops/strided_copy.h"
#include "runtime/fill.h"
#include "support/budget.h"
#include "support/strings.h"
#include "writer/onnx/onnx.h"

namespace ec::fuzz {
namespace {

// Larger tensors are left to the limits on memory; running them would only measure the machine.
constexpr int64_t kMostBytes = int64_t{1} << 22;

// Of a run of a file as it is.
constexpr BudgetLimits kFileLimits{.work = 20'000'000, .memory = size_t{64} << 20};

// Kinds that no model may cause.
// Debug builds verify graphs after each pass; a pass may compute an operand that shows a fault of
// the model.
bool breaks_rules(const Error& error) {
  return error.message().find("breaks IR rules") != std::string::npos;
}
bool is_fault(Code code) { return code == Code::Internal || code == Code::SelfCheckFailed; }

bool is_limit(Code code) {
  return code == Code::OutOfMemory || code == Code::TimedOut || code == Code::WorkLimit;
}

std::string text_of(const Error& error) {
  const std::vector<std::string>& notes = error.diagnostic().notes;
  return fmt::format("{} {}{}", code_id(error.code()), error.message(),
                     notes.empty() ? "" : ": " + notes.front());
}

// The first lines in which two texts differ; the same twice: none.
std::pair<std::string, std::string> first_difference(std::string_view a, std::string_view b) {
  const std::vector<std::string_view> left = split(a, '\n'), right = split(b, '\n');
  for (size_t i = 0; i < std::max(left.size(), right.size()); ++i) {
    const std::string_view x = i < left.size() ? left[i] : "", y = i < right.size() ? right[i] : "";
    if (x != y) return {std::string(trim(x)), std::string(trim(y))};
  }
  return {};
}

// An open size is 1 at least.
bool is_runnable(const Graph& graph) {
  return std::ranges::all_of(graph.tensors(), [](const Tensor* tensor) {
    if (!tensor->shape()) return true;
    std::vector<int64_t> sizes;
    for (const Dim& dim : *tensor->shape()) sizes.push_back(dim.is_static() ? dim.size() : 1);
    const auto bytes = TensorType(tensor->dtype(), Shape::of(sizes)).num_bytes();
    return bytes && *bytes <= kMostBytes;
  });
}

bool has_random(const Graph& graph) {
  for (const Operation* op : graph.topological()) {
    if (op->def().traits.random) return true;
    // Where an element is written twice, the order of writing is nobody's promise.
    if (op->kind() == OpKind::ScatterElements &&
        op->attrs_as<ScatterElementsAttrs>().reduction == Reduction::None)
      return true;
    if (op->kind() == OpKind::ScatterNd &&
        op->attrs_as<ScatterNdAttrs>().reduction == Reduction::None)
      return true;
    for (const auto& body : op->bodies())
      if (has_random(*body)) return true;
  }
  return false;
}

// Channels from the second to the last place.
Value channels_last(const Value& value) {
  if (value.shape.size() < 3) return value;
  std::vector<int64_t> shape(value.shape);
  std::rotate(shape.begin() + 1, shape.begin() + 2, shape.end());
  std::vector<int64_t> plain(shape.size(), 1), from(shape.size(), 1), to(shape.size(), 1);
  for (size_t d = shape.size() - 1; d-- > 0;) {
    plain[d] = plain[d + 1] * value.shape[d + 1];
    to[d] = to[d + 1] * shape[d + 1];
  }
  from = plain;
  std::rotate(from.begin() + 1, from.begin() + 2, from.end());
  Buffer buffer = Buffer::allocate(value.data.size());
  if (!value.data.empty())
    strided_copy(buffer.data(), to, value.data.bytes().data(), from, shape,
                 element_size(value.dtype));
  return Value(value.dtype, shape, std::move(buffer).to_blob());
}

class Stages {
 public:
  Stages(const Registry& registry, const Model& model, uint64_t seed, const StageHooks& hooks)
      : registry_(registry), model_(model), random_(seed ^ 0x5EED), hooks_(hooks) {}

  void run() {
    if (model_.graph == nullptr) return run_file();
    begin("verify");
    for (const Diagnostic& fault : verify(*model_.graph)) {
      // Inference sees one operation; that a state is read and written once is a rule of the graph.
      if (model_.level == Level::Legal) find("invalid", fault.message);
      return;
    }
    // Models with an immense size come without values.
    runnable_ = is_runnable(*model_.graph) && model_.inputs.size() == model_.graph->inputs().size();
    random_results_ = has_random(*model_.graph);
    if (runnable_) {
      begin("run-reference");
      reference_ = run_graph(*model_.graph, model_.inputs, true);
      if (!reference_->ok() && is_fault(reference_->error().code()))
        find("internal", text_of(reference_->error()));
      run_fast();
    }
    round_trip_ecir(*model_.graph, "ecir");
    round_trip_onnx(*model_.graph, "onnx");
    optimise();
    // One target for each model: other models tell more than other targets.
    compile(any_backend(), "");
    // Quantisation takes longer than all the rest.
    if (random_.chance(20)) {
      const auto strategies = registry_.strategies();
      compile(any_backend(), std::string(strategies[random_.index(strategies.size())]->name));
    }
  }

 private:
  const Backend& any_backend() {
    const auto backends = registry_.backends();
    return *backends[random_.index(backends.size())];
  }
  void begin(std::string stage) {
    stage_ = std::move(stage);
    hooks_.begin(stage_);
  }
  void find(std::string kind, std::string text) {
    hooks_.found({stage_, std::move(kind), std::move(text)});
  }

  // Rewriting that does not come to an end is a warning for users and a fault here.
  void check_settled(const DiagnosticSink& sink) {
    for (const Diagnostic& d : sink.diagnostics())
      if (d.code == Code::NotSettled) return find("unsettled", d.message);
  }

  // Results of another form of the model against the reference. `must_run`: a refusal is a find.
  void compare(const Result<std::vector<Value>>& got, bool must_run,
               std::span<const std::string> layouts = {}) {
    if (!got.ok()) {
      if (is_fault(got.error().code()))
        find("internal", text_of(got.error()));
      else if (must_run && reference_ && reference_->ok() && !is_limit(got.error().code()))
        find("refused", text_of(got.error()));
      return;
    }
    if (!reference_ || !reference_->ok() || random_results_) return;
    std::vector<Value> wanted = **reference_;
    for (size_t i = 0; i < wanted.size() && i < layouts.size(); ++i)
      if (layouts[i] == "nhwc") wanted[i] = channels_last(wanted[i]);
    const auto text = difference(wanted, *got);
    if (!text) return;
    if (!fragile_) fragile_ = is_fragile(*model_.graph, model_.inputs, **reference_);
    if (!*fragile_) find("differs", *text);
  }

  void run_fast() {
    begin("run-fast");
    const Result<std::vector<Value>> fast = run_graph(*model_.graph, model_.inputs, false);
    compare(fast, true);
    if (fast.ok() && !reference_->ok() && !is_limit(reference_->error().code()))
      find("accepted", "the reference says: " + text_of(reference_->error()));
  }

  void round_trip_ecir(const Graph& graph, std::string stage) {
    begin("write " + stage);
    const std::vector<Blob> parts = encode_ecir(graph);
    begin("read " + stage);
    const Result<std::unique_ptr<Graph>> read = read_ecir(Blob::joined(parts));
    if (!read.ok()) return find("unreadable", text_of(read.error()));
    // By the text: an attribute may be NaN.
    if (**read == graph || print(**read) == print(graph)) return;
    // Reading learns the types of a branch from which passes removed what could not run.
    const std::unique_ptr<Graph> written = graph.clone();
    DiagnosticSink sink;
    infer_graph(*written, sink);
    infer_graph(**read, sink);
    if (const auto [a, b] = first_difference(print(**read), print(*written)); a != b)
      find("differs", "the graph that was read is not the one written: " + a + " for " + b);
  }

  void round_trip_onnx(const Graph& graph, std::string stage) {
    begin("write " + stage);
    const Result<OnnxFiles> files = encode_onnx(graph, "x.data");
    if (!files.ok()) {
      if (is_fault(files.error().code())) find("internal", text_of(files.error()));
      return;
    }
    onnx_ = Blob::joined(files->model);
    begin("read " + stage);
    // Reading computes constants, which may show a fault of the model.
    const bool is_right = !reference_ || reference_->ok();
    const std::unique_ptr<Graph> read = import(ModelRef("fuzz.onnx", onnx_), is_right);
    if (read == nullptr || !runnable_) return;
    begin("run " + stage);
    run_imported(*read);
  }

  // Inputs that nothing reads may be gone: values go by name.
  void run_imported(const Graph& read, std::span<const std::string> layouts = {}) {
    std::vector<Value> inputs;
    for (const Tensor* input : read.inputs()) {
      const auto& own = model_.graph->inputs();
      const auto same = std::find_if(own.begin(), own.end(),
                                     [&](const Tensor* t) { return t->name() == input->name(); });
      if (same == own.end()) return find("differs", "an input of another name: " + input->name());
      Value value = model_.inputs[static_cast<size_t>(same - own.begin())];
      const auto layout = read.metadata().find("layout.input." + input->name());
      const bool last = layout != read.metadata().end() && layout->second == "nhwc";
      inputs.push_back(last ? channels_last(value) : value);
    }
    compare(run_graph(read, inputs, false), true, layouts);
  }

  std::unique_ptr<Graph> import(const ModelRef& ref, bool must_load, const Options& options = {}) {
    DiagnosticSink sink;
    Result<Compilation> c =
        Compilation::create(registry_, Verb::Optimize, {&ref, 1}, options, sink);
    const Status status = c.ok() ? c->run("import") : Status(std::move(c).error());
    if (status.ok()) return std::move(c->models().front().graph);
    if (is_fault(status.error().code()))
      find("internal", text_of(status.error()));
    else if (must_load && !is_limit(status.error().code()))
      find("unreadable", text_of(status.error()));
    return nullptr;
  }

  ModelRef as_given() const {
    return ModelRef("fuzz", std::shared_ptr<const Graph>(model_.graph.get(), [](const Graph*) {}));
  }

  void optimise() {
    begin("optimise");
    const ModelRef ref = as_given();
    DiagnosticSink sink;
    Result<Compilation> c = Compilation::create(registry_, Verb::Optimize, {&ref, 1}, {}, sink);
    const Status status = c.ok() ? c->run() : Status(std::move(c).error());
    check_settled(sink);
    if (!status.ok()) {
      // A model that can be run can be optimised.
      if (breaks_rules(status.error()) && reference_ && !reference_->ok()) return;
      if (is_fault(status.error().code()))
        find("internal", text_of(status.error()));
      else if (reference_ && reference_->ok() && !is_limit(status.error().code()))
        find("refused", text_of(status.error()));
      return;
    }
    const Graph& graph = *c->models().front().graph;
    begin("verify optimised");
    for (const Diagnostic& fault : verify(graph)) {
      // Passes may compute an operand that shows a fault of the model.
      if (reference_ && reference_->ok()) find("invalid", fault.message);
      return;
    }
    if (runnable_ && is_runnable(graph)) {
      begin("run optimised");
      run_imported(graph);
    }
    round_trip_ecir(graph, "optimised ecir");
    if (random_.chance(50)) round_trip_onnx(graph, "optimised onnx");
  }

  void compile(const Backend& backend, const std::string& strategy) {
    const std::string target(backend.info().name);
    begin("compile " + target + (strategy.empty() ? "" : " " + strategy));
    Options options{{"target", target}};
    if (!strategy.empty()) options.set("quantize", strategy);
    const bool samples = strategy == "ptq" || strategy == "a16w8";
    if (samples) {
      options.set("calibration-data", std::string("random"));
      options.set("calibration-samples", int64_t{2});
    }
    const bool from_file = !onnx_.empty() && random_.chance(30);
    const ModelRef ref = from_file ? ModelRef("fuzz.onnx", onnx_) : as_given();
    DiagnosticSink sink;
    Result<Compilation> c = Compilation::create(registry_, Verb::Compile, {&ref, 1}, options, sink);
    const Status status = c.ok() ? c->run("self-check") : Status(std::move(c).error());
    check_settled(sink);
    if (!status.ok()) {
      if (breaks_rules(status.error()) && reference_ && !reference_->ok()) return;
      if (is_fault(status.error().code())) report_fault(status.error());
      return;
    }
    const Graph* graph = c->models().front().graph.get();
    if (graph == nullptr) return;
    begin("verify for " + target);
    for (const Diagnostic& fault : verify(*graph)) {
      if (!reference_ || reference_->ok()) find("invalid", fault.message);
      return;
    }
    // A model that brings its own 8-bit numbers chooses a strategy, too; the self-check has
    // compared what that gives.
    const bool is_quantised = c->models().front().strategy != nullptr;
    if (is_quantised || !runnable_ || !is_runnable(*graph)) return;
    if (std::any_of(graph->inputs().begin(), graph->inputs().end(),
                    [](const Tensor* t) { return !t->type().is_static(); }))
      return;
    if (!same_sizes(*graph) || !fit_in_32_bits()) return;
    begin("run for " + target);
    std::vector<std::string> layouts;
    for (const std::string& name : graph->output_names()) {
      const auto found = graph->metadata().find("layout.output." + name);
      layouts.push_back(found == graph->metadata().end() ? "" : found->second);
    }
    run_imported(*graph, layouts);
  }

  // Devices compute integers of 64 bits in 32, and those without a sign with one.
  bool fit_in_32_bits() const {
    const auto fits = [](const ConstView& view) {
      if (view.dtype == DType::U32)
        return std::ranges::all_of(view.as<uint32_t>(), [](uint32_t n) { return n <= INT32_MAX; });
      if (view.dtype != DType::I64) return true;
      const auto numbers = view.as<int64_t>();
      return std::ranges::all_of(numbers, [](int64_t n) { return n == static_cast<int32_t>(n); });
    };
    return std::ranges::all_of(model_.inputs,
                               [&](const Value& value) { return fits(value.view()); }) &&
           std::ranges::all_of(model_.graph->tensors(), [&](const Tensor* tensor) {
             if (!tensor->is_constant()) return true;
             const std::vector<int64_t> sizes = tensor->shape()->sizes();
             return fits(ConstView{tensor->dtype(), sizes, tensor->data().bytes().data()});
           });
  }

  // A batch that was open is 1 in a compiled model: other values than those of the reference.
  bool same_sizes(const Graph& graph) const {
    for (const Tensor* input : graph.inputs()) {
      const Tensor* own = model_.graph->find_tensor(input->name());
      if (own == nullptr || !own->is_input()) return true;
      if (!own->type().is_static()) return false;
    }
    return true;
  }

  // The self-check compares by the numbers: what rounding explains is no fault.
  void report_fault(const Error& error) {
    const bool numbers = error.message().find("differs by") != std::string::npos ||
                         error.message().find("other integers") != std::string::npos ||
                         error.message().find(" in the file and ") != std::string::npos;
    if (numbers && random_results_) return;
    // Without values there is nothing to tell how far rounding goes.
    if (numbers && model_.level == Level::Immense) return;
    if (numbers && reference_ && reference_->ok()) {
      if (!fragile_) fragile_ = is_fragile(*model_.graph, model_.inputs, **reference_);
      if (*fragile_) return;
    }
    find("internal", text_of(error));
  }

  void run_file() {
    begin("import file");
    const ModelRef ref =
        model_.is_folder()
            ? ModelRef(write_model(model_, hooks_.scratch))
            : ModelRef(model_.file_name,
                       Blob::copy_of(std::span<const char>(model_.files.front().bytes)));
    Options options;
    if (!model_.input_shapes.empty()) options.set("input-shape", model_.input_shapes);
    std::unique_ptr<Graph> graph = import(ref, false, options);
    if (graph == nullptr) return;
    begin("verify file");
    for (const Diagnostic& fault : verify(*graph)) return find("invalid", fault.message);
    round_trip_ecir(*graph, "file's ecir");
    const std::string target(any_backend().info().name);
    begin("check file for " + target);
    DiagnosticSink checked;
    Options for_target = options;
    for_target.set("target", target);
    const auto report = check_model(registry_, ref, for_target, checked);
    if (!report.ok() && is_fault(report.error().code())) find("internal", text_of(report.error()));
    if (!is_runnable(*graph)) return;
    if (open_and_run(ref, options)) run_as_model(std::move(graph));
  }

  // False: the file has no session, or no inputs of a size that fits.
  bool open_and_run(const ModelRef& ref, const Options& options) {
    begin("open file");
    // Sizes that the file leaves open may have large defaults.
    Budget budget(kFileLimits);
    const BudgetScope scope(budget);
    DiagnosticSink sink;
    Result<OpenedSession> opened = open_session(registry_, ref, Verb::Run, options, sink);
    if (!opened.ok()) {
      if (is_fault(opened.error().code())) find("internal", text_of(opened.error()));
      return false;
    }
    begin("run file");
    const Result<std::vector<NamedValue>> inputs = opened->session->random_inputs(1);
    if (!inputs.ok()) return false;
    for (const NamedValue& input : *inputs)
      if (static_cast<int64_t>(input.value.data.size()) > kMostBytes) return false;
    const Result<std::vector<Value>> results = opened->session->run(*inputs);
    if (!results.ok() && is_fault(results.error().code()))
      find("internal", text_of(results.error()));
    return true;
  }

  // What was read is a model like any other: all of its forms must mean the same.
  void run_as_model(std::unique_ptr<Graph> graph) {
    Model model;
    model.level = Level::File;
    for (const Tensor* input : graph->inputs()) {
      if (!input->shape()) return;
      std::vector<int64_t> sizes;
      for (const Dim& dim : *input->shape()) sizes.push_back(dim.is_static() ? dim.size() : 2);
      const auto bytes = TensorType(input->dtype(), Shape::of(sizes)).num_bytes();
      if (!bytes || *bytes > kMostBytes) return;
      Result<Value> value = make_value(input->dtype(), sizes, Fill::Random, 1);
      if (!value.ok()) return;
      model.inputs.push_back(std::move(*value));
    }
    model.graph = std::move(graph);
    run_stages(registry_, model, random_.next(), hooks_);
  }

  const Registry& registry_;
  const Model& model_;
  RandomSource random_;
  const StageHooks& hooks_;
  std::string stage_;
  bool runnable_ = false, random_results_ = false;
  std::optional<Result<std::vector<Value>>> reference_;
  std::optional<bool> fragile_;
  Blob onnx_;
};

}  // namespace

void run_stages(const Registry& registry, const Model& model, uint64_t seed,
                const StageHooks& hooks) {
  Stages(registry, model, seed, hooks).run();
}

}  // namespace ec::fuzz
