#include <algorithm>

#include "formats/torch/archive.h"
#include "frontend/input_shapes.h"
#include "frontend/state_builder.h"
#include "frontend/torch/export/export.h"
#include "frontend/torch/export/import_graph.h"
#include "frontend/torch/export/weights.h"
#include "frontend/torch/recognise.h"
#include "support/strings.h"

namespace ec::torch::exported {
namespace {

constexpr std::string_view kModels = "models/";

// The name of the archive's program: "model" unless several were packed.
Result<std::string> program_record(const Archive& archive) {
  if (archive.has("serialized_exported_program.json"))
    return std::string("serialized_exported_program.json");
  std::vector<std::string> found;
  for (const std::string& record : archive.records())
    if (record.starts_with(kModels) && record.ends_with(".json")) found.push_back(record);
  if (found.size() == 1) return found.front();
  if (found.empty())
    return Error(Code::UnsupportedFormat, "the archive holds compiled code and no exported program")
        .hint("save the program itself: torch.export.save(program, \"model.pt2\")");
  if (std::ranges::find(found, "models/model.json") != found.end())
    return std::string("models/model.json");
  return Error(Code::UnsupportedFormat, "the archive holds " + std::to_string(found.size()) +
                                            " programs: " + join(found, ", "))
      .hint("save each program to a file of its own with torch.export.save");
}

std::string program_name(std::string_view record) {
  if (!record.starts_with(kModels)) return {};
  record.remove_prefix(kModels.size());
  return std::string(record.substr(0, record.size() - std::string_view(".json").size()));
}

class Import {
 public:
  // `states`: buffers that outlive a run. Which ones the program writes to is known after an
  // import without them.
  Import(const Archive& archive, const Program& program, Weights& weights,
         const ImportOptions& options, std::set<std::string> states, ProgramImport& problems)
      : archive_(archive),
        program_(program),
        weights_(weights),
        options_(options),
        state_names_(std::move(states)),
        problems_(problems),
        graph_(std::make_unique<ec::Graph>()),
        nodes_(problems, *graph_),
        states_(*graph_) {}

  std::unique_ptr<ec::Graph> run() {
    add_inputs();
    if (problems_.errors() == 0) add_weights();
    if (problems_.errors() == 0) nodes_.run(program_.graph);
    if (problems_.errors() == 0) add_outputs();
    if (problems_.errors() == 0) keep_states();
    if (problems_.errors() > 0) return nullptr;
    auto& metadata = graph_->metadata();
    metadata["source_format"] = "torch.export";
    if (!program_.torch_version.empty()) metadata["torch.version"] = program_.torch_version;
    if (!program_.dialect.empty()) metadata["torch.dialect"] = program_.dialect;
    return std::move(graph_);
  }
  // Buffers that the program writes to.
  const std::set<std::string>& changed() const { return changed_; }

 private:
  const std::string* input_name(size_t i) const {
    const auto* named = std::get_if<Named>(&program_.graph.inputs[i].value);
    return named != nullptr ? &named->name : nullptr;
  }

  Result<TensorType> input_type(const std::string& name) const {
    const auto found = program_.graph.tensors.find(name);
    if (found == program_.graph.tensors.end()) return TensorType(DType::I64, Shape{});  // a size
    return declared_type(found->second);
  }

  void add_inputs() {
    std::vector<NamedInput> inputs;
    for (size_t i = 0; i < program_.inputs.size(); ++i) {
      const std::string* name = input_name(i);
      if (program_.inputs[i].kind != InputSpec::Kind::User || name == nullptr) continue;
      auto type = input_type(*name);
      if (!type.ok()) {
        problems_.report(std::move(type).error().node(*name, "input"));
        return;
      }
      inputs.push_back({*name, std::move(type).value()});
    }
    const std::vector<NamedInput> declared = inputs;
    const size_t before = problems_.sink().error_count();
    apply_input_options(inputs, options_, problems_.sink());
    if (problems_.sink().error_count() > before) return problems_.report_seen();
    if (!check_ranges(declared, inputs)) return;
    for (const NamedInput& input : inputs) {
      ec::Tensor* tensor = graph_->add_input(input.name, input.type);
      if (program_.graph.tensors.contains(input.name))
        nodes_.bind(input.name, Functionalizer::adopt(TensorRef{tensor, false, {}, {}}));
      else
        nodes_.bind(input.name, SymScalar{tensor, SymScalar::Kind::Int});
    }
  }

