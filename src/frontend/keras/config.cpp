#include "frontend/keras/config.h"

#include <algorithm>
#include <charconv>
#include <climits>

#include "frontend/limits.h"
#include "support/strings.h"

namespace ec::keras {
namespace {

bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }

// Operations and layers share names (Add, Reshape): the module tells them apart, and in files
// without modules the keys that only layers have.
bool is_operation(const LayerConfig& layer) {
  if (!layer.module.empty())
    return layer.module.find(".ops") != std::string::npos || layer.module == "keras.ops";
  return layer.config.is_dict() && !layer.config.has("trainable") && !layer.config.has("dtype") &&
         !layer.config.has("layers") && layer.class_name != "InputLayer" &&
         layer.config["trainable"].is_none() && !layer.calls.empty();
}

void read_places(const Value& value, const std::string& key, std::vector<NamedPlace>& places) {
  if (is_old_place(value)) {
    places.push_back({key, old_place(value)});
  } else if (is_tensor_object(value)) {
    places.push_back({key, place_of_tensor_object(value)});
  } else if (value.is_dict()) {
    // Keras flattens a dict by its sorted keys.
    std::vector<size_t> order(value.keys().size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::ranges::sort(order, {}, [&](size_t i) { return value.keys()[i]; });
    for (const size_t i : order) read_places(value.items()[i], value.keys()[i], places);
  } else {
    for (const Value& item : value.items()) read_places(item, key, places);
  }
}

}  // namespace

Release read_release(std::string_view version) {
  constexpr Release kNewest{3, INT_MAX};
  Release release = kNewest;
  const char* end = version.data() + version.size();
  const auto first = std::from_chars(version.data(), end, release.generation);
  if (first.ec != std::errc() || first.ptr == end || *first.ptr != '.') return kNewest;
  const auto second = std::from_chars(first.ptr + 1, end, release.update);
  if (second.ec != std::errc() || release.update < 0) return kNewest;
  release.generation = release.generation <= 2 ? 2 : 3;
  return release;
}

bool LayerConfig::is_model() const {
  return config["layers"].is_list() || (class_name == "Sequential" && config.is_list());
}
bool LayerConfig::is_functional() const { return is_model() && config.has("output_layers"); }

bool is_old_place(const Value& value) {
  const auto& items = value.items();
  return value.is_list() && items.size() >= 3 && items.size() <= 4 && items[0].is_text() &&
         items[1].kind() == Value::Kind::Int && items[2].kind() == Value::Kind::Int &&
         (items.size() == 3 || items[3].is_dict());
}
bool is_tensor_object(const Value& value) {
  return value.is_dict() && value["class_name"].is("__keras_tensor__");
}
TensorPlace old_place(const Value& value) {
  const auto& items = value.items();
  return {items[0].as_text(), items[1].as_int(), items[2].as_int()};
}
TensorPlace place_of_tensor_object(const Value& value) {
  const auto& history = value["config"]["keras_history"].items();
  if (history.size() != 3) return {};
  return {history[0].as_text(), history[1].as_int(), history[2].as_int()};
}

LayerConfig read_layer(const Value& entry) {
  LayerConfig layer;
  layer.class_name = entry["class_name"].as_text();
  layer.module = entry["module"].as_text();
  layer.config = entry["config"];
  layer.build_config = entry["build_config"];
  layer.calls = entry["inbound_nodes"].items();
  layer.name = entry["name"].as_text();
  if (layer.name.empty()) layer.name = layer.config["name"].as_text();
  if (layer.name.empty()) layer.name = snake_case(layer.class_name);
  std::string registered = entry["registered_name"].as_text();
  if (registered.find('>') == std::string::npos) registered = layer.class_name;
  if (const size_t at = registered.find('>'); at != std::string::npos) {
    layer.package = registered.substr(0, at);
    layer.class_name = registered.substr(at + 1);
  }
  // A class that the file cannot place in a module of Keras is its author's.
  if (layer.package.empty() && entry["module"].is_none() && entry["registered_name"].is_text() &&
      entry.has("registered_name") && !layer.class_name.empty())
    layer.package = "Custom";
  layer.is_operation = is_operation(layer);
  return layer;
}

Result<ModelConfig> read_model(const LayerConfig& source) {
  ModelConfig model;
  model.name = source.name;
  model.sequential = !source.is_functional();
  const Value& list = source.config.is_list() ? source.config : source.config["layers"];
  if (list.items().size() > kMaxModelOperations) return Error(Code::TooLarge, "too many layers");
  for (const Value& entry : list.items()) {
    if (!entry.is_dict() || !entry["class_name"].is_text())
      return Error(Code::CorruptFile, "the list of layers has an entry without a class");
    model.layers.push_back(read_layer(entry));
  }
  read_places(source.config["input_layers"], {}, model.inputs);
  read_places(source.config["output_layers"], {}, model.outputs);
  if (!model.sequential && model.outputs.empty())
    return Error(Code::CorruptFile, "the model has no outputs");
  return model;
}

// As keras.utils.naming: a break in front of a word that begins with a capital, and after a small
// letter that a capital follows.
std::string snake_case(std::string_view class_name) {
  std::string name;
  for (const char c : class_name)
    if (is_lower(c) || is_upper(c) || (c >= '0' && c <= '9') || c == '_') name += c;
  // re.sub("(.)([A-Z][a-z]+)", r"\1_\2")
  std::string words;
  for (size_t i = 0; i < name.size();) {
    if (i + 2 < name.size() && is_upper(name[i + 1]) && is_lower(name[i + 2])) {
      words += name[i];
      words += '_';
      size_t end = i + 2;
      while (end < name.size() && is_lower(name[end])) ++end;
      words += name.substr(i + 1, end - i - 1);
      i = end;
    } else {
      words += name[i++];
    }
  }
  // re.sub("([a-z])([A-Z])", r"\1_\2")
  std::string out;
  for (size_t i = 0; i < words.size(); ++i) {
    if (i > 0 && is_upper(words[i]) && is_lower(words[i - 1])) out += '_';
    out += words[i];
  }
  return to_lower(out);
}

}  // namespace ec::keras
