// Step `analyse` of `qat`: which tensors have parameters of the model, and which operations become
// integer with them.
#include <fmt/format.h>

#include <algorithm>
#include <ranges>

#include "ops/attrs.h"
#include "ops/op_def.h"
#include "quantize/measure/kept_in_float.h"
#include "quantize/strategy/context.h"
#include "quantize/strategy/qat.h"
#include "quantize/strategy/qdq_pairs.h"
#include "support/strings.h"

namespace ec::quantize::qat {
namespace {

constexpr const char* kUnknown = "the model gives no range for one of its operands or its result";

bool is_real(const Tensor* tensor) { return tensor != nullptr && tensor->dtype() == DType::F32; }

class Analysis {
 public:
  explicit Analysis(QuantizeContext& context)
      : context_(context), target_(*context.request.target), graph_(*context.graph) {
    context.recorded_params.resize(graph_.tensor_id_bound());
  }

  Status run() {
    for (Tensor* tensor : graph_.tensors())
      if (known(tensor) && !tensor->is_constant()) rounded_.push_back(tensor);
    for (const Operation* op : graph_.topological()) pass_forward(*op);
    for (Operation* op : graph_.topological()) EC_CHECK_OK(separate_results(op));
    const std::vector<Operation*> order = graph_.topological();
    for (const Operation* op : order | std::views::reverse)
      for (const Tensor* output : op->outputs()) pass_backward(output);
    for (const Tensor* input : graph_.inputs()) pass_backward(input);
    for (const Operation* op : order) choose_precision(*op);
    leave_outputs_without_range();
    context_.update_plan();
    EC_CHECK_OK(round_between_floats());
    count_operations(graph_, context_.plan, context_.report());
    warn_kept_in_float(context_.report(), context_.sink);
    return assign_parameters();
  }

 private:
  std::optional<PairParams>& known(const Tensor* tensor) {
    return context_.recorded_params[tensor->id()];
  }
  bool rounds(const Tensor* tensor, DType dtype) {
    return tensor->is_constant() || (known(tensor) && known(tensor)->dtype == dtype);
  }

  // Operations that move data give their results the parameters of what they move.
  void pass_forward(const Operation& op) {
    const OpRule rule = target_.describe(op, Width::Narrow);
    // Training tools watch no means: they have the range of what they average.
    const bool mean = op.kind() == OpKind::ReduceMean || op.kind() == OpKind::GlobalAvgPool;
    // Zero is a step.
    const bool kept = mean || op.kind() == OpKind::Relu;
    if (!rule.integer || (rule.result != ResultRule::SameScale && !kept) || op.input(0) == nullptr)
      return;
    size_t operands = 0;
    for (size_t i = 0; i < op.inputs().size(); ++i)
      operands += op.input(i) != nullptr && rule.role(i) == OperandRole::Activation &&
                  !op.input(i)->is_constant();
    if (operands != 1 || !known(op.input(0))) return;
    const PairParams moved = *known(op.input(0));
    for (const Tensor* output : op.outputs())
      if (is_real(output) && !known(output)) known(output) = moved;
  }

  // The results of one operation that moves data have the parameters of its operand. Those that the
  // model rounds in another way (the parts of a split) are requantised behind it.
  Status separate_results(Operation* op) {
    Graph* graph = context_.changed_graph.get();
    if (graph == nullptr || op->outputs().size() < 2 || op->input(0) == nullptr ||
        !known(op->input(0)))
      return {};
    const OpRule rule = target_.describe(*op, Width::Narrow);
    if (!rule.integer || rule.result != ResultRule::SameScale) return {};
    const PairParams moved = *known(op->input(0));
    for (Tensor* output : op->outputs()) {
      if (!is_real(output) || !known(output) || *known(output) == moved) continue;
      const PairParams own = *known(output);
      const std::vector<Use> readers(output->uses().begin(), output->uses().end());
      ec::OpSpec spec;
      spec.location = op->location();
      EC_TRY(const Operation* copy, graph->add(OpKind::Identity, {output}, std::move(spec)));
      context_.recorded_params.resize(graph->tensor_id_bound());
      known(output) = moved;
      known(copy->output()) = own;
      std::ranges::replace(rounded_, output, copy->output());
      for (const Use& use : readers) graph->set_operand(use.op, use.index, copy->output());
      for (size_t i = 0; i < graph->outputs().size(); ++i)
        if (graph->outputs()[i] == output) graph->set_output(i, copy->output());
    }
    return {};
  }

