// Archives of torch.export: graphs of calls of the importer's own operators with arguments of every
// kind, weights, open sizes, and nested graphs of branches and loops.
#include <fmt/format.h>

#include <cmath>

#include "frontend/torch/archive_builder.h"
#include "frontend/torch/export/program.h"
#include "fuzz/op/generate.h"
#include "fuzz/op/torch_calls.h"

namespace ec::fuzz {
namespace {

using nlohmann::json;

// torch.export has codes of its own for element types.
int64_t export_type(int64_t type) {
  for (int64_t code = 0; code < 40; ++code)
    if (torch::exported::scalar_type_of_export(code) == type) return code;
  return type;
}

json named(const std::string& name) { return {{"name", name}}; }

class GraphGenerator {
 public:
  explicit GraphGenerator(RandomSource& random) : random_(random), calls_(random) {}

  std::string generate(const std::string& subject) {
    for (int64_t i = random_.chance(70) ? 0 : 1; i > 0; --i) any_node();
    add_call(subject);
    for (int64_t i = random_.pick(0, 2); i > 0; --i) any_node();
    json outputs = json::array(), output_specs = json::array();
    for (const std::string& name : values_)
      if (outputs.empty() || random_.chance(50)) outputs.push_back({{"as_tensor", named(name)}});
    if (random_.chance(5)) outputs.push_back(argument(calls_.plain(), false));
    for (const json& output : outputs) output_specs.push_back(output_spec(output));
    if (calls_.wrong(1)) output_specs.push_back({{"user_output", {{"arg", json::object()}}}});
    const json graph = {{"inputs", inputs_},
                        {"outputs", outputs},
                        {"nodes", nodes_},
                        {"tensor_values", metas_},
                        {"sym_int_values", json::object()},
                        {"sym_bool_values", json::object()}};
    const json program = {
        {"graph_module",
         {{"graph", graph},
          {"signature", {{"input_specs", input_specs_}, {"output_specs", output_specs}}},
          {"module_call_graph", json::array()}}},
        {"opset_version", {{"aten", 10}}},
        {"range_constraints",
         {{"s0", {{"min_val", 0}, {"max_val", calls_.number()}}},
          {"s1", {{"min_val", nullptr}, {"max_val", nullptr}}}}},
        {"schema_version", {{"major", 8}, {"minor", 8}}},
        {"verifiers", {random_.chance(90) ? "TRAINING" : "EDGE"}},
        {"torch_version", "2.8.0"}};
    torch::testing::Records records = {
        {"m/archive_format", "pt2"},
        {"m/archive_version", "0"},
        {"m/byteorder", "little"},
        {"m/models/model.json", text_of(program)},
        {"m/data/weights/model_weights_config.json", text_of({{"config", weights_}})}};
    records.insert(records.end(), weight_bytes_.begin(), weight_bytes_.end());
    return torch::testing::zip(records);
  }

 private:
  // Infinities are texts in these files.
  static std::string text_of(const json& value) {
    return value.dump(-1, ' ', false, json::error_handler_t::replace);
  }

  std::string fresh() { return "t" + std::to_string(count_++); }

  json size(int64_t value) {
    if (!random_.chance(6)) return {{"as_int", value}};
    static const std::vector<std::string> kExpressions = {
        "Symbol('s0', positive=True, integer=True)",
        "Symbol('s1', positive=True, integer=True)",
        "Mul(Integer(2), Symbol('s0', positive=True, integer=True))",
        "s0",
        "",
        "Mul(Integer(9223372036854775807), Symbol('s1'))",
        "Add(Symbol('s0'), Integer(-1))",
        "u0",
        "s0 + s1",
        "3"};
    return {{"as_expr", {{"expr_str", random_.one_of(kExpressions)}, {"hint", nullptr}}}};
  }

