// JSON to Program. Unknown keys are ignored, as minor versions add some; absent optional fields are
// null.
#include <cmath>
#include <nlohmann/json.hpp>

#include "frontend/torch/export/program.h"
#include "support/strings.h"
#include "support/text_memory.h"

namespace ec::torch::exported {
namespace {

using nlohmann::json;

// --- elements that have to be there --------------------------------------------------------------

// Faults are remembered and end the decoding when it is over, so that the steps read without
// ceremony.
class JsonReader {
 public:
  Status status() const;
  void fault(const std::string& what) {
    if (error_.empty()) error_ = what;
  }
  bool failed() const { return !error_.empty(); }

  const json& at(const json& object, const char* key);
  const json& list(const json& value);
  std::string text(const json& value);
  int64_t integer(const json& value);
  double number(const json& value);
  std::string optional_text(const json& object, const char* key);
  std::optional<int64_t> optional_integer(const json& object, const char* key);
  // The only key of a union, and its value.
  std::pair<std::string, const json*> alternative(const json& value);

  SizeDef size(const json& value);
  TensorMeta tensor_meta(const json& value);

 private:
  std::string error_;
};

Status JsonReader::status() const {
  if (error_.empty()) return {};
  return Error(Code::CorruptFile, "the exported program cannot be read: " + error_);
}

const json& JsonReader::at(const json& object, const char* key) {
  static const json kNull;
  if (object.is_object())
    if (const auto found = object.find(key); found != object.end()) return *found;
  fault(std::string("'") + key + "' is missing");
  return kNull;
}

const json& JsonReader::list(const json& value) {
  static const json kEmpty = json::array();
  if (value.is_array()) return value;
  fault("a list is expected");
  return kEmpty;
}

std::string JsonReader::text(const json& value) {
  if (value.is_string()) return value.get<std::string>();
  fault("a text is expected");
  return {};
}

int64_t JsonReader::integer(const json& value) {
  if (value.is_number_unsigned() && value.get<uint64_t>() > INT64_MAX)
    fault("a number is too large");
  else if (value.is_number_integer())
    return value.get<int64_t>();
  else
    fault("an integer is expected");
  return 0;
}

double JsonReader::number(const json& value) {
  if (value.is_number()) return value.get<double>();
  // Infinity and NaN are texts.
  if (value.is_string())
    if (const auto parsed = parse_double(to_lower(value.get<std::string>()))) return *parsed;
  if (value == "Infinity") return HUGE_VAL;
  if (value == "-Infinity") return -HUGE_VAL;
  fault("a number is expected");
  return 0;
}

std::string JsonReader::optional_text(const json& object, const char* key) {
  return object.is_object() && object.contains(key) && object[key].is_string()
             ? object[key].get<std::string>()
             : std::string();
}

std::optional<int64_t> JsonReader::optional_integer(const json& object, const char* key) {
  if (!object.is_object() || !object.contains(key) || !object[key].is_number_integer())
    return std::nullopt;
  return integer(object[key]);
}

std::pair<std::string, const json*> JsonReader::alternative(const json& value) {
  if (value.is_object() && value.size() == 1) {
    const auto item = value.begin();
    return {item.key(), &*item};
  }
  fault("a union has exactly one key");
  static const json kNull;
  return {"as_none", &kNull};
}

SizeDef JsonReader::size(const json& value) {
  SizeDef result;
  const auto [kind, content] = alternative(value);
  if (kind == "as_int") {
    result.value = integer(*content);
    if (*result.value < 0) fault("a size is negative");
    return result;
  }
  result.expression = optional_text(*content, "expr_str");
  simplify(result);
  return result;
}

TensorMeta JsonReader::tensor_meta(const json& value) {
  TensorMeta meta;
  meta.dtype = integer(at(value, "dtype"));
  for (const json& item : list(at(value, "sizes"))) meta.sizes.push_back(size(item));
  for (const json& item : list(at(value, "strides"))) meta.strides.push_back(size(item));
  meta.offset.value = 0;
  if (value.contains("storage_offset") && value["storage_offset"].is_object())
    meta.offset = size(value["storage_offset"]);
  return meta;
}

// --- programs ------------------------------------------------------------------------------------

constexpr int kMaxDepth = 32;  // of graphs and result trees
constexpr int64_t kSupportedMajor = 8;

class Decoder : private JsonReader {
 public:
  Result<Program> program(const json& root) {
    Program result;
    const json& version = at(root, "schema_version");
    const int64_t major = integer(at(version, "major")), minor = integer(at(version, "minor"));
    if (!failed() && major != kSupportedMajor)
      return Error(Code::UnsupportedFormat, "torch.export schema version " + std::to_string(major) +
                                                "." + std::to_string(minor))
          .hint("export the model again with PyTorch 2.6 or later");
    result.torch_version = optional_text(root, "torch_version");
    const json& module = at(root, "graph_module");
    const json& verifiers = root.contains("verifiers") ? root["verifiers"] : json();
    if (verifiers.is_array() && !verifiers.empty()) result.dialect = text(verifiers[0]);
    result.positional_only = result.dialect == "EDGE";
    result.graph = graph(at(module, "graph"), 0);
    const json& signature = at(module, "signature");
    for (const json& spec : list(at(signature, "input_specs")))
      result.inputs.push_back(input_spec(spec));
    for (const json& spec : list(at(signature, "output_specs")))
      result.outputs.push_back(output_spec(spec));
    if (root.contains("range_constraints") && root["range_constraints"].is_object())
      for (const auto& [key, range] : root["range_constraints"].items())
        result.ranges[key] = {optional_integer(range, "min_val"),
                              optional_integer(range, "max_val")};
    result.results = results(module);
    if (result.inputs.size() != result.graph.inputs.size() ||
        result.outputs.size() != result.graph.outputs.size())
      fault("the signature does not fit the graph");
    EC_CHECK_OK(status());
    return result;
  }