  // Sizes that were given for open dimensions have to be in the range that the model was exported
  // for.
  bool check_ranges(const std::vector<NamedInput>& declared, const std::vector<NamedInput>& given) {
    for (size_t i = 0; i < declared.size(); ++i) {
      const auto found = program_.graph.tensors.find(declared[i].name);
      if (found == program_.graph.tensors.end()) continue;
      const auto& sizes = found->second.sizes;
      for (size_t axis = 0; axis < sizes.size(); ++axis) {
        const Dim& dim = (*given[i].type.shape)[axis];
        if (sizes[axis].value || !dim.is_static()) continue;
        if (const std::string fault = range_fault(sizes[axis], dim.size()); !fault.empty()) {
          problems_.report(
              Error(Code::BadShapeOption, "dimension " + std::to_string(axis) + " of input '" +
                                              declared[i].name + "' cannot be " +
                                              std::to_string(dim.size()) + ": " + fault)
                  .hint("the model was exported for sizes " + sizes[axis].expression +
                        "; export it with other dynamic_shapes"));
          return false;
        }
      }
    }
    return true;
  }

  std::string range_fault(const SizeDef& size, int64_t value) const {
    const auto outside = [&](const std::string& key, int64_t number) {
      const auto range = program_.ranges.find(key);
      if (range == program_.ranges.end()) return false;
      return (range->second.low && number < *range->second.low) ||
             (range->second.high && number > *range->second.high);
    };
    if (value % size.factor != 0) return "it is no multiple of " + std::to_string(size.factor);
    if (outside(size.expression, value) ||
        (!size.symbol.empty() && outside(size.symbol, value / size.factor)))
      return "it is outside the exported range";
    return {};
  }

  // Only what a node reads becomes a constant.
  void add_weights() {
    std::set<std::string> read;
    collect(program_.graph, read);
    for (size_t i = 0; i < program_.inputs.size(); ++i) {
      const InputSpec& spec = program_.inputs[i];
      const std::string* name = input_name(i);
      if (name == nullptr || spec.kind == InputSpec::Kind::User || !read.contains(*name)) continue;
      if (spec.kind == InputSpec::Kind::Fixed) continue;
      if (spec.kind == InputSpec::Kind::Other) {
        problems_.report(Error(Code::UnsupportedType, "the program has an input of kind '" +
                                                          printable(spec.target) + "'"));
        continue;
      }
      Status status = add_weight(*name, spec.target);
      if (!status.ok()) problems_.report(std::move(status).error().node(spec.target, "weight"));
    }
  }

  Status add_weight(const std::string& name, const std::string& target) {
    EC_TRY(TensorData data, weights_.read(target));
    if (!archive_.little_endian()) return Error(Code::UnsupportedFormat, "big-endian weights");
    if (data.type->element.empty())
      return Error(Code::UnsupportedType, "the weight has complex elements");
    const auto dtype = dtype_from_name(data.type->element);
    if (!dtype) return Error(Code::UnsupportedType, "the weight's element type is not supported");
    ec::Tensor* tensor = graph_->add_constant(target, TensorType(*dtype, Shape::of(data.sizes)),
                                              std::move(data.bytes));
    if (state_names_.contains(target)) {
      EC_TRY(tensor, states_.declare(target, target, tensor, Location(target, "buffer")));
    }
    const TensorRef bound = Functionalizer::adopt(TensorRef{tensor, false, {}, {}});
    buffers_[target] = bound;
    nodes_.bind(name, bound);
    return {};
  }

