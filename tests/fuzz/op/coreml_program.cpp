#include "fuzz/op/coreml_program.h"

#include <algorithm>
#include <map>

namespace ec::fuzz {

using coreml::DataType;
using coreml::ValueType;
using Kind = CoremlParameter::Kind;

namespace {

struct Call {
  std::string_view op, function, argument;
};
// Written when the build is configured (coreml_parameters.cmake).
constexpr Call kCalls[] = {
#include "coreml_parameters.inc"
};

// What a function of the converters wants; everything else is a tensor.
Kind kind_of(std::string_view function) {
  static const std::map<std::string_view, Kind> kKinds = {
      {"integer", Kind::Integer},     {"axis_of", Kind::Integer},  {"ints", Kind::Integers},
      {"known", Kind::Integers},      {"axes_of", Kind::Integers}, {"mask_of", Kind::Integers},
      {"number", Kind::Number},       {"flag", Kind::Flag},        {"text", Kind::Text},
      {"dtype", Kind::TypeName},      {"list", Kind::Tensors},     {"stored", Kind::Text},
      {"activation_name", Kind::Text}};
  const auto found = kKinds.find(function);
  return found == kKinds.end() ? Kind::Tensor : found->second;
}

bool says_nothing(std::string_view function) {
  return function == "has" || function == "add_input" || function == "add_output" ||
         function == "==";
}

CoremlParameter parameter_of(std::string_view op, std::string_view name) {
  CoremlParameter parameter;
  parameter.optional = name.ends_with('?');
  if (parameter.optional) name.remove_suffix(1);
  parameter.name = name;
  if (name == "ls") parameter.kinds = {Kind::List};
  if (op.ends_with("_state") && (name == "input" || name == "state"))
    parameter.kinds = {Kind::State};
  if (!parameter.kinds.empty()) return parameter;
  if (name.ends_with("_factor") || name == "block_size" || name == "nbits")
    parameter.kinds = {Kind::Integer};
  if (name == "alpha" || name == "beta")
    parameter.kinds = {op == "prelu" || op == "softplus_parametric" || op.ends_with("_norm")
                           ? Kind::Tensor
                           : Kind::Number};
  for (const std::string_view family : {op, std::string_view("*")})
    if (parameter.kinds.empty())
      for (const Call& call : kCalls)
        if (call.op == family && call.argument == name && !says_nothing(call.function))
          parameter.kinds.push_back(kind_of(call.function));
  if (parameter.kinds.empty()) parameter.kinds = {Kind::Tensor};
  return parameter;
}

CoremlOperator operator_of(const mil::OpRow& row) {
  CoremlOperator op{&row, {}, {}};
  std::string_view list = row.parameters;
  while (!list.empty()) {
    const size_t end = list.find(' ');
    op.parameters.push_back(parameter_of(row.op, list.substr(0, end)));
    list = end == std::string_view::npos ? std::string_view() : list.substr(end + 1);
  }
  for (const Call& call : kCalls)
    if (call.op == row.op && call.function == "==") op.words.push_back(call.argument);
  return op;
}

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::ranges::find(words, word) != words.end();
}

bool needs_sequence(std::string_view op) { return is_one_of(op, {"lstm", "gru", "rnn"}); }

bool is_about_images(std::string_view op) {
  for (const std::string_view part : {"conv", "pool", "resize", "upsample", "crop", "resample",
                                      "affine", "space", "pixel", "_norm", "batch_to"})
    if (op.find(part) != std::string_view::npos) return op != "constexpr_affine_dequantize";
  return false;
}

}  // namespace

const std::vector<CoremlOperator>& coreml_operators_to_try() {
  static const std::vector<CoremlOperator> kOperators = [] {
    std::vector<CoremlOperator> list;
    for (const auto family : mil::all_rows())
      for (const mil::OpRow& row : family) list.push_back(operator_of(row));
    return list;
  }();
  return kOperators;
}

// --- values --------------------------------------------------------------------------------------

const CoremlProgram::Known* CoremlProgram::any_known(Known::Kind kind) {
  std::vector<const Known*> fitting;
  for (const Known& known : known_)
    if (known.kind == kind) fitting.push_back(&known);
  if (fitting.empty()) return nullptr;
  return random_.chance(60) ? fitting.back() : random_.one_of(fitting);
}