  Result<std::map<std::string, WeightRecord>> weights(const json& root) {
    std::map<std::string, WeightRecord> result;
    const json& config = at(root, "config");
    if (config.is_object())
      for (const auto& [name, entry] : config.items()) {
        WeightRecord record;
        record.path = text(at(entry, "path_name"));
        record.pickled = entry.contains("use_pickle") && entry["use_pickle"] == true;
        if (!record.pickled && entry.contains("tensor_meta") && entry["tensor_meta"].is_object())
          record.meta = tensor_meta(entry["tensor_meta"]);
        result[name] = std::move(record);
      }
    EC_CHECK_OK(status());
    return result;
  }

 private:
  // --- arguments ---------------------------------------------------------------------------------
  Argument literal(TorchValue value) { return {std::move(value)}; }
  Argument named(const json& value) { return {Named{text(at(value, "name"))}}; }

  template <class F>
  Argument many(const json& items, F&& decode) {
    ArgumentList result;
    for (const json& item : list(items)) result.items.push_back(decode(item));
    return {std::move(result)};
  }

  // A number that is given, or the name of one that is computed.
  Argument symbolic(const json& value) {
    const auto [kind, content] = alternative(value);
    if (kind == "as_name") return {Named{text(*content)}};
    if (kind == "as_int") return literal(integer(*content));
    if (kind == "as_float") return literal(number(*content));
    if (kind == "as_bool") return literal(content->is_boolean() && content->get<bool>());
    return {Foreign{kind}};
  }