  static void collect(const Argument& argument, std::set<std::string>& names) {
    if (const auto* named = std::get_if<Named>(&argument.value)) names.insert(named->name);
    if (const auto* list = std::get_if<ArgumentList>(&argument.value))
      for (const Argument& item : list->items) collect(item, names);
  }
  static void collect(const GraphDef& graph, std::set<std::string>& names) {
    for (const NodeDef& node : graph.nodes)
      for (const NodeInput& input : node.inputs) collect(input.value, names);
    for (const Argument& output : graph.outputs) collect(output, names);
  }

  // --- results -----------------------------------------------------------------------------------
  void add_outputs() {
    std::vector<std::string> names;
    if (program_.results) name_leaves(*program_.results, "", names);
    size_t leaf = 0;
    for (size_t i = 0; i < program_.outputs.size(); ++i) {
      if (!program_.outputs[i].user) continue;
      const std::string name = leaf < names.size() ? names[leaf] : "output." + std::to_string(leaf);
      ++leaf;
      add_output(program_.graph.outputs[i], name);
    }
    if (graph_->outputs().empty() && problems_.errors() == 0)
      problems_.report(Error(Code::CorruptFile, "the program has no results"));
  }

  void add_output(const Argument& output, const std::string& name) {
    const CallSite site{graph_.get(), Location(name, "output"), &problems_.sink(),
                        &problems_.made()};
    const auto result = nodes_.value(output, site);
    if (!result) return;
    auto current = nodes_.current(site, *result);
    if (!current.ok()) return problems_.report(std::move(current).error());
    if (current->is_none()) return;
    auto tensor = as_tensor(site, *current);
    if (!tensor.ok()) return problems_.report(std::move(tensor).error().node(name, "output"));
    // A Python float is an output of f32, as a tensor of it would be.
    if (current->is<double>())
      tensor->tensor = graph_->add_scalar(name, DType::F32, current->get<double>());
    graph_->add_output(name, tensor->tensor);
  }

  // Names follow keys and fields: "pair.values", "output.0".
  static void name_leaves(const TreeSpec& tree, const std::string& name,
                          std::vector<std::string>& names) {
    if (tree.type.empty()) {
      names.push_back(name.empty() ? "output" : name);
      return;
    }
    for (size_t i = 0; i < tree.children.size(); ++i) {
      const bool keyed = i < tree.keys.size();
      const std::string part = keyed ? tree.keys[i] : std::to_string(i);
      const std::string prefix = name.empty() ? (keyed ? "" : "output.") : name + ".";
      name_leaves(tree.children[i], prefix + part, names);
    }
  }

  // The buffers' contents after the run: a result of their own in the functional dialects, else
  // what in-place operators left in their memory.
  void keep_states() {
    std::map<std::string, const Argument*> results;
    for (size_t i = 0; i < program_.outputs.size(); ++i)
      if (!program_.outputs[i].user)
        results[program_.outputs[i].target] = &program_.graph.outputs[i];
    for (const auto& [target, buffer] : buffers_) {
      const CallSite site{graph_.get(), Location(target, "buffer"), &problems_.sink(),
                          &problems_.made()};
      const auto result = results.find(target);
      const std::optional<TorchValue> written =
          result == results.end() ? TorchValue(buffer) : nodes_.value(*result->second, site);
      if (!written) continue;
      auto now = nodes_.current(site, *written);
      if (!now.ok()) return problems_.report(std::move(now).error());
      if (!now->is_tensor() || now->tensor() == buffer.tensor) continue;
      changed_.insert(target);
      if (states_.contains(target)) states_.assign(target, now->tensor());
    }
    if (auto kept = states_.finish(); !kept.ok()) problems_.report(std::move(kept).error());
  }

