#include "frontend/keras/quantize.h"

#include <algorithm>
#include <cmath>

#include "frontend/keras/convolution.h"
#include "frontend/keras/importer.h"
#include "frontend/keras/table.h"

namespace ec::keras {
namespace {

// The argument by which a wrapper tells the layer inside it how its kernel is quantised.
constexpr std::string_view kKernelSteps = "__kernel_steps__";

std::string quantization_mode(const LayerCall& c) {
  const Value& policy = c.config("dtype");
  if (!policy.is_dict()) return {};
  const std::string& name = policy["class_name"].as_text();
  if (name.find("Quantized") == std::string::npos) return {};
  if (policy["config"]["mode"].is_text()) return policy["config"]["mode"].as_text();
  // Earlier versions wrote the name alone: "int8_from_float32".
  const std::string& text = policy["config"]["name"].as_text();
  return text.substr(0, text.find('_'));
}

// Rows quantised when the model runs: 127 / max |x| of each.
Tensor* quantized_rows(LayerCall& c, Tensor* x, const Ints& axes) {
  const Value& given = c.config("quantization_config");
  const Value& config = given["config"];
  if (given.is_dict() && config["activation_quantizer"].is_none()) return x;
  Tensor* largest = c.reduce(OpKind::ReduceMax, c.add(OpKind::Abs, {x}), axes, true);
  Tensor* scale = c.over(c.scalar(DType::F32, 127), c.plus(largest, 1e-7));
  Tensor* steps = c.clip(c.add(OpKind::Round, {c.times(x, scale)}), -127, 127);
  return c.over(steps, scale);
}

// Integers as they are stored, made real by a factor for each index of an axis (-1: none).
Tensor* real_of(LayerCall& c, Tensor* integers, const std::vector<float>& scales, int64_t axis) {
  DequantizeAttrs attrs;
  if (axis >= 0) attrs.axis = axis;
  const Shape shape = axis >= 0 ? Shape{Dim(static_cast<int64_t>(scales.size()))} : Shape{};
  return c.add(OpKind::Dequantize, {integers, c.floats(shape, scales)}, attrs);
}

std::vector<float> values_of(LayerCall& c, Tensor* x) {
  if (!c.ok() || !x->is_constant() || x->dtype() != DType::F32) {
    c.fail(Code::BadQuantParams, "parameters of quantisation are no float constants");
    return {1.0f};
  }
  const auto values = x->values<float>();
  return {values.begin(), values.end()};
}

std::vector<float> reciprocals(LayerCall& c, Tensor* x) {
  std::vector<float> values = values_of(c, x);
  for (float& v : values) {
    if (!(v > 0) || !std::isfinite(v)) c.fail(Code::BadQuantParams, "a scale is not positive");
    v = 1 / v;
  }
  return values;
}

Tensor* stored_integers(LayerCall& c, std::string_view name) {
  Tensor* stored = c.stored_weight(name);
  if (c.ok() && !is_integer(stored->dtype()))
    c.fail(Code::BadTensorData, "the weights of a quantised layer are no integers");
  return stored;
}

// Two numbers in a byte along the last axis, the low half first; `count` of them.
std::vector<float> unpacked(LayerCall& c, Tensor* packed, int64_t count, Ints& shape) {
  if (!c.ok() || !packed->is_constant() || element_size(packed->dtype()) != 1 ||
      c.rank(packed) < 1) {
    c.fail(Code::BadTensorData, "packed weights have an odd form");
    return {};
  }
  shape = packed->shape()->sizes();
  const int64_t bytes = shape.back();
  if (count < 1 || (count + 1) / 2 != bytes) {
    c.fail(Code::BadTensorData, "packed weights have an odd size");
    return {};
  }
  const auto data = packed->values<int8_t>();
  std::vector<float> all;
  for (size_t row = 0; row * static_cast<size_t>(bytes) < data.size(); ++row)
    for (int64_t i = 0; i < count; ++i) {
      const auto byte =
          static_cast<uint8_t>(data[row * static_cast<size_t>(bytes) + static_cast<size_t>(i / 2)]);
      const int half = i % 2 == 0 ? byte & 15 : byte >> 4;
      all.push_back(static_cast<float>(half >= 8 ? half - 16 : half));
    }
  shape.back() = count;
  return all;
}

// The kernel [in, out] of an int4 layer; sets whether its rows have groups of their own.
Tensor* int4_matrix(LayerCall& c, std::string_view name, int64_t columns, bool& grouped) {
  Ints shape;
  const std::string base(name);
  std::vector<float> q = unpacked(c, c.stored_weight(name), columns, shape);
  if (!c.ok()) return c.x();
  grouped = c.has_weight(base + "_zero");
  const std::vector<float> scale = values_of(c, c.weight(base + "_scale"));
  const auto width = static_cast<size_t>(columns);
  const size_t rows = q.size() / width;
  if (!grouped) {
    if (scale.size() != width) return c.fail(Code::BadQuantParams, "scales do not fit the kernel");
    for (size_t i = 0; i < q.size(); ++i) q[i] /= scale[i % width];
    return c.floats(Shape::of(shape), q);
  }
  const std::vector<float> zero = values_of(c, c.weight(base + "_zero"));
  const std::vector<float> group = values_of(c, c.weight("g_idx"));
  if (scale.size() != zero.size() || scale.size() % width != 0 || group.size() != rows)
    return c.fail(Code::BadQuantParams, "scales do not fit the kernel");
  for (size_t r = 0; r < rows; ++r) {
    if (!(group[r] < static_cast<float>(scale.size() / width)))
      return c.fail(Code::BadQuantParams, "a group does not exist");
    const auto g = static_cast<size_t>(std::max(0.0f, group[r]));
    for (size_t i = 0; i < width; ++i)
      q[r * width + i] = (q[r * width + i] - zero[g * width + i]) * scale[g * width + i];
  }
  return c.floats(Shape::of(shape), q);
}

Names quantized_names(std::string_view kernel, bool bias, const std::string& mode) {
  const std::string base(kernel);
  Names names = {base};
  if (bias) names.emplace_back("bias");
  names.push_back(base + "_scale");
  if (mode == "int4") names.insert(names.end(), {base + "_zero", "g_idx"});
  return names;
}

bool check_mode(LayerCall& c, const std::string& mode) {
  if (c.has("lora_rank")) {
    c.unsupported("a quantised layer with LoRA");
    return false;
  }
  if (mode == "int8" || mode == "int4") return true;
  c.unsupported("quantisation '" + mode + "'");
  return false;
}

// --- training with tfmot ------------------------------------------------------------------------

struct Steps {
  float scale = 1;
  int zero = 0;  // of 0 ... 255
};

// The range moved so that zero is a step, as TensorFlow's FakeQuantWithMinMaxVars does.
Steps nudged(float low, float high, bool narrow) {
  const float first = narrow ? 1.0f : 0.0f, last = 255.0f;
  Steps steps;
  steps.scale = (high - low) / (last - first);
  const float zero = first - low / steps.scale;
  steps.zero = static_cast<int>(std::lround(std::clamp(zero, first, last)));
  return steps;
}

// x through the steps of these ranges: quantize and dequantize with the trained parameters.
Tensor* through_steps(LayerCall& c, Tensor* x, const std::vector<float>& low,
                      const std::vector<float>& high, bool narrow, int64_t axis) {
  if (low.empty() || low.size() != high.size())
    return c.fail(Code::BadQuantParams, "ranges of quantisation do not fit together");
  std::vector<float> scales;
  std::vector<int8_t> zeros;
  for (size_t i = 0; i < low.size(); ++i) {
    const Steps steps = nudged(low[i], high[i], narrow);
    if (!(steps.scale > 0) || !std::isfinite(steps.scale))
      return c.fail(Code::BadQuantParams, "a range of quantisation is empty");
    scales.push_back(steps.scale);
    zeros.push_back(static_cast<int8_t>(steps.zero - 128));
  }
  const bool whole = scales.size() == 1;
  if (!whole && (axis < 0 || c.size(x, axis) != static_cast<int64_t>(scales.size())))
    return c.fail(Code::BadQuantParams, "ranges of quantisation do not fit the tensor");
  // The lowest step is not used: only a range that is not symmetric could reach it.
  if (narrow && whole && zeros.front() != 0)
    x = c.clip(x, static_cast<double>(scales[0]) * (-127 - zeros[0]), std::nullopt);
  const Shape shape = whole ? Shape{} : Shape{Dim(static_cast<int64_t>(scales.size()))};
  Tensor* scale = c.floats(shape, scales);
  Tensor* zero = c.graph().add_constant<int8_t>("", shape, std::span<const int8_t>(zeros));
  QuantizeAttrs quantize;
  quantize.dtype = DType::I8;
  DequantizeAttrs dequantize;
  if (!whole) quantize.axis = dequantize.axis = axis;
  // Not folded: the steps belong to the model.
  const auto add = [&](OpKind kind, Tensors inputs, Attrs attrs) {
    auto y = c.graph().add_single(kind, std::move(inputs), std::move(attrs), c.location());
    return y.ok() ? *y : (c.remember(std::move(y).error()), x);
  };
  if (!c.ok()) return x;
  Tensor* q = add(OpKind::Quantize, {x, scale, zero}, quantize);
  return add(OpKind::Dequantize, {q, scale, zero}, dequantize);
}

bool is_full_byte(LayerCall& c, const Value& quantizer) {
  if (!quantizer.is_dict() || !quantizer["config"].has("num_bits")) return true;
  if (quantizer["config"]["num_bits"].as_int(8) == 8) return true;
  c.unsupported("quantisation-aware training with other than 8 bits");
  return false;
}

// The input of a model, or a place between layers.
Value quantize_layer(LayerCall& c) {
  Tensor* x = c.float_x();
  if (c.config("quantizer").is_none()) return x;
  if (!is_full_byte(c, c.config("quantizer"))) return x;
  const std::string& name = c.layer().name;
  c.variables({name + "_min|quantize_layer_min", name + "_max|quantize_layer_max"});
  return through_steps(c, x, values_of(c, c.weight(name + "_min")),
                       values_of(c, c.weight(name + "_max")),
                       c.config("quantizer")["config"]["narrow_range"].as_bool(), -1);
}

// The ranges that stand beside the layer under a name, if there are any.
std::optional<std::pair<std::vector<float>, std::vector<float>>> ranges(LayerCall& c,
                                                                        const std::string& name) {
  c.variables(c.weights(), {name + "_min", name + "_max"}, false);
  if (!c.has_weight(name + "_min") || !c.has_weight(name + "_max")) return std::nullopt;
  return std::pair(values_of(c, c.weight(name + "_min")), values_of(c, c.weight(name + "_max")));
}

Value quantize_wrapper(LayerCall& c) {
  LayerConfig inner = read_layer(c.config("layer"));
  if (c.weights().is_archive())
    return c.unsupported("quantisation-aware layers in a .keras file; save the model as .h5");
  auto weights = c.weights().child("layer", inner.name);
  if (!weights.ok()) return c.remember(std::move(weights).error()), Value::failed();
  // The layer is told by its wrapper's name without the prefix, as in the model before training.
  Value kwargs = c.kwargs();
  for (const char* kernel : {"kernel", "depthwise_kernel"})
    if (const auto range = ranges(c, kernel)) {
      std::vector<Value> lists;
      for (const auto& list : {range->first, range->second}) {
        std::vector<Value> numbers;
        for (const float n : list) numbers.push_back(Value::number(static_cast<double>(n)));
        lists.push_back(Value::list(std::move(numbers)));
      }
      kwargs.set(std::string(kKernelSteps), Value::list(std::move(lists)));
    }
  // The activation is done here: ranges may stand before and after it.
  const Value spec = inner.config["activation"];
  const auto before = ranges(c, "pre_activation"), after = ranges(c, "post_activation");
  const bool split =
      spec.is_dict() && spec["class_name"].is("QuantizeAwareActivation") && (before || after);
  if (split) {
    Value config = Value::dict();
    for (size_t i = 0; i < inner.config.keys().size(); ++i)
      if (inner.config.keys()[i] != "activation")
        config.set(inner.config.keys()[i], inner.config.items()[i]);
    inner.config = config;
  }
  Value result = c.call(inner, *weights, c.args(), kwargs);
  if (!result.is_tensor()) return result;
  Tensor* y = result.as_tensor();
  if (before) y = through_steps(c, y, before->first, before->second, false, -1);
  if (split) y = activation(c, spec, y);
  if (after) y = through_steps(c, y, after->first, after->second, false, -1);
  if (const auto range = ranges(c, "output"))
    y = through_steps(c, y, range->first, range->second, false, -1);
  return Value::tensor(y, result.mask());
}

// Wrappers of training that leave nothing to do.
Value training_wrapper(LayerCall& c) {
  const LayerConfig inner = read_layer(c.config("layer"));
  auto weights = c.weights().child("layer", inner.name);
  if (!weights.ok()) return c.remember(std::move(weights).error()), Value::failed();
  return c.call(inner, *weights, c.args(), c.kwargs());
}

constexpr LayerRow kRows[] = {
    {"QuantizeLayer", quantize_layer, MaskRule::Pass},
    {"QuantizeWrapper", quantize_wrapper, MaskRule::Pass},
    {"QuantizeWrapperV2", quantize_wrapper, MaskRule::Pass},
    {"QuantizeAnnotate", training_wrapper, MaskRule::Own},
    {"PruneLowMagnitude", training_wrapper, MaskRule::Own},
    {"ClusterWeights", training_wrapper, MaskRule::Own},
};

}  // namespace

bool is_quantized_layer(const LayerCall& c) { return !quantization_mode(c).empty(); }

Tensor* layer_kernel(LayerCall& c, std::string_view name) { return c.weight(name); }

Tensor* trained_steps(LayerCall& c, Tensor* kernel, int64_t axis) {
  const Value& steps = c.kwargs()[kKernelSteps];
  if (!steps.is_list() || steps.items().size() != 2 || !c.ok()) return kernel;
  std::vector<float> low, high;
  for (const Value& n : steps.items()[0].items()) low.push_back(static_cast<float>(n.as_number()));
  for (const Value& n : steps.items()[1].items()) high.push_back(static_cast<float>(n.as_number()));
  return through_steps(c, kernel, low, high, true, axis);
}

Tensor* quantized_dense(LayerCall& c, Tensor* x) {
  const std::string mode = quantization_mode(c);
  const bool bias = c.flag("use_bias", true);
  if (!check_mode(c, mode)) return x;
  c.variables(quantized_names("kernel", bias, mode));
  Tensor* y = nullptr;
  if (mode == "int8") {
    Tensor* kernel = stored_integers(c, "kernel");
    Tensor* real = real_of(c, kernel, reciprocals(c, c.weight("kernel_scale")), 1);
    y = c.matmul(quantized_rows(c, x, {c.rank(x) - 1}), real);
  } else {
    bool grouped = false;
    Tensor* kernel = int4_matrix(c, "kernel", c.integer("units"), grouped);
    y = c.matmul(grouped ? x : quantized_rows(c, x, {c.rank(x) - 1}), kernel);
  }
  return bias ? c.plus(y, c.weight("bias")) : y;
}

Tensor* quantized_einsum_dense(LayerCall& c, Tensor* x, const std::string& equation, bool bias) {
  const std::string mode = quantization_mode(c);
  if (!check_mode(c, mode)) return x;
  if (mode != "int8") return c.unsupported("an EinsumDense of 4 bits");
  c.variables(quantized_names("kernel", bias, mode));
  // Rows are quantised along the axes that the product sums over.
  const size_t comma = equation.find(','), arrow = equation.find("->");
  if (comma == std::string::npos || arrow == std::string::npos || arrow < comma)
    return c.fail(Code::BadAttribute, "the equation '" + equation + "' is not valid");
  std::string labels = equation.substr(0, comma);
  const std::string results = equation.substr(arrow + 2);
  const size_t dots = labels.find("...");
  const int64_t rank = c.rank(x);
  Ints axes;
  for (size_t i = 0; i < labels.size(); ++i) {
    if (labels[i] == '.' || results.find(labels[i]) != std::string::npos) continue;
    const bool behind = dots != std::string::npos && i > dots;
    axes.push_back(behind ? rank - static_cast<int64_t>(labels.size() - i)
                          : static_cast<int64_t>(i));
  }
  Tensor* kernel = real_of(c, stored_integers(c, "kernel"), {1.0f}, -1);
  EinsumAttrs attrs;
  attrs.equation = equation;
  Tensor* y = c.add(OpKind::Einsum, {quantized_rows(c, x, c.axes(axes, rank)), kernel}, attrs);
  y = c.over(y, c.weight("kernel_scale"));
  return bias ? c.plus(y, c.weight("bias")) : y;
}

Tensor* quantized_embedding(LayerCall& c, Tensor* ids) {
  const std::string mode = quantization_mode(c);
  if (!check_mode(c, mode)) return ids;
  c.variables(quantized_names("embeddings", false, mode));
  if (mode == "int8") {
    Tensor* rows = c.gather(stored_integers(c, "embeddings"), ids, 0);
    Tensor* scale = c.gather(c.weight("embeddings_scale"), ids, 0);
    return c.over(c.cast(rows, DType::F32), c.unsqueeze(scale, {c.rank(ids)}));
  }
  return c.unsupported("an Embedding of 4 bits");
}

const std::span<const LayerRow> kQuantizeRows = kRows;

}  // namespace ec::keras