// An operation `const`, or the value itself as the operand; in the weight file, where there is one.
coreml::Binding CoremlProgram::constant(coreml::Value value) {
  if (weights_ != nullptr && value.type.kind == ValueType::Kind::Tensor && random_.chance(40) &&
      value.strings.empty() && coreml::bits_of(value.type.element) > 0) {
    uint64_t count = 1;
    for (const int64_t dim : value.type.dims) count *= static_cast<uint64_t>(dim);
    value.weight = weights_->add(value.type.element, static_cast<int64_t>(count), value.data);
    if (values_.odd(2))
      value.weight->offset +=
          static_cast<uint64_t>(random_.one_of<int64_t>({1, 64, -64, 1 << 20, -1}));
    if (values_.odd(2)) value.weight->file = random_.one_of({"@model_path/../x", "x", ""});
  }
  if (random_.chance(45)) return {"", std::make_shared<coreml::Value>(std::move(value))};
  coreml::Operation op;
  op.type = "const";
  op.outputs = {{new_name(), value.type}};
  op.attributes.emplace_back("val", std::move(value));
  operations_.push_back(std::move(op));
  return {operations_.back().outputs.front().name, nullptr};
}

std::string CoremlProgram::input(DataType type, const std::vector<int64_t>& dims) {
  coreml::NamedType input{new_name(), ValueType::tensor(type, values_.declared_dims(dims))};
  if (values_.odd(3)) input.type = values_.any_value_type();
  known_.push_back({input.name, input.type});
  inputs_.push_back(std::move(input));
  return known_.back().name;
}

coreml::Binding CoremlProgram::tensor(DataType type, const std::vector<int64_t>& dims,
                                      bool computed) {
  if (computed) return {input(type, dims), nullptr};
  return constant(values_.tensor(type, dims));
}

void CoremlProgram::add_list() {
  const auto& all = coreml_operators_to_try();
  const auto make = std::ranges::find(all, "make_list", [](const auto& op) { return op.row->op; });
  add_operation(*make);
}

std::string CoremlProgram::state() {
  ValueType type;
  type.kind = ValueType::Kind::State;
  type.nested = {ValueType::tensor(values_.usual_real(), values_.dims(values_.any_rank()))};
  if (values_.odd(6)) type.nested = {values_.any_value_type()};
  const std::string name = new_name();
  inputs_.push_back({name, type});
  known_.push_back({name, type, Known::Kind::State});
  return name;
}

// --- operands ------------------------------------------------------------------------------------