  json meta(const json& tensor, bool open) {
    json sizes = json::array(), strides = json::array();
    int64_t stride = 1;
    for (const json& item : tensor["s"]) {
      const auto value = item.is_number_integer() ? item.get<int64_t>() : 1;
      sizes.push_back(open ? size(value) : json{{"as_int", value}});
    }
    for (size_t d = tensor["s"].size(); d-- > 0;) {
      strides.insert(strides.begin(), json{{"as_int", stride}});
      const auto value = tensor["s"][d].is_number_integer() ? tensor["s"][d].get<int64_t>() : 1;
      if (value > 0 && value < 4096 && stride < 4096) stride *= value;
    }
    return {{"dtype", export_type(tensor["t"])},
            {"sizes", sizes},
            {"requires_grad", false},
            {"device", {{"type", "cpu"}, {"index", nullptr}}},
            {"strides", strides},
            {"storage_offset", {{"as_int", 0}}},
            {"layout", 7}};
  }

  std::string add_weight(json tensor, const std::string& name) {
    if (!torch_tensor_is_small(tensor)) {
      tensor["s"] = {3, 2};
      tensor.erase("v");
    }
    const std::string target = "w." + name, path = "weight_" + name;
    static const std::vector<std::pair<std::string, std::string>> kKinds = {
        {"parameter", "parameter_name"},
        {"buffer", "buffer_name"},
        {"tensor_constant", "tensor_constant_name"},
        {"custom_obj", "custom_obj_name"}};
    const auto& [kind, key] = kKinds[random_.index(calls_.wrong(2) ? 4 : 3)];
    input_specs_.push_back({{kind, {{"arg", named(name)}, {key, target}, {"persistent", true}}}});
    if (kind == "buffer") buffers_.push_back(target);
    json described = meta(tensor, calls_.wrong(1));
    const auto hostile = [&]() -> json {
      return {{"as_int", random_.one_of<int64_t>(
                             {0, 1, 2, 7, INT64_MAX, int64_t{1} << 62, int64_t{1} << 32, -1})}};
    };
    for (const char* part : {"strides", "sizes"})
      if (json& list = described[part]; !list.empty() && calls_.wrong(3))
        list[random_.index(list.size())] = hostile();
    if (calls_.wrong(2)) described["storage_offset"] = hostile();
    if (!calls_.wrong(1))
      weights_[target] = {{"path_name", path},
                          {"is_param", true},
                          {"use_pickle", calls_.wrong(1)},
                          {"tensor_meta", described}};
    weight_bytes_.emplace_back("m/data/weights/" + path, torch_tensor_bytes(tensor, random_));
    return name;
  }

  // The name of a tensor: of an earlier one, a weight or an input.
  std::string operand(const json& tensor) {
    if (!values_.empty() && random_.chance(30)) return random_.one_of(values_);
    if (calls_.wrong(1)) return "nosuch";
    const std::string name = fresh();
    if (nested_ != nullptr) {
      // A nested graph sees its operands alone; each is one outside.
      nested_->push_back(tensor);
      inner_inputs_.push_back({{"as_tensor", named(name)}});
      inner_metas_[name] = meta(tensor, false);
      if (random_.chance(40)) values_.push_back(name);
      return name;
    }
    inputs_.push_back({{"as_tensor", named(name)}});
    if (tensor.contains("known") || random_.chance(25)) {
      add_weight(tensor, name);
      metas_[name] = meta(tensor, false);
    } else {
      input_specs_.push_back({{"user_input", {{"arg", {{"as_tensor", named(name)}}}}}});
      if (random_.chance(99)) metas_[name] = meta(tensor, true);
    }
    if (random_.chance(40)) values_.push_back(name);
    return name;
  }

  json number(int64_t value) {
    if (random_.chance(8) && !values_.empty()) {
      const std::string name = fresh();
      add_node("torch.ops.aten.sym_size.int",
               {{{"name", "self"}, {"arg", {{"as_tensor", named(random_.one_of(values_))}}}},
                {{"name", "dim"}, {"arg", {{"as_int", random_.pick(-2, 3)}}}}},
               {{{"as_sym_int", {{"as_name", name}}}}});
      return {{"as_name", name}};
    }
    return {{"as_int", value}};
  }

