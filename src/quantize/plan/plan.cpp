#include "quantize/plan/plan.h"

#include <algorithm>

#include "ops/op_def.h"
#include "quantize/fold_input/pixel_layers.h"
#include "quantize/plan/masked_values.h"
#include "quantize/plan/precision_critical_ops.h"
#include "quantize/plan/union_find.h"
#include "quantize/ranges/observer.h"

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
        sets_(2 * graph.tensor_id_bound()) {
    const size_t tensors = graph.tensor_id_bound(), forms = 2 * tensors;
    plan_.target = &target;
    plan_.ops.resize(graph.operation_id_bound());
    plan_.quantized.resize(forms);
    plan_.observed.resize(tensors);
    plan_.stored.resize(tensors, options.width);
    plan_.reading = readings_of(graph);
    plan_.fixed.resize(forms);
    plan_.also.resize(forms);
  }

  Plan run() {
    find_raised_movement();
    for (const Operation* op : order_) describe(*op);
    if (plan_.target->float_norms)
      keep_in_float(normalization_ops(graph_),
                    "part of a normalisation, which needs more than 8 bits");
    keep_in_float(coordinate_ops(graph_), "computes coordinates, which need more than 8 bits");
    keep_islands_in_float();
    choose_stored_forms();
    mark_forms();
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
    // Borders between the two kinds are neither.
    if (op.kind() == OpKind::Quantize || op.kind() == OpKind::Dequantize) return;
    if (!touches_reals(op)) return;
    const Choice chosen = choice_of(op);
    entry.width = width_of(op, chosen.precision);
    entry.rule = plan_.target->describe(op, entry.width);
    if (!entry.rule.integer && entry.rule.reason.empty()) entry.rule.reason = "no integer form";
    if (entry.rule.integer && options_.weights_per_tensor) entry.rule.weights_axis = -1;
    entry.integer = entry.rule.integer;
    entry.reason = entry.rule.reason;
    if (chosen.precision == Precision::Float && entry.integer) {
      refuse(entry, chosen.reason);
      entry.on_purpose = chosen.on_purpose;
    }
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
      if (!finite && !may_saturate(op, *operand))
        refuse(entry, "a constant operand holds infinity or not-a-number");
      // There is no range to take a scale from.
      if (entry.rule.role(i) == OperandRole::Weights && operand->values<float>().empty())
        refuse(entry, "its weights hold no elements");
    }
  }
  bool may_saturate(const Operation& op, const Tensor& constant) const {
    const Reading reading = plan_.reading[op.output()->id()];
    return ((op.kind() == OpKind::Add && reading == Reading::Scores) ||
            (op.kind() == OpKind::Pad && reading == Reading::Maxima)) &&
           is_masked(constant.values<float>());
  }
  static void refuse(OpPlan& entry, std::string reason) {
    entry.integer = false;
    entry.reason = std::move(reason);
  }

  Choice choice_of(const Operation& op) {
    const Operation* owner = fused_into(graph_, plan_, op);
    for (const Operation* asked : {owner, &op}) {
      const auto found =
          asked != nullptr ? options_.chosen.find(asked->id()) : options_.chosen.end();
      if (found != options_.chosen.end()) return found->second;
    }
    return {options_.width == Width::Wide ? Precision::Wide : Precision::Narrow, {}};
  }
  // Movement of data keeps the width of what it moves.
  Width width_of(const Operation& op, Precision chosen) {
    const Width wanted = chosen == Precision::Wide ? Width::Wide : Width::Narrow;
    if (options_.chosen.count(op.id()) != 0 || op.inputs().empty()) return wanted;
    const Tensor* moved = op.input(0);
    if (moved == nullptr) return wanted;
    if (moved->is_input()) return raised_movement_[op.id()] ? Width::Wide : wanted;
    if (moved->producer() == nullptr || !at(moved->producer()).integer) return wanted;
    const Width given = at(moved->producer()).width;
    if (given == wanted) return wanted;
    const OpRule rule = plan_.target->describe(op, given);
    return rule.integer && rule.moves_data ? given : wanted;
  }

  // Movement of data that only raised operations read, through other movement or at once: an input
  // that it moves is as wide as they are.
  void find_raised_movement() {
    raised_movement_.resize(graph_.operation_id_bound(), false);
    if (!plan_.target->has_wide || options_.chosen.empty()) return;
    const auto is_raised = [&](const Use& use) {
      const auto chosen = options_.chosen.find(use.op->id());
      return raised_movement_[use.op->id()] ||
             (chosen != options_.chosen.end() && chosen->second.precision == Precision::Wide);
    };
    for (auto it = order_.rbegin(); it != order_.rend(); ++it) {
      const Operation* op = *it;
      if (op->outputs().size() != 1 || op->output()->uses().empty() || !touches_reals(*op) ||
          options_.chosen.count(op->id()) != 0)
        continue;
      const OpRule rule = plan_.target->describe(*op, Width::Wide);
      raised_movement_[op->id()] =
          rule.integer && rule.moves_data && std::ranges::all_of(op->output()->uses(), is_raised);
    }
  }

  void keep_in_float(const std::vector<bool>& ops, const char* reason) {
    // Not where 8 bits were chosen for it by name: the model itself has them there.
    const auto is_chosen = [&](const Operation* op) {
      const auto found = options_.chosen.find(op->id());
      return found != options_.chosen.end() && found->second.precision == Precision::Narrow;
    };
    for (const Operation* op : order_)
      if (ops[op->id()] && at(op).integer && !is_chosen(op)) refuse(at(op), reason);
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

  // What integer operations give has their width; other tensors have the width of most who read
  // them.
  void choose_stored_forms() {
    std::vector<int32_t> wide_readers(graph_.tensor_id_bound(), 0);
    for (const Operation* op : order_) {
      const OpPlan& entry = at(op);
      if (!entry.integer) continue;
      for (const Tensor* operand : activations(*op))
        wide_readers[operand->id()] += entry.width == Width::Wide ? 1 : -1;
    }
    for (const Tensor* tensor : graph_.tensors()) {
      Width& stored = plan_.stored[tensor->id()];
      if (tensor->producer() != nullptr && at(tensor->producer()).integer)
        stored = at(tensor->producer()).width;
      else if (wide_readers[tensor->id()] != 0)
        stored = wide_readers[tensor->id()] > 0 ? Width::Wide : Width::Narrow;
    }
  }

  void mark(const Tensor* tensor, Width width) {
    plan_.quantized[form_id(tensor->id(), width)] = true;
    if (!tensor->is_constant()) plan_.observed[tensor->id()] = true;
  }

  void mark_forms() {
    for (const Operation* op : order_) {
      const OpPlan& entry = at(op);
      if (!entry.integer) continue;
      for (const Tensor* operand : activations(*op)) mark(operand, entry.width);
      if (entry.rule.result == ResultRule::Plain) continue;
      for (const Tensor* output : op->outputs()) mark(output, entry.width);
    }
    if (!options_.integer_outputs) return;
    for (const Tensor* output : graph_.outputs())
      if (is_real(output) && options_.float_outputs.count(output->id()) == 0)
        mark(output, plan_.stored[output->id()]);
  }

  // add -> relu: one operation on the target. The sum has the parameters of the relu's result, and
  // its own range does not count.
  void share_with_activations() {
    for (const Operation* op : order_) {
      const OpPlan& entry = at(op);
      if (!entry.integer || !entry.rule.fuses_activation) continue;
      const Tensor* result = op->output();
      if (!graph_.has_single_use(result)) continue;
      const Operation* next = result->uses().front().op;
      if (!is_activation_op(*next) || !at(next).integer || result->uses().front().index != 0)
        continue;
      if (at(next).width != entry.width) continue;
      sets_.unite(form_id(result->id(), entry.width), form_id(next->output()->id(), entry.width));
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
  void include(FormId set_of, const Tensor* constant) {
    extra_.push_back({set_of, constant->id()});
  }

  template <class F>
  void for_each_same_scale(F&& f) {
    for (const Operation* op : order_)
      if (at(op).integer && at(op).rule.result == ResultRule::SameScale) f(*op, activations(*op));
  }
  void set_fixed() {
    for (const Tensor* input : graph_.inputs())
      if (!options_.pixel_input.empty() && input->name() == options_.pixel_input)
        set_fixed_pixels(*input);
    for (const Operation* op : order_)
      if (at(op).integer && at(op).rule.result == ResultRule::Fixed)
        plan_.fixed[sets_.find(form_id(op->output()->id(), at(op).width))] = at(op).rule.fixed;
  }

  // Pixels, and what layers that only pick and shift them make of them, have steps of one.
  void set_fixed_pixels(const Tensor& input) {
    const auto fixed_of = [&](const Tensor& tensor) -> std::optional<QuantParams>& {
      return plan_.fixed[sets_.find(form_id(tensor.id(), Width::Narrow))];
    };
    fixed_of(input) = pixel_params(DType::I8);
    for (const Use& use : input.uses())
      if (at(use.op).integer && at(use.op).width == Width::Narrow)
        if (const auto params = picked_pixel_params(*use.op)) fixed_of(*use.op->output()) = params;
  }

  // Through operations with one operand parameters pass unconditionally, prescribed ones included.
  void share_along_single_operands() {
    for_each_same_scale([&](const Operation& op, const std::vector<const Tensor*>& operands) {
      if (operands.size() > 1 || operands[0]->is_constant()) return;
      const Width width = at(&op).width;
      for (const Tensor* output : op.outputs())
        sets_.unite(form_id(operands[0]->id(), width), form_id(output->id(), width));
    });
    set_fixed();
  }

  // Prescribed parameters that serve all operands: each has them, or is a constant within their
  // range.
  std::optional<QuantParams> common_fixed(const std::vector<const Tensor*>& operands, Width width) {
    std::optional<QuantParams> common;
    for (const Tensor* operand : operands) {
      if (operand->is_constant()) continue;
      const auto& own = plan_.fixed[sets_.find(form_id(operand->id(), width))];
      if (!own || (common && *common != *own)) return std::nullopt;
      common = own;
    }
    for (const Tensor* operand : operands)
      if (common && operand->is_constant() && !holds(*common, *operand, width)) return std::nullopt;
    return common;
  }
  static bool holds(const QuantParams& params, const Tensor& constant, Width width) {
    bool finite = true;
    const auto values = constant.values<float>();
    if (values.empty()) return true;
    const Range range = range_of(values, finite);
    const DType dtype = activation_type(width);
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
      const Width width = at(&op).width;
      const FormId result = form_id(op.output()->id(), width);
      for (const Tensor* output : op.outputs()) sets_.unite(result, form_id(output->id(), width));
      const bool all_alike = common_fixed(operands, width).has_value();
      for (const Tensor* operand : operands) {
        const FormId form = form_id(operand->id(), width);
        const bool prescribed = plan_.fixed[sets_.find(form)].has_value();
        // A bound that no value reaches may saturate; those that are reached show in the result.
        if (operand->is_constant() && (op.kind() == OpKind::Min || op.kind() == OpKind::Max))
          continue;
        if (operand->is_constant() || (prescribed && !all_alike))
          include(result, operand);
        else
          unite_keeping_fixed(form, result);
      }
    });
  }
  void unite_keeping_fixed(FormId a, FormId b) {
    const std::optional<QuantParams> kept = plan_.fixed[sets_.find(a)];
    sets_.unite(a, b);
    if (kept) plan_.fixed[sets_.find(a)] = kept;
  }

  void finish() {
    plan_.group.resize(2 * graph_.tensor_id_bound());
    for (FormId id = 0; id < plan_.group.size(); ++id) plan_.group[id] = sets_.find(id);
    for (const auto& [set_of, tensor] : extra_) plan_.also[sets_.find(set_of)].push_back(tensor);
    choose_channel_wise();
  }

  // Size of the last dimension; 0 where it is not known.
  static int64_t channels_of(const Tensor* tensor) {
    if (!tensor->type().has_rank() || tensor->shape()->rank() == 0) return 0;
    const Dim last = (*tensor->shape())[tensor->shape()->rank() - 1];
    return last.is_static() ? last.size() : 0;
  }
  // Groups that an operation wants by channel, and that nothing needs with one scale.
  void choose_channel_wise() {
    std::vector<bool> wanted(plan_.group.size(), false), whole(plan_.group.size(), false);
    for (const Operation* op : order_) {
      const OpPlan& entry = at(op);
      if (!entry.integer) continue;
      for (const Tensor* operand : activations(*op)) {
        const FormId group = plan_.group[form_id(operand->id(), entry.width)];
        const int64_t channels = channels_of(operand);
        const bool kept = channels > 0 && channels == channels_of(op->output());
        if (entry.rule.channel_wise_input && operand == op->input(0) && kept)
          wanted[group] = true;
        else if (!(is_activation_op(*op) || op->kind() == OpKind::Pad) || !kept ||
                 plan_.group[form_id(op->output()->id(), entry.width)] != group)
          whole[group] = true;
      }
    }
    // The interface has one scale.
    const auto keep_whole = [&](const Tensor* tensor) {
      if (options_.integer_outputs) whole[plan_.group[plan_.stored_form(tensor)]] = true;
    };
    for (const Tensor* input : graph_.inputs()) keep_whole(input);
    for (const Tensor* output : graph_.outputs()) keep_whole(output);
    plan_.channel_wise.resize(plan_.group.size());
    for (FormId group = 0; group < plan_.group.size(); ++group)
      plan_.channel_wise[group] =
          wanted[group] && !whole[group] && !plan_.fixed[group] && plan_.also[group].empty();
  }

  struct Extra {
    FormId set_of;
    uint32_t tensor;
  };

  const Graph& graph_;
  const PlanOptions& options_;
  const std::vector<Operation*> order_;
  UnionFind sets_;
  std::vector<bool> raised_movement_;  // by operation id
  std::vector<Extra> extra_;
  Plan plan_;
};

}  // namespace

Plan make_plan(const Graph& graph, const TargetSpec& target, const PlanOptions& options) {
  return Planner(graph, target, options).run();
}

const Operation* fused_into(const Graph& graph, const Plan& plan, const Operation& op) {
  if (!is_activation_op(op) || op.input(0) == nullptr) return nullptr;
  const Operation* before = op.input(0)->producer();
  if (before == nullptr || !plan.of(before).rule.fuses_activation) return nullptr;
  return graph.has_single_use(op.input(0)) ? before : nullptr;
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
