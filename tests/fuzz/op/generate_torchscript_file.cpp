// TorchScript archives: programs of calls of the importer's own operators and functions, with
// branches, loops, functions, lists, writes in place and attributes of every kind.
#include <fmt/format.h>

#include <cmath>

#include "frontend/torch/archive_builder.h"
#include "frontend/torch/script/builtins.h"
#include "fuzz/op/generate.h"
#include "fuzz/op/torch_calls.h"

namespace ec::fuzz {
namespace {

using nlohmann::json;
namespace pickles = torch::testing;

constexpr int kMostDepth = 3;

std::string long_integer(int64_t value) { return "\x8a\x08" + pickles::little_endian(value); }

std::string real_literal(double value) {
  if (std::isnan(value)) return "float(\"nan\")";
  if (std::isinf(value)) return value > 0 ? "float(\"inf\")" : "float(\"-inf\")";
  std::string text = fmt::format("{}", value);
  return text.find_first_of(".e") == std::string::npos ? text + "." : text;
}

// Attributes of the module, as its pickle has them.
class Attributes {
 public:
  Attributes(RandomSource& random, TorchCalls& calls) : random_(random), calls_(calls) {}

  std::string add(std::string pickled) {
    const std::string name = "a" + std::to_string(items.size());
    items.emplace_back(name, std::move(pickled));
    return "self." + name;
  }
  std::string tensor(const json& value) { return add(pickled_tensor(value, false)); }
  std::string packed(const std::string& kind, const json& weight, const json& bias) {
    const auto object = [](const std::string& type, const std::string& state) {
      return pickles::global("__torch__.torch.classes.quantized", type) + ")\x81" + state + "b";
    };
    const auto linear = [&] {
      return object("LinearPackedParamsBase",
                    pickles::tuple({pickled_tensor(weight, true), optional(bias)}));
    };
    if (kind == "linear") return add(linear());
    if (kind == "cell") {
      const std::string weights = linear() + linear();
      return add(object("CellParamsBase",
                        pickles::tuple({pickles::text("quantized_dynamic"),
                                        "](" + optional(bias) + optional(bias) + "e", "]",
                                        "](\x88" + std::string("e"), "](" + weights + "e"})));
    }
    const int64_t rank = kind[4] - '0';
    json settings = {{"t", 2}, {"s", {4 * rank + 3}}, {"v", json::array()}};
    settings["v"].push_back(rank);
    for (int64_t i = 0; i < 4 * rank; ++i)
      settings["v"].push_back(i < rank || (i >= 2 * rank && i < 3 * rank) ? random_.pick(1, 2)
                                                                          : random_.pick(0, 1));
    settings["v"].push_back(random_.chance(80) ? 1 : random_.pick(-1, 3));
    settings["v"].push_back(random_.chance(30) ? 1 : 0);
    if (calls_.wrong(30))
      settings["v"][1 + random_.index(settings["v"].size() - 1)] = random_.pick(-2, 40);
    std::string type = kind + "PackedParamsBase";
    type[0] = 'C';
    return add(object(type, pickles::tuple({pickles::text("2"),
                                            "](" + pickled_tensor(settings, false) +
                                                pickled_tensor(weight, true) + "e",
                                            "](" + optional(bias) + "e"})));
  }

  std::vector<std::pair<std::string, std::string>> items;
  pickles::Records records;

 private:
  std::string optional(const json& value) {
    return value.is_null() ? "N" : pickled_tensor(value, false);
  }