  json real(double value) const {
    if (std::isnan(value)) return "NaN";
    if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
    return value;
  }

  // `is_type`: the integer is the code of an element type.
  json argument(const json& value, bool is_type) {
    static const std::vector<std::string> kKinds = {
        "as_tensor", "as_int",     "as_ints",    "as_float",         "as_floats", "as_bool",
        "as_string", "as_graph",   "as_tensors", "as_scalar_type",   "as_none",   "as_device",
        "as_layout", "as_sym_int", "as_complex", "as_memory_format", "nosuch"};
    if (calls_.wrong(1)) return {{random_.one_of(kKinds), value}};
    if (calls_.is_tensor(value)) return {{"as_tensor", named(operand(value))}};
    if (value.is_null() || value.is_object()) return {{"as_none", true}};
    if (value.is_boolean()) return {{"as_bool", value}};
    if (value.is_string()) return {{"as_string", value}};
    if (value.is_number_integer()) {
      if (is_type && random_.chance(95)) return {{"as_scalar_type", export_type(value)}};
      const json made = number(value);
      if (made.contains("as_name") || random_.chance(15)) return {{"as_sym_int", made}};
      return {{"as_int", value}};
    }
    if (value.is_number()) return {{"as_float", real(value)}};
    return list_argument(value);
  }

  json list_argument(const json& list) {
    size_t tensors = 0, integers = 0, reals = 0, flags = 0;
    for (const json& item : list) {
      tensors += calls_.is_tensor(item);
      integers += item.is_number_integer();
      reals += item.is_number();
      flags += item.is_boolean();
    }
    json items = json::array();
    if (tensors > 0 && tensors == list.size()) {
      for (const json& item : list) items.push_back(named(operand(item)));
      return {{"as_tensors", items}};
    }
    if (integers == list.size() && random_.chance(70)) return {{"as_ints", list}};
    if (integers == list.size()) {
      for (const json& item : list) items.push_back(number(item));
      return {{"as_sym_ints", items}};
    }
    if (reals == list.size()) {
      for (const json& item : list) items.push_back(real(item));
      return {{"as_floats", items}};
    }
    if (flags == list.size()) return {{"as_bools", list}};
    for (const json& item : list) items.push_back(argument(item, false));
    return {{"as_optional_tensors", items}};
  }

  void add_node(const std::string& target, json inputs, json outputs) {
    for (json& input : inputs)
      if (!input.contains("kind")) input["kind"] = 1;
    (nested_ != nullptr ? inner_nodes_ : nodes_)
        .push_back({{"target", target},
                    {"inputs", std::move(inputs)},
                    {"outputs", std::move(outputs)},
                    {"name", fresh()},
                    {"metadata", json::object()}});
  }