  Argument argument(const json& value, int depth) {
    const auto [kind, content] = alternative(value);
    const json& v = *content;
    if (kind == "as_none") return literal({});
    if (kind == "as_tensor") return named(v);
    if (kind == "as_int") return literal(integer(v));
    if (kind == "as_float") return literal(number(v));
    if (kind == "as_bool") return literal(v.is_boolean() && v.get<bool>());
    if (kind == "as_string") return literal(text(v));
    if (kind == "as_tensors") return many(v, [&](const json& item) { return named(item); });
    if (kind == "as_ints") return many(v, [&](const json& item) { return literal(integer(item)); });
    if (kind == "as_floats")
      return many(v, [&](const json& item) { return literal(number(item)); });
    if (kind == "as_bools")
      return many(v,
                  [&](const json& item) { return literal(item.is_boolean() && item.get<bool>()); });
    if (kind == "as_strings") return many(v, [&](const json& item) { return literal(text(item)); });
    if (kind == "as_sym_int" || kind == "as_sym_float" || kind == "as_sym_bool") return symbolic(v);
    if (kind == "as_sym_ints" || kind == "as_sym_floats" || kind == "as_sym_bools")
      return many(v, [&](const json& item) { return symbolic(item); });
    if (kind == "as_optional_tensors" || kind == "as_nested_tensors")
      return many(v, [&](const json& item) {
        return item.is_array() ? many(item, [&](const json& x) { return named(x); })
                               : argument(item, depth);
      });
    if (kind == "as_optional_tensor") return argument(v, depth);
    if (kind == "as_int_lists")
      return many(v, [&](const json& item) {
        return many(item, [&](const json& x) { return literal(integer(x)); });
      });
    if (kind == "as_scalar_type") return scalar_type(v);
    // Memory formats and layouts do not change what is computed; devices neither.
    if (kind == "as_memory_format" || kind == "as_layout") return literal(0);
    if (kind == "as_device") return literal("cpu");
    if (kind == "as_graph") {
      if (depth >= kMaxDepth) {
        fault("graphs nest too deep");
        return literal({});
      }
      return {std::make_shared<const GraphDef>(graph(at(v, "graph"), depth + 1))};
    }
    return {Foreign{kind}};
  }

  Argument scalar_type(const json& value) {
    const int64_t own = integer(value);
    const auto known = scalar_type_of_export(own);
    // An unknown type stays unknown, for the message of whoever needs it.
    return literal(known ? *known : unknown_scalar_type(own));
  }

  // --- graphs ------------------------------------------------------------------------------------
  NodeDef node(const json& value, int depth) {
    NodeDef result;
    result.target = text(at(value, "target"));
    for (const json& input : list(at(value, "inputs"))) {
      NodeInput in;
      in.name = optional_text(input, "name");
      in.value = argument(at(input, "arg"), depth);
      in.keyword = input.contains("kind") && input["kind"] == 2;
      result.inputs.push_back(std::move(in));
    }
    for (const json& output : list(at(value, "outputs")))
      result.outputs.push_back(argument(output, depth));
    result.name = optional_text(value, "name");
    if (value.contains("metadata"))
      result.module_path = module_path(optional_text(value["metadata"], "nn_module_stack"));
    return result;
  }

  // "L__self__,,Net;L__self__a,layer1.a,torch.nn...Conv2d": the path of the innermost module.
  static std::string module_path(std::string_view stack) {
    const size_t last = stack.rfind(';');
    if (last != std::string_view::npos) stack.remove_prefix(last + 1);
    const std::vector<std::string_view> parts = split(stack, ',');
    if (parts.size() < 3 || parts[1].starts_with("_empty_nn_module_stack")) return {};
    std::string_view path = parts[1];
    // A module that is called again carries the number of the call.
    if (const size_t at = path.rfind('@'); at != std::string_view::npos) path = path.substr(0, at);
    for (const std::string_view prefix : {"L['self'].", "L__self___"})
      if (path.starts_with(prefix)) path.remove_prefix(prefix.size());
    return path == "L['self']" ? std::string() : std::string(path.substr(0, 500));
  }