  // Strides that fit the shape, or any; views of a part of the storage.
  std::string pickled_tensor(const json& value, bool quantised) {
    static const std::vector<std::pair<int64_t, std::string>> kStorages = {
        {0, "Byte"},  {1, "Char"},      {2, "Short"},       {3, "Int"},
        {4, "Long"},  {5, "Half"},      {6, "Float"},       {7, "Double"},
        {11, "Bool"}, {15, "BFloat16"}, {9, "ComplexFloat"}};
    json tensor = value;
    if (!torch_tensor_is_small(tensor)) {
      tensor["s"] = {2, 3};
      tensor.erase("v");
    }
    std::string storage = "FloatStorage";
    bool is_known = false;
    for (const auto& [type, name] : kStorages)
      if (tensor["t"] == type) {
        storage = name + "Storage";
        is_known = true;
      }
    if (!is_known) tensor["t"] = 6;
    if (quantised) {
      tensor["t"] = 1;
      storage = "QInt8Storage";
    }
    const std::string bytes = torch_tensor_bytes(tensor, random_);
    const std::string key = std::to_string(records.size());
    records.emplace_back("m/data/" + key, bytes);
    std::vector<int64_t> sizes = tensor["s"].get<std::vector<int64_t>>(), strides(sizes.size(), 1);
    for (size_t d = sizes.size(); d-- > 1;)
      strides[d - 1] = strides[d] * std::max<int64_t>(sizes[d], 1);
    int64_t count =
        static_cast<int64_t>(bytes.size() / std::max<size_t>(torch_element_size(tensor["t"]), 1));
    int64_t offset = 0;
    const auto hostile = [&] {
      return random_.one_of<int64_t>(
          {0, 1, -1, 2, 7, INT64_MAX, INT64_MIN, int64_t{1} << 62, int64_t{1} << 32});
    };
    if (!strides.empty() && calls_.wrong(8)) strides[random_.index(strides.size())] = hostile();
    if (!strides.empty() && calls_.wrong(1)) strides.pop_back();
    if (!sizes.empty() && calls_.wrong(2)) sizes[random_.index(sizes.size())] = hostile();
    if (calls_.wrong(2)) offset = hostile();
    if (calls_.wrong(2)) count = hostile();
    const auto numbers = [](const std::vector<int64_t>& list) {
      std::vector<std::string> pickled;
      for (const int64_t item : list) pickled.push_back(long_integer(item));
      return pickles::tuple(pickled);
    };
    const std::string id =
        pickles::tuple({pickles::text("storage"), pickles::global("torch", storage),
                        pickles::text(key), pickles::text("cpu"), long_integer(count)}) +
        "Q";
    std::vector<std::string> arguments = {id, long_integer(offset), numbers(sizes),
                                          numbers(strides)};
    if (quantised) arguments.push_back(parameters(sizes));
    arguments.insert(arguments.end(),
                     {"\x89", pickles::global("collections", "OrderedDict") + ")R"});
    return pickles::global("torch._utils", quantised ? "_rebuild_qtensor" : "_rebuild_tensor_v2") +
           pickles::tuple(arguments) + "R";
  }

  std::string parameters(const std::vector<int64_t>& sizes) {
    const auto real = [](double value) {
      std::string bytes = pickles::little_endian(value);
      return "G" + std::string(bytes.rbegin(), bytes.rend());
    };
    const double scale = !calls_.wrong(15) ? 0.5 : random_.one_of({0.0, -1.0, 1e-300, 1e300});
    const int64_t zero = !calls_.wrong(15) ? random_.pick(-3, 3) : int64_t{1} << 40;
    if (sizes.empty() || random_.chance(60))
      return pickles::tuple(
          {pickles::global("torch", "per_tensor_affine"), real(scale), long_integer(zero)});
    const auto axis = random_.chance(90) ? 0 : random_.pick(-2, 5);
    const int64_t length = random_.chance(90) ? sizes[0] : random_.pick(0, 4);
    const json scales = {{"t", 7}, {"s", {length}}}, zeros = {{"t", 4}, {"s", {length}}};
    return pickles::tuple({pickles::global("torch", "per_channel_affine"),
                           pickled_tensor(scales, false), pickled_tensor(zeros, false),
                           long_integer(axis)});
  }