  // An activation gives its parameters to the operation that it is fused into; so does what moves
  // elements: rounding and movement may change places.
  void pass_backward(const Tensor* tensor) {
    if (!is_real(tensor) || tensor->is_constant() || known(tensor) || tensor->uses().empty() ||
        graph_.is_output(tensor))
      return;
    std::optional<PairParams> common;
    for (const Use& use : tensor->uses()) {
      const std::optional<PairParams> wanted = wanted_by(use);
      if (!wanted || (common && *common != *wanted)) return;
      common = wanted;
    }
    known(tensor) = common;
  }
  // The parameters of the results, where they may be those of the operand as well.
  std::optional<PairParams> wanted_by(const Use& use) {
    const Operation& op = *use.op;
    const OpRule rule = target_.describe(op, Width::Narrow);
    const bool activation = (op.kind() == OpKind::Relu || op.kind() == OpKind::Clip) &&
                            use.index == 0 && graph_.has_single_use(op.input(0));
    const bool same = rule.integer && rule.result == ResultRule::SameScale &&
                      rule.role(use.index) == OperandRole::Activation &&
                      (chooses_elements(op, rule) || graph_.has_single_use(op.input(use.index)));
    if (!activation && !same) return std::nullopt;
    if (!known(op.output())) return std::nullopt;
    const PairParams params = *known(op.output());
    for (const Tensor* output : op.outputs())
      if (!known(output) || !(*known(output) == params)) return std::nullopt;
    return params;
  }
  // Each element of the result is one of the operand's: rounding before or after is the same.
  static bool chooses_elements(const Operation& op, const OpRule& rule) {
    return rule.moves_data || op.kind() == OpKind::MaxPool || op.kind() == OpKind::GlobalMaxPool ||
           op.kind() == OpKind::ReduceMax || op.kind() == OpKind::ReduceMin;
  }

  // Integer where all operands and results have parameters, else in floating point.
  void choose_precision(const Operation& op) {
    bool wide = false, any = false;
    for (const Tensor* tensor : op.inputs()) {
      if (!is_real(tensor) || tensor->is_constant()) continue;
      any = true;
      wide |= known(tensor) && known(tensor)->dtype == DType::I16;
    }
    for (const Tensor* tensor : op.outputs()) any |= is_real(tensor);
    if (!any) return;
    const Width width = wide ? Width::Wide : Width::Narrow;
    const DType dtype = activation_type(width);
    const OpRule rule = target_.describe(op, width);
    bool complete = rule.integer;
    for (size_t i = 0; complete && i < op.inputs().size(); ++i)
      if (op.input(i) != nullptr && rule.role(i) == OperandRole::Activation)
        complete = rounds(op.input(i), dtype);
    if (complete && rule.result == ResultRule::Fixed) {
      prescribe(op, *rule.fixed, dtype);
    } else if (complete && rule.result != ResultRule::Plain) {
      for (const Tensor* output : op.outputs()) complete &= rounds(output, dtype);
    }
    auto& chosen = context_.plan_options.chosen;
    if (!complete)
      chosen[op.id()] = {Precision::Float, rule.integer ? kUnknown : rule.reason};
    else
      chosen[op.id()] = {wide ? Precision::Wide : Precision::Narrow, {}};
  }

  // Parameters that the target prescribes win over those of the model: a requantisation to the
  // model's would only add an error.
  void prescribe(const Operation& op, const QuantParams& params, DType dtype) {
    auto& given = known(op.output());
    if (given && given->params != params)
      context_.report().methods.push_back(
          {"prescribed", true, 0, 0,
           fmt::format("'{}' has the target's scale {} instead of {}", op.output()->name(),
                       params.scales[0], given->params.scales[0])});
    given = PairParams{dtype, params};
  }

  bool computes_on_floats(const Operation* op) const {
    return !context_.plan.of(op).integer && op->kind() != OpKind::Quantize;
  }