  void add_call(const std::string& name) {
    const TorchCall call = calls_.call(name);
    json inputs = json::array();
    const auto is_type = [](const std::string& arg) {
      return arg.find("dtype") != std::string::npos;
    };
    for (size_t i = 0; i < call.args.size(); ++i) {
      const std::string arg = i < call.arg_names.size() ? call.arg_names[i] : "";
      inputs.push_back({{"name", arg}, {"arg", argument(call.args[i], is_type(arg))}, {"kind", 1}});
    }
    for (const auto& [key, value] : call.kwargs)
      inputs.push_back({{"name", key}, {"arg", argument(value, is_type(key))}, {"kind", 2}});
    std::string target = name;
    target.replace(target.find("::"), 2, ".");
    if (random_.chance(8)) target += "_";
    target = "torch.ops." + target + "." +
             (call.overload.empty() ? "default"
              : random_.chance(97)  ? call.overload
                                    : std::string("nosuch"));
    static const std::vector<std::string> kPython = {
        "_operator.add", "_operator.floordiv", "_operator.mod", "_operator.pow", "math.trunc",
        "_operator.mul", "torch.sym_max",      "_operator.lt",  "round",         "_operator.sub"};
    if (random_.chance(2)) target = random_.one_of(kPython);
    json outputs = json::array();
    std::vector<std::string> made;
    for (size_t i = 0; i < std::max<size_t>(call.num_results, 1); ++i) made.push_back(fresh());
    if (call.gives_tensor || call.num_results > 1) {
      for (const std::string& one : made) outputs.push_back({{"as_tensor", named(one)}});
    } else {
      for (int64_t i = random_.pick(0, 2); i > 0; --i) made.push_back(fresh());
      json names = json::array();
      for (const std::string& one : made) names.push_back(named(one));
      outputs.push_back({{"as_tensors", names}});
    }
    add_node(target, std::move(inputs), std::move(outputs));
    for (const std::string& one : made) {
      json& metas = nested_ != nullptr ? inner_metas_ : metas_;
      if (random_.chance(80)) metas[one] = meta(calls_.tensor(), true);
      values_.push_back(one);
    }
  }

  // --- nested graphs -----------------------------------------------------------------------------
  struct Nested {
    json graph;
    std::vector<json> operands;
    size_t results = 0;
  };

  // A graph of a call or two on operands of its own; the first ones have the given shapes.
  Nested nested(const std::vector<json>& given, bool is_condition, size_t results) {
    Nested made;
    made.operands = given;
    std::vector<std::string> outer = std::exchange(values_, {});
    inner_inputs_ = json::array();
    inner_nodes_ = json::array();
    inner_metas_ = json::object();
    for (const json& tensor : given) {
      const std::string name = fresh();
      inner_inputs_.push_back({{"as_tensor", named(name)}});
      inner_metas_[name] = meta(tensor, false);
      values_.push_back(name);
    }
    nested_ = &made.operands;
    for (int64_t i = random_.pick(0, 2); i > 0; --i) add_call(calls_.any_name());
    json outputs = json::array();
    if (is_condition && !values_.empty() && random_.chance(95)) {
      const std::string sum = fresh(), flag = fresh();
      add_node("torch.ops.aten.sum.default",
               {{{"name", "self"}, {"arg", {{"as_tensor", named(random_.one_of(values_))}}}}},
               {{{"as_tensor", named(sum)}}});
      add_node("torch.ops.aten.gt.Scalar",
               {{{"name", "self"}, {"arg", {{"as_tensor", named(sum)}}}},
                {{"name", "other"}, {"arg", {{"as_int", random_.pick(-2, 5)}}}}},
               {{{"as_tensor", named(flag)}}});
      outputs.push_back({{"as_tensor", named(flag)}});
    } else {
      for (size_t i = 0; i < results; ++i)
        if (!values_.empty())
          outputs.push_back({{"as_tensor", named(random_.chance(50) && i < given.size()
                                                     ? values_[i]
                                                     : random_.one_of(values_))}});
    }
    nested_ = nullptr;
    values_ = std::move(outer);
    made.results = outputs.size();
    made.graph = {{"as_graph",
                   {{"name", "g"},
                    {"graph",
                     {{"inputs", inner_inputs_},
                      {"outputs", outputs},
                      {"nodes", inner_nodes_},
                      {"tensor_values", inner_metas_}}}}}};
    return made;
  }

  // A graph that leaves more operands alone, so that it takes as many as another.
  json padded(const Nested& graph, size_t count) {
    json made = graph.graph;
    json& inputs = made["as_graph"]["graph"]["inputs"];
    while (inputs.size() < count) inputs.push_back({{"as_tensor", named(fresh())}});
    return made;
  }

  json operands_of(const std::vector<json>& tensors) {
    json names = json::array();
    for (const json& tensor : tensors) names.push_back(named(operand(tensor)));
    return {{"as_tensors", names}};
  }