  RandomSource& random_;
  TorchCalls& calls_;
};

class ProgramGenerator {
 public:
  ProgramGenerator(RandomSource& random, Model& model)
      : random_(random), model_(model), calls_(random), attributes_(random, calls_) {}

  std::string generate(const std::string& subject) {
    subject_ = subject;
    if (random_.chance(30)) recursion_ = true;
    for (int64_t i = random_.chance(60) ? 0 : 1; i > 0; --i) statement(0);
    call(subject_);
    for (int64_t i = random_.pick(0, 2); i > 0; --i) statement(0);
    std::string results;
    for (const std::string& name : tensors_)
      if (results.empty() || random_.chance(50)) results += name + ", ";
    for (const std::string& name : plains_)
      if (results.empty() || random_.chance(15)) results += name + ", ";
    line(results.empty() ? "return " + operand(calls_.tensor()) : "return (" + results + ")");
    std::string parameters = "self: __torch__.M";
    for (const std::string& name : inputs_) parameters += ", " + name + ": Tensor";
    const std::string code = "class M(Module):\n  training : bool\n  def forward(" + parameters +
                             ") -> Tensor:\n" + body_ + helpers();
    return pickles::script_archive(code, attributes_.items, attributes_.records);
  }

 private:
  void line(const std::string& text) {
    body_ += std::string(static_cast<size_t>(4 + 2 * depth_), ' ') + text + "\n";
  }
  std::string fresh() { return "v" + std::to_string(count_++); }

  std::string helpers() const {
    return "  def again(self: __torch__.M, n: int) -> int:\n"
           "    return (self).again(torch.sub(n, 1), )\n"
           "  def counts(self: __torch__.M, n: int) -> int:\n"
           "    if torch.le(n, 0):\n      r = 0\n"
           "    else:\n      r = torch.add(n, (self).counts(torch.sub(n, 1), ))\n"
           "    return r\n"
           "  def doubled(self: __torch__.M, x: Tensor, n: int) -> Tensor:\n"
           "    if torch.le(n, 0):\n      y = x\n"
           "    else:\n      y = torch.cat([(self).doubled(x, torch.sub(n, 1), ), x])\n"
           "    return y\n";
  }

  // An operand: an input, an attribute, or what an earlier call gave.
  std::string operand(const json& tensor) {
    if (!tensors_.empty() && random_.chance(30)) return random_.one_of(tensors_);
    std::string name;
    const bool known = tensor.contains("known") || !torch_tensor_is_small(tensor) ? true : false;
    if (known || random_.chance(20)) {
      name = fresh();
      line(name + " = " + attributes_.tensor(tensor));
    } else {
      name = "x" + std::to_string(inputs_.size());
      inputs_.push_back(name);
      model_.input_shapes[name] = tensor["s"].get<std::vector<int64_t>>();
      if (tensor["t"] != 6) {
        const std::string cast = fresh();
        line(fmt::format("{} = torch.to({}, {})", cast, name, tensor["t"].get<int64_t>()));
        name = cast;
      }
    }
    if (random_.chance(quantised_ ? 60 : 3)) {
      const std::string integers = fresh();
      line(fmt::format("{} = torch.quantize_per_tensor({}, {}, {}, {})", integers, name,
                       real_literal(calls_.wrong(10) ? calls_.real() : 0.25),
                       calls_.wrong(10) ? calls_.number() : random_.pick(0, 3),
                       calls_.wrong(5) ? random_.pick(0, 15) : 13));
      name = integers;
    }
    if (random_.chance(40)) tensors_.push_back(name);
    return name;
  }

