#include "quantize/strategy/qat.h"

#include <fmt/format.h>

#include <cmath>

#include "ops/op_def.h"
#include "quantize/convert/verify.h"
#include "quantize/measure/kept_in_float.h"
#include "quantize/strategy/steps.h"
#include "quantize/target/clip_bounds.h"
#include "support/rounding.h"

namespace ec::quantize {
namespace {

constexpr StepInfo kSteps[] = {
    {"lift", "quantize-dequantize pairs become parameters of the tensors they round"},
    {"analyse",
     "which operations become integer: those whose operands and results have parameters"},
    {"weights", "integer weights with the scales of the model"},
    {"convert", "integer operations; quantize and dequantize at the borders"},
    {"verify", "the rules that quantised graphs keep"},
};

constexpr const char* kUnknown = "the model gives no range for one of its operands or its result";

class QatRun {
 public:
  QatRun(const Graph& graph, const QuantizeRequest& request, DiagnosticSink& sink)
      : request_(request), sink_(sink), graph_(graph.clone()) {}

  Result<QuantizeResult> run() {
    report().strategy = "qat";
    report().target = request_.target->name;
    report().method = "as in the model";
    report().io_type = io_type_name(request_.io);
    EC_CHECK_OK(step([&] { return lift(); }));
    EC_CHECK_OK(step([&] { return analyse(); }));
    EC_CHECK_OK(step([&] { return take_weights(); }));
    EC_CHECK_OK(step([&]() -> Status {
      EC_TRY(Conversion converted,
             convert(*graph_, plan_, params_, weights_, request_.io, request_.form));
      result_.graph = std::move(converted.graph);
      return {};
    }));
    EC_CHECK_OK(step([&] { return verify_quantized(*result_.graph, sink_); }));
    result_.graph->metadata()["quantization"] = "qat int8, parameters as in the model";
    return std::move(result_);
  }

 private:
  QuantizeReport& report() { return result_.report; }
  template <class F>
  Status step(F&& f) {
    return steps_.run(std::forward<F>(f));
  }

  std::optional<PairParams>& known(const Tensor* tensor) {
    if (known_.size() <= tensor->id()) known_.resize(graph_->tensor_id_bound());
    return known_[tensor->id()];
  }

  // A pair that rounds an activation, with the same parameters on both sides.
  static std::optional<PairParams> pair_of(const Operation& dequantize) {
    if (dequantize.kind() != OpKind::Dequantize) return std::nullopt;
    const Operation* quantize = dequantize.input(0)->producer();
    if (quantize == nullptr || quantize->kind() != OpKind::Quantize) return std::nullopt;
    const auto there = constant_params(*quantize), back = constant_params(dequantize);
    if (!there || !back || there->dtype != back->dtype || there->params != back->params ||
        there->params.scales.size() != 1)
      return std::nullopt;
    PairParams params = *there;
    params.params.axis = -1;
    // 16 bits are symmetric on every target that has them.
    if (params.dtype == DType::I32 ||
        (params.dtype == DType::I16 && params.params.zero_points[0] != 0))
      return std::nullopt;
    return params;
  }

  // A range of fewer steps than the type has (7 of 8 bits) clips before it rounds. Converters of
  // training tools leave that out, as values beyond are steps too. Where it may be relu6 it becomes
  // that. Gives the tensor that has the parameters.
  Tensor* without_range_clip(Tensor* rounded, const PairParams& params) {
    Operation* clip = rounded->producer();
    if (clip == nullptr || clip->kind() != OpKind::Clip || !graph_->has_single_use(rounded))
      return rounded;
    const auto scale = static_cast<double>(params.params.scales[0]);
    const auto low_bound = static_cast<double>(clip_bound(*clip, 1, -INFINITY));
    const auto high_bound = static_cast<double>(clip_bound(*clip, 2, INFINITY));
    const auto level = [&](double bound) { return bound / scale + params.params.zero_points[0]; };
    const auto is_step = [](double value) {
      return std::abs(value - std::nearbyint(value)) < 1e-3;
    };
    const double low = level(low_bound), high = level(high_bound);
    if (std::nearbyint(low) != static_cast<double>(lowest_integer(params.dtype)) || !is_step(low) ||
        !is_step(high) ||
        std::nearbyint(high) >= static_cast<double>(highest_integer(params.dtype)))
      return rounded;
    constexpr double kSix = 6;
    if (low_bound == 0 && std::abs(high_bound - kSix) < 1e-3 * kSix) {
      graph_->set_operand(clip, 2, graph_->add_scalar("", DType::F32, kSix));
      return rounded;
    }
    Tensor* exact = clip->input(0);
    graph_->replace_all_uses(rounded, exact);
    graph_->erase(clip);
    return exact;
  }

