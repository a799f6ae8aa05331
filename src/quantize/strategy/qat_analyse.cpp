// Step `analyse` of `qat`: which tensors have parameters of the model, and which operations become
// integer with them.
#include <fmt/format.h>

#include <ranges>

#include "ops/op_def.h"
#include "quantize/measure/kept_in_float.h"
#include "quantize/strategy/context.h"
#include "quantize/strategy/qat.h"

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
    const std::vector<Operation*> order = graph_.topological();
    for (const Operation* op : order) pass_forward(*op);
    for (const Operation* op : order | std::views::reverse) pass_backward(*op);
    for (const Operation* op : order) choose_precision(*op);
    context_.update_plan();
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
    if (!rule.integer || (rule.result != ResultRule::SameScale && !mean) || op.input(0) == nullptr)
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

  // An activation gives its parameters to the operation that it is fused into; so does movement.
  void pass_backward(const Operation& op) {
    const bool activation = op.kind() == OpKind::Relu || op.kind() == OpKind::Clip;
    const OpRule rule = target_.describe(op, Width::Narrow);
    const bool same = rule.integer && rule.result == ResultRule::SameScale &&
                      op.outputs().size() == 1 && op.inputs().size() <= 3 &&
                      op.kind() != OpKind::Concat;
    if (!(activation || same) || !known(op.output()) || op.input(0) == nullptr) return;
    const Tensor* before = op.input(0);
    if (!is_real(before) || before->is_constant() || known(before) ||
        !graph_.has_single_use(before))
      return;
    const PairParams params = *known(op.output());
    known(before) = params;
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
    else if (wide)
      chosen[op.id()] = {Precision::Wide, {}};
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

  Status assign_parameters() {
    context_.params.resize(2 * graph_.tensor_id_bound());
    for (const Tensor* tensor : graph_.tensors())
      for (const Width width : {Width::Narrow, Width::Wide}) {
        const FormId form = form_id(tensor->id(), width);
        if (!context_.plan.quantized[form]) continue;
        if (known(tensor) && known(tensor)->dtype == activation_type(width)) {
          context_.params[form] = known(tensor)->params;
        } else if (tensor->is_constant()) {
          bool finite = true;
          context_.params[form] =
              params_of_range(range_of(tensor->values<float>(), finite), activation_type(width),
                              target_.is_symmetric(width));
        } else {
          return Error(Code::NoTrainedRanges,
                       fmt::format("the model gives no range for '{}'", tensor->name()))
              .hint("use --io-type float, or --quantize ptq");
        }
      }
    return {};
  }

  QuantizeContext& context_;
  const TargetSpec& target_;
  const Graph& graph_;
};

}  // namespace

Status analyse(QuantizeContext& context) { return Analysis(context).run(); }

}  // namespace ec::quantize::qat