  std::string render(const json& value) {
    if (calls_.is_tensor(value)) return operand(value);
    if (value.is_object()) {
      const json weight = calls_.tensor(), bias = random_.chance(60) ? calls_.tensor() : json();
      return attributes_.packed(value["packed"], weight, bias);
    }
    if (!value.is_array() && random_.chance(3) && !plains_.empty()) return random_.one_of(plains_);
    if (value.is_number_integer()) {
      if (random_.chance(3) && !tensors_.empty()) {
        const std::string& x = random_.one_of(tensors_);
        return random_.chance(50) ? fmt::format("torch.size({}, {})", x, random_.pick(-2, 3))
                                  : fmt::format("int(torch.sum({}))", x);
      }
      return value.dump();
    }
    if (value.is_number()) return real_literal(value.get<double>());
    if (value.is_boolean()) return value.get<bool>() ? "True" : "False";
    if (value.is_null()) return "None";
    if (value.is_string()) return value.dump();
    std::string items;
    for (const json& item : value) items += (items.empty() ? "" : ", ") + render(item);
    return value.empty() || random_.chance(92) ? "[" + items + "]" : "(" + items + ",)";
  }

  static std::string function_name(const std::string& name) {
    const size_t colons = name.find("::");
    const std::string space = name.substr(0, colons), plain = name.substr(colons + 2);
    return space == "aten" ? "torch." + plain : "ops." + space + "." + plain;
  }

  void call(const std::string& name) {
    quantised_ = name.starts_with("quantized::");
    const TorchCall made = calls_.call(name);
    std::string arguments;
    const auto add = [&](const std::string& text) {
      arguments += (arguments.empty() ? "" : ", ") + text;
    };
    for (const json& arg : made.args) add(render(arg));
    for (const auto& [key, value] : made.kwargs) add(key + "=" + render(value));
    quantised_ = false;
    const std::string written = random_.chance(8) ? "_" : "";
    const std::string result = fresh();
    const std::string called = function_name(name) + written + "(" + arguments + ")";
    if (made.num_results > 1 && random_.chance(85)) {
      std::string targets;
      for (size_t i = 0; i < made.num_results; ++i) {
        targets += result + "_" + std::to_string(i) + ", ";
        if (made.num_results < 8) tensors_.push_back(result + "_" + std::to_string(i));
      }
      return line(targets + "= " + called);
    }
    line(result + " = " + called);
    (made.gives_tensor ? tensors_ : plains_).push_back(result);
    if (!made.gives_tensor && random_.chance(25)) {
      line(result + "_0 = " + result + "[" + std::to_string(random_.pick(-1, 1)) + "]");
      tensors_.push_back(result + "_0");
    }
  }

  // A function on numbers, texts and containers.
  void plain_call() {
    static const std::vector<std::vector<std::string>> kNames = [] {
      std::vector<std::vector<std::string>> names;
      for (const auto family :
           {torch::script::number_builtins(), torch::script::container_builtins(),
            torch::script::joining_builtins(), torch::script::text_builtins(),
            torch::script::environment_builtins()}) {
        names.emplace_back();
        for (const auto& builtin : family) names.back().emplace_back(builtin.name);
      }
      return names;
    }();
    const size_t family = random_.index(kNames.size());
    std::string arguments;
    // What the functions of a family are about comes first.
    if (family == 0)
      arguments = render(random_.chance(50) ? json(calls_.number()) : json(calls_.real()));
    if (family == 1)
      arguments = fmt::format(fmt::runtime(random_.one_of<const char*>(
                                  {"[{0}, {1}]", "[{0}]", "annotate(List[int], [])",
                                   "{{\"a\": {0}, \"b\": {1}}}", "({0}, {1})"})),
                              calls_.number(), calls_.number());
    if (family == 3) arguments = "\"a{}, b\"";
    for (int64_t i = random_.pick(random_.chance(90) ? 1 : 0, 3); i > 0; --i) {
      const bool is_old = random_.chance(35) && !plains_.empty();
      arguments += (arguments.empty() ? "" : ", ") +
                   (is_old ? random_.one_of(plains_) : render(calls_.plain()));
    }
    const std::string name = fresh();
    line(name + " = " + function_name(random_.one_of(kNames[family])) + "(" + arguments + ")");
    plains_.push_back(name);
  }