  void add_higher_order() {
    std::vector<json> state;
    for (int64_t i = random_.pick(1, 2); i > 0; --i) state.push_back(calls_.tensor());
    const size_t results = state.size();
    const auto arg = [](json value) -> json { return {{"name", ""}, {"arg", std::move(value)}}; };
    json inputs = json::array();
    std::string target;
    size_t given = results;
    switch (random_.pick(0, 3)) {
      case 0: {
        target = "cond";
        const Nested yes = nested(state, false, results);
        const Nested no = nested(yes.operands, false, results);
        json flag = calls_.tensor();
        if (random_.chance(80)) flag = {{"t", 11}, {"s", json::array()}};
        inputs = {arg({{"as_tensor", named(operand(flag))}}), arg(padded(yes, no.operands.size())),
                  arg(no.graph), arg(operands_of(no.operands))};
        break;
      }
      case 1: {
        target = "while_loop";
        const Nested condition = nested(state, true, 1);
        const Nested step = nested(condition.operands, false, results);
        const std::vector<json> more(step.operands.begin() + static_cast<std::ptrdiff_t>(results),
                                     step.operands.end());
        inputs = {arg(padded(condition, step.operands.size())), arg(step.graph),
                  arg(operands_of(state)), arg(operands_of(more))};
        break;
      }
      case 2: {
        target = "scan";
        const json sequence = calls_.tensor();
        json entry = sequence;
        if (!entry["s"].empty()) entry["s"].erase(entry["s"].begin());
        state.push_back(entry);
        const Nested step = nested(state, false, results + 1);
        const std::vector<json> more(
            step.operands.begin() + static_cast<std::ptrdiff_t>(results + 1), step.operands.end());
        state.pop_back();
        given = step.results;
        inputs = {arg(step.graph), arg(operands_of(state)), arg(operands_of({sequence})),
                  arg(operands_of(more))};
        break;
      }
      default: {
        target = "wrap_with_set_grad_enabled";
        const Nested inner = nested(state, false, results);
        inputs = {arg({{"as_bool", false}}), arg(inner.graph)};
        for (const json& tensor : inner.operands)
          inputs.push_back(arg({{"as_tensor", named(operand(tensor))}}));
      }
    }
    if (random_.chance(3)) inputs.erase(inputs.begin());
    json outputs = json::array();
    for (size_t i = 0; i < given; ++i) {
      values_.push_back(fresh());
      metas_[values_.back()] = meta(calls_.tensor(), true);
      outputs.push_back({{"as_tensor", named(values_.back())}});
    }
    add_node("torch.ops.higher_order." + target, std::move(inputs), std::move(outputs));
  }

  void any_node() {
    if (random_.chance(20)) return add_higher_order();
    add_call(calls_.any_name());
  }

  json output_spec(const json& output) {
    if (!buffers_.empty() && random_.chance(15))
      return {{"buffer_mutation",
               {{"arg", output.contains("as_tensor") ? output["as_tensor"] : json()},
                {"buffer_name", random_.one_of(buffers_)}}}};
    return {{"user_output", {{"arg", output}}}};
  }

  RandomSource& random_;
  TorchCalls calls_;
  json inputs_ = json::array(), input_specs_ = json::array(), nodes_ = json::array(),
       metas_ = json::object(), weights_ = json::object();
  std::vector<std::string> values_, buffers_;
  torch::testing::Records weight_bytes_;
  // Of the nested graph that is being made: what it is given from outside; null: none is.
  std::vector<json>* nested_ = nullptr;
  json inner_inputs_, inner_nodes_, inner_metas_;
  size_t count_ = 0;
};

}  // namespace

void generate_torch_export_file(RandomSource& random, Model& model) {
  const std::string subject = TorchCalls(random).any_name();
  model.file_name = "fuzz.pt2";
  model.file_subject = subject;
  model.files = {{"", GraphGenerator(random).generate(subject)}};
}

}  // namespace ec::fuzz
