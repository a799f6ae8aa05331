// An `if` whose condition a run decides: both sides are run into the graph, then moved into the
// bodies of one operation; names that differ become its results.
#include <fmt/format.h>

#include <algorithm>

#include "frontend/torch/script/builtins.h"
#include "frontend/torch/script/interpreter.h"
#include "frontend/torch/script/outline.h"
#include "support/strings.h"

namespace ec::torch::script {
namespace {

// Walks the values of both sides in step. The first walk collects the pairs of tensors that differ,
// the second puts the results of the operation in their place.
class Joiner {
 public:
  explicit Joiner(ec::Graph& graph) : graph_(graph) {}

  std::vector<ec::Tensor*> yes, no;

  void take_results(const ec::Operation& op) { op_ = &op; }

  // Nothing when the sides do not agree in kind, type or shape.
  std::optional<TorchValue> join(const TorchValue& a, const TorchValue& b) {
    if (as_object<Uninitialized>(a)) return b;
    if (as_object<Uninitialized>(b)) return a;
    if (a.is_tensor() && b.is_tensor()) return join_tensors(a.get<TensorRef>(), b.get<TensorRef>());
    if (is_scalar(a) && is_scalar(b)) return join_scalars(a, b);
    if (const auto *x = a.get_if<TorchValue::List>(), *y = b.get_if<TorchValue::List>(); x && y) {
      if (*x == *y) return a;
      auto items = join_items((*x)->items, (*y)->items);
      if (!items) return std::nullopt;
      return TorchValue::list(std::move(*items));
    }
    if (const auto *x = a.get_if<TorchValue::Tuple>(), *y = b.get_if<TorchValue::Tuple>(); x && y) {
      auto items = join_items((*x)->items, (*y)->items);
      if (!items) return std::nullopt;
      return TorchValue(std::make_shared<TorchTuple>(
          TorchTuple{std::move(*items), (*x)->class_name, (*x)->field_names}));
    }
    if (same_object<TorchValue::Dict>(a, b) || same_object<TorchValue::Linear>(a, b) ||
        same_object<TorchValue::Conv>(a, b) || same_object<TorchValue::Cell>(a, b) ||
        same_value(a, b).value_or(false))
      return a;
    return std::nullopt;
  }

  ec::Tensor* pair(ec::Tensor* a, ec::Tensor* b) {
    if (op_ != nullptr) return op_->output(next_++);
    yes.push_back(a);
    no.push_back(b);
    return a;
  }

 private:
  template <class Pointer>
  static bool same_object(const TorchValue& a, const TorchValue& b) {
    const auto *x = a.get_if<Pointer>(), *y = b.get_if<Pointer>();
    return x != nullptr && y != nullptr && *x == *y;
  }

  static bool is_scalar(const TorchValue& value) {
    return value.is_number() || value.is<SymScalar>();
  }

  static SymScalar::Kind kind_of(const TorchValue& value) {
    if (const auto* open = value.get_if<SymScalar>()) return open->kind;
    return value.is<bool>()      ? SymScalar::Kind::Bool
           : value.is<int64_t>() ? SymScalar::Kind::Int
                                 : SymScalar::Kind::Float;
  }

  std::optional<TorchValue> join_tensors(const TensorRef& a, const TensorRef& b) {
    if (a.alias != nullptr && a.alias == b.alias) return TorchValue(a);
    const TensorType &x = a.tensor->type(), &y = b.tensor->type();
    const bool same_quant = (a.quant == nullptr) == (b.quant == nullptr) &&
                            (a.quant == nullptr || *a.quant == *b.quant);
    if (x.dtype != y.dtype || x.shape != y.shape || !same_quant) return std::nullopt;
    if (a.tensor == b.tensor) return TorchValue(a);
    return TorchValue(Functionalizer::adopt({pair(a.tensor, b.tensor), false, a.quant, {}}));
  }

  // A number as a constant that follows the other side's precision.
  ec::Tensor* scalar(const TorchValue& value, const TorchValue& other) {
    if (const auto* open = value.get_if<SymScalar>()) return open->tensor;
    DType dtype = value.is<bool>() ? DType::Bool : value.is<int64_t>() ? DType::I64 : DType::F32;
    if (const auto* open = other.get_if<SymScalar>()) dtype = open->tensor->dtype();
    return graph_.add_scalar("value", dtype, real_of(value));
  }

  std::optional<TorchValue> join_scalars(const TorchValue& a, const TorchValue& b) {
    if (same_value(a, b).value_or(false)) return a;
    if (kind_of(a) != kind_of(b)) return std::nullopt;
    if (op_ != nullptr) return TorchValue(SymScalar{pair(nullptr, nullptr), kind_of(a)});
    ec::Tensor *x = scalar(a, b), *y = scalar(b, a);
    if (x->dtype() != y->dtype()) return std::nullopt;
    return TorchValue(SymScalar{pair(x, y), kind_of(a)});
  }