  std::string condition() {
    if (!tensors_.empty() && random_.chance(55))
      return fmt::format("bool(torch.gt(torch.sum({}), 0))", random_.one_of(tensors_));
    if (!plains_.empty() && random_.chance(40))
      return fmt::format("torch.{}({}, {})", random_.one_of<std::string>({"lt", "eq", "ge"}),
                         random_.one_of(plains_), calls_.number());
    return random_.chance(50) ? "True" : "self.training";
  }

  std::string block_number() {
    return std::to_string(random_.chance(70) ? random_.pick(0, 4) : calls_.number());
  }

  void branch() {
    line("if " + condition() + ":");
    const std::string result = fresh();
    for (int side = 0; side < 2; ++side) {
      const std::vector<std::string> tensors = tensors_, plains = plains_;
      ++depth_;
      for (int64_t i = random_.pick(0, 2); i > 0; --i) statement(depth_);
      line(result + " = " + (tensors_.empty() ? "1" : random_.one_of(tensors_)));
      --depth_;
      tensors_ = tensors;
      plains_ = plains;
      if (side == 0) line("else:");
    }
    tensors_.push_back(result);
  }

  void loop() {
    const std::string carried = tensors_.empty() ? "" : random_.one_of(tensors_);
    const bool is_while = random_.chance(30);
    line(is_while ? "while " + condition() + ":" : "for i in range(" + block_number() + "):");
    const std::vector<std::string> tensors = tensors_, plains = plains_;
    ++depth_;
    for (int64_t i = random_.pick(0, 2); i > 0; --i) statement(depth_);
    if (!carried.empty() && random_.chance(60))
      line(carried + " = " + random_.one_of(tensors_));
    else
      line("pass");
    --depth_;
    tensors_ = tensors;
    plains_ = plains;
  }

  // What grows, and what names itself.
  void container() {
    const std::string list = fresh();
    const std::string item = !tensors_.empty() && random_.chance(50)  ? random_.one_of(tensors_)
                             : !plains_.empty() && random_.chance(60) ? random_.one_of(plains_)
                                                                      : block_number();
    line(list + " = " + (random_.chance(70) ? "[" + item + ", " + item + "]" : "(" + item + ",)"));
    line("for i in range(" + block_number() + "):");
    static const std::vector<std::string> kGrowth = {"{0} = torch.add({0}, {0})",
                                                     "{0} = [{0}, {0}]",
                                                     "_0 = torch.append({0}, {0})",
                                                     "_0 = torch.append({0}, i)",
                                                     "_0 = torch.extend({0}, {0})",
                                                     "{0} = torch.mul({0}, 3)",
                                                     "{0} = torch.format(\"{{}}{{}}\", {0}, {0})",
                                                     "_0 = torch.insert({0}, -9, i)",
                                                     "_0 = torch._set_item({0}, i, {0})",
                                                     "_0 = torch._set_item({0}, i, 4)",
                                                     "{0} = torch.slice({0}, i, -1, 2)",
                                                     "{0} = torch.cat({0})",
                                                     "_0 = torch.pop({0})",
                                                     "{0} = ({0}, [{0}])",
                                                     "{0} = {{\"a\": {0}, \"b\": {0}}}",
                                                     "{0} = torch.dict([(i, {0}), (i, i)])"};
    line("  " + fmt::format(fmt::runtime(random_.one_of(kGrowth)), list));
    const std::string use = fresh();
    static const std::vector<std::string> kUses = {"{1} = torch.eq({0}, {0})",
                                                   "{1} = torch.format(\"{{}}\", {0})",
                                                   "{1} = torch.cat({0})",
                                                   "{1} = torch.len({0})",
                                                   "{1} = {0}[0]",
                                                   "{1} = torch.stack({0}, -1)",
                                                   "{1} = torch.sorted({0})",
                                                   "{1} = torch.tensor({0})",
                                                   "{1} = str({0})",
                                                   "{1} = torch.__contains__({0}, {0})",
                                                   "{1} = {0}",
                                                   "{1} = ops.prim.max({0})",
                                                   "{1} = torch.index({0}, [{0}])"};
    line(fmt::format(fmt::runtime(random_.one_of(kUses)), list, use));
    plains_.push_back(random_.chance(50) ? list : use);
  }

