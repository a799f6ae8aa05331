#include "fuzz/op/torch_calls.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <fstream>

#include "frontend/torch/aten/operators.h"
#include "frontend/torch/aten/schema.h"
#include "frontend/torch/aten/table.h"
#include "ops/convert.h"

namespace ec::fuzz {

using nlohmann::json;

// An argument of a signature: of a class of this file, so that the header needs none of the reader.
struct SignatureArgument {
  const torch::SchemaArg& schema;
};

namespace {

constexpr int64_t kMostElements = 4096;

// "inf" and its kin are numbers that JSON has no words for.
void read_numbers(json& value) {
  if (value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    if (text == "inf")
      value = HUGE_VAL;
    else if (text == "-inf")
      value = -HUGE_VAL;
    else if (text == "nan")
      value = std::nan("");
  } else if (value.is_structured()) {
    for (json& item : value) read_numbers(item);
  }
}

// What PyTorch was asked when its results were recorded for the tests of the operators.
const std::vector<json>& recorded_rows() {
  static const std::vector<json> kRows = [] {
    std::ifstream file(EC_RECORDED_MODELS "/torch/operators.json");
    const json rows = json::parse(file, nullptr, false);
    std::vector<json> read;
    if (rows.is_array()) read.assign(rows.begin(), rows.end());
    for (json& row : read) read_numbers(row);
    return read;
  }();
  return kRows;
}

std::string without_overload(const std::string& name) {
  const size_t colons = name.find("::");
  return name.substr(0, name.find('.', colons == std::string::npos ? 0 : colons));
}

bool gives_tensor(const torch::Operator& op) {
  const std::string_view text = op.row->schema;
  return text.ends_with("-> Tensor") || text.ends_with("-> Tensor(a)");
}

// The value, or one of the values in it.
json& any_part(json& value, RandomSource& random) {
  json* at = &value;
  while (at->is_array() && !at->empty() && random.chance(70)) {
    auto item = at->begin();
    std::advance(item, static_cast<std::ptrdiff_t>(random.index(std::min<size_t>(at->size(), 6))));
    at = &*item;
  }
  return *at;
}

}  // namespace

TorchCalls::TorchCalls(RandomSource& random)
    : random_(random), rows_(recorded_rows()), tame_(random.chance(50)) {
  for (int64_t d = random_.pick(0, 4); d > 0; --d) usual_.push_back(random_.pick(1, 5));
}

const std::string& TorchCalls::any_name() {
  static const std::vector<std::string> kNames = [] {
    std::vector<std::string> names;
    for (const std::string_view name : torch::operator_names()) names.emplace_back(name);
    return names;
  }();
  return random_.one_of(kNames);
}

int64_t TorchCalls::number() {
  if (tame_) return random_.chance(90) ? random_.pick(0, 3) : -1;
  if (random_.chance(82)) return random_.pick(-2, 5);
  return random_.one_of<int64_t>(
      {INT64_MIN, INT64_MAX, INT64_MAX - 1, INT64_MIN + 1, int64_t{1} << 62, int64_t{1} << 40,
       int64_t{1} << 32, int64_t{1} << 31, -(int64_t{1} << 31), 1000, -1000, 65536, 1 << 20});
}

double TorchCalls::real() {
  if (tame_) return static_cast<double>(random_.pick(1, 8)) / 4;
  if (random_.chance(75)) return static_cast<double>(random_.pick(-8, 8)) / 4;
  return random_.one_of<double>({0.0, -0.0, 1e300, -1e300, 1e30, 1e-300, 0x1p63, -0x1p63, 4e9,
                                 1e-45, HUGE_VAL, -HUGE_VAL, std::nan("")});
}

int64_t TorchCalls::element_type() {
  if (random_.chance(70)) return 6;
  if (tame_ || random_.chance(80)) return random_.one_of<int64_t>({4, 4, 3, 11, 0, 1, 5, 7, 2, 15});
  return random_.pick(-1, 46);
}

std::vector<int64_t> TorchCalls::shape() {
  std::vector<int64_t> sizes = usual_;
  if (random_.chance(55)) return sizes;
  if (random_.chance(40)) {  // one that can be spread over it
    for (int64_t& size : sizes)
      if (random_.chance(50)) size = 1;
    if (!sizes.empty() && random_.chance(40)) sizes.erase(sizes.begin());
    return sizes;
  }
  sizes.clear();
  for (int64_t d = random_.pick(0, random_.chance(80) ? 4 : 6); d > 0; --d)
    sizes.push_back(random_.chance(4) ? 0
                    : wrong(1)        ? random_.one_of<int64_t>(
                                     {1 << 16, int64_t{1} << 31, int64_t{1} << 40, INT64_MAX})
                               : random_.pick(1, 5));
  return sizes;
}

json TorchCalls::tensor() {
  json made = {{"t", element_type()}, {"s", shape()}};
  if (random_.chance(25)) made["known"] = true;
  return made;
}

json TorchCalls::plain(int depth) {
  static const std::vector<std::string> kTexts = {
      "",          "none",     "mean",     "sum",     "floor",   "trunc", "constant", "reflect",
      "replicate", "circular", "bilinear", "nearest", "bicubic", "tanh",  "ij",       "ij,jk->ik",
      "...i->...", "ab->ba",   "cpu",      "linear",  "max",     "amax",  "prod",     "same",
      "valid",     "{} {}",    "%d",       "fro",     "nuc",     "inf",   "nosuch"};
  switch (random_.pick(0, depth > 2 ? 4 : 6)) {
    case 0:
      return real();
    case 1:
      return random_.one_of(kTexts);
    case 2:
      return random_.chance(50);
    case 3:
      return nullptr;
    case 4:
      return number();
    default: {
      json list = json::array();
      for (int64_t i = random_.pick(0, 4); i > 0; --i)
        list.push_back(random_.chance(60) ? json(number()) : plain(depth + 1));
      return list;
    }
  }
}

json TorchCalls::argument(const SignatureArgument& arg, bool quantised) {
  using Base = torch::ArgType::Base;
  const torch::ArgType& type = arg.schema.type;
  if (wrong(5)) return random_.chance(50) ? plain() : tensor();
  if (type.optional && random_.chance(35)) return nullptr;
  const auto one = [&]() -> json {
    switch (type.base) {
      case Base::Tensor:
        return wrong(8) ? plain() : tensor();
      case Base::Int:
        if (arg.schema.name.find("dtype") != std::string::npos) return element_type();
        if (!wrong(20) && arg.schema.name.find("dim") != std::string::npos)
          return random_.pick(-1, std::max<int64_t>(static_cast<int64_t>(usual_.size()) - 1, 0));
        return number();
      case Base::Float:
        return real();
      case Base::Bool:
        return random_.chance(50);
      case Base::Scalar:
        return random_.chance(50) ? json(number()) : json(real());
      case Base::Str: {
        json text = plain();
        for (int i = 0; i < 20 && !text.is_string(); ++i) text = plain();
        return text;
      }
      default:
        if (quantised)
          return {{"packed",
                   random_.one_of<std::string>({"linear", "conv1d", "conv2d", "conv3d", "cell"})}};
        return random_.chance(60) ? json() : plain();
    }
  };
  if (!type.list) return one();
  if (type.list_size > 0 && random_.chance(20)) return one();
  json list = json::array();
  const int64_t length = type.list_size > 0 && !wrong(25)
                             ? type.list_size
                             : random_.pick(random_.chance(90) ? 1 : 0, 4);
  for (int64_t i = 0; i < length; ++i)
    list.push_back(type.optional_items && random_.chance(30) ? json() : one());
  return list;
}

TorchCall TorchCalls::from_signature(const std::string& name) {
  const auto overloads = torch::find_operators(name);
  TorchCall call;
  call.name = name;
  if (overloads.empty()) return call;
  const torch::Operator& op = overloads[random_.index(overloads.size())];
  const torch::Schema& schema = op.schema;
  call.gives_tensor = gives_tensor(op);
  call.overload = schema.overload;
  call.num_results = schema.num_results;
  bool in_order = true;
  for (const torch::SchemaArg& arg : schema.args) {
    if (arg.fallback && random_.chance(arg.keyword_only ? 70 : 35)) {
      in_order = false;
      continue;
    }
    if (wrong(2)) continue;  // one that is missing
    json value = argument({arg}, name.starts_with("quantized::"));
    if (in_order && !arg.keyword_only) {
      call.args.push_back(std::move(value));
      call.arg_names.push_back(arg.name);
    } else {
      call.kwargs.emplace_back(arg.name, std::move(value));
    }
  }
  return call;
}

// One number, shape, type or item is another one.
void TorchCalls::disturb(json& value) {
  json& part = any_part(value, random_);
  if (is_tensor(part)) {
    switch (random_.pick(0, 4)) {
      case 0:
        part["t"] = element_type();
        break;
      case 1:
        part = tensor();
        break;
      case 2:
        part["known"] = !part.contains("known");
        break;
      default: {
        json& sizes = part["s"];
        if (sizes.empty() || random_.chance(25))
          sizes.push_back(random_.pick(0, 3));
        else if (random_.chance(30))
          sizes.erase(sizes.begin());
        else
          sizes[random_.index(sizes.size())] = random_.pick(0, 6);
      }
    }
    part.erase("v");
    return;
  }
  if (part.is_array() && random_.chance(70)) {
    if (!part.empty() && random_.chance(40))
      part.erase(part.begin() + static_cast<std::ptrdiff_t>(random_.index(part.size())));
    else
      part.push_back(part.empty() ? plain() : json(part[random_.index(part.size())]));
    return;
  }
  if (part.is_number_integer() && random_.chance(85))
    part = number();
  else if (part.is_number() && random_.chance(85))
    part = real();
  else
    part = random_.chance(80) ? plain() : tensor();
}

TorchCall TorchCalls::call(const std::string& name) {
  std::vector<const json*> rows;
  if (random_.chance(70))
    for (const json& row : rows_)
      if (without_overload(row["op"].get<std::string>()) == name) rows.push_back(&row);
  if (rows.empty()) return from_signature(name);
  const json& row = *random_.one_of(rows);
  TorchCall call;
  call.name = name;
  const auto full = row["op"].get<std::string>();
  if (full.size() > name.size()) call.overload = full.substr(name.size() + 1);
  json args = row["args"], kwargs = row["kwargs"];
  if (random_.chance(tame_ ? 50 : 90))
    for (int64_t i = random_.pick(1, tame_ ? 1 : 2); i > 0; --i) {
      json& list = kwargs.empty() || random_.chance(75) ? args : kwargs;
      if (list.empty()) continue;
      auto item = list.begin();
      std::advance(item, static_cast<std::ptrdiff_t>(random_.index(list.size())));
      disturb(*item);
    }
  if (args.is_array())
    for (json& arg : args) call.args.push_back(std::move(arg));
  if (kwargs.is_object())
    for (const auto& [key, value] : kwargs.items()) call.kwargs.emplace_back(key, value);
  for (const torch::Operator& op : torch::find_operators(name)) {
    if (op.schema.overload != call.overload) continue;
    for (const torch::SchemaArg& arg : op.schema.args) call.arg_names.push_back(arg.name);
    call.num_results = op.schema.num_results;
    call.gives_tensor = gives_tensor(op);
    break;
  }
  return call;
}

size_t torch_element_size(int64_t type) {
  const auto dtype = torch::dtype_of_scalar_type(type);
  if (dtype.ok()) return element_size(*dtype);
  return type >= 8 && type <= 10 ? size_t{4} << (type - 8) : 0;
}

bool torch_tensor_is_small(const json& tensor) {
  int64_t count = 1;
  for (const json& size : tensor["s"]) {
    const auto n = size.is_number_integer() ? size.get<int64_t>() : -1;
    if (n < 0 || n > kMostElements) return false;
    if ((count *= n) > kMostElements) return false;
  }
  return true;
}

std::string torch_tensor_bytes(const json& tensor, RandomSource& random) {
  const auto type = tensor["t"].get<int64_t>();
  std::vector<int64_t> sizes;
  size_t count = 1;
  for (const json& size : tensor["s"]) {
    sizes.push_back(size.get<int64_t>());
    count *= static_cast<size_t>(sizes.back());
  }
  std::string bytes(count * torch_element_size(type), '\0');
  const auto dtype = torch::dtype_of_scalar_type(type);
  if (!dtype.ok() || count == 0) return bytes;
  std::vector<double> values;
  const json* given = tensor.contains("v") && tensor["v"].is_array() ? &tensor["v"] : nullptr;
  for (size_t i = 0; i < count; ++i) {
    if (given != nullptr && i < given->size() && (*given)[i].is_number())
      values.push_back((*given)[i].get<double>());
    else if (given != nullptr && i < given->size() && (*given)[i].is_boolean())
      values.push_back((*given)[i].get<bool>() ? 1 : 0);
    else if (random.chance(97))
      values.push_back(static_cast<double>(random.pick(-2, 5)));
    else
      values.push_back(random.one_of<double>({100, -100, 1e9, -1e9}));
    if (*dtype == DType::Bool) values.back() = values.back() != 0 ? 1 : 0;
  }
  Buffer buffer = Buffer::allocate(bytes.size());
  store<double>(MutableView{*dtype, sizes, buffer.data(), nullptr}, values);
  std::memcpy(bytes.data(), buffer.data(), bytes.size());
  return bytes;
}

}  // namespace ec::fuzz
