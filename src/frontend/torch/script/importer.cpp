#include <fmt/format.h>

#include <algorithm>

#include "frontend/torch/recognise.h"
#include "frontend/torch/script/inputs.h"
#include "frontend/torch/script/interpreter.h"
#include "frontend/torch/script/listing.h"
#include "frontend/torch/script/script.h"
#include "support/budget.h"
#include "support/strings.h"

namespace ec::torch::script {
namespace {

constexpr size_t kMaxOutputs = 10'000;

// Version records: 1 to 10 are known; the highest feature that the code uses is named.
Status check_version(const Archive& archive) {
  const char* record = archive.has(".data/version") ? ".data/version" : "version";
  EC_TRY(const std::string text, archive.read_text(record));
  const auto version = parse_int(trim(text));
  if (!version) return Error(Code::CorruptFile, "the archive's version cannot be read");
  if (*version >= 1 && *version <= 10) return {};
  return Error(Code::UnsupportedFormat, fmt::format("TorchScript version {}", *version))
      .hint("versions 1 to 10 are known: save the model with PyTorch 1.4 to 2.13");
}

// Operators whose index arguments are integers: what they read tells the type of an input.
bool takes_indices(const ec::Operation& op, const ec::Tensor* tensor) {
  switch (op.kind()) {
    case OpKind::Gather:
    case OpKind::GatherElements:
    case OpKind::GatherNd:
    case OpKind::ScatterElements:
    case OpKind::ScatterNd:
    case OpKind::OneHot:
      return op.input(0) != tensor || op.kind() == OpKind::OneHot;
    default:
      return false;
  }
}

class Import {
 public:
  Import(const Archive& archive, const ImportOptions& options, DiagnosticSink& sink)
      : archive_(archive), options_(options), sink_(sink) {}

  // `integers`: inputs that are indices; `states`: attributes that outlive a run. Both are known
  // only after an import without them.
  Result<std::unique_ptr<ec::Graph>> run(const std::set<std::string>& integers,
                                         const std::vector<std::string>& states);
  // Inputs that turned out to be indices; the import must be made again.
  const std::set<std::string>& index_inputs() const { return index_inputs_; }
  // Attributes that the program changes.
  const std::vector<std::string>& changed_state() const { return changed_state_; }

 private:
  TorchValue argument(const InputPlan& plan);
  Status add_outputs(Interpreter& interpreter, const TorchValue& value, const std::string& name,
                     int depth);
  void find_index_inputs(const Signature& signature);