  void statement(int depth) {
    const int64_t draw = random_.pick(0, 99);
    if (draw < 62) return call(calls_.any_name());
    if (draw < 72) return plain_call();
    if (draw < 78) return container();
    if (draw < 83 && recursion_) {
      const std::string result = fresh();
      const bool grows = random_.chance(40);
      line(grows ? fmt::format("{} = (self).doubled({}, {}, )", result, operand(calls_.tensor()),
                               block_number())
                 : fmt::format("{} = (self).{}({}, )", result,
                               random_.chance(80) ? "counts" : "again", block_number()));
      return (grows ? tensors_ : plains_).push_back(result);
    }
    if (draw < 88) return write();
    if (depth >= kMostDepth) return plain_call();
    return draw < 95 ? branch() : loop();
  }

  // A write through a view, or to an attribute.
  void write() {
    const std::string view = fresh(), target = operand(calls_.tensor());
    static const std::vector<std::string> kViews = {"torch.select({}, 0, {})",
                                                    "torch.slice({}, 0, {})",
                                                    "torch.unsqueeze({}, {})",
                                                    "torch.t({})",
                                                    "torch.transpose({}, 0, {})",
                                                    "torch.view({}, [-1])",
                                                    "torch.reshape({}, [-1])",
                                                    "torch.narrow({}, 0, {}, 1)",
                                                    "torch.detach({})",
                                                    "torch.expand_as({0}, {0})",
                                                    "torch.squeeze_({})",
                                                    "torch.unsqueeze_({}, {})",
                                                    "torch.t_({})",
                                                    "torch.chunk({}, 2, {})[0]",
                                                    "torch.flatten({})",
                                                    "torch.permute({}, [1, {}])",
                                                    "torch.unbind({}, {})[0]",
                                                    "torch.alias({})"};
    const std::string number = std::to_string(random_.pick(-2, 3));
    line(view + " = " + fmt::format(fmt::runtime(random_.one_of(kViews)), target, number));
    tensors_.push_back(view);
    static const std::vector<std::string> kWrites = {
        "_0 = torch.add_({}, 1)",
        "_0 = torch.copy_({}, {})",
        "_0 = torch.zero_({})",
        "_0 = torch.mul_({}, {})",
        "_0 = torch.fill_({}, 2.5)",
        "_0 = torch.relu_({})",
        "_0 = torch.clamp_({}, 0, 1)",
        "_0 = torch.index_put_({0}, [{1}], {1})",
        "_0 = torch.masked_fill_({0}, torch.gt({0}, 0), 1)"};
    line(fmt::format(fmt::runtime(random_.one_of(kWrites)), view, random_.one_of(tensors_)));
    if (random_.chance(15)) {
      const std::string attribute = attributes_.tensor(calls_.tensor());
      line(attribute + " = " + random_.one_of(tensors_));
    }
  }

  RandomSource& random_;
  Model& model_;
  TorchCalls calls_;
  Attributes attributes_;
  std::string subject_, body_;
  std::vector<std::string> inputs_, tensors_, plains_;
  int depth_ = 0;
  size_t count_ = 0;
  bool quantised_ = false, recursion_ = false;
};

}  // namespace

void generate_torchscript_file(RandomSource& random, Model& model) {
  ProgramGenerator generator(random, model);
  const std::string subject = TorchCalls(random).any_name();
  model.file_name = "fuzz.pt";
  model.file_subject = subject;
  model.files = {{"", generator.generate(subject)}};
}

}  // namespace ec::fuzz