  Status lift() {
    size_t lifted = 0;
    for (Operation* op : graph_->topological()) {
      const std::optional<PairParams> params = pair_of(*op);
      if (!params) continue;
      Tensor* exact = without_range_clip(op->input(0)->producer()->input(0), *params);
      // A second pair with other parameters stays as it is.
      if (known(exact) && known(exact)->params != params->params) continue;
      known(exact) = params;
      graph_->replace_all_uses(op->output(), exact);
      ++lifted;
    }
    if (lifted == 0)
      return Error(Code::NoTrainedRanges,
                   "the model rounds no activation: it was not quantised, or "
                   "lost its parameters on export")
          .hint(
              "use --quantize ptq --calibration-data FOLDER, or export the model with "
              "QuantizeLinear and DequantizeLinear");
    for (const auto& order = graph_->topological(); Operation * op : reversed(order))
      if ((op->kind() == OpKind::Quantize || op->kind() == OpKind::Dequantize) &&
          graph_->is_unused(op->output()))
        graph_->erase(op);
    return {};
  }
  static std::vector<Operation*> reversed(std::vector<Operation*> order) {
    return {order.rbegin(), order.rend()};
  }

  static bool is_real(const Tensor* tensor) {
    return tensor != nullptr && tensor->dtype() == DType::F32;
  }
  bool rounds(const Tensor* tensor, DType dtype) {
    return tensor->is_constant() || (known(tensor) && known(tensor)->dtype == dtype);
  }

  // Parameters pass through movement, and back from an activation to what it is fused into.
  void spread() {
    const std::vector<Operation*> order = graph_->topological();
    for (const Operation* op : order) {
      const OpRule rule = request_.target->describe(*op, Width::Narrow);
      // Training tools watch no means: they have the range of what they average.
      const bool mean = op->kind() == OpKind::ReduceMean || op->kind() == OpKind::GlobalAvgPool;
      if (!rule.integer || (rule.result != ResultRule::SameScale && !mean) ||
          op->input(0) == nullptr)
        continue;
      size_t operands = 0;
      for (size_t i = 0; i < op->inputs().size(); ++i)
        operands += op->input(i) != nullptr && rule.role(i) == OperandRole::Activation &&
                    !op->input(i)->is_constant();
      if (operands != 1 || !known(op->input(0))) continue;
      const PairParams moved = *known(op->input(0));
      for (const Tensor* output : op->outputs())
        if (is_real(output) && !known(output)) known(output) = moved;
    }
    for (const Operation* op : reversed(order)) {
      const bool activation = op->kind() == OpKind::Relu || op->kind() == OpKind::Clip;
      const OpRule rule = request_.target->describe(*op, Width::Narrow);
      const bool same = rule.integer && rule.result == ResultRule::SameScale &&
                        op->outputs().size() == 1 && op->inputs().size() <= 3 &&
                        op->kind() != OpKind::Concat;
      if (!(activation || same) || !known(op->output()) || op->input(0) == nullptr) continue;
      const Tensor* before = op->input(0);
      if (!is_real(before) || before->is_constant() || known(before) ||
          !graph_->has_single_use(before))
        continue;
      const PairParams params = *known(op->output());
      known(before) = params;
    }
  }

  void choose(const Operation& op) {
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
    const OpRule rule = request_.target->describe(op, width);
    bool complete = rule.integer;
    for (size_t i = 0; complete && i < op.inputs().size(); ++i)
      if (op.input(i) != nullptr && rule.role(i) == OperandRole::Activation)
        complete = rounds(op.input(i), dtype);
    if (complete && rule.result == ResultRule::Fixed) {
      prescribe(op, *rule.fixed, dtype);
    } else if (complete && rule.result != ResultRule::Plain) {
      for (const Tensor* output : op.outputs()) complete &= rounds(output, dtype);
    }
    if (!complete)
      options_.chosen[op.id()] = {Precision::Float, rule.integer ? kUnknown : rule.reason};
    else if (wide)
      options_.chosen[op.id()] = {Precision::Wide, {}};
  }
  // What the target prescribes stands; a requantisation to the model's parameters would only add
  // an error.
  void prescribe(const Operation& op, const QuantParams& params, DType dtype) {
    auto& given = known(op.output());
    if (given && given->params != params)
      report().methods.push_back(
          {"prescribed", true, 0, 0,
           fmt::format("'{}' has the target's scale {} instead of {}", op.output()->name(),
                       params.scales[0], given->params.scales[0])});
    given = PairParams{dtype, params};
  }

