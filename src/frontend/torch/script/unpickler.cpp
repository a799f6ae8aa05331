#include "frontend/torch/script/unpickler.h"

#include <fmt/format.h>

#include <cstring>

#include "frontend/torch/functional/functionalizer.h"
#include "support/strings.h"

namespace ec::torch::script {
namespace {

constexpr int kMaxDepth = 200;

Error corrupt(std::string what) {
  return Error(Code::CorruptFile, std::move(what))
      .hint("the archive is damaged: save the model again");
}

}  // namespace

Unpickler::Unpickler(const Archive& archive, const Pickle& pickle, std::string folder,
                     Library& library, ec::Graph& graph, Hooks hooks)
    : pickle_(pickle),
      library_(library),
      graph_(graph),
      hooks_(std::move(hooks)),
      reader_(archive, pickle, std::move(folder)),
      states_(pickle.size(), State::New),
      values_(pickle.size()) {}

Result<TorchValue> Unpickler::value(PickleRef ref, const std::string& name) {
  if (states_[ref] == State::Done) return values_[ref];
  if (states_[ref] == State::Started) return corrupt("an object of the archive contains itself");
  if (depth_ >= kMaxDepth) return Error(Code::TooDeep, "objects of the archive nest too deep");
  states_[ref] = State::Started;
  ++depth_;
  Result<TorchValue> made = make(ref, name);
  --depth_;
  if (!made.ok()) {
    states_[ref] = State::New;
    return std::move(made).error();
  }
  states_[ref] = State::Done;
  values_[ref] = *made;
  return made;
}

std::vector<std::string> Unpickler::written() const {
  std::vector<std::string> names;
  for (const TorchValue& value : values_)
    if (const auto* tensor = value.get_if<TensorRef>();
        tensor != nullptr && tensor->alias->version > 0)
      names.push_back(tensor->tensor->name());
  return names;
}

Result<TorchValue> Unpickler::make(PickleRef ref, const std::string& name) {
  const PickleNode& node = pickle_[ref];
  switch (node.kind) {
    case PickleKind::None:
      return TorchValue();
    case PickleKind::Bool:
      return TorchValue(node.flag);
    case PickleKind::Int:
      return TorchValue(node.integer);
    case PickleKind::Float:
      return TorchValue(node.real);
    case PickleKind::String:
    case PickleKind::Device:
      return TorchValue(node.text);
    case PickleKind::Tuple:
    case PickleKind::List:
    case PickleKind::Dict:
      return container(node, name);
    case PickleKind::Tensor:
      return tensor(node, name);
    case PickleKind::Object:
      return object(node, name);
    case PickleKind::Complex:
      return Error(Code::UnsupportedType, fmt::format("'{}' is a complex number", name));
    default:
      return corrupt(fmt::format("'{}' has a value that no model has", printable(name)));
  }
}

Result<TorchValue> Unpickler::container(const PickleNode& node, const std::string& name) {
  std::vector<TorchValue> items;
  for (size_t i = 0; i < node.items.size(); ++i) {
    EC_TRY(TorchValue item, value(node.items[i], fmt::format("{}.{}", name, i)));
    items.push_back(std::move(item));
  }
  if (node.kind == PickleKind::Tuple) return TorchValue::tuple(std::move(items));
  if (node.kind == PickleKind::List) return TorchValue::list(std::move(items));
  auto dict = std::make_shared<TorchDict>();
  for (size_t i = 0; i + 1 < items.size(); i += 2)
    dict->items.emplace_back(std::move(items[i]), std::move(items[i + 1]));
  return TorchValue(std::move(dict));
}

Result<TorchValue> Unpickler::tensor(const PickleNode& node, const std::string& name) {
  Result<TensorData> read = reader_.read(node);
  if (!read.ok()) return std::move(read).error().node(name);
  TensorData data = std::move(*read);
  const auto dtype = dtype_from_name(data.type->element);
  if (!dtype)
    return Error(Code::UnsupportedType, fmt::format("'{}' holds complex numbers", printable(name)));
  TensorRef ref;
  if (data.quant) {
    auto quant = std::make_shared<QuantParams>();
    quant->axis = static_cast<int32_t>(data.quant->axis);
    for (const double scale : data.quant->scales)
      quant->scales.push_back(static_cast<float>(scale));
    for (const int64_t zero : data.quant->zero_points)
      quant->zero_points.push_back(static_cast<int32_t>(zero));
    ref.quant = std::move(quant);
  }
  const TensorType type(*dtype, Shape::of(data.sizes));
  ref.tensor = graph_.add_constant(name, type, std::move(data.bytes));
  return TorchValue(Functionalizer::adopt(std::move(ref)));
}

Result<TorchValue> Unpickler::object(const PickleNode& node, const std::string& name) {
  if (node.flag) {
    auto made = std::make_shared<Enumerator>();
    made->class_name = node.text;
    EC_TRY(made->value, value(node.items[0], name));
    return TorchValue(TorchValue::Object(std::move(made)));
  }
  if (Library::is_builtin(node.text)) return builtin_object(node, name);
  EC_TRY(const Definition definition, library_.find(node.text));
  if (definition.type == nullptr)
    return corrupt(fmt::format("the archive has no code of class '{}'", printable(node.text)));
  std::shared_ptr<Instance> made = hooks_.new_instance(node.text, definition);
  made->path = name;
  if (node.items.empty()) return TorchValue(TorchValue::Object(std::move(made)));
  const PickleRef state = node.items[0];
  if (definition.type->method("__setstate__") != nullptr) {
    EC_TRY(TorchValue argument, value(state, name));
    EC_CHECK_OK(hooks_.set_state(made, std::move(argument)));
  } else if (pickle_[state].kind == PickleKind::Dict) {
    const std::vector<PickleRef>& items = pickle_[state].items;
    for (size_t i = 0; i + 1 < items.size(); i += 2)
      made->stored.insert_or_assign(pickle_[items[i]].text, items[i + 1]);
  } else {
    return corrupt(fmt::format("object '{}' has no dictionary of attributes", printable(name)));
  }
  return TorchValue(TorchValue::Object(std::move(made)));
}

// --- packed parameters of quantised layers -------------------------------------------------------

Result<TorchValue> Unpickler::builtin_object(const PickleNode& node, const std::string& name) {
  const std::string_view type = std::string_view(node.text).substr(node.text.rfind('.') + 1);
  if (node.items.empty() || pickle_[node.items[0]].kind != PickleKind::Tuple)
    return corrupt(fmt::format("'{}' has no packed weights", printable(name)));
  const PickleNode& state = pickle_[node.items[0]];
  if (type == "LinearPackedParamsBase") {
    EC_TRY(PackedLinear packed, packed_linear(state, name));
    return TorchValue(std::make_shared<const PackedLinear>(std::move(packed)));
  }
  if (type == "Conv1dPackedParamsBase" || type == "Conv2dPackedParamsBase" ||
      type == "Conv3dPackedParamsBase")
    return packed_conv(state, name);
  if (type == "CellParamsBase") return packed_cell(state, name);
  return Error(Code::UnsupportedType, fmt::format("'{}' is a {}", printable(name), printable(type)))
      .hint("only packed weights of linear, convolution and recurrent layers are supported");
}

Result<ec::Tensor*> Unpickler::optional_tensor(PickleRef ref, const std::string& name) {
  EC_TRY(const TorchValue made, value(ref, name));
  if (!made.is_none() && !made.is_tensor()) return corrupt("a bias that is no tensor");
  return made.tensor();
}

Result<PackedLinear> Unpickler::packed_linear(const PickleNode& state, const std::string& name) {
  if (state.items.size() != 2) return corrupt("packed weights of an unknown form");
  PackedLinear packed;
  EC_TRY(const TorchValue weight, value(state.items[0], name + ".weight"));
  if (!weight.is_tensor()) return corrupt("packed weights without a weight");
  packed.weight = weight.get<TensorRef>();
  EC_TRY(packed.bias, optional_tensor(state.items[1], name + ".bias"));
  return packed;
}

Result<std::vector<int64_t>> Unpickler::small_ints(PickleRef ref) {
  if (pickle_[ref].kind != PickleKind::Tensor) return corrupt("packed weights without settings");
  EC_TRY(const TensorData data, reader_.read(pickle_[ref]));
  if (data.type->element != "i16") return corrupt("packed weights of an unknown form");
  std::vector<int16_t> values(data.bytes.size() / sizeof(int16_t));
  std::memcpy(values.data(), data.bytes.bytes().data(), values.size() * sizeof(int16_t));
  return std::vector<int64_t>(values.begin(), values.end());
}

// ("2", [settings, weight], [bias]); settings: rank, then per dimension stride, padding, dilation
// and output padding, then groups and whether it is transposed.
Result<TorchValue> Unpickler::packed_conv(const PickleNode& state, const std::string& name) {
  if (state.items.size() != 3) return corrupt("packed weights of an unknown form");
  const PickleNode& tensors = pickle_[state.items[1]];
  const PickleNode& biases = pickle_[state.items[2]];
  if (tensors.items.size() != 2 || biases.items.size() != 1)
    return corrupt("packed weights of an unknown form");
  EC_TRY(const std::vector<int64_t> settings, small_ints(tensors.items[0]));
  if (settings.empty() || settings[0] < 1 || settings[0] > 3 ||
      settings.size() != static_cast<size_t>(4 * settings[0] + 3))
    return corrupt("packed weights with settings of an unknown form");
  const auto rank = static_cast<std::ptrdiff_t>(settings[0]);
  const auto group = [&](std::ptrdiff_t i) {
    const auto first = settings.begin() + 1 + i * rank;
    return std::vector<int64_t>(first, first + rank);
  };
  auto packed = std::make_shared<PackedConv>();
  packed->stride = group(0);
  packed->padding = group(1);
  packed->dilation = group(2);
  packed->output_padding = group(3);
  packed->groups = settings[settings.size() - 2];
  packed->transposed = settings.back() != 0;
  EC_TRY(const TorchValue weight, value(tensors.items[1], name + ".weight"));
  if (!weight.is_tensor()) return corrupt("packed weights without a weight");
  packed->weight = weight.get<TensorRef>();
  EC_TRY(packed->bias, optional_tensor(biases.items[0], name + ".bias"));
  return TorchValue(std::shared_ptr<const PackedConv>(std::move(packed)));
}

// ("quantized_dynamic", [b_ih, b_hh], [], [reduce range], [W_ih, W_hh])
Result<TorchValue> Unpickler::packed_cell(const PickleNode& state, const std::string& name) {
  if (state.items.size() != 5) return corrupt("packed weights of an unknown form");
  if (pickle_[state.items[0]].text != "quantized_dynamic")
    return Error(Code::UnsupportedOpForm, fmt::format("recurrent weights of kind '{}'",
                                                      printable(pickle_[state.items[0]].text)))
        .hint("use torch.ao.quantization.quantize_dynamic with dtype=torch.qint8");
  EC_TRY(const TorchValue weights, value(state.items[4], name));
  const auto* items = weights.items();
  const PickleNode& flags = pickle_[state.items[3]];
  if (items == nullptr || items->size() != 2 || !(*items)[0].is<TorchValue::Linear>() ||
      !(*items)[1].is<TorchValue::Linear>() || flags.items.size() != 1 ||
      pickle_[state.items[1]].items.size() != 2)
    return corrupt("packed weights of an unknown form");
  auto packed = std::make_shared<PackedCell>();
  packed->input = *(*items)[0].get<TorchValue::Linear>();
  packed->hidden = *(*items)[1].get<TorchValue::Linear>();
  packed->reduce_range = pickle_[flags.items[0]].integer != 0 || pickle_[flags.items[0]].flag;
  EC_TRY(packed->input.bias, optional_tensor(pickle_[state.items[1]].items[0], name + ".bias_ih"));
  EC_TRY(packed->hidden.bias, optional_tensor(pickle_[state.items[1]].items[1], name + ".bias_hh"));
  return TorchValue(std::shared_ptr<const PackedCell>(std::move(packed)));
}

}  // namespace ec::torch::script
