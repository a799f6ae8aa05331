#include "quantize/plan.h"

#include <algorithm>

#include "ops/op_def.h"
#include "quantize/observer.h"
#include "quantize/union_find.h"

namespace ec::quantize {
namespace {

bool is_real(const Tensor* tensor) { return tensor != nullptr && tensor->dtype() == DType::F32; }

bool touches_reals(const Operation& op) {
  return std::any_of(op.inputs().begin(), op.inputs().end(), is_real) ||
         std::any_of(op.outputs().begin(), op.outputs().end(), is_real);
}

bool is_activation_op(const Operation& op) {
  return op.kind() == OpKind::Relu || op.kind() == OpKind::Clip;
}

class Planner {
 public:
  Planner(const Graph& graph, const TargetSpec& target, const PlanOptions& options)
      : graph_(graph),
        options_(options),
        order_(graph.topological()),
        sets_(graph.tensor_id_bound()) {
    plan_.target = &target;
    plan_.ops.resize(graph.operation_id_bound());
    plan_.quantized.resize(graph.tensor_id_bound());
    plan_.observed.resize(graph.tensor_id_bound());
    plan_.fixed.resize(graph.tensor_id_bound());
    plan_.also.resize(graph.tensor_id_bound());
  }

  Plan run() {
    for (const Operation* op : order_) describe(*op);
    if (plan_.target->float_norms) keep_norms_in_float();
    keep_islands_in_float();
    mark_tensors();
    share_with_activations();
    share_along_single_operands();
    share_across_operands();
    finish();
    return std::move(plan_);
  }

 private:
  OpPlan& at(const Operation* op) { return plan_.ops[op->id()]; }

  void describe(const Operation& op) {
    OpPlan& entry = at(&op);
    if (!touches_reals(op)) return;
    entry.rule = plan_.target->describe(op);
    entry.integer = entry.rule.integer;
    entry.reason = entry.rule.reason;
    for (const std::string& pattern : options_.keep_float)
      for (const std::string& name : op.location().nodes)
        if (matches_glob(pattern, name)) refuse(entry, "--keep-float " + pattern);
    if (!entry.integer) return;
    for (size_t i = 0; i < op.inputs().size(); ++i) {
      const Tensor* operand = op.input(i);
      if (operand == nullptr || !operand->is_constant()) continue;
      if (entry.rule.role(i) == OperandRole::Plain) continue;
      bool finite = true;
      range_of(operand->values<float>(), finite);
      if (!finite) refuse(entry, "a constant operand holds infinity or not-a-number");
    }
  }
  static void refuse(OpPlan& entry, std::string reason) {
    entry.integer = false;
    entry.reason = std::move(reason);
  }

  static bool is_root(const Operation& op) {
    return op.kind() == OpKind::Rsqrt || op.kind() == OpKind::Sqrt ||
           op.kind() == OpKind::Reciprocal || op.kind() == OpKind::Pow;
  }
  // What a normalisation is made of, besides the root.
  static bool is_norm_part(const Operation& op) {
    switch (op.kind()) {
      case OpKind::Add:
      case OpKind::Sub:
      case OpKind::Mul:
      case OpKind::Div:
      case OpKind::SquaredDifference:
      case OpKind::ReduceMean:
      case OpKind::ReduceSum:
        return true;
      default:
        return false;
    }
  }

  // The root, the product that applies it, and whatever only they read.
  void keep_norms_in_float() {
    constexpr const char* kReason = "part of a normalisation, which needs more than 8 bits";
    std::vector<bool> in_norm(graph_.operation_id_bound(), false);
    const auto take = [&](const Operation* op) {
      in_norm[op->id()] = true;
      if (at(op).integer) refuse(at(op), kReason);
    };
    for (const Operation* op : order_) {
      if (!is_root(*op) || !is_real(op->output())) continue;
      take(op);
      for (const Use& use : op->output()->uses())
        if (is_norm_part(*use.op)) take(use.op);
    }
    for (auto it = order_.rbegin(); it != order_.rend(); ++it) {
      const Operation* op = *it;
      if (in_norm[op->id()] || !is_norm_part(*op) || graph_.is_output(op->output())) continue;
      const auto& uses = op->output()->uses();
      if (!uses.empty() && std::all_of(uses.begin(), uses.end(),
                                       [&](const Use& use) { return in_norm[use.op->id()]; }))
        take(op);
    }
  }

  bool is_integer_producer(const Tensor* tensor) {
    return tensor->producer() != nullptr ? at(tensor->producer()).integer : tensor->is_input();
  }

  // Movement of data stays in floating point where what it moves comes as floats.
  void keep_islands_in_float() {
    for (const Operation* op : order_) {
      OpPlan& entry = at(op);
      if (!entry.integer || !entry.rule.moves_data) continue;
      bool any = false;
      for (size_t i = 0; i < op->inputs().size(); ++i)
        any |= op->input(i) != nullptr && entry.rule.role(i) == OperandRole::Activation &&
               is_integer_producer(op->input(i));
      if (!any) refuse(entry, "what it moves is in floating point");
    }
  }

  void mark(const Tensor* tensor) {
    plan_.quantized[tensor->id()] = true;
    if (!tensor->is_constant()) plan_.observed[tensor->id()] = true;
  }

  void mark_tensors() {
    for (const Operation* op : order_) {
      const OpPlan& entry = at(op);
      if (!entry.integer) continue;
      for (size_t i = 0; i < op->inputs().size(); ++i)
        if (op->input(i) != nullptr && entry.rule.role(i) == OperandRole::Activation)
          mark(op->input(i));
      if (entry.rule.result == ResultRule::Plain) continue;
      for (const Tensor* output : op->outputs()) mark(output);
    }
    if (!options_.integer_outputs) return;
    for (const Tensor* output : graph_.outputs())
      if (is_real(output)) mark(output);
  }