  std::optional<std::vector<TorchValue>> join_items(const std::vector<TorchValue>& a,
                                                    const std::vector<TorchValue>& b) {
    if (a.size() != b.size()) return std::nullopt;
    std::vector<TorchValue> items;
    for (size_t i = 0; i < a.size(); ++i) {
      std::optional<TorchValue> item = join(a[i], b[i]);
      if (!item) return std::nullopt;
      items.push_back(std::move(*item));
    }
    return items;
  }

  ec::Graph& graph_;
  const ec::Operation* op_ = nullptr;
  size_t next_ = 0;
};

struct Side {
  Environment names;
  std::vector<Functionalizer::Write> writes;
  uint32_t first = 0, last = 0;
  bool raised = false;
};

TensorRef written(const Side& side, const std::shared_ptr<Alias>& memory) {
  for (const Functionalizer::Write& write : side.writes)
    if (write.memory == memory) return write.value;
  return memory->value;
}

}  // namespace

Result<Interpreter::Flow> Interpreter::run_both(const Statement& statement,
                                                const SymScalar& condition, Frame& frame) {
  const Environment before = frame.names;
  const CallSite where = site(frame.path, "prim::If");
  Side sides[2];
  for (Side& side : sides) {
    const bool yes = &side == &sides[0];
    side.first = static_cast<uint32_t>(graph_.operation_id_bound());
    functional_.begin_branch();
    branch_containers_.emplace_back();
    frame.names = before;
    Result<Flow> flow = run(yes ? statement.body : statement.otherwise, frame);
    Status resolved;
    if (flow.ok()) {
      for (auto& [name, value] : frame.names) {
        Result<TorchValue> now = functional_.current(where, value);
        if (now.ok() && value.is_tensor()) value = std::move(*now);
        if (!now.ok()) resolved = std::move(now).error();
      }
    }
    side.writes = functional_.end_branch();
    branch_containers_.pop_back();
    side.names = std::move(frame.names);
    side.last = static_cast<uint32_t>(graph_.operation_id_bound());
    if (!flow.ok() && !raised_) return std::move(flow).error();
    EC_CHECK_OK(std::move(resolved));
    side.raised = raised_;
    raised_ = false;
    if (flow.ok() && *flow == Flow::Return)
      return data_dependent("whether this function returns here", frame, statement.offset);
  }

  // A branch that raises is an assertion on values: the other one is the model.
  if (sides[0].raised || sides[1].raised) {
    if (sides[0].raised && sides[1].raised)
      return with_source(Error(Code::BadValue, "the model raises an error whatever it is given"),
                         frame, statement.offset);
    const Side& raising = sides[0].raised ? sides[0] : sides[1];
    Side& taken = sides[0].raised ? sides[1] : sides[0];
    erase_operations(graph_, raising.first, raising.last);
    frame.names = std::move(taken.names);
    for (const Functionalizer::Write& write : taken.writes)
      EC_CHECK_OK(functional_.write(where, TensorRef{write.value.tensor, false, {}, write.memory},
                                    write.value));
    sink_.warn(Code::DataDependent, "a check of values in the model's code is left out",
               frame.path);
    return Flow::Next;
  }

  Joiner joiner(graph_);
  std::vector<std::shared_ptr<Alias>> memories;
  for (const Side& side : sides)
    for (const Functionalizer::Write& write : side.writes)
      if (std::find(memories.begin(), memories.end(), write.memory) == memories.end())
        memories.push_back(write.memory);
  const auto join_all = [&](Environment& names, std::vector<TensorRef>& contents) {
    for (const auto& [name, value] : sides[0].names) {
      const auto other = sides[1].names.find(name);
      if (other == sides[1].names.end()) continue;
      std::optional<TorchValue> joined = joiner.join(value, other->second);
      names[name] = joined ? std::move(*joined)
                           : TorchValue(TorchValue::Object(std::make_shared<Undecided>()));
    }
    for (const std::shared_ptr<Alias>& memory : memories) {
      const TensorRef yes = written(sides[0], memory), no = written(sides[1], memory);
      TensorRef value = yes;
      if (yes.tensor != no.tensor) value.tensor = joiner.pair(yes.tensor, no.tensor);
      contents.push_back(std::move(value));
    }
  };
  Environment names;
  std::vector<TensorRef> contents;
  join_all(names, contents);
  const Branch yes{sides[0].first, sides[0].last, joiner.yes};
  const Branch no{sides[1].first, sides[1].last, joiner.no};
  if (!joiner.yes.empty()) {
    EC_TRY(const ec::Operation* op, outline_if(graph_, condition.tensor, yes, no, where.location));
    joiner.take_results(*op);
    names.clear();
    contents.clear();
    join_all(names, contents);
  }
  frame.names = std::move(names);
  erase_operations(graph_, yes.first, no.last);
  for (size_t i = 0; i < memories.size(); ++i)
    EC_CHECK_OK(functional_.write(where, TensorRef{contents[i].tensor, false, {}, memories[i]},
                                  contents[i]));
  return Flow::Next;
}

}  // namespace ec::torch::script