  const Archive& archive_;
  const ImportOptions& options_;
  DiagnosticSink& sink_;
  std::unique_ptr<ec::Graph> graph_;
  std::map<std::string, TensorRef> inputs_;
  std::set<std::string> index_inputs_;
  std::vector<std::string> changed_state_;
};

TorchValue Import::argument(const InputPlan& plan) {
  if (plan.kind == InputPlan::Kind::Tensor) return inputs_.at(plan.name);
  if (plan.kind == InputPlan::Kind::Scalar)
    return SymScalar{inputs_.at(plan.name).tensor, plan.scalar};
  if (plan.kind == InputPlan::Kind::Value) return plan.value;
  std::vector<TorchValue> items;
  for (const InputPlan& item : plan.items) items.push_back(argument(item));
  return plan.kind == InputPlan::Kind::List ? TorchValue::list(std::move(items))
                                            : TorchValue::tuple(std::move(items));
}

// Tensors of a nested result, in order; names follow keys and fields.
Status Import::add_outputs(Interpreter& interpreter, const TorchValue& value,
                           const std::string& name, int depth) {
  if (depth > 16 || graph_->outputs().size() > kMaxOutputs)
    return Error(Code::TooLarge, "the model's result nests too deep");
  const std::string plain = name.empty() ? "output" : name;
  const auto inner = [&](const std::string& part) {
    return name.empty() ? part : name + "." + part;
  };
  if (value.is_none()) return {};
  if (const auto* tensor = value.get_if<TensorRef>()) {
    const CallSite site = interpreter.site("", "output");
    EC_TRY(TensorRef now, interpreter.functional().current(site, *tensor));
    if (now.quant) {
      const TorchValue args[] = {now};
      EC_TRY(const std::vector<TorchValue> real, call(site, "aten::dequantize", args));
      now = real[0].get<TensorRef>();
    }
    graph_->add_output(plain, now.tensor);
    return {};
  }
  if (const auto* open = value.get_if<SymScalar>()) {
    graph_->add_output(plain, open->tensor);
    return {};
  }
  if (value.is_number()) {
    const DType dtype = value.is<bool>()      ? DType::Bool
                        : value.is<int64_t>() ? DType::I64
                                              : DType::F32;
    EC_TRY(const TensorRef made, as_tensor(interpreter.site("", "output"), value));
    ec::Tensor* tensor = made.tensor;
    if (tensor->dtype() != dtype) tensor = graph_->add_scalar(plain, dtype, value.get<double>());
    graph_->add_output(plain, tensor);
    return {};
  }
  if (const auto* dict = value.get_if<TorchValue::Dict>()) {
    for (const auto& [key, item] : (*dict)->items) {
      const auto* text = key.get_if<std::string>();
      const auto* number = key.get_if<int64_t>();
      const std::string part = text != nullptr     ? *text
                               : number != nullptr ? std::to_string(*number)
                                                   : "item";
      EC_CHECK_OK(add_outputs(interpreter, item, inner(part), depth + 1));
    }
    return {};
  }
  const auto* items = value.items();
  if (items == nullptr)
    return Error(Code::UnsupportedType, fmt::format("the model returns {}", describe(value)))
        .hint("return tensors, or lists, tuples and dicts of them");
  const auto* tuple = value.get_if<TorchValue::Tuple>();
  for (size_t i = 0; i < items->size(); ++i) {
    const bool named = tuple != nullptr && i < (*tuple)->field_names.size();
    const std::string part = named ? (*tuple)->field_names[i] : std::to_string(i);
    EC_CHECK_OK(add_outputs(interpreter, (*items)[i],
                            named ? inner(part) : (name.empty() ? "output." : name + ".") + part,
                            depth + 1));
  }
  return {};
}

// An input of assumed type whose elements are used as indices.
void Import::find_index_inputs(const Signature& signature) {
  for (const ec::Tensor* input : graph_->inputs()) {
    if (!signature.assumed.contains(input->name()) || is_integer(input->dtype())) continue;
    std::vector<const ec::Tensor*> reached = {input};
    for (size_t i = 0; i < reached.size() && reached.size() < 64; ++i) {
      for (const Use& use : reached[i]->uses()) {
        const OpKind kind = use.op->kind();
        if (takes_indices(*use.op, reached[i])) index_inputs_.insert(input->name());
        if (kind == OpKind::Reshape || kind == OpKind::Transpose || kind == OpKind::Cast ||
            kind == OpKind::Slice || kind == OpKind::Unsqueeze || kind == OpKind::Squeeze)
          reached.push_back(use.op->output());
      }
    }
  }
}

Result<std::unique_ptr<ec::Graph>> Import::run(const std::set<std::string>& integers,
                                               const std::vector<std::string>& states) {
  graph_ = std::make_unique<ec::Graph>();
  Interpreter interpreter(archive_, *graph_, sink_, options_.kept);
  EC_CHECK_OK(interpreter.load());
  EC_TRY(Signature signature, plan_inputs(archive_, interpreter, options_, sink_));
  for (const NamedInput& input : signature.tensors)
    if (!input.type.shape)
      return Error(Code::DynamicShape, fmt::format("the number of dimensions of input '{}' is not "
                                                   "known",
                                                   printable(input.name)))
          .hint("give its sizes with --input-shape");
  for (NamedInput& input : signature.tensors) {
    if (integers.contains(input.name)) input.type.dtype = DType::I64;
    ec::Tensor* tensor = graph_->add_input(input.name, input.type);
    inputs_[input.name] = Functionalizer::adopt({tensor, false, {}, {}});
  }
  for (const std::string& name : signature.given)
    graph_->metadata()[std::string(kInputValueKey) + name] =
        input_value_text(options_.input_values.at(name));
  StateBuilder builder(*graph_);
  EC_CHECK_OK(interpreter.declare_state(states, builder));
  std::vector<TorchValue> args;
  for (const InputPlan& plan : signature.parameters) args.push_back(argument(plan));
  Result<TorchValue> result =
      interpreter.call_method(interpreter.root(), signature.method, std::move(args));
  if (integers.empty()) find_index_inputs(signature);
  if (!result.ok()) {
    // Operators may refuse indices that are no integers before they become operations.
    if (integers.empty() && index_inputs_.empty() && result.error().code() == Code::TypeMismatch)
      for (const ec::Tensor* input : graph_->inputs())
        if (signature.assumed.contains(input->name())) index_inputs_.insert(input->name());
    return std::move(result).error();
  }
  EC_CHECK_OK(add_outputs(interpreter, *result, "", 0));
  if (graph_->outputs().empty())
    return Error(Code::UnsupportedFormat, "the model returns nothing")
        .hint("save a module whose forward() returns tensors");
  EC_CHECK_OK(interpreter.keep_state(states, builder));
  EC_TRY([[maybe_unused]] const std::vector<std::string> kept, builder.finish());
  changed_state_ = interpreter.changed_state();
  graph_->metadata()["source_format"] = "torchscript";
  graph_->metadata()["torch.class"] = interpreter.root()->class_name;
  return std::move(graph_);
}

// The program again, with the attributes that it changes as state. A program that grows them from
// call to call, or whose control flow depends on them, has no such form.
Result<std::unique_ptr<ec::Graph>> import_with_state(const Archive& archive,
                                                     const ImportOptions& options,
                                                     const std::set<std::string>& integers,
                                                     std::vector<std::string> states,
                                                     DiagnosticSink& sink) {
  std::sort(states.begin(), states.end());
  states.erase(std::unique(states.begin(), states.end()), states.end());
  return Import(archive, options, sink).run(integers, states);
}

void warn_of_state(const std::vector<std::string>& states, const Error& why, DiagnosticSink& sink) {
  Diagnostic d(Code::UnsupportedOpForm,
               fmt::format("the state '{}' starts from its first value in every run; PyTorch keeps "
                           "it from one call to the next",
                           printable(states.front())));
  d.severity = Severity::Warning;
  d.notes.push_back("it cannot be kept: " + why.message());
  sink.report(std::move(d));
}

// Attempts that came to an end keep their own operations.
class KeepingAttempt {
 public:
  explicit KeepingAttempt(const ImportOptions& given) : options_(given) {
    if (given.kept != nullptr) options_.kept = &kept_.emplace(given.kept->scope());
  }
  KeepingAttempt(const KeepingAttempt&) = delete;
  KeepingAttempt& operator=(const KeepingAttempt&) = delete;