  // add -> relu: one operation on the target. The sum has the parameters of the relu's result, and
  // its own range does not count.
  void share_with_activations() {
    for (const Operation* op : order_) {
      const OpPlan& entry = at(op);
      if (!entry.integer || !entry.rule.fuses_activation) continue;
      const Tensor* result = op->output();
      if (!graph_.has_single_use(result)) continue;
      const Operation* next = result->uses()[0].op;
      if (!is_activation_op(*next) || !at(next).integer || result->uses()[0].index != 0) continue;
      sets_.unite(result->id(), next->output()->id());
      plan_.observed[result->id()] = false;
    }
  }

  std::vector<const Tensor*> activations(const Operation& op) {
    std::vector<const Tensor*> tensors;
    for (size_t i = 0; i < op.inputs().size(); ++i)
      if (op.input(i) != nullptr && at(&op).rule.role(i) == OperandRole::Activation)
        tensors.push_back(op.input(i));
    return tensors;
  }

  // A constant operand is quantised for this operation alone, with the parameters of the others; it
  // joins no set (it may be read elsewhere) but its range counts.
  void include(uint32_t set_of, const Tensor* constant) {
    extra_.push_back({set_of, constant->id()});
  }

  template <class F>
  void for_each_same_scale(F&& f) {
    for (const Operation* op : order_)
      if (at(op).integer && at(op).rule.result == ResultRule::SameScale) f(*op, activations(*op));
  }
  void set_fixed() {
    for (const Operation* op : order_)
      if (at(op).integer && at(op).rule.result == ResultRule::Fixed)
        plan_.fixed[sets_.find(op->output()->id())] = at(op).rule.fixed;
  }

  // Through operations with one operand parameters pass unconditionally, prescribed ones included.
  void share_along_single_operands() {
    for_each_same_scale([&](const Operation& op, const std::vector<const Tensor*>& operands) {
      if (operands.size() > 1 || operands[0]->is_constant()) return;
      for (const Tensor* output : op.outputs()) sets_.unite(operands[0]->id(), output->id());
    });
    set_fixed();
  }

  // Prescribed parameters that serve all operands: each has them, or is a constant within their
  // range.
  std::optional<QuantParams> common_fixed(const std::vector<const Tensor*>& operands) {
    std::optional<QuantParams> common;
    for (const Tensor* operand : operands) {
      if (operand->is_constant()) continue;
      const auto& own = plan_.fixed[sets_.find(operand->id())];
      if (!own || (common && *common != *own)) return std::nullopt;
      common = own;
    }
    for (const Tensor* operand : operands)
      if (common && operand->is_constant() && !holds(*common, *operand)) return std::nullopt;
    return common;
  }
  bool holds(const QuantParams& params, const Tensor& constant) const {
    bool finite = true;
    const auto values = constant.values<float>();
    if (values.empty()) return true;
    const Range range = range_of(values, finite);
    const DType dtype = plan_.target->activation;
    const auto step = [&](float value) {
      return static_cast<double>(value) / static_cast<double>(params.scales[0]) +
             params.zero_points[0];
    };
    return step(range.min) >= static_cast<double>(lowest_integer(dtype)) - 0.5 &&
           step(range.max) <= static_cast<double>(highest_integer(dtype)) + 0.5;
  }

  // Operands of one operation share theirs, but for those whose parameters are prescribed: these
  // are requantised on the way in.
  void share_across_operands() {
    for_each_same_scale([&](const Operation& op, const std::vector<const Tensor*>& operands) {
      const bool single = operands.size() == 1 && !operands[0]->is_constant();
      if (single) return;
      const uint32_t result = op.output()->id();
      for (const Tensor* output : op.outputs()) sets_.unite(result, output->id());
      const bool all_alike = common_fixed(operands).has_value();
      for (const Tensor* operand : operands) {
        const bool prescribed = plan_.fixed[sets_.find(operand->id())].has_value();
        if (operand->is_constant() || (prescribed && !all_alike))
          include(result, operand);
        else
          unite_keeping_fixed(operand->id(), result);
      }
    });
  }
  void unite_keeping_fixed(uint32_t a, uint32_t b) {
    const std::optional<QuantParams> kept = plan_.fixed[sets_.find(a)];
    sets_.unite(a, b);
    if (kept) plan_.fixed[sets_.find(a)] = kept;
  }

  void finish() {
    plan_.group.resize(graph_.tensor_id_bound());
    for (uint32_t id = 0; id < plan_.group.size(); ++id) plan_.group[id] = sets_.find(id);
    for (const auto& [set_of, tensor] : extra_) plan_.also[sets_.find(set_of)].push_back(tensor);
  }

  struct Extra {
    uint32_t set_of, tensor;
  };

  const Graph& graph_;
  const PlanOptions& options_;
  const std::vector<Operation*> order_;
  UnionFind sets_;
  std::vector<Extra> extra_;
  Plan plan_;
};

}  // namespace

Plan make_plan(const Graph& graph, const TargetSpec& target, const PlanOptions& options) {
  return Planner(graph, target, options).run();
}

bool matches_glob(std::string_view pattern, std::string_view name) {
  // Greedy with one point to return to: linear in practice, never exponential.
  size_t p = 0, n = 0, star = std::string_view::npos, resume = 0;
  while (n < name.size()) {
    if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == name[n]) && pattern[p] != '*') {
      ++p, ++n;
    } else if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = n;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      n = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

}  // namespace ec::quantize
