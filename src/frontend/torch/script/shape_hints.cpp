#include "frontend/torch/script/shape_hints.h"

#include <fmt/format.h>

#include <set>

namespace ec::torch::script {
namespace {

constexpr int kMaxDepth = 30;
constexpr int kMaxVisits = 20'000;  // expressions: a bound for hostile files

// Walks the statements in order without running them: it knows which names hold the input and which
// hold attributes of the module.
class Search {
 public:
  Search(Interpreter& interpreter, std::shared_ptr<Instance> self, const Function& function,
         std::set<std::string> inputs, int depth, int& visits)
      : interpreter_(interpreter),
        self_(std::move(self)),
        self_name_(function.parameters.empty() ? "" : function.parameters[0].name),
        inputs_(std::move(inputs)),
        depth_(depth),
        visits_(visits) {}

  std::optional<ShapeHint> run(const std::vector<Statement>& body) {
    for (const Statement& statement : body) {
      for (const Expr& value : statement.values)
        if (auto hint = visit(value)) return hint;
      if (statement.kind == Statement::Kind::Assign && statement.values.size() == 1 &&
          statement.targets.size() == 1)
        note(statement.targets[0], statement.values[0]);
      for (const auto* nested : {&statement.body, &statement.otherwise})
        if (auto hint = run(*nested)) return hint;
    }
    return std::nullopt;
  }

 private:
  void note(const std::string& target, const Expr& value) {
    if (is_input(value)) inputs_.insert(target);
    if (const TorchValue known = value_of(value); !known.is_none()) values_[target] = known;
  }

  bool is_input(const Expr& expr) const {
    return expr.kind == Expr::Kind::Name && inputs_.contains(expr.text);
  }

  // Attributes of modules; None for anything else.
  TorchValue value_of(const Expr& expr) {
    if (expr.kind == Expr::Kind::Name) {
      if (expr.text == self_name_) return TorchValue(TorchValue::Object(self_));
      const auto found = values_.find(expr.text);
      return found == values_.end() ? TorchValue() : found->second;
    }
    std::string name;
    const Expr* owner = nullptr;
    if (expr.kind == Expr::Kind::Attribute) {
      name = expr.text;
      owner = &expr.children[0];
    } else if (expr.kind == Expr::Kind::Call && dotted(expr.callee()) == "getattr" &&
               expr.children.size() == 3) {
      name = expr.children[2].text;
      owner = &expr.children[1];
    }
    const auto instance = owner == nullptr ? nullptr : as_object<Instance>(value_of(*owner));
    if (instance == nullptr) return {};
    const Result<TorchValue> value = interpreter_.attribute(instance, name);
    return value.ok() ? *value : TorchValue();
  }

  std::optional<ShapeHint> visit(const Expr& expr) {
    if (++visits_ > kMaxVisits) return std::nullopt;
    for (const Expr& child : expr.children)
      if (auto hint = visit(child)) return hint;
    if (expr.kind != Expr::Kind::Call) return std::nullopt;
    const std::string name = dotted(expr.callee());
    if (name.starts_with("torch.")) return layer(name.substr(6), expr);
    return method(expr);
  }

  std::optional<ShapeHint> layer(const std::string& name, const Expr& call) {
    if (call.children.size() < 3) return std::nullopt;
    const bool embedding = name == "embedding";
    if (!is_input(call.children[embedding ? 2 : 1])) return std::nullopt;
    if (embedding) return ShapeHint{"indices", "1x16", {-1, -1}};
    const ec::Tensor* weight = value_of(call.children[2]).tensor();
    if (weight == nullptr || !weight->type().is_static()) return std::nullopt;
    const std::vector<int64_t> sizes = weight->shape()->sizes();
    if (name == "linear" && sizes.size() == 2)
      return ShapeHint{fmt::format("{} in the last dimension", sizes[1]),
                       fmt::format("1x{}", sizes[1]),
                       {-1, sizes[1]}};
    const bool traced = name == "_convolution";
    if ((!traced && !name.starts_with("conv")) || sizes.size() < 3) return std::nullopt;
    const size_t group_argument = traced ? 9 : 7;
    const int64_t groups = call.children.size() > group_argument &&
                                   call.children[group_argument].kind == Expr::Kind::Int
                               ? call.children[group_argument].integer
                               : 1;
    std::string example = fmt::format("1x{}", sizes[1] * groups);
    for (size_t i = 2; i < sizes.size(); ++i) example += "x224";
    std::vector<int64_t> known(sizes.size(), -1);
    known[1] = sizes[1] * groups;
    return ShapeHint{fmt::format("{} dimensions, {} channels", sizes.size(), sizes[1] * groups),
                     std::move(example), std::move(known)};
  }

  // (module).forward(x, ): the search goes on inside, under the name that x has there.
  std::optional<ShapeHint> method(const Expr& call) {
    const Expr& callee = call.callee();
    if (depth_ >= kMaxDepth || callee.kind != Expr::Kind::Attribute) return std::nullopt;
    const auto instance = as_object<Instance>(value_of(callee.children[0]));
    const Function* function = instance == nullptr || instance->type == nullptr
                                   ? nullptr
                                   : instance->type->method(callee.text);
    if (function == nullptr) return std::nullopt;
    std::set<std::string> inputs;
    for (size_t i = 1; i < call.children.size() && i < function->parameters.size(); ++i)
      if (is_input(call.children[i])) inputs.insert(function->parameters[i].name);
    if (inputs.empty()) return std::nullopt;
    Search inner(interpreter_, instance, *function, std::move(inputs), depth_ + 1, visits_);
    for (size_t i = 1; i < call.children.size() && i < function->parameters.size(); ++i)
      if (const TorchValue known = value_of(call.children[i]); !known.is_none())
        inner.values_[function->parameters[i].name] = known;
    return inner.run(function->body);
  }

  Interpreter& interpreter_;
  std::shared_ptr<Instance> self_;
  std::string self_name_;
  std::set<std::string> inputs_;
  std::map<std::string, TorchValue> values_;
  int depth_;
  int& visits_;
};

}  // namespace

std::optional<ShapeHint> shape_hint(Interpreter& interpreter, const std::string& method,
                                    const std::string& parameter) {
  const std::shared_ptr<Instance>& root = interpreter.root();
  const Function* function = root->type->method(method);
  if (function == nullptr) return std::nullopt;
  int visits = 0;
  return Search(interpreter, root, *function, {parameter}, 0, visits).run(function->body);
}

}  // namespace ec::torch::script
