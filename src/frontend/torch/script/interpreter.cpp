#include "frontend/torch/script/interpreter.h"

#include <fmt/format.h>

#include <algorithm>

#include "frontend/torch/script/limits.h"
#include "frontend/torch/script/nesting.h"
#include "support/strings.h"

namespace ec::torch::script {
namespace {

constexpr std::string_view kTraceHint =
    "trace the model with torch.jit.trace(model, example), export it with "
    "torch.export.export(model, (example,)), or rewrite that line with torch.where";

class Counted {
 public:
  explicit Counted(int& counter) : counter_(++counter) {}
  ~Counted() { --counter_; }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;

 private:
  int& counter_;
};

}  // namespace

Interpreter::Interpreter(const Archive& archive, ec::Graph& graph, DiagnosticSink& sink,
                         KeptOperations* kept)
    : archive_(archive),
      graph_(graph),
      sink_(sink),
      library_(archive),
      source_map_(archive),
      kept_(kept) {
  made_constants_.most += 2 * archive.file_size();
}

Interpreter::~Interpreter() {
  for (const std::shared_ptr<Instance>& instance : instances_) instance->attributes.clear();
}

std::shared_ptr<Instance> Interpreter::new_instance(std::string class_name,
                                                    const Definition& definition) {
  auto made = std::make_shared<Instance>();
  made->class_name = std::move(class_name);
  made->type = definition.type;
  made->file = definition.file;
  instances_.push_back(made);
  created(made.get());
  return made;
}

Status Interpreter::load() {
  Unpickler::Hooks hooks;
  hooks.set_state = [this](const std::shared_ptr<Instance>& object, TorchValue state) -> Status {
    // What loading sets, in methods it calls too, is no state that a run changes.
    const size_t before = changed_state_.size();
    EC_TRY(const TorchValue ignored, call_method(object, "__setstate__", {std::move(state)}));
    changed_state_.resize(before);
    (void)ignored;
    return {};
  };
  hooks.new_instance = [this](std::string name, const Definition& definition) {
    return new_instance(std::move(name), definition);
  };
  const auto open = [&](const std::string& record, const std::string& folder,
                        std::unique_ptr<Pickle>& pickle,
                        std::unique_ptr<Unpickler>& unpickler) -> Status {
    EC_TRY(const Blob blob, archive_.read(record));
    EC_TRY(Pickle read, Pickle::read(blob.bytes()));
    pickle = std::make_unique<Pickle>(std::move(read));
    unpickler = std::make_unique<Unpickler>(archive_, *pickle, folder, library_, graph_, hooks);
    return {};
  };
  EC_CHECK_OK(open("constants.pkl", "constants", constants_pickle_, constants_));
  EC_CHECK_OK(open("data.pkl", "data", data_pickle_, data_));
  EC_TRY(const TorchValue root, data_->value(data_pickle_->root(), ""));
  root_ = as_object<Instance>(root);
  if (root_ == nullptr)
    return Error(Code::CorruptFile, "the archive holds no module")
        .hint("save a module with torch.jit.save");
  changed_state_.clear();
  return {};
}

std::vector<std::string> Interpreter::changed_state() const {
  std::vector<std::string> names = changed_state_;
  const std::vector<std::string> written = data_->written();
  names.insert(names.end(), written.begin(), written.end());
  return names;
}

CallSite Interpreter::site(const std::string& path, const std::string& op_type) const {
  // Code of the root module has no path: its operations go by what they do.
  const std::string plain = op_type.substr(op_type.rfind(':') + 1);
  return {&graph_, Location(path.empty() ? plain : path, op_type), &sink_, &made_constants_};
}

// --- messages ------------------------------------------------------------------------------------

Error Interpreter::with_source(Error error, const Frame& frame, uint32_t offset) {
  Diagnostic& diagnostic = error.diagnostic();
  const bool told = std::any_of(diagnostic.notes.begin(), diagnostic.notes.end(),
                                [](const std::string& note) { return note.starts_with("in "); });
  if (told || frame.file == nullptr || frame.function == nullptr) return error;
  std::string note = fmt::format("in {}", frame.function->name);
  if (const auto line = source_map_.find(frame.file->record, offset))
    note +=
        fmt::format(", {} line {}: {}", printable(line->file), line->line, printable(line->text));
  else
    note += fmt::format(", {}", frame.file->record);
  diagnostic.notes.push_back(std::move(note));
  return std::move(error).node(frame.path);
}

Error Interpreter::data_dependent(const std::string& what, const Frame& frame, uint32_t offset) {
  std::string message = what + " depends on values that only a run knows";
  if (const auto line = source_map_.find(frame.file->record, offset))
    message = fmt::format("{} line {}: {}", printable(line->file), line->line, message);
  return with_source(Error(Code::DataDependent, message).hint(std::string(kTraceHint)), frame,
                     offset);
}

// --- calls ---------------------------------------------------------------------------------------

Status Interpreter::bind(const Function& function, Frame& frame, std::vector<TorchValue> args,
                         NamedValues kwargs) {
  const auto wrong = [&](const std::string& what) {
    return Error(Code::CorruptFile, fmt::format("call of '{}': {}", function.name, what))
        .hint("the archive is damaged: save the model again");
  };
  if (args.size() > function.parameters.size()) return wrong("too many arguments");
  for (size_t i = 0; i < function.parameters.size(); ++i) {
    const Parameter& parameter = function.parameters[i];
    const auto named = std::find_if(kwargs.begin(), kwargs.end(),
                                    [&](const auto& item) { return item.first == parameter.name; });
    if (i < args.size()) {
      frame.names[parameter.name] = std::move(args[i]);
    } else if (named != kwargs.end()) {
      frame.names[parameter.name] = std::move(named->second);
    } else if (parameter.default_value) {
      EC_TRY(frame.names[parameter.name], evaluate(*parameter.default_value, frame));
    } else {
      return wrong(fmt::format("'{}' is missing", parameter.name));
    }
  }
  return {};
}

Result<TorchValue> Interpreter::invoke(const Function& function, Frame frame,
                                       std::vector<TorchValue> args, NamedValues kwargs) {
  const Counted call(calls_);
  if (calls_ > kMaxCalls) return Error(Code::TooDeep, "functions call each other too deep");
  frame.function = &function;
  frame.self = std::make_shared<Frame*>(&frame);
  EC_CHECK_OK(bind(function, frame, std::move(args), std::move(kwargs)));
  EC_TRY(const Flow flow, run(function.body, frame));
  (void)flow;
  return std::move(frame.result);
}

Result<TorchValue> Interpreter::call_method(const std::shared_ptr<Instance>& object,
                                            const std::string& name, std::vector<TorchValue> args,
                                            NamedValues kwargs) {
  const Function* method = object->type == nullptr ? nullptr : object->type->method(name);
  if (method == nullptr)
    return Error(Code::CorruptFile, fmt::format("class '{}' has no method '{}'",
                                                printable(object->class_name), printable(name)))
        .hint("the archive is damaged: save the model again");
  Frame frame;
  frame.file = object->file;
  frame.path = object->path;
  args.insert(args.begin(), TorchValue(TorchValue::Object(object)));
  return invoke(*method, std::move(frame), std::move(args), std::move(kwargs));
}

// --- statements ----------------------------------------------------------------------------------

Result<Interpreter::Flow> Interpreter::run(const std::vector<Statement>& body, Frame& frame) {
  for (const Statement& statement : body) {
    EC_TRY(const Flow flow, run(statement, frame));
    if (flow == Flow::Return) return flow;
  }
  return Flow::Next;
}

Result<Interpreter::Flow> Interpreter::run(const Statement& statement, Frame& frame) {
  const Counted nested(nesting_);
  if (nesting_ > kMaxNesting) return Error(Code::TooDeep, "the program nests too deep");
  if (++steps_ > kMaxSteps)
    return with_source(Error(Code::TooLarge, "the program does not end in reasonable time")
                           .hint(std::string(kTraceHint)),
                       frame, statement.offset);
  if (graph_.operation_id_bound() > max_operations(archive_.file_size()))
    return with_source(Error(Code::TooLarge, "the program becomes too many operations")
                           .hint("a loop runs very often: trace or export the model"),
                       frame, statement.offset);
  switch (statement.kind) {
    case Statement::Kind::Assign:
      EC_CHECK_OK(assign(statement, frame));
      return Flow::Next;
    case Statement::Kind::AssignField:
      EC_CHECK_OK(assign_field(statement, frame));
      return Flow::Next;
    case Statement::Kind::Expression: {
      EC_TRY(const TorchValue ignored, evaluate(statement.values[0], frame));
      (void)ignored;
      return Flow::Next;
    }
    case Statement::Kind::Return:
      if (!statement.values.empty()) {
        EC_TRY(frame.result, evaluate(statement.values[0], frame));
      }
      return Flow::Return;
    case Statement::Kind::Pass:
      return Flow::Next;
    case Statement::Kind::If:
      return run_if(statement, frame);
    case Statement::Kind::For:
      return run_for(statement, frame);
    case Statement::Kind::While:
      return run_while(statement, frame);
    case Statement::Kind::With:
      EC_CHECK_OK(enter_context(statement, frame));
      return run(statement.body, frame);
    case Statement::Kind::Define: {
      auto made = std::make_shared<FunctionValue>();
      made->function = statement.function.get();
      made->file = frame.file;
      made->enclosing = frame.self;
      frame.names[statement.function->name] = TorchValue(TorchValue::Object(std::move(made)));
      return Flow::Next;
    }
  }
  return Flow::Next;
}

Status Interpreter::assign(const Statement& statement, Frame& frame) {
  std::vector<TorchValue> values;
  const bool unpacks =
      statement.values.size() == 1 && (statement.targets.size() > 1 || statement.unpack);
  for (const Expr& expr : statement.values) {
    wanted_results_ = unpacks && expr.kind == Expr::Kind::Call ? statement.targets.size() : 0;
    EC_TRY(TorchValue value, evaluate(expr, frame));
    values.push_back(std::move(value));
  }
  if (values.size() == 1 && (statement.targets.size() > 1 || statement.unpack)) {
    const auto* items = values[0].items();
    if (items == nullptr || items->size() != statement.targets.size())
      return with_source(
          Error(Code::BadArity, fmt::format("{} values expected, got {}", statement.targets.size(),
                                            describe(values[0]))),
          frame, statement.offset);
    // A copy: the names may be the last to hold the container.
    values = std::vector<TorchValue>(*items);
  }
  for (size_t i = 0; i < statement.targets.size(); ++i)
    frame.names[statement.targets[i]] = std::move(values[i]);
  return {};
}

Status Interpreter::assign_field(const Statement& statement, Frame& frame) {
  const Expr& field = statement.values[0];
  EC_TRY(const TorchValue object, evaluate(field.children[0], frame));
  EC_TRY(TorchValue value, evaluate(statement.values[1], frame));
  const auto instance = as_object<Instance>(object);
  if (instance == nullptr)
    return with_source(Error(Code::CorruptFile, "an attribute of what is no object is set"), frame,
                       statement.offset);
  EC_CHECK_OK(may_change(instance.get()));
  const bool is_module = instance->type != nullptr && instance->type->base == "Module";
  if (is_module && frame.function->name != "__setstate__" && frame.function->name != "__init__")
    changed_state_.push_back(instance->path.empty() ? field.text
                                                    : instance->path + "." + field.text);
  instance->attributes.insert_or_assign(field.text, std::move(value));
  return {};
}

Result<Interpreter::Flow> Interpreter::run_if(const Statement& statement, Frame& frame) {
  EC_TRY(const TorchValue value, evaluate(statement.values[0], frame));
  EC_TRY(const TorchValue condition, to_number(value, SymScalar::Kind::Bool, frame));
  if (const auto* open = condition.get_if<SymScalar>()) return run_both(statement, *open, frame);
  return run(condition.get<bool>() ? statement.body : statement.otherwise, frame);
}

Result<Interpreter::Flow> Interpreter::run_for(const Statement& statement, Frame& frame) {
  EC_TRY(const TorchValue value, evaluate(statement.values[0], frame));
  EC_TRY(const TorchValue count, to_number(value, SymScalar::Kind::Int, frame));
  if (count.is<SymScalar>())
    return data_dependent("how often this loop runs", frame, statement.offset);
  const auto times = count.get<int64_t>();
  for (int64_t i = 0; i < times; ++i) {
    frame.names[statement.targets[0]] = TorchValue(i);
    EC_TRY(const Flow flow, run(statement.body, frame));
    if (flow == Flow::Return) return flow;
    if (++steps_ > kMaxSteps) break;
  }
  return Flow::Next;
}

Result<Interpreter::Flow> Interpreter::run_while(const Statement& statement, Frame& frame) {
  for (;;) {
    EC_TRY(const TorchValue value, evaluate(statement.values[0], frame));
    EC_TRY(const TorchValue condition, to_number(value, SymScalar::Kind::Bool, frame));
    if (condition.is<SymScalar>())
      return data_dependent("how often this loop runs", frame, statement.offset);
    if (!condition.get<bool>()) return Flow::Next;
    EC_TRY(const Flow flow, run(statement.body, frame));
    if (flow == Flow::Return) return flow;
    if (++steps_ > kMaxSteps)
      return with_source(Error(Code::TooLarge, "the program does not end in reasonable time"),
                         frame, statement.offset);
  }
}

// no_grad and its kin change no value; autocast does.
Status Interpreter::enter_context(const Statement& statement, Frame& frame) {
  EC_TRY(const TorchValue context, evaluate(statement.values[0], frame));
  const auto instance = as_object<Instance>(context);
  if (instance != nullptr && instance->class_name.find("autocast") != std::string::npos)
    return with_source(
        Error(Code::UnsupportedOpForm, "the model runs parts of itself under autocast")
            .hint("convert it to one precision first: model.float(), or model.half()"),
        frame, statement.offset);
  if (!statement.targets.empty()) frame.names[statement.targets[0]] = context;
  return {};
}

Status Interpreter::may_change(const void* container) const {
  if (branch_containers_.empty()) return {};
  const auto& made = branch_containers_.back();
  if (std::find(made.begin(), made.end(), container) != made.end()) return {};
  return Error(Code::DataDependent,
               "a list or an attribute changes in a branch that depends on values")
      .hint(std::string(kTraceHint));
}

Status Interpreter::spend(size_t items) {
  steps_ += static_cast<int64_t>(items / kItemsPerStep);
  if (steps_ <= kMaxSteps) return {};
  return Error(Code::TooLarge, "the program does not end in reasonable time")
      .hint(std::string(kTraceHint));
}

Status Interpreter::made(size_t items) {
  made_items_ += items;
  if (made_items_ <= max_made_items(archive_.file_size())) return {};
  return Error(Code::TooLarge, "the program makes lists of too many items")
      .hint(std::string(kTraceHint));
}

Status Interpreter::check_nested(const TorchValue& value, const void* container) {
  size_t items = 0;
  EC_CHECK_OK(check_nesting(value, container, &items));
  return spend(items);
}

void Interpreter::created(const void* container) {
  if (!branch_containers_.empty()) branch_containers_.back().push_back(container);
}

}  // namespace ec::torch::script
