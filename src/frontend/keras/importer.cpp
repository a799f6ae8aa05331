#include "frontend/keras/importer.h"

#include <algorithm>
#include <set>

#include "frontend/input_shapes.h"
#include "frontend/keras/layer_call.h"
#include "frontend/keras/table.h"
#include "frontend/limits.h"
#include "frontend/op_builder.h"
#include "support/budget.h"
#include "support/strings.h"

namespace ec::keras {
namespace {

constexpr int kMaxDepth = 32;
constexpr size_t kMaxCalls = 200'000;
// Tensors of one model: layers that are written out step by step and models that are called again
// and again make many of few bytes. Each takes about this memory, with its operation.
constexpr size_t kTensorBase = 3 << 15, kBytesOfTensor = 1024;
constexpr std::string_view kExportAdvice =
    "export the model in Python: model.export(\"exported\"), and give that SavedModel folder";

std::string_view usual_hint(Code code) {
  switch (code) {
    case Code::DynamicShape:
      return "give the sizes of the inputs with --input-shape NAME:1x224x224x3";
    case Code::UnsupportedOpForm:
    case Code::UnsupportedOp:
      return kExportAdvice;
    case Code::CorruptFile:
    case Code::BadTensorData:
      return "the file is damaged: save or copy it again";
    default:
      return {};
  }
}

std::optional<DType> dtype_of(const std::string& name) {
  static const std::map<std::string, DType> kTypes = {
      {"float32", DType::F32}, {"float16", DType::F16},       {"bfloat16", DType::BF16},
      {"float64", DType::F64}, {"int8", DType::I8},           {"uint8", DType::U8},
      {"int16", DType::I16},   {"uint16", DType::U16},        {"int32", DType::I32},
      {"uint32", DType::U32},  {"int64", DType::I64},         {"uint64", DType::U64},
      {"bool", DType::Bool},   {"mixed_float16", DType::F32}, {"mixed_bfloat16", DType::F32}};
  const auto found = kTypes.find(name);
  return found == kTypes.end() ? std::nullopt : std::optional(found->second);
}

std::string dtype_name_of(const Value& value) {
  if (value.is_text()) return value.as_text();
  if (value.is_dict()) return dtype_name_of(value["config"]["name"]);
  return "float32";
}

// The shape that a layer says its input has, batch included.
const Value& declared_shape(const LayerConfig& layer) {
  for (const char* key : {"batch_shape", "batch_input_shape"})
    if (layer.config[key].is_list()) return layer.config[key];
  return layer.config["shape"];
}

// Tensors that a call reads.
void collect_places(const Value& value, bool old, std::vector<TensorPlace>& places) {
  if (is_tensor_object(value)) {
    places.push_back(place_of_tensor_object(value));
    return;
  }
  if (old && is_old_place(value)) {
    places.push_back(old_place(value));
    // Arguments beside it may be tensors, too.
    if (value.items().size() == 4) collect_places(value.items()[3], old, places);
    return;
  }
  for (const Value& item : value.items()) collect_places(item, old, places);
}

bool is_constant_argument(const Value& value) {
  return value.is_list() && value.items().size() >= 3 && value.items()[0].is("_CONSTANT_VALUE");
}

// Results in the order in which Keras numbers them.
std::vector<Value> flat(const Value& value) {
  if (!value.is_list() && !value.is_dict()) return {value};
  std::vector<Value> all;
  for (const Value& item : value.items()) {
    std::vector<Value> part = flat(item);
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

}  // namespace

std::string export_advice() { return std::string(kExportAdvice); }

Importer::Importer(std::string file, size_t model_bytes, const ImportOptions& options,
                   DiagnosticSink& sink)
    : file_(std::move(file)),
      options_(options),
      sink_(sink),
      graph_(std::make_unique<ec::Graph>()),
      states_(*graph_),
      weight_memory_(model_bytes),
      tensor_room_(kTensorBase + model_bytes / kBytesOfTensor) {}

void Importer::report(Error error, const std::string& node, const std::string& type) {
  ++errors_;
  if (error.message().empty()) return;  // reported where it arose
  sink_.report(explained(std::move(error)).node(node, type));
}

Error Importer::explained(Error error) const {
  const Code code = error.code();
  return std::move(error).file(file_).hint(std::string(usual_hint(code)));
}

// --- classes ------------------------------------------------------------------------------------

bool Importer::check_model(const LayerConfig& model, const std::string& scope, int depth) {
  if (depth > kMaxDepth) {
    report(Error(Code::TooDeep, "models are nested deeper than " + std::to_string(kMaxDepth)),
           scope, model.class_name);
    return false;
  }
  const auto config = read_model(model);
  if (!config.ok()) {
    report(Error(config.error().code(), config.error().message()), model.name, model.class_name);
    return false;
  }
  bool known = true;
  for (const LayerConfig& layer : config->layers) known &= check_classes(layer, scope, depth + 1);
  return known;
}

bool Importer::check_classes(const LayerConfig& layer, const std::string& scope, int depth) {
  const std::string name = scope + layer.name;
  if (layer.is_model() && layer.package.empty()) return check_model(layer, name + "/", depth);
  if (row_of(layer) == nullptr) {
    // One report for a class, however many layers have it.
    if (refused_[layer.package + ">" + layer.class_name + (layer.is_operation ? "()" : "")]++ > 0)
      ++errors_;
    else
      report(unknown_class(layer, name), name, layer.class_name);
    return false;
  }
  bool known = true;
  if (depth > kMaxDepth) return true;  // found again when the layer is called
  for (const char* key : {"layer", "backward_layer", "cell"})
    if (layer.config[key].is_dict() && layer.config[key]["class_name"].is_text())
      known &= check_classes(read_layer(layer.config[key]), name + "/", depth + 1);
  for (const char* key : {"cells", "layers"})
    for (const Value& item : layer.config[key].items())
      if (item["class_name"].is_text())
        known &= check_classes(read_layer(item), name + "/", depth + 1);
  return known;
}

// --- weights ------------------------------------------------------------------------------------

Result<ec::Tensor*> Importer::constant(const hdf5::File& file, hdf5::Address address,
                                       const std::string& name) {
  const auto known = constants_.find(address);
  if (known != constants_.end()) return known->second;
  EC_TRY(hdf5::Array array, file.dataset(address));
  using Kind = hdf5::Type::Kind;
  const hdf5::Type& type = array.type;
  std::optional<DType> dtype;
  if (type.kind == Kind::Float)
    dtype = type.bfloat      ? DType::BF16
            : type.size == 2 ? DType::F16
            : type.size == 4 ? DType::F32
                             : DType::F64;
  if (type.kind == Kind::Opaque && type.size == 2) dtype = DType::BF16;
  if (type.kind == Kind::Integer) {
    const DType kSigned[] = {DType::I8, DType::I16, DType::I32, DType::I64};
    const DType kUnsigned[] = {DType::U8, DType::U16, DType::U32, DType::U64};
    const size_t i = type.size == 1 ? 0 : type.size == 2 ? 1 : type.size == 4 ? 2 : 3;
    dtype = type.boolean ? DType::Bool : type.is_signed ? kSigned[i] : kUnsigned[i];
  }
  if (!dtype || (type.big_endian && type.size > 1))
    return Error(Code::UnsupportedType,
                 "weight '" + printable(name) + "' has an element type that is not supported");
  ec::Tensor* tensor =
      graph_->add_constant(name, TensorType(*dtype, Shape::of(array.shape)), std::move(array.data));
  constants_[address] = tensor;
  return tensor;
}

// --- inputs -------------------------------------------------------------------------------------

Result<TensorType> Importer::input_type(const LayerConfig& layer, const std::string& name) const {
  const std::string type_name = dtype_name_of(layer.config["dtype"]);
  const auto dtype = dtype_of(type_name);
  if (!dtype)
    return Error(Code::UnsupportedType, "input '" + printable(name) + "' has elements of type '" +
                                            printable(type_name) + "'")
        .hint("leave out the layers that read text and give the model from their results on");
  if (layer.config["sparse"].as_bool() || layer.config["ragged"].as_bool())
    return Error(Code::UnsupportedType, "input '" + printable(name) + "' is sparse or ragged");
  const Value& shape = declared_shape(layer);
  if (!shape.is_list())
    return Error(Code::DynamicShape,
                 "the model does not tell the shape of input '" + printable(name) + "'")
        .hint("build the model before saving it: model.build(input_shape)");
  std::vector<Dim> dims;
  const bool whole =
      layer.config["batch_shape"].is_list() || layer.config["batch_input_shape"].is_list();
  if (!whole) dims.push_back(Dim::symbol("batch"));
  for (const Value& size : shape.items()) {
    if (size.is_number()) {
      if (size.as_int() < 0 || size.as_int() > int64_t{1} << 40)
        return Error(Code::BadValue, "a size of input '" + printable(name) + "' is out of range");
      dims.emplace_back(size.as_int());
    } else {
      dims.push_back(dims.empty() ? Dim::symbol("batch")
                                  : Dim::symbol(name + "_" + std::to_string(dims.size())));
    }
  }
  return TensorType(*dtype, Shape(std::move(dims)));
}

// The inputs of the graph, in the order of the model's.
std::vector<Value> Importer::add_inputs(const ModelConfig& model, const LayerConfig& source) {
  std::vector<NamedInput> inputs;
  const auto add = [&](const LayerConfig& layer, const std::string& name) {
    auto type = input_type(layer, name);
    if (!type.ok()) return report(std::move(type).error(), name, "InputLayer");
    inputs.push_back({name, std::move(type).value()});
  };
  if (model.sequential) {
    if (!model.layers.empty()) {
      LayerConfig first = model.layers.front();
      // A model may begin with a model.
      for (int depth = 0; first.is_model() && depth < kMaxDepth; ++depth) {
        auto inner = read_model(first);
        if (!inner.ok() || inner->layers.empty()) break;
        if (!inner->sequential && !inner->inputs.empty()) {
          const auto found = std::ranges::find(inner->layers, inner->inputs.front().place.layer,
                                               &LayerConfig::name);
          if (found == inner->layers.end()) break;
          first = LayerConfig(*found);
          break;
        }
        first = LayerConfig(inner->layers.front());
      }
      const bool has_input = first.class_name == "InputLayer";
      if (!declared_shape(first).is_list()) {
        // Newer files say how the model was built.
        Value shape = source.config["build_input_shape"];
        if (!shape.is_list()) shape = source.build_config["input_shape"];
        Value config = Value::dict();
        config.set("batch_shape", shape);
        if (first.class_name == "Embedding") config.set("dtype", Value::text("int32"));
        first.config = config;
      } else if (first.class_name == "Embedding") {
        Value config = Value::dict();
        config.set("batch_shape", declared_shape(first));
        config.set("dtype", Value::text("int32"));
        first.config = config;
      }
      add(first, has_input ? first.name : model.layers.front().name + "_input");
    }
  } else {
    for (const NamedPlace& input : model.inputs) {
      const auto found = std::ranges::find(model.layers, input.place.layer, &LayerConfig::name);
      if (found == model.layers.end())
        report(Error(Code::UndefinedName,
                     "input '" + printable(input.place.layer) + "' is no layer of the model"),
               input.place.layer, "InputLayer");
      else
        add(*found, found->name);
    }
  }
  if (errors_ > 0) return {};
  const size_t before = sink_.error_count();
  apply_input_options(inputs, options_, sink_);
  errors_ += sink_.error_count() - before;
  std::vector<Value> values;
  for (const NamedInput& input : inputs) {
    ec::Tensor* tensor = graph_->add_input(input.name, input.type);
    // Floats are computed with in one precision.
    if (is_float(tensor->dtype()) && tensor->dtype() != DType::F32) {
      GraphBuilder builder(*graph_, Location(input.name, "InputLayer"));
      tensor = builder.cast(tensor, DType::F32);
    }
    values.push_back(Value::tensor(tensor));
  }
  return values;
}

// --- calls --------------------------------------------------------------------------------------

Value Importer::call(const LayerConfig& layer, const Weights& weights, std::vector<Value> args,
                     Value kwargs, const std::string& scope, int depth) {
  const std::string name = scope + layer.name;
  for (const Value& arg : args)
    if (contains_failed(arg)) return Value::failed();
  if (contains_failed(kwargs)) return Value::failed();
  Status stop = check_budget();
  if (stop.ok() && depth > kMaxDepth)
    stop = Error(Code::TooDeep, "layers are nested deeper than " + std::to_string(kMaxDepth));
  if (stop.ok() && ++calls_ > kMaxCalls)
    stop =
        Error(Code::TooLarge, "the model calls more than " + std::to_string(kMaxCalls) + " layers");
  if (!stop.ok()) {
    report(std::move(stop).error(), name, layer.class_name);
    return Value::failed();
  }
  if (layer.is_model() && layer.package.empty())
    return call_model(layer, weights, args.empty() ? kwargs["inputs"] : args.front(), name + "/",
                      depth + 1);
  const BeforeCall before{graph_->operation_id_bound(), states_.changes(), errors_};
  const LayerRow* row = row_of(layer);
  if (row == nullptr)
    return give_up(unknown_class(layer, name), name, layer.class_name, args, kwargs, before);
  const size_t first_new = graph_->tensor_id_bound();
  LayerCall c(*this, Location(name, layer.class_name), layer, weights, std::move(args),
              std::move(kwargs), depth);
  Value result = c.convert(*row);
  if (Status status = c.status(); !status.ok())
    return give_up(std::move(status).error(), name, layer.class_name, c.args(), c.kwargs(), before);
  if (!result.is_tensor()) return result;
  if (row->mask == MaskRule::Pass) result.set_mask(c.mask());
  if (row->mask == MaskRule::Drop) result.set_mask(nullptr);
  ec::Tensor* tensor = result.as_tensor();
  if (tensor->id() >= first_new && tensor->producer() != nullptr &&
      graph_->find_tensor(name) == nullptr)
    graph_->rename(tensor, name);
  return result;
}

Value Importer::call_model(const LayerConfig& layer, const Weights& weights, const Value& inputs,
                           const std::string& scope, int depth) {
  auto model = read_model(layer);
  auto own = model.ok() ? weights.of_layers(model->layers, model->sequential)
                        : Result<std::vector<Weights>>(Error(Code::Internal, ""));
  if (!model.ok() || !own.ok()) {
    report(std::move(model.ok() ? own.error() : model.error()), layer.name, layer.class_name);
    return Value::failed();
  }
  if (model->sequential)
    return run_sequential(
        *model, *own,
        inputs.is_list() && inputs.items().size() == 1 ? inputs.items().front() : inputs, scope,
        depth);
  std::vector<Value> given;
  if (inputs.is_dict()) {
    for (const NamedPlace& input : model->inputs)
      given.push_back(inputs[input.name.empty() ? input.place.layer : input.name]);
  } else {
    given = flat(inputs);
  }
  return run_functional(*model, *own, given, scope, depth, nullptr);
}

Value Importer::run_sequential(const ModelConfig& model, const std::vector<Weights>& weights,
                               Value x, const std::string& scope, int depth) {
  for (size_t i = 0; i < model.layers.size(); ++i) {
    if (model.layers[i].class_name == "InputLayer") continue;
    x = call(model.layers[i], weights[i], {std::move(x)}, Value::dict(), scope, depth);
    if (x.is_failed()) return x;
  }
  return x;
}

// One run of a functional model: calls in the order in which their operands come to be.
struct Importer::Scope {
  const ModelConfig& model;
  std::map<std::string_view, size_t> by_name;
  std::vector<std::vector<std::optional<Value>>> results;  // by layer and call

  explicit Scope(const ModelConfig& m) : model(m), results(m.layers.size()) {
    for (size_t i = 0; i < m.layers.size(); ++i) {
      by_name.emplace(m.layers[i].name, i);
      results[i].resize(std::max<size_t>(1, m.layers[i].calls.size()));
    }
  }

  // The call that a place names. Models inside models count from 1 in Keras 2 and, where outputs
  // are listed, in Keras 3.
  std::optional<std::pair<size_t, size_t>> node(const TensorPlace& place, bool from_one) const {
    const auto found = by_name.find(place.layer);
    if (found == by_name.end()) return std::nullopt;
    const auto count = static_cast<int64_t>(results[found->second].size());
    int64_t index = place.node;
    if (model.layers[found->second].is_model() && index > 0 && (from_one || index >= count))
      --index;
    if (index < 0 || index >= count) return std::nullopt;
    return std::pair(found->second, static_cast<size_t>(index));
  }

  Result<Value> value(const TensorPlace& place, bool from_one) const {
    const auto at = node(place, from_one);
    if (!at || !results[at->first][at->second])
      return Error(Code::UndefinedName, "the result of layer '" + printable(place.layer) +
                                            "' (call " + std::to_string(place.node) +
                                            ") is read but never computed");
    const Value& whole = *results[at->first][at->second];
    const std::span<const Value> all =
        whole.is_list() ? std::span<const Value>(whole.items()) : std::span<const Value>(&whole, 1);
    if (all.size() == 1 && all.front().is_failed()) return Value::failed();
    if (place.tensor < 0 || place.tensor >= static_cast<int64_t>(all.size()))
      return Error(Code::UndefinedName, "layer '" + printable(place.layer) + "' has no result " +
                                            std::to_string(place.tensor));
    return all[static_cast<size_t>(place.tensor)];
  }

  // An argument with its tensors in place.
  Result<Value> resolve(const Value& value, bool old) const {
    if (is_tensor_object(value)) return this->value(place_of_tensor_object(value), false);
    if (old && is_old_place(value) && by_name.contains(value.items()[0].as_text()))
      return this->value(old_place(value), true);
    if (value.is_dict()) {
      const std::string& type = value["class_name"].as_text();
      if (type == "__slice__") {
        const Value& c = value["config"];
        EC_TRY(Value begin, resolve(c["start"], old));
        EC_TRY(Value end, resolve(c["stop"], old));
        EC_TRY(Value step, resolve(c["step"], old));
        return Value::slice(std::move(begin), std::move(end), std::move(step));
      }
      if (type == "__ellipsis__") return Value::text("...");
      if (type == "__tuple__") return resolve(value["config"]["value"], old);
      if (type == "__tensor__" || type == "__numpy__") return value;
      if (old && value.keys().size() == 3 && value.keys()[0] == "start")
        return Value::slice(value["start"], value["stop"], value["step"]);
      Value dict = Value::dict();
      for (size_t i = 0; i < value.keys().size(); ++i) {
        EC_TRY(Value item, resolve(value.items()[i], old));
        dict.set(value.keys()[i], std::move(item));
      }
      return dict;
    }
    if (!value.is_list()) return value;
    std::vector<Value> items;
    for (const Value& item : value.items()) {
      EC_TRY(Value resolved, resolve(item, old));
      items.push_back(std::move(resolved));
    }
    return Value::list(std::move(items));
  }

  // The arguments of a call in either form.
  Status arguments(const Value& call, std::vector<Value>& args, Value& kwargs) const {
    if (call.is_dict()) {
      EC_TRY(const Value given, resolve(call["args"], false));
      args = given.items();
      EC_TRY(kwargs, resolve(call["kwargs"], false));
      if (!kwargs.is_dict()) kwargs = Value::dict();
      return {};
    }
    kwargs = Value::dict();
    const bool single = is_old_place(call) || is_constant_argument(call);
    const std::vector<Value> list = single ? std::vector{call} : call.items();
    std::vector<Value> tensors;
    for (const Value& item : list) {
      if (is_constant_argument(item)) {
        tensors.push_back(item.items()[2]);
      } else {
        EC_TRY(Value tensor, resolve(item, true));
        tensors.push_back(std::move(tensor));
      }
      if (kwargs.keys().empty() && item.items().size() == 4) {
        EC_TRY(kwargs, resolve(item.items()[3], true));
      }
    }
    if (tensors.size() == 1)
      args = std::move(tensors);
    else if (!tensors.empty())
      args = {Value::list(std::move(tensors))};
    return {};
  }
};

Value Importer::run_functional(const ModelConfig& model, const std::vector<Weights>& weights,
                               const std::vector<Value>& inputs, const std::string& scope,
                               int depth, std::vector<Value>* outputs) {
  Scope state(model);
  if (state.by_name.size() != model.layers.size()) {
    report(Error(Code::DuplicateName, "two layers of the model have the same name"), model.name,
           "Functional");
    return Value::failed();
  }
  if (inputs.size() != model.inputs.size()) {
    report(Error(Code::BadArity, "the model has " + std::to_string(model.inputs.size()) +
                                     " inputs and is called with " + std::to_string(inputs.size())),
           model.name, "Functional");
    return Value::failed();
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    const auto at = state.node(model.inputs[i].place, false);
    if (!at) {
      report(Error(Code::UndefinedName, "input '" + printable(model.inputs[i].place.layer) +
                                            "' is no layer of the model"),
             model.name, "Functional");
      return Value::failed();
    }
    Value input = inputs[i];
    // Integers given to an input of floats are converted.
    const LayerConfig& layer = model.layers[at->first];
    const auto dtype = dtype_of(dtype_name_of(layer.config["dtype"]));
    if (input.is_tensor() && dtype && is_float(*dtype) && !is_float(input.as_tensor()->dtype())) {
      GraphBuilder builder(*graph_, Location(scope + layer.name, "InputLayer"));
      input = Value::tensor(builder.cast(input.as_tensor(), DType::F32), input.mask());
    }
    if (input.is_list() || input.is_dict()) input = Value::list(flat(input));
    state.results[at->first][at->second] = input;
  }
  // Which calls wait for which.
  struct Node {
    size_t layer, call, missing = 0;
    std::vector<size_t> readers;
  };
  std::vector<Node> nodes;
  std::map<std::pair<size_t, size_t>, size_t> ids;
  for (size_t i = 0; i < model.layers.size(); ++i)
    for (size_t j = 0; j < model.layers[i].calls.size(); ++j)
      if (!state.results[i][j]) {
        ids[{i, j}] = nodes.size();
        nodes.push_back({i, j, 0, {}});
      }
  for (size_t n = 0; n < nodes.size(); ++n) {
    const Value& call = model.layers[nodes[n].layer].calls[nodes[n].call];
    const bool old = !call.is_dict();
    std::vector<TensorPlace> places;
    collect_places(call, old, places);
    for (const TensorPlace& place : places) {
      const auto at = state.node(place, old);
      const auto waits = at ? ids.find(*at) : ids.end();
      if (waits == ids.end()) continue;  // an input, or missing: told when it is read
      ++nodes[n].missing;
      nodes[waits->second].readers.push_back(n);
    }
  }
  std::set<size_t> ready;  // in the order of the file
  for (size_t n = 0; n < nodes.size(); ++n)
    if (nodes[n].missing == 0) ready.insert(n);
  size_t done = 0;
  while (!ready.empty()) {
    const size_t n = *ready.begin();
    ready.erase(ready.begin());
    ++done;
    const LayerConfig& layer = model.layers[nodes[n].layer];
    std::vector<Value> args;
    Value kwargs;
    Value result = Value::failed();
    if (Status status = state.arguments(layer.calls[nodes[n].call], args, kwargs); !status.ok())
      report(std::move(status).error(), scope + layer.name, layer.class_name);
    else
      result =
          call(layer, weights[nodes[n].layer], std::move(args), std::move(kwargs), scope, depth);
    // Flat, as places count results.
    if (result.is_list() || result.is_dict()) result = Value::list(flat(result));
    state.results[nodes[n].layer][nodes[n].call] = std::move(result);
    for (const size_t reader : nodes[n].readers)
      if (--nodes[reader].missing == 0) ready.insert(reader);
  }
  if (done < nodes.size()) {
    report(Error(Code::CyclicGraph, "layers read each other's results in a circle"), model.name,
           "Functional");
    return Value::failed();
  }
  std::vector<Value> results;
  for (const NamedPlace& output : model.outputs) {
    auto value = state.value(output.place, true);
    if (!value.ok()) {
      report(std::move(value).error(), model.name, "Functional");
      return Value::failed();
    }
    results.push_back(std::move(*value));
  }
  if (outputs != nullptr) *outputs = results;
  for (const Value& result : results)
    if (result.is_failed()) return Value::failed();
  return results.size() == 1 ? results.front() : Value::list(std::move(results));
}

// --- the whole ----------------------------------------------------------------------------------

Result<std::unique_ptr<ec::Graph>> Importer::run(const LayerConfig& model, const Weights& weights,
                                                 std::string version) {
  release_ = read_release(version);
  if (!model.is_model()) {
    report(Error(Code::UnsupportedOp,
                 "model '" + printable(model.name) + "' is of the subclassed class '" +
                     (model.package.empty() ? "" : printable(model.package) + ">") +
                     printable(model.class_name) + "': the file has its weights and not its layers")
               .hint(export_advice()),
           model.name, model.class_name);
    return sink_.first_error();
  }
  // Each is met in its place where it is kept.
  if (options_.kept == nullptr && !check_model(model, "", 0)) return sink_.first_error();
  auto config = read_model(model);
  if (!config.ok()) {
    report(std::move(config).error(), model.name, model.class_name);
    return sink_.first_error();
  }
  graph_->set_name(model.name);
  const std::vector<Value> inputs = add_inputs(*config, model);
  if (errors_ > 0) return sink_.first_error();
  auto own = weights.of_layers(config->layers, config->sequential);
  if (!own.ok()) {
    report(std::move(own).error(), model.name, model.class_name);
    return sink_.first_error();
  }
  std::vector<Value> outputs;
  if (config->sequential) {
    if (inputs.empty()) {
      report(Error(Code::CorruptFile, "the model has no layers"), model.name, model.class_name);
      return sink_.first_error();
    }
    outputs = flat(run_sequential(*config, *own, inputs.front(), "", 0));
  } else {
    run_functional(*config, *own, inputs, "", 0, &outputs);
  }
  if (errors_ > 0) return sink_.first_error();
  std::set<std::string> taken;
  for (size_t i = 0; i < outputs.size(); ++i) {
    ec::Tensor* tensor = outputs[i].as_tensor();
    std::string name = config->sequential                ? config->layers.back().name
                       : config->outputs[i].name.empty() ? config->outputs[i].place.layer
                                                         : config->outputs[i].name;
    const std::string base = name;
    for (size_t k = 1; !taken.insert(name).second; ++k) name = base + "_" + std::to_string(k);
    GraphBuilder builder(*graph_, Location(name, "output"));
    if (tensor == nullptr) {
      report(Error(Code::UnsupportedType, "output '" + printable(name) + "' is no tensor"), name,
             "output");
      continue;
    }
    if (tensor->producer() == nullptr) tensor = builder.add(OpKind::Identity, {tensor});
    graph_->add_output(name, tensor);
  }
  if (errors_ > 0 || outputs.empty()) {
    if (errors_ == 0)
      report(Error(Code::CorruptFile, "the model has no outputs"), model.name, model.class_name);
    return sink_.first_error();
  }
  if (auto kept = states_.finish(); !kept.ok()) {
    report(std::move(kept).error(), model.name, model.class_name);
    return sink_.first_error();
  }
  // Weights in the order that the file has them in.
  erase_unused_constants(*graph_);
  auto& metadata = graph_->metadata();
  metadata["source_format"] = "keras";
  if (!version.empty()) metadata["keras.version"] = std::move(version);
  return std::move(graph_);
}

}  // namespace ec::keras