  Status analyse() {
    known_.resize(graph_->tensor_id_bound());
    spread();
    options_.integer_outputs = request_.io != IoType::Float;
    options_.keep_float = request_.keep_float;
    for (const Operation* op : graph_->topological()) choose(*op);
    plan_ = make_plan(*graph_, *request_.target, options_);
    count_operations(*graph_, plan_, report());
    warn_kept_in_float(report(), sink_);
    params_.resize(2 * graph_->tensor_id_bound());
    for (const Tensor* tensor : graph_->tensors())
      for (const Width width : {Width::Narrow, Width::Wide}) {
        const FormId form = form_id(tensor->id(), width);
        if (!plan_.quantized[form]) continue;
        if (known(tensor) && known(tensor)->dtype == activation_type(width)) {
          params_[form] = known(tensor)->params;
        } else if (tensor->is_constant()) {
          bool finite = true;
          params_[form] =
              params_of_range(range_of(tensor->values<float>(), finite), activation_type(width),
                              request_.target->is_symmetric(width));
        } else {
          return Error(Code::NoTrainedRanges,
                       fmt::format("the model gives no range for '{}'", tensor->name()))
              .hint("use --io-type float, or --quantize ptq");
        }
      }
    return {};
  }

  Status take_weights() {
    weights_ = round_weights(*graph_, plan_, params_);
    size_t own = 0;
    for (const Operation* op : graph_->topological()) {
      std::optional<IntegerWeights>& layer = weights_[op->id()];
      if (!layer) continue;
      bool taken = false;
      for (const std::string& name : op->location().nodes) {
        const auto found = request_.recorded.find(name);
        if (found == request_.recorded.end()) continue;
        taken = take(*op, found->second, *layer);
        if (taken) break;
      }
      own += !taken;
    }
    if (own > 0)
      report().methods.push_back(
          {"weights", true, 0, 0,
           fmt::format("{} layers have weights that the model does not quantise; rounded to their "
                       "own range",
                       own)});
    return {};
  }

  // True where the real weights are steps of these scales.
  bool take(const Operation& op, const QuantParams& recorded, IntegerWeights& layer) const {
    const Tensor* weights = op.input(layer.operand);
    const std::vector<int64_t> shape = weights->shape()->sizes();
    const int32_t axis = plan_.of(&op).rule.weights_axis;
    QuantParams params{recorded.scales, std::vector<int32_t>(recorded.scales.size(), 0), axis};
    if (params.scales.size() == 1 && axis >= 0) {
      // One scale for all channels is the same scale for each.
      params.scales.assign(num_channels(shape, axis), recorded.scales[0]);
      params.zero_points.assign(params.scales.size(), 0);
    }
    if (axis < 0 && params.scales.size() != 1) return false;
    if (params.scales.size() != num_channels(shape, axis)) return false;
    const auto values = weights->values<float>();
    std::vector<int8_t> integers(values.size());
    bool exact = true;
    for_each_channel_run(shape, axis, [&](size_t c, size_t at, size_t n) {
      const auto scale = static_cast<double>(params.scales[c]);
      for (size_t i = at; i < at + n; ++i) {
        const double steps = static_cast<double>(values[i]) / scale;
        const double nearest = round_half_away(steps);
        exact &= std::abs(steps - nearest) < 1e-3 && nearest >= -128 && nearest <= 127;
        integers[i] = static_cast<int8_t>(std::clamp(nearest, -128.0, 127.0));
      }
    });
    if (!exact) return false;
    layer.params = std::move(params);
    layer.values = std::move(integers);
    layer.widened = false;
    return true;
  }

  const QuantizeRequest& request_;
  DiagnosticSink& sink_;
  std::unique_ptr<Graph> graph_;
  std::vector<std::optional<PairParams>> known_;  // by tensor id
  PlanOptions options_;
  Plan plan_;
  FormParams params_;
  LayerWeights weights_;
  QuantizeResult result_;
  Steps steps_{kSteps, result_.report};
};

}  // namespace

std::span<const StepInfo> qat_steps() { return kSteps; }

Result<QuantizeResult> run_qat(const Graph& graph, const QuantizeRequest& request,
                               DiagnosticSink& sink) {
  return QatRun(graph, request, sink).run();
}

}  // namespace ec::quantize