  const ImportOptions& options() const { return options_; }
  bool kept_something() const { return kept_ && !kept_->operations().empty(); }
  void take(const ImportOptions& to) const {
    if (to.kept != nullptr) *to.kept = *kept_;
  }

 private:
  ImportOptions options_;
  std::optional<KeptOperations> kept_;
};

// The operators of a program that cannot be run without more knowledge, as they stand in its code:
// what `inspect` shows, and `check` where an operator is not supported.
Result<std::unique_ptr<ec::Graph>> list_program(const Archive& archive,
                                                const ImportOptions& options,
                                                const std::optional<Error>& why,
                                                DiagnosticSink& sink) {
  auto graph = std::make_unique<ec::Graph>();
  DiagnosticSink ignored;  // told by the attempt to run it
  Interpreter interpreter(archive, *graph, ignored);
  EC_CHECK_OK(interpreter.load());
  if (Result<Signature> signature = plan_inputs(archive, interpreter, options, ignored))
    for (const NamedInput& input : signature->tensors) graph->add_input(input.name, input.type);
  EC_CHECK_OK(list_operators(interpreter, *graph, *options.kept));
  graph->metadata()["source_format"] = "torchscript";
  graph->metadata()["torch.class"] = interpreter.root()->class_name;
  if (!options.kept->takes_faults()) return graph;
  Diagnostic note =
      why ? why->diagnostic() : Diagnostic(Code::UnsupportedOp, "some operators are not supported");
  note.severity = Severity::Warning;
  note.notes.push_back(
      "operations are listed as they stand in the code; each counts once, however often it runs");
  sink.report(std::move(note));
  return graph;
}

Result<std::unique_ptr<ec::Graph>> import_archive(const Archive& archive,
                                                  const ImportOptions& given,
                                                  DiagnosticSink& sink) {
  EC_CHECK_OK(check_version(archive));
  KeepingAttempt first_attempt(given), second_attempt(given), state_attempt(given);
  const KeepingAttempt* taken = &first_attempt;
  DiagnosticSink first_sink, second_sink;
  const auto keep = [&](const DiagnosticSink& kept) {
    for (const Diagnostic& diagnostic : kept.diagnostics()) sink.report(diagnostic);
  };
  Import first(archive, first_attempt.options(), first_sink);
  Result<std::unique_ptr<ec::Graph>> graph = first.run({}, {});
  std::set<std::string> integers = first.index_inputs();
  std::vector<std::string> states = first.changed_state();
  if (!integers.empty()) {
    // Once more with whole numbers where they are used as indices.
    Import second(archive, second_attempt.options(), second_sink);
    Result<std::unique_ptr<ec::Graph>> again = second.run(integers, {});
    if (again.ok()) {
      graph = std::move(again);
      taken = &second_attempt;
      states = second.changed_state();
      first_sink = std::move(second_sink);
    } else {
      integers.clear();
    }
  }
  if (graph.ok() && !states.empty()) {
    DiagnosticSink state_sink;
    Result<std::unique_ptr<ec::Graph>> again =
        import_with_state(archive, state_attempt.options(), integers, states, state_sink);
    if (again.ok()) {
      graph = std::move(again);
      taken = &state_attempt;
      first_sink = std::move(state_sink);
    } else {
      warn_of_state(states, again.error(), first_sink);
    }
  }
  keep(first_sink);
  // What is shown of types must be known: behind an operator that was kept they would be guesses.
  const bool shown = given.kept != nullptr && given.kept->takes_faults();
  if (graph.ok() && shown && taken->kept_something())
    return list_program(archive, given, std::nullopt, sink);
  if (graph.ok()) {
    taken->take(given);
  } else if (given.kept != nullptr && !is_stop(graph.error().code()) &&
             (given.kept->takes_faults() || first_attempt.kept_something() ||
              is_unsupported(graph.error().code()))) {
    std::optional<Error> why(std::move(graph).error());
    return list_program(archive, given, why, sink);
  }
  return graph;
}

class TorchScriptFrontend : public Frontend {
 public:
  std::string_view name() const override { return "torchscript"; }