// Types and shapes that some parameters must have; the caller's stay for all others.
bool CoremlProgram::hinted_dims(std::string_view op, std::string_view parameter, DataType& type,
                                std::vector<int64_t>& dims) {
  const int64_t s = values_.usual_size();
  const std::vector<int64_t> like = first_.dims;
  const std::vector<int64_t> ones(like.size(), 1);
  const int64_t gates = op == "lstm" ? 4 : op == "gru" ? 3 : 1;
  if (op.starts_with("constexpr")) {
    using enum DataType;
    if (is_one_of(parameter, {"quantized_data", "data", "nonzero_data"}))
      type = random_.one_of({Int8, UInt8, Int4, UInt4, Float16, UInt2});
    if (is_one_of(parameter, {"indices", "indices_nonzero_data"}))
      type = random_.one_of({UInt1, UInt2, UInt3, UInt4, UInt6, UInt8});
    if (is_one_of(parameter, {"mask", "data_mask", "indices_mask"})) type = UInt1;
    if (is_one_of(parameter, {"nonzero_data", "indices_nonzero_data"})) {
      int64_t count = 1;
      for (const int64_t dim : has_first_ ? like : values_.dims(2))
        count *= std::max<int64_t>(dim, 0);
      dims = {has_first_ ? count : s * s};
    }
    if (parameter == "lut") {
      const auto entries = random_.one_of<int64_t>({2, 4, 8, 16, 64, 256, 3});
      dims = opset_ < 8 ? std::vector<int64_t>{} : ones;
      dims.push_back(entries);
      if (opset_ >= 8) dims.push_back(random_.one_of<int64_t>({1, 1, 1, 2, 0}));
      type = values_.usual_real();
    }
    if (is_one_of(parameter, {"scale", "offset", "zero_point"})) {
      dims = op.ends_with("dequantize") ? std::vector<int64_t>(random_.index(2), s) : like;
      for (int64_t& dim : dims)
        if (dims.size() > 1 && random_.chance(50)) dim = 1;
      type = parameter == "scale" ? values_.usual_real() : first_.element;
    }
    return true;
  }
  if (op == "dequantize" && parameter != "scale") {
    type =
        parameter == "input" ? random_.one_of({DataType::Int8, DataType::UInt8}) : first_.element;
    if (parameter == "zero_point") dims = {};
  } else if (op == "quantize" && parameter == "zero_point") {
    type = random_.one_of({DataType::Int8, DataType::UInt8});
    dims = {};
  } else if (is_one_of(parameter, {"scale"})) {
    type = values_.usual_real();
    dims = {};
  } else if (is_one_of(parameter,
                       {"gamma", "beta", "mean", "variance", "bias", "alpha", "quant_scale"}))
    dims = {op == "lstm" || op == "gru" ? gates * s : s};
  else if (parameter.starts_with("weight_"))
    dims = {gates * s, s};
  else if (parameter.starts_with("initial_"))
    dims = {s, s};
  else if (parameter == "weight" && op == "linear")
    dims = {s, s};
  else if (is_one_of(parameter, {"on_value", "off_value"})) {
    type = values_.usual_real();
    dims = {};
  } else if (parameter == "value" && op.starts_with("list_")) {
    dims = elements_;
    if (op == "list_scatter") dims.insert(dims.begin(), s);
  } else if (is_one_of(parameter, {"indices", "box_indices", "lengths"})) {
    type = DataType::Int32;
    if (parameter == "lengths" || random_.chance(60)) dims = {s};
    if (op.ends_with("_nd") && random_.chance(80)) dims = {s, 1};
    if (op.ends_with("along_axis")) dims = like;
  } else if (parameter == "boxes" || parameter == "scores")
    dims = op == "crop_resize" ? std::vector<int64_t>{s, 4} : std::vector<int64_t>{1, 4, 4};
  else if (parameter == "roi")
    dims = {s, 1, random_.pick(4, 5), 1, 1};
  else if (parameter == "coordinates")
    dims = {s, s, s, 2};
  else if (parameter == "transform_matrix")
    dims = {s, 6};
  else if (is_one_of(parameter, {"one_hot_vector_size", "index", "k"}))
    type = DataType::Int32, dims = {};
  else if (parameter == "pred")
    type = DataType::Bool, dims = {};
  else if (is_one_of(parameter, {"start", "end", "step"}))
    dims = {};
  else
    return false;
  return true;
}

// Lists of integers that have a good chance to be taken.
std::vector<int64_t> CoremlProgram::numbers_for(std::string_view op, std::string_view parameter) {
  const auto rank = static_cast<int64_t>(first_.dims.size());
  const int64_t spatial = std::max<int64_t>(rank - 2, 0);
  int64_t length = random_.chance(90) ? rank : random_.pick(0, 6);
  int64_t low = -1, high = 4;
  if (is_one_of(parameter, {"strides", "dilations", "kernel_sizes"})) length = spatial, low = 1;
  if (is_one_of(parameter, {"pad", "axes", "crop_height", "crop_width", "paddings", "crops"}))
    length = parameter == "pad" ? 2 * (op == "pad" ? rank : spatial) : 2, low = 0, high = 2;
  if (is_one_of(parameter, {"reps", "shape", "resized_dims"})) low = 0;
  if (is_one_of(parameter, {"paddings", "crops"})) length = 4;
  if (parameter == "split_sizes") length = 2, low = 1, high = 2;
  if (op == "reshape_like") length = operands_;
  if (parameter.ends_with("mask") || parameter.ends_with("masks")) low = 0, high = 1;
  if (parameter == "axes") length = random_.pick(0, 2), low = -rank, high = rank - 1;
  if (values_.odd(16)) length = random_.pick(0, 7);
  std::vector<int64_t> numbers;
  for (int64_t i = 0; i < length; ++i)
    numbers.push_back(!values_.odd(12) ? random_.pick(low, std::max(low, high)) : values_.number());
  if (parameter == "perm" && random_.chance(70)) {
    for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<int64_t>(i);
    for (size_t i = numbers.size(); i > 1; --i)
      std::swap(numbers[i - 1], numbers[random_.index(i)]);
  }
  // The shape that the operand has, or what is left of it.
  if (parameter.ends_with("shape") && random_.chance(60)) numbers = first_.dims;
  if (parameter == "shape" && random_.chance(30)) numbers = {-1};
  return numbers;
}

