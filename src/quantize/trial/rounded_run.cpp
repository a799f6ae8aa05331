#include "quantize/trial/rounded_run.h"

#include <algorithm>
#include <cstring>

#include "ir/copier.h"
#include "ops/attrs.h"
#include "ops/op_def.h"
#include "support/rounding.h"

namespace ec::quantize {

// One operation with constant weights as a graph of its own.
struct RoundedRunner::Layer {
  IntegerWeights weights;  // what it was made for: other weights may come to lie at their address
  Graph graph;
  std::unique_ptr<Executor> executor;
};

namespace {

std::vector<TensorType> input_types(const Graph& graph) {
  std::vector<TensorType> types;
  for (const Tensor* input : graph.inputs()) types.emplace_back(input->dtype(), *input->shape());
  return types;
}

Value copy_of(const MutableView& value) {
  return Value(value.dtype, {value.shape.begin(), value.shape.end()},
               Blob::copy_of(std::span<const std::byte>(value.data, value.bytes())));
}

// The form of a constant operand that is an activation; empty for weights, biases and others.
std::optional<FormId> constant_form(const Operation& op, size_t operand, const Plan& plan) {
  const Tensor* tensor = op.input(operand);
  const OpPlan& entry = plan.of(&op);
  if (tensor == nullptr || !tensor->is_constant() || tensor->dtype() != DType::F32 ||
      !entry.integer || entry.rule.role(operand) != OperandRole::Activation)
    return std::nullopt;
  return form_id(tensor->id(), entry.width);
}

}  // namespace

std::vector<JudgedTensor> judged_outputs(const Graph& graph) {
  std::vector<JudgedTensor> judged;
  for (const Tensor* output : graph.outputs()) {
    const Operation* op = output->producer();
    while (op != nullptr && op->kind() == OpKind::Reshape) op = op->input(0)->producer();
    if (op == nullptr || op->kind() != OpKind::Softmax || !op->input(0)->shape()) {
      judged.push_back({output, std::nullopt});
      continue;
    }
    const int64_t axis = op->attrs_as<AxisAttrs>().axis;
    const auto rank = static_cast<int64_t>(op->input(0)->shape()->rank());
    judged.push_back({op->input(0), static_cast<size_t>(axis < 0 ? axis + rank : axis)});
  }
  return judged;
}

void round_to_steps(std::span<float> values, const QuantParams& params, DType dtype) {
  if (params.per_channel()) {
    // Channels are the last dimension.
    const size_t channels = params.scales.size();
    std::vector<float> channel(values.size() / channels);
    for (size_t c = 0; c < channels; ++c) {
      for (size_t i = 0; i < channel.size(); ++i) channel[i] = values[i * channels + c];
      round_to_steps(channel, {{params.scales[c]}, {params.zero_points[c]}, -1}, dtype);
      for (size_t i = 0; i < channel.size(); ++i) values[i * channels + c] = channel[i];
    }
    return;
  }
  const float scale = params.scales[0], inverse = 1.0f / scale;
  const auto zero = static_cast<float>(params.zero_points[0]);
  const float low = static_cast<float>(lowest_integer(dtype)) - zero;
  const float high = static_cast<float>(highest_integer(dtype)) - zero;
  // Within 2^22 adding and subtracting this rounds to the nearest, ties to even.
  constexpr float kRounder = 0x1.8p23f;
  const auto rounded = [&](float value) {
    return scale * ((std::clamp(value * inverse, low, high) + kRounder) - kRounder);
  };
  // In blocks of a fixed size, which compilers turn into vector instructions.
  constexpr size_t kBlock = 8;
  size_t i = 0;
  for (; i + kBlock <= values.size(); i += kBlock)
    for (size_t k = 0; k < kBlock; ++k) values[i + k] = rounded(values[i + k]);
  for (; i < values.size(); ++i) values[i] = rounded(values[i]);
}

Rounding round_all(const Graph& graph, const Plan& plan, const FormParams& params,
                   const LayerWeights& weights) {
  Rounding rounding;
  rounding.forms.resize(params.size());
  rounding.weights.resize(graph.operation_id_bound(), nullptr);
  for (const Tensor* tensor : graph.tensors()) {
    const FormId form = plan.stored_form(tensor);
    // In front of a fused activation nothing is rounded.
    if (plan.observed[tensor->id()]) rounding.forms[form] = params[form];
  }
  for (const Operation* op : graph.topological()) {
    if (weights[op->id()]) rounding.weights[op->id()] = &*weights[op->id()];
    for (size_t k = 0; k < op->inputs().size(); ++k)
      if (const auto form = constant_form(*op, k, plan)) rounding.forms[*form] = params[*form];
  }
  return rounding;
}

std::shared_ptr<const RoundedGraph> RoundedGraph::create(const Graph& graph, const Plan& plan,
                                                         const Rounding& rounding) {
  auto made = std::make_shared<RoundedGraph>();
  made->graph = graph.clone();
  made->original.resize(made->graph->tensor_id_bound(), nullptr);
  made->weights.resize(rounding.weights.size());
  const std::vector<Operation*> copies = made->graph->topological();
  const auto originals = graph.topological();
  for (size_t i = 0; i < copies.size(); ++i) {
    const Operation* op = originals[i];
    for (size_t k = 0; k < op->outputs().size(); ++k)
      made->original[copies[i]->outputs()[k]->id()] = op->outputs()[k];
    for (size_t k = 0; k < op->inputs().size(); ++k) {
      const auto form = constant_form(*op, k, plan);
      if (!form || !rounding.forms[*form]) continue;
      made->constants[*form] = *rounding.forms[*form];
      const Tensor* operand = op->input(k);
      std::vector<float> reals(operand->values<float>().begin(), operand->values<float>().end());
      round_to_steps(reals, *rounding.forms[*form], activation_type(width_of(*form)));
      made->graph->set_operand(copies[i], k,
                               made->graph->add_constant<float>(operand->name(), *operand->shape(),
                                                                std::span<const float>(reals)));
    }
    const IntegerWeights* weights = rounding.weights[op->id()];
    if (weights == nullptr) continue;
    made->weights[op->id()] = *weights;
    for (size_t k = 0; k < op->inputs().size(); ++k) {
      const Tensor* operand = op->input(k);
      const bool bias = plan.of(op).rule.role(k) == OperandRole::Bias;
      if (operand == nullptr || (k != weights->operand && !bias)) continue;
      const std::vector<float> reals = bias ? weights->bias : real_weights(*weights, *operand);
      made->graph->set_operand(copies[i], k,
                               made->graph->add_constant<float>(operand->name(), *operand->shape(),
                                                                std::span<const float>(reals)));
    }
  }
  return made;
}

bool RoundedGraph::serves(const Rounding& rounding) const {
  for (const auto& [form, params] : constants)
    if (!rounding.forms[form] || *rounding.forms[form] != params) return false;
  for (size_t id = 0; id < weights.size(); ++id)
    if (rounding.weights[id] == nullptr ? weights[id].has_value()
                                        : !weights[id] || *weights[id] != *rounding.weights[id])
      return false;
  return true;
}

RoundedRunner::RoundedRunner(const Graph& graph, const Plan& plan, std::vector<JudgedTensor> judged,
                             std::shared_ptr<kernels::ThreadPool> pool)
    : graph_(graph),
      plan_(plan),
      pool_(std::move(pool)),
      judged_(std::move(judged)),
      seen_(judged_.size()),
      layer_inputs_(graph.tensor_id_bound()) {}
RoundedRunner::~RoundedRunner() = default;

Result<std::unique_ptr<RoundedRunner>> RoundedRunner::create(
    const Graph& graph, const Plan& plan, std::vector<JudgedTensor> judged,
    std::shared_ptr<kernels::ThreadPool> pool) {
  std::unique_ptr<RoundedRunner> runner(
      new RoundedRunner(graph, plan, std::move(judged), std::move(pool)));
  ExecutorOptions options;
  options.editor = [owner = runner.get()](const Tensor& tensor, const MutableView& value) {
    if (owner->rounding_ != nullptr && owner->failure_.ok())
      owner->failure_ = owner->edit(tensor, value);
    owner->look_at(tensor, value);
  };
  EC_TRY(runner->exact_,
         Executor::create(graph, input_types(graph), std::move(options), runner->pool_));
  runner->active_ = runner->exact_.get();
  return runner;
}

Status RoundedRunner::use(std::shared_ptr<const RoundedGraph> rounded) {
  active_ = exact_.get();
  if (rounded == nullptr) return {};
  active_ = rounded_.get();
  if (rounded_graph_ == rounded) return {};
  rounded_.reset();
  rounded_graph_ = std::move(rounded);
  ExecutorOptions options;
  options.editor = [this](const Tensor& tensor, const MutableView& value) {
    const auto& original = rounded_graph_->original;
    const Tensor* of = tensor.id() < original.size() ? original[tensor.id()] : nullptr;
    if (of == nullptr) return;
    round(*of, value);
    look_at(*of, value);
  };
  const Graph& graph = *rounded_graph_->graph;
  EC_TRY(rounded_, Executor::create(graph, input_types(graph), std::move(options), pool_));
  active_ = rounded_.get();
  return {};
}

void RoundedRunner::round(const Tensor& tensor, const MutableView& value) const {
  if (value.dtype != DType::F32) return;
  const FormId form = plan_.stored_form(&tensor);
  if (rounding_->forms[form])
    round_to_steps(value.as<float>(), *rounding_->forms[form], activation_type(width_of(form)));
}

Status RoundedRunner::edit(const Tensor& tensor, const MutableView& value) {
  if (value.dtype != DType::F32) return {};
  const Operation* op = tensor.producer();
  if (op != nullptr && rounding_->weights[op->id()] != nullptr)
    EC_CHECK_OK(apply_weights(*op, *rounding_->weights[op->id()], value));
  round(tensor, value);
  // Kept for the layers that read it: their own weights are applied to it.
  for (const Use& use : tensor.uses())
    if (use.index == 0 && rounding_->weights[use.op->id()] != nullptr) {
      layer_inputs_[tensor.id()] = copy_of(value);
      break;
    }
  return {};
}

Result<std::unique_ptr<RoundedRunner::Layer>> RoundedRunner::make_layer(
    const Operation& op, const IntegerWeights& weights) {
  auto layer = std::make_unique<Layer>();
  layer->weights = weights;
  std::vector<Tensor*> operands;
  for (size_t i = 0; i < op.inputs().size(); ++i) {
    const Tensor* operand = op.input(i);
    if (operand == nullptr) {
      operands.push_back(nullptr);
    } else if (i == weights.operand) {
      const std::vector<float> reals = real_weights(weights, *operand);
      operands.push_back(layer->graph.add_constant<float>(operand->name(), *operand->shape(),
                                                          std::span<const float>(reals)));
    } else if (plan_.of(&op).rule.role(i) == OperandRole::Bias) {
      operands.push_back(layer->graph.add_constant<float>(operand->name(), *operand->shape(),
                                                          std::span<const float>(weights.bias)));
    } else if (operand->is_constant()) {
      operands.push_back(
          layer->graph.add_constant(operand->name(), operand->type(), operand->raw_data()));
    } else {
      operands.push_back(layer->graph.add_input(operand->name(), operand->type()));
    }
  }
  EC_TRY(const Operation* made,
         copy_operation(layer->graph, op, std::move(operands), {op.output()->type()}));
  layer->graph.add_output("out", made->output());
  EC_TRY(layer->executor, Executor::create(layer->graph, input_types(layer->graph), {}, pool_));
  return layer;
}

Status RoundedRunner::apply_weights(const Operation& op, const IntegerWeights& weights,
                                    const MutableView& value) {
  std::unique_ptr<Layer>& layer = layers_[&weights];
  if (layer == nullptr || layer->weights != weights) {
    EC_TRY(layer, make_layer(op, weights));
  }
  const ConstView view = layer_inputs_[op.input(0)->id()].view();
  EC_TRY(const std::vector<Value> outputs, layer->executor->run(std::span(&view, 1)));
  std::memcpy(value.data, outputs[0].data.bytes().data(), value.bytes());
  return {};
}

void RoundedRunner::look_at(const Tensor& tensor, const MutableView& value) {
  for (size_t i = 0; i < judged_.size(); ++i)
    if (judged_[i].tensor == &tensor && judged_[i].softmax_axis) seen_[i] = copy_of(value);
}

Result<std::vector<Value>> RoundedRunner::run_on(Executor& executor,
                                                 const std::vector<Value>& sample) {
  std::vector<ConstView> views;
  for (const Value& value : sample) views.push_back(value.view());
  EC_TRY(std::vector<Value> outputs, executor.run(views));
  for (size_t i = 0; i < outputs.size(); ++i)
    if (judged_[i].softmax_axis && !seen_[i].data.empty()) outputs[i] = std::move(seen_[i]);
  return outputs;
}

Result<std::vector<Value>> RoundedRunner::run_exact(const std::vector<Value>& sample) {
  rounding_ = nullptr;
  return run_on(*exact_, sample);
}

Result<std::vector<Value>> RoundedRunner::run(const std::vector<Value>& sample,
                                              const Rounding& rounding) {
  rounding_ = &rounding;
  failure_ = Status{};
  std::vector<Value> rounded;
  for (size_t i = 0; i < graph_.inputs().size(); ++i) {
    const Tensor* input = graph_.inputs()[i];
    const Value& given = sample[i];
    const ConstView view = given.view();
    if (view.dtype != DType::F32) {
      rounded.push_back(given);
      continue;
    }
    std::vector<float> values(view.as<float>().begin(), view.as<float>().end());
    EC_CHECK_OK(edit(
        *input, {DType::F32, view.shape, reinterpret_cast<std::byte*>(values.data()), nullptr}));
    rounded.push_back(Value::of<float>(given.shape, std::span<const float>(values)));
  }
  Result<std::vector<Value>> outputs = run_on(*active_, rounded);
  rounding_ = nullptr;
  if (!failure_.ok()) return std::move(failure_).error();
  return outputs;
}

}  // namespace ec::quantize