  std::optional<DetectedFormat> explain(const ModelSource& source) const override {
    return explain_torch_file(source);
  }
  int probe(const ModelSource& source) const override {
    if (is_torchscript(source.outline())) return 95;
    return source.extension() == ".pt" || source.extension() == ".pth" ? 20 : 0;
  }

 private:
  Result<std::unique_ptr<ec::Graph>> read(const ModelSource& source, const ImportOptions& options,
                                          DiagnosticSink& sink) const override {
    EC_TRY(const Blob bytes, source.bytes());
    return import_torchscript(bytes, source.path(), options, sink);
  }
};

}  // namespace
}  // namespace ec::torch::script

namespace ec {

const Frontend& torchscript_frontend() {
  static const torch::script::TorchScriptFrontend kFrontend;
  return kFrontend;
}

Result<std::unique_ptr<Graph>> import_torchscript(const Blob& file,
                                                  const std::filesystem::path& path,
                                                  const ImportOptions& options,
                                                  DiagnosticSink& sink) {
  DiagnosticSink found;
  const auto forward = [&] {
    for (Diagnostic diagnostic : found.diagnostics()) {
      if (diagnostic.file.empty()) diagnostic.file = path.string();
      sink.report(std::move(diagnostic));
    }
  };
  const auto fail = [&](Error error) {
    if (!found.has_errors()) found.report(std::move(error));
    forward();
    return sink.first_error();
  };
  Result<torch::Archive> archive = torch::Archive::open(file);
  if (!archive.ok()) return fail(std::move(archive).error());
  Result<std::unique_ptr<Graph>> graph = torch::script::import_archive(*archive, options, found);
  if (!graph.ok()) return fail(std::move(graph).error());
  forward();
  (*graph)->set_name(path.stem().string().empty() ? "main" : path.stem().string());
  return graph;
}

}  // namespace ec