std::string CoremlProgram::equation() {
  const auto rank =
      static_cast<size_t>(std::min<int64_t>(static_cast<int64_t>(first_.dims.size()), 8));
  std::string all;
  for (int64_t i = 0; i < operands_; ++i) {
    std::string letters = std::string("abcdefgh").substr(0, rank);
    for (char& letter : letters)
      if (random_.chance(20)) letter = static_cast<char>('a' + random_.pick(0, 8));
    all += (i > 0 ? "," : "") + letters;
  }
  if (random_.chance(20)) return all;
  std::string result = all.substr(0, random_.index(rank + 1));
  if (values_.odd(10)) result += random_.one_of({"z", "a", "...", ",", "->"});
  return all + "->" + result;
}

std::string CoremlProgram::text_for(const CoremlOperator& op, std::string_view parameter) {
  using List = std::vector<std::string>;
  static const std::map<std::string_view, List> kUsual = {
      {"coordinates_mode",
       {"unnormalized", "normalized_minus_one_to_one", "normalized_zero_to_one"}},
      {"padding_mode", {"constant", "border", "reflection", "symmetric"}},
      {"direction", {"forward", "reverse", "bidirectional"}},
      {"pad_type", {"valid", "same", "same_lower", "custom", "custom"}},
      {"quantization_type", {"linear"}},
      {"interpolation_mode", {"LINEAR", "NEAREST_NEIGHBOR"}},
      {"mode", {"constant", "reflect", "replicate", "probs", "logits", "EXACT", "add", "update"}}};
  if (parameter == "sampling_mode" && is_one_of(op.row->op, {"affine", "resample"}))
    return random_.one_of({"bilinear", "nearest"});
  if (parameter == "equation" && !values_.odd(20)) return equation();
  if (const auto usual = kUsual.find(parameter);
      usual != kUsual.end() && random_.chance(85) && (parameter != "mode" || op.words.empty()))
    return random_.one_of(usual->second);
  if (!op.words.empty() && random_.chance(90)) return std::string(random_.one_of(op.words));
  return random_.one_of({"", "nosuch", "valid", "constant", "ij,jk->ik", "...i->...",
                         "nchw,nwhu->nchu", "i,i->", "ii->i", "->"});
}

coreml::Binding CoremlProgram::tensor_operand(const CoremlOperator& op,
                                              std::string_view parameter) {
  const std::string_view name = op.row->op;
  // Sizes, places and counts are integers that are known, most of the time.
  if (is_one_of(parameter, {"shape", "reps", "begin", "end", "size", "pad", "block_shape",
                            "paddings", "crops", "k"}) &&
      name != "range_1d" && random_.chance(93)) {
    coreml::Value list = values_.integers(numbers_for(name, parameter));
    if (parameter == "block_shape")
      list = values_.integers({random_.pick(1, 3), random_.pick(1, 2)});
    if (is_one_of(parameter, {"paddings", "crops"}) && list.data.size() % 16 == 0)
      list.type.dims = {static_cast<int64_t>(list.data.size() / 8), 2};
    if (parameter == "k" && random_.chance(80)) list = values_.integer(random_.pick(-1, 4));
    return constant(std::move(list));
  }
  DataType type = has_first_ && !values_.odd(10) ? first_.element : values_.any_type();
  std::vector<int64_t> dims = has_first_ ? first_.dims : values_.dims(values_.any_rank());
  for (int64_t& dim : dims)
    if (dim < 0 || dim > 64) dim = values_.usual_size();
  if (!has_first_ && is_about_images(name) && random_.chance(85)) {
    dims = values_.dims(random_.chance(80) ? 4 : random_.pick(3, 5));
    type = values_.usual_real();
  }
  if (!has_first_ && needs_sequence(name)) {
    dims = values_.dims(3);
    type = values_.usual_real();
  }
  if (values_.odd(6)) dims = values_.dims(values_.any_rank());
  const bool stored = name.starts_with("constexpr") && random_.chance(95);
  if (!values_.odd(8) && hinted_dims(name, parameter, type, dims)) {
    if (!stored || !parameter.ends_with("mask") || random_.chance(15))
      return tensor(type, dims, !stored && random_.chance(40));
    // All ones: then the numbers of elements fit.
    if (opset_ < 8) {
      type = DataType::UInt8;
      dims = {(first_.dims.empty() ? 1 : first_.dims[0] + 7) / 8};
    }
    coreml::Value mask = values_.tensor(type, dims);
    mask.data = Blob::copy_of(std::span<const char>(std::string(mask.data.size(), '\xFF')));
    return constant(std::move(mask));
  }
  // What is there already, of the same type where there is some.
  const bool fresh = !has_first_ && (is_about_images(name) || needs_sequence(name));
  if (!stored && random_.chance(has_first_ ? 50 : fresh ? 8 : 65))
    for (int tries = 0; tries < 6; ++tries) {
      const Known* known = any_known(Known::Kind::Tensor);
      if (known == nullptr) break;
      if (!has_first_ || known->type.element == first_.element || values_.odd(8))
        return {known->name, nullptr};
    }
  return tensor(type, dims, !stored && random_.chance(has_first_ ? 40 : 75));
}

