#include "frontend/keras/layer_call.h"

#include <algorithm>
#include <iterator>

#include "frontend/keras/importer.h"
#include "frontend/keras/table.h"
#include "frontend/turned_weights.h"
#include "ops/convert.h"
#include "support/strings.h"

namespace ec::keras {
namespace {

constexpr int64_t kLargestWindow = 1 << 24;

// The numbers of a nested list in order, and its shape; false where it is ragged or no numbers.
bool flatten(const Value& value, size_t depth, Ints& shape, std::vector<double>& numbers,
             bool& real) {
  if (value.is_number()) {
    if (depth != shape.size()) return false;
    real |= value.kind() == Value::Kind::Float;
    numbers.push_back(value.as_number());
    return true;
  }
  if (!value.is_list()) return false;
  const auto count = static_cast<int64_t>(value.items().size());
  if (depth == shape.size()) {
    if (!numbers.empty()) return false;
    shape.push_back(count);
  } else if (shape[depth] != count) {
    return false;
  }
  for (const Value& item : value.items())
    if (!flatten(item, depth + 1, shape, numbers, real)) return false;
  return true;
}

}  // namespace

LayerCall::LayerCall(Importer& importer, Location location, const LayerConfig& layer,
                     Weights weights, std::vector<Value> args, Value kwargs, int depth)
    : GraphBuilder(importer.graph(), std::move(location)),
      importer_(importer),
      layer_(layer),
      weights_(std::move(weights)),
      args_(std::move(args)),
      kwargs_(std::move(kwargs)),
      depth_(depth) {
  share_room(&importer.tensor_room());
}

Value LayerCall::convert(const LayerRow& row) {
  Tensors all;
  for (const Value& arg : args_) collect_tensors(arg, all);
  collect_tensors(kwargs_, all);
  if (all.empty()) return fail(Code::BadArity, "the call has no tensor to work on");
  return row.convert(*this);
}

bool LayerCall::afford(int64_t count) {
  size_t& room = importer_.table_room();
  const auto bytes = checked_mul(count, sizeof(float));
  if (ok() && bytes && *bytes >= 0 && static_cast<size_t>(*bytes) <= room) {
    room -= static_cast<size_t>(*bytes);
    return true;
  }
  fail(Code::TooLarge,
       "a table of " + std::to_string(count) + " numbers is more than the model may ask for");
  return false;
}

int LayerCall::keras_version() const { return importer_.keras_version(); }
Release LayerCall::keras_release() const { return importer_.keras_release(); }

// --- configuration ------------------------------------------------------------------------------

int64_t LayerCall::integer(std::string_view key) {
  if (config(key).is_number()) return config(key).as_int();
  fail(Code::BadAttribute, "the configuration has no '" + std::string(key) + "'");
  return 1;
}
int64_t LayerCall::integer(std::string_view key, int64_t otherwise) const {
  return config(key).is_number() ? config(key).as_int() : otherwise;
}
double LayerCall::number(std::string_view key, double otherwise) const {
  return config(key).as_number(otherwise);
}
bool LayerCall::flag(std::string_view key, bool otherwise) const {
  return config(key).as_bool(otherwise);
}
std::string LayerCall::text(std::string_view key, std::string_view otherwise) const {
  return config(key).is_text() ? config(key).as_text() : std::string(otherwise);
}

Ints LayerCall::ints_of(const Value& value, std::string_view what, size_t count) {
  Ints list;
  if (value.is_number()) {
    list.assign(count == 0 ? 1 : count, value.as_int());
    return list;
  }
  for (const Value& item : value.items())
    if (item.is_number()) list.push_back(item.as_int());
  if (count > 0 && list.size() == 1 && count > 1) list.assign(count, list.front());
  if (list.size() != value.items().size() && list.size() != count)
    fail(Code::BadAttribute, "'" + std::string(what) + "' is no list of integers");
  if (count > 0 && list.size() != count) {
    fail(Code::BadAttribute, "'" + std::string(what) + "' should have " + std::to_string(count) +
                                 " items, not " + std::to_string(list.size()));
    list.resize(count, 1);
  }
  return list;
}

Ints LayerCall::ints(std::string_view key, size_t count) {
  return ints_of(config(key), key, count);
}

Ints LayerCall::window(std::string_view key, size_t count) {
  Ints list = ints(key, count);
  for (int64_t& n : list)
    if (n < 1 || n > kLargestWindow) {
      fail(Code::BadAttribute, "'" + std::string(key) + "' has the number " + std::to_string(n));
      n = 1;
    }
  return list;
}

// --- arguments ----------------------------------------------------------------------------------

const Value& LayerCall::arg(size_t index, std::string_view name) const {
  return index < args_.size() ? args_[index] : kwargs_[name];
}

Tensors LayerCall::inputs() {
  Tensors all;
  if (!args_.empty()) {
    collect_tensors(args_.front(), all);
  } else {
    for (const char* name : {"inputs", "x", "query"})
      if (all.empty()) collect_tensors(kwargs_[name], all);
    // Operations name their first argument as they like.
    for (const Value& item : kwargs_.items())
      if (all.empty()) collect_tensors(item, all);
  }
  if (all.empty()) all.push_back(fail(Code::BadArity, "the call has no tensor to work on"));
  return all;
}

Tensor* LayerCall::x() { return inputs().front(); }

Tensor* LayerCall::mask() const {
  if (kwargs_["mask"].is_tensor()) return kwargs_["mask"].as_tensor();
  const Value& first = arg(0, "inputs");
  if (first.is_tensor()) return first.mask();
  return first.is_list() && !first.items().empty() ? first.items().front().mask() : nullptr;
}

Tensor* LayerCall::tensor(const Value& value, DType if_number) {
  Tensor* made = optional_tensor(value, if_number);
  return made != nullptr ? made : fail(Code::BadArity, "an operand is missing");
}

Tensor* LayerCall::optional_tensor(const Value& value, DType if_number) {
  if (value.is_none()) return nullptr;
  if (value.is_tensor()) return value.as_tensor();
  // {"class_name": "__tensor__", "config": {"value": ..., "dtype": ...}}
  if (value.is_dict() && value["config"].has("value")) {
    const auto type = value["config"]["dtype"].as_text();
    DType dtype = if_number;
    for (const auto& [name, own] : {std::pair{"float32", DType::F32},
                                    {"float64", DType::F32},
                                    {"float16", DType::F32},
                                    {"bfloat16", DType::F32},
                                    {"int32", DType::I32},
                                    {"int64", DType::I64},
                                    {"int8", DType::I8},
                                    {"uint8", DType::U8},
                                    {"int16", DType::I16},
                                    {"bool", DType::Bool}})
      if (type == name) dtype = own;
    return cast(tensor(value["config"]["value"], dtype), dtype);
  }
  if (value.is_number()) {
    if (value.kind() == Value::Kind::Bool && if_number == DType::Bool)
      return scalar(DType::Bool, value.as_number());
    return scalar(if_number, value.as_number());
  }
  // A list with tensors in it is stacked; one of numbers is a constant.
  Tensors parts;
  collect_tensors(value, parts);
  if (!parts.empty() && value.is_list()) {
    parts.clear();
    for (const Value& item : value.items()) parts.push_back(tensor(item, if_number));
    return stack(parts, 0);
  }
  Ints shape;
  std::vector<double> numbers;
  bool real = false;
  if (!flatten(value, 0, shape, numbers, real))
    return fail(Code::BadAttribute, "an argument is no tensor and no list of numbers");
  std::vector<float> elements(numbers.begin(), numbers.end());
  if (if_number == DType::F32 || real) return floats(Shape::of(shape), elements);
  std::vector<int64_t> whole;
  std::ranges::transform(numbers, std::back_inserter(whole), saturate_to_int64);
  return cast(graph().add_constant<int64_t>("", Shape::of(shape), whole), if_number);
}

// --- weights ------------------------------------------------------------------------------------

void LayerCall::variables(const Weights& weights, const Names& names, bool by_position) {
  variables_.clear();
  auto found = weights.find(names, by_position);
  if (!found.ok()) return remember(std::move(found).error());
  for (size_t i = 0; i < names.size(); ++i)
    variables_.emplace_back(names[i].substr(0, names[i].find('|')), (*found)[i]);
}

bool LayerCall::has_weight(std::string_view name) const {
  return std::ranges::any_of(variables_,
                             [&](const auto& v) { return v.first == name && v.second; });
}

Tensor* LayerCall::stored_weight(std::string_view name) {
  for (const auto& [own, address] : variables_) {
    if (own != name || !address) continue;
    auto constant =
        importer_.constant(weights_.file(), *address, std::string(location().name()) + "/" + own);
    if (constant.ok()) return *constant;
    remember(std::move(constant).error());
    return fail(Code::CorruptFile, "");
  }
  remember(Error(Code::BadTensorData, "the file has no weight '" + std::string(name) + "' for it")
               .hint("save the model after it was built and loaded with its weights"));
  return fail(Code::BadTensorData, "");
}

Tensor* LayerCall::weight(std::string_view name) {
  Tensor* stored = stored_weight(name);
  if (stored->dtype() == DType::F32 || !ok()) return stored;
  if (stored->dtype() == DType::I8)
    return unsupported("a quantised '" + std::string(name) + "' in this layer");
  auto& known = importer_.derived()[{stored, "f32"}];
  if (known == nullptr) known = cast(stored, DType::F32);
  return known;
}

// Constants are turned from the bytes of the file, whatever their alignment there.
Tensor* LayerCall::turned(Tensor* weight, const Ints& perm) {
  if (std::ranges::is_sorted(perm)) return weight;
  if (!weight->is_constant()) return transpose(weight, perm);
  TensorType type(weight->dtype(), *weight->shape());
  for (size_t i = 0; i < perm.size(); ++i)
    (*type.shape)[i] = (*weight->shape())[static_cast<size_t>(perm[i])];
  Blob data = turned_bytes(*weight, perm, importer_.weight_memory());
  if (data.size() != weight->raw_data().size())
    return fail(Code::OutOfMemory, "no memory to turn the weights");
  return graph().add_constant("", std::move(type), std::move(data));
}

Tensor* LayerCall::permuted(Tensor* weight, const Ints& perm, const Ints& shape) {
  std::string key;
  for (const int64_t p : perm) key += std::to_string(p) + ",";
  key += ":";
  for (const int64_t n : shape) key += std::to_string(n) + ",";
  auto& known = importer_.derived()[{weight, key}];
  if (known != nullptr) return known;
  if (rank(weight) != static_cast<int64_t>(perm.size())) {
    known = nullptr;
    return fail(Code::ShapeMismatch, "weights " + weight->type().text() + " should have " +
                                         std::to_string(perm.size()) + " dimensions");
  }
  Tensor* made = turned(weight, perm);
  if (!shape.empty()) made = reshape(made, Sizes(shape.begin(), shape.end()));
  if (ok()) {
    known = made;
    if (made != weight && made->is_constant() && made->uses().empty())
      graph().rename(made, weight->name() + "/t");
  }
  return made;
}

// --- other layers -------------------------------------------------------------------------------

Value LayerCall::call(const LayerConfig& inner, const Weights& weights, std::vector<Value> args,
                      Value kwargs) {
  if (!ok()) return Value::failed();
  Value result = importer_.call(inner, weights, std::move(args), std::move(kwargs),
                                std::string(location().name()) + "/", depth_ + 1);
  if (result.is_failed()) remember(Error(Code::Internal, ""));  // reported by the inner call
  return result;
}

Tensor* LayerCall::call_one(const LayerConfig& inner, const Weights& weights, Tensor* x) {
  const Value result = call(inner, weights, {Value::tensor(x)});
  if (result.is_tensor()) return result.as_tensor();
  return fail(Code::Internal, "");
}

Tensor* LayerCall::activate(Tensor* x, std::string_view key) {
  return activation(*this, config(key), x);
}

}  // namespace ec::keras
