#include "quantize/trial.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "ops/op_def.h"
#include "support/rounding.h"

namespace ec::quantize {

// One operation with constant weights as a graph of its own.
struct Trial::Layer {
  Graph graph;
  std::unique_ptr<Executor> executor;
};

namespace {

std::vector<TensorType> input_types(const Graph& graph) {
  std::vector<TensorType> types;
  for (const Tensor* input : graph.inputs()) types.emplace_back(input->dtype(), *input->shape());
  return types;
}

}  // namespace

void round_to_steps(std::span<float> values, const QuantParams& params, DType dtype) {
  const float scale = params.scales[0], inverse = 1.0f / scale;
  const auto zero = static_cast<float>(params.zero_points[0]);
  const float low = static_cast<float>(lowest_integer(dtype)) - zero;
  const float high = static_cast<float>(highest_integer(dtype)) - zero;
  for (float& value : values)
    value = scale * std::clamp(round_half_even(value * inverse), low, high);
}

double work_of_run(const Graph& graph) {
  // An element that is only moved or rounded costs about as much as this many products.
  constexpr double kElement = 8;
  double work = 0;
  for (const Operation* op : graph.topological()) {
    double elements = 0;
    for (const Tensor* output : op->outputs())
      elements += static_cast<double>(output->type().num_elements().value_or(0));
    work += kElement * elements;
    const bool convolution = op->kind() == OpKind::Conv;
    if (!convolution && op->kind() != OpKind::Gemm && op->kind() != OpKind::MatMul) continue;
    const Tensor* weights = op->input(1);
    if (weights == nullptr || !weights->type().is_static() || weights->shape()->rank() < 2)
      continue;
    // Products for one element of the result.
    const std::vector<int64_t> shape = weights->shape()->sizes();
    const auto all = static_cast<double>(weights->type().num_elements().value_or(0));
    const auto results = static_cast<double>(convolution ? shape[0] : shape[shape.size() - 2]);
    if (results > 0) work += elements * all / results;
  }
  return work;
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
  for (const Operation* op : graph.topological())
    if (weights[op->id()]) rounding.weights[op->id()] = &*weights[op->id()];
  return rounding;
}

double OutputError::sqnr_db() const {
  constexpr double kBest = 120;
  if (noise <= 0) return kBest;
  return signal <= 0 ? 0 : std::min(kBest, 10 * std::log10(signal / noise));
}

Trial::Trial(const Graph& graph, const Plan& plan, int threads)
    : graph_(graph), plan_(plan), pool_(std::make_shared<kernels::ThreadPool>(threads)) {}
Trial::~Trial() = default;

Result<std::unique_ptr<Trial>> Trial::create(const Graph& graph, const Plan& plan, int threads) {
  std::unique_ptr<Trial> trial(new Trial(graph, plan, threads));
  ExecutorOptions options;
  options.editor = [owner = trial.get()](const Tensor& tensor, const MutableView& value) {
    if (owner->rounding_ != nullptr && owner->failure_.ok())
      owner->failure_ = owner->edit(tensor, value);
  };
  EC_TRY(trial->executor_,
         Executor::create(graph, input_types(graph), std::move(options), trial->pool_));
  trial->layer_inputs_.resize(graph.tensor_id_bound());
  return trial;
}

Status Trial::add_sample(std::vector<Value> sample) {
  rounding_ = nullptr;
  std::vector<ConstView> views;
  for (const Value& value : sample) views.push_back(value.view());
  EC_TRY(std::vector<Value> outputs, executor_->run(views));
  samples_.push_back(std::move(sample));
  expected_.push_back(std::move(outputs));
  return {};
}

void Trial::keep_samples(size_t count) {
  if (count >= samples_.size()) return;
  samples_.resize(count);
  expected_.resize(count);
}

Status Trial::edit(const Tensor& tensor, const MutableView& value) {
  if (value.dtype != DType::F32) return {};
  const Operation* op = tensor.producer();
  if (op != nullptr && rounding_->weights[op->id()] != nullptr)
    EC_CHECK_OK(apply_weights(*op, *rounding_->weights[op->id()], value));
  const FormId form = plan_.stored_form(&tensor);
  if (rounding_->forms[form])
    round_to_steps(value.as<float>(), *rounding_->forms[form], activation_type(width_of(form)));
  // Kept for the layers that read it: their own weights are applied to it.
  for (const Use& use : tensor.uses())
    if (use.index == 0 && rounding_->weights[use.op->id()] != nullptr) {
      layer_inputs_[tensor.id()] = Value::of<float>({value.shape.begin(), value.shape.end()},
                                                    std::span<const float>(value.as<float>()));
      break;
    }
  return {};
}

Status Trial::apply_weights(const Operation& op, const IntegerWeights& weights,
                            const MutableView& value) {
  std::unique_ptr<Layer>& layer = layers_[&weights];
  const Tensor* input = op.input(0);
  if (layer == nullptr) {
    layer = std::make_unique<Layer>();
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
    OpSpec spec;
    spec.attrs = op.attrs();
    spec.location = op.location();
    EC_TRY(const Operation* made, layer->graph.add_typed(op.kind(), std::move(operands),
                                                         std::move(spec), {op.output()->type()}));
    layer->graph.add_output("out", made->output());
    EC_TRY(layer->executor, Executor::create(layer->graph, input_types(layer->graph), {}, pool_));
  }
  const ConstView view = layer_inputs_[input->id()].view();
  EC_TRY(const std::vector<Value> outputs, layer->executor->run(std::span(&view, 1)));
  std::memcpy(value.data, outputs[0].data.bytes().data(), value.bytes());
  return {};
}

Result<std::vector<Value>> Trial::run(size_t sample, const Rounding& rounding) {
  rounding_ = &rounding;
  failure_ = Status{};
  std::vector<Value> rounded;
  for (size_t i = 0; i < graph_.inputs().size(); ++i) {
    const Tensor* input = graph_.inputs()[i];
    const Value& given = samples_[sample][i];
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
  std::vector<ConstView> views;
  for (const Value& value : rounded) views.push_back(value.view());
  Result<std::vector<Value>> outputs = executor_->run(views);
  rounding_ = nullptr;
  if (!failure_.ok()) return std::move(failure_).error();
  return outputs;
}

Result<OutputError> Trial::measure(const Rounding& rounding) {
  std::vector<OutputError> errors(graph_.outputs().size());
  for (size_t s = 0; s < samples_.size(); ++s) {
    EC_TRY(const std::vector<Value> got, run(s, rounding));
    for (size_t i = 0; i < got.size(); ++i) {
      if (got[i].dtype != DType::F32 || got[i].shape != expected_[s][i].shape) continue;
      const auto a = expected_[s][i].as<float>(), b = got[i].as<float>();
      for (size_t k = 0; k < a.size(); ++k) {
        const double difference = static_cast<double>(a[k]) - static_cast<double>(b[k]);
        errors[i].noise += difference * difference;
        errors[i].signal += static_cast<double>(a[k]) * static_cast<double>(a[k]);
      }
    }
  }
  OutputError total;
  for (const OutputError& error : errors) {
    if (error.signal <= 0) continue;
    total.noise += error.noise / error.signal;
    total.signal += 1;
  }
  return total;
}

}  // namespace ec::quantize