  // What the model rounds is rounded also where floating point makes it and reads it.
  Status round_between_floats() {
    Graph* graph = context_.changed_graph.get();
    if (graph == nullptr) return {};  // the trial of a function, which has no floats
    const bool float_io = context_.request.io == IoType::Float;
    for (Tensor* tensor : rounded_) {
      const Operation* producer = tensor->producer();
      const bool integer_input =
          !float_io && context_.plan.quantized[context_.plan.stored_form(tensor)];
      if (producer != nullptr ? !computes_on_floats(producer) : integer_input) continue;
      std::vector<Use> readers;
      for (const Use& use : tensor->uses())
        if (computes_on_floats(use.op)) readers.push_back(use);
      if (readers.empty() && !(float_io && graph_.is_output(tensor))) continue;
      EC_TRY(Tensor * pair, add_pair(*graph, tensor, *known(tensor)));
      for (const Use& use : readers) graph->set_operand(use.op, use.index, pair);
      for (size_t i = 0; float_io && i < graph->outputs().size(); ++i)
        if (graph->outputs()[i] == tensor) graph->set_output(i, pair);
    }
    context_.recorded_params.resize(graph_.tensor_id_bound());
    context_.update_plan();
    return {};
  }

  Result<Tensor*> add_pair(Graph& graph, Tensor* x, const PairParams& pair) const {
    const bool carried = context_.request.form == GraphForm::Integer;
    std::vector<Tensor*> parameters;
    if (!carried)
      parameters = {
          graph.add_scalar("", DType::F32, static_cast<double>(pair.params.scales[0])),
          graph.add_scalar("", pair.dtype, static_cast<double>(pair.params.zero_points[0]))};
    const auto add = [&](OpKind kind, Tensor* operand, Attrs attrs, TensorType type) {
      std::vector<Tensor*> operands{operand};
      operands.insert(operands.end(), parameters.begin(), parameters.end());
      ec::OpSpec spec;
      spec.attrs = std::move(attrs);
      return graph.add_typed(kind, std::move(operands), std::move(spec), {std::move(type)});
    };
    TensorType stored(pair.dtype, *x->shape());
    if (carried) stored.quant = pair.params;
    EC_TRY(const Operation* there,
           add(OpKind::Quantize, x,
               QuantizeAttrs{.axis = 0, .dtype = pair.dtype, .rounding = ec::Rounding::HalfAway},
               std::move(stored)));
    EC_TRY(const Operation* back,
           add(OpKind::Dequantize, there->output(), DequantizeAttrs{.axis = 0}, x->type()));
    return back->output();
  }

  // An integer interface needs parameters; outputs that have none stay as they are.
  void leave_outputs_without_range() {
    if (!context_.plan_options.integer_outputs) return;
    for (size_t i = 0; i < graph_.outputs().size(); ++i) {
      const Tensor* output = graph_.outputs()[i];
      if (!is_real(output) || known(output)) continue;
      context_.plan_options.float_outputs.insert(output->id());
      Diagnostic warning(Code::NoTrainedRanges,
                         fmt::format("the model gives no range for output '{}', which stays in "
                                     "floating point",
                                     printable(graph_.output_names()[i])));
      warning.severity = Severity::Warning;
      context_.sink.report(std::move(warning));
    }
  }

  Status assign_parameters() {
    context_.params.resize(2 * graph_.tensor_id_bound());
    for (const Tensor* tensor : graph_.tensors())
      for (const Width width : {Width::Narrow, Width::Wide}) {
        const FormId form = form_id(tensor->id(), width);
        if (!context_.plan.quantized[form]) continue;
        if (known(tensor) && known(tensor)->dtype == activation_type(width)) {
          context_.params[form] = known(tensor)->params;
        } else if (tensor->is_constant()) {
          context_.params[form] = params_of_constant(*tensor, width);
        } else {
          return Error(Code::NoTrainedRanges,
                       fmt::format("the model gives no range for '{}'", tensor->name()))
              .hint("use --io-type float, or --quantize ptq");
        }
      }
    return {};
  }

  // Those of the model where it stores the constant as integers, else from its own range.
  QuantParams params_of_constant(const Tensor& constant, Width width) const {
    const DType dtype = activation_type(width);
    const auto values = constant.values<float>();
    for (const Use& use : constant.uses())
      for (const std::string& name : use.op->location().nodes) {
        const auto found = context_.request.recorded.find(name);
        if (found == context_.request.recorded.end() || width == Width::Wide) continue;
        if (are_steps(values, found->second, dtype))
          return {found->second.scales, found->second.zero_points, -1};
      }
    bool finite = true;
    return params_of_range(range_of(values, finite), dtype, target_.is_symmetric(width));
  }

  QuantizeContext& context_;
  const TargetSpec& target_;
  const Graph& graph_;
  std::vector<Tensor*> rounded_;  // by the model itself
};

}  // namespace

Status analyse(QuantizeContext& context) { return Analysis(context).run(); }

}  // namespace ec::quantize::qat