  const Archive& archive_;
  const Program& program_;
  Weights& weights_;
  const ImportOptions& options_;
  const std::set<std::string> state_names_;
  ProgramImport& problems_;
  std::unique_ptr<ec::Graph> graph_;
  GraphImport nodes_;
  StateBuilder states_;
  std::map<std::string, TensorRef> buffers_;  // weights that nodes read, by name
  std::set<std::string> changed_;
};

// The program cannot be had with its state: it grows, or decides how often something is done.
void warn_of_state(const std::set<std::string>& states, const Error& why, DiagnosticSink& sink) {
  Diagnostic d(Code::UnsupportedOpForm, "the model changes its buffer '" +
                                            printable(*states.begin()) +
                                            "'; every run starts with the stored contents");
  d.severity = Severity::Warning;
  d.node = *states.begin();
  d.notes.push_back("it cannot be kept: " + why.message());
  d.hint = "return the state and take it as an input to keep it";
  sink.report(std::move(d));
}

Result<std::unique_ptr<ec::Graph>> import_archive(const Archive& archive, const std::string& file,
                                                  const ImportOptions& options,
                                                  DiagnosticSink& sink) {
  EC_TRY(const std::string record, program_record(archive));
  EC_TRY(const std::string text, archive.read_text(record));
  EC_TRY(const Program program, decode_program(text, archive.file_size()));
  EC_TRY(Weights weights, Weights::open(archive, program_name(record)));
  ProgramImport problems(file, sink, program.positional_only, options.kept, archive.file_size());
  if (problems.check_operators(program.graph)) {
    Import first(archive, program, weights, options, {}, problems);
    std::unique_ptr<ec::Graph> graph = first.run();
    if (graph == nullptr) return sink.first_error();
    if (first.changed().empty()) return graph;
    DiagnosticSink state_sink;
    std::optional<KeptOperations> kept;
    if (options.kept != nullptr) kept.emplace(options.kept->scope());
    ProgramImport again(file, state_sink, program.positional_only, kept ? &*kept : nullptr,
                        archive.file_size());
    std::unique_ptr<ec::Graph> stateful =
        Import(archive, program, weights, options, first.changed(), again).run();
    if (stateful != nullptr && kept) *options.kept = std::move(*kept);
    if (stateful != nullptr) return stateful;
    warn_of_state(first.changed(), state_sink.first_error(), sink);
    return graph;
  }
  return sink.first_error();
}

}  // namespace
}  // namespace ec::torch::exported

namespace ec {
namespace {

class TorchExportFrontend : public Frontend {
 public:
  std::string_view name() const override { return "torch.export"; }

  int probe(const ModelSource& source) const override {
    if (is_torch_export(source.outline())) return 95;
    return source.extension() == ".pt2" ? 20 : 0;
  }

 private:
  Result<std::unique_ptr<Graph>> read(const ModelSource& source, const ImportOptions& options,
                                      DiagnosticSink& sink) const override {
    EC_TRY(const Blob bytes, source.bytes());
    return import_torch_export(bytes, source.path(), options, sink);
  }
};

}  // namespace

const Frontend& torch_export_frontend() {
  static const TorchExportFrontend kFrontend;
  return kFrontend;
}

Result<std::unique_ptr<Graph>> import_torch_export(const Blob& file,
                                                   const std::filesystem::path& path,
                                                   const ImportOptions& options,
                                                   DiagnosticSink& sink) {
  const std::string name = path.string();
  auto imported = [&]() -> Result<std::unique_ptr<Graph>> {
    EC_TRY(const torch::Archive archive, torch::Archive::open(file));
    return torch::exported::import_archive(archive, name, options, sink);
  }();
  if (!imported.ok() && !sink.has_errors()) {
    sink.report(std::move(imported).error().file(name));
    return sink.first_error();
  }
  return imported;
}

}  // namespace ec