  GraphDef graph(const json& value, int depth) {
    GraphDef result;
    for (const json& input : list(at(value, "inputs")))
      result.inputs.push_back(argument(input, depth));
    for (const json& output : list(at(value, "outputs")))
      result.outputs.push_back(argument(output, depth));
    for (const json& item : list(at(value, "nodes"))) result.nodes.push_back(node(item, depth));
    const json& tensors = at(value, "tensor_values");
    if (tensors.is_object())
      for (const auto& [name, meta] : tensors.items()) result.tensors[name] = tensor_meta(meta);
    return result;
  }

  InputSpec input_spec(const json& value) {
    using Kind = InputSpec::Kind;
    const auto [kind, content] = alternative(value);
    if (kind == "parameter") return {Kind::Parameter, text(at(*content, "parameter_name"))};
    if (kind == "buffer") return {Kind::Buffer, text(at(*content, "buffer_name"))};
    if (kind == "tensor_constant")
      return {Kind::Constant, text(at(*content, "tensor_constant_name"))};
    if (kind == "user_input") return {Kind::User, {}};
    if (kind == "constant_input") return {Kind::Fixed, {}};
    return {Kind::Other, kind};
  }

  OutputSpec output_spec(const json& value) {
    const auto [kind, content] = alternative(value);
    if (kind == "user_output" || kind == "loss_output") return {true, {}};
    std::string target = optional_text(*content, "buffer_name");
    if (target.empty()) target = optional_text(*content, "user_input_name");
    return {false, std::move(target)};
  }

  // --- nesting of results ------------------------------------------------------------------------
  std::optional<TreeSpec> results(const json& module) {
    const json& calls = module.contains("module_call_graph") ? module["module_call_graph"] : json();
    if (!calls.is_array() || calls.empty() || !calls[0].is_object() ||
        !calls[0].contains("signature"))
      return std::nullopt;
    const json spec = nested(optional_text(calls[0]["signature"], "out_spec"));
    if (!spec.is_array() || spec.size() != 2) return std::nullopt;
    fields_ = module.contains("treespec_namedtuple_fields") ? &module["treespec_namedtuple_fields"]
                                                            : nullptr;
    return tree(spec[1], 0);
  }

  // JSON in a text of JSON; discarded where it is none.
  json nested(const std::string& text) {
    if (check_json(text, text.size()).ok()) return json::parse(text, nullptr, false);
    fault("a text in it nests too deep");
    return json(json::value_t::discarded);
  }

  TreeSpec tree(const json& value, int depth) {
    TreeSpec result;
    if (depth > kMaxDepth) {
      fault("results nest too deep");
      return result;
    }
    result.type = optional_text(value, "type");
    // The keys of a dict as JSON in a text, or the name of a NamedTuple's class.
    const std::string context = optional_text(value, "context");
    const json keys = nested(context);
    if (keys.is_array())
      for (const json& key : keys)
        result.keys.push_back(key.is_string() ? key.get<std::string>() : key.dump());
    if (fields_ != nullptr && fields_->is_object()) {
      const auto found = fields_->find(context);
      if (found != fields_->end() && found->is_object() && found->contains("field_names") &&
          (*found)["field_names"].is_array())
        for (const json& field : (*found)["field_names"]) result.keys.push_back(text(field));
    }
    if (value.is_object() && value.contains("children_spec"))
      for (const json& child : list(value["children_spec"]))
        result.children.push_back(tree(child, depth + 1));
    return result;
  }

  const json* fields_ = nullptr;
};

Result<json> parse(std::string_view text, size_t file_size) {
  EC_CHECK_OK(check_json(text, file_size));
  json root = json::parse(text, nullptr, false);
  if (root.is_discarded()) return Error(Code::CorruptFile, "the exported program is no JSON");
  return root;
}

}  // namespace

Result<Program> decode_program(std::string_view text, size_t file_size) {
  EC_TRY(const json root, parse(text, file_size));
  return Decoder().program(root);
}

Result<std::map<std::string, WeightRecord>> decode_weights(std::string_view text,
                                                           size_t file_size) {
  EC_TRY(const json root, parse(text, file_size));
  return Decoder().weights(root);
}

}  // namespace ec::torch::exported