// The operands behind the first one are made to fit it.
void CoremlProgram::fit_first(const coreml::Binding& binding) {
  if (has_first_) return;
  if (binding.literal != nullptr) first_ = binding.literal->type;
  for (const Known& known : known_)
    if (known.name == binding.name) first_ = known.type;
  for (const coreml::Operation& op : operations_)
    if (op.type == "const" && op.outputs[0].name == binding.name) first_ = op.outputs[0].type;
  if (first_.kind == ValueType::Kind::State && first_.nested.size() == 1) {
    const ValueType held = first_.nested.front();
    first_ = held;
  }
  has_first_ = first_.kind == ValueType::Kind::Tensor && first_.element != DataType::Unused;
  if (!has_first_) first_ = {};
}

CoremlProgram::Operands CoremlProgram::operand(const CoremlOperator& op,
                                               const CoremlParameter& parameter) {
  Kind kind = random_.one_of(parameter.kinds);
  if (values_.odd(3)) kind = static_cast<Kind>(random_.index(10));
  if (values_.odd(2)) return {constant(values_.odd_value())};
  if (values_.odd(1)) return {{"nosuch", nullptr}};
  const auto rank = static_cast<int64_t>(first_.dims.size());
  switch (kind) {
    case Kind::Tensor:
      return {tensor_operand(op, parameter.name)};
    case Kind::Tensors: {
      Operands all;
      for (int64_t i = values_.odd(8) ? 0 : random_.pick(1, 3); i > 0; --i) {
        all.push_back(tensor_operand(op, "x"));
        fit_first(all.back());
      }
      operands_ = static_cast<int64_t>(all.size());
      return all;
    }
    case Kind::Integer:
      if (parameter.name.ends_with("axis") && !values_.odd(30))
        return {constant(values_.integer(random_.pick(-rank, rank > 0 ? rank - 1 : 0)))};
      if (parameter.name == "nbits" && !values_.odd(30)) return {constant(values_.integer(8))};
      if (parameter.name == "num_splits" && !values_.odd(30)) return {constant(values_.integer(2))};
      return {
          constant(values_.integer(random_.chance(80) ? random_.pick(1, 2) : values_.number()))};
    case Kind::Integers:
      if (parameter.name == "elem_shape" && !values_.odd(20)) {
        elements_ = values_.dims(random_.pick(0, 3));
        return {constant(values_.integers(elements_))};
      }
      return {constant(values_.integers(numbers_for(op.row->op, parameter.name)))};
    case Kind::Number:
      return {constant(values_.number_of(values_.usual_real(), values_.real()))};
    case Kind::Flag:
      return {constant(values_.flag(random_.chance(50)))};
    case Kind::Text:
      return {constant(values_.text(text_for(op, parameter.name)))};
    case Kind::TypeName:
      to_ = values_.any_type();
      if (op.row->op == "quantize" && !values_.odd(20))
        to_ = random_.one_of({DataType::Int8, DataType::UInt8});
      return {constant(values_.text(std::string(coreml::name_of(to_))))};
    case Kind::List:
      if (const Known* known = any_known(Known::Kind::List)) return {{known->name, nullptr}};
      return {tensor_operand(op, parameter.name)};
    case Kind::State:
      if (const Known* known = any_known(Known::Kind::State)) return {{known->name, nullptr}};
      return {{state(), nullptr}};
  }
  return {};
}

}  // namespace ec::fuzz
