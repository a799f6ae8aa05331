#include "frontend/torch/script/listing.h"

#include <map>

#include "frontend/torch/script/builtins.h"

namespace ec::torch::script {
namespace {

// Bounds for hostile files: modules call each other, and each call is followed.
constexpr int kMaxDepth = 64;
constexpr int kMaxVisits = 1'000'000;

class Listing {
 public:
  Listing(Interpreter& interpreter, ec::Graph& graph, KeptOperations& kept)
      : interpreter_(interpreter), graph_(graph), kept_(kept) {}

  Status method(const std::shared_ptr<Instance>& self, const std::string& name, int depth) {
    const Function* function = self->type == nullptr ? nullptr : self->type->method(name);
    if (function == nullptr || depth > kMaxDepth) return {};
    Scope scope{self, function->parameters.empty() ? "" : function->parameters[0].name, {}, depth};
    return block(function->body, scope);
  }

 private:
  // The names of a function that stand for modules and their attributes.
  struct Scope {
    std::shared_ptr<Instance> self;
    std::string self_name;
    std::map<std::string, TorchValue> values;
    int depth = 0;
  };

  Status block(const std::vector<Statement>& body, Scope& scope) {
    for (const Statement& statement : body) {
      for (const Expr& value : statement.values) EC_CHECK_OK(visit(value, scope));
      if (statement.kind == Statement::Kind::Assign && statement.values.size() == 1 &&
          statement.targets.size() == 1)
        if (TorchValue known = value_of(statement.values[0], scope); !known.is_none())
          scope.values[statement.targets[0]] = std::move(known);
      EC_CHECK_OK(block(statement.body, scope));
      EC_CHECK_OK(block(statement.otherwise, scope));
    }
    return {};
  }

  // Modules and their attributes; None for anything else.
  TorchValue value_of(const Expr& expr, const Scope& scope) {
    if (expr.kind == Expr::Kind::Name) {
      if (expr.text == scope.self_name) return TorchValue(TorchValue::Object(scope.self));
      const auto found = scope.values.find(expr.text);
      return found == scope.values.end() ? TorchValue() : found->second;
    }
    const bool is_getattr = expr.kind == Expr::Kind::Call && expr.children.size() == 3 &&
                            dotted(expr.callee()) == "getattr";
    if (expr.kind != Expr::Kind::Attribute && !is_getattr) return {};
    const Expr& owner = expr.children[is_getattr ? 1 : 0];
    const auto instance = as_object<Instance>(value_of(owner, scope));
    if (instance == nullptr) return {};
    const Result<TorchValue> value =
        interpreter_.attribute(instance, is_getattr ? expr.children[2].text : expr.text);
    return value.ok() ? *value : TorchValue();
  }

  Status visit(const Expr& expr, Scope& scope) {
    if (++visits_ > kMaxVisits)
      return Error(Code::TooLarge, "the program is too long to be listed");
    const size_t first = expr.kind == Expr::Kind::Call ? 1 : 0;
    for (size_t i = first; i < expr.children.size(); ++i)
      EC_CHECK_OK(visit(expr.children[i], scope));
    if (expr.kind != Expr::Kind::Call) return {};
    const Expr& callee = expr.callee();
    if (const std::string name = called_operator(callee); !name.empty())
      return add(name, expr, scope);
    if (callee.kind != Expr::Kind::Attribute) return {};
    EC_CHECK_OK(visit(callee.children[0], scope));
    const auto instance = as_object<Instance>(value_of(callee.children[0], scope));
    return instance == nullptr ? Status() : method(instance, callee.text, scope.depth + 1);
  }

  Status add(const std::string& name, const Expr& call, const Scope& scope) {
    std::string plain = name;
    if (plain.ends_with('_') && !plain.ends_with("__")) plain.pop_back();
    const bool known = is_known_operator(name) || is_known_operator(plain);
    // What works on numbers, lists and texts alone is no operation.
    if (!known && (find_builtin(name) != nullptr || name.starts_with("prim::"))) return {};
    std::vector<ec::Tensor*> weights;
    for (size_t i = 1; i < call.children.size(); ++i)
      if (ec::Tensor* tensor = value_of(call.children[i], scope).tensor())
        weights.push_back(tensor);
    const Location location = interpreter_.site(scope.self->path, name).location;
    const Diagnostic problem =
        known ? Diagnostic(Code::UnsupportedOpForm, "not judged: the program was not run")
              : unknown_operator(name).diagnostic();
    if (known) {
      EC_TRY([[maybe_unused]] const Operation* op,
             kept_.add_unjudged(graph_, std::move(weights), {}, location, problem));
    } else {
      EC_TRY([[maybe_unused]] const Operation* op,
             kept_.add(graph_, std::move(weights), {}, location, problem));
    }
    return {};
  }

  Interpreter& interpreter_;
  ec::Graph& graph_;
  KeptOperations& kept_;
  int visits_ = 0;
};

}  // namespace

Status list_operators(Interpreter& interpreter, ec::Graph& graph, KeptOperations& kept) {
  const std::shared_ptr<Instance>& root = interpreter.root();
  const bool plain = root->type != nullptr && root->type->method("forward") != nullptr;
  return Listing(interpreter, graph, kept).method(root, plain ? "forward" : "forward__0", 0);
}

}  // namespace ec::torch::script
